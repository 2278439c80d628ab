"""The model as one table: a row of constants for each axis, row -1 the world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import aligned
from kinetree.kernels.layout import Kernel, Layout
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
from kinetree.model.kept import once_per_tree
from kinetree.model.tree import WORLD_AXIS, Tree

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
    coulomb_bias=1,
    stiffness=1,
    rest=1,
    gross=1,
    B=9,  # orientation of the body that the axis carries, in the frame of the axis
)
OF_JOINTS = ("armature", "viscous", "coulomb", "coulomb_bias", "stiffness", "rest")


@dataclass(frozen=True, eq=False)
class AimedTree(Tree):
    """A tree for algorithms that ask about one body, ``aim``."""

    aim: int = 0


def column_numbers(table: Array, columns: Sequence[str]) -> Array:
    """The numbers of columns of a model table, column after column."""
    places = [TREE.places[name] for name in columns]
    return np.concatenate([table[:, start : start + width].ravel() for start, width, _ in places])


@once_per_tree
def tree_table(tree: Tree) -> Array:
    """Model constants in one array of shape (n + 1, width), row 0 the world; made once per tree.

    That of an aimed tree marks the axes that move the body; the world row has the axis that carries it and
    its placement there.
    """
    table = _new_table(tree)
    if isinstance(tree, AimedTree):
        _aim(table, tree, tree.aim)
    return table


def aimed_tree(tree: Tree, body: int) -> Tree:
    """The same tree for algorithms that ask about one body; made once for each."""
    found = tree.kept.aimed.get(body)
    if found is None:
        parts = {part.name: getattr(tree, part.name) for part in fields(tree) if part.init}
        found = tree.kept.aimed.setdefault(body, AimedTree(**parts, aim=body))
    return found


def _aim(table: Array, tree: Tree, body: int) -> None:
    """Mark what moves a body."""
    marks, axis = table.view(np.int64)[:, TREE.places["reached"][0]], int(tree.body_axis[body])
    marks[0], i = axis, axis
    while i != WORLD_AXIS:
        marks[i + 1], i = 1, int(tree.parent[i])
    for name, values in (("B", tree.body_rotation[body].ravel()), ("p", tree.body_position[body])):
        start, count, _ = TREE.places[name]
        table[0, start : start + count] = values


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
        **{key: getattr(tree, key) for key in OF_JOINTS},
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
        table.view(np.int64)[0, TREE.places[name][0]] = WORLD_AXIS
    return table


@once_per_tree
def n_pairs(tree: Tree) -> int:
    """How many pairs of an axis and itself or an ancestor there are; counted once."""
    return int(_depths(tree).sum())


def packed_rows(kernel: Kernel, tree: Tree) -> int:
    """How many rows the packed results of a kernel have for a tree."""
    if kernel.rows is not None:
        return kernel.rows(tree)
    return tree.n**2 if kernel.square else n_pairs(tree)


def _depths(tree: Tree) -> Any:
    """Number of ancestors of each axis, itself included."""
    depth = np.ones(tree.n, dtype=np.int64)
    for i in range(tree.n):
        if tree.parent[i] != WORLD_AXIS:
            depth[i] += depth[tree.parent[i]]
    return depth


def _first_pairs(tree: Tree) -> Any:
    """Where the pairs of each axis start; the last axis comes first."""
    depth = _depths(tree)[::-1]
    return (np.cumsum(depth) - depth)[::-1]
