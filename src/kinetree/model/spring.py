"""Springs and dampers between points of two bodies."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kinetree.algebra.arrays import Array, frozen, number, vector
from kinetree.errors import ModelError, must_be
from kinetree.model.body import checked_name
from kinetree.model.inertia import LARGEST
from kinetree.other_names import checks_keywords

TURNING = ("turn_damping", "N m s/rad")


@checks_keywords
@dataclass(frozen=True, eq=False)
class Spring:
    """A massless spring with dampers between a point of body a and a point of body b, or of the world.

    Its points are pulled together by k (l - l0) + c dl/dt (N) along the line between them, of length l (m):
    ``stiffness`` k (N/m), ``rest`` l0 (m), ``damping`` c (N s/m). Where the points meet, the line has
    no direction, and the force is zero. ``turn_damping`` (N m s/rad) opposes the angular velocity w of b as
    seen from a, with the moment -turn_damping w on b and the opposite on a: what slows a ball joint down.

    >>> from dataclasses import replace
    >>> import kinetree as kt
    >>> arm = kt.zoo.two_link()
    >>> lift = kt.Spring("lift", "world", "link1", (0, 0.3, 0), (0.2, 0, 0), stiffness=100.0, rest=0.3)
    >>> held, still = replace(arm, springs=(lift,)), [0.0, 0.0]
    >>> less = kt.inverse_dynamics(held, still, still, still) - kt.inverse_dynamics(arm, still, still, still)
    >>> less.round(3).tolist()
    [-1.008, 0.0]
    """

    name: str
    body_a: str
    body_b: str
    point_a: Array = field(default_factory=lambda: frozen([0.0, 0.0, 0.0]))
    point_b: Array = field(default_factory=lambda: frozen([0.0, 0.0, 0.0]))
    stiffness: float = 0.0
    damping: float = 0.0
    rest: float = 0.0
    turn_damping: float = 0.0

    def __post_init__(self) -> None:
        checked_name(self.name, "a spring")
        what = f"spring '{self.name}'"
        checked_name(self.body_a, f"{what}: body a")
        checked_name(self.body_b, f"{what}: body b")
        if self.body_a == self.body_b:
            raise ModelError(f"{what} connects body '{self.body_a}' to itself; it needs two bodies")
        for key in ("point_a", "point_b"):
            point = vector(getattr(self, key), 3, f"{what}: {key}", ModelError)
            if np.abs(point).max() > LARGEST:
                raise ModelError(must_be(f"{what}: {key}", f"at most {LARGEST:g} m away", point.tolist()))
            object.__setattr__(self, key, point)
        for key, unit in (("stiffness", "N/m"), ("damping", "N s/m"), ("rest", "m"), TURNING):
            value = number(getattr(self, key), f"{what}: {key}", ModelError)
            if value < 0.0:
                raise ModelError(must_be(f"{what}: {key}", f">= 0 ({unit})", value, "g"))
            if value > LARGEST:
                raise ModelError(must_be(f"{what}: {key}", f"at most {LARGEST:g} {unit}", value, "g"))
            object.__setattr__(self, key, value)
        if not (self.stiffness or self.damping or self.turn_damping):
            raise ModelError(
                f"{what} has neither stiffness (N/m) nor damping (N s/m) nor turn_damping (N m s/rad); give "
                "one of them"
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Spring):
            return NotImplemented
        return (
            self._scalars() == other._scalars()
            and np.array_equal(self.point_a, other.point_a)
            and np.array_equal(self.point_b, other.point_b)
        )

    def __hash__(self) -> int:
        return hash(self._scalars())

    def _scalars(self) -> tuple[str | float, ...]:
        numbers = self.stiffness, self.damping, self.rest, self.turn_damping
        return self.name, self.body_a, self.body_b, *numbers
