"""SDF files: against MuJoCo with the same model, against builders, and by the meaning of each element."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.rotation import rotation_about, rpy_from_rotation
from kinetree.formats.sdf import mechanism_from_sdf
from kinetree.formats.xml_numbers import quaternion_of, spaced

INERTIAL = (
    "<inertial><mass>{mass}</mass><inertia><ixx>0.02</ixx><iyy>0.03</iyy><izz>0.04</izz></inertia></inertial>"
)
BODY = INERTIAL.format(mass=2)
STILL = np.zeros(2)


def read(text: str, **options) -> kt.Mechanism:
    """A mechanism from SDF elements; warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return mechanism_from_sdf(f'<sdf version="1.10">{text}</sdf>', **options)


def hinge(name: str, parent: str, child: str, more: str = "", axis: str = "0 0 1", kind="revolute") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{more}'
        f"<axis><xyz>{axis}</xyz></axis></joint>"
    )


# ---- against MuJoCo: a random tree, every pose relative to another frame ------------------------------


def placement(rng) -> kt.Placement:
    R = rotation_about(rng.normal(size=3), rng.uniform(-3, 3))
    return kt.Placement.at(rng.uniform(-1, 1, 3), R)


def pose(place: kt.Placement, attributes: str = "") -> str:
    return f"<pose{attributes}>{spaced([*place.position, *rpy_from_rotation(place.rotation)])}</pose>"


def random_pair(seed: int) -> tuple[str, str]:
    """The same tree as SDF and as MJCF, from places in the world."""
    rng = np.random.default_rng(seed)
    n = 6
    parents = [-1, *(int(rng.integers(0, k)) for k in range(1, n))]
    links, joints = [placement(rng) for _ in range(n)], [placement(rng) for _ in range(n)]
    axes = [x / np.linalg.norm(x) for x in rng.normal(size=(n, 3))]
    masses, centers = rng.uniform(1, 3, n), [placement(rng) for _ in range(n)]
    kinds = ["revolute", "prismatic", "continuous", "revolute", "revolute", "prismatic"]
    sdf, model = [], placement(rng)
    frames = {"__model__": model, **{f"link{k}": links[k] for k in range(n)}}
    for k in range(n):
        other = list(frames)[int(rng.integers(0, k + 1))]
        inside = pose(frames[other].inverse @ links[k], f' relative_to="{other}"')
        tensor = "<inertia><ixx>0.2</ixx><iyy>0.3</iyy><izz>0.4</izz></inertia>"
        inertial = f"<inertial>{pose(centers[k])}<mass>{masses[k]}</mass>{tensor}</inertial>"
        sdf.append(f'<link name="link{k}">{inside}{inertial}</link>')
        frame = list(frames)[int(rng.integers(0, n))]
        seen = [frames[frame].rotation.T @ joints[k].rotation @ axes[k], joints[k].rotation.T @ axes[k]]
        direction = f'<xyz expressed_in="{frame}">{spaced(frames[frame].rotation.T @ axes[k])}</xyz>'
        assert np.allclose(np.linalg.norm(seen, axis=1), 1.0)
        parent = "world" if parents[k] < 0 else f"link{parents[k]}"
        at = pose(links[k].inverse @ joints[k])
        ends = f"<parent>{parent}</parent><child>link{k}</child>"
        sdf.append(f'<joint name="j{k}" type="{kinds[k]}">{at}{ends}<axis>{direction}</axis></joint>')

    def body(k: int) -> str:
        inside = links[k] if parents[k] < 0 else links[parents[k]].inverse @ links[k]
        at = links[k].inverse @ joints[k]
        axis = spaced(links[k].rotation.T @ axes[k])
        kind = "slide" if kinds[k] == "prismatic" else "hinge"
        center, turn = centers[k].position, quaternion_of(centers[k].rotation)
        return (
            f'<body name="link{k}" pos="{spaced(inside.position)}"'
            f' quat="{spaced(quaternion_of(inside.rotation))}">'
            f'<inertial mass="{masses[k]}" pos="{spaced(center)}" quat="{spaced(turn)}"'
            f' diaginertia="0.2 0.3 0.4"/>'
            f'<joint name="j{k}" type="{kind}" pos="{spaced(at.position)}" axis="{axis}"/>'
            + "".join(body(c) for c in range(n) if parents[c] == k)
            + "</body>"
        )

    world = "".join(body(k) for k in range(n) if parents[k] < 0)
    return (
        f'<model name="m">{pose(model)}{"".join(sdf)}</model>',
        f"<mujoco><worldbody>{world}</worldbody></mujoco>",
    )


