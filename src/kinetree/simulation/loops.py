"""The loops of a mechanism as tables for compiled code: rows, entries, and the order of elimination."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.forward import forward_dynamics
from kinetree.analysis.inverse import mass_matrix
from kinetree.analysis.loops.assembly import closest, is_closed
from kinetree.analysis.loops.elimination import Program, elimination, mass_pattern
from kinetree.analysis.loops.structure import assembled_poses, independent_rows
from kinetree.analysis.loops.system import RANK, constraints, loop_rows, refuse_open_loops
from kinetree.errors import InputError
from kinetree.kernels.loop import BELOW, CUT, DROPPED, ENTRY, PIVOT, PLACE, ROW, UPDATE
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Tree
from kinetree.simulation.compiled.context import layout_rows
from kinetree.simulation.compiled.loops import ClosedLoops

STEADY = (
    0.2  # share of the smallest singular value of all rows that a choice of them must keep at other poses
)
PATTERN_POSES = 4
PRESENT = 1e-9
MOST_POSES = 5


def closed_loops(mechanism: Mechanism) -> ClosedLoops:
    """The component of a mechanism's loops, prepared at a pose at which they are closed."""
    q = assembled_poses(mechanism, 1)[0]
    if mechanism.tree.coupling is not None:
        raise InputError(
            f"mechanism '{mechanism.name}': loops together with mimic joints cannot be simulated yet"
        )
    rest = np.zeros(mechanism.n_dof)
    forward_dynamics(mechanism.opened(), q, rest, rest)  # names a joint that moves no inertia
    poses = _near(mechanism, q)
    kept = chosen_rows(mechanism, poses)
    pattern = _pattern(mechanism, kept)
    matrices = [_matrix(mechanism, kept, pose) for pose in poses[:MOST_POSES]]
    program = elimination(pattern, mechanism.n_dof)
    usual = _usual_pivots(program, matrices, mechanism.n_dof)
    return ClosedLoops(_tables(mechanism, kept, pattern, program, usual), program.n_slots)


def check_closed(mechanism: Mechanism, q: Array, qd: Array) -> None:
    """An error that names the loop where a state does not fit."""
    if mechanism.loops:
        refuse_open_loops(mechanism, constraints(mechanism, q, qd), qd, None)


def chosen_rows(mechanism: Mechanism, poses: list[Array]) -> list[int]:
    """Rows that imply all others at some poses; all rows where no choice holds everywhere."""
    found = [constraints(mechanism, pose).J for pose in poses]
    size = np.linalg.svd(found[0], compute_uv=False)
    rank = int((size > RANK * size[0]).sum())
    kept = independent_rows(found[0], rank)
    for J in found:
        every = np.linalg.svd(J, compute_uv=False)[rank - 1]
        if np.linalg.svd(J[kept], compute_uv=False)[-1] < STEADY * every:
            return list(range(len(J)))
    return kept


def _matrix(mechanism: Mechanism, kept: list[int], q: Array) -> Array:
    """[[M, J^T], [J, 0]] at a pose."""
    J = constraints(mechanism, q).J[kept]
    M = mass_matrix(mechanism.opened(), q)
    return np.block([[M, J.T], [J, np.zeros((len(kept), len(kept)))]])


def _near(mechanism: Mechanism, q: Array) -> list[Array]:
    """The pose and some closed ones around it."""
    J = constraints(mechanism, q).J
    _, size, Vt = np.linalg.svd(J)
    free = Vt[int((size > RANK * size[0]).sum()) :]
    poses, every = [q], np.ones(mechanism.n_dof, dtype=bool)
    for direction in free:
        for step in (-0.7, -0.3, 0.3, 0.7):
            pose, gap = closest(mechanism, q + step * direction, every)
            if is_closed(mechanism, gap):
                poses.append(pose)
    return poses


