"""Tendons of a compiled MuJoCo model.

A fixed tendon has the length l = sum of coefficients times joint coordinates. What it does to one joint
alone is part of that joint. One of several joints becomes a massless body that slides by l and follows them:
its spring, damping, friction, limits and armature are those of its joint. A straight tendon between two
sites with a spring or damper becomes a spring; the rest is noted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import frozen
from kinetree.errors import listed
from kinetree.formats.mjcf_actuators import Arms, independent_arms, tendon_arms
from kinetree.formats.mjcf_compiled import CompiledModel, is_soft, newer_value
from kinetree.model.body import WORLD, Body
from kinetree.model.joint import Joint, Mimic
from kinetree.model.mechanism import Link
from kinetree.model.spring import Spring


class OneJoint(NamedTuple):
    """What fixed tendons do to a joint alone: numbers to be added, the moment of their springs at q = 0."""

    stiffness: float = 0.0
    moment: float = 0.0
    viscous: float = 0.0
    coulomb: float = 0.0
    armature: float = 0.0
    lower: float = -np.inf
    upper: float = np.inf

    def on(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """The parameters of a joint with these."""
        k = parameters["stiffness"] + self.stiffness
        rest = (parameters["stiffness"] * parameters["rest"] + self.moment) / k if self.stiffness else None
        added = {key: parameters[key] + getattr(self, key) for key in ("viscous", "coulomb", "armature")}
        added |= {"stiffness": k} | ({} if rest is None else {"rest": rest})
        lower, upper = max(parameters["lower"], self.lower), min(parameters["upper"], self.upper)
        return parameters | added | {"lower": lower, "upper": upper}


@dataclass
class Tendons:
    """Springs between bodies, additions to joints by number, and links of tendons of several joints."""

    springs: list[Spring]
    of_joint: dict[int, OneJoint]
    links: list[Link]


def tendons(compiled: CompiledModel, mimics: dict[int, Mimic], has_loops: bool) -> Tendons:
    """What tendons do, as far as a mechanism can hold it; the rest is listed as left out."""
    found, lost = Tendons([], {}, []), dict[str, list[str]]()
    for t in range(compiled.m.ntendon):
        name = compiled.name("TENDON", t) or f"tendon {t}"
        arms = tendon_arms(compiled, t)
        if arms is None:
            left = _spatial(compiled, t, name, found)
        else:
            left = _fixed(compiled, t, name, arms, mimics, has_loops, found)
        for part in left:
            lost.setdefault(f"{part} of {'spatial' if arms is None else 'fixed'} tendons", []).append(name)
    compiled.left_out += [f"{what} ({listed(names, 4)})" for what, names in lost.items()]
    return found


def _acting(compiled: CompiledModel, t: int) -> list[str]:
    """What a tendon has: stiffness, damping, ..."""
    m = compiled.m
    own = {
        "stiffness": m.tendon_stiffness,
        "damping": m.tendon_damping,
        "friction": m.tendon_frictionloss,
        "limits": m.tendon_limited,
        "armature": getattr(m, "tendon_armature", np.zeros(m.ntendon)),
        "force ranges of actuators": getattr(m, "tendon_actfrclimited", np.zeros(m.ntendon)),
    }
    return [part for part, values in own.items() if np.any(values[t])]


def _fixed(
    compiled: CompiledModel,
    t: int,
    name: str,
    arms: dict[int, float],
    mimics: dict[int, Mimic],
    has_loops: bool,
    found: Tendons,
) -> list[str]:
    """Note what a fixed tendon does; the parts of it that no joint can hold."""
    m = compiled.m
    left = ["force ranges of actuators"] if np.any(newer_value(m, "tendon_actfrclimited", t)) else []
    if any(np.any(newer_value(m, array, t)) for array in ("tendon_stiffnesspoly", "tendon_dampingpoly")):
        left.append("nonlinear spring or damping")
    rest = [float(x) for x in m.tendon_lengthspring[t]]
    is_sprung = bool(m.tendon_stiffness[t]) and compiled.works("SPRING", "PASSIVE")
    if is_sprung and rest[0] != rest[1]:
        left.append("dead band of the spring")
        is_sprung = False
    limited = bool(m.tendon_limited[t]) and compiled.works("LIMIT", "CONSTRAINT")
    if limited and is_soft(m.tendon_solref_lim[t]):
        left.append("softness of limits")
    values: dict[str, Any] = {
        "stiffness": float(m.tendon_stiffness[t]) if is_sprung else 0.0,
        "viscous": float(m.tendon_damping[t]) if compiled.works("DAMPER", "PASSIVE") else 0.0,
        "coulomb": float(m.tendon_frictionloss[t]) if compiled.works("FRICTIONLOSS", "CONSTRAINT") else 0.0,
        "armature": float(newer_value(m, "tendon_armature", t)),
        "lower": float(m.tendon_range[t][0]) if limited else -np.inf,
        "upper": float(m.tendon_range[t][1]) if limited else np.inf,
    }
    moving = {j: arm for j, arm in arms.items() if arm != 0.0}
    if not moving or not (
        any(values[key] for key in ("stiffness", "viscous", "coulomb", "armature")) or limited
    ):
        return left
    if len(moving) == 1:
        ((j, arm),) = moving.items()
        return left + _add_to_joint(compiled, j, arm, values, rest[0], found)
    if any(mimics[j].higher for j in moving if j in mimics):
        return _acting(compiled, t)
    length = independent_arms(compiled, Arms(moving), mimics)
    leaders = [(compiled.joints[j], gear) for j, gear in length.gears.items() if gear != 0.0]
    if not leaders or (has_loops and len(leaders) > 1):
        return _acting(compiled, t) if leaders else left
    (leader, ratio), *others = leaders
    joint = Joint.of_kind(
        compiled.new_joint(name),
        "prismatic",
        axis="x",
        mimic=Mimic(leader, ratio, length.shift, others=tuple(others)),
        driven=False,
        rest=rest[0] if is_sprung else 0.0,
        **values,
    )
    found.links.append(Link(Body(compiled.new_body(name)), joint, WORLD))
    return left


def _add_to_joint(
    compiled: CompiledModel, j: int, arm: float, values: dict[str, float], rest: float, found: Tendons
) -> list[str]:
    """Add what a tendon does to a joint alone; its limits, unless they leave no position."""
    m, before = compiled.m, found.of_joint.get(j, OneJoint())
    ends = sorted((values["lower"] / arm, values["upper"] / arm))
    lower, upper = max(before.lower, ends[0]), min(before.upper, ends[1])
    limited = bool(m.jnt_limited[j]) and compiled.works("LIMIT", "CONSTRAINT")
    own = m.jnt_range[j] if limited else (-np.inf, np.inf)
    clash = max(lower, float(own[0])) > min(upper, float(own[1]))
    found.of_joint[j] = OneJoint(
        before.stiffness + values["stiffness"] * arm**2,
        before.moment + values["stiffness"] * arm * rest,
        before.viscous + values["viscous"] * arm**2,
        before.coulomb + values["coulomb"] * abs(arm),
        before.armature + values["armature"] * arm**2,
        before.lower if clash else lower,
        before.upper if clash else upper,
    )
    return ["limits, which leave no position,"] if clash else []


def _spatial(compiled: CompiledModel, t: int, name: str, found: Tendons) -> list[str]:
    """Note the spring of a straight tendon; what else a tendon through space does."""
    m = compiled.m
    first = int(m.tendon_adr[t])
    kinds = [compiled.label("mjtWrap", m.wrap_type[w]) for w in range(first, first + int(m.tendon_num[t]))]
    spring = None if kinds != ["site", "site"] else _spring(compiled, t, name)
    if spring is None:
        return _acting(compiled, t)
    found.springs.append(spring)
    return [part for part in _acting(compiled, t) if part not in ("stiffness", "damping")]


def _spring(compiled: CompiledModel, t: int, name: str) -> Spring | None:
    """The spring and damper of a straight tendon; None if it has none, or a slack one."""
    m = compiled.m
    stiffness, damping = float(m.tendon_stiffness[t]), float(m.tendon_damping[t])
    low, high = (float(x) for x in m.tendon_lengthspring[t])
    first = int(m.tendon_adr[t])
    sites = [int(m.wrap_objid[w]) for w in (first, first + 1)]
    bodies = [compiled.bodies[int(m.site_bodyid[s])] for s in sites]
    works = compiled.works("SPRING", "PASSIVE"), compiled.works("DAMPER", "PASSIVE")
    stiffness, damping = stiffness * works[0], damping * works[1]
    polynomial = any(
        np.any(newer_value(m, array, t)) for array in ("tendon_stiffnesspoly", "tendon_dampingpoly")
    )
    if polynomial or bodies[0] == bodies[1] or not (stiffness or damping) or (stiffness and low != high):
        return None
    points = [frozen(m.site_pos[s]) for s in sites]
    return Spring(name, bodies[0], bodies[1], points[0], points[1], stiffness, damping, low)
