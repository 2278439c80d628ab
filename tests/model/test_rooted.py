"""One tree with different roots: the same matter, the same motions, the same torques of the joints."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.model.rooted import frame_in
from support.each import each

KINDS = ("revolute", "prismatic", "cylindrical", "universal", "spherical", "planar", "free", "fixed")


def floating_tree(seed, n=8, kinds=KINDS):
    """A random tree whose first body floats, with springs, limits, friction and drives."""
    rng = np.random.default_rng(seed)
    tree = kt.zoo.random_tree(seed, n, kinds)
    build = kt.Builder("floating", gravity=(1.0, -2.0, -9.0))
    base = build.world.free("base", sequence="XYZ", at=(0.1, 0.2, 0.3), rpy=(0.3, 0.2, 0.1), driven=False)
    bodies = {"world": base.body("trunk", kt.Inertia.box(3.0, (0.3, 0.2, 0.1), (0.02, 0.01, 0.03)))}
    for link in tree.links:
        joint, m = link.joint, link.joint.n_dof
        extra = {}
        if m:
            keys = ("armature", "viscous", "stiffness", "rest", "coulomb", "coulomb_reverse")
            extra = {key: rng.uniform(0.1, 1.0, m) for key in keys}
            extra["driven"] = list(rng.random(m) < 0.5)
            if joint.sequence:
                extra["sequence"] = joint.sequence
            elif len(joint.axes):
                extra["axes"] = list(joint.axes)
        place = {"at": link.placement.position, "rotation": link.placement.rotation}
        handle = bodies[link.parent].joint(joint.name, joint.kind, **place, **extra)
        bodies[link.body.name] = handle.body(link.body.name, link.body.inertia)
        bodies[link.body.name].contact(f"point_{link.body.name}", at=rng.uniform(-0.2, 0.2, 3))
    return build.build()


TREES = [floating_tree(seed) for seed in range(4)]


def moving(mechanism, seed=0, batch=3):
    state = kt.random_state(mechanism, np.random.default_rng(seed), batch)
    return 0.4 * state.q, state.qd, state.qdd


def joints_of(mechanism, values):
    """Values of all joints but the base, by name."""
    return {n: values[..., j] for j, n in enumerate(mechanism.joint_names) if not n.startswith("base.")}


@pytest.mark.parametrize("kind", ["cylindrical", "universal", "spherical", "planar"])
def test_degrees_of_freedom_keep_their_names(kind):
    """Also about z, whose names come from the axes, which point the other way."""
    build = kt.Builder("two")
    trunk = build.world.free("base").body("trunk", kt.Inertia(1.0, moment=(1, 1, 1)))
    trunk.joint("between", kind).body("tip", kt.Inertia(1.0, moment=(1, 1, 1)))
    robot = build.build()
    other = robot.rooted_at("tip")
    assert set(other.joint_names) == set(robot.joint_names)
    q = np.linspace(0.1, 0.9, robot.n_dof)
    back = kt.analysis.change_root(other, robot, kt.analysis.change_root(robot, other, q).q).q
    assert np.allclose(back, q, atol=1e-12)


@each("tree", TREES)
@each("which", [2, 5, -1])
def test_both_roots_agree(tree, which):
    body = tree.body_names[which]
    other = tree.rooted_at(body, point=(0.05, -0.1, 0.2), sequence="ZXY")
    assert other.links[0].body.name == body and other.links[0].joint.is_free
    assert set(other.joint_names) == set(tree.joint_names) | {"base.rz", "base.rx", "base.ry"}
    before = moving(tree)
    state = kt.analysis.change_root(tree, other, *before)
    after = state.q, state.qd, state.qdd
    # the same matter moves in the same way
    for ask, n in (
        (kt.kinetic_energy, 2),
        (kt.momentum, 2),
        (kt.center_of_mass, 1),
        (kt.potential_energy, 1),
    ):
        assert np.allclose(ask(other, *after[:n]), ask(tree, *before[:n]), atol=1e-10)
    points = {point.name: point for point in other.contact_points}
    for point in tree.contact_points:
        for mechanism, p, x in ((tree, point, before), (other, points[point.name], after)):
            R, o = kt.forward_kinematics(mechanism, x[0])[p.body]
            place = R @ p.position + o
            if mechanism is tree:
                expected = place
        assert np.allclose(place, expected, atol=1e-12)
    # torques of the joints are the same if what moves the base is the same wrench: none is left but at joints
    tau, tau_other = kt.inverse_dynamics(tree, *before), kt.inverse_dynamics(other, *after)
    J = base_jacobian(tree, other, *before)
    assert np.allclose(tau, np.einsum("bji,bj->bi", J, tau_other), atol=1e-9)
    M, M_other = kt.mass_matrix(tree, before[0]), kt.mass_matrix(other, after[0])
    assert np.allclose(M, np.einsum("bji,bjk,bkl->bil", J, M_other, J), atol=1e-9)
    # and back
    back = kt.analysis.change_root(other, tree, *after)
    again = kt.analysis.change_root(tree, tree, *before)
    for mine, theirs, same in zip((back.qd, back.qdd), before[1:], (again.qd, again.qdd), strict=True):
        assert np.allclose(mine, theirs, atol=1e-9) and np.array_equal(same, theirs)
    assert np.allclose(np.sin(back.q), np.sin(before[0]), atol=1e-10)


def base_jacobian(tree, other, q, qd, qdd):
    """d(qd of the other) / d(qd of the tree), column by column, (batch, n, n): rates are linear in rates."""
    columns = [
        kt.analysis.change_root(tree, other, q, np.tile(e, (len(q), 1))).qd for e in np.eye(tree.n_dof)
    ]
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("tree", TREES)
def test_free_motion_is_the_same(tree):
    """Without anything at the base, accelerations under the same joint torques agree."""
    other = tree.rooted_at(tree.body_names[-1])
    q, qd, _ = moving(tree)
    rng = np.random.default_rng(1)
    tau = rng.standard_normal(q.shape)
    tau[:, :6] = 0.0
    state = kt.analysis.change_root(tree, other, q, qd)
    torque = np.zeros_like(tau)
    for j, name in enumerate(other.joint_names):
        torque[:, j] = 0.0 if name.startswith("base.") else tau[:, tree.joint_index(name)]
    qdd = kt.forward_dynamics(tree, q, qd, tau)
    expected = kt.analysis.change_root(tree, other, q, qd, qdd).qdd
    found = kt.forward_dynamics(other, state.q, state.qd, torque)
    assert np.allclose(found, expected, atol=1e-7 * np.abs(expected).max())


def test_floating_inverse_dynamics_agrees():
    tree = floating_tree(7, 6, ("revolute", "spherical", "universal"))
    other = tree.rooted_at(tree.body_names[-1], sequence="ZYX")
    q, qd, qdd = moving(tree)
    base, tau = kt.analysis.floating_base_inverse_dynamics(tree, q, qd, qdd[:, 6:])
    state = kt.analysis.change_root(tree, other, q, qd, np.concatenate([base, qdd[:, 6:]], axis=-1))
    base_other, tau_other = kt.analysis.floating_base_inverse_dynamics(
        other, state.q, state.qd, state.qdd[:, 6:]
    )
    assert np.allclose(base_other, state.qdd[:, :6], atol=1e-8)
    for j, name in enumerate(other.joint_names[6:]):
        assert np.allclose(tau_other[:, j], tau[:, tree.joint_index(name) - 6], atol=1e-9), name


def test_rates_are_derivatives_of_positions():
    tree = TREES[0]
    other = tree.rooted_at(tree.body_names[-1], point=(0.1, 0.2, 0.3))
    q, qd, qdd = moving(tree, batch=1)
    step = 1e-4

    def at(t):
        return kt.analysis.change_root(tree, other, q + t * qd + 0.5 * t * t * qdd, qd + t * qdd, qdd)

    state = at(0.0)
    assert np.allclose((at(step).q - at(-step).q) / (2 * step), state.qd, atol=1e-5)
    assert np.allclose((at(step).qd - at(-step).qd) / (2 * step), state.qdd, atol=1e-5)


def test_what_joints_carry_stays(tmp_path):
    robot = kt.Builder("robot")
    trunk = robot.world.free("base").body("trunk", kt.Inertia.box(5.0, (0.3, 0.2, 0.1)))
    given = {"lower": [-1, -2, -3], "upper": [1, 2, 3], "effort_limit": [5, 6, 7], "coulomb": [0.1, 0.2, 0.3]}
    hip = trunk.spherical("hip", at=(0, 0, -0.1), sequence="YXZ", driven=[True, False, True], **given)
    shape = kt.model.Shape("sphere", [0.1], kt.Placement.at((0, 0, -0.2)))
    leg = hip.body("leg", kt.Inertia.rod(1.0, (0, 0, -0.5)), [shape]).contact("foot", at=(0, 0, -0.5))
    other = robot.build().rooted_at("leg", point="foot")
    assert other.joint_names[6:] == ("hip.rz", "hip.rx", "hip.ry")
    joint = other.links[1].joint
    assert joint.kind == "spherical" and joint.driven == (True, False, True)
    assert joint.upper.tolist() == [3, 2, 1] and joint.effort_limit.tolist() == [7, 6, 5]
    assert other.contact_points[0].position.tolist() == [0, 0, 0]
    assert other.links[0].body.shapes[0].placement.position.tolist() == pytest.approx([0, 0, 0.3])
    assert leg.name == "leg" and other.links[1].placement.position.tolist() == [0, 0, 0.5]
    twice = other.rooted_at("trunk").link("leg").joint
    assert twice.dof_names == ("hip.ry", "hip.rx", "hip.rz") and twice.sequence == "YXZ"
    kt.save(other, tmp_path / "other.toml")
    assert kt.load(tmp_path / "other.toml") == other


def test_loops_stay_closed():
    walker = kt.Builder("closed")
    a = walker.world.free("base").body("a", kt.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    b = a.revolute("ab", axis="y", at=(0.5, 0, 0)).body("b", kt.Inertia.rod(1.0, (0, 0, 0.5)))
    c = a.revolute("ac", axis="y").body("c", kt.Inertia.rod(1.0, (0, 0, 0.5)))
    d = b.revolute("bd", axis="y", at=(0, 0, 0.5)).body("d", kt.Inertia.rod(1.0, (-0.5, 0, 0)))
    walker.loop("close", c, d, at_a=(0, 0, 0.5), at_b=(-0.5, 0, 0), axis="y")
    robot = walker.build()
    other = robot.rooted_at("d")
    loop, q = other.loops[0], np.zeros(other.n_dof)
    poses = kt.forward_kinematics(other, q)
    places = [
        poses[body][0] @ place.position + poses[body][1]
        for body, place in ((loop.body_a, loop.placement_a), (loop.body_b, loop.placement_b))
    ]
    assert np.allclose(*places)


def test_a_mechanism_that_stands_needs_a_base():
    arm = kt.zoo.kuka_kr5()
    tip = arm.body_names[-1]
    with pytest.raises(kt.errors.InputError, match=r"does not float.*holds it to the world.*base="):
        arm.rooted_at(tip)
    base = kt.Joint.of_kind("held", "fixed")
    held = arm.rooted_at(tip, base=base)
    assert held.joint_names == arm.joint_names[:0:-1]
    # held at its tip or at its base: joints between feel the same inertia only of what they move
    assert held.mass == pytest.approx(arm.mass)
    with pytest.raises(kt.errors.InputError, match="only a free joint"):
        kt.analysis.change_root(arm, held, np.zeros(6))


@each(
    ("call", "words"),
    [
        (lambda m: m.rooted_at("shank9"), "unknown body 'shank9'"),
        (lambda m: m.rooted_at("shank1", point="foot2"), "unknown contact point of this body 'foot2'"),
        (lambda m: m.rooted_at("shank1", point=(1, 2)), "vector of 3 numbers"),
        (lambda m: m.rooted_at("shank1", sequence="XXZ"), "unknown axis sequence"),
        (lambda m: m.rooted_at("shank1", base="free"), "base must be a Joint"),
        (lambda m: kt.analysis.change_root(m, kt.zoo.hexapod(), np.zeros(18)), "with another root"),
        (lambda m: kt.analysis.change_root(m, m, np.zeros(17)), "must have shape"),
        (lambda m: kt.analysis.change_root(m, m, np.zeros(18), None, np.zeros(18)), "also need velocities"),
    ],
)
def test_wrong_roots_are_refused(call, words):
    with pytest.raises(kt.KinetreeError, match=words):
        call(kt.zoo.quadruped())


def test_springs_of_a_base_have_no_place_elsewhere():
    robot = kt.Builder("sprung")
    body = robot.world.free("base", stiffness=1.0).body("a", kt.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    body.revolute("hinge").body("b", kt.Inertia.rod(1.0, (1, 0, 0)))
    with pytest.raises(kt.errors.InputError, match="'base' of 'sprung' has stiffness"):
        robot.build().rooted_at("b")
    assert robot.build().rooted_at("b", base=kt.Joint.of_kind("new", "free")).joint_names[-1] == "hinge"


def test_gimbal_lock_of_the_new_base_is_reported():
    robot = kt.zoo.quadruped()
    other = robot.rooted_at("shank1", sequence="XYZ")
    q = np.zeros(18)
    q[robot.joint_index("knee1")] = np.pi / 2
    kt.analysis.change_root(robot, other, q)
    with pytest.raises(kt.errors.SingularityError, match="gimbal lock"):
        kt.analysis.change_root(robot, other, q, q)


def test_frames_that_do_not_fit_are_seen():
    robot = kt.zoo.quadruped()
    other = kt.zoo.hexapod()
    with pytest.raises(kt.errors.InputError):
        frame_in(robot, other, "nothing")


@pytest.mark.parametrize("tree", TREES[:2])
def test_held_joints_move_as_if_locked(tree):
    rng = np.random.default_rng(5)
    names = [n for n in tree.joint_names[6:] if rng.random() < 0.5]
    where = dict(zip(names, rng.uniform(-1, 1, len(names)), strict=True))
    less = tree.frozen(where)
    assert set(less.joint_names) == set(tree.joint_names) - set(names)
    small = moving(less)
    large = [np.zeros((3, tree.n_dof)) for _ in range(3)]
    for name, value in where.items():
        large[0][:, tree.joint_index(name)] = value
    for j, name in enumerate(less.joint_names):
        for a, b in zip(large, small, strict=True):
            a[:, tree.joint_index(name)] = b[:, j]
    expected = joints_of(tree, kt.inverse_dynamics(tree, *large))
    for mechanism in (less, less.fused()):
        assert mechanism.joint_names == less.joint_names
        found = joints_of(mechanism, kt.inverse_dynamics(mechanism, *small))
        for name, value in found.items():
            assert np.allclose(value, expected[name], atol=1e-9), name
        for point in mechanism.contact_points:
            old = next(x for x in tree.contact_points if x.name == point.name)
            R, o = kt.forward_kinematics(mechanism, small[0])[point.body]
            R_old, o_old = kt.forward_kinematics(tree, large[0])[old.body]
            assert np.allclose(R @ point.position + o, R_old @ old.position + o_old, atol=1e-12)
    assert less.fused().n_bodies < less.n_bodies and not any(x.joint.is_fixed for x in less.fused().links)


def test_wrong_joints_to_hold_are_refused():
    with pytest.raises(kt.errors.InputError, match="frozen: unknown joint 'knee9'"):
        kt.zoo.quadruped().frozen(["knee9"])
    with pytest.raises(kt.errors.InputError, match="frozen: where 'knee1' stays"):
        kt.zoo.quadruped().frozen({"knee1": float("nan")})


def test_held_mimics_follow():
    hand = kt.Builder("hand")
    palm = hand.world.free("base").body("palm", kt.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    palm.revolute("finger").body("a", kt.Inertia.rod(0.1, (0.1, 0, 0)))
    palm.revolute("thumb", mimic=kt.model.Mimic("finger", -1.0, 0.2)).body(
        "b", kt.Inertia.rod(0.1, (0.1, 0, 0))
    )
    robot = hand.build()
    held, q = robot.frozen({"finger": 0.5}), np.zeros(7)
    q[6] = 0.5
    poses = kt.forward_kinematics(robot, q)
    assert held.n_dof == 6
    for body in ("a", "b"):
        assert np.allclose(kt.forward_kinematics(held, q[:6])[body][0], poses[body][0])
