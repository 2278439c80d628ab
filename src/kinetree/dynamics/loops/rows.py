"""The rows of constraints that cut joints stand for: gaps, Jacobian, acceleration bias.

A cut joint ties frame A of one body to frame B of another. With the relative position d of B's origin and the
relative rotation R, both seen from frame A, every kind of joint is a list of scalar rows of three types:

| type | gap | meaning |
|---|---|---|
| POINT | e . d | B's origin does not move along e |
| DIRECTION | e . R f - c | the angle between e (fixed in A) and f (fixed in B) is kept |
| ROD | (d . d - l^2) / (2 l) | the distance is l |

Rows are written in the frame of A and at the point of B on both bodies, so that bodies which carry the whole
loop drop out exactly, also while it is not assembled.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.rotation import cross
from kinetree.dynamics.axis_motion import AxisMotion, axis_motion
from kinetree.model.body import WORLD
from kinetree.model.loop import Loop
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Integers, Tree

POINT, DIRECTION, ROD = range(3)
X, Y, Z = np.eye(3)


class Row(NamedTuple):
    """One scalar constraint: its type, e in frame A, f in frame B, and the constant (cosine or length)."""

    type: int
    e: Array
    f: Array
    constant: float


def cut_rows(loop: Loop) -> list[Row]:
    """The rows of a cut joint, from its axes: 6 less its degrees of freedom."""
    joint = loop.joint
    if loop.length is not None:
        return [Row(ROD, Z, Z, loop.length)]
    turning = [axis for axis, turn in zip(joint.axes, joint.turns, strict=True) if turn]
    sliding = [axis for axis, turn in zip(joint.axes, joint.turns, strict=True) if not turn]
    held = [X, Y, Z] if not sliding else _complement(np.array(sliding))
    rows = [Row(POINT, np.asarray(e), Z, 0.0) for e in held]
    if not turning:
        return rows + [Row(DIRECTION, a, b, 0.0) for a, b in ((X, Y), (Y, Z), (Z, X))]
    if len(turning) == 1:
        (axis,) = turning
        return rows + [Row(DIRECTION, np.asarray(e), axis, 0.0) for e in _complement(axis[None])]
    if len(turning) == 2:
        return [*rows, Row(DIRECTION, turning[0], turning[1], float(turning[0] @ turning[1]))]
    return rows


def _complement(directions: Array) -> Array:
    """Unit vectors perpendicular to the directions and to each other."""
    _, size, rows = np.linalg.svd(directions)
    rank = int((size > 1e-9).sum())
    complement: Array = rows[rank:]
    return complement


@dataclass(frozen=True, eq=False)
class CutMotion:
    """Where the frames of the cut joints are, and how B moves as seen from A; world axes, (..., loops, 3)."""

    R_A: Array
    R_B: Array
    D: Array  # from A's origin to B's
    x_B: Array
    Dv: Array  # relative velocity of B's origin
    Da: Array  # relative acceleration of B's origin
    w: Array  # relative angular velocity
    wd: Array  # relative angular acceleration


class LoopRows:
    """The constraints of all loops of a mechanism over the axes of its tree; prepared once."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism, self.tree = mechanism, mechanism.tree
        self.loops = mechanism.loops
        places = [_on_axes(mechanism, loop) for loop in self.loops]
        self.axis_A = np.array([a.axis for a, _ in places], dtype=np.int64)
        self.axis_B = np.array([b.axis for _, b in places], dtype=np.int64)
        self.rotation_A, self.rotation_B = (np.array([x[k].rotation for x in places]) for k in (0, 1))
        self.position_A, self.position_B = (np.array([x[k].position for x in places]) for k in (0, 1))
        self._take([(k, row) for k, loop in enumerate(self.loops) for row in cut_rows(loop)])

    def _take(self, rows: Sequence[tuple[int, Row]]) -> None:
        self.loop_of_row: Integers = np.array([k for k, _ in rows], dtype=np.int64)
        self.type = np.array([row.type for _, row in rows])
        self.e, self.f = np.array([row.e for _, row in rows]), np.array([row.f for _, row in rows])
        self.constant = np.array([row.constant for _, row in rows])

    def of_rows(self, rows: Sequence[tuple[int, Row]]) -> LoopRows:
        """Other rows between the frames of the cut joints: pairs of a loop's number and a row."""
        other = copy(self)
        other.__dict__.pop("entries", None)
        other._take(rows)
        return other

    @property
    def n_rows(self) -> int:
        """How many scalar constraints there are, redundant ones included."""
        return len(self.type)

    @cached_property
    def sign(self) -> Array:
        """(loops, axes): 1 where an axis moves B and not A, -1 where it moves A and not B, else 0."""
        return np.array(
            [
                _moves(self.tree, b) - _moves(self.tree, a)
                for a, b in zip(self.axis_A, self.axis_B, strict=True)
            ]
        )

    @cached_property
    def carriers(self) -> Array:
        """(loops, bodies): 1 where a body's joint carries the loop's body a and not b, -1 the other way."""
        return np.array(
            [_path(self.mechanism, x.body_a) - _path(self.mechanism, x.body_b) for x in self.loops]
        )

    def row_names(self) -> list[str]:
        """The loop's name for every row."""
        return [self.loops[k].name for k in self.loop_of_row]

    # ---- kinematics ----------------------------------------------------------------------------------
    def motion(self, q: Array, qd: Array | None = None, qdd: Array | None = None) -> AxisMotion:
        """Motion of all axes; arguments (..., axes), zero rates if not given."""
        rest = np.zeros(self.tree.n)
        return axis_motion(self.tree, q, rest if qd is None else qd, rest if qdd is None else qdd)

    def cut_motion(self, motion: AxisMotion) -> CutMotion:
        """The cut frames in a motion of the axes."""
        R_A, x_A, v_A, w_A, a_A, wd_A = _frame(motion, self.axis_A, self.rotation_A, self.position_A)
        R_B, x_B, v_B, w_B, a_B, wd_B = _frame(motion, self.axis_B, self.rotation_B, self.position_B)
        D = x_B - x_A
        Dv = v_B - v_A - cross(w_A, D)
        Da = a_B - a_A - cross(wd_A, D) - cross(w_A, cross(w_A, D)) - 2.0 * cross(w_A, Dv)
        return CutMotion(R_A, R_B, D, x_B, Dv, Da, w_B - w_A, wd_B - wd_A - cross(w_A, w_B))

    def directions(self, cut: CutMotion) -> tuple[Array, Array, Array, Array]:
        """For every row: e and f in world axes, and the force F and moment N of a unit multiplier on B."""
        k, type_ = self.loop_of_row, self.type[:, None]
        e = _turned(cut.R_A[..., k, :, :], self.e)
        f = _turned(cut.R_B[..., k, :, :], self.f)
        rod = cut.D[..., k, :] / np.where(type_ == ROD, self.constant[:, None], 1.0)
        F = np.where(type_ == POINT, e, np.where(type_ == ROD, rod, 0.0))
        N = np.where(type_ == DIRECTION, cross(f, e), 0.0)
        return e, f, F, N

    def gap(self, cut: CutMotion) -> Array:
        """How far the loops are from closed, (..., rows): m, or sines of angles."""
        e, f, _, _ = self.directions(cut)
        D, length = cut.D[..., self.loop_of_row, :], np.where(self.type == ROD, self.constant, 1.0)
        along = (e * D).sum(axis=-1)
        angle = (e * f).sum(axis=-1) - self.constant
        distance = ((D * D).sum(axis=-1) - length**2) / (2.0 * length)
        gap: Array = np.where(self.type == POINT, along, np.where(self.type == DIRECTION, angle, distance))
        return gap

    def facing(self, cut: CutMotion) -> Array:
        """For each loop, (..., loops): negative where it is closed, but turned by half a turn.

        Directions are kept by cosines that vanish, which they do the other way round, too. Returns the cosine
        between the axes of a joint that turns about one, or (tr R - 1) / 2 of one that does not turn.
        """
        R = np.swapaxes(cut.R_A, -1, -2) @ cut.R_B
        facing = np.ones(R.shape[:-2])
        for k, loop in enumerate(self.loops):
            axes = [axis for axis, turn in zip(loop.joint.axes, loop.joint.turns, strict=True) if turn]
            if not axes:
                facing[..., k] = (np.trace(R[..., k, :, :], axis1=-2, axis2=-1) - 1.0) / 2.0
            elif len(axes) == 1:
                facing[..., k] = axes[0] @ R[..., k, :, :] @ axes[0]
        return facing

    @cached_property
    def entries(self) -> tuple[Integers, Integers, Array, Integers, Integers]:
        """Pairs of a loop and an axis that moves one side: loop, axis, sign; row and pair of entries."""
        loop, axis = np.nonzero(self.sign)
        first = np.searchsorted(loop, np.arange(len(self.loops) + 1))
        pairs = [np.arange(first[k], first[k + 1]) for k in self.loop_of_row]
        row = np.repeat(np.arange(self.n_rows), [len(some) for some in pairs])
        pair = np.concatenate(pairs) if pairs else np.zeros(0, dtype=np.int64)
        return loop, axis, self.sign[loop, axis], row, pair

    def jacobian_entries(self, motion: AxisMotion, cut: CutMotion) -> tuple[Integers, Integers, Array]:
        """Rows, axes and values (..., entries) of J where it is not zero by structure."""
        _, _, F, N = self.directions(cut)
        loop, axis, sign, row, pair = self.entries
        turns, sign = self.tree.turns[axis][:, None], sign[:, None]
        z, p = motion.rotation[..., 2][..., axis, :], motion.position[..., axis, :]
        v = sign * np.where(turns, cross(z, cut.x_B[..., loop, :] - p), z)
        w = sign * np.where(turns, z, 0.0)
        values: Array = (v[..., pair, :] * F[..., row, :] + w[..., pair, :] * N[..., row, :]).sum(axis=-1)
        return row, axis[pair], values

    def jacobian(self, motion: AxisMotion, cut: CutMotion) -> Array:
        """J (..., rows, axes) with d gap / dt = J qd."""
        row, axis, values = self.jacobian_entries(motion, cut)
        J = np.zeros((*values.shape[:-1], self.n_rows, self.tree.n), dtype=values.dtype)
        J[..., row, axis] = values
        return J

    def rate(self, cut: CutMotion) -> Array:
        """The time derivative of the gaps, (..., rows)."""
        _, _, F, N = self.directions(cut)
        k = self.loop_of_row
        rate: Array = (F * cut.Dv[..., k, :] + N * cut.w[..., k, :]).sum(axis=-1)
        return rate

    def second_rate(self, cut: CutMotion) -> Array:
        """The second time derivative of the gaps, (..., rows); at qdd = 0 it is the bias dJ/dt qd."""
        e, f, F, _ = self.directions(cut)
        k = self.loop_of_row
        Dv, Da, w, wd = cut.Dv[..., k, :], cut.Da[..., k, :], cut.w[..., k, :], cut.wd[..., k, :]
        turning = (e * (cross(wd, f) + cross(w, cross(w, f)))).sum(axis=-1)
        moving = (F * Da).sum(axis=-1)
        rod = (Dv * Dv).sum(axis=-1) / np.where(self.type == ROD, self.constant, 1.0)
        rate: Array = np.where(self.type == DIRECTION, turning, moving + np.where(self.type == ROD, rod, 0.0))
        return rate

    def wrenches_on_A(self, cut: CutMotion, multipliers: Array) -> Array:
        """Force and moment that B exerts on A at A's origin, world axes, (..., loops, 6).

        M qdd + h = tau + J^T lambda; ``multipliers`` (..., rows).
        """
        _, _, F, N = self.directions(cut)
        F, N = -multipliers[..., None] * F, -multipliers[..., None] * N
        N = N + cross(cut.D[..., self.loop_of_row, :], F)
        total = np.zeros((*multipliers.shape[:-1], len(self.loops), 6), dtype=F.dtype)
        for row, loop in enumerate(self.loop_of_row):
            total[..., loop, :3] += F[..., row, :]
            total[..., loop, 3:] += N[..., row, :]
        return total


