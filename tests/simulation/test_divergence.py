"""What counts as a simulation that has gone out of hand."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.simulation.divergence import FASTEST, has_diverged

SYSTEM = kt.Simulator(kt.zoo.gripper(), method="dop853").system
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
