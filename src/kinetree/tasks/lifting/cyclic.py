"""Lifting in a cycle: up with the box, back with it or without it, and on into the next lift, as one motion.

Only the box comes to rest, at the floor and at the shelf; joints go on with the velocities and accelerations
that they have there. With the box in the hands on both ways the mechanics are conservative, and of the cycles
near the lift and its reverse these two are the cheapest; on the way back for another box they are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.kinematics import body_velocities
from kinetree.errors import InputError, must_be, shown, unknown_name
from kinetree.motion.options import Search
from kinetree.motion.outcome.phased_prediction import PhasedPrediction
from kinetree.motion.problem.phases import Junction, PhasedProblem
from kinetree.motion.search.start import given_motion
from kinetree.motion.seek import Attempt, MotionTask, TimeBudget, seek
from kinetree.result.labeled import coordinates_of, labeled_dataset, variables_of
from kinetree.result.records import Check
from kinetree.result.result import Result
from kinetree.tasks.ground import GroundReactions
from kinetree.tasks.lifting.checks import checked, lift_ground, simulation
from kinetree.tasks.lifting.lift import Lift, joint_forces, with_forces
from kinetree.tasks.lifting.problem import BOX, DOWN, UP, Lifter, lifter, lifting_problem
from kinetree.tasks.lifting.repeated import checked_count
from kinetree.tasks.lifting.search import FINER, REFINED
from kinetree.tasks.lifting.task import MOST_POINTS, USUAL, described
from kinetree.tasks.net_joints import with_net_joints
from kinetree.tasks.sampled import SampledMotion
from kinetree.tasks.walking.verified import Verified
from kinetree.tasks.walking.walk import with_ground

LOWER, RETURN = "lower", "return"
BACK = {LOWER: "lowers the box again", RETURN: "returns with empty hands for the next box"}
Ways = tuple[Lifter, Lifter]
RESTS = 1e-3  # m/s, of the box at floor and shelf
REPEATS = 1e-3  # rad, rad/s, rad/s^2 beside 1 + its size: how the cycle goes on into the next


@dataclass(frozen=True, eq=False)
class LiftCycle(Verified):
    """A cycle of lifting: who goes which way, the motion in two phases, and all checks by name."""

    ways: Ways
    back: str
    prediction: PhasedPrediction
    checks: dict[str, Check]
    seconds: dict[str, float] = field(default_factory=dict)

    @cached_property
    def courses(self) -> tuple[SampledMotion, SampledMotion]:
        """Both ways at the prediction's own samples."""
        up, down = (SampledMotion(part, part.s) for part in self.prediction.parts)
        return up, down

    @property
    def joint_forces(self) -> dict[str, Array]:
        """Size of the net force in the joints of back and knees, (m,) each in N, at ``prediction.t``."""
        up, down = (joint_forces(course) for course in self.courses)
        return {name: np.concatenate([up[name], down[name]]) for name in up}

    def to_result(self, repetitions: int = 1) -> Result:
        """So many cycles as one result, with what that of a lift has; ``phase`` is 1 up and 2 back."""
        checked_count(repetitions)
        up, down = (lift_ground(who, course) for who, course in zip(self.ways, self.courses, strict=True))
        both = (
            np.concatenate([getattr(x, name) for x in (up, down)]) for name in ("force", "point", "moment")
        )
        force, point, moment = both
        settings = asdict(self.ways[0].task) | {"cycle": self.back, "repetitions": repetitions}
        found = with_ground(
            self.prediction.to_result(),
            GroundReactions(force, point, moment),
            settings,
            self.checks,
            "lifting",
            0,
        )
        found = replace(found, settings={**found.settings, "ground": self.ways[0].surroundings})
        found = with_net_joints(with_forces(found, self.joint_forces), self.ways[0].person)
        return _tiled(found, repetitions)

    def __repr__(self) -> str:
        up, down = self.prediction.durations
        return (
            f"LiftCycle({described(self.ways[0].task)}, then {BACK[self.back]}: {self.prediction.word}, "
            f"{up:.3g} + {down:.3g} s, objective {self.prediction.objective:.4g}, "
            f"{self.prediction.iterations} iterations)"
        )


def cycle(lift: Lift, back: str = LOWER, *, simulated: bool = False, **options: Any) -> LiftCycle:
    """The cheapest cycle of a lift with both hands and the way ``back``, begun with a lift that was found.

    ``back`` is "lower", with the box in the hands, or "return", without it, for the next one. Position,
    velocity and acceleration go on from the last instant to the first; both durations are found, unless the
    lift's was given. ``simulated`` adds a forward simulation of both ways; ``options`` are those of
    `predict`.

    >>> import kinetree as kt
    >>> found = kt.lifting.cycle(kt.lifting.lift(box=5.0, shelf=0.7), back="return")
    >>> found.passed, len(found.prediction.durations)
    (True, 2)
    """
    search = Search.of(options, USUAL, ("simulated",))
    _check(lift, back, simulated)
    found = seek(CycleSearch(lift, back), search)
    ways, prediction, checks = found.attempt.mesh, found.prediction, found.checks
    if simulated and prediction.solved_at_samples:
        each = [simulation(*x) for x in zip(ways, prediction.parts, strict=True)]
        checks = {**checks, "simulation": _worse(each)}
    return LiftCycle(ways, back, prediction, checks, found.seconds)


