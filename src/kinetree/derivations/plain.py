"""Rigid-body dynamics in 6-vectors, as plainly as it can be written: the page to read before the kernels.

Letters, order and signs are those of Featherstone, *Rigid Body Dynamics Algorithms* (2008), chapters 2 and 5
to 7: a motion vector is (angular; linear), a force vector (moment; force), and everything of body i is in the
coordinates of body i. Every joint has one degree of freedom along the z axis of its frame, so S is constant.
X[i] = iX_p takes motion vectors from the parent p to i, its transpose takes force vectors from i to p.
Arrays have one row for each body and a last one for the world, which index -1, the parent of a root, finds.

Nothing here is fast: dense 6 x 6 products, one state at a time, floats, complex or counting numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinetree.derivations.contract import Formulation, Loads, step
from kinetree.kernels.number import sign, sincos
from kinetree.model.tree import WORLD_AXIS, Tree

Numbers = NDArray[Any]
FORCE_FIRST = [3, 4, 5, 0, 1, 2]  # the library's order of wrenches

FORMULATION = Formulation(
    name="plain",
    title="Spatial 6-vectors, written out in NumPy",
    source="Featherstone 2008, tables 5.1, 6.2, 7.1; derivatives by the product rule",
    cost="O(n) torques and accelerations, O(n depth) mass matrix, O(n^2) derivatives; dense 6 x 6 products",
    can=frozenset(
        {
            "inverse_dynamics",
            "mass_matrix",
            "bias_torque",
            "forward_dynamics",
            "joint_reactions",
            "inverse_dynamics_derivatives",
            "joint_reaction_derivatives",
        }
    ),
)


# ---- vectors and matrices (chapter 2) ----------------------------------------------------------------
def skew(r: Any) -> Numbers:
    """r x as a matrix."""
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


def crm(v: Any) -> Numbers:
    """v x as a matrix: how fast a motion vector changes that is fixed in a body moving with v (2.31)."""
    return np.block([[skew(v[:3]), np.zeros((3, 3), int)], [skew(v[3:]), skew(v[:3])]])


def crf(v: Any) -> Numbers:
    """v x* as a matrix: the same of a force vector; v x* = -(v x)^T (2.32)."""
    return -crm(v).T


def force_cross(f: Any) -> Numbers:
    """The matrix of v -> v x* f: linear in v as well."""
    return np.block([[-skew(f[:3]), -skew(f[3:])], [-skew(f[3:]), np.zeros((3, 3), int)]])


def spatial_inertias(tree: Tree) -> Numbers:
    """I (n, 6, 6) of what each axis carries, about the origin of its frame (2.63)."""
    I = np.zeros((tree.n, 6, 6))  # noqa: E741  (the book's letter)
    for i in range(tree.n):
        h, second = skew(tree.first_moment[i]), tree.second_moment[i]
        I[i, :3, :3] = np.trace(second) * np.eye(3) - second
        I[i, :3, 3:], I[i, 3:, :3], I[i, 3:, 3:] = h, -h, tree.mass[i] * np.eye(3)
    return I


def joint_model(tree: Tree, q: Any) -> tuple[Numbers, Numbers]:
    """X (n, 6, 6) and S (n, 6): dX/dq = -(S x) X."""
    X, S = _zeros(tree, (tree.n, 6, 6), q), np.zeros((tree.n, 6), int)
    for i in range(tree.n):
        (x, y, z), r = tree.rotation[i].T, tree.position[i]
        if tree.turns[i]:
            s, c = sincos(q[i])
            x, y = x * c + y * s, y * c - x * s
        else:
            r = r + z * q[i]
        S[i, 2 if tree.turns[i] else 5] = 1
        E = np.array([x, y, z])  # from the axes of the parent to those of i
        X[i, :3, :3], X[i, 3:, 3:], X[i, 3:, :3] = E, E, -E @ skew(r)  # (2.24)
    return X, S


# ---- inverse dynamics (table 5.1) --------------------------------------------------------------------
def _motion(tree: Tree, X: Numbers, S: Numbers, qd: Any, qdd: Any) -> tuple[Numbers, Numbers]:
    """v and a (n + 1, 6); the world accelerates upwards, which replaces gravity."""
    v, a = _zeros(tree, (tree.n + 1, 6), X, qd), _zeros(tree, (tree.n + 1, 6), X, qd, qdd)
    a[WORLD_AXIS, 3:] = -tree.gravity
    for i, p in enumerate(tree.parent):
        v[i] = X[i] @ v[p] + S[i] * qd[i]
        a[i] = X[i] @ a[p] + S[i] * qdd[i] + crm(v[i]) @ S[i] * qd[i]
    return v, a


def _forces(tree: Tree, X: Numbers, v: Numbers, a: Numbers, loads: Loads) -> Numbers:
    """f (n, 6), what each joint transmits: f_i = I a + v x* I v - f_ext + sum over children X^T f."""
    own = [I @ a[i] + crf(v[i]) @ I @ v[i] for i, I in enumerate(spatial_inertias(tree))]  # noqa: E741
    f = np.array(own).reshape(tree.n, 6) - _external(tree, X, loads)
    for i in reversed(range(tree.n)):
        if tree.parent[i] != WORLD_AXIS:
            f[tree.parent[i]] += X[i].T @ f[i]
    return f


def inverse_dynamics(tree: Tree, q: Any, qd: Any, qdd: Any, loads: Loads = ()) -> Numbers:
    """tau (n,) = S^T f, with armature, springs and friction of the joints."""
    with step("outward and inward pass"):
        X, S = joint_model(tree, q)
        f = _forces(tree, X, *_motion(tree, X, S, qd, qdd), loads)
        tau: Numbers = (S * f).sum(axis=1) + tree.armature * np.asarray(qdd) + _passive(tree, q, qd)
    return tau


def bias_torque(tree: Tree, q: Any, qd: Any, loads: Loads = ()) -> Numbers:
    """C (n,) of tau = H qdd + C."""
    return inverse_dynamics(tree, q, qd, np.zeros(tree.n, int), loads)


def joint_reactions(tree: Tree, q: Any, qd: Any, qdd: Any, loads: Loads = ()) -> Numbers:
    """What each joint transmits as force, moment (n, 6), in the frame of its axis."""
    X, S = joint_model(tree, q)
    return _forces(tree, X, *_motion(tree, X, S, qd, qdd), loads)[:, FORCE_FIRST]


# ---- mass matrix (table 6.2) -------------------------------------------------------------------------
def mass_matrix(tree: Tree, q: Any) -> Numbers:
    """H (n, n): H_ij = S_j^T IC_i S_i in the coordinates of j, IC_i the composite of all beyond joint i."""
    X, S = joint_model(tree, q)
    IC, H = _zeros(tree, (tree.n, 6, 6), X) + spatial_inertias(tree), _zeros(tree, (tree.n, tree.n), X)
    with step("composite bodies"):
        for i in reversed(range(tree.n)):
            F = IC[i] @ S[i]
            H[i, i] = S[i] @ F + tree.armature[i]
            j = i
            while tree.parent[j] != WORLD_AXIS:
                F, j = X[j].T @ F, tree.parent[j]
                H[i, j] = H[j, i] = S[j] @ F
            if tree.parent[i] != WORLD_AXIS:
                IC[tree.parent[i]] += X[i].T @ IC[i] @ X[i]
    return H


# ---- forward dynamics: the articulated-body algorithm (table 7.1) ------------------------------------
def forward_dynamics(tree: Tree, q: Any, qd: Any, tau: Any, loads: Loads = ()) -> Numbers:
    """qdd (n,): what body i does under a force f is f = IA a + pA, all joints beyond it included."""
    n, (X, S) = tree.n, joint_model(tree, q)
    v, a = _motion(tree, X, S, qd, np.zeros(n, int))
    IA = _zeros(tree, (n, 6, 6), X) + spatial_inertias(tree)
    c = [crm(v[i]) @ S[i] * qd[i] for i in range(n)]
    pA = _zeros(tree, (n, 6), X, qd, tau) - _external(tree, X, loads)
    U, D = np.zeros_like(IA[:, 0]), np.zeros_like(IA[:, 0, 0])
    u = _zeros(tree, (n,), pA) + tau - _passive(tree, q, qd)
    with step("articulated bodies"):
        for i in range(n):
            pA[i] += crf(v[i]) @ IA[i] @ v[i]
        for i in reversed(range(n)):
            U[i] = IA[i] @ S[i]
            D[i] = S[i] @ U[i] + tree.armature[i]
            u[i] = u[i] - S[i] @ pA[i]
            if tree.parent[i] != WORLD_AXIS:
                Ia = IA[i] - np.outer(U[i], U[i]) / D[i]
                pa = pA[i] + Ia @ c[i] + U[i] * (u[i] / D[i])
                IA[tree.parent[i]] += X[i].T @ Ia @ X[i]
                pA[tree.parent[i]] += X[i].T @ pa
        qdd, a = np.zeros_like(pA[:, 0]), a.astype(pA.dtype)
        for i, p in enumerate(tree.parent):
            a[i] = X[i] @ a[p] + c[i]
            qdd[i] = (u[i] - U[i] @ a[i]) / D[i]
            a[i] += S[i] * qdd[i]
    return qdd


# ---- first derivatives: the product rule, all joints k at once as columns ----------------------------
def _slopes(tree: Tree, X: Numbers, S: Numbers, qd: Any, qdd: Any, loads: Loads) -> tuple[Numbers, Numbers]:
    """f (n, 6) and its derivatives (3, n, 6, n) by q, qd, qdd, all of components in the axes of each body.

    Only X depends on q: d(X w)/dq = (X w) x S of motion vectors, d(X^T f)/dq = X^T (S x* f) of forces.
    """
    n, (v, a) = tree.n, _motion(tree, X, S, qd, qdd)
    f = _forces(tree, X, v, a, loads)
    dv, da, df = (_zeros(tree, (3, n + 1, 6, n), f, qdd) for _ in range(3))
    with step("product rule"):
        for i, p in enumerate(tree.parent):
            dv[:, i], da[:, i] = X[i] @ dv[:, p], X[i] @ da[:, p]
            dv[0, i, :, i] += crm(X[i] @ v[p]) @ S[i]
            dv[1, i, :, i] += S[i]
            da[0, i, :, i] += crm(X[i] @ a[p]) @ S[i]
            da[1, i, :, i] += crm(v[i]) @ S[i]
            da[2, i, :, i] += S[i]
            da[:, i] -= crm(S[i] * qd[i]) @ dv[:, i]
        for i, I in enumerate(spatial_inertias(tree)):  # noqa: E741
            df[:, i] += I @ da[:, i] + (crf(v[i]) @ I + force_cross(I @ v[i])) @ dv[:, i]
        for i, shift, load in _local_loads(tree, X, loads):  # a fixed direction: it turns in the axes of i
            turn = np.concatenate([dv[1, i, :3], np.zeros((3, n), int)])
            df[0, i] += shift @ force_cross(load) @ turn
        for i in reversed(range(n)):
            df[:, tree.parent[i]] += X[i].T @ df[:, i]
            df[0, tree.parent[i], :, i] += X[i].T @ crf(S[i]) @ f[i]
    return f, df[:, :n]


def inverse_dynamics_derivatives(
    tree: Tree, q: Any, qd: Any, qdd: Any, loads: Loads = ()
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """tau (n,), dtau/dq, dtau/dqd, dtau/dqdd (n, n); Coulomb friction has no slope."""
    X, S = joint_model(tree, q)
    f, df = _slopes(tree, X, S, qd, qdd, loads)
    tau = (S * f).sum(axis=1) + tree.armature * np.asarray(qdd) + _passive(tree, q, qd)
    dq, dqd, dqdd = (S[:, :, None] * df).sum(axis=2)
    return tau, dq + np.diag(tree.stiffness), dqd + np.diag(tree.viscous), dqdd + np.diag(tree.armature)


def joint_reaction_derivatives(
    tree: Tree, q: Any, qd: Any, qdd: Any, loads: Loads = ()
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """What each joint transmits as force, moment (n, 6), and its derivatives by q, qd, qdd, (n, 6, n)."""
    f, df = _slopes(tree, *joint_model(tree, q), qd, qdd, loads)
    dq, dqd, dqdd = df[:, :, FORCE_FIRST]
    return f[:, FORCE_FIRST], dq, dqd, dqdd


def forward_dynamics_derivatives(
    tree: Tree, q: Any, qd: Any, tau: Any, loads: Loads = ()
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """qdd (n,), dqdd/dq, dqdd/dqd, dqdd/dtau (n, n): tau(q, qd, qdd(q, qd, tau)) = tau, differentiated."""
    qdd = forward_dynamics(tree, q, qd, tau, loads)
    _, dtau_dq, dtau_dqd, H = inverse_dynamics_derivatives(tree, q, qd, qdd, loads)
    inverse = np.linalg.inv(H)
    return qdd, -inverse @ dtau_dq, -inverse @ dtau_dqd, inverse


# ---- what the book leaves to the reader --------------------------------------------------------------
def _local_loads(tree: Tree, X: Numbers, loads: Loads) -> list[tuple[int, Numbers, Numbers]]:
    """Axis i, the shift (6, 6) from the point of a load to the origin of i, and the load in the axes of i."""
    E = np.zeros_like(X, shape=(tree.n + 1, 3, 3))  # from the axes of the world
    E[WORLD_AXIS] = np.eye(3)
    for i, p in enumerate(tree.parent):
        E[i] = X[i, :3, :3] @ E[p]
    found = []
    for i, force, moment, point in loads:
        if i != WORLD_AXIS:
            shift = np.eye(6) + np.block([[np.zeros((3, 3)), skew(point)], [np.zeros((3, 6))]])
            found.append((i, shift, np.concatenate([E[i] @ np.asarray(moment), E[i] @ np.asarray(force)])))
    return found


def _external(tree: Tree, X: Numbers, loads: Loads) -> Numbers:
    """f_ext (n, 6) on what each axis carries."""
    parts = _local_loads(tree, X, loads)
    f_ext = _zeros(tree, (tree.n, 6), X, *(load for _, _, load in parts))
    for i, shift, load in parts:
        f_ext[i] += shift @ load
    return f_ext


def _passive(tree: Tree, q: Any, qd: Any) -> Numbers:
    """What springs and friction ask of the drives (n,): k (q - rest) + viscous qd + dry friction."""
    torque = _zeros(tree, (tree.n,), q, qd)
    for i in np.flatnonzero(tree.passive):
        torque[i] += tree.stiffness[i] * (q[i] - tree.rest[i]) + tree.viscous[i] * qd[i]
        torque[i] += tree.coulomb[i] * sign(qd[i])
        if tree.coulomb_bias[i]:
            torque[i] += tree.coulomb_bias[i] * (sign(qd[i]) * sign(qd[i]))
    return torque


def _zeros(tree: Tree, shape: tuple[int, ...], *values: Any) -> Numbers:
    """Zeros of the kind of number that the model and the values make together."""
    return np.zeros(shape, np.result_type(tree.mass, *(np.asarray(x) for x in values)))
