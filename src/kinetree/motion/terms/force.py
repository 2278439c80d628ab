"""Forces that the search chooses: contact with the ground, a finger that pushes, a hand that holds.

The components of such a force are a block of unknowns, splines over time beside those of the joints. It acts
as a load in inverse dynamics, tau = ID(q, qd, qdd) - J(q)^T f, so every term that reads torques or joint
reactions reads it, too.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from kinetree.algebra.arrays import Array, number, numbers, vector
from kinetree.algebra.bspline import CLOSE, BSplineBasis
from kinetree.declare import Parameter, declare
from kinetree.errors import InputError, expect, must_be, texts, unknown_name
from kinetree.model.mechanism import Mechanism
from kinetree.motion.problem.setting import Setting, Where
from kinetree.motion.problem.unknowns import Curve
from kinetree.motion.program.evaluation import At, Curves
from kinetree.motion.terms.arguments import (
    BodyName,
    During,
    ForceDegree,
    ForceSegments,
    Instants,
    InstantsOrPoints,
    PointOnBody,
)
from kinetree.motion.terms.contract import (
    BodyMoment,
    Bounded,
    Constraint,
    CurveFunction,
    LinearRows,
    Objective,
    PointForce,
    Rows,
    a_part,
    ordered,
)
from kinetree.motion.terms.limits import POINTS
from kinetree.motion.terms.reach import AXES, ORIGIN

PREFIX, MOMENT_PREFIX = "force:", "moment:"
ROUNDING = 1e-4  # of the tip of a friction cone, as a fraction of the force's size
BOX, OCTAGON, CONE = SHAPES = ("box", "octagon", "cone")  # of friction
FrictionShape = Annotated[
    str,
    Parameter(
        'Planes of a "box" around the cone, of an "octagon" within it, or the "cone" itself', choices=SHAPES
    ),
]
ACROSS = 1e-9  # components of unit vectors below this are none
Components = float | Sequence[float] | Mapping[str, float]


class UnknownLoad(Constraint):
    """Components of a load that are sought as functions of time, with bounds and a time of their own."""

    family, unit, limited = "unknown load", "N", "force"

    def __init__(
        self,
        body: str,
        name: str | None,
        axes: str,
        lower: Components | None,
        upper: Components | None,
        segments: int | None,
        degree: int | None,
        start: Components | None,
        size: float | None,
        during: Sequence[float],
        at: Where,
    ) -> None:
        self.body, self.name, self.axes, self.at = body, body if name is None else name, axes, at
        what = self._what
        if not isinstance(self.name, str) or not self.name:
            raise InputError(must_be(f"{self.family} on '{body}': the name", "a text", name))
        if (
            not isinstance(axes, str)
            or not axes
            or any(x not in AXES for x in axes)
            or len(set(axes)) < len(axes)
        ):
            raise InputError(must_be(f"{what}: axes", "some of x, y and z, each once", axes))
        self.lower = _by_axis(lower, axes, f"lower bound of {what}", -np.inf)
        self.upper = _by_axis(upper, axes, f"upper bound of {what}", np.inf)
        ordered(self.lower, self.upper, list(axes), what)
        self.segments, self.degree = segments, degree
        self.size = None if size is None else number(size, f"size of {what}")
        if self.size is not None and self.size <= 0.0:
            raise InputError(must_be(f"{what}: size", "positive", size, ""))
        self.start = None if start is None else _by_axis(start, axes, f"start of {what}", 0.0)
        if self.start is not None and not np.isfinite(self.start).all():
            raise InputError(must_be(f"start of {what}", "finite", self.start.tolist()))
        self.during = a_part(during, what)

    @property
    def _what(self) -> str:
        return f"{self.family} '{self.name}'"

    @property
    @abstractmethod
    def block(self) -> str:
        """Name of the block of unknowns that it brings."""

    @property
    def on_points(self) -> bool:
        """Whether bounds are of control points."""
        return isinstance(self.at, str) and self.at == POINTS

    @property
    def _directions(self) -> Array:
        """Unit vectors of the components, (k, 3)."""
        return np.eye(3)[[AXES.index(letter) for letter in self.axes]]

    @override
    def unknowns(self, mechanism: Mechanism, basis: BSplineBasis) -> list[Curve]:
        """Its components over time."""
        if self.body not in mechanism.body_names:
            raise InputError(unknown_name("body", self.body, mechanism.body_names).after(f"{self.family}: "))
        scale = self._scale(mechanism)
        start = self._first(scale) if self.start is None else self.start
        labels, own = tuple(self.axes), self._basis(basis)
        return [Curve(self.block, labels, self.unit, own, scale, start, self._meaning())]

    @abstractmethod
    def _meaning(self) -> str:
        """What the curve is."""

    def _first(self, scale: float) -> Array:
        """Where a search begins."""
        return np.clip(np.zeros(len(self.axes)), self.lower, self.upper)

    def _scale(self, mechanism: Mechanism) -> float:
        """What counts as much force (N)."""
        bounds = np.abs([*self.lower, *self.upper])
        largest = bounds[np.isfinite(bounds)].max(initial=0.0)
        weight = mechanism.mass * float(np.linalg.norm(mechanism.gravity))
        return float(self.size or largest or weight or 1.0)

    def _basis(self, motion: BSplineBasis) -> BSplineBasis:
        degree = max(motion.degree - 2, 1) if self.degree is None else self.degree
        a, b = self.during
        if (a, b) != (0.0, 1.0):  # knots at its ends, where it leaves zero with a corner
            count = max(1, round((b - a) * motion.segments)) if self.segments is None else self.segments
            own = np.linspace(a, b, count + 1)
            ends = [x for x in (a, b) for _ in range(degree - 1) if 0.0 < x < 1.0]
            return BSplineBasis.on(np.sort([*np.unique([0.0, *own, 1.0]), *ends]), degree)
        if self.segments is not None:
            return BSplineBasis.uniform(self.segments, degree)
        if self.degree is not None and degree != motion.degree - 2:
            return BSplineBasis.on(motion.breaks, degree)
        breaks, counts = np.unique(motion.inner, return_counts=True)
        inner = np.repeat(breaks, np.minimum(counts, degree + 1))  # where accelerations jump, it may, too
        return BSplineBasis(np.concatenate([np.zeros(degree), inner, np.ones(degree)]), degree)

    def _curve(self, setting: Setting) -> Curve:
        return setting.unknowns.curve(self.block, self.family)

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        limited = np.flatnonzero(np.isfinite(self.lower) | np.isfinite(self.upper))
        found: list[Bounded] = self._outside(setting)
        if not len(limited):
            return found
        labels = [f"{self.axes[k]} of {self.name}" for k in limited]
        rows, low, high = np.eye(len(self.axes))[limited], self.lower[limited], self.upper[limited]
        if self.on_points:
            return [*found, self._of_points(setting, rows, low, high, labels)]
        s, size = setting.where(self.at, self.family), self._curve(setting).scale
        function = Combined(self.block, rows)
        found.append(Rows(function, s, low, high, self.family, labels, self.unit, size, self.limited))
        return found

    def _outside(self, setting: Setting) -> list[Bounded]:
        """Control points with influence before or after it acts are zero."""
        curve, (a, b) = self._curve(setting), self.during
        knots, n, degree = curve.basis.knots, curve.basis.n_control, curve.basis.degree
        points = np.flatnonzero((knots[:n] < a - CLOSE) | (knots[degree + 1 :] > b + CLOSE))
        if not len(points):
            return []
        k, zero = len(self.axes), np.zeros(len(points) * len(self.axes))
        numbers = (points[:, None] * k + np.arange(k)).reshape(-1, 1)
        places = setting.unknowns.curve_places(self.block, numbers)
        labels, s = (
            [f"{x} of {self.name}" for x in self.axes],
            np.clip(curve.basis.greville[points], 0.0, 1.0),
        )
        return [LinearRows(places, np.ones(places.shape), s, zero, zero, self.family, labels, self.unit)]

    def _of_points(
        self, setting: Setting, rows: Array, lower: Array, upper: Array, labels: Sequence[str]
    ) -> LinearRows:
        """Linear combinations (r, k) of every control point between bounds."""
        curve, k = self._curve(setting), len(self.axes)
        s = np.clip(curve.basis.greville, 0.0, 1.0)
        numbers = (np.arange(len(s))[:, None] * k + np.arange(k))[:, None].repeat(len(rows), axis=1)
        places = setting.unknowns.curve_places(self.block, numbers.reshape(-1, k))
        values = curve.scale * np.tile(rows, (len(s), 1))
        low, high = np.tile(lower, len(s)), np.tile(upper, len(s))
        return LinearRows(places, values, s, low, high, self.family, labels, self.unit, eliminate=True)


@declare("unknown_force", "an unknown force on a body")
class UnknownForce(UnknownLoad):
    """A force at a point of a body that is sought as a function of time (N, in world axes).

    ``point`` (m) is in the body's frame, ``name`` distinguishes several forces (default: the body). ``axes``
    are the components that the force may have, such as "xz"; ``lower`` and ``upper`` bound them: one number
    for all, one for each, or a mapping from letters. With a ``normal`` (3,) in the world the force only
    pushes, n . f >= 0, and with ``friction`` mu it stays within the cone |f - n (n . f)| <= mu n . f.

    The components are B-splines with ``segments`` and ``degree`` of their own; by default they have the
    knots of the joint profiles and two degrees less, but at least 1, as accelerations have. ``start`` is
    where a search begins, one number for each component, and ``size`` (N) what counts as much force: by
    default the largest bound, else the mechanism's weight.

    The force acts from s = ``during``[0] to ``during``[1] and is zero elsewhere; where it begins or ends
    within the motion, it does so from or to zero. Bounds hold ``at`` instants, or with "points" for all
    control points, so that they hold always; then they are bounds of unknowns. In several phases the force
    acts in those whose problems have this term.

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
        body: BodyName,
        point: PointOnBody = ORIGIN,
        *,
        name: Annotated[str | None, Parameter("Name of the force", default_text="default the body's")] = None,
        axes: Annotated[str, Parameter('Its components, such as "xz"', default_text="default all")] = AXES,
        lower: Annotated[
            Components | None,
            Parameter("Lower bounds of the components", "N", "bounds", default_text="default none"),
        ] = None,
        upper: Annotated[
            Components | None,
            Parameter("Upper bounds of the components", "N", "bounds", default_text="default none"),
        ] = None,
        normal: Annotated[
            ArrayLike | None,
            Parameter(
                "Normal of a surface on which the force only pushes (no unit)",
                kind="vector",
                default_text="default none",
            ),
        ] = None,
        friction: Annotated[
            float | None, Parameter("Coefficient of friction on that surface (no unit)")
        ] = None,
        segments: ForceSegments = None,
        degree: ForceDegree = None,
        start: Annotated[Components | None, Parameter("Initial guess, by component", "N", "gains")] = None,
        size: Annotated[float | None, Parameter("Scale of the force", "N", "positive")] = None,
        during: During = (0.0, 1.0),
        at: InstantsOrPoints = "samples",
    ) -> None:
        super().__init__(body, name, axes, lower, upper, segments, degree, start, size, during, at)
        self.point = vector(point, 3, f"point of '{body}'")
        self.normal = None if normal is None else _normal(normal, axes, self._what)
        self.friction = None if friction is None else number(friction, f"friction of {self._what}")
        if self.friction is not None and self.friction < 0.0:
            raise InputError(must_be(f"{self._what}: friction", "0 or more", friction, ""))
        if self.friction is not None and self.normal is None:
            raise InputError(
                f"{self._what}: friction needs the normal of the surface, such as normal=(0, 0, 1)"
            )
        if self.friction is not None and self.on_points:
            raise InputError(f"{self._what}: a friction cone holds at instants; give at, or add Friction")

    @property
    def block(self) -> str:
        """Name of the block of unknowns that it brings."""
        return PREFIX + self.name

    @override
    def _meaning(self) -> str:
        return f"force on '{self.body}' at {self.point.tolist()} m, in world axes"

    @override
    def _first(self, scale: float) -> Array:
        push = np.zeros(len(self.axes)) if self.normal is None else scale * self._directions @ self.normal
        return np.clip(push, self.lower, self.upper)

    @override
    def acting(self, setting: Setting) -> list[PointForce]:
        """The load."""
        return [PointForce(setting, self.body, self.point, Combined(self.block, self._directions.T))]

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        found = super().bounded(setting)
        if self.normal is None:
            return found
        push, none = (self._directions @ self.normal)[None], np.full(1, np.inf)
        label = [f"push of {self.name}"]
        if self.on_points:
            return [*found, self._of_points(setting, push, np.zeros(1), none, label)]
        s, size = setting.where(self.at, self.family), self._curve(setting).scale
        function = Combined(self.block, push)
        found.append(Rows(function, s, np.zeros(1), none, self.family, label, "N", size, "force"))
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
                f"{self.family} '{self.name}': friction needs a component normal to "
                f"{n.tolist()}, but axes are {self.axes!r}"
            )
        sideways = turned[:count] @ across.T  # components of f along the tangents, (count, k)
        function: CurveFunction = _Cone(self.block, sideways, mu * push, ROUNDING * size)
        labels = [self.name]
        if count == 1:
            function = Combined(self.block, mu * push + np.array([[-1.0], [1.0]]) * sideways)
            labels = [f"{side} side of {self.name}" for side in ("one", "other")]
        low, high = np.zeros(function.size), np.full(function.size, np.inf)
        return Rows(function, s, low, high, "friction cone", labels, "N", size, "friction")


