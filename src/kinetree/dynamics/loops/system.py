"""The constraints of a mechanism's loops at given states: J(q) qd = 0, J qdd + bias = 0, and their rank."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.dynamics.axis_motion import AxisMotion
from kinetree.dynamics.checks import checking
from kinetree.dynamics.loops.rows import CutMotion, LoopRows
from kinetree.errors import InputError, SingularityError, listed
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Tree
from kinetree.state import coordinates, state_name

RANK = 1e-9  # singular values below this share of the largest count as zero
ROUNDED = 1e-7  # the same where gaps are to be closed: to close one needs a far larger motion
CLOSED = 1e-6  # gaps (m, sines), rates, accelerations relative to the motion's size that are rounding

_prepared: WeakKeyDictionary[Tree, LoopRows] = WeakKeyDictionary()


def loop_rows(mechanism: Mechanism) -> LoopRows:
    """The rows of a mechanism's loops, prepared once."""
    if not mechanism.loops:
        raise InputError(
            f"mechanism '{mechanism.name}' has no closed loops; use the functions of kinetree, such as "
            f"kinetree.inverse_dynamics"
        )
    found = _prepared.get(mechanism.tree)
    if found is None:
        found = _prepared[mechanism.tree] = LoopRows(mechanism)
    return found


@dataclass(frozen=True, eq=False)
class Constraints:
    """The loops at one state or a batch of them, in the coordinates of the mechanism."""

    rows: LoopRows
    motion: AxisMotion
    cut: CutMotion
    gap: Array  # (..., rows)

    @cached_property
    def rate(self) -> Array:
        """Second time derivative of the gap, (..., rows); at qdd = 0 the bias."""
        return self.rows.second_rate(self.cut)

    @cached_property
    def J(self) -> Array:
        """(..., rows, n_dof): d gap / dt = J qd."""
        J, coupling = self.rows.jacobian(self.motion, self.cut), self.rows.tree.coupling
        return J if coupling is None else J @ coupling.matrix

    @cached_property
    def spaces(self) -> Spaces:
        """The spaces of J; refuses a batch in which the rank changes, naming the loop."""
        return spaces(self.J, self.rows)

    @cached_property
    def least(self) -> Array:
        """(..., rows, n_dof): from a generalized force J^T lambda to its multipliers of least norm."""
        s = self.spaces
        least: Array = s.U / s.s[..., None, :] @ np.swapaxes(s.V, -1, -2)
        return least


def constraints(
    mechanism: Mechanism, q: Array, qd: Array | None = None, qdd: Array | None = None
) -> Constraints:
    """Gaps, Jacobian and second rates of the loops; arguments (..., n_dof), broadcast against each other."""
    rows, coupling = loop_rows(mechanism), mechanism.tree.coupling
    qd = np.zeros(mechanism.n_dof) if qd is None else qd
    qdd = np.zeros(mechanism.n_dof) if qdd is None else qdd
    if coupling is not None:
        q = q @ coupling.matrix.T + coupling.offset
        qd, qdd = qd @ coupling.matrix.T, qdd @ coupling.matrix.T
    motion = rows.motion(q, qd, qdd)
    cut = rows.cut_motion(motion)
    return Constraints(rows, motion, cut, rows.gap(cut))


def gap(mechanism: Mechanism, q: ArrayLike) -> Array:
    """How far the loops are from closed at coordinates (..., n_dof): (..., rows) in m, or sines of angles.

    >>> import kinetree as kt
    >>> float(abs(gap(kt.zoo.bricard(), [0.0] * 5)).max())
    0.0
    """
    expect_mechanism(mechanism)
    return constraints(mechanism, coordinates(mechanism, q, "q")).gap


@dataclass(frozen=True, eq=False)
class Spaces:
    """Directions that the loops forbid and leave free, by singular values of J = U diag(s) V^T.

    ``rank`` is common to all states of a batch.
    """

    U: Array  # (..., rows, rank)
    s: Array  # (..., rank)
    V: Array  # (..., n, rank)
    redundant: Array  # (..., rows, rows - rank): combinations of rows that say nothing
    free: Array  # (..., n, n - rank): velocities that the loops allow
    rank: int


