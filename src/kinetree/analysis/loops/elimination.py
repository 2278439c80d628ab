"""The order in which [[M, J^T], [J, 0]] is eliminated, found once for each mechanism, as a list of updates.

Fewest neighbours first, but a row of J only after all axes that it contains: then pivots of axes stay
positive and those of rows negative in every pose, because M is positive definite, and they vanish only where
constraints lose rank. A row that goes before one of its axes meets zero pivots at ordinary poses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.model.tree import Integers, Tree


@dataclass(frozen=True, eq=False)
class Program:
    """Slots and updates of the factorization A = L D L^T; unknowns are numbered in the order of elimination.

    ``place`` of each unknown (axes first, then rows); ``slot`` of each entry (larger, smaller place),
    diagonal entries first. Updates (target, left, right): A[target] -= A[left] A[right] / pivot, by pivot.
    """

    place: Integers
    slot: dict[tuple[int, int], int]
    updates: Integers  # (count, 3)
    first_update: Integers  # (unknowns + 1,)
    below: Integers  # (count, 2): unknown, slot
    first_below: Integers

    @property
    def n_slots(self) -> int:
        """Numbers of the matrix that are kept."""
        return len(self.slot)

    @property
    def operations(self) -> int:
        """Multiply-adds of factorization and solution."""
        return 2 * len(self.updates) + 3 * len(self.below)


def mass_pattern(tree: Tree) -> list[set[int]]:
    """For each axis the axes with which it shares an entry of the mass matrix: ancestors and descendants."""
    pattern: list[set[int]] = [set() for _ in range(tree.n)]
    for i in range(tree.n):
        j = i
        while j >= 0:
            pattern[i].add(j)
            pattern[j].add(i)
            j = int(tree.parent[j])
    return pattern


def elimination(pattern: list[set[int]], n_axes: int) -> Program:
    """The program for a symmetric pattern of axes followed by rows."""
    order = _ordered(pattern, n_axes)
    n = len(order)
    place = np.zeros(n, dtype=np.int64)
    place[order] = np.arange(n)
    neighbours: list[set[int]] = [set() for _ in range(n)]
    for i, found in enumerate(pattern):
        neighbours[place[i]] |= {int(place[j]) for j in found if j != i}
    slot = {(k, k): k for k in range(n)}
    columns = []
    for k in range(n):
        later = sorted(j for j in neighbours[k] if j > k)
        columns.append(later)
        for i in later:
            slot.setdefault((i, k), len(slot))
            neighbours[i] |= set(later) - {i}
    updates, first_update, below, first_below = [], [0], [], [0]
    for k, later in enumerate(columns):
        for a, i in enumerate(later):
            updates += [(slot[i, j], slot[i, k], slot[j, k]) for j in later[: a + 1]]
            below.append((i, slot[i, k]))
        first_update.append(len(updates))
        first_below.append(len(below))
    return Program(
        place,
        slot,
        np.array(updates, dtype=np.int64).reshape(-1, 3),
        np.array(first_update, dtype=np.int64),
        np.array(below, dtype=np.int64).reshape(-1, 2),
        np.array(first_below, dtype=np.int64),
    )


def _ordered(pattern: list[set[int]], n: int) -> list[int]:
    """Unknowns in the order of elimination: those with fewest neighbours first, rows after their axes."""
    near = [set(found) - {i} for i, found in enumerate(pattern)]
    axes = [{j for j in found if j < n} for found in near]
    left, order = set(range(len(pattern))), list[int]()
    while left:
        ready = (i for i in left if i < n or not axes[i] & left)
        p = min(ready, key=lambda i: (len(near[i] & left), i))
        later = (near[p] & left) - {p}
        for i in later:
            near[i] |= later - {i}
        left.discard(p)
        order.append(p)
    return order
