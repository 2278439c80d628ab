"""What comes out of a search in phases: the whole motion, its phases, what stood in the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.doors import upstairs
from kinetree.formats.regular_file import PathLike
from kinetree.motion.outcome.ended import Ended
from kinetree.motion.outcome.explain import MOST, Explanation
from kinetree.motion.outcome.optimality import optimality
from kinetree.motion.outcome.prediction import Prediction, SearchTrial
from kinetree.motion.outcome.prediction_result import (
    STOPPED,
    curve_variables,
    in_joints,
    joint_force,
    limits_audit,
    messages,
)
from kinetree.motion.outcome.verify import verified
from kinetree.motion.problem.description import described
from kinetree.motion.problem.phases import PhasedProblem
from kinetree.motion.program.phases_program import JUNCTION
from kinetree.motion.solvers.interface import Outcome
from kinetree.result.build import build_result
from kinetree.result.records import Check
from kinetree.result.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE = 1e-4  # gaps at junctions that are reported (rad, m, per s)


@dataclass(eq=False)
class PhasedPrediction(Ended):
    """A motion in phases; ``parts`` are the predictions, each with its own time from 0 to its duration."""

    phases: PhasedProblem
    outcome: Outcome
    seconds: float
    trials: list[SearchTrial] = field(default_factory=list)
    asked: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def parts(self) -> list[Prediction]:
        """The prediction of each phase, with its share of unknowns and multipliers."""
        program, outcome = self.phases.program, self.outcome
        low, high = outcome.bound_multipliers
        found = []
        for k, problem in enumerate(self.phases.problems):
            here = slice(program.starts[k], program.starts[k + 1])
            rows = slice(program.row_starts[k], program.row_starts[k + 1])
            own = replace(
                outcome,
                z=outcome.z[here],
                multipliers=outcome.multipliers[rows],
                bound_multipliers=(low[here], high[here]),
            )
            x = problem.program.unknowns(own.z)
            found.append(Prediction(problem, x, own, verified(problem, x), self.seconds, [], self.asked))
        return found

    @property
    def gaps(self) -> dict[str, float]:
        """Residual difference at each junction, by name (rad, m, per s)."""
        program = self.phases.program
        return dict(zip(program.labels, program.gaps(self.outcome.z).tolist(), strict=True))

    @property
    def durations(self) -> tuple[float, ...]:
        """Of the phases (s)."""
        return tuple(part.duration for part in self.parts)

    @property
    def duration(self) -> float:
        """Of all phases together (s)."""
        return sum(self.durations)

    @property
    def boundaries(self) -> tuple[float, ...]:
        """Times (s) at which phases begin and end, from 0 to the whole duration."""
        return (0.0, *np.cumsum(self.durations).tolist())

    @property
    def objective(self) -> float:
        """The sum over the phases, recomputed independently of the solver."""
        return sum(part.objective for part in self.parts)

    @property
    def max_violation(self) -> float:
        """Largest violation of any constraint on the fine grid, relative to its bound or scale."""
        return max(part.max_violation for part in self.parts)

    @property
    def violation_at_samples(self) -> float:
        """The same where the constraints are enforced, and at the junctions."""
        widest = float(np.abs(self.phases.program.gaps(self.outcome.z)).max(initial=0.0))
        return max(widest, *(part.violation_at_samples for part in self.parts))

    @property
    def t(self) -> Array:
        """Times (s) of all phases in sequence, (m,); junctions appear twice."""
        begins = zip(self.parts, self.boundaries, strict=False)
        return np.concatenate([part.t + begin for part, begin in begins])

    @property
    def q(self) -> Array:
        """Positions (rad, m) of the whole motion."""
        return self._all("q")

    @property
    def qd(self) -> Array:
        """Velocities."""
        return self._all("qd")

    @property
    def qdd(self) -> Array:
        """Accelerations."""
        return self._all("qdd")

    @property
    def tau(self) -> Array:
        """Torques (N m) and forces (N)."""
        return self._all("tau")

    @property
    def reaction(self) -> Array:
        """Force (N) and moment (N m) in the joint of every body, (m, n_bodies, 6), in body axes."""
        return self._all("reaction")

    def _all(self, name: str) -> Array:
        return np.concatenate([getattr(part, name) for part in self.parts])

    @cached_property
    def explanation(self) -> Explanation:
        """The outcome in words, each sentence with its phase."""
        stated = [part.explanation for part in self.parts]
        times = " + ".join(f"{T:.6g}" for T in self.durations)
        summary = (
            f"Duration {self.duration:.6g} s ({times}), objective {self.objective:.6g}, "
            f"{self.iterations} iterations ({self.outcome.solver}); largest violation "
            f"{self.violation_at_samples:.1e} at samples and junctions, "
            f"{self.max_violation:.1e} between samples (relative to the bounds)."
        )
        violated = [f"phase {k}, {x}" for k, part in enumerate(stated, 1) for x in part.violated]
        active = [f"phase {k}, {x}" for k, part in enumerate(stated, 1) for x in part.active[:MOST]]
        return Explanation(
            self.status,
            summary,
            (*violated, *self._wide()),
            tuple(active),
            tuple(self._advice(stated)),
            tuple(f"phase {k}, {x}" for k, part in enumerate(stated, 1) for x in part.beyond),
        )

    def _wide(self) -> Iterator[str]:
        """Junctions that do not meet, the worst first."""
        wide = sorted(self.gaps.items(), key=lambda gap: -abs(gap[1]))
        for name, gap in [gap for gap in wide if abs(gap[1]) > WIDE][:MOST]:
            yield f"{JUNCTION}, {name}: {abs(gap):.3g} apart"

    def _advice(self, stated: list[Explanation]) -> Iterator[str]:
        if self.solved_at_samples:
            if any(part.advice for part in stated):
                yield "More samples per segment also enforce limits between samples."
            return
        advice = [(k, x) for k, part in enumerate(stated, 1) for x in part.advice]
        for sentence in dict.fromkeys(x for _, x in advice):
            phases = [str(k) for k, x in advice if x == sentence]
            sentence = sentence.replace("predict(problem", "predict_phases(phases")
            yield sentence if len(phases) == len(stated) else f"Phase {', '.join(phases)}: {sentence}"
        if any(self._wide()):
            yield 'Allow jumps at the junctions: Junction("position").'

    def to_result(self) -> Result:
        """A labeled result of the whole motion; its variable ``phase`` numbers the phases."""
        names = ("q", "qd", "qdd", "tau", "reaction")
        stop: dict[str, Any] = {}
        if self.outcome.status in STOPPED:
            stop = {"stopped_at": self.duration, "stop_reason": STOPPED[self.outcome.status]}
        curves, labels = curve_variables(self.parts)
        number = np.repeat(np.arange(1, len(self.parts) + 1), [len(part.t) for part in self.parts])
        return build_result(
            "predict",
            self.phases.mechanism,
            {
                "time": self.t,
                **{name: getattr(self, name) for name in names},
                **in_joints(self.parts),
                "joint_force": joint_force(self.reaction),
                "phase": (("time",), number, "1", "number of the phase, from 1"),
                **curves,
            },
            coordinates=labels,
            settings={
                "phases": [described(problem) for problem in self.phases.problems],
                "junctions": [
                    {"upto": x.upto, "jumps": {name: dict(jumps) for name, jumps in x.jumps.items()}}
                    for x in self.phases.junctions
                ],
                "search": dict(self.asked),
            },
            audit=self._audit(),
            statistics=phased_statistics(self),
            messages=messages(self.explanation, solved=self.solved_at_samples),
            seconds=self.seconds,
            **stop,
        )

    def _audit(self) -> dict[str, Check]:
        worst, most = self.violation_at_samples, self.allowed_at_samples
        apart = max(map(abs, self.gaps.values()), default=0.0)
        found = optimality(self.phases.program, self.outcome)
        return {
            "solved": Check(worst, most, self.solved_at_samples, "1", self.status),
            "junctions": Check.within(
                apart, most, "rad or m, per s", "each phase continues from the previous one"
            ),
            "between_samples": Check.within(
                self.max_violation,
                self.allowed_between,
                "1",
                "bounds hold between samples; violation relative to the bound",
            ),
            "optimality": Check.within(
                found.stationarity, most, "1", "stationarity: the gradient of the Lagrangian is zero"
            ),
            "duality_gap": Check.within(
                found.gap, most, "1", "complementarity: only active bounds have a price"
            ),
            **limits_audit(self.parts),
        }

    def save(self, path: PathLike, force: bool = False) -> None:
        """Write the result to a .nc file; ``predict_phases(phases, start=load_result(path))`` resumes."""
        self.to_result().save(path, force)

    def plot(self, *variables: str, show: bool = False) -> Figure:
        """Plot variables of the whole motion, such as "q" and "tau"."""
        return self.to_result().plot(*(variables or ("q", "tau")), show=show)

    def __str__(self) -> str:
        return str(self.explanation)

    def __repr__(self) -> str:
        durations = " + ".join(f"{T:.4g}" for T in self.durations)
        return f"PhasedPrediction({self.word}, {durations} s, objective {self.objective:.6g})"

    def _repr_html_(self) -> str:
        return str(upstairs("phased_prediction_html")(self))


def phased_statistics(prediction: PhasedPrediction) -> dict[str, Any]:
    """The figures of a prediction in phases, as results state them."""
    return {
        "duration": prediction.duration,
        "durations": list(prediction.durations),
        "objective": prediction.objective,
        "objectives": [part.objective for part in prediction.parts],
        "iterations": prediction.iterations,
        "max_violation": prediction.max_violation,
        "solver": prediction.outcome.solver,
        "status": prediction.word,
        "variables": prediction.phases.n_variables,
        "constraints": prediction.phases.n_constraints,
    }
