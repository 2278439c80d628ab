"""Two mechanisms as one: a tree taken apart and joined again, Pinocchio's joined model, files with parts."""

from dataclasses import fields, replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.smooth_functions import Polynomial
from kinetree.model.actuator import Actuator
from kinetree.model.joined import placed
from kinetree.model.muscle import MovingPoint, Muscle, PathPoint, PathWrap, Wrap
from kinetree.model.named_state import NamedState

STILL = kt.Placement()
PATH = [
    PathPoint("world", (0.0, 0.1, 0.2)),
    PathPoint("trunk", (0.1, 0.0, 0.0), "knee1", (-1.0, 1.0)),
    MovingPoint("shank1", Polynomial((0.0, 0.1)), 0.0, 0.0, ("knee1", None, None)),
]
ASKEW = kt.Placement.at((0.1, -0.2, 0.3), rpy=(0.4, -0.5, 0.6))


def taken_apart(tree, body):
    """The tree without what hangs on a joint, and that by itself, floating."""
    cut = tree.link(body)
    below = {body}
    for link in tree.links:
        below |= {link.body.name} if link.parent in below else set()
    rest = tuple(x for x in tree.links if x.body.name not in below)
    base = kt.model.Link(cut.body, kt.Joint.of_kind("base", "free"))
    part = (base, *(x for x in tree.links if x.body.name in below - {body}))
    return kt.Mechanism("rest", rest, tree.gravity), kt.Mechanism("part", part, tree.gravity), cut


@pytest.mark.parametrize("seed", range(4))
def test_a_tree_that_was_taken_apart_is_the_same_again(seed):
    tree = kt.zoo.random_tree(seed, 9)
    body = next(x.body.name for x in tree.links[2:] if x.parent != "world")
    rest, part, cut = taken_apart(tree, body)
    again = kt.join(rest, part, cut.parent, placement=cut.placement, joint=cut.joint)
    assert sorted(again.joint_names) == sorted(tree.joint_names)
    order = [tree.joint_names.index(name) for name in again.joint_names]
    state = kt.random_state(tree, np.random.default_rng(seed), 3)
    tau = kt.inverse_dynamics(tree, state.q, state.qd, state.qdd)
    found = kt.inverse_dynamics(again, *(x[:, order] for x in (state.q, state.qd, state.qdd)))
    np.testing.assert_allclose(found, tau[:, order], atol=1e-10 * np.abs(tau).max())


@pytest.mark.peers
def test_pinocchio_joins_alike(tmp_path):
    pin = pytest.importorskip("pinocchio")
    first, second = kt.zoo.kuka_kr5(), kt.zoo.gripper().with_gravity((0, 0, -9.81))
    models = []
    for mechanism in (first, second):
        path = tmp_path / f"{mechanism.name}.urdf"
        kt.save(mechanism, path)
        models.append(pin.buildModelFromUrdf(str(path)))
    for name in models[1].names[1:]:  # joints of both have the same names
        models[1].names[models[1].getJointId(name)] = f"hand_{name}"
    for frame in models[1].frames:
        frame.name = f"hand_{frame.name}"
    place = pin.SE3(ASKEW.rotation.copy(), ASKEW.position.copy())
    model = pin.appendModel(models[0], models[1], models[0].getFrameId("link6"), place)
    whole = kt.join(first, second, "link6", placement=ASKEW, prefix="hand_")
    order = [whole.joint_names.index(name) for name in list(model.names)[1:]]
    state, data = kt.random_state(whole, np.random.default_rng(1), 5), model.createData()
    for q, qd, qdd in zip(state.q, state.qd, state.qdd, strict=True):
        turns = np.column_stack([np.cos(q), np.sin(q)])[order].ravel()  # of joints without limits
        theirs = pin.rnea(model, data, turns, qd[order], qdd[order])
        ours = kt.inverse_dynamics(whole, q, qd, qdd)[order]
        np.testing.assert_allclose(ours, theirs, atol=1e-9 * np.abs(theirs).max())


