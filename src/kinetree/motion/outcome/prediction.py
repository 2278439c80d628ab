"""What comes out: the motion, its torques, what was optimal about it, and what stood in the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.analysis.inverse import joint_reactions
from kinetree.doors import upstairs
from kinetree.errors import InputError
from kinetree.formats.regular_file import PathLike
from kinetree.motion.outcome.active import ActiveBound, active_bounds
from kinetree.motion.outcome.ended import Ended
from kinetree.motion.outcome.explain import Explanation, explained
from kinetree.motion.outcome.verify import Verification, Violation
from kinetree.motion.problem.problem import Problem
from kinetree.motion.problem.profile import RATES, ProfileMotion
from kinetree.motion.problem.reaction_axes import own_rows, reaction_rows, with_reaction_axes
from kinetree.motion.program.loop_mechanics import LoopMechanics
from kinetree.motion.solvers.interface import Outcome, Status
from kinetree.result.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class LoopForcesFound(NamedTuple):
    """Force (N) and moment (N m) in the joint of every body, in body axes, and in every cut joint.

    (m, bodies, 6) and (m, loops, 6); not a number where redundant constraints leave them undetermined. What
    a cut joint transmits is what body a of the loop exerts on body b, in a's frame of the joint.
    """

    bodies: Array
    loops: Array


def loop_forces(problem: Problem, s: Array, motion: tuple[Array, Array, Array]) -> LoopForcesFound:
    """The forces at instants s (m,) of a motion q, qd, qdd, (m, n_dof) each."""
    mechanism, setting = problem.mechanism, problem.setting
    if setting.closure is None:
        raise InputError(
            f"mechanism '{mechanism.name}' has no closed loops, so there are no forces of loops; "
            "kinetree.joint_reactions gives those of its joints"
        )
    from kinetree.dynamics.loops.closure import Closure  # not needed for trees

    loops = [loop.name for loop in mechanism.loops if loop.name not in mechanism.body_names]
    names = [*mechanism.body_names, *loops]
    closed = with_reaction_axes(mechanism, names)
    own = own_rows(closed, mechanism.joint_names)
    guess, state = np.zeros(closed.n_dof), np.zeros((RATES, len(s), closed.n_dof))
    guess[own] = setting.closure.guess[setting.own]
    state[:, :, own] = motion
    closure = Closure(closed, own, np.array(mechanism.driven), guess, setting.closure.independent_names)
    mechanics = LoopMechanics(closure, setting.efforts, problem.loads(s))
    tau = mechanics.torques(
        ProfileMotion(state[0], state[1], state[2], state[:, :, closure.independent], 1.0)
    )
    rows = np.array([reaction_rows(closed, name) for name in names])
    found = tau[:, rows]
    found[:, closure.undetermined(rows.ravel()).reshape(rows.shape)] = np.nan
    k = mechanism.n_bodies
    cut = np.full((len(s), len(mechanism.loops), 6), np.nan)
    places = [loop.name for loop in mechanism.loops]
    cut[:, [places.index(name) for name in loops]] = found[:, k:]
    return LoopForcesFound(found[:, :k], cut)


@dataclass(eq=False)
class SearchTrial:
    """One start of several: how it ended, and what it cost."""

    status: Status
    objective: float
    duration: float
    iterations: int


@dataclass(eq=False)
class Prediction(Ended):
    """A predicted motion; see :func:`kinetree.motion.predict.predict`.

    ``q``, ``qd``, ``qdd``, ``tau`` (m, n_dof) at times ``t`` (m,) of a fine grid. ``objective`` and all
    violations are recomputed there, independently of the solver. ``asked`` holds the settings of the search.
    """

    problem: Problem
    x: Array
    outcome: Outcome
    check: Verification
    seconds: float
    trials: list[SearchTrial]
    asked: Mapping[str, Any] = field(default_factory=dict)
    cheaper: SearchTrial | None = None  # where a second start ended, if it costs less

    @property
    def duration(self) -> float:
        """T (s)."""
        return self.problem.setting.unknowns.duration_of(self.x)

    @property
    def objective(self) -> float:
        """The value that was minimized."""
        return self.check.objective

    @property
    def max_violation(self) -> float:
        """Largest violation of any constraint on the fine grid, relative to its bound or scale."""
        return self.check.anywhere

    @property
    def violation_at_samples(self) -> float:
        """The same where the constraints are enforced."""
        return self.check.at_samples

    @property
    def violations(self) -> list[Violation]:
        """Every violated bound at its worst instant, the worst first."""
        return self.check.violations

    @property
    def s(self) -> Array:
        """Normalized times of the fine grid."""
        return self.check.s

    @property
    def t(self) -> Array:
        """Times (s) of the fine grid."""
        return self.check.s * self.duration

    @property
    def q(self) -> Array:
        """Positions (rad, m)."""
        return self.check.q

    @property
    def qd(self) -> Array:
        """Velocities."""
        return self.check.qd

    @property
    def qdd(self) -> Array:
        """Accelerations."""
        return self.check.qdd

    @property
    def tau(self) -> Array:
        """Torques (N m) and forces (N)."""
        return self.check.tau

    @cached_property
    def tau_passive(self) -> Array:
        """What acts in joints beside their drives, (m, n_dof): `JointSprings`, `HumanPassive` and the like.

        Springs of the mechanism itself are not part of it. tau + tau_passive is what moves the joints.
        """
        if not any(load.in_joints for load in self.problem.acting):
            return np.zeros_like(self.tau)
        at = self.problem.evaluation(self.s, self.x)
        return np.asarray(at.in_joints[:, self.problem.setting.own])

    @cached_property
    def reaction(self) -> Array:
        """Force (N) and moment (N m) in the joint of every body, (m, n_bodies, 6), in body axes.

        Not a number where redundant constraints of closed loops leave a component undetermined.
        """
        problem = self.problem
        if problem.setting.closure is not None:
            return self.loop_forces.bodies
        wrenches = problem.loads_of(self.s, self.x)
        return joint_reactions(problem.mechanism, self.q, self.qd, self.qdd, wrenches or None)

    @cached_property
    def loop_forces(self) -> LoopForcesFound:
        """Forces in the joints of all bodies and in the cut joints of closed loops."""
        return loop_forces(self.problem, self.s, (self.q, self.qd, self.qdd))

    @property
    def curves(self) -> dict[str, Array]:
        """Other unknowns by name: samples (m, k) of further blocks, such as "force:left_foot" (N)."""
        return self.check.curves

    @property
    def control_points(self) -> Array:
        """Control points of the moving joints, (n_control, n)."""
        return self.problem.setting.unknowns.control_points(self.x)

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """q, qd, qdd of all joints at times t (m,)."""
        s = np.clip(np.atleast_1d(np.asarray(t, dtype=np.float64)) / self.duration, 0.0, 1.0)
        own = self.problem.setting.own
        motion = self.problem.setting.unknowns.at(s).motion(self.x)
        return motion.q[:, own], motion.qd[:, own], motion.qdd[:, own]

    @cached_property
    def active(self) -> list[ActiveBound]:
        """Bounds that hold the motion back: where, and what loosening them would save."""
        return active_bounds(self.problem, self.x, self.outcome)

    @cached_property
    def explanation(self) -> Explanation:
        """The outcome in words."""
        found = explained(self.problem, self.x, self.outcome, self.check, self.active, self.allowed_between)
        if self.cheaper is None:
            return found
        cost, other = self.objective, self.cheaper.objective
        hint = (
            f"A short search from the other side of the obstacles ends {100.0 * (1.0 - other / cost):.0f} % "
            f"cheaper ({other:.3g} instead of {cost:.3g}): predict(problem, starts=6) tries several starts."
        )
        return replace(found, advice=(hint, *found.advice))

    # ---- the ways out --------------------------------------------------------------------------------
    @cached_property
    def result(self) -> Result:
        """All of it as a labeled result; see :meth:`to_result`."""
        return self.to_result()

    def to_result(self) -> Result:
        """A result with motion, torques, joint reactions, splines, settings and an audit.

        >>> import kinetree as kt
        >>> from kinetree.motion.terms import Boundary, SquaredTorque
        >>> ends = [Boundary("start", [0, 0], 0.0), Boundary("end", [1, 1], 0.0)]
        >>> problem = Problem(kt.zoo.two_link(), objective=SquaredTorque(), constraints=ends, duration=1.0)
        >>> found = kt.predict(problem).to_result()
        >>> found.passed, found.reaction.dims
        (True, ('time', 'body', 'component'))
        """
        from kinetree.motion.outcome.prediction_result import prediction_result

        return prediction_result(self)

    def save(self, path: PathLike, force: bool = False) -> None:
        """Write the result to a .nc file; ``predict(problem, start=load_result(path))`` continues from it."""
        self.result.save(path, force)

    def plot(self, *parts: str, show: bool = False) -> Figure:
        """Plot positions and torques with their limits, prices of the limits, and forces in the joints.

        ``parts`` selects some: "q", "qd", "tau", "sought" (unknown forces), "price", "force".
        ``show`` opens a window.
        """
        plot = upstairs("plot_prediction")
        figure: Figure = plot(self, *parts, show=show)
        return figure

    def check_by_simulation(self, rtol: float = 1e-9) -> Any:
        """Simulate the mechanism under the predicted torques and report how far it strays from the motion."""
        return upstairs("check_by_simulation")(self, rtol)

    def __str__(self) -> str:
        return str(self.explanation)

    def __repr__(self) -> str:
        return (
            f"Prediction('{self.problem.mechanism.name}': {self.word}, duration {self.duration:.6g} s, "
            f"objective {self.objective:.6g}, {self.iterations} iterations ({self.outcome.solver}))"
        )

    def _repr_html_(self) -> str:
        return str(upstairs("prediction_html")(self))
