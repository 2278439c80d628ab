"""The motion that forces cause in an open tree: forward dynamics in O(n)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.dynamics.by_formulation import answer
from kinetree.dynamics.checks import check_finite, checking
from kinetree.dynamics.evaluate import evaluate
from kinetree.dynamics.inverse import MASS_MATRIX, tree_bias_torque
from kinetree.dynamics.loads import Wrenches, axis_loads, body_loads
from kinetree.dynamics.question import Question
from kinetree.dynamics.springs import spring_torques
from kinetree.errors import SingularityError
from kinetree.kernels.aba import ABA, ABA_ALONE, ABA_UNLOADED, SINGULAR
from kinetree.kernels.tree_columns import gross_inertia
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Tree
from kinetree.state import state_name


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
    states = list(zip(FORWARD.inputs, state, strict=True))
    return answer(name, "forward_dynamics", mechanism, states, wrenches)


FORWARD = Question(
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
        raise SingularityError(singular(tree.axis_names[axis], state, size))


def singular(joint: str, state: tuple[int, ...], pivot: str) -> str:
    """What is said of a joint that moves no inertia in a state."""
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
    M = MASS_MATRIX.of(mechanism, q, threads=threads)
    if checking():
        _check_regular(mechanism, M)
    rest = tau - tree_bias_torque(mechanism, q, qd, wrenches)
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
    gross = gross_inertia(tree) @ (tree.coupling.linear**2 + tree.coupling.followed)  # at a slope of one
    scale = 1.0 / np.sqrt(np.where(gross > 0, gross, 1.0))
    values, vectors = np.linalg.eigh(M * scale[:, None] * scale)
    if (values[..., 0] <= SINGULAR).any():
        place = tuple(np.argwhere(values[..., 0] <= SINGULAR)[0])
        joint = mechanism.joint_names[int(np.argmax(np.abs(vectors[place][:, 0])))]
        raise SingularityError(singular(joint, place, f"{values[(*place, 0)]:.3g}"))
