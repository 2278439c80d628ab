"""Joint profiles as B-splines over normalized time s = t / T; chain rule to control points and duration.

q = sum B_i(s) p_i, qd = q' / T, qdd = q'' / T^2 ([Xiang2009], eqs. 39 to 42; [Barman2020], eqs. 4.13 to
4.15). The unknowns are control points, each with all joints, and T; see `unknowns` for how they stand in x.
Derivatives with respect to T are taken at fixed s.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import BSplineBasis, Integers
from kinetree.motion.compiled.assembly import compiled, pull, pull_twice, sample

if TYPE_CHECKING:
    from kinetree.dynamics.loops.closure import Closure

RATES = 3  # q, qd and qdd
PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # blocks of a Hessian over (q, qd, qdd)


@dataclass(frozen=True, eq=False)
class Profiles:
    """Motions of a mechanism with ``n_dof`` coordinates: those in ``moving`` follow B-splines, others stay.

    The block ``q`` of the unknowns: their control points. ``rest`` (n_dof,) is where the others stay; with a
    ``closure``, some of the others follow so that loops stay closed. ``sizes`` (n,) are what counts as 1 of
    each moving coordinate for solvers, by default 1 rad or m.

    >>> profiles = Profiles(BSplineBasis.uniform(20), np.arange(2), np.zeros(2))
    >>> profiles.size
    46
    """

    basis: BSplineBasis
    moving: Integers
    rest: Array
    closure: Closure | None = None
    sizes: Array | None = None
    name = "q"
    bounds = (-np.inf, np.inf)  # of each control point

    @property
    def n(self) -> int:
        """Number of coordinates that splines move."""
        return len(self.moving)

    @property
    def varying(self) -> Integers:
        """Coordinates that move, by splines first, then those that follow."""
        return self.moving if self.closure is None else self.closure.varying

    @property
    def n_dof(self) -> int:
        """Number of all coordinates."""
        return len(self.rest)

    @property
    def size(self) -> int:
        """Number of unknowns: all control points."""
        return self.basis.n_control * self.n

    def at(self, s: ArrayLike) -> Grid:
        """The profiles sampled at s (m,)."""
        return Grid(self, np.asarray(s, dtype=np.float64))


class ProfileMotion(NamedTuple):
    """Positions, velocities, accelerations of all coordinates, (m, n_dof), and by splines, (m, 3, n)."""

    q: Array
    qd: Array
    qdd: Array
    moving: Array
    duration: float

    def part(self, part: slice) -> ProfileMotion:
        """The motion at some of the samples."""
        return ProfileMotion(self.q[part], self.qd[part], self.qdd[part], self.moving[part], self.duration)


@dataclass(frozen=True, eq=False)
class Grid:
    """Samples of the profiles at ``s`` (m,): motion there, and derivatives carried back to the unknowns."""

    profiles: Profiles
    s: Array

    @cached_property
    def _local(self) -> tuple[Integers, Array]:
        return self.profiles.basis.local(self.s, RATES)

    @property
    def first(self) -> Integers:
        """First control point with influence on each sample, (m,)."""
        return self._local[0]

    @cached_property
    def points(self) -> Integers:
        """The control points with influence on each sample, (m, p + 1)."""
        return self.first[:, None] + np.arange(self.profiles.basis.degree + 1)

    @cached_property
    def weights(self) -> Array:
        """Basis functions and their first two derivatives, (m, 3, p + 1)."""
        return np.ascontiguousarray(self._local[1][:, :RATES])

    @cached_property
    def third(self) -> Array:
        """Third derivatives of the basis functions, (m, p + 1)."""
        return np.ascontiguousarray(self._local[1][:, RATES])

    def part(self, part: slice) -> Grid:
        """Some of the samples, with all that is known about them."""
        key = (part.start, part.stop)
        if key == (0, len(self.s)):
            return self
        if key not in self._parts:
            some = Grid(self.profiles, self.s[part])
            first, values = self._local
            some.__dict__["_local"] = (first[part], values[part])
            self._parts[key] = some
        return self._parts[key]

    @cached_property
    def _parts(self) -> dict[tuple[int, int], Grid]:
        return {}

    def motion(self, control_points: Array, duration: float) -> ProfileMotion:
        """q, qd, qdd of all coordinates at the samples, from control points (n_control, n) and T (s)."""
        profiles, m = self.profiles, len(self.s)
        moving, full = np.empty((m, RATES, profiles.n)), np.empty((RATES, m, profiles.n_dof))
        if profiles.n < profiles.n_dof:
            full[0], full[1:] = profiles.rest, 0.0
        points = np.ascontiguousarray(control_points)
        compiled(sample)(points, self.first, self.weights, duration, profiles.moving, moving, full)
        if profiles.closure is not None:
            full = profiles.closure.motion(self.s, moving)
        return ProfileMotion(full[0], full[1], full[2], moving, duration)

    def pull(self, slopes: Array, motion: ProfileMotion) -> tuple[Array, Array]:
        """Derivatives with respect to control points and T from those with respect to (q, qd, qdd).

        ``slopes`` (m, 3, k, n) of k quantities at each sample; returns (m, p + 1, k, n) and (m, k): eqs. 41
        and 42 of [Xiang2009], d/dp = sum_r B^(r) T^-r d/dq^(r), d/dT = -sum_r (r / T) q^(r) . d/dq^(r).
        """
        m, _, k, n = slopes.shape
        by_point, by_duration = np.empty((m, self.weights.shape[2], k, n)), np.empty((m, k))
        compiled(pull)(slopes, motion.moving, self.weights, motion.duration, by_point, by_duration)
        return by_point, by_duration

    def pull_twice(self, half: Array, gradient: Array, motion: ProfileMotion) -> tuple[Array, Array, Array]:
        """Second derivatives of a scalar at each sample with respect to control points and T.

        ``gradient`` (m, 3, n) and ``half`` (m, 6, n, n): the blocks ``PAIRS`` of M with Hessian = M + M^T
        over (q, qd, qdd); diagonal blocks are symmetric and halved. Returns M over control points,
        (m, p + 1, p + 1, n, n), the mixed derivatives (m, p + 1, n), and those with respect to T twice, (m,).
        """
        m, n, width = len(self.s), self.profiles.n, self.weights.shape[2]
        points, mixed, twice = np.empty((m, width, width, n, n)), np.empty((m, width, n)), np.empty(m)
        room = np.empty((RATES, n))
        compiled(pull_twice)(
            half, gradient, motion.moving, self.weights, motion.duration, room, points, mixed, twice
        )
        return points, mixed, twice
