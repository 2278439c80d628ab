"""Collisions of URDF links as contact points of robots on a floating base."""

import struct

import numpy as np
import pytest

import kinetree as kt
from kinetree.formats.urdf import mechanism_from_urdf

BODY = '<inertial><mass value="2"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>'
PLACED = '<collision><origin xyz="0.1 0 0"/><geometry>{}</geometry></collision>'
DOWN = np.array([0.0, 0.0, -1.0])


def box_robot(shape='<box size="0.4 0.4 0.4"/>', more=""):
    """A body with a collision, and an arm on it."""
    return (
        f'<robot name="r"><link name="body">{BODY}{PLACED.format(shape)}</link>'
        f'<link name="arm">{BODY}<collision><geometry><sphere radius="0.05"/></geometry></collision></link>'
        '<joint name="j" type="continuous"><origin xyz="0 0 1"/><parent link="body"/><child link="arm"/>'
        f"</joint>{more}</robot>"
    )


def stl(corners, triangles):
    """A binary STL file."""
    records = [struct.pack("<12fH", 0, 0, 0, *np.ravel(corners[list(t)]), 0) for t in triangles]
    return bytes(80) + struct.pack("<I", len(records)) + b"".join(records)


def reach(robot, direction, body="body"):
    """How far the contact points of a body reach in a direction, in its frame (m)."""
    points = [x for x in robot.contact_points if x.body == body]
    return max(float(direction @ x.lowest(-direction)) for x in points)


@pytest.mark.parametrize(
    ("shape", "count", "down"),
    [
        ('<sphere radius="0.2"/>', 1, 0.2),
        ('<box size="0.2 0.4 0.6"/>', 8, 0.3),
        ('<cylinder radius="0.1" length="0.6"/>', 2, 0.3),
        ('<capsule radius="0.1" length="0.6"/>', 2, 0.4),
    ],
)
def test_shapes_reach_as_far_as_they_are_large(shape, count, down):
    robot = mechanism_from_urdf(box_robot(shape), floating_base=True)
    assert sum(x.body == "body" for x in robot.contact_points) == count
    assert reach(robot, DOWN) == pytest.approx(down)
    assert {x.friction for x in robot.contact_points} == {None}


def test_a_mesh_touches_with_the_corners_of_its_hull(tmp_path):
    rng = np.random.default_rng(0)
    corners = np.array([(0, 0, 0), (1, 0, 0), (0, 2, 0), (0, 0, 3)], dtype=np.float64)
    inner = corners[rng.integers(4, size=60)] * 0.1 + corners.mean(axis=0) * 0.5
    every = np.concatenate([corners, inner])
    faces = [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2), *((k, k + 1, k + 2) for k in range(4, 62, 3))]
    (tmp_path / "wedge.stl").write_bytes(stl(every, faces))
    (tmp_path / "r.urdf").write_text(box_robot('<mesh filename="wedge.stl" scale="0.1 0.1 -0.1"/>'))
    robot = kt.load(tmp_path / "r.urdf", floating_base=True)
    found = {tuple(x.position.round(6)) for x in robot.contact_points if x.body == "body"}
    assert found == {tuple(x) for x in (corners * [0.1, 0.1, -0.1] + [0.1, 0, 0]).round(6)}


def test_meshes_that_cannot_be_read_are_one_line(tmp_path):
    (tmp_path / "broken.stl").write_bytes(b"solid nothing")
    (tmp_path / "r.urdf").write_text(box_robot('<mesh filename="broken.stl"/>'))
    with pytest.warns(kt.KinetreeWarning, match="contact of meshes that cannot be read"):
        robot = kt.load(tmp_path / "r.urdf", floating_base=True)
    assert {x.body for x in robot.contact_points} == {"arm"}


