"""Bounds that hold a motion back: where they are reached, and what loosening them would save."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinetree.algebra.arrays import Array
from kinetree.motion.problem.problem import Problem
from kinetree.motion.program.blocks import RowBlock, StepBlock
from kinetree.motion.solvers.interface import Outcome
from kinetree.motion.terms.contract import unit_of

ACTIVE = 1e-3  # rows nearer to their bound than this, in their scale, have reached it
NEAR = 1e-2  # rows further away have not, however large their multiplier
SMALL = {"m": ("1 cm", 0.01), "rad": ("1 degree", np.pi / 180.0)}  # changes that prices hold for
SPANS = 4  # stretches that are named
GAP = 3  # steps of the grid within a stretch


@dataclass(frozen=True)
class ActiveBound:
    """A bound that is reached: by whom, during which share of the motion, and what it costs.

    ``price`` is the change of the objective per unit of the bound, if it were loosened everywhere: negative
    means that the objective would fall. ``prices`` are the parts of it that belong to the instants ``times``
    (s), which are some of the ``grid`` at which the bound is enforced.
    """

    family: str
    label: str
    side: str
    bound: float
    unit: str
    times: tuple[float, ...]
    share: float
    price: float
    prices: tuple[float, ...] = ()
    grid: tuple[float, ...] = ()

    @property
    def intervals(self) -> list[tuple[float, float]]:
        """First and last instant (s) of every stretch of the grid on which the bound is reached.

        A curve that follows a bound touches it at some of the samples and hardly misses it in between, so a
        stretch may leave a few out.
        """
        grid = self.grid or self.times
        places = np.searchsorted(grid, self.times)
        runs = np.split(places, np.flatnonzero(np.diff(places) > GAP) + 1)
        return [(grid[run[0]], grid[run[-1]]) for run in runs if len(run)]

    @property
    def where(self) -> str:
        """The bound and when it is reached, in words."""
        when = " and ".join(_span(*interval) for interval in self.intervals[:SPANS])
        more = " and more" if len(self.intervals) > SPANS else ""
        bound = f"{self.side} bound {self.bound:.6g} {self.unit}".rstrip()
        return f"{self.family}, {self.label}: {bound} reached {when}{more}"

    def worth(self, *, is_time: bool) -> str:
        """What one unit of room more would bring; ``is_time`` if the objective is the duration."""
        unit, part = SMALL.get(self.unit, (f"1 {self.unit}".rstrip(), 1.0))
        change, price = f"{unit} {'more' if self.side == 'upper' else 'lower'}", part * self.price
        if is_time and price < 0.0:
            return f"{change} would save {-1e3 * price:.3g} ms"
        return f"{change} would change the objective by {price:+.3g}"

    def __str__(self) -> str:
        return f"{self.where}; {self.worth(is_time=False)}"


def active_bounds(problem: Problem, x: Array, outcome: Outcome) -> list[ActiveBound]:
    """Sampled bounds that are reached, with their shadow prices; the most costly first."""
    program = problem.program
    evaluation, T = program.evaluation(outcome.z), problem.setting.unknowns.duration_of(x)
    found = list(_active_linear(problem, outcome, T))
    for block, start in zip(program.blocks, program.offsets, strict=False):
        if isinstance(block, RowBlock) and not np.array_equal(block.lower, block.upper):
            values = block.values(evaluation).reshape(block.shape)
            multipliers = outcome.multipliers[start : start + block.count].reshape(block.shape)
            found += _active_rows(block, values, multipliers, outcome.scale, T)
        elif isinstance(block, StepBlock):
            values = block.values(evaluation).reshape(2, *block.shape)
            multipliers = outcome.multipliers[start : start + block.count].reshape(2, *block.shape)
            found += _active_steps(block, values, multipliers, outcome.scale, T)
    return sorted(found, key=lambda bound: -abs(bound.price * max(abs(bound.bound), 1.0)))


def _active_linear(problem: Problem, outcome: Outcome, T: float) -> Iterator[ActiveBound]:
    """The same for linear rows: positions of joints."""
    program, linear = problem.program, problem.program.linear
    values = linear.matrix @ outcome.z
    multipliers = outcome.multipliers[: len(values)]
    for side, bounds, sign in (("lower", linear.lower, -1.0), ("upper", linear.upper, 1.0)):
        near = reached(sign * (bounds - values), sign * multipliers)
        groups: dict[tuple[int, str], list[int]] = {}
        for r in np.flatnonzero(near & (linear.lower != linear.upper)):
            c, row = (int(k) for k in linear.source[r])
            rows = program.linear_terms[c]
            groups.setdefault((c, rows.labels[row % len(rows.labels)]), []).append(int(r))
        for (c, label), members in groups.items():
            rows, own = program.linear_terms[c], linear.source[members, 1]
            k = rows.labels.index(label)
            pulls = np.maximum(sign * multipliers[members], 0.0) / outcome.scale
            bound = (rows.lower if side == "lower" else rows.upper)[own[0]]
            times = tuple(float(s) * T for s in rows.s[own // len(rows.labels)])
            share = len(members) / len(rows.s)
            yield ActiveBound(
                rows.family, label, side, float(bound), unit_of(rows, k), times, share, float(-pulls.sum()),
                _floats(-pulls), _floats(rows.s * T),
            )  # fmt: skip


def reached(distances: Array, multipliers: Array) -> NDArray[np.bool_]:
    """Which bounds are reached: they are near, or less far than their multipliers are large.

    An interior point stays off its bounds: distance times multiplier is the same everywhere, so the larger of
    the two shows on which side a bound is. Both are scaled.
    """
    found: NDArray[np.bool_] = (distances < ACTIVE) | ((distances < NEAR) & (multipliers > distances))
    return found


def _active_rows(
    block: RowBlock, values: Array, multipliers: Array, scale: float, T: float
) -> Iterator[ActiveBound]:
    rows = block.source
    for side, bounds, sign in (("lower", block.lower, -1.0), ("upper", block.upper, 1.0)):
        limit = bounds.reshape(block.shape)
        near = reached(sign * (limit - values), sign * multipliers)
        for k in map(int, np.flatnonzero(near.any(axis=0))):
            here = np.flatnonzero(near[:, k])
            pulls = np.maximum(sign * multipliers[here, k], 0.0) / (block.scale[k] * scale)
            yield ActiveBound(
                rows.family,
                rows.labels[k],
                side,
                float(limit[here[0], k] * block.scale[k]),
                unit_of(rows, k),
                _floats(rows.s[here] * T),
                len(here) / len(values),
                float(-pulls.sum()),
                _floats(-pulls),
                _floats(rows.s * T),
            )


def _active_steps(
    block: StepBlock, values: Array, multipliers: Array, scale: float, T: float
) -> Iterator[ActiveBound]:
    """The same for changes from sample to sample, whose bounds are multiplied by the time between."""
    steps, ds = block.source, np.diff(block.source.s)
    for i, (side, bounds, sign) in enumerate((("upper", steps.upper, 1.0), ("lower", steps.lower, -1.0))):
        near = reached(-sign * values[i] / T, sign * multipliers[i] * T)
        for k in map(int, np.flatnonzero(near.any(axis=0))):
            here = np.flatnonzero(near[:, k])
            pulls = np.maximum(sign * multipliers[i][here, k], 0.0) * T * ds[here] / (block.scale[k] * scale)
            yield ActiveBound(
                steps.family,
                steps.labels[k],
                side,
                float(np.broadcast_to(bounds, block.shape)[here[0], k]),
                unit_of(steps, k),
                _floats(steps.s[here] * T),
                len(here) / len(ds),
                float(-pulls.sum()),
                _floats(-pulls),
                _floats(steps.s[:-1] * T),
            )


def _floats(values: Array) -> tuple[float, ...]:
    return tuple(map(float, values))


def _span(first: float, last: float) -> str:
    return f"at {first:.4g} s" if first == last else f"from {first:.4g} to {last:.4g} s"
