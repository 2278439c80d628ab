"""The loops of a mechanism as tables for compiled code: rows, entries, and the order of elimination.

Prepared once for each mechanism, for accelerations of given states and for simulations alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from weakref import WeakKeyDictionary

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.coupling import all_axes
from kinetree.analysis.forward import forward_dynamics
from kinetree.analysis.loops.assembly import LONGEST_STEP, closest, is_closed
from kinetree.analysis.loops.compiled import LoopStates
from kinetree.analysis.loops.draft import Draft, random_motion
from kinetree.analysis.loops.elimination import operations
from kinetree.analysis.loops.segments import (
    longest_path,
)
from kinetree.analysis.loops.structure import assembled_poses, independent_rows
from kinetree.analysis.loops.system import (
    RANK,
    constraints,
    loop_rows,
    size_of,
    spaces,
)
from kinetree.errors import InputError, listed
from kinetree.kernels.loop_table import (
    PIVOT,
    ROW,
    LoopTables,
)
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Integers, Tree
from kinetree.state import independent_axes, random_state

SMALLEST = 1e-6  # size of a constraint's slope (m or 1) beside which smaller ones are rounding
STEADY = 0.2  # share of the smallest singular value of all rows that a choice of them must keep at all poses
CONSTANT = 0.999  # share from which on a choice does not depend on the pose
WALK, WALK_STEP = 24, 0.5  # poses along which choices are compared, and the distance between them
MOST_CHOICES = 300
MOST_POSES = 5
LARGE = 50  # coordinates from which on dense algebra is avoided
FEWEST_POSES = 3  # at which the rows of a mechanism without redundant ones have all their pivots
WIDTHS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)  # of random starts around zero
STEPS = 60  # of the search for closed poses from there
CLOSED_POSE = 1e-11  # gap of a pose that counts as closed, beside the mechanism's size
UNUSUAL = 1e-7  # share of its usual size below which a pivot indicates a redundant row or a singular pose
SHORT = 12  # axes one after the other that are never divided
DEPTHS = (6, 9, 14)  # axes of a segment one after the other that are tried


@dataclass(frozen=True, eq=False)
class LoopProgram:
    """Tables of a mechanism's loops, and what their rows are.

    ``kept`` are the rows of `LoopRows` that have multipliers, in the order of the tables. ``rank`` of the
    loops at ordinary poses; ``usual`` pivots of the rows there.
    """

    states: LoopStates
    kept: Integers
    rank: int
    usual: Array

    @property
    def tables(self) -> LoopTables:
        """What compiled code reads."""
        return self.states.tables


_known: WeakKeyDictionary[Tree, LoopProgram] = WeakKeyDictionary()


def loop_program(mechanism: Mechanism) -> LoopProgram:
    """The program of a mechanism's loops, prepared at poses at which they are closed; made once."""
    found = _known.get(mechanism.tree)
    if found is None:
        found = _known[mechanism.tree] = _new_program(mechanism)
    return found


def _new_program(mechanism: Mechanism) -> LoopProgram:
    plain = _plain_program(mechanism) if mechanism.n_dof > LARGE else None
    if plain is not None:
        return plain
    q = assembled_poses(mechanism, 1)[0]
    rest = np.zeros(mechanism.n_dof)
    forward_dynamics(mechanism.opened(), q, rest, rest)  # names a joint that moves no inertia
    poses = _near(mechanism, q)
    kept, rank = chosen_rows(mechanism, poses)
    rows = loop_rows(mechanism)
    draft = _cheapest(Draft(rows, kept, *random_motion(rows, kept)))
    states = LoopStates(mechanism.tree, draft.tables())
    usual = _usual_pivots(states, np.array(poses[:MOST_POSES]))
    return LoopProgram(states, np.array(kept, dtype=np.int64), rank, usual)


def _plain_program(mechanism: Mechanism) -> LoopProgram | None:
    """The program of all rows that are not zero by structure; None if some of them are redundant.

    Nothing in it costs more than the entries that there are, so that it suits thousands of loops.
    """
    rows, tree = loop_rows(mechanism), mechanism.tree
    present, motion = random_motion(rows, list(range(rows.n_rows)))
    kept = [k for k, axes in enumerate(present) if axes]
    draft = _cheapest(Draft(rows, kept, [present[k] for k in kept], motion))
    states = LoopStates(tree, draft.tables())
    poses = _closed_poses(mechanism, states)
    if len(poses) < FEWEST_POSES:
        return None
    forward_dynamics(mechanism.opened(), poses[0], 0.0 * poses[0], 0.0 * poses[0])
    usual = _usual_pivots(states, poses)
    rest = np.zeros((len(poses), tree.n))
    pivot = states.answer(all_axes(tree, poses), rest, rest).pivot
    if (pivot <= UNUSUAL * usual).any(axis=1).sum() > len(poses) - FEWEST_POSES:
        return None
    return LoopProgram(states, np.array(kept, dtype=np.int64), len(kept), usual)


