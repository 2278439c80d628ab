"""The Jacobian of a point of one body, in world axes."""

from kinetree.kernels.axes import WORLD, outward, placement
from kinetree.kernels.layout import Kernel, Layout
from kinetree.kernels.number import lanewise, sincos
from kinetree.kernels.vectors import (
    IDENTITY,
    ZERO3,
    column_z,
    cross,
    load3,
    product,
    sub,
    times_plus,
)

SLOTS = Layout(turn=2, R=9, p=3)


@lanewise
def jacobian(tree, work, q, point, J):
    """Velocity of the point and angular velocity of its body per unit rate of each axis: rows of 6 x n.

    The tree is aimed at the body; the point is given in its frame.
    """
    n = len(q)
    work.R[WORLD], work.p[WORLD] = IDENTITY, ZERO3
    for i in outward(n):
        if tree.reached[i] and tree.revolute[i]:
            work.turn[i] = sincos(q[i])
    for i in outward(n):
        if tree.reached[i]:
            j = tree.parent[i]
            R_ji, p_ji = placement(tree, work, i, q[i])
            Rj = work.R[j]
            work.R[i], work.p[i] = product(Rj, R_ji), times_plus(Rj, p_ji, work.p[j])
    i = tree.reached[WORLD]
    x = times_plus(tree.B[WORLD], load3(point, 0), tree.p[WORLD])
    x = times_plus(work.R[i], x, work.p[i])
    for i in outward(n):
        v, w = ZERO3, ZERO3
        if tree.reached[i]:
            v = column_z(work.R[i])
            if tree.revolute[i]:
                v, w = cross(v, sub(x, work.p[i])), v
        J[i], J[n + i], J[2 * n + i] = v
        J[3 * n + i], J[4 * n + i], J[5 * n + i] = w


JACOBIAN = Kernel(jacobian, SLOTS, inputs=2, outputs=1, input_sizes=(0, 3), output_widths=(6,))
