"""Hybrid dynamics of mechanisms with closed loops, through their accelerations, which torques enter linearly.

With qdd = a + W tau, where W is the derivative of forward dynamics by torques, those of the prescribed joints
follow from W_pp tau_p = qdd_p - a_p - W_pf tau_f.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.dynamics.checks import checking
from kinetree.dynamics.evaluate import same_batch
from kinetree.dynamics.loads import Wrenches
from kinetree.dynamics.loops.acceleration import loop_accelerations
from kinetree.dynamics.loops.sensitivity import loop_forward_dynamics_derivatives
from kinetree.errors import InputError, SingularityError, listed
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Integers

RANK = 1e-9  # share of the largest singular value below which torques change no acceleration
MET = 1e-8  # share of the accelerations by which prescribed ones may be missed


def closed_hybrid(
    mechanism: Mechanism, q: Array, qd: Array, qdd: Array, tau: Array, known: Integers, wrenches: Wrenches
) -> tuple[Array, Array]:
    """Accelerations and torques of all joints, (..., n_dof); qdd counts where known, tau elsewhere."""
    q, qd, qdd, tau = same_batch(q, qd, qdd, tau)
    tau = np.array(tau)
    if len(known):
        d = loop_forward_dynamics_derivatives(mechanism, q, qd, tau, None, wrenches)
        W = d.dqdd_dtau[..., known[:, None], known]
        missing = (qdd - d.qdd)[..., known, None]
        tau[..., known] = (np.linalg.pinv(W, rcond=RANK, hermitian=True) @ missing)[..., 0]
    found = loop_accelerations(mechanism, q, qd, tau, wrenches)
    if checking() and len(known):
        _check_met(mechanism, found[..., known], qdd[..., known], known)
    return found, tau


def closed_hybrid_derivatives(
    mechanism: Mechanism, q: ArrayLike, qd: ArrayLike, tau: Array, known: Integers, wrenches: Wrenches
) -> tuple[tuple[Array, ...], tuple[str, ...]]:
    """Derivatives of qdd, then of tau, by q, qd, qdd and tau; and the names of the independent joints."""
    d = loop_forward_dynamics_derivatives(mechanism, q, qd, tau, None, wrenches)
    W, n = d.dqdd_dtau, mechanism.n_dof
    W_pp = W[..., known[:, None], known]
    _check_untied(mechanism, W_pp, known)
    inverse = np.zeros((*W.shape[:-2], n, n))
    inverse[..., known[:, None], known] = np.linalg.inv(W_pp)
    is_known = np.zeros(n, dtype=bool)
    is_known[known] = True
    free = np.where(is_known, 0.0, np.eye(n))  # columns of torques that are given
    tau_by = [-inverse @ x for x in (d.dqdd_dq, d.dqdd_dqd)]
    tau_by += [inverse, free - inverse @ W @ free]
    qdd_by = [x + W @ y for x, y in zip((d.dqdd_dq, d.dqdd_dqd, 0.0 * W, 0.0 * W), tau_by, strict=True)]
    for x in qdd_by:
        x[..., known, :] = 0.0
    qdd_by[2] = qdd_by[2] + np.where(is_known, np.eye(n), 0.0)  # what was given stands for itself
    return (*qdd_by, *tau_by), d.independent


def refuse_tied(mechanism: Mechanism, q: Array, qd: Array, known: Integers) -> None:
    """Raise where closed loops let prescribed joints not accelerate one by one in states (..., n_dof)."""
    d = loop_forward_dynamics_derivatives(mechanism, q, qd, np.zeros_like(q), None, None)
    _check_untied(mechanism, d.dqdd_dtau[..., known[:, None], known], known)


def _check_untied(mechanism: Mechanism, W: Array, known: Integers) -> None:
    """The answer of prescribed joints to their torques (..., k, k) must have full rank."""
    if len(known) and np.linalg.matrix_rank(W, hermitian=True).min() < len(known):
        raise SingularityError(
            f"mechanism '{mechanism.name}': its loops couple the prescribed joints "
            f"({listed(mechanism.joint_names[k] for k in known)}), so their accelerations cannot vary "
            f"independently; prescribe fewer of them"
        )


def _check_met(mechanism: Mechanism, found: Array, wanted: Array, known: Integers) -> None:
    """Raise where the loops do not let the prescribed joints accelerate as prescribed."""
    off = np.abs(found - wanted)
    allowed = MET * (
        1.0 + np.abs(wanted).max(axis=-1, keepdims=True) + np.abs(found).max(axis=-1, keepdims=True)
    )
    if (off > allowed).any():
        place = tuple(np.argwhere(off > allowed)[0])
        joint = mechanism.joint_names[known[place[-1]]]
        raise InputError(
            f"mechanism '{mechanism.name}': joint '{joint}' cannot accelerate by {wanted[place]:.6g} "
            f"together with the other prescribed joints: its loops allow {found[place]:.6g}; prescribe fewer "
            f"joints, or "
            "accelerations that keep the loops closed"
        )
