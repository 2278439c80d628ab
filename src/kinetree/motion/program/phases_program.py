"""The programs of all phases, and the conditions at their junctions, as one nonlinear program.

At every junction sign q^(r)(1) / T^r of one phase, with a jump added, equals q^(r)(0) / T^r of the next for
positions (r = 0), velocities (r = 1) and, if asked for, accelerations (r = 2); in a cycle the last phase
meets the first. Each side depends on its own phase only, so the Hessian of the whole consists of those of the
phases. The durations of all together may be bounded, a linear row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError
from kinetree.motion.problem.problem import Problem
from kinetree.motion.program.nonlinear import NonlinearProgram
from kinetree.motion.program.program import Program
from kinetree.motion.terms.boundary import NAMES

SAME = 1e-9  # what is fixed on both sides may differ by this
ROUNDING = 1e-14  # part of the terms of a sum that is left where they cancel
JUNCTION, TOTAL = "junction of phases", "duration of all phases"


class PhaseEnd:
    """q^(r) / T^r of one joint at an end of a phase, as a function of the phase's free unknowns z.

    ``columns`` (k,) are the unknowns with influence, the duration last; none if it is at ``rest`` anyway.
    """

    def __init__(self, problem: Problem, joint: int, rate: int, s: float) -> None:
        setting, program = problem.setting, problem.program
        self.program, self.rate = program, rate
        self.rest: float | None = None
        self.columns, self.timed = np.zeros(0, dtype=np.int64), False
        if joint not in setting.column:
            self.rest = setting.frozen_at(joint) if rate == 0 else 0.0
            return
        points, weights = setting.curve_rows(np.array([s]), [setting.column[joint]], rate)
        self.points, self.weights = points[0], weights[0]
        place, duration = program.places.place, program.places.duration
        self.kept = np.flatnonzero((place[self.points] >= 0) & (self.weights != 0.0))
        self.timed = bool(rate and duration >= 0)
        parts = self.weights * program.unknowns(np.zeros(program.n))[self.points]
        if self.timed and not len(self.kept) and abs(parts.sum()) <= ROUNDING * np.abs(parts).sum():
            self.rest, self.timed = 0.0, False
            return
        last = [duration] if self.timed else []
        self.columns = np.append(place[self.points[self.kept]], last).astype(np.int64)
        self.by_unknown = self.weights[self.kept] * program.places.factor[self.points[self.kept]]

    def value(self, z: Array) -> float:
        """In rad, rad/s or rad/s^2; m if it slides."""
        if self.rest is not None:
            return self.rest
        x, T = self.program.unknowns(z), self.program.duration(z)
        return float(self.weights @ x[self.points]) / T**self.rate

    def slopes(self, z: Array) -> Array:
        """Derivatives by the unknowns in ``columns``."""
        if self.rest is not None:
            return np.zeros(0)
        T = self.program.duration(z)
        slopes = self.by_unknown / T**self.rate
        return np.append(slopes, -self.rate * self.value(z) / T) if self.timed else slopes

    def bend(self, z: Array) -> Array:
        """Second derivatives by the duration and each of ``columns``; all others are zero."""
        T, r = self.program.duration(z), self.rate
        points = -r * self.by_unknown / T ** (r + 1)
        return np.append(points, r * (r + 1) * self.value(z) / T**2)


class PhaseTie(NamedTuple):
    """One condition: sign times the end of phase ``before``, with a jump, is the start of phase ``after``."""

    before: int
    after: int
    first: PhaseEnd
    second: PhaseEnd
    jump: float
    sign: float

    def gap(self, parts: Sequence[Array]) -> float:
        """What is left of the difference."""
        end, start = self.first.value(parts[self.before]), self.second.value(parts[self.after])
        return self.sign * end + self.jump - start


class Meeting:
    """All conditions between two phases that are not met anyway, and a name for each.

    ``jumps`` by joint and rate; None where there is no condition. ``partners`` lead from joints at the end to
    those that go on, with a sign; joints without one do not go on.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        places: tuple[int, int],
        rates: int,
        jumps: Mapping[tuple[int, int], float | None],
        partners: Mapping[int, tuple[int, float]],
    ) -> None:
        self.ties: list[PhaseTie] = []
        self.labels: list[str] = []
        before, after = (problems[k] for k in places)
        names = before.mechanism.joint_names
        numbers = f"{places[0] + 1} and {places[1] + 1}"
        z1, z2 = (np.zeros(problem.program.n) for problem in (before, after))
        for joint, (partner, sign) in partners.items():
            name = names[joint] if partner == joint else f"{names[joint]} and {names[partner]}"
            for rate in range(rates):
                jump = jumps.get((joint, rate), 0.0)
                if jump is None:
                    continue
                a, b = PhaseEnd(before, joint, rate, 1.0), PhaseEnd(after, partner, rate, 0.0)
                if len(a.columns) or len(b.columns):
                    self.ties.append(PhaseTie(*places, a, b, jump, sign))
                    self.labels.append(f"{NAMES[rate]} of {name}, phases {numbers}")
                elif abs(sign * a.value(z1) + jump - b.value(z2)) > SAME:
                    meant = f", with a jump of {jump:g} between" if jump else ""
                    raise InputError(
                        f"phases {numbers} cannot meet: the {NAMES[rate]} of joint '{name}' is fixed to "
                        f"{sign * a.value(z1):g} at the end and to {b.value(z2):g} at the start{meant}"
                    )


