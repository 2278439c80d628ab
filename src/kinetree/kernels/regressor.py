"""Torques as a linear function of inertial parameters: tau = Y(q, qd, qdd) pi.

Ten parameters per body, in body axes about its origin: mass, first moment (3), rotational inertia
(xx, xy, xz, yy, yz, zz). Each makes a unit wrench of the body's motion, which its ancestors feel.
"""

from typing import Any

import numpy as np

from kinetree.kernels.axes import WORLD, inward
from kinetree.kernels.layout import Kernel, Layout
from kinetree.kernels.motion import MOTION, world_motion
from kinetree.kernels.number import lanewise
from kinetree.kernels.vectors import cross, cross_plus, dot, product, spin_matrix, transposed_times
from kinetree.model.tree import Tree

SLOTS = Layout(**MOTION)
ENTRIES = Layout(world=False, m=1, h=3, J=6)


@lanewise
def felt(z, s, w, wd, a, U):
    """What an axis (z, s) feels of a body that moves with w, wd, a, per unit of its ten parameters."""
    m = dot(s, a)
    h = cross_plus(a, z, transposed_times(U, s))
    c = cross(z, w)
    J = (
        z[0] * wd[0] + c[0] * w[0],
        z[0] * wd[1] + z[1] * wd[0] + c[0] * w[1] + c[1] * w[0],
        z[0] * wd[2] + z[2] * wd[0] + c[0] * w[2] + c[2] * w[0],
        z[1] * wd[1] + c[1] * w[1],
        z[1] * wd[2] + z[2] * wd[1] + c[1] * w[2] + c[2] * w[1],
        z[2] * wd[2] + c[2] * w[2],
    )
    return m, h, J


@lanewise
def regressor(tree, work, out, q, qd, qdd):
    """dtau_j/dpi_i for every axis i that carries a body and its ancestors j (i itself first), tips first."""
    world_motion(tree, tree.axis, work, q, qd, qdd)
    k = 0
    for i in inward(len(q)):
        if tree.carries[i]:
            R, p, w_i, v = product(work.R[i], tree.B[i]), work.p[i], work.w[i], work.v[i]
            # of the body's origin: spatial acceleration there, plus w x velocity
            v = cross_plus(w_i, p, v)
            a = cross_plus(w_i, v, cross_plus(work.wd[i], p, work.a[i]))
            w, wd, a = transposed_times(R, w_i), transposed_times(R, work.wd[i]), transposed_times(R, a)
            U = spin_matrix(w, wd)
            j = i
            while j != WORLD:
                z = transposed_times(R, work.z[j])
                s = transposed_times(R, cross_plus(work.z[j], p, work.s[j]))
                out.m[k], out.h[k], out.J[k] = felt(z, s, w, wd, a, U)
                k += 1
                j = tree.parent[j]


def regressor_places(tree: Tree) -> list[tuple[int, int]]:
    """(axis whose torque, axis that carries the body) of every packed row, in order."""
    last = {int(axis) for axis in tree.body_axis}
    places = []
    for i in range(tree.n - 1, -1, -1):
        j = i
        while i in last and j != WORLD:
            places.append((j, i))
            j = int(tree.parent[j])
    return places


def by_torque(tree: Tree) -> Any:
    """Places of the full array (n, n_bodies, 10)."""
    torque, carrier = np.array(regressor_places(tree), dtype=np.int64).reshape(-1, 2).T
    body = np.zeros(tree.n, dtype=np.int64)
    body[tree.body_axis] = np.arange(tree.n_bodies)
    order = np.full((tree.n, tree.n_bodies, ENTRIES.width), ENTRIES.width * len(torque))
    order[torque, body[carrier]] = np.arange(ENTRIES.width * len(torque)).reshape(-1, ENTRIES.width)
    return order.reshape(1, -1)


REGRESSOR = Kernel(
    regressor,
    SLOTS,
    inputs=3,
    outputs=0,
    entries=ENTRIES,
    rows=lambda tree: len(regressor_places(tree)),
    places=by_torque,
)
