"""A study file of a robot that walks: feet, ground, speed, with comments that say what may be changed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from kinetree.analysis.legs import Legged, legged
from kinetree.analysis.stance import faces_back
from kinetree.control.walking.law import DEFAULT_SPEED, FASTEST, POINT_FEET_SPEED, WalkingLaw
from kinetree.errors import ModelError
from kinetree.model import zoo
from kinetree.model.contact_point import ContactPoint
from kinetree.model.mechanism import Mechanism
from kinetree.study.new_lines import option_lines, stop_lines

FIRM = 200.0  # stiffness of the ground, in m g / L
DURATION = 5.0  # s
NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


def walking_lines(
    name: str,
    model: str,
    duration: float,
    mechanism: Mechanism,
    feet: Sequence[ContactPoint] = (),
    options: Mapping[str, Any] = NO_OPTIONS,
) -> list[str]:
    """The study; ``feet`` are contact points that the model's file has not, with which the mechanism came.

    ``options`` are those that the model's file is read with.
    """
    walker = legged(mechanism)
    unit = math.sqrt(walker.gravity * walker.leg)
    speed = (DEFAULT_SPEED if walker.has_soles else POINT_FEET_SPEED) * unit
    return [
        f"# {name}: {described(walker)} walks.",
        "# SI units and rad. Every key: kinetree schema --study",
        "# Run it:  kinetree run FILE --report walk.html      look at it:  kinetree show RESULT",
        "[study]",
        'task = "control"',
        f"title = {json.dumps(name)}",
        f"duration = {duration:g}  # s",
        "",
        *mechanism_lines(model, feet, options),
        "[controller]",
        'kind = "walking"',
        f"speed = {speed:.2g}  # m/s; up to {0.2 * unit:.2g} is easy, the most is {FASTEST * unit:.2g}; or",
        f"# speed = [[0, {speed:.2g}], [3, {speed:.2g}], [4, 0]]  # rows [t, speed]: walk, then stop",
        *_direction(walker),
        *([] if walker.is_planar else ['# heading = [[1, 0], [4, "90 deg"]]  # rows [t, heading]']),
        f"# height = 0.88  # of the hips, in leg lengths of {walker.leg:.3g} m; lower bends the knees more",
        "# step_time = 1.5  # in sqrt(height / g); clearance = 0.08: how far feet are lifted, in leg lengths",
        "# limits = 50  # N m; default those of the model, and at most 0.8 m g L",
        "",
        "[ground]",
        f"stiffness = {two_digits(FIRM * mechanism.mass * walker.gravity / walker.leg)}  # N/m",
        "friction = 0.7",
        "",
        *stop_lines(mechanism),
        "[output]",
        f"samples = {max(51, round(50 * duration) + 1)}",
        "",
        "[plot]",
        'variables = ["q", "tau", "ground_force"]',
    ]  # fmt: skip


def gait_lines(
    name: str,
    model: str,
    mechanism: Mechanism,
    feet: Sequence[ContactPoint] = (),
    options: Mapping[str, Any] = NO_OPTIONS,
) -> list[str]:
    """The study of the cheapest gait; arguments as of :func:`walking_lines`."""
    from kinetree.tasks.gaits.schedule import named_schedules

    walker = legged(mechanism)
    known = list(named_schedules(len(walker.feet)))
    unit = math.sqrt(walker.gravity * walker.leg)
    asked = [f"schedule = {json.dumps(known[0])}  # or {', '.join([*known[1:], 'best'])}; hop, jump"]
    if not known:
        each = ", ".join(
            f"{json.dumps(x.body)} = {k / len(walker.feet):.3g}" for k, x in enumerate(walker.feet)
        )
        asked = [f"touchdown = {{ {each} }}  # of the cycle", "duty = 0.75  # of the cycle, on the ground"]
    return [
        f"# {name}: the gait of {described(walker)}.",
        "# SI units and rad. Every key: kinetree schema --study",
        "# Run it:  kinetree run FILE --report gait.html      look at it:  kinetree show RESULT",
        "[study]",
        'task = "gait"',
        f"title = {json.dumps(name)}",
        "",
        *mechanism_lines(model, feet, options),
        "[gait]",
        f"speed = {0.15 * unit:.2g}  # m/s",
        *asked,
        "tracked = 2  # cycles to simulate on the ground, saved as RESULT_tracked.nc",
        f"# clearance = {0.05 * walker.leg:.2g}  # m, of swinging feet at mid-swing",
        "# period = 1.0  # s, of a cycle; default by the length of the legs",
        "",
        "[plot]",
        'variables = ["q", "tau"]',
    ]  # fmt: skip


def mechanism_lines(model: str, feet: Sequence[ContactPoint], options: Mapping[str, Any]) -> list[str]:
    """The table of the mechanism: its file, how that is read, and feet that are added."""
    return [
        "[mechanism]",
        f"{'zoo' if model in zoo.ZOO else 'file'} = {json.dumps(model)}",
        *option_lines(options),
        *_feet(feet),
        "",
    ]


def described(walker: Legged) -> str:
    """What walks, for the first line of the file."""
    feet = "feet" if walker.has_soles else "point feet"
    return f"'{walker.mechanism.name}' with {len(walker.feet)} legs of {walker.leg:.3g} m and {feet}"


def _feet(feet: Sequence[ContactPoint]) -> list[str]:
    if not feet:
        return []
    lines = [
        "",
        "# The file has no contact points at feet. These were found at the ends of its limbs: check.",
    ]
    for point in feet:
        place = ", ".join(f"{x:.5g}" for x in point.position)
        ball = f"radius = {point.radius:g}" if point.radius else ""
        lines += [
            "[[mechanism.contact]]",
            f"name = {json.dumps(point.name)}",
            f"body = {json.dumps(point.body)}",
            f"at = [{place}]  # m",
            *([ball] if ball else []),
            "",
        ]
    return lines[:-1]


def _direction(walker: Legged) -> list[str]:
    """Where a biped walks to that was built facing against x: its knees say so."""
    try:
        start = WalkingLaw().start(walker.mechanism)
    except ModelError:  # running the study says why
        return []
    if not faces_back(walker, start):
        return []
    ahead = ", ".join(f"{x:g}" for x in -walker.axes[0].round(9) + 0.0)
    return [f"forward = [{ahead}]  # its knees bend to this side; default x"]


def two_digits(x: float) -> str:
    """Two digits."""
    digits = math.floor(math.log10(x)) - 1
    return f"{round(x, -digits):g}"
