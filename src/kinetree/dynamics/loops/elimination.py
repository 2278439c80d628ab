"""The order in which [[M, J^T], [J, 0]] is eliminated, found once for each mechanism, as a list of updates.

Fewest neighbors first (minimum degree: Tinney and Walker 1967), but a row of J only after all motions that
it contains: then pivots of motions stay positive and those of rows negative in every pose, because M is
positive definite, and they vanish only where constraints lose rank. A row that goes before one of its motions
meets zero pivots at ordinary poses.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from kinetree.model.tree import Integers


@dataclass(frozen=True, eq=False)
class EliminationPlan:
    """Slots and updates of the factorization A = L D L^T; unknowns are numbered in the order of elimination.

    ``place`` of each unknown (motions first, then rows); ``slot`` of each entry (larger, smaller place):
    diagonal entries, one that is not read (``idle``), then column by column. Updates of each pivot:
    A[target] -= A[left] A[right] / pivot for all pairs of entries below it, line by line.
    """

    place: Integers
    slot: dict[tuple[int, int], int]
    targets: Integers
    below: Integers  # unknowns below the pivots, one pivot after the other
    counts: Integers  # how many are below each

    @property
    def idle(self) -> int:
        """The slot that is not read."""
        return len(self.place)

    @property
    def n_slots(self) -> int:
        """Numbers of the matrix that are kept."""
        return len(self.slot) + 1

    def entry(self, i: int, j: int) -> int:
        """The slot of the entry of two unknowns."""
        a, b = int(self.place[i]), int(self.place[j])
        return self.slot[(a, b) if a > b else (b, a)]


def elimination(pattern: list[set[int]], n_motions: int) -> EliminationPlan:
    """The program for a symmetric pattern of motions followed by rows."""
    order, after = _ordered(pattern, n_motions)
    n = len(order)
    place = np.zeros(n, dtype=np.int64)
    place[order] = np.arange(n)
    number = place.tolist()
    columns = [sorted(number[i] for i in later) for later in after]
    slot = {(k, k): k for k in range(n)}
    start = n + 1
    for k, later in enumerate(columns):
        slot.update(((i, k), start + a) for a, i in enumerate(later))
        start += len(later)
    targets = [slot[i, j] for later in columns for a, i in enumerate(later) for j in later[: a + 1]]
    return EliminationPlan(
        place,
        slot,
        np.array(targets, dtype=np.int64),
        np.array([i for later in columns for i in later], dtype=np.int64),
        np.array([len(later) for later in columns], dtype=np.int64),
    )


def operations(pattern: list[set[int]], n_motions: int) -> int:
    """Multiply-adds of the factorization and of one solution."""
    sizes = [len(later) for later in _ordered(pattern, n_motions)[1]]
    return sum(k * (k + 1) // 2 + 3 * k for k in sizes)


def _ordered(pattern: list[set[int]], n: int) -> tuple[list[int], list[set[int]]]:
    """Unknowns in the order of elimination, and for each the unknowns below its pivot.

    Those with fewest neighbors first, rows after their motions.
    """
    near = [set(found) - {i} for i, found in enumerate(pattern)]
    waiting = [sum(j < n for j in found) if i >= n else 0 for i, found in enumerate(near)]
    rows_of = [[j for j in found if j >= n] if i < n else [] for i, found in enumerate(near)]
    heap = [(len(found), i) for i, found in enumerate(near) if waiting[i] == 0]
    heapify(heap)
    order, after, done = list[int](), list[set[int]](), [False] * len(near)
    while heap:
        degree, p = heappop(heap)
        if done[p] or degree != len(near[p]):
            continue  # it has changed since
        later = near[p]
        done[p] = True
        order.append(p)
        after.append(later)
        for row in rows_of[p]:
            waiting[row] -= 1
        for i in later:
            near[i] |= later
            near[i] -= {i, p}
            if waiting[i] == 0:
                heappush(heap, (len(near[i]), i))
        for row in rows_of[p]:
            if waiting[row] == 0:
                heappush(heap, (len(near[row]), row))
    return order, after
