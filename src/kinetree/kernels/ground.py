"""Contact of points with ground: visco-elastic normal force, pseudo-Coulomb friction ([Shah2013], app. D).

Even ground is one plane. On uneven ground every point has a plane of its own, number k instead of 0, which
touches the surface where it is nearest to the point; `seek_points` says where the points are that a search
finds these for.

Firm ground has a spring and a damper whose coefficient, while the point rises, falls off with a cubic ramp in
the penetration; dusty ground has a layer without a spring and no damper while the point rises.

A point may be the center of an ellipsoid, S its matrix: half axes b make S = sum of b b^T. It touches a plane
with the normal n at -S n / sqrt(n . S n) from its center. The distance of that place from the plane changes
as if it were fixed in the body, so that the same law serves points, spheres and ellipsoids.
"""

from kinetree.kernels.axes import WORLD
from kinetree.kernels.layout import Layout
from kinetree.kernels.number import accumulate, arctan, lanewise, square_root, where_less
from kinetree.kernels.vectors import (
    add,
    cross,
    cross_plus,
    dot,
    negative,
    scale,
    scale_plus,
    store3,
    sub,
    times,
    times_plus,
    transposed_times,
)

TWO_OVER_PI = 0.6366197723675814
TINY = 1e-300  # N: no force
POINT = Layout(
    world=False,
    constant=True,
    axis=int,
    round=int,  # 1: it is the center of an ellipsoid
    r=3,  # in the frame of the axis that carries its body
    S=9,  # m^2: matrix of the ellipsoid in that frame
    rubs=int,  # 1: it has a coefficient of friction of its own
    friction=1,
)
PLANE = Layout(
    world=False,
    origin=3,
    normal=3,
    forward=3,
    side=3,
    at=2,  # m: where its origin is along forward and side of the ground, by which regions count
)
SOUGHT = Layout(world=False, c=3, S=9)  # of each point on uneven ground, in the world: place, ellipsoid
REGION = Layout(
    world=False,
    constant=True,
    low=2,  # m: corners along forward and side, from the plane's origin
    high=2,
    height=1,  # m above the plane
    stiffness=1,
    damping=1,
    ramp=1,  # m: penetration from where on the damper acts fully while the point rises
    rising=1,  # 1: the damper also acts while the point rises
    layer=1,  # m: thickness of the dust
    lowered=1,  # 1: the spring starts below the dust
    friction=1,
    slipping=1,  # N s/m: slope of the friction force at rest
)
# output of each point: force in the world (3), penetration, velocity (normal, 2 along), and from it to
# the place where it touches (3), in the world
CONTACT = 10
INSIDE, PUSHING, RISING, DEEP, FLAGS = 0, 1, 2, 3, 4  # 1 or 0: what a step takes for granted of each point
FAR = 1.0  # what events tell of limits that do not exist


@lanewise
def inside(regions, g, x, y):
    """1 in a region's rectangle, else 0."""
    low, high = regions.low[g], regions.high[g]
    across = where_less(x, low[0], 0.0, where_less(x, high[0], 1.0, 0.0))
    return across * where_less(y, low[1], 0.0, where_less(y, high[1], 1.0, 0.0))


@lanewise
def blend(part, new, old):
    """The new value where part is 1, else the old one."""
    return where_less(0.5, part, new, old)


@lanewise
def ground_here(regions, n_regions, x, y):
    """The parameters of the ground at a place; later regions lie on earlier ones, the first is everywhere."""
    none = 0.0 * x
    height, k, c = none + regions.height[0], none + regions.stiffness[0], none + regions.damping[0]
    ramp, rising, layer = none + regions.ramp[0], none + regions.rising[0], none + regions.layer[0]
    lowered, mu, slope = none + regions.lowered[0], none + regions.friction[0], none + regions.slipping[0]
    for g in range(1, n_regions):
        here = inside(regions, g, x, y)
        height = blend(here, regions.height[g], height)
        k, c = blend(here, regions.stiffness[g], k), blend(here, regions.damping[g], c)
        ramp, rising = blend(here, regions.ramp[g], ramp), blend(here, regions.rising[g], rising)
        layer, lowered = blend(here, regions.layer[g], layer), blend(here, regions.lowered[g], lowered)
        mu, slope = blend(here, regions.friction[g], mu), blend(here, regions.slipping[g], slope)
    return height, k, c, ramp, rising, layer, lowered, mu, slope


@lanewise
def is_rising(speed):
    """1 for a point that does not sink, else 0."""
    return where_less(speed, 0.0, 0.0, 1.0)


@lanewise
def is_deep(depth, layer):
    """1 below the dust, else 0; where there is none, everywhere."""
    return where_less(0.0, layer, where_less(layer, depth, 1.0, 0.0), 1.0)


