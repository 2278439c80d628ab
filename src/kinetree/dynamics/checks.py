"""What is looked at before and after an answer: numbers, threads; and how to leave that out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, must_be
from kinetree.model.mechanism import Mechanism
from kinetree.state import coordinates, fitting

Arguments = ParamSpec("Arguments")
Made = TypeVar("Made")

_checking: ContextVar[bool] = ContextVar("checking", default=True)


@contextmanager
def unchecked() -> Iterator[None]:
    """Within, numbers are not looked at, for inner loops: NaN in, NaN out, no SingularityError.

    Shapes and types are still checked, and so are loads and arguments of other formulations. Holds for
    the current thread or task only.

    >>> import kinetree as kt, numpy as np
    >>> arm, still = kt.zoo.kuka_kr5(), np.zeros((8, 6))
    >>> with kt.analysis.unchecked():
    ...     tau = kt.inverse_dynamics(arm, np.full((8, 6), np.nan), still, still)
    >>> bool(np.isnan(tau).all())
    True
    """
    token = _checking.set(False)
    try:
        yield
    finally:
        _checking.reset(token)


def checking() -> bool:
    """Whether numbers are checked."""
    return _checking.get()


def given(mechanism: Mechanism, values: ArrayLike, what: str) -> Array:
    """Values as a float64 array (..., n_dof); finite, or an error names the joint, unless checks are off."""
    return (coordinates if _checking.get() else fitting)(mechanism, values, what)


def is_finite(result: Array) -> bool:
    """Whether all entries are finite, or checks are off."""
    if not _checking.get():
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(result.sum()) or bool(np.isfinite(result).all())


def check_finite(results: Sequence[Array]) -> None:
    """Raise where an answer is not finite although the input was: the numbers are too large."""
    for result in results:
        if not is_finite(result):
            raise InputError(
                "the result overflows: it is not finite although all input is; the input values are too "
                "large (are they in SI units and radians?)"
            )


def finite(function: Callable[Arguments, Made]) -> Callable[Arguments, Made]:
    """A function of arrays that raises where the arrays it returns are not finite."""

    @wraps(function)
    def checked(*arguments: Arguments.args, **more: Arguments.kwargs) -> Made:
        with np.errstate(over="ignore", invalid="ignore"):
            found = function(*arguments, **more)
        parts = found if isinstance(found, tuple) else (found,)
        check_finite([np.asarray(x) for x in parts if isinstance(x, np.ndarray | np.floating)])
        return found

    return checked


def check_threads(threads: object) -> bool:
    """True if it is a number of threads, or None for as many as there are cores; an error otherwise."""
    if threads is not None and (type(threads) is not int or threads < 1):
        raise InputError(must_be("threads", "an integer of at least 1", threads))
    return True
