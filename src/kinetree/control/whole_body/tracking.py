"""A law that follows a predicted gait and keeps its balance by where it puts the feet.

Inverse dynamics with the ground's forces near those predicted, one linear solve per tick. What feet on the
ground cannot correct, the fall about the line between two points, is met by the next foothold: it moves by
the error of the divergent component of motion, grown until touch-down.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.analysis.energy import center_of_mass, momentum
from kinetree.analysis.inverse import bias_torque, mass_matrix
from kinetree.analysis.kinematics import (
    body_accelerations,
    body_velocities,
    forward_kinematics,
    jacobian,
)
from kinetree.analysis.legged_stance import AXES, LeggedStance
from kinetree.control.sampled import ContactReading
from kinetree.control.whole_body.law import Demand, WholeBodyLaw
from kinetree.control.whole_body.reference import (
    Motion,
    PointReference,
    Timing,
    Wanted,
    point_motion,
    points_of,
)
from kinetree.control.whole_body.solver import Contacts, LeastSquares
from kinetree.control.whole_body.task import LawTask, TaskRows
from kinetree.errors import StopSimulation
from kinetree.verdicts.margins import FALLEN_HEIGHT, FALLEN_TILT

TRUNK, SWING, JOINTS = 5.0, 8.0, 5.0  # bandwidths, in sqrt(g / leg)
SWAY = 2.0  # bandwidth of the trunk's way over the ground on two feet, in sqrt(g / height)
ALONG = 0.1  # weight of the trunk's place over the ground, where height and attitude weigh 1
SWINGS = 2.0  # weight of swinging feet
FORCES = 1e-3  # weight of forces beyond those predicted, relative to the mass
POSTURE = 1e-3  # weight of the joints' motion
HOLDS = 10.0  # sqrt(g / height): rate at which feet on the ground come to rest
FELT = 0.03  # of the weight: a foot that carries so much has touched down
EARLY = 0.6  # of the swing, from which on a touch counts
DROP = 0.3  # sqrt(g leg): speed at which a late foot goes on down at most
LATE = {True: 1.5, False: 1.0}  # g: acceleration with which it does, of many feet and of one or two
AHEAD = 0.08  # sqrt(leg / g): how long before touch-down one of one or two feet begins to
REACH = 0.3  # of the leg: how far footholds move at most
RETURNS, MOST = 0.3, 0.05  # of the way, of the leg: footholds return to those predicted, as feet creep
SUPPORT = 0.5  # of the extent of the feet on the ground: what shifting the weight between them corrects
SMALL, SOFT = 1e-9, 1e-10  # price of accelerations, softness of equations


class Following(WholeBodyLaw):
    """The law that tracks a predicted motion, called once per tick with the state and forces on the feet."""

    along = ALONG
    flying = 1.0  # weight of the trunk's attitude in flight

    def __init__(
        self, who: LeggedStance, wanted: Motion, timing: Timing, most: Array, tasks: Sequence[LawTask] = ()
    ) -> None:
        """``most`` (n_dof,): the largest torques, infinite without a limit; ``tasks``: further ones."""
        self.who, self.wanted, self.timing = who, wanted, timing
        names = who.mechanism.joint_names
        held = who.held if who.flat else ()
        self._moving = np.array([j for j, x in enumerate(names) if x not in held])
        self._root = np.array([j for j, x in enumerate(names) if x in who.root and x not in held])
        self._up = AXES.index(who.up)
        self._flat = [i for i in range(3) if i != self._up]
        self._axes = [i for i in range(3) if not (who.flat and AXES[i] == who.across)]
        self._slides = {i: who.mechanism.joint_index(who.slides(AXES[i])) for i in self._axes}
        self._points = points_of(who)
        self._owner = np.array([who.feet.index(foot) for foot, _ in self._points])
        self._rows = self._held_rows()
        g = float(np.linalg.norm(who.mechanism.gravity))
        self._unit, self._rate = float(np.sqrt(g * who.leg)), float(np.sqrt(g / who.leg))
        rows = self.wanted.rows
        height = float((rows.com[:, self._up] - rows.points.p[..., self._up].min()).mean())
        self._growth = float(np.sqrt(g / height))
        many = len(who.feet) > 2  # footholds of bipeds serve their balance alone
        self._fall = LATE[many] * g
        self._ahead = 0.0 if many else AHEAD / self._rate
        self._returns = RETURNS if many else 0.0
        self._sway = TRUNK * self._rate if many else SWAY * self._growth
        self._rolls = many and any(foot.radius for foot in who.feet)
        light = FORCES / who.mechanism.mass**2
        solver = LeastSquares(self._moving, len(self._root), SMALL, light, SOFT)
        super().__init__(who.mechanism, solver, most, tasks)
        self.reset()

    def _held_rows(self) -> list[list[tuple[int, int]]]:
        """Of every foot the points, among all, and axes that say where it is."""
        found, first = [], 0
        for foot in self.who.feet:
            rows = self.who.held_rows(foot, aside=not self.who.flat)
            found.append([(first + j, AXES.index(axis)) for j, axis in rows])
            first += len(foot.points)
        return found

    def reset(self) -> None:
        """Begin once more."""
        feet = len(self.who.feet)
        self._left = np.zeros((feet, 3))  # by how much each foot was off as it left the ground
        self._shift = np.zeros((feet, 3))  # of the next foothold
        self._rolled = np.zeros((feet, 3))  # by how much balls on the ground have rolled since touch-down
        self._before: float | None = None  # time of the last tick
        self._was_on = np.ones(feet, dtype=bool)
        self._due = np.ones(feet, dtype=bool)  # by the prediction on the ground
        self._touched = np.ones(feet, dtype=bool)
        self.share = self.shifted = 0.0
        self._fell: float | None = None

    @property
    def footholds(self) -> Array:
        """By how much the last and next footholds are moved from those predicted (feet, 3) (m)."""
        return self._shift.copy()

    def walked(self) -> tuple[bool, str]:
        """Whether the robot is on its feet, and what there is to say of its walk."""
        moved = f"footholds moved by {1e3 * self.shifted:.0f} mm at most to keep its balance"
        if self._fell is None:
            return True, f"the robot is on its feet; {moved}"
        return False, f"the robot fell at t = {self._fell:.3g} s while following a predicted motion; {moved}"

    def settings(self) -> dict[str, Any]:
        """What results keep of it."""
        return self.timing.settings()

    def statistics(self) -> dict[str, float]:
        """The largest share of a torque limit, and how far a foothold was moved at most (m)."""
        return {"torque_share": self.share, "foothold_moved": self.shifted}

    @override
    def plan(self, t: float, q: Array, qd: Array, contact: ContactReading, more: TaskRows) -> Demand:
        """The motion of trunk, joints and swinging feet, feet at rest on the ground, and their forces."""
        who, wanted = self.who, self.wanted.at(t)
        now = point_motion(who, q, qd, np.zeros(len(q)))
        felt = self._felt(contact)
        since, left = self.timing.phase(t)
        self._due = left < 0.0
        on = self._on_ground(felt, since, left)
        touching = self._touching(t, q, qd, now, on)
        support = self._support(t, now, wanted, on)
        self._check_upright(t, q, wanted, support)
        goals = self._goals(q, qd, wanted, now, on, since, left, support)
        J = self._jacobians(q, on)
        tasks = [self._tasks(q, qd, wanted, now, on, support, goals, J), self._resting(on, touching, J)]
        M, h = mass_matrix(who.mechanism, q), bias_torque(who.mechanism, q, qd)
        return Demand(M, h, TaskRows.joined(tasks, len(q)), self._contacts(wanted, on, J))

    @override
    def note(self, t: float, contact: ContactReading, qdd: Array, tau: Array) -> None:
        """Remember the largest share of a torque limit."""
        limited = np.clip(tau, -self.most, self.most)
        finite = np.isfinite(self.most) & (self.most > 0.0)
        self.share = max(self.share, float((np.abs(limited[finite]) / self.most[finite]).max(initial=0.0)))

    def _on_ground(self, felt: Array, since: Array, left: Array) -> Any:
        """Which feet stand: from the touch late in a swing, or after it, until they are to leave."""
        touches = (felt > FELT) & ((left < 0.0) | (since > EARLY))
        self._touched = touches | (self._touched & ((left < 0.0) | (since > EARLY)))
        return self._touched

    # ---- where feet are and should be ----------------------------------------------------------------------
    def _felt(self, contact: ContactReading) -> Array:
        """How much every foot carries, relative to the weight."""
        found = np.zeros(len(self.who.feet))
        for k, foot in enumerate(self.who.feet):
            for name in [x.name for x in self.who.mechanism.contact_points if x.body == foot.body]:
                found[k] += contact.of(name)[self._up] / self.who.weight
        return found

    def _touching(self, t: float, q: Array, qd: Array, now: PointReference, on: Any) -> PointReference:
        """Motion of the points that touch the ground: below the centers of balls, which roll.

        A ball on the ground moves on by its radius times the angle; v + w x r = 0 is held, not v = 0.
        """
        p, v, a = (x.copy() for x in now)
        passed = 0.0 if self._before is None else t - self._before
        self._before = t
        if not self._rolls:
            return now
        mechanism, up = self.who.mechanism, np.eye(3)[self._up]
        rates = body_velocities(mechanism, q, qd)
        changes = body_accelerations(mechanism, q, qd, np.zeros(len(q)))
        for k, foot in enumerate(self.who.feet):
            b, own, down = mechanism.body_index(foot.body), self._owner == k, -foot.radius * up
            rolls = np.cross(rates[b, 3:], down)
            self._rolled[k] = self._rolled[k] - passed * rolls if on[k] else 0.0
            if on[k]:
                p[own] += down
                v[own] += rolls
                a[own] += np.cross(changes[b, 3:], down)
        return PointReference(p, v, a)

    def _support(self, t: float, now: PointReference, wanted: Wanted, on: Any) -> Array:
        """By how much (3,) feet on the ground are elsewhere than predicted.

        Each point counts by the force that it should carry once the feet that are about to leave have left.
        """
        later = self.wanted.at(t + self.timing.overlap).force[:, self._up]
        carries = np.where(on[self._owner], np.maximum(later, 0.0), 0.0)
        total = float(carries.sum())
        if total <= 0.0:
            return np.zeros(3)
        found: Array = carries @ (now.p - self._rolled[self._owner] - wanted.points.p) / total
        return found

    def _off(self, q: Array, qd: Array, wanted: Wanted, support: Array) -> tuple[Array, Array]:
        """How far the center of mass is off along the ground, and how fast it goes there, (3,) each."""
        mechanism = self.who.mechanism
        c, v = center_of_mass(mechanism, q), momentum(mechanism, q, qd)[:3] / mechanism.mass
        place, rate = c - wanted.com - support, v - wanted.com_rate
        place[self._up] = rate[self._up] = 0.0
        return place, rate

    def _error(self, place: Array, rate: Array, wanted: Wanted, now: PointReference) -> Array:
        """The error (3,) of the divergent component of motion that feet on the ground cannot correct (m)."""
        e = place + rate / self._growth
        carries = wanted.force[:, self._up] > FELT * self.who.weight
        places = now.p[carries][:, self._flat]
        if not len(places):
            return e
        way = places - places.mean(axis=0)
        _, axes = np.linalg.eigh(way.T @ way)
        sizes = np.abs(way @ axes).max(axis=0)
        along = e[self._flat] @ axes
        e[self._flat] = axes @ (np.sign(along) * np.maximum(np.abs(along) - SUPPORT * sizes, 0.0))
        return e

    def _goals(
        self,
        q: Array,
        qd: Array,
        wanted: Wanted,
        now: PointReference,
        on: Any,
        since: Array,
        left: Array,
        support: Array,
    ) -> PointReference:
        """Where contact points should be, how fast, with what acceleration: of feet that swing."""
        place, rate = self._off(q, qd, wanted, support)
        error = self._error(place, rate, wanted, now)
        p, v, a = (x.copy() for x in wanted.points)
        swing = self.timing.swing
        for k in range(len(self.who.feet)):
            own = self._owner == k
            if left[k] < 0.0:  # on the ground, or late
                self._was_on[k] = True
                p[own] += self._shift[k]
                if not on[k]:
                    self._lower(p, v, a, own, self._ahead - float(left[k]))
                continue
            if self._was_on[k]:
                self._was_on[k] = False
                self._left[k] = (now.p[own] - p[own]).mean(axis=0)
            self._shift[k] = self._foothold(place, rate, error, support, float(left[k]))
            s = float(np.clip(since[k], 0.0, 1.0))
            part = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
            pace = 30.0 * s**2 * (1.0 - s) ** 2 / swing
            bend = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / swing**2
            way = self._shift[k] - self._left[k]
            p[own] += self._left[k] + part * way
            v[own] += pace * way
            a[own] += bend * way
            if left[k] < self._ahead and not on[k]:
                self._lower(p, v, a, own, self._ahead - float(left[k]))
        return PointReference(p, v, a)

    def _lower(self, p: Array, v: Array, a: Array, own: Any, since: float) -> None:
        """Let a foot go on down, ever faster: set off at once, a heavy leg would pull the trunk along."""
        most, up = DROP * self._unit, self._up
        full = most / self._fall  # s, until it is as fast as it gets
        speeding = since < full
        p[own, up] -= 0.5 * self._fall * since**2 if speeding else most * (since - 0.5 * full)
        v[own, up] -= self._fall * since if speeding else most
        a[own, up] -= self._fall if speeding else 0.0

    def _foothold(self, place: Array, rate: Array, error: Array, support: Array, left: float) -> Array:
        """By how much (3,) the foothold ``left`` seconds from now moves from the one predicted."""
        grown = self._reachable(error * np.exp(self._growth * left))
        back = self._back(support)
        found: Array = support + grown - back
        return found

    def _reachable(self, way: Array) -> Array:
        """A way (3,) along the ground, no longer than a leg allows."""
        size = float(np.linalg.norm(way))
        self.shifted = max(self.shifted, min(size, REACH * self.who.leg))
        found: Array = way * min(1.0, REACH * self.who.leg / max(size, 1e-9))
        return found

    def _back(self, away: Array) -> Array:
        """The part of a way (3,) along the ground that a foothold returns."""
        size = float(np.linalg.norm(away[self._flat]))
        back: Array = min(self._returns, MOST * self.who.leg / max(size, 1e-9)) * away
        back[self._up] = 0.0
        return back

    def _check_upright(self, t: float, q: Array, wanted: Wanted, support: Array) -> None:
        up = self._slides[self._up]
        turns = [self.who.mechanism.joint_index(x) for x in self.who.turns]
        tilt = float(np.abs(q[turns] - wanted.q[turns]).max(initial=0.0))
        if q[up] - support[self._up] < FALLEN_HEIGHT * wanted.q[up] or tilt > FALLEN_TILT:
            self._fell = t
            raise StopSimulation(self.walked()[1])

    # ---- accelerations, forces, torques --------------------------------------------------------------------
    def _contacts(self, wanted: Wanted, on: Any, J: Array) -> Contacts:
        """The ground's forces on the points that touch it, near those predicted.

        A foot that touches early comes to rest, but nothing counts on its force before it is due: it bounces.
        """
        touching = [i for i in range(len(self._points)) if on[self._owner[i]]]
        pushing = [i for i in touching if self._due[self._owner[i]]] or touching
        places = [(i, axis) for i in pushing for axis in self._axes]
        rows = np.array([J[place] for place in places]).reshape(len(places), J.shape[-1])
        usual = np.array([wanted.force[place] for place in places])
        point = np.array([i for i, _ in places], np.int64)
        return Contacts(rows, usual, point, np.array([axis == self._up for _, axis in places], bool))

    def _resting(self, on: Any, now: PointReference, J: Array) -> TaskRows:
        """Equations: points of feet on the ground come to rest."""
        held = sorted({place for foot, places in enumerate(self._rows) if on[foot] for place in places})
        aims = [-HOLDS * self._growth * now.v[place] - now.a[place] for place in held]
        rows = np.array([J[place] for place in held]).reshape(len(held), J.shape[-1])
        return TaskRows(rows, np.array(aims), np.zeros(len(held)))

    def _jacobians(self, q: Array, on: Any) -> Array:
        """Of the contact points (points, 3, n_dof); of balls on the ground the points where they touch."""
        mechanism, up = self.who.mechanism, np.eye(3)[self._up]
        poses, found = forward_kinematics(mechanism, q), []
        for i, (foot, point) in enumerate(self._points):
            if self._rolls and on[self._owner[i]]:
                point = point - foot.radius * (poses[foot.body][0].T @ up)
            found.append(jacobian(mechanism, q, foot.body, point)[:3])
        return np.stack(found)

    def _tasks(
        self,
        q: Array,
        qd: Array,
        wanted: Wanted,
        now: PointReference,
        on: Any,
        support: Array,
        goals: PointReference,
        J: Array,
    ) -> TaskRows:
        """The motion of trunk, joints and swinging feet.

        Where the trunk should be moves with the feet, and jumps when one lands elsewhere than predicted. On
        two feet its velocity is right for that foothold then, its place not yet: followed stiffly, the jump
        pulls the foot behind off the ground. With the bandwidth 2 w, nothing is asked of a trunk whose
        divergent component x + x' / w is right.
        """
        n, m = len(q), self._moving
        sliding = {j: i for i, j in self._slides.items()}
        rows, sides, weights = [], [], []
        for j in m:
            is_root = j in self._root
            e = wanted.q[j] - q[j] + (support[sliding[j]] if j in sliding else 0.0)
            along = j in sliding and sliding[j] != self._up
            rate = self._sway if along else (TRUNK if is_root else JOINTS) * self._rate
            rows.append(np.eye(n)[j])
            sides.append(wanted.qdd[j] + rate**2 * e + 2.0 * rate * (wanted.qd[j] - qd[j]))
            flies = is_root and not on.any()  # in flight nothing moves the center of mass
            free = 0.0 if j in sliding else self.flying
            weights.append((free if flies else self.along if along else 1.0) if is_root else POSTURE)
        k = (SWING * self._rate) ** 2
        for foot, held in enumerate(self._rows):
            if on[foot]:
                continue
            for i, axis in held:
                e, ed = goals.p[i, axis] - now.p[i, axis], goals.v[i, axis] - now.v[i, axis]
                rows.append(J[i, axis])
                sides.append(goals.a[i, axis] + k * e + 2.0 * np.sqrt(k) * ed - now.a[i, axis])
                weights.append(SWINGS)
        counts = np.array(weights) > 0.0  # without a weight they would be equations
        return TaskRows(np.array(rows)[counts], np.array(sides)[counts], np.array(weights)[counts])