@lanewise
def push(depth, speed, rises, deep, k, c, ramp, rising, layer, lowered):
    """k s - c(depth) speed for a point that rises or sinks, is deep or not: smooth in depth and speed.

    c is full going down; going up it is c x^2 (3 - 2 x), x = depth / ramp up to 1, or zero.
    """
    x = where_less(depth, ramp, depth / ramp, 1.0)
    damping = blend(rises, c * (rising * (x * x * (3.0 - 2.0 * x))), c)
    sunken = blend(deep, depth - lowered * layer, 0.0)  # going down: nothing in the dust
    sprung = blend(lowered, sunken, depth)  # going up
    return k * blend(rises, sprung, sunken) - damping * speed


@lanewise
def normal_force(depth, speed, k, c, ramp, rising, layer, lowered):
    """F = k s - c(depth) speed, never pulling; depth > 0 is below the ground, speed > 0 out of it.

    ([Shah2013], D.1-D.4, D.6 with its inequalities exchanged.)
    """
    rises, deep = is_rising(speed), is_deep(depth, layer)
    force = push(depth, speed, rises, deep, k, c, ramp, rising, layer, lowered)
    return where_less(0.0, depth, where_less(0.0, force, force, 0.0), 0.0)


@lanewise
def friction_force(normal, speed, mu, slope):
    """F = -mu N (2 / pi) atan(pi slope speed / (2 mu N)) ([Shah2013], D.5); odd in N."""
    most = TWO_OVER_PI * mu * normal
    size = where_less(most, 0.0, -most, most)
    return -most * arctan(slope * speed / where_less(TINY, size, size, 1.0))


@lanewise
def plane_of(head, k):
    """The number of the plane that point k meets."""
    return head.uneven[0] * k


@lanewise
def seek_points(head, work, points, sought):
    """Where all points are in the world, and the matrices of their ellipsoids."""
    for k in range(head.n_points[0]):
        a = points.axis[k]
        R = work.R[a]
        sought.c[k] = sub(times_plus(R, points.r[k], work.p[a]), work.p[WORLD])
        if points.round[k] == 1:
            sought.S[k] = times_matrix(R, points.S[k])


@lanewise
def times_matrix(R, S):
    """R S R^T of a rotation and a symmetric matrix, line by line."""
    x = times(R, times(S, (R[0], R[1], R[2])))
    y = times(R, times(S, (R[3], R[4], R[5])))
    z = times(R, times(S, (R[6], R[7], R[8])))
    return x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2]


@lanewise
def point_motion(work, plane, points, k, g):
    """Axis, place from the shifted origin, velocity of point k, or of where it touches plane g."""
    a = points.axis[k]
    r = times_plus(work.R[a], points.r[k], work.p[a])
    if points.round[k] == 1:
        n = transposed_times(work.R[a], plane.normal[g])
        Sn = times(points.S[k], n)
        r = add(r, times(work.R[a], scale(-1.0 / square_root(dot(n, Sn)), Sn)))
    return a, r, cross_plus(work.w[a], r, work.v[a])


@lanewise
def own_friction(points, k, mu):
    """The point's coefficient of friction, if it has one, or mu, the ground's."""
    if points.rubs[k] == 0:
        return mu
    return points.friction[k] + 0.0 * mu


@lanewise
def point_guards(head, work, plane, points, regions, k, flags, g):
    """Values that change their sign where the flags of a point do: height, speed, push, depth in the dust.

    A point that leaves and a speed have to pass zero by a little: a point at rest on the surface, where the
    force jumps, would else touch and leave, or rise and sink, in turn without end.
    """
    depth, up, ground = under_point(head, work, plane, points, regions, k)
    stiffness, c, ramp, rising, layer, lowered = ground
    inside, rises, deep = flags[FLAGS * k], flags[FLAGS * k + RISING], flags[FLAGS * k + DEEP]
    force = push(depth, up, rises, deep, stiffness, c, ramp, rising, layer, lowered)
    n = head.n_points[0]
    g[k] = blend(inside, -head.skin[0], 0.0) - depth
    g[n + k] = blend(inside, up + blend(rises, head.calm[0], -head.calm[0]), FAR)
    g[2 * n + k] = blend(inside * rises, force, FAR)
    g[3 * n + k] = where_less(0.0, inside * layer, layer - depth, FAR)


@lanewise
def place_on(plane, j, from_plane):
    """Where a place, seen from the origin of plane j, is along forward and side of the ground."""
    at = plane.at[j]
    return at[0] + dot(from_plane, plane.forward[j]), at[1] + dot(from_plane, plane.side[j])


