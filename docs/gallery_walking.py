"""The figures of [Shah2013], chapters 6, 7 and 9, of robots that walk: gaits, joints, torques, forces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from gallery_panels import Array, Page, Panel, Sticks, largest, over_time

import kinetree as kt

# ---- one foot is the ground ------------------------------------------------------------------------------


def single_support(result: kt.Result) -> Page:
    """Joints and torques of both legs."""
    names = result.mechanism.joint_names
    legs = {"a": [n for n in names if "support" in n], "b": [n for n in names if "swing" in n]}
    leg = {"a": "support leg", "b": "swing leg"}
    panels = [_single_gait(result)]
    panels += [over_time(result, f"Fig. 6.11({x}): {leg[x]}", "q", legs[x]) for x in "ab"]
    panels += [over_time(result, f"Fig. 6.12({x}): {leg[x]}", "tau", legs[x]) for x in "ab"]
    largest_tau = result.tau.values[:, [names.index(n) for n in legs["a"]]]
    rows = [("largest torque of the support leg", f"{largest(largest_tau):.0f} N m", "")]
    return Page(panels, result.q.values[30], rows)


def _single_gait(result: kt.Result) -> Panel:
    """The path of the trunk and of the swinging ankle."""
    poses, t = kt.forward_kinematics(result.mechanism, result.q.values), result.time.values
    lines = []
    for name, body in (("trunk", "trunk"), ("ankle", "foot_swing")):
        place = poses.position[:, result.mechanism.body_index(body)]
        lines += [(f"{name} {way}", t, place[:, k]) for k, way in enumerate(("ahead", "left", "up"))]
    return Panel("Fig. 6.10: plan of the step", "m", lines)


# ---- [Shah2013], chapters 7 and 9 ------------------------------------------------------------------------


@dataclass(frozen=True)
class Walk:
    """Numbers of the book's figures, and what it tells of a step."""

    gait: str
    trunk: str
    joints: str
    torques: str
    forces: str
    energy: str
    step: float  # s
    travels: str
    attitude: str
    touches: str = ""
    up: str = "tz"


WALKS = {
    "planar_biped_walk": Walk(
        "7.2", "7.4, 9.3", "7.3, 9.4", "7.5", "7.6", "C.1", 1.0, "0.3 m in 1 s", "3°", "0.83 s", "ty"
    ),
    "spatial_biped_walk": Walk(
        "7.10", "7.12, 9.7", "7.11, 9.8", "7.13", "", "C.2", 0.5, "0.3 m in 0.5 s", "2°"
    ),
    "quadruped_trot": Walk(
        "7.17", "7.19, 9.9", "7.18, 9.10", "7.20", "", "C.3", 1.0, "0.3 m in 1 s", "2°", "0.8 s"
    ),
    "quadruped_prescribed": Walk(
        "7.17", "7.19", "7.18", "7.20", "", "C.3", 1.0, "0.3 m in 1 s", "2°", "0.8 s"
    ),
    "hexapod_tripod": Walk(
        "7.24", "7.26, 9.11", "7.25, 9.12", "7.27", "", "C.4", 0.5, "0.4 m in 0.5 s", "0.3°", "0.45 s"
    ),
}  # fmt: skip


def walking(name: str) -> Callable[[kt.Result], Page]:
    """Trunk, joints, torques and forces of a walking robot."""
    plan = WALKS[name]

    def page(result: kt.Result) -> Page:
        names = result.mechanism.joint_names
        place = ["base.tx", "base.ty", "base.tz"] if plan.up == "tz" else ["base.tx", "base.ty"]
        angles = ["base.ry", "base.rx", "base.rz"] if plan.up == "tz" else ["base.rz"]
        panels: list[Panel | Sticks] = [_gait(result, plan)]
        panels.append(over_time(result, f"Figs. {plan.trunk}: trunk", "q", place))
        panels.append(_from_start(over_time(result, f"Figs. {plan.trunk}: attitude", "q", angles)))
        for figures, variable in ((f"Figs. {plan.joints}", "q"), (f"Fig. {plan.torques}", "tau")):
            for letter, number in zip("ab", "12", strict=True):
                leg = [n for n in names if n.split(".")[0].endswith(number)]
                panels.append(over_time(result, f"{figures}({letter}): leg {number}", variable, leg))
        if plan.forces:
            panels += [
                _foot(result, f"Fig. {plan.forces}({x}): foot {n}", n)
                for x, n in zip("ab", "12", strict=True)
            ]
        panels.append(_energies(result, f"Fig. {plan.energy}: energy"))
        return Page(panels, result.q.values[40], _walk_rows(result, plan))

    return page


