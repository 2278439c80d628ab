"""Inverse kinematics: reachable targets are reached, limits kept, closed forms met, the rest said plainly."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.rotation_vector import rotation_by
from kinetree.analysis.inverse_kinematics import Target, inverse_kinematics
from kinetree.errors import InputError
from kinetree.trajectories import SPATIAL_BIPED, biped_gait
from support.each import each
from support.trees import rotation


def limited(mechanism, lower, upper):
    """The same mechanism with these limits on every joint."""
    links = [
        replace(
            x,
            joint=replace(x.joint, lower=np.full(x.joint.n_dof, lower), upper=np.full(x.joint.n_dof, upper)),
        )
        for x in mechanism.links
    ]
    return kt.Mechanism(mechanism.name, tuple(links), mechanism.gravity)


def met(mechanism, found, targets, tolerance=1e-9):
    """Whether forward kinematics confirms what the result claims."""
    poses = kt.forward_kinematics(mechanism, found.q)
    for k, target in enumerate(targets):
        R, p = poses[target.body]
        if target.position is not None:
            off = np.linalg.norm(p + R @ target.point - target.position, axis=-1)
            assert np.allclose(off, found.position_error[..., k], atol=1e-12)
            assert (off <= tolerance)[found.converged].all()
        if target.orientation is not None:
            turned = np.linalg.norm(R - target.orientation, axis=(-2, -1))  # sqrt(2) times a small angle
            assert (turned <= 2 * tolerance)[found.converged].all()
    return bool(found.converged.all())


# ---- arms ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [kt.zoo.kuka_kr5, kt.zoo.puma])
@pytest.mark.parametrize("oriented", [True, False])
def test_reachable_targets_are_reached(rng, make, oriented):
    arm, point = make(), np.array([0.02, 0.0, 0.1])
    R, p = kt.forward_kinematics(arm, rng.uniform(-2.5, 2.5, (40, arm.n_dof)))[arm.body_names[-1]]
    target = Target(arm.body_names[-1], p + R @ point, R if oriented else None, point=point)
    assert met(arm, inverse_kinematics(arm, target), [target])


def test_limits_are_kept(rng):
    arm = limited(kt.zoo.kuka_kr5(), -1.2, 1.5)
    body = arm.body_names[-1]
    R, p = kt.forward_kinematics(arm, rng.uniform(-1.2, 1.5, (40, arm.n_dof)))[body]
    target = Target(body, p, R)
    found = inverse_kinematics(arm, target)
    assert met(arm, found, [target])
    assert found.q.min() >= -1.2 and found.q.max() <= 1.5
    anywhere = inverse_kinematics(arm, target, limits=False, restarts=0)
    assert np.abs(anywhere.q).max() > 1.5  # without limits some solutions lie beyond


def test_at_a_limit_the_nearest_position_is_found():
    """One joint to 0.5 rad, a target at 1 rad: it stops at the limit, the chord away."""
    arm = kt.Builder("arm")
    arm.world.revolute("joint", lower=-1.0, upper=0.5).body("link", kt.Inertia.rod(1.0, end=(1, 0, 0)))
    target = Target("link", (np.cos(1.0), np.sin(1.0), 0.0), point=(1, 0, 0))
    found = inverse_kinematics(arm.build(), target)
    assert not found.converged
    assert found.q[0] == 0.5
    assert found.position_error[0] == pytest.approx(2 * np.sin(0.25), rel=1e-12)


@pytest.mark.parametrize("elbow", [1.0, -1.0])
def test_two_links_meet_the_closed_form(elbow):
    """Law of cosines, either way the elbow points."""
    a, b, x, y = 0.4, 0.3, 0.35, 0.25
    arm = kt.Builder("arm")
    upper = arm.world.revolute("shoulder").body("upper", kt.Inertia.rod(1.0, end=(a, 0, 0)))
    upper.revolute("elbow", at=(a, 0, 0)).body("fore", kt.Inertia.rod(1.0, end=(b, 0, 0)))
    q2 = elbow * np.arccos((x * x + y * y - a * a - b * b) / (2 * a * b))
    q1 = np.arctan2(y, x) - np.arctan2(b * np.sin(q2), a + b * np.cos(q2))
    target = Target("fore", (x, y, 0.0), point=(b, 0, 0))
    found = inverse_kinematics(arm.build(), target, q0=[0.3, 0.2 * elbow], tolerance=1e-13)
    assert np.allclose(found.q, [q1, q2], atol=1e-12)


def test_out_of_reach_the_arm_points_at_the_target():
    arm = kt.zoo.two_link(length=(0.4, 0.3))
    tip = kt.forward_kinematics(arm, [0.0, 0.0])[arm.body_names[-1]]
    point = tip[0].T @ (np.array([0.7, 0, 0]) - tip[1])
    target = Target(arm.body_names[-1], (1.0, 1.0, 0.0), point=point)
    found = inverse_kinematics(arm, target, q0=[0.1, 0.4], restarts=2)
    assert not found.converged
    assert found.position_error[0] == pytest.approx(np.sqrt(2.0) - 0.7, abs=1e-9)
    with pytest.raises(InputError) as refused:
        inverse_kinematics(arm, target, strict=True, restarts=1)
    assert f"the target of body '{arm.body_names[-1]}': the nearest found is 0.714 m" in str(refused.value)


def test_a_singular_start_is_left():
    """Stretched out, no small motion shortens the arm; another start does."""
    arm = kt.zoo.two_link()
    R, p = kt.forward_kinematics(arm, [0.0, 0.0])[arm.body_names[-1]]
    point = R.T @ (np.array([0.8, 0, 0]) - p)
    target = Target(arm.body_names[-1], (0.5, 0.0, 0.0), point=point)
    assert not inverse_kinematics(arm, target, q0=[0.0, 0.0], restarts=0).converged
    assert inverse_kinematics(arm, target, q0=[0.0, 0.0]).converged


def test_unlimited_joints_stay_within_half_a_turn_of_the_start(rng):
    arm, start = kt.zoo.kuka_kr5(), np.full(6, 20.0)
    R, p = kt.forward_kinematics(arm, rng.uniform(-3.0, 3.0, (20, 6)))[arm.body_names[-1]]
    target = Target(arm.body_names[-1], p, R)
    found = inverse_kinematics(arm, target, q0=start)
    assert met(arm, found, [target])
    assert np.abs(found.q - start).max() <= np.pi + 1e-9


def test_near_a_solution_convergence_is_quadratic(rng):
    arm = kt.zoo.kuka_kr5()
    q = rng.uniform(-1.0, 1.0, (50, 6))
    q[:, 4] += 0.8  # away from the wrist's singularity
    R, p = kt.forward_kinematics(arm, q)[arm.body_names[-1]]
    found = inverse_kinematics(arm, Target(arm.body_names[-1], p, R), q0=q + 1e-3, tolerance=1e-12)
    assert found.converged.all() and found.iterations.max() <= 6
    assert np.abs(found.q - q).max() < 1e-9


# ---- trees --------------------------------------------------------------------------------------------
def test_trees_of_every_joint_kind(robot, rng):
    """All bodies without children at once, from a start nearby."""
    parents = {link.parent for link in robot.links}
    q = kt.random_state(robot, rng, 6).q
    poses = kt.forward_kinematics(robot, q)
    targets = [
        Target(b, poses[b][1] + poses[b][0] @ [0.1, 0.2, 0.3], poses[b][0], (0.1, 0.2, 0.3))
        for b in robot.body_names
        if b not in parents
    ]
    found = inverse_kinematics(robot, targets, q0=q + 0.1 * rng.standard_normal(q.shape), limits=False)
    assert met(robot, found, targets)


def test_mimic_joints_follow_and_their_limits_count():
    hand = kt.Builder("hand")
    bar = kt.Inertia.rod(1.0, end=(1, 0, 0))
    first = hand.world.revolute("first", lower=0.0).body("one", bar)
    first.revolute("second", at=(1, 0, 0), mimic=kt.model.Mimic("first", -2.0, 0.1), lower=-0.5).body(
        "two", bar
    )
    mechanism = hand.build()
    _, p = kt.forward_kinematics(mechanism, [[0.25], [0.5]])["two"]
    R, _ = kt.forward_kinematics(mechanism, [[0.25], [0.5]])["two"]
    target = Target("two", p + R @ [1.0, 0, 0], point=(1, 0, 0))
    found = inverse_kinematics(mechanism, target)
    assert found.converged.tolist() == [True, False]
    assert found.q[:, 0].tolist() == pytest.approx([0.25, 0.3], abs=1e-9)  # 0.1 - 2 x 0.3 = -0.5
    assert inverse_kinematics(mechanism, target, limits=False).converged.all()


def test_legs_of_a_biped_meet_the_closed_form():
    """Trunk and joints that are not of the legs frozen; feet and their attitude from a gait."""
    gait = biped_gait(kt.zoo.spatial_biped(), SPATIAL_BIPED, steps=2)
    t = np.linspace(0.0, 0.99, 9)
    q, feet = gait.at(t).q, gait.feet.at(t).q.reshape(9, 2, 3)
    targets = [Target(f"foot{k + 1}", feet[:, k], np.eye(3)) for k in range(2)]
    start = q + np.where(np.arange(18) < 6, 0.0, 0.05)
    found = inverse_kinematics(gait.mechanism, targets, q0=start, frozen=["base"], strict=True)
    assert np.abs(found.q - q).max() < 1e-8
    assert np.array_equal(found.q[:, :6], q[:, :6])


def test_only_free_joints_move(rng):
    robot = kt.zoo.spatial_biped()
    q = rng.uniform(-0.3, 0.3, 18)
    target = Target("foot1", kt.forward_kinematics(robot, q)["foot1"][1] + [0.01, 0.0, 0.02])
    found = inverse_kinematics(robot, target, q0=q, free=["hip1.ry", "knee1", "ankle1"])
    moved = [name for name, a, b in zip(robot.joint_names, q, found.q, strict=True) if a != b]
    assert set(moved) <= {"hip1.ry", "knee1", "ankle1.ry", "ankle1.rx"}
    other = inverse_kinematics(robot, target, q0=q, frozen=robot.joint_names)
    assert np.array_equal(other.q, q) and not other.converged


def test_weights_share_out_what_cannot_be_met():
    """One sliding joint, two targets for the same point: it stands at their weighted mean, w^2 counting."""
    slide = kt.Builder("slide")
    slide.world.prismatic("x", axis="x").body("cart", kt.Inertia.point(1.0))
    targets = [Target("cart", (0.0, 0, 0), weight=2.0), Target("cart", (1.0, 0, 0), weight=1.0)]
    found = inverse_kinematics(slide.build(), targets, restarts=0)
    assert found.q[0] == pytest.approx(0.2, abs=1e-9) and not found.converged
    assert found.position_error.tolist() == pytest.approx([0.2, 0.8], abs=1e-9)


# ---- batches ------------------------------------------------------------------------------------------
def test_an_answer_does_not_depend_on_its_batch(rng):
    arm = kt.zoo.puma()
    R, p = kt.forward_kinematics(arm, rng.uniform(-2.5, 2.5, (3, 4, 6)))[arm.body_names[-1]]
    many = inverse_kinematics(arm, Target(arm.body_names[-1], p, R))
    assert many.q.shape == (3, 4, 6) and many.converged.shape == many.iterations.shape == (3, 4)
    assert many.position_error.shape == (3, 4, 1)
    one = inverse_kinematics(arm, Target(arm.body_names[-1], p[1, 2], R[1, 2]))
    assert np.allclose(one.q, many.q[1, 2], atol=1e-9) and one.iterations == many.iterations[1, 2]


def test_leading_axes_broadcast(rng):
    arm = kt.zoo.puma()
    R, p = kt.forward_kinematics(arm, rng.uniform(-1.0, 1.0, (2, 1, 6)))[arm.body_names[-1]]
    found = inverse_kinematics(arm, Target(arm.body_names[-1], p), q0=rng.uniform(-1, 1, (3, 6)))
    assert found.q.shape == (2, 3, 6) and found.converged.all()
    none = inverse_kinematics(arm, Target(arm.body_names[-1], np.zeros((0, 3)), R[0, 0]))
    assert none.q.shape == (0, 6) and none.position_error.shape == (0, 1)


def test_the_same_seed_gives_the_same_answer(rng):
    arm = kt.zoo.kuka_kr5()
    target = Target(arm.body_names[-1], (0.5, 0.3, 0.4), rotation(rng))
    first, again = (inverse_kinematics(arm, target, seed=5) for _ in range(2))
    assert np.array_equal(first.q, again.q)


ARM = kt.zoo.puma()
LAST = ARM.body_names[-1]
HERE = Target(LAST, (0.3, 0.2, 0.1))


@each(
    ("call", "reason"),
    [
        (lambda: Target(LAST), "needs a position, an orientation or both"),
        (lambda: Target(LAST, (1, 2)), "must have shape (..., 3), got shape (2,)"),
        (lambda: Target(LAST, (1, 2, np.nan)), "must be finite"),
        (lambda: Target(LAST, orientation=np.ones((3, 3))), "right-handed rotation matrices"),
        (lambda: Target(LAST, orientation=-np.eye(3)), "right-handed rotation matrices"),
        (lambda: Target(LAST, (1, 2, 3), weight=0), "weight of the target of 'link6' must be > 0, got 0"),
        (lambda: Target(LAST, (1, 2, 3), point=(1, 2)), "point of the target of 'link6'"),
        (lambda: inverse_kinematics(ARM, []), "targets must be a Target or a list"),
        (lambda: inverse_kinematics(ARM, Target("hand", (0, 0, 0))), "unknown body 'hand'"),
        (lambda: inverse_kinematics(ARM, HERE, q0=[0.0]), "q0 must have shape (..., 6)"),
        (lambda: inverse_kinematics(ARM, HERE, free=["elbow"]), "unknown joint 'elbow'"),
        (lambda: inverse_kinematics(ARM, HERE, free=[], frozen=[]), "not both"),
        (lambda: inverse_kinematics(ARM, HERE, tolerance=0.0), "tolerance must be > 0, got 0"),
        (lambda: inverse_kinematics(ARM, HERE, max_iterations=0), "max_iterations must be an integer"),
        (lambda: inverse_kinematics(ARM, HERE, restarts=-1), "restarts must be an integer from 0 to 1000000"),
        (
            lambda: inverse_kinematics(ARM, Target(LAST, np.zeros((2, 3))), q0=np.zeros((3, 6))),
            "batch axes of targets and q0 do not fit together",
        ),
    ],
)  # fmt: skip
def test_refuses(call, reason):
    with pytest.raises(InputError) as refused:
        call()
    assert reason in str(refused.value)


def test_joints_that_follow_several_others_stay_within_their_limits():
    """Every place of the tip that a pose within the limits has is reached within them."""
    build, lengths = kt.Builder("arm", gravity=(0, 0, 0)), (0.5, 0.4, 0.3)
    part = build.world
    for k, (at, length) in enumerate(zip((0.0, *lengths), lengths, strict=False)):
        joint = part.revolute(f"j{k}", axis="z", at=(at, 0, 0), lower=-3.0, upper=3.0)
        part = joint.body(f"b{k}", kt.Inertia.rod(1.0, end=(length, 0, 0)))
    arm, ratios = build.build(), np.array([1.0, 1.0, -0.5])
    follows = kt.model.Mimic("j0", 1.0, others={"j1": 1.0, "j2": -0.5})
    rope = kt.Joint.of_kind("rope", "prismatic", axis="x", driven=False, lower=-0.5, upper=0.6, mimic=follows)
    tied = replace(arm, links=(*arm.links, kt.model.Link(kt.Body("rope"), rope)))
    q = np.random.default_rng(0).uniform(-1.5, 1.5, (80, 3))
    q = q[np.abs(q @ ratios - 0.05) < 0.55]
    R, p = kt.forward_kinematics(arm, q)["b2"]
    tip = kt.analysis.Target("b2", p + R @ [0.3, 0.0, 0.0], point=(0.3, 0, 0))
    found, free = kt.inverse_kinematics(tied, tip), kt.inverse_kinematics(tied, tip, limits=False)
    assert len(q) > 20 and found.converged.all() and found.position_error.max() < 1e-9
    assert np.abs(found.q @ ratios - 0.05).max() < 0.55 + 1e-9
    assert np.abs(free.q @ ratios - 0.05).max() > 0.7
    with pytest.raises(kt.errors.InputError, match=r"joint 'rope' .* beyond its limit"):
        kt.inverse_kinematics(tied, kt.analysis.Target("b2", (-1.1, 0.1, 0)), strict=True)


def _arms_reach(p, arm=0.2, rod=0.45, base=0.2, plate=0.06):
    """Whether all arms of the zoo's delta robot can be at an angle that fits a place of its plate."""
    for k in range(3):
        c, s = np.cos(2.0 * np.pi * k / 3.0), np.sin(2.0 * np.pi * k / 3.0)
        out, across = p[0] * c + p[1] * s + plate - base, p[1] * c - p[0] * s
        left = rod**2 - across**2
        reach = 2.0 * arm * np.hypot(out, p[2])
        if left < 0.0 or abs(out**2 + p[2] ** 2 + arm**2 - left) > reach:
            return False
    return True


