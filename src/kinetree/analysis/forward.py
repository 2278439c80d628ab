"""What motion do these forces cause? Forward dynamics, the mass matrix and its factors M = U D U^T."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.analysis.inverse import mass_matrix
from kinetree.analysis.question import closed
from kinetree.dynamics.checks import check_threads
from kinetree.dynamics.forward import FORWARD
from kinetree.dynamics.loads import Wrenches
from kinetree.errors import SingularityError
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism


class MassMatrixFactors(NamedTuple):
    """``U`` (..., n_dof, n_dof), upper triangular with a diagonal of ones, and pivots ``D`` (..., n_dof)."""

    U: Array
    D: Array


def mass_matrix_factors(mechanism: Mechanism, q: ArrayLike) -> MassMatrixFactors:
    """U and D of M(q) = U D U^T, where U_ji is zero unless joint j carries joint i.

    The pivot D_i (kg m^2 or kg) is the effective inertia of joint i while the joints beyond it are free: the
    articulated inertia along its axis. A pivot of rounding size is an error that names the joint.
    ([Mohan2007], eqs. 28-33; [Shah2013], section 5.3)

    >>> import kinetree as kt, numpy as np
    >>> arm = kt.zoo.two_link()
    >>> U, D = kt.analysis.mass_matrix_factors(arm, [0.1, 0.2])
    >>> bool(np.allclose(U * D @ U.T, kt.mass_matrix(arm, [0.1, 0.2])))
    True
    """
    M = mass_matrix(mechanism, q)
    turned = M[..., ::-1, ::-1]  # M = U D U^T from the tips is L D L^T of the joints in reverse order
    try:
        C = np.linalg.cholesky(turned)
    except np.linalg.LinAlgError:
        raise SingularityError(_singular(mechanism, M)) from None
    root = np.diagonal(C, axis1=-2, axis2=-1)
    D = root[..., ::-1] ** 2
    if (D <= 1e-14 * np.abs(np.diagonal(M, axis1=-2, axis2=-1))).any():
        raise SingularityError(_singular(mechanism, M))
    return MassMatrixFactors((C / root[..., None, :])[..., ::-1, ::-1].copy(), D.copy())


def _singular(mechanism: Mechanism, M: Array) -> str:
    """Which joint moves no inertia, in the first state where one does not."""
    for A in M.reshape(-1, *M.shape[-2:]):
        A = A.copy()
        for i in reversed(range(len(A))):
            if A[i, i] <= 1e-14 * max(abs(A).max(), 1e-300):
                joint = mechanism.joint_names[i]
                stated = f"joint '{joint}' moves no inertia (pivot {A[i, i]:.3g})"
                return f"singular mass matrix of '{mechanism.name}': {stated}"
            A[:i, :i] -= np.outer(A[:i, i], A[i, :i]) / A[i, i]
    return f"singular mass matrix of '{mechanism.name}'"


def forward_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    wrenches: Wrenches = None,
    *,
    threads: int | None = None,
    formulation: str | None = None,
    out: Array | None = None,
) -> Array:
    """Joint accelerations (..., n_dof) caused by torques: qdd = M^-1 (tau - c - g - passive + J^T w).

    Articulated bodies, O(n); mechanisms with mimic joints solve with the mass matrix. Raises
    :class:`SingularityError` where a joint moves no inertia (a massless leaf, gimbal lock). ``out``, float64
    and contiguous, receives the result. With closed loops the state must close them, and qdd keeps them
    closed: M qdd + h = tau + J^T lambda, J qdd + dJ/dt qd = 0.

    >>> import kinetree as kt
    >>> kt.forward_dynamics(kt.zoo.gripper(), [-1.2, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]).shape
    (4,)
    """
    try:
        calls = mechanism.tree.kept.calls
    except AttributeError:
        expect_mechanism(mechanism)
        raise
    if (
        wrenches is None
        and formulation is None
        and out is None
        and (threads is None or check_threads(threads))
    ):
        call = calls.get(FORWARD)  # straight to compiled code, which checks plain states
        if call is not None and (qdd := call(q, qd, tau)) is not None:
            return qdd  # type: ignore[no-any-return]
    if mechanism.loops:
        return closed(FORWARD, mechanism, (q, qd, tau), wrenches, threads, formulation, out)
    return FORWARD.closely(mechanism, mechanism.tree, (q, qd, tau), wrenches, threads, formulation, out)
