"""Kinetic and potential energy, momentum and center of mass."""

from kinetree.kernels.axes import WORLD, inertia, outward, placement, turn_axes
from kinetree.kernels.layout import Kernel, Layout
from kinetree.kernels.number import lanewise
from kinetree.kernels.vectors import (
    IDENTITY,
    ZERO3,
    add,
    column_z,
    cross_plus,
    dot,
    inertia_times,
    product,
    scale_plus,
    store3,
    times,
    times_plus,
    transposed_times,
)

SLOTS = Layout(turn=2, R=9, p=3, v=3, w=3)
KINETIC, POTENTIAL, LINEAR, ANGULAR, MOMENT, SIZE = 0, 1, 2, 5, 8, 11  # places in the result


@lanewise
def energy(tree, work, q, qd, result):
    """Kinetic and potential energy, linear and angular momentum about the origin, first moment of mass.

    T = sum (v.P + w.L) / 2 over bodies, V = -g . (first moment) + springs; 11 numbers in the world frame.
    """
    turn_axes(tree, work, q)
    work.R[WORLD], work.p[WORLD], work.v[WORLD], work.w[WORLD] = IDENTITY, ZERO3, ZERO3, ZERO3
    T, V, P, L, H = 0.0 * q[0], 0.0 * q[0], ZERO3, ZERO3, ZERO3
    for i in outward(len(q)):
        j = tree.parent[i]
        R_ji, p_ji = placement(tree, work, i, q[i])
        Rj, w = work.R[j], work.w[j]
        R, r = product(Rj, R_ji), times(Rj, p_ji)
        p, v = add(work.p[j], r), cross_plus(w, r, work.v[j])
        if tree.revolute[i]:
            w = scale_plus(qd[i], column_z(R), w)
        else:
            v = scale_plus(qd[i], column_z(R), v)
        work.R[i], work.p[i], work.v[i], work.w[i] = R, p, v, w
        T = T + 0.5 * (tree.armature[i] * (qd[i] * qd[i]))
        stretch = q[i] - tree.rest[i]
        V = V + 0.5 * (tree.stiffness[i] * (stretch * stretch))
        if tree.massive[i]:
            m, h, S = inertia(tree, i)
            w_i, v_i = transposed_times(R, w), transposed_times(R, v)
            L_i, P_i = inertia_times(m, h, S, w_i, v_i)
            T = T + 0.5 * (dot(w_i, L_i) + dot(v_i, P_i))
            f = times(R, P_i)
            P, L = add(P, f), add(L, cross_plus(p, f, times(R, L_i)))
            H = add(H, times_plus(R, h, scale_plus(m, p, ZERO3)))
    V = V - dot(tree.gravity[WORLD], H)
    result[KINETIC], result[POTENTIAL] = T, V
    store3(result, LINEAR, P)
    store3(result, ANGULAR, L)
    store3(result, MOMENT, H)


ENERGY = Kernel(energy, SLOTS, inputs=2, outputs=1)