def spaces(J: Array, rows: LoopRows | None = None) -> Spaces:
    """The spaces of a Jacobian; refuses a batch in which the rank changes."""
    U, s, Vt = np.linalg.svd(J, full_matrices=True)
    ranks = (s > RANK * s[..., :1]).sum(axis=-1)
    rank = int(ranks.max(initial=0))
    if (ranks != rank).any():
        place = tuple(int(k) for k in np.argwhere(ranks != rank)[0])
        good = tuple(int(k) for k in np.argwhere(ranks == rank)[0])
        who = "the loops lose" if rows is None else f"{losing(rows, J[place], J[good])} loses"
        raise SingularityError(
            f"{who} rank in {state_name(place)}, a singular position: {ranks[place]} instead of "
            f"{rank} independent constraints; compute it separately"
        )
    V = np.swapaxes(Vt, -1, -2)
    return Spaces(U[..., :rank], s[..., :rank], V[..., :rank], U[..., rank:], V[..., rank:], rank)


def losing(rows: LoopRows, singular: Array, regular: Array) -> str:
    """The first loop whose rows add less at a singular pose, (rows, n_dof), than at a regular one."""
    for k, loop in enumerate(rows.loops):
        upto = rows.loop_of_row <= k
        if rank_of(singular[upto]) < rank_of(regular[upto]):
            return f"loop '{loop.name}' of mechanism '{rows.mechanism.name}'"
    return f"mechanism '{rows.mechanism.name}'"


def rank_of(J: Array) -> int:
    """How many rows of a matrix are independent."""
    size = np.linalg.svd(J, compute_uv=False)
    return int((size > RANK * size[:1]).sum())


def misfit(found: Constraints) -> Array:
    """The gaps (..., rows) that no motion closes, as constraints that imply each other do not quite fit.

    Lengths and axes that a file gives with few digits leave such gaps, outside of the range of J, in every
    pose.
    """
    U, s, _ = np.linalg.svd(found.J, full_matrices=False)
    U = U * (s > ROUNDED * s[..., :1])[..., None, :]
    left: Array = found.gap - (U @ (np.swapaxes(U, -1, -2) @ found.gap[..., None]))[..., 0]
    return left


def refuse_open_loops(
    mechanism: Mechanism, found: Constraints, qd: Array, qdd: Array | None, closed: float = CLOSED
) -> None:
    """An error that names the loop and the state where a motion does not fit the loops."""
    if not checking():
        return
    size = size_of(mechanism)
    facing = found.rows.facing(found.cut)
    if (facing < 0.0).any():
        place = tuple(int(k) for k in np.argwhere(facing < 0.0)[0])
        loop = found.rows.loops[place[-1]].name
        raise InputError(
            f"mechanism '{mechanism.name}': loop '{loop}' is closed in the wrong direction in "
            f"{state_name(place[:-1])}: its frames point in opposite directions"
        )
    _refuse(mechanism, found, np.abs(found.gap), closed * size, "is open by", "m or rad")
    rates = np.abs(found.rows.rate(found.cut))
    _refuse(
        mechanism,
        found,
        rates,
        closed * size * (1.0 + np.abs(qd).max(initial=0.0)),
        "opens at",
        "m/s or rad/s",
    )
    if qdd is not None:
        most = (
            CLOSED
            * size
            * (
                1.0
                + np.abs(qdd).max(initial=0.0)
                + np.abs(found.J).max(initial=0.0) * np.abs(qd).max(initial=0.0) ** 2
            )
        )
        _refuse(mechanism, found, np.abs(found.rate), most, "opens with", "m/s^2 or rad/s^2")


def _refuse(
    mechanism: Mechanism, found: Constraints, value: Array, most: float, verb: str, unit: str
) -> None:
    if not (value <= most).all():
        place = tuple(int(k) for k in np.argwhere(~(value <= most))[0])
        name = found.rows.loops[found.rows.loop_of_row[place[-1]]].name
        raise InputError(
            f"mechanism '{mechanism.name}': loop '{name}' {verb} {value[place]:.3g} {unit} in "
            f"{state_name(place[:-1])}; at most {most:.1g} is taken as closed. kinetree.loops.assemble and "
            "kinetree.loops.dependent_motion find positions, velocities and accelerations that fit"
        )


def refuse_cut_forces(mechanism: Mechanism, what: str) -> None:
    """An error where springs, friction or drives of cut joints would be left out of ``what``."""
    for loop in mechanism.loops:
        forces = ("viscous", "coulomb", "coulomb_reverse", "stiffness")
        given = [name for name in forces if name in loop.joint.parameters()]
        given += ["driven"] if any(loop.joint.driven) else []
        if given:
            raise InputError(
                f"mechanism '{mechanism.name}': {listed(given)} of the cut joint '{loop.name}' cannot be "
                f"taken into account in {what} yet; cut the loop at another joint"
            )


def size_of(mechanism: Mechanism) -> float:
    """A length of the mechanism (m), at least 1."""
    lengths = np.abs(mechanism.tree.position).max(initial=0.0)
    return float(max(1.0, lengths))
