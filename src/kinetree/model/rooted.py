"""A mechanism with another body as its root: where it stands, not where it was drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, frozen, vector
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation import AXES, THREE_AXIS_SEQUENCES, TWO_AXIS_SEQUENCES
from kinetree.errors import InputError, must_be, unknown_name
from kinetree.model.actuator import Actuator
from kinetree.model.body import WORLD, Body
from kinetree.model.contact_point import ContactPoint
from kinetree.model.joint import PARAMETERS, Joint, axis_labels
from kinetree.model.joint_kind import KINDS, ONE_AXIS
from kinetree.model.marker import carried_marker
from kinetree.model.mechanism import Link, Mechanism
from kinetree.model.muscle import carried_muscle, carried_wrap
from kinetree.model.named_state import NamedStates
from kinetree.model.spring import Spring

SAME_FRAME = 1e-9  # m and no unit: frames that should be one may differ by this


def rooted_at(
    mechanism: Mechanism,
    body: str,
    point: str | ArrayLike | None = None,
    sequence: str | None = None,
    base: Joint | None = None,
) -> Mechanism:
    """The mechanism with another body as its root; see :meth:`kinetree.Mechanism.rooted_at`.

    A joint with X the placement of its frame and E(q) its motion, x_parent = X E(q) x_child, is passed
    the other way: x_child = E(q)^-1 x_joint with x_joint = X^-1 x_parent. E^-1 has the axes of E in
    reverse order and with the opposite sign, so a coordinate keeps its meaning; and the frame of the former
    parent goes to the joint that carries it now.
    """
    path = _path(mechanism, body)
    place = _root_place(mechanism, body, point)
    if len(path) == 1 and place.is_identity and sequence is None and base is None:
        return mechanism
    root = _base(mechanism, path, sequence, base)
    frames = {body: place}  # where the new frames are in the old ones
    frames |= {inner.parent: inner.placement for inner in path[:-1]}
    back = {name: frame.inverse for name, frame in frames.items()}
    bodies = {link.body.name: link.body for link in mechanism.links}
    links = [Link(_moved_body(bodies[body], back), root)]
    for inner in path[:-1]:
        links += _reversed_links(mechanism, inner, back)
    on_path = {link.body.name for link in path}
    for link in mechanism.links:
        if link.body.name not in on_path:
            links.append(replace(link, placement=_seen(back, link.parent, link.placement)))
    loops = tuple(
        replace(
            loop,
            placement_a=_seen(back, loop.body_a, loop.placement_a),
            placement_b=_seen(back, loop.body_b, loop.placement_b),
        )
        for loop in mechanism.loops
    )
    points = tuple(_moved_point(contact, back) for contact in mechanism.contact_points)
    springs = tuple(_moved_spring(spring, back) for spring in mechanism.springs)
    named = tuple(replace(x, placement=_seen(back, x.body, x.placement)) for x in mechanism.frames)
    moved = {name: (name, frame) for name, frame in back.items() if not frame.is_identity}
    return replace(
        mechanism,
        links=tuple(links),
        muscles=tuple(carried_muscle(muscle, moved) for muscle in mechanism.muscles),
        wraps=tuple(carried_wrap(wrap, moved) for wrap in mechanism.wraps),
        markers=tuple(carried_marker(marker, moved) for marker in mechanism.markers),
        loops=loops,
        contact_points=points,
        springs=springs,
        frames=named,
        states=NamedStates(),  # the base has other coordinates
        actuators=_still_there(mechanism.actuators, links),
    )


def _still_there(actuators: Sequence[Actuator], links: Sequence[Link]) -> tuple[Actuator, ...]:
    """The actuators, all of whose joints are still there."""
    dofs = {name for link in links for name in link.joint.dof_names}
    return tuple(x for x in actuators if all(dof in dofs for dof, _ in x.gears))


def carried_bodies(mechanism: Mechanism) -> dict[str, str]:
    """Which body each joint carries, by the name of the joint: that depends on the root of the tree.

    A joint that was taken apart into axes, such as "hip.flexion" and "hip.rotation", is also "hip", which
    carries the first body of it: those between its axes are at one place and have no mass.

    >>> import kinetree as kt
    >>> robot = kt.zoo.quadruped()
    >>> carried_bodies(robot)["knee1"], carried_bodies(robot.rooted_at("shank1"))["knee1"]
    ('shank1', 'thigh1')
    """
    found = {link.joint.name: link.body.name for link in mechanism.links}
    for link in mechanism.links:
        found.setdefault(link.joint.name.partition(".")[0], link.body.name)
    return found


def frame_in(source: Mechanism, target: Mechanism, body: str) -> Placement:
    """The frame that a body has in the target, seen from the frame it has in the source.

    Both are the same tree with different roots, as :func:`rooted_at` makes them. The joints at the body tell:
    one that carries it in the source has its frame there, and one that it carries in both has one place.

    >>> import kinetree as kt
    >>> robot = kt.zoo.quadruped()
    >>> frame_in(robot, robot.rooted_at("shank1", point="foot1"), "shank1").position.tolist()
    [0.0, 0.0, -0.3]
    """
    for mechanism in (source, target):
        mechanism.body_index(body)
    found = [frame for link in target.links if link.parent == body for frame in _by_joint(source, link)]
    if not found:  # a body alone: its contact points
        before = {point.name: point.position for point in source.contact_points if point.body == body}
        found = [
            Placement(position=frozen(before[point.name] - point.position))
            for point in target.contact_points
            if point.body == body and point.name in before
        ]
    for other in found[1:]:
        apart = np.abs(found[0].position - other.position).max()
        if max(apart, np.abs(found[0].rotation - other.rotation).max()) > SAME_FRAME:
            raise InputError(
                f"mechanisms '{source.name}' and '{target.name}' are not the same tree with different roots: "
                f"the joints of body '{body}' do not match"
            )
    return found[0] if found else Placement()


def _by_joint(source: Mechanism, link: Link) -> Iterator[Placement]:
    """The frame of a link's parent in the frame that the source gives it, from the joint between both."""
    names = {link.joint.name, *link.joint.dof_names}
    for other in source.links:
        if names.isdisjoint((other.joint.name, *other.joint.dof_names)):
            continue
        if other.body.name == link.parent:
            yield link.placement.inverse
        elif other.parent == link.parent:
            yield other.placement @ link.placement.inverse