@pytest.mark.parametrize("seed", range(6))
def test_random_trees_agree_with_mujoco(seed):
    mujoco = pytest.importorskip("mujoco")
    sdf, mjcf = random_pair(seed)
    ours = read(sdf)
    model = mujoco.MjModel.from_xml_string(mjcf)
    data, rng = mujoco.MjData(model), np.random.default_rng(seed)
    q, qd, qdd = rng.uniform(-1, 1, (3, ours.n_dof))
    order = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name) for name in ours.joint_names]
    data.qpos[order], data.qvel[order] = q, qd
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    data.qacc[order] = qdd
    tau = np.zeros(model.nv)
    mujoco.mj_rne(model, data, 1, tau)
    np.testing.assert_allclose(
        kt.inverse_dynamics(ours, q, qd, qdd), tau[order], rtol=0, atol=1e-11 * abs(tau).max()
    )
    poses = kt.forward_kinematics(ours, q)
    for k in range(6):
        np.testing.assert_allclose(poses.of(f"link{k}")[1], data.body(f"link{k}").xpos, atol=1e-12)
        np.testing.assert_allclose(
            poses.of(f"link{k}")[0], data.body(f"link{k}").xmat.reshape(3, 3), atol=1e-12
        )


# ---- joints -------------------------------------------------------------------------------------------


def test_screw_advances_by_its_pitch():
    more = "<screw_thread_pitch>0.01</screw_thread_pitch>"
    screw = read(
        f'<model name="m"><link name="nut">{BODY}</link>'
        f"{hinge('s', 'world', 'nut', more, kind='screw')}</model>"
    )
    assert screw.joint_names == ("s",)
    _, p = kt.forward_kinematics(screw, [2 * np.pi]).of("nut")
    np.testing.assert_allclose(p, [0, 0, 0.01], atol=1e-15)
    advance = 0.01 / (2 * np.pi)  # M = I + m p^2, holding torque m g p
    np.testing.assert_allclose(kt.mass_matrix(screw, [0.3]), [[0.04 + 2 * advance**2]], rtol=1e-13)
    np.testing.assert_allclose(kt.gravity_torque(screw, [0.3]), [2 * 9.81 * advance], rtol=1e-13)


def test_older_thread_pitch_counts_radians_per_metre_to_the_left():
    more = "<thread_pitch>-50</thread_pitch>"
    screw = read(
        f'<model name="m"><link name="nut">{BODY}</link>'
        f"{hinge('s', 'world', 'nut', more, kind='screw')}</model>"
    )
    np.testing.assert_allclose(kt.forward_kinematics(screw, [1.0]).of("nut")[1], [0, 0, 0.02], atol=1e-15)


def test_universal_and_ball_turn_as_their_builders_do():
    both = (
        '<joint name="u" type="universal"><pose>0 0 0.1 0 0 0</pose><parent>world</parent><child>a</child>'
        "<axis><xyz>1 0 0</xyz><limit><lower>-1</lower><upper>2</upper></limit></axis>"
        "<axis2><xyz>0 1 0</xyz><dynamics><damping>0.3</damping></dynamics></axis2></joint>"
        '<joint name="b" type="ball"><parent>a</parent><child>c</child></joint>'
    )
    ours = read(
        f'<model name="m"><link name="a">{BODY}</link><link name="c"><pose>0 0 0.4 0 0 0</pose>{BODY}</link>'
        f"{both}</model>"
    )
    build = kt.Builder("m")
    solid = kt.Inertia(2.0, moment=np.diag([0.02, 0.03, 0.04]))
    hub = build.world.universal("u", sequence="XY", at=(0, 0, 0.1), viscous=[0, 0.3]).body("hub")
    a = hub.fixed("weld", at=(0, 0, -0.1)).body("a", solid)
    a.spherical("b", at=(0, 0, 0.4)).body("c", solid)
    other = build.build()
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 5))
    np.testing.assert_allclose(
        kt.inverse_dynamics(ours, q, qd, qdd), kt.inverse_dynamics(other, q, qd, qdd), rtol=1e-12, atol=1e-13
    )
    joint = ours.links[0].joint
    np.testing.assert_array_equal(joint.lower, [-1, -np.inf])
    np.testing.assert_array_equal(joint.upper, [2, np.inf])


