"""What studies end in: statuses, objectives, iterations, checks and falls, compared with a stored table.

``python -m benchmarks.outcomes`` runs all shipped examples, random walks, lifts, gaits and arms, trials of
the walking law and, where ``example-robot-data`` is installed, real robots that walk as generated. It lists
what is different from ``benchmarks/outcomes.json`` and ends with exit code 1 if anything is. Words choose
cases whose names contain one of them; ``--store`` writes what was found into the table.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.walkers import ROBOTS, trials, walk
from kinetree.study.examples import example_names
from kinetree.study.run import prepared

TABLE = Path(__file__).with_name("outcomes.json")
SAME = {"objective": 1e-3, "duration": 1e-3, "iterations": 0.2, "steps": 0.0, "speed": 0.02, "end": 0.02}
CLOSE = 0.1  # change of a check's value relative to what is allowed
REAL = (
    "solo12", "go1", "go2", "anymal_c_simple_description/anymal", "bolt", "talos_reduced", "g1_29dof_rev_1_0",
)  # fmt: skip
TRIALS = (
    "flat", "push forward 0.2 at 0.5 of a step", "push left 0.2 at 0.5 of a step", "slope +5 deg",
    "slope -5 deg", "stairs of 2 cm up", "delay 8 ms", "noise 0.003 rad, 0.03 rad/s", "speed 0.2 sqrt(g L)",
)  # fmt: skip
Outcome = dict[str, Any]


def cases() -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """Names of all cases, and what runs them."""
    for name in example_names():
        yield f"example {name}", lambda name=name: of_study(name, {})
    for name, example, settings in random_tasks():
        yield name, lambda example=example, settings=settings: of_study(example, settings)
    for kind in ROBOTS:
        for trial in trials(kind):
            if trial.name in TRIALS:
                yield f"law {kind}, {trial.name}", lambda trial=trial: of_trial(trial)
    for name in REAL:
        yield f"robot {name}", lambda name=name: of_robot(name)


def random_tasks() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Twenty tasks of people and robots: a name, the example that is changed, and its settings."""
    rng = np.random.default_rng(20)

    def between(low: float, high: float) -> float:
        return round(float(rng.uniform(low, high)), 3)

    for k in range(5):
        tall = between(1.5, 1.9)
        person = {
            "sex": ("female", "male")[k % 2],
            "height": tall,
            "mass": round(between(20, 26) * tall**2, 1),
        }
        speed = between(0.9, 1.5)
        walking = {
            "speed": speed,
            "step": round(0.37 * tall * math.sqrt(speed), 3),
            "slope": between(-5, 7),
            "backpack": between(0, 15),
        }
        yield f"random walk {k}", "walking", {"mechanism": {"parameters": person}, "walk": walking}
        lifting = {"box": between(3, 15)}
        yield f"random lift {k}", "lifting", {"mechanism": {"parameters": person}, "lift": lifting}
        example = ("quadruped_predicted_trot", "planar_biped_jump")[k % 2]
        gait = {"speed": between(0.2, 0.5)} if k % 2 == 0 else {"height": between(0.04, 0.1)}
        yield f"random gait {k}", example, {"gait": gait}
        masses = [between(0.5, 2.0), between(0.5, 2.0)]
        yield f"random arm {k}", "two_link_minimum_time", {"mechanism": {"parameters": {"mass": masses}}}


def of_study(name: str, settings: Mapping[str, Any]) -> Outcome:
    """How a study ends: its status, figures and checks."""
    return _of_json(prepared(name, settings).outcome().to_json(None))


def of_robot(name: str) -> Outcome:
    """How the study ends that `kinetree new study walk` writes for a robot of example-robot-data."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["new", "study", "walk", "--model", f"example-robot-data:{name}", "--yes"]
        done = subprocess.run(
            [sys.executable, "-m", "kinetree", *words], cwd=folder, capture_output=True, text=True
        )
        if done.returncode:
            return {"status": "no study", "why": done.stderr.strip().split("\n")[-1]}
        return of_study(str(Path(folder) / "walk.toml"), {})


def of_trial(trial: Any) -> Outcome:
    """How a walk under the walking law ends."""
    found = walk(trial)
    return {
        "status": "fell" if found.fell else "ok",
        "figures": {"steps": found.steps, "speed": found.speed},
        "checks": {},
    }


def _of_json(stated: Mapping[str, Any]) -> Outcome:
    audit = stated["audit"]
    return {
        "status": stated["status"],
        "figures": {key: stated[key] for key in ("objective", "duration", "iterations") if key in stated},
        "checks": {
            name: [check["passed"], check["value"], check["tolerance"]]
            for name, check in audit.items()
            if not name.startswith(("seconds", "time"))
        },
    }


def differences(before: Outcome, now: Outcome) -> list[str]:
    """What moved, in words; nothing if the outcomes are the same."""
    if before["status"] != now["status"]:
        return [f"status {before['status']} -> {now['status']}"]
    lines = []
    for key, old in before.get("figures", {}).items():
        new = now["figures"].get(key)
        if new is None or _far(old, new, SAME[key] * abs(old)):
            lines.append(f"{key} {_short(old)} -> {_short(new)}")
    old_checks, new_checks = before.get("checks", {}), now.get("checks", {})
    for name in sorted({*old_checks, *new_checks}):
        if name not in new_checks or name not in old_checks:
            lines.append(f"check {name} {'is gone' if name in old_checks else 'is new'}")
            continue
        (passed, value, allowed), (passes, figure, limit) = old_checks[name], new_checks[name]
        if passed != passes:
            lines.append(f"check {name} {'passed' if passed else 'failed'} before, not now")
        if allowed != limit:
            lines.append(f"check {name} allows {_short(allowed)} -> {_short(limit)}")
        elif _far(value, figure, CLOSE * abs(allowed) if isinstance(allowed, float | int) else 0.0):
            lines.append(f"check {name} {_short(value)} -> {_short(figure)} of {_short(allowed)}")
    return lines


def _far(old: Any, new: Any, margin: float) -> bool:
    if isinstance(old, float | int) and isinstance(new, float | int):
        return not abs(new - old) <= margin
    return bool(old != new)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main() -> int:
    """Run the cases and print what moved."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else "")
    parser.add_argument("words", nargs="*", help="only cases whose names contain one of these words")
    parser.add_argument("--store", action="store_true", help="write what was found into the table")
    options = parser.parse_args()
    table: dict[str, Outcome] = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    moved = run = 0
    warnings.simplefilter("ignore")
    for name, ending in cases():
        if options.words and not any(word in name for word in options.words):
            continue
        found = ending()
        lines = differences(table[name], found) if name in table else ["not in the table"]
        run, moved = run + 1, moved + bool(lines)
        for line in lines:
            print(f"{name}: {line}", flush=True)
        table[name] = found
    print(f"{run} outcomes, {moved} moved")
    if options.store:
        TABLE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return int(moved > 0)


if __name__ == "__main__":
    raise SystemExit(main())
