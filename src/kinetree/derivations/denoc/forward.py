"""Recursive forward dynamics: U D U^T qdd = phi without forming U and D ([Shah2013], Tables 6.2 and 7.2)."""

from __future__ import annotations

from typing import Any, NamedTuple

from kinetree.derivations.contract import Loads, step
from kinetree.derivations.denoc.entries import (
    ZERO,
    Entry,
    Matrix,
    Numbers,
    Vector,
    add,
    constant,
    dot,
    numbers,
    scale,
    symmetric,
    variables,
)
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
    NO_WRENCH,
    Wrench,
    drive,
    inertia_wrenches,
    load_values,
    load_wrenches,
    motion,
)
from kinetree.derivations.denoc.screws import Articulated, twist_to_child, wrench_to_parent
from kinetree.errors import SingularityError
from kinetree.kernels.aba import SINGULAR
from kinetree.kernels.tree_columns import gross_inertia
from kinetree.model.tree import WORLD_AXIS, Tree


def forward_dynamics(
    tree: Tree, q: Numbers, qd: Numbers, tau: Numbers, loads: Loads = (), modules: Modules = None
) -> Numbers:
    """qdd = I^-1 (tau - h) (n,): [Shah2013], Table 7.2 and eqs. 7.15-7.24.

    h is not computed for itself: the inertia wrenches w* at qdd = 0 join eta, at the last axis of each joint
    (eq. 7.19; Table 7.2 adds them at the first, which loses them in joints with several axes: errata).
    """
    return accelerations_and_pivots(tree, q, qd, tau, loads, modules)[0]


def accelerations_and_pivots(
    tree: Tree, q: Numbers, qd: Numbers, tau: Numbers, loads: Loads = (), modules: Modules = None
) -> tuple[Numbers, Numbers]:
    """qdd as `forward_dynamics`, and the pivots m^ (n,) of I = U D U^T."""
    dh = dh_tree(tree)
    at, order = placed(dh, q), dh.order(modules)
    positions, rates, none = variables(q, tree.n), variables(qd, tree.n), [ZERO] * tree.n
    found = motion(dh, at, order, rates, none)
    eta = inertia_wrenches(dh, found, order, load_wrenches(dh, at, loads))
    passive = [drive(tree, j, ZERO, positions[j], rates[j], ZERO) for j in range(tree.n)]
    phi = [x - y for x, y in zip(variables(tau, tree.n), passive, strict=True)]
    qdd, pivots = _solved(dh, at, order, phi, eta)
    like = (q, qd, tau, *load_values(loads))
    return numbers(qdd, *like), numbers(pivots, *like)


def accelerations(tree: Tree, q: Numbers, phi: Numbers, modules: Modules = None) -> Numbers:
    """qdd = I^-1 phi (n,) with given phi = tau - h.

    [Shah2013], Table 6.2 and eqs. 6.9-6.13; [Mohan2007], eqs. 30-37.
    """
    dh = dh_tree(tree)
    at, order = placed(dh, q), dh.order(modules)
    eta = [NO_WRENCH] * tree.n
    return numbers(_solved(dh, at, order, variables(phi, tree.n), eta)[0], q, phi)


class Eliminated(NamedTuple):
    """What the backward recursion leaves behind for an axis."""

    psi: Wrench | None  # not needed at the world
    phi_tilde: Entry
    m_hat: Entry


def _solved(
    dh: DhTree, at: PlacedAxes, order: tuple[Links, ...], phi: list[Entry], eta: list[Wrench]
) -> tuple[list[Entry], list[Entry]]:
    """Accelerations and pivots by both recursions.

    ``eta`` (which is changed) holds eta~ of every axis, at first what w* gives.
    """
    articulated = [None if axis.M is None else axis.M.articulated for axis in dh.axes]
    left: dict[int, Eliminated] = {}
    for j in inward(order):
        left[j] = _eliminated(dh, at, j, phi[j], articulated, eta)
    mu: dict[int, Wrench] = {}
    qdd = [ZERO] * len(dh.axes)
    for j in outward(order):
        axis, (psi, phi_tilde, _) = dh.axes[j], left[j]
        mu[j], qdd[j] = NO_WRENCH, phi_tilde
        if psi is not None:
            with step(f"mu to child, {axis.level}"):
                mu[j] = twist_to_child(at.screws[j], *mu[axis.parent])
            with step(f"qdd, {axis.level}"):  # phi~ - Psi^T mu~ (eq. 6.13)
                qdd[j] = phi_tilde - (dot(psi[0], mu[j][0]) + dot(psi[1], mu[j][1]))
        with step(f"mu, {axis.level}"):  # mu = p qdd + mu~
            own = (ZERO, ZERO, qdd[j])
            mu[j] = (add(mu[j][0], own), mu[j][1]) if axis.turns else (mu[j][0], add(mu[j][1], own))
    return qdd, [left[j].m_hat for j in range(len(qdd))]


