"""Tendons of a compiled MuJoCo model: straight ones with a spring or damper as springs; the rest is noted."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import frozen
from kinetree.errors import listed
from kinetree.formats.mjcf_compiled import CompiledModel, newer_value
from kinetree.model.spring import Spring


def tendon_springs(compiled: CompiledModel) -> list[Spring]:
    """Springs of straight tendons between two sites; what other tendons do is listed as left out."""
    m = compiled.m
    lost: dict[str, list[str]] = {}
    springs = []
    for t in range(m.ntendon):
        name = compiled.name("TENDON", t) or f"tendon {t}"
        first = int(m.tendon_adr[t])
        kinds = [
            compiled.label("mjtWrap", m.wrap_type[w]) for w in range(first, first + int(m.tendon_num[t]))
        ]
        fixed = all(kind == "joint" for kind in kinds)
        own = {
            "stiffness": m.tendon_stiffness,
            "damping": m.tendon_damping,
            "friction": m.tendon_frictionloss,
            "limits": m.tendon_limited,
            "armature": getattr(m, "tendon_armature", np.zeros(m.ntendon)),
        }
        acting = [part for part, values in own.items() if np.any(values[t])]
        spring = None if fixed or kinds != ["site", "site"] else _spring(compiled, t, name)
        if spring is not None:
            springs.append(spring)
            acting = [part for part in acting if part not in ("stiffness", "damping")]
        for part in acting:
            lost.setdefault(f"{part} of {'fixed tendons' if fixed else 'spatial tendons'}", []).append(name)
    compiled.left_out += [f"{what} ({listed(names, 4)})" for what, names in lost.items()]
    return springs


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
