"""Loads that are sought, supports, phases: against statics, differences and other formulations."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.problem.instants import AddedSamples, GaussSamples
from kinetree.terms import (
    Effort,
    Friction,
    Hold,
    JointSprings,
    Posture,
    SquaredAcceleration,
    SquaredTorque,
    Support,
    Symmetric,
    TorqueLimits,
    TorqueRate,
    UnknownForce,
    UnknownMoment,
    ZeroMomentPoint,
)


def biped():
    """Two legs in space, rooted at the right foot: x, y, z, yaw, roll and pitch, ankles, knees, hips."""
    build = kt.Builder("biped")
    lump = kt.Inertia.box(4.0, (0.1, 0.15, 0.3))
    small = kt.Inertia.box(0.1, (0.05, 0.05, 0.05))
    body = build.world
    for name, axis in (("x", "x"), ("y", "y"), ("z", "z")):
        body = body.prismatic(name, axis=axis).body(f"{name}_link", kt.Inertia())
    for name, axis in (("yaw", (0, 0, 1)), ("roll", (1, 0, 0)), ("pitch", (0, -1, 0))):
        body = body.revolute(name, axis=axis).body("foot" if name == "pitch" else f"{name}_link", small)
    shank = body.revolute("right_ankle", axis=(0, 1, 0)).body("right_shank", lump)
    pelvis = shank.revolute("right_hip", axis=(0, 1, 0), at=(0, 0, 0.6)).body("pelvis", lump)
    leg = pelvis.revolute("left_hip", axis=(0, -1, 0), at=(0, 0.2, 0)).body("left_shank", lump)
    leg.revolute("left_ankle", axis=(0, -1, 0), at=(0, 0, -0.6)).body("other_foot", small)
    return build.build()


BIPED = biped()
PAIRS = {"right_ankle": "left_ankle", "right_hip": "left_hip"}
STANDS = {name: 0.0 for name in ("y", "yaw", "roll")}
LIMITS = {"right_ankle": 60.0, "right_hip": 90.0, "left_hip": 90.0, "left_ankle": 50.0}
JOINTS = list(LIMITS)
WEIGHT = BIPED.mass * 9.81
SAMPLES = GaussSamples((0.0, 0.3, 1.0), (3, 6))
TRAILING = [
    UnknownForce(
        "other_foot", (0.05, 0, 0), name="ball", axes="z", lower=0, degree=3, during=(0, 0.2), at="points"
    ),
    UnknownForce(
        "other_foot", (0.1, 0, 0), name="tip", degree=3, segments=2, during=(0, 0.3), lower={"z": 0.0}
    ),
    UnknownMoment(
        "other_foot", axes="z", degree=3, segments=1, during=(0.0, 0.3), at="points", lower=-9, upper=9
    ),
    Friction(["ball", "tip"], 0.6, at=SAMPLES.s[:4]),
]
FORCE, MOMENT = ("x", "y", "z"), ("roll", "pitch")


def walker(*more, objective=None, **changes):
    terms = [
        Symmetric(PAIRS, spline=True),
        Hold(["x", "z", "pitch"], during=(0.4, 1.0)),
        JointSprings(15.0, joints=["left_ankle", "right_ankle"]),
        TorqueLimits(LIMITS, joints=JOINTS),
        *TRAILING,
        *more,
    ]
    given = {
        "segments": 5,
        "clamped": False,
        "duration": 0.5,
        "frozen": STANDS,
        "samples": SAMPLES,
        **changes,
    }
    effort = objective or [
        1.4 * Effort(2.5, JOINTS, limits=LIMITS),
        0.01 * TorqueRate(JOINTS, limits=LIMITS, pairs=PAIRS),
        1e-3 * SquaredAcceleration(JOINTS),
        Posture(["left_hip"]),
    ]
    return kt.Problem(BIPED, objective=effort, constraints=terms, **given)


def moving_support():
    s = SAMPLES.s[1:]
    lower, upper = np.tile([-0.05, -0.04], (len(s), 1)), np.stack([0.05 + 0.1 * s, 0.04 + 0 * s], axis=1)
    return Support(FORCE, MOMENT, lower, upper, at=s)


def test_all_derivatives_of_a_walker_are_exact():
    check = walker(moving_support()).check_derivatives()
    assert check.passed, str(check)
    assert max(check.gradient, check.hessian, *check.jacobian.values()) < 2e-6, str(check)


def test_squared_changes_are_the_integral_of_squared_rates():
    s = GaussSamples((0.0, 1.0), (400,), start=False)
    rate = walker(objective=TorqueRate(["left_hip"], limits=10.0), samples=s)
    x = rate.program.unknowns(np.random.default_rng(0).standard_normal(rate.program.n) * 0.1)
    at = np.linspace(0.0, 1.0, 20001)
    tau = rate.evaluation(at, x).tau[:, rate.setting.own[BIPED.joint_index("left_hip")]] / 10.0
    smooth = at[:-1] > 0.32  # forces leave with corners
    wanted = (np.diff(tau) ** 2 / (0.5 * np.diff(at)))[smooth].sum()
    own = s.s > 0.32
    found = np.interp(s.s, at, tau)[own]
    differences = (np.diff(found) ** 2 / (0.5 * np.diff(s.s[own]))).sum()
    assert differences == pytest.approx(wanted, rel=2e-2)
    total = rate.program.objective(rate.program.reduced(x))
    every = np.interp(s.s, at, tau)
    assert total == pytest.approx((np.diff(every) ** 2 / (0.5 * np.diff(s.s))).sum(), rel=1e-4)


def test_a_mirrored_torque_rate_sees_the_end_beside_the_start():
    single, mirrored = (
        walker(objective=TorqueRate(JOINTS, limits=LIMITS, pairs=pairs)) for pairs in (None, PAIRS)
    )
    z = np.random.default_rng(1).standard_normal(single.program.n) * 0.1
    x, s = single.program.unknowns(z), SAMPLES.s[1:]
    tau = single.evaluation(s, x).tau[:, single.setting.own[[BIPED.joint_index(name) for name in JOINTS]]]
    scaled = tau / np.array([LIMITS[name] for name in JOINTS])
    both = {**PAIRS, **{b: a for a, b in PAIRS.items()}}
    partner = [JOINTS.index(both[name]) for name in JOINTS]
    last = ((scaled[0, partner] - scaled[-1]) ** 2).sum() / (0.5 * (1.0 + s[0] - s[-1]))
    assert mirrored.program.objective(z) - single.program.objective(z) == pytest.approx(last, rel=1e-9)


def test_root_rows_are_the_reaction_of_the_ground():
    """Standing still, the center of pressure is below the center of mass; the other form agrees."""
    q = np.zeros(BIPED.n_dof)
    q[[BIPED.joint_index("right_ankle"), BIPED.joint_index("right_hip")]] = 0.1, -0.05
    center = kt.center_of_mass(BIPED, q)
    problem = walker(
        Support(FORCE, MOMENT, (-0.5, -0.5), (0.5, 0.5)),
        ZeroMomentPoint([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)]),
    )
    support, polygon = (
        next(r for r in problem.bounded if r.family == f) for f in ("support", "zero-moment point")
    )
    moving = sorted(problem.setting.column, key=problem.setting.column.get)
    points = np.tile(q[moving], (problem.basis.n_control, 1))
    x = problem.setting.unknowns.joined(points, 0.5)
    at = problem.evaluation(SAMPLES.s, x).everywhere
    rear, front, right, left, *_, vertical = support.function.values(at)[0]
    assert vertical == pytest.approx(1.0)
    assert (rear * 0.1 - 0.5, 0.5 - front * 0.1) == pytest.approx((center[0], center[0]))
    assert (right * 0.1 - 0.5, 0.5 - left * 0.1) == pytest.approx((center[1], center[1]))
    edges = (
        -polygon.function.values(at)[0, :4] / WEIGHT
    )  # distances from y = -0.5, x = 0.5, y = 0.5, x = -0.5
    assert edges == pytest.approx(np.array([right, front, left, rear]) * 0.1)


def test_forces_act_during_their_time_only_and_begin_and_end_at_zero():
    problem = walker()
    x = problem.program.unknowns(np.random.default_rng(0).uniform(0.0, 1.0, problem.program.n))
    s = np.linspace(0.0, 1.0, 501)
    values = problem.evaluation(s, x)
    for name, end in (("force:ball", 0.2), ("force:tip", 0.3), ("moment:other_foot", 0.3)):
        curve = values.curve(name)
        assert (curve[s >= end] == 0.0).all() and (np.abs(curve[s < end - 0.02]).max(axis=0) > 0.0).all()
        assert np.abs(np.diff(curve, axis=0)).max() < 0.25 * np.abs(curve).max()
    assert (values.curve("force:ball") >= 0.0).all()
    later = UnknownForce("pelvis", axes="x", name="push", degree=2, segments=2, during=(0.4, 0.8))
    problem = walker(later)
    x = problem.program.unknowns(np.ones(problem.program.n))
    push = problem.evaluation(s, x).curve("force:push")[:, 0]
    assert (push[(s < 0.4) | (s > 0.8)] == 0.0).all() and push[(s > 0.45) & (s < 0.75)].min() > 0.0


def test_springs_take_what_drives_need_not_give():
    problem = walker()
    x = problem.program.unknowns(np.random.default_rng(2).standard_normal(problem.program.n) * 0.2)
    at = problem.evaluation(SAMPLES.s, x)
    q, qd, qdd = (rate[:, problem.setting.own] for rate in at.motion[:3])
    tau = kt.inverse_dynamics(BIPED, q, qd, qdd, problem.loads_of(SAMPLES.s, x))
    ankles = [BIPED.joint_index(name) for name in ("left_ankle", "right_ankle")]
    tau[:, ankles] += 15.0 * q[:, ankles]
    assert np.allclose(at.tau[:, problem.setting.own], tau, atol=1e-9 * np.abs(tau).max())


def test_phases_integrate_what_jumps_between_them():
    samples = GaussSamples((0.0, 0.3, 1.0), (4, 4))
    assert samples.weights @ np.where(samples.s < 0.3, samples.s**2, 5.0 - samples.s) == pytest.approx(
        0.3**3 / 3 + 5 * 0.7 - (1 - 0.3**2) / 2
    )
    assert samples.s[0] == 0.0 and samples.weights[0] == 0.0
    problem = walker(objective=SquaredTorque(JOINTS))
    assert problem.program.dynamic == len(SAMPLES.s)  # torques are computed once for all that asks for them


def test_effort_during_a_part_is_the_integral_over_that_part():
    """Beside a sum over more instants after s = 0.3; derivatives beside differences."""
    effort, ends = Effort(2.5, JOINTS, limits=LIMITS, during=(0.3, 1.0)), (0.0, 0.3, 0.4, 0.6, 0.8, 1.0)
    late = walker(objective=effort, samples=GaussSamples(ends, (3, 12, 12, 12, 12)))
    z = np.random.default_rng(4).standard_normal(late.program.n) * 0.05
    x, s = late.program.unknowns(z), GaussSamples(ends, (1, 40, 40, 40, 40))
    tau = late.evaluation(s.s, x).tau[:, late.setting.own[[BIPED.joint_index(name) for name in JOINTS]]]
    density = (np.abs(tau / [LIMITS[name] for name in JOINTS]) ** 2.5).sum(axis=1)
    wanted = 0.5 * float(s.weights[s.s > 0.3] @ density[s.s > 0.3])
    assert late.program.objective(z) == pytest.approx(wanted, rel=1e-3)
    mixed = [Effort(2.5, JOINTS[:1], limits={"right_ankle": 60.0}, during=(0.3, 1.0)), Posture(["left_hip"])]
    for objective in (effort, mixed):
        check = walker(objective=objective).check_derivatives()
        assert check.passed, str(check)
    free = walker(objective=mixed, duration=(0.4, 0.6)).check_derivatives()
    assert free.passed, str(free)


def test_added_instants_have_rows_and_no_part_in_integrals():
    plain = walker(objective=Effort(2.5, JOINTS, limits=LIMITS))
    added = walker(objective=Effort(2.5, JOINTS, limits=LIMITS), samples=AddedSamples(SAMPLES, (0.2, 1.0)))
    s = added.setting.samples
    assert set(s) - set(plain.setting.samples) == {0.2, 1.0} and (np.diff(s) > 0.0).all()
    z = np.random.default_rng(4).standard_normal(added.program.n) * 0.05
    assert added.program.m > plain.program.m
    assert added.program.objective(z) == pytest.approx(plain.program.objective(z), rel=1e-13)
    assert set(walker(samples=AddedSamples(2, (0.2,))).setting.samples) >= {0.2}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: AddedSamples(3, (1.2,)), "added samples must be s from 0 to 1"),
        (lambda: AddedSamples(3, (np.nan,)), "added samples"),
        (lambda: AddedSamples(AddedSamples(3, (0.2,)), (0.3,)), "with_more"),
        (lambda: Effort(2.0, during=(0.5, 0.2)), "during must be two ascending"),
        (lambda: Effort(2.0, during=0.5), "during must be two ascending"),
        (lambda: walker(Support(FORCE, MOMENT, (0.1, 0), (0, 0))), "is above the upper one"),
        (lambda: walker(Support(("y", "x", "z"), MOMENT, (0, 0), (1, 1))), "joint 'y' must slide along x"),
        (lambda: walker(Support(FORCE, ("roll", "left_toe"), (0, 0), (1, 1))), "unknown joint 'left_toe'"),
        (lambda: walker(Support(FORCE, MOMENT, np.zeros((3, 2)), (1, 1))), "as many corners"),
        (lambda: walker(UnknownForce("left_toes")), "unknown body 'left_toes'"),
        (lambda: UnknownForce("pelvis", during=(0.5, 0.2)), "ascending"),
        (lambda: walker(Friction(["heel"], 0.5)), "unknown unknown 'heel'|no unknown|'force:heel'"),
        (
            lambda: UnknownForce("pelvis", normal=(0, 0, 1), friction=0.5, at="points"),
            "cone holds at instants",
        ),
        (lambda: Effort(1.5), "exponent of effort must be 2 or more"),
        (lambda: walker(objective=Effort()), "no positive effort limit"),
        (
            lambda: walker(objective=TorqueRate(JOINTS[:1], limits=1.0, pairs=PAIRS)),
            "is not among its joints",
        ),
        (lambda: walker(JointSprings(-1.0)), "stiffness must be finite and not negative"),
        (lambda: GaussSamples((0.0, 1.0), (0,)), "counts from 1"),
        (lambda: GaussSamples((0.0, 0.5), (3,)), "from 0 to 1"),
    ],
)
def test_bad_input_is_refused(wrong, message):
    with pytest.raises(kt.KinetreeError, match=message):
        wrong()
