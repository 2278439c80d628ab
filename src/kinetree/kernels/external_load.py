"""Constant external wrenches on a moving mechanism, and forces as a control law knows them."""

from kinetree.kernels.axes import WORLD
from kinetree.kernels.layout import Layout
from kinetree.kernels.number import lanewise
from kinetree.kernels.vectors import (
    add,
    cross,
    cross_plus,
    dot,
    load3,
    scale,
    store3,
    sub,
    times,
    times_plus,
    transposed_times,
)

LOAD = Layout(
    world=False,
    constant=True,
    axis=int,
    fixed=int,  # 1: force and moment keep their direction in the world; 0: they turn with the body
    r=3,  # where it acts, in the frame of the axis
    force=3,
    moment=3,
)


@lanewise
def in_world(R, v, fixed):
    """A vector of a load in world axes."""
    return add(times(R, scale(1.0 - fixed, v)), scale(1.0 * fixed, v))


@lanewise
def apply_loads(work, loads, n_loads):
    """Add the loads to the wrenches of the axes; returns the power that flows in through them."""
    power = 0.0 * work.p[WORLD][0]
    for k in range(n_loads):
        a = loads.axis[k]
        R = work.R[a]
        r = times_plus(R, loads.r[k], work.p[a])
        F = in_world(R, loads.force[k], loads.fixed[k])
        n = cross_plus(r, F, in_world(R, loads.moment[k], loads.fixed[k]))
        work.f[a], work.n[a] = sub(work.f[a], F), sub(work.n[a], n)
        power = power + dot(work.w[a], n) + dot(work.v[a], F)
    return power


@lanewise
def tell_load(wrench, work, loads, k):
    """Add a load to the wrenches in axis frames (6 numbers per axis) that a control law reads."""
    a = loads.axis[k]
    R = work.R[a]
    r = times_plus(R, loads.r[k], work.p[a])
    F = in_world(R, loads.force[k], loads.fixed[k])
    tell_force(wrench, work, a, r, F)
    n = transposed_times(R, in_world(R, loads.moment[k], loads.fixed[k]))
    store3(wrench, 6 * a + 3, add(load3(wrench, 6 * a + 3), n))


@lanewise
def tell_force(wrench, work, a, r, F):
    """Add a force at r, from the shifted origin of the workspace, to the wrenches in axis frames."""
    R = work.R[a]
    f, n = transposed_times(R, F), transposed_times(R, cross(sub(r, work.p[a]), F))
    store3(wrench, 6 * a, add(load3(wrench, 6 * a), f))
    store3(wrench, 6 * a + 3, add(load3(wrench, 6 * a + 3), n))
