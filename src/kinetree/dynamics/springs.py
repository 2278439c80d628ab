"""Springs and dampers between points of two bodies: their forces on the axes, with derivatives.

With D from point a to point b, l = |D|, E = l^2 / 2 and its derivatives g = dE/dq and K = d2E/dq2, a spring
pulls its points together by rho D, where

    rho = k - k l0 / l + c s,    s = (dl/dt) / l = (g . qd) / l^2,

so that the generalized forces are Q = -rho g and dQ/dq = -(rho K + g drho/dq^T). Axes that carry both points
have no part in it. Where the points meet, rho is k, and the force is zero.

A damper of turning opposes w = sum of Z_i qd_i, the angular velocity of b as seen from a, Z_i = +-z_i: with
y any rates and w(y) = sum of Z_i y_i, y . Q = -c w(y) . w(qd).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import check_room
from kinetree.dynamics.axis_motion import STEP, AxisMotion, Direction, axis_motion, moved
from kinetree.dynamics.checks import finite
from kinetree.model.body import WORLD
from kinetree.model.kept import once_per_tree
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS, Flags, Springs, Tree, carried_weights
from kinetree.state import Wrench

SHORT = 1e-150  # m: shorter springs have no direction


class Stretch(NamedTuple):
    """Springs in a motion of the axes: ends (..., springs, 3) and the derivatives of E = l^2 / 2."""

    D: Array
    x_a: Array
    x_b: Array
    g: Array  # (..., springs, n)
    K: Array  # (..., springs, n, n), empty where only forces are computed


class Tension(NamedTuple):
    """What pulls, (..., springs): rho with 1 / l, 1 / l^2 (0 where the ends meet), and s."""

    rho: Array
    inverse: Array
    square: Array
    rate: Array


@finite
def spring_torques(tree: Tree, q: Array, qd: Array) -> Array:
    """Q (..., n_axes): generalized forces of all springs on the axes, for states (..., n_axes)."""
    springs, found = _stretched(tree, q, qd, bends=False)
    Q = _summed(-tension(springs, found, qd).rho[..., None] * found.g)
    return Q if not springs.turning.any() else Q + _Turning.at(tree, q).torques(qd)


@finite
def lift_torques(tree: Tree, q: Array) -> Array:
    """Q (..., n_axes) of weights that are carried from outside alone."""
    springs, found = _stretched(tree, q, np.zeros(tree.n), bends=False)
    pull = np.where(springs.lift.any(axis=-1), springs.stiffness, 0.0)
    return _summed(-pull[:, None] * found.g)


@finite
def spring_slopes(tree: Tree, q: Array, qd: Array) -> tuple[Array, Array]:
    """Q (..., n_axes) and its derivatives by q and qd, (2, ..., n_axes, n_axes)."""
    q, qd = np.broadcast_arrays(q, qd)
    springs, found = _stretched(tree, q, qd)
    pull = tension(springs, found, qd)
    drho, damping = _tension_slopes(springs, found, pull, qd)
    by_q = _outer(found.g, drho) + pull.rho[..., None, None] * found.K
    slopes = np.stack([-by_q.sum(axis=-3), -_outer(found.g, damping).sum(axis=-3)])
    Q = _summed(-pull.rho[..., None] * found.g)
    if springs.turning.any():
        turning = _Turning.at(tree, q)
        Q, slopes = Q + turning.torques(qd), slopes + turning.slopes(qd)
    return Q, slopes


@finite
def spring_bends(tree: Tree, q: Array, qd: Array, y: Array) -> tuple[Array, Array]:
    """Second derivatives of y . Q by (q, q) and by (q, qd), (..., n_axes, n_axes) each; y (..., n_axes).

    Third derivatives of E along qd and y are those of K by complex step, exact to rounding.
    """
    springs, (q, qd, y) = _known(tree), np.broadcast_arrays(q, qd, y)
    motion = axis_motion(tree, q, qd, np.zeros(tree.n))
    found = stretch(tree, motion)
    along = np.stack([qd, y], axis=-2)
    still = np.zeros_like(along)
    bent = stretch(tree, moved(tree, motion, qd, np.zeros(tree.n), Direction(along, still, still))).K
    by_qd, by_y = bent.imag[..., 0, :, :, :] / STEP, bent.imag[..., 1, :, :, :] / STEP
    pull = tension(springs, found, qd)
    drho, damping = _tension_slopes(springs, found, pull, qd)
    g, K, square = found.g, found.K, pull.square[..., None, None]
    c = springs.damping[:, None, None]
    a, b = (g * y[..., None, :]).sum(axis=-1, keepdims=True), (K @ y[..., None, :, None])[..., 0]
    drate = _rate_slopes(found, pull, qd)
    twice = _outer(drate, g) + _outer(g, drate)
    bent_rate = square * (by_qd - 2.0 * twice - 2.0 * pull.rate[..., None, None] * K)
    stiff = (springs.stiffness * springs.rest_length * pull.inverse * pull.square)[..., None, None]
    bent_rho = stiff * (K - 3.0 * square * _outer(g, g)) + c * bent_rate
    q_q = a[..., None] * bent_rho + _outer(drho, b) + _outer(b, drho) + pull.rho[..., None, None] * by_y
    q_qd = a[..., None] * c * square * (K - 2.0 * square * _outer(g, g)) + _outer(b, damping)
    if not springs.turning.any():
        return -q_q.sum(axis=-3), -q_qd.sum(axis=-3)
    more_q, more_qd = _Turning.at(tree, q).bends(qd, y)
    return more_q - q_q.sum(axis=-3), more_qd - q_qd.sum(axis=-3)


class _Turning(NamedTuple):
    """Dampers of turning in a pose: c (springs,), Z (..., springs, n, 3) and how axes before turn axes.

    ``turned`` (..., springs, n, n, 3): dZ_i / dq_k = z_k x Z_i for k before i on the same side, else 0.
    """

    damping: Array
    Z: Array
    z: Array
    turned: Array
    before: Flags

    @classmethod
    def at(cls, tree: Tree, q: Array) -> _Turning:
        springs, rest = _known(tree), np.zeros(tree.n)
        z = axis_motion(tree, q, rest, rest).rotation[..., None, :-1, :, 2] * tree.turns[:, None]
        side = _sides(tree)
        Z = side[..., None] * z
        same = side[:, :, None] * side[:, None, :] > 0.0
        before = same & np.tril(np.ones((tree.n, tree.n), dtype=bool), -1)  # (spring, axis, axis before it)
        turned = np.cross(z[..., None, :, :], Z[..., :, None, :]) * before[..., None]
        return cls(springs.turning, Z, z, turned, before)

    def speed(self, qd: Array) -> Array:
        """w (..., springs, 3) of any rates."""
        w: Array = (self.Z * qd[..., None, :, None]).sum(axis=-2)
        return w

    def speed_slopes(self, qd: Array) -> Array:
        """dw/dq (..., springs, n, 3) at fixed rates."""
        slopes: Array = (self.turned * qd[..., None, :, None, None]).sum(axis=-3)
        return slopes

    def torques(self, qd: Array) -> Array:
        """Q (..., n)."""
        return -_summed(self.damping[:, None] * (self.Z @ self.speed(qd)[..., None])[..., 0])

    def slopes(self, qd: Array) -> Array:
        """dQ/dq and dQ/dqd, (2, ..., n, n)."""
        w, c = self.speed(qd), self.damping[:, None, None]
        by_q = (self.turned @ w[..., None, :, None])[..., 0]
        by_q = by_q + self.Z @ np.swapaxes(self.speed_slopes(qd), -1, -2)
        by_qd = self.Z @ np.swapaxes(self.Z, -1, -2)
        return np.stack(np.broadcast_arrays(-_summed(c * by_q, -3), -_summed(c * by_qd, -3)))

    def bends(self, qd: Array, y: Array) -> tuple[Array, Array]:
        """Second derivatives of y . Q by (q, q) and by (q, qd), (..., n, n)."""
        c = self.damping[:, None, None]
        w, v = self.speed(qd), self.speed(y)
        dw, dv = self.speed_slopes(qd), self.speed_slopes(y)
        q_q = dv @ np.swapaxes(dw, -1, -2) + dw @ np.swapaxes(dv, -1, -2)
        q_q = q_q + self._second(qd, v) + self._second(y, w)
        q_qd = dv @ np.swapaxes(self.Z, -1, -2) + (self.turned @ v[..., None, :, None])[..., 0].swapaxes(
            -1, -2
        )
        return -_summed(c * q_q, -3), -_summed(c * q_qd, -3)

    def _second(self, rates: Array, w: Array) -> Array:
        """w . d2 w(rates) / dq_k dq_l (..., springs, n, n): z_l x dZ_i/dq_k for l up to k, of both orders."""
        dZ = (self.turned * rates[..., None, :, None, None]).sum(axis=-3)  # by k, of all axes beyond k
        X = np.cross(w[..., None, :], self.z) @ np.swapaxes(dZ, -1, -2)  # (l, k): w . (z_l x dZ_k)
        keep = np.swapaxes(self.before, -1, -2) | np.eye(self.Z.shape[-2], dtype=bool)  # l at or before k
        X = X * keep
        both: Array = X + np.swapaxes(X, -1, -2) - X * np.eye(self.Z.shape[-2])
        return both


@finite
def spring_energy(tree: Tree, q: Array) -> Array:
    """k (l - l0)^2 / 2 of all springs (J), (...); of weights that are carried, minus their height's part."""
    springs = _known(tree)
    motion = axis_motion(tree, q, np.zeros(tree.n), np.zeros(tree.n))
    x_a, x_b = _ends(springs, motion)
    excess = np.linalg.norm(x_b - x_a, axis=-1) - springs.rest_length
    lifted = -(springs.lift * x_b).sum(axis=-1)
    return _summed(np.where(springs.lift.any(axis=-1), lifted, 0.5 * springs.stiffness * excess**2), axis=-1)


