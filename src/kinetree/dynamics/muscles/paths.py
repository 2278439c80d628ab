"""Lengths of muscles and their derivatives: the tables of the paths, and the calls of the machine code."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinetree.algebra.arrays import Array
from kinetree.algebra.placement import Placement
from kinetree.algebra.smooth_functions import FunctionTable, SmoothFunction
from kinetree.dynamics.axis_motion import axis_poses
from kinetree.model.body import WORLD
from kinetree.model.mechanism import Mechanism
from kinetree.model.muscle import RADII, MovingPoint, PathPoint, Wrap
from kinetree.model.tree import Tree

Integers = NDArray[np.int64]
SLACK = 1e-5  # rad or m: conditional points are active as much beyond their range, as in OpenSim
FAR = 1e9  # m: half the length of a cylinder without ends
ROOM = 19  # rows of memory of a wrap


@dataclass(frozen=True, eq=False)
class PathTables:
    """The paths of all muscles of a mechanism as arrays, in the frames of the axes; -1 becomes the world, n.

    Point y of muscle i, start[i] <= y < start[i + 1], is on ``axis`` at ``local``; it is active while the
    coordinate of axis ``gate`` is within ``condition``; ``mover`` is its row in ``laws`` (moving, 3, 2),
    function and axis for each direction, and in ``law_frame``. Muscle i uses the wraps used[i] to used[i +
    1].
    """

    names: tuple[str, ...]
    fixed: tuple[Any, ...]  # the arguments of the machine code that do not depend on the pose
    pairs: tuple[Any, ...]
    most: int  # points of a path with its points of contact
    wrap_names: tuple[str, ...]  # of the wraps used, in order
    gates: tuple[tuple[str, str], ...]  # muscles and joints of conditional points

    @property
    def n(self) -> int:
        """Number of muscles."""
        return len(self.names)


def path_tables(mechanism: Mechanism) -> PathTables:
    """The tables of a mechanism, made once and kept with its tree."""
    values = mechanism.tree.kept.values
    if path_tables not in values:
        values.setdefault(path_tables, _Rows(mechanism).tables())
    found: PathTables = values[path_tables]
    return found


class _Rows:
    """The growing lists behind the tables; used only while making them."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism, self.tree = mechanism, mechanism.tree
        self.axis_number = {name: k for k, name in enumerate(self.tree.axis_names)}
        self.start, self.used = [0], [0]
        self.axis: list[int] = []
        self.gate: list[int] = []
        self.mover: list[int] = []
        self.local: list[Array] = []
        self.condition: list[tuple[float, float]] = []
        self.laws: list[list[tuple[int, int]]] = []
        self.law_frame: list[Array] = []
        self.functions: list[SmoothFunction] = []
        self.uses: list[tuple[Wrap, range]] = []
        known = {wrap.name: wrap for wrap in mechanism.wraps}
        for muscle in mechanism.muscles:
            for point in muscle.path:
                self.add(point)
            self.start.append(len(self.axis))
            for use in muscle.wraps:
                self.uses.append((known[use.wrap], muscle.span(use)))
            self.used.append(len(self.uses))

    def place(self, body: str) -> tuple[int, Placement]:
        """The axis that carries a body, n for the world, and the body's frame in that of the axis."""
        if body == WORLD:
            return self.tree.n, Placement()
        k = self.mechanism.body_index(body)
        carried = Placement(self.tree.body_rotation[k], self.tree.body_position[k])
        axis = int(self.tree.body_axis[k])
        return (self.tree.n if axis < 0 else axis), carried

    def add(self, point: PathPoint | MovingPoint) -> None:
        """Append a point of a path."""
        axis, frame = self.place(point.body)
        self.axis.append(axis)
        gate, condition, mover = -1, (-np.inf, np.inf), -1
        if isinstance(point, MovingPoint):
            local, mover = self._moving(point, frame), len(self.laws) - 1
        else:
            local = frame.rotation @ np.array(point.position) + frame.position
            if point.active is not None:
                gate = self.axis_number[str(point.coordinate)]
                condition = (point.active[0] - SLACK, point.active[1] + SLACK)
        self.gate.append(gate)
        self.condition.append(condition)
        self.mover.append(mover)
        self.local.append(local)

    def _moving(self, point: MovingPoint, frame: Placement) -> Array:
        """The place of a moving point where all its functions are zero; its functions are appended."""
        seen = frame @ point.placement
        origin, row = seen.position.copy(), []
        for k, (law, name) in enumerate(zip(point.laws, point.coordinates, strict=True)):
            if isinstance(law, float):
                origin = origin + seen.rotation[:, k] * law
                row.append((-1, 0))
            else:
                row.append((len(self.functions), self.axis_number[str(name)]))
                self.functions.append(law)
        self.laws.append(row)
        self.law_frame.append(seen.rotation)
        return np.asarray(origin)

    def tables(self) -> PathTables:
        """The arrays."""
        muscles = self.mechanism.muscles
        functions = FunctionTable.stacked([law.table for law in self.functions]) if self.functions else None
        blank = (np.zeros((1, 0)), np.zeros((1, 1)), np.zeros((1, 1, 1)))
        table = blank if functions is None else (functions.breaks, functions.centers, functions.coefficients)
        fixed = (
            *map(_integers, (self.start, self.axis, self.gate, self.mover)),
            _floats(self.local, (-1, 3)),
            _floats(self.condition, (-1, 2)),
            _integers(self.laws).reshape(-1, 3, 2),
            _floats(self.law_frame, (-1, 3, 3)),
            *(np.array(x) for x in table),
            _integers(self.used),
            *self._wraps(),
        )
        lengths = [len(x.path) + 2 * len(x.wraps) for x in muscles]
        gates = tuple(
            (muscle.name, str(point.coordinate))
            for muscle in muscles
            for point in muscle.path
            if isinstance(point, PathPoint) and point.active is not None
        )
        names = tuple(x.name for x in muscles)
        wraps = tuple(wrap.name for wrap, _ in self.uses)
        return PathTables(
            names, fixed, _pairs(self.tree, self._together()), max(lengths, default=2), wraps, gates
        )

    def _wraps(self) -> tuple[Any, ...]:
        """kinds, axes, sides (axis, sign), ranges of points, radii with the half length, frames."""
        kinds, axes, sides, ranges, radii, frames = [], [], [], [], [], []
        for wrap, span in self.uses:
            axis, frame = self.place(wrap.body)
            seen = frame @ wrap.placement
            kinds.append(list(RADII).index(wrap.shape))
            axes.append(axis)
            sides.append(
                (-1, 1)
                if wrap.side is None
                else ("xyz".index(wrap.side[1]), 1 if wrap.side[0] == "+" else -1)
            )
            ranges.append((span.start, span.stop - 1))
            half = FAR if wrap.length is None else 0.5 * wrap.length
            radii.append([*wrap.radii, *[0.0] * (3 - len(wrap.radii)), half])
            frames.append(np.vstack([seen.rotation, seen.position]))
        shaped = _integers(sides).reshape(-1, 2), _integers(ranges).reshape(-1, 2)
        return (
            _integers(kinds),
            _integers(axes),
            *shaped,
            _floats(radii, (-1, 4)),
            _floats(frames, (-1, 4, 3)),
        )

    def _together(self) -> set[tuple[int, int]]:
        """Axes that straight pieces may go between."""
        found: set[tuple[int, int]] = set()
        carriers = [self.place(wrap.body)[0] for wrap, _ in self.uses]
        for i in range(len(self.start) - 1):
            own = {*self.axis[self.start[i] : self.start[i + 1]], *carriers[self.used[i] : self.used[i + 1]]}
            found |= {(a, b) for a in own for b in own}
        return found


