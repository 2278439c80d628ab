"""The legs of one state as lanes of SIMD numbers ([Shah2013], section 5.6): the same torques."""

import pytest
from benchmarks.equal_modules import MODULES, ROBOTS, STATES, Parts, compared

import kinetree as kt


@pytest.mark.parametrize("name", ROBOTS)
def test_legs_in_lanes_give_the_torques(name):
    found = compared(name, 8, 1)
    assert found[STATES][1] < 1e-14 and found[MODULES][1] < 1e-13
    assert found[MODULES][0] > 0.0


def test_what_has_no_equal_legs_is_refused():
    with pytest.raises(ValueError, match="no base with equal legs"):
        Parts.of(kt.zoo.gripper())
