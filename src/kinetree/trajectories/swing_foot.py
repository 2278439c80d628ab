"""The path of the swinging foot: cosines that lift it off and put it down at rest.

[Shah2013], section B.1.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.state import State
from kinetree.trajectories.step_motion import StepMotion


@dataclass(frozen=True, eq=False)
class SwingFoot(StepMotion):
    """Coordinates x (forward), y (left), z (up) of the swinging ankle, seen from where the other one stands.

    x = -l_s cos(pi t / T), z = h_f / 2 (1 - cos(2 pi t / T)), y = 0 ([Shah2013], eq. B.10): it is carried
    from one stride behind to one stride ahead, and is back on the ground at the end. Eq. B.10 prints pi t / T
    in z, with which the step would end in the air.

    >>> from kinetree.trajectories.gait_parameters import PLANAR_BIPED
    >>> SwingFoot(PLANAR_BIPED).at([0.0, 0.5, 1.0]).q.round(9).tolist()
    [[-0.3, 0.0, 0.0], [-0.0, 0.0, 0.1], [0.3, 0.0, 0.0]]
    """

    @property
    def n_dof(self) -> int:
        """Three coordinates."""
        return 3

    def piece(self, i: int, t: Array) -> State:
        """The two cosines."""
        g = self.parameters
        p = np.pi / g.step_time
        zero, lift = np.zeros_like(t), g.foot_height / 2
        c, s, c2, s2 = np.cos(p * t), np.sin(p * t), np.cos(2 * p * t), np.sin(2 * p * t)
        return State(
            np.stack([-g.stride * c, zero, lift * (1.0 - c2)], axis=1),
            np.stack([g.stride * p * s, zero, 2 * p * lift * s2], axis=1),
            np.stack([g.stride * p * p * c, zero, 4 * p * p * lift * c2], axis=1),
        )
