"""Trajectories that are polynomials: between two states, at rest, or from any table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, positive
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.errors import InputError, shown
from kinetree.state import State
from kinetree.trajectories.base import Trajectory, checked_tolerance, ends, point


@dataclass(frozen=True, eq=False)
class PolynomialTrajectory(Trajectory):
    """The motion of a table of polynomials that begins at time 0.

    >>> line = PiecewisePolynomial.linear([0.0, 2.0], [[0.0], [1.0]])
    >>> PolynomialTrajectory(line).at(1.0).qd.tolist()
    [0.5]
    """

    polynomial: PiecewisePolynomial

    def __post_init__(self) -> None:
        if not isinstance(self.polynomial, PiecewisePolynomial):
            raise InputError(
                f"a polynomial trajectory needs a PiecewisePolynomial, got {shown(self.polynomial)}"
            )
        first, last = self.polynomial.breaks[[0, -1]]
        if first != 0.0 or last <= 0.0:
            raise InputError(
                f"a trajectory must begin at 0 s and end later, got {first:g} s to {last:g} s; measure time "
                f"from the first row"
            )

    @property
    def breaks(self) -> Array:
        """Those of the polynomials."""
        return self.polynomial.breaks

    @property
    def n_dof(self) -> int:
        """Number of coordinates."""
        return self.polynomial.n

    def piece(self, i: int, t: Array) -> State:
        """The polynomial and its derivatives."""
        c = self.polynomial.coefficients[i]
        x, j = (t - self.breaks[i])[:, None], np.arange(len(c))
        first, second = c[1:] * j[1:, None], c[2:] * (j[2:] * (j[2:] - 1))[:, None]
        return State(*(_horner(p, x) for p in (c, first, second)))

    def table(self, tolerance: float = 1e-12) -> PiecewisePolynomial:
        """The polynomials themselves, without any error."""
        checked_tolerance(tolerance)
        return self.polynomial


def _horner(c: Array, x: Array) -> Array:
    value = np.zeros((len(x), c.shape[1]))
    for row in c[::-1]:
        value = value * x + row
    return value


def cubic(
    start: ArrayLike,
    end: ArrayLike,
    duration: float,
    *,
    start_velocity: ArrayLike | None = None,
    end_velocity: ArrayLike | None = None,
) -> PolynomialTrajectory:
    """The polynomial of degree 3 from start (n,) to end (n,); from and to rest if no velocities are given.

    >>> cubic([0.0], [1.0], 2.0).at([1.0, 2.0]).qd[:, 0].tolist()
    [0.75, 0.0]
    """
    T = positive(duration, "duration", "s")
    a, b = ends(start, end)
    va, vb = _rate(start_velocity, "start_velocity", a), _rate(end_velocity, "end_velocity", a)
    mean = (b - a) / T
    c = np.stack([a, va, (3 * mean - 2 * va - vb) / T, (va + vb - 2 * mean) / T / T])
    return PolynomialTrajectory(PiecewisePolynomial(np.array([0.0, T]), c[None]))


def quintic(
    start: ArrayLike,
    end: ArrayLike,
    duration: float,
    *,
    start_velocity: ArrayLike | None = None,
    end_velocity: ArrayLike | None = None,
    start_acceleration: ArrayLike | None = None,
    end_acceleration: ArrayLike | None = None,
) -> PolynomialTrajectory:
    """The polynomial of degree 5 from start (n,) to end (n,); what is not given of rates is zero.

    >>> quintic([0.0], [1.0], 2.0).at([0.0, 1.0, 2.0]).qd[:, 0].tolist()
    [0.0, 0.9375, 0.0]
    """
    T = positive(duration, "duration", "s")
    a, b = ends(start, end)
    qd = [_rate(start_velocity, "start_velocity", a), _rate(end_velocity, "end_velocity", a)]
    qdd = [
        _rate(start_acceleration, "start_acceleration", a),
        _rate(end_acceleration, "end_acceleration", a),
    ]
    return PolynomialTrajectory(PiecewisePolynomial.quintic([0.0, T], np.stack([a, b]), qd, qdd))


def hold(q: ArrayLike, duration: float) -> PolynomialTrajectory:
    """Standing still at q (n,) for the duration (s).

    >>> hold([0.3, 0.4], 1.0).at(0.5).q.tolist()
    [0.3, 0.4]
    """
    T = positive(duration, "duration", "s")
    return PolynomialTrajectory(PiecewisePolynomial(np.array([0.0, T]), point(q, "q")[None, None, :]))


def _rate(values: ArrayLike | None, what: str, like: Array) -> Array:
    return np.zeros_like(like) if values is None else point(values, what, like)
