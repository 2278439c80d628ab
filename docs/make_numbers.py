"""Recompute the numbers of the documents that ours contradict: `python docs/make_numbers.py`.

Every function below answers for one of the statements of `figures.md`. What is found goes to
`assets/numbers.json`, and as a table into `figures.md` between its two marks; `--only NAME` renews some.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import SimulationError
from kinetree.study.run import run

DOCS = Path(__file__).parent
FILE, PAGE = DOCS / "assets" / "numbers.json", DOCS / "figures.md"
BEGIN, END = "<!-- numbers -->", "<!-- end of numbers -->"
FREE = {"tilt": False, "height": False, "depth": False}  # robots that are meant to be lost
Row = tuple[str, str, str, float]  # place in the document, what, what is printed, what is computed here


def touch_down(damping: dict[str, Any] | None = None, duration: float = 1.0) -> list[Row]:
    """[Shah2013], Fig. 7.6: forces of the planar biped's second foot after it meets the ground."""
    found = run("planar_biped_walk", study={"duration": duration}, output={"samples": 20001})
    t = found.time.values
    foot = found.contact_force.sel(contact=["heel2", "toe2"]).sum("contact")
    up, along = foot.sel(axis="y").values, foot.sel(axis="x").values
    touch = next(x.time for x in found.events if x.kind == "touch_down" and x.name in ("heel2", "toe2"))
    at = {ms: int(np.searchsorted(t, touch + 1e-3 * ms)) for ms in (2, 10, 15, 30)}
    after = t > touch
    coarse = slice(None, None, 200)  # 10 ms, from t = 0
    phases = [up[int(np.searchsorted(t, touch + 1e-4 * k))] for k in range(1, 101)]
    place = "[Shah2013], Fig. 7.6"
    rows: list[Row] = [
        (place, "swinging foot meets the ground, s", "0.83", touch),
        (place, "largest vertical force, N", "100", up[after].max()),
        (place, "largest horizontal force, N", "-50", along[after].min()),
    ]
    for ms, k in at.items():
        rows += [(place, f"vertical force {ms} ms later, N", "", up[k])]
        rows += [(place, f"horizontal force {ms} ms later, N", "", along[k])]
    rows += [
        (place, "vertical, sampled every 10 ms from t = 0, N", "100", up[coarse].max()),
        (place, "horizontal, sampled so, N", "-50", along[coarse][t[coarse] > touch].min()),
        (place, "smallest first sample of any such sampling, vertical, N", "100", min(phases)),
        (place, "weight, N", "", 9.81 * found.mechanism.mass),
        (place, "vertical force is 100 N so long after, ms", "", 1e3 * _falls_to(t, up, touch, 100.0)),
        (place, "horizontal force is -50 N so long after, ms", "", 1e3 * _falls_to(t, -along, touch, 50.0)),
    ]
    return rows


def _falls_to(t: Any, force: Any, touch: float, level: float) -> float:
    """How long after the touch (s) a force has come down to a level."""
    first = int(np.searchsorted(t, touch + 1e-4))
    return float(t[first + int(np.argmax(force[first:] < level))] - touch)


def soft_ground() -> list[Row]:
    """The same with a tenth of the damping: smaller peaks, but the robot falls."""
    soft = {"overdamping": 1.0}
    step = run("planar_biped_walk", study={"duration": 1.0}, ground=soft, output={"samples": 5001})
    foot = step.contact_force.sel(contact=["heel2", "toe2"], axis="y").sum("contact").values
    try:
        walk = run("planar_biped_walk", ground=soft, verdicts=FREE, control={"tolerance": 1e3})
    except SimulationError as error:
        assert error.result is not None
        walk = error.result
    height = walk.q.sel(joint="base.ty").values
    lost = (
        walk.time.values[int(np.argmax(height < 0.5 * height[0]))]
        if height.min() < 0.5 * height[0]
        else np.inf
    )
    return [
        ("[Shah2013], Fig. 7.6", "peak with a tenth of the damping, N", "100", foot.max()),
        ("[Shah2013], Fig. 7.6", "the robot with such a damper has sunk to half its height at, s", "", lost),
    ]


