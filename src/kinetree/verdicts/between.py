"""Extremes of a motion between the ends of its steps, from positions, velocities and accelerations there."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.model.tree import Flags

GRID = np.linspace(0.0, 1.0, 9)  # of a step, on which signs of the slope are compared
ROUGH = 0.05  # of the way of a step: accelerations that bend it by more belong to a transient within it
QUINTIC = np.array(  # powers of theta for p0, h v0, h^2 a0, p1, h v1, h^2 a1
    [
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.5, 0.0, 0.0, 0.0],
        [-10.0, -6.0, -1.5, 10.0, -4.0, 0.5],
        [15.0, 8.0, 1.5, -15.0, 7.0, -1.0],
        [-6.0, -3.0, -0.5, 6.0, -3.0, 0.5],
    ]
)


class Extremes(NamedTuple):
    """Where something is extreme within steps: number of the step, column, share of the step, value."""

    step: Any
    column: Any
    share: Array
    value: Array


def polynomials(h: Array, ends: tuple[Array, ...], has_rates: Flags) -> Array:
    """Powers of theta (6, k, c) of the positions in steps of length h (k,).

    ``ends``: positions, velocities, accelerations (k, c) at the start, then at the end. Accelerations are
    left out where ``has_rates`` (k,) is false, or where they bend the way by much: the solution has a
    transient there which implicit methods step over, and which the positions show at the ends of steps.
    """
    p0, v0, a0, p1, v1, a1 = ends
    h = h[:, None]
    v0, v1 = h * v0, h * v1
    cubic0, cubic1 = 6.0 * (p1 - p0) - 4.0 * v0 - 2.0 * v1, -6.0 * (p1 - p0) + 2.0 * v0 + 4.0 * v1
    a0, a1 = h * h * a0, h * h * a1
    way = np.abs(p1 - p0) + np.abs(v0) + np.abs(v1)
    bend = np.abs((a0 - cubic0) + (a1 - cubic1)) / 64.0 + np.abs((a0 - cubic0) - (a1 - cubic1)) / 128.0
    rough = ~has_rates[:, None] | (bend > ROUGH * way)
    given = np.stack([p0, v0, np.where(rough, cubic0, a0), p1, v1, np.where(rough, cubic1, a1)])
    powers: Array = np.tensordot(QUINTIC, given, axes=1)
    return powers


def derivative(powers: Array) -> Array:
    """Powers of the derivative with respect to theta."""
    factors = np.arange(1, len(powers)).reshape((-1,) + (1,) * (powers.ndim - 1))
    slope: Array = factors * powers[1:]
    return slope


def value_at(powers: Array, share: Array) -> Array:
    """Polynomials (d, ...) at theta (...)."""
    total: Array = np.zeros_like(powers[0])
    for power in powers[::-1]:
        total = total * share + power
    return total


def extremes(powers: Array) -> Extremes:
    """Inner extremes of polynomials (d, k, c): where the slope changes its sign."""
    slope = derivative(powers)
    grid = np.tensordot(np.vander(GRID, len(slope), increasing=True), slope, axes=1)  # (grid, k, c)
    part, step, column = np.nonzero(grid[:-1] * grid[1:] < 0.0)
    before, after = grid[part, step, column], grid[part + 1, step, column]
    share = GRID[part] + (GRID[1] - GRID[0]) * before / (before - after)
    return Extremes(step, column, share, value_at(powers[:, step, column], share))