def test_a_mechanism_in_the_world_moves_as_alone():
    """Two that do not touch: the mass matrix has two blocks, and each has its own torques."""
    first, second = kt.zoo.quadruped(), kt.zoo.kuka_kr5()
    whole = kt.join(first, second, placement=kt.Placement.at((2.0, 0.0, 0.5)))
    state = kt.random_state(whole, np.random.default_rng(2))
    n, parts = first.n_dof, (state.q, state.qd, state.qdd)
    tau = kt.inverse_dynamics(whole, *parts)
    np.testing.assert_allclose(tau[:n], kt.inverse_dynamics(first, *(x[:n] for x in parts)), atol=1e-10)
    np.testing.assert_allclose(tau[n:], kt.inverse_dynamics(second, *(x[n:] for x in parts)), atol=1e-10)
    assert not kt.mass_matrix(whole, state.q)[:n, n:].any()


def test_all_that_it_has_goes_with_it():
    second = replace(
        kt.zoo.quadruped(),
        frames=(kt.model.Frame("camera", "trunk", ASKEW), kt.model.Frame("beacon", "world", ASKEW)),
        springs=(kt.Spring("rope", "world", "trunk", (0, 0, 2.0), stiffness=10.0),),
        actuators=(Actuator.motor("motor", "knee1"),),
        muscles=(Muscle("rope", PATH, [PathWrap("drum")]),),
        wraps=(Wrap("drum", "world", radii=0.1),),
        markers=(kt.model.Marker("knee", "shank1"),),
    )
    whole = kt.join(kt.zoo.kuka_kr5(), second, placement=ASKEW, prefix="dog_")
    assert whole.springs[0].body_a == "world"
    np.testing.assert_allclose(whole.springs[0].point_a, ASKEW.rotation @ [0, 0, 2.0] + ASKEW.position)
    assert whole.frames[0] == kt.model.Frame("dog_camera", "dog_trunk", ASKEW)
    assert whole.frames[1].placement == ASKEW @ ASKEW
    assert whole.actuators[0].gears == (("dog_knee1", 1.0),)
    muscle, wrap = whole.muscles[0], whole.wraps[0]
    assert (muscle.name, muscle.wraps[0].wrap, wrap.name) == ("dog_rope", "dog_drum", "dog_drum")
    fixed, conditional, moving = muscle.path
    assert fixed.body == "world" and conditional.body == "dog_trunk" and moving.body == "dog_shank1"
    np.testing.assert_allclose(fixed.position, ASKEW.rotation @ [0.0, 0.1, 0.2] + ASKEW.position)
    assert conditional.coordinate == "dog_knee1" and moving.coordinates == ("dog_knee1", None, None)
    assert wrap.placement == ASKEW
    assert (whole.markers[0].name, whole.markers[0].body) == ("dog_knee", "dog_shank1")
    assert [x.name for x in whole.contact_points] == [f"dog_{x.name}" for x in second.contact_points]
    assert {f.name for f in fields(kt.Mechanism)} == {
        *("name", "links", "gravity", "loops", "contact_points"),
        *("springs", "frames", "actuators", "states", "floor", "muscles", "wraps", "markers"),
    }, "a new part of mechanisms: does join keep it?"


def test_named_states_of_both():
    def with_state(mechanism, name, q):
        return replace(mechanism, states=(NamedState(name, q),))

    first = with_state(kt.zoo.kuka_kr5(), "home", np.full(6, 0.1))
    second = with_state(kt.zoo.quadruped(), "home", np.full(18, 0.2))
    third = with_state(kt.zoo.quadruped(), "crouch", np.full(18, 0.3))
    assert kt.join(first, second).states["home"].q.tolist() == [0.1] * 6 + [0.2] * 18
    welded = kt.join(first, third, "link6")
    assert welded.n_dof == 18
    assert welded.states["home"].q.tolist() == [0.1] * 6 + [0.0] * 12
    assert welded.states["crouch"].q.tolist() == [0.0] * 6 + [0.3] * 12


