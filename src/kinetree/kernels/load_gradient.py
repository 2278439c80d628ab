"""Derivatives of the torques that external loads cause, first and second.

A load fixed in the body moves with it like an inertial wrench. A load fixed in the world keeps its direction
while its point moves: beyond the wrench (N, F) it needs the first moment V = sum x f^T of its forces. Turning
axis i changes the moment by V z - z tr V + s x F.
"""

from kinetree.kernels.axes import WORLD, centred_world, inward, outward, place_axis, turn_axes
from kinetree.kernels.layout import Kernel, Layout
from kinetree.kernels.number import accumulate, lanewise
from kinetree.kernels.vectors import (
    IDENTITY,
    ZERO3,
    axial,
    cross,
    cross_plus,
    dot,
    dot_plus,
    load3,
    load9,
    outer_plus,
    product,
    scale_plus,
    skew_times,
    sub,
    sum9,
    times,
    trace,
)

LOAD = 21  # numbers per axis: body-fixed force, moment; world-fixed force, moment and V (row-major)
SLOTS = Layout(turn=2, R=9, p=3, z=3, s=3, bf=3, bn=3, F=3, N=3, V=9, yw=3, yv=3, zy=3, sy=3, Z=9)
ENTRIES = Layout(world=False, dq_up=1, dq_low=1)
HESSIAN_ENTRIES = Layout(world=False, q_q=1)


@lanewise
def composite_loads(tree, work, q, load):
    """Outward pass: joint axes, and the loads on what each axis carries, about the world's origin."""
    turn_axes(tree, work, q)
    work.R[WORLD], work.p[WORLD] = IDENTITY, centred_world(tree, q)
    for i in outward(len(q)):
        place_axis(tree, work, i, q[i], tree.parent[i], i)
        R, p = work.R[i], work.p[i]
        f = times(R, load3(load, LOAD * i))
        work.bf[i], work.bn[i] = f, cross_plus(p, f, times(R, load3(load, LOAD * i + 3)))
        F = load3(load, LOAD * i + 6)
        V = outer_plus(p, F, product(R, load9(load, LOAD * i + 12)))
        moment = axial(V)
        work.F[i], work.V[i] = F, V
        work.N[i] = scale_plus(1.0, moment, load3(load, LOAD * i + 9))


@lanewise
def join_loads(work, i, j):
    """Inward step: the loads beyond axis i also load its parent."""
    if j != WORLD:
        accumulate(work.bf, j, work.bf[i])
        accumulate(work.bn, j, work.bn[i])
        accumulate(work.F, j, work.F[i])
        accumulate(work.N, j, work.N[i])
        accumulate(work.V, j, work.V[i])


@lanewise
def moment_change(V, F, z, s):
    """How the moment of world-fixed forces changes when their points move by (z, s)."""
    return cross_plus(s, F, scale_plus(-trace(V), z, times(V, z)))


@lanewise
def load_gradient(tree, work, out, q, load):
    """d(-J^T load)/dq for every axis i and its ancestors j (i itself first); up: row j, column i."""
    composite_loads(tree, work, q, load)
    k = 0
    for i in inward(len(q)):
        join_loads(work, i, tree.parent[i])
        z, s, f, n = work.z[i], work.s[i], work.bf[i], work.bn[i]
        F, N, V = work.F[i], work.N[i], work.V[i]
        Qn = cross_plus(z, n, cross_plus(s, f, moment_change(V, F, z, s)))
        Qf = cross(z, f)
        j = i
        while j != WORLD:
            zj, sj = work.z[j], work.s[j]
            out.dq_up[k] = -dot_plus(zj, Qn, dot(sj, Qf))
            turned = dot_plus(cross(zj, z), N, dot(cross_plus(zj, s, cross(sj, z)), F))
            out.dq_low[k] = -dot_plus(z, moment_change(V, F, zj, sj), turned)
            k += 1
            j = tree.parent[j]


@lanewise
def virtual_loads(tree, work, y, load):
    """Outward pass: virtual motion (weights y as joint speeds), and Z = sum (virtual displacement) load^T."""
    work.yw[WORLD], work.yv[WORLD] = ZERO3, ZERO3
    for i in outward(len(y)):
        j = tree.parent[i]
        z, s, yw, yv = work.z[i], work.s[i], work.yw[j], work.yv[j]
        work.zy[i], work.sy[i] = cross(yw, z), cross_plus(yv, z, cross(yw, s))
        yw, yv = scale_plus(y[i], z, yw), scale_plus(y[i], s, yv)
        work.yw[i], work.yv[i] = yw, yv
        moved = outer_plus(yv, work.F[i], skew_times(yw, work.V[i]))
        work.Z[i] = outer_plus(yw, load3(load, LOAD * i + 9), moved)


@lanewise
def load_hessian(tree, work, out, q, y, load):
    """Hessian of y . (-J^T load) with respect to q, for every axis i and its ancestors j (i itself first)."""
    composite_loads(tree, work, q, load)
    virtual_loads(tree, work, y, load)
    k = 0
    for i in inward(len(q)):
        j = tree.parent[i]
        join_loads(work, i, j)
        if j != WORLD:
            accumulate(work.Z, j, work.Z[i])
        z, s, yw, yv, F, V = work.z[i], work.s[i], work.yw[i], work.yv[i], work.F[i], work.V[i]
        pure = sub(work.N[i], axial(V))  # moments that are not those of the forces
        own = outer_plus(yw, pure, outer_plus(yv, F, skew_times(yw, V)))
        Z = sum9(work.Z[i], own, -1.0)
        Y = outer_plus(s, F, skew_times(z, V))
        bend = axial(sum9(skew_times(yw, Y), skew_times(z, Z), 1.0))
        turn = axial(Y)
        f, n = work.bf[i], work.bn[i]
        Qn, Qf = cross_plus(z, n, cross(s, f)), cross(z, f)
        j = i
        while j != WORLD:
            zy = work.zy[j]
            rigid = dot_plus(zy, Qn, dot(work.sy[j], Qf))
            out.q_q[k] = -dot_plus(zy, turn, dot_plus(work.z[j], bend, rigid))
            k += 1
            j = tree.parent[j]


LOAD_GRADIENT = Kernel(
    load_gradient,
    SLOTS,
    inputs=2,
    outputs=0,
    entries=ENTRIES,
    targets=((0, 0, True), (1, 0, False)),
)
LOAD_HESSIAN = Kernel(
    load_hessian,
    SLOTS,
    inputs=3,
    outputs=0,
    entries=HESSIAN_ENTRIES,
    targets=((0, 0, False), (0, 0, True)),
)
