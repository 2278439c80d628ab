"""The ground's push on each foot along a predicted step: force, where it acts, moment there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.kinematics import body_velocities, forward_kinematics
from kinetree.motion.outcome.prediction import Prediction
from kinetree.state import Wrench
from kinetree.studies.walking.problem import ROOT, SUPPORTING, TRAILING, Walker

FEET = ("right", "left")
LIGHT = 1e-3  # of the weight: smaller pushes have no center, such as that of touch-down


@dataclass(frozen=True, eq=False)
class Ground:
    """Along samples (m): ``force`` (m, 2, 3) in N, ``point`` and ``moment`` (m, 2, 3) of right and left foot.

    The point is the foot's center of pressure in the world (m), not a number where the foot carries nothing;
    the moment (N m) is that about it. ``power`` (m, parts) in W is what the ground does to each contact.
    """

    force: Array
    point: Array
    moment: Array
    power: dict[str, Array]


class Step:
    """A predicted step at instants s (m,): motion, torques, the trailing foot's points and their pushes.

    ``tau`` (m, n_dof) are the torques of inverse dynamics; ``passive`` of them comes from relaxed joints, and
    ``active`` is the rest, which takes effort and strength.
    """

    def __init__(self, who: Walker, prediction: Prediction, s: Array) -> None:
        problem = prediction.problem
        self.who, self.s, self.mechanism = who, s, problem.mechanism
        self._ground: Ground | None = None
        at, own = problem.evaluation(s, prediction.x), problem.setting.own
        self.q, self.qd, self.qdd = (rate[:, own] for rate in at.motion[:3])
        self.active, self.passive = at.tau[:, own], at.in_joints[:, own]
        self.tau = self.active + self.passive
        self.curves = {curve.name: at.curve(curve.name) for curve in problem.setting.unknowns.curves}
        self.poses = forward_kinematics(self.mechanism, self.q)
        self.column = {name: self.mechanism.joint_index(name) for name in self.mechanism.joint_names}

    def place(self, name: str) -> Array:
        """Where a contact point is in the world, (m, 3)."""
        body, point = self.who.points[name]
        R, p = self.poses[body]
        return p + R @ point

    def velocity(self, name: str) -> Array:
        """Velocity of a contact point in the world, (m, 3)."""
        body, point = self.who.points[name]
        twist = self.twist(body)
        return twist[:, :3] + np.cross(twist[:, 3:], self.poses[body][0] @ point)

    def twist(self, body: str) -> Array:
        """Velocity of a body's origin and its angular velocity, (m, 6)."""
        if not hasattr(self, "_twists"):
            self._twists = body_velocities(self.mechanism, self.q, self.qd)
        return self._twists[:, self.mechanism.body_index(body)]

    def trailing(self) -> dict[str, Array]:
        """Forces at the points of the left foot by name, (m, 3) each (N)."""
        found = {}
        for name in ("ball_medial", "ball_lateral"):
            force = np.zeros((len(self.s), 3))
            force[:, 2] = self.curves[f"force:{name}"][:, 0]
            found[f"left_{name}"] = force
        return found | {"left_toe_tip": self.curves["force:toe_tip"]}

    def twist_moment(self) -> Array:
        """Free moment on the left toes about z, (m,) (N m)."""
        return self.curves["moment:toes"][:, 0]

    def root(self) -> tuple[Array, Array, Array]:
        """Force, moment about the root's origin, and that origin, in the world, (m, 3) each."""
        x, y, z, yaw, roll, pitch = (self.tau[:, self.column[name]] for name in ROOT)
        angle = self.q[:, self.column[ROOT[3]]]
        c, s = np.cos(angle), np.sin(angle)
        moment = np.stack([c * roll - s * pitch, s * roll + c * pitch, yaw], axis=1)
        origin = self.q[:, [self.column[name] for name in ROOT[:3]]]
        return np.stack([x, y, z], axis=1), moment, origin

    def ground(self) -> Ground:
        """Pushes of the ground on both feet, computed once."""
        if self._ground is None:
            self._ground = self._computed_ground()
        return self._ground

    def _computed_ground(self) -> Ground:
        least = LIGHT * self.who.weight
        lead, moment, origin = self.root()
        trail = self.trailing()
        places = {name: self.place(name) for name in trail}
        push = np.sum(list(trail.values()), axis=0)
        about = sum(np.cross(places[name], force) for name, force in trail.items())
        about = about + np.stack([0 * self.s, 0 * self.s, self.twist_moment()], axis=1)
        right = centre_of_pressure(lead, moment + np.cross(origin, lead), origin[:, 2], least)
        left = centre_of_pressure(push, about, 0 * self.s, least)
        spin = self.twist(SUPPORTING)
        power = {
            "right heel": np.einsum("mi,mi->m", lead, spin[:, :3]),
            "right rocker": np.einsum("mi,mi->m", moment, spin[:, 3:]),
            "left toes": self.twist_moment() * self.twist(TRAILING)[:, 5]
            + np.sum([np.einsum("mi,mi->m", f, self.velocity(name)) for name, f in trail.items()], axis=0),
        }
        force = np.stack([lead, push], axis=1)
        point, rest = (np.stack([right[k], left[k]], axis=1) for k in range(2))
        return Ground(force, point, rest, power)

    def wrenches(self) -> list[Wrench]:
        """The ground reactions as loads on bodies of the person that is rooted at the pelvis."""
        lead, moment, _ = self.root()
        found = [Wrench(SUPPORTING, lead, moment, point=self.who.heel)]
        for name, force in self.trailing().items():
            found.append(Wrench(TRAILING, force, point=self.who.points[name][1]))
        twist = np.zeros((len(self.s), 3))
        twist[:, 2] = self.twist_moment()
        return [*found, Wrench(TRAILING, np.zeros_like(twist), twist)]


def centre_of_pressure(force: Array, moment: Array, height: Array, least: float) -> tuple[Array, Array]:
    """Center of pressure at a height, and the moment about it, from those about the world's origin."""
    push = force[:, 2]
    carries = push > least
    safe = np.where(carries, push, 1.0)
    # M = r x f with r = (x, y, h): M_x = y f_z - h f_y, M_y = h f_x - x f_z
    x = (height * force[:, 0] - moment[:, 1]) / safe
    y = (height * force[:, 1] + moment[:, 0]) / safe
    point = np.stack([x, y, height], axis=1)
    rest = moment - np.cross(point, force)
    point[~carries], rest[~carries] = np.nan, 0.0
    return point, rest
