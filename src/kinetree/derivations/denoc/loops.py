"""Closed loops with DeNOC: the tree's recursions and Lagrange multipliers of the cut joints.

[Shah2013], 8.1-8.7. Planar loops make F of eq. 8.4 and J I^-1 J^T of eq. 8.6 singular as they stand, because
redundant rows have no unique multipliers (errata); both are solved in the least norm, which changes neither
torques nor accelerations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.derivations.contract import Closed, Loads
from kinetree.derivations.cut_joints import along, cut_jacobian
from kinetree.derivations.denoc.forward import forward_dynamics
from kinetree.derivations.denoc.inverse import inverse_dynamics
from kinetree.derivations.homogeneous import Numbers
from kinetree.errors import InputError
from kinetree.model.tree import Tree

RANK = 1e-9  # singular values below this share of the largest count as zero


def closed_inverse_dynamics(
    tree: Tree, closed: Closed, q: Any, qd: Any, qdd: Any, loads: Loads = ()
) -> Numbers:
    """tau_a (n,), zero elsewhere: [tau_a; lambda] = F^-1 tau^phi, F = [J_a^T J^T].

    [Shah2013], eqs. 8.2-8.4.
    """
    needed = inverse_dynamics(tree, q, qd, qdd, loads)  # tau^phi, [Shah2013], Table 6.1
    J, drives = cut_jacobian(tree, closed.cuts, q), np.flatnonzero(closed.driven)
    F = np.concatenate([np.eye(tree.n)[:, drives], J.T], axis=1)
    if len(drives) + np.linalg.matrix_rank(J, tol=RANK * np.abs(J).max(initial=0.0)) != tree.n:
        raise InputError("eq. 8.4 of DeNOC needs as many drives as the mobility")
    unknowns, _, rank, _ = np.linalg.lstsq(F, needed, rcond=RANK)
    if rank < tree.n:
        raise InputError("the drives cannot move the mechanism in this position: F of eq. 8.4 is singular")
    tau = np.zeros(tree.n)
    tau[drives] = unknowns[: len(drives)]
    return tau


def closed_forward_dynamics(
    tree: Tree, closed: Closed, q: Any, qd: Any, tau: Any, loads: Loads = ()
) -> Numbers:
    """qdd (n,) = I^-1 (phi + J^T lambda) with lambda of eq. 8.6.

    I^-1 by the recursion of [Shah2013], Table 6.2.
    """
    J = cut_jacobian(tree, closed.cuts, q)
    alone = forward_dynamics(tree, q, qd, tau, loads)  # I^-1 phi
    columns = np.stack([forward_dynamics(tree, q, qd, tau + row, loads) - alone for row in J], axis=-1)
    bias = along(lambda x: cut_jacobian(tree, closed.cuts, x) @ np.asarray(qd), q, qd)  # dJ/dt qd
    force = -np.linalg.pinv(J @ columns, rcond=1e-11, hermitian=False) @ (J @ alone + bias)  # (8.6)
    qdd: Numbers = alone + columns @ force  # (8.7)
    return qdd
