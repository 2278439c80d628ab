"""The order in which [[M, J^T], [J, 0]] is eliminated, found once for each mechanism, as a program of
updates.

Least degree first, over coordinates and whole cut joints. A cut joint may go only when its pivot block is
well away from zero, tried with the numbers of one assembled state: a multiplier directly after one of its
coordinates gives zero pivots and wrong accelerations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.model.tree import Integers, Tree

SAFE = 0.05  # of the smallest eigenvalue of a cut joint's block of J M^-1 J^T that its pivot block must keep


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


def elimination(pattern: list[set[int]], blocks: list[list[int]], K: Array) -> Program:
    """The program for a symmetric pattern of n coordinates followed by rows, ``blocks`` of which go together.

    ``K`` is the matrix in one assembled state.
    """
    order = _ordered(pattern, blocks, K)
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


def _ordered(pattern: list[set[int]], blocks: list[list[int]], K: Array) -> list[int]:
    """Unknowns in the order of elimination."""
    n = len(pattern) - sum(map(len, blocks))
    near = [set(found) - {i} for i, found in enumerate(pattern)]
    A, left, waiting = K.copy(), set(range(len(pattern))), list(blocks)
    J = K[n:, :n]
    compliance = J @ np.linalg.solve(K[:n, :n], J.T)
    least = {tuple(b): _smallest(compliance[np.ix_([i - n for i in b], [i - n for i in b])]) for b in blocks}
    order: list[int] = []
    while left:
        ready: list[tuple[int, int, list[int]]] = [(len(near[i] & left), 1, [i]) for i in left if i < n]
        for b in waiting:
            if _smallest(A[np.ix_(b, b)]) > SAFE * least[tuple(b)] > 0.0 or not any(i < n for i in left):
                ready.append((max(len((near[i] & left) - set(b)) for i in b), -len(b), b))
        _, _, group = min(ready)
        for p in group:
            later = sorted((near[p] & left) - {p})
            for i in later:
                near[i] |= set(later) - {i}
            if later and abs(A[p, p]) > 1e-13 * np.abs(K).max():
                A[np.ix_(later, later)] -= np.outer(A[later, p], A[p, later]) / A[p, p]
            left.discard(p)
            order.append(p)
        if group[0] >= n:
            waiting.remove(group)
    return order


def _smallest(A: Array) -> float:
    """The smallest absolute eigenvalue of a symmetric matrix."""
    return float(np.abs(np.linalg.eigvalsh(A)).min(initial=np.inf))
