"""The floor of a scene: where it is and how it rubs. A description without forces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, number, vector
from kinetree.errors import ModelError, must_be
from kinetree.model.height_field import HeightField

UP = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Floor:
    """A plane through ``origin`` (3,) with ``normal`` (3,) out of the ground, and a friction coefficient.

    With a ``terrain`` the floor is uneven: heights above the plane, along ``forward`` (3,) and across it.
    Contact points with a coefficient of their own keep it. :meth:`kinetree.Ground.of` makes a ground of it.

    >>> Floor(friction=0.9).normal
    (0.0, 0.0, 1.0)
    """

    origin: ArrayLike = (0.0, 0.0, 0.0)
    normal: ArrayLike = UP
    friction: float = 1.0
    forward: ArrayLike | None = None
    terrain: HeightField | None = None

    def __post_init__(self) -> None:
        origin = vector(self.origin, 3, "origin of the floor", ModelError)
        normal = vector(self.normal, 3, "normal of the floor", ModelError)
        length = float(np.linalg.norm(normal))
        if not length > 0.0:
            raise ModelError(f"normal of the floor must not be zero, got {normal.tolist()}")
        friction = number(self.friction, "friction of the floor", ModelError)
        if friction < 0.0:
            raise ModelError(must_be("friction of the floor", ">= 0", friction, "g"))
        unit = normal if abs(length - 1.0) <= 4e-16 else normal / length
        object.__setattr__(self, "origin", tuple(origin.tolist()))
        object.__setattr__(self, "normal", tuple(unit.tolist()))
        object.__setattr__(self, "friction", friction)
        if self.forward is not None:
            forward = vector(self.forward, 3, "forward of the floor", ModelError)
            if not np.linalg.norm(np.cross(unit, forward)) > 1e-9 * np.linalg.norm(forward):
                raise ModelError(f"forward of the floor must not be along its normal, got {forward.tolist()}")
            object.__setattr__(self, "forward", tuple(forward.tolist()))
        if self.terrain is not None and not isinstance(self.terrain, HeightField):
            raise ModelError(must_be("terrain of the floor", "a HeightField", self.terrain))

    def frame(self) -> tuple[Array, Array, Array]:
        """Normal, forward and side direction, each (3,), orthonormal; forward along x unless it is given."""
        return plane_frame(np.asarray(self.normal), self.forward)


def plane_frame(normal: Array, forward: ArrayLike | None) -> tuple[Array, Array, Array]:
    """Unit normal, forward projected on the plane, and side, each (3,)."""
    up = normal / np.linalg.norm(normal)
    ahead = np.asarray((1.0, 0.0, 0.0) if forward is None else forward, dtype=np.float64)
    ahead = ahead - (ahead @ up) * up
    if np.linalg.norm(ahead) < 1e-9:
        ahead = np.array([0.0, 1.0, 0.0]) - up[1] * up
    ahead = ahead / np.linalg.norm(ahead)
    return up, ahead, np.cross(up, ahead)
