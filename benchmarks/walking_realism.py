"""Is the least objective the human gait? Discretisations and random starts, compared with measured walking.

    python benchmarks/walking_realism.py --starts 4 --data arnold5 > realism.md

For each number of control points and nodes the step is searched from q = 0 and from random motions (0.1 rad
at every control point); the row shows the solved run with the least objective, how many runs reach all bars
of `kinetree validate gait`, and the least objective of a run that misses one.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from kinetree.gait_analysis import gait_cycle, gait_score
from kinetree.walking import Walk, Walking, walk, walker

NODES = {44: (16, 4, 12, 12), 54: (16, 6, 16, 16)}  # besides eight instants of corners
POINTS = (14, 16, 18)
SPREAD = 0.1  # rad
MOST = 200  # iterations
CURVES = ("hip_flexion", "knee_flexion", "ankle_flexion")
HEADS = (
    "points / instants", "least objective", "hip r (range)", "knee", "ankle", "vertical / fore-aft r",
    "peaks (BW)", "moments r hip, knee, ankle", "misses", "runs that reach all",
    "least objective that misses",    "solved, iterations (median)", "CPU s (median)",
)  # fmt: skip


def runs(task: Walking, starts: int, seed: int) -> list[tuple[Walk, float]]:
    """The solved runs of one discretization, with their CPU time."""
    n, rng, found = walker(task).mechanism.n_dof, np.random.default_rng(seed), []
    times = np.linspace(0.0, task.duration, task.points + 1)
    for k in range(starts):
        noise = SPREAD * rng.standard_normal((len(times), n)) if k else np.zeros((len(times), n))
        begun = time.process_time()
        step = walk(task, start=(times, noise), progress=False, solver="interior", max_iterations=MOST)
        if step.solved:
            found.append((step, time.process_time() - begun))
    return found


def line(points: int, nodes: int, starts: int, seed: int, data: str, settings: dict[str, Any]) -> str:
    """One row of the table."""
    found = runs(Walking(points=points, nodes=NODES[nodes], **settings), starts, seed)
    scored = sorted(
        ((step.prediction.objective, gait_score(gait_cycle(step.to_result()), data)) for step, _ in found),
        key=lambda pair: pair[0],
    )
    least, score = scored[0]
    missing = [f for f, other in scored if other.missed]
    iterations = [step.prediction.iterations for step, _ in found]
    cells = [
        f"{points} / {nodes}",
        f"{least:.3f}",
        *(f"{score[x].r:.2f} ({score[x].range_ratio:.2f})" for x in CURVES),
        f"{score['force_vertical'].r:.2f} / {score['force_foreaft'].r:.2f}",
        " ".join(f"{height:.2f}" for _, height in score.peaks),
        " ".join(f"{score[x].r:.2f}" for x in ("hip_moment", "knee_moment", "ankle_moment")),
        ", ".join(score.missed) or "none",
        f"{len(scored) - len(missing)} of {len(scored)}",
        f"{missing[0]:.3f}" if missing else "-",
        f"{len(found)} of {starts}, {np.median(iterations):.0f} ({min(iterations)}-{max(iterations)})",
        f"{np.median([seconds for _, seconds in found]):.2f}",
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", default="arnold5")
    parser.add_argument("--points", type=int, nargs="*", default=POINTS)
    given = parser.parse_args()
    print("| " + " | ".join(HEADS) + " |\n|" + "---|" * len(HEADS))
    for points in given.points:
        for nodes in NODES:
            print(line(points, nodes, given.starts, given.seed, given.data, {}), flush=True)


if __name__ == "__main__":
    main()
