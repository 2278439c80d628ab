"""Slopes of generalized forces: of the ground, of external loads, and as a control law's model knows them.

A point r that axis k moves goes by P_k = s_k + z_k x r per unit of q_k, so a force F there has the
generalized forces Q_i = P_i . F. When q_k changes, P_i turns with axis k if k is i or above it,
dP_i = z_k x P_i, and dP_i = z_i x P_k if k is beyond. Matrices (n, 2 n) lie in one row of numbers, line by
line: by positions, then by velocities.
"""

from kinetree.kernels.axes import WORLD
from kinetree.kernels.external_load import in_world
from kinetree.kernels.ground import (
    CONTACT,
    DEEP,
    FLAGS,
    PUSHING,
    RISING,
    TINY,
    TWO_OVER_PI,
    blend,
    ground_here,
    is_deep,
    is_rising,
    own_friction,
    place_on,
    plane_of,
    point_motion,
    push,
)
from kinetree.kernels.layout import Layout
from kinetree.kernels.number import arctan, lanewise, square_root, where_less
from kinetree.kernels.vectors import (
    ZERO3,
    add,
    cross,
    cross_plus,
    dot,
    dot_plus,
    load3,
    scale,
    scale_plus,
    sub,
    times,
    times_plus,
    transposed_times,
)

# of one force, for each axis that moves it: P, slopes F by q and V by qd, G = force x z, H = F + G, E: how
# the place moves on its body where an ellipsoid touches
CHAIN = Layout(world=False, P=3, F=3, V=3, G=3, H=3, E=3)


# ---- the ground's force ---------------------------------------------------------------------------------
@lanewise
def push_slopes(depth, speed, rises, deep, k, c, ramp, rising, layer, lowered):
    """The slopes of `push` by depth and speed."""
    x, dx = where_less(depth, ramp, depth / ramp, 1.0), where_less(depth, ramp, 1.0 / ramp, 0.0)
    damping = blend(rises, c * rising * (x * x * (3.0 - 2.0 * x)), c)
    ddamping = blend(rises, c * rising * (6.0 * x * (1.0 - x) * dx), 0.0)
    return k * blend(rises, blend(lowered, deep, 1.0), deep) - ddamping * speed, -damping


@lanewise
def normal_slopes(depth, speed, k, c, ramp, rising, layer, lowered):
    """The slopes of `normal_force` by depth and speed; zero where there is no force."""
    rises, deep = is_rising(speed), is_deep(depth, layer)
    force = push(depth, speed, rises, deep, k, c, ramp, rising, layer, lowered)
    pushing = where_less(0.0, depth, where_less(0.0, force, 1.0, 0.0), 0.0)
    by_depth, by_speed = push_slopes(depth, speed, rises, deep, k, c, ramp, rising, layer, lowered)
    return pushing * by_depth, pushing * by_speed


@lanewise
def held_slopes(head, flags, k, depth, speed, stiffness, c, ramp, rising, layer, lowered):
    """The slopes of `normal_push`."""
    if head.holding[0] == 0:
        return normal_slopes(depth, speed, stiffness, c, ramp, rising, layer, lowered)
    rises, deep, pushing = flags[FLAGS * k + RISING], flags[FLAGS * k + DEEP], flags[FLAGS * k + PUSHING]
    by_depth, by_speed = push_slopes(depth, speed, rises, deep, stiffness, c, ramp, rising, layer, lowered)
    return pushing * by_depth, pushing * by_speed


@lanewise
def friction_slopes(normal, speed, mu, slope):
    """The slopes of `friction_force` by the normal force and by speed."""
    most = TWO_OVER_PI * mu * normal
    sign, size = where_less(most, 0.0, -1.0, 1.0), where_less(most, 0.0, -most, most)
    x = slope * speed / where_less(TINY, size, size, 1.0)
    flatter = 1.0 / (1.0 + x * x)
    by_normal = -(TWO_OVER_PI * mu) * (arctan(x) - x * flatter)
    return where_less(TINY, size, by_normal, 0.0), where_less(TINY, size, -sign * slope * flatter, 0.0)


