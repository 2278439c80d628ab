"""Functions of one coordinate: against SciPy, closed forms and each other's composition."""

import numpy as np
import pytest
from scipy import interpolate

from kinetree.algebra.smooth_functions import (
    IDENTITY,
    Composed,
    CubicSpline,
    FunctionTable,
    PiecewiseLinear,
    Polynomial,
    Scaled,
    constant,
    kinks,
    line,
)
from kinetree.errors import InputError

X = (-2.1, -1.5, -0.4, 0.3, 1.0, 1.2, 2.6)
Y = (0.3, -0.2, 0.1, 0.9, 0.7, 0.75, -0.4)
FAN = np.linspace(-4.0, 4.5, 341)


def test_a_natural_spline_equals_scipys():
    spline, theirs = CubicSpline(X, Y, "natural"), interpolate.CubicSpline(X, Y, bc_type="natural")
    x = np.linspace(X[0], X[-1], 200)[1:-1]
    for order in range(4):
        assert np.allclose(spline.at(x, order), theirs(x, order), rtol=0, atol=1e-12)


def test_cubic_ends_have_the_third_derivatives_of_the_outer_four_points():
    spline = CubicSpline(X, Y)
    assert np.allclose(spline.at(X), Y, rtol=0, atol=1e-15)
    for part, end in ((slice(0, 4), -2.0), (slice(-4, None), 2.0)):
        cubic = np.polyfit(X[part], Y[part], 3)
        assert np.isclose(spline.at(end, 3), 6 * cubic[0], rtol=1e-11)
    for order in (0, 1, 2):  # two continuous derivatives inside
        left, right = (spline.at(np.array(X[1:-1]) + side, order) for side in (-1e-9, 1e-9))
        assert np.allclose(left, right, atol=1e-6)


def test_three_points_give_a_parabola_and_two_a_line():
    x = np.linspace(0.0, 2.0, 9)
    assert np.allclose(CubicSpline((0.0, 0.5, 2.0), (0.0, 0.25, 4.0)).at(x), x**2, atol=1e-14)
    assert np.allclose(CubicSpline((0.0, 2.0), (1.0, 5.0)).at(FAN), 1 + 2 * FAN, atol=1e-14)


@pytest.mark.parametrize("ends", ["cubic", "natural"])
def test_splines_are_straight_beyond_their_points(ends):
    spline = CubicSpline(X, Y, ends)
    outside = np.array([-9.0, -2.2, 2.7, 11.0])
    assert not spline.at(outside, 2).any() and not spline.at(outside, 3).any()
    assert np.allclose(spline.at(X[-1] + 2.0), Y[-1] + 2.0 * spline.at(X[-1] - 1e-12, 1), atol=1e-9)


FUNCTIONS = {
    "polynomial": Polynomial((0.3, -0.2, 0.7, 0.1)),
    "spline": CubicSpline(X, Y),
    "scaled": Scaled(CubicSpline(X, Y, "natural"), -1.7),
    "composed": Composed(CubicSpline(X, Y), CubicSpline((-3.0, -1.0, 0.5, 3.0), (-2.4, 0.1, 2.0, -1.0))),
    "twice": Composed(
        Scaled(Composed(CubicSpline(X, Y), Polynomial((0.1, 0.9))), 2.0), Polynomial((0.0, -1.0))
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_equal_differences(name):
    f, h = FUNCTIONS[name], 1e-5
    x = FAN[np.abs(FAN[:, None] - f.table.breaks).min(axis=1, initial=1.0) > 2 * h]
    for order in range(3):
        quotient = (f.at(x + h, order) - f.at(x - h, order)) / (2 * h)
        assert np.allclose(quotient, f.at(x, order + 1), rtol=1e-5, atol=1e-5)


def test_a_composition_is_one_function_of_the_other():
    outer, inner = CubicSpline(X, Y), CubicSpline((-3.0, -1.0, 0.5, 3.0), (-2.4, 0.1, 2.0, -1.0))
    both = Composed(outer, inner)
    assert np.allclose(both.at(FAN), outer.at(inner.at(FAN)), rtol=0, atol=1e-12)
    chain = outer.at(inner.at(FAN), 2) * inner.at(FAN, 1) ** 2 + outer.at(inner.at(FAN), 1) * inner.at(FAN, 2)
    assert np.allclose(both.at(FAN, 2), chain, atol=1e-10)


def test_stacked_tables_give_what_each_gives():
    table = FunctionTable.stacked([f.table for f in FUNCTIONS.values()])
    x = np.random.default_rng(1).uniform(-4, 4, (3, 7, len(FUNCTIONS)))
    for order, found in enumerate(table.all_at(x, 3)):
        for i, f in enumerate(FUNCTIONS.values()):
            assert np.allclose(found[..., i], f.at(x[..., i], order), rtol=0, atol=1e-12)


def test_what_is_constant_straight_or_has_kinks():
    assert constant(Scaled(Polynomial((2.0,)), 3.0)) == 6.0 and constant(CubicSpline(X, Y)) is None
    assert line(Scaled(IDENTITY, -1.0)) == (-1.0, 0.0) and line(CubicSpline(X, Y)) is None
    assert line(Composed(Polynomial((1.0, 2.0)), Polynomial((3.0, 4.0)))) == (8.0, 7.0)
    assert kinks(CubicSpline(X, Y)).size == 0
    assert kinks(PiecewiseLinear((0.0, 1.0, 2.0, 3.0), (0.0, 1.0, 2.0, 0.0))).tolist() == [2.0]


def test_equal_functions_are_equal():
    assert CubicSpline(X, Y) == CubicSpline(list(X), np.array(Y)) and len({CubicSpline(X, Y), IDENTITY}) == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CubicSpline((0.0, 0.0), (1.0, 2.0)), "x of a cubic spline must ascend, got 0 after 0"),
        (lambda: CubicSpline((0.0, 1.0), (1.0,)), "y of a cubic spline must be at least 2 numbers"),
        (lambda: CubicSpline((0.0, 1.0, 2.0), (1.0, 2.0)), "as many y as x, got 3 x and 2 y"),
        (lambda: CubicSpline(X, Y, "clamped"), "must be one of cubic, natural, got 'clamped'"),
        (lambda: Polynomial(()), "at least 1 number, got"),
        (lambda: PiecewiseLinear((0.0, np.nan), (0.0, 1.0)), "must be finite, got nan at index 1"),
        (lambda: Scaled(3.0, 2.0), "must be a smooth function such as CubicSpline"),
        (lambda: IDENTITY.at(0.0, -1), "order must be an integer of at least 0, got -1"),
    ],
)
def test_faults_are_named(make, message):
    with pytest.raises(InputError, match=message):
        make()
