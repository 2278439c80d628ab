"""The law of a walk with its memory: plan, tasks, and forces that the ground can give."""

from __future__ import annotations

import math

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.rotation import rotation_about
from kinetree.analysis.kinematics import jacobian
from kinetree.control.sampled import ContactReading
from kinetree.control.structure import effort_limits
from kinetree.control.walking.command import Command
from kinetree.control.walking.compiled.least_squares import SMALL_FORCE
from kinetree.control.walking.diary import Diary
from kinetree.control.walking.plan import Gait, Plan
from kinetree.control.walking.solve import CENTER, Solver
from kinetree.control.walking.view import View, Viewer
from kinetree.control.walking.walker import Walker
from kinetree.errors import InputError, StopSimulation

HEIGHT, TRUNK, FOOT = 5.0, 5.0, 8.0  # bandwidths of the tasks in sqrt(g / L)
WEIGHTS = {
    "height": 1.0,
    "trunk": 1.0,
    "foot": 2.0,
    "level": 0.2,
    "center": 0.5,
    "stance": 30.0,
    "posture": 0.1,
}
STILL = 10.0  # rate at which the stance foot is brought to rest, in w
ANKLE, SOLE = 2.0, 0.7  # gain of the center of pressure on the divergent component; share of the sole in use
STRONGEST = 0.8  # torque, in m g L
TRANSLATION, ROTATION = 0, 3  # first row of a Jacobian


