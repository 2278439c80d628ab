"""What looks wrong in a study that could be run: units, a start near gimbal lock, steps that are too long."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, KinetreeError, SimulationError
from kinetree.formats.file_origin import Place
from kinetree.lint.finding import ERROR, WARNING, LintFinding
from kinetree.lint.toml import nearest_line
from kinetree.model.suspicions import CLOSE_TO_LOCK, euler_distance, looks_like_degrees
from kinetree.state import independent_axes
from kinetree.study.assignment import Assignment
from kinetree.study.motion import initial_state

ANGLES: tuple[Place, ...] = (
    ("initial", "q"),
    ("trajectory", "start"),
    ("trajectory", "end"),
    ("predict", "start", "q"),
    ("predict", "end", "q"),
)
FIXED_STEP = ("rk4", "semi_implicit_euler")
MOVING = ("simulate", "control", "hybrid")
TOO_LONG = "too long"  # says the simulation of a step


def doubts(work: Assignment, healthy: bool) -> Iterator[LintFinding]:
    """Warnings about a study; those that need all of it in order are given only if it is ``healthy``."""
    yield from _degrees(work)
    yield from _unused(work)
    if healthy and work.study.task in MOVING:
        yield from _near_lock(work)
        yield from _step(work)


def _described(
    work: Assignment, place: Place, rule: str, message: str, severity: str = WARNING
) -> LintFinding:
    line = nearest_line(place, work.origin.key_lines)
    return LintFinding(work.origin.source, line, severity, rule, message)


def _degrees(work: Assignment) -> Iterator[LintFinding]:
    mechanism = work.mechanism
    turns = dict(
        zip(mechanism.joint_names, mechanism.tree.turns[independent_axes(mechanism)].tolist(), strict=True)
    )
    for place in ANGLES:
        for joint, x in _by_joint(_value(work.origin.table, place), list(turns)):
            if turns.get(joint, False) and looks_like_degrees(x):
                path = ".".join(map(str, place))
                yield _described(
                    work, place, "degrees-as-radians",
                    f"{path}: {x:g} rad of joint '{joint}' is {abs(x) / (2 * np.pi):.3g} turns; if degrees "
                    f"are meant, write {place[-1]}_degrees",
                )  # fmt: skip


def _value(table: Mapping[str, Any], place: Place) -> Any:
    value: Any = table
    for key in place:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _by_joint(value: Any, names: list[str]) -> Iterator[tuple[str, float]]:
    """Numbers with the joints that they belong to."""
    if isinstance(value, Mapping):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = list(zip(names, value, strict=False))
    else:
        pairs = [(names[0], value)] if names else []
    yield from ((name, float(x)) for name, x in pairs if isinstance(x, int | float))


def _unused(work: Assignment) -> Iterator[LintFinding]:
    points = work.mechanism.contact_points
    floating = any(link.joint.is_free for link in work.mechanism.links)
    if points and floating and work.study.task in (*MOVING, "inverse") and work.tables.ground is None:
        yield _described(
            work, ("mechanism",), "unused-contact",
            f"'{work.mechanism.name}' has {len(points)} contact points and the study no [ground], so it "
            f"falls forever; an empty table [ground] is the default ground",
        )  # fmt: skip


def _start(work: Assignment) -> tuple[Array, Array] | None:
    from kinetree.study.motion import trajectory

    try:
        moving = work.tables.trajectory is not None and work.study.task in ("control", "hybrid")
        return initial_state(work, trajectory(work, work.tables.study.duration) if moving else None)
    except KinetreeError:
        return None


def _near_lock(work: Assignment) -> Iterator[LintFinding]:
    start = _start(work)
    if start is None:
        return
    q, k = start[0], 0
    for link in work.mechanism.links:
        joint = link.joint
        n = 0 if joint.mimic is not None else joint.n_dof
        distance = euler_distance(joint, q[k : k + n]) if n else None
        if distance is not None and distance < CLOSE_TO_LOCK:
            yield _described(
                work, ("initial", "q"), "near-gimbal-lock",
                f"the start is {np.degrees(distance):.2g} deg from the gimbal lock of joint '{joint.name}' "
                f"(sequence {joint.sequence}); a sequence of other axes would be better conditioned there",
            )  # fmt: skip
        k += n


def _step(work: Assignment) -> Iterator[LintFinding]:
    """A fixed step that is too long for the ground and the joints: found by taking one without torques."""
    table, start = work.tables.integrator, _start(work)
    if table is None or table.method not in FIXED_STEP or table.step is None or start is None:
        return
    from kinetree.simulation.simulate import simulate
    from kinetree.study.surroundings import simulation_options

    options = simulation_options(work, table.step) | {"times": 2, "progress": False, "reactions": False}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            messages = simulate(work.mechanism, *start, table.step, **options | {"verdicts": False}).messages
    except (InputError, SimulationError) as error:
        kept = getattr(error, "result", None)
        messages = () if kept is None else kept.messages
        if not any(TOO_LONG in message for message in messages):
            hopeless = f"after one step of {table.step:g} s the motion overflows; shorten it"
            said = str(error) if TOO_LONG in str(error) else hopeless
            yield _described(work, ("integrator", "step"), "step-too-long", said, ERROR)
    except KinetreeError:
        return
    for message in messages:
        if TOO_LONG in message:
            yield _described(work, ("integrator", "step"), "step-too-long", message)