@finite
def spring_forces(tree: Tree, motion: AxisMotion, qd: Array, bends: bool = True) -> tuple[Stretch, Array]:
    """The springs, and the forces (..., springs, 3) on points a in world axes; the opposite act on b."""
    springs, found = _known(tree), stretch(tree, motion, bends)
    return found, tension(springs, found, qd).rho[..., None] * found.D


@finite
def force_slopes(tree: Tree, motion: AxisMotion, found: Stretch, qd: Array) -> Array:
    """Derivatives of these forces by q and qd, (2, ..., springs, 3, n_axes): of rho D."""
    springs = _known(tree)
    pull = tension(springs, found, qd)
    drho, damping = _tension_slopes(springs, found, pull, qd)
    P = np.swapaxes(_relative(tree, springs, motion, found.x_a, found.x_b), -1, -2)
    z = motion.rotation[..., None, :-1, :, 2] * tree.turns[:, None] * _carrying(tree)[..., None]
    P = P + np.swapaxes(np.cross(z, found.D[..., None, :]), -1, -2)  # axes below both ends turn the line
    D, rho = found.D[..., None], pull.rho[..., None, None]
    return np.stack([rho * P + D * drho[..., None, :], D * damping[..., None, :]])


@finite
def moment_slopes(tree: Tree, motion: AxisMotion, q: Array, qd: Array) -> Array:
    """Derivatives of the dampers' moments on bodies a, c w, by q and qd, (2, ..., springs, 3, n_axes)."""
    turning = _Turning.at(tree, q)
    z = motion.rotation[..., None, :-1, :, 2] * tree.turns[:, None] * _carrying(tree)[..., None]
    by_q = turning.speed_slopes(qd) + np.cross(z, turning.speed(qd)[..., None, :])
    slopes = np.stack(np.broadcast_arrays(by_q, turning.Z)) * turning.damping[:, None, None]
    return np.swapaxes(slopes, -1, -2)