class Combined(CurveFunction):
    """Linear combinations (r, k) of the numbers of a block."""

    def __init__(self, block: str, rows: Array) -> None:
        self.block, self.rows, self.size, self.reads = block, rows, len(rows), (block,)

    @override
    def values(self, at: At) -> Array:
        """The values at all samples."""
        return at.curve(self.block) @ self.rows.T

    @override
    def curve_slopes(self, at: At) -> Curves:
        """Their first derivatives by the block."""
        return {self.block: np.broadcast_to(self.rows, (len(at.s), *self.rows.shape))}

    @override
    def bend(self, at: At, weight: Array) -> None:
        """Linear: nothing."""


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


@declare("unknown_moment", "an unknown moment on a body")
class UnknownMoment(UnknownLoad):
    """A moment on a body that is sought as a function of time (N m, in world axes).

    Such as the free moment that the ground exerts about its normal. Parameters as in :class:`UnknownForce`;
    ``size`` (N m) is what counts as much: by default the largest bound, else weight times 1 m.

    >>> UnknownMoment("foot", axes="z", lower=-15.0, upper=15.0).block
    'moment:foot'
    """

    family, unit, limited = "unknown moment", "N m", "moment"

    def __init__(
        self,
        body: BodyName,
        *,
        name: Annotated[
            str | None, Parameter("Name of the moment", default_text="default the body's")
        ] = None,
        axes: Annotated[str, Parameter('Its components, such as "z"', default_text="default all")] = AXES,
        lower: Annotated[
            Components | None,
            Parameter("Lower bounds of the components", "N m", "bounds", default_text="default none"),
        ] = None,
        upper: Annotated[
            Components | None,
            Parameter("Upper bounds of the components", "N m", "bounds", default_text="default none"),
        ] = None,
        segments: ForceSegments = None,
        degree: ForceDegree = None,
        start: Annotated[Components | None, Parameter("Initial guess, by component", "N m", "gains")] = None,
        size: Annotated[float | None, Parameter("Scale of the moment", "N m", "positive")] = None,
        during: During = (0.0, 1.0),
        at: InstantsOrPoints = "samples",
    ) -> None:
        super().__init__(body, name, axes, lower, upper, segments, degree, start, size, during, at)

    @property
    def block(self) -> str:
        """Name of the block of unknowns that it brings."""
        return MOMENT_PREFIX + self.name

    @override
    def _meaning(self) -> str:
        return f"moment on '{self.body}', in world axes"

    @override
    def acting(self, setting: Setting) -> list[BodyMoment]:
        """The load."""
        return [BodyMoment(setting, self.body, Combined(self.block, self._directions.T))]


