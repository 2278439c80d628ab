"""The method for stiff systems: van der Pol's equation, hard contact, poor Jacobians, its linear solver."""

import numpy as np
import pytest
from numba import cfunc
from scipy.integrate import solve_ivp

from kinetree.integrate.radau_systems import factorise, solve
from support.odes import (
    SIGNATURE,
    orbit,
    orbit_position,
    orbit_start,
    pendulum_angle,
    python_callback,
    solved,
    van_der_pol,
    van_der_pol_slopes,
)

MU = 1e6
AT_END = [1.706167732170483, -0.8928097010247975]  # Mazzia, Magherini: Test set for initial value problems


def van_der_pol_run(tolerance):
    return solved(
        "radau",
        van_der_pol,
        [2.0, 0.0],
        2.0,
        context=[MU],
        rtol=tolerance,
        atol=tolerance,
        jacobian=van_der_pol_slopes.address,
    )


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8, 1e-10])
def test_van_der_pol(tolerance):
    """Against the published solution; the step size spans ten orders of magnitude."""
    run = van_der_pol_run(tolerance)
    np.testing.assert_allclose(run.y[0], AT_END, rtol=20 * tolerance)


def test_no_more_work_than_scipy():
    def rates(t, y):
        return [y[1], MU * ((1 - y[0] ** 2) * y[1] - y[0])]

    def slopes(t, y):
        return [[0, 1], [MU * (-2 * y[0] * y[1] - 1), MU * (1 - y[0] ** 2)]]

    other = solve_ivp(rates, (0, 2), [2.0, 0.0], method="Radau", rtol=1e-4, atol=1e-4, jac=slopes)
    work = van_der_pol_run(1e-4).statistics
    assert work["steps"] < 1.1 * len(other.t)
    assert work["evaluations"] < 1.1 * other.nfev
    assert work["jacobians"] < 1.1 * other.njev
    assert work["factorisations"] < 1.3 * other.nlu / 2  # it counts real and complex ones


def test_hard_spring_and_damper():
    """m q'' = -d q' - k q with rates -1e6 and -1: the slow motion is followed with long steps."""
    fast, slow = 1e6, 1.0
    rates = python_callback(lambda t, y, _: [y[1], -(fast + slow) * y[1] - fast * slow * y[0]], 2, 2)
    slopes = python_callback(lambda t, y, _: [-fast * slow, -(fast + slow)], 2, 2)
    times = np.linspace(0, 10, 11)
    run = solved("radau", rates, [1.0, 0.0], 10.0, times, rtol=1e-8, atol=1e-10, jacobian=slopes.address)
    exact = (fast * np.exp(-slow * times) - slow * np.exp(-fast * times)) / (fast - slow)
    np.testing.assert_allclose(run.out[:, 0, 0], exact, atol=1e-8)
    assert run.statistics["steps"] < 500


def falling(t, y, _):
    """A point mass that falls on a stiff, damped ground."""
    depth = max(0.0, -y[0])
    return [y[1], -9.81 + 1e6 * depth - 1e3 * y[1] * (depth > 0)]


def falling_slopes(t, y, _):
    return [-1e6 * (y[0] < 0), -1e3 * (y[0] < 0)]


def test_contact_comes_to_rest():
    """The mass ends where the spring carries its weight; explicit methods need far more evaluations."""
    rates, slopes = python_callback(falling, 2, 2), python_callback(falling_slopes, 2, 2)
    run = solved("radau", rates, [0.05, 0.0], 20.0, rtol=1e-6, atol=1e-9, jacobian=slopes.address)
    np.testing.assert_allclose(run.y[0], [-9.81e-6, 0.0], atol=1e-8)
    assert run.statistics["evaluations"] < 4000


@pytest.mark.parametrize("factor", [0.0, 0.7, 1.3])
def test_wrong_jacobians_still_converge(factor):
    """A Jacobian that is wrong by a third, or zero, costs time but no accuracy."""
    rates = python_callback(lambda t, y, _: [y[1], -np.sin(y[0])], 2, 2)
    slopes = python_callback(lambda t, y, _: [-factor * np.cos(y[0]), 0.3], 2, 2)
    times = np.linspace(0, 3, 7)
    run = solved("radau", rates, [1.0, 0.0], 3.0, times, rtol=1e-8, atol=1e-8, jacobian=slopes.address)
    np.testing.assert_allclose(run.out[:, 0, 0], pendulum_angle(1.0, times), atol=1e-6)


