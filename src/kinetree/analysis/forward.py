"""What motion do these forces cause? Forward dynamics in O(n)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.analysis.by_formulation import answer
from kinetree.analysis.checks import check_finite, check_threads, checking
from kinetree.analysis.evaluate import evaluate
from kinetree.analysis.inverse import bias_torque, mass_matrix
from kinetree.analysis.loads import Wrenches, axis_loads, body_loads
from kinetree.analysis.question import Question
from kinetree.analysis.springs import spring_torques
from kinetree.errors import SingularityError
from kinetree.kernels.aba import ABA, ABA_ALONE, ABA_UNLOADED, SINGULAR
from kinetree.kernels.tree_columns import gross_inertia
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Tree
from kinetree.state import state_name


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
        call = calls.get(_FORWARD)  # straight to compiled code, which checks plain states
        if call is not None and (qdd := call(q, qd, tau)) is not None:
            return qdd  # type: ignore[no-any-return]
    return _FORWARD.closely(mechanism, mechanism.tree, (q, qd, tau), wrenches, threads, formulation, out)


def _accelerations(
    mechanism: Mechanism, tree: Tree, state: tuple[Array, ...], wrenches: Wrenches, threads: int | None
) -> Array:
    if tree.coupling is not None:
        return _coupled(mechanism, state[0], state[1], state[2], wrenches, threads)
    kernel, inputs = ABA_UNLOADED, list(state)
    if tree.springs is not None:
        inputs[2] = inputs[2] + spring_torques(tree, state[0], state[1])
    if wrenches is not None:
        kernel = ABA
        inputs.append(axis_loads(tree, body_loads(mechanism, state[0], wrenches)))
    explain = partial(check_pivots_of, tree)
    qdd, pivot = evaluate(kernel, tree, inputs, [tree.n] * 2, threads, explain)
    check_pivots(tree, pivot)
    return qdd


def _accelerations_by_formulation(
    name: str, mechanism: Mechanism, tree: Tree, state: tuple[Any, ...], wrenches: Wrenches
) -> Array:
    states = list(zip(_FORWARD.inputs, state, strict=True))
    return answer(name, "forward_dynamics", mechanism, states, wrenches)


_FORWARD = Question(
    "forward_dynamics",
    ABA_ALONE,
    ("q", "qd", "tau"),
    general=_accelerations,
    formulated=_accelerations_by_formulation,
    of_axes=False,
)


def check_pivots_of(tree: Tree, outputs: list[Array]) -> None:
    """Raise where a pivot among the outputs (acceleration, pivots, ...) is rounding error."""
    check_pivots(tree, outputs[1])


def check_pivots(tree: Tree, pivot: Array) -> None:
    """Raise where a pivot (..., n) of M = U D U^T is rounding error, naming the joint."""
    if not checking():
        return
    good = pivot > SINGULAR * gross_inertia(tree)
    if not good.all():
        state = tuple(np.argwhere(~good.all(axis=-1))[0])
        axis = int(np.flatnonzero(~good[state])[-1])  # elimination starts at the tips
        kind = "rotation" if tree.turns[axis] else "translation"
        size = f"{pivot[state][axis]:.3g} for its {kind}"
        raise SingularityError(_singular(tree.axis_names[axis], state, size))


def _singular(joint: str, state: tuple[int, ...], pivot: str) -> str:
    return (
        f"singular mass matrix: joint '{joint}' moves no inertia in {state_name(state)} (pivot {pivot}); "
        "give the bodies beyond it mass and extent, or the joint an armature (for files of others armature= "
        "of kinetree.load, or armature = 0.01 in [mechanism.parameters] of a study), and keep Euler-angle "
        "joints away from gimbal lock"
    )


def _coupled(
    mechanism: Mechanism, q: Array, qd: Array, tau: Array, wrenches: Wrenches, threads: int | None
) -> Array:
    """With mimic joints: solve M qdd = tau - h in the independent coordinates."""
    M = mass_matrix(mechanism, q, threads=threads)
    if checking():
        _check_regular(mechanism, M)
    rest = tau - bias_torque(mechanism, q, qd, wrenches)
    qdd = solved(M, rest[..., None])[..., 0]
    check_finite([qdd])
    return qdd


def solved(M: Array, b: Array) -> Array:
    """x (..., n, k) with M x = b for M (..., n, n); NaN where M is singular, which others have noticed.

    >>> solved(np.array([np.eye(2), np.zeros((2, 2))]), np.ones((2, 1))).ravel().tolist()
    [1.0, 1.0, nan, nan]
    """
    try:
        return np.asarray(np.linalg.solve(M, b), dtype=np.float64)
    except np.linalg.LinAlgError:
        regular = np.linalg.slogdet(M).sign != 0.0
        x = np.linalg.solve(np.where(regular[..., None, None], M, np.eye(M.shape[-1])), b)
        return np.where(regular[..., None, None], x, np.nan)


def _check_regular(mechanism: Mechanism, M: Array) -> None:
    """Raise where the smallest eigenvalue of M, scaled by the inertia each joint moves, is rounding error."""
    tree = mechanism.tree
    assert tree.coupling is not None
    gross = gross_inertia(tree) @ tree.coupling.linear**2
    if tree.coupling.follows is not None:  # polynomials: at a slope of one
        gross = gross + gross_inertia(tree) @ tree.coupling.follows
    scale = 1.0 / np.sqrt(np.where(gross > 0, gross, 1.0))
    values, vectors = np.linalg.eigh(M * scale[:, None] * scale)
    if (values[..., 0] <= SINGULAR).any():
        place = tuple(np.argwhere(values[..., 0] <= SINGULAR)[0])
        joint = mechanism.joint_names[int(np.argmax(np.abs(vectors[place][:, 0])))]
        raise SingularityError(_singular(joint, place, f"{values[(*place, 0)]:.3g}"))
