"""Figures of a person who walks or lifts, of the IFToMM problems and of Jansen's walker."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from gallery_panels import Page, Panel, largest, over_time

import kinetree as kt

LEG = ("hip.flexion", "knee", "ankle.flexion")


def person(result: kt.Result) -> Page:
    """Angles and torques of both legs, and the ground's push on each foot."""
    panels = []
    for what, x in (("angles", "q"), ("torques", "tau")):
        for side in ("right", "left"):
            names = [f"{side}_{name}" for name in LEG]
            panels.append(over_time(result, f"{side} leg, {what}", x, names, ("hip", "knee", "ankle")))
    weight = result.mechanism.mass * 9.81
    t, force = result.time.values, result["ground_reaction"].values / weight
    lines = [(f"{foot}, {axis}", t, force[:, k, n]) for k, foot in enumerate(("right", "left"))
             for n, axis in ((2, "up"), (0, "forward"))]  # fmt: skip
    panels.append(Panel("ground reaction", "body weights", lines))
    rows = [
        ("largest vertical force", f"{largest(force[:, 0, 2]):.2f} body weights", ""),
        (
            "largest knee angle",
            f"{np.degrees(largest(result.q.sel(joint='left_knee').values)):.0f}°",
            "60 ± 5°",
        ),
    ]
    return Page(panels, result.q.values[len(result.time) // 3], rows)


STOOPS = {
    "right_hip.flexion": "hip", "right_knee": "knee", "right_ankle.flexion": "ankle",
    "lumbar.flexion": "lumbar", "right_elbow.flexion": "elbow",
}  # fmt: skip
TWISTS = {
    "right_hip.flexion": "right hip", "left_hip.flexion": "left hip", "lumbar.bending": "lumbar, sideways",
    "lumbar.rotation": "lumbar, rotation", "chest.rotation": "chest, rotation",
}  # fmt: skip


def twisting(result: kt.Result) -> Page:
    """The same as of a lift in front, with what bends sideways and rotates."""
    return lifter(result, TWISTS)


def lifter(result: kt.Result, shown: dict[str, str] = STOOPS) -> Page:
    """Angles and torques of leg, back and arm, net forces in back and knees, the ground's push."""
    names, labels = tuple(shown), tuple(shown.values())
    panels = [over_time(result, what, x, names, labels) for what, x in (("angles", "q"), ("torques", "tau"))]
    t, force = result.time.values, result["lifting_force"].values
    joints = [str(x) for x in result["lifting_joint"].values]
    lines = [(name.replace("_", " "), t, force[:, k]) for k, name in enumerate(joints)]
    panels.append(Panel("net forces in the joints", "N", lines))
    ground = result["ground_reaction"].values[:, :, 2]
    pushes = [(foot, t, ground[:, k]) for k, foot in enumerate(("right", "left"))]
    panels.append(Panel("ground reaction, up", "N", pushes))
    rows = [
        ("duration", f"{t[-1]:.2f} s", ""),
        ("largest force in the back", f"{force[:, 0].max():.0f} N", ""),
    ]
    return Page(panels, result.q.values[len(result.time) // 12], rows)


def gait(result: kt.Result) -> Page:
    """Trunk, joints and torques of a predicted gait or jump."""
    names = result.mechanism.joint_names
    legs = [name for name in names if name.startswith(("hip1", "knee1", "ankle1"))]
    legs = legs or [name for name in names if name in ("hip", "knee")]
    root = [name for name in names if name.startswith("base.t")]
    panels = [
        over_time(result, "trunk", "q", root, [name[5:] for name in root]),
        over_time(result, "first leg, angles", "q", legs, legs),
        over_time(result, "first leg, torques", "tau", legs, legs),
    ]
    return Page(panels, result.q.values[len(result.time) // 3], [])


def benchmark(result: kt.Result) -> Page:
    """Errors and computing times of the five problems."""
    names = result["problem"].values.tolist()
    number = np.arange(1, len(names) + 1, dtype=float)
    errors, seconds = result["benchmark_error"].values, result["computing_time"].values
    panels = [
        Panel(
            "error at the end", "rad or m", [("", number, errors)], logarithmic=True, across="problem A0..."
        ),
        Panel("computing time", "s", [("", number, seconds)], logarithmic=True, across="problem A0..."),
    ]
    rows = [(f"error of {name}", f"{error:.0e}", "") for name, error in zip(names, errors, strict=True)]
    return Page(panels, result.q.values[0], rows)


def walker(result: kt.Result) -> Page:
    """The trunk and the crankshaft."""
    panels = [
        over_time(result, "trunk", "q", ("trunk_joint.tx", "trunk_joint.ty"), ("forward", "up")),
        over_time(result, "lean of the trunk", "q", ("trunk_joint.rz",), ("lean",)),
        over_time(result, "crankshaft", "q", ("shaft_joint",), ("angle",)),
    ]
    travel = result.q.sel(joint="trunk_joint.tx").values
    rows = [("distance of the trunk", f"{abs(travel[-1] - travel[0]):.2f} m", "")]
    return Page(panels, result.q.values[len(result.time) // 2], rows)


MORE: dict[str, Callable[[kt.Result], Page]] = {
    "walking": person,
    "walking_two_step": person,
    "walking_speed_step": person,
    "lifting": lifter,
    "lifting_one_hand": lifter,
    "lifting_beside": twisting,
    "lifting_cycle": lifter,
    "lifting_repeated": lifter,
    "lifting_fatigue": lifter,
    "quadruped_predicted_trot": gait,
    "planar_biped_jump": gait,
    "one_leg_hop": gait,
    "iftomm": benchmark,
    "jansen_walk": walker,
}
