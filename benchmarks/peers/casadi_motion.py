"""The same motion problems in CasADi: mechanics written by hand, IPOPT with its automatic derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.peers import casadi_tree
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
    """Torques by the recursive Newton-Euler algorithm, axis by axis."""
    tree = problem.mechanism.tree
    q, v, a = (ca.SX.sym(name, tree.n) for name in ("q", "v", "a"))
    tau = casadi_tree.mechanics(ca, tree)(q, v, a, ca.SX(3, 0))[0]
    return ca.Function("tau", [q, v, a], [tau])


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