@declare("friction", "unknown forces together stay within a friction pyramid")
class Friction(Constraint):
    """The resultant F of unknown forces keeps within friction: |F - n (n . F)| <= mu n . F, or nearly so.

    For feet whose points push separately while all of them hold: ``forces`` are names of
    :class:`UnknownForce`, ``normal`` (3,) is in the world, and t_1, t_2 are across it. ``shape``: "box",
    |t_i . F| <= mu n . F, whose corners are 41 % beyond the cone; "octagon", eight planes within the cone, at
    most 8 % short of it; or the "cone" itself, a smooth row that is rounded at its tip.

    >>> Friction(["heel", "ball"], 0.6).family
    'friction'
    """

    family = "friction"

    def __init__(
        self,
        forces: Annotated[str | Sequence[str], Parameter("Names of the unknown forces", kind="names")],
        friction: Annotated[float, Parameter("Coefficient of friction (no unit)")],
        normal: Annotated[
            ArrayLike, Parameter("Normal of the surface (no unit)", kind="vector", default_text="default z")
        ] = (0.0, 0.0, 1.0),
        at: Instants = "samples",
        shape: FrictionShape = "box",
    ) -> None:
        self.shape = checked_shape(shape, self.family)
        self.forces = [forces] if isinstance(forces, str) else list(texts(forces, f"forces of {self.family}"))
        self.friction, self.at = number(friction, f"coefficient of {self.family}"), at
        self.normal = _normal(normal, AXES, self.family)
        if not self.forces:
            raise InputError(f"{self.family}: name at least one unknown force")
        if self.friction < 0.0:
            raise InputError(must_be(f"coefficient of {self.family}", "0 or more", friction, ""))

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        n = self.normal
        t1 = np.cross(n, np.eye(3)[int(np.abs(n).argmin())])
        t1 /= np.linalg.norm(t1)
        tangents = np.stack([t1, np.cross(n, t1)])
        directions, mu = sides_of(self.shape, self.friction)
        cone = self.shape == CONE
        sides = np.vstack([tangents, self.friction * n]) if cone else mu * n - directions @ tangents
        rows = {}
        for name in self.forces:
            curve = setting.unknowns.curve(PREFIX + name, self.family)
            rows[curve.name] = sides[:, [AXES.index(letter) for letter in curve.labels]]
        s, weight = setting.where(self.at, self.family), setting.mechanism.mass * 9.81
        size, together = weight or 1.0, " and ".join(self.forces)
        combined = _CombinedBlocks(rows)
        function: CurveFunction = _BlocksCone(combined, ROUNDING * size) if cone else combined
        labels = (
            [f"cone of {together}"] if cone else [f"side {k + 1} of {together}" for k in range(len(sides))]
        )
        low, high = np.zeros(function.size), np.full(function.size, np.inf)
        return [Rows(function, s, low, high, self.family, labels, "N", size, "friction")]


