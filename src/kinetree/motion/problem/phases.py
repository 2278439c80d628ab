"""Problems in a row, such as lifting and carrying: each begins where and as the one before ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, number
from kinetree.algebra.bspline import CLOSE
from kinetree.doors import upstairs
from kinetree.errors import InputError, listed, must_be, unknown_name
from kinetree.model.mechanism import Mechanism, closed_loops
from kinetree.motion.problem.problem import Problem, duration_bounds
from kinetree.motion.program.check import DerivativeCheck, checked_derivatives
from kinetree.motion.program.phases_program import Meeting, PhasesProgram
from kinetree.motion.search.poses import known_poses
from kinetree.motion.search.start import middle_pose, random_start, slowed, straight_line
from kinetree.motion.terms.boundary import NAMES


@dataclass(frozen=True)
class Junction:
    """Continuity between phases: of positions, velocities and, depending on ``upto``, accelerations.

    ``upto``: "position", "velocity" or "acceleration"; higher derivatives may jump. ``jumps`` names
    exceptions: {"velocity": {"joint1": -0.5}} is 0.5 less after the junction than before, None is free.
    ``joints`` are the continuous ones, by default all. With ``pairs`` a joint continues as its partner, and
    the partner as the joint; ``mirrored`` names joints whose sign changes, as in :class:`terms.Symmetric`.

    >>> Junction("position").rates
    1
    """

    upto: str = "velocity"
    jumps: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    joints: Sequence[str] | None = None
    pairs: Mapping[str, str] = field(default_factory=dict)
    mirrored: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in (self.upto, *self.jumps):
            if not isinstance(name, str) or name not in NAMES:
                raise InputError(unknown_name("quantity", name, NAMES).after("junction: "))
        for name in self.jumps:
            if NAMES.index(name) >= self.rates:
                raise InputError(
                    f"junction: a jump of the {name} is given, but only quantities up to the {self.upto} are "
                    f"continuous"
                )

    @property
    def rates(self) -> int:
        """How many of position, velocity and acceleration are continuous."""
        return NAMES.index(self.upto) + 1

    def partners(self, mechanism: Mechanism) -> dict[int, tuple[int, float]]:
        """Continuous joints, each with the joint that continues it and a sign."""
        names = mechanism.joint_names
        chosen = names if self.joints is None else self.joints
        other = {**{b: a for a, b in self.pairs.items()}, **self.pairs}
        for name in (*chosen, *other, *self.mirrored):
            if name not in names:
                raise InputError(unknown_name("joint", name, names).after("junction: "))
        return {
            mechanism.joint_index(name): (
                mechanism.joint_index(other.get(name, name)),
                -1.0 if name in self.mirrored else 1.0,
            )
            for name in chosen
        }

    def by_joint(self, mechanism: Mechanism) -> dict[tuple[int, int], float | None]:
        """Jumps by joint and rate."""
        found: dict[tuple[int, int], float | None] = {}
        for quantity, jumps in self.jumps.items():
            for name, value in jumps.items():
                if name not in mechanism.joint_names:
                    raise InputError(unknown_name("joint", name, mechanism.joint_names).after("junction: "))
                jump = None if value is None else number(value, f"jump of the {quantity} of joint '{name}'")
                found[mechanism.joint_index(name), NAMES.index(quantity)] = jump
        return found


class PhasedProblem:
    """A motion in phases: a sequence of problems, each with its own terms, loads, duration and splines.

    ``junctions``: one for all, or one for each pair of successive phases. Objectives are added. With
    ``cycle``, also a junction, the last phase continues into the first, so that the motion is periodic.
    ``duration`` (s) prescribes the total duration: a number, or (lowest, highest).

    >>> import kinetree as kt
    >>> from kinetree.motion.terms import Boundary, Time, TorqueLimits
    >>> arm = kt.zoo.two_link()
    >>> away = Problem(arm, objective=Time(), constraints=[Boundary("start", [0, -2], 0.0), TorqueLimits()])
    >>> there = Problem(arm, objective=Time(), constraints=[Boundary("end", [1, -1], 0.0), TorqueLimits()])
    >>> PhasedProblem([away, there])
    PhasedProblem('two_link': 2 phases, 86 variables, 168 constraints, 4 of them at junctions)
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        junctions: Junction | Sequence[Junction] | None = None,
        cycle: Junction | None = None,
        duration: float | tuple[float, float] | None = None,
    ) -> None:
        self.problems = _checked(problems)
        self.junctions = _junctions(junctions, len(self.problems) - 1)
        self.mechanism, self.cycle = self.problems[0].mechanism, cycle
        if cycle is not None and not isinstance(cycle, Junction):
            raise InputError(must_be("cycle", "a Junction, from the last phase to the first", cycle))
        last = len(self.problems) - 1
        places = [*pairwise(range(last + 1)), *([(last, 0)] if cycle else [])]
        own = [*self.junctions, *([cycle] if cycle else [])]
        meetings = [
            Meeting(self.problems, place, x.rates, x.by_joint(self.mechanism), x.partners(self.mechanism))
            for place, x in zip(places, own, strict=True)
        ]
        self.total = None if duration is None else duration_bounds(duration)
        _refuse_total(self.problems, self.total)
        programs = [problem.program for problem in self.problems]
        self.program = PhasesProgram(programs, meetings, self.total)

    @property
    def n_variables(self) -> int:
        """Number of free unknowns of all phases."""
        return self.program.n

    @property
    def n_constraints(self) -> int:
        """Number of scalar constraints, including those at the junctions."""
        return self.program.m

    def conflicts(self) -> list[str]:
        """Reasons why a phase is infeasible."""
        return [f"phase {k}: {stated}" for k, x in enumerate(self.problems, 1) for stated in x.conflicts()]

    def check_derivatives(self, seed: int = 0) -> DerivativeCheck:
        """Compare all derivatives with finite differences, near a straight motion."""
        return checked_derivatives(self.program, self.random_start(np.random.default_rng(seed)), seed)

    def describe(self) -> str:
        """All phases as text."""
        lines = [repr(self)]
        for k, problem in enumerate(self.problems, 1):
            lines += [f"phase {k}: {problem.describe()}"]
        return "\n".join(lines)

    def straight_start(self) -> Array:
        """Unknowns for a straight line through all positions that boundary conditions give."""
        known = _known_positions(self.problems)
        found = []
        for k, problem in enumerate(self.problems):
            setting, unknowns = problem.setting, problem.setting.unknowns
            points = unknowns.control_points(straight_line(problem)).copy()
            for joint, column in setting.column.items():
                if joint in known:
                    s, q = zip(*sorted(known[joint]), strict=True)
                    points[:, column] = np.interp(k + problem.basis.greville, s, q)
            low, high = setting.duration
            x = unknowns.joined(points, low) if low == high else slowed(problem, points)
            found.append(problem.program.reduced(x))
        return np.concatenate(found)

    def random_start(self, rng: np.random.Generator) -> Array:
        """The straight line with random smooth motions added, and random durations."""
        z = self.straight_start()
        parts = []
        for problem, part in zip(self.problems, self.program.parts(z), strict=True):
            program, straight = problem.program, straight_line(problem)
            other, unknowns = random_start(problem, rng), problem.setting.unknowns
            here = program.unknowns(part)
            T, longer, before = map(unknowns.duration_of, (here, other, straight))
            moved = unknowns.with_duration(here + (other - straight), T * longer / before)
            parts.append(program.reduced(moved))
        return np.concatenate(parts)

    def __repr__(self) -> str:
        return (
            f"PhasedProblem('{self.mechanism.name}': {len(self.problems)} phases, "
            f"{self.n_variables} variables, {self.n_constraints} constraints, "
            f"{len(self.program.ties)} of them at junctions)"
        )

    def _repr_html_(self) -> str:
        return str(upstairs("phased_problem_html")(self))


