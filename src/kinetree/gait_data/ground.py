"""The ground's reactions on both feet, as variables of a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, numbers
from kinetree.errors import InputError, must_be
from kinetree.result.opensim import GROUND

FEET = ("right", "left")
FOOT_VECTOR = ("time", "foot", "axis")
FORCE, POINT, MOMENT = GROUND, f"{GROUND}_point", f"{GROUND}_moment"


def ground_variables(
    force: Mapping[str, ArrayLike],
    point: Mapping[str, ArrayLike] | None = None,
    moment: Mapping[str, ArrayLike] | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Variables and labels for :func:`kinetree.result.build.build_result`.

    ``force`` (N), ``point`` (m, where it acts in the world; nan without contact) and ``moment`` (N m, at that
    point) map "right" and "left" to arrays (time, 3) in world axes.

    >>> variables, labels = ground_variables({"right": np.zeros((5, 3)), "left": np.ones((5, 3))})
    >>> variables["ground_reaction"][1].shape, labels["foot"][1]
    ((5, 2, 3), ['right', 'left'])
    """
    found: dict[str, Any] = {
        FORCE: (FOOT_VECTOR, _both(force, FORCE), "N", "ground reaction force on each foot")
    }
    if point is not None:
        words = "center of pressure of each foot"
        found[POINT] = FOOT_VECTOR, _both(point, POINT), "m", words, True
    if moment is not None:
        words = "ground reaction moment on each foot at its center of pressure"
        found[MOMENT] = FOOT_VECTOR, _both(moment, MOMENT), "N m", words
    return found, {"foot": (("foot",), list(FEET), "", "foot")}


def _both(given: Mapping[str, ArrayLike], what: str) -> Array:
    """(time, foot, axis)."""
    if not isinstance(given, Mapping) or set(given) != set(FEET):
        raise InputError(must_be(what, "given for the feet 'right' and 'left'", given))
    both = [numbers(given[foot], f"{what} of the {foot} foot") for foot in FEET]
    if both[0].shape != both[1].shape or both[0].ndim != 2 or both[0].shape[1] != 3:
        raise InputError(f"{what} must have shape (time, 3) for each foot, got {[x.shape for x in both]}")
    return np.stack(both, axis=1)
