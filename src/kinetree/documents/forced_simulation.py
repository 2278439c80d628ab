"""Forced simulation: the torques of a prescribed motion drive a mechanism ([Mohan2007], section 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import cos, sin
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.analysis.energy import kinetic_energy, potential_energy
from kinetree.analysis.forward import forward_dynamics
from kinetree.analysis.inverse import bias_torque, inverse_dynamics, mass_matrix
from kinetree.errors import InputError, SingularityError, must_be, unknown_name
from kinetree.model.mechanism import Mechanism, check_open
from kinetree.state import State
from kinetree.trajectories.cycloidal import half_turn

LOST = 1.0  # rad or m: once a joint is this far off, the motion has nothing to do with the prescribed one
SPACING = 0.005  # s between the samples of a run
MOST_EVALUATIONS = 400_000  # of the accelerations in one run
TIGHTEST, LOOSEST = 1e-13, 1e-2  # relative accuracies that the integrators accept
Method = Literal["RK45", "DOP853"]
Progress = Callable[[float], None]
Accelerations = Callable[[Array, Array, Array], Array]
TorqueOfTime = Callable[[float], Array]


# ---- the motion and its torques -----------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class ForcedMotion:
    """Every joint from rest at 0 to rest at pi: q_i(t) = pi t / T - sin(2 pi t / T) / 2.

    [Mohan2007], eq. 38.
    """

    mechanism: Mechanism
    duration: float = 10.0

    def at(self, time: ArrayLike) -> State:
        """The motion (k, n_dof) at times (k,)."""
        return half_turn(self.mechanism.n_dof, self.duration).at(time)

    def angle(self, t: float) -> float:
        """The angle of every joint at one time, unchecked: what an integrator asks for thousands of times."""
        return float(np.pi * t / self.duration - sin(2 * np.pi * t / self.duration) / 2)

    def torque(self, time: ArrayLike) -> Array:
        """The torques (k, n_dof) of inverse dynamics at times (k,)."""
        motion = self.at(time)
        return inverse_dynamics(self.mechanism, motion.q, motion.qd, motion.qdd)

    def exact_torque(self) -> TorqueOfTime:
        """The torque (n_dof,) as a function of time, by inverse dynamics at every call."""
        ones, T, turn = np.ones(self.mechanism.n_dof), self.duration, 2 * np.pi / self.duration

        def torque(t: float) -> Array:
            qd, qdd = np.pi / T * (1.0 - cos(turn * t)), np.pi / T * turn * sin(turn * t)
            return inverse_dynamics(self.mechanism, self.angle(t) * ones, qd * ones, qdd * ones)

        return torque

    def stored_torque(self, points: int) -> TorqueOfTime:
        """The forces from a table of `points` equal intervals, with straight lines between its rows."""
        step = self.duration / points
        table = self.torque(np.linspace(0.0, self.duration, points + 1))

        def torque(t: float) -> Array:
            row = min(int(t / step), points - 1)
            part = t / step - row
            between: Array = (1.0 - part) * table[row] + part * table[row + 1]
            return between

        return torque


# ---- three ways to the accelerations ------------------------------------------------------------------
def _articulated(mechanism: Mechanism) -> Accelerations:
    return lambda q, qd, tau: forward_dynamics(mechanism, q, qd, tau)


def _denoc(mechanism: Mechanism) -> Accelerations:
    from kinetree.derivations.denoc import accelerations

    tree = mechanism.tree
    return lambda q, qd, tau: accelerations(tree, q, tau - bias_torque(mechanism, q, qd))


def _cholesky(mechanism: Mechanism) -> Accelerations:
    from scipy.linalg.lapack import dposv

    def solve(q: Array, qd: Array, tau: Array) -> Array:
        _, qdd, failed = dposv(mass_matrix(mechanism, q), tau - bias_torque(mechanism, q, qd))
        if failed:
            raise SingularityError(f"mass matrix of '{mechanism.name}' is not positive definite at q = {q}")
        solution: Array = qdd
        return solution

    return solve


ALGORITHMS: dict[str, Callable[[Mechanism], Accelerations]] = {
    "articulated": _articulated,  # recursive, O(n): articulated bodies, compiled
    "denoc": _denoc,  # recursive, O(n): U D U^T of the inertia matrix without forming it; interpreted
    "cholesky": _cholesky,  # the inertia matrix, compiled, then LAPACK's Cholesky decomposition, O(n^3)
}
COMPILED = ("articulated", "cholesky")


# ---- one simulation -----------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class ForcedRun:
    """A forced simulation, sampled at times (k,) until it ends or a joint is lost.

    ``q``, ``qd``, ``qdd`` (k, n_dof); ``error`` = q less the prescribed one, ``acceleration_error`` likewise;
    ``power`` (k,) in W is tau . qd; ``energy_defect`` (k,) in J the energy gained less the work done.
    ``seconds`` is the time spent on accelerations alone; an ``interrupted`` run ends where Ctrl-C met it.
    """

    algorithm: str
    method: Method
    rtol: float
    duration: float
    time: Array
    q: Array
    qd: Array
    qdd: Array
    error: Array
    acceleration_error: Array
    power: Array
    energy_defect: Array
    n_steps: int
    n_evaluations: int
    seconds: float
    interrupted: bool = False

    @property
    def largest_error(self) -> Array:
        """Largest error of any joint so far (k,)."""
        largest: Array = np.maximum.accumulate(np.abs(self.error).max(axis=1))
        return largest

    @property
    def microseconds(self) -> float:
        """Mean time for one evaluation of the accelerations."""
        return 1e6 * self.seconds / self.n_evaluations

    def horizon(self, limit: float) -> Array:
        """How long each joint stays within a limit (n_dof,) in s; to the end of the run if it always does."""
        return _horizon(self.time, self.error, limit)

    def ripple(self, until: float) -> Array:
        """Roughness of the accelerations (n_dof,): root mean square of their error's second differences."""
        bends = np.diff(self.acceleration_error[self.time <= until], 2, axis=0)
        rough: Array = np.sqrt(np.mean(bends**2, axis=0))
        return rough


