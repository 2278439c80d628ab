"""What motion do these forces cause?"""

from __future__ import annotations

from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.analysis.question import closed
from kinetree.dynamics.checks import check_threads
from kinetree.dynamics.forward import FORWARD
from kinetree.dynamics.loads import Wrenches
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism


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