def _refuse_total(problems: Sequence[Problem], total: tuple[float, float] | None) -> None:
    """An error where the phases cannot take the time that all of them together must take."""
    if total is None:
        return
    least, most = (sum(problem.setting.duration[k] for problem in problems) for k in range(2))
    if least > total[1] * (1.0 + CLOSE) or most < total[0] * (1.0 - CLOSE):
        raise InputError(
            f"all phases together must take {total[0]:g} to {total[1]:g} s, but they take {least:g} to "
            f"{most:g} s"
        )


def _known_positions(problems: Sequence[Problem]) -> dict[int, list[tuple[float, float]]]:
    """Where boundary conditions and frozen joints put each joint: (phase + s, value) pairs."""
    known: dict[int, list[tuple[float, float]]] = {}
    for k, problem in enumerate(problems):
        columns = {column: joint for joint, column in problem.setting.column.items()}
        for column, given in known_poses(problem, middle_pose(problem)).items():
            known.setdefault(columns[column], []).extend((k + s, q) for s, q in given)
        for joint in range(problem.mechanism.n_dof):
            if joint not in problem.setting.column:
                stays = problem.setting.frozen_at(joint)
                known.setdefault(joint, []).extend([(float(k), stays), (k + 1.0, stays)])
    return known


def _checked(problems: Any) -> list[Problem]:
    """At least two problems of mechanisms with the same joints."""
    found = list(problems) if isinstance(problems, Sequence) else []
    if len(found) < 2 or not all(isinstance(problem, Problem) for problem in found):
        raise InputError(must_be("phases", "at least two consecutive problems", problems))
    names = found[0].mechanism.joint_names
    if any(problem.setting.closure is not None for problem in found):
        raise InputError(
            f"{closed_loops(found[0].mechanism)}: phases are for open mechanisms; use one problem for the "
            f"whole motion"
        )
    for k, problem in enumerate(found[1:], 2):
        if problem.mechanism.joint_names != names:
            raise InputError(
                f"all phases need the joints of the first, {listed(names)}; "
                f"phase {k} has {listed(problem.mechanism.joint_names)}"
            )
    if len({id(problem) for problem in found}) < len(found):
        raise InputError("each phase needs its own problem; problem.changed() makes another one")
    return found


def _junctions(given: Any, count: int) -> list[Junction]:
    if given is None or isinstance(given, Junction):
        return [given or Junction()] * count
    found = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else []
    if len(found) != count or not all(isinstance(junction, Junction) for junction in found):
        raise InputError(must_be("junctions", f"one Junction for all, or {count} in a list", given))
    return found
