"""What motion do these forces cause? Forward dynamics in O(n)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.analysis.evaluate import evaluate, evaluate_single
from kinetree.analysis.inverse import bias_torque, mass_matrix
from kinetree.analysis.loads import Wrenches, axis_loads, body_loads
from kinetree.errors import SingularityError
from kinetree.kernels.aba import ABA, ABA_UNLOADED, SINGULAR
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Tree
from kinetree.state import coordinates


def forward_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    wrenches: Wrenches = None,
    *,
    threads: int | None = None,
) -> Array:
    """Joint accelerations (..., n_dof) caused by torques: qdd = M^-1 (tau - c - g - passive + J^T w).

    Articulated bodies, O(n); mechanisms with mimic joints solve with the mass matrix. Raises
    :class:`SingularityError` where a joint moves no inertia (a massless leaf, gimbal lock).

    >>> import kinetree as kt
    >>> kt.forward_dynamics(kt.zoo.gripper(), [-1.2, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]).shape
    (4,)
    """
    tree = mechanism.tree
    if wrenches is None:
        at_once = evaluate_single(ABA_UNLOADED, mechanism, (tree.n, tree.n), q, qd, tau)
        if at_once is not None:
            return at_once[0]
    q = coordinates(mechanism, q, "q")
    qd = coordinates(mechanism, qd, "qd")
    tau = coordinates(mechanism, tau, "tau")
    if tree.coupling is not None:
        return _coupled(mechanism, q, qd, tau, wrenches)
    if wrenches is None:
        qdd, pivot = evaluate(ABA_UNLOADED, tree, [q, qd, tau], [tree.n] * 2, threads)
    else:
        load = axis_loads(tree, body_loads(mechanism, q, wrenches))
        qdd, pivot = evaluate(ABA, tree, [q, qd, tau, load], [tree.n] * 2, threads)
    check_pivots(tree, pivot)
    return qdd


def check_pivots(tree: Tree, pivot: Array) -> None:
    """Raise where a pivot of M = U D U^T is zero, not positive or not a number, naming the joint."""
    for turns, kind in ((True, "rotation"), (False, "translation")):
        axes = np.flatnonzero(tree.turns == turns)
        values = pivot[..., axes]
        if not values.size:
            continue
        smallest = SINGULAR * np.nanmax(np.abs(values), axis=-1, keepdims=True, initial=0.0)
        bad = ~(values > smallest)
        if bad.any():
            place = tuple(np.argwhere(bad)[0])
            raise SingularityError(
                f"singular mass matrix: joint '{tree.axis_names[axes[place[-1]]]}' moves no inertia in "
                f"this state (pivot {values[place]:.3g} for its {kind}); give the bodies beyond it mass and "
                "extent, or an armature to the joint, and keep Euler-angle joints away from gimbal lock"
            )


def _coupled(mechanism: Mechanism, q: Array, qd: Array, tau: Array, wrenches: Wrenches) -> Array:
    """With mimic joints: solve M qdd = tau - h in the independent coordinates."""
    M = mass_matrix(mechanism, q)
    rest = tau - bias_torque(mechanism, q, qd, wrenches)
    try:
        return np.asarray(np.linalg.solve(M, rest[..., None])[..., 0], dtype=np.float64)
    except np.linalg.LinAlgError:
        raise SingularityError(
            f"the mass matrix of '{mechanism.name}' is singular: some joint moves no inertia in this state"
        ) from None
