"""Inverse dynamics of closed loops subsystem by subsystem ([Shah2013], sections 8.1 and 8.2).

The equations of motion of a mechanism with as many drives as freedoms, E x + J^T lambda = tau_tree, fall into
blocks. A determinate one is solved by itself; the forces that it gives make the next ones determinate.
"""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.dynamics.loops.structure import Blocks, block_form
from kinetree.errors import InputError
from kinetree.model.mechanism import Mechanism

TRUSTED = 1e-5  # share of the largest entry of J that the smallest singular value of a block must have


def recursive_torque(mechanism: Mechanism, J: Array, tau_tree: Array) -> Array | None:
    """Torques of the drives (..., n_dof), zero elsewhere; None where the blocks do not give them.

    That is with more or fewer drives than freedoms, or where a block is too near to singular. ``J``
    (..., rows, n_dof) of the loops, ``tau_tree`` (..., n_dof) of the tree.
    """
    form = _form(mechanism, J)
    if form is None:
        return None
    unknowns = solved_blocks(form, J[..., form.kept, :], tau_tree)
    if unknowns is None:
        return None
    tau = np.zeros_like(tau_tree)
    tau[..., form.drives] = unknowns[..., : len(form.drives)]
    return tau


def _form(mechanism: Mechanism, J: Array) -> Blocks | None:
    """The blocks of a mechanism, unless the first state says that its drives do not fit its freedoms."""
    if not J.size or not np.isfinite(J).all():
        return None
    try:
        return block_form(mechanism, J.reshape(-1, *J.shape[-2:])[0])
    except InputError:
        return None


def solved_blocks(form: Blocks, J: Array, tau_tree: Array) -> Array | None:
    """Torques of the drives and multipliers of the kept rows J (..., kept, n_dof), block after block."""
    count, n = len(form.drives), tau_tree.shape[-1]
    size = np.abs(J).max(axis=(-1, -2), initial=0.0)
    left, x = np.array(tau_tree), np.zeros((*tau_tree.shape[:-1], n))
    for block in form.blocks:
        rows, given = block.equations, block.unknowns
        drives, forces = given[given < count], given[given >= count] - count
        A = np.zeros((*left.shape[:-1], len(rows), len(given)))
        A[..., len(drives) :] = np.swapaxes(J[..., forces, :], -1, -2)[..., rows, :]
        A[..., : len(drives)] = rows[:, None] == form.drives[drives]
        if not _is_regular(A, size):
            return None
        x[..., given] = part = np.linalg.solve(A, left[..., rows, None])[..., 0]
        of_forces = part[..., len(drives) :]
        left -= (np.swapaxes(J[..., forces, :], -1, -2) @ of_forces[..., None])[..., 0]
    return x


def _is_regular(A: Array, size: Array) -> bool:
    """Whether blocks (..., k, k) are well away from singular beside the largest entry of J, (...).

    The inverse of the norm of A^-1 is a lower bound of the smallest singular value, and found much faster.
    """
    if A.shape[-1] == 1:
        return bool((np.abs(A[..., 0, 0]) > TRUSTED * size).all())
    try:
        inverse = np.linalg.inv(A)
    except np.linalg.LinAlgError:
        return False
    return bool((TRUSTED * size * np.linalg.norm(inverse, axis=(-2, -1)) < 1.0).all())
