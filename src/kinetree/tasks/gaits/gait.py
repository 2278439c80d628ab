"""The study: predict a periodic gait of a legged robot, verify it, let it be tracked on the ground."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.analysis.legged_stance import legged_stance
from kinetree.control.sampled import SampledLaw
from kinetree.control.whole_body.task import LawTask
from kinetree.control.whole_body.tracking import Following
from kinetree.errors import InputError, shown
from kinetree.model.mechanism import Mechanism
from kinetree.motion.options import Search, divided
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.problem.problem import Problem
from kinetree.motion.seek import Attempt, MotionTask, TimeBudget, seek
from kinetree.result.records import Check
from kinetree.result.result import Result, changed
from kinetree.simulation.ground import Ground
from kinetree.tasks.gaits.checks import checked
from kinetree.tasks.gaits.problem import GaitPlan, finer_plan, gait_problem, planned, start_of
from kinetree.tasks.gaits.schedule import named_schedules
from kinetree.tasks.gaits.task import USUAL, Gait
from kinetree.tasks.gaits.tracking import tracked, upright_until
from kinetree.tasks.gaits.wanted import Stepping, WantedCycle
from kinetree.tasks.sampled import SampledMotion
from kinetree.tasks.walking.verified import Verified
from kinetree.trajectories.base import Trajectory
from kinetree.trajectories.combined import repeat
from kinetree.trajectories.tabulated_motion import from_table

BEST = "best"
SLOWER = 0.05  # of the speed: by how much a gait that is followed may miss it
MISSED = 1e-6  # steps of a simulation that may be missing, by rounding
ROWS = 20  # of the table between two knots, that a law follows


@dataclass(frozen=True, eq=False)
class PredictedGait(Verified):
    """A predicted gait: the plan, the prediction of one cycle, and all checks by name."""

    plan: GaitPlan
    prediction: Prediction
    checks: dict[str, Check]
    seconds: dict[str, float] = field(default_factory=dict)
    others: dict[str, float] = field(default_factory=dict)  # objectives of schedules that were tried, too
    iterations: int = 0  # of the searches on all meshes

    @property
    def cost_of_transport(self) -> float:
        """Positive work of the joints in a cycle over weight and way."""
        p, who = self.prediction, self.plan.who
        columns = [who.mechanism.joint_index(x) for x in who.joints]
        power = np.maximum(p.tau[:, columns] * p.qd[:, columns], 0.0).sum(axis=1)
        work = float(0.5 * (np.diff(p.t) @ (power[1:] + power[:-1])))
        return work / (who.weight * max(self.plan.stride, 1e-9))

    @cached_property
    def cycle(self) -> Trajectory:
        """The motion of one cycle as a trajectory."""
        n = ROWS * self.plan.task.segments
        t = np.linspace(0.0, self.prediction.duration, n + 1)
        q, qd, qdd = self.prediction.at(t)
        return from_table(t, q, qd, qdd)

    def trajectory(self, cycles: int = 1) -> Trajectory:
        """So many cycles, each a stride further."""
        return self.cycle if cycles == 1 else repeat(self.cycle, cycles, advance=True)

    def to_result(self) -> Result:
        """Motion, torques, joint reactions, the ground's forces, and the audit."""
        result = self.prediction.to_result()
        return changed(result, audit={**result.audit, **self.checks})

    def law(self, period: float = 0.004, *, tasks: Sequence[LawTask] = (), **options: Any) -> SampledLaw:
        """The law that follows this gait on the ground and keeps its balance, called once per ``period`` (s).

        Each tick solves for accelerations and ground forces near those predicted; footholds move by the error
        of the divergent component of motion that feet on the ground cannot correct. Torques keep the gait's
        limits. ``tasks`` are added, such as a :class:`kinetree.control.PointTask` of a hand. Options are
        those of :class:`kinetree.control.SampledLaw`: delay, noise, seed.
        """
        s = np.linspace(0.0, 1.0, ROWS * self.plan.task.segments + 1)
        motion = WantedCycle(self.plan, SampledMotion(self.prediction, s))
        law = Following(self.plan.who, motion, Stepping(self.plan), self.plan.who.most, tasks)
        return SampledLaw(law, period=period, **options)

    def track(self, cycles: int = 4, ground: Ground | None = None, **options: Any) -> Result:
        """A simulation on the ground over so many cycles, under :meth:`law`; see :meth:`walked`.

        Options are those of :func:`kinetree.simulate`, ``controller`` for another law.
        """
        law = options.pop("controller", None) or self.law()
        given = {"method": "radau", "rtol": 1e-4, "atol": 1e-6, **options}
        return tracked(self.plan.who, self.trajectory(cycles), law, ground, given)

    def followed(self, cycles: int, run: Result | None = None) -> Result:
        """The result with a check of how far the gait walks on the ground, followed over so many cycles.

        ``run`` is the simulation of :meth:`track`, if there is one already.
        """
        result = self.to_result()
        if not self.solved:
            return result
        run = self.track(cycles) if run is None else run
        steps, speed = self.walked(run)
        wanted = self.plan.task.speed
        asked = cycles * len(set(self.plan.schedule.touchdown))
        missed = max(asked - steps, 0.0)  # NaN stays NaN
        words = f"the simulation walks {steps:.1f} of {asked} steps at {speed:.2f} of {wanted:g} m/s"
        off = abs(speed - wanted) / max(wanted, 1e-9)
        if missed <= MISSED and off > SLOWER:
            check = Check(off, SLOWER, False, "1", f"{words}; error of the speed")
        elif missed <= MISSED:
            check = Check(missed, MISSED, True, "1", words)
        else:
            check = Check(missed, MISSED, False, "1", f"{words}; steps missing")
        return changed(result, audit={**result.audit, "tracked": check})

    def walked(self, run: Result) -> tuple[float, float]:
        """For how many steps a simulation did not fall, and the speed over that time (m/s).

        It has fallen by the verdicts of simulations: when the trunk is below half of the height that is asked
        for or tilted from it by 1 rad. A step is the period over the number of touch-downs that do not
        coincide.
        """
        who = self.plan.who
        t, q = np.asarray(run.time.values), np.asarray(run.q.values)
        cycles = max(1, round(float(t[-1]) / self.prediction.duration))
        last = upright_until(who, run, self.trajectory(cycles))
        step = self.prediction.duration / len(set(self.plan.schedule.touchdown))
        x = q[:, who.mechanism.joint_index(who.slides(who.forward))]
        return float(t[last] / step), float((x[last] - x[0]) / max(t[last], 1e-9))

    def __repr__(self) -> str:
        plan, word = self.plan, self.prediction.word
        return (
            f"PredictedGait('{plan.who.mechanism.name}', {plan.schedule.name}, {plan.task.speed:g} m/s, "
            f"period {plan.period:.3g} s: {word}, objective {self.prediction.objective:.4g}, "
            f"{self.iterations} iterations, {plan.task.segments} segments)"
        )


