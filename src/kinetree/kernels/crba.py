"""Mass matrix: composite bodies in the world frame, one entry per axis and ancestor."""

from kinetree.kernels.layout import (
    WORLD,
    Kernel,
    Layout,
    centred_world,
    inertia,
    inward,
    outward,
    world_placement,
)
from kinetree.kernels.number import accumulate, lanewise
from kinetree.kernels.vectors import IDENTITY, ZERO3, ZERO6, dot, dot_plus, inertia_times, moved_inertia

SLOTS = Layout(R=9, p=3, z=3, s=3, h=3, S=6)


@lanewise
def crba(tree, work, q, M):
    """M(q) as n * n numbers, row by row; entries of axes on different branches are zero."""
    n = len(q)
    work.R[WORLD], work.p[WORLD] = IDENTITY, centred_world(tree, q)
    for i in outward(n):
        j = tree.parent[i]
        R, p, z, s = world_placement(tree, i, q[i], work.R[j], work.p[j])
        work.R[i], work.p[i], work.z[i], work.s[i] = R, p, z, s
        if tree.massive[i]:
            m, h, S = inertia(tree, i)
            work.h[i], work.S[i] = moved_inertia(m, h, S, R, p)
        else:
            work.h[i], work.S[i] = ZERO3, ZERO6

    for i in inward(n):  # the composite body's momentum for unit speed of axis i, felt by its ancestors
        j = tree.parent[i]
        h, S = work.h[i], work.S[i]
        if j != WORLD:
            accumulate(work.h, j, h)
            accumulate(work.S, j, S)
        z, s = work.z[i], work.s[i]
        L, P = inertia_times(tree.subtree_m[i], h, S, z, s)
        M[i * n + i] = dot_plus(z, L, dot(s, P)) + tree.armature[i]
        while j != WORLD:
            M[i * n + j] = dot_plus(work.z[j], L, dot(work.s[j], P))
            M[j * n + i] = M[i * n + j]
            j = tree.parent[j]


CRBA = Kernel(crba, SLOTS, inputs=1, outputs=1)