def test_friction_of_gazebo_and_bullet_is_taken():
    more = '<gazebo reference="arm"><mu1>0.4</mu1><mu2>0.3</mu2></gazebo>'
    text = box_robot(more=more).replace(BODY, '<contact><lateral_friction value="0.9"/></contact>' + BODY, 1)
    points = mechanism_from_urdf(text, floating_base=True).contact_points
    assert {(x.body, x.friction) for x in points} == {("body", 0.9), ("arm", 0.4)}


@pytest.mark.filterwarnings("ignore::kinetree.KinetreeWarning")
def test_contacts_choose_bodies_alike_in_all_formats(tmp_path):
    (tmp_path / "r.urdf").write_text(box_robot())
    sdf = (
        '<sdf version="1.9"><model name="r"><link name="body"><collision name="c"><geometry><box>'
        '<size>.4 .4 .4</size></box></geometry></collision></link><link name="arm"><pose>0 0 1 0 0 0</pose>'
        '<collision name="c"><geometry><sphere><radius>.05</radius></sphere></geometry></collision></link>'
        '<joint name="j" type="revolute"><parent>body</parent><child>arm</child><axis/></joint></model></sdf>'
    )
    (tmp_path / "r.sdf").write_text(sdf)
    mjcf = (
        '<mujoco><worldbody><body name="body"><freejoint/><geom type="box" size=".2 .2 .2"/>'
        '<body name="arm" pos="0 0 1"><joint/><geom size=".05"/></body></body></worldbody></mujoco>'
    )
    (tmp_path / "r.xml").write_text(mjcf)
    for name, options in (("r.urdf", {"floating_base": True}), ("r.sdf", {}), ("r.xml", {})):

        def bodies(contacts, name=name, options=options):
            return {x.body for x in kt.load(tmp_path / name, contacts=contacts, **options).contact_points}

        assert bodies(None) == bodies(True) == {"body", "arm"}
        assert bodies(False) == set()
        assert bodies(["arm"]) == {"arm"}
        with pytest.raises(kt.errors.InputError, match="contacts: unknown body 'leg'"):
            bodies(["leg"])
        for wrong in ("arm", 3, [3]):
            with pytest.raises(kt.errors.InputError, match="contacts must be True, False or names"):
                bodies(wrong)


def test_a_fixed_base_touches_only_if_it_is_asked_for(tmp_path):
    (tmp_path / "r.urdf").write_text(box_robot())
    assert kt.load(tmp_path / "r.urdf").contact_points == ()
    assert {x.body for x in kt.load(tmp_path / "r.urdf", contacts=True).contact_points} == {"arm"}
    with pytest.raises(kt.errors.InputError, match="body has no collision that can touch the ground"):
        kt.load(tmp_path / "r.urdf", contacts=["body"])
    kt.save(kt.load(tmp_path / "r.urdf"), tmp_path / "r.toml")
    with pytest.raises(kt.errors.InputError, match=r"contacts is not an option for \.toml files"):
        kt.load(tmp_path / "r.toml", contacts=False)


def test_contact_points_change_no_question_of_dynamics():
    free = mechanism_from_urdf(box_robot(), floating_base=True)
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.normal(size=(3, free.n_dof))
    from dataclasses import replace

    bare = replace(free, contact_points=())
    np.testing.assert_array_equal(
        kt.inverse_dynamics(free, q, qd, qdd), kt.inverse_dynamics(bare, q, qd, qdd)
    )


def test_a_box_comes_to_rest_on_the_ground_with_its_weight():
    text = (
        box_robot('<box size="0.4 0.4 0.4"/>')
        .replace('<origin xyz="0 0 1"/>', "")
        .replace("0.1 0 0", "0 0 0")
    )
    robot = mechanism_from_urdf(text, floating_base=True)
    start = np.zeros(robot.n_dof)
    start[2] = 0.21
    run = kt.simulate(robot, start, None, 0.6, ground=kt.Ground.of(robot), rtol=1e-6)
    assert run.q.values[-1, 2] == pytest.approx(0.2, abs=0.002)
    assert run.contact_force.values[-1].sum(axis=0)[2] == pytest.approx(robot.mass * 9.81, rel=0.02)