@lanewise
def contact_slopes(head, work, plane, points, regions, r, flags, contact, k):
    """dF = e (spring normal . dr + damper normal . dv) + along forward (forward . dv) + across side (...).

    Of uneven ground these are the slopes of the plane that touches it: how that turns is left out.
    """
    j = plane_of(head, k)
    from_plane = sub(sub(r, work.p[WORLD]), plane.origin[j])
    normal, forward, side = plane.normal[j], plane.forward[j], plane.side[j]
    x, y = place_on(plane, j, from_plane)
    height, stiffness, c, ramp, rising, layer, lowered, mu, slope = ground_here(
        regions, head.n_regions[0], x, y
    )
    depth, N = height - dot(from_plane, normal), dot(load3(contact, CONTACT * k), normal)
    up, v1, v2 = load3(contact, CONTACT * k + 4)
    mu = own_friction(points, k, mu)
    by_depth, damper = held_slopes(head, flags, k, depth, up, stiffness, c, ramp, rising, layer, lowered)
    grip1, along = friction_slopes(N, v1, mu, slope)
    grip2, across = friction_slopes(N, v2, mu, slope)
    e = scale_plus(grip1, forward, scale_plus(grip2, side, normal))
    return e, -by_depth, damper, along, across


@lanewise
def contact_change(plane, j, slopes, dr, dv):
    """How the force changes when its point moves by dr and its velocity changes by dv."""
    e, spring, damper, along, across = slopes
    normal, forward, side = plane.normal[j], plane.forward[j], plane.side[j]
    dN = spring * dot(normal, dr) + damper * dot(normal, dv)
    dF = scale_plus(along * dot(forward, dv), forward, scale(dN, e))
    return scale_plus(across * dot(side, dv), side, dF)


@lanewise
def rolling(work, plane, points, k, g, a, z):
    """How far the place where ellipsoid k touches moves on its body when this turns by one about z.

    With u = z x n and s = n . S n it is (S u - S n (u . S n) / s) / sqrt(s), along the plane; 0 for points.
    """
    if points.round[k] == 0:
        return scale(0.0, z)
    R = work.R[a]
    n, u = transposed_times(R, plane.normal[g]), transposed_times(R, cross(z, plane.normal[g]))
    Sn, Su = times(points.S[k], n), times(points.S[k], u)
    s = dot(n, Sn)
    return times(R, scale(1.0 / square_root(s), scale_plus(-dot(u, Sn) / s, Sn, Su)))


# ---- one force on all axes that move it ------------------------------------------------------------------
@lanewise
def contact_chain(head, tree, work, plane, points, regions, i, k, flags, contact, chain):
    """The force of the ground on point k of axis i: dv/dq_i = z_i x v + sd_i + zd_i x r, dv/dqd_i = P_i.

    An ellipsoid's place of contact moves on it by E besides, and there the velocity is w x E faster.
    """
    g = plane_of(head, k)
    a, r, v = point_motion(work, plane, points, k, g)
    F, w = load3(contact, CONTACT * k), work.w[a]
    slopes = contact_slopes(head, work, plane, points, regions, r, flags, contact, k)
    while i != WORLD:
        j = tree.parent[i]
        z, s = work.z[i], work.s[i]
        P = cross_plus(z, r, s)
        zd, sd = cross(work.w[j], z), cross_plus(work.v[j], z, cross(work.w[j], s))
        E = rolling(work, plane, points, k, g, a, z)
        dF = contact_change(plane, g, slopes, P, cross_plus(z, v, cross_plus(zd, r, cross_plus(w, E, sd))))
        G = cross(F, z)
        chain.E[i] = E
        chain.P[i], chain.F[i], chain.G[i], chain.H[i] = P, dF, G, add(dF, G)
        chain.V[i] = contact_change(plane, g, slopes, ZERO3, P)
        i = j