def _path(mechanism: Mechanism, body: str) -> list[Link]:
    """The links from a body to the root that it hangs on."""
    path = [mechanism.link(body)]
    while path[-1].parent != WORLD:
        path.append(mechanism.link(path[-1].parent))
    return path


def _root_place(mechanism: Mechanism, body: str, point: str | ArrayLike | None) -> Placement:
    """Where the base joint sits in the root body."""
    if point is None:
        return Placement()
    if isinstance(point, str):
        own = {contact.name: contact for contact in mechanism.contact_points if contact.body == body}
        if point not in own:
            raise InputError(
                unknown_name("contact point of this body", point, own).after(f"root of '{body}': ")
            )
        return Placement(position=own[point].position)
    return Placement(position=vector(point, 3, f"point of '{body}' at which the base joint sits"))


def _base(mechanism: Mechanism, path: list[Link], sequence: str | None, base: Joint | None) -> Joint:
    """The joint between the world and the new root."""
    old, body = path[-1].joint, path[0].body.name
    if base is not None:
        if not isinstance(base, Joint):
            raise InputError(must_be("base", "a Joint, such as Joint.of_kind('base', 'free')", base))
        if sequence is not None:
            raise InputError("give either a base joint or the sequence of its rotations, not both")
        return base
    if not old.is_free:
        raise InputError(
            f"'{mechanism.name}' does not float: joint '{old.name}' ({old.kind}) holds it to the world, and "
            f"with '{body}' as its root that joint would disappear; give base=, the joint that holds "
            f"'{body}', such as Joint.of_kind('base', '{old.kind}')"
        )
    given = sorted(old.parameters())
    if given or len(set(old.driven)) > 1:
        what = ", ".join(given) or "drives for some of its coordinates"
        raise InputError(
            f"the base joint '{old.name}' of '{mechanism.name}' has {what}, which are not defined at "
            f"'{body}': give base=, the joint that holds '{body}'"
        )
    if sequence is None and old.sequence is None:
        return replace(old)
    return Joint.of_kind(
        old.name,
        old.kind,
        sequence=old.sequence if sequence is None else sequence,
        driven=old.driven,
        labels=old.labels,
    )


def _seen(back: dict[str, Placement], body: str, placement: Placement) -> Placement:
    """A placement in a body, in the frame that the body has now."""
    return back[body] @ placement if body in back and not back[body].is_identity else placement


