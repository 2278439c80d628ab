"""The regular Lagrangian equations in closed form ([Xiang2009], section 3, eqs. 6-11; [NCTU], section 6.1).

tau = M(q) qdd + V(q, qd) + G(q) - J_s^T f_s, every term a sum over bodies of traces of derivatives of 0T_j:
products of link matrices. Costs grow with n^4, so this is for small chains and trees, and for symbols (see
`equations_of_motion`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from kinetree.derivations.contract import Formulation, Loads, step
from kinetree.derivations.elimination import solved
from kinetree.derivations.homogeneous import (
    Numbers,
    gravity_vector,
    kind_of,
    link_matrices,
    load_columns,
    passive_part,
    paths,
    pseudo_inertias,
)
from kinetree.model.tree import WORLD_AXIS, Tree

LARGEST = 24  # axes; beyond, recursive formulations answer in a thousandth of the time


def refuses(tree: Tree) -> str | None:
    """Why a tree is too large, or None."""
    if tree.n <= LARGEST:
        return None
    return f"it has {tree.n} axes; closed forms grow with n^4 and are offered for at most {LARGEST}"


FORMULATION = Formulation(
    name="closed_form",
    title="Regular Lagrangian in closed form",
    source="[Xiang2009], section 3; [NCTU], section 6.1",
    cost="O(n^4)",
    can=frozenset(
        {
            "inverse_dynamics",
            "mass_matrix",
            "bias_torque",
            "forward_dynamics",
            "inverse_dynamics_derivatives",
        }
    ),
    refuses=refuses,
)


class LinkTransforms:
    """0T_j = T_1 T_2 ... T_j ([Xiang2009], eq. 5) and its derivatives by any coordinates.

    ``poses(j)`` is 0T_j, ``poses(j, k, m)`` its second derivative by q_k and q_m: the same product with T_k
    and T_m differentiated. Every coordinate must lie on the path from the root to axis j; elsewhere the
    derivative is zero.
    """

    def __init__(self, tree: Tree, q: Any) -> None:
        self.parent, self.T = tree.parent, link_matrices(tree, q)
        self.known: dict[tuple[int, ...], Numbers] = {(WORLD_AXIS,): np.eye(4, dtype=self.T.dtype)}

    def __call__(self, j: int, *by: int) -> Numbers:
        """0T_j, differentiated by the given coordinates."""
        key = (j, *sorted(by))
        if key not in self.known:
            others = [k for k in by if k != j]
            order = len(by) - len(others)
            self.known[key] = self(int(self.parent[j]), *others) @ self.T[order, j]
        return self.known[key]


def mass_matrix(tree: Tree, q: Any) -> Numbers:
    """M_ik = sum_j tr(d0T_j/dq_k J_j (d0T_j/dq_i)^T), (n, n), and the armatures ([Xiang2009], eq. 7)."""
    with step("mass matrix"):
        pose = LinkTransforms(tree, q)
        M = np.zeros((tree.n, tree.n), pose.T.dtype)
        for j, path, J in _bodies(tree):
            for k, i in combinations_with_replacement(path, 2):
                M[i, k] = M[i, k] + (pose(j, k) @ J * pose(j, i)).sum()
                M[k, i] = M[i, k]
        for a in np.flatnonzero(tree.armature):
            M[a, a] = M[a, a] + tree.armature[a]
    return M


def velocity_coefficients(tree: Tree, q: Any) -> Numbers:
    """D_ikm = sum_j tr(d2 0T_j/dq_k dq_m J_j (d0T_j/dq_i)^T), (n, n, n): the sums in [Xiang2009], eq. 8.

    [NCTU], section 6.1 calls D_ikk the centripetal and D_ikm the Coriolis acceleration coefficients of joint
    i.
    """
    pose = LinkTransforms(tree, q)
    D = np.zeros((tree.n,) * 3, pose.T.dtype)
    for j, path, J in _bodies(tree):
        for k, m in combinations_with_replacement(path, 2):
            XJ = pose(j, k, m) @ J
            for i in path:
                D[i, k, m] = D[i, k, m] + (XJ * pose(j, i)).sum()
                D[i, m, k] = D[i, k, m]
    return D


def velocity_torque(tree: Tree, q: Any, qd: Any) -> Numbers:
    """V_i = sum_k sum_m D_ikm qd_k qd_m, (n,): centrifugal and Coriolis torques ([Xiang2009], eq. 8)."""
    with step("velocity terms"):
        V: Numbers = velocity_coefficients(tree, q) @ np.asarray(qd) @ np.asarray(qd)
    return V


def gravity_torque(tree: Tree, q: Any) -> Numbers:
    """G_i = -sum_j m_j g^T d0T_j/dq_i r_j, (n,).

    [Xiang2009], eqs. 6 and 9; g points downwards, hence the minus.
    """
    with step("gravity"):
        pose, g = LinkTransforms(tree, q), gravity_vector(tree)
        G = np.zeros(tree.n, pose.T.dtype)
        for j, path, J in _bodies(tree):
            for i in path:
                G[i] = G[i] - pose(j, i) @ J[:, 3] @ g  # m_j r_j is J's last column
    return G


def load_torque(tree: Tree, q: Any, loads: Loads) -> Numbers:
    """J_s^T f_s and the same for moments, (n,): what loads spare the drives ([Xiang2009], eqs. 6 and 10)."""
    with step("loads"):
        (axes, f, r, h), path, pose = load_columns(loads), paths(tree), LinkTransforms(tree, q)
        torque = np.zeros(tree.n, np.result_type(pose.T, f))
        for s, j in enumerate(axes):
            for i in path[j]:
                torque[i] = torque[i] + pose(j, i) @ r[:, s] @ f[:, s]
                if tree.turns[i]:
                    torque[i] = torque[i] + pose(i)[:, 2] @ h[:, s]
    return torque


def bias_torque(tree: Tree, q: Any, qd: Any, loads: Loads = ()) -> Numbers:
    """V + G - J_s^T f_s, (n,), with springs and friction: h in tau = M qdd + h."""
    h = velocity_torque(tree, q, qd) + gravity_torque(tree, q)
    if loads:
        h = h - load_torque(tree, q, loads)
    for i in np.flatnonzero(tree.passive):
        h[i] = h[i] + passive_part(tree, int(i), q[i], qd[i])
    return h


def inverse_dynamics(tree: Tree, q: Any, qd: Any, qdd: Any, loads: Loads = ()) -> Numbers:
    """tau = M qdd + V + G - J_s^T f_s, (n,) ([Xiang2009], eq. 6)."""
    M, h = mass_matrix(tree, q), bias_torque(tree, q, qd, loads)
    with step("sum"):
        tau: Numbers = M @ np.asarray(qdd) + h
    return tau


def forward_dynamics(tree: Tree, q: Any, qd: Any, tau: Any, loads: Loads = ()) -> Numbers:
    """qdd (n,) of M qdd = tau - h."""
    M, h = mass_matrix(tree, q), bias_torque(tree, q, qd, loads)
    with step("solution"):
        return solved(tree, M, np.asarray(tau) - h)


def inverse_dynamics_derivatives(
    tree: Tree, q: Any, qd: Any, qdd: Any, loads: Loads = ()
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """tau (n,), dtau/dq, dtau/dqd, dtau/dqdd, each (n, n): eq. 6 differentiated ([Xiang2009], eq. 11)."""
    tau = inverse_dynamics(tree, q, qd, qdd, loads)
    by_qd = 2 * (velocity_coefficients(tree, q) @ np.asarray(qd))
    by_q = _motion_slopes(tree, q, qd, qdd) - _load_slopes(tree, q, loads)
    for i in np.flatnonzero(tree.passive):
        by_q[i, i], by_qd[i, i] = by_q[i, i] + tree.stiffness[i], by_qd[i, i] + tree.viscous[i]
    return tau, by_q, by_qd, mass_matrix(tree, q)


def _motion_slopes(tree: Tree, q: Any, qd: Any, qdd: Any) -> Numbers:
    """d(M qdd + V + G)/dq (n, n), with C_j = d2 0T_j/dt2 less gravity in place of the sums over k and m."""
    pose, gravity = LinkTransforms(tree, q), np.zeros((4, 4), tree.gravity.dtype)
    gravity[:, 3] = gravity_vector(tree)
    slopes = np.zeros((tree.n, tree.n), kind_of(tree, q, qd, qdd))
    for j, path, J in _bodies(tree):
        C = _acceleration(pose, j, path, (), qd, qdd) - gravity
        for m in path:
            dC = _acceleration(pose, j, path, (m,), qd, qdd)
            for i in path:
                slopes[i, m] = slopes[i, m] + (pose(j, i, m) @ J * C + pose(j, i) @ J * dC).sum()
    return slopes


def _acceleration(
    pose: LinkTransforms, j: int, path: list[int], by: tuple[int, ...], qd: Any, qdd: Any
) -> Any:
    """d2 0T_j/dt2 = sum_k d0T_j/dq_k qdd_k + sum_k sum_m d2 0T_j/dq_k dq_m qd_k qd_m, or its derivative."""
    linear = sum(pose(j, k, *by) * qdd[k] for k in path)
    return linear + sum(pose(j, k, m, *by) * (qd[k] * qd[m]) for k in path for m in path)


def _load_slopes(tree: Tree, q: Any, loads: Loads) -> Numbers:
    """d(J_s^T f_s)/dq (n, n), moments included."""
    (axes, f, r, h), path, pose = load_columns(loads), paths(tree), LinkTransforms(tree, q)
    slopes = np.zeros((tree.n, tree.n), np.result_type(pose.T, f))
    for s, j in enumerate(axes):
        for i in path[j]:
            for m in path[j]:
                slopes[i, m] = slopes[i, m] + pose(j, i, m) @ r[:, s] @ f[:, s]
            for m in path[i] if tree.turns[i] else ():
                slopes[i, m] = slopes[i, m] + pose(i, m)[:, 2] @ h[:, s]
    return slopes


def _bodies(tree: Tree) -> Iterator[tuple[int, list[int], Numbers]]:
    """Axes that carry mass, their paths from the root, and their pseudo-inertias."""
    J, path = pseudo_inertias(tree), paths(tree)
    for j in np.flatnonzero(tree.massive):
        yield int(j), path[j], J[j]
