"""The model as one table, the workspace as named fields, and how kernels run in the interpreter.

``work.w[i]`` is a number or a tuple of numbers of axis i; row -1 is the world, so roots need no special case.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.kernels.number import lanewise, sign, sincos
from kinetree.kernels.tree_columns import (
    carriers_and_turns,
    gross_inertia,
    last_beyond,
    leading_slides,
    places_on_the_way,
    spins,
    subtree_mass,
    tops,
)
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
from kinetree.model.tree import Tree

LANES = 4  # states that compiled kernels run at once
WORLD = -1  # parent of the roots; row -1 of every table


@dataclass(frozen=True, eq=False)
class Kernel:
    """An algorithm: its function, its workspace, how many rows of numbers it reads and writes.

    ``function(tree, work, *scratch, [out,] *inputs, *outputs)``. ``entries`` lays out packed results: one
    row per pair of an axis and its ancestor, or, if ``square``, per entry of an n x n matrix, or in any other
    order that ``rows(tree)`` counts; ``scratch`` are packed intermediate results, by pairs. ``targets``
    tell which entry goes into which full matrix, transposed or not; or ``places(tree)`` tells, for
    any full arrays, which packed number each entry is (see `full_places`).

    For direct calls and single states: outputs have ``output_widths`` numbers per axis, inputs one per axis
    or, where ``input_sizes`` are not 0, as many. ``suspicion(tree, work, *outputs)`` is zero where the answer
    can be trusted.
    """

    function: Callable[..., None]
    slots: Layout
    inputs: int
    outputs: int
    entries: Layout | None = None
    scratch: tuple[Layout, ...] = ()
    targets: tuple[tuple[int, int, bool], ...] = ()
    square: bool = False
    rows: Callable[[Tree], int] | None = None
    places: Callable[[Tree], Any] | None = None
    output_widths: tuple[int, ...] | None = None
    input_sizes: tuple[int, ...] | None = None
    suspicion: Callable[..., Any] | None = None

    @property
    def name(self) -> str:
        """Name of the algorithm."""
        return self.function.__name__

    @property
    def n_matrices(self) -> int:
        """How many full matrices its packed results make."""
        return 1 + max((matrix for _, matrix, _ in self.targets), default=-1)

    def n_packed(self, tree: Tree) -> int:
        """How many rows its packed results have for a tree; counted once."""
        key = "rows of", self
        if key not in tree.memo:
            by_pairs = self.rows is None and not self.square
            tree.memo[key] = n_pairs(tree) if by_pairs else self.rows(tree) if self.rows else tree.n**2
        rows: int = tree.memo[key]
        return rows


class Layout:
    """Named fields of one row: ``Layout(w=3, f=3, parent=int)``; row -1 (the world) exists if world.

    ``constant`` rows are never written by kernels; ``streamed`` ones are written past the caches, for
    results too large to stay in them.
    """

    def __init__(self, world=True, constant=False, streamed=False, **fields):
        self.fields, self.world, self.constant, self.streamed = fields, world, constant, streamed
        self.width = 0
        self.places: dict[str, tuple[int, int, bool]] = {}
        for name, count in fields.items():
            self.places[name] = (self.width, 1 if count is int else count, count is int)
            self.width += self.places[name][1]
        self.key = repr((world, constant, streamed, self.places))

    def as_streamed(self) -> Layout:
        """The same fields, written past the caches."""
        return Layout(self.world, self.constant, True, **self.fields)


TREE = Layout(
    constant=True,
    # read by every algorithm: kept together, so that few cache lines are touched
    parent=int,  # of the world row: the number of axes
    revolute=int,
    massive=int,
    offset=int,
    passive=int,
    place=int,  # row for what only the axis and its children need
    beyond=int,  # the same if something lies beyond, else the world's
    opens=int,  # whether it is the last child of its parent: the first of them on the way inward
    R=9,
    p=3,
    m=1,
    h=3,
    S=6,
    armature=1,
    subtree_m=1,
    # read by some
    axis=int,  # its own number
    top=int,  # from the axis to here numbers fall by one from child to parent
    first=int,  # place of (i, i) among the pairs of an axis and its ancestors
    carries=int,  # whether a body, not only further axes, hangs on the axis
    sliding=int,  # of the world row: how many axes slide before anything turns or branches
    last=int,  # no axis with a larger number lies beyond
    spins=int,  # whether points of what it carries are asked for: a body's, or where a child sits
    reached=int,  # whether the axis moves the body in question; of the world row: the axis that carries it
    gravity=3,
    viscous=1,
    coulomb=1,
    stiffness=1,
    rest=1,
    gross=1,
    B=9,  # orientation of the body that the axis carries, in the frame of the axis
)


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
    """Sine and cosine of every turning axis, which `placement` and `place_axis` look up.

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
    the place where the base is now: the first axis' origin, after all sliding axes that lead to it.
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
    """What spring and friction ask of the drive: k (q - rest) + viscous qd + coulomb sign(qd)."""
    return tree.stiffness[i] * (q - tree.rest[i]) + tree.viscous[i] * qd + tree.coulomb[i] * sign(qd)


