"""The example that limits the force in a joint."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.studies.force_price import price_of_force


@pytest.fixture(scope="module")
def found():
    return price_of_force()


def test_sparing_a_joint_costs_time(found):
    assert found.free.duration == pytest.approx(0.3931, abs=6e-4)
    assert found.largest_force > max(found.limits)
    assert all(x.solved for x in found.limited)
    assert list(found.durations) == sorted(found.durations)
    assert found.durations[-1] > 1.02 * found.free.duration
    for limit, motion in zip(found.limits, found.limited, strict=True):
        force = np.linalg.norm(motion.reaction[:, 0, :3], axis=1)
        at_samples = np.isin(motion.s, motion.problem.setting.samples)
        assert force[at_samples].max() == pytest.approx(limit, rel=1e-4)


def test_prices_are_slopes_of_the_table(found):
    """The duration is convex in the limit here, so every secant lies between the prices at its ends."""
    secants = -np.diff(found.durations) / np.diff(found.limits)
    assert (np.array(found.prices[:-1]) < secants).all()
    assert (secants < np.array(found.prices[1:])).all()


def test_the_table_as_text(found):
    text = str(found)
    assert text.count("\n") == 1 + len(found.limits)
    assert "0.3931" in text and "20.00" in text and "ms" in text


@pytest.mark.parametrize("limits", [[], [10.0, 20.0], [-1.0], [np.nan]])
def test_bad_limits(limits):
    with pytest.raises(kt.InputError, match="limits"):
        price_of_force(limits)
