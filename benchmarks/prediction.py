"""``python -m benchmarks.prediction``: motion prediction from statement to verified result, beside CasADi."""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console

import kinetree as kt
from benchmarks.machine import description
from benchmarks.peers import casadi_motion
from benchmarks.report import rich_table
from benchmarks.tables import NOTHING, Table
from kinetree.motion.predict import predict
from kinetree.motion.problem import Problem
from kinetree.motion.refine import events, refine
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
ROUNDS = 15
BOUNDS = (0.05, 5.0)


@dataclass(frozen=True)
class Case:
    """A problem, what it must take at most (s), what it must find, and how CasADi is asked the same."""

    name: str
    make: Callable[[], Problem]
    most: float
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
    """001, section 6.3."""
    constraints = [*rest(*ENDS["minimum time"]), TorqueLimits()]
    return Problem(kt.zoo.two_link(), objective=Time(), constraints=constraints, duration=BOUNDS)


def lifting() -> Problem:
    """001, section 6.4."""
    return Problem(
        kt.zoo.two_link(gravity=(0, -9.8062, 0)),
        objective=time_and_torque(0.01),
        constraints=[*rest(*ENDS["lifting"]), TorqueLimits()],
        loads=kt.Wrench("link2", force=(0, -10, 0), point=TIP),
        duration=BOUNDS,
    )


def sliding() -> Problem:
    """000, section 4.2, with the angle from the sliding direction."""
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
    Case("two-link minimum time", minimum_time, 0.020, 0.39314, _casadi_two_link),
    Case("two-link lifting", lifting, 0.020, 0.844951, _casadi_lifting),
    Case("sliding arm", sliding, 0.020, 0.853063, _casadi_sliding),
    Case("six axes, minimum time", six_axes, 0.1, 0.51604, _casadi_kuka),
    Case("six axes, reaction limits", six_axes_with_reactions, 0.3),
    Case("seven axes around a sphere", seven_axes, 1.0),
)
REFINED = (
    ("two-link minimum time", minimum_time, 0.391854540),
    ("two-link lifting", lifting, 0.844878),
    ("sliding arm", sliding, 0.853063),
)


def measure(rounds: int = ROUNDS) -> dict[str, Any]:
    """All cases, the best of some rounds; contestants take turns."""
    ca = importlib.import_module("casadi") if importlib.util.find_spec("casadi") else None
    rows = []
    for case in CASES:
        ours: list[dict[str, float]] = []
        theirs: list[dict[str, float]] = []
        predict(case.make())  # compiled code is loaded
        for _ in range(rounds):
            ours.append(_ours(case))
            if ca is not None and case.casadi is not None:
                theirs.append(_theirs(ca, case))
        row: dict[str, Any] = {"case": case.name, "most": case.most, "truth": case.truth}
        row |= _best(ours)
        if theirs:
            row["casadi"] = _best(theirs)
        rows.append(row)
    return {"machine": description(), "cases": rows, "refined": _refined(), "starts": _starts()}


def _best(runs: list[dict[str, float]]) -> dict[str, float]:
    best = dict(min(runs, key=lambda run: run["total"]))
    best["solve"] = min(run["solve"] for run in runs)
    return best


def _ours(case: Case) -> dict[str, float]:
    begun = perf_counter()
    found = predict(case.make())
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


def _refined() -> list[dict[str, Any]]:
    rows = []
    for name, make, truth in REFINED:
        begun = perf_counter()
        found = refine(predict(make()))
        seconds = perf_counter() - begun
        switches = [e.s * found.duration for e in events(found) if e.switch]
        rows.append(
            {
                "case": name,
                "objective": found.objective,
                "error": found.objective - truth,
                "seconds": seconds,
                "switches": switches,
            }
        )
    return rows


def _starts() -> list[dict[str, Any]]:
    rows = []
    for name, make, _ in REFINED:
        found = predict(make(), starts=21, seed=1)
        values = np.array([trial.objective for trial in found.trials[1:]])
        same = int((np.abs(values - found.objective) < 1e-4 * abs(found.objective)).sum())
        rows.append({"case": name, "starts": len(values), "same": same})
    return rows


def tables(results: dict[str, Any]) -> list[Table]:
    """The figures as text."""
    head = (
        *("case", "unknowns", "rows", "objective", "total ms", "target ms", "solve ms", "iterations"),
        *("CasADi total ms", "CasADi solve ms", "CasADi objective"),
    )
    rows = []
    for row in results["cases"]:
        other = row.get("casadi")
        theirs = (
            (f"{1e3 * other['total']:.1f}", f"{1e3 * other['solve']:.1f}", f"{other['objective']:.6f}")
            if other
            else (NOTHING,) * 3
        )
        rows.append(
            (
                row["case"],
                str(row["variables"]),
                str(row["constraints"]),
                f"{row['objective']:.6f}",
                f"{1e3 * row['total']:.1f}",
                f"{1e3 * row['most']:.0f}",
                f"{1e3 * row['solve']:.1f}",
                str(row["iterations"]),
                *theirs,
            )
        )
    note = "Wall time from the problem's statement to the verified result, best of some rounds."
    refined = [
        (
            row["case"],
            f"{row['objective']:.7f}",
            f"{row['error']:.1e}",
            f"{1e3 * row['seconds']:.0f}",
            ", ".join(f"{t:.5f}" for t in row["switches"]) or NOTHING,
        )
        for row in results["refined"]
    ]
    starts = [(row["case"], f"{row['same']} of {row['starts']}") for row in results["starts"]]
    return [
        Table("Prediction", note, head, rows),
        Table(
            "Refined meshes",
            "Difference from the optimum known by shooting.",
            ("case", "objective", "error", "ms", "switching times (s)"),
            refined,
        ),
        Table("Random starts", "How many find the same motion.", ("case", "same"), starts),
    ]


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prediction", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE.json", help="save the figures")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each case is solved")
    options = parser.parse_args(arguments)
    results = measure(options.rounds)
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    console = Console()
    console = console if console.is_terminal else Console(width=180)
    for table in tables(results):
        console.print(rich_table(table), highlight=False)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
