"""Random states that fit the loops, to compare and to time answers at."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.dynamics.loops.structure import assembled_poses
from kinetree.dynamics.loops.system import RANK, constraints
from kinetree.model.mechanism import Mechanism
from kinetree.state import State, random_state

POSES = 8  # different poses among many states; each takes a search
SPARE = 2  # more of them, for those near a singular position
REGULAR = 1e-5  # smallest singular value of the loops, relative to the largest, of a pose far from singular


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
    q = np.resize(_regular_poses(mechanism, min(batch, POSES), seed), (batch, mechanism.n_dof))
    J = constraints(mechanism, q).J
    inverse = np.linalg.pinv(J, rcond=RANK)

    def kept(rates: Array) -> Array:
        """The part of the rates that keeps the loops closed."""
        return rates - (inverse @ (J @ rates[..., None]))[..., 0]

    qd = kept(rng.standard_normal(q.shape))
    bias = constraints(mechanism, q, qd).rate
    qdd = kept(rng.standard_normal(q.shape)) - (inverse @ bias[..., None])[..., 0]
    return State(q, qd, qdd)


def _regular_poses(mechanism: Mechanism, count: int, seed: int) -> Array:
    """Closed poses (count, n_dof) that are not next to a singular position, as far as some are found.

    Neither one of the loops, nor one in which the drives do not determine the motion.
    """
    poses = assembled_poses(mechanism, count + SPARE, seed)
    _, size, Vt = np.linalg.svd(constraints(mechanism, poses).J, full_matrices=True)
    ranks = (size > RANK * size[:, :1]).sum(axis=-1)
    usual = int(ranks.max())
    loops = (ranks == usual) & (size[:, usual - 1] > REGULAR * size[:, 0]) if usual else ranks == usual
    felt = np.linalg.svd(Vt[:, usual:][..., mechanism.driven], compute_uv=False)
    drives = felt.min(axis=-1, initial=1.0) > REGULAR
    for good in (loops & drives, loops):
        if good.any():
            some: Array = poses[good][:count]
            return some
    return poses[:count]
