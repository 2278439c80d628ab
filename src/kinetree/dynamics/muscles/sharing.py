"""The tables of sharing torques among muscles, and the call of its machine code."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinetree.algebra.arrays import Array
from kinetree.dynamics.muscles.hill import FiberState, HillTables, fibers_along
from kinetree.model.muscle import Muscle

Integers = NDArray[np.int64]
TOLERANCE = 1e-12  # of the largest torque, or N m
LEAST_ARM = 1e-7  # m: smaller moment arms in all frames are none


@dataclass(frozen=True, eq=False)
class SharedTorques:
    """Activations (m, k), prices (m, n), Newton steps (m,) and what is missing (m,) (N m)."""

    activation: Array
    price: Array
    steps: Integers
    missing: Array


def active_forces(tables: HillTables, length: Array, rate: Array) -> tuple[Array, Array]:
    """Active forces along rigid tendons at activation 1, and passive ones, each (..., k) (N)."""
    along = np.maximum(length - tables.slack, 1e-6)
    found: FiberState = fibers_along(tables, length, rate, np.ones_like(length), along)
    cosine = np.cos(found.pennation)
    slack = length <= tables.slack
    return np.where(slack, 0.0, found.active * cosine), np.where(slack, 0.0, found.passive * cosine)


def shared(
    muscles: tuple[Muscle, ...],
    moment: Array,
    torque: Array,
    weight: Array,
    reserve: Array,
    exponent: float,
    bounds: tuple[Array, Array],
    dt: Array,
) -> SharedTorques:
    """Share torques (m, n) among muscles with moments (m, k, n) at activation 1; dt (m,): see `machine`."""
    m, k, n = moment.shape
    acts = np.asarray((np.abs(moment) > 0.0).any(axis=0))
    count = np.ascontiguousarray(acts.sum(axis=1), dtype=np.int64)
    span = np.zeros((k, max(1, int(count.max(initial=0)))), dtype=np.int64)
    for i in range(k):
        span[i, : count[i]] = np.flatnonzero(acts[i])
    B = np.ascontiguousarray(np.take_along_axis(moment, np.broadcast_to(span, (m, *span.shape)), axis=2))
    a, price, steps, worst = np.empty((m, k)), np.empty((m, n)), np.empty(m, dtype=np.int64), np.empty(m)
    rise = np.array([muscle.activation_time for muscle in muscles])
    fall = np.array([muscle.deactivation_time for muscle in muscles])
    compiled()(
        B, span, count, np.ascontiguousarray(torque), weight, *bounds, 0.5 * reserve**2, float(exponent),
        TOLERANCE, rise, fall, dt, np.zeros(n), a, price, steps, worst, np.empty(k), np.empty(k), np.empty((n,
        n)), *(np.empty(n) for _ in range(3)),
    )  # fmt: skip
    return SharedTorques(a, price, steps, worst)


@functools.cache
def compiled() -> Callable[..., None]:
    """Machine code of `machine.sharing.share`."""
    from kinetree.dynamics.muscles.machine.sharing import share
    from kinetree.engine.door import FLOAT, INTEGER, array_type, compiled_function

    def of(letter: str) -> Any:
        return FLOAT if letter == "f" else array_type(INTEGER if letter[0] == "i" else FLOAT, int(letter[1]))

    letters = "f3 i2 i1 f2 f1 f1 f1 f1 f f f1 f1 f1 f1 f2 f2 i1 f1 f1 f1 f2 f1 f1 f1"
    return compiled_function(share, [of(x) for x in letters.split()], "muscles-share")
