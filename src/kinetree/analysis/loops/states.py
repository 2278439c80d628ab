"""Random states that fit the loops, to compare and to time answers at."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.loops.structure import assembled_poses
from kinetree.analysis.loops.system import RANK, constraints
from kinetree.model.mechanism import Mechanism
from kinetree.state import State, random_state

POSES = 8  # different poses among many states; each takes a search


def fitting_state(mechanism: Mechanism, batch: int, seed: int = 0) -> State:
    """Random positions, velocities and accelerations (batch, n_dof) that fit the loops, if there are any.

    Closed poses are found from random starts; a large batch repeats some of them with other velocities.

    >>> import kinetree as kt
    >>> bar = kt.zoo.four_bar()
    >>> at = fitting_state(bar, 3)
    >>> kt.inverse_dynamics(bar, at.q, at.qd, at.qdd).shape
    (3, 3)
    """
    rng = np.random.default_rng(seed)
    if not mechanism.loops:
        return random_state(mechanism, rng, batch=batch)
    poses = assembled_poses(mechanism, min(batch, POSES), seed)
    q = np.resize(poses, (batch, mechanism.n_dof))
    J = constraints(mechanism, q).J
    inverse = np.linalg.pinv(J, rcond=RANK)

    def kept(rates: Array) -> Array:
        """The part of the rates that keeps the loops closed."""
        return rates - (inverse @ (J @ rates[..., None]))[..., 0]

    qd = kept(rng.standard_normal(q.shape))
    bias = constraints(mechanism, q, qd).rate
    qdd = kept(rng.standard_normal(q.shape)) - (inverse @ bias[..., None])[..., 0]
    return State(q, qd, qdd)