def spring_wrenches(mechanism: Mechanism, q: Array, qd: Array) -> list[Wrench]:
    """The springs of a mechanism as loads on its bodies, at states (..., n_axes) of its tree."""
    tree = mechanism.tree
    motion = axis_motion(tree, q, qd, np.zeros(tree.n))
    _, force = spring_forces(tree, motion, qd, bends=False)
    springs = _known(tree)
    damps = bool(springs.turning.any())
    moment = springs.turning[:, None] * _Turning.at(tree, q).speed(qd) if damps else np.zeros_like(force)
    loads = []
    for k, spring in enumerate([*mechanism.springs, *carried_weights(mechanism)]):
        T = moment[..., k, :]
        for body, point, F, N in (
            (spring.body_a, spring.point_a, force[..., k, :], T),
            (spring.body_b, spring.point_b, -force[..., k, :], -T),
        ):
            if body != WORLD:
                loads.append(Wrench(body, F, N, point) if damps else Wrench(body, F, point=point))
    return loads


def stretch(tree: Tree, motion: AxisMotion, bends: bool = True) -> Stretch:
    """Lengths and their derivatives in a motion of the axes, whose numbers may be complex.

    ``bends``: whether also second derivatives, which need memory for springs times axes squared.
    """
    springs = _known(tree)
    x_a, x_b = _ends(springs, motion)
    D = x_b - x_a
    P = _relative(tree, springs, motion, x_a, x_b)
    g = (P @ D[..., None])[..., 0]
    if not bends:
        return Stretch(D, x_a, x_b, g, np.zeros(0))
    check_room((*g.shape, tree.n), what="the second derivatives of springs")
    side = _sides(tree)
    same = side[:, :, None] * side[:, None, :] > 0.0  # axes that move the same end
    z = motion.rotation[..., None, :-1, :, 2] * tree.turns[:, None]
    X = np.cross(D[..., None, :], z) @ np.swapaxes(P, -1, -2) * same  # D . (z_k x P_i) for k before i
    K = P @ np.swapaxes(P, -1, -2) + np.triu(X) + np.swapaxes(np.triu(X, 1), -1, -2)
    return Stretch(D, x_a, x_b, g, K)


