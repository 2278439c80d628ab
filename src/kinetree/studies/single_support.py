"""One step of the biped whose supporting foot is the ground (004, section 6.2.3, appendix B)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, listed
from kinetree.model.mechanism import Mechanism
from kinetree.model.zoo import biped_fixed
from kinetree.state import State
from kinetree.trajectories.gait_parameters import GaitParameters
from kinetree.trajectories.inverted_pendulum import InvertedPendulum
from kinetree.trajectories.leg_kinematics import leg_motion
from kinetree.trajectories.step_motion import StepMotion
from kinetree.trajectories.swing_foot import SwingFoot

STEP = GaitParameters(0.5, -0.15, 0.08, 0.92, 0.3, 0.1)  # 004, section 6.2.3
HALF_WIDTH = 0.05  # m from the middle of the trunk to a hip
LEG = 0.5  # m: thigh and shank
#                 roll, thigh, flexion, shank: theta2, theta3, theta4, theta6 of 004, Fig. B.5
SUPPORT = ((0, -1), (3, 1), (2, -1), (1, 1), (0, 1), None)  # column and sign for every coordinate
SWING = (None, (0, -1), (1, -1), (2, 1), (3, -1), (0, 1))


@dataclass(frozen=True, eq=False)
class SingleSupport(StepMotion):
    """Both legs during a step: hips as an inverted pendulum, the swinging foot on cosines (B.7-B.11).

    The trunk stays upright and the feet are as far apart as the hips, so that both legs roll alike.

    >>> SingleSupport(STEP).at(0.0).q.round(3)[:3].tolist()
    [-0.033, 0.208, -0.738]
    """

    @property
    def n_dof(self) -> int:
        """Two legs with six coordinates."""
        return len(SUPPORT) + len(SWING)

    def piece(self, i: int, t: Array) -> State:
        """The angles of the supporting leg from the ankle up, then of the swinging one from the hip down."""
        hips, foot = InvertedPendulum(self.parameters).piece(0, t), SwingFoot(self.parameters).piece(0, t)
        aside = np.array([0.0, HALF_WIDTH, 0.0])
        support = leg_motion(State(hips.q - aside, hips.qd, hips.qdd), LEG, LEG)
        swing = leg_motion(State(hips.q - foot.q - aside, hips.qd - foot.qd, hips.qdd - foot.qdd), LEG, LEG)
        rates = zip((support.q, support.qd, support.qdd), (swing.q, swing.qd, swing.qdd), strict=True)
        return State(*(np.concatenate([_chosen(a, SUPPORT), _chosen(b, SWING)], axis=1) for a, b in rates))


def single_support(mechanism: Mechanism, parameters: GaitParameters | None = None) -> SingleSupport:
    """The step for the zoo's ``biped_fixed`` or a mechanism with the same joints.

    >>> single_support(biped_fixed()).duration
    0.5
    """
    names = biped_fixed().joint_names
    if mechanism.joint_names != names:
        raise InputError(
            f"a single support needs the joints of 'biped_fixed', {listed(names)}; '{mechanism.name}' has "
            f"{listed(mechanism.joint_names)}"
        )
    return SingleSupport(parameters or STEP)


def _chosen(leg: Array, places: tuple[tuple[int, int] | None, ...]) -> Array:
    columns = [np.zeros(len(leg)) if place is None else place[1] * leg[:, place[0]] for place in places]
    return np.stack(columns, axis=1)