class _Place(NamedTuple):
    axis: int
    rotation: Array
    position: Array


def _on_axes(mechanism: Mechanism, loop: Loop) -> tuple[_Place, _Place]:
    """The frames of a cut joint in the frames of the axes that carry them."""
    tree, found = mechanism.tree, []
    for body, place in ((loop.body_a, loop.placement_a), (loop.body_b, loop.placement_b)):
        if body == WORLD:
            found.append(_Place(-1, np.array(place.rotation), np.array(place.position)))
            continue
        k = mechanism.body_index(body)
        R, p = tree.body_rotation[k], tree.body_position[k]
        found.append(_Place(int(tree.body_axis[k]), R @ place.rotation, R @ place.position + p))
    return found[0], found[1]


def _frame(motion: AxisMotion, axis: Integers, rotation: Array, position: Array) -> tuple[Array, ...]:
    """Rotation, origin, velocities and accelerations of frames fixed to axes; -1 is the world."""
    R = motion.rotation[..., axis, :, :]
    r = (R @ position[..., None])[..., 0]
    velocity, acceleration = motion.velocity[..., axis, :], motion.acceleration[..., axis, :]
    v, w, a, wd = velocity[..., :3], velocity[..., 3:], acceleration[..., :3], acceleration[..., 3:]
    arm = cross(w, r)
    return (
        R @ rotation,
        motion.position[..., axis, :] + r,
        v + arm,
        w,
        a + cross(wd, r) + cross(w, arm),
        wd,
    )


def _turned(R: Array, v: Array) -> Array:
    turned: Array = (R @ v[..., None])[..., 0]
    return turned


def _path(mechanism: Mechanism, body: str) -> Array:
    """(bodies,): 1 for a body and all that carry it."""
    found = np.zeros(mechanism.n_bodies)
    while body != WORLD:
        found[mechanism.body_index(body)] = 1.0
        body = mechanism.link(body).parent
    return found


def _moves(tree: Tree, axis: int) -> Array:
    """(axes,): 1 where an axis moves what the given one carries."""
    found = np.zeros(tree.n)
    while axis >= 0:
        found[axis] = 1.0
        axis = int(tree.parent[axis])
    return found
