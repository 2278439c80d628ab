"""Mechanisms that can exist and yet look wrong: degrees for radians, millimeters for meters, odd inertias."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.model.body import WORLD
from kinetree.model.joint import Joint
from kinetree.model.mechanism import EARTH, Link, Mechanism
from kinetree.model.muscle import PathPoint

FULL_TURN = 2.0 * np.pi
MANY_TURNS = 4.0 * FULL_TURN
FAST = 60.0  # rad/s: faster than the joints of robots turn
LONGEST_LINK = 10.0  # m
HEAVIEST_SPACE = 1e5  # kg per cubed size of a body; a steel cube has 7850
SMALLEST_PART = 0.01  # of its size: a radius of gyration below is that of no link
LARGEST_PART = 1.5  # of its size: a radius of gyration above is that of matter outside the body
FLAT = 1e-3  # closeness to the triangle inequality that only a sheet of no thickness has
CLOSE_TO_LOCK = 0.1  # rad from gimbal lock


class Suspicion(NamedTuple):
    """A rule, what it is about ("body", "joint", "loop", "contact" or "mechanism") and its name, the key."""

    rule: str
    kind: str
    name: str
    key: str
    message: str


def suspicions(mechanism: Mechanism) -> list[Suspicion]:
    """All that looks wrong with a mechanism.

    >>> import kinetree as kt
    >>> arm = kt.Builder("arm")
    >>> _ = arm.world.revolute("elbow", upper=90.0).body("fore", kt.Inertia.rod(1.0, end=(0.4, 0, 0)))
    >>> [x.rule for x in suspicions(arm.build())]
    ['degrees-as-radians']
    """
    return [found for rule in RULES for found in rule(mechanism)]


def looks_like_degrees(angle: float) -> bool:
    """Whether a number is more than a turn in rad, and a round number of degrees or many turns.

    >>> looks_like_degrees(90.0), looks_like_degrees(1.57), looks_like_degrees(6.5)
    (True, False, False)
    """
    if not np.isfinite(angle) or abs(angle) <= FULL_TURN:
        return False
    return abs(angle) > MANY_TURNS or abs(angle / 5.0 - round(angle / 5.0)) < 1e-9


def euler_distance(joint: Joint, q: Array) -> float | None:
    """How far (rad) the middle angle of a joint with three turns is from gimbal lock at q (n_dof,)."""
    if not joint.has_three_turns:
        return None
    a, b, c = joint.axes[-3:]
    if abs(a @ b) > 1e-9 or abs(b @ c) > 1e-9:
        return None
    locked = 0.0 if abs(a @ c) > 0.5 else 0.5 * np.pi  # proper Euler angles lock at 0, Cardan's at 90 deg
    return float(abs((q[-2] - locked + 0.5 * np.pi) % np.pi - 0.5 * np.pi))


# ---- units ----------------------------------------------------------------------------------------------


def _degrees(mechanism: Mechanism) -> Iterator[Suspicion]:
    for link in mechanism.links:
        joint = link.joint
        turning = np.array(joint.turns, dtype=bool)
        for key in ("lower", "upper", "rest"):
            for x in getattr(joint, key)[turning]:
                if looks_like_degrees(x):
                    message = f"joint '{joint.name}': {key} = {x:g} rad is {abs(x) / FULL_TURN:.3g} turns"
                    yield Suspicion(
                        "degrees-as-radians", "joint", joint.name, key,
                        f'{message}; if degrees are meant, write "{x:g} deg" (URDF: {np.radians(x):.6g})',
                    )  # fmt: skip
        rolls = not np.isfinite([joint.lower, joint.upper]).any()  # wheels and rotors are fast
        for x in () if rolls else joint.velocity_limit[turning]:
            if np.isfinite(x) and x > FAST and looks_like_degrees(x):
                yield Suspicion(
                    "degrees-as-radians", "joint", joint.name, "velocity_limit",
                    f"joint '{joint.name}': velocity_limit = {x:g} rad/s is {60 * x / FULL_TURN:.0f} turns a "
                    f"minute; {x:g} deg/s are {np.radians(x):.6g} rad/s",
                )  # fmt: skip


def _millimetres(mechanism: Mechanism) -> Iterator[Suspicion]:
    for link in mechanism.links:
        joint, body = link.joint, link.body
        lengths = [
            ("joint", joint.name, "at", "sits", link.placement.position),
            ("body", body.name, "center", "has its center of mass", body.inertia.center),
        ]
        for kind, name, key, words, vector in lengths:
            distance = float(np.linalg.norm(vector))
            if distance > LONGEST_LINK:
                yield Suspicion(
                    "millimeters-as-meters", kind, name, key,
                    f"{kind} '{name}' {words} {distance:g} m away; if millimeters are meant, write "
                    f"{distance / 1000:g}",
                )  # fmt: skip
        for x in [*joint.lower, *joint.upper] if joint.is_slide else ():
            if np.isfinite(x) and abs(x) > LONGEST_LINK:
                yield Suspicion(
                    "millimeters-as-meters", "joint", joint.name, "lower" if x < 0 else "upper",
                    f"joint '{joint.name}' translates to {x:g} m; if millimeters are meant, write "
                    f"{x / 1000:g}",
                )  # fmt: skip


def _grams(mechanism: Mechanism) -> Iterator[Suspicion]:
    for link, size in _sized(mechanism):
        mass = link.body.inertia.mass
        size = max(size, 3.0 * _radius_of_gyration(link))
        if 0.0 < size < LONGEST_LINK and mass > max(1.0, HEAVIEST_SPACE * size**3):
            yield Suspicion(
                "grams-as-kilograms", "body", link.body.name, "mass",
                f"body '{link.body.name}' has {mass:g} kg in a size of {size:.3g} m, denser than any metal; "
                f"if grams are meant, write {mass / 1000:g}",
            )  # fmt: skip


def _gravity(mechanism: Mechanism) -> Iterator[Suspicion]:
    size, shown = float(np.linalg.norm(mechanism.gravity)), mechanism.gravity.tolist()
    usual = f"on Earth it is {list(EARTH)}"
    message = None
    if size == 0.0:
        message = f"gravity is zero; {usual}"
    elif size > 30.0 or size < 1.0:
        message = f"gravity {shown} has a size of {size:g} m/s^2; {usual}"
    elif mechanism.gravity[2] > 0.99 * size:
        message = f"gravity {shown} points up, along +z; {usual}"
    if message is not None:
        yield Suspicion("odd-gravity", "mechanism", mechanism.name, "gravity", message)


# ---- masses ---------------------------------------------------------------------------------------------


def inertia_suspicions(mechanism: Mechanism) -> Iterator[Suspicion]:
    """Unphysical inertias, or inertias that do not fit the body's size and mass."""
    for link, size in _sized(mechanism):
        name, inertia = link.body.name, link.body.inertia
        if inertia.mass == 0.0 or not inertia.moment.any():
            continue
        small, middle, large = np.linalg.eigvalsh(inertia.moment)
        if large > (small + middle) * (1.0 + 1e-9):
            yield Suspicion(
                "unphysical-inertia", "body", name, "inertia",
                f"body '{name}': principal moments {small:.4g}, {middle:.4g}, {large:.4g} kg m^2 violate the "
                "triangle inequality, which was allowed",
            )  # fmt: skip
        elif small > FLAT * large and large > (small + middle) * (1.0 - FLAT):
            yield Suspicion(
                "flat-inertia", "body", name, "inertia",
                f"body '{name}': of the principal moments {small:.4g}, {middle:.4g}, {large:.4g} kg m^2 the "
                f"largest is the sum of the others, as for an infinitely thin plate",
            )  # fmt: skip
        radius = _radius_of_gyration(link)
        if any(shape.kind == "mesh" for shape in link.body.shapes):  # of unknown size: as water
            size = max(size, 2.0 * (inertia.mass / 1000.0) ** (1 / 3))
        if size > 0.0 and not SMALLEST_PART * size <= radius <= LARGEST_PART * size:
            word = "larger" if radius > size else "smaller"
            yield Suspicion(
                "inertia-does-not-fit", "body", name, "inertia",
                f"body '{name}' of {inertia.mass:g} kg has a radius of gyration of {radius:.3g} m, much "
                f"{word} than its size of {size:.3g} m; inertia is in kg m^2 about the center of mass",
            )  # fmt: skip


