"""Bounds that other conditions put a motion on: a foot that must stand on the ground is not above it.

Such a bound leaves an interior-point method no inside: its multiplier has no limit. It says nothing new, so
it is moved out of the way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.motion.program.blocks import Block, RowBlock
from kinetree.motion.program.evaluation import Evaluation

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
