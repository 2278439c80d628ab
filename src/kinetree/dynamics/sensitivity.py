"""Exact derivatives of inverse and forward dynamics and of joint reactions of open trees."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.shown import Shown
from kinetree.dynamics.axis_motion import axis_motion, body_poses
from kinetree.dynamics.by_formulation import slopes_of
from kinetree.dynamics.coupling import Bends, axis_state, coupled, further_terms, independent, on_axes
from kinetree.dynamics.evaluate import as_matrices, evaluate, evaluate_full, same_batch
from kinetree.dynamics.forward import FORWARD, check_pivots, check_pivots_of, solved
from kinetree.dynamics.given_memory import DerivativesMemory
from kinetree.dynamics.inverse import INVERSE, tree_reactions
from kinetree.dynamics.loads import Wrenches, axis_loads, body_loads, load_moments, with_springs
from kinetree.dynamics.question import Question
from kinetree.dynamics.springs import force_slopes, moment_slopes, spring_forces, spring_slopes
from kinetree.errors import InputError, listed
from kinetree.kernels.aba_gradient import ABA_GRADIENT
from kinetree.kernels.load_gradient import LOAD_GRADIENT
from kinetree.kernels.load_reaction import LOAD_REACTION
from kinetree.kernels.reaction_gradient import REACTION_GRADIENT
from kinetree.kernels.rnea import RNEA
from kinetree.kernels.rnea_gradient import RNEA_GRADIENT
from kinetree.model.kept import once_per_tree
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS, Flags, Tree


class JointReactionDerivatives(Shown):
    """Joint reactions and their derivatives, numerator first.

    ``reaction`` (..., n_bodies, 6): force and moment that the parent exerts on each body, about its origin
    in body axes. ``dreaction_dq``, ``dreaction_dqd``, ``dreaction_dqdd``, each (..., n_bodies, 6, n_dof): of
    these components, side by side in ``slopes`` (3, ..., n_bodies, 6, n_dof).
    """

    __slots__ = ("reaction", "slopes")
    _matrices = ("dreaction_dq", "dreaction_dqd", "dreaction_dqdd")
    _core = 3

    def __init__(self, reaction: Array, slopes: Array) -> None:
        self.reaction, self.slopes = reaction, slopes

    @property
    def dreaction_dq(self) -> Array:
        """Derivatives with respect to positions."""
        return self.slopes[0]  # type: ignore[no-any-return]

    @property
    def dreaction_dqd(self) -> Array:
        """Derivatives with respect to velocities."""
        return self.slopes[1]  # type: ignore[no-any-return]

    @property
    def dreaction_dqdd(self) -> Array:
        """Derivatives with respect to accelerations."""
        return self.slopes[2]  # type: ignore[no-any-return]


def _reaction_slopes(
    mechanism: Mechanism, tree: Tree, state: tuple[Array, ...], wrenches: Wrenches, threads: int | None
) -> JointReactionDerivatives:
    q, qd, qdd = on_axes(tree, *state)
    given = wrenches
    if tree.springs is not None:
        moving, rates = on_axes(mechanism.tree, state[0], state[1])
        wrenches = with_springs(mechanism, moving, rates, wrenches)
    if wrenches is not None:
        moments = load_moments(mechanism, tree, wrenches)
        q, qd, qdd, moments = same_batch(q, qd, qdd, moments)
    (transmitted,), arrays = evaluate_full(REACTION_GRADIENT, tree, [q, qd, qdd], [6 * tree.n], threads)
    if wrenches is None:
        reaction = _by_body(tree, transmitted)
    else:
        reaction = tree_reactions(mechanism, state[0], state[1], state[2], given)
        arrays[0] += evaluate_full(LOAD_REACTION, tree, [q, moments], [], threads)[1][0]
    slopes = arrays.reshape((3, *reaction.shape, tree.n))
    if tree.springs is not None:
        for k, part in enumerate(_of_changing_springs(tree, q, qd)):
            slopes[k] += part
    return JointReactionDerivatives(reaction, _by_coordinates(tree, state, slopes))


def _by_coordinates(tree: Tree, state: tuple[Any, ...], slopes: Array) -> Array:
    """Derivatives (3, ..., n_bodies, 6, n_axes) by motions of all axes, as those by the coordinates."""
    if tree.coupling is None:
        return slopes
    further = further_terms(tree, *(np.asarray(x, dtype=np.float64) for x in state))
    if further is None:
        return np.asarray(slopes @ tree.coupling.matrix)
    count, shape = slopes.shape[-3], slopes.shape
    return further.slopes(slopes.reshape(*shape[:-3], 6 * count, shape[-1])).reshape(*shape[:-1], -1)


def _of_changing_springs(tree: Tree, q: Array, qd: Array) -> Array:
    """What changes of the springs' forces do to the reactions, (2, ..., n_bodies, 6, n): by q and qd.

    Whoever carries an end of a spring opposes its force, R^T [-F; -(x - p) x F].
    """
    assert tree.springs is not None
    q, qd = np.broadcast_arrays(q, qd)
    motion = axis_motion(tree, q, qd, np.zeros(tree.n))
    found, _ = spring_forces(tree, motion, qd)
    dF = force_slopes(tree, motion, found, qd)
    dT = moment_slopes(tree, motion, q, qd) if tree.springs.turning.any() else np.zeros_like(dF)
    rotation, position = body_poses(tree, motion)
    to_body = np.swapaxes(rotation, -1, -2)
    change = np.zeros((2, *q.shape[:-1], tree.n_bodies, 6, tree.n))
    for k in range(len(tree.springs.names)):
        for axis, x, sign in (
            (int(tree.springs.axis_a[k]), found.x_a, -1.0),
            (int(tree.springs.axis_b[k]), found.x_b, 1.0),
        ):
            for body in np.flatnonzero(_carriers(tree, axis)):
                arm, F = x[..., k, :] - position[..., body, :], sign * dF[..., k, :, :]
                moment = np.cross(arm[..., :, None], F, axis=-2) + sign * dT[..., k, :, :]
                R = to_body[..., body, :, :]
                change[..., body, :3, :] += R @ F
                change[..., body, 3:, :] += R @ moment
    return change


def _carriers(tree: Tree, axis: int) -> Flags:
    """Which bodies carry an axis, its own included."""
    found = np.zeros(tree.n_bodies, dtype=bool)
    while axis != WORLD_AXIS:
        found[tree.body_axis == axis] = True
        axis = int(tree.parent[axis])
    return found


def _by_body(tree: Tree, reaction: Array) -> Array:
    """What axes transmit, (..., 6 n), as wrenches of the bodies that they carry, (..., n_bodies, 6)."""
    wrench = reaction.reshape((*reaction.shape[:-1], tree.n, 6))
    return wrench if _has_bodies_in_order(tree) else wrench[..., tree.body_axis, :]


@once_per_tree
def _has_bodies_in_order(tree: Tree) -> bool:
    return np.array_equal(tree.body_axis, np.arange(tree.n))


def _by_formulation(
    name: str, mechanism: Mechanism, tree: Tree, state: tuple[Any, ...], wrenches: Wrenches
) -> JointReactionDerivatives:
    """By another derivation, state by state: from axes to the bodies that they carry, in body axes."""
    if tree.springs is not None:
        raise InputError(
            f"formulation '{name}' offers no derivatives of reactions with springs between bodies "
            f"({listed(tree.springs.names)}); leave formulation out"
        )
    reaction, slopes = slopes_of(name, "joint_reaction_derivatives", mechanism, tree, state, wrenches)
    to_body = np.zeros((len(tree.body_axis), 6, 6))
    to_body[:, :3, :3] = to_body[:, 3:, 3:] = tree.body_rotation.transpose(0, 2, 1)
    reaction = (to_body @ reaction[..., tree.body_axis, :, None])[..., 0]
    slopes = to_body @ slopes[..., tree.body_axis, :, :]
    return JointReactionDerivatives(reaction, _by_coordinates(tree, state, slopes))


REACTION_SLOPES = Question(
    "joint_reaction_derivatives",
    REACTION_GRADIENT,
    ("q", "qd", "qdd"),
    general=_reaction_slopes,
    answer=lambda tree, found: JointReactionDerivatives(_by_body(tree, found[0]), found[1]),
    formulated=_by_formulation,
    of_axes=False,
)


class InverseDynamicsDerivatives(Shown):
    """Torque and its derivatives, numerator first: ``dtau_dq[..., i, k]`` = d tau_i / d q_k.

    ``tau`` (..., n_dof); ``dtau_dq`` (stiffness, N m/rad), ``dtau_dqd`` (damping, N m s/rad) and
    ``dtau_dqdd`` (the mass matrix, kg m^2), each (..., n_dof, n_dof), are views of ``matrices``
    (3, ..., n_dof, n_dof).
    """

    __slots__ = ("dtau_dq", "dtau_dqd", "dtau_dqdd", "matrices", "tau")
    _matrices = ("dtau_dq", "dtau_dqd", "dtau_dqdd")

    def __init__(self, tau: Array, matrices: Array) -> None:
        self.tau, self.matrices = tau, matrices
        self.dtau_dq, self.dtau_dqd, self.dtau_dqdd = matrices[0], matrices[1], matrices[2]


def _torque_slopes(
    mechanism: Mechanism, tree: Tree, state: tuple[Array, ...], wrenches: Wrenches, threads: int | None
) -> InverseDynamicsDerivatives:
    tau, matrices = slopes_of_axes(mechanism, tree, on_axes(tree, *state), wrenches, threads)
    return _felt(tree, tau, matrices, further_terms(tree, *state))


def slopes_of_axes(
    mechanism: Mechanism, tree: Tree, state: tuple[Array, ...], wrenches: Wrenches, threads: int | None
) -> tuple[Array, Array]:
    """Torques of all axes (..., n) and their derivatives by motions of all axes, (3, ..., n, n)."""
    q, qd, qdd = state
    if wrenches is None:
        (tau,), arrays = evaluate_full(RNEA_GRADIENT, tree, [q, qd, qdd], [tree.n], threads)
    else:
        load = axis_loads(tree, body_loads(mechanism, q, wrenches))
        moments = load_moments(mechanism, tree, wrenches)
        tau, _ = evaluate(RNEA, tree, [q, qd, qdd, load], [tree.n, 0], threads)  # checks that it is finite
        q, qd, qdd, _ = same_batch(q, qd, qdd, moments)
        _, arrays = evaluate_full(RNEA_GRADIENT, tree, [q, qd, qdd], [tree.n], threads)
        _, (loads,) = evaluate_full(LOAD_GRADIENT, tree, [q, moments], [], threads)
        arrays[0] += loads
    if tree.springs is not None:
        torque, slopes = spring_slopes(tree, q, qd)
        tau = tau - torque
        for k, part in enumerate(slopes):
            arrays[k] -= part.reshape((*part.shape[:-2], -1))
    return tau, as_matrices(arrays, tree.n)


def _felt(tree: Tree, tau: Array, matrices: Array, further: Bends | None) -> InverseDynamicsDerivatives:
    """Torques of all axes and their derivatives by these as those of the coordinates."""
    if further is None:
        return InverseDynamicsDerivatives(independent(tree, tau), coupled(tree, matrices))
    slopes = np.swapaxes(further.G, -1, -2) @ further.slopes(matrices)
    slopes[0] += further.diagonal(further.second * tau)
    return InverseDynamicsDerivatives((tau[..., None, :] @ further.G)[..., 0, :], slopes)


def _torque_slopes_by_formulation(
    name: str, mechanism: Mechanism, tree: Tree, state: tuple[Any, ...], wrenches: Wrenches
) -> InverseDynamicsDerivatives:
    """State by state."""
    tau, slopes = slopes_of(name, "inverse_dynamics_derivatives", mechanism, tree, state, wrenches)
    if tree.springs is not None:
        q, qd, _ = axis_state(mechanism, tree, *state)
        torque, more = spring_slopes(tree, q, qd)
        tau = tau - torque
        for k, part in enumerate(more):
            slopes[k] -= part
    return _felt(tree, tau, slopes, further_terms(tree, *(np.asarray(x, dtype=np.float64) for x in state)))


INVERSE_SLOPES = Question(
    "inverse_dynamics_derivatives",
    RNEA_GRADIENT,
    ("q", "qd", "qdd"),
    general=_torque_slopes,
    answer=lambda tree, found: InverseDynamicsDerivatives(*found),
    formulated=_torque_slopes_by_formulation,
    memory=DerivativesMemory(InverseDynamicsDerivatives, "tau", "torques"),
    of_axes=False,
)


class ForwardDynamicsDerivatives(Shown):
    """Acceleration and its derivatives, numerator first: ``dqdd_dq[..., i, k]`` = d qdd_i / d q_k.

    ``qdd`` (..., n_dof); ``dqdd_dq``, ``dqdd_dqd`` and ``dqdd_dtau`` (the inverse mass matrix), each
    (..., n_dof, n_dof), are views of ``matrices`` (3, ..., n_dof, n_dof).
    """

    __slots__ = ("dqdd_dq", "dqdd_dqd", "dqdd_dtau", "matrices", "qdd")
    _matrices = ("dqdd_dq", "dqdd_dqd", "dqdd_dtau")

    def __init__(self, qdd: Array, matrices: Array) -> None:
        self.qdd, self.matrices = qdd, matrices
        self.dqdd_dq, self.dqdd_dqd, self.dqdd_dtau = matrices[0], matrices[1], matrices[2]


def _acceleration_slopes(
    mechanism: Mechanism, tree: Tree, state: tuple[Array, ...], wrenches: Wrenches, threads: int | None
) -> ForwardDynamicsDerivatives:
    q, qd, tau = state
    if tree.coupling is not None:
        return _coupled_derivatives(mechanism, q, qd, tau, wrenches, threads)
    loads = None
    if tree.springs is not None:
        torque, springs = spring_slopes(tree, q, qd)
        tau = tau + torque
    if wrenches is not None:
        still = np.zeros(tree.n)
        tau = tau - INVERSE.of(mechanism, q, still, still, wrenches=wrenches)
        tau = tau + INVERSE.of(mechanism, q, still, still)
        moments = load_moments(mechanism, tree, wrenches)
        q, qd, tau, _ = same_batch(q, qd, tau, moments)
        _, (loads,) = evaluate_full(LOAD_GRADIENT, tree, [q, moments], [], threads)
    explain = partial(check_pivots_of, tree)
    (qdd, pivot, _), arrays = evaluate_full(ABA_GRADIENT, tree, [q, qd, tau], [tree.n] * 3, threads, explain)
    check_pivots(tree, pivot)
    matrices = as_matrices(arrays, tree.n)
    if loads is not None:
        matrices[0] -= matrices[2] @ loads.reshape(matrices.shape[1:])
    if tree.springs is not None:
        for k, part in enumerate(springs):
            matrices[k] += matrices[2] @ part
    return ForwardDynamicsDerivatives(qdd, matrices)


def _coupled_derivatives(
    mechanism: Mechanism, q: Array, qd: Array, tau: Array, wrenches: Wrenches, threads: int | None
) -> ForwardDynamicsDerivatives:
    """With mimic joints: solve with the mass matrix of the independent coordinates."""
    qdd = FORWARD.of(mechanism, q, qd, tau, wrenches=wrenches)
    d = INVERSE_SLOPES.of(mechanism, q, qd, qdd, wrenches=wrenches, threads=threads)
    inverse = solved(d.dtau_dqdd, np.eye(mechanism.n_dof))
    matrices = np.stack([-inverse @ d.dtau_dq, -inverse @ d.dtau_dqd, inverse])
    return ForwardDynamicsDerivatives(qdd, matrices)


FORWARD_SLOPES = Question(
    "forward_dynamics_derivatives",
    ABA_GRADIENT,
    ("q", "qd", "tau"),
    general=_acceleration_slopes,
    answer=lambda tree, found: ForwardDynamicsDerivatives(found[0][0], found[1]),
    memory=DerivativesMemory(ForwardDynamicsDerivatives, "qdd", "accelerations"),
    of_axes=False,
)
