"""Checks of functions that are given as arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from kinetree.errors import InputError


def check_takes(function: Callable[..., Any], arguments: str, what: str) -> None:
    """Raise unless the function can be called with the arguments, such as "t, q, qd".

    >>> check_takes(lambda t, q, qd: q, "t, q, qd", "the torque function")
    >>> check_takes(lambda t: t, "t, q, qd", "the torque function")
    Traceback (most recent call last):
    kinetree.errors.InputError: the torque function must take (t, q, qd); it takes (t)
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some compiled functions tell nothing about their arguments
        return
    try:
        signature.bind(*arguments.split(", "))
    except TypeError:
        raise InputError(f"{what} must take ({arguments}); it takes {signature}") from None
