"""The figures of the documents, one set for each shipped example: which curves, and which numbers to compare.

A document's figure is a panel: its number, what it shows, and lines over time. ``FIGURES`` maps the name of
an example to a function of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

import kinetree as kt

Array = np.ndarray
PLANAR, SPATIAL = ("x", "y"), ("x", "z")


@dataclass(frozen=True)
class Panel:
    """One pair of axes: number and contents of the document's figure, unit, lines (label, x, y)."""

    title: str
    unit: str
    lines: list[tuple[str, Array, Array]]
    logarithmic: bool = False


@dataclass(frozen=True)
class Sticks:
    """A motion as overlaid poses: points (times, points, 2) in m."""

    title: str
    points: Array


@dataclass(frozen=True)
class Page:
    """What the gallery shows of an example: panels, the pose to draw, and rows (what, here, document)."""

    panels: Sequence[Panel | Sticks]
    pose: Array
    rows: Sequence[tuple[str, str, str]] = field(default_factory=tuple)


def over_time(
    result: kt.Result, title: str, variable: str, joints: Sequence[str], labels: Sequence[str] | None = None
) -> Panel:
    """Some joints of a variable; angles in degrees."""
    t, values = result.time.values, result[variable].sel(joint=list(joints)).values
    unit = str(
        result[variable].sel(joint=joints[0]).coords["tau_unit" if variable == "tau" else "q_unit"].item()
    )
    if variable in ("q", "q_reference") and unit == "rad":
        values, unit = np.degrees(values), "°"
    return Panel(title, unit, [(name, t, values[:, k]) for k, name in enumerate(labels or joints)])


def each(
    result: kt.Result, figure: str, variable: str, joints: Sequence[str], labels: Sequence[str]
) -> list[Panel]:
    """A panel for every joint: (a), (b), ..."""
    panels = []
    for letter, joint, label in zip("abcdefgh", joints, labels, strict=False):
        panels.append(over_time(result, f"{figure}({letter}): {label}", variable, [joint], [label]))
    return panels


def largest(values: object) -> float:
    """The largest magnitude."""
    return float(np.abs(np.asarray(values)).max())


# ---- 004, chapter 6 --------------------------------------------------------------------------------------

GRIPPER = ("joint1", "joint2", "joint3", "joint4")
GRIPPER_LABELS = ("joint 1¹", "joint 1²", "joint 2²", "joint 1³")
KUKA = tuple(f"joint{k}" for k in range(1, 7))


def gripper_torques(result: kt.Result) -> Page:
    """Torques of the four joints."""
    tau = result.tau.values
    rows = [
        (f"largest torque, {label}", f"{largest(tau[:, k]):.3f} N m", "")
        for k, label in enumerate(GRIPPER_LABELS)
    ]
    return Page(each(result, "Fig. 6.2", "tau", GRIPPER, GRIPPER_LABELS), result.q.values[120], rows)


def gripper_fall(result: kt.Result) -> Page:
    """Angles of the four joints."""
    order, labels = [0, 2, 1, 3], ("joint 1¹", "joint 2²", "joint 1²", "joint 1³")
    drift = largest(result.energy_error)
    rows = [("largest error of the energy", f"{drift:.0e} J", "")]
    return Page(each(result, "Fig. 6.3", "q", [GRIPPER[k] for k in order], labels), result.q.values[0], rows)


def kuka_torques(result: kt.Result) -> Page:
    """Torques of the six joints."""
    tau = result.tau.values
    rows = [
        ("torque of joint 1 at both ends", f"{largest(tau[[0, -1], 0]):.1f} N m", "zero"),
        ("joint with the largest torque", f"{int(np.abs(tau).max(axis=0).argmax()) + 1}", "2"),
    ]
    return Page(
        each(result, "Fig. 6.6", "tau", KUKA, [f"τ{k}" for k in range(1, 7)]), result.q.values[100], rows
    )


def kuka_fall(result: kt.Result) -> Page:
    """Angles of the six joints, and the energies."""
    panels = each(result, "Fig. 6.7", "q", KUKA, [f"θ{k}" for k in range(1, 7)])
    t, kinetic, potential = result.time.values, result.kinetic_energy.values, result.potential_energy.values
    energies = [("kinetic", t, kinetic), ("potential", t, potential), ("total", t, kinetic + potential)]
    rows = [("change of the total energy", f"{np.ptp(kinetic + potential):.0e} J", "unchanged")]
    return Page([*panels, Panel("Fig. 6.8: energy", "J", energies)], result.q.values[200], rows)


