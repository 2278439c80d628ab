"""``python -m benchmarks``: measure, print, save."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console

from benchmarks import measure
from benchmarks.code import batches, calls_in_c
from benchmarks.findings import write_site
from benchmarks.hybrid import hybrid
from benchmarks.loops import loops
from benchmarks.machine import description, fused_peak, thread_gain, write_peak
from benchmarks.plan import PLANS, Plan
from benchmarks.prediction import predictions_apart
from benchmarks.report import print_report
from benchmarks.simulation import simulations
from benchmarks.startup import startup
from benchmarks.terminal import WIDEST
from kinetree.engine.buffers import keep

KEPT = 256e6  # bytes of earlier answers that serve again, as peers keep theirs


def main(arguments: list[str] | None = None) -> int:
    """Run a plan, or show a run that was saved."""
    options = _options(arguments)
    messages, console = Console(stderr=True), Console()
    if not console.is_terminal:
        console = Console(width=WIDEST)
    if options.saved is not None:
        results = json.loads(options.saved.read_text(encoding="utf-8"))
    else:
        start = perf_counter()
        keep(KEPT)
        results = run(
            PLANS[options.plan],
            lambda text: messages.print(f"{perf_counter() - start:5.0f} s  {text}", highlight=False),
        )
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if options.site is not None:
        write_site(results, options.site)
    print_report(results, console)
    return 0


def run(plan: Plan, say: measure.Say) -> dict[str, Any]:
    """All measurements of a plan as one JSON object."""
    start = perf_counter()
    peak = fused_peak()
    rows, agreement, left_out = measure.timings(plan, say)
    growth = measure.growth(plan, say)
    threads = measure.threads(plan, say)
    extremes = measure.extremes(plan, say)
    partly = hybrid(plan.hybrid, plan.hybrid_states, plan.seconds, say)
    made = batches(plan.code, plan.code_states, plan.seconds, say)
    in_c = calls_in_c(plan.code_in_c, plan.seconds, say)
    simulated = simulations(plan, say)
    predicted = predictions_apart(plan.predictions, plan.prediction_rounds, plan.prediction_starts, KEPT, say)
    looped = loops(plan, say)
    say("new processes")
    started = startup(plan.starts, plan.cold)
    peak = max(peak, fused_peak())
    return {
        "plan": plan.name,
        "machine": description(),
        "peak_gflops": peak,
        "thread_gain": thread_gain(),
        "write_gb_per_s": write_peak(),
        "left_out": left_out,
        "agreement": agreement,
        "timings": rows,
        "kernels": measure.kernels(plan, rows, peak),
        "growth": growth,
        "exponents": measure.exponents(growth),
        "threads": threads,
        "extremes": extremes,
        "hybrid": partly,
        "code": made,
        "code_in_c": in_c,
        **simulated,
        **predicted,
        **looped,
        "startup": started,
        "seconds": perf_counter() - start,
    }


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    plans = parser.add_mutually_exclusive_group()
    for name, what in (("quick", "the essential, in about 20 s"), ("smoke", "only to see that it runs")):
        plans.add_argument(f"--{name}", dest="plan", action="store_const", const=name, help=what)
    plans.add_argument("only", nargs="?", choices=["loops"], help="only mechanisms with closed loops")
    plans.add_argument("--from", dest="saved", type=Path, metavar="FILE.json", help="show a saved run")
    parser.add_argument("--json", type=Path, metavar="FILE.json", help="save the figures")
    parser.add_argument(
        "--site",
        type=Path,
        metavar="FOLDER",
        help="write page, pictures and raw tables for the documentation",
    )
    parser.set_defaults(plan="full")
    options = parser.parse_args(arguments)
    options.plan = options.only or options.plan
    return options


if __name__ == "__main__":
    raise SystemExit(main())