def tension(springs: Springs, found: Stretch, qd: Array) -> Tension:
    """rho of every spring at rates (..., n_axes)."""
    length = np.sqrt((found.D**2).sum(axis=-1))
    inverse = np.where(np.real(length) > SHORT, 1.0 / np.where(np.real(length) > SHORT, length, 1.0), 0.0)
    square = inverse * inverse
    rate = (found.g * qd[..., None, :]).sum(axis=-1) * square
    rho = springs.stiffness - springs.stiffness * springs.rest_length * inverse + springs.damping * rate
    return Tension(rho, inverse, square, rate)


def _tension_slopes(springs: Springs, found: Stretch, pull: Tension, qd: Array) -> tuple[Array, Array]:
    """drho/dq and drho/dqd, (..., springs, n_axes)."""
    stiff = springs.stiffness * springs.rest_length * pull.inverse * pull.square
    drho = stiff[..., None] * found.g + springs.damping[:, None] * _rate_slopes(found, pull, qd)
    return drho, (springs.damping * pull.square)[..., None] * found.g


def _rate_slopes(found: Stretch, pull: Tension, qd: Array) -> Array:
    """ds/dq, (..., springs, n_axes)."""
    turning = (found.K @ qd[..., None, :, None])[..., 0]
    slopes: Array = pull.square[..., None] * (turning - 2.0 * pull.rate[..., None] * found.g)
    return slopes


def _stretched(tree: Tree, q: Array, qd: Array, bends: bool = True) -> tuple[Springs, Stretch]:
    return _known(tree), stretch(tree, axis_motion(tree, q, qd, np.zeros(tree.n)), bends)


def _known(tree: Tree) -> Springs:
    assert tree.springs is not None
    return tree.springs


def _ends(springs: Springs, motion: AxisMotion) -> tuple[Array, Array]:
    """Where the points are in the world, (..., springs, 3)."""
    ends = []
    for axis, point in ((springs.axis_a, springs.point_a), (springs.axis_b, springs.point_b)):
        turned = (motion.rotation[..., axis, :, :] @ point[..., None])[..., 0]
        ends.append(motion.position[..., axis, :] + turned)
    return ends[0], ends[1]


def _relative(tree: Tree, springs: Springs, motion: AxisMotion, x_a: Array, x_b: Array) -> Array:
    """dD/dq of axes that move one end only, (..., springs, n_axes, 3)."""
    side = _sides(tree)
    x = np.where(side[..., None] > 0.0, x_b[..., None, :], x_a[..., None, :])
    z, p = motion.rotation[..., None, :-1, :, 2], motion.position[..., None, :-1, :]
    P: Array = side[..., None] * np.where(tree.turns[:, None], np.cross(z, x - p), z)
    return P


@once_per_tree
def _sides(tree: Tree) -> Array:
    """(springs, n_axes): 1 for axes that move point b alone, -1 for point a alone, else 0."""
    springs = _known(tree)
    side = np.zeros((len(springs.names), tree.n))
    for k, top in enumerate(springs.top):
        for axis, sign in ((int(springs.axis_b[k]), 1.0), (int(springs.axis_a[k]), -1.0)):
            while axis != top:
                side[k, axis] = sign
                axis = int(tree.parent[axis])
    return side


@once_per_tree
def _carrying(tree: Tree) -> Array:
    """(springs, n_axes): 1 for axes that carry both ends, else 0."""
    springs = _known(tree)
    carrying = np.zeros((len(springs.names), tree.n))
    for k, top in enumerate(springs.top):
        axis = int(top)
        while axis != WORLD_AXIS:
            carrying[k, axis] = 1.0
            axis = int(tree.parent[axis])
    return carrying


def _summed(values: Array, axis: int = -2) -> Array:
    total: Array = values.sum(axis=axis)
    return total


def _outer(a: Array, b: Array) -> Array:
    product: Array = a[..., :, None] * b[..., None, :]
    return product
