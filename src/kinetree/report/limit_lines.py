"""Limits of the mechanism in pictures and tables of a motion, and how much of them is used."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.model.mechanism import Mechanism
from kinetree.report.panel import Line
from kinetree.state import independent_axes

NEAR = 0.5  # of a limit: lines of limits that a motion does not come near would only press its curves flat


def model_limits(mechanism: Mechanism, symbol: str) -> tuple[Array, Array] | None:
    """Lower and upper limits (n_dof,) of positions "q", velocities "qd" or torques "tau", infinite if none.

    >>> import kinetree as kt
    >>> [x.tolist() for x in model_limits(kt.zoo.two_link(), "tau")]
    [[-10.0, -10.0], [10.0, 10.0]]
    """
    tree, own = mechanism.tree, independent_axes(mechanism)
    if symbol == "q":
        return tree.lower[own], tree.upper[own]
    key = {"qd": "velocity_limit", "tau": "effort_limit"}.get(symbol)
    if key is None:
        return None
    limit = getattr(tree, key)[own]
    return -limit, limit


def limit_lines(mechanism: Mechanism, symbol: str, lines: Sequence[Line]) -> list[tuple[str, float]]:
    """Label and value of the limits that curves of joints come near or exceed."""
    limits = model_limits(mechanism, symbol)
    found: list[tuple[str, float]] = []
    if limits is None:
        return found
    names = mechanism.joint_names
    for line in lines:
        if line.label not in names or not np.isfinite(line.values).any():
            continue
        k = names.index(line.label)
        low, high = float(np.nanmin(line.values)), float(np.nanmax(line.values))
        middle = 0.0 if symbol != "q" else _middle(limits[0][k], limits[1][k])
        for bound, value in ((limits[0][k], low), (limits[1][k], high)):
            way = bound - middle
            if np.isfinite(bound) and (value - middle) * np.sign(way) >= NEAR * abs(way):
                found.append((line.label, float(bound)))
    return list(dict.fromkeys(found))


def _middle(lower: float, upper: float) -> float:
    """Between two limits, or zero."""
    return 0.5 * (lower + upper) if np.isfinite(lower) and np.isfinite(upper) else 0.0


def limit_use(mechanism: Mechanism, symbol: str, values: Array) -> Array:
    """How much of its limit every joint uses, (n_dof,) as a fraction, from values (k, n_dof); NaN if none.

    Of positions the distance from the middle of the range as a fraction of half of it: above 1 is beyond.
    """
    limits = model_limits(mechanism, symbol)
    if limits is None:
        return np.full(values.shape[-1], np.nan)
    lower, upper = limits
    with np.errstate(divide="ignore", invalid="ignore"):
        if symbol == "q":
            part = np.abs(values - 0.5 * (lower + upper)) / (0.5 * (upper - lower))
        else:
            part = np.abs(values) / upper
    both = np.isfinite(lower) & np.isfinite(upper)
    used: Array = np.where(both, np.nanmax(np.nan_to_num(part, nan=0.0), axis=0), np.nan)
    return used
