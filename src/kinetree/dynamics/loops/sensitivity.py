"""Derivatives of dynamics with closed loops by the independent coordinates, their rates and accelerations.

All are total: the dependent joints follow, so that the loops stay closed. With G = dq / dq_i, J G = 0, the
torques x of the drives with E x + J^T lambda = tau_tree and the least sum of w x^2 satisfy w x = E^T y with
J y = 0. Differentiated,

    E dx + J^T dlambda = dtau_tree - dJ^T lambda,   w dx = E^T dy,   J dy = -dJ y

and with y = G mu all follow from one symmetric matrix A W^-1 A^T, where A = G^T E.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.dynamics.axis_motion import STEP, Direction, moved
from kinetree.dynamics.inverse import MASS_MATRIX
from kinetree.dynamics.loads import Wrenches
from kinetree.dynamics.loops.coordinates import cut_torque_slopes, has_cut_drives, has_cut_forces
from kinetree.dynamics.loops.dynamics import broadcast, drive_weights, loop_forward_dynamics, multipliers
from kinetree.dynamics.loops.linear import constrained, swapped
from kinetree.dynamics.loops.rows import LoopRows
from kinetree.dynamics.loops.structure import structure
from kinetree.dynamics.loops.system import (
    RANK,
    Constraints,
    constraints,
    loop_rows,
    refuse_cut_forces,
    refuse_open_loops,
)
from kinetree.dynamics.sensitivity import (
    INVERSE_SLOPES,
    ForwardDynamicsDerivatives,
    InverseDynamicsDerivatives,
)
from kinetree.errors import InputError, listed, must_be
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Integers
from kinetree.state import state_name

Independent = Sequence[str] | None  # names of joints; those of `structure` if None


@dataclass(frozen=True, eq=False)
class RowSlopes:
    """Along k directions: of J, (..., k, rows, axes), and of the second rate of the gaps, (..., k, rows)."""

    J: Array
    second_rate: Array


def row_slopes(rows: LoopRows, q: Array, qd: Array, qdd: Array, along: Direction) -> RowSlopes:
    """Slopes of the rows at a state (..., axes)."""
    motion = moved(rows.tree, rows.motion(q, qd, qdd), qd, qdd, along)
    cut = rows.cut_motion(motion)
    return RowSlopes(rows.jacobian(motion, cut).imag / STEP, rows.second_rate(cut).imag / STEP)


@dataclass(frozen=True, eq=False)
class MotionDirections:
    """How the whole motion changes along k directions of the independent joints, each (..., k, n_dof)."""

    q: Array
    qd: Array
    qdd: Array
    slopes: RowSlopes


class LoopInverseDerivatives(InverseDynamicsDerivatives):
    """Total derivatives by q, qd and qdd of the independent joints, (..., n_dof, mobility), numerator first.

    ``tau`` are the torques of the drives (zero elsewhere), ``torque`` is J^T lambda of the loops; ``dq_dq``
    says how all joints follow the independent ones. ``matrices`` and ``torque_matrices``
    (3, ..., n_dof, mobility) hold the derivatives side by side.
    """

    __slots__ = ("dq_dq", "independent", "torque", "torque_matrices")
    further = ("torque", "torque_matrices", "dq_dq")  # what out= lends besides

    def __init__(
        self,
        independent: tuple[str, ...],
        tau: Array,
        matrices: Array,
        torque: Array,
        torque_matrices: Array,
        dq_dq: Array,
    ) -> None:
        super().__init__(tau, matrices)
        self.independent, self.torque = independent, torque
        self.torque_matrices, self.dq_dq = torque_matrices, dq_dq

    @property
    def dtorque_dq(self) -> Array:
        """Derivatives of J^T lambda with respect to positions."""
        return self.torque_matrices[0]  # type: ignore[no-any-return]

    @property
    def dtorque_dqd(self) -> Array:
        """Derivatives of J^T lambda with respect to velocities."""
        return self.torque_matrices[1]  # type: ignore[no-any-return]

    @property
    def dtorque_dqdd(self) -> Array:
        """Derivatives of J^T lambda with respect to accelerations."""
        return self.torque_matrices[2]  # type: ignore[no-any-return]


class LoopForwardDerivatives(ForwardDynamicsDerivatives):
    """Total derivatives of qdd by q and qd of the independent joints, (..., n_dof, mobility), and by tau.

    ``dqdd_dtau`` (..., n_dof, n_dof) is by the torque on every joint. ``matrices`` (2, ..., n_dof, mobility)
    holds the first two.
    """

    __slots__ = ("independent",)
    further = ("dqdd_dtau",)

    def __init__(self, independent: tuple[str, ...], qdd: Array, matrices: Array, dqdd_dtau: Array) -> None:
        self.independent, self.qdd, self.matrices = independent, qdd, matrices
        self.dqdd_dq, self.dqdd_dqd, self.dqdd_dtau = matrices[0], matrices[1], dqdd_dtau


def loop_inverse_dynamics_derivatives(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    independent: Independent = None,
    wrenches: Wrenches = None,
    weights: ArrayLike | None = None,
    *,
    threads: int | None = None,
) -> LoopInverseDerivatives:
    """Total derivatives of the drives' torques and of the loops' forces J^T lambda.

    ``independent`` names joints that determine all others, those of :func:`structure` unless given.

    >>> import kinetree as kt
    >>> bar, still = kt.zoo.four_bar(), [0.0] * 3
    >>> q = kt.loops.assemble(bar, [0.0, 1.0, 4.3], hold=["crank_pivot"])
    >>> kt.loops.inverse_dynamics_derivatives(bar, q, still, still).dtau_dq.shape
    (3, 1)
    """
    expect_mechanism(mechanism)
    state = tuple(broadcast(mechanism, q, qd, qdd))
    at = inverse_slopes(mechanism, state, independent, wrenches, weights, threads)  # type: ignore[arg-type]
    matrices, torques = np.stack(_thirds(at.dtau)), np.stack(_thirds(at.dtorque))
    return LoopInverseDerivatives(
        at.independent, at.tau, matrices, at.torque, torques, _thirds(at.change.q)[0]
    )


@dataclass(frozen=True, eq=False)
class InverseSlopes:
    """Torques of the drives and of the loops, and their slopes along 3 mobility directions: (..., k, n)."""

    independent: tuple[str, ...]
    found: Constraints
    change: MotionDirections
    tau: Array
    torque: Array
    dtau: Array
    dtorque: Array


def inverse_slopes(
    mechanism: Mechanism,
    state: tuple[Array, Array, Array],
    independent: Independent,
    wrenches: Wrenches,
    weights: ArrayLike | None,
    threads: int | None = None,
) -> InverseSlopes:
    """Slopes of inverse dynamics along unit changes of q, qd, qdd of the independent joints, in turn."""
    names, chosen = chosen_joints(mechanism, independent)
    found = constraints(mechanism, *state)
    refuse_open_loops(mechanism, found, state[1], state[2])
    if has_cut_drives(mechanism):
        refuse_cut_forces(mechanism, "derivatives of inverse dynamics")
    refuse_dependent(mechanism, found, names, chosen)
    change = following(mechanism, found, state, chosen, np.eye(3 * len(chosen)))
    tree = _tree_slopes(mechanism, state, wrenches, threads)
    tau, dtau, dtorque = _drive_slopes(mechanism, found, tree, change, drive_weights(mechanism, weights))
    return InverseSlopes(names, found, change, tau, tree.tau - tau, dtau, dtorque)


def loop_forward_dynamics_derivatives(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    independent: Independent = None,
    wrenches: Wrenches = None,
    *,
    threads: int | None = None,
) -> LoopForwardDerivatives:
    """Total derivatives of constrained forward dynamics.

    M dqdd - J^T dlambda = dtau - (dtau_tree - dJ^T lambda) and J dqdd = -d(J qdd + dJ/dt qd) at fixed qdd,
    with the matrix of forward dynamics itself.

    >>> import kinetree as kt
    >>> bar, still = kt.zoo.four_bar(), [0.0] * 3
    >>> q = kt.loops.assemble(bar, [0.0, 1.0, 4.3], hold=["crank_pivot"])
    >>> kt.loops.forward_dynamics_derivatives(bar, q, still, still).dqdd_dq.shape
    (3, 1)
    """
    expect_mechanism(mechanism)
    q, qd, tau = broadcast(mechanism, q, qd, tau)
    names, chosen = chosen_joints(mechanism, independent)
    qdd, forces = loop_forward_dynamics(mechanism, q, qd, tau, wrenches)
    found = constraints(mechanism, q, qd, qdd)
    refuse_dependent(mechanism, found, names, chosen)
    k = len(chosen)
    change = following(mechanism, found, (q, qd, qdd), chosen, np.eye(3 * k)[: 2 * k])
    tree = _tree_slopes(mechanism, (q, qd, qdd), wrenches, threads)
    right = -(_along(tree.dtau_dq, change.q) + _along(tree.dtau_dqd, change.qd))
    right = right + (swapped(change.slopes.J) @ multipliers(found, forces.torque)[..., None, :, :])[..., 0]
    n, batch = mechanism.n_dof, q.shape[:-1]
    unit = np.broadcast_to(np.eye(n), (*batch, n, n))
    right = np.concatenate([right, unit], axis=-2)
    rows = np.concatenate([change.slopes.second_rate, np.zeros((*batch, n, found.gap.shape[-1]))], axis=-2)
    M = MASS_MATRIX.of(mechanism.opened(), q)
    dqdd = swapped(constrained(M, found.J, swapped(right), swapped(rows))[0])
    parts = [
        np.ascontiguousarray(swapped(x))
        for x in (dqdd[..., :k, :], dqdd[..., k : 2 * k, :], dqdd[..., 2 * k :, :])
    ]
    return LoopForwardDerivatives(names, qdd, np.stack(parts[:2]), parts[2])


def _tree_slopes(
    mechanism: Mechanism, state: tuple[Array, Array, Array], wrenches: Wrenches, threads: int | None
) -> InverseDynamicsDerivatives:
    """Torques of the tree without the loops' forces, less springs and friction of cut joints; derivatives."""
    tree = INVERSE_SLOPES.of(mechanism.opened(), *state, wrenches=wrenches, threads=threads)
    if not has_cut_forces(mechanism):
        return tree
    torque, slopes = cut_torque_slopes(mechanism, state[0], state[1])
    matrices = np.array(tree.matrices)
    matrices[:2] -= slopes
    return InverseDynamicsDerivatives(tree.tau - torque, matrices)