def _moved_body(body: Body, back: dict[str, Placement]) -> Body:
    """A body in the frame that it has now."""
    frame = back.get(body.name)
    if frame is None or frame.is_identity:
        return body
    shapes = tuple(replace(shape, placement=frame @ shape.placement) for shape in body.shapes)
    return replace(body, inertia=body.inertia.moved(frame), shapes=shapes)


def _moved_point(point: ContactPoint, back: dict[str, Placement]) -> ContactPoint:
    frame = back.get(point.body)
    if frame is None or frame.is_identity:
        return point
    return point.moved(point.body, frame)


def _moved_spring(spring: Spring, back: dict[str, Placement]) -> Spring:
    """A spring with its points in the frames that its bodies have now."""
    points: dict[str, Any] = {}
    for key, body, point in (
        ("point_a", spring.body_a, spring.point_a),
        ("point_b", spring.body_b, spring.point_b),
    ):
        frame = back.get(body)
        if frame is not None and not frame.is_identity:
            points[key] = frozen(frame.rotation @ point + frame.position)
    return replace(spring, **points) if points else spring


def _reversed_links(mechanism: Mechanism, inner: Link, back: dict[str, Placement]) -> Iterator[Link]:
    """The former parent, carried by the body that it carried."""
    outer = _moved_body(mechanism.link(inner.parent).body, back)
    place = _seen(back, inner.body.name, Placement())
    joint = reversed_joint(inner.joint)
    if joint is not None:
        yield Link(outer, joint, inner.body.name, place)
        return
    axes = [replace(axis, axes=frozen(0.0 - axis.axes)) for axis in reversed(single_axes(inner.joint))]
    yield from linked(axes, outer, inner.body.name, place)


def linked(axes: list[Joint], body: Body, parent: str, placement: Placement) -> Iterator[Link]:
    """A body on joints that follow each other, with a massless body named like the joint after each."""
    for k, axis in enumerate(axes):
        last = k == len(axes) - 1
        carried = body if last else Body(axis.name)
        yield Link(carried, axis, parent, placement)
        parent, placement = carried.name, Placement()


def reversed_joint(joint: Joint) -> Joint | None:
    """The joint passed the other way, with coordinates that mean the same; None if its kind cannot.

    >>> reversed_joint(Joint.of_kind("hip", "spherical", sequence="YXZ")).dof_names
    ('hip.rz', 'hip.rx', 'hip.ry')
    >>> reversed_joint(Joint.of_kind("screw", "cylindrical", axis="z")).dof_names
    ('screw.rz', 'screw.tz')
    """
    kind = KINDS[joint.kind]
    labels = joint.labels or (axis_labels(joint.axes, joint.turns) if joint.n_dof > 1 else ())
    if kind.one_axis or joint.n_dof < 2:  # motions about and along one axis can be exchanged
        return replace(joint, axes=frozen(0.0 - joint.axes), labels=labels)
    if kind.turns[::-1] != kind.turns:
        return None
    axes, labels = frozen(0.0 - joint.axes[::-1]), labels[::-1]
    values: dict[str, Any] = {key: frozen(getattr(joint, key)[::-1]) for key in PARAMETERS}
    return replace(
        joint,
        axes=axes,
        sequence=_sequence(axes, joint.turns),
        driven=joint.driven[::-1],
        labels=() if labels == axis_labels(axes, joint.turns) else labels,
        **values,
    )


def single_axes(joint: Joint) -> list[Joint]:
    """A joint as joints of one axis each, which have the names of its degrees of freedom."""
    found = []
    for k, (name, turn) in enumerate(zip(joint.dof_names, joint.turns, strict=True)):
        axis, driven = frozen(joint.axes[k : k + 1]), joint.driven[k : k + 1]
        values: dict[str, Any] = {key: frozen(getattr(joint, key)[k : k + 1]) for key in PARAMETERS}
        found.append(Joint(name, ONE_AXIS[turn], axis, driven=driven, mimic=joint.mimic, **values))
    return found


def _sequence(axes: Array, turns: tuple[bool, ...]) -> str | None:
    """The Euler sequence of axes that are all turned about, if they have one."""
    for sequence in (*THREE_AXIS_SEQUENCES, *TWO_AXIS_SEQUENCES):
        if len(sequence) == len(turns) and np.array_equal(axes, [AXES[letter] for letter in sequence]):
            return sequence
    return None
