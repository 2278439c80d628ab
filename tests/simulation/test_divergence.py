"""What counts as a simulation that has gone out of hand."""

import time

import numpy as np
import pytest

import kinetree as kt
from kinetree.simulation.divergence import FASTEST, has_diverged

SYSTEM = kt.simulation.Simulator(kt.zoo.gripper(), method="dop853").system
SPEED, WORK = SYSTEM.n, SYSTEM.size - 1


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        (0, 1.0, False),
        (0, 2.0 * FASTEST, False),  # only speeds have a bound
        (WORK, -2.0 * FASTEST, False),
        (SPEED, 0.5 * FASTEST, False),
        (SPEED, FASTEST, True),
        (SPEED, -2.0 * FASTEST, True),
        *((place, value, True) for place in (0, SPEED, WORK) for value in (np.nan, np.inf, -np.inf)),
    ],
)
def test_one_number_is_enough(place, value, expected):
    states = np.zeros((3, SYSTEM.size))
    states[1, place] = value
    assert has_diverged(SYSTEM, states) is expected


def test_no_states_have_not_diverged():
    assert has_diverged(SYSTEM, np.zeros((0, SYSTEM.size))) is False


def test_a_start_beyond_all_bounds_is_refused():
    build = kt.Builder("ball")
    build.world.free("base").body("ball", kt.Inertia.sphere(1.0, 0.1))
    with pytest.raises(kt.errors.SimulationError, match=r"diverged at t = 0 s: .*'base\.tx' with 1e\+200"):
        kt.simulate(build.build(), np.zeros(6), [1e200, 0, 0, 0, 0, 0], 0.01)


@pytest.mark.parametrize("method", ["dopri5", "radau"])
@pytest.mark.parametrize("way", ["Simulator", "simulate_batch"])
def test_a_start_beyond_all_bounds_ends_every_kind_of_simulation(method, way):
    """An arm of 1e10 rad/s would otherwise be followed for millions of revolutions."""
    arm, fast = kt.zoo.gripper(), np.full(4, 10.0 * FASTEST)
    with pytest.raises(kt.errors.SimulationError, match=r"diverged at t = .*per second"):
        if way == "Simulator":
            kt.simulation.Simulator(arm, 1.0, method=method).run(np.zeros(4), fast)
        else:
            kt.simulation.simulate_batch(arm, np.zeros((3, 4)), np.tile(fast, (3, 1)), 1.0, method=method)


UNSTABLE = "diverges: .* its law is sampled every 4 ms, and such feedback may be unstable"


@pytest.mark.parametrize("method", ["auto", "radau"])
@pytest.mark.parametrize("way", ["simulate", "Simulator", "simulate_batch"])
def test_unstable_sampled_feedback_ends_soon_and_says_why(method, way):
    """Gains that would be stable if the law acted at all times: kd period / inertia is far above 2."""
    arm = kt.zoo.gripper()
    law = kt.control.PD([0.5, 0.5, 0.5, 0.5], kp=20.0, kd=2.0, period=0.004)
    began = time.process_time()
    with pytest.raises(kt.errors.SimulationError, match=UNSTABLE):
        if way == "Simulator":
            kt.simulation.Simulator(arm, 2.0, controller=law, method=method).run(np.zeros(4))
        elif way == "simulate":
            kt.simulate(arm, np.zeros(4), duration=2.0, controller=law, method=method)
        else:
            kt.simulation.simulate_batch(arm, np.zeros((3, 4)), duration=2.0, controller=law, method="dopri5")
    assert time.process_time() - began < 60.0  # it went on for many minutes