def _gait(result: kt.Result, plan: Walk) -> Panel:
    """The planned path of the trunk and of the second foot in the first step."""
    t, up = result.time.values, 1 if plan.up == "ty" else 2
    first = t <= plan.step + 1e-9
    q = result.q_reference.values[first]
    poses, point = kt.forward_kinematics(result.mechanism, q), _foot_point(result.mechanism)
    body = result.mechanism.body_index(point.body)
    foot = poses.position[:, body] + poses.rotation[:, body] @ np.array(point.position)
    lines = [("trunk ahead", q[:, 0]), ("trunk up", q[:, up]), ("foot 2 ahead", foot[:, 0])]
    return Panel(
        f"Fig. {plan.gait}: plan of a step",
        "m",
        [(name, t[first], y) for name, y in [*lines, ("foot 2 up", foot[:, up])]],
    )


def _foot_point(mechanism: kt.Mechanism) -> kt.ContactPoint:
    """The first contact point of the second leg."""
    return next(point for point in mechanism.contact_points if "2" in point.name)


def _energies(result: kt.Result, title: str) -> Panel:
    """Energies gained and work done; the total stays zero."""
    t, gained = result.time.values, []
    for name in ("kinetic_energy", "potential_energy"):
        gained.append((name.split("_")[0], result[name].values - result[name].values[0]))
    works = [("actuators", -result.actuator_work.values), ("ground", -result.ground_work.values)]
    total = sum(y for _, y in [*gained, *works])
    return Panel(title, "J", [(name, t, y) for name, y in [*gained, *works, ("sum", total)]])


def _from_start(panel: Panel) -> Panel:
    """Angles counted from where they begin."""
    lines = [(name, t, y - y[0]) for name, t, y in panel.lines]
    return replace(panel, lines=lines, behind=())


def _foot(result: kt.Result, title: str, number: str) -> Panel:
    """Horizontal and vertical force on one foot."""
    points = [str(c) for c in result.contact.values if str(c).endswith(number)]
    force = result.contact_force.sel(contact=points).sum("contact").values
    t = result.time.values
    return Panel(title, "N", [("horizontal", t, force[:, 0]), ("vertical", t, force[:, 1])])


def _touch_down(result: kt.Result) -> float:
    """When the second leg is first put down (s)."""
    feet = [str(c) for c in result.contact.values if "2" in str(c)]
    return next(event.time for event in result.events if event.kind == "touch_down" and event.name in feet)


def _walk_rows(result: kt.Result, plan: Walk) -> list[tuple[str, str, str]]:
    x, t = result.q.sel(joint="base.tx").values, result.time.values
    per_step = (x[-1] - x[0]) / (t[-1] / plan.step)
    attitude = result.q.sel(joint=["base.ry", "base.rx", "base.rz"]).values
    turned = np.degrees(np.abs(attitude - attitude[0]))
    first = t <= plan.step + 1e-9
    ahead = np.interp(plan.step, t, x) - x[0]
    return [
        ("distance in the first step", f"{ahead:.2f} m in {plan.step:g} s", plan.travels),
        ("mean distance per step", f"{per_step:.2f} m in {plan.step:g} s", plan.travels),
        ("largest change of orientation in the first step", f"{turned[first].max():.1f}°", plan.attitude),
        ("largest change of orientation", f"{turned.max():.1f}°", ""),
        ("first touch-down of leg 2 at", f"{_touch_down(result):.2f} s", plan.touches),
        ("largest torque, at a touch-down", f"{largest(result.tau):.0f} N m", ""),
        ("largest joint error", f"{result.statistics['largest_error']:.0e} rad", ""),
        ("largest energy error", f"{largest(result.energy_error):.0e} J", ""),
    ]


# ---- laws beside each other ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Laws:
    """Numbers of the book's figures: trunk and joints under control, and under torques alone."""

    controlled: str
    alone: str
    up: str = "tz"


LAWS = {
    "planar_biped_laws": Laws("9.3 to 9.6", "7.7, 7.8", "ty"),
    "spatial_biped_laws": Laws("9.7, 9.8", "7.14, 7.15"),
    "quadruped_laws": Laws("9.9, 9.10", "7.21, 7.22"),
    "hexapod_laws": Laws("9.11, 9.12", "7.28, 7.29"),
}


def laws(name: str) -> Callable[[kt.Result], Page]:
    """Trunk, attitude and knees under three laws."""
    plan = LAWS[name]

    def page(result: kt.Result) -> Page:
        cases = result.case.values.tolist()
        panels = []
        turns = "base.rz" if plan.up == "ty" else "base.ry"
        wanted = {"base.tx": "ahead", f"base.{plan.up}": "up", turns: "pitch", "knee1": "knee 1"}
        for numbers, some in ((plan.controlled, cases[:2]), (plan.alone, cases[2:])):
            for joint, what in wanted.items():
                panels.append(_cases(result, f"Figs. {numbers}: {what}", joint, some))
        rows = [_lost(result, k) for k in range(len(cases))]
        return Page(panels, result.q.values[0, 40], rows)

    return page


