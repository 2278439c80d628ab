"""Arrays checked on the way in."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.arrays import finite, frozen, matrix, number, numbers, vector
from support.each import each


def test_frozen_is_a_read_only_copy():
    given = np.ones(3)
    kept = frozen(given)
    given[0] = 5.0
    assert kept[0] == 1.0 and not kept.flags.writeable and kept.dtype == np.float64


@pytest.mark.parametrize(
    "values", [[1, 2], (1.0, 2.0), np.array([1, 2], np.int8), np.array([1, 2], np.float32)]
)
def test_numbers_of_any_real_type(values):
    assert np.array_equal(numbers(values, "x"), [1.0, 2.0])


@each("values", ["ab", ["1", "2"], [1j], [True], [None], {"a": 1}, [[1], [1, 2]], object()])
def test_what_is_not_a_number(values):
    with pytest.raises(kt.errors.InputError, match="angle must be real numbers, got"):
        numbers(values, "angle")
    with pytest.raises(kt.errors.ModelError):
        numbers(values, "angle", kt.errors.ModelError)


def test_finite_says_where():
    with pytest.raises(kt.errors.InputError, match=r"x must be finite, got inf at index \(1, 0\)"):
        finite(np.array([[1, 2], [np.inf, np.nan]]), "x")
    with pytest.raises(kt.errors.InputError, match="x must be finite, got nan at index 2"):
        finite(np.array([1, 2, np.nan]), "x")
    with pytest.raises(kt.errors.InputError, match=r"x must be finite, got nan$"):
        finite(np.array(np.nan), "x")


@pytest.mark.parametrize("value", [True, None, [1.0], "1", np.nan, np.inf, 1j])
def test_one_number(value):
    with pytest.raises(kt.errors.InputError, match="mass must be"):
        number(value, "mass")
    assert number(np.float32(2), "mass") == 2.0 and type(number(2, "mass")) is float


def test_shapes():
    with pytest.raises(
        kt.errors.InputError, match=r"v must be a vector of 2 numbers, got shape \(3,\): \[1, 2, 3\]"
    ):
        vector([1, 2, 3], 2, "v")
    with pytest.raises(kt.errors.InputError, match=r"A must be a 2 x 3 matrix, got shape \(3, 2\)"):
        matrix(np.zeros((3, 2)), (2, 3), "A")
    assert not vector([1, 2], 2, "v").flags.writeable
