"""Coordinates of the cut joints themselves, and what springs, friction and drives at them do to the tree.

A cut joint has the coordinates s that its kind lists: angles about its axes, displacements along them. A
force f on s enters the tree as (ds/dq)^T f. Formulas are those of `kernels.cut_coordinate`, on rows of NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.algebra.rotation import rotation_about
from kinetree.dynamics.axis_motion import STEP, AxisMotion, Direction, axis_motion, moved
from kinetree.dynamics.checks import finite, given
from kinetree.dynamics.coupling import all_axes, all_rates
from kinetree.dynamics.loops.rows import LoopRows
from kinetree.dynamics.loops.system import loop_rows
from kinetree.errors import InputError
from kinetree.kernels.cut_coordinate import ABOUT, ALONG, FIRST, LAST, MIDDLE, cut_motion
from kinetree.model.expected import expect_mechanism
from kinetree.model.loop import Loop
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags, Integers, Tree

RIGHT = 1e-9  # cosine of an angle that counts as right


@dataclass(frozen=True, eq=False)
class CutCoordinates:
    """Coordinates of the cut joints: ``names``, and ``values`` and ``rates`` (..., k) in rad, m and per s."""

    names: tuple[str, ...]
    values: Array
    rates: Array


def cut_coordinates(
    mechanism: Mechanism, q: ArrayLike, qd: ArrayLike | None = None, *, continuous: bool = False
) -> CutCoordinates:
    """Angles and displacements of the cut joints at states (..., n_dof), with their rates.

    Angles are those from -pi to pi about the joint's ``rest`` if it has a spring, else about the middle of
    its limits if it has both, else about zero. ``continuous`` takes the axis before the last as time, along
    which they do not jump. Welds and rods have none. A point on a line has its place along the line u and
    three angles, about u, about v across u (fixed to the body of the first rotation) and about u x v.

    >>> import kinetree as kt
    >>> bar = kt.zoo.four_bar()
    >>> q = kt.loops.assemble(bar, [0.0, 1.0, 4.3], hold=["crank_pivot"])
    >>> found = kt.loops.cut_coordinates(bar, q)
    >>> found.names, found.values.round(4).tolist()
    (('crank_pin',), [0.9844])
    """
    expect_mechanism(mechanism)
    q = given(mechanism, q, "q")
    qd = np.zeros(mechanism.n_dof) if qd is None else given(mechanism, qd, "qd")
    table, tree = cut_table(mechanism), mechanism.tree
    motion = axis_motion(tree, all_axes(tree, q), all_rates(tree, qd), np.zeros(tree.n))
    found = table.measured(motion)
    values = found.s
    if continuous:
        if values.ndim < 2:
            raise InputError(
                f"a continuous angle needs states over time, (..., k, {mechanism.n_dof}); got one"
            )
        values = np.where(table.turning, np.unwrap(values, axis=-2), values)
    return CutCoordinates(table.names, values, found.sd)


@dataclass(frozen=True, eq=False)
class CoordinateRates:
    """Coordinates (..., k) in a motion, their rates, and the force and moment (..., k, 3) of a unit force."""

    s: Array
    sd: Array
    F: Array
    N: Array
    x: Array  # where body b feels them


class CutTable:
    """The coordinates of a mechanism's cut joints as columns of `kernels.cut_coordinate.CUT_AXIS`."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.tree, self.rows = mechanism.tree, loop_rows(mechanism)
        found = [
            (name, k, axis, row)
            for k, loop in enumerate(mechanism.loops)
            for name, axis, row in _coordinates(loop, self.rows, k)
        ]
        self.names = tuple(name for name, _, _, _ in found)
        self.loop: Integers = np.array([k for _, k, _, _ in found], dtype=np.int64)
        self.columns: dict[str, Array] = {
            key: np.array([row[key] for _, _, _, row in found]) for key in (found[0][3] if found else ())
        }
        joints = [(mechanism.loops[k].joint, axis) for _, k, axis, _ in found]
        self.driven: Flags = np.array([joint.driven[axis] for joint, axis in joints], dtype=bool)
        self.turning: Flags = np.array([joint.turns[axis] for joint, axis in joints], dtype=bool)
        self.passive: Flags = np.array(
            [any(row[key] for key in ("k", "viscous", "coulomb")) for _, _, _, row in found], dtype=bool
        )
        self.limited: Flags = np.array(
            [np.isfinite(row["lower"]) or np.isfinite(row["upper"]) for _, _, _, row in found], dtype=bool
        )
        self._joints = SimpleNamespace(**self.columns)

    def measured(self, motion: AxisMotion) -> CoordinateRates:
        """All coordinates in a motion of the axes, whose numbers may be complex."""
        work, parts = _Work(motion), [[], [], [], [], []]  # type: ignore[var-annotated]
        batch = motion.position.shape[:-2]
        for k in range(len(self.names)):
            s, sd, F, N, x = cut_motion(work, self._joints, k)
            for part, value in zip(parts, (s, sd, _stacked(F), _stacked(N), _stacked(x)), strict=True):
                part.append(value)
        shapes = (batch, batch, *[(*batch, 3)] * 3)
        whole = [
            np.stack([np.broadcast_to(x, shape) for x in part], axis=len(batch))
            if part
            else np.zeros((*batch, 0, *shape[len(batch) :]))
            for part, shape in zip(parts, shapes, strict=True)
        ]
        return CoordinateRates(*whole)

    def jacobian(self, motion: AxisMotion, found: CoordinateRates) -> Array:
        """B = ds/dq (..., k, axes)."""
        z, p = motion.rotation[..., None, :-1, :, 2], motion.position[..., None, :-1, :]
        sign, turns = self.rows.sign[self.loop], self.tree.turns[:, None]
        v = np.where(turns, np.cross(z, found.x[..., :, None, :] - p), z)
        along = (v * found.F[..., :, None, :]).sum(axis=-1)
        about = (np.where(turns, z, 0.0) * found.N[..., :, None, :]).sum(axis=-1)
        B: Array = sign * (along + about)
        return B

    def resistance(self, found: CoordinateRates) -> Array:
        """What springs and friction do to the coordinates, (..., k); Coulomb friction vanishes at rest."""
        c = self.columns
        force: Array = -c["k"] * (found.s - c["rest"]) - c["viscous"] * found.sd
        sign = np.sign(np.real(found.sd))
        return force - (c["coulomb"] + c["coulomb_bias"] * sign) * sign

    def energy(self, found: CoordinateRates) -> Array:
        """Energy of the springs (J), (...)."""
        c = self.columns
        total: Array = (0.5 * c["k"] * (found.s - c["rest"]) ** 2).sum(axis=-1)
        return total


