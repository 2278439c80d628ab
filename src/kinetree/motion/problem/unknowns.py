"""What is sought, as an ordered set of named blocks: the motion, its duration, and what terms bring.

x = (q; duration; curve after curve). The block ``q`` has the control points of the moving coordinates,
``duration`` is T, and every further block is a `Curve` of its own, such as the components of a contact force,
``force:left_foot``. Only this module knows the order; others ask by name. Each block brings its size, the
bounds of its numbers, where a search begins, and the chain rule from its numbers to samples at s = t / T.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import BSplineBasis, Integers
from kinetree.errors import InputError, unknown_name
from kinetree.motion.problem.profile import Grid, ProfileMotion, Profiles

MOTION, DURATION = "q", "duration"


class Block(Protocol):
    """A named part of x: so many numbers, each within ``bounds``."""

    @property
    def name(self) -> str:
        """What others ask for it by."""

    @property
    def size(self) -> int:
        """How many numbers it has."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest value of each number; equal ones fix it."""


@dataclass(frozen=True)
class Duration:
    """The duration T of the motion (s), between two bounds."""

    lowest: float
    highest: float
    name: str = DURATION
    size: int = 1

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest value."""
        return self.lowest, self.highest


@dataclass(frozen=True, eq=False)
class Curve:
    """Numbers that vary along the motion as B-splines of their own: value = scale sum_i B_i(s) p_i.

    The unknowns are the control points p_i (k,), one number for each of the ``labels``; ``scale`` (in
    ``unit``) is what 1 of them stands for, so that solvers see numbers of about that size. A search begins
    with the constant ``start`` (k,).

    >>> Curve("force:hand", ("x", "z"), "N", BSplineBasis.uniform(10, 1), 20.0, np.zeros(2)).size
    22
    """

    name: str
    labels: tuple[str, ...]
    unit: str
    basis: BSplineBasis
    scale: float
    start: Array
    meaning: str = ""
    bounds: tuple[float, float] = (-np.inf, np.inf)

    @property
    def size(self) -> int:
        """Number of control points times numbers."""
        return self.basis.n_control * len(self.labels)

    @property
    def variable(self) -> str:
        """Its name in a result: a word."""
        return "".join(letter if f"a{letter}".isidentifier() else "_" for letter in self.name)

    def control_points(self, part: Array) -> Array:
        """Its share of x as control points in ``unit``, (n_control, k)."""
        return self.scale * part.reshape(self.basis.n_control, len(self.labels))

    def unknowns(self, control_points: Array) -> Array:
        """Its share of x from control points (n_control, k) in ``unit``."""
        return np.ravel(control_points) / self.scale

    @cached_property
    def first(self) -> Array:
        """Its share of x where a search begins."""
        return self.unknowns(np.tile(self.start, (self.basis.n_control, 1)))

    def rows(self, s: Array, column: int) -> tuple[Integers, Array]:
        """Which of its numbers, (m, p + 1), with which coefficients give one component at s (m,)."""
        first, values = self.basis.local(s)
        points = first[:, None] + np.arange(values.shape[2])
        return points * len(self.labels) + column, self.scale * values[:, 0]


@dataclass(frozen=True, eq=False)
class CurveGrid:
    """A curve at m instants: ``weights`` (m, p + 1), scale included, and ``columns`` (m, p + 1, k) in x."""

    weights: Array
    columns: Integers

    def part(self, part: slice) -> CurveGrid:
        """Some of the samples."""
        return CurveGrid(self.weights[part], self.columns[part])

    def values(self, x: Array) -> Array:
        """The numbers at the samples, (m, k)."""
        return np.asarray((self.weights[:, :, None] * x[self.columns]).sum(axis=1))

    def pull(self, slopes: Array) -> Array:
        """Derivatives by the control points, (m, p + 1, r, k), from those by the samples, (m, r, k)."""
        return np.asarray(self.weights[:, :, None, None] * slopes[:, None])


@dataclass(frozen=True, eq=False)
class Unknowns:
    """All blocks in their order.

    >>> motion = Profiles(BSplineBasis.uniform(20), np.arange(2), np.zeros(2))
    >>> unknowns = Unknowns(motion, Duration(0.1, 2.0))
    >>> unknowns.size, unknowns.slices["duration"]
    (47, slice(46, 47, None))
    """

    profiles: Profiles
    duration: Duration = field(default_factory=lambda: Duration(0.0, np.inf))
    curves: tuple[Curve, ...] = ()

    def __post_init__(self) -> None:
        names = [block.name for block in self.blocks]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"two terms define the unknown '{name}'; give one of them another name")

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The motion, the duration, and what terms brought."""
        return self.profiles, self.duration, *self.curves

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Where each block is in x."""
        ends = np.cumsum([0, *(block.size for block in self.blocks)]).tolist()
        return {b.name: slice(ends[k], ends[k + 1]) for k, b in enumerate(self.blocks)}

    @cached_property
    def size(self) -> int:
        """Number of all unknowns."""
        return sum(block.size for block in self.blocks)

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Lowest and highest value of every unknown, (size,) each."""
        low, high = (np.repeat([b.bounds[k] for b in self.blocks], self._sizes) for k in range(2))
        return low, high

    @cached_property
    def sizes(self) -> Array | None:
        """What counts as 1 of every unknown for solvers, (size,); None if it is 1 for all."""
        own = self.profiles.sizes
        if own is None:
            return None
        found = np.ones(self.size)
        found[self.slices[MOTION]] = np.tile(own, self.profiles.basis.n_control)
        return found

    @property
    def _sizes(self) -> list[int]:
        return [block.size for block in self.blocks]

    def fixed(self) -> dict[int, float]:
        """Unknowns whose bounds leave one value, and which."""
        low, high = self.bounds
        return {int(k): float(low[k]) for k in np.flatnonzero(low == high)}

    def curve(self, name: str, what: str) -> Curve:
        """A further block by its name."""
        for curve in self.curves:
            if curve.name == name:
                return curve
        names = [curve.name for curve in self.curves]
        if not names:
            raise InputError(f"{what}: there is no unknown '{name}'; no term defines any")
        raise InputError(unknown_name("unknown", name, names).after(f"{what}: "))

    # ---- from blocks to x and back -------------------------------------------------------------------
    def joined(self, points: Array, duration: float, curves: Mapping[str, Array] | None = None) -> Array:
        """x from control points (n_control, n), T (s) and shares of curves; others are as at the start."""
        x, given = np.empty(self.size), curves or {}
        x[self.slices[MOTION]], x[self.duration_place] = np.ravel(points), duration
        for curve in self.curves:
            x[self.slices[curve.name]] = given.get(curve.name, curve.first)
        return x

    def control_points(self, x: Array) -> Array:
        """The control points of the motion in x, (n_control, n)."""
        return x[self.slices[MOTION]].reshape(self.profiles.basis.n_control, self.profiles.n)

    def duration_of(self, x: Array) -> float:
        """T (s) in x."""
        return float(x[self.duration_place])

    @cached_property
    def duration_place(self) -> int:
        """Where T is in x."""
        place: int = self.slices[DURATION].start
        return place

    def with_duration(self, x: Array, duration: float) -> Array:
        """A copy of x with another T, as far as its bounds let it."""
        found = np.array(x)
        found[self.duration_place] = np.clip(duration, *self.duration.bounds)
        return found

    def points(self, first: Integers, columns: Integers) -> Integers:
        """Places in x of coordinates ``columns`` of the motion in control points ``first``, broadcast."""
        return np.asarray(self.slices[MOTION].start + first * self.profiles.n + columns)

    def column(self, place: int) -> int:
        """Which of the moving coordinates an unknown of the motion belongs to."""
        return int((place - self.slices[MOTION].start) % self.profiles.n)

    def curve_places(self, name: str, places: Integers) -> Integers:
        """Places in x of numbers of a curve."""
        return np.asarray(self.slices[name].start + places)

    # ---- samples -------------------------------------------------------------------------------------
    def at(self, s: ArrayLike) -> Instants:
        """All blocks sampled at s (m,)."""
        return Instants(self, np.asarray(s, dtype=np.float64))

    def same_splines(self, other: Unknowns) -> bool:
        """Whether numbers of the other mean the same here: equal blocks, knots and scales."""
        return (
            np.array_equal(self.profiles.basis.knots, other.profiles.basis.knots)
            and len(self.curves) == len(other.curves)
            and all(
                (a.name, a.labels, a.scale) == (b.name, b.labels, b.scale)
                and np.array_equal(a.basis.knots, b.basis.knots)
                for a, b in zip(self.curves, other.curves, strict=True)
            )
        )


@dataclass(frozen=True, eq=False)
class Instants:
    """All blocks at instants ``s`` (m,): samples, and where their derivatives go among the unknowns."""

    unknowns: Unknowns
    s: Array

    @cached_property
    def grid(self) -> Grid:
        """The motion's samples."""
        return self.unknowns.profiles.at(self.s)

    @cached_property
    def curves(self) -> dict[str, CurveGrid]:
        """Samples of the further blocks by name."""
        found = {}
        for curve in self.unknowns.curves:
            k = len(curve.labels)
            first, values = curve.basis.local(self.s)
            numbers = (first[:, None] + np.arange(values.shape[2]))[:, :, None] * k + np.arange(k)
            places = self.unknowns.curve_places(curve.name, numbers)
            found[curve.name] = CurveGrid(curve.scale * values[:, 0], places)
        return found

    def motion(self, x: Array) -> ProfileMotion:
        """q, qd, qdd of all coordinates at the samples."""
        return self.grid.motion(self.unknowns.control_points(x), self.unknowns.duration_of(x))
