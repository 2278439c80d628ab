"""Simulations: error against time, for Kinetree and for what its peers offer.

Every contestant runs through its tolerances or step lengths; the error is the largest of the final positions
(rad, m) beside a reference of its own mechanism, and time is that of the processor on this thread.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from time import thread_time, thread_time_ns
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.mechanisms import padded
from benchmarks.plan import Plan
from benchmarks.reach import times_to_reach
from benchmarks.simulation_cases import CASES, Case, Runner, final_positions, quadruped_starts
from benchmarks.timing import Contestant, race
from kinetree.algebra.arrays import Array

PREPARED, PUBLIC = "kinetree", "kinetree simulate"  # Simulator.run; simulate, with audit and labels
MADE = "kinetree specialized"  # Simulator.run with code for one mechanism
METHODS = ("dop853", "dopri5")
BATCH_METHODS = ("dop853", "dopri5")
STIFF_METHODS = ("dop853", "dopri5", "radau")
WANTED = 1e-6  # error at which times are compared
ENOUGH = 1e-9  # curves end below
WRONG = 1.0  # errors above tell nothing: the simulation is unstable
LONGEST = 4.0  # s: curves end where a run takes longer
SLOW = 0.2  # s: such runs do not take turns with the others, the better of two counts
STARTS_TOLERANCES = tuple(10.0 ** (-0.5 * k) for k in range(10, 21))
ROLLOUT_TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6)
ROLLOUT_STEPS = (16, 32, 64, 128)
Row = dict[str, Any]
Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Point:
    """A point of a curve: its label, who runs it, and how long the first run took (s)."""

    row: Row
    runner: Runner
    seconds: float


def simulations(plan: Plan, say: Say) -> dict[str, list[Row]]:
    """Points of all curves, times to reach an error of 1e-6, and many rollouts at once."""
    curves: list[Row] = []
    for name in plan.simulations:
        case = CASES[name]()
        say(f"simulation: {case.name}")
        curves += timed(_points(case, plan), plan.seconds)
    return {
        "simulation_curves": curves,
        "simulation_times": times_to_reach(curves, WANTED),
        "quadruped_starts": _starts(plan, say) if "quadruped" in plan.simulations else [],
        "rollouts": _rollouts(plan, say),
    }


# ---- error over time -------------------------------------------------------------------------------------
def _points(case: Case, plan: Plan) -> list[Point]:
    """Errors of all contestants, methods and settings that are worth their time."""
    found: list[Point] = []
    sharp = case.reference()
    for line in _kinetree(case, plan.tolerances).values():
        found += curve(case, line, sharp)
    if (pinocchio_simulation := _peer("pinocchio_simulation")) is not None:
        for line in pinocchio_simulation.runners(case, plan.tolerances).values():
            found += curve(case, line, sharp)
    for name in ("drake_simulation", "opensim_simulation"):
        if (peer := _peer(name)) is not None:
            for line in peer.runners(case, plan.tolerances).values():
                found += curve(case, line, sharp)
    if (mujoco_simulation := _peer("mujoco_simulation")) is not None:
        filled = padded(case.mechanism)
        sharp = case.reference(filled)
        for line in mujoco_simulation.runners(case, filled, plan.step_counts).values():
            found += curve(case, line, sharp)
    return found


def _peer(name: str) -> Any:
    """How a peer simulates, or nothing if it is not installed."""
    try:
        return import_module(f"benchmarks.peers.{name}")
    except ModuleNotFoundError:
        return None


def curve(case: Case, line: Sequence[Runner], reference: Array) -> list[Point]:
    """From loose to tight, until the error is small or the time is long."""
    found = []
    line[0].call()  # warms up, and compiles what is not in the cache
    for runner in line:
        begin = thread_time()
        try:
            answer = runner.call()
        except kt.errors.SimulationError:  # so tight that no step is short enough
            break
        error = float(np.abs(runner.final(answer) - reference).max())
        seconds = thread_time() - begin
        if error < WRONG:
            row = {
                "case": case.name,
                "n_dof": case.mechanism.n_dof,
                "words": case.words,
                "contestant": runner.contestant,
                "method": runner.method,
                "setting": runner.setting,
                "error": error,
            }
            found.append(Point(row, runner, seconds))
        if error < ENOUGH or seconds > LONGEST:
            break
    return found


def timed(points: Sequence[Point], seconds: float) -> list[Row]:
    """The rows with their times in milliseconds; all quick runners of a case take turns."""
    quick = [point for point in points if point.seconds < SLOW]
    runners = [Contestant(point.runner.method, point.runner.call) for point in quick]
    timings = race(runners, seconds * len(quick) / 4, clock=thread_time_ns)
    for point, timing in zip(quick, timings, strict=True):
        times = {"best": 1e-6 * timing.best, "median": 1e-6 * timing.median, "windows": timing.windows}
        point.row.update(times)
    for point in points:
        if point.seconds >= SLOW:
            begin = thread_time()
            point.runner.call()
            both = point.seconds, thread_time() - begin
            point.row.update(best=1e3 * min(both), median=1e3 * sum(both) / 2, windows=2)
    return [point.row for point in points]


def _kinetree(case: Case, tolerances: Collection[float]) -> dict[tuple[str, str], list[Runner]]:
    """Kinetree prepared, for the final state alone; and its public call with everything it returns."""
    found = {}
    prepared = {PREPARED: case.mechanism, MADE: kt.specialize(case.mechanism, "simulate")}
    for method in METHODS if case.ground is None else STIFF_METHODS:
        for name, mechanism in prepared.items():
            found[name, method] = [
                Runner(
                    name,
                    method,
                    x,
                    partial(case.simulator(mechanism, method=method, rtol=x, atol=x).run, case.q0),
                    final_positions,
                )
                for x in tolerances
            ]
        found[PUBLIC, method] = [
            Runner(PUBLIC, method, x, partial(_public, case, method, x), final_positions) for x in tolerances
        ]
    return found


def _public(case: Case, method: str, tolerance: float) -> object:
    return kt.simulate(
        case.mechanism,
        case.q0,
        duration=case.duration,
        ground=case.ground,
        method=method,
        rtol=tolerance,
        atol=tolerance,
        energy_tolerance=1e9,
    )


# ---- many starts -----------------------------------------------------------------------------------------
def _starts(plan: Plan, say: Say) -> list[Row]:
    """Milliseconds of Kinetree's methods to the wanted error from seven starts of the quadruped."""
    found: list[Row] = []
    for case in quadruped_starts():
        say(f"simulation: quadruped, {case.name}")
        lines = _kinetree(case, STARTS_TOLERANCES)
        sharp, points = case.reference(), list[Point]()
        for (contestant, _), line in lines.items():
            if contestant == PREPARED:
                points += curve(case, line, sharp)
        found += times_to_reach(timed(points, 0.5 * plan.seconds), WANTED)
    return found


