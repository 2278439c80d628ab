"""What a walking law measures at one tick: places, velocities and Jacobians along the axes of the walk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.energy import center_of_mass
from kinetree.analysis.inverse import bias_torque, mass_matrix
from kinetree.analysis.kinematics import forward_kinematics, jacobian
from kinetree.control.walking.walker import Walker

AHEAD = 1e-6  # s over which Jacobians are differenced


@dataclass(eq=False)
class BodyView:
    """A point of a body: place and velocity (d,), angular velocity (3,), Jacobians (6, n) and their drift."""

    position: Array
    velocity: Array
    spin: Array
    J: Array
    drift: Array  # (6,) dJ/dt qd
    rotation: Array


@dataclass(eq=False)
class View:
    """A biped in one state."""

    M: Array
    h: Array
    center: Array  # (d,) of mass
    velocity: Array  # (d,) of the center of mass
    J_center: Array  # (d, moving)
    drift_center: Array  # (d,)
    feet: tuple[BodyView, BodyView]
    hips: tuple[Array, Array]
    trunk: BodyView

    @classmethod
    def of(cls, walker: Walker, q: Array, qd: Array) -> View:
        """All that the law needs in a state (n_dof,)."""
        mechanism, E, moving = walker.mechanism, walker.axes, walker.moving
        M, h = mass_matrix(mechanism, q), bias_torque(mechanism, q, qd)
        pose = forward_kinematics(mechanism, q)
        base = moving[: len(E)]  # the base's translations come first
        S = walker.slides[:, : len(E)]  # directions of these along the axes
        J_center = S @ M[base][:, moving] / mechanism.mass
        drift = S @ h[base] / mechanism.mass + E @ mechanism.gravity

        def seen(body: str, point: Array) -> BodyView:
            k = mechanism.body_index(body)
            J = jacobian(mechanism, q, body, point)
            later = jacobian(mechanism, q + AHEAD * qd, body, point)
            place = pose.position[k] + pose.rotation[k] @ point
            moved = J @ qd
            bend = (later - J) @ qd / AHEAD
            return BodyView(E @ place, E @ moved[:3], moved[3:], J, bend, pose.rotation[k])

        return cls(
            M,
            h,
            E @ center_of_mass(mechanism, q),
            J_center @ qd[moving],
            J_center,
            drift,
            (
                seen(walker.feet[0].body, walker.feet[0].point),
                seen(walker.feet[1].body, walker.feet[1].point),
            ),
            tuple(E @ pose.position[mechanism.body_index(foot.hip)] for foot in walker.feet),
            seen(walker.trunk, np.zeros(3)),
        )
