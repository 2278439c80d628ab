"""Torques, joint reactions and the mass matrix with DeNOC, axis by axis.

[Shah2013], chapters 5 to 7; [Mohan2007].
"""

from __future__ import annotations

from kinetree.derivations.contract import Loads, step
from kinetree.derivations.denoc.blocks import join_parent, kappa
from kinetree.derivations.denoc.entries import (
    ZERO,
    Entry,
    Numbers,
    add,
    constant,
    constants,
    numbers,
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
from kinetree.derivations.denoc.screws import Composite, Turn, turned, wrench_to_parent
from kinetree.model.tree import WORLD_AXIS, Tree

Rates = list[list[Entry]]  # q, qd, qdd


def inverse_dynamics(
    tree: Tree, q: Numbers, qd: Numbers, qdd: Numbers, loads: Loads = (), modules: Modules = None
) -> Numbers:
    """tau = N_d^T N_l^T w* (n,), w* = M t-dot + Omega M E t - w^F: [Shah2013], Table 6.1 and eqs. 6.1-6.6."""
    dh = dh_tree(tree)
    at, order = placed(dh, q), dh.order(modules)
    rates = [variables(x, tree.n) for x in (q, qd, qdd)]
    wrenches = _transmitted(dh, at, order, rates, loads)
    return numbers(_torques(tree, wrenches, rates), q, qd, qdd if qdd is not None else q, *load_values(loads))


def bias_torque(tree: Tree, q: Numbers, qd: Numbers, loads: Loads = (), modules: Modules = None) -> Numbers:
    """h = C qd - tau^F (n,): the torques without acceleration ([Shah2013], eq. 6.8)."""
    return inverse_dynamics(tree, q, qd, None, loads, modules)  # type: ignore[arg-type]


def joint_reactions(
    tree: Tree, q: Numbers, qd: Numbers, qdd: Numbers, loads: Loads = (), modules: Modules = None
) -> Numbers:
    """Force and moment that the parent exerts through each axis, in the tree's axis frame: (n, 6)."""
    dh = dh_tree(tree)
    at, order = placed(dh, q), dh.order(modules)
    rates = [variables(x, tree.n) for x in (q, qd, qdd)]
    rows = []
    for axis, (n, f) in zip(dh.axes, _transmitted(dh, at, order, rates, loads, whole=True), strict=True):
        turn, d = Turn(Z, *constants(axis.phi)), constant(axis.d)
        n, f = turned(turn, n), turned(turn, f)
        rows.extend([*f, n[0] - d * f[1], n[1] + d * f[0], n[2]])
    return numbers(rows, q, qd, qdd, *load_values(loads)).reshape(tree.n, 6)


def _transmitted(
    dh: DhTree,
    at: PlacedAxes,
    order: tuple[Links, ...],
    rates: Rates,
    loads: Loads,
    *,
    whole: bool = False,
) -> list[Wrench]:
    """w~_j: what the parent exerts through each axis: both steps of Table 6.1."""
    found = motion(dh, at, order, rates[1], rates[2])
    wrenches = inertia_wrenches(dh, found, order, load_wrenches(dh, at, loads), whole=whole)
    for j in inward(order):
        axis, (n, f) = dh.axes[j], wrenches[j]
        if axis.parent != WORLD_AXIS:
            with step(f"w to parent, {axis.level}"):
                n, f = wrench_to_parent(at.screws[j], n, f)
                parent, hinged = wrenches[axis.parent], not whole and axis.parent in dh.hinged
                wrenches[axis.parent] = add(parent[0], n), parent[1] if hinged else add(parent[1], f)
    return wrenches


def _torques(tree: Tree, wrenches: list[Wrench], rates: Rates) -> list[Entry]:
    """tau_j = p_j^T w~_j, and what the drives' own inertia, springs and friction ask for."""
    q, qd, qdd = rates
    felt = [n[Z] if tree.turns[j] else f[Z] for j, (n, f) in enumerate(wrenches)]
    return [drive(tree, j, felt[j], q[j], qd[j], qdd[j]) for j in range(tree.n)]


def mass_matrix(tree: Tree, q: Numbers, modules: Modules = None) -> Numbers:
    """The generalized inertia matrix I (n, n), i_ij = p_i^T A_ji^T kappa_j, kappa_j = M~_j p_j.

    M~_j is the mass matrix of all that hangs on axis j, rigidly connected ([Mohan2007], eqs. 28 and 29;
    [Shah2013], eqs. 5.19, 5.21 and 7.9); drives add their own inertia to the diagonal.
    """
    dh = dh_tree(tree)
    at, order = placed(dh, q), dh.order(modules)
    composite: list[Composite | None] = [axis.M for axis in dh.axes]
    entries = [ZERO] * tree.n**2
    for j in inward(order):
        M = composite[j]
        if M is not None:
            with step("elements"):
                _column(dh, at, j, kappa(M, dh.axes[j].turns), entries)
            join_parent(dh, at, composite, j)
        with step("elements"):
            entries[j * tree.n + j] = entries[j * tree.n + j] + constant(tree.armature[j])
    return numbers(entries, q).reshape(tree.n, tree.n)


def _column(dh: DhTree, at: PlacedAxes, j: int, w: Wrench, entries: list[Entry]) -> None:
    """Entries (i, j) and (j, i) for axis j and all its ancestors i."""
    n, i = len(dh.axes), j
    while True:
        entries[i * n + j] = entries[j * n + i] = w[0][Z] if dh.axes[i].turns else w[1][Z]
        if dh.axes[i].parent == WORLD_AXIS:
            return
        w, i = wrench_to_parent(at.screws[i], *w), dh.axes[i].parent
