"""Hybrid dynamics beside inverse and forward dynamics: `python -m benchmarks.hybrid`.

Some joints move as prescribed, torques drive the others. Peers have no such question; users put the answer
together from mass matrix and torques, M_ff qdd_f = tau_f - b_f, which is a row of the table, too. All answers
are compared with each other before they are timed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import kinetree as kt
from kinetree.algebra.arrays import Array

CASES: dict[str, tuple[Callable[[], kt.Mechanism], tuple[str, ...] | None]] = {
    "KUKA, two of six joints prescribed": (kt.zoo.kuka_kr5, ("joint1", "joint2")),
    "quadruped, all but the base prescribed": (kt.zoo.quadruped, None),
    "quadruped, one knee prescribed": (kt.zoo.quadruped, ("knee1",)),
    "chain of 40 joints, every other one prescribed": (lambda: kt.zoo.chain(40), ()),
}
AGREES = 1e-8
WAYS = ("hybrid", "by hand", "inverse", "forward", "derivatives", "one call")
Say = Callable[[str], None]


def prescribed_of(mechanism: kt.Mechanism, given: tuple[str, ...] | None) -> list[str] | None:
    """Names of prescribed joints: as given, every other one, or the driven ones."""
    if given is None:
        return None
    names = [x for x in given if x in mechanism.joint_names]
    return names or list(mechanism.joint_names[::2])


def per_state(call: Callable[[], Any], count: int, seconds: float) -> float:
    """Microseconds of processor time per state, the best of all calls within some seconds."""
    best, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = time.process_time()
        call()
        best = min(best, time.process_time() - began)
    return 1e6 * best / count


def by_numpy(mechanism: kt.Mechanism, known: Any, free: Any) -> Callable[..., tuple[Array, Array]]:
    """The answer put together by the user from mass matrix and torques, for many states at once."""

    def answer(q: Array, qd: Array, qdd: Array, tau: Array) -> tuple[Array, Array]:
        part = np.zeros_like(qdd)
        part[:, known] = qdd[:, known]
        b, M = kt.inverse_dynamics(mechanism, q, qd, part), kt.mass_matrix(mechanism, q)
        found = np.linalg.solve(M[:, free[:, None], free], (tau - b)[:, free, None])[..., 0]
        part[:, free] = found
        return part, b + (M[:, :, free] @ found[..., None])[..., 0]

    return answer


def measured(name: str, count: int, seconds: float) -> dict[str, float]:
    """Microseconds per state of each way to ask, by name."""
    make, given = CASES[name]
    mechanism = make()
    prescribed = prescribed_of(mechanism, given)
    rng = np.random.default_rng(3)
    q, qd, qdd, tau = rng.uniform(-0.5, 0.5, (4, count, mechanism.n_dof))
    known = np.flatnonzero(mechanism.actuated)
    if prescribed is not None:
        known = np.array([mechanism.joint_index(x) for x in prescribed])
    free = np.setdiff1d(np.arange(mechanism.n_dof), known)
    tau[:, known] = 0.0
    if prescribed is None:
        tau[:] = 0.0

    def partly() -> Any:
        return kt.analysis.hybrid_dynamics(mechanism, q, qd, qdd, tau, prescribed=prescribed, threads=1)

    own, users = partly(), by_numpy(mechanism, known, free)
    apart = np.abs(own.qdd - users(q, qd, qdd, tau)[0]).max() / np.abs(own.qdd).max()
    if not apart < AGREES:
        raise SystemExit(f"{name}: accelerations differ by {apart:.1e}")
    ways: dict[str, Callable[[], Any]] = {
        "hybrid": partly,
        "by hand": lambda: users(q, qd, qdd, tau),
        "inverse": lambda: kt.inverse_dynamics(mechanism, q, qd, qdd, threads=1),
        "forward": lambda: kt.forward_dynamics(mechanism, q, qd, tau, threads=1),
    }
    derivatives = slice(0, min(count, 64))
    ways["derivatives"] = lambda: kt.analysis.hybrid_dynamics_derivatives(
        mechanism, q[derivatives], qd[derivatives], qdd[derivatives], tau[derivatives], prescribed=prescribed
    )
    sizes = {"derivatives": min(count, 64)}
    found = {way: per_state(call, sizes.get(way, count), seconds) for way, call in ways.items()}
    one = (q[0], qd[0], qdd[0], tau[0])
    found["one call"] = per_state(
        lambda: kt.analysis.hybrid_dynamics(mechanism, *one, prescribed=prescribed), 1, seconds
    )
    return found


def hybrid(names: Sequence[str], count: int, seconds: float, say: Say) -> list[dict[str, Any]]:
    """A row for each case, for the benchmark as a whole."""
    rows = []
    for name in names:
        say(f"hybrid dynamics: {name}")
        rows.append({"case": name, "states": count, **measured(name, count, seconds)})
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, default=1024, help="states per call")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each way")
    options = parser.parse_args()
    print(f"us of processor time per state, {options.states} states per call, one thread, best call")
    for name in CASES:
        found = measured(name, options.states, options.seconds)
        print(f"{name}: " + ", ".join(f"{way} {spent:.2f}" for way, spent in found.items()))


if __name__ == "__main__":
    main()
