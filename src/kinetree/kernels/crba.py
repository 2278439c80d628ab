"""Mass matrix: composite bodies in the world frame, one packed entry per axis and ancestor."""

from kinetree.kernels.axes import (
    WORLD,
    centred_world,
    inertia,
    inward,
    outward,
    place_axis,
    turn_axes,
    upward,
)
from kinetree.kernels.layout import Kernel, Layout
from kinetree.kernels.number import accumulate, lanewise, reread
from kinetree.kernels.vectors import IDENTITY, ZERO3, ZERO6, dot_plus, inertia_times, moved_inertia

SLOTS = Layout(turn=2, z=3, s=3, h=3, S=6, R=9, p=3)
ENTRIES = Layout(world=False, M=1)


@lanewise
def crba(tree, work, out, q):
    """M(q) for every axis i and its ancestors j (i itself first), tips first; all other entries are zero."""
    turn_axes(tree, work, q)
    work.R[WORLD], work.p[WORLD] = IDENTITY, centred_world(tree, q)
    for i in outward(len(q)):
        j, k = tree.place[tree.parent[i]], tree.place[i]
        place_axis(tree, work, i, q[i], j, k)
        if tree.massive[i]:
            m, h, S = inertia(tree, i)
            work.h[i], work.S[i] = moved_inertia(m, h, S, reread(work.R, k), reread(work.p, k))
        elif tree.beyond[i] == WORLD:
            work.h[i], work.S[i] = ZERO3, ZERO6

    k = 0
    for i in inward(len(q)):  # the composite body's momentum for unit speed of axis i, felt by its ancestors
        j = tree.parent[i]
        h, S = work.h[i], work.S[i]
        if tree.opens[i] and not tree.massive[j]:  # its parent's body is empty so far
            work.h[j], work.S[j] = h, S
        elif j != WORLD:
            accumulate(work.h, j, h)
            accumulate(work.S, j, S)
        L, P = inertia_times(tree.subtree_m[i], h, S, work.z[i], work.s[i])
        drive = tree.armature[i]
        j = i
        while j != WORLD:
            for a in upward(j, tree.top[j]):
                out.M[k] = dot_plus(work.z[a], L, dot_plus(work.s[a], P, drive))
                drive = 0.0
                k += 1
            j = tree.parent[tree.top[j]]


CRBA = Kernel(
    crba,
    SLOTS,
    inputs=1,
    outputs=0,
    entries=ENTRIES,
    targets=((0, 0, False), (0, 0, True)),
    output_widths=(),
)