def _massless(mechanism: Mechanism) -> Iterator[Suspicion]:
    """Joints that move nothing that has mass, so that forward dynamics has no answer."""
    carried = {link.body.name: not link.body.inertia.is_zero for link in mechanism.links}
    for link in reversed(mechanism.links):
        if carried[link.body.name] and link.parent != WORLD:
            carried[link.parent] = True
    for link in mechanism.links:
        joint = link.joint
        if (
            joint.n_dof
            and joint.mimic is None
            and not carried[link.body.name]
            and not (joint.armature > 0).all()
        ):
            yield Suspicion(
                "massless-leaf", "body", link.body.name, "mass",
                f"joint '{joint.name}' moves body '{link.body.name}' and no mass, so forward dynamics "
                f"is singular; give the body a mass, or the joint an armature",
            )  # fmt: skip


# ---- joints ---------------------------------------------------------------------------------------------


def _limits(mechanism: Mechanism) -> Iterator[Suspicion]:
    for link in mechanism.links:
        joint = link.joint
        for k, dof in enumerate(joint.dof_names):
            low, high, rest = joint.lower[k], joint.upper[k], joint.rest[k]
            if low == high:
                message = (
                    f"joint '{dof}' cannot move: both of its limits are {low:g}; a weld is kind = \"fixed\""
                )
                yield Suspicion("no-room-to-move", "joint", joint.name, "lower", message)
            elif joint.stiffness[k] > 0 and not low <= rest <= high:
                message = (
                    f"joint '{dof}': its spring rests at {rest:g}, outside of its limits {low:g} to {high:g}"
                )
                yield Suspicion("rest-outside-limits", "joint", joint.name, "rest", message)