@dataclass(frozen=True, eq=False)
class CycleSearch(MotionTask[Ways, PhasedPrediction]):
    """The search for a cycle, from the lift and its reverse, on finer meshes where it fails a check."""

    lift: Lift
    back: str = LOWER

    @property
    def mesh(self) -> Ways:
        """Who goes which way, with the segments of the lift."""
        return self._ways(self.lift.task.points)

    def problem(self, mesh: Ways) -> PhasedProblem:
        """Both ways, each of which goes on into the other."""
        on = Junction(
            "acceleration", joints=[x for x in mesh[0].joints if not x.startswith("left_")]
        )  # the left side follows, and so does the level box
        return PhasedProblem([lifting_problem(who.task, who) for who in mesh], on, cycle=on)

    def starts(
        self, problem: PhasedProblem, attempts: Sequence[Attempt[Ways, PhasedPrediction]], budget: TimeBudget
    ) -> Iterator[Array]:
        """The lift and its reverse."""
        t, q = self.lift.prediction.t, self.lift.prediction.q
        ways = zip(problem.problems, (q, q[::-1]), (t, t[-1] - t[::-1]), strict=True)
        yield np.concatenate([one.program.reduced(given_motion(one, s, x)) for one, x, s in ways])

    def checks(self, mesh: Ways, prediction: PhasedPrediction) -> dict[str, Check]:
        """All checks of both ways."""
        return _checked(mesh, prediction)

    def finer(self, attempts: Sequence[Attempt[Ways, PhasedPrediction]]) -> Ways | None:
        """More segments, until a cycle passes."""
        last = attempts[-1]
        points = round(FINER * last.mesh[0].task.points)
        if last.passed or not last.solved or len(attempts) > REFINED or points > MOST_POINTS:
            return None
        return self._ways(points)

    def _ways(self, points: int) -> Ways:
        """Who goes which way."""
        task = self.lift.task.changed(points=points)
        up = replace(self.lift.lifter, task=task, part=UP)
        return up, replace(up if self.back == LOWER else lifter(task.changed(box=0.0)), part=DOWN)


def _check(lift: Any, back: Any, simulated: Any) -> None:
    if not isinstance(lift, Lift):
        raise InputError(f"cycle needs a Lift to begin with, got {shown(lift)}")
    if back not in BACK:
        raise InputError(unknown_name("way back", back, BACK).after("cycle: "))
    if not isinstance(simulated, bool):
        raise InputError(must_be("cycle: simulated", "true or false", simulated))
    if not lift.task.symmetric:
        raise InputError(f"cycle: only lifts that are symmetric can be cyclic, got {described(lift.task)}")
    if not lift.solved:
        raise InputError(f"cycle needs a lift that was found, got {lift!r}")


def _checked(ways: Ways, prediction: PhasedPrediction) -> dict[str, Check]:
    """The worse check of both ways by name, the box at rest, and how the cycle goes on into itself."""
    each = [checked(who, part) for who, part in zip(ways, prediction.parts, strict=True)]
    found = {name: _worse([x[name] for x in each]) for name in each[0]}
    fast = 0.0
    for who, part in zip(ways, prediction.parts, strict=True):
        twist = body_velocities(who.mechanism, part.q[[0, -1]], part.qd[[0, -1]])
        fast = max(fast, float(np.abs(twist[:, who.mechanism.body_index(BOX), :3]).max()))
    first, last = prediction.parts[0], prediction.parts[-1]
    apart = 0.0
    for a, b in ((first.q, last.q), (first.qd, last.qd), (first.qdd, last.qdd)):
        apart = max(apart, float((np.abs(a[0] - b[-1]) / (1.0 + np.abs(a[0]))).max()))
    return found | {
        "rests": Check.within(fast, RESTS, "m/s", "the box is at rest at floor and shelf"),
        "repeats": Check.within(
            apart, REPEATS, "1", "position, velocity and acceleration go on into the next cycle"
        ),
    }


def _worse(checks: list[Check]) -> Check:
    return max(checks, key=lambda x: (not x.passed, abs(x.value) / x.tolerance))


def _tiled(result: Result, count: int) -> Result:
    """The same motion so many times in a row."""
    if count == 1:
        return result
    known, numbers = coordinates_of(result.dataset), variables_of(result.dataset)
    time = known["time"]
    T = float(time.values[-1])

    def again(values: Array) -> Array:
        tiled = np.concatenate([values] * count)
        tiled.setflags(write=False)
        return tiled

    times = np.concatenate([time.values + k * T for k in range(count)])
    times.setflags(write=False)
    variables = {
        name: x._replace(values=again(x.values)) if x.dims[:1] == ("time",) else x
        for name, x in numbers.items()
    }
    return replace(result, dataset=labeled_dataset(known | {"time": time._replace(values=times)}, variables))
