"""The floor of a scene: where it is and how it rubs. A description without forces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import number, vector
from kinetree.errors import ModelError

UP = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Floor:
    """A plane through ``origin`` (3,) with ``normal`` (3,) out of the ground, and a friction coefficient.

    Contact points with a coefficient of their own keep it. :meth:`kinetree.Ground.of` makes a ground of it.

    >>> Floor(friction=0.9).normal
    (0.0, 0.0, 1.0)
    """

    origin: ArrayLike = (0.0, 0.0, 0.0)
    normal: ArrayLike = UP
    friction: float = 1.0

    def __post_init__(self) -> None:
        origin = vector(self.origin, 3, "origin of the floor", ModelError)
        normal = vector(self.normal, 3, "normal of the floor", ModelError)
        length = float(np.linalg.norm(normal))
        if not length > 0.0:
            raise ModelError(f"normal of the floor must not be zero, got {normal.tolist()}")
        friction = number(self.friction, "friction of the floor", ModelError)
        if friction < 0.0:
            raise ModelError(f"friction of the floor must be >= 0, got {friction:g}")
        unit = normal if abs(length - 1.0) <= 4e-16 else normal / length
        object.__setattr__(self, "origin", tuple(origin.tolist()))
        object.__setattr__(self, "normal", tuple(unit.tolist()))
        object.__setattr__(self, "friction", friction)