def _closed_poses(mechanism: Mechanism, states: LoopStates) -> Array:
    """Some poses with closed loops where no row is redundant, (poses, n_dof), from random starts.

    By steps of least kinetic energy.
    """
    tree, rng = mechanism.tree, np.random.default_rng(0)
    q = np.array([width * random_state(mechanism, rng).q for width in WIDTHS])
    axes, closed = independent_axes(mechanism), np.zeros(len(q), dtype=bool)
    with np.errstate(all="ignore"):
        for _ in range(STEPS):
            found = states.steps(all_axes(tree, q))
            closed |= found.verdict[:, 0] <= CLOSED_POSE * size_of(mechanism)
            if closed.all():
                break
            step = np.nan_to_num(found.qdd[:, axes])
            longest = np.maximum(np.abs(step).max(axis=1, keepdims=True), LONGEST_STEP)
            q = np.where(closed[:, None], q, q + step * LONGEST_STEP / longest)
    rest = np.zeros((len(q), tree.n))
    verdict = states.answer(all_axes(tree, q), rest, rest).verdict
    good = np.flatnonzero(closed & (verdict[:, 2] <= 0.0) & (verdict[:, 4] == 0.0))
    return np.ascontiguousarray(q[good])


def chosen_rows(mechanism: Mechanism, poses: list[Array]) -> tuple[list[int], int]:
    """Rows that imply all others at some poses, or all rows where no choice holds everywhere; their rank.

    Where a choice depends on the pose, as in spatial loops that move thanks to special lengths, several are
    compared along a walk through poses.
    """
    found = constraints(mechanism, np.array(poses)).J
    size = np.linalg.svd(found[0], compute_uv=False)
    rank = int((size > RANK * max(size[0], SMALLEST)).sum())
    if rank == 0:
        names = listed(loop.name for loop in mechanism.loops)
        raise InputError(
            f"mechanism '{mechanism.name}': its loops ({names}) are closed in every position, so they "
            "constrain nothing; leave them out (mechanism.opened())"
        )
    kept = independent_rows(found[0], rank)
    if len(kept) == found.shape[1] or _steadiness(found, kept) > CONSTANT:
        return kept, rank
    found = constraints(mechanism, np.array([*poses, *_walk(mechanism, poses[0])])).J
    every = {tuple(independent_rows(J, rank)) for J in found}
    if comb(found.shape[1], rank) <= MOST_CHOICES:
        every |= set(combinations(range(found.shape[1]), rank))
    best = max(sorted(every), key=lambda rows: _steadiness(found, list(rows)))
    kept = list(best)
    return (kept if _steadiness(found, kept) > STEADY else list(range(found.shape[1]))), rank


def _steadiness(J: Array, kept: list[int]) -> float:
    """The smallest share of the smallest singular value of all rows, J (poses, rows, n), that some keep."""
    rank = len(kept)
    every = np.linalg.svd(J, compute_uv=False)[:, rank - 1]
    return float((np.linalg.svd(J[:, kept], compute_uv=False)[:, -1] / every).min())


def _walk(mechanism: Mechanism, q: Array) -> list[Array]:
    """Closed poses on a random walk."""
    rng, poses, every = np.random.default_rng(0), list[Array](), np.ones(mechanism.n_dof, dtype=bool)
    before = rng.normal(size=mechanism.n_dof)
    for _ in range(WALK):
        free = spaces(constraints(mechanism, q).J).free
        ahead = free @ (free.T @ (before + 0.5 * rng.normal(size=mechanism.n_dof)))
        if not ahead.any():
            break
        ahead = WALK_STEP * ahead / np.linalg.norm(ahead)
        pose, gap = closest(mechanism, q + ahead, every)
        if not is_closed(mechanism, gap):
            before = -before
            continue
        q, before = pose, ahead / WALK_STEP
        poses.append(pose)
    return poses


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


def _cheapest(draft: Draft) -> Draft:
    """The draft, or the one with segments that needs fewest operations."""
    rows = draft.rows
    if longest_path(rows.tree) <= SHORT or rows.tree.coupling is not None:
        return draft
    drafts = [draft] + [Draft(rows, draft.kept, draft.present, draft.motion, depth) for depth in DEPTHS]
    return min(drafts, key=lambda some: operations(some.pattern(), some.n_motions))


def _usual_pivots(states: LoopStates, q: Array) -> Array:
    """The largest size that each pivot of a row has among some poses, which the tables get to know."""
    tables, q = states.tables, all_axes(states.tree, q)
    rest = np.zeros_like(q)
    found = states.answer(q, rest, rest).pivot.max(axis=0)
    usual: Array = np.where(found > 0.0, found, 1.0)
    start = ROW.places["unknown"][0]
    places = tables.tables["rows"].view(np.int64)[: tables.n_loop_rows, start]
    tables.tables["pivots"][places, PIVOT.places["usual"][0]] = usual
    return usual