class PhasesProgram(NonlinearProgram):
    """Unknowns and rows phase by phase, then the rows of the junctions."""

    def __init__(
        self,
        programs: Sequence[Program],
        meetings: Sequence[Meeting],
        duration: tuple[float, float] | None = None,
    ) -> None:
        self.programs, self.scale = list(programs), 1.0
        self.starts = np.cumsum([0, *(program.n for program in programs)])
        self.row_starts = np.cumsum([0, *(program.m for program in programs)])
        self.ties = [tie for meeting in meetings for tie in meeting.ties]
        self.labels = [label for meeting in meetings for label in meeting.labels]
        self.n = int(self.starts[-1])
        tied = np.zeros(len(self.ties))
        timed = [program.durations + start for program, start in zip(programs, self.starts, strict=False)]
        self.durations = np.concatenate(timed)
        low, high = np.zeros(0), np.zeros(0)
        self.limited = duration is not None and bool(len(self.durations))
        if duration is not None and self.limited:
            given = sum(x.duration(np.zeros(x.n)) for x in programs if not len(x.durations))
            low, high = (np.array([side - given]) for side in duration)
        self.m = int(self.row_starts[-1]) + len(self.ties) + len(low)
        self.lower = np.concatenate([*(program.lower for program in programs), tied, low])
        self.upper = np.concatenate([*(program.upper for program in programs), tied, high])
        self.x_lower = np.concatenate([program.x_lower for program in programs])
        self.x_upper = np.concatenate([program.x_upper for program in programs])
        self.squares = all(program.squares for program in programs)
        self._lay_out()

    def _lay_out(self) -> None:
        """Entries of the Jacobian and of the Hessian."""
        rows, columns, below, beside = [], [], [], []
        for k, program in enumerate(self.programs):
            rows.append(program.jacobian_rows + self.row_starts[k])
            columns.append(program.jacobian_columns + self.starts[k])
            below.append(program.hessian_rows + self.starts[k])
            beside.append(program.hessian_columns + self.starts[k])
        for r, tie in enumerate(self.ties):
            count = len(tie.first.columns) + len(tie.second.columns)
            rows.append(np.full(count, self.row_starts[-1] + r))
            own = tie.first.columns + self.starts[tie.before], tie.second.columns + self.starts[tie.after]
            columns.append(np.concatenate(own))
        if self.limited:
            rows.append(np.full(len(self.durations), self.m - 1))
            columns.append(self.durations)
        self.jacobian_rows, self.jacobian_columns = _indices(rows), _indices(columns)
        self.hessian_rows, self.hessian_columns = _indices(below), _indices(beside)
        entries = np.cumsum([0, *(len(x) for x in below)])
        self._timed = [  # where pairs of each phase's duration with its unknowns are among the entries
            entries[k] + program.duration_entries for k, program in enumerate(self.programs)
        ]

    def parts(self, z: Array) -> list[Array]:
        """The unknowns of each phase."""
        return [z[a:b] for a, b in pairwise(self.starts)]

    def gaps(self, z: Array) -> Array:
        """What is left of the difference at each junction."""
        parts = self.parts(z)
        return np.array([tie.gap(parts) for tie in self.ties], dtype=np.float64)

    @override
    def duration(self, z: Array) -> float:
        """Of all phases together (s)."""
        return sum(program.duration(part) for program, part in self._each(z))

    @override
    def families(self) -> dict[str, list[int]]:
        """Rows by kind of constraint; the junctions' are one kind."""
        found: dict[str, list[int]] = {}
        for program, start in zip(self.programs, self.row_starts, strict=False):
            for family, rows in program.families().items():
                found.setdefault(family, []).extend(int(start) + r for r in rows)
        first = int(self.row_starts[-1])
        if self.ties:
            found[JUNCTION] = list(range(first, first + len(self.ties)))
        if self.limited:
            found[TOTAL] = [self.m - 1]
        return found

    @override
    def expect_derivatives(self, z: Array) -> None:
        """Phase by phase."""
        for program, part in self._each(z):
            program.expect_derivatives(part)

    @override
    def objective(self, z: Array) -> float:
        """f(z), scaled: the sum over the phases."""
        return float(sum(self._factor(program) * program.objective(part) for program, part in self._each(z)))

    @override
    def cost(self, z: Array) -> float:
        """The objective that was asked for: the sum over the phases."""
        return sum(program.cost(part) for program, part in self._each(z))

    @override
    def roughness(self, z: Array) -> float:
        """The sum over the phases."""
        return sum(program.roughness(part) for program, part in self._each(z))

    @override
    def roughness_slope(self, z: Array) -> Array:
        """Its derivatives by z."""
        return np.concatenate([program.roughness_slope(part) for program, part in self._each(z)])

    @property
    def smoothing(self) -> float:
        """The price on roughness, in units of the objective: one for all phases."""
        return max(program.smoothing for program in self.programs)

    @smoothing.setter
    def smoothing(self, price: float) -> None:
        """Set it."""
        for program in self.programs:
            program.smoothing = price

    @property
    def easing(self) -> float:
        """The further weight of roughness in the scaled objective."""
        return max(self._factor(program) * program.easing for program in self.programs)

    @easing.setter
    def easing(self, weight: float) -> None:
        """Set it."""
        for program in self.programs:
            program.easing = weight / self._factor(program)

    @override
    def gradient(self, z: Array) -> Array:
        """df/dz."""
        return np.concatenate(
            [self._factor(program) * program.gradient(part) for program, part in self._each(z)]
        )

    @override
    def constraints(self, z: Array) -> Array:
        """g(z)."""
        total = [z[self.durations].sum()] if self.limited else []
        rows = (program.constraints(part) for program, part in self._each(z))
        return np.concatenate([*rows, self.gaps(z), total])

    @override
    def jacobian(self, z: Array) -> Array:
        """Entries of dg/dz."""
        parts = self.parts(z)
        found = [program.jacobian(part) for program, part in self._each(z)]
        for tie in self.ties:
            end, start = tie.first.slopes(parts[tie.before]), tie.second.slopes(parts[tie.after])
            found += [tie.sign * end, -start]
        if self.limited:
            found.append(np.ones(len(self.durations)))
        return np.concatenate(found)

    @override
    def hessian(self, z: Array, factor: float, multipliers: Array) -> Array:
        """Entries of the Hessian of the Lagrangian, lower triangle."""
        return self._curvature(Program.hessian, z, factor, multipliers)

    @override
    def straight_hessian(self, z: Array, factor: float, multipliers: Array) -> Array:
        """The same without the second derivatives of torques in the objective."""
        return self._curvature(Program.straight_hessian, z, factor, multipliers)

    def _curvature(
        self, hessian: Callable[[Program, Array, float, Array], Array], z: Array, factor: float, y: Array
    ) -> Array:
        """Entries of one of the Hessians: those of every phase, with its own unknowns and multipliers."""
        own = [y[a:b] for a, b in pairwise(self.row_starts)]
        found = [
            hessian(program, part, factor * self._factor(program), multipliers)
            for (program, part), multipliers in zip(self._each(z), own, strict=True)
        ]
        return self._tied(z, np.concatenate(found), y)

    def _tied(self, z: Array, entries: Array, multipliers: Array) -> Array:
        """Entries with the curvature of the junctions added."""
        parts, tied = self.parts(z), multipliers[self.row_starts[-1] :]
        for tie, y in zip(self.ties, tied, strict=False):
            for phase, side, sign in ((tie.before, tie.first, tie.sign), (tie.after, tie.second, -1.0)):
                if side.timed:
                    entries[self._timed[phase][side.columns]] += sign * y * side.bend(parts[phase])
        return entries

    def _factor(self, program: Program) -> float:
        """From a phase's own scale to that of the whole."""
        return self.scale / program.scale

    def _each(self, z: Array) -> list[tuple[Program, Array]]:
        return list(zip(self.programs, self.parts(z), strict=True))


def _indices(parts: Sequence[Any]) -> Any:
    return np.concatenate(parts).astype(np.int32)
