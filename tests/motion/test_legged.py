"""Legged mechanisms: many joints, light feet, floating bases, hardly any two motions alike in cost."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.documents.single_support import single_support
from kinetree.motion.predict import predict
from kinetree.motion.problem.phases import PhasedProblem
from kinetree.motion.problem.problem import Problem
from kinetree.motion.search.start import random_start, straight_line
from kinetree.motion.solvers.scaled import STEEP, ScaledProgram, steepness
from kinetree.motion.terms import (
    Boundary,
    GroundClearance,
    JointLimits,
    PointPosition,
    SquaredTorque,
    Time,
    TorqueLimits,
    ZeroMomentPoint,
)

SOLE = [(-0.1, -0.06), (0.1, -0.06), (0.1, 0.06), (-0.1, 0.06)]
MOST = 250  # iterations


def stance_step(*also, segments=10):
    """One step on a fixed foot with the pose and the velocities of a gait at both ends."""
    biped = kt.zoo.biped_fixed()
    gait = single_support(biped)
    ends = [(place, gait.at(t)) for place, t in (("start", 0.0), ("end", gait.duration))]
    constraints = [Boundary(place, state.q, state.qd) for place, state in ends]
    limits = JointLimits(lower=-1.8, upper=1.8)
    return Problem(
        biped,
        objective=SquaredTorque(),
        constraints=[*constraints, limits, *also],
        duration=gait.duration,
        segments=segments,
    )


def flight(limits):
    """A biped in the air changes its legs; nothing pushes its trunk."""
    biped = kt.zoo.spatial_biped()
    base, legs = biped.joint_names[:6], biped.joint_names[6:]
    q = np.zeros(18)
    q[[2, 8, 9, 14, 15]] = 1.0, 0.3, 0.4, -0.3, 0.4
    swapped = q.copy()
    swapped[[8, 14]] = q[[14, 8]]
    still = dict.fromkeys(legs, 0.0)
    return Problem(
        biped,
        objective=SquaredTorque(legs),
        constraints=[
            Boundary("start", q, still),
            Boundary("end", dict(zip(legs, swapped[6:], strict=True)), still),
            TorqueLimits(**limits, joints=base, at="knots"),
            JointLimits(lower=-1.8, upper=1.8, joints=legs),
        ],
        duration=0.4,
        segments=10,
    )


def crouch():
    """A quadruped lowers its trunk on four feet that stay where they are."""
    robot = kt.zoo.quadruped()
    q = np.zeros(18)
    q[2], q[6:] = 0.5, np.tile([0.0, 0.6, -1.2], 4)
    pose, legs, feet = kt.forward_kinematics(robot, q), robot.joint_names[6:], []
    for point in (x for x in robot.contact_points if not x.name.startswith(("trunk", "knee"))):
        R, p = pose[point.body]
        feet.append(PointPosition(point.body, p + R @ point.position, point=point.position, at="knots"))
    end = Boundary("end", {"base.tx": 0.05, "base.tz": 0.42}, 0.0)
    constraints = [Boundary("start", q, 0.0), end, *feet, JointLimits(lower=-2.5, upper=2.5, joints=legs)]
    return Problem(robot, objective=SquaredTorque(legs), constraints=constraints, duration=0.6, segments=8)


LIFTED = GroundClearance("foot_swing", height=-1e-3), ZeroMomentPoint(SOLE)
CASES = {
    "stance": stance_step,
    "fine stance": lambda: stance_step(segments=20),
    "balanced stance": lambda: stance_step(*LIFTED),
    "flight": lambda: flight({"upper": 0.0, "lower": 0.0}),
    "nearly flight": lambda: flight({"upper": 0.01}),
    "crouch": crouch,
}


@pytest.mark.parametrize("name", CASES)
def test_legged_motions_are_found_without_extras(name):
    found = predict(CASES[name](), solver="interior", max_iterations=MOST)
    assert found.solved_at_samples, found
    assert found.violation_at_samples < 1e-4


def test_nothing_pushes_a_trunk_in_flight():
    found = predict(flight({"upper": 0.0, "lower": 0.0}), solver="interior")
    q, qd, qdd = found.at(found.problem.basis.breaks * found.duration)
    tau = kt.inverse_dynamics(found.problem.mechanism, q, qd, qdd)
    assert np.abs(tau[:, :6]).max() < 1e-4  # N: the robot weighs 90
    assert np.abs(tau[:, 6:]).max() > 1.0


def test_squares_of_straight_torques_are_convex():
    """At every motion, while the exact Hessian has directions in which the cost bends down."""
    problem = stance_step()
    program, lowest = problem.program, []
    z = program.reduced(random_start(problem, np.random.default_rng(0)))
    for entries in (program.hessian, program.straight_hessian):
        H = np.zeros((program.n, program.n))
        H[program.hessian_rows, program.hessian_columns] = entries(z, 1.0, np.zeros(program.m))
        values = np.linalg.eigvalsh(H, UPLO="L")
        lowest.append(values[0] / values[-1])
    assert lowest[0] < -1e-6
    assert lowest[1] > -1e-12


def test_straight_torques_change_the_objective_alone():
    problem = stance_step(*LIFTED)
    program, rng = problem.program, np.random.default_rng(1)
    z, y = program.reduced(straight_line(problem)), rng.standard_normal(problem.program.m)
    none, entries = np.zeros(program.m), (program.hessian, program.straight_hessian)
    exact, straight = (f(z, 1.0, y) - f(z, 1.0, none) for f in entries)
    assert np.allclose(exact, straight, atol=1e-9 * np.abs(exact).max())
    assert np.allclose(program.hessian(z, 0.0, y), program.straight_hessian(z, 0.0, y))


def test_straight_torques_phase_by_phase():
    arm = kt.zoo.two_link(gravity=(0, -9.81, 0))
    first = Problem(
        arm, objective=SquaredTorque(), constraints=[Boundary("start", [0.0, 0.0], 0.0)], segments=4
    )
    second = first.changed(constraints=[Boundary("end", [1.0, 0.5], 0.0)])
    program = PhasedProblem([first, second]).program
    z = np.random.default_rng(2).uniform(0.5, 1.0, program.n)
    found = program.straight_hessian(z, 1.0, np.zeros(program.m))
    parts = [
        x.straight_hessian(part, 1.0, np.zeros(x.m))
        for x, part in zip(program.programs, program.parts(z), strict=True)
    ]
    assert np.allclose(found, np.concatenate(parts))
    assert not np.allclose(found, program.hessian(z, 1.0, np.zeros(program.m)))


def test_steep_rows_are_scaled_and_their_prices_are_not():
    loose, tight = flight({"upper": 100.0}), flight({"upper": 0.01})
    z = loose.program.reduced(straight_line(loose))
    assert steepness(loose.program, z).max() == 1.0
    sizes = steepness(tight.program, z)
    assert sizes.max() > 10.0
    scaled = ScaledProgram(tight.program, sizes)
    assert np.abs(scaled.jacobian(z)).max() == pytest.approx(STEEP)
    y = np.random.default_rng(3).standard_normal(scaled.m)
    assert np.allclose(scaled.hessian(z, 1.0, y * sizes), tight.program.hessian(z, 1.0, y))
    assert np.allclose(scaled.constraints(z) * sizes, tight.program.constraints(z))


def test_a_foot_that_whirls_is_named():
    """Nothing limits light feet: turning them round and round spares other joints some torque."""
    problem = stance_step()
    ends = [term for term in problem.constraints if isinstance(term, Boundary)]
    found = predict(problem.changed(constraints=ends, regularization=0.0))
    assert found.solved
    assert any("'ankle_swing" in line and "JointLimits" in line for line in found.explanation.advice)
    assert not any("JointLimits" in line for line in predict(problem).explanation.advice)


def test_a_swing_that_may_not_be_the_best_is_named():
    robot = kt.Builder("pendulum", gravity=(0, -9.81, 0))
    robot.world.revolute("joint").body("rod", kt.Inertia.rod(1.0, end=(1.0, 0, 0)))
    ends = [Boundary("start", [-np.pi / 2], 0.0), Boundary("end", [np.pi / 2], 0.0)]

    def lifted(limit):
        return Problem(robot.build(), objective=Time(), constraints=[*ends, TorqueLimits(limit)])

    weak = predict(lifted(2.0))
    assert weak.solved
    (line,) = (x for x in weak.explanation.advice if "starts=10" in x)
    assert "takes 4.9 N m" in line
    assert predict(lifted(2.0), starts=5).duration < 0.95 * weak.duration
    assert not any("starts=" in x for x in predict(lifted(6.0)).explanation.advice)
