"""Forces that the search chooses: contact with the ground, a finger that pushes, a hand that holds.

The components of such a force are a block of unknowns, splines over time beside those of the joints. It acts
as a load in inverse dynamics, tau = ID(q, qd, qdd) - J(q)^T f, so every term that reads torques or joint
reactions reads it, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from kinetree.algebra.arrays import Array, number, numbers, vector
from kinetree.algebra.bspline import BSplineBasis
from kinetree.errors import InputError, unknown_name
from kinetree.model.mechanism import Mechanism
from kinetree.motion.problem.setting import Setting, Where
from kinetree.motion.problem.unknowns import Curve
from kinetree.motion.program.evaluation import At, Curves
from kinetree.motion.terms.contract import (
    Bounded,
    Constraint,
    CurveFunction,
    Objective,
    PointForce,
    Rows,
    ordered,
)
from kinetree.motion.terms.reach import AXES, ORIGIN

PREFIX = "force:"
ROUNDING = 1e-4  # of the tip of a friction cone, as a fraction of the force's size
ACROSS = 1e-9  # components of unit vectors below this are none
Components = float | Sequence[float] | Mapping[str, float]


class UnknownForce(Constraint):
    """A force at a point of a body that is sought as a function of time (N, in world axes).

    ``point`` (m) is in the body's frame, ``name`` tells several forces apart (default: the body). ``axes``
    are the components that the force may have, such as "xz"; ``lower`` and ``upper`` bound them: one number
    for all, one for each, or a mapping from letters. With a ``normal`` (3,) in the world the force only
    pushes, n . f >= 0, and with ``friction`` mu it stays within the cone |f - n (n . f)| <= mu n . f.

    The components are B-splines with ``segments`` and ``degree`` of their own; by default they have the
    knots of the joint profiles and two degrees less, but at least 1, as accelerations have. ``start`` is
    where a search begins, one number for each component, and ``size`` (N) what counts as much force: by
    default the largest bound, else the mechanism's weight.

    In several phases the force acts in those whose problems have this term.

    >>> import kinetree as kt
    >>> from kinetree.terms import Boundary, SquaredForce, TorqueLimits
    >>> rail = kt.Builder("rail")
    >>> _ = rail.world.prismatic("slide", axis="x").body("block", kt.Inertia.box(2.0, (0.1, 0.1, 0.1)))
    >>> ends = [Boundary("start", 0.0, 0.0), Boundary("end", 0.3, 0.0)]
    >>> push = [UnknownForce("block", axes="x"), TorqueLimits(0.0, at="knots")]
    >>> problem = kt.Problem(
    ...     rail.build(), objective=SquaredForce("block"), constraints=[*ends, *push], duration=1.5
    ... )
    >>> round(kt.predict(problem).objective, 3)  # 12 m^2 d^2 / T^3
    1.28
    """

    family = "unknown force"

    def __init__(
        self,
        body: str,
        point: ArrayLike = ORIGIN,
        *,
        name: str | None = None,
        axes: str = AXES,
        lower: Components | None = None,
        upper: Components | None = None,
        normal: ArrayLike | None = None,
        friction: float | None = None,
        segments: int | None = None,
        degree: int | None = None,
        start: Components | None = None,
        size: float | None = None,
        at: Where = "samples",
    ) -> None:
        self.body, self.point = body, vector(point, 3, f"point of '{body}'")
        self.name, self.axes, self.at = body if name is None else name, axes, at
        what = f"{self.family} '{self.name}'"
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"{self.family} on '{body}': the name must be a text, got {name!r}")
        if not axes or any(x not in AXES for x in axes) or len(set(axes)) < len(axes):
            raise InputError(f"{what}: axes must be some of x, y and z, each once, got {axes!r}")
        self.lower = _by_axis(lower, axes, f"lower bound of {what}", -np.inf)
        self.upper = _by_axis(upper, axes, f"upper bound of {what}", np.inf)
        ordered(self.lower, self.upper, list(axes), what)
        self.normal = None if normal is None else _normal(normal, axes, what)
        self.friction = None if friction is None else number(friction, f"friction of {what}")
        if self.friction is not None and self.friction < 0.0:
            raise InputError(f"{what}: friction must be 0 or more, got {friction}")
        if self.friction is not None and self.normal is None:
            raise InputError(f"{what}: friction needs the normal of the surface, such as normal=(0, 0, 1)")
        self.segments, self.degree = segments, degree
        self.size = None if size is None else number(size, f"size of {what}")
        if self.size is not None and self.size <= 0.0:
            raise InputError(f"{what}: size must be positive, got {size}")
        self.start = None if start is None else _by_axis(start, axes, f"start of {what}", 0.0)
        if self.start is not None and not np.isfinite(self.start).all():
            raise InputError(f"start of {what} must be finite, got {self.start.tolist()}")

    @property
    def block(self) -> str:
        """Name of the block of unknowns that it brings."""
        return PREFIX + self.name

    @property
    def _directions(self) -> Array:
        """Unit vectors of the components, (k, 3)."""
        return np.eye(3)[[AXES.index(letter) for letter in self.axes]]

    @override
    def unknowns(self, mechanism: Mechanism, basis: BSplineBasis) -> list[Curve]:
        """Its components over time."""
        if self.body not in mechanism.body_names:
            raise InputError(f"{self.family}: {unknown_name('body', self.body, mechanism.body_names)}")
        scale = self._scale(mechanism)
        start = self.start
        if start is None:
            push = np.zeros(len(self.axes)) if self.normal is None else scale * self._directions @ self.normal
            start = np.clip(push, self.lower, self.upper)
        meaning = f"force on '{self.body}' at {self.point.tolist()} m, in world axes"
        return [Curve(self.block, tuple(self.axes), "N", self._basis(basis), scale, start, meaning)]

    def _scale(self, mechanism: Mechanism) -> float:
        """What counts as much force (N)."""
        bounds = np.abs([*self.lower, *self.upper])
        largest = bounds[np.isfinite(bounds)].max(initial=0.0)
        weight = mechanism.mass * float(np.linalg.norm(mechanism.gravity))
        return float(self.size or largest or weight or 1.0)

    def _basis(self, motion: BSplineBasis) -> BSplineBasis:
        degree = max(motion.degree - 2, 1) if self.degree is None else self.degree
        if self.segments is not None:
            return BSplineBasis.uniform(self.segments, degree)
        if self.degree is not None and degree != motion.degree - 2:
            return BSplineBasis.on(motion.breaks, degree)
        breaks, counts = np.unique(motion.inner, return_counts=True)
        inner = np.repeat(breaks, np.minimum(counts, degree + 1))  # where accelerations jump, it may, too
        return BSplineBasis(np.concatenate([np.zeros(degree), inner, np.ones(degree)]), degree)

    @override
    def acting(self, setting: Setting) -> list[PointForce]:
        """The load."""
        return [PointForce(setting, self.body, self.point, _Combined(self.block, self._directions.T))]

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        s = setting.where(self.at, self.family)
        size = setting.unknowns.curve(self.block, self.family).scale
        limited = np.flatnonzero(np.isfinite(self.lower) | np.isfinite(self.upper))
        found: list[Bounded] = []
        if len(limited):
            labels = [f"{self.axes[k]} of {self.name}" for k in limited]
            function = _Combined(self.block, np.eye(len(self.axes))[limited])
            low, high = self.lower[limited], self.upper[limited]
            found.append(Rows(function, s, low, high, self.family, labels, "N", size, "force"))
        if self.normal is not None:
            push, none = _Combined(self.block, (self._directions @ self.normal)[None]), np.full(1, np.inf)
            label = [f"push of {self.name}"]
            found.append(Rows(push, s, np.zeros(1), none, self.family, label, "N", size, "force"))
            if self.friction is not None:
                found.append(self._cone(s, size, self.normal, self.friction))
        return found

    def _cone(self, s: Array, size: float, n: Array, mu: float) -> Bounded:
        """|f - n (n . f)| <= mu n . f: a wedge if there is only one direction across the normal."""
        push = self._directions @ n
        across = self._directions - np.outer(push, n)  # of unit components
        _, sizes, turned = np.linalg.svd(across)
        count = int((sizes > ACROSS).sum())
        if count == 0:
            raise InputError(
                f"{self.family} '{self.name}': friction needs a component across the normal "
                f"{n.tolist()}, but axes are {self.axes!r}"
            )
        sideways = turned[:count] @ across.T  # components of f along the tangents, (count, k)
        function: CurveFunction = _Cone(self.block, sideways, mu * push, ROUNDING * size)
        labels = [self.name]
        if count == 1:
            function = _Combined(self.block, mu * push + np.array([[-1.0], [1.0]]) * sideways)
            labels = [f"{side} side of {self.name}" for side in ("one", "other")]
        low, high = np.zeros(function.size), np.full(function.size, np.inf)
        return Rows(function, s, low, high, "friction cone", labels, "N", size, "friction")


class _Combined(CurveFunction):
    """Linear combinations (r, k) of the numbers of a block."""

    def __init__(self, block: str, rows: Array) -> None:
        self.block, self.rows, self.size, self.reads = block, rows, len(rows), (block,)

    @override
    def values(self, at: At) -> Array:
        return at.curve(self.block) @ self.rows.T

    @override
    def curve_slopes(self, at: At) -> Curves:
        return {self.block: np.broadcast_to(self.rows, (len(at.s), *self.rows.shape))}

    @override
    def bend(self, at: At, weight: Array) -> None:
        pass  # they are linear


class _Cone(CurveFunction):
    """push . v - (sqrt(|A v|^2 + rounding^2) - rounding) of components v: 0 or more within the cone."""

    size = 1

    def __init__(self, block: str, sideways: Array, push: Array, rounding: float) -> None:
        self.block, self.A, self.push, self.rounding = block, sideways, push, rounding
        self.reads = (block,)

    def _parts(self, at: At) -> tuple[Array, Array]:
        across = at.curve(self.block) @ self.A.T
        return across, np.sqrt((across**2).sum(axis=1, keepdims=True) + self.rounding**2)

    @override
    def values(self, at: At) -> Array:
        _, size = self._parts(at)
        return (at.curve(self.block) @ self.push)[:, None] - size + self.rounding

    @override
    def curve_slopes(self, at: At) -> Curves:
        across, size = self._parts(at)
        return {self.block: (self.push - across / size @ self.A)[:, None]}

    @override
    def bend(self, at: At, weight: Array) -> None:
        across, size = self._parts(at)
        pull = across / size @ self.A
        second = self.A.T @ self.A - pull[:, :, None] * pull[:, None]
        at.add_curved(self.block, self.block, -(weight / size)[:, :, None] * second)


class SquaredForce(Objective):
    """Integral of sum_i w_i f_i^2 dt over the components of an unknown force (N^2 s).

    ``force`` is the name of an :class:`UnknownForce`; ``weights`` one number for all components, one for
    each, or a mapping from letters.
    """

    family = "squared force"

    def __init__(self, force: str, weights: Components = 1.0) -> None:
        self.force, self.weights = force, weights

    @override
    def integrand(self, setting: Setting) -> CurveFunction:
        """What is integrated over the motion."""
        what = f"{self.family} of '{self.force}'"
        curve = setting.unknowns.curve(PREFIX + self.force, self.family)
        weights = _by_axis(self.weights, "".join(curve.labels), f"weights of {what}", 1.0)
        if not np.isfinite(weights).all() or (weights < 0.0).any():
            raise InputError(f"weights of {what} must be finite and not negative, got {weights.tolist()}")
        return _Squares(curve.name, weights)


class _Squares(CurveFunction):
    """sum_i w_i v_i^2 of the numbers of a block."""

    size, of_squares = 1, True

    def __init__(self, block: str, weights: Array) -> None:
        self.block, self.weights, self.reads = block, weights, (block,)

    @override
    def values(self, at: At) -> Array:
        return (at.curve(self.block) ** 2 @ self.weights)[:, None]

    @override
    def curve_slopes(self, at: At) -> Curves:
        return {self.block: (2.0 * self.weights * at.curve(self.block))[:, None]}

    @override
    def bend(self, at: At, weight: Array) -> None:
        at.add_curved(self.block, self.block, 2.0 * weight[:, :, None] * np.diag(self.weights))


def _by_axis(value: Components | None, axes: str, what: str, default: float) -> Array:
    """One number for each component; None and letters that a mapping leaves out stand for the default."""
    if value is None:
        return np.full(len(axes), default)
    if isinstance(value, Mapping):
        for letter in value:
            if letter not in tuple(axes):
                raise InputError(f"{what}: {unknown_name('axis', letter, tuple(axes))}")
        return np.array([number(value[x], f"{what}, {x}") if x in value else default for x in axes])
    found = numbers(value, what)
    if found.shape not in ((), (len(axes),)) or np.isnan(found).any():
        raise InputError(f"{what} must be one number or {len(axes)}, one for each of {axes!r}, got {value!r}")
    return np.broadcast_to(found, (len(axes),)).astype(np.float64)


def _normal(normal: ArrayLike, axes: str, what: str) -> Array:
    """The unit vector along a normal that the force can push along."""
    n = vector(normal, 3, f"normal of {what}")
    length = float(np.linalg.norm(n))
    if length == 0.0:
        raise InputError(f"{what}: the normal must not be zero, got {n.tolist()}")
    if not any(n[AXES.index(letter)] for letter in axes):
        raise InputError(f"{what}: the normal {n.tolist()} has no component among the axes {axes!r}")
    return n / length
