"""Walking at other speeds, steps, slopes, loads and sizes: a table of what is solved, and how.

    python benchmarks/walking_table.py [--tolerance 1e-3] [--realism] > walking.md

With --realism each step is compared with measured walking (1.25 m/s), as `kinetree validate gait` does.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from kinetree.walking import Walk, walk

SPEEDS = [
    (0.8, 0.4), (0.8, 0.5), (0.8, 0.6), (1.0, 0.5), (1.0, 0.6), (1.0, 0.7), (1.2, 0.5), (1.2, 0.6),
    (1.2, 0.7), (1.2, 0.8), (1.4, 0.6), (1.4, 0.7), (1.6, 0.7), (1.6, 0.8),
]  # fmt: skip
REALISM = ["r hip, knee, ankle (ankle's range)", "r vertical, fore-aft", "stance knee (degrees)"]
STANCE = slice(8, 30)  # percent of the cycle in which the knee of the leading leg yields
OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("slope +5 degrees", {"slope": 5.0}),
    ("slope -5 degrees", {"slope": -5.0}),
    ("backpack 20 kg", {"backpack": 20.0}),
    ("5 kg in each hand", {"hand": 5.0}),
    ("female 1.50 m, 48 kg", {"sex": "female", "height": 1.50, "mass": 48.0}),
    ("female 1.63 m, 60 kg", {"sex": "female", "height": 1.63, "mass": 60.0}),
    ("male 1.60 m, 55 kg", {"height": 1.60, "mass": 55.0}),
    ("male 1.95 m, 105 kg", {"height": 1.95, "mass": 105.0}),
]


def tasks() -> list[tuple[str, dict[str, Any]]]:
    """What is walked, in words and settings."""
    return [(f"{v} m/s, {step} m", {"speed": v, "step": step}) for v, step in SPEEDS] + OTHERS


def row(name: str, found: Walk, seconds: float, scores: bool) -> str:
    """One line of the table."""
    force = found.ground.force[:, 0, 2] / found.walker.weight
    failed = [key for key, check in found.checks.items() if not check.passed]
    status = found.prediction.outcome.status.name.lower()
    moments = {
        joint: max(float(np.abs(found.step.torque(f"{side}_{joint}")).max()) for side in ("left", "right"))
        / found.task.mass
        for joint in ("hip.flexion", "knee", "ankle.flexion")
    }
    cells = [
        name, status, str(found.prediction.iterations), f"{seconds:.2f}", f"{found.prediction.objective:.3f}",
        f"{force.max():.2f}", *(f"{x:.2f}" for x in moments.values()), ", ".join(failed) or "none",
    ]  # fmt: skip
    if scores:
        cells.append(stated(found))
    return "| " + " | ".join(cells) + " |"


def stated(found: Walk) -> str:
    """Correlations of angles (and the ankle's range) and forces with measured ones, the stance knee."""
    from kinetree.gait_analysis import gait_cycle, gait_score

    cycle = gait_cycle(found.to_result())
    score = gait_score(cycle, "arnold5")
    angles = " ".join(f"{score[key].r:.2f}" for key in ("hip_flexion", "knee_flexion", "ankle_flexion"))
    forces = " ".join(f"{score[key].r:.2f}" for key in ("force_vertical", "force_foreaft"))
    knee = float(cycle["knee_flexion"][STANCE].max())
    return f"{angles} ({score['ankle_flexion'].range_ratio:.2f}) | {forces} | {knee:.0f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--realism", action="store_true")
    given = parser.parse_args()
    heads = ["task", "status", "iterations", "s", "objective", "largest vertical force (BW)", "hip N m/kg"]
    heads += ["knee", "ankle", "checks that fail"] + (REALISM if given.realism else [])
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads))
    for name, settings in tasks():
        begun = time.process_time()
        found = walk(tolerance=given.tolerance, progress=False, **settings)
        print(row(name, found, time.process_time() - begun, given.realism), flush=True)


if __name__ == "__main__":
    main()