def test_limits_springs_friction_and_drives():
    text = (
        '<model name="m"><link name="a">{body}</link><link name="b">{body}</link>'
        '<joint name="j" type="revolute"><parent>world</parent><child>a</child><axis><xyz>0 0 2</xyz>'
        "<limit><lower>-1e16</lower><upper>1.5</upper><effort>-1</effort><velocity>3</velocity></limit>"
        "<dynamics><damping>0.1</damping><friction>0.2</friction><spring_reference>0.3</spring_reference>"
        "<spring_stiffness>4</spring_stiffness></dynamics></axis></joint>"
        '<joint name="k" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz>'
        "<limit><effort>0</effort></limit>"
        '<mimic joint="j"><multiplier>2</multiplier><offset>0.5</offset><reference>0.1</reference></mimic>'
        "</axis></joint></model>"
    )
    found = read(text.format(body=BODY))
    joint = found.links[0].joint
    values = [float(x[0]) for x in joint.parameters().values()]
    assert dict(zip(joint.parameters(), values, strict=True)) == {
        "upper": 1.5, "velocity_limit": 3.0, "viscous": 0.1, "coulomb": 0.2, "stiffness": 4.0, "rest": 0.3,
    }  # fmt: skip
    assert joint.driven == (True,)
    follower = found.links[1].joint
    assert follower.mimic == kt.model.Mimic("j", 2.0, 0.3)
    assert follower.driven == (False,)


def test_axes_of_old_versions_are_in_the_frame_of_the_model():
    turned = "<pose>0 0 0 1.5707963267948966 0 0</pose>"
    text = f'<model name="m"><link name="a">{turned}{BODY}</link>{hinge("j", "world", "a")}</model>'
    for version, expected in (("1.4", 0.03), ("1.6", 0.04), ("1.11", 0.04)):
        found = mechanism_from_sdf(f'<sdf version="{version}">{text}</sdf>')
        np.testing.assert_allclose(kt.mass_matrix(found, [0.4]), [[expected]], rtol=1e-13)


# ---- what holds the model, nested models, frames ------------------------------------------------------


def test_a_model_floats_unless_something_holds_it():
    link = f'<link name="a"><pose>0 0 3 0 0 0</pose>{BODY}</link>'
    loose = read(f'<model name="m">{link}</model>')
    assert (loose.n_dof, loose.links[0].floats) == (6, True)
    np.testing.assert_allclose(kt.forward_kinematics(loose, np.zeros(6)).of("a")[1], [0, 0, 3])
    assert read(f'<model name="m">{link}</model>', floating_base=False).n_dof == 0
    assert read(f'<model name="m"><static>true</static>{link}</model>').n_dof == 0
    assert read(f'<model name="m">{link}<joint name="w" type="fixed"><parent>world</parent><child>a</child></joint></model>').n_dof == 0  # fmt: skip  # noqa: E501
    with pytest.raises(kt.errors.ModelError, match="cannot float"):
        read(f'<model name="m"><static>1</static>{link}</model>', floating_base=True)


def test_nested_models_frames_and_placement():
    """The tip of a nested arm, placed by a frame of its own, in a model that is placed itself."""
    inner = (
        f'<model name="arm" placement_frame="grip"><pose relative_to="shelf">0 0 1 0 0 0</pose>'
        f'<link name="l"><pose>0.5 0 0 0 0 0</pose>{BODY}</link>'
        '<frame name="grip" attached_to="l"><pose>0 0.25 0 0 0 0</pose></frame></model>'
    )
    text = (
        f'<model name="m"><pose>10 0 0 0 0 1.5707963267948966</pose><link name="base">{BODY}</link>'
        f'<frame name="shelf"><pose>2 0 0 0 0 0</pose></frame>{inner}'
        f"{hinge('j', 'base', 'arm::grip')}{hinge('r', 'world', 'base', kind='prismatic')}</model>"
    )
    found = read(text)
    assert found.body_names == ("base", "j_frame", "arm::l")
    poses = kt.forward_kinematics(found, [0.0, 0.0])
    np.testing.assert_allclose(poses.of("arm::grip")[1], [10, 2, 1], atol=1e-14)  # as placed
    np.testing.assert_allclose(poses.of("arm::l")[1], [10.25, 2, 1], atol=1e-14)
    np.testing.assert_allclose(poses.of("shelf")[1], [10, 2, 0], atol=1e-14)
    turned = kt.forward_kinematics(found, [0.0, np.pi])  # about the grip, which stays
    np.testing.assert_allclose(turned.of("arm::grip")[1], [10, 2, 1], atol=1e-14)
    np.testing.assert_allclose(turned.of("arm::l")[1], [9.75, 2, 1], atol=1e-14)


def test_degrees_and_quaternions():
    poses = ['degrees="true">1 2 3 0 0 90', 'rotation_format="quat_xyzw">1 2 3 0 0 1 1']
    found = [read(f'<model name="m"><link name="a"><pose {x}</pose>{BODY}</link></model>') for x in poses]
    for one in found:
        R, _ = kt.forward_kinematics(one, np.zeros(6)).of("a")
        np.testing.assert_allclose(R, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)