def gait(
    mechanism: Mechanism,
    task: Gait | None = None,
    *,
    start: Any = None,
    refine: bool = True,
    **changes: Any,
) -> PredictedGait:
    """The periodic gait of a legged robot that costs the least effort at a speed.

    ``changes`` are those of the task, and options of `predict`.
    Motion, torques and the ground's forces on all contact points are sought: feet rest where they touch
    down and swing above the ground in between, by the schedule; the ground only pushes, within friction;
    nothing else acts on the trunk. The search begins with standing on bent legs, moved along at the speed.
    With ``schedule="best"`` all that are known for so many legs are tried. Where a gait is solved but fails a
    check between its knots, ``refine`` looks for it again on a finer mesh, from the one that was found.

    >>> import kinetree as kt
    >>> found = kt.gaits.gait(kt.zoo.quadruped(), speed=0.4, schedule="trot")
    >>> found.solved
    True
    """
    if task is not None and not isinstance(task, Gait):
        raise InputError(f"gait needs a Gait, got {shown(task)}")
    options, settings = divided(changes)
    task, search = (task or Gait()).changed(**settings), Search.of(options, USUAL)
    who = legged_stance(mechanism, task.forward)
    if task.schedule != BEST:
        return _predicted(planned(who, task), start, search, refine)
    names = list(named_schedules(len(who.feet)))
    if not names:
        raise InputError(f"gait: no schedule is known for {len(who.feet)} legs; give your own")
    tried = [_predicted(planned(who, task.changed(schedule=name)), start, search, refine) for name in names]
    costs = {x.plan.schedule.name: x.prediction.objective for x in tried if x.solved}
    best = min(tried, key=lambda x: (not x.passed, not x.solved, x.prediction.objective))
    return replace(best, others=costs)


@dataclass(frozen=True, eq=False)
class GaitSearch(MotionTask[GaitPlan, Prediction]):
    """The search for a gait: where it fails a check between its knots, on finer meshes."""

    plan: GaitPlan
    start: Any = None
    refine: bool = True

    @property
    def mesh(self) -> GaitPlan:
        """The plan with the segments that are asked for."""
        return self.plan

    def problem(self, mesh: GaitPlan) -> Problem:
        """One cycle."""
        return gait_problem(mesh)

    def starts(
        self, problem: Problem, attempts: Sequence[Attempt[GaitPlan, Prediction]], budget: TimeBudget
    ) -> Iterator[Any]:
        """Standing, moved along at the speed, then the motion on the mesh before."""
        if attempts:
            yield attempts[-1].prediction.t, attempts[-1].prediction.q
        else:
            yield start_of(self.plan) if self.start is None else self.start

    def checks(self, mesh: GaitPlan, prediction: Prediction) -> dict[str, Check]:
        """All checks of a gait."""
        return checked(mesh, prediction)

    def finer(self, attempts: Sequence[Attempt[GaitPlan, Prediction]]) -> GaitPlan | None:
        """The plan with more segments."""
        last = attempts[-1]
        if not self.refine or not last.solved or last.passed:
            return None
        return finer_plan(last.mesh)


def _predicted(plan: GaitPlan, start: Any, search: Search, refine: bool) -> PredictedGait:
    found = seek(GaitSearch(plan, start, refine), search)
    return PredictedGait(
        found.attempt.mesh, found.prediction, found.checks, found.seconds, iterations=found.iterations
    )
