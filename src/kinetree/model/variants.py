"""Variants of a mechanism: joints held, bodies fused, without springs or friction, with armature."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.algebra.arrays import frozen, number
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation import rotation_about
from kinetree.errors import InputError, must_be, texts, unknown_name
from kinetree.model.body import WORLD, Body
from kinetree.model.joint import Joint, Mimic
from kinetree.model.joint_kind import FIXED
from kinetree.model.marker import carried_marker
from kinetree.model.mechanism import Link, Mechanism
from kinetree.model.muscle import carried_muscle, carried_wrap, held_muscle
from kinetree.model.named_state import NamedStates
from kinetree.model.rooted import linked, single_axes
from kinetree.model.spring import Spring


def with_armature(mechanism: Mechanism, armature: float | Mapping[str, float]) -> Mechanism:
    """The mechanism with an armature (kg m^2, or kg where it slides) for joints that have none.

    One number is for every joint, a dict for the joints that it names.

    >>> import kinetree as kt
    >>> with_armature(kt.zoo.gripper(), 0.01).tree.armature.tolist()
    [0.01, 0.01, 0.01, 0.01]
    """
    joints = [link.joint for link in mechanism.links if link.joint.n_dof and link.joint.mimic is None]
    if not isinstance(armature, Mapping):
        armature = {joint.name: armature for joint in joints if not joint.is_free}
    names = [joint.name for joint in joints]
    for name, value in armature.items():
        if name not in names:
            raise InputError(unknown_name("joint", name, names).after("armature: "))
        if number(value, f"armature of '{name}'") < 0.0:
            raise InputError(must_be(f"armature of '{name}'", ">= 0 kg m^2 (kg)", value, ""))
    links = [
        replace(link, joint=_with_armature(link.joint, float(armature.get(link.joint.name, 0.0))))
        for link in mechanism.links
    ]
    return replace(mechanism, links=tuple(links))


def _with_armature(joint: Joint, armature: float) -> Joint:
    own = joint.armature
    return replace(joint, armature=frozen(np.where(own == 0.0, armature, own))) if armature else joint


def without_parameters(mechanism: Mechanism, *names: str) -> Mechanism:
    """The mechanism with some parameters of its joints zero, such as "stiffness", "viscous", "coulomb".

    "coulomb" is the friction of both directions.

    >>> import kinetree as kt
    >>> robot = kt.Builder("pendulum")
    >>> _ = robot.world.revolute("pivot", viscous=0.1).body("bob", kt.Inertia.point(1.0, (0, 0, -1)))
    >>> without_parameters(robot.build(), "viscous").tree.viscous.tolist()
    [0.0]
    """
    links = []
    both = ("coulomb_reverse",) if "coulomb" in names else ()
    for link in mechanism.links:
        zero: dict[str, Any] = dict.fromkeys((*names, *both), frozen(np.zeros(link.joint.n_dof)))
        links.append(replace(link, joint=replace(link.joint, **zero)))
    return replace(mechanism, links=tuple(links))


def with_held_joints(mechanism: Mechanism, joints: Iterable[str] | Mapping[str, float]) -> Mechanism:
    """The mechanism with degrees of freedom held; see :meth:`kinetree.Mechanism.frozen`."""
    held = _held(mechanism, joints)
    given = [_following_the_rest(link, held) for link in mechanism.links]
    links = [new for link in given for new in _held_links(link, held)]
    more = _without_held(mechanism, held)
    return replace(mechanism, links=tuple(links), **more)


def _following_the_rest(link: Link, held: dict[str, float]) -> Link:
    """A link whose joint follows those that are not held; one that follows only held ones is held, too."""
    mimic = link.joint.mimic
    if mimic is None or not any(name in held for name, _ in mimic.leaders):
        return link
    moving = [(name, ratio) for name, ratio in mimic.leaders if name not in held]
    if not mimic.others:
        held[link.joint.name] = mimic.at(held[mimic.joint])
        return link
    offset = mimic.offset + sum(ratio * held[name] for name, ratio in mimic.leaders if name in held)
    if not moving:
        held[link.joint.name] = offset
        return link
    (leader, ratio), *others = moving
    return replace(link, joint=replace(link.joint, mimic=Mimic(leader, ratio, offset, others=tuple(others))))


def _without_held(mechanism: Mechanism, held: Mapping[str, float]) -> dict[str, Any]:
    """Actuators, named states and muscles without held degrees of freedom; actuators of these alone go."""
    kept = np.array([name not in held for name in mechanism.joint_names], dtype=bool)
    used = np.array([any(x not in held for x, _ in one.gears) for one in mechanism.actuators], dtype=bool)
    actuators = []
    for one, is_used in zip(mechanism.actuators, used, strict=True):
        if is_used:
            fixed = sum(gear * held[x] for x, gear in one.gears if x in held)
            gears = tuple((x, gear) for x, gear in one.gears if x not in held)
            actuators.append(replace(one, gears=gears, bias=one.bias - one.kp * fixed))
    states = [
        replace(x, q=x.q[kept], qd=x.qd[kept], control=None if x.control is None else x.control[used])
        for x in mechanism.states.values()
    ]
    muscles = tuple(held_muscle(muscle, held) for muscle in mechanism.muscles)
    return {"actuators": tuple(actuators), "states": NamedStates(states), "muscles": muscles}


def fused(mechanism: Mechanism) -> Mechanism:
    """Bodies on fixed joints made one with those that carry them; see :meth:`kinetree.Mechanism.fused`."""
    place: dict[str, tuple[str, Placement]] = {WORLD: (WORLD, Placement())}  # carrier, frame in its frame
    bodies: dict[str, Body] = {}
    links: list[Link] = []
    for link in mechanism.links:
        name = link.body.name
        carrier, frame = place[link.parent]
        seen = frame @ link.placement
        if link.joint.is_fixed and carrier != WORLD and _same_lift(bodies[carrier], link.body):
            place[name] = carrier, seen
            bodies[carrier] = _one(bodies[carrier], link.body, seen)
        else:
            place[name] = name, Placement()
            bodies[name] = link.body
            links.append(replace(link, parent=carrier, placement=seen))
    loops = tuple(
        replace(
            loop,
            body_a=place[loop.body_a][0],
            placement_a=place[loop.body_a][1] @ loop.placement_a,
            body_b=place[loop.body_b][0],
            placement_b=place[loop.body_b][1] @ loop.placement_b,
        )
        for loop in mechanism.loops
    )
    points = []
    for point in mechanism.contact_points:
        points.append(point.moved(*place[point.body]))
    springs = [_carried(spring, place) for spring in mechanism.springs]
    kept = tuple(replace(link, body=bodies[link.body.name]) for link in links)
    found = tuple(spring for spring in springs if spring is not None)
    frames = []
    for named in mechanism.frames:
        carrier, seen = place[named.body]
        frames.append(replace(named, body=carrier, placement=seen @ named.placement))
    return replace(
        mechanism,
        links=kept,
        loops=loops,
        contact_points=tuple(points),
        springs=found,
        frames=tuple(frames),
        muscles=tuple(carried_muscle(muscle, place) for muscle in mechanism.muscles),
        wraps=tuple(carried_wrap(wrap, place) for wrap in mechanism.wraps),
        markers=tuple(carried_marker(marker, place) for marker in mechanism.markers),
    )


def _carried(spring: Spring, place: Mapping[str, tuple[str, Placement]]) -> Spring | None:
    """A spring between the bodies that carry its ends; None if they are one, so that it does nothing."""
    (a, frame_a), (b, frame_b) = place[spring.body_a], place[spring.body_b]
    if a == b:
        return None
    point_a = frozen(frame_a.rotation @ spring.point_a + frame_a.position)
    point_b = frozen(frame_b.rotation @ spring.point_b + frame_b.position)
    return replace(spring, body_a=a, point_a=point_a, body_b=b, point_b=point_b)


def _held(mechanism: Mechanism, joints: Iterable[str] | Mapping[str, float]) -> dict[str, float]:
    """Where each degree of freedom stays that is held."""
    if isinstance(joints, str):
        joints = [joints]
    given = dict(joints) if isinstance(joints, Mapping) else dict.fromkeys(texts(joints, "frozen"), 0.0)
    groups = {link.joint.name: link.joint.dof_names for link in mechanism.links if link.joint.mimic is None}
    held: dict[str, float] = {}
    for name, value in given.items():
        if name not in groups and name not in mechanism.joint_names:
            raise InputError(unknown_name("joint", name, mechanism.joint_names).after("frozen: "))
        where = number(value, f"frozen: where '{name}' stays")
        held |= dict.fromkeys(groups.get(name, (name,)), where)
    return held


def _held_links(link: Link, held: Mapping[str, float]) -> Iterator[Link]:
    """The link with those axes gone that are held."""
    joint = link.joint
    if not any(name in held for name in joint.dof_names):
        yield link
        return
    frame, chain = Placement(), []  # what held axes have moved since the last axis that moves
    for name, axis in zip(joint.dof_names, single_axes(joint), strict=True):
        if name in held:
            frame = frame @ _moved(axis, held[name])
        else:
            chain.append((axis, frame))
            frame = Placement()
    parent, place = link.parent, link.placement
    for k, (axis, before) in enumerate(chain):
        last = k == len(chain) - 1 and frame.is_identity
        carried = link.body if last else Body(axis.name)
        yield from linked([axis], carried, parent, place @ before)
        parent, place = carried.name, Placement()
    if parent != link.body.name or not chain:
        yield Link(link.body, Joint.of_kind(joint.name, FIXED), parent, place @ frame)


def _moved(axis: Joint, value: float) -> Placement:
    """The frame of a joint with one axis after it has moved."""
    if axis.is_turn:
        return Placement(frozen(rotation_about(axis.axes[0], value))) if value else Placement()
    return Placement(position=frozen(value * axis.axes[0]))


def _same_lift(carrier: Body, carried: Body) -> bool:
    """Whether the same part of both weights is carried from outside, so that one force can do it."""
    heavy = [body.gravity_compensation for body in (carrier, carried) if body.inertia.mass]
    return len(set(heavy)) < 2


def _one(carrier: Body, carried: Body, place: Placement) -> Body:
    """Two bodies as one."""
    shapes = tuple(replace(shape, placement=place @ shape.placement) for shape in carried.shapes)
    inertia = carrier.inertia + carried.inertia.moved(place)
    lifted = carrier if carrier.inertia.mass else carried
    return Body(carrier.name, inertia, (*carrier.shapes, *shapes), lifted.gravity_compensation)
