"""How fast points of bodies move: limits of their speed, velocities they must have."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from kinetree.algebra.arrays import Array, number, numbers, vector
from kinetree.declare import Parameter, declare
from kinetree.errors import InputError, must_be, shown
from kinetree.motion.problem.places import Place
from kinetree.motion.problem.profile import RATES
from kinetree.motion.problem.setting import Setting
from kinetree.motion.program.evaluation import At
from kinetree.motion.terms.arguments import BodyName, Directions, Instants, PointOnBody
from kinetree.motion.terms.contract import Bounded, Constraint, Function, Rows
from kinetree.motion.terms.reach import AXES, ORIGIN


@declare("point_speed", "speed limit of a point of a body")
class PointSpeed(Constraint):
    """Speed of a point of a body, |v| <= limit (m/s).

    >>> from kinetree import terms
    >>> terms.PointSpeed("hand", 0.5).family
    'end-effector speed limit'
    """

    family = "end-effector speed limit"

    def __init__(
        self,
        body: BodyName,
        limit: Annotated[float, Parameter("Largest speed", "m/s", "positive")],
        point: PointOnBody = ORIGIN,
        at: Instants = "samples",
    ) -> None:
        self.body, self.point, self.at = body, vector(point, 3, f"point of '{body}'"), at
        self.limit = number(limit, self.family)
        if self.limit <= 0.0:
            raise InputError(must_be(self.family, "positive", limit, ""))

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        place = Place(setting.extended, setting.body(self.body, self.family), self.point)
        s = setting.where(self.at, self.family)
        function = _Speed(Velocity(place), 1e-4 * self.limit)
        high = [self.limit]
        return [Rows(function, s, [-np.inf], high, self.family, [self.body], "m/s", [self.limit], "speed")]


@declare("point_velocity", "velocity of a point of a body")
class PointVelocity(Constraint):
    """Velocity of a point of a body in the world (m/s): to throw, to hit, to hand over, to rest.

    ``velocity`` (3,), or bounds by axis: ``lower`` and ``upper`` (3,), infinite where a direction is free.
    ``axes`` such as "xy" leaves the others free; each component may differ by ``slack`` (m/s).

    >>> up = PointVelocity("foot", lower=(0.0, 0.0, 0.1), axes="z")
    >>> up.lower.tolist(), up.upper.tolist()
    ([0.0, 0.0, 0.1], [inf, inf, inf])
    """

    family = "end-effector velocity"

    def __init__(
        self,
        body: BodyName,
        velocity: Annotated[ArrayLike | None, Parameter("Its velocity in the world", "m/s", "vector")] = None,
        *,
        point: PointOnBody = ORIGIN,
        lower: Annotated[
            ArrayLike | None, Parameter("Least velocity, by axes, instead", "m/s", "corner")
        ] = None,
        upper: Annotated[ArrayLike | None, Parameter("Largest velocity, by axes", "m/s", "corner")] = None,
        axes: Directions = AXES,
        at: Instants = "end",
        slack: Annotated[float, Parameter("By how much it may differ", "m/s")] = 0.0,
    ) -> None:
        self.body, self.point, self.at = body, vector(point, 3, f"point of '{body}'"), at
        self.slack = number(slack, f"slack of {self.family} of '{body}'")
        if self.slack < 0.0:
            raise InputError(must_be(f"{self.family} of '{body}': slack", "0 or more", slack, ""))
        if velocity is not None:
            if lower is not None or upper is not None:
                raise InputError(f"{self.family} of '{body}': give a velocity, or lower and upper, not both")
            self.lower = self.upper = vector(velocity, 3, f"velocity of '{body}'")
        elif lower is None and upper is None:
            raise InputError(f"{self.family} of '{body}': give a velocity, or lower and upper")
        else:
            self.lower, self.upper = _corner(lower, -np.inf, body), _corner(upper, np.inf, body)
        if (self.lower > self.upper).any():
            raise InputError(
                f"{self.family} of '{body}': a lower bound is above the upper one: {self.lower.tolist()} and "
                f"{self.upper.tolist()} m/s"
            )
        if not isinstance(axes, str) or not axes or any(letter not in AXES for letter in axes):
            raise InputError(must_be(f"{self.family}: axes", "some of x, y and z", axes))
        self.axes = [AXES.index(letter) for letter in axes]

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        place = Place(setting.extended, setting.body(self.body, self.family), self.point)
        s = setting.where(self.at, self.family)
        low, high = self.lower[self.axes] - self.slack, self.upper[self.axes] + self.slack
        labels = [f"{AXES[k]} of {self.body}" for k in self.axes]
        function = Velocity(place, self.axes)
        return [Rows(function, s, low, high, self.family, labels, "m/s", 1.0, "velocity")]


def _corner(values: ArrayLike | None, free: float, body: str) -> Array:
    """Bounds by axes (3,), infinite where there is none."""
    given = np.full(3, free) if values is None else numbers(values, f"velocity bounds of '{body}'")
    if given.shape not in ((), (3,)) or np.isnan(given).any():
        raise InputError(f"velocity of '{body}': bounds are one or three numbers, got {shown(values)}")
    return given * np.ones(3)


class Velocity(Function):
    """v = J(q) qd of a place, some of its coordinates."""

    step = 1e-5  # s, for the change of second derivatives along the motion

    def __init__(self, place: Place, axes: list[int] | None = None) -> None:
        self.place = place
        self.axes = list(range(3)) if axes is None else axes
        self.size = len(self.axes)

    @override
    def values(self, at: At) -> Array:
        """The values at all samples."""
        v: Array = (self.place.slopes(at.frames) @ at.moving[:, 1, :, None])[:, self.axes, 0]
        return v

    @override
    def slopes(self, at: At) -> Array:
        """Their first derivatives."""
        J, qd = self.place.slopes(at.frames), at.moving[:, 1]
        slopes = np.zeros((len(qd), RATES, self.size, qd.shape[1]))
        slopes[:, 1] = J[:, self.axes]
        slopes[:, 0] = self.place.change(at.frames, qd)[:, self.axes]
        return slopes

    @override
    def bend(self, at: At, weight: Array) -> None:
        """Second derivatives of their weighted sum; those of J are differentiated along the motion."""
        pull = np.zeros((len(weight), 3))
        pull[:, self.axes] = weight
        ahead, behind = (
            self.place.bend(at.evaluation.shifted(step).part(at.part), pull)
            for step in (self.step, -self.step)
        )
        at.add_block(0, 0.5 * (ahead - behind) / (2.0 * self.step))
        at.add_block(1, self.place.bend(at.frames, pull))


class _Speed(Function):
    """sqrt(v . v + rounding^2)."""

    size = 1

    def __init__(self, velocity: Velocity, rounding: float) -> None:
        self.velocity, self.rounding = velocity, rounding

    def _parts(self, at: At) -> tuple[Array, Array]:
        v = self.velocity.values(at)
        return v, np.sqrt((v * v).sum(axis=1, keepdims=True) + self.rounding**2)

    @override
    def values(self, at: At) -> Array:
        return self._parts(at)[1]

    @override
    def slopes(self, at: At) -> Array:
        v, size = self._parts(at)
        return (v / size)[:, None, None, :] @ self.velocity.slopes(at)

    @override
    def bend(self, at: At, weight: Array) -> None:
        v, size = self._parts(at)
        slopes = self.velocity.slopes(at)
        self.velocity.bend(at, weight * v / size)
        at.add_outer(np.broadcast_to(weight / size, v.shape), slopes)
        at.add_outer(-weight / size, (v / size)[:, None, None, :] @ slopes)
