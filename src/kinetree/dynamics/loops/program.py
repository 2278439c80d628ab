"""The loops of a mechanism as tables for compiled code: rows, entries, and the order of elimination.

Prepared once for each mechanism, for accelerations of given states and for simulations alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse
from scipy.sparse import csgraph

from kinetree.algebra.arrays import Array
from kinetree.dynamics.coupling import all_axes
from kinetree.dynamics.forward import FORWARD
from kinetree.dynamics.inverse import MASS_MATRIX
from kinetree.dynamics.loops.assembly import LONGEST_STEP, closest, is_closed
from kinetree.dynamics.loops.draft import Draft, random_motion
from kinetree.dynamics.loops.elimination import operations
from kinetree.dynamics.loops.ranges import LoopRanges
from kinetree.dynamics.loops.segments import longest_path
from kinetree.dynamics.loops.structure import RegularPose, independent_rows, regular_pose, walk
from kinetree.dynamics.loops.system import constraints, loop_rows, size_of
from kinetree.engine.loop_code import loop_states
from kinetree.errors import InputError, listed
from kinetree.kernels.layout import layout_rows
from kinetree.kernels.loop_table import OWNER, PIVOT, ROW, START, VERDICT, LoopTables
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Integers, Tree
from kinetree.state import independent_axes, random_state

VARYING = 1e-7  # least singular value of several poses' J, relative to the largest, of independent rows
PRESENT = 1e-9  # entries of a pattern below this are zero by structure
SOFT = 1e-8  # share of its size that is taken from the diagonal of rows that are redundant in turn
MOST_POSES = 5
LARGE = 50  # coordinates from which on dense algebra is avoided
FEWEST_POSES = 3  # at which the rows of a mechanism without redundant ones have all their pivots
WIDTHS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)  # of random starts around zero
STEPS = 60  # of the search for closed poses from there
CLOSED_POSE = 1e-11  # gap of a pose that counts as closed, relative to the mechanism's size
UNUSUAL = 1e-7  # share of its usual size below which a pivot indicates a redundant row or a singular pose
SHORT = 12  # axes one after the other that are never divided
DEPTHS = (6, 9, 14)  # axes of a segment one after the other that are tried


class LoopAnswer(NamedTuple):
    """What compiled code finds for states (count, ...).

    Accelerations of axes; multipliers and pivots (0: dropped) of the rows in use, in the order of the tables;
    how far each can be trusted, `kernels.loop.judge`.
    """

    qdd: Array
    multiplier: Array
    pivot: Array
    verdict: Array


class LoopStates:
    """The tables of a mechanism's loops in memory of compiled code, shared by all threads."""

    def __init__(self, tree: Tree, tables: LoopTables) -> None:
        self.tree, self.tables = tree, tables
        self.ranges = LoopRanges(tree, loop_states, tables.numbers)

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Numbers of a state in the arrays of a `LoopAnswer`."""
        return self.tree.n, self.tables.n_loop_rows, self.tables.n_loop_rows, VERDICT

    def answer(
        self, q: Array, qd: Array, tau: Array, loads: Array | None = None, threads: int | None = None
    ) -> LoopAnswer:
        """Accelerations under torques on all axes, (count, axes) each; ``loads`` (count, 6 axes)."""
        return self._filled((q, qd, tau), loads, threads, 0)

    def steps(self, q: Array) -> LoopAnswer:
        """Steps of all axes towards positions (count, axes) with closed loops, in place of accelerations."""
        rest = np.zeros_like(q)
        return self._filled((q, rest, rest), None, 1, 1)

    def _filled(
        self, state: tuple[Array, Array, Array], loads: Array | None, threads: int | None, closing: int
    ) -> LoopAnswer:
        count = len(state[0])
        found = LoopAnswer(*(np.empty((count, size)) for size in self.sizes))
        loads = np.empty((count, 0)) if loads is None else loads
        self.ranges.fill((*state, loads), found, threads, closing)
        return found


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
    at = regular_pose(mechanism)
    if at.rank == 0:
        names = listed(loop.name for loop in mechanism.loops)
        raise InputError(
            f"mechanism '{mechanism.name}': its loops ({names}) are closed in every position, so they "
            "constrain nothing; leave them out (mechanism.opened())"
        )
    rest = np.zeros(mechanism.n_dof)
    FORWARD.of(mechanism.opened(), at.q, rest, rest)  # names a joint that moves no inertia
    poses = _near(mechanism, at)
    chosen = chosen_rows(mechanism, poses, at.rank)
    rows = loop_rows(mechanism)
    if max(chosen.group) >= 0:
        poses += [q for q in walk(mechanism, at.q) if _is_usual(mechanism, q, at.rank)]
        chosen = chosen_rows(mechanism, poses, at.rank)
    draft = _cheapest(Draft(rows, chosen.kept, *random_motion(rows, chosen.kept)))
    tables = draft.tables()
    soften(mechanism, tables, chosen, poses)
    usual = _usual_pivots(mechanism.tree, tables, np.array(poses[:MOST_POSES]))
    return LoopProgram(
        LoopStates(mechanism.tree, tables), np.array(chosen.kept, dtype=np.int64), at.rank, usual
    )


def soften(mechanism: Mechanism, tables: LoopTables, chosen: ChosenRows, poses: list[Array]) -> None:
    """Mark groups of rows that are redundant in turn, with what is taken from their diagonals.

    A share of the mean diagonal of J M^-1 J^T, of all rows of one type of a cut joint: it does not depend on
    their directions there.
    """
    group = np.array(chosen.group)
    soft, rows = np.flatnonzero(group >= 0), loop_rows(mechanism)
    if not len(soft):
        return
    some = np.array(poses[:MOST_POSES])
    J, M = constraints(mechanism, some).J, MASS_MATRIX.of(mechanism.opened(), some)
    size = np.einsum("pij,pji->pi", J, np.linalg.solve(M, np.swapaxes(J, -1, -2))).mean(axis=0)
    same = rows.loop_of_row * 3 + rows.type
    mean = np.array([size[same == k].mean() for k in same])
    start = ROW.places["unknown"][0]
    words = tables.tables["rows"].view(np.int64)
    words[: len(group), ROW.places["group"][0]] = group
    places = words[soft, start]
    tables.tables["pivots"][places, PIVOT.places["soft"][0]] = SOFT * mean[np.array(chosen.kept)[soft]]
    tables.tables["pivots"].view(np.int64)[places, PIVOT.places["is_soft"][0]] = 1
    owner = np.repeat(np.arange(len(chosen.spare)), chosen.spare)
    starts = np.zeros((len(owner), tables.n_rows))
    starts[:, : len(group)] = np.random.default_rng(0).standard_normal((len(owner), len(group)))
    starts[:, : len(group)][owner[:, None] != group] = 0.0
    tables.tables["starts"] = layout_rows(START, starts.size, v=starts.ravel())
    tables.tables["owners"] = layout_rows(OWNER, len(owner), group=owner)
    tables.n_groups = len(chosen.spare)


def _plain_program(mechanism: Mechanism) -> LoopProgram | None:
    """The program of all rows that are not zero by structure; None if some of them are redundant.

    Nothing in it costs more than the entries that there are, so that it suits thousands of loops.
    """
    rows, tree = loop_rows(mechanism), mechanism.tree
    present, motion = random_motion(rows, list(range(rows.n_rows)))
    kept = [k for k, axes in enumerate(present) if axes]
    draft = _cheapest(Draft(rows, kept, [present[k] for k in kept], motion))
    tables = draft.tables()
    poses = _closed_poses(mechanism, LoopStates(tree, tables))
    if len(poses) < FEWEST_POSES:
        return None
    FORWARD.of(mechanism.opened(), poses[0], 0.0 * poses[0], 0.0 * poses[0])
    usual = _usual_pivots(tree, tables, poses)
    states = LoopStates(tree, tables)
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


class ChosenRows(NamedTuple):
    """Rows that imply all others, in their order; the group of each, -1 where no other row depends on it.

    ``spare`` of each group: how many of its rows are redundant at every pose.
    """

    kept: list[int]
    group: list[int]
    spare: list[int]


def chosen_rows(mechanism: Mechanism, poses: list[Array], rank: int) -> ChosenRows:
    """Rows that imply all others at every pose.

    Rows whose combinations with J^T u = 0 are the same at all poses are left out. Where these combinations
    change from pose to pose, as in spatial loops that move thanks to special lengths, no choice is good
    everywhere: more rows than their rank are kept, as a group. Loops whose rows share no coordinate are
    separate.
    """
    J = constraints(mechanism, np.array(poses)).J
    if rank == J.shape[1]:
        return ChosenRows(list(range(rank)), [-1] * rank, [])
    kept, group, spare = list[int](), list[int](), list[int]()
    for rows, columns in _parts(J):
        part = J[:, rows][:, :, columns]
        least = min(_rank(x) for x in part)
        every = np.concatenate(list(part), axis=1)
        most = _rank(every)
        kept += [int(rows[k]) for k in independent_rows(every, most)]
        group += [len(spare) if most > least else -1] * most
        spare += [most - least] if most > least else []
    order = np.argsort(kept)
    return ChosenRows([kept[k] for k in order], [group[k] for k in order], spare)


def _rank(J: Array) -> int:
    size = np.linalg.svd(J, compute_uv=False)
    return int((size > VARYING * size[0]).sum())


def _parts(J: Array) -> list[tuple[Integers, Integers]]:
    """Rows and columns of J, (poses, rows, n), that share no entries with others, in pairs."""
    present = np.abs(J).max(axis=0) > PRESENT
    n_rows = len(present)
    graph = scipy.sparse.bmat([[None, present], [present.T, None]])
    count, label = csgraph.connected_components(graph, directed=False)
    found = [(np.flatnonzero(label[:n_rows] == k), np.flatnonzero(label[n_rows:] == k)) for k in range(count)]
    return [(rows, columns) for rows, columns in found if len(rows) and len(columns)]


def _near(mechanism: Mechanism, at: RegularPose) -> list[Array]:
    """The pose and some closed ones around it at which the loops have the same rank."""
    free = np.linalg.svd(at.J)[2][at.rank :]
    poses, every = [at.q], np.ones(mechanism.n_dof, dtype=bool)
    for direction in free:
        for step in (-0.7, -0.3, 0.3, 0.7):
            pose, gap = closest(mechanism, at.q + step * direction, every)
            if is_closed(mechanism, gap) and _is_usual(mechanism, pose, at.rank):
                poses.append(pose)
    return poses


def _is_usual(mechanism: Mechanism, q: Array, rank: int) -> bool:
    """Whether the loops have a rank at a pose, and no singular value could be counted otherwise."""
    size = np.linalg.svd(constraints(mechanism, q).J, compute_uv=False)
    share = np.append(size, 0.0) / size[0]
    return bool(share[rank - 1] > VARYING and share[rank] <= 0.01 * VARYING)


def _cheapest(draft: Draft) -> Draft:
    """The draft, or the one with segments that needs fewest operations."""
    rows = draft.rows
    if longest_path(rows.tree) <= SHORT or rows.tree.coupling is not None:
        return draft
    drafts = [draft] + [Draft(rows, draft.kept, draft.present, draft.motion, depth) for depth in DEPTHS]
    return min(drafts, key=lambda some: operations(some.pattern(), some.n_motions))


def _usual_pivots(tree: Tree, tables: LoopTables, q: Array) -> Array:
    """The largest size that each pivot of a row has among some poses, which the tables get to know.

    Pivots of a group are those of the pose at which their product is largest.
    """
    q = all_axes(tree, q)
    rest = np.zeros_like(q)
    pivots = LoopStates(tree, tables).answer(q, rest, rest).pivot
    found = pivots.max(axis=0)
    words = tables.tables["rows"].view(np.int64)[: tables.n_loop_rows]
    group = words[:, ROW.places["group"][0]]
    for k in range(tables.n_groups):
        own = group == k
        with np.errstate(divide="ignore"):
            best = int(np.log(pivots[:, own]).sum(axis=1).argmax())
        found[own] = pivots[best, own]
    usual: Array = np.where(found > 0.0, found, 1.0)
    places = words[:, ROW.places["unknown"][0]]
    tables.tables["pivots"][places, PIVOT.places["usual"][0]] = usual
    return usual
