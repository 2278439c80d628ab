"""Second derivatives of the torques of springs and friction at cut joints, exact.

A coordinate s of a cut joint is a function of rows whose derivatives `jets` knows: a displacement is e . D,
an angle atan2(Y, X) of two cosines e . f, or follows from one for the middle of three axes. With g = ds/dq,
its slope H, and d/dv the derivative along a velocity v, mu . torque = f g . mu for the force f on s, and

    df/dq = f_s g + f_sd H qd     df/dqd = f_sd g     d2(g . v)/dq2 = dH/dv

give its derivatives. Those along v are imaginary parts (complex step), as in `slopes`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.dynamics.axis_motion import axis_motion
from kinetree.dynamics.axis_slopes import STEP
from kinetree.dynamics.coupling import all_axes, all_rates
from kinetree.dynamics.loops.coordinates import CutTable, cut_table
from kinetree.dynamics.loops.jets import RowJets
from kinetree.dynamics.loops.rows import DIRECTION, POINT, Row
from kinetree.kernels.cut_coordinate import ABOUT, ALONG, LAST, MIDDLE
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