def checked_shape(shape: str, family: str) -> str:
    """The name of a shape of friction."""
    if shape not in SHAPES:
        raise InputError(unknown_name("shape", str(shape), SHAPES).after(f"{family}: "))
    return shape


def sides_of(shape: str, friction: float) -> tuple[Array, float]:
    """Directions (k, 2) across the normal that planes of friction bound, and by which coefficient.

    >>> directions, mu = sides_of("octagon", 0.6)
    >>> len(directions), round(mu, 3)
    (8, 0.554)
    """
    count = {BOX: 4, OCTAGON: 8}.get(shape, 0)
    angles = 2.0 * np.pi * np.arange(count) / max(count, 1)
    around = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    around[np.abs(around) < ACROSS] = 0.0
    return around, friction * (float(np.cos(np.pi / 8.0)) if shape == OCTAGON else 1.0)


class _CombinedBlocks(CurveFunction):
    """Sums of linear combinations (r, k) of the numbers of several blocks."""

    def __init__(self, rows: Mapping[str, Array]) -> None:
        self.rows, self.reads = dict(rows), tuple(rows)
        self.size = len(next(iter(rows.values())))

    @override
    def values(self, at: At) -> Array:
        total = np.zeros((len(at.s), self.size))
        for name, rows in self.rows.items():
            total += at.curve(name) @ rows.T
        return total

    @override
    def curve_slopes(self, at: At) -> Curves:
        return {name: np.broadcast_to(rows, (len(at.s), *rows.shape)) for name, rows in self.rows.items()}

    @override
    def bend(self, at: At, weight: Array) -> None:
        pass  # they are linear