def travel() -> list[Row]:
    """[Shah2013], 7.2 to 7.4: how far the robots come in each step, and when feet meet the ground."""
    rows: list[Row] = []
    for name, place, step, printed, touch in (
        ("planar_biped_walk", "7.2.1", 1.0, "0.3", "0.83"),
        ("quadruped_trot", "7.3", 1.0, "0.3", "0.8"),
        ("hexapod_tripod", "7.4", 0.5, "", "0.45"),
    ):
        found = run(name, output={"samples": 2001})
        t, x = found.time.values, found.q.sel(joint="base.tx").values
        steps = round(float(t[-1]) / step)
        for k in range(steps):
            moved = float(np.interp((k + 1) * step, t, x) - np.interp(k * step, t, x))
            rows.append((f"[Shah2013], {place}", f"{name}: travel in step {k + 1}, m", printed, abs(moved)))
        first = min(e.time for e in found.events if e.kind == "touch_down" and e.time > 0.2 * step)
        rows.append((f"[Shah2013], {place}", f"{name}: first foot meets the ground, s", touch, first))
        low = found.q.sel(joint=_up(found)).values
        rows.append(
            (f"[Shah2013], {place}", f"{name}: trunk sinks by up to, m", "", float(low[0] - low.min()))
        )
    return rows


def _up(found: Any) -> str:
    """The coordinate along which the trunk is up: gravity tells."""
    return "base.t" + "xyz"[int(np.argmax(np.abs(found.mechanism.gravity)))]


def laws() -> list[Row]:
    """[Shah2013], 9.2.1, 9.2.2, 9.3, 9.5: which law follows better, and under which errors."""
    rows: list[Row] = []
    seeds = [{"model_error": {"mass": 0.05, "inertia": 0.0, "center": 0.0, "seed": k}} for k in (1, 2, 3)]
    cases: dict[str, list[dict[str, Any]]] = {
        "exact model": [{}],
        "masses wrong by up to 5 %, worst of three draws": seeds,
        "torques held for 2 ms": [{"period": 0.002}],
        "torques held for 10 ms": [{"period": 0.010}],
    }
    for robot, place, gains in (
        ("planar_biped", "9.2.1", ({"kp": 49, "kd": 14}, {"kp": 49, "kd": 7})),
        ("spatial_biped", "9.2.2", ({"kp": 200, "kd": 40},) * 2),
        ("quadruped", "9.3", ({"kp": 49, "kd": 14},) * 2),
    ):
        walk = {"quadruped": "quadruped_trot"}.get(robot, f"{robot}_walk")
        for what, errors in cases.items():
            for kind, own in zip(("computed_torque", "feedforward"), gains, strict=True):
                off = max(_tracking(walk, {"kind": kind, **own, **wrong}) for wrong in errors)
                words = kind.replace("_", " ")
                rows.append(
                    (f"[Shah2013], {place}", f"{robot}, 0.8 s, {what}: error of {words}, rad", "", off)
                )
        law = {"kind": "computed_torque", **gains[0], "knows_ground": False}
        what = f"{robot}, 0.8 s, ground unknown to the model: error of computed torque, rad"
        rows.append((f"[Shah2013], {place}", what, "", _tracking(walk, law)))
    return rows


def _tracking(walk: str, law: dict[str, Any]) -> float:
    """The largest error of a driven joint (rad) in 0.8 s; infinite once it is half a turn or more."""
    off = 0.0
    for duration in (0.05, 0.1, 0.2, 0.4, 0.8):  # what is lost at once need not be followed to the end
        off = _largest_error(walk, law, duration)
        if not off < np.pi:
            return np.inf
    return off


