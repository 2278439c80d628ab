"""Forces that a motion of an open tree needs: inverse dynamics, its parts, and joint reactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.dynamics.axis_motion import axis_motion
from kinetree.dynamics.by_formulation import answer, answers
from kinetree.dynamics.checks import given
from kinetree.dynamics.coupling import all_axes, axis_state, coupled, independent
from kinetree.dynamics.evaluate import as_matrices, evaluate, evaluate_full
from kinetree.dynamics.loads import Wrenches, axis_loads, body_loads, with_springs
from kinetree.dynamics.question import Question
from kinetree.dynamics.springs import lift_torques, spring_torques
from kinetree.kernels.crba import CRBA
from kinetree.kernels.rnea import RNEA, RNEA_UNLOADED
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Tree
from kinetree.state import Frame

if TYPE_CHECKING:
    pass


def _torques(
    mechanism: Mechanism, tree: Tree, state: tuple[Array, ...], wrenches: Wrenches, threads: int | None
) -> Array:
    if wrenches is None:
        (tau,) = evaluate(RNEA_UNLOADED, tree, state, [tree.n], threads)
    else:
        load = axis_loads(tree, body_loads(mechanism, state[0], wrenches))
        tau, _ = evaluate(RNEA, tree, [*state, load], [tree.n, 0], threads)
    if tree.springs is not None:
        tau = tau - spring_torques(tree, state[0], state[1])
    return independent(tree, tau, state[0])


def _torques_by_formulation(
    name: str, mechanism: Mechanism, tree: Tree, state: tuple[Any, ...], wrenches: Wrenches
) -> Array:
    states = list(zip(INVERSE.inputs, state, strict=True))
    return answer(name, "inverse_dynamics", mechanism, states, wrenches)


INVERSE = Question(
    "inverse_dynamics",
    RNEA_UNLOADED,
    ("q", "qd", "qdd"),
    general=_torques,
    formulated=_torques_by_formulation,
)


def _mass_matrices(
    mechanism: Mechanism, tree: Tree, state: tuple[Array, ...], wrenches: Wrenches, threads: int | None
) -> Array:
    _, (M,) = evaluate_full(CRBA, tree, state, [], threads)
    return coupled(tree, as_matrices(M, tree.n), state[0])


def _mass_matrix_by_formulation(
    name: str, mechanism: Mechanism, tree: Tree, state: tuple[Any, ...], wrenches: Wrenches
) -> Array:
    return answer(name, "mass_matrix", mechanism, [("q", state[0])])


MASS_MATRIX = Question(
    "mass_matrix",
    CRBA,
    ("q",),
    general=_mass_matrices,
    formulated=_mass_matrix_by_formulation,
    feels_springs=False,
)


def tree_gravity_torque(mechanism: Mechanism, q: ArrayLike) -> Array:
    """g (..., n_dof): torques that hold an open tree still against gravity, without springs."""
    tree = mechanism.tree
    rest = np.zeros(tree.n)
    q = all_axes(tree, given(mechanism, q, "q"))
    (tau,) = evaluate(RNEA_UNLOADED, tree, [q, rest, rest], [tree.n])
    if tree.springs is not None:
        tau = tau - lift_torques(tree, q)
    return independent(tree, tau - tree.stiffness * (q - tree.rest), q)


def tree_bias_torque(mechanism: Mechanism, q: ArrayLike, qd: ArrayLike, wrenches: Wrenches = None) -> Array:
    """h (..., n_dof) of an open tree in tau = M qdd + h."""
    return INVERSE.of(mechanism, q, qd, np.zeros(mechanism.n_dof), wrenches=wrenches)


def tree_reactions(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrenches: Wrenches = None,
    frame: Frame = "body",
    formulation: str | None = None,
) -> Array:
    """Wrench that each body's parent exerts on it in an open tree, (..., n_bodies, 6)."""
    tree = mechanism.jointed_tree
    if formulation is None:
        moving, rates, _ = axis_state(mechanism, mechanism.tree, q, qd, qdd)
        wrenches = with_springs(mechanism, moving, rates, wrenches)
        load = axis_loads(tree, body_loads(mechanism, moving, wrenches))
        q, qd, qdd = axis_state(mechanism, tree, q, qd, qdd)
        _, reaction = evaluate(RNEA, tree, [q, qd, qdd, load], [tree.n, 6 * tree.n])
    else:
        states = [("q", q), ("qd", qd), ("qdd", qdd)]
        (reaction,) = answers(formulation, "joint_reactions", mechanism, tree, states, wrenches)
        q, qd, qdd = axis_state(mechanism, tree, q, qd, qdd)
    batch = reaction.shape[:-1] if formulation is None else reaction.shape[:-2]
    on_axes = reaction.reshape((*batch, tree.n, 2, 3))[..., tree.body_axis, :, :]
    if frame == "body":
        axes = tree.body_rotation.transpose(0, 2, 1)
    else:
        axes = axis_motion(tree, q, qd, qdd).rotation[..., tree.body_axis, :, :]
    turned = (axes[..., None, :, :] @ on_axes[..., None])[..., 0]
    return turned.reshape((*turned.shape[:-2], 6))