@lanewise
def under_point(head, work, plane, points, regions, k):
    """Depth and speed of a point, and the parameters of the normal force there."""
    j = plane_of(head, k)
    _, r, v = point_motion(work, plane, points, k, j)
    from_plane = sub(sub(r, work.p[WORLD]), plane.origin[j])
    x, y = place_on(plane, j, from_plane)
    height, stiffness, c, ramp, rising, layer, lowered, _, _ = ground_here(regions, head.n_regions[0], x, y)
    depth = height - dot(from_plane, plane.normal[j])
    return depth, dot(v, plane.normal[j]), (stiffness, c, ramp, rising, layer, lowered)


@lanewise
def switch_point(head, work, plane, points, regions, k, signal, flags):
    """New flags of a point, after the signals of its guards: 1 it fired, 2 set the flags from the state.

    The signals are replaced by the signs that the guards have from now on.
    """
    depth, up, ground = under_point(head, work, plane, points, regions, k)
    stiffness, c, ramp, rising, layer, lowered = ground
    n = head.n_points[0]
    reset = where_less(1.5, signal[k], 1.0, 0.0)
    inside = where_less(0.0, depth, 1.0, where_less(depth, 0.0, 0.0, 1.0 - where_less(0.0, up, 1.0, 0.0)))
    inside = blend(reset, inside, flipped(flags[FLAGS * k], signal[k]))
    reset = reset + inside * (1.0 - flags[FLAGS * k])  # what is held of points in the air is old
    rises = blend(reset, is_rising(up), flipped(flags[FLAGS * k + RISING], signal[n + k]))
    deep = blend(reset, is_deep(depth, layer), flipped(flags[FLAGS * k + DEEP], signal[3 * n + k]))
    force = push(depth, up, rises, deep, stiffness, c, ramp, rising, layer, lowered)
    turned = reset + signal[n + k] + signal[3 * n + k]
    pushing = blend(
        turned, where_less(0.0, force, 1.0, 0.0), flipped(flags[FLAGS * k + PUSHING], signal[2 * n + k])
    )
    pushing = inside * blend(rises, pushing, 1.0)
    flags[FLAGS * k], flags[FLAGS * k + PUSHING] = inside, pushing
    flags[FLAGS * k + RISING], flags[FLAGS * k + DEEP] = rises, deep
    held = inside * rises
    signal[k], signal[n + k] = 1.0 - 2.0 * inside, blend(inside, 2.0 * rises - 1.0, 1.0)
    signal[2 * n + k] = blend(held, 2.0 * pushing - 1.0, 1.0)
    signal[3 * n + k] = where_less(0.0, inside * layer, 1.0 - 2.0 * deep, 1.0)


@lanewise
def flipped(flag, signal):
    """The other value if something has happened."""
    return blend(signal, 1.0 - flag, flag)


@lanewise
def normal_push(head, flags, k, depth, up, stiffness, c, ramp, rising, layer, lowered):
    """The normal force by the law, or by its smooth part that the present step is in."""
    if head.holding[0] == 0:
        return normal_force(depth, up, stiffness, c, ramp, rising, layer, lowered)
    rises, deep = 0.0 * up + flags[FLAGS * k + RISING], 0.0 * up + flags[FLAGS * k + DEEP]
    force = push(depth, up, rises, deep, stiffness, c, ramp, rising, layer, lowered)
    return flags[FLAGS * k + PUSHING] * force


@lanewise
def touch_ground(head, work, plane, points, regions, flags, contact):
    """Add the ground's forces to the wrenches of the axes; returns the power that flows in through them."""
    power = 0.0 * work.p[WORLD][0]
    n_regions = head.n_regions[0]
    for k in range(head.n_points[0]):
        j = plane_of(head, k)
        a, r, v = point_motion(work, plane, points, k, j)
        from_plane = sub(sub(r, work.p[WORLD]), plane.origin[j])
        normal, forward, side = plane.normal[j], plane.forward[j], plane.side[j]
        x, y = place_on(plane, j, from_plane)
        height, stiffness, c, ramp, rising, layer, lowered, mu, slope = ground_here(regions, n_regions, x, y)
        depth = height - dot(from_plane, normal)
        up, along, across = dot(v, normal), dot(v, forward), dot(v, side)
        mu = own_friction(points, k, mu)
        N = normal_push(head, flags, k, depth, up, stiffness, c, ramp, rising, layer, lowered)
        F = scale_plus(friction_force(N, along, mu, slope), forward, scale(N, normal))
        F = scale_plus(friction_force(N, across, mu, slope), side, F)
        accumulate(work.f, a, negative(F))
        accumulate(work.n, a, negative(cross(r, F)))
        power = power + dot(F, v)
        store3(contact, CONTACT * k, F)
        contact[CONTACT * k + 3] = where_less(0.0, depth, depth, 0.0)
        store3(contact, CONTACT * k + 4, (up, along, across))
        store3(contact, CONTACT * k + 7, sub(r, times_plus(work.R[a], points.r[k], work.p[a])))
    return power
