"""Second derivatives of the drives' torques by the independent joints, with closed loops, exact.

With as many drives as freedoms, weight . tau = mu . (tau_tree - J^T lambda) where E^T mu = weight and
J mu = 0. Together with the loops' conditions c, c' = dc/dt, c'' and multipliers that make the sum

    mu . tau_tree(q, qd, qdd) - lambda . J(q) mu + alpha0 . c + alpha1 . c' + alpha2 . c''

stationary in all that follows, its second derivatives along a motion are those of weight . tau, with the
changes of lambda beside those of q, qd and qdd. Springs and friction of cut joints are part of tau_tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.dynamics.batches import batch_shape
from kinetree.dynamics.checks import given
from kinetree.dynamics.coupling import all_axes, all_rates
from kinetree.dynamics.hessian import HESSIAN, TorqueHessian
from kinetree.dynamics.loads import Wrenches
from kinetree.dynamics.loops.coordinates import has_cut_forces
from kinetree.dynamics.loops.cut_bends import cut_torque_bends
from kinetree.dynamics.loops.jets import RowJets
from kinetree.dynamics.loops.linear import solved, swapped
from kinetree.dynamics.loops.sensitivity import Independent, inverse_slopes
from kinetree.dynamics.loops.structure import Blocks, block_form
from kinetree.dynamics.loops.system import loop_rows
from kinetree.errors import InputError
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism


class LoopTorqueHessian(TorqueHessian):
    """Total derivatives of weight . tau by q, qd, qdd of the ``independent`` joints, first and second.

    ``tau`` (..., n_dof) are the drives' torques; ``dq``, ``dqd``, ``dqdd`` (..., mobility); second
    derivatives (..., mobility, mobility), and ``full`` (..., 3 mobility, 3 mobility).
    """

    __slots__ = ("drives", "independent")

    def __init__(self, independent: tuple[str, ...], tau: Array, first: Array, second: Array) -> None:
        super().__init__(np.concatenate([first[:1], first]), second)
        self.independent, self.drives = independent, tau

    @property
    def tau(self) -> Array:
        """Torques and forces of the drives, zero elsewhere."""
        return self.drives

    @property
    def full(self) -> Array:
        """The whole symmetric Hessian with respect to (q, qd, qdd) of the independent joints."""
        return TorqueHessian(np.stack([self.dq] * 4), self.second).full


def loop_torque_hessian(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    weight: ArrayLike,
    independent: Independent = None,
    wrenches: Wrenches = None,
    *,
    threads: int | None = None,
) -> LoopTorqueHessian:
    """Exact gradient and Hessian of sum_i weight_i tau_i of the drives, by the independent joints.

    For mechanisms with as many drives as freedoms; ``weight`` (..., n_dof) counts at the drives.

    >>> import kinetree as kt
    >>> bar, still = kt.zoo.four_bar(), [0.0] * 3
    >>> q = kt.loops.assemble(bar, [0.0, 1.0, 4.3], hold=["crank_pivot"])
    >>> kt.loops.torque_hessian(bar, q, still, still, [1.0, 0.0, 0.0]).full.shape
    (3, 3)
    """
    expect_mechanism(mechanism)
    values = [
        given(mechanism, x, what) for x, what in ((q, "q"), (qd, "qd"), (qdd, "qdd"), (weight, "weight"))
    ]
    batch, n = batch_shape(*values), mechanism.n_dof
    q, qd, qdd, weight = (np.broadcast_to(x, (*batch, n)).reshape(-1, n) for x in values)
    at = inverse_slopes(mechanism, (q, qd, qdd), independent, wrenches, None, threads)
    form = _form(mechanism, at.found.J)
    mu, force = _adjoint(form, at.found.J, weight, at.torque)
    m, k = len(q), len(at.independent)
    tree = mechanism.opened()
    of_tree = HESSIAN.of(tree, q, qd, qdd, mu, wrenches=wrenches, threads=threads)
    along, rest = _Rows(mechanism, form, q, mu, np.zeros_like(mu)), _Rows(mechanism, form, q, qd, qdd)
    turned = along.bend(force)
    gradient = np.stack([of_tree.dq - (turned[0] @ mu[..., None])[..., 0], of_tree.dqd, of_tree.dqdd])
    D = np.concatenate([swapped(x) for x in (at.change.q, at.change.qd, at.change.qdd)], axis=-2)
    H = np.array(of_tree.full)
    H[:, :n, :n] -= turned[1]
    if has_cut_forces(mechanism):
        slope, bend = cut_torque_bends(mechanism, q, qd, mu)
        gradient[0] -= slope[:, :n]
        gradient[1] -= slope[:, n:]
        H[:, : 2 * n, : 2 * n] -= bend
    chosen = [mechanism.joint_index(name) for name in at.independent]
    _add_loops(H, gradient, rest, np.delete(np.arange(n), chosen))
    found = swapped(D) @ H @ D
    # lambda changes, too: J^T dlambda = d(J^T lambda) - dJ^T lambda
    J = at.found.J[:, form.kept]
    dJ = at.change.slopes.J[:, :, form.kept]
    left = at.dtorque - np.einsum("mkrn,mr->mkn", dJ, force)
    dforce = np.linalg.pinv(swapped(J)) @ swapped(left)
    cross = swapped(along.J[1] @ swapped(at.change.q)) @ dforce
    found = found - cross - swapped(cross)
    blocks = found.reshape(m, 3, k, 3, k)
    second = np.stack([blocks[:, 0, :, c] for c in (0, 1)] + [blocks[:, 1, :, 1], blocks[:, 0, :, 2]])
    first = np.einsum("mn,mkn->mk", weight * mechanism.driven, at.dtau).reshape(m, 3, k).transpose(1, 0, 2)
    return LoopTorqueHessian(
        at.independent,
        at.tau.reshape(*batch, n),
        first.reshape(3, *batch, k),
        second.reshape(4, *batch, k, k),
    )


class _Rows:
    """The kept rows along a motion, in the mechanism's coordinates: J and bends with time derivatives."""

    def __init__(self, mechanism: Mechanism, form: Blocks, q: Array, qd: Array, qdd: Array) -> None:
        tree = mechanism.tree
        self.coupling = tree.coupling
        axes = all_axes(tree, q), all_rates(tree, qd), all_rates(tree, qdd)
        self.jets = RowJets(loop_rows(mechanism), form.kept, *axes)
        J = self.jets.J
        self.J: Array = J if self.coupling is None else J @ self.coupling.matrix

    def bend(self, weight: Array) -> Array:
        """Second derivatives of weight . c by q, and their time derivatives, (3, m, n, n)."""
        by_axes = self.jets.bend(weight)
        A = None if self.coupling is None else self.coupling.matrix
        bend: Array = by_axes if A is None else A.T @ by_axes @ A
        return bend


