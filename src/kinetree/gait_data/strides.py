"""Walking on and on: a step, its mirror image, and so forth, as one motion of the whole person."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.rooting import change_root
from kinetree.errors import InputError, listed, must_be
from kinetree.gait_data.ground import FORCE, POINT, ground_variables
from kinetree.model.body import WORLD
from kinetree.model.human.joints import mirror_image
from kinetree.model.mechanism import Mechanism
from kinetree.result.build import build_result
from kinetree.result.result import Result

PELVIS, HIPS = "pelvis", ("left_hip", "right_hip")
ACROSS = "y"  # the axis to the left, along which mirrored forces change their sign
MOST = 100  # strides


def strides(result: Result, count: int = 2) -> Result:
    """Several strides out of a result of one step: the step, its mirror image one step further, and again.

    The answer is rooted at the pelvis and has q and qd, and the ground's force on each foot if the step
    has it. A result that says ``settings["steps"] = 2`` is a stride already and repeated as it is.
    """
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST:
        raise InputError(must_be("the number of strides", f"an integer from 1 to {MOST}", count))
    steps = result.settings.get("steps", 1)
    person, q, qd = _on_pelvis(result)
    time = np.asarray(result["time"].values) - float(result["time"].values[0])
    order, sign = _mirror(person)
    base = [person.joint_index(f"root.{label}") for label in ("x", "z")]
    travel = q[-1, base[0]] - q[0, base[0]]
    climb = q[-1, base[1]] - q[0, base[1]]
    keep = slice(0, len(time) - 1)
    force = result[FORCE].values if FORCE in result else None
    point = result[POINT].values if POINT in result and force is not None else None
    parts: dict[str, list[Array]] = {"time": [], "q": [], "qd": [], FORCE: [], POINT: []}
    for k in range(2 * count if steps == 1 else count):
        turned = steps == 1 and k % 2 == 1
        last = k == (2 * count if steps == 1 else count) - 1
        part = slice(0, len(time)) if last else keep
        moved, rates = (sign * x[:, order] if turned else x.copy() for x in (q, qd))
        moved[:, base[0]] += k * travel
        moved[:, base[1]] += k * climb
        parts["time"].append(time[part] + k * time[-1])
        parts["q"].append(moved[part])
        parts["qd"].append(rates[part])
        if force is not None:
            parts[FORCE].append(_turned(result, force)[part] if turned else force[part])
        if point is not None:
            place = _turned(result, point) if turned else point
            parts[POINT].append(place[part] + k * np.array([travel, 0.0, climb]))
    variables: dict[str, Any] = {name: np.concatenate(x) for name, x in parts.items() if x}
    labels: dict[str, Any] = {}
    if force is not None:
        feet = [str(name) for name in result["foot"].values]
        pairs = [
            {foot: both[:, k] for k, foot in enumerate(feet)}
            for both in (variables.pop(name) for name in (FORCE, POINT) if name in variables)
        ]
        more, labels = ground_variables(*pairs)
        variables |= more
    settings = {"steps": 2 * count, "from": result.task}
    return build_result("gait", person, variables, coordinates=labels, settings=settings)


def on_pelvis(mechanism: Mechanism) -> Mechanism:
    """A human rooted at the middle of its hips, as it was built, whatever it is rooted at."""
    root = next(link for link in mechanism.links if link.parent == WORLD)
    if root.body.name == PELVIS and root.joint.is_free:
        return mechanism
    places: list[Array] = []
    for link in mechanism.links:
        if link.joint.name.partition(".")[0] not in HIPS:
            continue
        if link.parent == PELVIS:
            places.append(link.placement.position)
        elif link.body.name == PELVIS:
            places.append(np.zeros(3))
    if len(places) != 2:
        raise InputError(
            f"'{mechanism.name}' is not a walking human: its pelvis has {len(places)} joints named "
            f"{listed(HIPS)}"
        )
    return mechanism.rooted_at(PELVIS, point=0.5 * (places[0] + places[1]), sequence="ZXY")


def _on_pelvis(result: Result) -> tuple[Mechanism, Array, Array]:
    """The motion of a result, rooted at the pelvis."""
    mechanism, q = result.mechanism, np.asarray(result["q"].values)
    qd = np.asarray(result["qd"].values) if "qd" in result else np.zeros_like(q)
    person = on_pelvis(mechanism)
    if person is mechanism:
        return person, q, qd
    state = change_root(mechanism, person, q, qd)
    return person, state.q, state.qd


def _mirror(person: Mechanism) -> tuple[list[int], Array]:
    """For every coordinate, the one that it takes over in the next step, and with which sign."""
    image = [mirror_image(name) for name in person.joint_names]
    missing = [name for name, _ in image if name not in person.joint_names]
    if missing:
        raise InputError(f"'{person.name}' has no mirror image: it lacks the joints {listed(missing)}")
    return [person.joint_index(name) for name, _ in image], np.array([sign for _, sign in image])


def _turned(result: Result, force: Array) -> Array:
    """Forces of the mirrored step: feet changed, to the left is to the right."""
    axes = [str(name) for name in result["axis"].values]
    flip = np.array([-1.0 if axis == ACROSS else 1.0 for axis in axes])
    turned: Array = force[:, ::-1] * flip
    return turned
