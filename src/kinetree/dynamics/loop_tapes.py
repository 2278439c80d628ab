"""Closed loops as tapes: torques and accelerations at states that close them, by operations alone.

The rows of J qd = 0 that depend on others, such as those out of the plane of a planar linkage, are found
beforehand, in closed poses, and left out. Then nothing has to be chosen by size while it is computed:

    forward   qdd = a + M^-1 J^T lambda,  J M^-1 J^T lambda = -(J a + dJ/dt qd),  a = M^-1 (tau - h)
    inverse   J_p^T lambda = tau_p of the joints without drives, tau_a = tau - J_a^T lambda

with the tree's own tau ([Shah2013], eqs. 8.2-8.7). The first matrix is symmetric and positive definite; the
second is made triangular by orthogonal columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.linalg

from kinetree.algebra.arrays import Array
from kinetree.derivations import denoc
from kinetree.derivations.contract import Closed
from kinetree.derivations.cut_joints import cut_gaps, cut_jacobian, cut_rates
from kinetree.derivations.lagrangian_recursion import forward_kinematics
from kinetree.dynamics.loops.coordinates import has_cut_drives, has_cut_forces
from kinetree.dynamics.loops.states import fitting_state
from kinetree.dynamics.loops.verbs import closed_of
from kinetree.dynamics.specialized import divided, factors
from kinetree.errors import InputError
from kinetree.model.mechanism import Mechanism

POSES, SEED = 5, 0  # closed poses in which rows are judged
RANK = 1e-9  # of the largest diagonal entry of R: rows below it depend on others


def closed_loops(mechanism: Mechanism) -> tuple[Closed, Array]:
    """The loops of a mechanism, and which of their rows are independent of each other."""
    if mechanism.tree.coupling is not None or mechanism.tree.springs is not None:
        raise InputError(f"mechanism '{mechanism.name}' has loops besides mimic joints or springs: no tapes")
    if has_cut_forces(mechanism) or has_cut_drives(mechanism):
        raise InputError(f"cut joints of '{mechanism.name}' have springs, friction or drives: no tapes")
    closed = closed_of(mechanism)
    poses = fitting_state(mechanism, POSES, SEED).q
    found = [cut_jacobian(mechanism.tree, closed.cuts, q) for q in poses]
    R, order = scipy.linalg.qr(np.concatenate(found, axis=1).T, mode="r", pivoting=True)
    size = np.abs(np.diagonal(R))
    rows = np.sort(order[: np.count_nonzero(size > RANK * size[0])])
    if any(np.linalg.matrix_rank(J[rows], tol=RANK * np.abs(J).max()) < len(rows) for J in found):
        raise InputError(
            f"the loops of '{mechanism.name}' close by special lengths: their rows depend on each other in "
            "another way in every pose, and no tapes are made of that"
        )
    return closed, rows


def closed_forward(mechanism: Mechanism, q: Any, qd: Any, tau: Any) -> list[Any]:
    """Accelerations that keep the loops closed."""
    tree, (closed, rows) = mechanism.tree, closed_loops(mechanism)
    J = cut_jacobian(tree, closed.cuts, q)[rows]
    bias = cut_rates(closed.cuts, forward_kinematics(tree, q, qd, np.zeros(tree.n, object)))[rows]
    alone = denoc.forward_dynamics(tree, q, qd, tau)
    X = divided(tree, *factors(tree, denoc.mass_matrix(tree, q)), J.T)
    return [alone + X @ solved(J @ X, -(J @ alone + bias))]


def closed_inverse(mechanism: Mechanism, q: Any, qd: Any, qdd: Any) -> list[Any]:
    """Torques of the drives, zero elsewhere, where these are as many as the mobility."""
    tree, (closed, rows) = mechanism.tree, closed_loops(mechanism)
    drives, passive = _drives(mechanism, closed, rows)
    J, needed = cut_jacobian(tree, closed.cuts, q)[rows], denoc.inverse_dynamics(tree, q, qd, qdd)
    force = _orthogonalized(J[:, passive].T, needed[passive])
    tau = np.zeros(tree.n, object)
    tau[drives] = needed[drives] - J[:, drives].T @ force
    return [tau]


def closing_step(mechanism: Mechanism, q: Any) -> list[Any]:
    """A step of Newton's iteration that closes the loops while the drives stay: (n,), and the gap left."""
    tree, (closed, rows) = mechanism.tree, closed_loops(mechanism)
    _, passive = _drives(mechanism, closed, rows)
    J, gap = cut_jacobian(tree, closed.cuts, q)[rows], cut_gaps(tree, closed.cuts, q)[rows]
    step = np.zeros(tree.n, object)
    step[passive] = _orthogonalized(J[:, passive], -gap)
    return [step, [_root(_dot(gap, gap))]]


def _drives(mechanism: Mechanism, closed: Closed, rows: Array) -> tuple[Any, Any]:
    """Driven axes and the others, if these are as many as the rows."""
    drives, passive = np.flatnonzero(closed.driven), np.flatnonzero(~np.asarray(closed.driven))
    if len(passive) != len(rows):
        raise InputError(
            f"this needs as many drives of '{mechanism.name}' as its mobility, "
            f"{mechanism.n_dof - len(rows)}; it has {len(drives)}"
        )
    return drives, passive


def solved(M: Any, b: Any) -> Any:
    """x with M x = b, M symmetric and positive definite: M = L D L^T."""
    n, L, D = len(b), M.copy(), np.empty(len(b), object)
    for j in range(n):
        D[j] = M[j, j] - sum(L[j, k] * L[j, k] * D[k] for k in range(j))
        for i in range(j + 1, n):
            L[i, j] = (M[i, j] - sum(L[i, k] * L[j, k] * D[k] for k in range(j))) / D[j]
    x = np.array(b, object)
    for i in range(n):
        x[i] = x[i] - sum(L[i, k] * x[k] for k in range(i))
    for i in reversed(range(n)):
        x[i] = x[i] / D[i] - sum(L[k, i] * x[k] for k in range(i + 1, n))
    return x


def _orthogonalized(A: Any, b: Any) -> Any:
    """x with A x = b, A square: modified Gram-Schmidt on the columns of [A b]."""
    n, columns = len(b), [*A.T.copy(), np.array(b, object)]
    R = np.zeros((n, n + 1), object)
    for k in range(n):
        R[k, k] = _root(_dot(columns[k], columns[k]))
        unit = [x / R[k, k] for x in columns[k]]
        for j in range(k + 1, n + 1):
            R[k, j] = _dot(unit, columns[j])
            columns[j] = [x - u * R[k, j] for x, u in zip(columns[j], unit, strict=True)]
    x: list[Any] = [0.0] * n
    for k in reversed(range(n)):
        x[k] = (R[k, n] - _dot(R[k, k + 1 : n], x[k + 1 :])) / R[k, k]
    return np.array(x, object)


def _dot(a: Iterable[Any], b: Iterable[Any]) -> Any:
    return sum((x * y for x, y in zip(a, b, strict=True)), 0.0)


def _root(x: Any) -> Any:
    return np.sqrt(x)
