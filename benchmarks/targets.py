"""Targets of targets.toml beside the figures of a run."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any

from benchmarks.reach import rollout_seconds

FILE = Path(__file__).with_name("targets.toml")
DEFAULTS = {"by": "kinetree", "than": "pinocchio", "batch": 1024}


@dataclass(frozen=True)
class Verdict:
    """A target in words, the figure that was measured (None: not in this run) and whether it is reached."""

    what: str
    value: float | None
    unit: str
    goal: str
    reached: bool | None


class Results:
    """Figures of a run, by what they are figures of."""

    def __init__(self, results: dict[str, Any]) -> None:
        self.results = results

    def find(self, section: str, figure: str, **key: Any) -> float | None:
        """The figure of the first row of a section with these values."""
        for row in self.results.get(section, ()):
            if all(row[name] == value for name, value in key.items()):
                return None if row[figure] is None else float(row[figure])
        return None

    def simulation_time(self, case: str, contestant: str) -> float | None:
        """Milliseconds of a contestant's best method to the error at which simulations are compared."""
        times = [
            row["milliseconds"]
            for row in self.results.get("simulation_times", ())
            if (row["case"], row["contestant"]) == (case, contestant) and row["milliseconds"] is not None
        ]
        return min(times) if times else None

    def time(self, model: str, quantity: str, batch: int | None, contestant: str) -> float | None:
        """Nanoseconds per state in the best window."""
        return self.find(
            "timings", "best", model=model, quantity=quantity, batch=batch, contestant=contestant
        )


def verdicts(results: dict[str, Any]) -> list[Verdict]:
    """Every target with its figure."""
    targets = tomllib.loads(FILE.read_text(encoding="utf-8"))["target"]
    figures = Results(results)
    return [_verdict({**DEFAULTS, **target}, figures) for target in targets]


def _verdict(target: dict[str, Any], figures: Results) -> Verdict:
    value, what, unit = MEASURES[target["kind"]](target, figures)
    if "least" in target:
        reached, goal = value is not None and value >= target["least"], f"at least {target['least']:g}"
    else:
        reached, goal = value is not None and value <= target["most"], f"at most {target['most']:g}"
    return Verdict(what, value, unit, goal, None if value is None else reached)


def _pair(target: dict[str, Any], figures: Results) -> tuple[float | None, float | None, str]:
    """Times of both contestants, and who they are."""
    batch = None if target["batch"] == "one call" else target["batch"]
    ours, theirs = (
        figures.time(target["model"], target["quantity"], batch, target[side]) for side in ("by", "than")
    )
    size = "one call" if batch is None else f"batch {batch}"
    return ours, theirs, f"{target['quantity']}, {target['model']}, {size}: {target['by']}"


def _times_faster(target: dict[str, Any], figures: Results) -> tuple[float | None, str, str]:
    ours, theirs, what = _pair(target, figures)
    value = theirs / ours if ours and theirs else None
    return value, f"{what}, times faster than {target['than']}", "x"


def _time_ratio(target: dict[str, Any], figures: Results) -> tuple[float | None, str, str]:
    ours, theirs, what = _pair(target, figures)
    return ours / theirs if ours and theirs else None, f"{what}, time beside {target['than']}", "x"


def _quantity_ratio(target: dict[str, Any], figures: Results) -> tuple[float | None, str, str]:
    ours, _, what = _pair(target, figures)
    other = figures.time(target["model"], target["over"], target["batch"], target["by"])
    return ours / other if ours and other else None, f"{what}, time beside {target['over']}", "x"


def _time(target: dict[str, Any], figures: Results) -> tuple[float | None, str, str]:
    ours, _, what = _pair(target, figures)
    return ours / 1e3 if ours else None, f"{what}, time per state", "us"


def _share(target: dict[str, Any], figures: Results) -> tuple[float | None, str, str]:
    key = {name: target[name] for name in ("model", "quantity")}
    what = f"{target['quantity']}, {target['model']}: share of the peak"
    return figures.find("kernels", "share_of_peak", **key), what, ""


def _exponent(target: dict[str, Any], figures: Results) -> tuple[float | None, str, str]:
    key = {"shape": "chain", "quantity": target["quantity"], "contestant": target["by"]}
    what = f"{target['quantity']}, chains: growth exponent of {target['by']}"
    return figures.find("exponents", "exponent", **key), what, ""


def _speed_up(target: dict[str, Any], figures: Results) -> tuple[float | None, str, str]:
    key = {name: target[name] for name in ("model", "quantity")}
    what = f"{target['quantity']}, {target['model']}: two threads"
    return figures.find("threads", "speed_up", **key), what, "x"