def test_closed_loops_stay_on_the_branch_of_the_start():
    """A delta robot reaches what its arms reach, also where the straight way there leads out of reach.

    One of the places lies beyond a position where the plate could twist: only its orientation leads past it.
    """
    robot = kt.zoo.delta()
    q0 = np.zeros(robot.n_dof)
    home = kt.forward_kinematics(robot, q0)["plate"][1]
    places = np.array([(x, 0, z) for x in np.linspace(-0.35, 0.35, 15) for z in np.linspace(-0.6, -0.1, 11)])
    expected = np.array([_arms_reach(p) for p in places])
    straight = [all(_arms_reach(home + s * (p - home)) for s in np.linspace(0, 1, 200)) for p in places]
    assert (sum(expected), sum(straight)) == (105, 101)
    level = kt.inverse_kinematics(robot, kt.analysis.Target("plate", places, np.eye(3)), q0)
    found = kt.inverse_kinematics(robot, kt.analysis.Target("plate", places), q0)
    assert level.converged.tolist() == expected.tolist()
    assert np.argwhere(level.converged & ~found.converged).tolist() == [[163]]
    assert not (found.converged & ~level.converged).any()
    guess = np.tile(q0, (sum(expected), 1))
    guess[:, :3] = places[expected] - home
    assembled = kt.loops.assemble(robot, guess, hold=robot.joint_names[:6])
    np.testing.assert_allclose(level.q[expected], assembled, rtol=0, atol=1e-9)
    both = found.converged[expected]
    np.testing.assert_allclose(found.q[found.converged], assembled[both], rtol=0, atol=1e-9)
    assert np.abs(kt.loops.gap(robot, found.q[found.converged])).max() < 1e-12
    with pytest.raises(InputError, match="on the branch of q0"):
        kt.inverse_kinematics(robot, kt.analysis.Target("plate", (0.0, 0.0, -1.0)), q0, strict=True)


