"""The same motion problems in CasADi: mechanics written by hand, IPOPT with its automatic derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from kinetree.motion.problem.problem import Problem

TOLERANCE = 1e-6


def planar_arm(ca: Any, gravity: float, load: float) -> Any:
    """Torques of the two-link arm of [Xiang2009] by Lagrange's equations; the load pulls down at the tip."""
    q, v, a = (ca.SX.sym(name, 2) for name in ("q", "v", "a"))
    m, inertia, length, center = 0.5, 0.1, 0.4, 0.2
    along = [ca.vertcat(ca.cos(x), ca.sin(x)) for x in (q[0], q[0] + q[1])]
    places = [center * along[0], length * along[0] + center * along[1]]
    tip = length * (along[0] + along[1])
    speeds = [ca.jtimes(place, q, v) for place in places]
    kinetic = sum(m * ca.sumsqr(speed) / 2 for speed in speeds)
    kinetic += inertia * (v[0] ** 2 + (v[0] + v[1]) ** 2) / 2
    potential = m * gravity * (places[0][1] + places[1][1]) + load * tip[1]
    return _lagrange(ca, q, v, a, kinetic, potential)


def sliding_arm(ca: Any) -> Any:
    """Force and torque of the arm of [Barman2020], section 4.2, with the angle from the sliding direction."""
    q, v, a = (ca.SX.sym(name, 2) for name in ("q", "v", "a"))
    place = ca.vertcat(q[0] + 0.2 * ca.cos(q[1]), 0.2 * ca.sin(q[1]))
    kinetic = 0.25 * v[0] ** 2 + 0.25 * ca.sumsqr(ca.jtimes(place, q, v)) + 0.05 * v[1] ** 2
    return _lagrange(ca, q, v, a, kinetic, 0.0 * q[0])


def _lagrange(ca: Any, q: Any, v: Any, a: Any, kinetic: Any, potential: Any) -> Any:
    momentum = ca.gradient(kinetic, v)
    rate = ca.jtimes(momentum, q, v) + ca.jtimes(momentum, v, a)
    tau = rate - ca.gradient(kinetic, q) + ca.gradient(potential, q)
    return ca.Function("tau", [q, v, a], [tau])


def newton_euler(ca: Any, problem: Problem) -> Any:
    """Torques of an arm of hinges in a row by the recursive Newton-Euler algorithm, body by body."""
    tree = problem.mechanism.tree
    n = tree.n
    q, v, a = (ca.SX.sym(name, n) for name in ("q", "v", "a"))
    z = ca.DM([0, 0, 1])
    w, wd, acc = ca.SX.zeros(3), ca.SX.zeros(3), ca.SX(-np.array(tree.gravity))
    turns, forces, moments = [], [], []
    for i in range(n):
        c, s = ca.cos(q[i]), ca.sin(q[i])
        spin = ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))
        R, p = ca.DM(tree.rotation[i]) @ spin, ca.DM(tree.position[i])
        acc = R.T @ (acc + ca.cross(wd, p) + ca.cross(w, ca.cross(w, p)))
        w, wd = R.T @ w, R.T @ wd
        wd = wd + z * a[i] + ca.cross(w, z * v[i])
        w = w + z * v[i]
        h, S = ca.DM(tree.first_moment[i]), np.array(tree.second_moment[i])
        inertia = ca.DM(np.trace(S) * np.eye(3) - S)
        forces.append(tree.mass[i] * acc + ca.cross(wd, h) + ca.cross(w, ca.cross(w, h)))
        moments.append(inertia @ wd + ca.cross(w, inertia @ w) + ca.cross(h, acc))
        turns.append((R, p))
    tau: list[Any] = [None] * n
    for i in range(n - 1, -1, -1):
        tau[i] = moments[i][2] + tree.armature[i] * a[i]
        if i:
            R, p = turns[i]
            forces[i - 1] += R @ forces[i]
            moments[i - 1] += R @ moments[i] + ca.cross(p, R @ forces[i])
    return ca.Function("tau", [q, v, a], [ca.vertcat(*tau)])


def solved(
    ca: Any,
    torque: Any,
    problem: Problem,
    ends: tuple[Sequence[float], Sequence[float]],
    torque_limit: Sequence[float],
    velocity_limit: Sequence[float] | None,
    u: float,
) -> dict[str, float]:
    """Set-up and solution with the problem's own splines, samples and quadrature; rest to rest."""
    begun = perf_counter()
    setting, basis = problem.setting, problem.basis
    n, nc = len(ends[0]), basis.n_control
    P, T = ca.MX.sym("P", n, nc - 4), ca.MX.sym("T")
    q0, q1 = (ca.DM(list(end)) for end in ends)
    points = ca.horzcat(q0, q0, P, q1, q1)

    def state(s: Any) -> list[Any]:
        maps = [ca.DM(ca.sparsify(ca.DM(basis.matrix(s, k).toarray().T))) for k in range(3)]
        return [points @ maps[0], points @ maps[1] / T, points @ maps[2] / T**2]

    def torques(s: Any) -> Any:
        return torque.map(len(s))(*state(s))

    scaled = [ca.diag(1 / ca.DM(list(torque_limit))) @ torques(setting.samples)]
    if velocity_limit is not None:
        scaled.append(ca.diag(1 / ca.DM(list(velocity_limit))) @ state(setting.samples)[1])
    g = ca.vertcat(*(ca.vec(x) for x in scaled))
    f = (1 - u) * T
    if u:
        s, w = setting.quadrature
        f += T * u * ca.dot(ca.DM(w), ca.sum1(torques(s) ** 2).T)
    x = ca.vertcat(ca.vec(P), T)
    options = {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": False, "ipopt.tol": TOLERANCE}
    solver = ca.nlpsol("motion", "ipopt", {"x": x, "f": f, "g": g}, options)
    line = np.outer(ends[0], 1 - basis.greville) + np.outer(ends[1], basis.greville)
    start = np.append(line[:, 2:-2].ravel(order="F"), 1.0)
    low, high = np.full(len(start), -np.inf), np.full(len(start), np.inf)
    low[-1], high[-1] = setting.duration
    ready = perf_counter()
    found = solver(x0=start, lbx=low, ubx=high, lbg=-1.0, ubg=1.0)
    done = perf_counter()
    return {
        "setup": ready - begun,
        "solve": done - ready,
        "objective": float(found["f"]),
        "duration": float(np.array(found["x"]).ravel()[-1]),
        "iterations": solver.stats()["iter_count"],
    }
