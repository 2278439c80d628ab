"""Points and directions of bodies: where they must be, where they must not, how fast they may move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from kinetree.algebra.arrays import Array, matrix, number, numbers, vector
from kinetree.declare import Parameter, declare
from kinetree.errors import InputError, must_be
from kinetree.motion.problem.places import AxisFrames, Place
from kinetree.motion.problem.profile import RATES
from kinetree.motion.problem.setting import Setting
from kinetree.motion.program.evaluation import At
from kinetree.motion.terms.arguments import (
    BodyName,
    Directions,
    Instants,
    OtherBody,
    PointOnBody,
    PointOnOther,
    PointsOnBody,
)
from kinetree.motion.terms.contract import Bounded, Chained, Constraint, Function, Quantity, Rows, row

ORIGIN = (0.0, 0.0, 0.0)
AXES = "xyz"


def _bound(value: ArrayLike, what: str) -> Array:
    """One number for all directions, or three; infinite ones are none."""
    found = numbers(value, f"{what} bound")
    if found.shape not in ((), (3,)):
        raise InputError(f"{what} bound must be one number or three, got shape {found.shape}")
    return found * np.ones(3)


@declare("point", "position of a point of a body")
class PointPosition(Constraint):
    """A point of a body is at a target, or between two corners of a box, in the world (m).

    ``target`` (3,), or (m, 3) along a path with as many instants in ``at``; or ``lower`` and ``upper``, (3,)
    or (m, 3), infinite where a direction is free. ``axes`` such as "xy" leaves the others free. All of these
    move by ``travel`` (3,) in m/s times the duration, which may be free, such as the previous footprint at a
    given speed.

    >>> from kinetree import terms
    >>> terms.PointPosition("hand", (0.5, 0, 0.3), at="end").family
    'end-effector position'
    """

    family = "end-effector position"

    def __init__(
        self,
        body: BodyName,
        target: Annotated[ArrayLike | None, Parameter("Target position in the world", "m", "vector")] = None,
        *,
        point: PointOnBody = ORIGIN,
        lower: Annotated[
            ArrayLike | None, Parameter("Lower corner of a box instead of a target", "m", "corner")
        ] = None,
        upper: Annotated[ArrayLike | None, Parameter("Upper corner of that box", "m", "corner")] = None,
        axes: Directions = AXES,
        at: Instants = "end",
        travel: Annotated[
            ArrayLike,
            Parameter(
                "Velocity that, times the duration, all of these go on by",
                "m/s",
                "vector",
                default_text="default 0",
            ),
        ] = ORIGIN,
    ) -> None:
        self.body, self.point, self.at = body, vector(point, 3, f"point of '{body}'"), at
        self.travel = vector(travel, 3, f"travel of '{body}'")
        if not isinstance(axes, str) or not axes or any(letter not in AXES for letter in axes):
            raise InputError(must_be(f"{self.family}: axes", "some of x, y and z", axes))
        self.axes = [AXES.index(letter) for letter in axes]
        if target is not None:
            self.lower = self.upper = row(target, f"target of '{body}'")
        elif lower is None and upper is None:
            raise InputError(f"{self.family} of '{body}': give a target, or lower and upper")
        else:
            self.lower, self.upper = np.broadcast_arrays(
                np.asarray(-np.inf if lower is None else lower, dtype=np.float64) * np.ones(3),
                np.asarray(np.inf if upper is None else upper, dtype=np.float64) * np.ones(3),
            )
        if np.isnan(self.lower).any() or np.isnan(self.upper).any() or (self.lower > self.upper).any():
            raise InputError(
                f"{self.family} of '{body}': a lower bound is above the upper one, or not a number"
            )

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        s = setting.where(self.at, self.family)
        place = Place(setting.extended, setting.body(self.body, self.family), self.point)
        if self.lower.shape not in ((3,), (len(s), 3)):
            raise InputError(
                f"{self.family} of '{self.body}': target must have shape (3,) or ({len(s)}, 3), one for each "
                f"instant, got {self.lower.shape}"
            )
        labels = [f"{AXES[k]} of {self.body}" for k in self.axes]
        low, high = self.lower[..., self.axes], self.upper[..., self.axes]
        function: Quantity = Position(place, self.axes)
        if self.travel[self.axes].any():
            function = _Travelled(place, self.axes, self.travel[self.axes])
        return [Rows(function, s, low, high, self.family, labels, "m", 1.0, "position")]


class Position(Function):
    """Some coordinates of a place in the world."""

    of_pose = True

    def __init__(self, place: Place, axes: list[int]) -> None:
        self.place, self.axes, self.size = place, axes, len(axes)

    @override
    def values(self, at: At) -> Array:
        """The values at all samples."""
        return self.place.position_of(at.frames)[:, self.axes]

    @override
    def slopes(self, at: At) -> Array:
        """Their first derivatives."""
        J = self.place.slopes(at.frames)[:, self.axes]
        return _by_position(J)

    @override
    def bend(self, at: At, weight: Array) -> None:
        """Second derivatives of their weighted sum."""
        full = np.zeros((len(weight), 3))
        full[:, self.axes] = weight
        at.add_block(0, 0.5 * self.place.bend(at.frames, full))


class _Travelled(Chained):
    """Coordinates of a place less a velocity times the duration."""

    def __init__(self, place: Place, axes: list[int], velocity: Array) -> None:
        self.position, self.velocity, self.size = Position(place, axes), velocity, len(axes)

    @override
    def values(self, at: At) -> Array:
        """The values at all samples."""
        return self.position.values(at) - at.duration * self.velocity

    @override
    def pull(self, at: At) -> tuple[Array, Array]:
        """Their derivatives by control points and duration."""
        grid = at.evaluation.grid.part(at.part)
        slopes = at.evaluation.reduced(self.position.slopes(at), at.part)
        by_point, by_duration = grid.pull(slopes, at.motion)
        return by_point, by_duration - self.velocity

    @override
    def bend(self, at: At, weight: Array) -> None:
        """Second derivatives: of poses alone, and linear in the duration."""
        self.position.bend(at, weight)


def _by_position(J: Array) -> Array:
    """Slopes of functions of q alone, (m, 3, k, n), from (m, k, n)."""
    found = np.zeros((len(J), RATES, *J.shape[1:]))
    found[:, 0] = J
    return found


@declare("orientation", "orientation of a body")
class Orientation(Constraint):
    """A body has the orientation ``rotation`` (3, 3): x_world = rotation x_body.

    For small angles the rotation error is (y . Z, z . X, x . Y), which also vanishes for half turns; so the
    axes must not point away from their targets.

    >>> from kinetree import terms
    >>> terms.Orientation("hand", [[1, 0, 0], [0, 1, 0], [0, 0, 1]]).family
    'end-effector orientation'
    """

    family = "end-effector orientation"

    def __init__(
        self,
        body: BodyName,
        rotation: Annotated[
            ArrayLike, Parameter("Rotation matrix from body to world, by rows (no unit)", kind="matrix")
        ],
        at: Instants = "end",
    ) -> None:
        self.body, self.at = body, at
        self.rotation = matrix(rotation, (3, 3), f"rotation of '{body}'")
        if not np.allclose(self.rotation @ self.rotation.T, np.eye(3), atol=1e-6):
            raise InputError(f"{self.family} of '{body}': the rotation matrix is not orthogonal")

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        s = setting.where(self.at, self.family)
        body = setting.body(self.body, self.family)
        x, y, z = (Place(setting.extended, body, axis, direction=True) for axis in np.eye(3))
        X, Y, Z = self.rotation.T
        function = PlaceComponents([(y, Z), (z, X), (x, Y)])
        labels = [f"turn about {axis} of {self.body}" for axis in AXES]
        upright = PlaceComponents([(x, X), (y, Y), (z, Z)])
        along = [f"direction of {axis} of {self.body}" for axis in AXES]
        none = np.full(3, np.inf)
        return [
            Rows(function, s, np.zeros(3), np.zeros(3), self.family, labels, "rad", 1.0, "orientation"),
            Rows(upright, s, np.zeros(3), none, self.family, along, "1", 1.0, "orientation"),
        ]


class PlaceComponents(Function):
    """Components of places along fixed directions."""

    of_pose = True

    def __init__(self, pairs: Sequence[tuple[Place, Array]]) -> None:
        self.pairs, self.size = pairs, len(pairs)

    @override
    def values(self, at: At) -> Array:
        """One component per pair, (m, size)."""
        return np.stack([place.position_of(at.frames) @ along for place, along in self.pairs], axis=1)

    @override
    def slopes(self, at: At) -> Array:
        """By positions; rates do not matter."""
        return _by_position(
            np.stack([along @ place.slopes(at.frames) for place, along in self.pairs], axis=1)
        )

    @override
    def bend(self, at: At, weight: Array) -> None:
        """Second derivatives by positions."""
        for k, (place, along) in enumerate(self.pairs):
            at.add_block(0, 0.5 * place.bend(at.frames, weight[:, k : k + 1] * along))


@declare("relative_position", "a point of a body relative to another body")
class RelativePosition(Constraint):
    """A point of a body keeps between bounds as seen from a point of another one, in world axes (m).

    lower <= (x - x_of)_axes <= upper; ``lower`` and ``upper`` (3,), infinite where a direction is free. So a
    wrist keeps off the hip ([Barman2020], chapter V).

    >>> RelativePosition("hand", "pelvis", lower=(0, 0.2, 0), axes="y").family
    'relative position'
    """

    family = "relative position"

    def __init__(
        self,
        body: BodyName,
        of: OtherBody,
        *,
        lower: Annotated[ArrayLike | None, Parameter("Lower bounds in world axes", "m", "corner")] = None,
        upper: Annotated[ArrayLike | None, Parameter("Upper bounds in world axes", "m", "corner")] = None,
        point: PointOnBody = ORIGIN,
        of_point: PointOnOther = ORIGIN,
        axes: Directions = AXES,
        at: Instants = "samples",
    ) -> None:
        self.body, self.of, self.at = body, of, at
        self.point, self.of_point = (
            vector(point, 3, f"point of '{body}'"),
            vector(of_point, 3, f"point of '{of}'"),
        )
        if not isinstance(axes, str) or not axes or any(letter not in AXES for letter in axes):
            raise InputError(must_be(f"{self.family}: axes", "some of x, y and z", axes))
        self.axes = [AXES.index(letter) for letter in axes]
        self.lower, self.upper = (
            _bound(side if given is None else given, f"{self.family} of '{body}': {what}")
            for given, side, what in ((lower, -np.inf, "lower"), (upper, np.inf, "upper"))
        )
        if not (self.lower <= self.upper).all():
            raise InputError(
                f"{self.family} of '{body}': a lower bound is above the upper one, or not a number"
            )

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        pairs = [
            Place(setting.extended, setting.body(name, self.family), point)
            for name, point in ((self.body, self.point), (self.of, self.of_point))
        ]
        labels = [f"{AXES[k]} of {self.body} from {self.of}" for k in self.axes]
        low, high, s = self.lower[self.axes], self.upper[self.axes], setting.where(self.at, self.family)
        function = _Between(pairs[0], pairs[1], self.axes)
        return [Rows(function, s, low, high, self.family, labels, "m", 1.0, "distance")]


class _Between(Function):
    """Some coordinates of the way from one place to another."""

    of_pose = True

    def __init__(self, place: Place, other: Place, axes: list[int]) -> None:
        self.parts = (Position(place, axes), 1.0), (Position(other, axes), -1.0)
        self.size = len(axes)

    def length_at_rest(self, setting: Setting) -> float:
        """How far both places are apart where all coordinates are zero (m); 1 if they coincide."""
        rest = np.zeros((1, setting.extended.n_dof))
        frames = AxisFrames(setting.extended, np.arange(setting.extended.n_dof), rest, rest)
        (part, _), (other, _) = self.parts
        way = part.place.position_of(frames) - other.place.position_of(frames)
        return float(np.linalg.norm(way)) or 1.0

    @override
    def values(self, at: At) -> Array:
        (part, _), (other, _) = self.parts
        return part.values(at) - other.values(at)

    @override
    def slopes(self, at: At) -> Array:
        (part, _), (other, _) = self.parts
        return part.slopes(at) - other.slopes(at)

    @override
    def bend(self, at: At, weight: Array) -> None:
        for part, sign in self.parts:
            part.bend(at, sign * weight)


@declare("pendulum_product", "two limbs that swing in the same direction, as pendulums")
class PendulumProduct(Constraint):
    """The product of how far two limbs swing along a direction stays above a bound.

    ((x_end - x_pivot) . d) ((y_end - y_pivot) . d) >= lower, with a pivot and an end on each limb and d the
    unit ``direction`` in the world: with ``lower`` 0 both swing forward or both backward, such as an arm
    from shoulder to wrist with the opposite leg from hip to ankle ([Barman2020], eq. 5.6).

    >>> PendulumProduct("left_upper_arm", "left_hand", "right_thigh", "right_foot").family
    'product of pendulums'
    """

    family = "product of pendulums"

    def __init__(
        self,
        pivot: Annotated[str, Parameter("Name of the body that the first limb begins on")],
        end: Annotated[str, Parameter("Name of the body that it ends on")],
        other_pivot: Annotated[str, Parameter("Name of the body that the second limb begins on")],
        other_end: Annotated[str, Parameter("Name of the body that it ends on")],
        *,
        end_point: PointOnBody = ORIGIN,
        other_end_point: PointOnOther = ORIGIN,
        direction: Annotated[
            ArrayLike, Parameter("Direction of the swing (no unit)", kind="vector", default_text="default x")
        ] = (1, 0, 0),
        lower: Annotated[float, Parameter("Lower bound of the product", "m^2")] = 0.0,
        at: Instants = "samples",
    ) -> None:
        self.limbs = (pivot, end, end_point), (other_pivot, other_end, other_end_point)
        along = vector(direction, 3, f"direction of {self.family}")
        if not along.any():
            raise InputError(f"direction of {self.family} must not be zero, got {along.tolist()}")
        self.direction = along / np.linalg.norm(along)
        self.lower, self.at = number(lower, f"lower bound of {self.family}"), at

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        bodies = [
            (
                setting.body(pivot, self.family),
                setting.body(end, self.family),
                vector(x, 3, f"point of '{end}'"),
            )
            for pivot, end, x in self.limbs
        ]
        limbs = [
            _Between(Place(setting.extended, end, x), Place(setting.extended, pivot, ORIGIN), [0, 1, 2])
            for pivot, end, x in bodies
        ]
        function = _SwingProduct(limbs, self.direction)
        label = " times ".join(f"{pivot} to {end}" for pivot, end, _ in self.limbs)
        s = setting.where(self.at, self.family)
        size = float(np.prod([limb.length_at_rest(setting) for limb in limbs]))
        return [Rows(function, s, [self.lower], [np.inf], self.family, [label], "m^2", size, "product")]


class _SwingProduct(Function):
    """The product of two ways between places, each along a direction."""

    of_pose, size = True, 1

    def __init__(self, limbs: Sequence[_Between], direction: Array) -> None:
        self.limbs, self.direction = limbs, direction

    def _swings(self, at: At) -> tuple[Array, Array]:
        a, b = (limb.values(at) @ self.direction for limb in self.limbs)
        return a, b

    def _slopes(self, at: At) -> list[Array]:
        """Of each swing, (m, 3, 1, n)."""
        return [np.einsum("i,mrin->mrn", self.direction, limb.slopes(at))[:, :, None] for limb in self.limbs]

    @override
    def values(self, at: At) -> Array:
        a, b = self._swings(at)
        return np.asarray(a * b)[:, None]

    @override
    def slopes(self, at: At) -> Array:
        a, b = (x[:, None, None, None] for x in self._swings(at))
        of_a, of_b = self._slopes(at)
        return np.asarray(b * of_a + a * of_b)

    @override
    def bend(self, at: At, weight: Array) -> None:
        a, b = self._swings(at)
        for limb, factor in zip(self.limbs, (b, a), strict=True):
            limb.bend(at, (weight[:, 0] * factor)[:, None] * self.direction)
        at.add_outer(weight, *self._slopes(at))


@declare("ground_clearance", "points of a body that stay above a plane")
class GroundClearance(Constraint):
    """Points of a body stay above the plane normal . x = height (m).

    ``height``: a number, or one for each of the instants ``at``.

    >>> from kinetree import terms
    >>> terms.GroundClearance("foot", 0.02).family
    'ground clearance'
    """

    family = "ground clearance"

    def __init__(
        self,
        body: BodyName,
        points: PointsOnBody = ORIGIN,
        height: Annotated[
            ArrayLike,
            Parameter("Height of the plane along its normal, or one for each instant", "m", "gains"),
        ] = 0.0,
        normal: Annotated[
            ArrayLike, Parameter("Normal of the plane (no unit)", kind="vector", default_text="default z")
        ] = (0, 0, 1),
        at: Instants = "samples",
    ) -> None:
        self.body, self.points, self.at = body, np.atleast_2d(row(points, "points")), at
        self.height, self.normal = row(height, "height"), vector(normal, 3, "normal")

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        body = setting.body(self.body, self.family)
        pairs = [(Place(setting.extended, body, point), self.normal) for point in self.points]
        labels = [f"point {k + 1} of {self.body}" for k in range(len(pairs))]
        s = setting.where(self.at, self.family)
        if self.height.shape not in ((), (len(s),)):
            raise InputError(
                f"{self.family} of '{self.body}': height must be one number or {len(s)}, one for each "
                f"instant, got shape {self.height.shape}"
            )
        low, high = np.multiply.outer(self.height, np.ones(len(pairs))), np.full(len(pairs), np.inf)
        return [Rows(PlaceComponents(pairs), s, low, high, self.family, labels, "m", 1.0, "height")]


@declare("keep_out", "a sphere that points of a body stay out of")
class KeepOut(Constraint):
    """Points of a body stay outside a sphere: |x - center| >= radius (m).

    The sphere is fixed in the world or, with ``of``, in another body: ``center`` (3,) is in its frame.

    >>> from kinetree import terms
    >>> terms.KeepOut("hand", (0.5, 0, 0.3), 0.1).family
    'keep-out sphere'
    """

    family = "keep-out sphere"

    def __init__(
        self,
        body: BodyName,
        center: Annotated[
            ArrayLike, Parameter("Center of the sphere, in the world or in another body", "m", "vector")
        ],
        radius: Annotated[float, Parameter("Radius", "m", "positive")],
        points: PointsOnBody = ORIGIN,
        of: Annotated[str, Parameter("Name of the body that the sphere is fixed in")] = "world",
        at: Instants = "samples",
    ) -> None:
        self.body, self.center, self.of, self.at = body, vector(center, 3, "center"), of, at
        self.points = np.atleast_2d(row(points, "points"))
        self.radius = number(radius, f"radius of the {self.family}")
        if self.radius <= 0.0:
            raise InputError(must_be(f"radius of the {self.family}", "positive", radius, ""))

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        body, other = (setting.body(name, self.family) for name in (self.body, self.of))
        center = Place(setting.extended, other, self.center)
        places = [Place(setting.extended, body, point) for point in self.points]
        labels = [f"point {k + 1} of {self.body} from {self.of}" for k in range(len(places))]
        function = _Distances(places, center, 1e-4 * self.radius)
        low, high = np.full(len(places), self.radius), np.full(len(places), np.inf)
        s = setting.where(self.at, self.family)
        scale = np.full(len(places), self.radius)
        return [Rows(function, s, low, high, self.family, labels, "m", scale, "distance")]


class _Distances(Function):
    """Distances of places from a center, rounded near zero."""

    of_pose = True

    def __init__(self, places: Sequence[Place], center: Place, rounding: float) -> None:
        self.places, self.center, self.rounding, self.size = places, center, rounding, len(places)

    def _lines(self, at: At) -> tuple[Array, Array]:
        """From the center to each place, (m, k, 3), and how far, (m, k)."""
        points = np.stack([place.position_of(at.frames) for place in self.places], axis=1)
        d = points - self.center.position_of(at.frames)[:, None]
        return d, np.sqrt((d * d).sum(axis=2) + self.rounding**2)

    def _relative(self, place: Place, frames: AxisFrames) -> Array:
        return place.slopes(frames) - self.center.slopes(frames)

    @override
    def values(self, at: At) -> Array:
        return self._lines(at)[1]

    @override
    def slopes(self, at: At) -> Array:
        d, size = self._lines(at)
        rows = [
            ((d[:, k] / size[:, k, None])[:, None] @ self._relative(place, at.frames))[:, 0]
            for k, place in enumerate(self.places)
        ]
        return _by_position(np.stack(rows, axis=1))

    @override
    def bend(self, at: At, weight: Array) -> None:
        d, size = self._lines(at)
        slopes = self.slopes(at)
        for k, place in enumerate(self.places):
            w, J = weight[:, k, None], _by_position(self._relative(place, at.frames))
            pull = w * d[:, k] / size[:, k, None]
            H = place.bend(at.frames, pull) - self.center.bend(at.frames, pull)
            at.add_block(0, 0.5 * H)
            at.add_outer(np.broadcast_to(w / size[:, k, None], (len(w), 3)), J)
            at.add_outer(-w / size[:, k, None], slopes[:, :, k : k + 1])
