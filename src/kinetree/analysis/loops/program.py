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
from kinetree.analysis.kinematics import AxisMotion
from kinetree.analysis.loops.assembly import LONGEST_STEP, closest, is_closed
from kinetree.analysis.loops.compiled import LoopStates
from kinetree.analysis.loops.elimination import Program, elimination, operations
from kinetree.analysis.loops.rows import DIRECTION, LoopRows
from kinetree.analysis.loops.segments import (
    PRESENT,
    divided,
    longest_path,
    seen_from,
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
from kinetree.kernels.layout import layout_rows
from kinetree.kernels.loop import BASE, MOVE, TURN
from kinetree.kernels.loop_table import (
    BELOW,
    CUT,
    ENTRY,
    LINK,
    PIVOT,
    PLACE,
    ROW,
    SEGMENT,
    TARGET,
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
PATTERN_POSES = 4
MOST_POSES = 5
LARGE = 50  # coordinates from which on dense algebra is avoided
FEWEST_POSES = 3  # at which the rows of a mechanism without redundant ones have all their pivots
WIDTHS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)  # of random starts around zero
STEPS = 60  # of the search for closed poses from there
CLOSED_POSE = 1e-11  # gap of a pose that counts as closed, beside the mechanism's size
UNUSUAL = 1e-7  # share of its usual size below which a pivot tells of a redundant row or a singular pose
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
    draft = _cheapest(_Draft(rows, kept, *_random_motion(rows, kept)))
    states = LoopStates(mechanism.tree, draft.tables())
    usual = _usual_pivots(states, np.array(poses[:MOST_POSES]))
    return LoopProgram(states, np.array(kept, dtype=np.int64), rank, usual)


def _plain_program(mechanism: Mechanism) -> LoopProgram | None:
    """The program of all rows that are not zero by structure; None if some of them are redundant.

    Nothing in it costs more than the entries that there are, so that it suits thousands of loops.
    """
    rows, tree = loop_rows(mechanism), mechanism.tree
    present, motion = _random_motion(rows, list(range(rows.n_rows)))
    kept = [k for k, axes in enumerate(present) if axes]
    draft = _cheapest(_Draft(rows, kept, [present[k] for k in kept], motion))
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


def _random_motion(rows: LoopRows, kept: list[int]) -> tuple[list[set[int]], AxisMotion]:
    """The axes of each row's entries, and where all axes are at random poses with open loops."""
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (PATTERN_POSES, rows.tree.n))
    motion = rows.motion(q)
    row, axis, values = rows.jacobian_entries(motion, rows.cut_motion(motion))
    present: list[set[int]] = [set() for _ in range(rows.n_rows)]
    for k in np.flatnonzero(np.abs(values).max(axis=0, initial=0.0) > PRESENT):
        present[row[k]].add(int(axis[k]))
    return [present[k] for k in kept], motion


def _cheapest(draft: _Draft) -> _Draft:
    """The draft, or the one with segments that needs fewest operations."""
    rows = draft.rows
    if longest_path(rows.tree) <= SHORT or rows.tree.coupling is not None:
        return draft
    drafts = [draft] + [_Draft(rows, draft.kept, draft.present, draft.motion, depth) for depth in DEPTHS]
    return min(drafts, key=lambda some: operations(some.pattern(), some.n_motions))


