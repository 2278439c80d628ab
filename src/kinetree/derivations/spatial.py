"""The library's own kernels, interpreted: the same source that is compiled, on any kind of number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.derivations.contract import Formulation, Load, step
from kinetree.engine.interpret import interpreted
from kinetree.kernels.aba import ABA
from kinetree.kernels.crba import CRBA
from kinetree.kernels.kinematics import KINEMATICS
from kinetree.kernels.load_gradient import LOAD, LOAD_GRADIENT
from kinetree.kernels.load_reaction import LOAD_REACTION
from kinetree.kernels.model_table import n_pairs
from kinetree.kernels.reaction_gradient import REACTION_GRADIENT, reaction_places
from kinetree.kernels.rnea import RNEA
from kinetree.kernels.rnea_gradient import RNEA_GRADIENT
from kinetree.model.tree import Tree

FORMULATION = Formulation(
    name="spatial",
    title="Spatial-algebra kernels of the library",
    source="Featherstone 2008 (RNEA, CRBA, ABA); derivatives in closed form",
    cost="O(n) torques and accelerations, O(n depth) mass matrix and derivatives",
    can=frozenset(
        [
            "inverse_dynamics",
            "mass_matrix",
            "bias_torque",
            "forward_dynamics",
            "joint_reactions",
            "inverse_dynamics_derivatives",
            "joint_reaction_derivatives",
        ]
    ),
)


def _wrench(tree: Tree, q: Any, loads: Sequence[Load]) -> Any:
    """Loads as the kernels want them: force and moment per axis, in its frame at its origin."""
    if not loads:
        return np.zeros(0, np.asarray(q).dtype)
    still = np.zeros_like(q)
    (pose, _, _), _ = interpreted(KINEMATICS, tree, [q, still, still], [12 * tree.n, 6 * tree.n, 6 * tree.n])
    kind = np.result_type(pose, *(np.asarray(x) for load in loads for x in load[1:]))
    wrench = np.zeros((tree.n, 6), kind)
    for load in loads:
        R = pose[12 * load.axis : 12 * load.axis + 9].reshape(3, 3)
        force = R.T @ np.asarray(load.force)
        wrench[load.axis, :3] += force
        wrench[load.axis, 3:] += R.T @ np.asarray(load.moment) + np.cross(np.asarray(load.point), force)
    return wrench.reshape(-1)


def inverse_dynamics(tree: Tree, q: Any, qd: Any, qdd: Any, loads: Sequence[Load] = ()) -> Any:
    """tau = M qdd + c + g - J^T load."""
    wrench = _wrench(tree, q, loads)
    with step("outward and inward pass"):
        return interpreted(RNEA, tree, [q, qd, qdd, wrench], [tree.n, 0])[0][0]


def bias_torque(tree: Tree, q: Any, qd: Any, loads: Sequence[Load] = ()) -> Any:
    """h in tau = M qdd + h."""
    return inverse_dynamics(tree, q, qd, np.zeros_like(q), loads)


def mass_matrix(tree: Tree, q: Any) -> Any:
    """M(q)."""
    with step("composite bodies"):
        _, packed = interpreted(CRBA, tree, [q], [])
    return _full(tree, packed[:, 0], packed[:, 0])


def forward_dynamics(tree: Tree, q: Any, qd: Any, tau: Any, loads: Sequence[Load] = ()) -> Any:
    """qdd = M^-1 (tau - h)."""
    wrench = _wrench(tree, q, loads)
    with step("articulated bodies"):
        return interpreted(ABA, tree, [q, qd, tau, wrench], [tree.n, tree.n])[0][0]


def joint_reactions(tree: Tree, q: Any, qd: Any, qdd: Any, loads: Sequence[Load] = ()) -> Any:
    """Force and moment through each axis, (n, 6)."""
    wrench = _wrench(tree, q, loads)
    return interpreted(RNEA, tree, [q, qd, qdd, wrench], [tree.n, 6 * tree.n])[0][1].reshape(tree.n, 6)


def inverse_dynamics_derivatives(tree: Tree, q: Any, qd: Any, qdd: Any, loads: Sequence[Load] = ()) -> Any:
    """tau, dtau/dq, dtau/dqd, dtau/dqdd."""
    with step("composite bodies"):
        (tau,), packed = interpreted(RNEA_GRADIENT, tree, [q, qd, qdd], [tree.n])
    dq_up, dqd_up, dqd_low, dq_low, M = packed.T
    if loads:
        tau = inverse_dynamics(tree, q, qd, qdd, loads)
        with step("loads"):
            slopes = interpreted(LOAD_GRADIENT, tree, [q, _load_moments(tree, loads)], [])[1]
        dq_up, dq_low = dq_up + slopes[:, 0], dq_low + slopes[:, 1]
    return tau, _full(tree, dq_low, dq_up), _full(tree, dqd_low, dqd_up), _full(tree, M, M)


def joint_reaction_derivatives(tree: Tree, q: Any, qd: Any, qdd: Any, loads: Sequence[Load] = ()) -> Any:
    """Reactions (n, 6) of the axes that carry bodies and their derivatives (n, 6, n), in the axes' frames."""
    _, packed = interpreted(REACTION_GRADIENT, tree, [q, qd, qdd], [6 * tree.n])
    if loads:
        packed[:, :6] += interpreted(LOAD_REACTION, tree, [q, _load_moments(tree, loads)], [])[1]
    full = np.zeros((3, tree.n, 6, tree.n), packed.dtype)
    for row, (axis, coordinate) in enumerate(reaction_places(tree)):
        for k in range(3):
            in_body = packed[row, 6 * k : 6 * k + 6].reshape(2, 3)
            full[k, axis, :, coordinate] = (in_body @ _body_axes(tree, axis).T).reshape(6)
    return joint_reactions(tree, q, qd, qdd, loads), *full


def _body_axes(tree: Tree, axis: int) -> Any:
    """Orientation of the body that an axis carries in the frame of the axis."""
    carried = [k for k, body in enumerate(tree.axis_body) if body == tree.axis_body[axis]]
    return tree.body_rotation[tree.axis_body[axis]] if axis == carried[-1] else np.eye(3)


def _load_moments(tree: Tree, loads: Sequence[Load]) -> Any:
    """World-fixed loads as the kernels of their derivatives want them."""
    rows = np.zeros((tree.n, LOAD))
    for load in loads:
        force, point = np.asarray(load.force), np.asarray(load.point)
        rows[load.axis, 6:9] += force
        rows[load.axis, 9:12] += np.asarray(load.moment)
        rows[load.axis, 12:] += np.outer(point, force).reshape(9)
    return rows.reshape(-1)


def _full(tree: Tree, low: Any, up: Any) -> Any:
    """A full matrix from packed entries of (axis, ancestor) and (ancestor, axis)."""
    assert len(low) == n_pairs(tree)
    matrix, k = np.zeros((tree.n, tree.n), low.dtype), 0
    for i in range(tree.n - 1, -1, -1):
        j = i
        while j >= 0:
            matrix[j, i], matrix[i, j] = up[k], low[k]
            k += 1
            j = int(tree.parent[j])
    return matrix
