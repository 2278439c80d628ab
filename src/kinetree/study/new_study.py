"""A study file to begin with: made of a few answers, with comments that say what may be changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

import numpy as np

from kinetree.errors import AssemblyError, InputError, listed, must_be, unknown_name
from kinetree.formats.kinds import FOREIGN
from kinetree.model import zoo
from kinetree.model.contact_point import ContactPoint
from kinetree.model.mechanism import Mechanism, check_open
from kinetree.state import independent_axes
from kinetree.study.new_lift import lifting_lines
from kinetree.study.new_lines import option_lines, stop_lines

TASKS = {
    "simulate": "the motion without torques or under given torques",
    "inverse": "the torques of a given motion",
    "control": "how well a controller follows a motion",
    "predict": "the optimal motion: the fastest within torque limits, or the smoothest",
}
STAND, WALK, GAIT = LEGGED = ("stand", "walk", "gait")
LIFT = "lift"
TEMPLATES = TASKS | {
    STAND: "a robot that stands on the ground, with its own servos or PD control",
    WALK: "a legged robot under the walking law",
    GAIT: "the gait of a legged robot with the least effort",
    LIFT: "how a human best lifts a box to a shelf",
}
REACH = 0.5  # rad or m: how far the motion goes where limits let it


@dataclass(frozen=True)
class StudyAnswers:
    """What the file is made of; ``model`` is a zoo name or the path of a file as seen from the study."""

    name: str
    model: str = "gripper"
    task: str = "simulate"
    duration: float | None = 1.0  # s; None is free, where the task lets it be
    options: Mapping[str, Any] = field(default_factory=dict)  # with which the model's file is read

    def __post_init__(self) -> None:
        if self.task not in TEMPLATES:
            raise InputError(unknown_name("template", self.task, TEMPLATES))
        if self.duration is None and self.task != LIFT:
            raise InputError(f"a study of the task '{self.task}' needs a duration (s)")
        if self.duration is not None and not 0.0 < self.duration < 1e6:
            raise InputError(must_be("duration", "a number > 0 (s)", self.duration, "g"))


def study_file(answers: StudyAnswers, mechanism: Mechanism) -> str:
    """The text of the file, for a mechanism that was read already.

    >>> print(study_file(StudyAnswers("fall"), zoo.gripper()).splitlines()[3])
    [study]
    """
    if answers.task == LIFT:
        return "\n".join(lifting_lines(answers.name, answers.model, answers.duration)) + "\n"
    servos = mechanism.actuators and all(x.is_position_servo for x in mechanism.actuators)
    if answers.task == STAND and mechanism.states and servos:  # torques of a state alone do not hold it
        answers = replace(answers, task="simulate")
    if answers.task in LEGGED:
        return legged_study(answers, mechanism)
    if not mechanism.n_dof:
        raise InputError(f"'{mechanism.name}' cannot move, so there is nothing to study")
    floating = any(link.joint.is_free for link in mechanism.links) and not mechanism.loops
    if floating and answers.task in ("predict", "control"):
        raise InputError(
            f"a {answers.task} study of '{mechanism.name}', which floats, needs a gait: copy an "
            "example, such as kinetree examples copy planar_biped_walk; simulate, inverse and, for robots "
            "with legs, walk and gait can be made here"
        )
    answers, mechanism = _with_inertia(answers, mechanism)
    if answers.task == "predict":
        check_open(mechanism, f"a study of the task '{answers.task}'")
    make = {"simulate": _simulate, "inverse": _inverse, "control": _control, "predict": _predict}[
        answers.task
    ]
    named = answers.model in zoo.ZOO
    return "\n".join(
        [
            f"# {answers.name}: {TASKS[answers.task]}.",
            "# SI units and rad; keys that end in _degrees take degrees. Every key: kinetree schema --study",
            "# Check it:  kinetree check FILE      run it:  kinetree run FILE --plot picture.png",
            "[study]",
            f'task = "{answers.task}"  # or {listed(task for task in TASKS if task != answers.task)}, ...',
            f"title = {json.dumps(answers.name)}",
            *_duration(answers, mechanism),
            "",
            "[mechanism]",
            f"{'zoo' if named else 'file'} = {json.dumps(answers.model)}"
            + ("  # see 'kinetree zoo'; or file = \"arm.toml\"" if named else _place(answers.model)),
            *option_lines(answers.options),
            "",
            *make(mechanism, answers.duration or 1.0),
        ]
    ) + "\n"  # fmt: skip


def _with_inertia(answers: StudyAnswers, mechanism: Mechanism) -> tuple[StudyAnswers, Mechanism]:
    """With armature for joints of a file of others that move no inertia, without which nothing can be run."""
    from kinetree.analysis.legs import without_inertia
    from kinetree.model.variants import with_armature

    if not answers.model.lower().endswith(FOREIGN) or "armature" in answers.options or mechanism.loops:
        return answers, mechanism
    lacking = without_inertia(mechanism, np.zeros(mechanism.n_dof))
    if not lacking:
        return answers, mechanism
    options = dict(answers.options) | {"armature": lacking}
    return replace(answers, options=options), with_armature(mechanism, lacking)


def legged_study(answers: StudyAnswers, mechanism: Mechanism) -> str:
    """The text of a study of a robot with legs, with feet where its file has none that are known as such."""
    from kinetree.analysis.legs import without_inertia
    from kinetree.model.variants import with_armature
    from kinetree.study.feet import own_feet, proposed_feet
    from kinetree.study.new_stand import standing_lines
    from kinetree.study.new_walk import gait_lines, walking_lines

    options, is_foreign = dict(answers.options), answers.model.lower().endswith(FOREIGN)
    lacking = without_inertia(mechanism, np.zeros(mechanism.n_dof))
    if lacking and is_foreign:
        options["armature"] = lacking
        mechanism = with_armature(mechanism, lacking)
    feet = own_feet(mechanism)
    added: tuple[ContactPoint, ...] = ()
    if feet is None and (is_foreign or not mechanism.contact_points):
        added = proposed_feet(mechanism)
        if mechanism.contact_points:
            options["contacts"] = False
        mechanism = replace(mechanism, contact_points=added)
    elif feet is not None and is_foreign and {x.body for x in mechanism.contact_points} - {*feet}:
        options["contacts"] = list(feet)
        kept = tuple(x for x in mechanism.contact_points if x.body in feet)
        mechanism = replace(mechanism, contact_points=kept)
    if answers.task == GAIT:
        lines = gait_lines(answers.name, answers.model, mechanism, added, options)
    else:
        assert answers.duration is not None
        make = standing_lines if answers.task == STAND else walking_lines
        lines = make(answers.name, answers.model, answers.duration, mechanism, added, options)
    return "\n".join(lines) + "\n"


def _place(model: str) -> str:
    return "" if PurePath(model).is_absolute() else "  # as seen from this study"


def _duration(answers: StudyAnswers, mechanism: Mechanism) -> list[str]:
    assert answers.duration is not None
    free = answers.task == "predict" and _is_limited(mechanism)
    return (
        [f"# duration = {answers.duration:g}  # s; free, as short as possible"]
        if free
        else [f"duration = {answers.duration:g}  # s"]
    )


def _is_limited(mechanism: Mechanism) -> bool:
    return bool(np.isfinite(mechanism.tree.effort_limit[independent_axes(mechanism)]).all())


def _simulate(mechanism: Mechanism, duration: float) -> list[str]:
    if mechanism.states or mechanism.actuators:
        return [*_beginning(mechanism), *_driving(mechanism), *_standing(mechanism)]
    start, _ = start_and_end(mechanism)
    if not mechanism.loops:
        from kinetree.simulation.standing import standing

        start = standing(mechanism, start)
    closing = "assemble = true  # q is near a pose that closes the loops; or hold = [...]: joints that stay"
    lines = [
        "[initial]",
        *_order(mechanism),
        f"q = {_listed(start)}  # rad, m",
        "qd = 0  # rad/s, m/s: one number for all joints, a list, or a table by name",
        *([closing] if mechanism.loops else []),
        "",
        *_holding(mechanism, start),
        "",
    ]
    return [*lines, *_standing(mechanism)]


def _holding(mechanism: Mechanism, start: np.ndarray) -> list[str]:
    """Torques that hold an arm whose drives have velocity limits, which it would exceed as it falls."""
    floats = any(link.joint.is_free for link in mechanism.links)
    if mechanism.loops or floats or not np.isfinite(mechanism.velocity_limit[mechanism.driven]).any():
        zero = _listed(np.zeros(mechanism.n_dof))
        return ["# [torque]", f"# constant = {zero}  # N m, N; without this table there are none"]
    from kinetree.analysis.inverse import inverse_dynamics

    shown = np.array([float(f"{x:.4g}") for x in start])  # as it is written
    still = np.zeros(mechanism.n_dof)
    tau = np.where(mechanism.driven, inverse_dynamics(mechanism, shown, still, still), 0.0)
    weak = listed(mechanism.joint_names[k] for k in np.flatnonzero(np.abs(tau) > mechanism.effort_limit))
    tau = np.clip(tau, -mechanism.effort_limit, mechanism.effort_limit)
    held = ", ".join(f"{x + 0.0:.12g}" for x in tau)
    falls = [
        "",
        "[verdicts]",
        f"velocity = false  # within their effort limits, drives do not hold {weak} here",
    ]
    return [
        "[torque]  # without this table there are none: it falls, faster than its drives may turn",
        f"constant = [{held}]  # N m, N: holds the weight",
        *(falls if weak != "none" else []),
    ]


def _within_limits(mechanism: Mechanism, start: np.ndarray, end: np.ndarray, duration: float) -> np.ndarray:
    """An end as far off as velocity and effort limits let a cycloid reach it in a time (s)."""
    if mechanism.loops:
        return end
    from kinetree.analysis.inverse import inverse_dynamics

    way = end - start
    way = np.sign(way) * np.minimum(np.abs(way), 0.4 * duration * mechanism.velocity_limit)
    t = np.linspace(0.0, 1.0, 21)[:, None]  # of the duration
    s, sd, sdd = (
        t - np.sin(2 * np.pi * t) / (2 * np.pi),
        1 - np.cos(2 * np.pi * t),
        2 * np.pi * np.sin(2 * np.pi * t),
    )
    for share in (1.0, 0.5, 0.25, 0.1):
        d = share * way
        tau = inverse_dynamics(mechanism, start + s * d, sd * d / duration, sdd * d / duration**2)
        if (np.abs(tau) <= 0.9 * mechanism.effort_limit).all():
            break
    reached: np.ndarray = start + d
    return reached


def _beginning(mechanism: Mechanism) -> list[str]:
    """From a state that the mechanism has, or from zero."""
    if mechanism.states:
        first, *others = mechanism.states
        more = f"  # or {listed(others)}" if others else ""
        near = ["assemble = true  # closes the loops, which the state leaves open by a little"]
        return ["[initial]", f"state = {json.dumps(first)}{more}", *(near if mechanism.loops else []), ""]
    start, _ = start_and_end(mechanism)
    if not mechanism.loops:
        from kinetree.simulation.standing import lifted

        start = lifted(mechanism, start)
    closing = ["assemble = true  # q is near a pose that closes the loops"] if mechanism.loops else []
    return ["[initial]", *_order(mechanism), f"q = {_listed(start)}  # rad, m", *closing, ""]


def _driving(mechanism: Mechanism) -> list[str]:
    """By the actuators that the mechanism has, holding its state."""
    if not mechanism.actuators:
        return []
    if mechanism.states:
        what = f"actuators = {json.dumps(next(iter(mechanism.states)))}  # in this state"
        return ["[torque]", what, ""]
    names = listed([actuator.name for actuator in mechanism.actuators], 60)
    zero = _listed(np.zeros(len(mechanism.actuators)))
    return [
        "[torque]",
        f"# actuators: {names}",
        f"actuators = {zero}  # those of the mechanism, with these controls",
        "",
    ]


def _standing(mechanism: Mechanism) -> list[str]:
    ground = []
    if mechanism.contact_points:
        what = "level ground" if mechanism.floor is None else "the scene's floor"
        ground = ["[ground]", f"floor = true  # {what}, with a stiffness chosen from the weight", ""]
    return [*ground, *stop_lines(mechanism), *_plot("q", "kinetic_energy", "potential_energy")]


def _inverse(mechanism: Mechanism, duration: float) -> list[str]:
    return [*_motion(mechanism, duration), *_plot("q", "tau")]


def _control(mechanism: Mechanism, duration: float) -> list[str]:
    return [
        *_motion(mechanism, duration),
        "[controller]",
        'kind = "computed_torque"  # or pd, pid, feedforward, gravity_compensation',
        "kp = 100  # 1/s^2; kd is 2 sqrt(kp) unless given",
        "",
        *_plot("q", "q_error", "tau"),
    ]


def _predict(mechanism: Mechanism, duration: float) -> list[str]:
    start, end = start_and_end(mechanism)
    objective = "time" if _is_limited(mechanism) else "jerk"
    return [
        *_order(mechanism),
        "[predict]",
        f'objective = "{objective}"  # time (needs torque limits), jerk, squared_torque, mixed, ...',
        f"start = {{ q = {_listed(start)} }}  # at rest",
        f"end = {{ q = {_listed(end)} }}",
        "segments = 20  # of the B-splines",
        "",
        *_plot("q", "tau"),
    ]


def _motion(mechanism: Mechanism, duration: float) -> list[str]:
    start, end = start_and_end(mechanism)
    end = _within_limits(mechanism, start, end, duration)
    return [
        "[trajectory]",
        'kind = "cycloid"  # or cubic, quintic, trapezoidal, interpolate, file, ...',
        *_order(mechanism),
        f"start = {_listed(start)}  # rad, m",
        f"end = {_listed(end)}",
        *_independent(mechanism),
        "",
    ]


def _independent(mechanism: Mechanism) -> list[str]:
    """Which joints move as prescribed, if loops determine the others."""
    if not mechanism.loops:
        return []
    from kinetree.dynamics.loops.structure import structure

    names = ", ".join(json.dumps(name) for name in structure(mechanism).independent)
    return [f"independent = [{names}]  # the others follow on the loops; their start is a guess"]


def _plot(*names: str) -> list[str]:
    return ["[plot]", f"variables = [{', '.join(json.dumps(name) for name in names)}]"]


def _order(mechanism: Mechanism) -> list[str]:
    return [f"# joints: {listed(mechanism.joint_names, 60)}"]


def start_and_end(mechanism: Mechanism) -> tuple[np.ndarray, np.ndarray]:
    """Two poses within the limits: zero, or as near to it as they let, and some way off.

    With closed loops they are closed, and the loops let the independent joints go from one to the other.
    """
    if mechanism.loops:
        return _closed_start_and_end(mechanism)
    tree, free = mechanism.tree, independent_axes(mechanism)
    lower, upper = tree.lower[free], tree.upper[free]
    start = np.clip(np.zeros(mechanism.n_dof), lower, upper)
    step = np.where(tree.turns[free], REACH, 0.2 * REACH)
    up = np.minimum(step, 0.8 * (upper - start))
    down = np.maximum(-step, 0.8 * (lower - start))
    return start, start + np.where(up > -down, up, np.where(upper - start >= step, up, down))


def _closed_start_and_end(mechanism: Mechanism) -> tuple[np.ndarray, np.ndarray]:
    """A closed pose near zero, within the limits if one is found, and one that independent joints lead to."""
    from kinetree.dynamics.loops.assembly import dependent_motion
    from kinetree.dynamics.loops.structure import allowed_pose, assembled_poses, structure

    start, names = assembled_poses(mechanism, 1)[0], structure(mechanism).independent
    if ((start < mechanism.lower) | (start > mechanism.upper)).any():
        inside = allowed_pose(mechanism)
        start = start if inside is None else inside
    chosen = [mechanism.joint_index(name) for name in names]
    step = np.where(mechanism.tree.turns[independent_axes(mechanism)], REACH, 0.2 * REACH)[chosen]
    for share in (1.0, -1.0, 0.3, -0.3, 0.1, -0.1):
        way = start[chosen] + share * np.linspace(0.0, 1.0, 21)[:, None] * step
        try:
            return start, dependent_motion(mechanism, names, way, q0=start).q[-1]
        except (AssemblyError, InputError):
            continue
    return start, start


def _listed(values: np.ndarray) -> str:
    return "[" + ", ".join(f"{x:.4g}" for x in values) + "]"
