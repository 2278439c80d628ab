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
    """A point of a body: place and velocity (d,), angular velocity (3,), and the body's rotation (3, 3)."""

    position: Array
    velocity: Array
    spin: Array
    rotation: Array


@dataclass(eq=False)
class View:
    """A walker in one state; bodies are the feet, then the trunk.

    ``J`` (bodies, 6, n_dof) of their points and ``drift`` (bodies, 6), which is dJ/dt qd.
    """

    M: Array
    h: Array
    J: Array
    drift: Array
    center: Array  # (d,) of mass
    velocity: Array  # (d,) of the center of mass
    drift_center: Array  # (d,)
    feet: list[BodyView]
    hips: list[Array]
    trunk: BodyView


class Viewer:
    """Looks at a walker; what does not change from tick to tick is found once."""

    def __init__(self, walker: Walker) -> None:
        self.walker, mechanism = walker, walker.mechanism
        self.bodies = [foot.body for foot in walker.feet] + [walker.trunk]
        self.places = [mechanism.body_index(body) for body in self.bodies]
        self.hips = [mechanism.body_index(foot.hip) for foot in walker.feet]
        self.points = [foot.point for foot in walker.feet] + [np.zeros(3)]
        self.radii = [foot.radius for foot in walker.feet] + [0.0]
        d = len(walker.axes)
        base = walker.moving[:d]  # the base's translations come first
        self.base = base
        self.moves = walker.slides[:, :d] / mechanism.mass  # directions of these along the axes
        self.weightless = walker.axes @ mechanism.gravity

    def __call__(self, q: Array, qd: Array) -> View:
        """All that the law needs in a state (n_dof,)."""
        mechanism, E = self.walker.mechanism, self.walker.axes
        M, h = mass_matrix(mechanism, q), bias_torque(mechanism, q, qd)
        pose = forward_kinematics(mechanism, q)
        later = q + AHEAD * qd
        J, drift, seen = np.empty((len(self.bodies), 6, len(q))), np.empty((len(self.bodies), 6)), []
        for k, (body, b) in enumerate(zip(self.bodies, self.places, strict=True)):
            R, point = pose.rotation[b], self.points[k]
            if self.radii[k]:
                point = point - self.radii[k] * (E[-1] @ R)  # where the ball touches
            J[k] = jacobian(mechanism, q, body, point)
            moved = J[k] @ qd
            drift[k] = (jacobian(mechanism, later, body, point) @ qd - moved) / AHEAD
            seen.append(BodyView(E @ (pose.position[b] + R @ point), E @ moved[:3], moved[3:], R))
        return View(
            M,
            h,
            J,
            drift,
            E @ center_of_mass(mechanism, q),
            self.moves @ (M[self.base] @ qd),
            self.moves @ h[self.base] + self.weightless,
            seen[:-1],
            [E @ pose.position[b] for b in self.hips],
            seen[-1],
        )
