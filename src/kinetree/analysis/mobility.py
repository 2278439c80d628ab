"""How many ways a mechanism can move: the degrees of freedom that its loops leave."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.kinematics import forward_kinematics, jacobian
from kinetree.model.body import WORLD
from kinetree.model.loop import Loop
from kinetree.model.mechanism import Mechanism
from kinetree.state import random_state

POSES = 3
SMALL = 1e-9  # relative singular values below count as zero


def mobility(mechanism: Mechanism) -> int:
    """Degrees of freedom of the tree less the independent constraints of its loops.

    The constraints are counted as the rank of their Jacobian at random poses, so that planar loops are
    counted rightly; loops that move only thanks to special lengths are not.

    >>> import kinetree as kt
    >>> mobility(kt.zoo.four_bar()), mobility(kt.zoo.gripper())
    (1, 4)
    """
    if not mechanism.loops:
        return mechanism.n_dof
    rng = np.random.default_rng(0)
    ranks = []
    for _ in range(POSES):
        q = random_state(mechanism, rng).q
        rows = np.concatenate([_constraints(mechanism, q, loop) for loop in mechanism.loops])
        size = np.linalg.svd(rows, compute_uv=False)
        ranks.append(int((size > SMALL * max(1.0, size.max(initial=0.0))).sum()))
    return mechanism.n_dof - max(ranks)


def _constraints(mechanism: Mechanism, q: Array, loop: Loop) -> Array:
    """The relative motions that the cut joint forbids, as rows (6 - dof, n_dof) of velocities."""
    relative = np.zeros((6, mechanism.n_dof))
    R = np.eye(3)
    for sign, body, place in ((1, loop.body_a, loop.placement_a), (-1, loop.body_b, loop.placement_b)):
        if body != WORLD:
            relative += sign * jacobian(mechanism, q, body, place.position)
    if loop.body_a != WORLD:
        R = forward_kinematics(mechanism, q).rotation[mechanism.body_index(loop.body_a)]
    R = R @ loop.placement_a.rotation
    own = np.concatenate([R.T @ relative[:3], R.T @ relative[3:]])
    free = np.zeros((loop.joint.n_dof, 6))
    for k, (axis, turn) in enumerate(zip(loop.joint.axes, loop.joint.turns, strict=True)):
        free[k, 3:6] = axis if turn else 0.0
        free[k, :3] = 0.0 if turn else axis
    _, _, directions = np.linalg.svd(free, full_matrices=True)
    forbidden: Array = directions[loop.joint.n_dof :] @ own
    return forbidden