def forced_run(
    motion: ForcedMotion,
    algorithm: str,
    rtol: float = 1e-8,
    method: Method = "RK45",
    *,
    torque: TorqueOfTime | None = None,
    max_step: float = np.inf,
    spacing: float = SPACING,
    progress: Progress | None = None,
) -> ForcedRun:
    """Simulate from rest at zero under the torques of the motion, until its end or a joint is lost.

    RK45 is the pair of Dormand and Prince that MATLAB's ode45 uses; relative and absolute tolerance are rtol.
    ``torque`` replaces the exact torques; ``progress`` takes the part that is done. An interruption ends
    the run; before its first step there is nothing to keep, and it is passed on.
    """
    given = motion.exact_torque() if torque is None else torque
    steps = _integrated(motion, algorithm, rtol, method, given, max_step, progress)
    return _sampled(motion, algorithm, method, rtol, steps, _samples(steps, spacing), given)


def forced_horizon(
    motion: ForcedMotion,
    algorithm: str,
    rtol: float,
    limit: float,
    *,
    torque: TorqueOfTime | None = None,
    progress: Progress | None = None,
) -> float:
    """How long all joints stay within a limit (s), by such a simulation of which nothing else is kept."""
    given = motion.exact_torque() if torque is None else torque
    steps = _integrated(motion, algorithm, rtol, "RK45", given, np.inf, progress)
    if steps.interrupted:
        raise KeyboardInterrupt
    time = _samples(steps, SPACING)
    error = steps.at(time)[:, : motion.mechanism.n_dof] - motion.at(time).q
    return float(_horizon(time, error, limit).min())


@dataclass(eq=False)
class _Steps:
    """The steps of an integration: each as a polynomial from ``t_old`` to ``t``; ``end`` of the last (s)."""

    pieces: list[Any]
    end: float = 0.0
    n_evaluations: int = 0
    seconds: float = 0.0
    interrupted: bool = False

    def at(self, time: Array) -> Array:
        """The states (k, size) at times (k,)."""
        from scipy.integrate import OdeSolution

        solution = OdeSolution([0.0, *(piece.t for piece in self.pieces)], self.pieces)
        return np.ascontiguousarray(solution(time).T)


