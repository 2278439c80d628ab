"""Actuators of a compiled MuJoCo model, on joints and fixed tendons: what they add, motors and servos."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kinetree.errors import listed
from kinetree.formats.mjcf_compiled import CompiledModel, address, newer_value
from kinetree.model.actuator import UNLIMITED, Actuator, Range
from kinetree.model.joint import Mimic

GROUPS = 31  # of actuators, that can be switched off by number
LAGS = ("filter", "filterexact")  # dynamics that end where the control is


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


class Arms(NamedTuple):
    """Length l = sum of gear q + shift over joints by number."""

    gears: dict[int, float]
    shift: float = 0.0


def actuators(compiled: CompiledModel, mimics: Mapping[int, Mimic]) -> tuple[list[Actuator], list[int]]:
    """The actuators that a mechanism can hold, and their numbers in MuJoCo; what it cannot is noted."""
    m = compiled.m
    made: list[Actuator] = []
    numbers: list[int] = []
    strange: list[str] = []
    lagging: list[str] = []
    lost: dict[str, list[str]] = {}
    for k in range(len(m.actuator_trntype)):
        name = compiled.name("ACTUATOR", k) or f"actuator{k}"
        reason = _reason_left_out(compiled, k)
        if reason:
            lost.setdefault(reason, []).append(name)
            continue
        arms = transmission(compiled, k)
        kinds = [
            compiled.label(enumeration, values[k])
            for enumeration, values in (
                ("mjtDyn", m.actuator_dyntype),
                ("mjtGain", m.actuator_gaintype),
                ("mjtBias", m.actuator_biastype),
            )
        ]
        plain = kinds[1] == "fixed" and kinds[2] in ("none", "affine") and kinds[0] in ("none", *LAGS)
        bent = arms is not None and any(j in mimics and mimics[j].higher for j in arms.gears)
        if arms is None or bent or not plain or np.any(newer_value(m, "actuator_dampingpoly", k)):
            strange.append(name)
            continue
        if kinds[0] in LAGS:
            lagging.append(name)
        if np.any(newer_value(m, "actuator_delay", k)):
            lost.setdefault("delays of actuators", []).append(name)
        made.append(_actuator(compiled, k, name, independent_arms(compiled, arms, mimics), kinds[2]))
        numbers.append(k)
    if strange:
        compiled.left_out.append(
            f"actuators other than motors and servos on hinges and slides ({listed(strange)})"
        )
    if lagging:
        compiled.left_out.append(f"actuator dynamics ({listed(lagging)})")
    compiled.left_out += [f"{what} ({listed(names)})" for what, names in lost.items()]
    return made, numbers


def is_off(compiled: CompiledModel, k: int) -> bool:
    """Whether an actuator is switched off, alone or with all others."""
    m = compiled.m
    group, off = int(m.actuator_group[k]), int(getattr(m.opt, "disableactuator", 0))
    return not compiled.works("ACTUATION") or (0 <= group < GROUPS and bool(off >> group & 1))


def _reason_left_out(compiled: CompiledModel, k: int) -> str:
    """Why an actuator does not become one here, whatever its parameters, or nothing."""
    if is_off(compiled, k):
        return "actuators that are switched off"
    if is_plugin(compiled, k):
        return "actuators whose force a plugin computes"
    at_site = compiled.label("mjtTrn", compiled.m.actuator_trntype[k]) == "site"
    return "forces of actuators at sites, such as thrusters: drones fall" if at_site else ""


def is_plugin(compiled: CompiledModel, k: int) -> bool:
    """Whether a plugin computes the force of an actuator."""
    return hasattr(compiled.m, "actuator_plugin") and int(compiled.m.actuator_plugin[k]) >= 0


def transmission(compiled: CompiledModel, k: int) -> Arms | None:
    """The joints, by number, that an actuator acts on with constant gears; None if it does otherwise."""
    m = compiled.m
    kind, j = compiled.label("mjtTrn", m.actuator_trntype[k]), int(m.actuator_trnid[k][0])
    gear = float(m.actuator_gear[address(m, "out", k)][0])
    if kind in ("joint", "jointinparent") and compiled.is_scalar(j):
        return Arms({j: gear})
    if kind == "tendon":
        arms = tendon_arms(compiled, j)
        return None if arms is None else Arms({x: gear * c for x, c in arms.items()})
    return None


def tendon_arms(compiled: CompiledModel, t: int) -> dict[int, float] | None:
    """The coefficients of a fixed tendon by number of joint; None for one that runs through space."""
    m = compiled.m
    first = int(m.tendon_adr[t])
    parts = range(first, first + int(m.tendon_num[t]))
    if any(compiled.label("mjtWrap", m.wrap_type[w]) != "joint" for w in parts):
        return None
    arms: dict[int, float] = {}
    for w in parts:
        j = int(m.wrap_objid[w])
        arms[j] = arms.get(j, 0.0) + float(m.wrap_prm[w])
    return arms


def independent_arms(compiled: CompiledModel, arms: Arms, mimics: Mapping[int, Mimic]) -> Arms:
    """The length by joints that move by themselves."""
    numbers = {name: j for j, name in enumerate(compiled.joints)}
    gears: dict[int, float] = {}
    shift = arms.shift
    for j, gear in arms.gears.items():
        mimic = mimics.get(j)
        shift += 0.0 if mimic is None else gear * mimic.offset
        for name, ratio in ((compiled.joints[j], 1.0),) if mimic is None else mimic.leaders:
            gears[numbers[name]] = gears.get(numbers[name], 0.0) + gear * ratio
    return Arms(gears, shift)


def _actuator(compiled: CompiledModel, k: int, name: str, arms: Arms, bias: str) -> Actuator:
    """Force = gain u + b0 + b1 l + b2 dl/dt, within its range."""
    m = compiled.m
    b0, b1, b2 = (float(x) for x in m.actuator_biasprm[k][:3]) if bias == "affine" else (0.0, 0.0, 0.0)
    control = address(m, "ctrl", k)
    works = compiled.works("CLAMPCTRL")
    return Actuator(
        name,
        tuple((compiled.joints[j], gear) for j, gear in arms.gears.items()),
        float(m.actuator_gainprm[k][0]),
        b0 + b1 * arms.shift,
        0.0 - b1,
        0.0 - b2,
        _range(m.actuator_forcerange[k]) if m.actuator_forcelimited[k] else UNLIMITED,
        _range(m.actuator_ctrlrange[control]) if m.actuator_ctrllimited[control] and works else UNLIMITED,
    )


def _range(ends: object) -> Range:
    low, high = (float(x) for x in ends)  # type: ignore[attr-defined]
    return low, high
