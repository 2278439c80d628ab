"""A study file of a robot that stands on the ground: PD control holds a posture of its joints."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.control.walking.law import WalkingLaw
from kinetree.control.walking.walker import walker_of
from kinetree.errors import InputError
from kinetree.model.contact_point import ContactPoint
from kinetree.model.mechanism import Mechanism
from kinetree.state import independent_axes
from kinetree.study.new_walk import FIRM, NO_OPTIONS, described, mechanism_lines, two_digits

STRONG = 2.0  # kp of the joints, in m g L: more than a robot needs that tips about its ankles
DAMPED = 0.05  # kd of kp (s)


def standing_lines(
    name: str,
    model: str,
    duration: float,
    mechanism: Mechanism,
    feet: Sequence[ContactPoint] = (),
    options: Mapping[str, Any] = NO_OPTIONS,
) -> list[str]:
    """The study; arguments as of :func:`kinetree.study.new_walk.walking_lines`."""
    walker = walker_of(mechanism)
    if walker.is_biped and not walker.has_soles:
        raise InputError(
            f"'{mechanism.name}' cannot stand still on two points, only walk; take the template walk"
        )
    weight = mechanism.mass * walker.gravity
    kp = two_digits(STRONG * weight * walker.leg)
    return [
        f"# {name}: {described(walker)} stands.",
        "# SI units and rad. Every key: kinetree schema --study",
        "# Run it:  kinetree run FILE --report stand.html      look at it:  kinetree show RESULT",
        "[study]",
        'task = "control"',
        f"title = {json.dumps(name)}",
        f"duration = {duration:g}  # s",
        "",
        *mechanism_lines(model, feet, options),
        "[controller]",
        'kind = "pd"  # pulls the joints to the posture; nothing holds the trunk but the legs',
        f"kp = {kp}  # N m/rad",
        f"kd = {two_digits(DAMPED * float(kp))}  # N m s/rad",
        "",
        "[ground]",
        f"stiffness = {two_digits(FIRM * weight / walker.leg)}  # N/m",
        "friction = 0.7",
        "",
        "[trajectory]",
        'kind = "hold"',
        "[trajectory.start]  # rad, m; joints that are not named are at 0",
        *_posture(mechanism),
        "",
        "[output]",
        f"samples = {max(51, round(50 * duration) + 1)}",
        "",
        "[plot]",
        'variables = ["q", "tau", "contact_force"]',
    ]


def _posture(mechanism: Mechanism) -> list[str]:
    """The joints of a state that the mechanism has, or of a stance with bent knees."""
    state = next(iter(mechanism.states.values()), None)
    q: Array = np.asarray(state.q) if state is not None else WalkingLaw().start(mechanism)
    axes = independent_axes(mechanism)
    q = np.clip(q, mechanism.tree.lower[axes], mechanism.tree.upper[axes])  # arms hang at 0, allowed or not
    return [
        f"{json.dumps(name)} = {x:.6g}"
        for name, x in zip(mechanism.joint_names, q, strict=True)
        if abs(x) > 1e-9
    ]
