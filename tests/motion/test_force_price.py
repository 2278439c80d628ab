"""What it costs in time to spare a joint: limits of the force inside it, and their prices."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.terms import Boundary, ReactionLimit, Time, TorqueLimits

LIMITS = (30.0, 25.0, 20.0, 15.0, 12.0, 10.0)  # N


def force(motion):
    """In the first joint at all samples (N)."""
    return np.linalg.norm(motion.reaction[:, 0, :3], axis=1)


@pytest.fixture(scope="module")
def free_and_limited():
    """The fastest motion of a two-link arm, then with less and less force allowed in its first joint."""
    constraints = [Boundary("start", [0.0, -2.0], 0.0), Boundary("end", [1.0, -1.0], 0.0), TorqueLimits()]
    problem = kt.Problem(kt.zoo.two_link(), objective=Time(), constraints=constraints, segments=20)
    found = [kt.predict(problem)]
    for limit in LIMITS:
        held = problem.changed(constraints=[*constraints, ReactionLimit("link1", limit)])
        found.append(kt.predict(held, start=found[-1]))
    return found[0], found[1:]


def test_sparing_a_joint_costs_time(free_and_limited):
    free, limited = free_and_limited
    durations = [motion.duration for motion in limited]
    assert free.duration == pytest.approx(0.3931, abs=6e-4)
    assert force(free).max() > max(LIMITS)
    assert all(motion.solved for motion in limited)
    assert durations == sorted(durations) and durations[-1] > 1.02 * free.duration
    for limit, motion in zip(LIMITS, limited, strict=True):
        at_samples = np.isin(motion.s, motion.problem.setting.samples)
        assert force(motion)[at_samples].max() == pytest.approx(limit, rel=1e-4)


def test_prices_are_slopes_of_the_table(free_and_limited):
    """The duration is convex in the limit here, so every secant lies between the prices at its ends."""
    _, limited = free_and_limited
    prices = np.array(
        [-sum(x.price for x in found.active if x.family == ReactionLimit.family) for found in limited]
    )
    secants = -np.diff([motion.duration for motion in limited]) / np.diff(LIMITS)
    assert (prices[:-1] < secants).all() and (secants < prices[1:]).all()
