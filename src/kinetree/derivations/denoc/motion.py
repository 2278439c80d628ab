"""The forward recursion of the DeNOC algorithms: twists, their rates and inertia wrenches.

[Shah2013], eq. 6.3. All in the links' DH frames; of a twist rate the linear part is the acceleration of the
origin less gravity. Linear velocities are not needed. Every operation is counted under the step of
[Shah2013], Table 6.8, that it belongs to.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kinetree.derivations.contract import Loads, step
from kinetree.derivations.denoc.entries import (
    NULL,
    ZERO,
    Entry,
    Matrix,
    Vector,
    add,
    constant,
    constants,
    cross,
    is_null,
    scale,
    sub,
    times,
)
from kinetree.derivations.denoc.frames import DhAxis, DhTree, Links, PlacedAxes, Z, outward
from kinetree.derivations.denoc.screws import CYCLES, Composite, Turn, turned_back, vector_to_child
from kinetree.kernels.number import sign
from kinetree.model.tree import WORLD_AXIS, Tree

Wrench = tuple[Vector, Vector]  # moment n and force f, about the origin and in the frame of a link
NO_WRENCH: Wrench = (NULL, NULL)


class SpinMatrix(NamedTuple):
    """The matrix varpi = (omega-dot x 1) + (omega x 1)(omega x 1) and the products in it.

    [Shah2013], eq. A.26.
    """

    matrix: Matrix
    squares: Vector  # omega_11, omega_22, omega_33
    products: Vector  # omega_23, omega_31, omega_12


class DenocMotions(NamedTuple):
    """Of every axis: angular velocity and acceleration, acceleration of the origin less gravity, spin."""

    w: list[Vector]
    wd: list[Vector]
    a: list[Vector]
    spin: list[SpinMatrix | None]


def motion(
    dh: DhTree, at: PlacedAxes, order: tuple[Links, ...], qd: list[Entry], qdd: list[Entry]
) -> DenocMotions:
    """t_j and t-dot_j, outward ([Shah2013], eqs. 4.11 and 6.3).

    Prismatic joints need twice the Coriolis term that 6.3 has, because they change the arm too (errata);
    gravity enters as minus g, the acceleration of the base (errata).
    """
    n = len(dh.axes)
    found = DenocMotions([NULL] * n, [NULL] * n, [NULL] * n, [None] * n)
    upward: Vector = constants(-dh.tree.gravity)
    for j in outward(order):
        axis, screws, arm = dh.axes[j], at.screws[j], at.arms[j]
        rooted = axis.parent == WORLD_AXIS
        w_b, wd_b = (NULL, NULL) if rooted else (found.w[axis.parent], found.wd[axis.parent])
        a_b = upward if rooted else found.a[axis.parent]
        if not rooted and not is_null(arm):
            varpi = spin_of(dh.axes[axis.parent], found, axis.parent).matrix
            with step(f"t-dot, {axis.level}"):
                a_b = add(a_b, times(varpi, arm))
        with step(f"t, {axis.level}"):
            w = vector_to_child(screws, w_b)
            if axis.turns:
                w = (w[0], w[1], w[2] + qd[j])
        with step(f"t-dot, {axis.level}"):
            wd, a = vector_to_child(screws, wd_b), vector_to_child(screws, a_b)
            if axis.turns:  # (omega x e) qd + e qdd
                wd = add(wd, (w[1] * qd[j], -(w[0] * qd[j]), qdd[j]))
            else:
                twice = ZERO if is_null(w) else qd[j] + qd[j]
                a = add(a, (w[1] * twice, -(w[0] * twice), qdd[j]))
        found.w[j], found.wd[j], found.a[j] = w, wd, a
    return found


def spin_of(axis: DhAxis, found: DenocMotions, j: int) -> SpinMatrix:
    """The spin of an axis, computed when it is first needed (6M9A)."""
    spin = found.spin[j]
    if spin is None:
        with step(f"varpi, {axis.level}"):
            spin = _spin(found.w[j], found.wd[j])
        found.spin[j] = spin
    return spin


def _spin(w: Vector, wd: Vector) -> SpinMatrix:
    squares = (w[0] * w[0], w[1] * w[1], w[2] * w[2])
    w_11, w_22, w_33 = squares
    w_23, w_31, w_12 = products = (w[1] * w[2], w[2] * w[0], w[0] * w[1])
    matrix = (
        (-(w_33 + w_22), w_12 - wd[2], w_31 + wd[1]),
        (w_12 + wd[2], -(w_33 + w_11), w_23 - wd[0]),
        (w_31 - wd[1], w_23 + wd[0], -(w_22 + w_11)),
    )
    return SpinMatrix(matrix, squares, products)


# ---- wrenches -------------------------------------------------------------------------------------------
def inertia_wrenches(
    dh: DhTree,
    found: DenocMotions,
    order: tuple[Links, ...],
    loads: dict[int, Wrench],
    *,
    whole: bool = False,
) -> list[Wrench]:
    """w*_j = M t-dot + Omega M E t - w^F of all links; none of the empty links inside joints (eq. 6.3).

    Of a link that turns about a point of the world no joint feels the force, and with one axis only the
    moment about it; the rest is computed only if the ``whole`` wrenches are needed.
    """
    wrenches = [NO_WRENCH] * len(dh.axes)
    for j in outward(order):
        axis, hinged = dh.axes[j], not whole and j in dh.hinged
        if axis.M is not None:
            spin = spin_of(axis, found, j)
            with step(f"w*, {axis.level}"):
                felt = range(Z, 3) if hinged and axis.parent == WORLD_AXIS else range(3)
                n = [_moment(k, axis.M, found, j, spin) if k in felt else ZERO for k in range(3)]
                f = NULL if hinged else _force(axis.M, found.a[j], spin)
                wrenches[j] = (n[0], n[1], n[2]), f
        if j in loads:
            with step("loads"):
                own, pull = wrenches[j], loads[j]
                wrenches[j] = sub(own[0], pull[0]), sub(own[1], pull[1])
    return wrenches


def _moment(k: int, M: Composite, found: DenocMotions, j: int, spin: SpinMatrix) -> Entry:
    """A component of n = J omega-dot + omega x J omega + m d x o-ddot (7M7A, eqs. A.27 and A.28).

    The three rows of A.28 are one formula with the axes exchanged in turn, which its second row as printed
    is not (errata).
    """
    i_, j_, _ = CYCLES[k]
    J, (varpi, squares, products), a = M.J, spin, found.a[j]
    p = constant(J[i_][i_].value - J[j_][j_].value)
    own = found.wd[j][k] * J[k][k] - varpi[j_][k] * J[k][i_] + varpi[i_][k] * J[k][j_]
    own = own + J[i_][j_] * (squares[i_] - squares[j_]) - p * products[k]
    return own - (M.rho[i_] * a[j_] - M.rho[j_] * a[i_])


def _force(M: Composite, a: Vector, spin: SpinMatrix) -> Vector:
    """f = m o-ddot + varpi m d (12M9A)."""
    return sub(scale(M.m, a), times(spin.matrix, M.rho))


def load_wrenches(dh: DhTree, at: PlacedAxes, loads: Loads) -> dict[int, Wrench]:
    """External loads on each axis, turned from the world into its frame (eqs. 5.14 and 5.15)."""
    found: dict[int, Wrench] = {}
    with step("loads"):
        for load in loads:
            if load.axis == WORLD_AXIS:
                continue
            path, j = [], int(load.axis)
            while j != WORLD_AXIS:
                path.append(j)
                j = dh.axes[j].parent
            f, n = _entries(load.force), _entries(load.moment)
            for j in reversed(path):
                f, n = vector_to_child(at.screws[j], f), vector_to_child(at.screws[j], n)
            axis = dh.axes[path[0]]
            x, y, z = _entries(load.point)
            s = turned_back(Turn(Z, *constants(axis.phi)), (x, y, z - constant(axis.d)))
            n = add(n, cross(s, f))
            old = found.get(path[0], NO_WRENCH)
            found[path[0]] = add(old[0], n), add(old[1], f)
    return found


def load_values(loads: Loads) -> list[Any]:
    """All numbers in the loads: the answer has their kind too."""
    return [x for load in loads for x in load[1:]]


def _entries(values: Any) -> Vector:
    x, y, z = values
    return Entry(x), Entry(y), Entry(z)


def drive(tree: Tree, j: int, felt: Entry, q: Entry, qd: Entry, qdd: Entry) -> Entry:
    """What a joint's drive gives: what the axis feels, its own inertia, spring and friction."""
    with step("armature, spring, friction"):
        felt = felt + constant(tree.armature[j]) * qdd
        if tree.passive[j]:
            felt = felt + constant(tree.stiffness[j]) * (q - constant(tree.rest[j]))
            felt = felt + constant(tree.viscous[j]) * qd
            if tree.coulomb[j] and qd is not ZERO:
                s = Entry(sign(qd.value))
                felt = felt + constant(tree.coulomb[j]) * s
                if tree.coulomb_bias[j]:
                    felt = felt + constant(tree.coulomb_bias[j]) * (s * s)
        return felt