def _eliminated(
    dh: DhTree, at: PlacedAxes, j: int, phi: Entry, articulated: list[Articulated | None], eta: list[Wrench]
) -> Eliminated:
    """Function_1 and function_2 of Table 6.2 for axis j, and what they add to the parent."""
    axis, M, (eta_t, eta_b) = dh.axes[j], articulated[j], eta[j]
    with step(f"Psi, {axis.level}"):
        psi_hat, m_hat = _pivot(dh.tree, j, M)
    with step(f"phi^, {axis.level}"):  # phi - p^T eta~
        phi_hat = phi - (eta_t[Z] if axis.turns else eta_b[Z])
    with step(f"phi~, {axis.level}"):
        phi_tilde = phi_hat / m_hat
    if axis.parent == WORLD_AXIS:
        return Eliminated(None, phi_tilde, m_hat)
    with step(f"Psi, {axis.level}"):
        psi = quotient(psi_hat[0], m_hat), quotient(psi_hat[1], m_hat)
    with step(f"eta, {axis.level}"):  # Psi phi^ + eta~
        moved = add(scale(phi_hat, psi[0]), eta_t), add(scale(phi_hat, psi[1]), eta_b)
    if M is not None:
        with step(f"M^ - Psi^ Psi^T, {axis.level}"):
            M = reduced(M, psi_hat, psi, axis.turns)
        with step(f"M^ to parent, {axis.level}"):
            M, own = M.to_parent(at.screws[j]), articulated[axis.parent]
            articulated[axis.parent] = M if own is None else own.joined(M)
    with step(f"eta to parent, {axis.level}"):
        moved, old = wrench_to_parent(at.screws[j], *moved), eta[axis.parent]
        eta[axis.parent] = add(old[0], moved[0]), add(old[1], moved[1])
    return Eliminated(psi, phi_tilde, m_hat)


def _pivot(tree: Tree, j: int, M: Articulated | None) -> tuple[Wrench, Entry]:
    """Psi^_j = M^_j p_j, a column of M^_j, and m^_j = p_j^T Psi^_j with the drive's own inertia."""
    psi_hat: Wrench = NO_WRENCH
    if M is not None and tree.turns[j]:
        psi_hat = column(M.J), column(M.F)
    elif M is not None:
        psi_hat = M.F[2], column(M.G)
    m_hat = (psi_hat[0][Z] if tree.turns[j] else psi_hat[1][Z]) + constant(tree.armature[j])
    check_pivot(tree, j, m_hat.value)
    return psi_hat, m_hat


def column(A: Matrix) -> Vector:
    """A e, the last column: nothing to compute."""
    return A[0][Z], A[1][Z], A[2][Z]


def quotient(a: Vector, x: Entry) -> Vector:
    """A vector divided by a number, at most 3M0A."""
    return a[0] / x, a[1] / x, a[2] / x


def reduced(M: Articulated, psi_hat: Wrench, psi: Wrench, turns: bool) -> Articulated:
    """M^_jj = M^_j - Psi^_j Psi_j^T (15M15A: its row and column of the axis are zero, eq. A.47)."""
    F = (psi_hat[1], psi[0]) if turns else (psi[1], psi_hat[0])
    return Articulated(
        symmetric(_minus_outer(M.J, psi_hat[0], psi[0])),
        _minus_outer(M.F, *F, full=True),
        symmetric(_minus_outer(M.G, psi_hat[1], psi[1])),
    )


def _minus_outer(A: Matrix, a: Vector, b: Vector, *, full: bool = False) -> Matrix:
    """A - a b^T; if not full, only on and above the diagonal."""
    rows: Any = [tuple(A[r][c] - a[r] * b[c] if full or c >= r else ZERO for c in range(3)) for r in range(3)]
    return rows[0], rows[1], rows[2]


def check_pivot(tree: Tree, j: int, pivot: Any) -> None:
    """Refuse a pivot that is rounding error; symbols and counting numbers are taken as they are."""
    if isinstance(pivot, float | complex) and not pivot.real > SINGULAR * gross_inertia(tree)[j]:
        raise SingularityError(
            f"singular mass matrix: joint '{tree.axis_names[j]}' moves no inertia in this state "
            f"(pivot {pivot.real:.3g}); give the bodies beyond it mass and extent, or the joint an armature, "
            "and keep Euler-angle joints away from gimbal lock"
        )
