"""Extremes within steps: beside motions that are known at every instant."""

import numpy as np
import pytest

from kinetree.verdicts.following import control_findings
from kinetree.verdicts.limits import derivative, extremes, polynomials, value_at
from kinetree.verdicts.margins import NONE, Verdicts, read_verdicts


def sine(w, t):
    """sin(w t) with its derivatives, (k, 1) each."""
    return tuple(x[:, None] for x in (np.sin(w * t), w * np.cos(w * t), -(w**2) * np.sin(w * t)))


@pytest.mark.parametrize("phase", np.linspace(0.0, 1.0, 7))
def test_the_peak_of_a_sine_within_a_step_of_a_sixth_of_its_period(phase):
    w, h = 3.0, 2.0 * np.pi / 3.0 / 6.0
    t = np.pi / 2 / w - phase * h + np.array([0.0, h])
    p, v, a = sine(w, t)
    powers = polynomials(np.array([h]), (p[:1], v[:1], a[:1], p[1:], v[1:], a[1:]), np.array([True]))
    found = extremes(powers)
    most = max([*p[:, 0], *found.value])
    assert most == pytest.approx(1.0, abs=1e-4)
    assert value_at(powers[:, 0, 0], np.array(0.5)) == pytest.approx(np.sin(w * t.mean()), abs=1e-4)
    slope = derivative(powers) / h
    assert value_at(slope[:, 0, 0], np.array(0.5)) == pytest.approx(w * np.cos(w * t.mean()), abs=2e-3)


def test_transients_that_a_step_passes_do_not_bend_its_way():
    """An implicit step of 0.01 s from an acceleration of 1e4 that dies at once: the way is straight."""
    start, end = ([[0.0]], [[0.1]], [[1e4]]), ([[0.001]], [[0.1]], [[0.0]])
    powers = polynomials(np.array([0.01]), tuple(np.array(x) for x in (*start, *end)), np.array([True]))
    middle = value_at(powers[:, 0, 0], np.linspace(0.0, 1.0, 101))
    assert 0.0 <= middle.min() and middle.max() <= 0.001 + 1e-12


def test_polynomials_of_degree_five_are_met():
    rng = np.random.default_rng(1)
    powers = rng.normal(size=6) * [1, 1, 0.3, 0.2, 0.1, 0.1]
    h = 0.7
    whole = np.polynomial.Polynomial(powers)
    ends = [np.array([[whole.deriv(k)(t) / h**k]]) for t in (0.0, 1.0) for k in (0, 1, 2)]
    found = polynomials(np.array([h]), tuple(ends), np.array([True]))
    assert found[:, 0, 0] == pytest.approx(powers, abs=1e-12)


def test_margins():
    assert read_verdicts(False) is NONE and NONE.is_empty and not Verdicts().is_empty
    assert read_verdicts({"tilt": None}).tilt is None and read_verdicts(None) == Verdicts()


@pytest.mark.parametrize(
    ("course", "passes"),
    [
        (lambda t: 1.0 - np.exp(-t), True),
        (lambda t: 0.02 * t, True),  # slow, but nearer all the time
        (lambda t: -0.1 * t, False),  # away
        (lambda t: 0.0 * t, False),  # does not move at all
        (lambda t: 0.9 * np.sin(2 * t), False),  # swings without end
        (lambda t: 1.0 - np.exp(-t) * np.cos(5 * t), True),
        (lambda t: np.where(t < 4, 1.0 - np.exp(-3 * t), -1.0), False),  # lets go in the end
    ],
)
def test_errors_from_a_goal_at_1_rad(course, passes):
    import kinetree as kt

    made = kt.Builder("one")
    made.world.revolute("joint", axis="y").body("rod", kt.Inertia.rod(1.0, end=(0, 0, -1.0)))
    t = np.linspace(0.0, 5.0, 301)
    goal, q = np.ones((301, 1)), course(t)[None, :, None]
    (found,) = control_findings(made.build(), Verdicts(), goal, np.array([True]), t, q).values()
    assert bool(found.passed[0]) is passes
