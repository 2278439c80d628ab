"""Plain arrays that are checked once, on the way in."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinetree.errors import InputError, KinetreeError, must_be, shown

Array = NDArray[np.float64]
ErrorKind = type[KinetreeError]


def frozen(values: ArrayLike) -> Array:
    """A read-only float64 copy."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def numbers(values: ArrayLike, what: str, error: ErrorKind = InputError) -> Array:
    """Values as a float64 array, or an error that says what is not a number."""
    try:
        if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
            raise TypeError("some of them are masked")
        raw = np.asarray(values)
        if raw.dtype.kind in "OSUbcMm":
            raise TypeError(f"its values are of type {raw.dtype}")
        return np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError) as reason:
        raise error(must_be(what, "real numbers", values).then(f" ({reason})")) from None


def finite(array: Array, what: str, error: ErrorKind = InputError) -> Array:
    """The array itself if no entry is NaN or infinite."""
    if not np.isfinite(array).all():
        place = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        where = f" at index {place[0] if len(place) == 1 else place}" if place else ""
        raise error(must_be(what, "finite", array[place], "").then(where))
    return array


def number(value: object, what: str, error: ErrorKind = InputError) -> float:
    """One finite number."""
    if isinstance(value, bool) or value is None:
        raise error(must_be(what, "a number", value))
    array = finite(numbers(value, what, error), what, error)  # type: ignore[arg-type]
    if array.ndim:
        raise error(must_be(what, "one number", f"an array of shape {array.shape}", ""))
    return float(array)


def positive(value: object, what: str, unit: str = "") -> float:
    """One number above zero."""
    if type(value) is float and 0.0 < value < math.inf:
        return value
    x = number(value, what)
    if x <= 0.0:
        raise InputError(must_be(what, f"> 0{' ' + unit if unit else ''}", x, "g"))
    return x


def vector(values: ArrayLike, length: int, what: str, error: ErrorKind = InputError) -> Array:
    """A read-only vector of finite numbers with the given length."""
    array = finite(numbers(values, what, error), what, error)
    if array.shape != (length,):
        got = f"shape {array.shape}: {shown(values)}"
        raise error(must_be(what, f"a vector of {length} numbers", got, ""))
    return frozen(array)


def matrix(values: ArrayLike, shape: tuple[int, int], what: str, error: ErrorKind = InputError) -> Array:
    """A read-only matrix of finite numbers with the given shape."""
    array = finite(numbers(values, what, error), what, error)
    if array.shape != shape:
        raise error(must_be(what, f"a {shape[0]} x {shape[1]} matrix", f"shape {array.shape}", ""))
    return frozen(array)


def array_key(*arrays: Array) -> tuple[bytes, ...]:
    """What equal arrays have in common, for hashing: zero and minus zero count as equal."""
    return tuple((array + 0.0).tobytes() for array in arrays)


def same_arrays(pairs: Sequence[tuple[Array, Array]]) -> bool:
    """Whether all pairs are equal entry by entry."""
    return all(np.array_equal(a, b) for a, b in pairs)
