"""Positions, velocities and efforts of motions relative to the limits that a mechanism has."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.dynamics.coupling import on_axes
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags
from kinetree.result.variables import ALL, EFFORT, POSITION, VELOCITY
from kinetree.state import independent_axes
from kinetree.verdicts.finding import Finding, Findings
from kinetree.verdicts.margins import Verdicts

OFF = "switched off"
SHORTEST, ROUNDING = 1e-9, 1e-10  # s, and part of the time: within shorter steps rounding would be judged
UNITS = {POSITION: ("rad", "m"), VELOCITY: ("rad/s", "m/s"), EFFORT: ("N m", "N")}
GRID = np.linspace(0.0, 1.0, 9)  # of a step, on which signs of the slope are compared
ROUGH = 0.05  # of the way of a step: accelerations that bend it by more belong to a transient within it
QUINTIC = np.array(  # powers of theta for p0, h v0, h^2 a0, p1, h v1, h^2 a1
    [
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.5, 0.0, 0.0, 0.0],
        [-10.0, -6.0, -1.5, 10.0, -4.0, 0.5],
        [15.0, 8.0, 1.5, -15.0, 7.0, -1.0],
        [-6.0, -3.0, -0.5, 6.0, -3.0, 0.5],
    ]
)


class Extremes(NamedTuple):
    """Where something is extreme within steps: number of the step, column, share of the step, value."""

    step: Any
    column: Any
    share: Array
    value: Array


def polynomials(h: Array, ends: tuple[Array, ...], has_rates: Flags) -> Array:
    """Powers of theta (6, k, c) of the positions in steps of length h (k,).

    ``ends``: positions, velocities, accelerations (k, c) at the start, then at the end. Accelerations are
    left out where ``has_rates`` (k,) is false, or where they bend the way by much: the solution has a
    transient there which implicit methods step over, and which the positions show at the ends of steps.
    """
    p0, v0, a0, p1, v1, a1 = ends
    h = h[:, None]
    v0, v1 = h * v0, h * v1
    cubic0, cubic1 = 6.0 * (p1 - p0) - 4.0 * v0 - 2.0 * v1, -6.0 * (p1 - p0) + 2.0 * v0 + 4.0 * v1
    a0, a1 = h * h * a0, h * h * a1
    way = np.abs(p1 - p0) + np.abs(v0) + np.abs(v1)
    bend = np.abs((a0 - cubic0) + (a1 - cubic1)) / 64.0 + np.abs((a0 - cubic0) - (a1 - cubic1)) / 128.0
    rough = ~has_rates[:, None] | (bend > ROUGH * way)
    given = np.stack([p0, v0, np.where(rough, cubic0, a0), p1, v1, np.where(rough, cubic1, a1)])
    powers: Array = np.tensordot(QUINTIC, given, axes=1)
    return powers


def derivative(powers: Array) -> Array:
    """Powers of the derivative with respect to theta."""
    factors = np.arange(1, len(powers)).reshape((-1,) + (1,) * (powers.ndim - 1))
    slope: Array = factors * powers[1:]
    return slope


def value_at(powers: Array, share: Array) -> Array:
    """Polynomials (d, ...) at theta (...)."""
    total: Array = np.zeros_like(powers[0])
    for power in powers[::-1]:
        total = total * share + power
    return total


def extremes(powers: Array) -> Extremes:
    """Inner extremes of polynomials (d, k, c): where the slope changes its sign."""
    slope = derivative(powers)
    grid = np.tensordot(np.vander(GRID, len(slope), increasing=True), slope, axes=1)  # (grid, k, c)
    part, step, column = np.nonzero(grid[:-1] * grid[1:] < 0.0)
    before, after = grid[part, step, column], grid[part + 1, step, column]
    share = GRID[part] + (GRID[1] - GRID[0]) * before / (before - after)
    return Extremes(step, column, share, value_at(powers[:, step, column], share))


class _Worst:
    """The largest excess of every motion and axis so far, with its value and time; (m, c) each."""

    def __init__(self, count: int, columns: int) -> None:
        self.excess = np.full((count, columns), -np.inf)
        self.value = np.zeros((count, columns))
        self.time = np.zeros((count, columns))

    def rows(self, motions: Any, groups: Any, excess: Array, values: Array, times: Array) -> None:
        """Rows (k, l, c) of groups that start at ``groups`` and belong to ``motions`` (groups, l)."""
        most = np.maximum.reduceat(excess, groups, axis=0)
        sizes = np.diff(np.append(groups, len(excess)))
        number = np.arange(len(excess))[:, None, None]
        first = np.where(excess == np.repeat(most, sizes, axis=0), number, len(excess))
        row = np.minimum(np.minimum.reduceat(first, groups, axis=0), len(excess) - 1)  # NaN is nowhere
        lane, column = np.indices(most.shape)[1:]
        for g in range(len(groups)) if len(groups) < 2 else ():
            self._take(motions[g], most[g], values[row[g], lane[g], column[g]], times[row[g]])
        if len(groups) > 1:
            flat = motions.reshape(-1)
            shape = (len(flat), most.shape[-1])
            self._take(
                flat,
                most.reshape(shape),
                values[row, lane, column].reshape(shape),
                times[row].reshape(shape),
            )

    def _take(self, motions: Any, excess: Array, value: Array, time: Array) -> None:
        """Of motions (l,) what exceeds more than what is known, (l, c) each."""
        motions, where = np.unique(motions, return_index=True)
        excess, value, time = excess[where], value[where], time[where]
        more = excess > self.excess[motions]
        for mine, new in ((self.excess, excess), (self.value, value), (self.time, time)):
            mine[motions] = np.where(more, new, mine[motions])

    def points(self, motion: Any, column: Any, excess: Array, value: Array, time: Array) -> None:
        """Single values (k,) of motions and columns (k,)."""
        better = excess > self.excess[motion, column]
        if not better.any():
            return
        motion, column, excess, value, time = (x[better] for x in (motion, column, excess, value, time))
        order = np.argsort(excess, kind="stable")  # the largest is written last
        for mine, new in ((self.excess, excess), (self.value, value), (self.time, time)):
            mine[motion[order], column[order]] = new[order]


class LimitWatch:
    """Running extremes of motions relative to the limits of a mechanism; joints that follow others count.

    ``count`` motions. Excess of positions is in rad or m, of velocities and efforts a fraction of the limit;
    of a limit of zero, any size is beyond.
    """

    def __init__(
        self, mechanism: Mechanism, margins: Verdicts, *, stops: bool = False, count: int = 1
    ) -> None:
        tree = mechanism.tree
        self.mechanism, self.count, self._margins = mechanism, count, margins
        self._position = margins.position_at_stops if stops else margins.position
        self._velocity, self._effort = margins.velocity, margins.effort
        self._axes = np.arange(tree.n)
        self._own = independent_axes(mechanism)
        self.lower, self.upper = np.asarray(tree.lower), np.asarray(tree.upper)
        self.fastest, self.strongest = (
            np.asarray(tree.velocity_limit),
            np.asarray(tree.effort_limit)[self._own],
        )
        bounded = np.isfinite(self.lower) | np.isfinite(self.upper)
        self._bounded = np.flatnonzero(bounded) if self._position is not None else np.zeros(0, int)
        self._fast = (
            np.flatnonzero(np.isfinite(self.fastest)) if self._velocity is not None else np.zeros(0, int)
        )
        self._strong = (
            np.flatnonzero(np.isfinite(self.strongest)) if self._effort is not None else np.zeros(0, int)
        )
        self._worst = {
            POSITION: _Worst(count, len(self._bounded)),
            VELOCITY: _Worst(count, len(self._fast)),
            EFFORT: _Worst(count, len(self._strong)),
        }

    @property
    def judges_motion(self) -> bool:
        """Whether positions or velocities have limits that count."""
        return len(self._bounded) + len(self._fast) > 0

    @property
    def judges_efforts(self) -> bool:
        """Whether efforts have limits that count."""
        return len(self._strong) > 0

    # ---- what is given ----------------------------------------------------------------------------------

    def add(self, t: Array, q: Array, qd: Array, motions: Any = None) -> None:
        """Samples at t (k,) of positions and velocities (k, l, n_dof) of ``motions`` (l,)."""
        if not self.judges_motion or not len(t):
            return
        places, rates = on_axes(self.mechanism.tree, q, qd)
        groups = np.zeros(1, int)
        which = np.arange(q.shape[1])[None] if motions is None else np.asarray(motions)[None]
        self._rows(t, places, rates, groups, which)

    def add_steps(
        self,
        t: Array,
        q: Array,
        qd: Array,
        qdd: Array,
        has_rates: Flags,
        groups: Any = None,
        motions: Any = None,
        unseen: Any = None,
    ) -> None:
        """Ends of steps: t (k,), q, qd, qdd (k, l, n_dof), and whether qdd is known (k,).

        Rows of equal time are both sides of a jump; ``groups`` are the first rows of runs one after the
        other, ``motions`` (groups, l) theirs. ``unseen``: columns of q whose coordinates are others than the
        mechanism's for the time being.
        """
        if not self.judges_motion or not len(t):
            return
        tree = self.mechanism.tree
        places, rates, second = on_axes(tree, q, qd, qdd)
        if unseen is not None and len(unseen):
            gone = self._own[unseen]
            places[..., gone] = np.where(np.isfinite(self.lower[gone]), self.lower[gone], self.upper[gone])
            places[..., gone] = np.nan_to_num(places[..., gone], posinf=0.0, neginf=0.0)
            rates[..., gone] = second[..., gone] = 0.0
        groups = np.zeros(1, int) if groups is None else groups
        motions = np.arange(q.shape[1])[None] if motions is None else motions
        self._rows(t, places, rates, groups, motions)
        self._between(t, places, rates, second, has_rates, groups, motions)

    def add_efforts(self, t: Array, tau: Array, motions: Any = None) -> None:
        """Efforts at t (k,), (k, l, n_dof) of ``motions`` (l,)."""
        if not self.judges_efforts or not len(t):
            return
        which = np.arange(tau.shape[1])[None] if motions is None else np.asarray(motions)[None]
        values = tau[..., self._strong]
        part = _part(values, self.strongest[self._strong])
        self._worst[EFFORT].rows(which, np.zeros(1, int), part, values, t)

    def effort_parts(self, tau: Array) -> Array:
        """Efforts (..., n_dof) as fractions of the limits that count, (..., c)."""
        return _part(tau[..., self._strong], self.strongest[self._strong])

    # ---- inside -----------------------------------------------------------------------------------------

    def _over(self, places: Array, columns: Any) -> Array:
        """By how much positions (..., c) of bounded axes are beyond."""
        axes = self._bounded[columns]
        over: Array = np.maximum(self.lower[axes] - places, places - self.upper[axes])
        return over

    def _rows(self, t: Array, places: Array, rates: Array, groups: Any, motions: Any) -> None:
        if len(self._bounded):
            values = places[..., self._bounded]
            over = self._over(values, np.arange(len(self._bounded)))
            self._worst[POSITION].rows(motions, groups, over, values, t)
        if len(self._fast):
            values = rates[..., self._fast]
            part = _part(values, self.fastest[self._fast])
            self._worst[VELOCITY].rows(motions, groups, part, values, t)

    def _between(
        self,
        t: Array,
        places: Array,
        rates: Array,
        second: Array,
        has_rates: Flags,
        groups: Any,
        motions: Any,
    ) -> None:
        """Extremes within steps, of positions and of velocities."""
        h = np.diff(t)
        steps = np.flatnonzero(h > SHORTEST + ROUNDING * np.abs(t[1:]))
        if not len(steps):
            return
        lanes = places.shape[1]
        group = np.searchsorted(groups, steps, side="right") - 1
        known = has_rates[steps] & has_rates[steps + 1]
        for name, axes in ((POSITION, self._bounded), (VELOCITY, self._fast)):
            if not len(axes):
                continue
            ends = tuple(
                x[at][..., axes].reshape(len(steps), -1)
                for at in (steps, steps + 1)
                for x in (places, rates, second)
            )
            powers = polynomials(h[steps], ends, known)
            if name == VELOCITY:
                powers = derivative(powers) / h[steps][None, :, None]
            found = extremes(powers)
            lane, column = found.column // len(axes), found.column % len(axes)
            if name == POSITION:
                excess = self._over(found.value, column)
            else:
                excess = _part(found.value, self.fastest[axes[column]])
            when = t[steps[found.step]] + found.share * h[steps[found.step]]
            motion = motions[group[found.step], lane % lanes]
            self._worst[name].points(motion, column, excess, found.value, when)

    # ---- what is found ----------------------------------------------------------------------------------

    def findings(self) -> Findings:
        """The verdicts on limits that the mechanism has and that count."""
        found: Findings = {}
        if len(self._bounded) and self._position is not None:
            worst = self._worst[POSITION]
            excess = np.maximum(worst.excess, 0.0).max(axis=1)
            found[POSITION] = Finding(excess, self._position, "rad or m", self._place_words)
        for name, columns, more in (
            (VELOCITY, self._fast, self._velocity),
            (EFFORT, self._strong, self._effort),
        ):
            if not len(columns) or more is None or not np.isfinite(self._worst[name].excess).any():
                continue
            excess = np.maximum(0.0, self._worst[name].excess.max(axis=1) - 1.0)
            found[name] = Finding(excess, more, "1", partial(self._size_words, name))
        return found

    def not_judged(self) -> dict[str, str]:
        """Limits that there is no verdict on, with the reason."""
        if self._margins.is_empty:
            return {ALL: f"{OFF} by verdicts=False"}
        tree, found = self.mechanism.tree, self.findings()
        limits = {
            POSITION: (self._position, np.isfinite(tree.lower).any() or np.isfinite(tree.upper).any()),
            VELOCITY: (self._velocity, np.isfinite(tree.velocity_limit).any()),
            EFFORT: (self._effort, np.isfinite(self.strongest).any()),
        }
        return {
            name: OFF if margin is None else "it is not computed here" if there_are else _no_limit(name)
            for name, (margin, there_are) in limits.items()
            if name not in found
        }

    def _place_words(self, k: int) -> str:
        worst = self._worst[POSITION]
        c = int(np.argmax(worst.excess[k]))
        over, value, axis = worst.excess[k, c], worst.value[k, c], self._bounded[c]
        if not over > 0.0:
            return "joints stay within the limits of the model"
        unit = UNITS[POSITION][0 if self.mechanism.tree.turns[axis] else 1]
        bound = self.lower[axis] if value < self.lower[axis] else self.upper[axis]
        return (
            f"joint '{self.mechanism.tree.axis_names[axis]}' is at {value:.4g} {unit} at t = "
            f"{worst.time[k, c]:.4g} s, {over:.3g} {unit} beyond its limit {bound:.4g} {unit}"
        )

    def _size_words(self, name: str, k: int) -> str:
        worst, tree = self._worst[name], self.mechanism.tree
        c = int(np.argmax(worst.excess[k]))
        part, value = worst.excess[k, c], abs(worst.value[k, c])
        axis = self._fast[c] if name == VELOCITY else self._own[self._strong[c]]
        limit = self.fastest[axis] if name == VELOCITY else self.strongest[self._strong[c]]
        noun, unit = name.removesuffix("_limits"), UNITS[name][0 if tree.turns[axis] else 1]
        joint = tree.axis_names[axis]
        if not part > 1.0:
            size = f"{value:.4g} {unit} of {limit:.4g} {unit} ({100.0 * part:.3g} %)"
            return f"largest {noun} relative to its limit: joint '{joint}', {size}"
        return (
            f"the {noun} of joint '{joint}' is {value:.4g} {unit} at t = {worst.time[k, c]:.4g} s, "
            f"{part:.3g} times its limit {limit:.4g} {unit}"
        )


def _no_limit(name: str) -> str:
    kind = name.removesuffix("_limits")
    return f"no joint has {'an' if kind == 'effort' else 'a'} {kind} limit"


def _part(values: Array, limit: Array) -> Array:
    """Sizes as fractions of finite limits; of a limit of zero, any size is infinitely much."""
    with np.errstate(divide="ignore", invalid="ignore"):
        part: Array = np.nan_to_num(np.abs(values) / limit, nan=0.0, posinf=np.inf)
    return part
