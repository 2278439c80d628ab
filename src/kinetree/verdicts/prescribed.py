"""Motions that are known in advance, judged between their samples, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.state import State
from kinetree.verdicts.limits import LimitWatch

POINTS, BLOCK = 2000, 4096  # intervals of the grid at least, and instants evaluated together
CLOSER, ROUNDS = 20, 2  # instants around the largest efforts, and how often they close in


def watch_motion(
    watch: LimitWatch,
    motion: Callable[[Array], State],
    times: Array,
    efforts: Callable[[Array, State], Array] | None = None,
    breaks: Sequence[float] = (),
    *,
    finer: bool = True,
) -> None:
    """Let a watch see a motion q, qd, qdd (k, n_dof) of times, and the efforts (k, n_dof) that it needs.

    The motion is evaluated at the given times and, unless ``finer`` is false, on a grid of at least 2000
    intervals and on both sides of breaks. Between two instants positions and velocities follow from the
    accelerations at both; around the largest efforts the grid becomes finer.
    """
    begin, end = float(times[0]), float(times[-1])
    inner = np.array([t for t in breaks if begin < t < end])
    grid = times
    if finer:
        many = np.linspace(begin, end, POINTS + 1)
        grid = np.unique(np.concatenate([times, many, inner, np.nextafter(inner, begin)]))
    best: list[tuple[float, float, float]] = []
    for first in range(0, len(grid), BLOCK):
        t = grid[max(0, first - 1) : first + BLOCK]
        state = motion(t)
        q, qd, qdd = (np.asarray(x)[:, None] for x in (state.q, state.qd, state.qdd))
        watch.add_steps(t, q, qd, qdd, np.ones(len(t), bool))
        if efforts is not None and watch.judges_efforts:
            best.append(_largest(watch, t, efforts(t, state)))
    if efforts is None or not best or not finer:
        return
    _, low, high = max(best)
    for _ in range(ROUNDS):
        t = np.linspace(low, high, CLOSER + 1)
        _, low, high = _largest(watch, t, efforts(t, motion(t)))


def _largest(watch: LimitWatch, t: Array, tau: Array) -> tuple[float, float, float]:
    """The largest effort of all relative to its limit, and its neighboring instants."""
    watch.add_efforts(t, tau[:, None])
    part = watch.effort_parts(tau).max(axis=-1)
    k = int(np.argmax(part))
    return float(part[k]), float(t[max(k - 1, 0)]), float(t[min(k + 1, len(t) - 1)])
