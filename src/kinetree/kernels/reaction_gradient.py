"""Derivatives of joint reactions: the wrench in every joint with respect to all q, qd and qdd.

Reactions are expressed in the axes of the body they act on, about its origin. Seen from there, a coordinate
between the base and the joint changes only the velocity and acceleration of what lies beyond (by Xd and Xdd),
and a coordinate beyond the joint changes the composite wrench as in inverse dynamics. Derivation and sources:
docs/theory/reaction_gradient.md.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.kernels.axes import WORLD, inward, outward, upward
from kinetree.kernels.layout import Kernel, Layout
from kinetree.kernels.motion import MOTION, join_parent, world_motion
from kinetree.kernels.number import lanewise
from kinetree.kernels.rnea_gradient import coriolis, rate_changes, wrench_changes
from kinetree.kernels.vectors import (
    ZERO3,
    cross,
    product,
    store3,
    sub,
    transposed_times,
)
from kinetree.model.tree import Tree

SLOTS = Layout(**MOTION)
ENTRIES = Layout(world=False, dq=6, dqd=6, dqdd=6)  # force, moment


@lanewise
def in_body(R, p, n, f):
    """Force and moment at the origin p in the axes R, from the wrench (n, f) about the world's origin."""
    return transposed_times(R, f) + transposed_times(R, sub(n, cross(p, f)))


@lanewise
def reaction_gradient(tree, work, out, q, qd, qdd, reaction):
    """Reactions and their derivatives, packed: for each axis i, tips first,

    if it carries a body: its reaction by itself and its ancestors; then its ancestors' reactions by i.
    """
    world_motion(tree, tree.axis, work, q, qd, qdd)
    for i in outward(len(q)):
        if tree.carries[i]:
            work.R[i] = product(work.R[i], tree.B[i])
    k = 0
    for i in inward(len(q)):
        join_parent(tree, work, i, tree.parent[i])
        m, h, S = tree.subtree_m[i], work.h[i], work.S[i]
        E, P = coriolis(work.G[i], work.P[i])
        R, p = work.R[i], work.p[i]
        if tree.carries[i]:
            wrench = in_body(R, p, work.n[i], work.f[i])
            store3(reaction, 6 * i, wrench[0:3])
            store3(reaction, 6 * i + 3, wrench[3:6])
            j = i
            while j != WORLD:
                for a in upward(j, tree.top[j]):
                    In, If, Qn, Qf, Vn, Vf = rate_changes(work, a, m, h, S, E, P)
                    out.dqdd[k] = in_body(R, p, In, If)
                    out.dqd[k] = in_body(R, p, Vn, Vf)
                    out.dq[k] = in_body(R, p, Qn, Qf)
                    k += 1
                j = tree.parent[tree.top[j]]
        else:
            store3(reaction, 6 * i, ZERO3)
            store3(reaction, 6 * i + 3, ZERO3)
        In, If, Qn, Qf, Vn, Vf = wrench_changes(tree, work, i, E, P)
        j = tree.parent[i]
        while j != WORLD:
            if tree.carries[j]:
                R, p = work.R[j], work.p[j]
                out.dqdd[k] = in_body(R, p, In, If)
                out.dqd[k] = in_body(R, p, Vn, Vf)
                out.dq[k] = in_body(R, p, Qn, Qf)
                k += 1
            j = tree.parent[j]


def reaction_places(tree: Tree) -> list[tuple[int, int]]:
    """(axis of the reaction, axis of the coordinate) of every packed row, in order."""
    last = {int(axis) for axis in tree.body_axis}
    places = []
    for i in range(tree.n - 1, -1, -1):
        path, j = [], int(tree.parent[i])
        while j != WORLD:
            path.append(j)
            j = int(tree.parent[j])
        if i in last:
            places += [(i, j) for j in (i, *path)]
        places += [(j, i) for j in path if j in last]
    return places


def by_reaction(width: int, arrays: int) -> Callable[[Tree], Any]:
    """Places of full arrays (n_bodies, 6, n): the wrench of each body by each coordinate."""

    def places(tree: Tree) -> Any:
        axis, coordinate = np.array(reaction_places(tree), dtype=np.int64).reshape(-1, 2).T
        body = np.zeros(tree.n, dtype=np.int64)
        body[tree.body_axis] = np.arange(tree.n_bodies)
        order = np.full((arrays, tree.n_bodies, 6, tree.n), width * len(axis))
        for k in range(arrays):
            for c in range(6):
                order[k, body[axis], c, coordinate] = np.arange(len(axis)) * width + 6 * k + c
        return order.reshape(arrays, -1)

    return places


REACTION_GRADIENT = Kernel(
    reaction_gradient,
    SLOTS,
    inputs=3,
    outputs=1,
    entries=ENTRIES,
    rows=lambda tree: len(reaction_places(tree)),
    places=by_reaction(18, 3),
    output_widths=(6,),
)
