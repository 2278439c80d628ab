"""Second derivatives by the control points of further blocks: places in the Hessian, and sums over samples.

Samples of a curve are linear in its control points, f = sum_a B_a p_a. With C_r = d2 phi / dq^(r) df at a
sample, d2 phi / dp dp_a = B_a sum_r B^(r) T^-r C_r by control points of the motion, and by the duration
d2 phi / dT dp_a = -B_a sum_r (r / T) q^(r) . C_r. For two curves it is B_a B_b d2 phi / df df'.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import Integers
from kinetree.motion.problem.profile import RATES
from kinetree.motion.problem.unknowns import MOTION, Instants
from kinetree.motion.program.blocks import Block, RowBlock, UnknownPlaces
from kinetree.motion.program.evaluation import Evaluation

Pair = tuple[str, str]
SAME = 1e-9  # difference of what is the same, scaled
AWAY = 1.0  # how far bounds are moved, scaled
Equations = list[tuple[RowBlock, int]]  # which of them, at which of their samples


def functions_of_pose(blocks: Sequence[Block]) -> list[RowBlock]:
    """Those inequalities that are about where bodies are."""
    posed = [x for x in blocks if isinstance(x, RowBlock) and x.sampled.function.of_pose]
    return [x for x in posed if not np.array_equal(x.lower, x.upper)]


def loosen_implied_bounds(blocks: Sequence[Block], motions: Sequence[Evaluation]) -> None:
    """Move bounds that are reached whatever the motion is; ``motions`` by chance keep what is fixed.

    Either all is fixed at that instant, or equations h(q) = target there determine g(q), whose slope is then
    C dh/dq: g = g(q) + C (target - h(q)).
    """
    posed = [x for x in blocks if isinstance(x, RowBlock) and x.sampled.function.of_pose]
    equations = [x for x in posed if np.array_equal(x.lower, x.upper)]
    for block in functions_of_pose(blocks):
        found = np.stack([block.sampled.values(motion) / block.scale for motion in motions])
        for m, s in enumerate(block.source.s):
            here = [(x, int(k)) for x in equations for k in np.flatnonzero(x.source.s == s)]
            if here:
                found[:, m] = [_implied(block, m, here, motion) for motion in motions]
        known = np.isfinite(found).all(axis=0) & (np.ptp(found, axis=0) < SAME)
        for side, away in ((block.lower, -AWAY), (block.upper, AWAY)):
            side[(known & (np.abs(side.reshape(block.shape) - found[0]) < SAME)).ravel()] += away


def _implied(block: RowBlock, m: int, equations: Equations, motion: Evaluation) -> Array:
    """What the equations make of the bounded numbers, scaled; NaN where they do not determine them."""
    values = block.sampled.values(motion)[m] / block.scale
    slopes = block.sampled.slopes(motion)[m, 0] / block.scale[:, None]
    J = np.concatenate([x.sampled.slopes(motion)[k, 0] for x, k in equations])
    short = np.concatenate(
        [x.lower.reshape(x.shape)[k] * x.scale - x.sampled.values(motion)[k] for x, k in equations]
    )
    C = np.linalg.lstsq(J.T, slopes.T, rcond=None)[0].T
    follows = np.abs(C @ J - slopes).max(axis=1) < SAME * np.maximum(1.0, np.abs(slopes).max(axis=1))
    return np.where(follows, values + C @ short, np.nan)


class FurtherCurvature:
    """Entries (``rows``, ``columns``) of the lower triangle that belong to further blocks, and their sums."""

    def __init__(self, instants: Instants, places: UnknownPlaces, n: int) -> None:
        self.instants, self.places = instants, places
        names = list(instants.curves)
        own = {MOTION: places.columns} | {name: places.curves[name] for name in names}
        here = {name: places.place[columns] for name, columns in own.items()}
        pairs = [(MOTION, name) for name in names]
        pairs += [(a, b) for k, a in enumerate(names) for b in names[k:]]
        keys: dict[Pair, Integers] = {}
        for first, second in pairs:
            a, b = here[first][:, :, :, None, None], here[second][:, None, None]
            known = (a >= 0) & (b >= 0) & ((first != second) | (a >= b))
            keys[first, second] = np.where(known, np.maximum(a, b) * n + np.minimum(a, b), -1)
        every = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(x.ravel() for x in keys.values())]))
        every = every[every >= 0]
        self.rows, self.columns = np.divmod(every, n) if n else (every, every)
        self._kept = {pair: np.flatnonzero(key.ravel() >= 0) for pair, key in keys.items()}
        self._targets = {
            pair: np.searchsorted(every, key.ravel()[self._kept[pair]]) for pair, key in keys.items()
        }
        self._factors = {}
        for first, second in pairs:
            left, right = (places.factor[own[name]] for name in (first, second))
            self._factors[first, second] = (left[:, :, :, None, None] * right[:, None, None]).ravel()[
                self._kept[first, second]
            ]

    def entries(self, evaluation: Evaluation) -> Array:
        """Second derivatives of all that was weighed, in the order of ``rows`` and ``columns``."""
        found = np.zeros(len(self.rows))
        grids = self.instants.curves
        for name, block in evaluation.mixed.items():
            by_point = np.einsum("mrw,mrnc->mwnc", self._rates(evaluation), block)
            self._add(found, (MOTION, name), by_point[:, :, :, None], grids[name].weights[:, None, None])
        for (first, second), block in evaluation.curved.items():
            if (first, second) in self._targets:
                left = grids[first].weights[:, :, None, None] * block[:, None]  # (m, p + 1, k, k')
                self._add(found, (first, second), left[:, :, :, None], grids[second].weights[:, None, None])
        return found

    def add_by_duration(self, evaluation: Evaluation, total: Array) -> None:
        """Add the second derivatives by the duration and each control point to ``total``, (size,) as x."""
        motion = evaluation.motion
        rates = -np.arange(RATES)[:, None] / motion.duration * motion.moving
        for name, block in evaluation.mixed.items():
            by_sample = np.einsum("mrn,mrnc->mc", rates, block)
            grid = self.instants.curves[name]
            share = grid.weights[:, :, None] * by_sample[:, None]
            total += np.bincount(grid.columns.ravel(), share.ravel(), len(total))

    def _rates(self, evaluation: Evaluation) -> Array:
        """Basis functions of the motion and their derivatives by time, (m, 3, p + 1)."""
        powers = evaluation.motion.duration ** -np.arange(float(RATES))
        return evaluation.grid.weights * powers[:, None]

    def _add(self, found: Array, pair: Pair, left: Array, weights: Array) -> None:
        """Add left (m, p + 1, numbers, 1, numbers') times weights (m, 1, 1, p' + 1) where they belong."""
        products = self._factors[pair] * (left * weights[..., None]).ravel()[self._kept[pair]]
        found += np.bincount(self._targets[pair], products, len(found))
