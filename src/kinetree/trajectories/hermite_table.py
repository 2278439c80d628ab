"""Any smooth motion as polynomials of degree 5, on a grid refined until they are close enough."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.piecewise import PiecewisePolynomial, quintic_coefficients
from kinetree.errors import InputError
from kinetree.state import State

FIRST_INTERVALS = 4  # of each piece, before any is halved
MOST_HALVINGS = 20
PROBES = np.array([0.25, 0.5, 0.75])  # where in an interval the error is looked at; largest in the middle
SAFETY = 0.9  # the error between the probes may be a little larger
ROUNDING = 64 * np.finfo(float).eps  # of the largest position: closer no polynomial can be asked to come


def hermite_table(
    piece: Callable[[int, Array], State], breaks: Array, tolerance: float
) -> PiecewisePolynomial:
    """Polynomials through position, velocity and acceleration at the ends of ever shorter intervals.

    ``piece(i, t)`` is the motion between breaks i and i + 1. The error is f'''''' h^6 / 46080 at most.
    """
    nodes, tables = [breaks[:1]], []
    for i in range(len(breaks) - 1):
        grid, table = _refined(lambda t, i=i: piece(i, t), breaks[i], breaks[i + 1], tolerance)  # type: ignore[misc]
        nodes.append(grid[1:])
        tables.append(table)
    return PiecewisePolynomial(np.concatenate(nodes), np.concatenate(tables))


def _refined(
    motion: Callable[[Array], State], begin: float, end: float, tolerance: float
) -> tuple[Array, Array]:
    """Grid (k + 1,) and coefficients (k, 6, n) of one smooth piece."""
    grid = np.linspace(begin, end, FIRST_INTERVALS + 1)
    for _ in range(MOST_HALVINGS + 1):
        x = motion(grid)
        width = np.diff(grid)
        table = quintic_coefficients(width, (x.q[:-1], x.qd[:-1], x.qdd[:-1]), (x.q[1:], x.qd[1:], x.qdd[1:]))
        local = width[:, None] * PROBES
        powers = local[:, :, None] ** np.arange(6)
        wanted = motion((grid[:-1, None] + local).reshape(-1)).q.reshape((*local.shape, -1))
        error = np.abs(powers @ table - wanted).max(axis=(1, 2), initial=0.0)
        coarse = error > SAFETY * tolerance + ROUNDING * np.abs(x.q).max(initial=0.0)
        if not coarse.any():
            return grid, table
        grid = np.sort(np.concatenate([grid, (grid[:-1] + width / 2)[coarse]]))
    k = int(np.argmax(error))
    raise InputError(
        f"no table of polynomials comes within {tolerance:g} of this motion: near t = {grid[k]:g} s it is "
        f"still {error[k]:.2g} off in intervals of {width[k]:.2g} s; is the motion smooth between its breaks?"
    )
