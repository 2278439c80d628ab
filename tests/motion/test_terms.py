"""Every term: derivatives against differences, values against the library's other answers."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import terms
from kinetree.motion.problem.problem import Problem
from kinetree.motion.program.evaluation import At, Evaluation
from kinetree.motion.program.mechanics import Mechanics
from kinetree.motion.terms import (
    AccelerationLimits,
    Boundary,
    CustomConstraint,
    CustomObjective,
    Effort,
    GroundClearance,
    Hold,
    Jerk,
    JointCombination,
    JointLimits,
    JointProduct,
    JointSprings,
    KeepApart,
    KeepOut,
    KeepOutBox,
    Orientation,
    PendulumProduct,
    Periodic,
    PointPosition,
    PointSpeed,
    PointVelocity,
    Posture,
    Power,
    ReactionLimit,
    RelativePosition,
    SquaredAcceleration,
    SquaredReaction,
    SquaredSum,
    SquaredTorque,
    StrengthLimit,
    Symmetric,
    Time,
    TorqueCombination,
    TorqueLimits,
    TorqueRateLimits,
    Tracking,
    UnknownMoment,
    VelocityLimits,
    ZeroMomentPoint,
)

ARM = kt.zoo.kuka_kr5()
HAND, UPPER = "link6", "link2"
SQUARE = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
STRENGTH = 100 + 20 * np.sin(np.arange(20.0).reshape(5, 4))


def own(s, q, qd, qdd, tau):
    return np.cos(q[:, 0]) * tau[:, 1] + s * qd[:, 2] ** 2


def own_slopes(s, q, qd, qdd, tau):
    by_q, by_qd, by_tau = (np.zeros_like(q) for _ in range(3))
    by_q[:, 0] = -np.sin(q[:, 0]) * tau[:, 1]
    by_qd[:, 2] = 2.0 * s * qd[:, 2]
    by_tau[:, 1] = np.cos(q[:, 0])
    return by_q, by_qd, None, by_tau


def two_own(s, q, qd, qdd, tau):
    return np.stack([np.sin(q[:, 0]) * tau[:, 1], tau[:, 0] * qdd[:, 1]], axis=1)


TURNED = kt.Placement.at(rpy=(0.3, -0.5, 0.8)).rotation
OBJECTIVES = {
    "time": [2.0 * Time()],
    "squared torque": [SquaredTorque(["joint2", "joint3"], weights=[1.0, 2.0]), 0.3 * Time()],
    "jerk": [Jerk(weights={"joint1": 2.0})],
    "tracking": [Tracking(np.sin(np.arange(30.0)).reshape(5, 6))],
    "power": [Power(smooth=30.0)],
    "squared reaction": [SquaredReaction(UPPER), 3.0 * SquaredReaction("link4", "mz")],
    "effort": [Effort(2.5, limits=[200, 300, 150, 20, 10, 5]), 0.2 * Effort(3.0, "joint2", limits=80.0)],
    "squared acceleration": [SquaredAcceleration(["joint2", "joint5"], [1.0, 0.3])],
    "posture": [Posture(["joint1", "joint4"], {"joint4": 0.4}), Time()],
    "sum of joints": [SquaredSum({"joint1": 1.0, "joint4": -2.0, "joint6": 1.0}, 0.3)],
    "own": [CustomObjective(own)],
    "own with slopes": [CustomObjective(own, own_slopes)],
}
CONSTRAINTS = {
    "torque": TorqueLimits([200, 300, 150, 20, 10, 5]),
    "torque rate": TorqueRateLimits(1e3),
    "joint": JointLimits(-2, 2),
    "velocity": VelocityLimits(3.0),
    "acceleration": AccelerationLimits(30.0, at="knots"),
    "start acceleration": Boundary("start", acceleration={"joint1": 1.0}),
    "velocity half way": Boundary(0.5, velocity={"joint1": 1.0}),
    "reaction force": ReactionLimit(UPPER, 100.0),
    "reaction moment": ReactionLimit("link5", 5.0, "moment"),
    "reaction component": ReactionLimit("link1", 10.0, "fx"),
    "position": PointPosition(HAND, [0.5, 0.5, 0.5], point=(0.1, 0.2, 0.3)),
    "path": PointPosition(HAND, np.linspace([0.5, 0, 0.5], [0.5, 0.5, 0.5], 4), at=[0, 0.3, 0.6, 1]),
    "box": PointPosition(HAND, lower=(-1, -1, -1), axes="xz", at="samples"),
    "orientation": Orientation(HAND, np.eye(3), at=0.7),
    "clearance": GroundClearance(HAND, [(0, 0, 0.1), (0.1, 0, 0)], 0.1),
    "sphere": KeepOut(HAND, (0.4, 0.1, 0.7), 0.2, [(0, 0, 0.1), (0.1, 0, 0)]),
    "sphere on a body": KeepOut(HAND, (0, 0.1, 0), 0.2, of=UPPER),
    "capsule": KeepApart(
        HAND, end=(0, 0.1, 0.2), radius=0.05, of_start=(0.4, 0.1, 0.7), of_end=(0.3, 0.5, 0.1)
    ),
    "capsules": KeepApart(HAND, UPPER, start=(0.1, 0, 0), end=(0, 0, 0.2), radius=0.05, of_end=(0.3, 0.1, 0)),
    "spheres": KeepApart(HAND, UPPER, radius=0.05, of_start=(0.1, 0.1, 0), of_radius=0.02, clearance=0.01),
    "keep-out box": KeepOutBox(HAND, (0.4, 0.1, 0.7), (0.2, 0.3, 0.4), end=(0.1, 0, 0.2), radius=0.03),
    "box around": KeepOutBox(HAND, (0.4, 0.1, 0.7), (2.0, 3.0, 4.0), end=(0.1, 0, 0.2), rotation=TURNED),
    "box of a body": KeepOutBox(
        HAND, (0.1, 0, 0), (0.2, 0.1, 0.1), end=(0.1, 0, 0.2), rotation=TURNED, of=UPPER
    ),
    "speed": PointSpeed(HAND, 1.0, (0, 0, 0.1)),
    "velocity of a point": PointVelocity(HAND, (0.1, 0, 0.2), point=(0, 0, 0.1), axes="xz", at=[0.2, 0.8]),
    "balance": ZeroMomentPoint(SQUARE, height=0.2),
    "strength from few points": StrengthLimit("joint2", [-2, 0, 2], [-3, 3], STRENGTH[:3, :2], -1),
    "strength": StrengthLimit("joint2", [-2, -1, 0, 1, 2], [-3, -1, 1, 3], STRENGTH),
    "periodic": Periodic(),
    "symmetric": Symmetric({"joint1": "joint2", "joint3": "joint3"}, mirrored=["joint3"]),
    "held": Hold("joint4", 0.3, during=(0.4, 0.7)),
    "combination of torques": TorqueCombination({"joint1": 1.0, "joint3": np.arange(7.0)}, 0.0, size=100.0),
    "combination of joints": JointCombination({"joint1": 1.0, "joint3": -2.0}, -0.5, 0.5, at="knots"),
    "product of joints": JointProduct("joint2", "joint4", upper=0.3, rest={"joint4": 0.2}),
    "product of pendulums": PendulumProduct(
        UPPER, HAND, "link1", UPPER, end_point=(0.1, 0, 0.2), direction=(1, 2, 3), lower=0.01
    ),
    "relative position": RelativePosition(HAND, UPPER, lower=(0, 0, 0), point=(0.1, 0, 0), axes="xz"),
    "springs": JointSprings(30.0, {"joint2": 0.3}, ["joint2", "joint4", "joint6"]),
    "moment": UnknownMoment(HAND, axes="xz", lower=-5, upper=5, during=(0.3, 1.0), segments=2),
    "own": CustomConstraint(two_own, 0.0, 1.0, size=2),
}


def problem(objective=None, constraint=None, **changes):
    constraints = [] if constraint is None else [constraint]
    arguments = {"segments": 3, "duration": (0.1, 5.0), **changes}
    return Problem(ARM, objective=objective or Time(), constraints=constraints, **arguments)


@pytest.mark.parametrize("frozen", [None, {"joint6": 0.3}], ids=["all", "one frozen"])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_derivatives_of_objectives(name, frozen):
    check = problem(OBJECTIVES[name], frozen=frozen).check_derivatives()
    assert check.passed, str(check)
    assert max(check.gradient, check.hessian) < (1e-4 if name == "own" else 1e-7), str(check)


@pytest.mark.parametrize("duration", [(0.1, 5.0), 0.8], ids=["free", "fixed"])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_derivatives_of_constraints(name, duration):
    check = problem(
        constraint=CONSTRAINTS[name], duration=duration, objective=SquaredTorque()
    ).check_derivatives()
    assert check.passed, str(check)
    assert all(error < 1e-6 for error in check.jacobian.values()), str(check)


@pytest.mark.parametrize("degree", [2, 5])
def test_derivatives_with_other_splines_and_loads(degree):
    arguments = {"degree": degree, "clamped": False, "loads": varying_load}
    check = problem(SquaredTorque(), TorqueLimits(100.0), **arguments).check_derivatives()
    assert check.passed, str(check)


def varying_load(s):
    return [kt.Wrench(HAND, np.stack([s, 0 * s, 5 * s**2], axis=1), point=(0, 0, 0.1))]


@pytest.fixture
def sampled(rng):
    """A random motion of the arm, and how functions of it are asked for."""
    case = Problem(
        ARM,
        objective=[Time(), SquaredReaction(UPPER)],
        constraints=[ZeroMomentPoint(SQUARE)],
        segments=3,
        duration=0.8,
    )
    setting, s = case.setting, np.linspace(0, 1, 7)
    unknowns, profiles = setting.unknowns, setting.profiles
    x = unknowns.joined(rng.standard_normal((profiles.basis.n_control, 6)), 0.8)
    evaluation = Evaluation(unknowns.at(s), Mechanics(setting.extended, profiles.moving), x)
    motion = evaluation.motion
    state = tuple(y[:, setting.own] for y in motion[:3])

    def values(term):
        if hasattr(term, "integrand"):
            function = term.integrand(setting)
        else:
            rows = term.bounded(setting)[0]
            function = rows.function
        return function.values(At(evaluation, slice(0, 7)))

    return values, state, evaluation


def test_efforts_are_those_of_inverse_dynamics(sampled):
    values, state, _ = sampled
    tau = kt.inverse_dynamics(ARM, *state)
    assert np.allclose(values(SquaredTorque())[:, 0], (tau**2).sum(axis=1))
    assert np.allclose(values(TorqueLimits(1.0)), tau)
    expected = np.abs(tau * state[1]).sum(axis=1)
    assert np.allclose(values(Power(smooth=1e-6))[:, 0], expected, atol=1e-4)
    limited = values(StrengthLimit("joint2", [-9, 9], [-99, 99], [[50, 50], [50, 50]], direction=-1))
    assert np.allclose(limited[:, 0], -tau[:, 1] - 50)


def test_reactions_are_joint_reactions(sampled):
    values, state, _ = sampled
    wrench = kt.joint_reactions(ARM, *state)[:, 1]
    assert np.allclose(values(SquaredReaction(UPPER))[:, 0], (wrench[:, :3] ** 2).sum(axis=1))
    assert np.allclose(values(ReactionLimit(UPPER, 1e-3))[:, 0], np.linalg.norm(wrench[:, :3], axis=1))
    assert np.allclose(values(ReactionLimit(UPPER, 1.0, "mz"))[:, 0], wrench[:, 5])


def test_places_are_those_of_forward_kinematics(sampled):
    values, state, _ = sampled
    q, qd, _ = state
    pose, point = kt.forward_kinematics(ARM, q), np.array([0.1, 0.2, 0.3])
    R, p = pose[HAND]
    x = p + R @ point
    assert np.allclose(values(PointPosition(HAND, [0, 0, 0], point=point)), x)
    assert np.allclose(values(GroundClearance(HAND, point))[:, 0], x[:, 2])
    center = pose[UPPER][1] + pose[UPPER][0] @ [0, 0.1, 0]
    distance = np.linalg.norm(x - center, axis=1)
    assert np.allclose(values(KeepOut(HAND, (0, 0.1, 0), 1e-3, point, of=UPPER))[:, 0], distance)
    v = (kt.jacobian(ARM, q, HAND, point) @ qd[:, :, None])[:, :3, 0]
    assert np.allclose(values(PointSpeed(HAND, 1e-3, point))[:, 0], np.linalg.norm(v, axis=1), rtol=1e-6)
    assert np.allclose(values(PointVelocity(HAND, (0, 0, 0), point=point)), v, atol=1e-12)
    assert np.allclose(
        values(PointVelocity(HAND, (0, 0, 0), point=point, axes="zx")), v[:, [2, 0]], atol=1e-12
    )
    turned = values(Orientation(HAND, R[0]))
    assert np.allclose(turned[0], 0.0, atol=1e-12)
    assert np.abs(turned[1:]).max() > 0.1


def test_zero_moment_point_of_an_arm_at_rest_is_below_its_centre_of_mass(rng):
    term = ZeroMomentPoint([(-0.2, -0.1), (0.3, -0.1), (0.3, 0.4), (-0.2, 0.4)], height=0.1)
    case = Problem(ARM, objective=Time(), constraints=[term], segments=3)
    unknowns, q = case.setting.unknowns, rng.standard_normal(6)
    x = unknowns.joined(np.tile(q, (case.basis.n_control, 1)), 1.0)  # it stays where it is
    mechanics = Mechanics(case.setting.extended, case.setting.profiles.moving)
    evaluation = Evaluation(unknowns.at([0.0, 1.0]), mechanics, x)
    (rows,) = term.bounded(case.setting)
    found = rows.function.values(At(evaluation, slice(0, 2)))[0] / (9.81 * ARM.mass)
    c = kt.center_of_mass(ARM, q)
    assert np.allclose(found, [-0.1 - c[1], c[0] - 0.3, c[1] - 0.4, -0.2 - c[0], -1.0], atol=1e-12)


def test_jerk_is_the_third_derivative(sampled):
    _, _, evaluation = sampled
    unknowns, x, h = evaluation.instants.unknowns, evaluation.x, 1e-5
    s = np.array([0.11, 0.47, 0.81])
    ahead, behind = (unknowns.at(s + sign * h).motion(x).moving[:, 2] for sign in (1, -1))
    found = Evaluation(unknowns.at(s), evaluation.mechanics, x).jerk
    assert np.allclose(found, (ahead - behind) / (2 * h * 0.8), rtol=1e-6, atol=1e-3)


def test_a_small_table_of_strength_is_its_polynomial(sampled):
    """tau - strength with a table that three angles and two velocities determine."""
    values, state, _ = sampled

    def strength(q, qd):
        return 90.0 + 7.0 * q - 3.0 * q**2 + 2.0 * qd + 0.5 * q * qd

    angles, velocities = np.array([-8.0, 1.0, 9.0]), np.array([-60.0, 50.0])
    table = strength(angles[:, None], velocities[None, :])
    q, qd = state[0][:, 1], state[1][:, 1]
    assert np.abs(q).max() < 8.0 and np.abs(qd).max() < 50.0
    found = values(StrengthLimit("joint2", angles, velocities, table))[:, 0]
    assert np.allclose(found, kt.inverse_dynamics(ARM, *state)[:, 1] - strength(q, qd), rtol=1e-9)


BAD = {
    "wrong slopes": (
        lambda: CustomConstraint(
            lambda s, q, qd, qdd, tau: qd[:, 1] ** 2,
            slopes=lambda s, q, qd, *_: (None, 3.0 * qd * (np.arange(6) == 1), None, None),
        ),
        "derivative by qd of joint 'joint2' is given as",
    ),
    "too few slopes": (
        lambda: CustomConstraint(lambda s, q, *_: q[:, 0], slopes=lambda *_: (None,)),
        "4 arrays",
    ),
    "slopes of another shape": (
        lambda: CustomConstraint(lambda s, q, *_: q[:, 0], slopes=lambda *_: (np.ones(3), None, None, None)),
        "slope by q must have shape",
    ),
    "velocity axes": (lambda: PointVelocity(HAND, (0, 0, 0), axes=""), "some of x, y and z"),
    "velocity of unknown body": (lambda: PointVelocity("hand", (0, 0, 0)), "unknown body 'hand'"),
    "unknown joint": (lambda: TorqueLimits(1.0, joints="elbow"), "unknown joint 'elbow'"),
    "unknown joint in a mapping": (lambda: VelocityLimits({"elbow": 1.0}), "unknown joint 'elbow'"),
    "lower above upper": (lambda: TorqueLimits(lower=2.0, upper=1.0), "lower bound 2 is above upper bound 1"),
    "NaN limit": (lambda: TorqueLimits(np.nan), "NaN"),
    "too many limits": (lambda: TorqueLimits([1.0, 2.0]), "6, one per joint"),
    "no limits in the model": (lambda: VelocityLimits(), "the mechanism has none"),
    "no effort limits": (lambda: TorqueLimits(), "no effort limits"),
    "rate": (lambda: TorqueRateLimits(-1.0), "positive"),
    "unknown place": (lambda: TorqueLimits(1.0, at="middle"), "unknown place 'middle'"),
    "s beyond the end": (lambda: TorqueLimits(1.0, at=[0.5, 1.5]), "from 0 to 1"),
    "nothing asked": (lambda: Boundary("start"), "is empty"),
    "NaN position": (lambda: Boundary("start", [np.nan] * 6), "finite"),
    "position of too many": (lambda: Boundary("start", [0.0] * 5), "6, one per joint"),
    "boundary of unknown joint": (lambda: Boundary("end", {"elbow": 1.0}), "unknown joint 'elbow'"),
    "unknown body": (lambda: ReactionLimit("hand", 1.0), "unknown body or joint 'hand'"),
    "unknown part": (lambda: ReactionLimit(HAND, 1.0, "torsion"), "unknown part 'torsion'"),
    "negative norm": (lambda: ReactionLimit(HAND, -1.0), "positive bound"),
    "component bounds": (lambda: ReactionLimit(HAND, 1.0, "fx", lower=2.0), "lower bound 2 is above"),
    "point of unknown body": (lambda: PointPosition("hand", [0, 0, 0]), "unknown body 'hand'"),
    "no target": (lambda: PointPosition(HAND), "give a target"),
    "path of wrong length": (lambda: PointPosition(HAND, np.zeros((3, 3)), at=[0, 1]), r"\(2, 3\)"),
    "axes": (lambda: PointPosition(HAND, [0, 0, 0], axes="xw"), "some of x, y and z"),
    "rotation": (lambda: Orientation(HAND, np.ones((3, 3))), "not orthogonal"),
    "radius": (lambda: KeepOut(HAND, (0, 0, 0), 0.0), "positive"),
    "speed": (lambda: PointSpeed(HAND, 0.0), "positive"),
    "polygon": (lambda: ZeroMomentPoint([(0, 0), (1, 1), (1, 0), (0, 1)]), "convex"),
    "table": (lambda: StrengthLimit("joint1", [0, 1], [0, 1], [[1, 2]]), "shape"),
    "direction": (lambda: StrengthLimit("joint1", [0, 1], [0, 1], [[1, 2], [3, 4]], 2), "1 or -1"),
    "custom shape": (lambda: CustomConstraint(lambda s, *_: np.ones((3, 3)), size=2), "must return shape"),
    "custom size": (lambda: CustomConstraint(lambda s, *_: np.ones((len(s), 2))), "takes size=k"),
    "custom bounds": (lambda: CustomConstraint(lambda s, *_: s, [0, 0, 0], [1, 1]), "bounds of 3 numbers"),
    "custom bound": (lambda: CustomConstraint(lambda s, *_: s, "low"), "a bound must be real numbers"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_terms_are_named_before_solving(name):
    make, message = BAD[name]
    with pytest.raises(kt.errors.InputError, match=message):
        case = problem(constraint=make())
        case.program.constraints(np.ones(case.program.n))


@pytest.mark.parametrize("weight", [np.nan, "heavy", None])
def test_bad_weights_are_named(weight):
    with pytest.raises((kt.errors.InputError, TypeError)):
        weight * Time()
    with pytest.raises(kt.errors.InputError, match="weights of squared torque"):
        problem(SquaredTorque(weights=[1, -1, 1, 1, 1, 1]))
    with pytest.raises(kt.errors.InputError, match="weights of squared torque must not be NaN"):
        problem(SquaredTorque(weights=np.nan))
    with pytest.raises(kt.errors.InputError, match="weights of jerk must not be NaN"):
        problem(Jerk(weights={"joint1": np.nan}))


def test_joints_that_follow_others_are_no_unknowns_and_sums_hold_at_every_instant(rng):
    """q3 = 2 q1 takes the control points of one joint away; q2 + q4 = 0.4 is kept between samples, too."""
    plain = problem()
    follow = JointCombination({"joint1": 2.0, "joint3": -1.0}, 0.0, 0.0)
    tied = problem(constraint=follow)
    assert plain.n_variables - tied.n_variables == plain.basis.n_control
    asked = problem(
        constraint=JointCombination({"joint2": 1.0, "joint4": 1.0, "joint6": 2.0}, 0.4, 0.4),
        objective=SquaredTorque(),
        frozen={"joint6": 0.1},
        duration=1.0,
    )
    found = kt.predict(asked)
    q = found.at(np.linspace(0.0, found.duration, 501))[0]
    assert found.solved and np.abs(q[:, 1] + q[:, 3] - 0.2).max() < 1e-6
    with pytest.raises(kt.errors.InputError, match="frozen"):
        problem(constraint=JointCombination({"joint6": 1.0}, 0.0), frozen={"joint6": 0.1})
    with pytest.raises(kt.errors.InputError, match="at least one joint"):
        JointCombination({}, 0.0)


def test_tracking_takes_trajectories_results_predictions_and_files(tmp_path):
    """All of them are the same motion, so the same objective; joints go by their names."""
    way = kt.trajectories.cycloid(np.zeros(6), np.linspace(0.1, 0.6, 6), 2.0)
    t = np.linspace(0.0, 2.0, 401)
    rows = way.at(t).q
    ends = [Boundary("start", rows[0], 0.0), Boundary("end", rows[-1], 0.0)]

    def value(reference, **more):
        asked = Problem(
            ARM, objective=Tracking(reference, **more), constraints=ends, duration=2.0, segments=6
        )
        return float(asked.program.objective(np.full(asked.program.n, 0.2)))

    wanted = value(rows)
    assert value(way) == pytest.approx(wanted, rel=1e-9)
    found = kt.simulate(ARM, np.zeros(6), np.zeros(6), 0.01, times=3, progress=False)
    from kinetree.result.build import build_result

    names = list(ARM.joint_names)
    result = build_result(
        "inverse", ARM, {"time": t, "q": rows, "qd": 0 * rows, "qdd": 0 * rows, "tau": 0 * rows}
    )
    assert value(result) == pytest.approx(wanted, rel=1e-9)
    assert value((np.asarray(t) + 3.0, rows)) == pytest.approx(wanted, rel=1e-9)  # times from anywhere
    result.save(tmp_path / "way.nc")
    assert value(tmp_path / "way.nc") == pytest.approx(wanted, rel=1e-9)
    turned = [names[k] for k in (3, 0, 1, 5, 2, 4)]
    lines = ["time, " + ", ".join(turned)]
    lines += [
        ", ".join(f"{x:.17g}" for x in (at, *row[[names.index(n) for n in turned]]))
        for at, row in zip(t, rows, strict=True)
    ]
    (tmp_path / "way.csv").write_text("\n".join(lines))
    assert value(str(tmp_path / "way.csv")) == pytest.approx(wanted, rel=1e-9)
    best = kt.predict(Problem(ARM, objective=Tracking(way), constraints=ends, duration=2.0, segments=6))
    assert value(best) == pytest.approx(wanted, rel=1e-2)
    assert value(found, joints=[names[0]]) > 0.0
    with pytest.raises(kt.errors.InputError, match="its own times"):
        Tracking(way, s=[0.0, 1.0])
    with pytest.raises(kt.errors.InputError, match="must ascend, one for each"):
        Tracking((t[:-1], rows))
    with pytest.raises(kt.errors.FileError, match=r"\.csv"):
        Tracking("motion.txt")
    with pytest.raises(kt.KinetreeError, match="no joint"):
        other = kt.simulate(kt.zoo.gripper(), np.zeros(4), np.zeros(4), 0.01, times=3, progress=False)
        value(other, joints=[names[5]])


def test_terms_print_as_they_are_written():
    """What is printed, evaluated, prints the same again."""
    texts = (
        "Time()",
        "0.01 * SquaredTorque()",
        "2 * Effort(3.0, joints=['joint1']).mean()",
        "TorqueLimits({'joint1': 1.0})",
        "Boundary('start', [0, -2.0], velocity=0.0)",
        "KeepOutBox('link2', (0.2, 0.3, 0), (0.1, 0.1, 0.3), end=(0.4, 0, 0), radius=0.03)",
    )
    for text in texts:
        assert repr(eval(text, {name: getattr(kt.terms, name) for name in kt.terms.__all__})) == text
    assert repr(kt.terms.CustomObjective(np.sum)) == "CustomObjective(sum)"


def test_sums_of_objectives_are_the_lists_that_problems_take():
    time, torque, jerk = terms.Time(), 0.1 * terms.SquaredTorque(), terms.Jerk()
    assert time + torque + jerk == [time, torque, jerk] == time + (torque + jerk)
    with pytest.raises(TypeError):
        time + 1.0
