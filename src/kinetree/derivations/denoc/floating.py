"""Inverse dynamics with a floating base: first its acceleration, then the torques ([Shah2013], Table 7.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.algebra.rotation import GIMBAL_LOCK
from kinetree.derivations.contract import Loads, step
from kinetree.derivations.denoc.blocks import join_parent, kappa
from kinetree.derivations.denoc.entries import (
    NULL,
    ONE,
    ZERO,
    Entry,
    Numbers,
    Vector,
    add,
    constant,
    cross,
    dot,
    negative,
    numbers,
    scale,
    symmetric,
    variables,
)
from kinetree.derivations.denoc.forward import check_pivot
from kinetree.derivations.denoc.frames import (
    DhTree,
    Links,
    Modules,
    PlacedAxes,
    Z,
    dh_tree,
    inward,
    outward,
    placed,
)
from kinetree.derivations.denoc.motion import (
    Wrench,
    drive,
    inertia_wrenches,
    load_values,
    load_wrenches,
    motion,
)
from kinetree.derivations.denoc.screws import (
    Composite,
    position_to_child,
    vector_to_child,
    vector_to_parent,
    wrench_to_parent,
)
from kinetree.errors import InputError, SingularityError
from kinetree.model.modules import BASE
from kinetree.model.tree import Tree

SIX = 6  # axes of the base: 0 to 2 slide, 3 to 5 turn about one point
LINK = SIX - 1  # the axis that carries the base itself
ALONG: Vector = (ZERO, ZERO, ONE)


def floating_base_inverse_dynamics(
    tree: Tree, q: Numbers, qd: Numbers, qdd_joints: Numbers, loads: Loads = (), modules: Modules = None
) -> tuple[Numbers, Numbers]:
    """Base acceleration (6,) and joint torques (n - 6,): [Shah2013], Table 7.1 and eqs. 7.2-7.14.

    The twist rate of the base follows from M~_0 t_0 = -w~_0, both at qdd_0 = 0; its coordinates from
    t_0 = P_0 qdd_0. The book's counts have P_0 = 1; here qdd_0 are second derivatives of the coordinates of
    the free joint (errata to Table 7.2).
    """
    dh = _checked(tree, qdd_joints)
    at, order = placed(dh, q), dh.order(modules)
    positions, rates = variables(q, tree.n), variables(qd, tree.n)
    accelerations = [ZERO] * SIX + variables(qdd_joints, tree.n - SIX)
    found = motion(dh, at, order, rates, accelerations)
    wrenches = inertia_wrenches(dh, found, order, load_wrenches(dh, at, loads))
    joints = order[:BASE] + order[BASE + 1 :]
    from_base = _positions(dh, at, joints)
    composite: list[Composite | None] = [axis.M for axis in dh.axes]
    columns = {j: _joined(dh, at, j, from_base[j], composite, wrenches) for j in inward(joints)}
    with step("base acceleration"):
        base = _freed(tree, composite[LINK], wrenches[LINK])
    torques = _torques(dh, at, joints, columns, wrenches, base)
    driven = [
        drive(tree, j, torques[j], positions[j], rates[j], accelerations[j]) for j in range(SIX, tree.n)
    ]
    with step("P_0"):
        qdd_0 = _coordinates(dh, at, *base)
    kinds = (q, qd, qdd_joints, *load_values(loads))
    return numbers(qdd_0, *kinds), numbers(driven, *kinds)


def _checked(tree: Tree, qdd_joints: Any) -> DhTree:
    dh = dh_tree(tree)
    if not dh.floating:
        raise InputError(
            f"the tree has no floating base: its bodies do not all hang on one free joint, the first axis is "
            f"'{tree.axis_names[0]}'"
        )
    for key in ("armature", "stiffness", "viscous", "coulomb"):
        values = getattr(tree, key)[:SIX]
        if values.any():
            j = int(np.flatnonzero(values)[0])
            raise InputError(
                f"a floating base has no drives, but '{tree.axis_names[j]}' has {key} {values[j]:g}; "
                "it must be 0"
            )
    if np.shape(qdd_joints) != (tree.n - SIX,):
        raise InputError(f"qdd_joints must have shape ({tree.n - SIX},), got {np.shape(qdd_joints)}")
    return dh


def _positions(dh: DhTree, at: PlacedAxes, joints: tuple[Links, ...]) -> dict[int, Vector]:
    """a_(0,k) of A_(k,0) = A_(k,beta) A_(beta,0): from the base's origin to the link's, in its frame."""
    found = {LINK: NULL}
    for j in outward(joints):
        with step(f"A_k0, {dh.axes[j].level}"):
            found[j] = position_to_child(at.screws[j], found[dh.axes[j].parent])
    return found


def _joined(
    dh: DhTree,
    at: PlacedAxes,
    j: int,
    a_0k: Vector,
    composite: list[Composite | None],
    wrenches: list[Wrench],
) -> Wrench:
    """kappa~_j = A_(k,0)^T kappa_j of an axis; w~ and M~ to its parent (Table 7.1, step 2, corrected)."""
    axis, M = dh.axes[j], composite[j]
    column = (NULL, NULL) if M is None else kappa(M, axis.turns)
    with step(f"kappa~, {axis.level}"):
        column = add(column[0], cross(a_0k, column[1])), column[1]
    with step(f"w to parent, {axis.level}"):
        n, f = wrench_to_parent(at.screws[j], *wrenches[j])
        own = wrenches[axis.parent]
        wrenches[axis.parent] = add(own[0], n), add(own[1], f)
    join_parent(dh, at, composite, j)
    return column


def _torques(
    dh: DhTree,
    at: PlacedAxes,
    joints: tuple[Links, ...],
    columns: dict[int, Wrench],
    wrenches: list[Wrench],
    base: Wrench,
) -> dict[int, Entry]:
    """tau_j = kappa~_j^T q~_0 + h~_j, with q~_0 turned from frame to frame (eq. 7.14)."""
    turned, torques = {LINK: base}, {}
    for j in outward(joints):
        axis = dh.axes[j]
        with step(f"q~_0, {axis.level}"):
            wd, a = turned[axis.parent]
            wd, a = turned[j] = vector_to_child(at.screws[j], wd), vector_to_child(at.screws[j], a)
        with step(f"tau, {axis.level}"):
            h = wrenches[j][0][Z] if axis.turns else wrenches[j][1][Z]
            torques[j] = h + dot(columns[j][0], wd) + dot(columns[j][1], a)
    return torques


# ---- the base -------------------------------------------------------------------------------------------
def _freed(tree: Tree, M: Composite | None, w: Wrench) -> Wrench:
    """Twist rate [omega-dot; a] of M~_0 [omega-dot; a] = -[n; f]: the center of mass goes its own way."""
    if M is None or M.m.value == 0.0:
        raise SingularityError("the acceleration of the base is not defined: nothing has mass")
    (J, rho, m), (n, f) = M, w
    c = scale(constant(1.0 / m.value), rho)
    xx, yy, zz = c[0] * rho[0], c[1] * rho[1], c[2] * rho[2]
    central = (
        (J[0][0] - (yy + zz), J[0][1] + c[0] * rho[1], J[0][2] + c[0] * rho[2]),
        (ZERO, J[1][1] - (zz + xx), J[1][2] + c[1] * rho[2]),
        (ZERO, ZERO, J[2][2] - (xx + yy)),
    )
    wd = _eliminated(tree, symmetric(central), negative(add(n, cross(c, f))))
    a = scale(constant(-1.0 / m.value), add(f, cross(rho, wd)))
    return wd, a


def _eliminated(tree: Tree, J: Any, b: Vector) -> Vector:
    """x of J x = b for a symmetric 3 x 3 matrix: J = U D U^T by reverse Gaussian elimination (16M10A)."""
    check_pivot(tree, LINK, J[2][2].value)
    u_13, u_23 = J[0][2] / J[2][2], J[1][2] / J[2][2]
    i_11, i_12, i_22 = J[0][0] - u_13 * J[0][2], J[0][1] - u_13 * J[1][2], J[1][1] - u_23 * J[1][2]
    check_pivot(tree, LINK, i_22.value)
    u_12 = i_12 / i_22
    i_11 = i_11 - u_12 * i_12
    check_pivot(tree, LINK, i_11.value)
    b_2 = b[1] - u_23 * b[2]
    b_1 = b[0] - u_13 * b[2] - u_12 * b_2
    x_1 = b_1 / i_11
    x_2 = b_2 / i_22 - u_12 * x_1
    return x_1, x_2, b[2] / J[2][2] - (u_13 * x_1 + u_23 * x_2)


def _coordinates(dh: DhTree, at: PlacedAxes, wd: Vector, a: Vector) -> list[Entry]:
    """qdd_0 of t_0 = P_0 qdd_0: the turns seen from the fifth axis, the slides from the third."""
    turning = (vector_to_child(at.screws[4], ALONG), ALONG, dh.axes[5].e)
    angular = _combination(dh, turning, vector_to_parent(at.screws[5], wd))
    for j in (5, 4, 3):
        a = vector_to_parent(at.screws[j], a)
    first = vector_to_child(at.screws[2], vector_to_child(at.screws[1], ALONG))
    sliding = (first, vector_to_child(at.screws[2], ALONG), ALONG)
    return [*_combination(dh, sliding, a), *angular]


def _combination(dh: DhTree, columns: tuple[Vector, Vector, Vector], x: Vector) -> Vector:
    """(u, v, w) with u a + v b + w c = x."""
    a, b, c = columns
    bc, ca, ab = cross(b, c), cross(c, a), cross(a, b)
    det = dot(a, bc)
    if isinstance(det.value, float | complex) and not abs(det.value.real) > GIMBAL_LOCK:
        raise SingularityError(
            f"the acceleration of the base is not defined in this state: its angles "
            f"'{dh.axes[3].name}', '{dh.axes[4].name}', '{dh.axes[5].name}' are in gimbal lock"
        )
    return dot(x, bc) / det, dot(x, ca) / det, dot(x, ab) / det
