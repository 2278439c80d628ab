"""The hips of a walking robot as a pendulum that stands on the supporting ankle.

[Shah2013], section B.1.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array, positive
from kinetree.state import State
from kinetree.trajectories.step_motion import StepMotion

GRAVITY = 9.81  # m/s^2


@dataclass(frozen=True, eq=False)
class InvertedPendulum(StepMotion):
    """Coordinates x (forward), y (left), z (up) of the hips from the supporting ankle during one step.

    All mass at the hips and their height constant: xdd = w^2 x, ydd = w^2 y, w^2 = g / z_h ([Shah2013], eq.
    B.4). With the repeatability conditions x(T) = -x(0), y(T) = y(0) (eq. B.8),

    x = x0 sinh(w (T/2 - t)) / sinh(w T/2),  y = y0 cosh(w (T/2 - t)) / cosh(w T/2),

    which is eq. B.7 with the initial velocities -w x0 coth(w T/2) and -w y0 tanh(w T/2); eq. B.9 prints both
    with the wrong sign.

    >>> from kinetree.trajectories.gait_parameters import PLANAR_BIPED
    >>> InvertedPendulum(PLANAR_BIPED).at([0.0, 1.0]).q[:, 0].round(9).tolist()
    [-0.15, 0.15]
    """

    gravity: float = GRAVITY

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "gravity", positive(self.gravity, "gravity", "m/s^2"))

    @property
    def n_dof(self) -> int:
        """Three coordinates."""
        return 3

    @property
    def rate(self) -> float:
        """w = sqrt(g / z_h) in 1/s."""
        return float(np.sqrt(self.gravity / self.parameters.height))

    def piece(self, i: int, t: Array) -> State:
        """The two hyperbolic functions and the constant height."""
        g, w = self.parameters, self.rate
        half = w * g.step_time / 2
        x0, y0 = g.x0 / np.sinh(half), g.y0 / np.cosh(half)
        s, c = np.sinh(half - w * t), np.cosh(half - w * t)
        zero = np.zeros_like(t)
        q = np.stack([x0 * s, y0 * c, np.full_like(t, g.height)], axis=1)
        qd = np.stack([-w * x0 * c, -w * y0 * s, zero], axis=1)
        qdd = np.stack([w * w * x0 * s, w * w * y0 * c, zero], axis=1)
        return State(q, qd, qdd)