def _pairs(tree: Tree, together: set[tuple[int, int]]) -> tuple[Any, ...]:
    """For pairs of axes those that move one of them only: number (n + 1, n + 1), start, axis, sign."""
    number = np.zeros((tree.n + 1, tree.n + 1), dtype=np.int64)
    start, axis, sign = [0, 0], [], []
    chains = [_chain(tree, a) for a in range(tree.n)] + [set()]
    for a, b in sorted(together):
        number[a, b] = len(start) - 1
        for own, direction in ((chains[b] - chains[a], 1.0), (chains[a] - chains[b], -1.0)):
            axis += sorted(own)
            sign += [direction] * len(own)
        start.append(len(axis))
    return tree.turns.copy(), number, _integers(start), _integers(axis), _floats(sign, (-1,))


def _chain(tree: Tree, axis: int) -> set[int]:
    found = set()
    while axis >= 0:
        found.add(axis)
        axis = int(tree.parent[axis])
    return found


def _integers(values: Sequence[Any]) -> Integers:
    return np.ascontiguousarray(np.array(values, dtype=np.int64))


def _floats(values: Sequence[Any], shape: tuple[int, ...]) -> Array:
    return np.ascontiguousarray(np.array(values, dtype=np.float64).reshape(shape))


@dataclass(frozen=True, eq=False)
class PathGeometry:
    """Lengths (m, k), their derivatives by the coordinates (m, k, n_dof), and states (m, k) of muscles."""

    length: Array
    slope: Array
    state: Integers


