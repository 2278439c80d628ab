"""Long chains in segments: which axes carry one, and how each axis and each row of constraints sees them.

In joint coordinates every axis shares an entry of the mass matrix with all its ancestors, and elimination
costs the cube of a chain's length. A segment gets the motion of the body that carries it as unknowns of its
own and rows that tie it there (`kernels.loop`), so that the cost grows with the length; loops within a
segment stay there. The unknowns are those of the mechanism, then the motions of segments, direction by
direction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.dynamics.axis_motion import AxisMotion
from kinetree.dynamics.loops.rows import LoopRows
from kinetree.model.tree import Flags, Integers, Tree

PRESENT = 1e-9  # entries of a pattern below this are zero by structure
LIGHT = (
    1e-3  # share of a body's moments of inertia that it must have about every direction to carry a segment
)


@dataclass(frozen=True, eq=False)
class Segments:
    """The axes that carry segments, and to which segment each axis belongs (-1: none).

    ``parent`` of each axis within its segment. ``moves`` (segments, 6) shows the world's directions in which
    a segment can move: turnings, then motions of the origin of its axis.
    """

    axis: Integers
    segment: Integers
    parent: Integers
    moves: Flags

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.axis)

    def path(self, axis: int) -> tuple[list[int], int]:
        """The axes of its segment that move a body, itself included, and the segment."""
        found = []
        segment = int(self.segment[axis]) if axis >= 0 else -1
        while axis >= 0:
            found.append(axis)
            axis = int(self.parent[axis])
        return found, segment


def divided(rows: LoopRows, depth: int, motion: AxisMotion) -> Segments:
    """Segments of about as many axes one after the other; none if ``depth`` is 0.

    ``motion`` shows where the axes are at some random poses, at which the directions are looked for.
    """
    tree = rows.tree
    carriers, number = list[int](), dict[int, int]()
    moves = list[Flags]()
    for axis in _carriers(rows, depth, motion) if depth else []:
        number[axis] = len(carriers)
        carriers.append(axis)
        moves.append(_directions(tree, motion, axis))
    segment, parent = np.full(tree.n, -1), np.array(tree.parent)
    for i in range(tree.n):
        up = int(tree.parent[i])
        if up in number:
            segment[i], parent[i] = number[up], -1
        elif up >= 0:
            segment[i] = segment[up]
    return Segments(np.array(carriers, dtype=np.int64), segment, parent, np.array(moves).reshape(-1, 6))


def seen_from(tree: Tree, motion: AxisMotion, axis: int) -> Array:
    """Turnings and motions of the origin of an axis for unit speed of every other, (poses, axes, 6)."""
    z, p = motion.rotation[..., :-1, :, 2], motion.position[..., :-1, :]
    v = np.where(tree.turns[:, None], np.cross(z, p[:, axis : axis + 1] - p), z)
    return np.concatenate([np.where(tree.turns[:, None], z, 0.0), v], axis=-1)


def _directions(tree: Tree, motion: AxisMotion, axis: int) -> Flags:
    """The world's directions in which what an axis carries can move, (6,)."""
    above, i = [], axis
    while i >= 0:
        above.append(i)
        i = int(tree.parent[i])
    largest = np.abs(seen_from(tree, motion, axis)[:, above]).max(axis=(0, 1))
    return np.asarray(largest > PRESENT)


def _is_heavy(tree: Tree, motion: AxisMotion, axis: int) -> bool:
    """Whether the body on an axis resists motion in all its directions, as a body of its own."""
    if not tree.massive[axis] or tree.mass[axis] <= 0.0:
        return False
    moves, m = _directions(tree, motion, axis), tree.mass[axis]
    center = tree.first_moment[axis] / m
    second = tree.second_moment[axis] - m * np.outer(center, center)
    inertia = np.trace(second) * np.eye(3) - second
    R = motion.rotation[:, axis]
    turned = (R @ inertia @ np.swapaxes(R, -1, -2))[:, moves[:3]][:, :, moves[:3]]
    least = np.linalg.eigvalsh(turned).min(initial=np.inf) if turned.size else np.inf
    return bool(least > LIGHT * np.trace(inertia))


def _carriers(rows: LoopRows, depth: int, motion: AxisMotion) -> list[int]:
    """Axes after which a segment begins: as few loops as can be reach over them."""
    tree = rows.tree
    crossing = np.zeros(tree.n, dtype=np.int64)
    for sign in rows.sign:
        crossing += sign != 0.0  # moves one side only
    for sign, a, b in zip(rows.sign, rows.axis_A, rows.axis_B, strict=True):
        for one, other in ((a, b), (b, a)):  # the body of the axis itself stays before
            if one >= 0 and one != other:
                crossing[one] += 1 if sign[one] == 0.0 else -1
    can = np.zeros(tree.n, dtype=bool)
    can[[j for j in tree.parent if j >= 0]] = True
    least = crossing[can].min(initial=tree.n)
    found, level = list[int](), np.zeros(tree.n, dtype=np.int64)
    for i in range(tree.n):
        up = int(tree.parent[i])
        level[i] = 1 if up < 0 else 1 + level[up]
        is_due = level[i] >= (depth if crossing[i] <= least else 2 * depth)
        if can[i] and is_due and _is_heavy(tree, motion, i):
            found.append(i)
            level[i] = 0
    return found


def longest_path(tree: Tree) -> int:
    """How many axes lie one after the other at most."""
    level = np.zeros(tree.n + 1, dtype=np.int64)
    for i in range(tree.n):
        level[i] = level[int(tree.parent[i])] + 1 if tree.parent[i] >= 0 else 1
    return int(level.max(initial=0))