@lanewise
def load_chain(tree, work, loads, i, k, chain):
    """External force k, on axis i; it turns with the body unless it is fixed in the world."""
    R, turning = work.R[i], 1.0 - loads.fixed[k]
    r, F = times_plus(R, loads.r[k], work.p[i]), in_world(R, loads.force[k], loads.fixed[k])
    while i != WORLD:
        z, G = work.z[i], cross(F, work.z[i])
        dF = scale(-turning, G)
        chain.P[i], chain.F[i], chain.G[i], chain.H[i] = cross_plus(z, r, work.s[i]), dF, G, add(dF, G)
        chain.V[i] = ZERO3
        i = tree.parent[i]


@lanewise
def moment_chain(tree, work, loads, i, k, chain):
    """External moment k, on axis i: Q_i = z_i . moment, and axes beyond do not turn z_i."""
    turning = 1.0 - loads.fixed[k]
    moment = in_world(work.R[i], loads.moment[k], loads.fixed[k])
    while i != WORLD:
        z, G = work.z[i], cross(moment, work.z[i])
        chain.P[i], chain.F[i], chain.G[i], chain.V[i] = z, scale(-turning, G), ZERO3, ZERO3
        chain.H[i] = scale(1.0 - turning, G)
        i = tree.parent[i]


@lanewise
def given_chain(tree, work, asked, i, r, F, lever, moving, chain):
    """The same force (at r in the frame of axis i) or moment as a law's model meets it.

    The model takes it in the frame of the axis: it keeps that direction in the posture that the model is
    asked about, whose place is in `asked` and which moves with q or not. ``lever``: 1 for forces.
    """
    R, to = work.R[i], asked.R[i]
    r, F_told = times_plus(to, r, asked.p[i]), times(to, transposed_times(R, F))
    while i != WORLD:
        z = asked.z[i]
        dF = times(to, transposed_times(R, sub(chain.F[i], cross(work.z[i], F))))
        chain.H[i] = dF
        chain.V[i] = times(to, transposed_times(R, chain.V[i]))
        chain.P[i] = scale_plus(1.0 * lever, cross_plus(z, r, asked.s[i]), scale(1.0 - lever, z))
        G = scale(1.0 * moving, cross(F_told, z))
        chain.F[i], chain.G[i] = sub(dF, G), scale(1.0 * lever, G)
        i = tree.parent[i]


@lanewise
def add_chain(tree, chain, i, sign, n, A):
    """Add sign dQ of one force on axis i to a matrix: for it and all above, and every axis j above each."""
    width = 2 * n
    while i != WORLD:
        P, F, V = scale(sign, chain.P[i]), scale(sign, chain.F[i]), scale(sign, chain.V[i])
        row = i * width
        A[row + i] = dot_plus(P, chain.H[i], A[row + i])
        A[row + n + i] = dot_plus(P, chain.V[i], A[row + n + i])
        j = tree.parent[i]
        while j != WORLD:
            A[row + j] = dot_plus(P, chain.H[j], A[row + j])
            A[row + n + j] = dot_plus(P, chain.V[j], A[row + n + j])
            above, Pj = j * width + i, chain.P[j]
            A[above] = dot_plus(P, chain.G[j], dot_plus(Pj, F, A[above]))
            A[above + n] = dot_plus(Pj, V, A[above + n])
            j = tree.parent[j]
        i = tree.parent[i]


@lanewise
def add_rolling(tree, chain, i, n, A):
    """Add what a force on axis i does because its place moves by E: dQ_j/dq_k = E_k . (F x z_j)."""
    j = i
    while j != WORLD:
        row, G, k = 2 * n * j, chain.G[j], i
        while k != WORLD:
            A[row + k] = dot_plus(G, chain.E[k], A[row + k])
            k = tree.parent[k]
        j = tree.parent[j]