def test_a_platform_turns_while_it_moves(rng):
    """Places and turns together, where entries of the Jacobian are not zero that are so at home."""
    robot = kt.zoo.stewart()
    turns = rotation_by(rng.uniform(-0.3, 0.3, (40, 3)))
    places = rng.uniform(-0.1, 0.1, (40, 3)) + np.array([0.0, 0.0, 0.5])
    found = kt.inverse_kinematics(robot, kt.analysis.Target("plate", places, turns), np.zeros(robot.n_dof))
    assert found.converged.all()
    R, p = kt.forward_kinematics(robot, found.q)["plate"]
    assert np.abs(R - turns).max() < 1e-9 and np.abs(p - places).max() < 1e-9
    assert np.abs(kt.loops.gap(robot, found.q)).max() < 1e-12


def test_a_body_that_only_turns_has_no_way_to_bend():
    robot = kt.zoo.delta()
    p = kt.forward_kinematics(robot, np.zeros(robot.n_dof))["plate"][1]
    aim = kt.analysis.Target("plate", p, rotation_by(np.array([0.0, 0.0, 1.0])))
    found = kt.inverse_kinematics(robot, aim, np.zeros(robot.n_dof))  # its plate cannot turn
    assert not found.converged and np.isfinite(found.q).all()


def test_limits_end_the_way_of_closed_loops():
    """A five-bar leads its tip to where a joint reaches its limit, and reports that it is not there."""
    robot, q0 = kt.zoo.five_bar(), np.zeros(4)
    body, local = robot.loops[0].body_a, np.array(robot.loops[0].placement_a.position)
    R, p = kt.forward_kinematics(robot, q0)[body]
    tip = kt.analysis.Target(body, R @ local + p + [0.06, 0.04, 0.0], point=local)
    free = kt.inverse_kinematics(robot, tip, q0)
    assert free.converged and np.abs(kt.loops.gap(robot, free.q)).max() < 1e-12
    for share, reached in ((0.5, False), (1.01, True)):
        first = robot.links[0]
        bound = {"lower" if free.q[0] < 0.0 else "upper": np.array([share * free.q[0]])}
        limited = replace(
            robot, links=(replace(first, joint=replace(first.joint, **bound)), *robot.links[1:])
        )
        found = kt.inverse_kinematics(limited, tip, q0)
        assert bool(found.converged) == reached
        assert (
            abs(found.q[0]) <= abs(share * free.q[0]) and np.abs(kt.loops.gap(robot, found.q)).max() < 1e-12
        )


def test_closed_loops_with_more_freedom_than_the_target_takes():
    """The plate of a Stewart platform goes to a place; how it turns is open."""
    robot = kt.zoo.stewart()
    p = kt.forward_kinematics(robot, np.zeros(24))["plate"][1] + [0.05, -0.03, 0.04]
    found = kt.inverse_kinematics(robot, kt.analysis.Target("plate", p), np.zeros(24))
    assert found.converged and found.position_error.max() < 1e-9
    assert np.abs(kt.loops.gap(robot, found.q)).max() < 1e-12
