"""Columns of the model table that follow from the shape of the tree."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.model.kept import once_per_tree
from kinetree.model.tree import WORLD_AXIS, Tree


def carriers_and_turns(tree: Tree) -> tuple[Any, Array]:
    """Which axes are the last of a joint, and the orientation of the body there."""
    last = {int(body): axis for axis, body in enumerate(tree.axis_body)}  # later axes of a joint overwrite
    carries, orientation = np.zeros(tree.n, dtype=np.int64), np.tile(np.eye(3), (tree.n, 1, 1))
    for body, axis in last.items():
        carries[axis], orientation[axis] = 1, tree.body_rotation[body]
    return carries, orientation


def last_beyond(tree: Tree) -> Any:
    """The largest number among each axis and those beyond it."""
    last = np.arange(tree.n)
    for i in range(tree.n - 1, -1, -1):
        if tree.parent[i] != WORLD_AXIS:
            last[tree.parent[i]] = max(last[tree.parent[i]], last[i])
    return last


def subtree_mass(tree: Tree) -> Array:
    """The mass (kg) of each axis and of all beyond it."""
    mass = np.array(tree.mass)
    for i in range(tree.n - 1, -1, -1):
        if tree.parent[i] != WORLD_AXIS:
            mass[tree.parent[i]] += mass[i]
    return mass


def leading_slides(tree: Tree) -> int:
    """How many axes slide, one on the other, from the world on."""
    count = 0
    while count < tree.n and not tree.turns[count] and tree.parent[count] == count - 1:
        count += 1
    return count


def places_on_the_way(tree: Tree) -> dict[str, Any]:
    """Rows of the workspace for what only an axis and its children need, so few that they stay in the cache.

    ``place`` is the row of an axis; ``beyond`` the same, or the world's row if nothing lies beyond; ``opens``
    says that an axis is the last child: it takes over the parent's row. Going outward, a row is free again
    when the last child has read it; going inward, the same rows are taken in the reverse order.
    """
    last = np.full(tree.n, WORLD_AXIS)
    for i, j in enumerate(tree.parent):
        if j != WORLD_AXIS:
            last[j] = i
    is_tip = last == WORLD_AXIS
    place, opens = np.zeros(tree.n, dtype=np.int64), np.zeros(tree.n, dtype=np.int64)
    free: list[int] = []
    used = 0
    for i, j in enumerate(tree.parent):
        if j != WORLD_AXIS and last[j] == i:
            place[i], opens[i] = place[j], 1
        elif free:
            place[i] = heappop(free)
        else:
            place[i], used = used, used + 1
        if is_tip[i]:
            heappush(free, int(place[i]))
    return {"place": place, "beyond": np.where(is_tip, WORLD_AXIS, place), "opens": opens}


def tops(tree: Tree) -> Any:
    """Where the run of axes ends that leads from each axis to the base without a gap in the numbers."""
    top = np.arange(tree.n)
    for i, j in enumerate(tree.parent):
        if j != WORLD_AXIS and j == i - 1:
            top[i] = top[j]
    return top


@once_per_tree
def gross_inertia(tree: Tree) -> Array:
    """What rounding errors of the inertia that each axis moves are measured against.

    For prismatic axes the mass beyond, for revolute ones sum m (path length)^2 + tr I, paths from the base:
    forward dynamics works in the world frame.
    """
    mass, length = np.array(tree.mass), np.linalg.norm(tree.position, axis=1)
    first = np.linalg.norm(tree.first_moment, axis=1)
    second = np.abs(np.trace(tree.second_moment, axis1=1, axis2=2))
    for i in range(tree.n - 1, -1, -1):
        j, d = tree.parent[i], length[i]
        if j != WORLD_AXIS:
            second[j] += second[i] + 2.0 * d * first[i] + d * d * mass[i]
            first[j] += first[i] + d * mass[i]
            mass[j] += mass[i]
    reach = np.linalg.norm(tree.position - tree.position[:1], axis=1)
    for i in range(tree.n):
        if tree.parent[i] != WORLD_AXIS:
            reach[i] = reach[tree.parent[i]] + length[i]
    second += 2.0 * reach * first + reach**2 * mass
    gross: Array = np.where(tree.turns, second, mass) + tree.armature
    return gross


def spins(tree: Tree) -> Any:
    """Whether an axis carries points off its origin: a body, or a child that sits elsewhere or slides."""
    found = np.array(tree.massive, dtype=bool)
    for i in range(tree.n):
        if tree.parent[i] != WORLD_AXIS and (not tree.turns[i] or (tree.position[i] != 0).any()):
            found[tree.parent[i]] = True
    return found
