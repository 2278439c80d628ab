"""Points and rounded ends of bodies that may touch the ground. A description without forces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array, array_key, frozen, matrix, number, same_arrays, vector
from kinetree.algebra.placement import Placement
from kinetree.errors import ModelError, must_be
from kinetree.model.body import checked_name

NO_EXTENT = frozen(np.zeros((3, 3)))


@dataclass(frozen=True, eq=False)
class ContactPoint:
    """A named point of a body, or of a frame, at ``position`` (3,) there (m), or a sphere or ellipsoid.

    With a ``radius`` (m) the position is the center of a sphere; with ``half_axes`` (3, 3), three vectors in
    the body frame in rows (m), of an ellipsoid. ``friction`` is its coefficient of friction; None: that of
    the ground.

    >>> ContactPoint("toe", "foot", (0.1, 0, 0), radius=0.02).half_axes.tolist()
    [[0.02, 0.0, 0.0], [0.0, 0.02, 0.0], [0.0, 0.0, 0.02]]
    """

    name: str
    body: str
    position: Array
    radius: float = 0.0
    half_axes: Array | None = None
    friction: float | None = None

    def __post_init__(self) -> None:
        what = f"contact point '{checked_name(self.name, 'a contact point')}'"
        object.__setattr__(self, "position", vector(self.position, 3, f"{what}: position", ModelError))
        radius = number(self.radius, f"{what}: radius", ModelError)
        if radius < 0.0:
            raise ModelError(must_be(f"{what}: radius", ">= 0 m", radius, "g"))
        half = NO_EXTENT if radius == 0.0 else frozen(radius * np.eye(3))
        if self.half_axes is not None and not (radius and np.array_equal(self.half_axes, half)):
            if radius:
                raise ModelError(f"{what}: give either a radius or half_axes, not both")
            half = matrix(self.half_axes, (3, 3), f"{what}: half_axes", ModelError)
            self._check(half, what)
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "half_axes", half)
        if self.friction is not None:
            friction = number(self.friction, f"{what}: friction", ModelError)
            if friction < 0.0:
                raise ModelError(must_be(f"{what}: friction", ">= 0", friction, "g"))
            object.__setattr__(self, "friction", friction)

    @staticmethod
    def _check(half: Array, what: str) -> None:
        lengths = np.linalg.norm(half, axis=1)
        if not half.any():
            return
        slanted = np.abs(half @ half.T - np.diag(lengths**2)).max()
        if lengths.min() <= 0.0 or slanted > 1e-9 * lengths.max() ** 2:
            raise ModelError(
                must_be(
                    f"{what}: half_axes",
                    "three vectors at right angles, none of them zero",
                    half.tolist(),
                )
            )

    @property
    def is_round(self) -> bool:
        """Whether it is a sphere or an ellipsoid instead of a point."""
        return bool(self.extent.any())

    @property
    def extent(self) -> Array:
        """The half axes (3, 3), in rows; zeros for a point."""
        return NO_EXTENT if self.half_axes is None else self.half_axes

    @property
    def matrix(self) -> Array:
        """S = sum of b b^T over the half axes b, (3, 3): it touches a plane at -S n / sqrt(n . S n)."""
        S: Array = self.extent.T @ self.extent
        return S

    def moved(self, body: str, place: Placement) -> ContactPoint:
        """The point as one of another body, in which this one's frame is placed."""
        half = self.extent if self.radius or not self.is_round else self.extent @ place.rotation.T
        position = frozen(place.rotation @ self.position + place.position)
        return ContactPoint(self.name, body, position, self.radius, frozen(half), self.friction)

    def lowest(self, normal: Array) -> Array:
        """Where it touches a plane (..., 3), from the plane's normal (..., 3), both in the body frame (m)."""
        if not self.is_round:
            return np.broadcast_to(self.position, normal.shape)
        Sn = normal @ self.matrix
        size = np.sqrt((normal * Sn).sum(axis=-1, keepdims=True))
        place: Array = self.position - Sn / size
        return place

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ContactPoint)
            and (self.name, self.body, self.radius, self.friction)
            == (other.name, other.body, other.radius, other.friction)
            and same_arrays([(self.position, other.position), (self.extent, other.extent)])
        )

    def __hash__(self) -> int:
        return hash((self.name, self.body, array_key(self.position)))