def following(
    mechanism: Mechanism, found: Constraints, state: tuple[Array, Array, Array], chosen: Integers, unit: Array
) -> MotionDirections:
    """Slopes of q, qd, qdd along directions of the independent joints, with the loops kept closed.

    ``unit`` (k, 3 mobility) are directions (dq_i, dqd_i, dqdd_i). J dq = 0, J dqd = -dJ qd and
    J dqdd = -d(J qdd + dJ/dt qd) at fixed qdd.
    """
    n, k = mechanism.n_dof, len(chosen)
    free = np.ones(n, dtype=bool)
    free[chosen] = False
    inverse = np.linalg.pinv(found.J[..., free], rcond=RANK)[..., None, :, :]
    J_i = found.J[..., None, :, chosen]

    def completed(part: Array, right: Array) -> Array:
        """The direction with the given part of the independent joints and J d = -right."""
        d = np.zeros((*right.shape[:-1], n))
        d[..., chosen] = part
        total = right[..., None] + J_i @ d[..., chosen][..., None]
        d[..., free] = -(inverse @ total)[..., 0]
        return d

    nothing = np.zeros((*state[0].shape[:-1], len(unit), found.gap.shape[-1]))
    dq = completed(unit[:, :k], nothing)
    still = np.zeros_like(dq)
    first = _slopes(mechanism, state, Direction(dq, still, still))
    dqd = completed(unit[:, k : 2 * k], (first.J @ state[1][..., None, :, None])[..., 0])
    second = _slopes(mechanism, state, Direction(dq, dqd, still))
    return MotionDirections(dq, dqd, completed(unit[:, 2 * k :], second.second_rate), second)


