"""Second derivatives of the drives' torques by the independent joints, with closed loops, exact.

With as many drives as freedoms, weight . tau = mu . (tau_tree - J^T lambda) where E^T mu = weight and
J mu = 0. Together with the loops' conditions c, c' = dc/dt, c'' and multipliers that make the sum

    mu . tau_tree(q, qd, qdd) - lambda . J(q) mu + alpha0 . c + alpha1 . c' + alpha2 . c''

stationary in all that follows, its second derivatives along a motion are those of weight . tau, with the
changes of lambda beside those of q, qd and qdd. Springs and friction of cut joints are part of tau_tree.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.dynamics.axis_motion import STEP, axis_motion
from kinetree.dynamics.checks import given
from kinetree.dynamics.coupling import all_axes, all_rates
from kinetree.dynamics.evaluate import batch_shape
from kinetree.dynamics.hessian import HESSIAN, TorqueHessian
from kinetree.dynamics.loads import Wrenches
from kinetree.dynamics.loops.coordinates import CutTable, cut_table, has_cut_forces
from kinetree.dynamics.loops.jets import RowJets
from kinetree.dynamics.loops.linear import solved, swapped
from kinetree.dynamics.loops.rows import DIRECTION, POINT, Row
from kinetree.dynamics.loops.sensitivity import Independent, inverse_slopes
from kinetree.dynamics.loops.structure import Blocks, block_form
from kinetree.dynamics.loops.system import loop_rows
from kinetree.errors import InputError
from kinetree.kernels.cut_coordinate import ABOUT, ALONG, LAST, MIDDLE
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Integers

Slopes = tuple[Array, Array]  # of a coordinate, (m, n) and (m, n, n), with their change along a velocity


def cut_torque_bends(mechanism: Mechanism, q: Array, qd: Array, weight: Array) -> tuple[Array, Array]:
    """First and second derivatives of weight . torque of springs and friction of cut joints by (q, qd).

    (m, 2 n) and (m, 2 n, 2 n) for states and weights (m, n).
    """
    tree, table = mechanism.tree, cut_table(mechanism)
    q, qd, mu = all_axes(tree, q), all_rates(tree, qd), all_rates(tree, weight)
    at = table.measured(axis_motion(tree, q, qd, np.zeros(tree.n)))
    force, stiffness, viscous = table.resistance(at), table.columns["k"], table.columns["viscous"]
    m, n = q.shape
    first, second = np.zeros((m, 2, n)), np.zeros((m, 2, n, 2, n))
    along_qd, along_mu = _slopes(table, q, qd), _slopes(table, q, mu)
    for k, (_, moving), (slope, bend) in zip(np.flatnonzero(table.passive), along_qd, along_mu, strict=True):
        f, f_s, f_sd = force[:, k, None], -stiffness[k], -viscous[k]
        g, H = slope.real, bend.real
        c, dc = (g * mu).sum(axis=-1, keepdims=True), slope.imag / STEP
        df = f_s * g + f_sd * (H @ qd[..., None])[..., 0]
        first[:, 0] += df * c + f * dc
        first[:, 1] += f_sd * g * c
        turned = f_s * H + f_sd * moving.imag / STEP
        crossed = df[:, :, None] * dc[:, None, :]
        second[:, 0, :, 0] += (
            c[..., None] * turned + f[..., None] * bend.imag / STEP + crossed + np.swapaxes(crossed, 1, 2)
        )
        mixed = f_sd * (c[..., None] * H + g[:, :, None] * dc[:, None, :])
        second[:, 1, :, 0] += mixed
        second[:, 0, :, 1] += np.swapaxes(mixed, 1, 2)
    A = np.eye(n) if tree.coupling is None else tree.coupling.matrix
    first, second = first @ A, np.einsum("maibj,ik,jl->makbl", second, A, A)
    size = 2 * A.shape[1]
    return first.reshape(m, size), second.reshape(m, size, size)


def _slopes(table: CutTable, q: Array, v: Array) -> Iterator[Slopes]:
    """ds/dq and d2s/dq2 of every coordinate with a spring or friction, changing along v."""
    chosen = np.flatnonzero(table.passive)
    numbers: list[Integers] = []
    rows: list[tuple[int, Row]] = []
    for k in chosen:
        own = _rows(table, int(k))
        numbers.append(np.arange(len(rows), len(rows) + len(own)))
        rows += [(int(table.loop[k]), row) for row in own]
    if not rows:
        return
    jets = RowJets(table.rows.of_rows(rows), np.arange(len(rows)), q, v)
    G, i = jets.J[0] + 1j * STEP * jets.J[1], 1j * STEP
    x = jets.gap + i * (jets.J[0] @ v[..., None])[..., 0]
    unit = np.broadcast_to(np.eye(len(rows))[:, None], (len(rows), len(q), len(rows)))
    H = np.stack([bend[0] + i * bend[1] for bend in map(jets.bend, unit)])
    for k, at in zip(chosen, numbers, strict=True):
        by_row, by_rows = _partials(table, int(k), x[:, at])
        slope: Array = np.einsum("ma,mai->mi", by_row, G[:, at])
        bend: Array = np.einsum("mab,mai,mbj->mij", by_rows, G[:, at], G[:, at])
        yield slope, bend + np.einsum("ma,amij->mij", by_row, H[at])


def _rows(table: CutTable, k: int) -> list[Row]:
    """The rows X and Y, or the only one, that a coordinate is a function of; their constants are zero."""
    columns, loop = table.columns, table.loop[k]
    ua, ra = (columns[key][k] @ table.rows.rotation_A[loop] for key in ("ua", "ra"))
    ub, rb = (columns[key][k] @ table.rows.rotation_B[loop] for key in ("ub", "rb"))
    kind = columns["type"][k]
    if kind in (ALONG, MIDDLE):
        return [Row(POINT if kind == ALONG else DIRECTION, ua, ub, 0.0)]
    if kind == LAST:
        return [Row(DIRECTION, ua, f, 0.0) for f in (rb - (rb @ ub) * ub, np.cross(rb, ub))]
    towards = rb if kind == ABOUT else ub
    return [Row(DIRECTION, e, towards, 0.0) for e in (ra - (ra @ ua) * ua, np.cross(ua, ra))]


def _partials(table: CutTable, k: int, x: Array) -> tuple[Array, Array]:
    """First and second derivatives of a coordinate by its a rows, (m, a) and (m, a, a)."""
    kind = table.columns["type"][k]
    if kind == ALONG:
        return np.ones_like(x), np.zeros((*x.shape, 1))
    if kind == MIDDLE:
        sense = table.columns["sense"][k] - table.columns["proper"][k]
        size = np.sqrt(1.0 - x * x)
        return sense / size, (sense * x / size**3)[..., None]
    X, Y = x[:, 0], x[:, 1]
    square = X * X + Y * Y
    both, mixed = 2.0 * X * Y / square**2, (Y * Y - X * X) / square**2
    first = np.stack([-Y / square, X / square], axis=-1)
    return first, np.stack([both, mixed, mixed, -both], axis=-1).reshape(-1, 2, 2)


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
