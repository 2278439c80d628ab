"""Three turns, one after the other, about axes of which the second is at right angles to its neighbors.

All twelve Euler sequences are of this kind. With A = [a, b, a x b], C = [c, b, c x b] for the axes a, b, c
and R = R_a(q1) R_b(q2) R_c(q3), the matrix A^T R C is R_x(q1) R_y(q2 + offset) R_x(q3): one formula for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.rotation import AXES, skew

LOCKED = 1e-10  # |sin| of the middle angle below which only the sum or the difference of the others is known
TURN = 2.0 * np.pi


@dataclass(frozen=True, eq=False)
class ThreeTurns:
    """Angles (..., 3) in rad about ``axes`` (3, 3), one unit vector in a row.

    Angular velocity, acceleration and moments (..., 3) have their components in the fixed frame. In gimbal
    lock, where the first and the third axis are parallel, rates and accelerations are the smallest that
    come nearest to the rotation.

    >>> turns = ThreeTurns.of_sequence("ZXZ")
    >>> turns.angles(turns.rotation(np.array([3.0, 0.5, 4.0])), near=np.array([3.1, 0.4, 4.1])).round(12)
    array([3. , 0.5, 4. ])
    """

    axes: Array

    @classmethod
    def of_sequence(cls, sequence: str) -> ThreeTurns:
        """Such as "YXZ"."""
        return cls(np.array([AXES[letter] for letter in sequence]))

    @property
    def is_proper(self) -> bool:
        """Whether the second axis is at right angles to the others, so that every rotation can be reached."""
        a, b, c = self.axes
        return bool(abs(a @ b) < 1e-9 and abs(b @ c) < 1e-9)

    @cached_property
    def _frames(self) -> tuple[Array, Array, float]:
        """A, C and the offset of the middle angle."""
        a, b, c = self.axes
        normal = np.cross(a, b)
        A, C = np.column_stack([a, b, normal]), np.column_stack([c, b, np.cross(c, b)])
        return A, C, float(np.arctan2(-(normal @ c), a @ c))

    def rotation(self, angles: Array) -> Array:
        """R = R_a(q1) R_b(q2) R_c(q3), (..., 3, 3)."""
        R1, R2, R3 = (_turn(axis, angles[..., k]) for k, axis in enumerate(self.axes))
        rotation: Array = R1 @ R2 @ R3
        return rotation

    def distance(self, angles: Array) -> Array:
        """|sin| of the angle between the first and the third axis: 0 in gimbal lock, 1 far from it; (...)."""
        distance: Array = np.abs(np.sin(angles[..., 1] + self._frames[2]))
        return distance

    def angles(self, R: Array, near: Array) -> Array:
        """The angles of a rotation (3, 3) that are nearest to others: of both branches, with whole turns."""
        A, C, offset = self._frames
        S = A.T @ R @ C
        start = np.array([near[0], near[1] + offset, near[2]])
        sine = np.hypot(S[1, 0], S[2, 0])
        if sine < LOCKED:
            found = _locked_angles(S, start)
        else:
            one = _remaining(S, np.arctan2(S[1, 0], -S[2, 0]))
            other = np.array([one[0] + np.pi, -one[1], one[2] + np.pi])
            found = min(
                (_unwrapped(x, start) for x in (one, other)), key=lambda x: float(np.sum((x - start) ** 2))
            )
        found[1] -= offset
        return found

    def all_angles(self, R: Array, near: Array) -> Array:
        """`angles` of rotations (k, 3, 3), each near others (k, 3)."""
        A, C, offset = self._frames
        S = A.T @ R @ C
        start = near + np.array([0.0, offset, 0.0])
        one = np.empty_like(start)
        one[:, 0] = np.arctan2(S[:, 1, 0], -S[:, 2, 0])
        T = _turn(AXES["X"], -one[:, 0]) @ S
        one[:, 1], one[:, 2] = np.arctan2(-T[:, 2, 0], T[:, 0, 0]), np.arctan2(-T[:, 1, 2], T[:, 1, 1])
        other = np.stack([one[:, 0] + np.pi, -one[:, 1], one[:, 2] + np.pi], axis=-1)
        one, other = _unwrapped(one, start), _unwrapped(other, start)
        farther = ((one - start) ** 2).sum(axis=-1) > ((other - start) ** 2).sum(axis=-1)
        found: Array = np.where(farther[:, None], other, one) - np.array([0.0, offset, 0.0])
        for k in np.flatnonzero(np.hypot(S[:, 1, 0], S[:, 2, 0]) < LOCKED):
            found[k] = self.angles(R[k], near[k])
        return found

    def rate_matrix(self, angles: Array) -> Array:
        """E with angular velocity = E rates, (..., 3, 3)."""
        a, b, c = self.axes
        R1 = _turn(a, angles[..., 0])
        third = R1 @ _turn(b, angles[..., 1]) @ c
        return np.stack([np.broadcast_to(a, third.shape), R1 @ b, third], axis=-1)

    def drift(self, angles: Array, rates: Array) -> Array:
        """Angular acceleration without second derivatives of the angles: (dE/dt) rates."""
        E = self.rate_matrix(angles)
        w1, w2, w3 = (E[..., k] * rates[..., k, None] for k in range(3))
        drift: Array = np.cross(w1, w2) + np.cross(w1 + w2, w3)
        return drift

    def angular_velocity(self, angles: Array, rates: Array) -> Array:
        """E rates."""
        return _product(self.rate_matrix(angles), rates)

    def angular_acceleration(self, angles: Array, rates: Array, accelerations: Array) -> Array:
        """E accelerations + (dE/dt) rates."""
        return _product(self.rate_matrix(angles), accelerations) + self.drift(angles, rates)

    def rates(self, angles: Array, angular_velocity: Array) -> Array:
        """E^-1 w, or the smallest of the nearest in gimbal lock."""
        e1, e2, across, cosine, sine = self._triad(angles)
        along = _dot(e1, angular_velocity)
        locked = np.abs(sine) < LOCKED
        third = np.where(
            locked,
            0.5 * along * np.sign(cosine),
            _dot(across, angular_velocity) / np.where(locked, 1.0, sine),
        )
        first = along - cosine * third
        return np.stack([first, _dot(e2, angular_velocity), third], axis=-1)

    def accelerations(self, angles: Array, rates: Array, angular_acceleration: Array) -> Array:
        """E^-1 (wd - (dE/dt) rates), or the smallest of the nearest in gimbal lock."""
        return self.rates(angles, angular_acceleration - self.drift(angles, rates))

    def torques(self, angles: Array, moment: Array) -> Array:
        """E^T m: torques about the axes that do the work of a moment."""
        return _product(np.swapaxes(self.rate_matrix(angles), -1, -2), moment)

    def moment(self, angles: Array, torques: Array) -> tuple[Array, Array]:
        """E^-T tau, and a torque (...) that no finite moment explains: not zero only in gimbal lock."""
        e1, e2, across, cosine, sine = self._triad(angles)
        first, second = torques[..., 0, None], torques[..., 1, None]
        rest = torques[..., 2] - cosine * torques[..., 0]
        locked = np.abs(sine) < LOCKED
        share = np.where(locked, 0.0, rest / np.where(locked, 1.0, sine))
        return first * e1 + second * e2 + share[..., None] * across, np.where(locked, rest, 0.0)

    def _triad(self, angles: Array) -> tuple[Array, Array, Array, Array, Array]:
        """First and second axis, the normal of both, cosine and sine: third = cosine first + sine normal."""
        a, b, _ = self.axes
        e2 = _turn(a, angles[..., 0]) @ b
        middle = angles[..., 1] + self._frames[2]
        return np.broadcast_to(a, e2.shape), e2, np.cross(e2, a), np.cos(middle), np.sin(middle)


def _turn(axis: Array, angle: Array) -> Array:
    """Rotation about a unit axis (Rodrigues), (..., 3, 3)."""
    K = skew(axis)
    half = np.sin(0.5 * angle)[..., None, None]
    turn: Array = np.eye(3) + np.sin(angle)[..., None, None] * K + (2.0 * half * half) * (K @ K)
    return turn


def _remaining(S: Array, first: float) -> Array:
    """All angles of S = R_x R_y R_x once the first is known; those left follow from what remains of S."""
    T = _turn(AXES["X"], np.asarray(-first)) @ S
    return np.array([first, np.arctan2(-T[2, 0], T[0, 0]), np.arctan2(-T[1, 2], T[1, 1])])


def _locked_angles(S: Array, start: Array) -> Array:
    """Both outer angles move alike towards the sum (or difference) that S shows."""
    sign = 1.0 if S[0, 0] > 0.0 else -1.0
    total = np.arctan2(S[2, 1], S[1, 1])  # first + sign third
    change = total - (start[0] + sign * start[2])
    change -= TURN * np.round(change / TURN)
    return _unwrapped(_remaining(S, start[0] + 0.5 * change), start)


def _unwrapped(angles: Array, start: Array) -> Array:
    """Angles shifted by whole turns, each within half a turn of its start."""
    near: Array = angles - TURN * np.round((angles - start) / TURN)
    return near


def _dot(a: Array, b: Array) -> Array:
    dot: Array = np.sum(a * b, axis=-1)
    return dot


def _product(matrix: Array, vector: Array) -> Array:
    product: Array = (matrix @ vector[..., None])[..., 0]
    return product
