"""A mechanism as plain tables, for programs that read what ``kinetree info --json`` prints."""

from __future__ import annotations

import math
from typing import Any

from kinetree.dynamics.loops.structure import structure, subsystems
from kinetree.errors import AssemblyError, InputError
from kinetree.model.mechanism import Link, Mechanism
from kinetree.model.spring import Spring

LIMITS = ("lower", "upper", "velocity_limit", "effort_limit")


def mechanism_facts(mechanism: Mechanism) -> dict[str, Any]:
    """Names, tree, joints with limits (None: none), modules, loops, springs, contact points; SI units.

    >>> import kinetree as kt
    >>> mechanism_facts(kt.zoo.four_bar())["mobility"]
    1
    """
    closed = _closed(mechanism)
    return {
        "name": mechanism.name,
        "n_bodies": mechanism.n_bodies,
        "n_dof": mechanism.n_dof,
        "mobility": closed["mobility"],
        "mass": mechanism.mass,
        "gravity": mechanism.gravity.tolist(),
        "bodies": [_body(link) for link in mechanism.links],
        "joints": [joint for link in mechanism.links for joint in _joints(link)],
        "modules": [
            {"number": x.number, "bodies": list(x.bodies), "parent": x.parent} for x in mechanism.modules
        ],
        "loops": [
            {"name": x.name, "kind": x.joint.kind, "a": x.body_a, "b": x.body_b} for x in mechanism.loops
        ],
        "closed": closed,
        "springs": [_spring(x) for x in mechanism.springs],
        "contact_points": [
            {"name": x.name, "body": x.body, "at": x.position.tolist()} for x in mechanism.contact_points
        ],
    }


def _body(link: Link) -> dict[str, Any]:
    inertia = link.body.inertia
    return {
        "name": link.body.name,
        "parent": link.parent,
        "joint": link.joint.name,
        "kind": link.joint.kind,
        "mass": inertia.mass,
        "center": inertia.center.tolist(),
    }


def _joints(link: Link) -> list[dict[str, Any]]:
    joint = link.joint
    return [
        {
            "name": name,
            "kind": joint.kind,
            "axis": joint.axes[k].tolist(),
            "unit": "rad" if joint.turns[k] else "m",
            **{key: _finite(getattr(joint, key)[k]) for key in LIMITS},
            "follows": None if joint.mimic is None else ", ".join(x for x, _ in joint.mimic.leaders),
        }
        for k, name in enumerate(joint.dof_names)
    ]


def _spring(spring: Spring) -> dict[str, Any]:
    numbers = {key: getattr(spring, key) for key in ("stiffness", "damping", "rest", "turn_damping")}
    return {"name": spring.name, "a": spring.body_a, "b": spring.body_b, **numbers}


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _closed(mechanism: Mechanism) -> dict[str, Any]:
    """What the loops leave; mobility None where they cannot be closed."""
    driven = [name for name, flag in zip(mechanism.joint_names, mechanism.driven, strict=True) if flag]
    try:
        found = structure(mechanism)
    except AssemblyError:
        return {"mobility": None, "driven": driven}
    try:
        parts = subsystems(mechanism) if mechanism.loops else ()
    except InputError:  # more or fewer drives than freedoms
        parts = ()
    return {
        "mobility": found.mobility,
        "rows": found.rows,
        "redundant": found.redundant,
        "independent": list(found.independent),
        "driven": driven,
        "subsystems": [
            {
                "joints": list(x.joints),
                "drives": list(x.drives),
                "loops": list(x.loops),
                "unknowns": x.unknowns,
                "after": list(x.after),
            }
            for x in parts
        ],
    }
