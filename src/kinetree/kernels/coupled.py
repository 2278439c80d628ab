"""Forward dynamics of a tree whose mimic joints follow others, q_i = f_i(y_k) + sum of r y_l.

With C the matrix of the slopes f' and r, and c_i = f_i'' yd_k^2, C^T M C ydd = C^T (tau - h - M c) and
qdd = C ydd + c. Composite bodies give M, as in `crba`; the reduced matrix is small and dense.
"""

from kinetree.kernels.axes import WORLD, inward, outward
from kinetree.kernels.number import accumulate, lanewise, where_less
from kinetree.kernels.torque_law import END, POWERS
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
def law_at(axes, i, y):
    """Value, slope and bend of the function by which axis i follows the coordinate y, from its pieces."""
    value = slope = bend = 0.0 * y
    a = axes.piece[i]
    while a != END:
        c, x = axes.powers[a], y - axes.center[a]
        p = dp = ddp = 0.0 * y
        for k in range(POWERS - 1, -1, -1):  # Horner, with both derivatives
            ddp = ddp * x + 2.0 * dp
            dp = dp * x + p
            p = p * x + c[k]
        value = where_less(y, axes.begin[a], value, p)
        slope = where_less(y, axes.begin[a], slope, dp)
        bend = where_less(y, axes.begin[a], bend, ddp)
        a = axes.piece[a]
    return value, slope, bend


@lanewise
def follow_slopes(axes, y, n, n_dof, slopes, bends):
    """How fast each axis moves with the coordinate that it is or follows, and its acceleration at ydd = 0."""
    for i in outward(n):
        k = axes.dof[i]
        slopes[i] = axes.ratio[i] + 0.0 * y[k]
        bends[i] = 0.0 * y[k]
        if axes.piece[i] != END:
            _value, slope, bend = law_at(axes, i, y[k])
            slopes[i] = slope
            bends[i] = bend * y[n_dof + k] * y[n_dof + k]


@lanewise
def add_force(axes, i, slopes, x, b):
    """b += C^T x of a torque x on axis i: to every coordinate that it follows."""
    k = axes.dof[i]
    b[k] = b[k] + slopes[i] * x
    a = axes.more[i]
    while a != END:
        b[axes.dof[a]] = b[axes.dof[a]] + axes.ratio[a] * x
        a = axes.more[a]


@lanewise
def add_line(axes, j, slopes, x, k, A):
    """Line A[k:] += x C_j, for the coordinates that axis j follows."""
    c = axes.dof[j]
    A[k + c] = A[k + c] + slopes[j] * x
    a = axes.more[j]
    while a != END:
        A[k + axes.dof[a]] = A[k + axes.dof[a]] + axes.ratio[a] * x
        a = axes.more[a]


@lanewise
def add_term(axes, i, j, slopes, M, n_dof, A):
    """A += C_i^T M C_j of an element M of the mass matrix of all axes."""
    k = axes.dof[i]
    add_line(axes, j, slopes, slopes[i] * M, k * n_dof, A)
    a = axes.more[i]
    while a != END:
        add_line(axes, j, slopes, axes.ratio[a] * M, axes.dof[a] * n_dof, A)
        a = axes.more[a]


@lanewise
def follower_acceleration(axes, i, slopes, bends, b):
    """C_i b + c_i: the acceleration of axis i from those of the coordinates."""
    x = slopes[i] * b[axes.dof[i]] + bends[i]
    a = axes.more[i]
    while a != END:
        x = x + axes.ratio[a] * b[axes.dof[a]]
        a = axes.more[a]
    return x


@lanewise
def reduced_system(tree, axes, work, n, n_dof, slopes, bends, total, A, b):
    """A = C^T M C (n_dof, n_dof), line by line, and b = C^T (tau - h - M c), after `composite_bodies`."""
    zero = 0.0 * total[0]
    for k in range(n_dof * n_dof):
        A[k] = zero
    for k in range(n_dof):
        b[k] = zero
    for i in outward(n):
        z, s, bend = work.z[i], work.s[i], bends[i]
        rest = total[i] - dot(z, work.n[i]) - dot(s, work.f[i]) - tree.armature[i] * bend
        h, m = work.h[i], tree.subtree_m[i]
        L = add(times(full(work.I[i]), z), cross(h, s))  # momentum of all beyond for unit speed of the axis
        P = cross_plus(z, h, scale(m, s))
        add_term(axes, i, i, slopes, tree.armature[i] + 0.0 * rest, n_dof, A)
        j = i
        while j != WORLD:
            M = dot_plus(work.z[j], L, dot(work.s[j], P))
            add_term(axes, i, j, slopes, M, n_dof, A)
            rest = rest - M * bends[j]
            if j != i:
                add_term(axes, j, i, slopes, M, n_dof, A)
                add_force(axes, j, slopes, 0.0 - M * bend, b)
            j = tree.parent[j]
        add_force(axes, i, slopes, rest, b)


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
def move_coupled(tree, axes, work, n_dof, y, total, A, b, slopes, bends, qdd):
    """Accelerations qdd of all axes under the torques `total`, after `aba.biased_motion` and all forces."""
    n = len(qdd)
    composite_bodies(tree, work, n)
    follow_slopes(axes, y, n, n_dof, slopes, bends)
    reduced_system(tree, axes, work, n, n_dof, slopes, bends, total, A, b)
    solve_symmetric(n_dof, A, b)
    for i in outward(n):
        qdd[i] = follower_acceleration(axes, i, slopes, bends, b)