def _startup(target: dict[str, Any], figures: Results) -> tuple[float | None, str, str]:
    step = target["step"]
    name = "import" if step == "import" else f"first call from the cache ({step})"
    return figures.results["startup"]["warm"].get(step), f"new process: {name}", "s"


def _simulation_faster(target: dict[str, Any], figures: Results) -> tuple[float | None, str, str]:
    ours, theirs = (figures.simulation_time(target["case"], target[side]) for side in ("by", "than"))
    what = f"simulation, {target['case']}, error 1e-6: {target['by']}, times faster than {target['than']}"
    return theirs / ours if ours and theirs else None, what, "x"


def _starts_time(target: dict[str, Any], figures: Results) -> tuple[float | None, str, str]:
    """The worst start of the quadruped, each with its best method."""
    best: dict[str, float] = {}
    for row in figures.results.get("quadruped_starts", ()):
        time = float("inf") if row["milliseconds"] is None else row["milliseconds"]
        best[row["case"]] = min(time, best.get(row["case"], float("inf")))
    what = f"simulation, quadruped from the worst of seven starts, error 1e-6: {target['by']}, time"
    return max(best.values(), default=None), what, "ms"


def _simulation_time(target: dict[str, Any], figures: Results) -> tuple[float | None, str, str]:
    what = f"simulation, {target['case']}, error 1e-6: {target['by']}, time"
    return figures.simulation_time(target["case"], target["by"]), what, "ms"


def _rollout_time(target: dict[str, Any], figures: Results) -> tuple[float | None, str, str]:
    rows = [row for row in figures.results.get("rollouts", ()) if row["count"] == target["count"]]
    value = rollout_seconds(rows, target["by"], target["error"])
    return value, f"{target['count']} rollouts, {target['error']} error 1e-4: {target['by']}, one thread", "s"


def _prediction_time(target: dict[str, Any], figures: Results) -> tuple[float | None, str, str]:
    seconds = figures.find("predictions", "total", case=target["case"])
    value = None if seconds is None else 1e3 * seconds
    return value, f"prediction, {target['case']}: kinetree, from statement to verified motion", "ms"


def _loop_row(target: dict[str, Any], figures: Results, figure: str) -> tuple[float | None, str]:
    batch = None if target["batch"] == "one call" else target["batch"]
    key = {"mechanism": target["mechanism"], "quantity": target["quantity"], "contestant": target["by"]}
    size = "one call" if batch is None else f"batch {batch}"
    what = f"closed loops, {target['quantity']}, {target['mechanism']}, {size}: {target['by']}"
    return figures.find("loop_timings", figure, batch=batch, **key), what


def _loop_time(target: dict[str, Any], figures: Results) -> tuple[float | None, str, str]:
    value, what = _loop_row(target, figures, "best")
    return None if value is None else 1e-3 * value, f"{what}, time per state", "us"


def _loop_error(target: dict[str, Any], figures: Results) -> tuple[float | None, str, str]:
    value, what = _loop_row(target, figures, "error")
    return value, f"{what}, error", ""


def _loop_motion(target: dict[str, Any], figures: Results) -> tuple[float | None, str, str]:
    """The best method of a contestant."""
    times = [
        row["milliseconds"]
        for row in figures.results.get("loop_times", ())
        if (row["case"], row["contestant"], row["wanted"]) == (target["case"], target["by"], target["wanted"])
        and row["milliseconds"] is not None
    ]
    what = f"closed loops, {target['case']}, error {target['wanted']:.0e}: {target['by']}, time"
    return min(times, default=None), what, "ms"


def _loop_growth(target: dict[str, Any], figures: Results) -> tuple[float | None, str, str]:
    """From the smallest to the largest size."""
    rows = [row for row in figures.results.get("loop_growth", ()) if row["shape"] == target["shape"]]
    what = f"closed loops, {target['shape']}: growth exponent of {target['by']}"
    if len(rows) < 2:
        return None, what, ""
    first, last = rows[0], rows[-1]
    return log(last["best"] / first["best"]) / log(last["size"] / first["size"]), what, ""


MEASURES = {
    "times_faster": _times_faster,
    "time_ratio": _time_ratio,
    "quantity_ratio": _quantity_ratio,
    "time": _time,
    "share": _share,
    "exponent": _exponent,
    "speed_up": _speed_up,
    "startup": _startup,
    "simulation_faster": _simulation_faster,
    "simulation_time": _simulation_time,
    "starts_time": _starts_time,
    "rollout_time": _rollout_time,
    "prediction_time": _prediction_time,
    "loop_time": _loop_time,
    "loop_error": _loop_error,
    "loop_motion": _loop_motion,
    "loop_growth": _loop_growth,
}