def test_two_arms_hold_one_load():
    """Tied by a loop: after a short time of the accelerations from rest the ends still meet."""
    arm = kt.zoo.kuka_kr5()
    tie = kt.model.Loop(kt.Joint.of_kind("grip", "spherical", cut=True), "link6", "other_link6", ASKEW, STILL)
    both = kt.join(arm, arm, placement=kt.Placement.at((1.2, 0, 0)), prefix="other_", loops=[tie])
    q = kt.loops.assemble(both, np.tile([0.0, 1.0, -0.5, 0.0, 0.4, 0.0], 2))
    qdd = kt.forward_dynamics(both, q, np.zeros(both.n_dof), np.zeros(both.n_dof))
    assert np.abs(qdd).max() > 1.0
    fell = 0.5e-8 * qdd  # after 1e-4 s
    poses = kt.forward_kinematics(both, np.stack([q, q + fell]))
    one, other = (both.body_names.index(name) for name in ("link6", "other_link6"))
    ends = poses.position[:, one] + poses.rotation[:, one] @ ASKEW.position
    gap = ends - poses.position[:, other]
    assert np.abs(gap[0]).max() < 1e-9 and np.abs(gap[1] - gap[0]).max() < 1e-4 * np.abs(fell).max()


def test_a_file_includes_others(tmp_path):
    kt.save(kt.zoo.kuka_kr5(), tmp_path / "arm.toml")
    (tmp_path / "cell.toml").write_text(
        """
        name = "cell"
        [[include]]
        mechanism = "quadruped"
        [[include]]
        mechanism = "arm.toml"
        prefix = "arm_"
        on = "trunk"
        at = [0.1, -0.2, 0.3]
        rpy = [0.4, -0.5, 0.6]
        [[body]]
        name = "load"
        parent = "arm_link6"
        mass = 2.0
        joint = "fixed"
        """
    )
    cell = kt.load(tmp_path / "cell.toml")
    joined = kt.join(kt.zoo.quadruped(), kt.zoo.kuka_kr5(), "trunk", placement=ASKEW, prefix="arm_")
    assert cell.links[:-1] == joined.links
    assert cell.mass == pytest.approx(joined.mass + 2.0)
    kt.save(cell, tmp_path / "flat.toml")
    assert kt.load(tmp_path / "flat.toml") == cell


def test_a_joint_carries_what_hangs_on_its_own(tmp_path):
    """A turntable below an arm: its rate adds to that of the first joint, whose axis is the same."""
    arm = kt.zoo.kuka_kr5()
    table = kt.Joint.of_kind("table", "revolute", axis=tuple(arm.links[0].placement.rotation[:, 2]))
    whole = placed(arm, STILL, table)
    state = kt.random_state(arm, np.random.default_rng(4))
    tau = kt.inverse_dynamics(arm, state.q, state.qd, state.qdd)
    turned = [np.array([0.3 * x[0], 0.7 * x[0], *x[1:]]) for x in (state.q, state.qd, state.qdd)]
    found = kt.inverse_dynamics(whole, *turned)
    np.testing.assert_allclose(found[1:], tau, atol=1e-10)
    assert found[0] == pytest.approx(tau[0])


def refused():
    dog, arm = kt.zoo.quadruped(), kt.zoo.kuka_kr5()
    driven = replace(dog, actuators=(Actuator.motor("jet", "base.tz"),))
    return [
        (lambda: kt.join(arm, arm), "both have a body 'link1'; give another prefix"),
        (lambda: kt.join(arm, dog.with_gravity((0, 0, 0))), "gravity"),
        (lambda: kt.join(arm, dog, "wrist"), "wrist"),
        (lambda: kt.join(arm, "dog"), "'dog'"),
        (lambda: kt.join(arm, dog, prefix=3), "prefix must be"),
        (lambda: kt.join(arm, dog, joint="fixed"), "joint must be"),
        (lambda: kt.join(arm, driven, "link6"), "actuator 'jet'"),
        (lambda: kt.join(arm, dog, loops=["tie"]), "loops"),
    ]


@pytest.mark.parametrize("k", range(8))
def test_refused(k):
    call, said = refused()[k]
    with pytest.raises(kt.KinetreeError, match=said):
        call()


@pytest.mark.parametrize(
    ("include", "said"),
    [
        ('mechanism = "cell.toml"', "includes itself"),
        ('mechanism = "missing.toml"', "missing.toml"),
        ('mechanism = "kuka_kr5"\non = "trunk"', "first mechanism is placed on the world"),
        ('mechanism = "kuka_kr5"\nscale = 2', "scale"),
        ('prefix = "a_"', "mechanism is missing"),
    ],
)
def test_refused_files(tmp_path, include, said):
    path = tmp_path / "cell.toml"
    path.write_text(f'name = "cell"\n[[include]]\n{include}\n')
    with pytest.raises(kt.KinetreeError, match=said):
        kt.load(path)