def _largest_error(walk: str, law: dict[str, Any], duration: float) -> float:
    given: dict[str, Any] = {"study": {"duration": duration}, "control": {"tolerance": 1e9}, "verdicts": FREE}
    try:
        found = run(walk, output={"samples": 301}, controller=law, **given)
    except SimulationError as error:
        if error.result is None:
            return np.inf
        found = error.result
    driven = np.asarray(found.mechanism.actuated)
    off = float(np.nanmax(np.abs(found.q.values - found.q_reference.values)[:, driven]))
    return off if found.complete else np.inf


def drift() -> list[Row]:
    """[Shah2013], 9.2.1: errors of feedforward in each step of the planar biped."""
    law = {"kind": "feedforward", "kp": 49, "kd": 7}
    found = run("planar_biped_walk", controller=law, control={"tolerance": 1e3}, verdicts=FREE)
    t, driven = found.time.values, np.asarray(found.mechanism.actuated)
    off = np.abs(found.q.values - found.q_reference.values)
    lean = np.degrees(np.abs(found.q.sel(joint="base.rz").values - found.q.sel(joint="base.rz").values[0]))
    rows: list[Row] = []
    for k in range(4):
        now = (t >= k) & (t <= k + 1)
        rows.append(("[Shah2013], 9.2.1", f"feedforward, step {k + 1}: largest error of a joint, rad", "",
                     float(off[now][:, driven].max())))  # fmt: skip
        rows.append(("[Shah2013], 9.2.1", f"feedforward, step {k + 1}: trunk leans by up to, deg", "",
                     float(lean[now].max())))  # fmt: skip
    return rows


def spatial_torques() -> list[Row]:
    """[Shah2013], 7.2.2: torques of the spatial biped beside those of the planar one."""
    spatial = run("spatial_biped_walk", output={"samples": 401})
    planar = run("planar_biped_walk", study={"duration": 1.0}, output={"samples": 201})
    t, tau = spatial.time.values, np.abs(spatial.tau.values).max(axis=1)
    fine = run("spatial_biped_walk", study={"duration": 0.5}, output={"samples": 5001})
    place = "[Shah2013], 7.2.2"
    return [
        (place, "spatial biped, first step, every 5 ms: largest torque, N m", "120", tau[t <= 0.5].max()),
        (place, "spatial biped, four steps, every 5 ms: largest torque, N m", "120", tau.max()),
        (place, "spatial biped, first step, every 0.1 ms: largest torque, N m", "", _largest(fine)),
        (place, "planar biped, first step, every 5 ms: largest torque, N m", "", _largest(planar)),
    ]


def _largest(found: Any) -> float:
    return float(np.abs(found.tau.values).max())


def hexapod() -> list[Row]:
    """[Shah2013], 7.4 and 9.4: when the hexapod under torques alone is lost."""
    alone = {"kind": "feedforward", "kp": 0, "kd": 0}
    given: dict[str, Any] = {"controller": alone, "control": {"tolerance": 1e9}, "verdicts": FREE}
    found = run("hexapod_tripod", study={"duration": 1.0}, output={"samples": 1001}, **given)
    driven = np.asarray(found.mechanism.actuated)
    off = np.abs(found.q.values - found.q_reference.values)[:, driven].max(axis=1)
    t = found.time.values
    rows: list[Row] = []
    for level in (0.01, 0.05, 0.2):
        when = float(t[int(np.nanargmax(off > level))]) if np.nanmax(off) > level else np.inf
        rows.append(
            ("[Shah2013], 7.4, 9.4", f"hexapod, torques alone: off by {level:g} rad at, s", "0.5; 0.9", when)
        )
    return rows