class Balance:
    """The law of :class:`Walking` with its memory: called once per tick."""

    def __init__(
        self, walker: Walker, gait: Gait, most: Array | None = None, wanted: Command | None = None
    ) -> None:
        self.walker, self.gait, self.wanted = walker, gait, wanted
        self.most = usual_limits(walker) if most is None else most
        self.viewer = Viewer(walker)
        light = SMALL_FORCE / (0.1 * walker.mechanism.mass)
        self.solver = Solver(
            walker.moving,
            walker.n_base,
            8 + 6 * len(walker.feet) + walker.mechanism.n_dof,
            3 * len(walker.feet) + 1,
            light,
        )
        self.unit = math.sqrt(walker.gravity / walker.leg)
        inside = {walker.mechanism.joint_index(name) for foot in walker.feet for name in foot.joints}
        self.others = np.array([k for k in walker.moving[walker.n_base :] if k not in inside], dtype=np.int64)
        self.reset()

    def reset(self) -> None:
        """Begin a new walk."""
        self.plan = Plan(self.walker, self.gait, self.wanted)
        self.diary = Diary(self.walker)
        self._attitude: Array | None = None
        self._last = np.zeros(self.walker.mechanism.n_dof)

    def __call__(self, t: float, q: Array, qd: Array, contact: ContactReading) -> Array:
        """Torques (n_dof,) from the measured state and the forces on the feet."""
        walker, view = self.walker, self.viewer(q, qd)
        if self._attitude is None:
            self._attitude = view.trunk.rotation.copy()
            self._soles = [foot.rotation.copy() for foot in view.feet]
            self._posture = q[self.others].copy()
        loads = self._loads(contact)
        self.plan.update(t, view, loads)
        tilt = leaning(walker.axes[-1], self._attitude, view.trunk.rotation)
        if self.diary.has_fallen(t, view, tilt, self.plan):
            raise StopSimulation(str(self.diary.explanation()))
        self._turned = np.eye(3)
        if self.plan.heading != 0.0:
            self._turned = rotation_about(walker.axes[-1], self.plan.heading)
        self.solver.begin()
        self._tasks(view)
        self._stance(view)
        if len(self.others):  # arms and whatever else is no leg keep their posture
            k = (TRUNK * self.unit) ** 2
            hold = k * (self._posture - q[self.others]) - 2.0 * math.sqrt(k) * qd[self.others]
            self.solver.add_coordinates(self.others, hold, WEIGHTS["posture"])
        G, usual = self._forces(view, q)
        found = self.solver.solve(view.M, view.h, view.J, G, usual)
        wanted = self._last if found is None else found[0]
        self.diary.note(t, self.plan, view, loads, contact, wanted, self.most)
        self._last = np.clip(wanted, -self.most, self.most)
        return self._last

    def walked(self) -> tuple[bool, str]:
        """Whether the robot is on its feet, and what there is to say of its walk."""
        why = self.diary.explanation()
        if why is not None:
            return False, why
        return True, f"the robot walked {self.diary.steps} steps and is on its feet"

    def statistics(self) -> dict[str, float]:
        """Steps walked, and the largest share of a torque limit that was used."""
        return self.diary.statistics()

    # ---- helpers -----------------------------------------------------------------------------------------
    def _loads(self, contact: ContactReading) -> Array:
        """Normal forces on the feet (N)."""
        if not contact.names:
            raise InputError("a walking law needs a ground: its feet must be felt")
        up = contact.force @ self.walker.axes[-1]
        place = {name: k for k, name in enumerate(contact.names)}
        return np.array(
            [sum(up[place[x]] for x in foot.contact_points if x in place) for foot in self.walker.feet]
        )

    def _forces(self, view: View, q: Array) -> tuple[Array, Array]:
        """Jacobian (k, n_dof) of the ground forces, and what they are if nothing else determines them."""
        walker, E = self.walker, self.walker.axes
        stance = self.plan.stance
        if not walker.is_biped:
            G = np.concatenate([E @ view.J[k, :3] for k in stance])
            usual = np.zeros(len(G))
            usual[len(E) - 1 :: len(E)] = walker.mechanism.mass * walker.gravity / len(stance)
            return G, usual
        k = stance[0]
        foot, seen = walker.feet[k], view.feet[k]
        if not walker.has_soles:
            return E @ view.J[k, :3], np.zeros(len(E))
        shift = seen.rotation.T @ (E[:-1].T @ (ANKLE * self.plan.error))
        low, high = foot.corners.min(axis=0) - foot.point, foot.corners.max(axis=0) - foot.point
        point = foot.point + np.clip(shift, SOLE * low, SOLE * high)
        G = E @ jacobian(walker.mechanism, q, foot.body, point)[:3]
        if not walker.is_planar:
            G = np.vstack([G, E[-1] @ view.J[k, 3:]])
        return G, np.zeros(len(G))

    def _tasks(self, view: View) -> None:
        """Height and attitude of the trunk, swing feet, and the way of a walker on many feet."""
        walker, plan, turns, E = self.walker, self.plan, self.walker.turns, self.walker.axes
        add = self.solver.add
        assert self._attitude is not None
        trunk, moves = len(walker.feet), self.viewer.moves
        k = (HEIGHT * self.unit) ** 2
        miss = plan.level + plan.height - view.center[-1]
        lift = k * miss - 2.0 * math.sqrt(k) * view.velocity[-1] - view.drift_center[-1]
        add(CENTER, TRANSLATION, moves[-1:], np.array([lift]), WEIGHTS["height"])
        k = (TRUNK * self.unit) ** 2
        error = attitude_error(self._turned @ self._attitude, view.trunk.rotation)
        upright = k * error - 2.0 * math.sqrt(k) * view.trunk.spin - view.drift[trunk, 3:]
        add(trunk, ROTATION, turns, turns @ upright, WEIGHTS["trunk"])
        if not walker.is_biped:
            push = plan.w**2 * (view.center[:-1] - self._pressure(view)) - view.drift_center[:-1]
            add(CENTER, TRANSLATION, moves[:-1], push, WEIGHTS["center"])
        k = (FOOT * self.unit) ** 2
        for n in plan.moving:
            swing, foot = plan.swings[n], view.feet[n]
            if plan.landed(n):
                reach = -STILL * plan.w * foot.velocity - E @ view.drift[n, :3]
            else:
                reach = swing.acceleration + k * (swing.position - foot.position)
                reach += 2.0 * math.sqrt(k) * (swing.velocity - foot.velocity) - E @ view.drift[n, :3]
            add(n, TRANSLATION, E, reach, WEIGHTS["foot"])
            if walker.has_soles:
                error = attitude_error(self._turned @ self._soles[n], foot.rotation)
                level = k * error - 2.0 * math.sqrt(k) * foot.spin - view.drift[n, 3:]
                add(n, ROTATION, turns, turns @ level, WEIGHTS["level"])

    def _pressure(self, view: View) -> Array:
        """The center of pressure wanted (d - 1,): near that of the plan, between the feet that stand."""
        feet = np.array([view.feet[k].position[:-1] for k in self.plan.stance])
        p = self.plan.support_point + ANKLE * self.plan.error
        return nearest_inside(p, feet.mean(axis=0) + SOLE * (feet - feet.mean(axis=0)))

    def _stance(self, view: View) -> None:
        """Feet that stand come to rest."""
        walker, E, turns, still = self.walker, self.walker.axes, self.walker.turns, STILL * self.plan.w
        for k in self.plan.stance:
            foot = view.feet[k]
            aim = -(E @ view.drift[k, :3]) - still * foot.velocity
            self.solver.add(k, TRANSLATION, E, aim, 0.0 if walker.is_biped else WEIGHTS["stance"])
            if walker.has_soles:
                aim = turns @ (-view.drift[k, 3:] - still * foot.spin)
                self.solver.add(k, ROTATION, turns, aim, 0.0)