def _integrated(
    motion: ForcedMotion,
    algorithm: str,
    rtol: float,
    method: Method,
    torque: TorqueOfTime,
    max_step: float,
    progress: Progress | None,
) -> _Steps:
    """Step by step to the end of the motion, to where a joint is lost, or to an interruption."""
    from scipy import integrate

    check_run(motion.mechanism, [algorithm], rtol)
    n, end, done = motion.mechanism.n_dof, motion.duration, _Steps([])
    accelerations = ALGORITHMS[algorithm](motion.mechanism)

    def rates(t: float, x: Array) -> Array:
        if done.n_evaluations >= MOST_EVALUATIONS:
            raise SingularityError(f"gave up at t = {t:g} s: {MOST_EVALUATIONS} evaluations made no progress")
        done.n_evaluations += 1
        tau = torque(t)
        begin = perf_counter()
        qdd = accelerations(x[:n], x[n:], tau)
        done.seconds += perf_counter() - begin
        return np.concatenate([x[n:], qdd])

    def distance_to_loss(t: float, x: Array) -> float:
        return float(np.abs(x[:n] - motion.angle(t)).max() - LOST)

    if progress is not None:
        progress(0.0)
    try:
        kind = getattr(integrate, method)
        solver = kind(rates, 0.0, np.zeros(2 * n), end, max_step=max_step, rtol=rtol, atol=rtol)
        while solver.status == "running":
            message = solver.step()
            if solver.status == "failed":
                raise SingularityError(f"the forced simulation stopped at t = {solver.t:g} s: {message}")
            done.pieces.append(solver.dense_output())
            done.end = float(solver.t)
            if progress is not None:
                progress(done.end / end)
            if distance_to_loss(solver.t, solver.y) > 0.0:
                done.end = _loss(distance_to_loss, done.pieces[-1])
                break
    except KeyboardInterrupt:
        if not done.pieces:
            raise
        done.interrupted = True
    return done


def _loss(distance: Callable[[float, Array], float], piece: Any) -> float:
    """When in the last step a joint was lost (s)."""
    from scipy.optimize import brentq

    return float(brentq(lambda t: distance(t, piece(t)), piece.t_old, piece.t, xtol=1e-12))


def _samples(steps: _Steps, spacing: float) -> Array:
    """Times (k,) from 0 to the end of the steps."""
    step = min(spacing, steps.end / 8)
    return np.arange(int(steps.end / step * (1 + 1e-12)) + 1) * np.float64(step)


def _horizon(time: Array, error: Array, limit: float) -> Array:
    """The first of the times (k,) at which errors (k, n) are beyond a limit (n,), or the last time."""
    beyond = np.abs(error) > limit
    first: Array = np.where(beyond.any(axis=0), time[beyond.argmax(axis=0)], time[-1])
    return first


def check_run(mechanism: Mechanism, algorithms: Sequence[str], rtol: float) -> None:
    """Raise if a forced simulation makes no sense for the mechanism or cannot be as accurate as requested."""
    for name in algorithms:
        if name not in ALGORITHMS:
            raise InputError(unknown_name("algorithm", name, ALGORITHMS))
    if not TIGHTEST <= rtol <= LOOSEST:
        raise InputError(must_be("rtol", f"from {TIGHTEST:g} to {LOOSEST:g}", rtol, "g"))
    check_open(mechanism, "forced_simulation")
    if mechanism.n_dof == 0 or mechanism.tree.coupling is not None:
        raise InputError(
            f"'{mechanism.name}' cannot be simulated here: only open trees with joints, without mimic "
            f"joints, are allowed; it has {mechanism.n_dof} degrees of freedom"
        )


def _sampled(
    motion: ForcedMotion,
    algorithm: str,
    method: Method,
    rtol: float,
    steps: _Steps,
    time: Array,
    torque: TorqueOfTime,
) -> ForcedRun:
    """What is to be known of a run at the times (k,)."""
    from scipy.interpolate import CubicSpline

    mechanism, n = motion.mechanism, motion.mechanism.n_dof
    states, wanted = steps.at(time), motion.at(time)
    q, qd = np.ascontiguousarray(states[:, :n]), np.ascontiguousarray(states[:, n:])
    tau = np.array([torque(float(t)) for t in time])
    accelerations = ALGORITHMS[algorithm](mechanism)
    qdd = np.array([accelerations(*row) for row in zip(q, qd, tau, strict=True)])
    power = np.einsum("kn,kn->k", tau, qd)
    energy = kinetic_energy(mechanism, q, qd) + potential_energy(mechanism, q)
    work = CubicSpline(time, power).antiderivative()(time)
    return ForcedRun(
        algorithm, method, rtol, motion.duration, time, q, qd, qdd, q - wanted.q, qdd - wanted.qdd, power,
        energy - energy[0] - work, len(steps.pieces), steps.n_evaluations, steps.seconds, steps.interrupted,
    )  # fmt: skip