def _same_axes(mechanism: Mechanism) -> Iterator[Suspicion]:
    """Two joints of one degree of freedom that do the same: a link of no length, but for telescopes."""
    links = {link.body.name: link for link in mechanism.links}
    for link in mechanism.links:
        parent = links.get(link.parent)
        if parent is None or link.joint.kind != parent.joint.kind:
            continue
        if link.joint.n_dof != 1:
            continue
        before, axis = parent.joint.axes[0], link.placement.rotation @ link.joint.axes[0]
        parallel = _distance(axis, before) < 1e-9
        telescope = link.joint.is_slide and np.isfinite([link.joint.upper, parent.joint.upper]).all()
        if (
            parallel
            and not telescope
            and (link.joint.is_slide or _distance(link.placement.position, before) < 1e-9)
        ):
            yield Suspicion(
                "zero-length-link", "joint", link.joint.name, "at",
                f"joint '{link.joint.name}' has the same axis as '{parent.joint.name}' before it: link "
                f"'{link.parent}' has no length between them, so they are redundant",
            )  # fmt: skip


def _distance(point: Array, axis: Array) -> float:
    """Of a point (3,) from the line through the origin along a unit axis (3,)."""
    return float(np.linalg.norm(point - (point @ axis) * axis))


def _locked_at_zero(mechanism: Mechanism) -> Iterator[Suspicion]:
    for link in mechanism.links:
        distance = euler_distance(link.joint, np.zeros(link.joint.n_dof))
        if distance is not None and distance < CLOSE_TO_LOCK:
            yield Suspicion(
                "gimbal-lock-at-zero", "joint", link.joint.name, "sequence",
                f"joint '{link.joint.name}' with the sequence {link.joint.sequence} is in gimbal lock at "
                "q = 0; start elsewhere or choose a sequence of three different axes, such as YXZ",
            )  # fmt: skip


# ---- loops and contacts ---------------------------------------------------------------------------------