def usual_limits(walker: Walker) -> Array:
    """The most torque (n_dof,) by default: the model's own limits, and nowhere more than 0.8 m g L."""
    most = STRONGEST * walker.mechanism.mass * walker.gravity * walker.leg
    limits: Array = np.minimum(effort_limits(walker.mechanism), most)
    return np.where(limits > 0.0, limits, most)


def leaning(up: Array, attitude: Array, present: Array) -> float:
    """Angle (rad) between up and what was up in the trunk in the beginning."""
    was = present @ (attitude.T @ up)
    return math.acos(min(max(float(was @ up), -1.0), 1.0))


def attitude_error(wanted: Array, present: Array) -> Array:
    """Rotation vector (3,) in the world from the present rotation to the wanted one.

    >>> attitude_error(np.eye(3), np.eye(3)).tolist()
    [0.0, 0.0, 0.0]
    """
    R = wanted @ present.T
    sine = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    size = math.sqrt(float(sine @ sine))
    cosine = 0.5 * (R[0, 0] + R[1, 1] + R[2, 2] - 1.0)
    if size < 1e-9:
        return sine
    error: Array = sine * (math.atan2(size, cosine) / size)
    return error


def nearest_inside(p: Array, corners: Array) -> Array:
    """The point of a convex polygon (k, 2), segment or interval (k, 1) that is nearest to p.

    >>> nearest_inside(np.array([2.0, 1.0]), np.array([[0.0, 0.0], [1.0, 0.0]])).tolist()
    [1.0, 0.0]
    """
    if corners.shape[1] == 1:
        return np.clip(p, corners.min(axis=0), corners.max(axis=0))
    middle = corners.mean(axis=0)
    around = corners[np.argsort(np.arctan2(*(corners - middle).T[::-1]))]
    best, distance, inside = around[0], math.inf, len(around) > 2
    for a, b in zip(around, np.roll(around, -1, axis=0), strict=True):
        way = b - a
        s = min(max(float((p - a) @ way) / max(float(way @ way), 1e-12), 0.0), 1.0)
        near = a + s * way
        away = float(np.linalg.norm(p - near))
        if away < distance:
            best, distance = near, away
        inside = inside and float(way[0] * (p - a)[1] - way[1] * (p - a)[0]) >= 0.0
    return p if inside else best
