"""Random states, the same for every contestant."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

import kinetree as kt
from kinetree.algebra.arrays import Array

DISTINCT = 64  # states that differ; larger batches repeat them, since values do not change the time


@dataclass(frozen=True)
class States:
    """q, qd, qdd, the torque tau that causes qdd, and weights y; each (count, n)."""

    q: Array
    qd: Array
    qdd: Array
    tau: Array
    y: Array

    def __len__(self) -> int:
        return len(self.q)

    def repeated(self, count: int) -> States:
        """As many states as asked for, taken round after round."""
        return States(*(repeated(getattr(self, field.name), count) for field in fields(self)))


def repeated(rows: Array, count: int) -> Array:
    """Rows (count, ...) taken round after round, contiguous."""
    return np.ascontiguousarray(np.resize(rows, (count, *rows.shape[1:])))


def random_states(mechanism: kt.Mechanism, count: int = DISTINCT, seed: int = 0) -> States:
    """Positions within +-1, so that Euler angles stay clear of gimbal lock; normal velocities."""
    rng = np.random.default_rng(seed)
    shape = (count, mechanism.n_dof)
    q, qd, qdd, y = rng.uniform(-1.0, 1.0, shape), *rng.standard_normal((3, *shape))
    return States(q, qd, qdd, kt.inverse_dynamics(mechanism, q, qd, qdd, threads=1), y)
