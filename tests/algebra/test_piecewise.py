"""Tables of polynomials: against SciPy, closed forms, and the contract that compiled code relies on."""

import numpy as np
import pytest
from scipy.interpolate import BPoly, CubicSpline, PPoly

from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.errors import InputError
from support.each import each


def test_a_table_is_that_of_scipy_with_powers_reversed(rng):
    breaks = np.cumsum(rng.uniform(0.1, 1.0, 6))
    table = PiecewisePolynomial(breaks, rng.standard_normal((5, 4, 3)))
    scipy = PPoly(table.coefficients[:, ::-1].transpose(1, 0, 2), breaks)
    t = rng.uniform(breaks[0], breaks[-1], (2, 50))
    for derivative in range(6):
        assert np.allclose(table.at(t, derivative), scipy(t, derivative), rtol=1e-13, atol=1e-13)


def test_arrays_are_as_compiled_code_wants_them():
    table = PiecewisePolynomial(np.array([0, 1]), np.ones((3, 2, 1)).T[:, :, :].copy(order="F"))
    for array in (table.breaks, table.coefficients):
        assert array.dtype == np.float64 and array.flags.c_contiguous and not array.flags.writeable
    assert (table.n, table.order) == (3, 2)


@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (0,)])
def test_times_of_any_shape(shape):
    table = PiecewisePolynomial.linear([0.0, 1.0], [[0.0, 1.0], [1.0, 3.0]])
    assert table.at(np.full(shape, 0.5)).shape == (*shape, 2)


def test_outside_its_span_the_ends_are_held():
    table = PiecewisePolynomial.cubic([1.0, 2.0, 3.0, 4.0], [[1.0], [0.0], [5.0], [2.0]])
    assert table.at([-9.0, 1.0, 4.0, 99.0])[:, 0].tolist() == pytest.approx([1.0, 1.0, 2.0, 2.0], abs=1e-14)
    outside, inside = table.at([0.99, 4.01], 1), table.at([1.0, 4.0], 1)
    assert not outside.any() and (np.abs(inside) > 1.0).all()


def test_cubic_is_the_spline_with_two_continuous_derivatives(rng):
    t, x = np.cumsum(rng.uniform(0.1, 1.0, 8)), rng.standard_normal((8, 2))
    table, spline = PiecewisePolynomial.cubic(t, x), CubicSpline(t, x)
    at = np.linspace(t[0], t[-1], 101)
    for derivative in range(3):
        assert np.allclose(table.at(at, derivative), spline(at, derivative), atol=1e-11)


def test_quintic_is_the_hermite_polynomial(rng):
    t, (q, qd, qdd) = np.cumsum(rng.uniform(0.1, 1.0, 5)), rng.standard_normal((3, 5, 2))
    table = PiecewisePolynomial.quintic(t, q, qd, qdd)
    hermite = BPoly.from_derivatives(t, np.stack([q, qd, qdd], axis=1))
    at = np.linspace(t[0], t[-1], 101)
    for derivative in range(3):
        assert np.allclose(table.at(at, derivative), hermite(at, derivative), atol=1e-9)


@pytest.mark.parametrize("make", ["linear", "cubic", "quintic"])
def test_a_time_given_twice_is_a_jump_seen_from_the_right(make):
    t, x = [0.0, 1.0, 1.0, 2.0], np.array([[0.0], [1.0], [5.0], [7.0]])
    rates = ([[1.0], [1.0], [2.0], [2.0]], np.zeros((4, 1))) if make == "quintic" else ()
    table = getattr(PiecewisePolynomial, make)(t, x, *rates)
    assert table.at([1.0 - 1e-9, 1.0, 1.5])[:, 0].tolist() == pytest.approx([1.0, 5.0, 6.0], abs=1e-8)
    assert table.at([0.5, 1.0, 2.0], 1)[:, 0].tolist() == pytest.approx([1.0, 2.0, 2.0], abs=1e-12)


@pytest.mark.parametrize("make", ["linear", "cubic", "quintic"])
def test_jumps_at_both_ends(make):
    t, x = [0.0, 0.0, 1.0, 1.0], np.array([[9.0], [1.0], [2.0], [7.0]])
    rates = (np.zeros((4, 1)), np.zeros((4, 1))) if make == "quintic" else ()
    table = getattr(PiecewisePolynomial, make)(t, x, *rates)
    values = table.at([-1.0, 0.0, 1.0 - 1e-12, 1.0, 2.0])[:, 0]
    assert values.tolist() == pytest.approx([9.0, 1.0, 2.0, 7.0, 7.0], abs=1e-9)


def test_hold_keeps_each_value_until_the_next():
    table = PiecewisePolynomial.hold([0.0, 1.0, 3.0], [[1.0], [2.0], [3.0]])
    assert table.at([-1.0, 0.0, 0.99, 1.0, 2.99, 3.0, 9.0])[:, 0].tolist() == [1, 1, 1, 2, 2, 3, 3]
    assert PiecewisePolynomial.hold([0.0], [[4.0]]).at([-1.0, 0.0, 1.0])[:, 0].tolist() == [4, 4, 4]


@each(
    ("call", "reason"),
    [
        (lambda: PiecewisePolynomial([0.0], np.zeros((0, 1, 1))), "at least 2 times"),
        (lambda: PiecewisePolynomial([0.0, 1.0], np.zeros((2, 1, 1))), "shape (1, order, n)"),
        (lambda: PiecewisePolynomial([0.0, np.nan], np.zeros((1, 1, 1))), "breaks must be finite"),
        (lambda: PiecewisePolynomial([0.0, 1.0], np.full((1, 1, 1), np.inf)), "coefficients must be finite"),
        (lambda: PiecewisePolynomial.linear([0.0, 2.0, 1.0], np.zeros((3, 1))), "got 1 after 2 at index 2"),
        (lambda: PiecewisePolynomial.linear([0.0, 0.0, 0.0], np.zeros((3, 1))), "at most twice"),
        (lambda: PiecewisePolynomial.linear([0.0, 1.0], [0.0, 1.0]), "values must have shape (2, n)"),
        (lambda: PiecewisePolynomial.hold([0.0, 0.0], np.zeros((2, 1))), "times must differ"),
        (
            lambda: PiecewisePolynomial.quintic(
                [0.0, 1.0], np.zeros((2, 2)), np.zeros((2, 1)), np.zeros((2, 2))
            ),
            "qd must have the shape of the positions, (2, 2)",
        ),
        (lambda: PiecewisePolynomial.hold([0.0], [[1.0]]).at(np.nan), "time must be finite"),
        (lambda: PiecewisePolynomial.hold([0.0], [[1.0]]).at(0.0, -1), "derivative must be an integer"),
    ],
)
def test_refuses(call, reason):
    with pytest.raises(InputError) as refused:
        call()
    assert reason in str(refused.value)