# ---- the same memory in the interpreter --------------------------------------------------------------
class Fields:
    """Rows of a layout over an array (rows, width, ...)."""

    def __init__(self, layout, array):
        for name, (start, count, integer) in layout.places.items():
            data = array.view(np.int64) if integer else array
            setattr(self, name, Field(data[:, start : start + count], int(layout.world)))


class Field:
    """One named column of rows: ``field[i]`` is a number or a tuple of numbers."""

    def __init__(self, data, first):
        self.data, self.first = data, first

    def __getitem__(self, i):
        row = self.data[i + self.first]
        numbers = tuple(np.copy(row)) if row.ndim > 1 or row.dtype == object else tuple(row.tolist())
        return numbers if len(numbers) > 1 else numbers[0]

    def __setitem__(self, i, value):
        row = self.data[i + self.first]
        for k, x in enumerate(value if len(row) > 1 else (value,)):
            row[k] = x


# ---- tables ---------------------------------------------------------------------------------------------
def tree_table(tree: Tree) -> Array:
    """Model constants in one array of shape (n + 1, width), row 0 the world; made once per tree."""
    if "table" not in tree.memo:
        tree.memo["table"] = _new_table(tree)
    table: Array = tree.memo["table"]
    return table


def aimed_tree(tree: Tree, body: int) -> Tree:
    """The same tree for algorithms that ask about one body; made once for each.

    Its table marks the axes that move the body; the world row has the axis that carries it and its placement
    there.
    """
    key = "aimed at", body
    if key not in tree.memo:
        table, (start, _, _) = cleared(*tree_table(tree).shape), TREE.places["reached"]
        table[:] = tree_table(tree)
        marks, axis = table.view(np.int64)[:, start], int(tree.body_axis[body])
        marks[0], i = axis, axis
        while i != WORLD:
            marks[i + 1], i = 1, int(tree.parent[i])
        for name, values in (("B", tree.body_rotation[body].ravel()), ("p", tree.body_position[body])):
            start, count, _ = TREE.places[name]
            table[0, start : start + count] = values
        new = replace(tree)
        new.memo["table"] = table
        tree.memo[key] = new
    aimed: Tree = tree.memo[key]
    return aimed


def aligned(*shape: int) -> Array:
    """Memory on a cache-line boundary, not cleared: kernels write before they read."""
    size = math.prod(shape)
    memory = np.empty(size + 8)
    start = (-memory.__array_interface__["data"][0] // 8) % 8
    return memory[start : start + size].reshape(shape)


def cleared(*shape: int) -> Array:
    """The same, all zero."""
    memory = aligned(*shape)
    memory[:] = 0.0
    return memory


def _new_table(tree: Tree) -> Array:
    n = tree.n
    S = tree.second_moment.reshape(n, 9)
    carriers, orientation = carriers_and_turns(tree)
    columns = {
        "parent": tree.parent,
        "revolute": tree.turns,
        "massive": tree.massive,
        "offset": ~tree.turns | (tree.position != 0).any(axis=1),
        "passive": tree.passive,
        "carries": carriers,
        "axis": np.arange(n),
        "top": tops(tree),
        **places_on_the_way(tree),
        "first": _first_pairs(tree),
        "sliding": np.zeros(n),
        "last": last_beyond(tree),
        "reached": np.zeros(n),
        "spins": spins(tree),
        "R": tree.rotation,
        "p": tree.position,
        "m": tree.mass,
        "h": tree.first_moment,
        "S": S[:, [0, 1, 2, 4, 5, 8]],
        "subtree_m": subtree_mass(tree),
        "gross": gross_inertia(tree),
        "B": orientation,
        "gravity": np.tile(tree.gravity, (n, 1)),
        **{key: getattr(tree, key) for key in ("armature", "viscous", "coulomb", "stiffness", "rest")},
    }
    table = aligned(n + 1, TREE.width)
    table[:] = 0.0
    for name, (start, count, integer) in TREE.places.items():
        target = table.view(np.int64) if integer else table
        target[1:, start : start + count] = np.reshape(columns[name], (n, count))
    start = TREE.places["gravity"][0]
    table[0, start : start + 3] = tree.gravity
    table.view(np.int64)[0, TREE.places["sliding"][0]] = leading_slides(tree)
    table.view(np.int64)[0, TREE.places["parent"][0]] = n
    for name in ("axis", "place"):
        table.view(np.int64)[0, TREE.places[name][0]] = WORLD
    return table


def n_pairs(tree: Tree) -> int:
    """How many pairs of an axis and itself or an ancestor there are; counted once."""
    if "pairs" not in tree.memo:
        tree.memo["pairs"] = int(_depths(tree).sum())
    pairs: int = tree.memo["pairs"]
    return pairs


def _depths(tree: Tree) -> Any:
    """Number of ancestors of each axis, itself included."""
    depth = np.ones(tree.n, dtype=np.int64)
    for i in range(tree.n):
        if tree.parent[i] != WORLD:
            depth[i] += depth[tree.parent[i]]
    return depth


def _first_pairs(tree: Tree) -> Any:
    """Where the pairs of each axis start; the last axis comes first."""
    depth = _depths(tree)[::-1]
    return (np.cumsum(depth) - depth)[::-1]
