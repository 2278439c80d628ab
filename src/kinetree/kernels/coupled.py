"""Forward dynamics of a tree whose mimic joints follow others: q_i = ratio_i y_k + shift_i.

With C the matrix of the ratios, C^T M C ydd = C^T (tau - h) and qdd = C ydd. Composite bodies give M, as in
`crba`; the reduced matrix is small and dense.
"""

from kinetree.kernels.axes import WORLD, inward, outward
from kinetree.kernels.number import accumulate, lanewise
from kinetree.kernels.vectors import ZERO3, ZERO6, add, cross, cross_plus, dot, dot_plus, full, scale, times


@lanewise
def composite_bodies(tree, work, n):
    """Sum inertias and bias wrenches of all axes beyond each axis into its own."""
    for i in outward(n):
        if not tree.massive[i]:
            work.h[i], work.I[i] = ZERO3, ZERO6
    for i in inward(n):
        j = tree.parent[i]
        if j != WORLD:
            accumulate(work.n, j, work.n[i])
            accumulate(work.f, j, work.f[i])
            accumulate(work.h, j, work.h[i])
            accumulate(work.I, j, work.I[i])


@lanewise
def reduced_system(tree, axes, work, n, n_dof, total, A, b):
    """A = C^T M C (n_dof, n_dof), line by line, and b = C^T (tau - h), after `composite_bodies`."""
    zero = 0.0 * total[0]
    for k in range(n_dof * n_dof):
        A[k] = zero
    for k in range(n_dof):
        b[k] = zero
    for i in outward(n):
        k, z, s = axes.dof[i], work.z[i], work.s[i]
        rest = total[i] - dot(z, work.n[i]) - dot(s, work.f[i])
        b[k] = b[k] + axes.ratio[i] * rest
        h, m = work.h[i], tree.subtree_m[i]
        L = add(times(full(work.I[i]), z), cross(h, s))  # momentum of all beyond for unit speed of the axis
        P = cross_plus(z, h, scale(m, s))
        A[k * n_dof + k] = A[k * n_dof + k] + axes.ratio[i] * axes.ratio[i] * tree.armature[i]
        j = i
        while j != WORLD:
            c = axes.dof[j]
            x = axes.ratio[i] * axes.ratio[j] * dot_plus(work.z[j], L, dot(work.s[j], P))
            A[k * n_dof + c] = A[k * n_dof + c] + x
            if j != i:
                A[c * n_dof + k] = A[c * n_dof + k] + x
            j = tree.parent[j]


@lanewise
def solve_symmetric(n, A, b):
    """b <- A^-1 b by A = L D L^T, in place."""
    for k in range(n):
        inverse = 1.0 / A[k * n + k]
        for i in range(k + 1, n):
            x = A[i * n + k] * inverse
            for j in range(k + 1, i + 1):
                A[i * n + j] = A[i * n + j] - x * A[j * n + k]
            b[i] = b[i] - x * b[k]
        for i in range(k + 1, n):
            A[i * n + k] = A[i * n + k] * inverse
        b[k] = b[k] * inverse
    for k in inward(n):
        for i in range(k + 1, n):
            b[k] = b[k] - A[i * n + k] * b[i]


@lanewise
def move_coupled(tree, axes, work, n_dof, total, A, b, qdd):
    """Accelerations qdd of all axes under the torques `total`, after `aba.biased_motion` and all forces."""
    n = len(qdd)
    composite_bodies(tree, work, n)
    reduced_system(tree, axes, work, n, n_dof, total, A, b)
    solve_symmetric(n_dof, A, b)
    for i in outward(n):
        qdd[i] = axes.ratio[i] * b[axes.dof[i]]