def _useless(mechanism: Mechanism) -> Iterator[Suspicion]:
    """Loops, springs and contact points that can never matter."""
    rigid = {WORLD: WORLD}
    for link in mechanism.links:
        rigid[link.body.name] = link.body.name if link.joint.n_dof else rigid[link.parent]
    for loop in mechanism.loops:
        if rigid[loop.body_a] == rigid[loop.body_b]:
            message = f"loop '{loop.name}' ties '{loop.body_a}' to '{loop.body_b}', which are welded together"
            yield Suspicion("unused-loop", "loop", loop.name, "a", message)
    for spring in mechanism.springs:
        if rigid[spring.body_a] == rigid[spring.body_b]:
            ends = f"'{spring.body_a}' to '{spring.body_b}'"
            message = f"spring '{spring.name}' ties {ends}, which are welded together"
            yield Suspicion("unused-spring", "spring", spring.name, "a", message)
    for point in mechanism.contact_points:
        if rigid[point.body] == WORLD:
            message = f"contact point '{point.name}' is on '{point.body}', which is fixed to the world"
            yield Suspicion("unused-contact", "contact", point.name, "body", message)


def _muscles(mechanism: Mechanism) -> Iterator[Suspicion]:
    """Muscles whose length cannot change, and points inside what the path should wrap around."""
    rigid, wraps = {WORLD: WORLD}, {wrap.name: wrap for wrap in mechanism.wraps}
    for link in mechanism.links:
        rigid[link.body.name] = link.body.name if link.joint.n_dof else rigid[link.parent]
    for muscle in mechanism.muscles:
        moves = any(not isinstance(point, PathPoint) for point in muscle.path)
        if not moves and len({rigid[body] for body in muscle.bodies}) == 1:
            message = f"muscle '{muscle.name}' has a path on bodies that are welded together"
            yield Suspicion("unused-muscle", "muscle", muscle.name, "path", message)
        for use in muscle.wraps:
            wrap = wraps[use.wrap]
            for k in muscle.span(use):
                point = muscle.path[k]
                if not isinstance(point, PathPoint) or point.body != wrap.body:
                    continue
                if wrap.encloses(np.array(point.position)):
                    message = (
                        f"muscle '{muscle.name}': point {k} of its path is inside the wrap '{wrap.name}'"
                    )
                    yield Suspicion("path-inside-wrap", "muscle", muscle.name, "path", message)


def _radius_of_gyration(link: Link) -> float:
    """The largest about an axis through the center of mass (m); 0 without mass."""
    inertia = link.body.inertia
    largest = float(np.linalg.eigvalsh(inertia.moment)[-1])
    return float(np.sqrt(max(largest, 0.0) / inertia.mass)) if inertia.mass else 0.0


def _sized(mechanism: Mechanism) -> Iterator[tuple[Link, float]]:
    """Every link with the size of its body (m): its farthest known point from the center of mass, twice."""
    points: dict[str, list[Array]] = {link.body.name: [np.zeros(3)] for link in mechanism.links}
    for link in mechanism.links:
        if link.parent != WORLD:
            points[link.parent].append(link.placement.position)
    for point in mechanism.contact_points:
        points[point.body].append(point.position)
    for loop in mechanism.loops:
        for body, place in ((loop.body_a, loop.placement_a), (loop.body_b, loop.placement_b)):
            if body != WORLD:
                points[body].append(place.position)
    for spring in mechanism.springs:
        for body, end in ((spring.body_a, spring.point_a), (spring.body_b, spring.point_b)):
            if body != WORLD:
                points[body].append(end)
    for link in mechanism.links:
        center = link.body.inertia.center
        spread = [float(np.linalg.norm(x - center)) for x in points[link.body.name]]
        for shape in link.body.shapes:
            if shape.kind != "mesh":
                reach = float(np.linalg.norm(shape.placement.position - center))
                spread.append(reach + 0.5 * float(np.linalg.norm(shape.size)))
        yield link, 2.0 * max(spread)


Rule = Callable[[Mechanism], Iterator[Suspicion]]
RULES: tuple[Rule, ...] = (
    _degrees, _millimetres, _grams, _gravity, inertia_suspicions, _massless, _limits, _same_axes,
    _locked_at_zero, _useless, _muscles,
)  # fmt: skip