def _form(mechanism: Mechanism, J: Array) -> Blocks:
    """Drives and kept rows, of mechanisms with as many drives as freedoms."""
    try:
        return block_form(mechanism, J[0])
    except InputError as error:
        raise InputError(f"torque_hessian with closed loops: {error}") from None


def _adjoint(form: Blocks, J: Array, weight: Array, torque: Array) -> tuple[Array, Array]:
    """mu (m, n) and the multipliers (m, kept) of the kept rows."""
    kept, n = J[:, form.kept], J.shape[-1]
    E = np.broadcast_to(np.eye(n)[form.drives], (len(J), len(form.drives), n))
    F = np.concatenate([E, kept], axis=1)
    right = np.concatenate([weight[:, form.drives], np.zeros(kept.shape[:2])], axis=-1)
    mu = solved(F, right[..., None])[..., 0]
    force = solved(swapped(F), torque[..., None])[..., 0]
    return mu, force[:, len(form.drives) :]


def _add_loops(H: Array, gradient: Array, rows: _Rows, dependent: Array) -> None:
    """Add second derivatives of alpha . (c, c', c'') with multipliers that balance the gradient (3, m, n)."""
    n = gradient.shape[-1]
    J, J1, J2 = (swapped(x[..., dependent]) for x in rows.J)
    g0, g1, g2 = (x[..., dependent] for x in gradient)

    def times(matrix: Array, vector: Array) -> Array:
        product: Array = (matrix @ vector[..., None])[..., 0]
        return product

    def balanced(vector: Array) -> Array:
        return -solved(J, vector[..., None])[..., 0]

    alpha2 = balanced(g2)
    alpha1 = balanced(g1 + 2.0 * times(J1, alpha2))
    alpha0 = balanced(g0 + times(J1, alpha1) + times(J2, alpha2))
    first, second, third = (rows.bend(x) for x in (alpha0, alpha1, alpha2))
    q, v, a = slice(0, n), slice(n, 2 * n), slice(2 * n, 3 * n)
    H[:, q, q] += first[0] + second[1] + third[2]
    H[:, q, v] += second[0] + 2.0 * third[1]
    H[:, v, q] += second[0] + 2.0 * third[1]
    H[:, q, a] += third[0]
    H[:, a, q] += third[0]
    H[:, v, v] += 2.0 * third[0]
