"""Slopes of the motion of a tree's axes along directions, exact to rounding.

The motion of every axis changes along (dq, dqd, dqdd) as rigid bodies do. With the screw S_j of axis j at the
world's origin, the displacement X, twist V and spatial acceleration A of the axes, and the parent p of j:

    dX_j = dX_p + S_j dq_j                                          dS_j = dX_p x S_j
    dV_j = dV_p + dS_j qd_j + S_j dqd_j
    dA_j = dA_p + dS_j qdd_j + S_j dqdd_j + (dV_p x S_j + V_p x dS_j) qd_j + (V_p x S_j) dqd_j

What follows from the motion is evaluated with these slopes as imaginary parts (complex step: Squire and Trapp
1998), so that its formulas need no second version for derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.dynamics.axis_motion import AxisMotion
from kinetree.model.tree import Tree

STEP = 1e-30  # imaginary: far below rounding, so that its square is zero


@dataclass(frozen=True, eq=False)
class Direction:
    """Rates of change of q, qd and qdd, each (..., k, axes), along k directions."""

    q: Array
    qd: Array
    qdd: Array


def moved(tree: Tree, motion: AxisMotion, qd: Array, qdd: Array, along: Direction) -> AxisMotion:
    """The motion with its slopes along k directions as imaginary parts; axes (..., k, n + 1, ...)."""
    R, p, v, w, a, wd = (x[..., None, :, :] for x in _parts(motion))
    S = _screws(tree, motion)[..., None, :, :]
    V = np.concatenate([w, v - np.cross(w, p)], axis=-1)
    dX, dV, dA = (np.zeros((*along.q.shape[:-1], tree.n + 1, 6)) for _ in range(3))
    for j in range(tree.n):
        up, s = int(tree.parent[j]), S[..., j, :]
        ds, rate = _crossed(dX[..., up, :], s), _crossed(V[..., up, :], s)
        drate = _crossed(dV[..., up, :], s) + _crossed(V[..., up, :], ds)
        speed, acceleration = qd[..., None, j, None], qdd[..., None, j, None]
        dq, dqd, dqdd = (x[..., j, None] for x in (along.q, along.qd, along.qdd))
        dX[..., j, :] = dX[..., up, :] + s * dq
        dV[..., j, :] = dV[..., up, :] + ds * speed + s * dqd
        dA[..., j, :] = dA[..., up, :] + ds * acceleration + s * dqdd + drate * speed + rate * dqd
    dw, dwd = dV[..., :3], dA[..., :3]
    dR = np.cross(dX[..., None, :3], np.swapaxes(R.reshape(*R.shape[:-1], 3, 3), -1, -2))
    dp = dX[..., 3:] + np.cross(dX[..., :3], p)
    dv = dV[..., 3:] + np.cross(dw, p) + np.cross(w, dp)
    # a = (linear part of A) + wd x p + w x v
    da = dA[..., 3:] + np.cross(dwd, p) + np.cross(wd, dp) + np.cross(dw, v) + np.cross(w, dv)
    i = 1j * STEP
    return AxisMotion(
        motion.rotation[..., None, :, :, :] + i * np.swapaxes(dR, -1, -2),  # type: ignore[arg-type]
        p + i * dp,
        np.concatenate([v + i * dv, w + i * dw], axis=-1),
        np.concatenate([a + i * da, wd + i * dwd], axis=-1),
    )


def _parts(motion: AxisMotion) -> tuple[Array, ...]:
    R = motion.rotation.reshape(*motion.rotation.shape[:-2], 9)
    v, a = motion.velocity, motion.acceleration
    return R, motion.position, v[..., :3], v[..., 3:], a[..., :3], a[..., 3:]


def _screws(tree: Tree, motion: AxisMotion) -> Array:
    """S_j of every axis at the world's origin, (..., n, 6): angular, linear."""
    z, p, turns = motion.rotation[..., :-1, :, 2], motion.position[..., :-1, :], tree.turns[:, None]
    return np.concatenate([np.where(turns, z, 0.0), np.where(turns, np.cross(p, z), z)], axis=-1)


def _crossed(V: Array, S: Array) -> Array:
    """The motion cross product V x S of (angular, linear) pairs."""
    w, v, z, s = V[..., :3], V[..., 3:], S[..., :3], S[..., 3:]
    return np.concatenate([np.cross(w, z), np.cross(v, z) + np.cross(w, s)], axis=-1)
