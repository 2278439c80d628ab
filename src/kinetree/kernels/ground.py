"""Contact of points with a ground plane: visco-elastic normal force, pseudo-Coulomb friction (004, app. D).

Firm ground has a spring and a damper whose coefficient, while the point rises, falls off with a cubic ramp in
the penetration; dusty ground has a layer without a spring and no damper while the point rises.
"""

from kinetree.kernels.layout import WORLD, Layout
from kinetree.kernels.number import accumulate, arctan, lanewise, where_less
from kinetree.kernels.vectors import (
    cross,
    cross_plus,
    dot,
    negative,
    scale,
    scale_plus,
    store3,
    sub,
    times_plus,
)

TWO_OVER_PI = 0.6366197723675814
POINT = Layout(world=False, constant=True, axis=int, r=3)  # in the frame of the axis that carries its body
PLANE = Layout(world=False, constant=True, origin=3, normal=3, forward=3, side=3)
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
CONTACT = 7  # what is told of each point: force in the world (3), penetration, velocity (normal, 2 along)


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
def normal_force(depth, speed, k, c, ramp, rising, layer, lowered):
    """F = k s - c(depth) speed, never pulling; depth > 0 is below the ground, speed > 0 out of it.

    c is full going down; going up it is c x^2 (3 - 2 x), x = depth / ramp up to 1, or zero (004, D.1-D.4,
    D.6 with its inequalities exchanged).
    """
    x = where_less(depth, ramp, depth / ramp, 1.0)
    damping = where_less(speed, 0.0, c, c * (rising * (x * x * (3.0 - 2.0 * x))))
    sunken = where_less(layer, depth, depth - lowered * layer, 0.0)  # going down: nothing in the dust
    sprung = where_less(0.5, lowered, sunken, depth)  # going up
    force = k * where_less(speed, 0.0, sunken, sprung) - damping * speed
    return where_less(0.0, depth, where_less(0.0, force, force, 0.0), 0.0)


@lanewise
def friction_force(normal, speed, mu, slope):
    """F = -mu N (2 / pi) atan(pi slope speed / (2 mu N)) (004, D.5)."""
    most = mu * normal
    ratio = slope * speed / where_less(0.0, most, TWO_OVER_PI * most, 1.0)
    return -(TWO_OVER_PI * most) * arctan(ratio)


@lanewise
def point_motion(work, points, k):
    """Axis, place from the shifted origin of the workspace, and velocity of a point."""
    a = points.axis[k]
    r = times_plus(work.R[a], points.r[k], work.p[a])
    return a, r, cross_plus(work.w[a], r, work.v[a])


@lanewise
def point_height(work, plane, points, regions, n_regions, k):
    """How far a point is above the ground."""
    _, r, _ = point_motion(work, points, k)
    from_plane = sub(sub(r, work.p[WORLD]), plane.origin[0])
    x, y = dot(from_plane, plane.forward[0]), dot(from_plane, plane.side[0])
    return dot(from_plane, plane.normal[0]) - ground_here(regions, n_regions, x, y)[0]


@lanewise
def touch_ground(work, plane, points, n_points, regions, n_regions, contact):
    """Add the ground's forces to the wrenches of the axes; returns the power that flows in through them."""
    power = 0.0 * work.p[WORLD][0]
    for k in range(n_points):
        a, r, v = point_motion(work, points, k)
        from_plane = sub(sub(r, work.p[WORLD]), plane.origin[0])
        normal, forward, side = plane.normal[0], plane.forward[0], plane.side[0]
        x, y = dot(from_plane, forward), dot(from_plane, side)
        height, stiffness, c, ramp, rising, layer, lowered, mu, slope = ground_here(regions, n_regions, x, y)
        depth = height - dot(from_plane, normal)
        up, along, across = dot(v, normal), dot(v, forward), dot(v, side)
        N = normal_force(depth, up, stiffness, c, ramp, rising, layer, lowered)
        F = scale_plus(friction_force(N, along, mu, slope), forward, scale(N, normal))
        F = scale_plus(friction_force(N, across, mu, slope), side, F)
        accumulate(work.f, a, negative(F))
        accumulate(work.n, a, negative(cross(r, F)))
        power = power + dot(F, v)
        store3(contact, CONTACT * k, F)
        contact[CONTACT * k + 3] = where_less(0.0, depth, depth, 0.0)
        store3(contact, CONTACT * k + 4, (up, along, across))
    return power
