"""Any smooth motion as polynomials of degree 9, on a grid refined until they are close enough."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import Polynomial, chebyshev

from kinetree.algebra.arrays import Array
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.errors import InputError
from kinetree.state import State

DEGREE = 9
FIRST_INTERVALS = 4  # of each piece, before any is halved
MOST_HALVINGS = 20
SMOOTH_HALVINGS = 8  # for the sake of accelerations: a smooth motion needs no more, a rough one has no end
NODES = 0.5 * (1.0 + chebyshev.chebpts2(DEGREE - 1))  # where in an interval accelerations are met
PROBES = np.array([0.08, 0.25, 0.5, 0.75, 0.92])  # where in an interval the error is looked at
SAFETY = 0.9  # the error between the probes may be a little larger
ROUNDING = 64 * np.finfo(float).eps  # of the largest value: no polynomial comes closer
CANCELLATION = 1e-11  # of the largest acceleration, in the powers of its polynomials


def _cardinals() -> Array:
    """Coefficients (nodes, DEGREE - 1) of the polynomials that are 1 at one node and 0 at the others."""
    products = [Polynomial.fromroots(np.delete(NODES, k)) for k in range(len(NODES))]
    return np.array([p.coef / p(x) for p, x in zip(products, NODES, strict=True)])


CARDINALS = _cardinals()


def hermite_table(
    piece: Callable[[int, Array], State], breaks: Array, tolerance: float
) -> PiecewisePolynomial:
    """Polynomials through position and velocity at the left ends of ever shorter intervals.

    ``piece(i, t)`` is the motion between breaks i and i + 1. Accelerations are interpolated at Chebyshev's
    nodes and integrated twice, so that positions, velocities and accelerations belong to each other. Both
    positions and accelerations are close: these by the same share of their largest value.
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
    """Grid (k + 1,) and coefficients (k, DEGREE + 1, n) of one smooth piece."""
    grid = np.linspace(begin, end, FIRST_INTERVALS + 1)
    for halvings in range(MOST_HALVINGS + 1):
        width = np.diff(grid)
        table = _coefficients(motion, grid[:-1], width)
        error, coarse = _errors(motion, grid[:-1], width, table, tolerance, halvings < SMOOTH_HALVINGS)
        if not coarse.any():
            return grid, table
        grid = np.sort(np.concatenate([grid, (grid[:-1] + width / 2)[coarse]]))
    k = int(np.argmax(error))
    raise InputError(
        f"no piecewise polynomial approximates this motion within {tolerance:g}: near t = {grid[k]:g} s it "
        f"is "
        f"still {error[k]:.2g} off in intervals of {width[k]:.2g} s; is the motion smooth between its breaks?"
    )


def _coefficients(motion: Callable[[Array], State], start: Array, width: Array) -> Array:
    """Coefficients (k, DEGREE + 1, n) on intervals of the given start and width (k,)."""
    at = motion(start)
    sampled = motion((start[:, None] + width[:, None] * NODES).reshape(-1)).qdd
    accelerations = np.tensordot(sampled.reshape(len(start), len(NODES), -1), CARDINALS, (1, 0))
    power = np.arange(DEGREE - 1)
    scale = 1.0 / ((power + 1.0) * (power + 2.0) * width[:, None] ** power)
    rest = np.swapaxes(accelerations, 1, 2) * scale[:, :, None]
    return np.concatenate([at.q[:, None], at.qd[:, None], rest], axis=1)


def _errors(
    motion: Callable[[Array], State], start: Array, width: Array, table: Array, tolerance: float, smooth: bool
) -> tuple[Array, Array]:
    """The largest error of positions on every interval (k,), and flags of those to be halved."""
    local = np.append(PROBES, 1.0) * width[:, None]
    wanted = motion(np.minimum(start[:, None] + local, start[-1] + width[-1]).reshape(-1))
    power = np.arange(DEGREE + 1)
    x = local[:, :, None] ** power
    bend = np.zeros_like(x)
    bend[:, :, 2:] = x[:, :, :-2] * (power * (power - 1))[2:]
    q, qdd = (value.reshape((*local.shape, -1)) for value in (wanted.q, wanted.qdd))
    error = np.abs(x @ table - q).max(axis=(1, 2), initial=0.0)
    largest, fastest = (float(np.abs(value).max(initial=0.0)) for value in (q, qdd))
    coarse = error > SAFETY * tolerance + ROUNDING * largest
    if smooth:
        share = max(tolerance / largest if largest > 0.0 else 0.0, CANCELLATION)
        coarse |= np.abs(bend @ table - qdd).max(axis=(1, 2), initial=0.0) > share * fastest
    return error, coarse