def _cases(result: kt.Result, title: str, joint: str, cases: list[str]) -> Panel:
    """One joint in some cases, as long as they last, with what was asked for behind."""
    array = result.q.sel(joint=joint, case=cases).values
    known = np.isfinite(array).any(axis=0)
    t, turns = result.time.values[known], str(result.q.sel(joint=joint).coords["q_unit"].item()) == "rad"
    scale = 180.0 / np.pi if turns else 1.0
    wanted = scale * result.q_reference.sel(joint=joint, case=cases[0]).values[known]
    lines = [(case, t, scale * y[known]) for case, y in zip(cases, array, strict=True)]
    return Panel(title, "°" if turns else "m", lines, behind=[(t, wanted)])


def _off(result: kt.Result, case: int, base: int) -> Array:
    """How far a joint is from the motion asked for (rad or m), over time."""
    apart = result.q.values[case] - result.q_reference.values[case]
    return np.abs(apart[:, base:]).max(axis=1)


def _lost(result: kt.Result, case: int, base: int = 6, limit: float = 0.05) -> tuple[str, str, str]:
    """When the first joint is off by more than the limit."""
    off, name = _off(result, case, base), str(result.case.values[case])
    beyond = off > limit
    when = f"after {result.time.values[beyond.argmax()]:.2f} s" if beyond.any() else "never"
    return f"{name}: joint error exceeds {limit:g} rad", when, ""


def forced_biped(result: kt.Result) -> Page:
    """Joints and energies of the biped on one foot under torques alone."""
    names = result.mechanism.joint_names
    one = replace(result, dataset=result.dataset.isel(case=0, drop=True))
    legs = {"a": [n for n in names if "support" in n], "b": [n for n in names if "swing" in n]}
    panels = [
        over_time(one, f"Fig. 6.13({x}): {leg} leg", "q", legs[x])
        for x, leg in (("a", "support"), ("b", "swing"))
    ]
    panels.append(_energies(one, "Fig. 6.14: energy"))
    t = result.time.values
    errors = [(str(case), t, _off(result, k, 0)) for k, case in enumerate(result.case.values)]
    panels.append(Panel("largest error of a joint", "rad", [(n, x[1:], y[1:]) for n, x, y in errors], True))
    worst = f"{largest(result.energy_error):.4f} J"
    rows = [_lost(result, k, 0, 0.01) for k in range(2)]
    rows[0] = (*rows[0][:2], "after 0.1 s")
    return Page(panels, one.q.values[50], [*rows, ("largest energy error", worst, "0.0058 J")])


def dust(result: kt.Result) -> Page:
    """The trunk, and the force that puts the first swinging foot down, on firm and dusty ground."""
    cases = result.case.values.tolist()
    wanted = {"base.tx": "ahead", "base.ty": "up", "base.rz": "pitch"}
    panels = [_cases(result, what, joint, cases) for joint, what in wanted.items()]
    foot = [k for k, name in enumerate(result.contact.values.tolist()) if name in ("heel2", "toe2")]
    up, t = result.contact_force.values[:, :, foot, 1].sum(axis=2), result.time.values
    some = (t > 0.8) & (t < 1.1)
    lines = [(case, t[some], force[some]) for case, force in zip(cases, up, strict=True)]
    panels.append(Panel("vertical force on the swinging foot", "N", lines))
    rows = [
        (f"{case}: force at touch-down", f"{up[k, some].max():.0f} N", "") for k, case in enumerate(cases)
    ]
    return Page(list(panels), result.q.values[0, 40], rows)


def fall(result: kt.Result) -> Page:
    """Height and attitude of the trunk, and what carries the robot."""
    t, names = result.time.values, result.contact.values.tolist()
    up = result.contact_force.values[..., 2]
    parts = {
        part: [k for k, name in enumerate(names) if name.startswith(part)]
        for part in ("foot", "knee", "trunk")
    }
    lines = [(part, t, up[:, own].sum(axis=1)) for part, own in parts.items()]
    panels = [
        over_time(result, "height of the trunk", "q", ["base.tz"]),
        over_time(result, "attitude of the trunk", "q", ["base.ry", "base.rx", "base.rz"]),
        Panel("vertical forces of the ground", "N", lines),
    ]
    weight = result.mechanism.mass * 9.81
    rows = [("vertical forces at the end", f"{up[-1].sum():.2f} N", f"{weight:.2f} N, the weight")]
    return Page(list(panels), result.q.values[-1], rows)
