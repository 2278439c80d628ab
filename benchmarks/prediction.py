"""Motion prediction from statement to verified result: our solver beside IPOPT, and beside CasADi.

Part of ``python -m benchmarks``; ``python -m benchmarks.prediction`` measures it alone.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console

import kinetree as kt
from benchmarks.machine import description
from benchmarks.measure import Say
from benchmarks.peers import casadi_motion
from benchmarks.prediction_tables import prediction_tables
from benchmarks.terminal import rich_table
from kinetree.engine.buffers import keep
from kinetree.motion.predict import predict
from kinetree.motion.problem.problem import Problem
from kinetree.motion.refinement import events, refine
from kinetree.motion.terms import (
    Boundary,
    Constraint,
    Jerk,
    KeepOut,
    ReactionLimit,
    Time,
    TorqueLimits,
    VelocityLimits,
    time_and_torque,
)

TIP = (0.4, 0.0, 0.0)
KUKA_TORQUE, KUKA_SPEED = (200.0, 300.0, 150.0, 20.0, 10.0, 5.0), (2.7, 2.7, 2.7, 5.6, 6.3, 11.4)
SEVEN_TORQUE, SPHERE = (120.0, 120.0, 60.0, 60.0, 30.0, 30.0, 10.0), ((0.9, 0.0, 0.3), 0.25)
ROUNDS, STARTS = 15, 21
BOUNDS = (0.05, 5.0)


@dataclass(frozen=True)
class Case:
    """A problem, what it must find, and how CasADi is asked the same."""

    name: str
    make: Callable[[], Problem]
    truth: float | None = None
    casadi: Callable[[Any, Problem], dict[str, float]] | None = None


def rest(start: Any, end: Any) -> list[Constraint]:
    """From rest to rest."""
    return [Boundary("start", start, velocity=0.0), Boundary("end", end, velocity=0.0)]


ENDS = {
    "minimum time": ((0.0, -2.0), (1.0, -1.0)),
    "lifting": ((1.32, -2.37), (2.80, -2.37)),
    "sliding": ((0.1, 0.6), (np.pi / 4, -np.pi / 4)),
    "kuka": ((0.0,) * 6, (np.pi / 3,) * 6),
}


def minimum_time() -> Problem:
    """[Xiang2009], section 6.3."""
    constraints = [*rest(*ENDS["minimum time"]), TorqueLimits()]
    return Problem(kt.zoo.two_link(), objective=Time(), constraints=constraints, duration=BOUNDS)


def lifting() -> Problem:
    """[Xiang2009], section 6.4."""
    return Problem(
        kt.zoo.two_link(gravity=(0, -9.8062, 0)),
        objective=time_and_torque(0.01),
        constraints=[*rest(*ENDS["lifting"]), TorqueLimits()],
        loads=kt.Wrench("link2", force=(0, -10, 0), point=TIP),
        duration=BOUNDS,
    )


def sliding() -> Problem:
    """[Barman2020], section 4.2, with the angle from the sliding direction."""
    constraints = [*rest(*ENDS["sliding"]), TorqueLimits()]
    arm = kt.zoo.two_link_prismatic(theta2=np.pi / 2)
    return Problem(arm, objective=time_and_torque(0.01), constraints=constraints, duration=BOUNDS)


def six_axes(*also: Constraint) -> Problem:
    """Minimum time of a six-axis arm."""
    limits = [TorqueLimits(KUKA_TORQUE), VelocityLimits(KUKA_SPEED)]
    constraints = [*rest(*ENDS["kuka"]), *limits, *also]
    return Problem(kt.zoo.kuka_kr5(), objective=Time(), constraints=constraints, duration=BOUNDS)


def six_axes_with_reactions() -> Problem:
    """The same with forces in two joints limited."""
    return six_axes(ReactionLimit("link2", 350.0), ReactionLimit("link3", 230.0))


def seven_axes() -> Problem:
    """A seven-axis arm whose hand and forearm go around a sphere, fast and smoothly.

    The sphere is where the arm would pass without it.
    """
    build = kt.Builder("seven_axes")
    handle = build.world
    for k in range(7):
        at = (0.0, 0.0, 0.0 if k == 0 else 0.2)
        joint = handle.revolute(f"joint{k + 1}", at=at, axis="z" if k % 2 == 0 else "y")
        handle = joint.body(f"link{k + 1}", kt.Inertia.rod(2.0 - 0.2 * k, end=(0, 0, 0.2)))
    start, end = (-0.8, 0.9, 0.0, 0.9, 0.0, 0.3, 0.0), (0.8, 0.9, 0.0, 0.9, 0.0, 0.3, 0.0)
    keep = KeepOut("link7", *SPHERE, points=[(0, 0, 0), (0, 0, 0.1), (0, 0, 0.2)])
    other = KeepOut("link5", *SPHERE, points=[(0, 0, 0.1), (0, 0, 0.2)])
    constraints = [*rest(start, end), keep, other, TorqueLimits(SEVEN_TORQUE)]
    objective = [Time(), 1e-4 * Jerk()]
    return Problem(build.build(), objective=objective, constraints=constraints, duration=BOUNDS)


def _casadi_two_link(ca: Any, problem: Problem) -> dict[str, float]:
    torque = casadi_motion.planar_arm(ca, 0.0, 0.0)
    return casadi_motion.solved(ca, torque, problem, ENDS["minimum time"], (10.0, 10.0), None, 0.0)


def _casadi_lifting(ca: Any, problem: Problem) -> dict[str, float]:
    torque = casadi_motion.planar_arm(ca, 9.8062, 10.0)
    return casadi_motion.solved(ca, torque, problem, ENDS["lifting"], (10.0, 10.0), None, 0.01)


def _casadi_sliding(ca: Any, problem: Problem) -> dict[str, float]:
    torque = casadi_motion.sliding_arm(ca)
    return casadi_motion.solved(ca, torque, problem, ENDS["sliding"], (10.0, 10.0), None, 0.01)


def _casadi_kuka(ca: Any, problem: Problem) -> dict[str, float]:
    torque = casadi_motion.newton_euler(ca, problem)
    return casadi_motion.solved(ca, torque, problem, ENDS["kuka"], KUKA_TORQUE, KUKA_SPEED, 0.0)


CASES = (
    Case("two-link minimum time", minimum_time, 0.39314, _casadi_two_link),
    Case("two-link lifting", lifting, 0.844951, _casadi_lifting),
    Case("sliding arm", sliding, 0.853063, _casadi_sliding),
    Case("six axes, minimum time", six_axes, 0.51604, _casadi_kuka),
    Case("six axes, reaction limits", six_axes_with_reactions),
    Case("seven axes around a sphere", seven_axes),
)
REFINED = (
    ("two-link minimum time", minimum_time, 0.391854540),
    ("two-link lifting", lifting, 0.844878),
    ("sliding arm", sliding, 0.853063),
)


def predictions(names: tuple[str, ...], rounds: int, starts: int, say: Say) -> dict[str, Any]:
    """The named cases, the best of some rounds in which contestants take turns; refined meshes; starts."""
    say("predictions")
    return {
        "predictions": [_case(case, rounds) for case in CASES if case.name in names],
        "refined": [_refined(*row) for row in REFINED if row[0] in names],
        "starts": [_starts(*row[:2], starts) for row in REFINED if row[0] in names and starts > 1],
    }


def predictions_apart(
    names: tuple[str, ...], rounds: int, starts: int, kept: float, say: Say
) -> dict[str, Any]:
    """The same; where OpenSim took part, in a process of its own, since it brings another CasADi along."""
    if importlib.util.find_spec("opensim") is None or not names:
        return predictions(names, rounds, starts, say)
    say("predictions, in a process of their own")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=keep, initargs=(kept,)) as pool:
        return pool.submit(predictions, names, rounds, starts, _silent).result()


def _silent(_: str) -> None:
    """Say nothing: another process has another clock."""


def _case(case: Case, rounds: int) -> dict[str, Any]:
    ca = importlib.import_module("casadi") if importlib.util.find_spec("casadi") else None
    runs: dict[str, list[dict[str, float]]] = {"interior": [], "ipopt": [], "casadi": []}
    _ours(case, "interior")  # compiled code is loaded
    for _ in range(rounds):
        runs["interior"].append(_ours(case, "interior"))
        if ca is not None:  # its wheel brings the library of IPOPT, too
            runs["ipopt"].append(_ours(case, "ipopt"))
        if ca is not None and case.casadi is not None:
            runs["casadi"].append(_theirs(ca, case))
    row: dict[str, Any] = {"case": case.name, "truth": case.truth}
    row |= _best(runs.pop("interior"))
    return row | {name: _best(found) for name, found in runs.items() if found}


def _best(runs: list[dict[str, float]]) -> dict[str, float]:
    best = dict(min(runs, key=lambda run: run["total"]))
    best["solve"] = min(run["solve"] for run in runs)
    return best


def _ours(case: Case, solver: str) -> dict[str, float]:
    begun = perf_counter()
    found = predict(case.make(), solver=solver)
    total = perf_counter() - begun
    return {
        "total": total,
        "solve": found.outcome.seconds,
        "objective": found.objective,
        "duration": found.duration,
        "iterations": found.iterations,
        "solved": found.solved,
        "violation": found.violation_at_samples,
        "variables": found.problem.n_variables,
        "constraints": found.problem.n_constraints,
    }


def _theirs(ca: Any, case: Case) -> dict[str, float]:
    problem = case.make()
    assert case.casadi is not None
    begun = perf_counter()
    found = case.casadi(ca, problem)
    return {**found, "total": perf_counter() - begun}


def _refined(name: str, make: Callable[[], Problem], truth: float) -> dict[str, Any]:
    begun = perf_counter()
    found = refine(predict(make()))
    return {
        "case": name,
        "objective": found.objective,
        "error": found.objective - truth,
        "seconds": perf_counter() - begun,
        "switches": [e.s * found.duration for e in events(found) if e.switch],
    }


def _starts(name: str, make: Callable[[], Problem], starts: int) -> dict[str, Any]:
    found = predict(make(), starts=starts, seed=1)
    values = np.array([trial.objective for trial in found.trials[1:]])
    same = int((np.abs(values - found.objective) < 1e-4 * abs(found.objective)).sum())
    return {"case": name, "starts": len(values), "same": same}


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prediction", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE.json", help="save the figures")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each case is solved")
    options = parser.parse_args(arguments)
    results = predictions(tuple(case.name for case in CASES), options.rounds, STARTS, lambda text: None)
    results["machine"] = description()
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    console = Console()
    console = console if console.is_terminal else Console(width=180)
    for table in prediction_tables(results):
        console.print(rich_table(table), highlight=False)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