def _slopes(mechanism: Mechanism, state: tuple[Array, Array, Array], along: Direction) -> RowSlopes:
    """Slopes of the rows in the coordinates of the mechanism."""
    coupling, rows = mechanism.tree.coupling, loop_rows(mechanism)
    if coupling is None:
        return row_slopes(rows, *state, along)
    A = coupling.matrix
    q, qd, qdd = state[0] @ A.T + coupling.offset, state[1] @ A.T, state[2] @ A.T
    found = row_slopes(rows, q, qd, qdd, Direction(along.q @ A.T, along.qd @ A.T, along.qdd @ A.T))
    return RowSlopes(found.J @ A, found.second_rate)


def _drive_slopes(
    mechanism: Mechanism,
    found: Constraints,
    tree: InverseDynamicsDerivatives,
    change: MotionDirections,
    weights: Array,
) -> tuple[Array, Array, Array]:
    """The drives' torques (..., n_dof), their slopes and those of J^T lambda along the directions."""
    dtau_tree = (
        _along(tree.dtau_dq, change.q) + _along(tree.dtau_dqd, change.qd) + _along(tree.dtau_dqdd, change.qdd)
    )
    driven = np.flatnonzero(mechanism.driven)
    w, s, dJ = weights[driven], found.spaces, change.slopes.J
    G = s.free
    A = swapped(G)[..., driven]
    S = np.asarray(np.linalg.inv((A / w) @ swapped(A)), dtype=np.float64)
    mu = S @ (swapped(G) @ tree.tau[..., None])
    y, tau = G @ mu, np.zeros_like(tree.tau)
    tau[..., driven] = (swapped(A) @ mu)[..., 0] / w
    right = dtau_tree - (swapped(dJ) @ multipliers(found, tree.tau - tau)[..., None, :, :])[..., 0]
    inverse = s.V / s.s[..., None, :] @ swapped(s.U)
    leaving = -(inverse[..., None, :, :] @ (dJ @ y[..., None, :, :]))[..., 0]  # the part of dy outside G
    r = _along(swapped(G), right) - _along(A / w, leaving[..., driven])
    dtau = np.zeros_like(dtau_tree)
    dtau[..., driven] = (_along(swapped(A), _along(S, r)) + leaving[..., driven]) / w
    return tau, dtau, dtau_tree - dtau