_known: WeakKeyDictionary[Tree, CutTable] = WeakKeyDictionary()
_felt: WeakKeyDictionary[Tree, bool] = WeakKeyDictionary()


def cut_table(mechanism: Mechanism) -> CutTable:
    """The coordinates of a mechanism's cut joints, prepared once."""
    found = _known.get(mechanism.tree)
    if found is None:
        found = _known[mechanism.tree] = CutTable(mechanism)
    return found


@dataclass(frozen=True, eq=False)
class CutForces:
    """What springs and friction of cut joints do: on the joints of the tree, and how drives there would act.

    ``torque`` (..., n_dof) of springs and friction, ``force`` (..., k) on all coordinates; ``drives``
    (..., n_dof, d) has (ds/dq)^T of the driven ones.
    """

    table: CutTable
    found: CoordinateRates
    force: Array
    torque: Array
    drives: Array

    def wrench(self, D: Array, given: Array | None = None, pushed: Array | None = None) -> Array:
        """Force and moment on body a at its frame of each cut joint, (..., loops, 6), in world axes.

        ``given`` (..., d) are forces of the drives beside springs and friction, or ``pushed`` (..., k) all
        forces; D (..., loops, 3) leads from frame a to frame b, where both act.
        """
        table, force = self.table, np.array(self.force if pushed is None else pushed)
        if given is not None:
            force[..., table.driven] += given
        F, N = (-force[..., None] * x for x in (self.found.F, self.found.N))
        result = np.zeros((*force.shape[:-1], len(table.rows.loops), 6), dtype=F.dtype)
        for k, loop in enumerate(table.loop):
            result[..., loop, :3] += F[..., k, :]
            result[..., loop, 3:] += N[..., k, :] + np.cross(D[..., loop, :], F[..., k, :])
        return result


