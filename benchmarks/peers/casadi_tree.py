"""Any tree of axes in CasADi: torques by a recursive Newton-Euler algorithm of its own, places of points.

Nothing but the constants of the tree is taken from Kinetree; derivatives are CasADi's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def mechanics(
    ca: Any,
    tree: Any,
    pushes: Sequence[tuple[int, Any]] = (),
    twists: Sequence[int] = (),
    points: Sequence[tuple[int, Any]] = (),
) -> Any:
    """A function of q, v, a (n,) and loads: torques (n,), then places and velocities of points.

    ``pushes`` are axes and points in their frames at which forces act, ``twists`` axes on which moments act:
    loads are (3, pushes + twists) in axes of the world. ``points``: axes and points in their frames; their
    places (3, points) and velocities (3, points) are the other outputs.
    """
    n = tree.n
    q, v, a = (ca.SX.sym(name, n) for name in ("q", "v", "a"))
    loads = ca.SX.sym("loads", 3, len(pushes) + len(twists))
    z, zero = ca.DM([0, 0, 1]), ca.SX.zeros(3)
    frames: list[Any] = []  # rotation and position in the parent, both in the world
    rates: list[Any] = []  # angular velocity, angular acceleration, velocity, acceleration, in own axes
    forces, moments = [], []
    still = zero, zero, zero, ca.SX(-np.array(tree.gravity))
    for i in range(n):
        parent = int(tree.parent[i])
        w, wd, u, acc = rates[parent] if parent >= 0 else still
        R0, p0 = frames[parent][2:] if parent >= 0 else (ca.SX.eye(3), zero)
        R, p = ca.DM(ca.sparsify(ca.DM(tree.rotation[i]))), ca.DM(tree.position[i])
        if tree.turns[i]:
            c, s = ca.cos(q[i]), ca.sin(q[i])
            R = R @ ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))
        else:
            p = p + R @ z * q[i]
        u = R.T @ (u + ca.cross(w, p))
        acc = R.T @ (acc + ca.cross(wd, p) + ca.cross(w, ca.cross(w, p)))
        w, wd = R.T @ w, R.T @ wd
        if tree.turns[i]:
            wd = wd + z * a[i] + ca.cross(w, z * v[i])
            w = w + z * v[i]
        else:
            u = u + z * v[i]
            acc = acc + z * a[i] + 2 * ca.cross(w, z * v[i])
        rates.append((w, wd, u, acc))
        frames.append((R, p, R0 @ R, p0 + R0 @ p))
        h, S = ca.DM(tree.first_moment[i]), np.array(tree.second_moment[i])
        inertia = ca.DM(np.trace(S) * np.eye(3) - S)
        forces.append(tree.mass[i] * acc + ca.cross(wd, h) + ca.cross(w, ca.cross(w, h)))
        moments.append(inertia @ wd + ca.cross(w, inertia @ w) + ca.cross(h, acc))
    for k, (axis, point) in enumerate(pushes):
        force = frames[axis][2].T @ loads[:, k]
        forces[axis] -= force
        moments[axis] -= ca.cross(ca.DM(point), force)
    for k, axis in enumerate(twists, start=len(pushes)):
        moments[axis] -= frames[axis][2].T @ loads[:, k]
    tau: list[Any] = [None] * n
    for i in range(n - 1, -1, -1):
        tau[i] = (moments if tree.turns[i] else forces)[i][2] + tree.armature[i] * a[i]
        tau[i] += tree.stiffness[i] * (q[i] - tree.rest[i]) + tree.viscous[i] * v[i]
        parent = int(tree.parent[i])
        if parent >= 0:
            R, p = frames[i][:2]
            force = R @ forces[i]
            forces[parent] += force
            moments[parent] += R @ moments[i] + ca.cross(p, force)
    places = [frames[axis][3] + frames[axis][2] @ ca.DM(point) for axis, point in points]
    speeds = [
        frames[axis][2] @ (rates[axis][2] + ca.cross(rates[axis][0], ca.DM(point))) for axis, point in points
    ]
    found = [ca.vertcat(*tau), *((ca.horzcat(*x) if x else ca.SX.zeros(3, 0)) for x in (places, speeds))]
    return ca.Function("mechanics", [q, v, a, loads], found)
