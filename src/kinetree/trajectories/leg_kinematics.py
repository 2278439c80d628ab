"""Closed-form inverse kinematics of a leg: hip roll and pitch, knee, ankle pitch and roll.

[Shah2013], eq. B.11.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, numbers, positive
from kinetree.errors import InputError, SingularityError, expect
from kinetree.state import State

STRAIGHT = 1e-9  # rad: a knee less bent than that has no finite velocities


@dataclass(frozen=True, eq=False)
class LegAngles:
    """Angles of a leg (rad), each (...), numbered as in [Shah2013], Fig. B.5.

    With the thigh a2, the shank a3, and the hips seen from the ankle,

    hip - ankle = (a3 sin theta6 - a2 sin theta3, Z sin theta2, Z cos theta2),
    Z = a3 cos theta6 + a2 cos theta3.

    theta2 and theta5 = -theta2: roll at hip and ankle; theta3: how far the thigh leans back from the knee up;
    theta6: how far the shank leans forward; theta4 = theta3 + theta6: flexion of the knee. So the foot stays
    level: theta3 - theta4 + theta6 = 0.

    >>> bent = leg_angles([0.1, 0.05, 0.8], thigh=0.5, shank=0.5)
    >>> abs(float(bent.theta3 - bent.theta4 + bent.theta6)) < 1e-15
    True
    """

    theta2: Array
    theta3: Array
    theta4: Array
    theta6: Array

    @property
    def theta5(self) -> Array:
        """Roll at the ankle."""
        return -self.theta2


def leg_angles(hip_from_ankle: ArrayLike, thigh: float, shank: float) -> LegAngles:
    """The angles that put the hip at a point, (..., 3) in m from the ankle, knee to the front.

    cos theta4 = (a0^2 - a2^2 - a3^2) / (2 a2 a3) with a0 = |hip - ankle|, theta6 = beta + gamma with
    sin beta = x / a0 and sin gamma = a2 sin theta4 / a0, theta3 = theta4 - theta6, tan theta2 = y / z
    ([Shah2013], eq. B.11, whose denominator is misprinted). Evaluated by half-angle and two-argument
    arctangents, which are as accurate for legs that are almost straight.

    >>> a = leg_angles([0.0, 0.0, 0.8], thigh=0.5, shank=0.5)
    >>> [round(float(x), 6) for x in (a.theta3, a.theta4, a.theta6)]
    [0.643501, 1.287002, 0.643501]
    """
    a2, a3 = positive(thigh, "thigh", "m"), positive(shank, "shank", "m")
    r = finite(numbers(hip_from_ankle, "hip_from_ankle"), "hip_from_ankle")
    if r.shape[-1:] != (3,):
        raise InputError(f"hip_from_ankle must have shape (..., 3), got shape {r.shape}")
    a0 = np.sqrt((r**2).sum(axis=-1))
    _check_reach(a0, a2, a3)
    x, Z = r[..., 0], np.hypot(r[..., 1], r[..., 2])
    theta4 = 2 * np.arctan2(np.sqrt((a2 + a3) ** 2 - a0**2), np.sqrt(a0**2 - (a2 - a3) ** 2))
    theta6 = np.arctan2(x, Z) + np.arctan2(a2 * np.sin(theta4), a3 + a2 * np.cos(theta4))
    return LegAngles(np.arctan2(r[..., 1], r[..., 2]), theta4 - theta6, theta4, theta6)


def leg_motion(hip_from_ankle: State, thigh: float, shank: float) -> State:
    """Angles theta2, theta3, theta4, theta6 (..., 4) with their velocities and accelerations.

    ``hip_from_ankle`` has the hip (..., 3) as q, qd and qdd. The rates are the exact derivatives, solved
    from the twice differentiated forward kinematics.

    >>> still = np.zeros(3)
    >>> rising = State(np.array([0.0, 0.0, 0.8]), np.array([0.0, 0.0, 0.3]), still)
    >>> leg_motion(rising, 0.5, 0.5).qd.round(9).tolist()
    [0.0, -0.5, -1.0, -0.5]
    """
    a2, a3 = positive(thigh, "thigh", "m"), positive(shank, "shank", "m")
    expect(hip_from_ankle, State, "hip_from_ankle", "a State with q, qd and qdd (..., 3)")
    angles = leg_angles(hip_from_ankle.q, a2, a3)
    for given, what in ((hip_from_ankle.qd, "qd"), (hip_from_ankle.qdd, "qdd")):
        if finite(numbers(given, what), what).shape[-1:] != (3,):
            raise InputError(f"{what} must have shape (..., 3), got {np.shape(given)}")
    if np.any(np.abs(np.sin(angles.theta4)) < STRAIGHT):
        raise SingularityError(
            "a straight or fully folded leg has no finite joint velocities; lower the hips"
        )
    s2, c2 = np.sin(angles.theta2), np.cos(angles.theta2)
    (_, y, z), (xd, yd, zd), (xdd, ydd, zdd) = (
        np.moveaxis(np.asarray(v), -1, 0) for v in (hip_from_ankle.q, hip_from_ankle.qd, hip_from_ankle.qdd)
    )
    # polar coordinates Z, theta2 of the plane across the walk
    Z, Zd, w2 = np.hypot(y, z), s2 * yd + c2 * zd, (c2 * yd - s2 * zd) / np.hypot(y, z)
    Zdd, w2d = s2 * ydd + c2 * zdd + Z * w2**2, (c2 * ydd - s2 * zdd - 2 * Zd * w2) / Z
    # the two links in the plane of the leg: x and Z from theta3 and theta6
    s3, c3, s6, c6 = (
        np.sin(angles.theta3),
        np.cos(angles.theta3),
        np.sin(angles.theta6),
        np.cos(angles.theta6),
    )
    size = a2 * a3 * np.sin(angles.theta4)

    def solved(x: Array, up: Array) -> tuple[Array, Array]:
        """Rates of theta3 and theta6 that give the rates x and up."""
        return -a3 * (s6 * x + c6 * up) / size, a2 * (s3 * x - c3 * up) / size

    w3, w6 = solved(xd, Zd)
    w3d, w6d = solved(xdd - a2 * s3 * w3**2 + a3 * s6 * w6**2, Zdd + a2 * c3 * w3**2 + a3 * c6 * w6**2)
    q = np.stack([angles.theta2, angles.theta3, angles.theta4, angles.theta6], axis=-1)
    return State(q, np.stack([w2, w3, w3 + w6, w6], axis=-1), np.stack([w2d, w3d, w3d + w6d, w6d], axis=-1))


def _check_reach(a0: Array, a2: float, a3: float) -> None:
    far, near = a0 > a2 + a3, a0 < abs(a2 - a3)
    if np.any(far | near):
        worst = float(a0[far | near].flat[0]) if a0.ndim else float(a0)
        raise InputError(
            f"the leg cannot reach: hip and ankle are {worst:.6g} m apart, but a thigh of {a2:g} m and a "
            f"shank of {a3:g} m allow {abs(a2 - a3):g} to {a2 + a3:g} m"
        )