def cut_forces(mechanism: Mechanism, motion: AxisMotion) -> CutForces:
    """Springs and friction of the cut joints in a motion of the axes, and their drives."""
    table, coupling = cut_table(mechanism), mechanism.tree.coupling
    found = table.measured(motion)
    B = table.jacobian(motion, found)
    B = B if coupling is None else B @ coupling.matrix
    force = table.resistance(found)
    torque: Array = (force[..., None, :] @ B)[..., 0, :]
    return CutForces(table, found, force, torque, np.swapaxes(B[..., table.driven, :], -1, -2))


def has_cut_forces(mechanism: Mechanism) -> bool:
    """Whether a cut joint has a spring or friction."""
    found = _felt.get(mechanism.tree)
    if found is None:
        found = _felt[mechanism.tree] = any(
            key in loop.joint.parameters()
            for loop in mechanism.loops
            for key in ("stiffness", "viscous", "coulomb", "coulomb_reverse")
        )
    return found


def has_cut_drives(mechanism: Mechanism) -> bool:
    """Whether a cut joint has a drive."""
    return any(any(loop.joint.driven) for loop in mechanism.loops)


def cut_torque_slopes(
    mechanism: Mechanism, q: Array, qd: Array, motion: AxisMotion | None = None
) -> tuple[Array, Array]:
    """Torques of springs and friction of cut joints, (..., n_dof), and their slopes by q and qd.

    (2, ..., n_dof, n_dof); by complex step along all coordinates, exact to rounding.
    """
    tree, table, n = mechanism.tree, cut_table(mechanism), mechanism.n_dof
    A = np.eye(n) if tree.coupling is None else tree.coupling.matrix
    at, rates = all_axes(tree, q), all_rates(tree, qd)
    base = axis_motion(tree, at, rates, np.zeros(tree.n)) if motion is None else motion
    batch = base.position.shape[:-2]
    unit, none = np.broadcast_to(A.T, (*batch, n, tree.n)), np.zeros((*batch, n, tree.n))
    along = Direction(
        np.concatenate([unit, none], axis=-2),
        np.concatenate([none, unit], axis=-2),
        np.zeros((*batch, 2 * n, tree.n)),
    )
    rates = np.broadcast_to(rates, (*batch, tree.n))
    moving = moved(tree, base, rates, np.zeros((*batch, tree.n)), along)
    found = table.measured(moving)
    torque = (table.resistance(found)[..., None, :] @ table.jacobian(moving, found))[..., 0, :] @ A
    slopes = np.swapaxes(torque.imag / STEP, -1, -2)
    return torque[..., 0, :].real, np.stack([slopes[..., :n], slopes[..., n:]])


def cut_axis_torques(mechanism: Mechanism, q: Array, qd: Array) -> Array:
    """Torques of springs and friction of cut joints on the axes, for states (..., axes)."""
    tree, table = mechanism.tree, cut_table(mechanism)
    motion = axis_motion(tree, q, qd, np.zeros(tree.n))
    found = table.measured(motion)
    torque: Array = (table.resistance(found)[..., None, :] @ table.jacobian(motion, found))[..., 0, :]
    return torque


def cut_torques(mechanism: Mechanism, q: Array, qd: Array) -> Array:
    """The map on the mechanism's coordinates, for states (..., n_dof)."""
    tree = mechanism.tree
    torque = cut_axis_torques(mechanism, all_axes(tree, q), all_rates(tree, qd))
    return torque if tree.coupling is None else torque @ tree.coupling.matrix


@finite
def cut_energy(mechanism: Mechanism, q: Array) -> Array:
    """Energy of the springs of cut joints (J), (...), at coordinates (..., n_dof)."""
    tree, table = mechanism.tree, cut_table(mechanism)
    motion = axis_motion(tree, all_axes(tree, q), np.zeros(tree.n), np.zeros(tree.n))
    return table.energy(table.measured(motion))


# ---- tables ----------------------------------------------------------------------------------------------
class _Work:
    """A motion of the axes as kernels read their workspace: by axis, in tuples of numbers."""

    def __init__(self, motion: AxisMotion) -> None:
        v, w = motion.velocity[..., :3], motion.velocity[..., 3:]
        at_origin = v - np.cross(w, motion.position)
        R = motion.rotation.reshape(*motion.rotation.shape[:-2], 9)
        self.R, self.p, self.w, self.v = (_Rows(x) for x in (R, motion.position, w, at_origin))


class _Rows:
    def __init__(self, values: Array) -> None:
        self.values = values

    def __getitem__(self, axis: int) -> tuple[Array, ...]:
        return tuple(np.moveaxis(self.values[..., axis, :], -1, 0))


