"""Laws that follow each other by time or event, against the motion in closed form."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.control import PD, PID, Phase, Phases


def wheel():
    """A rotor of 0.5 kg m^2 without gravity."""
    build = kt.Builder("wheel", gravity=(0, 0, 0))
    build.world.revolute("axle", axis="z").body("rotor", kt.Inertia(1.0, (0, 0, 0), np.diag([0.3, 0.3, 0.5])))
    return build.build()


def test_phases_by_time_and_by_event_are_parabolas():
    """Push with 1 N m for 0.5 s, coast until 1.5 rad, brake with 2 N m."""
    laws = [
        Phase(lambda t, q, qd: [1.0], until=0.5),
        Phase(lambda t, q, qd: [0.0], until=lambda t, q, qd, contact: q[0] >= 1.5),
        Phase(lambda t, q, qd: [-2.0]),
    ]
    run = kt.simulate(wheel(), [0.0], duration=2.0, controller=Phases(laws, period=0.001), times=2001)
    t, q, speed = run.time.values, run.q.values[:, 0], 1.0
    np.testing.assert_allclose(q[t <= 0.5], t[t <= 0.5] ** 2, atol=1e-8)
    reached = 0.5 + (1.5 - 0.25) / speed  # a multiple of the period, so the event is met at a tick
    late = t >= reached + 0.001
    want = 1.5 + speed * (t - reached) - 2.0 * (t - reached) ** 2
    np.testing.assert_allclose(q[late], want[late], atol=4e-3)
    assert run.statistics["phase_changes"] == 2 and run.settings["controller"]["phases"][0]["until"] == 0.5


def test_a_cycle_begins_again_with_time_of_its_own():
    seen = []
    first = Phase(lambda t, q, qd: seen.append(t) or [0.0], until=0.01, own_time=True)
    law = Phases([first, Phase(lambda t, q, qd: [0.0], until=0.01)], period=0.002, cycle=True)
    kt.simulate(wheel(), [0.0], duration=0.04, controller=law)
    np.testing.assert_allclose(seen, 2 * [0.0, 0.002, 0.004, 0.006, 0.008], atol=1e-12)


def test_controllers_and_walks_are_laws_of_phases():
    """A biped walks, and stops by an event; a wheel is led by PD in its second phase."""
    pd = PD([0.3], kp=20.0, kd=6.0)
    law = Phases([Phase(lambda t, q, qd: [0.0], until=0.1), Phase(pd)], period=0.001)
    run = kt.simulate(wheel(), [0.0], duration=3.0, controller=law, times=31)
    assert abs(run.q.values[-1, 0] - 0.3) < 2e-3 and run.q.values[1, 0] == 0.0
    robot, walk = kt.zoo.quadruped(), kt.control.WalkingLaw(0.3)
    run = kt.simulate(
        robot, walk.start(robot), duration=0.3, controller=Phases([Phase(walk)], period=0.004),
        ground=kt.Ground(kt.simulation.Soil(stiffness=2e4)), method="radau", rtol=1e-3, atol=1e-5, times=4,
    )  # fmt: skip
    assert run.q.values[-1, 2] == pytest.approx(run.q.values[0, 2], abs=0.03)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Phases([], period=0.01), r"phases must be one or more Phase"),
        (lambda: Phases([Phase(len), Phase(len)], period=0.01), "phase 1 of 2 never ends"),
        (lambda: Phases([Phase(len, 1.0), Phase(len)], period=0.01, cycle=True), "phase 2 of 2 never ends"),
        (lambda: Phases([Phase(len)], period=0.0), "period"),
        (lambda: Phase(3.0), "law of a phase must be a controller or a function, got 3"),
        (lambda: Phase(len, until=-1.0), "must last longer than 0 s, got until = -1"),
        (
            lambda: Phases([Phase(PID([0.0], kp=1.0, ki=1.0))], period=0.01).sampled(wheel()),
            "integrates its error",
        ),
    ],
)
def test_bad_phases_are_refused(make, message):
    with pytest.raises(kt.KinetreeError, match=message):
        make()
