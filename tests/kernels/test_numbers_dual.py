"""Dual numbers: their rules, and the kernels' slopes in many directions at once."""

import numpy as np
import pytest

from kinetree.kernels.number import DualNumber, dual_parts, duals, sign, sincos
from support import trees
from support.cases import assert_close
from support.each import each
from support.kernels import KERNELS, random_inputs, rows_of, tree_for
from support.slopes import by_complex_step, by_dual_numbers, mixed

NAMES = (
    "rnea",
    "rnea_adjoint",
    "aba",
    "energy",
    "kinematics",
    "rnea_gradient",
    "rnea_hessian",
    "reaction_gradient",
)


def test_rules():
    x, y = DualNumber(3.0, 2.0), DualNumber(-4.0, 0.5)
    expected = {
        "sum": (x + y, -1.0, 2.5),
        "with floats": (1.5 + x + 2.0, 6.5, 2.0),
        "difference": (x - y, 7.0, 1.5),
        "from a float": (5.0 - x, 2.0, -2.0),
        "less a float": (x - 5.0, -2.0, 2.0),
        "negative": (-x, -3.0, -2.0),
        "product": (x * y, -12.0, 2.0 * -4.0 + 3.0 * 0.5),
        "multiple": (2.0 * x * 3.0, 18.0, 12.0),
        "quotient": (x / y, -0.75, (2.0 * -4.0 - 3.0 * 0.5) / 16.0),
        "over a float": (x / 4.0, 0.75, 0.5),
        "inverse": (6.0 / x, 2.0, -6.0 * 2.0 / 9.0),
        "sine": (sincos(x)[0], np.sin(3.0), 2.0 * np.cos(3.0)),
        "cosine": (sincos(x)[1], np.cos(3.0), -2.0 * np.sin(3.0)),
        "sign": (sign(y), -1.0, 0.0),
    }
    for name, (found, value, slope) in expected.items():
        assert isinstance(found, DualNumber), name
        assert (found.value, found.derivative) == pytest.approx((value, slope), rel=1e-15), name


def test_rows_leave_arithmetic_to_dual_numbers():
    row, x = np.array([1.0, 2.0]), DualNumber(np.array([3.0, 4.0]), np.array([5.0, 6.0]))
    for found in (row * x, x * row):
        assert isinstance(found, DualNumber)
        assert found.value.tolist() == [3.0, 8.0]
        assert found.derivative.tolist() == [5.0, 12.0]
    assert (row - x).derivative.tolist() == [-5.0, -6.0]
    assert (row / x).value.tolist() == [1 / 3, 0.5]
    assert isinstance(np.float64(2.0) * x, DualNumber)


def test_arrays_of_dual_numbers():
    values, slopes = np.arange(6.0).reshape(3, 2), np.ones((3, 2))
    numbers = duals(values, slopes)
    assert numbers.shape == (3,) and numbers.dtype == object
    found = dual_parts(numbers)
    assert np.array_equal(found[0], values) and np.array_equal(found[1], slopes)
    constants = np.array([DualNumber(np.ones(2), np.ones(2)), 7.0], dtype=object)
    assert dual_parts(constants)[0].tolist() == [[1.0, 1.0], [7.0, 7.0]]
    assert dual_parts(constants)[1].tolist() == [[1.0, 1.0], [0.0, 0.0]]


@each("name", NAMES)
def test_slopes_equal_complex_step(name, rng):
    kernel, robot = KERNELS[name], trees.random_tree(rng, 9, passive=True)
    tree = tree_for(kernel, robot)
    inputs = [x[0] for x in random_inputs(kernel, tree, rng, 1)]
    for which in range(len(inputs)):
        exact = by_complex_step(kernel, tree, inputs, which)
        found = by_dual_numbers(kernel, tree, inputs, which)
        assert found.keys() == set(rows_of(kernel)[1])
        for key, slope in found.items():
            assert_close(slope, exact[key], 1e-10 if name == "aba" else 1e-13)


def test_second_slopes_are_symmetric(robot, rng):
    kernel, tree = KERNELS["rnea_unloaded"], robot.tree
    inputs = [x[0] for x in random_inputs(kernel, tree, rng, 1)]
    assert rows_of(kernel)[0] == ("q", "qd", "qdd")
    for first in range(3):
        for second in range(3):
            slope = mixed(kernel, tree, inputs, first, second)["tau"]
            assert_close(slope, np.swapaxes(mixed(kernel, tree, inputs, second, first)["tau"], 1, 2), 1e-13)