def _pattern(mechanism: Mechanism, kept: list[int]) -> list[set[int]]:
    """Which unknowns share an entry, axes before rows."""
    tree = mechanism.tree
    states = np.random.default_rng(0).uniform(-np.pi, np.pi, (PATTERN_POSES, tree.n))
    present = np.any(np.abs(constraints(mechanism, states).J[:, kept]) > PRESENT, axis=0)
    pattern = [*mass_pattern(tree), *({tree.n + k} for k in range(len(kept)))]
    for k in range(len(kept)):
        for j in np.flatnonzero(present[k]).tolist():
            pattern[tree.n + k].add(j)
            pattern[j].add(tree.n + k)
    return pattern


def _tables(
    mechanism: Mechanism, kept: list[int], pattern: list[set[int]], program: Program, usual: Array
) -> dict[str, Array]:
    """Rows of the layouts of `kernels.loop`."""
    tree, rows = mechanism.tree, loop_rows(mechanism)
    n, place = tree.n, program.place
    entries: list[tuple[int, int, int, float]] = []
    first, count = [], []
    for k, row in enumerate(kept):
        axes = sorted(j for j in pattern[n + k] if j < n)
        first.append(len(entries))
        count.append(len(axes))
        for j in axes:
            larger, smaller = max(place[j], place[n + k]), min(place[j], place[n + k])
            sign = rows.sign[rows.loop_of_row[row], j]
            entries.append((j, program.slot[int(larger), int(smaller)], int(place[j]), sign))
    axis, slot, pivot, sign = (np.array(x) for x in zip(*entries, strict=True))
    loop_of = rows.loop_of_row[kept]
    cuts = range(len(rows.loops))
    return {
        "cuts": layout_rows(
            CUT,
            len(rows.loops),
            axis_a=rows.axis_A,
            axis_b=rows.axis_B,
            first=np.array([int((loop_of < c).sum()) for c in cuts]),
            size=np.array([int((loop_of == c).sum()) for c in cuts]),
            Ra=rows.rotation_A.reshape(-1, 9),
            pa=rows.position_A,
            Rb=rows.rotation_B.reshape(-1, 9),
            pb=rows.position_B,
        ),
        "rows": layout_rows(
            ROW,
            len(kept),
            type=rows.type[kept],
            first=np.array(first),
            size=np.array(count),
            unknown=place[n:],
            e=rows.e[kept],
            f=rows.f[kept],
            c=rows.constant[kept],
        ),
        "entries": layout_rows(ENTRY, len(entries), axis=axis, slot=slot, pivot=pivot, sign=sign),
        "places": _mass_places(tree, program),
        "pivots": layout_rows(
            PIVOT,
            len(place),
            first_update=program.first_update[:-1],
            updates=np.diff(program.first_update),
            first_below=program.first_below[:-1],
            below=np.diff(program.first_below),
            multiplier=(np.argsort(place) >= n).astype(np.int64),
            usual=usual,
        ),
        "updates": layout_rows(
            UPDATE,
            len(program.updates),
            target=program.updates[:, 0],
            left=program.updates[:, 1],
            right=program.updates[:, 2],
        ),
        "below": layout_rows(
            BELOW, len(program.below), unknown=program.below[:, 0], slot=program.below[:, 1]
        ),
    }


def _mass_places(tree: Tree, program: Program) -> Array:
    """Slots of M_ij for each axis i and all its ancestors j, itself first."""
    slots, place = [], program.place
    for i in range(tree.n):
        j = i
        while j >= 0:
            larger, smaller = max(place[i], place[j]), min(place[i], place[j])
            slots.append(program.slot[int(larger), int(smaller)])
            j = int(tree.parent[j])
    return layout_rows(PLACE, len(slots), slot=np.array(slots))


def _usual_pivots(program: Program, matrices: list[Array], n: int) -> Array:
    """The largest size that each pivot has among some poses."""
    order, usual = np.argsort(program.place), np.zeros(len(program.place))
    for K in matrices:
        A = K[np.ix_(order, order)].copy()
        size = (K[n:, :n] ** 2 / np.diag(K)[:n]).sum(axis=1)
        for k, unknown in enumerate(order):
            if unknown >= n and abs(A[k, k]) < DROPPED * size[unknown - n]:
                continue
            usual[k] = max(usual[k], abs(A[k, k]))
            A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :]) / A[k, k]
    return np.where(usual > 0.0, usual, 1.0)
