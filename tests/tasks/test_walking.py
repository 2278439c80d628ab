"""The book's robots walk on springy ground ([Shah2013], sections 7.2-7.4 and chapter 9)."""

import numpy as np
import pytest

import kinetree as kt
from support.refused import refused
from support.walking import WALKS, planned_gait, walk

UP = {"planar_biped": 1}  # where gravity is along -y; else z
CYCLE = {"planar_biped": 0.3, "spatial_biped": 0.3, "quadruped": 0.3, "hexapod": 0.4}  # m per step
FEW_DEGREES = {"planar_biped": 4.0, "spatial_biped": 4.0, "quadruped": 5.0, "hexapod": 1.0}


def attitude(run):
    """Largest change of the trunk's angles in degrees."""
    angles = run.q.values[:, 3:6]
    return np.degrees(np.abs(angles - angles[0]).max())


def advance(run):
    return run.q.values[-1, 0] - run.q.values[0, 0]


@pytest.mark.parametrize("robot", WALKS)
def test_one_cycle_as_in_the_book(robot):
    """Trunk advances by about a stride, attitude within a few degrees, joints exactly on the gait."""
    plan = WALKS[robot]
    mechanism = plan.robot()
    gait = planned_gait(plan, mechanism, 0.1)
    run = walk(robot, duration=gait.parameters.step_time)
    assert advance(run) == pytest.approx(CYCLE[robot], rel=0.1)
    assert attitude(run) < FEW_DEGREES[robot]
    assert np.abs(run.q.values[:, 6:] - gait.at(run.time.values).q[:, 6:]).max() < 1e-6
    assert run.audit["energy_balance"].value < 1e-4


@pytest.mark.parametrize("robot", WALKS)
@pytest.mark.parametrize("law", ["computed_torque", "feedforward"])
def test_controlled_walking_does_not_fall(robot, law):
    """The book's gains and durations; its energy errors are 6e-5 to 3e-2 J (appendix C)."""
    run = walk(robot, law)
    steps = WALKS[robot].duration / planned_gait(WALKS[robot], WALKS[robot].robot(), 0.1).parameters.step_time
    height = run.q.values[:, UP.get(robot, 2)]
    assert run.complete
    assert height.min() > 0.95 * height[0]
    assert attitude(run) < 2 * FEW_DEGREES[robot]
    assert advance(run) == pytest.approx(CYCLE[robot] * steps, rel=0.15)
    assert np.abs(run.energy_error.values).max() < 1e-3


def test_ground_carries_the_weight():
    """Over whole cycles the mean vertical force is the weight (the trunk ends as high as it began)."""
    run = walk("hexapod", duration=1.0, times=4001)
    mean = np.trapezoid(run.contact_force.values.sum(axis=1)[:, 2], run.time.values)
    assert mean == pytest.approx(run.mechanism.mass * 9.81, rel=0.05)


def test_torques_alone_fail():
    """Without feedback the robots leave the gait ([Shah2013], section 7.2.2)."""
    feet = tuple(f"{end}{k}_{side}" for k in (1, 2) for end in ("toe", "heel") for side in ("left", "right"))
    with pytest.warns(kt.simulation.VerdictWarning) as seen:
        run = walk("spatial_biped", "torques_alone", duration=0.8, ground=kt.Ground(points=feet))
    assert attitude(run) > 20.0
    texts = [str(x.message) for x in seen]
    assert all(any(word in text for text in texts) for word in ("fell", "below the ground"))


def test_torques_are_those_of_inverse_dynamics():
    """Torques and base acceleration of floating-base inverse dynamics under the same ground forces."""
    run = walk("quadruped", duration=0.3, times=7)
    robot = run.mechanism
    points = {point.name: point for point in robot.contact_points}
    for k in range(len(run.time)):
        wrenches = [
            kt.Wrench(points[name].body, force=force, point=points[name].position)
            for name, force in zip(run.contact.values, run.contact_force.values[k], strict=True)
        ]
        q, qd, qdd = run.q.values[k], run.qd.values[k], run.qdd.values[k]
        base, tau = kt.analysis.floating_base_inverse_dynamics(robot, q, qd, qdd[6:], wrenches)
        assert tau == pytest.approx(run.tau.values[k, 6:], abs=1e-6)
        assert base == pytest.approx(qdd[:6], abs=1e-6)


def test_unknown_names():
    with refused("robot", "horse"):
        walk("horse")
    with refused("law", "magic"):
        walk("hexapod", "magic")
