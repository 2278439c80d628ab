"""Accuracy of the integrators: orders of convergence, tolerances, SciPy at the same tolerances."""

import numpy as np
import pytest
from scipy.integrate import simpson, solve_ivp

from support.odes import (
    ADAPTIVE,
    orbit,
    orbit_position,
    orbit_start,
    pendulum,
    pendulum_angle,
    pendulum_slopes,
    solved,
)

AMPLITUDE = 2.0
START = [AMPLITUDE, 0.0, 0.0]
TIMES = np.linspace(0.0, 6.0, 301)


def equal_steps(count, duration=6.0):
    """Options that make any method take equal steps."""
    h = duration / count
    return {"step": h, "max_step": h, "first_step": h, "rtol": 1e-6, "atol": 1e9}


def orders(errors):
    return np.log2(np.array(errors[:-1]) / errors[1:])


@pytest.mark.parametrize(
    ("method", "counts", "order", "dense_order"),
    [
        ("dopri5", (60, 120, 240), 5, 5),
        ("dop853", (30, 60), 8, 8),
        ("rk4", (60, 120, 240), 4, 4),
        ("semi_implicit_euler", (2000, 4000, 8000), 1, 1),
    ],
)
def test_order_on_a_pendulum(method, counts, order, dense_order):
    """The worst error at times where all runs have steps, and that of the dense output in between."""
    exact = pendulum_angle(AMPLITUDE, TIMES)
    runs = [solved(method, pendulum, START, 6.0, TIMES, n_sums=1, **equal_steps(count)) for count in counts]
    for run, count in zip(runs, counts, strict=True):
        assert run.statistics["steps"] == count and run.n_out == len(TIMES)
    at_steps = orders([abs(run.out[::20, 0, 0] - exact[::20]).max() for run in runs])
    between = orders([abs(run.out[:, 0, 0] - exact).max() for run in runs])
    assert abs(at_steps - order).max() < 0.6, at_steps
    assert (between > dense_order - 0.6).all(), between


@pytest.mark.parametrize(
    ("method", "counts", "order"),
    [
        ("dopri5", (200, 400, 800), 5),
        ("dop853", (40, 80), 8),
        ("rk4", (200, 400, 800), 4),
    ],
)
def test_order_on_an_orbit(method, counts, order):
    e, duration = 0.3, 2 * np.pi
    times = np.linspace(0, duration, 97)
    exact = orbit_position(e, times)
    errors = []
    for count in counts:
        run = solved(method, orbit, orbit_start(e), duration, times, n=2, **equal_steps(count, duration))
        errors.append(abs(run.out[:, 0, :2] - exact).max())
    assert (orders(errors) > order - 0.5).all(), orders(errors)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_error_follows_the_tolerance(method):
    """Ten times the accuracy for a tenth of the tolerance, roughly, for the states and for the sum."""
    exact = pendulum_angle(AMPLITUDE, TIMES)
    errors, steps = [], []
    for tolerance in (1e-5, 1e-7, 1e-9, 1e-11):
        run = solved(
            method,
            pendulum,
            START,
            6.0,
            TIMES,
            n_sums=1,
            rtol=tolerance,
            atol=tolerance,
            jacobian=pendulum_slopes.address,
        )
        errors.append(abs(run.out[:, 0, 0] - exact).max())
        steps.append(run.statistics["steps"])
        energy = 0.5 * run.y[0, 1] ** 2 - np.cos(run.y[0, 0])
        assert abs(energy + np.cos(AMPLITUDE)) < 100 * tolerance
        assert errors[-1] < 200 * tolerance
    ratios = np.log10(np.array(errors[:-1]) / errors[1:])
    assert ((ratios > 1.2) & (ratios < (3.7 if method == "radau" else 3.0))).all(), ratios
    growth = np.log(errors[0] / errors[-1]) / np.log(steps[-1] / steps[0])
    assert growth > {"dopri5": 4.5, "dop853": 6.5, "radau": 3.7}[method]


def test_the_sum_is_integrated_with_the_state():
    """The integral of qd^2 of a pendulum, against SciPy's quadrature of the exact motion."""
    run = solved("dop853", pendulum, START, 6.0, TIMES, n_sums=1, rtol=1e-11, atol=1e-11)
    fine = np.linspace(0, 6, 6001)
    square = 2 * (np.cos(pendulum_angle(AMPLITUDE, fine)) - np.cos(AMPLITUDE))
    sums = [simpson(square[: 20 * k + 1], x=fine[: 20 * k + 1]) for k in range(1, 301)]
    np.testing.assert_allclose(run.out[1:, 0, 2], sums, atol=2e-9)


@pytest.mark.parametrize(("method", "name"), [("dopri5", "RK45"), ("dop853", "DOP853"), ("radau", "Radau")])
def test_against_scipy(method, name):
    """The same solution at a tight tolerance, with a similar amount of work."""
    e, tolerance = 0.6, 1e-8
    times = np.linspace(0, 7, 50)

    def rates(t, y):
        cube = (y[0] ** 2 + y[1] ** 2) ** 1.5
        return [y[2], y[3], -y[0] / cube, -y[1] / cube]

    other = solve_ivp(
        rates, (0, 7), orbit_start(e), method=name, rtol=tolerance, atol=tolerance, t_eval=times
    )
    run = solved(method, orbit, orbit_start(e), 7.0, times, n=2, rtol=tolerance, atol=tolerance)
    assert abs(run.out[:, 0] - other.y.T).max() < 1e-5
    exact = orbit_position(e, times)
    assert abs(run.out[:, 0, :2] - exact).max() < 4 * abs(other.y[:2].T - exact).max()
    assert run.statistics["evaluations"] < 1.3 * other.nfev
