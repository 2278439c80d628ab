"""One step of the biped whose supporting foot is the ground ([Shah2013], section 6.2.3, appendix B)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, listed
from kinetree.model.mechanism import Link, Mechanism
from kinetree.model.zoo import biped_fixed
from kinetree.state import State
from kinetree.trajectories.gait_parameters import GaitParameters
from kinetree.trajectories.inverted_pendulum import InvertedPendulum
from kinetree.trajectories.leg_kinematics import leg_motion
from kinetree.trajectories.step_motion import StepMotion
from kinetree.trajectories.swing_foot import SwingFoot

STEP = GaitParameters(0.5, -0.15, 0.08, 0.92, 0.3, 0.1)  # [Shah2013], section 6.2.3
#                 roll, thigh, flexion, shank: theta2, theta3, theta4, theta6 of [Shah2013], Fig. B.5
SUPPORT = ((0, -1), (3, 1), (2, -1), (1, 1), (0, 1), None)  # column and sign for every coordinate
SWING = (None, (0, -1), (1, -1), (2, 1), (3, -1), (0, 1))
ALONG = {  # where each joint sits in the frame of the one before: along this axis, in this direction
    "ankle_support": None,
    "knee_support": (2, 1),
    "hip_support": (2, 1),
    "hip_swing": (1, 1),
    "knee_swing": (2, -1),
    "ankle_swing": (2, -1),
}
ASIDE = 1e-9  # m by which a joint may be off its axis


@dataclass(frozen=True)
class Lengths:
    """Thigh and shank (m) of the supporting and of the swinging leg, and the width from hip to hip (m)."""

    support: tuple[float, float]
    swing: tuple[float, float]
    width: float

    @classmethod
    def of(cls, mechanism: Mechanism) -> Lengths:
        """Those of a mechanism with the joints of ``biped_fixed``; an error says what differs."""
        model = biped_fixed()
        if mechanism.joint_names != model.joint_names:
            raise InputError(
                f"a single support needs the joints of 'biped_fixed', {listed(model.joint_names)}; "
                f"'{mechanism.name}' has {listed(mechanism.joint_names)}"
            )
        pairs = zip(mechanism.links, model.links, strict=True)
        far = {link.joint.name: _distance(link, like) for link, like in pairs}
        return cls(
            (far["hip_support"], far["knee_support"]),
            (far["knee_swing"], far["ankle_swing"]),
            far["hip_swing"],
        )


@dataclass(frozen=True, eq=False)
class SingleSupport(StepMotion):
    """Both legs during a step: hips as an inverted pendulum, the swinging foot on cosines (B.7-B.11).

    The trunk stays upright and the feet are as far apart as the hips, so that both legs roll alike if they
    are equally long. ``gravity`` in m/s^2.

    >>> SingleSupport(STEP, Lengths.of(biped_fixed())).at(0.0).q.round(3)[:3].tolist()
    [-0.033, 0.208, -0.738]
    """

    lengths: Lengths
    gravity: float = 9.81

    @property
    def n_dof(self) -> int:
        """Two legs with six coordinates."""
        return len(SUPPORT) + len(SWING)

    def piece(self, i: int, t: Array) -> State:
        """The angles of the supporting leg from the ankle up, then of the swinging one from the hip down."""
        hips = InvertedPendulum(self.parameters, self.gravity).piece(0, t)
        foot = SwingFoot(self.parameters).piece(0, t)
        aside = np.array([0.0, 0.5 * self.lengths.width, 0.0])
        support = leg_motion(State(hips.q - aside, hips.qd, hips.qdd), *self.lengths.support)
        reach = State(hips.q - foot.q - aside, hips.qd - foot.qd, hips.qdd - foot.qdd)
        swing = leg_motion(reach, *self.lengths.swing)
        rates = zip((support.q, support.qd, support.qdd), (swing.q, swing.qd, swing.qdd), strict=True)
        return State(*(np.concatenate([_chosen(a, SUPPORT), _chosen(b, SWING)], axis=1) for a, b in rates))


def single_support(mechanism: Mechanism, parameters: GaitParameters | None = None) -> SingleSupport:
    """The step for the zoo's ``biped_fixed`` or a mechanism with the same joints and other lengths.

    Thighs, shanks, the distance of the hips and gravity are those of the mechanism.

    >>> single_support(biped_fixed()).duration
    0.5
    """
    lengths = Lengths.of(mechanism)
    x, y, z = mechanism.gravity.tolist()
    if x or y or z >= 0.0:
        raise InputError(f"a single support needs gravity along -z, got {[x, y, z]} m/s^2")
    return SingleSupport(parameters or STEP, lengths, -z)


def _distance(link: Link, like: Link) -> float:
    """How far (m) a joint is from the one before, if it sits and moves as its model does."""
    joint, place, along = link.joint, link.placement, ALONG.get(link.joint.name)
    if not np.array_equal(joint.axes, like.joint.axes) or not np.array_equal(place.rotation, np.eye(3)):
        raise InputError(f"a single support needs the axes of 'biped_fixed'; joint '{joint.name}' has others")
    at = place.position.copy()
    distance = 0.0
    if along is not None:
        axis, sign = along
        distance, at[axis] = sign * float(at[axis]), 0.0
    if np.abs(at).max() > ASIDE or distance < 0.0:
        raise InputError(
            f"a single support needs each joint of a leg straight above or below the next, and the hips side "
            f"by side; joint '{joint.name}' is at {place.position.tolist()} m"
        )
    return distance


def _chosen(leg: Array, places: tuple[tuple[int, int] | None, ...]) -> Array:
    columns = [np.zeros(len(leg)) if place is None else place[1] * leg[:, place[0]] for place in places]
    return np.stack(columns, axis=1)
