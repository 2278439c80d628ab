"""A study file of a robot that stands on the ground: PD control holds a posture of its joints."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.energy import center_of_mass
from kinetree.analysis.inverse_kinematics import inverse_kinematics
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.analysis.legs import Legged, legged
from kinetree.analysis.targets import Target
from kinetree.control.walking.law import WalkingLaw
from kinetree.errors import InputError, KinetreeError
from kinetree.model.contact_point import ContactPoint
from kinetree.model.mechanism import Mechanism
from kinetree.simulation.standing import standing
from kinetree.simulation.step_inputs import check_supported
from kinetree.state import independent_axes
from kinetree.study.new_lines import stop_lines
from kinetree.study.new_walk import FIRM, NO_OPTIONS, described, mechanism_lines, two_digits

STRONG = 2.0  # kp of the joints, in m g L: more than a robot needs that tips about its ankles
DAMPED = 0.05  # kd of kp (s)
HELD = 20.0  # kp of joints that are not in legs, in what the weight beyond them can turn them with
SHORTEST = 0.05  # m: the least lever of that weight
LIGHTEST = 1e-4  # the least kp, in that of legs
ROOM = 0.1  # rad, m: from a limit to the posture, or a quarter of the range
CLOSE = 0.03  # rad, m from a limit at which a stance with straighter legs is taken
EDGE = 0.6  # of half of a sole, from its middle, at which a center of mass is near its end
HEIGHTS = (0.88, 0.92, 0.96)  # of the hips, in leg lengths


def standing_lines(
    name: str,
    model: str,
    duration: float,
    mechanism: Mechanism,
    feet: Sequence[ContactPoint] = (),
    options: Mapping[str, Any] = NO_OPTIONS,
) -> list[str]:
    """The study; arguments as of :func:`kinetree.study.new_walk.walking_lines`."""
    walker = legged(mechanism)
    if walker.is_biped and not walker.has_soles:
        raise InputError(
            f"'{mechanism.name}' cannot stand still on two points, only walk; take the template walk"
        )
    weight = mechanism.mass * walker.gravity
    q = _posture(mechanism, walker)
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
        *_gains(mechanism, walker, q, STRONG * weight * walker.leg),
        "",
        *_ground_lines(mechanism, f"{two_digits(FIRM * weight / walker.leg)}"),
        "[trajectory]",
        'kind = "hold"',
        "[trajectory.start]  # rad, m; joints that are not named are at 0",
        *(
            f"{json.dumps(name)} = {x:.6g}"
            for name, x in zip(mechanism.joint_names, q, strict=True)
            if abs(x) > 1e-9
        ),
        "",
        "[output]",
        f"samples = {max(51, round(50 * duration) + 1)}",
        "",
        "[plot]",
        'variables = ["q", "tau", "ground_force"]',
    ]


def _ground_lines(mechanism: Mechanism, stiffness: str) -> list[str]:
    """Rigid ground, on which feet stick and joints stop at their limits, where steps know the mechanism."""
    try:
        check_supported(mechanism)
    except KinetreeError:
        soil = ["[ground]", f"stiffness = {stiffness}  # N/m", "friction = 0.7", ""]
        return [*soil, *stop_lines(mechanism)]
    return [
        "[ground]",
        'contact = "rigid"  # feet do not creep, joints stop at their limits; "soil": springs and dampers',
        "friction = 0.7",
        "",
    ]


def _gains(mechanism: Mechanism, walker: Legged, q: Array, strong: float) -> list[str]:
    """Gains of the legs; of arms and heads, if there are any, only what the weight beyond them needs."""
    legs = {name for foot in walker.feet for name in foot.joints}
    base = set(mechanism.joint_names[: walker.n_base])
    loads = _loads(mechanism, q, walker.gravity)
    kp = {
        name: float(two_digits(max(min(HELD * load, strong), LIGHTEST * strong)))
        for name, load in zip(mechanism.joint_names, loads, strict=True)
        if name not in legs | base
    }
    legs_kp = float(two_digits(strong))
    if not kp:
        return [f"kp = {two_digits(strong)}  # N m/rad", f"kd = {two_digits(DAMPED * legs_kp)}  # N m s/rad"]
    every = {name: kp.get(name, legs_kp) for name in mechanism.joint_names if name not in base}
    return [
        "[controller.kp]  # N m/rad, N/m; joints outside the legs: from the weight that they hold",
        *(f"{json.dumps(name)} = {x:g}" for name, x in every.items()),
        "[controller.kd]  # N m s/rad, N s/m",
        *(f"{json.dumps(name)} = {two_digits(DAMPED * x)}" for name, x in every.items()),
    ]


def _loads(mechanism: Mechanism, q: Array, gravity: float) -> Array:
    """What the weight beyond each coordinate could turn it with at most, (n_dof,) (N m)."""
    pose = forward_kinematics(mechanism, q)
    number = {link.body.name: k for k, link in enumerate(mechanism.links)}
    mass = np.array([link.body.inertia.mass for link in mechanism.links])
    center = np.array([link.body.inertia.center for link in mechanism.links])
    first = mass[:, None] * (pose.position + (pose.rotation @ center[..., None])[..., 0])
    for k in range(len(mechanism.links) - 1, -1, -1):
        parent = number.get(mechanism.links[k].parent)
        if parent is not None:
            mass[parent], first[parent] = mass[parent] + mass[k], first[parent] + first[k]
    loads: dict[str, float] = {}
    for k, link in enumerate(mechanism.links):
        lever = np.linalg.norm(first[k] - mass[k] * pose.position[k])
        loads |= dict.fromkeys(link.joint.dof_names, gravity * max(lever, SHORTEST * mass[k]))
    return np.array([loads[name] for name in mechanism.joint_names])


def _balanced(mechanism: Mechanism, walker: Legged, q: Array) -> Array:
    """The stance of a biped; over the middle of its soles, if its center of mass is near their ends."""
    if not walker.is_biped or walker.is_planar:
        return q
    pose, ahead = forward_kinematics(mechanism, q), walker.axes[0]
    numbers = [mechanism.body_index(foot.body) for foot in walker.feet]
    targets = [
        Target(foot.body, position=pose.position[k], orientation=pose.rotation[k])
        for foot, k in zip(walker.feet, numbers, strict=True)
    ]
    soles = [
        foot.points @ pose.rotation[k].T + pose.position[k]
        for foot, k in zip(walker.feet, numbers, strict=True)
    ]
    ends = np.concatenate(soles) @ ahead
    legs = {name for foot in walker.feet for name in foot.joints}
    frozen = [name for name in mechanism.joint_names if name not in legs]
    slide = np.linalg.pinv(walker.slides)[:, 0]
    for _ in range(3):
        away = float(ahead @ center_of_mass(mechanism, q)) - 0.5 * float(ends.min() + ends.max())
        if abs(away) < EDGE * 0.5 * float(np.ptp(ends)):
            break
        start = q.copy()
        start[: walker.n_base] -= away * slide
        found = inverse_kinematics(mechanism, targets, start, frozen=frozen, strict=False)
        if not np.all(found.converged):
            break
        q = found.q
    return q


def _posture(mechanism: Mechanism, walker: Legged) -> Array:
    """A state that the mechanism has, or a stance with bent knees, (n_dof,), with room to limits."""
    axes = independent_axes(mechanism)
    lower, upper = mechanism.tree.lower[axes], mechanism.tree.upper[axes]
    state = next(iter(mechanism.states.values()), None)
    if state is not None:
        return standing(mechanism, np.clip(state.q, lower, upper))
    legs = [mechanism.joint_index(name) for foot in walker.feet for name in foot.joints]
    found = []
    for height in HEIGHTS:
        try:
            found.append(WalkingLaw(height=height).start(mechanism))
        except KinetreeError:
            if height == HEIGHTS[-1] and not found:
                raise
            continue
        room = np.minimum(found[-1] - lower, upper - found[-1])[legs]
        if room.min() > CLOSE:
            break
    q = _balanced(mechanism, walker, found[-1] if room.min() > CLOSE else found[0])
    others = np.ones(mechanism.n_dof, dtype=bool)
    others[legs] = False  # arms hang at 0, allowed or not
    gap = np.minimum(ROOM, 0.25 * (upper - lower))
    return np.where(others, np.clip(q, lower + gap, upper - gap), np.clip(q, lower, upper))