def single_support(result: kt.Result) -> Page:
    """Joints and torques of both legs."""
    names = result.mechanism.joint_names
    legs = {"a": [n for n in names if "support" in n], "b": [n for n in names if "swing" in n]}
    leg = {"a": "support leg", "b": "swing leg"}
    panels = [over_time(result, f"Fig. 6.11({x}): {leg[x]}", "q", legs[x]) for x in "ab"]
    panels += [over_time(result, f"Fig. 6.12({x}): {leg[x]}", "tau", legs[x]) for x in "ab"]
    largest_tau = result.tau.values[:, [names.index(n) for n in legs["a"]]]
    rows = [("largest torque of the support leg", f"{largest(largest_tau):.0f} N m", "")]
    return Page(panels, result.q.values[30], rows)


# ---- 004, chapters 7 and 9 ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Walk:
    """Numbers of the book's figures: trunk, joints, torques, forces; how far it walks in one step of time."""

    trunk: str
    joints: str
    torques: str
    forces: str
    step: float  # s
    travels: str
    attitude: str
    touches: str = ""
    up: str = "tz"


WALKS = {
    "planar_biped_walk": Walk(
        "7.4, 9.3", "7.3, 9.4", "7.5", "7.6", 1.0, "0.3 m in 1 s", "3°", "0.83 s", "ty"
    ),
    "spatial_biped_walk": Walk("7.12, 9.7", "7.11, 9.8", "7.13", "", 0.5, "0.3 m in 0.5 s", "2°"),
    "quadruped_trot": Walk("7.19, 9.9", "7.18, 9.10", "7.20", "", 1.0, "0.3 m in 1 s", "2°", "0.8 s"),
    "hexapod_tripod": Walk("7.26, 9.11", "7.25, 9.12", "7.27", "", 0.5, "0.4 m in 0.5 s", "0.3°"),
}  # fmt: skip


def walking(name: str) -> Callable[[kt.Result], Page]:
    """Trunk, joints, torques and forces of a walking robot."""
    plan = WALKS[name]

    def page(result: kt.Result) -> Page:
        names = result.mechanism.joint_names
        place = ["base.tx", "base.ty", "base.tz"] if plan.up == "tz" else ["base.tx", "base.ty"]
        angles = ["base.ry", "base.rx", "base.rz"] if plan.up == "tz" else ["base.rz"]
        panels: list[Panel | Sticks] = [over_time(result, f"Figs. {plan.trunk}: trunk", "q", place)]
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
        return Page(panels, result.q.values[40], _walk_rows(result, plan))

    return page


def _from_start(panel: Panel) -> Panel:
    """Angles counted from where they begin."""
    return Panel(panel.title, panel.unit, [(name, t, y - y[0]) for name, t, y in panel.lines])


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
    turned = np.degrees(np.abs(attitude - attitude[0]).max())
    return [
        ("travels on average", f"{per_step:.2f} m in {plan.step:g} s", plan.travels),
        ("attitude changes by up to", f"{turned:.1f}°", plan.attitude),
        ("first touch-down of leg 2 at", f"{_touch_down(result):.2f} s", plan.touches),
        ("largest torque, at a touch-down", f"{largest(result.tau):.0f} N m", ""),
        ("joints off the gait by up to", f"{result.statistics['largest_error']:.0e} rad", ""),
        ("largest error of the energy", f"{largest(result.energy_error):.0e} J", ""),
    ]


# ---- 002 -------------------------------------------------------------------------------------------------


def puma(result: kt.Result) -> Page:
    """Torques, errors, their growth, power."""
    t = result.time.values
    algorithms = result.algorithm.values.tolist()
    errors = np.abs(result.q_error.values).max(axis=2)
    lines = [(str(name), t, errors[k]) for k, name in enumerate(algorithms)]
    horizon = {str(name): float(result.horizon.values[k].min()) for k, name in enumerate(algorithms)}
    panels = [
        over_time(result, "Fig. 4: torques", "tau", KUKA),
        Panel("Fig. 6: largest error of the angles", "rad", lines, True),
        Panel("Fig. 8: power", "W", [("prescribed", t, result.power.values)]),
        Panel(
            "growth of an error of the start", "1", [("amplification", t, result.amplification.values)], True
        ),
    ]
    rows = [
        ("recursive algorithm follows for", f"{horizon['articulated']:.2f} s", "5.4 s (Table 3)"),
        ("Cholesky decomposition follows for", f"{horizon['cholesky']:.2f} s", "4.8 s (Table 3)"),
    ]
    return Page(panels, result.q_reference.values[500], rows)


