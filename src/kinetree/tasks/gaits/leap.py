"""The study: predict a leap of a legged robot, verify it, let it be tracked on the ground."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.energy import center_of_mass
from kinetree.analysis.legged_stance import LeggedStance
from kinetree.control.sampled import SampledLaw
from kinetree.control.whole_body.task import LawTask
from kinetree.errors import InputError, must_be
from kinetree.model.mechanism import Mechanism
from kinetree.motion.options import Search, divided
from kinetree.motion.outcome.phased_prediction import PhasedPrediction
from kinetree.motion.problem.phases import PhasedProblem
from kinetree.motion.seek import Attempt, MotionTask, TimeBudget, seek
from kinetree.motion.solvers.choice import SOLVERS
from kinetree.result.records import Check
from kinetree.result.result import Result, changed
from kinetree.simulation.ground import Ground
from kinetree.tasks.gaits.checks import LEFT, leap_checks, unexerted_forces
from kinetree.tasks.gaits.leap_problem import LeapPlan, leap_phases, leap_plan, leap_start
from kinetree.tasks.gaits.leaping import FollowingLeap, LeapMotion, LeapTiming
from kinetree.tasks.gaits.task import USUAL, Leaping
from kinetree.tasks.gaits.tracking import tracked, upright_until
from kinetree.tasks.walking.verified import Verified
from kinetree.trajectories.base import Trajectory
from kinetree.trajectories.tabulated_motion import from_table

FINER = 3  # how often the mesh is refined where it must be
STRAYS = 0.05  # of the leg's length: how far a leap that is followed may get from its prediction
ROWS = 200  # of the table of a phase that a law follows
Mesh = dict[str, int]  # segments of each phase


@dataclass(frozen=True, eq=False)
class Leap(Verified):
    """A predicted jump or hop: the plan, the prediction in phases, and all checks by name."""

    plan: LeapPlan
    prediction: PhasedPrediction
    checks: dict[str, Check]
    seconds: dict[str, float] = field(default_factory=dict)
    iterations: int = 0  # of the searches on all meshes

    @property
    def task(self) -> Leaping:
        """What was asked."""
        return self.plan.task

    @property
    def who(self) -> LeggedStance:
        """The robot that leaps."""
        return self.plan.who

    @property
    def height(self) -> float:
        """Rise of the center of mass in flight (m)."""
        return self.task.height

    @property
    def distance(self) -> float:
        """From takeoff to landing (m)."""
        return self.task.distance

    @property
    def cyclic(self) -> bool:
        """Whether it repeats: a hop does, a jump does not."""
        return self.task.cyclic

    @cached_property
    def _motion(self) -> LeapMotion:
        return LeapMotion(self.who, self.prediction, self.distance, self.cyclic)

    def trajectory(self, hops: int = 1) -> Trajectory:
        """The motion of all phases as a trajectory; a hop is repeated ``hops`` times."""
        self._check_hops(hops)
        slide = self.who.mechanism.joint_index(self.who.slides(self.who.forward))
        t: list[Array] = []
        q: list[Array] = []
        qd: list[Array] = []
        begun = 0.0
        for k in range(hops):
            for part in self.prediction.parts:
                times = np.linspace(0.0, part.duration, ROWS + 1)
                motion = part.at(times)
                first = 1 if t else 0
                moved = motion[0][first:].copy()
                moved[:, slide] += k * self.distance
                t.append(begun + times[first:])
                q.append(moved)
                qd.append(motion[1][first:])
                begun += part.duration
        return from_table(np.concatenate(t), np.concatenate(q), np.concatenate(qd))

    def law(self, period: float = 0.004, *, tasks: Sequence[LawTask] = (), **options: Any) -> SampledLaw:
        """The law that follows this leap on the ground and keeps its balance, called once per ``period`` (s).

        Each tick solves for accelerations and ground forces near those predicted. Feet land where the actual
        flight ends: moved by the error of the center of mass there, and by its velocity. ``tasks`` are added,
        such as a :class:`kinetree.control.PointTask` of a hand. Options are those of
        :class:`kinetree.control.SampledLaw`: delay, noise, seed.
        """
        takeoff, flight = self.prediction.durations[:2]
        whole = self._motion.duration if self.cyclic else None
        timing = LeapTiming(len(self.who.feet), takeoff, flight, whole)
        law = FollowingLeap(self.who, self._motion, timing, self.who.most, tasks)
        return SampledLaw(law, period=period, **options)

    def track(self, hops: int = 1, ground: Ground | None = None, **options: Any) -> Result:
        """A simulation on the ground under :meth:`law`; a hop is repeated ``hops`` times.

        Options are those of :func:`kinetree.simulate`, ``controller`` for another law. Nothing acts on the
        trunk but the ground.
        """
        law = options.pop("controller", None) or self.law()
        given = {"method": "radau", "rtol": 1e-4, "atol": 1e-6, **options}
        return tracked(self.who, self.trajectory(hops), law, ground, given)

    def followed(self, hops: int = 1, run: Result | None = None) -> Result:
        """The result with a check of whether the leap, followed on the ground, stays upright and near.

        ``run`` is the simulation of :meth:`track`, if there is one already.
        """
        result = self.to_result()
        if not self.solved:
            return result
        hops = hops if self.cyclic else 1
        path = self.trajectory(hops)
        run = self.track(hops) if run is None else run
        last = upright_until(self.who, run, path)
        share = float(run.time.values[last] / path.duration)
        off = self.strays(run)
        stands = "stays upright to the end" if share >= 1.0 - 1e-9 else f"falls after {share:.0%} of the time"
        times = f" of {hops} hops" if hops > 1 else ""
        words = (
            f"the simulation{times} on the ground {stands}, and its center of mass deviates by "
            f"{1e3 * off:.0f} mm"
        )
        most = STRAYS * self.who.leg
        check = Check(off, most, share >= 1.0 - 1e-9 and off <= most, "m", words)
        return changed(result, audit={**result.audit, "tracked": check})

    def strays(self, run: Result) -> float:
        """How far the center of mass of a simulation gets from that of the prediction (m)."""
        t, q = np.asarray(run.time.values), np.asarray(run.q.values)
        asked = np.stack([self._motion.at(float(x)).com for x in t])
        apart = center_of_mass(self.who.mechanism, q) - asked
        return float(np.linalg.norm(apart, axis=1).max())

    def _check_hops(self, hops: Any) -> None:
        if type(hops) is not int or hops < 1:
            raise InputError(must_be("leap: hops", "an integer of 1 or more", hops))
        if hops > 1 and not self.cyclic:
            raise InputError(f"leap: a jump is simulated once, got {hops} hops")

    def to_result(self) -> Result:
        """Motion of all phases, torques, forces, and the audit."""
        result = self.prediction.to_result()
        return changed(result, audit={**result.audit, **self.checks})

    def __repr__(self) -> str:
        word = self.prediction.word
        times = ", ".join(f"{T:.3g}" for T in self.prediction.durations)
        return (
            f"Leap('{self.who.mechanism.name}', {self.height:g} m high, {self.distance:g} m far: {word}, "
            f"phases of {times} s, objective {self.prediction.objective:.4g}, "
            f"{self.iterations} iterations)"
        )


@dataclass(frozen=True, eq=False)
class LeapSearch(MotionTask[Mesh, PhasedPrediction]):
    """The search for a leap: where forces between knots are not in balance, on finer meshes."""

    plan: LeapPlan

    @property
    def mesh(self) -> Mesh:
        """The usual segments of each phase."""
        return self.plan.mesh

    def problem(self, mesh: Mesh) -> PhasedProblem:
        """All phases."""
        return leap_phases(self.plan, mesh)

    def starts(
        self, problem: PhasedProblem, attempts: Sequence[Attempt[Mesh, PhasedPrediction]], budget: TimeBudget
    ) -> Iterator[Any]:
        """Bent legs and a flight as of a stone, then the motion on the mesh before."""
        if attempts:
            yield attempts[-1].parts
        else:
            yield leap_start(self.plan, problem)

    def checks(self, mesh: Mesh, prediction: PhasedPrediction) -> dict[str, Check]:
        """All checks of a leap."""
        return leap_checks(self.plan, prediction)

    def finer(self, attempts: Sequence[Attempt[Mesh, PhasedPrediction]]) -> Mesh | None:
        """More segments in phases in which a force or a limit is exceeded between knots."""
        last = attempts[-1]
        if not last.solved or len(attempts) > FINER:
            return None
        left = unexerted_forces(self.plan.who, last.prediction)
        kept = [part.max_violation <= part.allowed_between for part in last.prediction.parts]
        if all(kept) and max(left) <= LEFT:
            return None
        mesh = dict(last.mesh)
        for name, value, fine in zip(mesh, left, kept, strict=True):
            rough = value > LEFT or not fine
            mesh[name] = round(mesh[name] * (2.0 if value > 2.0 * LEFT else 1.5 if rough else 1.0))
        return mesh


def jump(mechanism: Mechanism, height: float = 0.1, distance: float = 0.0, **changes: Any) -> Leap:
    """A standing jump with the least effort: from rest on all feet, a flight, and back to rest.

    The center of mass rises by ``height`` (m) in the flight, and all lands ``distance`` (m) further along the
    axis ``forward``; ``changes`` are this axis, ``friction``, ``limits`` and ``stance`` as in
    :class:`Leaping`, and options of `predict`.

    >>> import kinetree as kt
    >>> kt.gaits.jump(kt.zoo.planar_biped(), height=0.08).solved
    True
    """
    return _leap(mechanism, Leaping(height, distance), changes)


def hop(mechanism: Mechanism, height: float = 0.05, distance: float = 0.0, **changes: Any) -> Leap:
    """Hopping on and on with all feet together: on the ground, a flight, ``distance`` (m) further the same.

    Arguments are those of :func:`jump`.

    >>> import kinetree as kt
    >>> kt.gaits.hop(kt.zoo.planar_biped(), height=0.03).solved
    True
    """
    return _leap(mechanism, Leaping(height, distance, cyclic=True), changes)


def _leap(mechanism: Mechanism, task: Leaping, changes: dict[str, Any]) -> Leap:
    options, settings = divided(changes)
    plan = leap_plan(mechanism, task.changed(**settings))
    found = seek(LeapSearch(plan), Search.of({"solver": _solver(), **options}, USUAL))
    return Leap(plan, found.prediction, found.checks, found.seconds, found.iterations)


def _solver() -> str:
    """IPOPT if it is installed: from far away it is quicker with phases than the solver that comes along."""
    return "ipopt" if SOLVERS["ipopt"].is_installed() else "auto"
