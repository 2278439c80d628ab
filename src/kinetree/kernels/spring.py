"""Springs and dampers between points of two axes on a moving mechanism, with the slopes of their forces.

A spring pulls its points together by rho D, with D from point a to point b, l = |D| and

    rho = k - k l0 / l + c s,    s = (D . dD/dt) / l^2

(`dynamics.springs` has the same in NumPy). Only axes between the points and the last axis that carries both,
``top``, feel it. With P_i = dD/dq_i, g_i = D . P_i and K_ij = P_i . P_j + D . (z_j x P_i) for j at i or above
it, on the same side, the generalized forces are Q_i = -rho g_i, with dQ_i/dq_j = -(rho K_ij + g_i drho/dq_j).

A damper of turning opposes w, the angular velocity of b as seen from a. With Z_i = dw/dqd_i = +-z_i and
W_i = dw/dq_i = Z_i x (w_end - w_i), where w_end is that of the end which axis i moves, Q_i = -c Z_i . w,
dQ_i/dqd_j = -c Z_i . Z_j and dQ_i/dq_j = -c (Z_i . W_j + (z_j x Z_i) . w), the last for j above i.
"""

from kinetree.kernels.axes import WORLD
from kinetree.kernels.layout import Layout
from kinetree.kernels.number import lanewise, square_root, where_less
from kinetree.kernels.vectors import add, cross, cross_plus, dot, dot_plus, scale, sub, times_plus

TINY = 1e-300  # m^2: shorter springs have no direction
SPRINGS = Layout(world=False, constant=True, n=int)  # one row, before those of the springs
SPRING = Layout(
    world=False,
    constant=True,
    a=int,  # axes of the points; WORLD: at rest
    b=int,
    top=int,
    pa=3,  # the points in the frames of these axes
    pb=3,
    k=1,  # stiffness, N/m
    c=1,  # damping, N s/m
    rest=1,  # l0, m
    turning=1,  # damping of turning, N m s/rad
    turns=int,  # 1: there is such damping
)


@lanewise
def spring_ends(work, springs, k):
    """Both points from the shifted origin of the workspace, D, and the rate of D."""
    a, b = springs.a[k], springs.b[k]
    x_a, x_b = (
        times_plus(work.R[a], springs.pa[k], work.p[a]),
        times_plus(work.R[b], springs.pb[k], work.p[b]),
    )
    v_a, v_b = cross_plus(work.w[a], x_a, work.v[a]), cross_plus(work.w[b], x_b, work.v[b])
    return x_a, x_b, sub(x_b, x_a), sub(v_b, v_a)


@lanewise
def spring_pull(springs, k, D, Dd):
    """rho, 1 / l, 1 / l^2 and s; both inverses are 0 where the points meet."""
    square = dot(D, D)
    inverse = where_less(TINY, square, 1.0 / square_root(where_less(TINY, square, square, 1.0)), 0.0 * square)
    square = inverse * inverse
    rate = dot(D, Dd) * square
    rho = springs.k[k] - springs.k[k] * springs.rest[k] * inverse + springs.c[k] * rate
    return rho, inverse, square, rate


@lanewise
def stretch_springs(work, springs, n):
    """Add the forces of n springs to the wrenches of the axes; the power that dampers take, not positive."""
    power = 0.0 * work.p[WORLD][0]
    for k in range(n):
        x_a, x_b, D, Dd = spring_ends(work, springs, k)
        rho, _, _, rate = spring_pull(springs, k, D, Dd)
        F = scale(rho, D)
        a, b = springs.a[k], springs.b[k]
        w = sub(work.w[b], work.w[a])
        T = scale(springs.turning[k], w)
        if a != WORLD:
            work.f[a], work.n[a] = sub(work.f[a], F), sub(sub(work.n[a], cross(x_a, F)), T)
        if b != WORLD:
            work.f[b], work.n[b] = add(work.f[b], F), add(add(work.n[b], cross(x_b, F)), T)
        power = power - springs.c[k] * rate * dot(D, Dd) - dot(T, w)
    return power


@lanewise
def spring_side(tree, work, i, c, sign, x, v, pull, chain):
    """P, and (drho/dq, drho/dqd, g), of the axes from i up to axis c, which move the point x by sign P."""
    D, Dd, stiff, damping, rate = pull
    while i != c:
        j = tree.parent[i]
        z, s = work.z[i], work.s[i]
        P = scale(sign, cross_plus(z, x, s))
        zd, sd = cross(work.w[j], z), cross_plus(work.v[j], z, cross(work.w[j], s))
        V = scale(sign, cross_plus(z, v, cross_plus(zd, x, sd)))  # dD' / dq_i
        g = dot(P, D)
        drho = stiff * g + damping * (dot_plus(Dd, P, dot(D, V)) - 2.0 * rate * g)
        chain.P[i], chain.F[i] = P, (drho, damping * g, g)
        i = j


