"""Where one frame sits in another: a rotation and a position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, ErrorKind, array_key, frozen, same_arrays, vector
from kinetree.algebra.rotation import rotation_from_rpy, rotation_matrix
from kinetree.errors import InputError

UNTURNED = frozen(np.eye(3))


@dataclass(frozen=True, eq=False)
class Placement:
    """A child frame in its parent: x_p = rotation x_c + position (m).

    >>> Placement.at((0, 0, 1)) @ Placement.at((0, 2, 0))
    Placement(position=[0.0, 2.0, 1.0])
    """

    rotation: Array = field(default_factory=lambda: UNTURNED)
    position: Array = field(default_factory=lambda: frozen(np.zeros(3)))

    @classmethod
    def at(
        cls,
        position: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
        rpy: ArrayLike | None = None,
        what: str = "placement",
        error: ErrorKind = InputError,
    ) -> Placement:
        """A checked placement from a position and either a rotation matrix or roll-pitch-yaw angles (rad)."""
        if rotation is not None and rpy is not None:
            raise error(f"{what}: give either a rotation matrix or roll-pitch-yaw angles, not both")
        R = UNTURNED
        if rotation is not None:
            R = rotation_matrix(rotation, f"{what}: rotation", error)
        if rpy is not None:
            R = frozen(rotation_from_rpy(vector(rpy, 3, f"{what}: rpy", error)))
        return cls(R, vector(position, 3, f"{what}: position", error))

    def __matmul__(self, other: Placement) -> Placement:
        """The other placement, given in this frame, seen from this frame's parent."""
        return Placement(
            frozen(self.rotation @ other.rotation),
            frozen(self.rotation @ other.position + self.position),
        )

    @property
    def inverse(self) -> Placement:
        """The parent frame seen from the child."""
        return Placement(frozen(self.rotation.T), frozen(-self.rotation.T @ self.position))

    @property
    def is_identity(self) -> bool:
        """Whether both frames coincide."""
        return not self.is_turned and not self.position.any()

    @property
    def is_turned(self) -> bool:
        """Whether the axes of both frames differ."""
        return self.rotation is not UNTURNED and not np.array_equal(self.rotation, UNTURNED)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Placement) and same_arrays(
            [(self.rotation, other.rotation), (self.position, other.position)]
        )

    def __hash__(self) -> int:
        return hash(array_key(self.rotation, self.position))

    def __repr__(self) -> str:
        turned = f"rotation={self.rotation.tolist()}, " if self.is_turned else ""
        return f"Placement({turned}position={self.position.tolist()})"


Places = Mapping[str, tuple[str, Placement]]  # the body that carries a body, and its frame in that one's