def test_links_without_gravity_and_worlds_with_their_own():
    text = f'<world name="w"><gravity>0 0 -1.62</gravity><model name="m"><link name="a">{BODY}<gravity>0</gravity></link><link name="b"><pose>1 0 0 0 0 0</pose>{BODY}</link>{hinge("j", "world", "a", axis="1 0 0", kind="prismatic")}{hinge("k", "a", "b", axis="0 0 1", kind="prismatic")}</model></world>'  # fmt: skip  # noqa: E501
    found = read(text)
    np.testing.assert_allclose(found.gravity, [0, 0, -1.62])
    np.testing.assert_allclose(kt.gravity_torque(found, [0.0, 0.0]), [0, 2 * 1.62], atol=1e-15)
    assert (
        read('<world name="w"><model name="m"><link name="a">' + BODY + "</link></model></world>").gravity[2]
        == -9.8
    )


def test_inertia_of_collision_shapes():
    auto = (
        '<inertial auto="true"><density>500</density></inertial><collision name="c"><pose>0 0 1 0 0 0</pose>'
        "<geometry><box><size>0.2 0.3 0.4</size></box></geometry></collision>"
    )
    inertia = read(f'<model name="m"><link name="a">{auto}</link></model>').links[0].body.inertia
    expected = kt.Inertia.box(12.0, size=(0.2, 0.3, 0.4), center=(0, 0, 1))
    np.testing.assert_allclose(inertia.mass, 12.0, rtol=1e-13)
    np.testing.assert_allclose(inertia.moment, expected.moment, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(inertia.center, [0, 0, 1])


# ---- loops --------------------------------------------------------------------------------------------


def four_bar(order: str) -> str:
    """A parallelogram of three bars on the world; the last joint has the child that another one has."""
    rods = {"crank": ("0 0 0", 0.3), "coupler": ("0 0.3 0", 0.8), "rocker": ("0.8 0 0", 0.3)}
    directions = {"crank": "0 0.15 0", "coupler": "0.4 0 0", "rocker": "0 0.15 0"}
    links = "".join(
        f'<link name="{name}"><pose>{at} 0 0 0</pose>'
        f"<inertial><pose>{directions[name]} 0 0 0</pose><mass>2</mass>"
        "<inertia><ixx>0.02</ixx><iyy>0.03</iyy><izz>0.04</izz></inertia></inertial></link>"
        for name, (at, _) in rods.items()
    )
    joints = {
        "o": hinge("o", "world", "crank"),
        "a": hinge("a", "crank", "coupler"),
        "b": hinge("b", "rocker", "coupler", "<pose>0.8 0 0 0 0 0</pose>"),
        "c": hinge("c", "world", "rocker"),
    }
    return f'<model name="m">{links}{"".join(joints[x] for x in order)}</model>'


@pytest.mark.parametrize("order", ["oabc", "cbao", "bcoa"])
def test_a_link_that_is_the_child_of_two_joints_closes_a_loop(order):
    found = read(four_bar(order)).with_gravity((0, -9.81, 0))
    assert len(found.loops) == 1
    assert kt.loops.structure(found).mobility == 1
    turn = 0.4
    q = kt.loops.assemble(found, [turn if n in "oc" else -turn for n in found.joint_names], hold=["o"] if "o" in found.joint_names else ["c"])  # fmt: skip  # noqa: E501
    qdd = kt.forward_dynamics(found, q, np.zeros(3), np.zeros(3))
    # a parallelogram: the coupler translates, 2 I + m r^2 turn, gravity acts on r/2 twice and r once
    r, m = 0.3, 2.0
    bar = 0.04 + m * (r / 2) ** 2
    expected = 9.81 * np.sin(turn) * m * (r / 2 + r / 2 + r) / (2 * bar + m * r**2)
    driven = dict(zip(found.joint_names, qdd, strict=True))
    for name, sign in (("o", 1), ("c", 1), ("a", -1), ("b", -1)):
        if name in driven:
            np.testing.assert_allclose(driven[name], sign * expected, rtol=1e-10)


def test_a_body_reached_from_its_parents_side_keeps_its_frame_and_sign():
    text = (
        f'<model name="m"><link name="a"><pose>1 0 0 0 0 0.3</pose>{BODY}</link>'
        f"{hinge('j', 'a', 'world', '<pose>0 1 0 0 0 0</pose>')}</model>"
    )
    found = read(text)
    np.testing.assert_allclose(kt.forward_kinematics(found, [0.0]).of("a")[1], [1, 0, 0], atol=1e-15)
    # the world turns by q against the link, so the link by -q against the world
    R = kt.forward_kinematics(found, [0.2]).of("a")[0]
    np.testing.assert_allclose(R, rotation_about("z", 0.1), atol=1e-15)