class _BlocksCone(CurveFunction):
    """c_3 - (sqrt(c_1^2 + c_2^2 + rounding^2) - rounding) of three combinations c of blocks."""

    size = 1

    def __init__(self, combined: _CombinedBlocks, rounding: float) -> None:
        self.combined, self.rounding, self.reads = combined, rounding, combined.reads

    def _parts(self, at: At) -> tuple[Array, Array]:
        c = self.combined.values(at)
        return c, np.sqrt((c[:, :2] ** 2).sum(axis=1, keepdims=True) + self.rounding**2)

    @override
    def values(self, at: At) -> Array:
        c, size = self._parts(at)
        return c[:, 2:] - size + self.rounding

    @override
    def curve_slopes(self, at: At) -> Curves:
        c, size = self._parts(at)
        pull = np.concatenate([-c[:, :2] / size, np.ones_like(size)], axis=1)[:, None]
        return {name: pull @ rows for name, rows in self.combined.rows.items()}

    @override
    def bend(self, at: At, weight: Array) -> None:
        c, size = self._parts(at)
        x = c[:, :2] / size
        second = -(weight / size)[:, :, None] * (np.eye(2) - x[:, :, None] * x[:, None])
        for first, rows in self.combined.rows.items():
            for other, columns in self.combined.rows.items():
                at.add_curved(first, other, rows[:2].T @ second @ columns[:2])