def _stacked(vector: tuple[Any, ...]) -> Array:
    return np.stack(np.broadcast_arrays(*vector), axis=-1)


def _coordinates(loop: Loop, rows: LoopRows, k: int) -> list[tuple[str, int, dict[str, Any]]]:
    """Name, number among the joint's axes and columns of each coordinate of a cut joint."""
    joint = loop.joint
    if loop.length is not None:
        return []
    R_a, R_b = rows.rotation_A[k], rows.rotation_B[k]
    slides = [i for i, turn in enumerate(joint.turns) if not turn]
    turns = [i for i, turn in enumerate(joint.turns) if turn]
    duals = np.linalg.pinv(joint.axes[slides]).T if slides else np.zeros((0, 3))
    made = []
    for i, name in enumerate(joint.dof_names):
        center = _center(loop, i)
        if i in slides:
            geometry: Mapping[str, Any] = {"type": ALONG, "ua": duals[slides.index(i)]}
        else:
            geometry = _turn(loop, turns, turns.index(i), center)
        none = np.zeros(3)
        vectors = {
            "ua": R_a @ geometry.get("ua", none),
            "ra": R_a @ geometry.get("ra", none),
            "ub": R_b @ geometry.get("ub", none),
            "rb": R_b @ geometry.get("rb", none),
        }
        row = {
            "type": geometry["type"],
            "a": int(rows.axis_A[k]),
            "b": int(rows.axis_B[k]),
            "pa": rows.position_A[k],
            "pb": rows.position_B[k],
            **vectors,
            "proper": geometry.get("proper", 0.0),
            "sense": geometry.get("sense", 0.0),
            "center": center if geometry["type"] in (ABOUT, FIRST, LAST) else 0.0,
            "k": joint.stiffness[i],
            "rest": joint.rest[i],
            "viscous": joint.viscous[i],
            "coulomb": 0.5 * (joint.coulomb[i] + joint.coulomb_reverse[i]),
            "coulomb_bias": 0.5 * (joint.coulomb[i] - joint.coulomb_reverse[i]),
            "lower": joint.lower[i],
            "upper": joint.upper[i],
            "limit": joint.effort_limit[i],
        }
        made.append((name, i, row))
    return made


def _center(loop: Loop, i: int) -> float:
    """The middle of the turn that an angle is counted in."""
    joint = loop.joint
    if joint.stiffness[i] > 0.0:
        return float(joint.rest[i])
    limits = float(joint.lower[i]), float(joint.upper[i])
    return 0.5 * sum(limits) if np.isfinite(limits).all() else 0.0


def _turn(loop: Loop, turns: list[int], place: int, center: float) -> Mapping[str, Any]:
    """Axes and reference directions of a rotation, in the frames of the cut joint."""
    axes = loop.joint.axes[turns]
    if len(turns) == 1:
        across = np.linalg.svd(axes)[2][1]
        return {"type": ABOUT, "ua": axes[0], "ra": rotation_about(axes[0], center) @ across, "rb": across}
    if len(turns) == 3 and (axes == axes[0]).all():  # a point on a line
        across = np.linalg.svd(axes[:1])[2][1]
        axes = np.array([axes[0], across, np.cross(axes[0], across)])
    first, last = axes[0], axes[-1]
    towards, back = last, first  # where the last axis points at zero, and the first
    proper, sense = 0.0, 0.0
    if len(turns) == 3:
        middle = axes[1]
        proper = 1.0 if abs(first @ last - 1.0) < RIGHT else 0.0
        sense = 0.0 if proper else float(first @ np.cross(middle, last))
        right = abs(first @ middle) < RIGHT and abs(middle @ last) < RIGHT
        if not right or (not proper and abs(abs(sense) - 1.0) > RIGHT):
            raise InputError(
                f"loop '{loop.name}': a cut joint that rotates about three axes needs perpendicular axes; "
                f"got {loop.joint.axes.tolist()}"
            )
        if proper:
            towards, back = np.cross(middle, last), np.cross(first, middle)
    common = {"ua": first, "ub": last, "proper": proper, "sense": sense}
    if place == 0:
        return {**common, "type": FIRST, "ra": rotation_about(first, center) @ towards}
    if place == len(turns) - 1:
        return {**common, "type": LAST, "rb": rotation_about(last, -center) @ back}
    return {**common, "type": MIDDLE}
