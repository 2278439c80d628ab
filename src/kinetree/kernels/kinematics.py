"""Forward kinematics: where every axis frame is, how it moves and accelerates, in the world."""

from kinetree.kernels.axes import WORLD, outward, placement, turn_axes
from kinetree.kernels.layout import Kernel, Layout
from kinetree.kernels.number import lanewise
from kinetree.kernels.vectors import (
    IDENTITY,
    ZERO3,
    column_z,
    cross,
    cross_plus,
    product,
    scale,
    scale_plus,
    store3,
    store9,
    times,
    times_plus,
)

SLOTS = Layout(turn=2, R=9, p=3, v=3, w=3, a=3, wd=3)


@lanewise
def kinematics(tree, work, q, qd, qdd, pose, velocity, acceleration):
    """Rotation and origin (12 numbers per axis), velocity and acceleration (linear, angular: 6 each).

    Linear: of the frame's origin, v' = v + w x r + s qd; the acceleration is without gravity.
    """
    turn_axes(tree, work, q)
    work.R[WORLD], work.p[WORLD] = IDENTITY, ZERO3
    work.v[WORLD], work.w[WORLD], work.a[WORLD], work.wd[WORLD] = ZERO3, ZERO3, ZERO3, ZERO3
    for i in outward(len(q)):
        j = tree.parent[i]
        R_ji, p_ji = placement(tree, work, i, q[i])
        Rj, w, wd = work.R[j], work.w[j], work.wd[j]
        R, r = product(Rj, R_ji), times(Rj, p_ji)
        u = cross(w, r)
        v = cross_plus(w, r, work.v[j])
        a = cross_plus(w, u, cross_plus(wd, r, work.a[j]))
        z = column_z(R)
        if tree.revolute[i]:
            wd = scale_plus(qdd[i], z, cross_plus(w, scale(qd[i], z), wd))
            w = scale_plus(qd[i], z, w)
        else:
            a = scale_plus(qdd[i], z, cross_plus(w, scale(qd[i] + qd[i], z), a))
            v = scale_plus(qd[i], z, v)
        p = times_plus(Rj, p_ji, work.p[j])
        work.R[i], work.p[i], work.v[i], work.w[i], work.a[i], work.wd[i] = R, p, v, w, a, wd
        store9(pose, 12 * i, R)
        store3(pose, 12 * i + 9, p)
        store3(velocity, 6 * i, v)
        store3(velocity, 6 * i + 3, w)
        store3(acceleration, 6 * i, a)
        store3(acceleration, 6 * i + 3, wd)


KINEMATICS = Kernel(kinematics, SLOTS, inputs=3, outputs=3, output_widths=(12, 6, 6))
