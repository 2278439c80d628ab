"""Contact by phases with free durations: a hopper whose last phase goes on into its first."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.terms import (
    GroundClearance,
    JointLimits,
    PointPosition,
    SquaredAcceleration,
    SquaredTorque,
    TorqueLimits,
    UnknownForce,
)

MASS, HIGH = 4.5, 0.65


def hopper():
    """A body that slides up and down and a leg that pushes its foot away from it."""
    build = kt.Builder("hopper")
    body = build.world.prismatic("height", axis="z", driven=False).body(
        "body", kt.Inertia.box(4.0, (0.2, 0.2, 0.2))
    )
    body.prismatic("leg", axis="z", effort_limit=300.0).body("foot", kt.Inertia.box(0.5, (0.1, 0.1, 0.05)))
    return build.build()


def phases(**arguments):
    """Stance with an unknown force of the ground, flight without: the schedule is that of the phases."""
    robot, segments = hopper(), 6
    common = {"objective": [1e-3 * SquaredTorque("leg"), 1e-6 * SquaredAcceleration()], "segments": segments}
    limits = [TorqueLimits(300.0), JointLimits({"height": 0.2, "leg": -0.6}, {"height": 1.0, "leg": -0.2})]
    knots = kt.Problem(robot, objective=SquaredTorque(), duration=1.0, segments=segments).basis.greville
    push = UnknownForce("foot", axes="z", normal=(0, 0, 1), size=50.0)
    rests = PointPosition("foot", (0, 0, 0), axes="z", at=knots)
    stance = kt.Problem(robot, constraints=[*limits, push, rests], duration=(0.05, 0.6), **common)
    high = PointPosition("body", lower=(0, 0, HIGH), upper=(0, 0, np.inf), axes="z", at=0.5)
    away = [GroundClearance("foot"), high]
    flight = kt.Problem(robot, constraints=[*limits, *away], duration=(0.05, 0.6), **common)
    return kt.motion.PhasedProblem([stance, flight], cycle=kt.motion.Junction("velocity"), **arguments)


def test_derivatives_of_a_cycle_with_free_durations_are_exact():
    asked = phases(duration=0.5)
    check = asked.check_derivatives()
    assert check.passed, str(check)
    assert asked.program.families()["duration of all phases"] == [asked.n_constraints - 1]


def test_a_hopper_hops_for_ever():
    """What the ground pushes in stance carries the weight of the whole cycle; flight is a throw."""
    found = kt.motion.predict_phases(phases(duration=0.5), progress=False)
    assert found.solved and found.duration == pytest.approx(0.5, abs=1e-6)
    stance, flight = found.parts
    push = stance.curves["force:foot"][:, 0]
    assert push.min() > -1e-3
    assert np.trapezoid(push, stance.t) == pytest.approx(MASS * 9.81 * 0.5, rel=1e-3)
    assert np.abs(stance.q.sum(axis=1)).max() < 1e-6  # the foot rests between the instants, too
    assert flight.q[-1] == pytest.approx(stance.q[0], abs=1e-5)
    assert flight.qd[-1] == pytest.approx(stance.qd[0], abs=1e-4)
    center = flight.q @ [1.0, 0.5 / MASS]
    drop = np.polyfit(flight.t, center, 2)
    assert 2.0 * drop[0] == pytest.approx(-9.81, rel=0.02)
    assert 0.05 < flight.duration < 0.45


def test_partners_go_on_with_their_signs():
    robot = kt.zoo.two_link()
    problems = [
        kt.Problem(robot, objective=SquaredTorque(), duration=0.3, segments=4),
        kt.Problem(robot, objective=SquaredTorque(), duration=(0.2, 0.4), segments=5),
    ]
    on = kt.motion.Junction(pairs={"joint1": "joint2"}, mirrored=["joint2"])
    asked = kt.motion.PhasedProblem(problems, on, cycle=kt.motion.Junction("position", joints=["joint1"]))
    assert asked.check_derivatives().passed
    z = np.random.default_rng(0).standard_normal(asked.n_variables)
    first, second = (
        problem.setting.unknowns.at([0.0, 1.0]).motion(problem.program.unknowns(part))
        for problem, part in zip(problems, asked.program.parts(np.abs(z)), strict=True)
    )
    gaps = dict(zip(asked.program.labels, asked.program.gaps(np.abs(z)), strict=True))
    assert gaps["position of joint1 and joint2, phases 1 and 2"] == pytest.approx(
        first.q[1, 0] - second.q[0, 1]
    )
    assert gaps["velocity of joint2 and joint1, phases 1 and 2"] == pytest.approx(
        -first.qd[1, 1] - second.qd[0, 0]
    )
    assert gaps["position of joint1, phases 2 and 1"] == pytest.approx(second.q[1, 0] - first.q[0, 0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: phases(duration=3.0), "together must take 3 to 3 s, but they take 0.1 to 1.2 s"),
        (lambda: kt.motion.PhasedProblem(phases().problems, cycle="yes"), "cycle must be a Junction"),
        (
            lambda: kt.motion.PhasedProblem(phases().problems, kt.motion.Junction(joints=["tail"])),
            "unknown joint 'tail'",
        ),
        (lambda: kt.motion.predict_phases(phases(), start=[1, 2]), "start must be"),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(kt.errors.InputError, match=message):
        make()