@declare("squared_force", "squared components of an unknown force")
class SquaredForce(Objective):
    """Integral of sum_i w_i f_i^2 dt over the components of an unknown force (N^2 s).

    ``force`` is the name of an :class:`UnknownForce`; ``weights`` one number for all components, one for
    each, or a mapping from letters.

    >>> from kinetree import terms
    >>> (0.5 * terms.SquaredForce("finger")).weight
    0.5
    """

    family = "squared force"

    def __init__(
        self,
        force: Annotated[str, Parameter("Name of the unknown force")],
        weights: Annotated[Components, Parameter("Weights of the components", kind="gains")] = 1.0,
    ) -> None:
        expect(force, str, self.family, "of the name of an unknown force")
        self.force, self.weights = force, weights

    @override
    def integrand(self, setting: Setting) -> CurveFunction:
        """What is integrated over the motion."""
        what = f"{self.family} of '{self.force}'"
        curve = setting.unknowns.curve(PREFIX + self.force, self.family)
        weights = _by_axis(self.weights, "".join(curve.labels), f"weights of {what}", 1.0)
        if not np.isfinite(weights).all() or (weights < 0.0).any():
            raise InputError(must_be(f"weights of {what}", "finite and not negative", weights.tolist()))
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
                raise InputError(unknown_name("axis", letter, tuple(axes)).after(f"{what}: "))
        return np.array([number(value[x], f"{what}, {x}") if x in value else default for x in axes])
    found = numbers(value, what)
    if found.shape not in ((), (len(axes),)) or np.isnan(found).any():
        raise InputError(must_be(what, f"one number or {len(axes)}, one for each of {axes!r}", value))
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