def test_jacobian_by_differences():
    times = np.linspace(0, 7, 30)
    run = solved("radau", orbit, orbit_start(0.5), 7.0, times, n=2, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(run.out[:, 0, :2], orbit_position(0.5, times), atol=2e-6)


def test_further_states_and_sums():
    """A controller's integral x' = q acts back on q; a sum of q^2 goes along."""

    def rates(t, y, _):
        q, qd, x, _ = y
        return [qd, -400.0 * q - 40.0 * qd - 100.0 * x, q, q * q]

    slopes = python_callback(lambda t, y, _: [-400.0, -40.0], 4, 2)
    run = solved(
        "radau",
        python_callback(rates, 4, 4),
        [1.0, 0, 0, 0],
        5.0,
        n_sums=1,
        rtol=1e-8,
        atol=1e-10,
        jacobian=slopes.address,
    )
    exact = solve_ivp(
        lambda t, y: rates(t, y, None), (0, 5), [1.0, 0, 0, 0], method="DOP853", rtol=1e-12, atol=1e-13
    )
    np.testing.assert_allclose(run.y[0], exact.y[:, -1], atol=1e-8)


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_linear_solver(kind, n, rng):
    """LU with row exchanges, against NumPy."""
    matrix = rng.normal(size=(n, n)).astype(kind)
    if kind is complex:
        matrix = matrix + 1j * rng.normal(size=(n, n))
    if n > 1:
        matrix[0, 0] = 0.0  # does not work without an exchange
    right = rng.normal(size=(1, n)).astype(kind)
    expected = np.linalg.solve(matrix, right[0])
    pivots, matrix = np.zeros((1, n), int), matrix.T.copy()
    assert factorise(matrix, 0, n, pivots, 0)
    solve(matrix, 0, n, pivots, 0, right, 0)
    np.testing.assert_allclose(right[0], expected, rtol=1e-12, atol=1e-12)


def test_singular_matrices_are_seen():
    assert not factorise(np.ones((2, 2)), 0, 2, np.zeros((1, 2), int), 0)
    assert not factorise(np.full((2, 2), np.nan), 0, 2, np.zeros((1, 2), int), 0)


# ---- further states ---------------------------------------------------------------------------------------
@cfunc(SIGNATURE)
def driven(t, y, dy, context):
    """q'' = z, T z' = cos t - z with T in the context, and the sum of z qd."""
    dy[0], dy[1] = y[1], y[2]
    dy[2] = (np.cos(t) - y[2]) / context[0]
    dy[3] = y[2] * y[1]
    return 0


@cfunc(SIGNATURE)
def driven_slopes(t, y, slopes, context):
    """By q, qd and z: of q'' and of z'."""
    slopes[0], slopes[1], slopes[2] = 0.0, 0.0, 1.0
    slopes[3], slopes[4], slopes[5] = 0.0, 0.0, -1.0 / context[0]
    return 0


def driven_exactly(t, T):
    """From rest: z is cos t behind a lag, its transient gone within T."""
    a, b = 1.0 / (1.0 + T * T), T / (1.0 + T * T)
    decay = np.exp(-t / T)
    qd = a * np.sin(t) + b * (1.0 - np.cos(t)) - a * T * (1.0 - decay)
    q = a * (1.0 - np.cos(t)) + b * (t - np.sin(t)) - a * T * (t - T * (1.0 - decay))
    return q, qd, a * np.cos(t) + b * np.sin(t) - a * decay


@pytest.mark.parametrize("slopes", [driven_slopes.address, None], ids=["exact", "differences"])
def test_slopes_of_further_states_allow_long_steps(slopes):
    T, times = 1e-5, np.linspace(0.1, 3.0, 7)
    options = {"n": 1, "n_sums": 1, "context": (T,), "rtol": 1e-8, "atol": 1e-8, "jacobian": slopes}
    run = solved("radau", driven, [0.0, 0.0, 0.0, 0.0], 3.0, times, n_more=1, **options)
    q, qd, z = driven_exactly(times, T)
    assert run.out[:, 0, 0] == pytest.approx(q, abs=1e-7)
    assert run.out[:, 0, 1] == pytest.approx(qd, abs=1e-7)
    assert run.out[:, 0, 2] == pytest.approx(z, abs=1e-7)
    assert run.out[:, 0, 3] == pytest.approx(0.5 * qd**2, abs=1e-6)  # the work is the kinetic energy
    assert run.statistics["steps"] < 100
