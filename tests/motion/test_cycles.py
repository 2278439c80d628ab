"""Splines that go on for ever, joints that are held, limits of control points: exact without any rows."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.terms import (
    Hold,
    JointLimits,
    Periodic,
    SquaredTorque,
    Symmetric,
    TorqueLimits,
    TorqueRateLimits,
)


def two_legs():
    """A trunk on a rail with two legs."""
    build = kt.Builder("two_legs")
    box = kt.Inertia.box(2.0, (0.1, 0.2, 0.3))
    trunk = (
        build.world.prismatic("travel", axis="x")
        .body("rail", box)
        .revolute("lean", axis="y")
        .body("trunk", box)
    )
    for side, y in (("left", 0.1), ("right", -0.1)):
        hip = trunk.revolute(f"{side}_hip", axis="y", at=(0, y, -0.2)).body(f"{side}_thigh", box)
        hip.revolute(f"{side}_knee", axis="y", at=(0, 0, -0.3)).body(f"{side}_shank", box)
    return build.build()


WALKER = two_legs()
PAIRS = {"left_hip": "right_hip", "left_knee": "right_knee", "travel": "travel", "lean": "lean"}
MIRROR = Symmetric(PAIRS, mirrored=["lean"], offset={"travel": 0.6}, spline=True)


def problem(*constraints, **changes):
    given = {"segments": 5, "clamped": False, "duration": 0.8, **changes}
    return kt.Problem(WALKER, objective=SquaredTorque(), constraints=list(constraints), **given)


def motion(case, s, rng, rate=0):
    x = case.program.unknowns(rng.standard_normal(case.program.n))
    return case.evaluation(np.asarray(s), x).motion[rate]


def test_mirrored_splines_repeat_with_all_derivatives_and_without_rows(rng):
    case = problem(MIRROR)
    assert (case.n_variables, case.n_constraints) == (5 * 6, 0)
    x = case.program.unknowns(rng.standard_normal(case.n_variables))
    ends = case.evaluation(np.array([0.0, 1.0]), x)
    names = list(WALKER.joint_names)
    partner = [names.index({**PAIRS, **{b: a for a, b in PAIRS.items()}}[name]) for name in names]
    signs = np.array([-1.0 if name == "lean" else 1.0 for name in names])
    for rate in range(3):
        q = ends.motion[rate]
        travel = np.array([0.6 if name == "travel" and rate == 0 else 0.0 for name in names])
        assert np.allclose(q[1], signs * q[0, partner] + travel, atol=1e-9 * max(1.0, np.abs(q).max()))


def test_what_is_eliminated_is_what_rows_would_ask_for(rng):
    tied = problem(MIRROR)
    rows = problem(Symmetric(PAIRS, mirrored=["lean"], offset={"travel": 0.6}, rates=3))
    x = tied.program.unknowns(rng.standard_normal(tied.program.n))
    g = rows.program.constraints(rows.program.reduced(x))
    assert rows.n_constraints == 18 and np.allclose(g, rows.program.lower, atol=1e-9)


@pytest.mark.parametrize(
    "terms",
    [
        [MIRROR],
        [Periodic(offset={"travel": 1.0}, spline=True)],
        [MIRROR, Hold("left_knee", 0.2, during=(0.0, 0.3))],
    ],
    ids=["mirrored", "periodic", "held"],
)
@pytest.mark.parametrize("duration", [0.8, (0.3, 2.0)], ids=["fixed", "free"])
def test_derivatives_of_tied_unknowns(terms, duration):
    limits = [TorqueLimits(50.0), TorqueRateLimits(1e3), JointLimits(-2.0, 2.0)]
    check = problem(*terms, *limits, duration=duration).check_derivatives()
    assert check.passed, str(check)
    assert max(check.gradient, check.hessian, *check.jacobian.values()) < 1e-5, str(check)


def test_unknown_forces_with_tied_unknowns_have_exact_derivatives():
    push = kt.terms.UnknownForce("left_shank", (0, 0, -0.3), axes="xz", segments=2, degree=2)
    check = problem(MIRROR, push, TorqueLimits(50.0)).check_derivatives()
    assert check.passed, str(check)


def test_the_least_possible_segments_share_unknowns_within_a_row():
    case = problem(MIRROR, TorqueLimits(50.0), segments=4)
    assert case.check_derivatives().passed
    keys = case.program.jacobian_rows.astype(np.int64) * case.program.n + case.program.jacobian_columns
    assert len(np.unique(keys)) == len(keys)


def test_held_joints_do_not_move_and_leave_smoothly(rng):
    case = problem(Hold(["left_hip", "lean"], {"left_hip": 0.3}, during=(0.2, 0.55)))
    s = np.linspace(0.2, 0.6, 50)  # to the end of the segment
    columns = [WALKER.joint_index(name) for name in ("left_hip", "lean")]
    assert np.allclose(motion(case, s, rng)[:, columns], [0.3, 0.0], atol=1e-12)
    assert np.allclose(motion(case, s, rng, 2)[:, columns], 0.0, atol=1e-9)
    assert (np.abs(motion(case, [0.1, 0.9], rng)[:, columns]) > 1e-6).any()


def test_limits_of_control_points_hold_everywhere_and_are_bounds_of_unknowns(rng):
    lower, upper = {"lean": -0.1, "left_hip": -0.3}, {"lean": 0.2, "right_hip": 0.4}
    case = problem(MIRROR, JointLimits(lower, upper, at="points"))
    program = case.program
    assert case.n_constraints == 0
    z = np.clip(rng.standard_normal(program.n) * 2.0, program.x_lower, program.x_upper)
    q = case.evaluation(np.linspace(0, 1, 200), program.unknowns(z)).motion.q
    lean, left, right = (q[:, WALKER.joint_index(x)] for x in ("lean", "left_hip", "right_hip"))
    assert lean.min() >= -0.1 - 1e-12 and lean.max() <= 0.2 + 1e-12
    assert left.min() >= -0.3 - 1e-12 and right.max() <= 0.4 + 1e-12
    both = np.isfinite(program.x_lower) & np.isfinite(program.x_upper)
    assert (program.x_lower <= program.x_upper).all() and both.sum() >= 5


def test_velocity_alone_can_repeat():
    case = problem(Periodic(["lean"], rates="velocity"), clamped=True)
    assert case.families == {"periodicity": 1}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: problem(MIRROR, clamped=True), "not be clamped"),
        (lambda: problem(MIRROR, segments=3), "more segments than its degree 3"),
        (lambda: problem(Periodic(offset={"nose": 1.0})), "unknown joint 'nose'"),
        (lambda: Periodic(rates="jerk"), "unknown quantity 'jerk'"),
        (lambda: Hold("lean", during=(0.5, 0.2)), "ascending"),
        (lambda: problem(Hold("nose")), "unknown joint 'nose'"),
        (lambda: problem(Hold("lean", 0.5), JointLimits(-0.1, 0.1, ["lean"], at="points")), "contradict"),
    ],
)
def test_bad_input_is_refused(wrong, message):
    with pytest.raises(kt.KinetreeError, match=message):
        wrong()