def path_geometry(mechanism: Mechanism, q: Array) -> PathGeometry:
    """Lengths of all muscles and their derivatives at poses q (m, n_dof)."""
    tree, tables = mechanism.tree, path_tables(mechanism)
    axes = q if tree.coupling is None else tree.coupling.at(q)
    rotation, position = axis_poses(tree, axes)
    spread, slope, G = _leaders(tree, q)
    count = tree.n if G is not None else tree.n_dof
    m, k = len(q), tables.n
    L, A, state = np.empty((m, k)), np.empty((m, k, count)), np.empty((m, k), dtype=np.int64)
    run = compiled("paths")
    memory = (*_memory(tables), np.empty(tree.n))
    run(
        rotation,
        position,
        np.ascontiguousarray(axes),
        *tables.fixed,
        *tables.pairs,
        spread,
        slope,
        *memory,
        L,
        A,
        state,
    )
    return PathGeometry(L, A if G is None else A @ G, state)


def _leaders(tree: Tree, q: Array) -> tuple[Integers, Array, Array | None]:
    """The coordinate of each axis and its slope (m, n); where axes follow several, all slopes apart."""
    if tree.coupling is None:
        return np.arange(tree.n), np.ones((len(q), tree.n)), None
    G = tree.coupling.slopes(q)
    if tree.coupling.has_several.any():
        return np.arange(tree.n), np.ones((len(q), tree.n)), G
    leader = np.array(tree.coupling.leader)
    slope = np.broadcast_to(G[..., np.arange(tree.n), leader], (len(q), tree.n))
    return leader, np.array(slope, order="C"), None


def _memory(tables: PathTables) -> tuple[Any, ...]:
    """Points, marks, lengths of arcs of one path, and room for a wrap."""
    most = tables.most + 2
    return np.empty((most, 3)), np.empty((most, 4), dtype=np.int64), np.empty(most), np.zeros((ROOM, 3))


def polylines(mechanism: Mechanism, q: Array) -> list[tuple[Array, Integers]]:
    """The points of each path at one pose q (n_dof,), (n, 3), and the numbers of their wraps, -1: none."""
    tree, tables = mechanism.tree, path_tables(mechanism)
    axes = np.ascontiguousarray((q if tree.coupling is None else tree.coupling.at(q))[None])
    rotation, position = axis_poses(tree, axes)
    X, *rest = _memory(tables)
    k = tables.n
    out, count = np.zeros((k, len(X), 3)), np.zeros(k, dtype=np.int64)
    owner = np.zeros((k, len(X)), dtype=np.int64)
    compiled("polylines")(rotation, position, axes, *tables.fixed, X, *rest, out, count, owner)
    return [(out[i, :n], owner[i, :n]) for i, n in enumerate(count)]


def axis_wrenches(mechanism: Mechanism, q: Array, force: Array) -> tuple[Array, Array]:
    """What muscles that pull with forces (m, k) do to the axes and the world, (m, n + 1, 6) in world axes.

    Moments are about the origins of the axes, (m, n + 1, 3), which are returned, too.
    """
    tree, tables = mechanism.tree, path_tables(mechanism)
    axes = np.ascontiguousarray(q if tree.coupling is None else tree.coupling.at(q))
    rotation, position = axis_poses(tree, axes)
    out = np.empty((len(q), tree.n + 1, 6))
    run = compiled("wrenches")
    run(rotation, position, axes, *tables.fixed, *_memory(tables), np.ascontiguousarray(force), out)
    return out, position


LETTERS = {  # r: (m, n + 1, 3, 3), f: floats, i: integers, b: flags, each with its number of axes
    "paths": "r4 f3 f2 i1 i1 i1 i1 f2 f2 i3 f3 f2 f2 f3 i1 i1 i1 i2 i2 f2 f3 b1 i2 i1 i1 f1 i1 f2 f2 i2 f1 "
    "f2 f1 f2 f3 i2",
    "wrenches": "r4 f3 f2 i1 i1 i1 i1 f2 f2 i3 f3 f2 f2 f3 i1 i1 i1 i2 i2 f2 f3 f2 i2 f1 f2 f2 f3",
    "polylines": "r4 f3 f2 i1 i1 i1 i1 f2 f2 i3 f3 f2 f2 f3 i1 i1 i1 i2 i2 f2 f3 f2 i2 f1 f2 f3 i1 i2",
}


@functools.cache
def compiled(name: str) -> Callable[..., None]:
    """Machine code of a function of `machine.paths`."""
    from kinetree.dynamics.muscles.machine import paths
    from kinetree.engine.door import BOOLEAN, FLOAT, INTEGER, array_type, compiled_function

    kinds = {"r": FLOAT, "f": FLOAT, "i": INTEGER, "b": BOOLEAN}
    signature = [array_type(kinds[letter[0]], int(letter[1])) for letter in LETTERS[name].split()]
    return compiled_function(getattr(paths, name), signature, f"muscles-{name}")
