"""The gait of a whole robot: its trunk as an inverted pendulum, feet on cosines, joints in closed form.

Where [Shah2013], appendix B, is silent the choices are these. The motion begins in the midst of walking:
trunk moving, all feet on the ground, one group of feet about to swing. The first supporting feet stand at x =
0, so that the hips begin at x0; y = 0 is the line under the trunk between the feet. The height z_h is that of
the hips above the ground; the ankle is as high as the contact points of a level foot are below it. The trunk
keeps its attitude. Feet walk under their own hips; only those of a biped with y0 stand |y0| beside the line.
Joints that belong to no leg, and hip yaw, keep their posture.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kinetree.algebra.arrays import Array, frozen
from kinetree.analysis.leg_chains import Leg
from kinetree.errors import InputError, SingularityError
from kinetree.model.mechanism import Mechanism
from kinetree.state import State
from kinetree.trajectories.base import Trajectory
from kinetree.trajectories.gait_parameters import GaitParameters
from kinetree.trajectories.inverted_pendulum import InvertedPendulum
from kinetree.trajectories.legs import LegGeometry, Stance
from kinetree.trajectories.swing_foot import SwingFoot


@dataclass(frozen=True)
class SupportPhase:
    """From ``begin`` to ``end`` (s) the ``supporting`` legs stand while the ``swinging`` ones move.

    >>> SupportPhase(0.0, 0.5, supporting=("left",), swinging=("right",)).supporting
    ('left',)
    """

    begin: float
    end: float
    supporting: tuple[str, ...]
    swinging: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Feet(Trajectory):
    """Where ankles, or feet that are points, are in the world: x, y, z of one leg after the other (m)."""

    parameters: GaitParameters
    steps: int
    groups: tuple[int, ...]
    axes: Array  # (3, 3) forward, left, up
    stands: Array  # (legs, 3) forward, left, up of the feet in the first step, if all stood then

    @cached_property
    def breaks(self) -> Array:
        """Begin and end of all steps."""
        return frozen(self.parameters.step_time * np.arange(self.steps + 1))

    @property
    def n_dof(self) -> int:
        """Three for each leg."""
        return 3 * len(self.groups)

    def piece(self, i: int, t: Array) -> State:
        """One step, in the world."""
        along = self.along(i, t)
        return State(*((x @ self.axes.T).reshape(len(t), -1) for x in (along.q, along.qd, along.qdd)))

    def along(self, i: int, t: Array) -> State:
        """The positions in the axes of the walk, (m, legs, 3)."""
        swing = SwingFoot(self.parameters).piece(0, t - self.breaks[i])
        lifted = np.array([group != i % 2 for group in self.groups], dtype=np.float64)[:, None]
        place = self.stands + np.array([i * self.parameters.stride, 0.0, 0.0])
        q, qd, qdd = (x[:, None, :] * lifted for x in (swing.q, swing.qd, swing.qdd))
        return State(place + q, qd, qdd)


@dataclass(frozen=True, eq=False)
class LeggedGait(Trajectory):
    """Walking of a robot with a floating base; all coordinates, the base's included.

    ``legs`` by name, ``groups`` shows which of them support in even (0) and odd (1) steps; ``feet`` is the
    motion of the ankles in the world, (..., 3 legs), which the joints follow exactly.

    >>> from kinetree.model import zoo
    >>> from kinetree.trajectories.walking import trot
    >>> gait = trot(zoo.quadruped(), steps=3)
    >>> gait.touch_downs.tolist(), gait.feet.at(3.0).q[:3].round(9).tolist()
    ([1.0, 2.0, 3.0], [1.1, 0.2, 0.0])
    """

    mechanism: Mechanism
    parameters: GaitParameters
    legs: tuple[Leg, ...]
    groups: tuple[int, ...]
    steps: int
    feet: Feet
    stance: Stance
    geometries: tuple[LegGeometry, ...]

    @property
    def breaks(self) -> Array:
        """Begin and end of all steps: there accelerations jump, velocities do not."""
        return self.feet.breaks

    @property
    def n_dof(self) -> int:
        """Number of coordinates of the mechanism."""
        return self.mechanism.n_dof

    @property
    def touch_downs(self) -> Array:
        """When the swinging feet touch the ground (steps,) in s."""
        return self.breaks[1:]

    @cached_property
    def phases(self) -> tuple[SupportPhase, ...]:
        """Which legs carry, step by step."""
        names = [[leg.name for leg, g in zip(self.legs, self.groups, strict=True) if g == k] for k in (0, 1)]
        return tuple(
            SupportPhase(
                float(self.breaks[i]), float(self.breaks[i + 1]), tuple(names[i % 2]), tuple(names[1 - i % 2])
            )
            for i in range(self.steps)
        )

    def piece(self, i: int, t: Array) -> State:
        """One step."""
        hips, feet = self._hips(i, t), self.feet.along(i, t)
        motion = np.zeros((3, len(t), self.n_dof))
        motion[0] = self.stance.q
        n, slides = self.stance.n_slides, self.stance.slides
        center = np.mean([leg.hip for leg in self.geometries], axis=0)
        base = self.mechanism.links[0].joint.n_dof
        origin = self.stance.axes.T @ self.stance.motion.position[base - 1]
        moved = hips.q - center - origin
        for k, x in enumerate((moved, hips.qd, hips.qdd)):
            motion[k, :, :n] += np.linalg.lstsq(slides, self.stance.axes @ x.T, rcond=None)[0].T
        for n, leg in enumerate(self.geometries):
            away = leg.hip - center
            seen = State(hips.q + away - feet.q[:, n], hips.qd - feet.qd[:, n], hips.qdd - feet.qdd[:, n])
            try:
                joints = leg.motion(seen)
            except (InputError, SingularityError) as reason:
                raise type(reason)(f"step {i + 1}, leg '{self.legs[n].name}': {reason}") from None
            motion[0][:, leg.joints], motion[1][:, leg.joints] = joints.q, joints.qd
            motion[2][:, leg.joints] = joints.qdd
        return State(*motion)

    def _hips(self, i: int, t: Array) -> State:
        """The middle of all hips in the axes of the walk (m, 3): it goes ahead and sways to the sides."""
        g = float(np.linalg.norm(self.mechanism.gravity))
        pendulum = InvertedPendulum(self.parameters, g).piece(0, t - self.breaks[i])
        side = np.array([1.0, 1.0 if i % 2 == 0 else -1.0, 1.0])
        ground = self.feet.stands[0, 2] - self.geometries[0].clearance
        start = np.array([i * self.parameters.stride, -side[1] * self.parameters.y0, ground])
        return State(pendulum.q * side + start, pendulum.qd * side, pendulum.qdd * side)