# ---- 000 and 001 -------------------------------------------------------------------------------------------


def predicted(
    angles: str,
    torques: str,
    path: str,
    forces: str,
    tip: tuple[float, float, float],
    document: str,
    plane: tuple[int, int],
) -> Callable[[kt.Result], Page]:
    """Joint profiles, torques, forces in the joints and overlaid poses of a predicted motion."""

    def page(result: kt.Result) -> Page:
        t, names = result.time.values, result.mechanism.joint_names
        panels: list[Panel | Sticks] = []
        if angles:
            panels.append(over_time(result, f"{angles}: joint angles", "q", names))
        if len(set(result.units("tau"))) == 1:
            panels.append(over_time(result, f"{torques}: torques", "tau", names))
        else:
            panels += [over_time(result, f"{torques}: {name}", "tau", [name]) for name in names]
        if forces:
            inside = kt.joint_reactions(
                result.mechanism, result.q.values, result.qd.values, result.qdd.values
            )
            norms = np.linalg.norm(inside[..., :3], axis=-1)
            lines = [(f"joint {k + 1}", t, norms[:, k]) for k in range(norms.shape[1])]
            panels.append(Panel(f"{forces}: force in the joints", "N", lines))
        panels.append(Sticks(f"{path}: motion", _sticks(result, tip, plane)))
        rows = [
            ("duration", f"{result.statistics['duration']:.4f} s", document),
            ("largest torque or force", f"{largest(result.tau):.2f}", "10"),
            ("iterations", f"{result.statistics['iterations']}", ""),
        ]
        return Page(panels, result.q.values[len(t) // 2], rows)

    return page


def _sticks(result: kt.Result, tip: tuple[float, float, float], plane: tuple[int, int]) -> Array:
    """Base, origins of the bodies and tip at twelve instants."""
    rows = np.linspace(0, len(result.time) - 1, 12).round().astype(int)
    poses = kt.forward_kinematics(result.mechanism, result.q.values[rows])
    end = poses.position[:, -1] + poses.rotation[:, -1] @ np.array(tip)
    points = np.concatenate([np.zeros((len(rows), 1, 3)), poses.position, end[:, None]], axis=1)
    return points[:, :, list(plane)]


def usual(result: kt.Result) -> Page:
    """An example that repeats no figure: all joints and torques."""
    names = result.mechanism.joint_names
    panels = [
        over_time(result, what, x, names)
        for x, what in (("q", "positions"), ("tau", "torques"))
        if x in result
    ]
    rows = [("duration", f"{result.time.values[-1]:.4g} s", "")]
    return Page(panels, result.q.values[len(result.time) // 2], rows)


FIGURES: dict[str, Callable[[kt.Result], Page]] = {
    "gripper_inverse_dynamics": gripper_torques,
    "gripper_free_fall": gripper_fall,
    "kuka_inverse_dynamics": kuka_torques,
    "kuka_free_fall": kuka_fall,
    "biped_single_support": single_support,
    **{name: walking(name) for name in WALKS},
    "puma_stability": puma,
    "two_link_minimum_time": predicted(
        "001, Fig. 7", "001, Fig. 8; 000, Fig. 4.2", "001, Fig. 9; 000, Fig. 4.4", "000, Fig. 4.3",
        (0.4, 0, 0), "0.3934 s (001), 0.392 s (000)", (0, 1),
    ),
    "two_link_lifting": predicted("Fig. 11", "Fig. 12", "Fig. 13", "", (0.4, 0, 0), "0.52 s", (0, 1)),
    "prismatic_arm": predicted("", "Fig. 4.5", "Fig. 4.7", "Fig. 4.6", (0.4, 0, 0), "0.5585 s", (1, 2)),
}  # fmt: skip
