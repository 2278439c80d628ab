"""The stability study of [Mohan2007], section 5: recursive dynamics against the Cholesky decomposition.

Both drive the PUMA with the torques of a prescribed motion. What separates the simulated motion from the
prescribed one is a matter of the algorithm only as far as errors are made; how fast they grow is a matter of
the motion. So the study also measures that growth, which no algorithm can change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, number
from kinetree.analysis.sensitivity import forward_dynamics_derivatives
from kinetree.documents.forced_simulation import (
    ALGORITHMS,
    COMPILED,
    LOST,
    SPACING,
    TIGHTEST,
    ForcedMotion,
    ForcedRun,
    Progress,
    check_run,
    forced_horizon,
    forced_run,
)
from kinetree.documents.rounding import Rounding, rounding_errors
from kinetree.errors import InputError, must_be, shown
from kinetree.model.mechanism import Mechanism
from kinetree.model.zoo import puma
from kinetree.state import State

LIMIT = 1e-3  # rad: a joint that is farther off has left the prescribed motion
TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
TABLE_POINTS = (100, 1000, 10000)  # intervals of a table of torques over the whole motion
DOCUMENT: dict[str, tuple[float, ...]] = {  # [Mohan2007], Table 3: s until a joint deviates, T = 10 s
    "recursive": (5.4, 5.6, 5.4, 5.4, 5.4, 5.4),
    "nonrecursive": (5.1, 5.1, 4.8, 5.1, 5.1, 4.8),
}


@dataclass(frozen=True, eq=False)
class Growth:
    """How errors of the forced motion grow by themselves, at times (k,), whatever computes them.

    ``rate`` (k,) in 1/s: largest real part of an eigenvalue of the linearized equations of motion;
    ``amplification`` (k,): error of the angles at t per error of the angles at 0 (spectral norm).
    """

    time: Array
    rate: Array
    amplification: Array

    @property
    def onset(self) -> float:
        """When the growth sets in (s): the rate passes a tenth of its largest value."""
        return float(self.time[np.argmax(self.rate > 0.1 * self.rate.max())])

    def horizon(self, error: float, limit: float = LIMIT) -> float:
        """How long an initial error of the angles stays within a limit (s)."""
        beyond = self.amplification * error > limit
        return float(self.time[np.argmax(beyond)] if beyond.any() else self.time[-1])

    def digits(self, limit: float = LIMIT) -> float:
        """Decimal digits of the angles that are needed to stay within a limit to the end."""
        return float(np.log10(self.amplification.max() / limit))


@dataclass(frozen=True, eq=False)
class FollowedAlgorithms:
    """Algorithms that follow a prescribed motion; times in s, angles in rad.

    ``runs``: each algorithm with the integrator and tolerance of [Mohan2007]. A horizon is the time until the
    first joint is off by more than ``limit``.
    """

    mechanism: Mechanism
    duration: float
    rtol: float
    limit: float
    time: Array
    prescribed: State
    torque: Array
    growth: Growth
    runs: tuple[ForcedRun, ...]

    @property
    def power(self) -> Array:
        """Power of the torques in the prescribed motion (k,) in W."""
        power: Array = np.einsum("kn,kn->k", self.torque, self.prescribed.qd)
        return power

    def summary(self) -> dict[str, Any]:
        """The findings as plain numbers by name."""
        return {
            "model": self.mechanism.name,
            "duration": self.duration,
            "limit": self.limit,
            "growth_onset": self.growth.onset,
            "largest_growth_rate": float(self.growth.rate.max()),
            "digits_to_follow_to_the_end": self.growth.digits(self.limit),
            "runs": [self._summary_of(run) for run in self.runs],
        }

    def _summary_of(self, run: ForcedRun) -> dict[str, Any]:
        followed = run.time <= run.horizon(self.limit).min()
        half = run.time <= self.duration / 2
        return {
            "algorithm": run.algorithm,
            "integrator": run.method,
            "rtol": run.rtol,
            "horizon": run.horizon(self.limit).tolist(),
            "error_in_first_half": float(run.largest_error[half].max()),
            "ripple_in_first_half": run.ripple(self.duration / 2).tolist(),
            "energy_defect": float(np.abs(run.energy_defect[followed]).max()),
            "steps": run.n_steps,
            "evaluations": run.n_evaluations,
            "microseconds_per_evaluation": run.microseconds,
        }


class InterruptedStability(KeyboardInterrupt):
    """The study was interrupted; ``found`` is what it had found by then."""

    def __init__(self, found: FollowedAlgorithms) -> None:
        super().__init__()
        self.found = found


@dataclass(frozen=True, eq=False)
class Stability(FollowedAlgorithms):
    """What the whole study found.

    ``references``: the compiled algorithms as accurate as doubles allow; ``weightless``: without gravity.
    ``tolerance_horizon`` (c, r) belongs to the compiled algorithms and ``tolerances`` (r,),
    ``table_horizon`` (s,) to tables of torques with steps ``table_steps`` (s,).
    """

    references: tuple[ForcedRun, ...]
    weightless: ForcedRun
    tolerances: Array
    tolerance_horizon: Array
    table_steps: Array
    table_horizon: Array
    rounding: Rounding

    def summary(self) -> dict[str, Any]:
        """The findings as plain numbers by name."""
        return {
            **super().summary(),
            "references": [self._summary_of(run) for run in self.references],
            "weightless": self._summary_of(self.weightless),
            "horizon_by_tolerance": {
                name: dict(zip(map(float, self.tolerances), map(float, row), strict=True))
                for name, row in zip(COMPILED, self.tolerance_horizon, strict=True)
            },
            "horizon_by_torque_table_step": dict(
                zip(map(float, self.table_steps), map(float, self.table_horizon), strict=True)
            ),
            "rounding_in_units_of_roundoff": {
                way: {kind: self.rounding.median(way, kind) for kind in ("driven", "falling")}
                for way in self.rounding.ways
            },
        }


def run_stability(
    duration: float = 10.0,
    rtol: float = 1e-8,
    progress: Progress | None = None,
    *,
    mechanism: Mechanism | None = None,
    algorithms: Sequence[str] = tuple(ALGORITHMS),
    limit: float = LIMIT,
    tolerances: Sequence[float] = TOLERANCES,
    states: int = 40,
) -> Stability:
    """Forced simulation of the PUMA (or another open tree) along [Mohan2007]'s eq. 38, by several algorithms.

    ``duration`` (s) is T of the motion, ``rtol`` the integrator's tolerance; ``algorithms`` are names of
    ``ALGORITHMS`` ("denoc" is interpreted and takes most of the time). The compiled ones also run with other
    ``tolerances``; rounding errors are measured at ``states`` states of either kind. ``progress`` takes
    the part that is done, from 0 to 1.
    """
    arm = puma() if mechanism is None else mechanism
    T, limit = (_positive(x, what) for x, what in ((duration, "duration"), (limit, "limit")))
    for tolerance in (rtol, *tolerances):
        check_run(arm, algorithms, number(tolerance, "rtol"))
    if states < 1 or not algorithms or limit >= LOST:
        raise InputError(
            "the study needs an algorithm, a state and a limit below "
            f"{LOST:g} rad, got {shown(algorithms)}, {states} states and {limit:g} rad"
        )
    motion = ForcedMotion(arm, T)
    growth = error_growth(motion)  # first, because it refuses motions through singular poses
    adrift = ForcedMotion(replace(arm, gravity=np.zeros(3)), T)
    report = _Stages(progress, len(COMPILED) * (1 + len(tolerances)) + len(TABLE_POINTS) + 2, algorithms)

    runs: list[ForcedRun] = []
    try:
        for name in algorithms:
            runs.append(forced_run(motion, name, rtol, progress=report.stage(name)))
            _go_on(runs[-1])
        return _whole(motion, adrift, growth, runs, rtol, limit, tolerances, states, report)
    except KeyboardInterrupt:
        if not runs:
            raise
        raise InterruptedStability(FollowedAlgorithms(**_common(motion, growth, runs, rtol, limit))) from None


def _common(
    motion: ForcedMotion, growth: Growth, runs: Sequence[ForcedRun], rtol: float, limit: float
) -> dict[str, Any]:
    """The fields of what was followed."""
    t = growth.time
    return {
        "mechanism": motion.mechanism,
        "duration": motion.duration,
        "rtol": rtol,
        "limit": limit,
        "time": t,
        "prescribed": motion.at(t),
        "torque": motion.torque(t),
        "growth": growth,
        "runs": tuple(runs),
    }


def _whole(
    motion: ForcedMotion,
    adrift: ForcedMotion,
    growth: Growth,
    runs: Sequence[ForcedRun],
    rtol: float,
    limit: float,
    tolerances: Sequence[float],
    states: int,
    report: _Stages,
) -> Stability:
    """What is measured after the algorithms have followed the motion."""
    references = [
        _go_on(forced_run(motion, name, TIGHTEST, "DOP853", progress=report.stage())) for name in COMPILED
    ]
    weightless = _go_on(forced_run(adrift, COMPILED[0], rtol, progress=report.stage()))
    by_tolerance = [
        [forced_horizon(motion, name, x, limit, progress=report.stage()) for x in tolerances]
        for name in COMPILED
    ]
    by_table = [
        forced_horizon(motion, COMPILED[0], rtol, limit, torque=torque, progress=report.stage())
        for torque in map(motion.stored_torque, TABLE_POINTS)
    ]
    rounding = rounding_errors(motion, states)
    report.stage()(1.0)
    return Stability(
        **_common(motion, growth, runs, rtol, limit),
        references=tuple(references),
        weightless=weightless,
        tolerances=np.array(tolerances),
        tolerance_horizon=np.array(by_tolerance),
        table_steps=motion.duration / np.array(TABLE_POINTS),
        table_horizon=np.array(by_table),
        rounding=rounding,
    )


def error_growth(motion: ForcedMotion, spacing: float = SPACING) -> Growth:
    """Growth of small errors of the forced motion: the linearized equations x' = A(t) x along it."""
    steps, n = max(round(motion.duration / spacing), 8), motion.mechanism.n_dof
    fine = np.linspace(0.0, motion.duration, 2 * steps + 1)
    wanted, torque = motion.at(fine), motion.torque(fine)
    slopes = forward_dynamics_derivatives(motion.mechanism, wanted.q, wanted.qd, torque)
    A = np.zeros((len(fine), 2 * n, 2 * n))
    A[:, :n, n:], A[:, n:, :n], A[:, n:, n:] = np.eye(n), slopes.dqdd_dq, slopes.dqdd_dqd
    h, Phi = motion.duration / steps, np.eye(2 * n)
    amplification = [1.0]
    for start, middle, end in zip(A[0:-1:2], A[1::2], A[2::2], strict=True):  # classical Runge-Kutta
        a = start @ Phi
        b = middle @ (Phi + h / 2 * a)
        c = middle @ (Phi + h / 2 * b)
        Phi = Phi + h / 6 * (a + 2 * b + 2 * c + end @ (Phi + h * c))
        amplification.append(float(np.linalg.norm(Phi[:n, :n], 2)))
    rate = np.linalg.eigvals(A[::2]).real.max(axis=1)
    return Growth(fine[::2], rate, np.array(amplification))


def _go_on(run: ForcedRun) -> ForcedRun:
    """The run, unless it was interrupted."""
    if run.interrupted:
        raise KeyboardInterrupt
    return run


def _positive(value: float, what: str) -> float:
    x = number(value, what)
    if x <= 0:
        raise InputError(must_be(what, "> 0", x, "g"))
    return x


class _Stages:
    """Progress of the whole from that of its parts; an interpreted algorithm weighs more."""

    INTERPRETED = 30.0

    def __init__(self, progress: Progress | None, stages: int, algorithms: Sequence[str]) -> None:
        self.progress, self.done, self.weight, self.shown = progress, 0.0, 0.0, 0.0
        self.total = stages + sum(self._weight(name) for name in algorithms)

    def _weight(self, name: str) -> float:
        return 1.0 if name in COMPILED or not name else self.INTERPRETED

    def stage(self, name: str = "") -> Progress:
        """The next part: a function that takes the part of it that is done."""
        self.done += self.weight
        self.weight = self._weight(name)
        begin, weight = self.done, self.weight

        def stated(part: float) -> None:
            self.shown = max(self.shown, (begin + weight * part) / self.total)  # integrators step back
            if self.progress is not None:
                self.progress(self.shown)

        return stated
