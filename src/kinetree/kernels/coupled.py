"""Forward dynamics of a tree whose mimic joints follow others, q_i = f_i(y_k) + sum of r y_l.

With C the matrix of the slopes f' and r, and c_i = f_i'' yd_k^2, C^T M C ydd = C^T (tau - h - M c) and
qdd = C ydd + c. Composite bodies give M, as in `crba`; the reduced matrix is small and dense.
"""

from kinetree.kernels.axes import WORLD, inward, outward
from kinetree.kernels.number import accumulate, lanewise
from kinetree.kernels.torque_law import END
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
def follow_slope(axes, i, y):
    """How fast axis i moves with the coordinate that it is or follows, at y."""
    c = axes.higher[i]
    return axes.ratio[i] + y * (2.0 * c[0] + y * (3.0 * c[1] + y * (4.0 * c[2])))


@lanewise
def follow_bend(axes, i, y, yd):
    """The acceleration of axis i at ydd = 0."""
    c = axes.higher[i]
    return yd * yd * (2.0 * c[0] + y * (6.0 * c[1] + y * (12.0 * c[2])))


@lanewise
def add_force(axes, i, y, x, b):
    """b += C^T x of a torque x on axis i: to every coordinate that it follows."""
    k = axes.dof[i]
    b[k] = b[k] + follow_slope(axes, i, y[k]) * x
    a = axes.more[i]
    while a != END:
        b[axes.dof[a]] = b[axes.dof[a]] + axes.ratio[a] * x
        a = axes.more[a]


@lanewise
def add_line(axes, j, y, x, k, A):
    """Line A[k:] += x C_j, for the coordinates that axis j follows."""
    c = axes.dof[j]
    A[k + c] = A[k + c] + follow_slope(axes, j, y[c]) * x
    a = axes.more[j]
    while a != END:
        A[k + axes.dof[a]] = A[k + axes.dof[a]] + axes.ratio[a] * x
        a = axes.more[a]


@lanewise
def add_term(axes, i, j, y, M, n_dof, A):
    """A += C_i^T M C_j of an element M of the mass matrix of all axes."""
    k = axes.dof[i]
    add_line(axes, j, y, follow_slope(axes, i, y[k]) * M, k * n_dof, A)
    a = axes.more[i]
    while a != END:
        add_line(axes, j, y, axes.ratio[a] * M, axes.dof[a] * n_dof, A)
        a = axes.more[a]


@lanewise
def follower_acceleration(axes, i, y, n_dof, b):
    """C_i b + c_i: the acceleration of axis i from those of the coordinates."""
    k = axes.dof[i]
    x = follow_slope(axes, i, y[k]) * b[k] + follow_bend(axes, i, y[k], y[n_dof + k])
    a = axes.more[i]
    while a != END:
        x = x + axes.ratio[a] * b[axes.dof[a]]
        a = axes.more[a]
    return x


@lanewise
def reduced_system(tree, axes, work, n, n_dof, y, total, A, b):
    """A = C^T M C (n_dof, n_dof), line by line, and b = C^T (tau - h - M c), after `composite_bodies`."""
    zero = 0.0 * total[0]
    for k in range(n_dof * n_dof):
        A[k] = zero
    for k in range(n_dof):
        b[k] = zero
    for i in outward(n):
        k, z, s = axes.dof[i], work.z[i], work.s[i]
        bend = follow_bend(axes, i, y[k], y[n_dof + k])
        rest = total[i] - dot(z, work.n[i]) - dot(s, work.f[i]) - tree.armature[i] * bend
        h, m = work.h[i], tree.subtree_m[i]
        L = add(times(full(work.I[i]), z), cross(h, s))  # momentum of all beyond for unit speed of the axis
        P = cross_plus(z, h, scale(m, s))
        add_term(axes, i, i, y, tree.armature[i] + 0.0 * rest, n_dof, A)
        j = i
        while j != WORLD:
            c = axes.dof[j]
            M = dot_plus(work.z[j], L, dot(work.s[j], P))
            add_term(axes, i, j, y, M, n_dof, A)
            rest = rest - M * follow_bend(axes, j, y[c], y[n_dof + c])
            if j != i:
                add_term(axes, j, i, y, M, n_dof, A)
                add_force(axes, j, y, 0.0 - M * bend, b)
            j = tree.parent[j]
        add_force(axes, i, y, rest, b)


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
def move_coupled(tree, axes, work, n_dof, y, total, A, b, qdd):
    """Accelerations qdd of all axes under the torques `total`, after `aba.biased_motion` and all forces."""
    n = len(qdd)
    composite_bodies(tree, work, n)
    reduced_system(tree, axes, work, n, n_dof, y, total, A, b)
    solve_symmetric(n_dof, A, b)
    for i in outward(n):
        qdd[i] = follower_acceleration(axes, i, y, n_dof, b)
