"""A predicted motion at chosen instants: what audits, results and control laws read of it."""

from __future__ import annotations

from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.inverse import joint_reactions
from kinetree.analysis.kinematics import Poses, body_velocities, forward_kinematics
from kinetree.motion.outcome.prediction import Prediction
from kinetree.state import Wrench


class SampledMotion:
    """A predicted motion at instants s (m,), from 0 to 1: coordinates, torques, loads, poses, contact points.

    ``tau`` (m, n_dof) are the torques of inverse dynamics; ``passive`` of them comes from relaxed joints, and
    ``active`` is the rest, which takes effort and strength.
    """

    def __init__(self, prediction: Prediction, s: Array) -> None:
        problem = prediction.problem
        self.prediction, self.s, self.mechanism = prediction, s, problem.mechanism
        self.evaluation = at = problem.evaluation(s, prediction.x)
        own = problem.setting.own
        self.q, self.qd, self.qdd = (rate[:, own] for rate in at.motion[:3])
        self.active, self.passive = at.tau[:, own], at.in_joints[:, own]
        self.tau = self.active + self.passive

    @cached_property
    def poses(self) -> Poses:
        """Rotation and position of every body."""
        return forward_kinematics(self.mechanism, self.q)

    @cached_property
    def _twists(self) -> Array:
        return body_velocities(self.mechanism, self.q, self.qd)

    @cached_property
    def loads(self) -> list[Wrench]:
        """Loads that are given or unknown, with forces and moments (m, 3)."""
        return list(self.prediction.problem.loads_of(self.s, self.prediction.x))

    @cached_property
    def reactions(self) -> Array:
        """Force and moment of its parent on every body under the ground's pushes, (m, n_bodies, 6)."""
        return joint_reactions(self.mechanism, self.q, self.qd, self.qdd, self.evaluation.pushes)

    def column(self, joint: str) -> int:
        """The number of a coordinate."""
        return self.mechanism.joint_index(joint)

    def torque(self, joint: str) -> Array:
        """Torque of a joint, (m,)."""
        return self.tau[:, self.column(joint)]

    def reaction(self, body: str) -> Array:
        """Force and moment about the world's origin that hold up a body, (m, 6)."""
        return self.evaluation.tau[:, self.prediction.problem.setting.reaction(body)]

    def curve(self, name: str) -> Array:
        """An unknown curve of the problem, (m, k)."""
        return self.evaluation.curve(name)

    def twist(self, body: str) -> Array:
        """Velocity of a body's origin and its angular velocity, (m, 6)."""
        return self._twists[:, self.mechanism.body_index(body)]

    def place(self, body: str, point: Array) -> Array:
        """Where a point (3,) of a body, or each of several (k, 3), is in the world: (m, 3) or (m, k, 3)."""
        R, p = self.poses[body]
        return np.moveaxis(R @ point.T, -1, 1) + p[:, None] if point.ndim == 2 else p + R @ point

    def velocity(self, body: str, point: Array) -> Array:
        """Velocity of a point (3,) of a body in the world, (m, 3)."""
        twist = self.twist(body)
        return twist[:, :3] + np.cross(twist[:, 3:], self.poses[body][0] @ point)

    def force(self, body: str) -> Array:
        """The sum of all loads on a body, (m, 3) in N."""
        total = np.zeros((len(self.s), 3))
        for load in self.loads:
            if load.body == body:
                total += np.asarray(load.force, dtype=np.float64)
        return total


_LAST: WeakKeyDictionary[Prediction, SampledMotion] = WeakKeyDictionary()


def sampled(prediction: Prediction, s: Array) -> SampledMotion:
    """The motion at instants s (m,); the last that was asked for is kept with its prediction."""
    found = _LAST.get(prediction)
    if found is None or not np.array_equal(found.s, s):
        _LAST[prediction] = found = SampledMotion(prediction, s)
    return found
