"""Times against the degrees of freedom: [Shah2013], Figs. 6.15, 6.16, 7.30 and 7.31 by a clock.

Compiled algorithms on chains of n revolute joints, fixed and floating: inverse dynamics, forward dynamics by
articulated bodies, O(n), and by the inertia matrix and elimination, O(n^3). Time of one core per state, in
batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import process_time
from typing import Any, NamedTuple

import numpy as np

import kinetree as kt
from benchmarks.operation_counts.mechanisms import chain, general

SIZES = (1, 2, 3, 6, 9, 12, 18, 24, 30, 45, 60)
STATES, REPEATS, ENOUGH = 64, 5, 0.02  # states of a batch, repetitions of which the best counts, s of each
LINES = {  # name: floating, title
    False: "fixed base",
    True: "floating base",
}


class Timed(NamedTuple):
    """Microseconds per state of each algorithm, by degrees of freedom of the joints."""

    sizes: tuple[int, ...]
    microseconds: dict[str, list[float]]


def timed(floating: bool, sizes: Sequence[int] = SIZES) -> Timed:
    """Times of all algorithms on chains."""
    found: dict[str, list[float]] = {}
    for n in sizes:
        robot = general(chain(["revolute"] * n), floating)
        state = kt.random_state(robot, np.random.default_rng(n), STATES)
        tau = kt.inverse_dynamics(robot, state.q, state.qd, state.qdd)
        calls: dict[str, Callable[[], object]] = {
            "inverse dynamics": lambda r=robot, s=state: kt.inverse_dynamics(  # type: ignore[misc]
                r, s.q, s.qd, s.qdd, threads=1
            ),
            "forward, O(n)": lambda r=robot, s=state, t=tau: kt.forward_dynamics(  # type: ignore[misc]
                r, s.q, s.qd, t, threads=1
            ),
            "forward, O(n³)": lambda r=robot, s=state, t=tau: _by_elimination(r, s, t),  # type: ignore[misc]
        }
        for name, call in calls.items():
            found.setdefault(name, []).append(1e6 * best(call) / STATES)
    return Timed(tuple(sizes), found)


def _by_elimination(robot: kt.Mechanism, state: kt.State, tau: Any) -> Any:
    """q'' of M q'' = tau - h; M and h are compiled, LAPACK solves all states of the batch in one call."""
    M = kt.mass_matrix(robot, state.q, threads=1)
    return np.linalg.solve(M, (tau - kt.bias_torque(robot, state.q, state.qd))[..., None])


def best(call: Callable[[], object]) -> float:
    """CPU seconds of one call: the least mean of some windows."""
    call()
    count, spent = 0, 0.0
    while spent < ENOUGH:
        begun = process_time()
        call()
        spent, count = spent + process_time() - begun, count + 1
    means = [spent / count]
    for _ in range(REPEATS - 1):
        begun = process_time()
        for _ in range(count):
            call()
        means.append((process_time() - begun) / count)
    return min(means)


def break_even(found: Timed) -> int | None:
    """The fewest joints from which on O(n) forward dynamics takes less time than O(n^3)."""
    fast, slow = (found.microseconds[name] for name in ("forward, O(n)", "forward, O(n³)"))
    worse = [n for n, a, b in zip(found.sizes, fast, slow, strict=True) if a > b]
    better = [n for n in found.sizes if not worse or n > max(worse)]
    return better[0] if better else None


def figure(sizes: Sequence[int] = SIZES) -> tuple[Any, dict[bool, Timed]]:
    """Two panels, fixed and floating base, and the numbers in them."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(10.0, 3.8), layout="constrained")
    every = {}
    for ax, floating in zip(drawing.subplots(1, 2), LINES, strict=True):
        every[floating] = found = timed(floating, sizes)
        for name, values in found.microseconds.items():
            ax.plot(found.sizes, values, "o-", markersize=4, linewidth=1.2, label=name)
        ax.set_title(f"{LINES[floating]}: time of a state", fontsize=9, loc="left")
        ax.set_xlabel("degrees of freedom of the joints")
        ax.set_ylabel("µs")
        ax.set_ylim(bottom=0.0)
        ax.grid(alpha=0.25)
        ax.legend(fontsize=8)
    return drawing, every
