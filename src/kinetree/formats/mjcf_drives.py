"""What the actuators of a compiled MuJoCo model add to its joints: effort limits, inertia and damping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kinetree.errors import listed
from kinetree.formats.mjcf_actuators import is_off, is_plugin, tendon_arms
from kinetree.formats.mjcf_compiled import CompiledModel, address, newer_value
from kinetree.model.joint import Mimic


@dataclass
class ActuatedJoint:
    """What the actuators of one joint add to it: an effort limit, inertia and damping felt at the joint."""

    effort_limit: float = np.inf
    armature: float = 0.0
    viscous: float = 0.0
    driven: bool = True


def drives(compiled: CompiledModel, mimics: Mapping[int, Mimic]) -> list[ActuatedJoint]:
    """One drive per joint: what its actuators, also those on fixed tendons, add to it.

    The limit of a joint that others mimic includes the actuators of those. Where actuators are given, joints
    without one have no drive.
    """
    m = compiled.m
    found = [ActuatedJoint() for _ in range(m.njnt)]
    most: dict[int, float] = {}
    served: set[int] = set()
    carried: list[str] = []
    for k in range(len(m.actuator_trntype)):
        kind, j = compiled.label("mjtTrn", m.actuator_trntype[k]), int(m.actuator_trnid[k][0])
        reached = _reached(compiled, kind, j)
        if reached is None and is_off(compiled, k):
            continue
        if reached is None:
            served.update(range(m.njnt))
            continue
        if not is_off(compiled, k):
            served.update(reached)
        gear, force = abs(float(m.actuator_gear[address(m, "out", k)][0])), _largest_force(compiled, k)
        for x, arm in reached.items():
            if compiled.is_scalar(x) and not is_off(compiled, k):
                most[x] = most.get(x, 0.0) + (gear * abs(arm) * force if gear * arm else 0.0)
        armature, damping = (float(newer_value(m, f"actuator_{x}", k)) for x in ("armature", "damping"))
        if kind == "tendon" and (armature or damping):
            carried.append(compiled.name("ACTUATOR", k) or f"actuator{k}")
        elif kind != "tendon" and compiled.is_scalar(j):
            found[j].armature += gear * (gear * armature)
            found[j].viscous += gear * (gear * damping)
    if carried:
        compiled.left_out.append(f"armature and damping of actuators on tendons ({listed(carried, 4)})")
    for j, drive in enumerate(found):
        drive.effort_limit = _effort_limit(compiled, j, most, mimics)
        drive.driven = not served or j in served
    return found


def _effort_limit(
    compiled: CompiledModel, j: int, most: Mapping[int, float], mimics: Mapping[int, Mimic]
) -> float:
    """The largest effort at a joint, given those of the actuators that act on each joint."""
    followers = {
        x: sum(abs(ratio) for name, ratio in mimic.leaders if name == compiled.joints[j])
        for x, mimic in mimics.items()
        if x in most and compiled.joints[j] in [name for name, _ in mimic.leaders]
    }
    if not followers:
        return min(_own_limit(compiled, j), most.get(j, np.inf))
    if any(mimics[x].higher for x in followers):
        return np.inf
    own = min(_own_limit(compiled, j), most.get(j, 0.0))
    return own + sum(ratio * min(_own_limit(compiled, x), most[x]) for x, ratio in followers.items() if ratio)


def _own_limit(compiled: CompiledModel, j: int) -> float:
    m = compiled.m
    return float(np.abs(m.jnt_actfrcrange[j]).max()) if m.jnt_actfrclimited[j] else np.inf


def _reached(compiled: CompiledModel, kind: str, target: int) -> dict[int, float] | None:
    """The joints that an actuator acts on directly or by a fixed tendon, with its arms; None if not known."""
    if kind in ("joint", "jointinparent"):
        return {target: 1.0}
    return tendon_arms(compiled, target) if kind == "tendon" else None


def _largest_force(compiled: CompiledModel, k: int) -> float:
    """The largest force of an actuator before its gear: from its force range, or a motor's control range."""
    m = compiled.m
    if m.actuator_forcelimited[k]:
        return float(np.abs(m.actuator_forcerange[k]).max())
    control = address(m, "ctrl", k)
    if _is_plain_motor(compiled, k) and not is_plugin(compiled, k) and m.actuator_ctrllimited[control]:
        return abs(float(m.actuator_gainprm[k][0])) * float(np.abs(m.actuator_ctrlrange[control]).max())
    return np.inf


def _is_plain_motor(compiled: CompiledModel, k: int) -> bool:
    """Whether the force is the control times a constant."""
    m = compiled.m
    types = (
        ("mjtDyn", m.actuator_dyntype),
        ("mjtGain", m.actuator_gaintype),
        ("mjtBias", m.actuator_biastype),
    )
    labels = [compiled.label(enumeration, values[k]) for enumeration, values in types]
    return labels == ["none", "fixed", "none"] and not np.any(newer_value(m, "actuator_dampingpoly", k))
