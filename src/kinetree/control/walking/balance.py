"""The law of a walk with its memory: tables of the robot, and one call of machine code per tick."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.analysis.inverse import bias_torque, mass_matrix
from kinetree.analysis.legs import Legged
from kinetree.control.sampled import ContactReading
from kinetree.control.structure import effort_limits
from kinetree.control.walking.command import Command
from kinetree.control.walking.diary import Diary
from kinetree.control.walking.stepping import GaitNumbers
from kinetree.control.whole_body.compiled.least_squares import ROW
from kinetree.control.whole_body.compiled.look import COORDINATE, MASS, MOMENT, RATIO, ROTATES, WIDTH
from kinetree.control.whole_body.compiled.memory import new_bodies, new_walk
from kinetree.control.whole_body.compiled.tasks import BUSY, ON_POSTURE, SMALL_ACCELERATION, SMALL_FORCE, SOFT
from kinetree.control.whole_body.compiled.tick import compiled_note, compiled_plan
from kinetree.control.whole_body.law import Demand, WholeBodyLaw
from kinetree.control.whole_body.solver import Contacts, LeastSquares
from kinetree.control.whole_body.task import LawTask, TaskRows
from kinetree.dynamics.coupling import all_axes, all_rates
from kinetree.dynamics.evaluate import evaluate, one_state
from kinetree.errors import InputError, StopSimulation
from kinetree.kernels.kinematics import KINEMATICS
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Integers, Tree

STRONGEST = 0.8  # torque, in m g L
NEGLIGIBLE = 1e-9  # relative: rows of tasks move no joint whose coefficients are smaller, which are rounding


def axis_table(mechanism: Mechanism) -> Array:
    """A row for each axis (n, 7): coordinate (-1: none), ratio, whether it rotates, mass, first moment."""
    tree = mechanism.tree
    table = np.zeros((tree.n, WIDTH))
    table[:, COORDINATE], table[:, RATIO] = np.arange(tree.n), 1.0
    if tree.coupling is not None:
        matrix = tree.coupling.matrix
        place = np.abs(matrix).argmax(axis=1)
        ratio = matrix[np.arange(tree.n), place]
        table[:, COORDINATE], table[:, RATIO] = np.where(ratio != 0.0, place, -1), ratio
    table[:, ROTATES], table[:, MASS], table[:, MOMENT:] = tree.turns, tree.mass, tree.first_moment
    return table


def paths(walker: Legged) -> Array:
    """Flags (bodies, n): which axes move each foot and the trunk, which comes last."""
    tree = walker.mechanism.tree
    flags = np.zeros((len(walker.feet) + 1, tree.n))
    for row, name in zip(flags, [*(foot.body for foot in walker.feet), walker.trunk], strict=True):
        axis = int(tree.body_axis[walker.mechanism.body_index(name)])
        while axis >= 0:
            row[axis] = 1.0
            axis = int(tree.parent[axis])
    return flags


def body_table(walker: Legged, bodies: Any) -> Any:
    """Fill in what does not change of feet and trunk."""
    mechanism, tree = walker.mechanism, walker.mechanism.tree
    for k, foot in enumerate(walker.feet):
        record = bodies[k]
        _carry(tree, record, mechanism.body_index(foot.body), foot.point)
        hip = mechanism.body_index(foot.hip)
        record["hip_axis"], record["hip_point"] = tree.body_axis[hip], tree.body_position[hip]
        record["radius"], record["group"] = foot.radius, int(k in walker.groups[1])
        record["low"] = foot.points.min(axis=0) - foot.point
        record["high"] = foot.points.max(axis=0) - foot.point
    _carry(tree, bodies[-1], mechanism.body_index(walker.trunk), np.zeros(3))
    return bodies


def _carry(tree: Tree, record: Any, body: int, point: Array) -> None:
    """The axis of a body, and where the body and its point are in the frame of the axis."""
    record["axis"], record["turn"] = tree.body_axis[body], tree.body_rotation[body]
    record["point"] = tree.body_position[body] + tree.body_rotation[body] @ point


class Balance(WholeBodyLaw):
    """The law of :class:`WalkingLaw` with its memory: it steps at a speed, called once per tick."""

    def __init__(
        self,
        walker: Legged,
        gait: GaitNumbers,
        most: Array | None = None,
        wanted: Command | None = None,
        late: tuple[int, float] = (0, 0.0),
        tasks: Sequence[LawTask] = (),
    ) -> None:
        """``late``: how many ticks pass before a torque acts, and the period (s)."""
        prices = SMALL_ACCELERATION, SMALL_FORCE / (0.1 * walker.mechanism.mass), SOFT
        solver = LeastSquares(walker.moving, walker.n_base, *prices)
        most = usual_limits(walker) if most is None else most
        super().__init__(walker.mechanism, solver, np.array(most, float), tasks)
        self.walker, self.gait, self.late = walker, gait, late
        self.asked = Command(None, 0.0) if wanted is None else wanted
        self._compiled, self._noted = compiled_plan(), compiled_note()
        mechanism, n, feet = walker.mechanism, walker.mechanism.n_dof, len(walker.feet)
        inside = {mechanism.joint_index(name) for foot in walker.feet for name in foot.joints}
        others = [k for k in walker.moving[walker.n_base :] if k not in inside]
        rows, forces = 8 + 6 * feet + n, 3 * feet + 1
        axes, moves = np.zeros((3, 3)), np.zeros((3, 3))
        d = len(walker.axes)
        kept = [0, 2] if walker.is_planar else [0, 1, 2]
        axes[kept] = walker.axes
        moves[kept, :d] = walker.slides[:, :d] / mechanism.mass
        self._legs = np.array([k in inside for k in range(n)], np.int64)
        self._rest = np.zeros(mechanism.tree.n)
        self._others, self._posture = np.array(others, np.int64), np.full((2, len(others)), ON_POSTURE)
        self._fixed = (
            axes, moves, axes @ mechanism.gravity, np.ascontiguousarray(walker.turns, float),
            np.ascontiguousarray(walker.moving, np.int64), axis_table(mechanism), paths(walker),
            self._others, self._posture,
        )  # fmt: skip
        self._jacobians, self._rows = np.zeros((feet + 1, 6, n)), np.zeros((rows, ROW))
        self._pushes, self._usual = np.zeros((forces, n)), np.zeros(forces)
        self._room = np.zeros((9, max(n, 3)))
        self._places: dict[tuple[str, ...], Integers] = {}
        self.reset()

    def reset(self) -> None:
        """Begin a new walk."""
        walker, n = self.walker, self.walker.mechanism.n_dof
        g, L, gait = walker.gravity, walker.leg, self.gait
        self._walk, self._bodies = new_walk(), body_table(walker, new_bodies(len(walker.feet) + 1))
        self._speed = speed = gait.speed * math.sqrt(g * L)
        given: dict[str, Any] = {
            "mass": walker.mechanism.mass, "gravity": g, "leg": L, "step_time": gait.step_time,
            "clearance": gait.clearance * L, "speed": speed, "command": speed, "rate": 1.0,
            "width": max(gait.width * L, walker.hip_width) if walker.is_biped else 0.0,
            "in_plane": walker.is_planar, "biped": walker.is_biped, "soles": walker.has_soles,
            "sideways": walker.steps_sideways,
            "feet": len(walker.feet), "n": len(walker.moving), "n_base": walker.n_base,
            "others": len(self._others),
        }  # fmt: skip
        for name, value in given.items():
            self._walk[name] = value
        self.diary = Diary(walker)
        self._coming = deque((np.zeros(n) for _ in range(self.late[0])), self.late[0])

    @property
    def walk(self) -> Any:
        """The record of the walk at the last tick; its fields are those of `compiled.memory.WALK`."""
        return self._walk[0]

    @property
    def feet(self) -> Any:
        """Records of the feet at the last tick; their fields are those of `compiled.memory.BODY`."""
        return self._bodies[: len(self.walker.feet)]

    @property
    def steps(self) -> int:
        """Steps walked."""
        return int(self._walk["steps"][0])

    @override
    def plan(self, t: float, q: Array, qd: Array, contact: ContactReading, more: TaskRows) -> Demand:
        """Rows of the tasks of walking, and the forces on the feet that stand."""
        mechanism = self.walker.mechanism
        if self.tasks:
            size = np.abs(more.coefficients)
            moved = (size[:, self._others] > NEGLIGIBLE * size.max(initial=0.0)).any(axis=0)
            self._posture[1] = np.where(moved, BUSY * ON_POSTURE, ON_POSTURE)
        M, h = mass_matrix(mechanism, q), bias_torque(mechanism, q, qd)
        self._compiled(
            self._walk, self._bodies, t, self.asked.speed_at(t, self._speed), self.asked.heading_at(t), q, qd,
            M, h, self._kinematics(q, qd), np.array(contact.force), self._feet_of(contact), *self._fixed,
            self._jacobians, self._rows, self._pushes, self._usual, self._room,
        )  # fmt: skip
        m, k = int(self.walk["rows"]), int(self.walk["forces"])
        free = np.zeros(k, np.int64), np.zeros(k, bool)  # the sizes of these forces are not limited
        contacts = Contacts(self._pushes[:k], self._usual[:k], *free)
        return Demand(M, h, None, contacts, self._jacobians, self._rows[:m])

    @override
    def note(self, t: float, contact: ContactReading, qdd: Array, tau: Array) -> None:
        """Write the diary; the motion ends where the robot has fallen."""
        self._noted(
            self._walk, self._bodies, np.array(contact.velocity), self._feet_of(contact), tau, self.most,
            self._legs,
        )  # fmt: skip
        if self.late[0]:
            accelerations = np.zeros(len(tau))
            accelerations[self.walker.moving] = qdd
            self._coming.append(accelerations)
        if self.diary.has_fallen(t, self.walk):
            raise StopSimulation(str(self.diary.explanation()))
        self.diary.note(t, self.walk, tau, self.most)

    def walked(self) -> tuple[bool, str]:
        """Whether the robot is on its feet, and what there is to say of its walk."""
        why = self.diary.explanation()
        if why is not None:
            return False, why
        return True, f"the robot walked {self.diary.steps} steps and stands on its feet"

    def statistics(self) -> dict[str, float]:
        """Steps walked, and the largest share of a torque limit that was used."""
        return self.diary.statistics()

    # ---- helpers -----------------------------------------------------------------------------------------
    @override
    def foreseen(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """The state when the torque will act: moved on by the accelerations that are under way."""
        q, qd = np.array(q, float), np.array(qd, float)
        for qdd in self._coming:
            qd = qd + self.late[1] * qdd
            q = q + self.late[1] * qd
        return q, qd

    def _kinematics(self, q: Array, qd: Array) -> Array:
        """Poses, velocities and accelerations of all axes without accelerations of the joints, flat."""
        tree = self.walker.mechanism.tree
        state = [all_axes(tree, q), all_rates(tree, qd), self._rest]
        found = one_state(KINEMATICS, tree, state)
        if found is not None:
            flat: Array = found.ravel()
            return flat
        return np.concatenate(evaluate(KINEMATICS, tree, state, [12 * tree.n, 6 * tree.n, 6 * tree.n]))

    def _feet_of(self, contact: ContactReading) -> Integers:
        """Which foot each contact point belongs to; -1 for none."""
        found = self._places.get(contact.names)
        if found is None:
            if not contact.names:
                raise InputError("a walking law needs a ground to measure contact forces")
            owner = {x: k for k, foot in enumerate(self.walker.feet) for x in foot.contact_points}
            found = np.array([owner.get(name, -1) for name in contact.names], np.int64)
            self._places = {contact.names: found}
        return found


def usual_limits(walker: Legged) -> Array:
    """The most torque (n_dof,) by default: the model's own limits, and nowhere more than 0.8 m g L."""
    most = STRONGEST * walker.mechanism.mass * walker.gravity * walker.leg
    limits: Array = np.minimum(effort_limits(walker.mechanism), most)
    return np.where(limits > 0.0, limits, most)