@lanewise
def spring_pair(A, n, width, i, j, F_i, F_j, both):
    """Subtract the slopes of Q_i by axis j from a matrix (n, width), where ``both`` is rho K_ij."""
    row, g = width * i, F_i[2]
    A[row + j] = A[row + j] - both - g * F_j[0]
    A[row + n + j] = A[row + n + j] - g * F_j[1]


@lanewise
def pairs_of_side(tree, work, i, c, D, rho, chain, n, width, A):
    """The slopes among the axes from i up to axis c."""
    while i != c:
        P, j = chain.P[i], i
        while j != c:
            both = rho * dot_plus(P, chain.P[j], dot(D, cross(work.z[j], P)))
            spring_pair(A, n, width, i, j, chain.F[i], chain.F[j], both)
            if i != j:
                spring_pair(A, n, width, j, i, chain.F[j], chain.F[i], both)
            j = tree.parent[j]
        i = tree.parent[i]


@lanewise
def turning_side(tree, work, i, c, sign, w, chain):
    """Z and W of the axes from i up to axis c, which turn an end whose angular velocity is w."""
    while i != c:
        Z = scale(sign, work.z[i])
        chain.P[i], chain.V[i] = Z, cross(Z, sub(w, work.w[i]))
        i = tree.parent[i]


@lanewise
def turning_pairs(tree, work, i, k, c, damping, chain, n, width, A):
    """Slopes of Q of the axes from i up to c by those from k up to c."""
    while i != c:
        row, Z, j = width * i, chain.P[i], k
        while j != c:
            A[row + j] = A[row + j] - damping * dot(Z, chain.V[j])
            A[row + n + j] = A[row + n + j] - damping * dot(Z, chain.P[j])
            j = tree.parent[j]
        i = tree.parent[i]


@lanewise
def turned_side(tree, work, i, c, damping, w, chain, n, width, A):
    """Slopes of Q of the axes from i up to c because those above turn them."""
    while i != c:
        row, Z, j = width * i, chain.P[i], tree.parent[i]
        while j != c:
            A[row + j] = A[row + j] - damping * dot(cross(work.z[j], Z), w)
            j = tree.parent[j]
        i = tree.parent[i]


@lanewise
def add_turning_slopes(tree, work, springs, k, chain, n, width, A):
    """Add the slopes of the damper of turning of spring k."""
    a, b, c, damping = springs.a[k], springs.b[k], springs.top[k], springs.turning[k]
    w = sub(work.w[b], work.w[a])
    turning_side(tree, work, a, c, -1.0, work.w[a], chain)
    turning_side(tree, work, b, c, 1.0, work.w[b], chain)
    turning_pairs(tree, work, a, a, c, damping, chain, n, width, A)
    turning_pairs(tree, work, a, b, c, damping, chain, n, width, A)
    turning_pairs(tree, work, b, a, c, damping, chain, n, width, A)
    turning_pairs(tree, work, b, b, c, damping, chain, n, width, A)
    turned_side(tree, work, a, c, damping, w, chain, n, width, A)
    turned_side(tree, work, b, c, damping, w, chain, n, width, A)


@lanewise
def add_spring_slopes(tree, work, springs, k, chain, n, width, A):
    """Add the slopes of spring k's generalized forces to a matrix (n, width): by positions, velocities."""
    x_a, x_b, D, Dd = spring_ends(work, springs, k)
    rho, inverse, square, rate = spring_pull(springs, k, D, Dd)
    a, b, c = springs.a[k], springs.b[k], springs.top[k]
    v_a, v_b = cross_plus(work.w[a], x_a, work.v[a]), cross_plus(work.w[b], x_b, work.v[b])
    pull = (D, Dd, springs.k[k] * springs.rest[k] * inverse * square, springs.c[k] * square, rate)
    spring_side(tree, work, a, c, -1.0, x_a, v_a, pull, chain)
    spring_side(tree, work, b, c, 1.0, x_b, v_b, pull, chain)
    pairs_of_side(tree, work, a, c, D, rho, chain, n, width, A)
    pairs_of_side(tree, work, b, c, D, rho, chain, n, width, A)
    i = a
    while i != c:
        j = b
        while j != c:
            both = rho * dot(chain.P[i], chain.P[j])
            spring_pair(A, n, width, i, j, chain.F[i], chain.F[j], both)
            spring_pair(A, n, width, j, i, chain.F[j], chain.F[i], both)
            j = tree.parent[j]
        i = tree.parent[i]
    if springs.turns[k] == 1:
        add_turning_slopes(tree, work, springs, k, chain, n, width, A)