def joint_forces() -> list[Row]:
    """[Barman2020], Fig. 4.3: the force in joint 1 beside that in joint 2."""
    found = run("two_link_minimum_time", output={"samples": 4001})
    t, (first, second) = found.time.values, found.joint_force.values.T
    below = first < second
    edges = t[1:][np.diff(below.astype(int)) != 0]
    peaks = [x for x in range(1, len(t) - 1) if first[x - 1] < first[x] >= first[x + 1] and first[x] > 15.0]
    others = [
        x for x in range(1, len(t) - 1) if second[x - 1] < second[x] >= second[x + 1] and second[x] > 15.0
    ]
    place = "[Barman2020], Fig. 4.3"
    rows: list[Row] = [
        (place, "share of the motion with less force in joint 1 than in joint 2", "0", below.mean())
    ]
    rows += [(place, f"order changes, time {k + 1}, s", "", x) for k, x in enumerate(edges)]
    rows += [(place, f"peak {k + 1} in joint 1, N", "", first[x]) for k, x in enumerate(peaks[:2])]
    rows += [(place, f"peak {k + 1} in joint 2, N", "", second[x]) for k, x in enumerate(others[:2])]
    return rows


def sliding_arm() -> list[Row]:
    """[Barman2020], 4.2: its duration under both readings of Table 4.3."""
    rows: list[Row] = []
    for words, theta in (("counted as in the table", 0.0), ("counted from the sliding direction", np.pi / 2)):
        found = run("prismatic_arm", mechanism={"parameters": {"theta2": theta}})
        rows.append(("[Barman2020], 4.2", f"q2 {words}: T, s", "0.5585", float(found.time.values[-1])))
    return rows


def cpu_times() -> list[Row]:
    """Computing times, in seconds of processor time of a warm program: the best of five."""
    rows: list[Row] = []
    for name, place, printed in (
        ("two_link_minimum_time", "[Xiang2009], 6.3", "1.07"),
        ("two_link_lifting", "[Xiang2009], 6.4", "2.44"),
        ("gripper_inverse_dynamics", "[Shah2013], 6.2.1", "0.025; ADAMS 1.95"),
        ("gripper_free_fall", "[Shah2013], 6.2.1", "0.29; ADAMS 39"),
    ):
        best = np.inf
        for _ in range(6):
            began = time.process_time()
            found = run(name)
            best = min(best, time.process_time() - began)
        assert found.passed
        rows.append((place, f"{name}: study from file to result, s", printed, best))
    return rows


STATEMENTS: dict[str, Callable[[], list[Row]]] = {
    x.__name__: x
    for x in (
        touch_down, soft_ground, travel, laws, drift, spatial_torques, hexapod, joint_forces, sliding_arm,
        cpu_times,
    )
}  # fmt: skip


def table(numbers: dict[str, list[list[Any]]]) -> str:
    """The numbers as rows of the page."""
    lines = ["| place | quantity | printed | here |", "|---|---|---|---|"]
    for name in STATEMENTS:
        lines += [
            f"| {place} | {what} | {said} | {shown(value)} |" for place, what, said, value in numbers[name]
        ]
    return "\n".join(lines)


def shown(value: float) -> str:
    """A number with three digits; infinite is lost, none is never."""
    if not np.isfinite(value):
        return "never" if np.isnan(value) else "lost"
    if abs(value) < 1e-6:
        return "0"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:#.3g}".rstrip(".")


def main() -> None:
    """Renew the numbers and the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=tuple(STATEMENTS), default=None)
    options = parser.parse_args()
    numbers = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    for name, answer in STATEMENTS.items():
        if options.only is None or name in options.only:
            began = time.process_time()
            numbers[name] = [[*row[:3], round(float(row[3]), 9)] for row in answer()]
            print(f"{name}: {time.process_time() - began:.1f} s", flush=True)
            for row in numbers[name]:
                print("   ", *row, flush=True)
            FILE.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    if set(numbers) == set(STATEMENTS):
        text = PAGE.read_text(encoding="utf-8")
        before, after = text.split(BEGIN)[0], text.split(END)[1]
        PAGE.write_text(f"{before}{BEGIN}\n{table(numbers)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