def chosen_joints(mechanism: Mechanism, independent: Independent) -> tuple[tuple[str, ...], Integers]:
    """Names and places of the independent joints."""
    if isinstance(independent, str):
        raise InputError(must_be("independent", "a list of joints", independent))
    names = structure(mechanism).independent if independent is None else tuple(independent)
    places = np.array([mechanism.joint_index(name) for name in names], dtype=np.int64)
    if len(set(places.tolist())) != len(places):
        raise InputError(f"independent joints must differ, got {listed(list(names))}")
    return names, places


def refuse_dependent(
    mechanism: Mechanism, found: Constraints, names: tuple[str, ...], chosen: Integers
) -> None:
    """An error where joints do not determine all others, or not freely."""
    freedoms = mechanism.n_dof - found.spaces.rank
    if freedoms != len(names):
        usual, where = structure(mechanism).mobility, ""
        if freedoms > usual:
            where = f" (a singular position: {usual} elsewhere)"
        raise InputError(
            f"mechanism '{mechanism.name}' has mobility {freedoms} here{where}, but {len(names)} independent "
            f"joints are named: {listed(list(names))}"
        )
    size = np.linalg.svd(found.J, compute_uv=False)[..., :1]
    left = np.linalg.svd(np.delete(found.J, chosen, axis=-1), compute_uv=False)
    poor = (left > RANK * size).sum(axis=-1) < found.spaces.rank
    if poor.any():
        place = tuple(int(k) for k in np.argwhere(poor)[0])
        raise InputError(
            f"mechanism '{mechanism.name}': the joints {listed(list(names))} are not independent in "
            f"{state_name(place)}: they do not determine all others there; name other joints"
        )


def _along(matrix: Array, directions: Array) -> Array:
    """matrix d for directions d (..., k, n)."""
    product: Array = (matrix[..., None, :, :] @ directions[..., None])[..., 0]
    return product


def _thirds(slopes: Array) -> list[Array]:
    """Slopes (..., 3 m, n) as three arrays (..., n, m)."""
    return [np.ascontiguousarray(swapped(part)) for part in np.split(slopes, 3, axis=-2)]