# ---- many at once ----------------------------------------------------------------------------------------
def _rollouts(plan: Plan, say: Say) -> list[Row]:
    """Motions of the KUKA KR5 from rest at random positions: time and errors, on one thread."""
    if plan.rollouts == 0:
        return []
    say(f"{plan.rollouts} rollouts")
    case = CASES["kuka"]()
    q0 = np.random.default_rng(0).uniform(-1.0, 1.0, (plan.rollouts, case.mechanism.n_dof))
    found: list[tuple[Row, Callable[[], Array]]] = []
    for method in BATCH_METHODS:
        for x in ROLLOUT_TOLERANCES:
            row: Row = {"contestant": "kinetree", "method": method, "setting": x}
            found.append((row, partial(_batch, case.mechanism, q0, case.duration, method, x)))
    sharp = {"kinetree": _batch(case.mechanism, q0, case.duration, "dop853", 1e-12)}
    if (mujoco_simulation := _peer("mujoco_simulation")) is not None:
        filled = padded(case.mechanism)
        sharp["mujoco"] = _batch(filled, q0, case.duration, "dop853", 1e-12)
        for steps in ROLLOUT_STEPS:
            row = {"contestant": "mujoco", "method": "RK4", "setting": case.duration / steps}
            found.append((row, mujoco_simulation.rollouts(filled, q0, case.duration, steps)))
    return _timed_rollouts(found, sharp, plan.seconds)


def _timed_rollouts(
    found: Sequence[tuple[Row, Callable[[], Array]]], sharp: dict[str, Array], seconds: float
) -> list[Row]:
    errors = [np.abs(call() - sharp[row["contestant"]]).max(axis=1) for row, call in found]
    runners = [Contestant(row["contestant"], call) for row, call in found]
    timings = race(runners, 4.0 * seconds, clock=thread_time_ns)
    return [
        {
            **row,
            "count": len(error),
            "median_error": float(np.median(error)),
            "worst_error": float(error.max()),
            "seconds": 1e-9 * timing.best,
            "median_seconds": 1e-9 * timing.median,
        }
        for (row, _), error, timing in zip(found, errors, timings, strict=True)
    ]


def _batch(mechanism: kt.Mechanism, q0: Array, duration: float, method: str, tolerance: float) -> Array:
    run = kt.simulation.simulate_batch(
        mechanism, q0, duration=duration, times=[duration], method=method, rtol=tolerance, threads=1
    )
    return np.asarray(run.q.values)[:, -1]
