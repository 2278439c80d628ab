"""What every recursion does with the axes of a tree: go along them, place them, load them."""

from __future__ import annotations

from kinetree.kernels.number import lanewise, sign, sincos
from kinetree.kernels.vectors import (
    ZERO3,
    column_z,
    cross,
    negative,
    product,
    scale_plus,
    times_plus,
    times_rz,
)

WORLD = -1  # parent of the roots; row -1 of every table


@lanewise
def outward(n):
    """Axes from the root to the tips."""
    return range(n)


@lanewise
def inward(n):
    """Axes from the tips to the root."""
    return range(n - 1, -1, -1)


@lanewise
def upward(i, top):
    """Axes whose numbers fall by one from child to parent: such runs lead to the base, one after the other.

    A loop over numbers that are known beforehand need not wait for the parent of each axis.
    """
    return range(i, top - 1, -1)


@lanewise
def inertia(tree, i):
    """Mass, first and second moment of what axis i carries."""
    return tree.m[i], tree.h[i], tree.S[i]


@lanewise
def turn_axes(tree, work, q):
    """Sine and cosine of every revolute axis, which `placement` and `place_axis` look up.

    In a loop of its own no axis waits for another, and a processor works on several at once.
    """
    for i in outward(len(q)):
        if tree.revolute[i]:
            work.turn[i] = sincos(q[i])


@lanewise
def placement(tree, work, i, q):
    """Rotation and origin of axis i in its parent's frame; the joint axis is z."""
    if tree.revolute[i]:
        s, c = work.turn[i]
        R, p = times_rz(tree.R[i], s, c), tree.p[i]
    else:
        R = tree.R[i]
        p = scale_plus(q, column_z(R), tree.p[i])
    return R, p


@lanewise
def place_axis(tree, work, i, q, j, k):
    """Rotation and origin of axis i in the world, from row j to row k of the workspace.

    The joint axis (angular z, linear s) goes to row i.
    """
    if tree.revolute[i]:
        R = product(work.R[j], tree.R[i])
        p = times_plus(work.R[j], tree.p[i], work.p[j])
        z = column_z(R)
        work.z[i], work.s[i] = z, cross(p, z)
        sine, cosine = work.turn[i]
        work.R[k], work.p[k] = times_rz(R, sine, cosine), p
    else:
        R = product(work.R[j], tree.R[i])
        p = times_plus(work.R[j], tree.p[i], work.p[j])
        s = column_z(R)
        work.z[i], work.s[i] = ZERO3, s
        work.R[k], work.p[k] = R, scale_plus(q, s, p)


@lanewise
def centred_world(tree, q):
    """Where to put the world's origin so that the mechanism is near zero: minus the base's position.

    World-frame algorithms lose digits far from the origin. Any fixed point will do as origin, so they use
    the place where the base is now: the first axis' origin, after all prismatic axes that lead to it.
    """
    R, p = tree.R[0], tree.p[0]
    if tree.sliding[WORLD] > 0:
        p = scale_plus(q[0], column_z(R), p)
        for i in range(1, tree.sliding[WORLD]):
            p = times_plus(R, tree.p[i], p)
            R = product(R, tree.R[i])
            p = scale_plus(q[i], column_z(R), p)
    return negative(p)


@lanewise
def passive_torque(tree, i, q, qd):
    """What spring and friction ask of the drive: k (q - rest) + viscous qd + coulomb s + bias s^2.

    s is the sign of qd: friction is coulomb + bias forwards and coulomb - bias backwards.
    """
    s = sign(qd)
    dry = (tree.coulomb[i] + tree.coulomb_bias[i] * s) * s
    return tree.stiffness[i] * (q - tree.rest[i]) + tree.viscous[i] * qd + dry