class _Draft:
    """Unknowns, entries and places of a mechanism's loops, for one division into segments."""

    def __init__(
        self, rows: LoopRows, kept: list[int], present: list[set[int]], motion: AxisMotion, depth: int = 0
    ) -> None:
        self.rows, self.kept, self.present, self.motion = rows, kept, present, motion
        self.segments = divided(rows, depth, motion)
        self.unknown_of_axis, self.ratio = _unknowns_of_axes(rows.tree)
        n = rows.tree.n_dof
        self.base: list[list[int]] = []  # unknowns of each segment's motion, -1 where it cannot move
        for moves in self.segments.moves:
            self.base.append([])
            for can in moves:
                self.base[-1].append(n if can else -1)
                n += int(can)
        self.n_motions = n
        self.ties = [(k, c) for k, moves in enumerate(self.segments.moves) for c in range(BASE) if moves[c]]
        self.n_unknowns = n + len(kept) + len(self.ties)
        self.entries = [self._loop_entries(k) for k in range(len(kept))]
        self.entries += [self._tie_entries(k, c) for k, c in self.ties]
        self._find_spares()

    # ---- entries of rows: axes with signs, then segments with the directions that count ----------------
    def _loop_entries(self, k: int) -> tuple[dict[int, float], dict[int, tuple[float, list[int]]]]:
        loop = self.rows.loop_of_row[self.kept[k]]
        axes: dict[int, float] = {}
        bases: dict[int, tuple[float, list[int]]] = {}
        for axis, sign in ((int(self.rows.axis_B[loop]), 1.0), (int(self.rows.axis_A[loop]), -1.0)):
            path, segment = self.segments.path(axis)
            for j in path:
                axes[j] = axes.get(j, 0.0) + sign
            if segment >= 0:
                before = bases.get(segment, (0.0, []))[0]
                bases[segment] = (before + sign, self._moving(segment))
        axes = {j: sign * self.ratio[j] for j, sign in axes.items() if sign and j in self.present[k]}
        return axes, {g: found for g, found in bases.items() if found[0]}

    def _tie_entries(self, k: int, c: int) -> tuple[dict[int, float], dict[int, tuple[float, list[int]]]]:
        axis = int(self.segments.axis[k])
        path, above = self.segments.path(axis)
        felt = np.abs(seen_from(self.rows.tree, self.motion, axis)[..., c]).max(axis=0) > PRESENT
        bases = {k: (1.0, [c])}
        if above >= 0:
            turns = [d for d in range(3) if c >= 3 and d != c - 3]
            bases[above] = (-1.0, [d for d in (*turns, c) if self.segments.moves[above, d]])
        return {j: -1.0 for j in path if felt[j]}, bases

    def _moving(self, segment: int) -> list[int]:
        return [int(c) for c in np.flatnonzero(self.segments.moves[segment])]

    def _find_spares(self) -> None:
        """Rows without multipliers, by cut: those of the loops, then cosines between frames."""
        rows, kept = self.rows, set(self.kept)
        self.is_facing: list[bool] = []
        columns: list[tuple[int, Array, Array, float]] = []
        self.first_spare, self.spares = [], []
        for c, loop in enumerate(rows.loops):
            self.first_spare.append(len(columns))
            for row in np.flatnonzero(rows.loop_of_row == c).tolist():
                if row not in kept:
                    self.is_facing.append(False)
                    columns.append((int(rows.type[row]), rows.e[row], rows.f[row], float(rows.constant[row])))
            turning = [a for a, turn in zip(loop.joint.axes, loop.joint.turns, strict=True) if turn]
            axes = list(np.eye(3)) if not turning else turning if len(turning) == 1 else []
            for axis in axes if loop.length is None else []:
                self.is_facing.append(True)
                columns.append((DIRECTION, np.asarray(axis), np.asarray(axis), 0.0))
            self.spares.append(len(columns) - self.first_spare[-1])
        self.spare_columns = columns

    # ---- pattern and tables ------------------------------------------------------------------------------
    def pattern(self) -> list[set[int]]:
        """Which unknowns share an entry: motions, then rows."""
        found: list[set[int]] = [{i} for i in range(self.n_unknowns)]

        def share(i: int, j: int) -> None:
            found[i].add(j)
            found[j].add(i)

        for i in range(self.rows.tree.n):
            path, segment = self.segments.path(i)
            for j in path:
                share(self.unknown_of_axis[i], self.unknown_of_axis[j])
            for base in self.base[segment] if segment >= 0 else []:
                if base >= 0:
                    share(self.unknown_of_axis[i], base)
        for bases in self.base:
            for a in bases:
                for b in bases:
                    if a >= 0 and b >= 0:
                        share(a, b)
        for k, (axes, segments) in enumerate(self.entries):
            row = self.n_motions + k
            for j in axes:
                share(row, self.unknown_of_axis[j])
            for g, (_, directions) in segments.items():
                for c in directions:
                    share(row, self.base[g][c])
        return found

    def tables(self) -> LoopTables:
        """Rows of the layouts of `kernels.loop_table`."""
        program, rows, n_loop = elimination(self.pattern(), self.n_motions), self.rows, len(self.kept)
        row_columns, entries = self._row_columns(program)
        loop_of, cuts = rows.loop_of_row[self.kept], range(len(rows.loops))
        places, first_own = self._places(program)
        is_loop = np.zeros(self.n_unknowns, dtype=np.int64)
        is_loop[program.place[self.n_motions : self.n_motions + n_loop]] = 1
        is_motion = np.zeros(self.n_unknowns, dtype=np.int64)
        is_motion[program.place[: self.n_motions]] = 1
        after = n_loop + len(self.ties)
        owner = np.array([k for k, _ in self.ties], dtype=np.int64)
        mass = self._masses()
        tables = {
            "cuts": layout_rows(
                CUT,
                len(rows.loops),
                axis_a=rows.axis_A,
                axis_b=rows.axis_B,
                first=np.array([int((loop_of < c).sum()) for c in cuts]),
                size=np.array([int((loop_of == c).sum()) for c in cuts]),
                first_spare=after + np.array(self.first_spare),
                spares=np.array(self.spares),
                Ra=rows.rotation_A.reshape(-1, 9),
                pa=rows.position_A,
                Rb=rows.rotation_B.reshape(-1, 9),
                pb=rows.position_B,
            ),
            "rows": row_columns,
            "entries": entries,
            "links": layout_rows(
                LINK,
                rows.tree.n,
                parent=self.segments.parent,
                segment=self.segments.segment,
                unknown=program.place[self.unknown_of_axis],
                ratio=self.ratio,
                m=mass[0],
            ),
            "segments": layout_rows(
                SEGMENT,
                self.segments.count,
                axis=self.segments.axis,
                place=first_own,
                first=n_loop + np.searchsorted(owner, np.arange(self.segments.count)),
                ties=self.segments.moves.sum(axis=1),
                m=mass[1],
            ),
            "places": places,
            "pivots": layout_rows(
                PIVOT, self.n_unknowns, below=program.counts, multiplier=is_loop, motion=is_motion, usual=1.0
            ),
            "targets": layout_rows(TARGET, len(program.targets), slot=program.targets),
            "below": layout_rows(BELOW, len(program.below), unknown=program.below),
        }
        return LoopTables(tables, after, n_loop, program.n_slots)

    def _row_columns(self, program: Program) -> tuple[Array, Array]:
        """The tables of rows and of their entries."""
        rows, entries = self.rows, list[tuple[int, int, int, float]]()
        first, size, groups = [], [], []
        for k, (axes, segments) in enumerate(self.entries):
            row = self.n_motions + k
            first.append(len(entries))
            size.append(len(axes))
            groups.append(len(segments))
            for j, sign in sorted(axes.items()):
                u = int(self.unknown_of_axis[j])
                entries.append((j, program.entry(row, u), int(program.place[u]), sign))
            for g, (sign, directions) in sorted(segments.items()):
                for c, u in enumerate(self.base[g]):
                    if c in directions:
                        entries.append((g, program.entry(row, u), int(program.place[u]), sign))
                    else:
                        entries.append((g, program.idle, 0, 0.0))
        unit, count = np.eye(3), len(self.entries)
        tied = [(TURN if c < 3 else MOVE, unit[c % 3], unit[c % 3], 0.0) for _, c in self.ties]
        columns = [(int(rows.type[r]), rows.e[r], rows.f[r], float(rows.constant[r])) for r in self.kept]
        every = columns + tied + self.spare_columns
        idle = len(every) - count
        kinds, e, f, constant = (np.array(x) for x in zip(*every, strict=True))
        table = layout_rows(
            ROW,
            len(every),
            type=kinds,
            first=np.array(first + [0] * idle),
            size=np.array(size + [0] * idle),
            bases=np.array(groups + [0] * idle),
            unknown=np.concatenate([program.place[self.n_motions :], np.zeros(idle, dtype=np.int64)]),
            facing=np.array([0] * count + [int(x) for x in self.is_facing]),
            e=e,
            f=f,
            c=constant,
        )
        axis, slot, pivot, sign_ = (np.array(x) for x in zip(*entries, strict=True))
        return table, layout_rows(ENTRY, len(entries), axis=axis, slot=slot, pivot=pivot, sign=sign_)

    def _places(self, program: Program) -> tuple[Array, Integers]:
        """Slots of M in the order of the kernel, and where those of the segments' own motions begin."""
        slots, factors = list[int](), list[float]()

        def put(i: int, j: int, factor: float) -> None:
            is_idle = i < 0 or j < 0
            slots.append(program.idle if is_idle else program.entry(i, j))
            factors.append(0.0 if is_idle else factor)

        for i in range(self.rows.tree.n):
            path, segment = self.segments.path(i)
            u = int(self.unknown_of_axis[i])
            for j in path:
                v = int(self.unknown_of_axis[j])
                both = 2.0 if u == v and i != j else 1.0
                put(u, v, both * self.ratio[i] * self.ratio[j])
            for base in self.base[segment] if segment >= 0 else []:
                put(u, base, self.ratio[i])
        first = []
        for bases in self.base:
            first.append(len(slots))
            for a in range(BASE):
                for b in range(a, BASE):
                    put(bases[a], bases[b], 1.0)
        table = layout_rows(PLACE, len(slots), slot=np.array(slots), factor=np.array(factors))
        return table, np.array(first, dtype=np.int64)

    def _masses(self) -> tuple[Array, Array]:
        """Masses of all beyond each axis in its segment, and of each segment."""
        tree = self.rows.tree
        mass = np.array(tree.mass)
        mass[self.segments.axis] *= 0.5
        total = mass[self.segments.axis]
        for i in range(tree.n - 1, -1, -1):
            up, segment = int(self.segments.parent[i]), int(self.segments.segment[i])
            if up >= 0:
                mass[up] += mass[i]
            elif segment >= 0:
                total[segment] += mass[i]
        return mass, total


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


def _unknowns_of_axes(tree: Tree) -> tuple[Integers, Array]:
    """The coordinate that each axis is or follows, and the ratio."""
    if tree.coupling is None:
        return np.arange(tree.n), np.ones(tree.n)
    leader = np.argmax(np.abs(tree.coupling.matrix), axis=1)
    return leader, np.asarray(tree.coupling.matrix[np.arange(tree.n), leader], dtype=np.float64)
