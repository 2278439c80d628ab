"""Time derivatives of the loops' Jacobian along a motion, and second derivatives of weighted gaps, exact.

Axes, frames and points of the cut joints are vectors of the world whose first two time derivatives follow
from the motion of their bodies; products follow Leibniz' rule. As seen from frame A, a loop is a chain from A
to B: up from A with reversed screws, then down to B. With the angular velocity w_i and the velocity v_i of
B's origin per unit rate of axis i, and i before j in that chain,

    d2 (e . d) = e . (w_i x v_j)     d2 (d . d / 2) = v_i . v_j + d . (w_i x v_j)
    d2 (e . f) = e . (w_i x (w_j x f))

(the second derivatives of serial chains), so that all of them together are w_i . h_j with
h_j = v_j x F + S w_j - tr(S) w_j, F the weighted forces of the rows and S = sum mu f e^T.
"""

from __future__ import annotations

from math import comb

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.dynamics.loops.rows import DIRECTION, POINT, ROD, LoopRows
from kinetree.model.tree import Integers


class RowJets:
    """Some rows of the loops and their time derivatives up to an order (at most 2) along a motion.

    ``q``, ``qd``, ``qdd`` (m, axes) of all axes; ``kept`` numbers the rows.
    """

    def __init__(
        self, rows: LoopRows, kept: Integers, q: Array, qd: Array | None = None, qdd: Array | None = None
    ) -> None:
        self.rows, self.kept = rows, kept
        self.order = 0 if qd is None else 1 if qdd is None else 2
        motion = rows.motion(q, qd, qdd)
        rates = motion.velocity[..., 3:], motion.acceleration[..., 3:]
        places = motion.position, motion.velocity[..., :3], motion.acceleration[..., :3]

        def fixed(vector: Array, axis: Integers) -> Array:
            """A vector that turns with axes, and its time derivatives."""
            found = [vector]
            if self.order > 0:
                found.append(_cross(rates[0][:, axis], vector))
            if self.order > 1:
                found.append(_cross(rates[1][:, axis], vector) + _cross(rates[0][:, axis], found[1]))
            return np.stack(found)

        def origin(axis: Integers, inside: Array) -> Array:
            arm = (motion.rotation[:, axis] @ inside[..., None])[..., 0]
            return fixed(arm, axis) + np.stack([x[:, axis] for x in places][: self.order + 1])

        every = np.arange(rows.tree.n)
        z = fixed(motion.rotation[:, :-1, :, 2], every)
        p = np.stack([x[:, :-1] for x in places][: self.order + 1])
        x_B = origin(rows.axis_B, rows.position_B)
        D = x_B - origin(rows.axis_A, rows.position_A)
        loop = rows.loop_of_row[kept]
        R_A, R_B = (
            motion.rotation[:, rows.axis_A] @ rows.rotation_A,
            motion.rotation[:, rows.axis_B] @ rows.rotation_B,
        )
        e = fixed((R_A[:, loop] @ rows.e[kept][..., None])[..., 0], rows.axis_A[loop])
        f = fixed((R_B[:, loop] @ rows.f[kept][..., None])[..., 0], rows.axis_B[loop])
        kind = rows.type[kept][:, None]
        self._apart = D[0][:, loop]
        rod = D[:, :, loop] / np.where(kind == ROD, rows.constant[kept][:, None], 1.0)
        self._force = np.where(kind == POINT, e, np.where(kind == ROD, rod, 0.0))
        self._e, self._f = (np.where(kind == DIRECTION, x, 0.0) for x in (e, f))
        self._chains = [_chain(rows.sign[k], rows) for k in range(len(rows.loops))]
        self._w, self._v = [], []
        for k, chain in enumerate(self._chains):
            sign, turns = rows.sign[k, chain][:, None], rows.tree.turns[chain][:, None]
            along = sign * z[:, :, chain]
            self._w.append(np.where(turns, along, 0.0))
            arm = x_B[:, :, k, None] - p[:, :, chain]
            self._v.append(np.where(turns, _crossed(along, arm), along))

    @property
    def gap(self) -> Array:
        """How far the rows are from zero, (m, rows): m, or sines of angles."""
        kind, constant = self.rows.type[self.kept], self.rows.constant[self.kept]
        along = (self._force[0] * self._apart).sum(axis=-1)
        angle = (self._e[0] * self._f[0]).sum(axis=-1) - constant
        gap: Array = np.where(
            kind == POINT, along, np.where(kind == DIRECTION, angle, 0.5 * (along - constant))
        )
        return gap

    @property
    def J(self) -> Array:
        """d gap / dq and its time derivatives, (order + 1, m, rows, axes)."""
        orders, m = self._force.shape[:2]
        found = np.zeros((orders, m, len(self.kept), self.rows.tree.n))
        moment = _crossed(self._f, self._e)
        loop = self.rows.loop_of_row[self.kept]
        for k, chain in enumerate(self._chains):
            mine = np.flatnonzero(loop == k)
            for parts, pull in ((self._v[k], self._force), (self._w[k], moment)):
                found[:, :, mine[:, None], chain] += _multiplied(pull[:, :, mine], np.swapaxes(parts, -1, -2))
        return found

    def bend(self, weight: Array) -> Array:
        """Second derivatives of weight . gap by q and their time derivatives, (order + 1, m, axes, axes).

        ``weight`` (m, rows) counts as constant.
        """
        orders, m = self._force.shape[:2]
        n, loop = self.rows.tree.n, self.rows.loop_of_row[self.kept]
        found = np.zeros((orders, m, n, n))
        for k, chain in enumerate(self._chains):
            mine = np.flatnonzero(loop == k)
            if not len(mine):
                continue
            mu, w, v = weight[:, mine, None], self._w[k], self._v[k]
            F = (mu * self._force[:, :, mine]).sum(axis=2, keepdims=True)
            S = _multiplied(np.swapaxes(mu * self._f[:, :, mine], -1, -2), self._e[:, :, mine])
            S = S - np.trace(S, axis1=-2, axis2=-1)[..., None, None] * np.eye(3)
            h = _crossed(v, F) + _multiplied(w, np.swapaxes(S, -1, -2))
            upper = np.triu(_multiplied(w, np.swapaxes(h, -1, -2)))
            A = upper + np.swapaxes(np.triu(upper, 1), -1, -2)
            rods = self.rows.type[self.kept[mine]] == ROD
            if rods.any():
                share = (weight[:, mine[rods]] / self.rows.constant[self.kept[mine[rods]]]).sum(axis=1)
                A = A + share[:, None, None] * _multiplied(v, np.swapaxes(v, -1, -2))
            found[:, :, chain[:, None], chain] += A
        return found


def _chain(sign: Array, rows: LoopRows) -> Integers:
    """Axes that move B as seen from A, in the order from A to B."""
    back, forth = np.flatnonzero(sign < 0.0)[::-1], np.flatnonzero(sign > 0.0)
    return np.concatenate([back, forth]).astype(np.int64)


def _cross(a: Array, b: Array) -> Array:
    """Vector products over the last axis; quicker than NumPy's for few vectors."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    u, v, w = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=-1)


def _crossed(a: Array, b: Array) -> Array:
    """Vector products with their time derivatives; the order leads."""
    return np.stack([sum(comb(k, i) * _cross(a[i], b[k - i]) for i in range(k + 1)) for k in range(len(a))])


def _multiplied(a: Array, b: Array) -> Array:
    """Products of matrices with their time derivatives; the order leads."""
    return np.stack([sum(comb(k, i) * (a[i] @ b[k - i]) for i in range(k + 1)) for k in range(len(a))])
