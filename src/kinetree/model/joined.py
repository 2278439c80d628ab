"""Two mechanisms as one: the second on a body of the first, beside it, or tied to it by loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, frozen
from kinetree.algebra.placement import Placement
from kinetree.errors import InputError, expect, must_be
from kinetree.model.body import WORLD, Body
from kinetree.model.expected import expect_mechanism
from kinetree.model.frame import Frame
from kinetree.model.joint import Joint
from kinetree.model.loop import Loop
from kinetree.model.marker import carried_marker
from kinetree.model.mechanism import Link, Mechanism
from kinetree.model.muscle import carried_muscle, carried_wrap, prefixed_muscle
from kinetree.model.named_state import NamedState, NamedStates
from kinetree.model.spring import Spring


def join(
    first: Mechanism,
    second: Mechanism,
    at: str = WORLD,
    *,
    placement: Placement | None = None,
    joint: Joint | None = None,
    prefix: str = "",
    loops: Iterable[Loop] = (),
    name: str | None = None,
) -> Mechanism:
    """One mechanism of two: the coordinates of the first, then those of the second.

    The second sits ``at`` a body or frame of the first, at ``placement`` there; what it has on the world
    goes with it. ``joint`` carries it. Without one, a second that floats is welded to a body and floats on
    in the world, and one that does not float hangs there by its own joints. ``prefix`` goes before all
    names of the second. ``loops`` tie bodies of both together, by their names in the whole. Contact points,
    springs, actuators, muscles, markers and frames are those of both; a named state has zero positions for a
    mechanism that does not know it. The floor is that of the first that has one.

    >>> import kinetree as kt
    >>> dog, arm = kt.zoo.quadruped(), kt.zoo.kuka_kr5()
    >>> both = join(dog, arm, at="trunk", prefix="arm_", placement=kt.Placement.at((0.2, 0.0, 0.1)))
    >>> both.n_dof, both.joint_names[-2:]
    (24, ('arm_joint5', 'arm_joint6'))
    """
    expect_mechanism(first, "first")
    expect_mechanism(second, "second")
    place = Placement() if placement is None else placement
    expect(place, Placement, "placement", "a Placement, such as Placement.at((0, 0, 0.1))")
    if joint is not None:
        expect(joint, Joint, "joint", "a Joint, such as Joint.of_kind('wrist', 'spherical')")
    _check(first, second, prefix)
    ties = tuple(loops)
    for loop in ties:
        expect(loop, Loop, "each of loops", "a kinetree.model.Loop")
    body, frame = (WORLD, Placement()) if at == WORLD else first.place_of(at)
    other = _prefixed(second, prefix)
    links, parts = _placed(other, body, frame @ place, joint)
    parts["loops"] += ties
    parts["floor"] = first.floor or parts["floor"]
    states = _states((first, other), (*first.links, *links))
    whole = f"{first.name} and {second.name}" if name is None else name
    return with_more(first, whole, links, **parts, states=states)


def placed(
    mechanism: Mechanism, placement: Placement, joint: Joint | None = None, prefix: str = ""
) -> Mechanism:
    """The mechanism at another place in the world, on a joint, with a prefix before its names; as `join`.

    >>> import kinetree as kt
    >>> arm = placed(kt.zoo.gripper(), kt.Placement.at((0, 0, 1)), prefix="left_")
    >>> arm.joint_names[0], arm.links[0].placement.position.tolist()
    ('left_joint1', [0.0, 0.0, 1.0])
    """
    one = _prefixed(mechanism, prefix)
    links, parts = _placed(one, WORLD, placement, joint)
    return replace(one, links=links, **parts, states=_states((one,), links))


def with_more(mechanism: Mechanism, name: str, links: Sequence[Link], **parts: Any) -> Mechanism:
    """The mechanism with further links and parts, by their names in a mechanism.

    ``states`` are those of the whole; without them the mechanism's own ones, zero for further coordinates.
    """
    both = (*mechanism.links, *links)
    floor, states = parts.pop("floor", None), parts.pop("states", ())
    known = states or _states((mechanism,), both)
    more: dict[str, Any] = {key: (*getattr(mechanism, key), *value) for key, value in parts.items()}
    return replace(mechanism, name=name, links=both, **more, states=known, floor=floor or mechanism.floor)


def _check(first: Mechanism, second: Mechanism, prefix: str) -> None:
    if not isinstance(prefix, str):
        raise InputError(must_be("prefix", 'a text such as "left_"', prefix))
    if not np.array_equal(first.gravity, second.gravity):
        raise InputError(
            f"gravity of '{first.name}' is {first.gravity.tolist()} m/s^2, that of '{second.name}' "
            f"{second.gravity.tolist()}; give both the same, such as with_gravity({first.gravity.tolist()})"
        )
    for kind, mine, theirs in (
        ("body", first.body_names, second.body_names),
        ("joint", _joint_names(first), _joint_names(second)),
        ("contact point", _names(first.contact_points), _names(second.contact_points)),
        ("spring", _names(first.springs), _names(second.springs)),
        ("frame", _names(first.frames), _names(second.frames)),
        ("actuator", _names(first.actuators), _names(second.actuators)),
        ("muscle", _names(first.muscles), _names(second.muscles)),
        ("wrap", _names(first.wraps), _names(second.wraps)),
        ("marker", _names(first.markers), _names(second.markers)),
    ):
        shared = [name for name in theirs if prefix + name in mine]
        if shared:
            raise InputError(
                f"'{first.name}' and '{second.name}' both have a {kind} '{prefix}{shared[0]}'; give another "
                f'prefix, such as prefix="{prefix}{second.name}_"'
            )


def _joint_names(mechanism: Mechanism) -> list[str]:
    return [link.joint.name for link in mechanism.links] + _names(mechanism.loops)


def _names(parts: Iterable[object]) -> list[str]:
    return [getattr(part, "name") for part in parts]  # noqa: B009 - all parts have one


def _prefixed(mechanism: Mechanism, prefix: str) -> Mechanism:
    """The mechanism with the prefix before all names but that of the world and those of states."""
    if not prefix:
        return mechanism

    def body(name: str) -> str:
        return name if name == WORLD else prefix + name

    def joint(of: Joint) -> Joint:
        mimic = of.mimic
        if mimic is not None:
            others = tuple((prefix + name, ratio) for name, ratio in mimic.others)
            mimic = replace(mimic, joint=prefix + mimic.joint, others=others)
        return replace(of, name=prefix + of.name, mimic=mimic)

    return replace(
        mechanism,
        links=tuple(
            replace(
                x,
                body=replace(x.body, name=prefix + x.body.name),
                joint=joint(x.joint),
                parent=body(x.parent),
            )
            for x in mechanism.links
        ),
        loops=tuple(
            replace(x, joint=joint(x.joint), body_a=body(x.body_a), body_b=body(x.body_b))
            for x in mechanism.loops
        ),
        contact_points=tuple(
            replace(x, name=prefix + x.name, body=body(x.body)) for x in mechanism.contact_points
        ),
        springs=tuple(
            replace(x, name=prefix + x.name, body_a=body(x.body_a), body_b=body(x.body_b))
            for x in mechanism.springs
        ),
        frames=tuple(replace(x, name=prefix + x.name, body=body(x.body)) for x in mechanism.frames),
        actuators=tuple(
            replace(x, name=prefix + x.name, gears=tuple((prefix + dof, gear) for dof, gear in x.gears))
            for x in mechanism.actuators
        ),
        muscles=tuple(prefixed_muscle(x, prefix, body) for x in mechanism.muscles),
        wraps=tuple(replace(x, name=prefix + x.name, body=body(x.body)) for x in mechanism.wraps),
        markers=tuple(replace(x, name=prefix + x.name, body=body(x.body)) for x in mechanism.markers),
    )


def _placed(
    mechanism: Mechanism, body: str, place: Placement, joint: Joint | None
) -> tuple[tuple[Link, ...], dict[str, Any]]:
    """Its links with the root on a body, and its other parts, with what is on the world moved, too."""
    links, ground = _carried(mechanism, body, place, joint)
    return links, {
        "loops": tuple(_moved_loop(x, *ground) for x in mechanism.loops),
        "contact_points": mechanism.contact_points,
        "springs": tuple(_moved_spring(x, *ground) for x in mechanism.springs),
        "frames": tuple(_moved_frame(x, *ground) for x in mechanism.frames),
        "actuators": mechanism.actuators,
        "muscles": tuple(carried_muscle(x, {WORLD: ground}) for x in mechanism.muscles),
        "wraps": tuple(carried_wrap(x, {WORLD: ground}) for x in mechanism.wraps),
        "markers": tuple(carried_marker(x, {WORLD: ground}) for x in mechanism.markers),
        "floor": mechanism.floor if ground == (WORLD, Placement()) else None,
    }


def _carried(
    mechanism: Mechanism, body: str, place: Placement, joint: Joint | None
) -> tuple[tuple[Link, ...], tuple[str, Placement]]:
    """Its links with the root on a body, and where the world is that its other parts are attached to."""
    root, *rest = mechanism.links
    if root.floats and not any(link.parent == WORLD for link in rest):
        if body == WORLD and joint is None:
            return (replace(root, placement=place @ root.placement), *rest), (body, place)
        _check_undriven(mechanism, root.joint)
        base = Joint.of_kind(root.joint.name, "fixed") if joint is None else joint
        return (replace(root, joint=base, parent=body, placement=place), *rest), (WORLD, Placement())
    carrier: tuple[Link, ...] = ()
    if joint is not None:
        carrier = (Link(Body(joint.name), joint, body, place),)
        body, place = joint.name, Placement()
    links = [
        replace(x, parent=body, placement=place @ x.placement) if x.parent == WORLD else x
        for x in mechanism.links
    ]
    return (*carrier, *links), (body, place)


def _check_undriven(mechanism: Mechanism, base: Joint) -> None:
    """Raise if an actuator acts on the coordinates of the base, which are replaced."""
    for actuator in mechanism.actuators:
        for dof, _ in actuator.gears:
            if dof in base.dof_names:
                raise InputError(
                    f"actuator '{actuator.name}' of '{mechanism.name}' acts on '{dof}' of the floating base, "
                    "which another joint replaces; remove the actuator first"
                )


def _moved_loop(loop: Loop, body: str, place: Placement) -> Loop:
    """A loop, with the end on the world on a body instead."""
    if loop.body_a == WORLD:
        loop = replace(loop, body_a=body, placement_a=place @ loop.placement_a)
    if loop.body_b == WORLD:
        loop = replace(loop, body_b=body, placement_b=place @ loop.placement_b)
    return loop


def _moved_spring(spring: Spring, body: str, place: Placement) -> Spring:
    """A spring, with the end on the world on a body instead."""
    if spring.body_a == WORLD:
        point = frozen(place.rotation @ spring.point_a + place.position)
        spring = replace(spring, body_a=body, point_a=point)
    if spring.body_b == WORLD:
        point = frozen(place.rotation @ spring.point_b + place.position)
        spring = replace(spring, body_b=body, point_b=point)
    return spring


def _moved_frame(frame: Frame, body: str, place: Placement) -> Frame:
    """A frame, on a body instead of the world."""
    return replace(frame, body=body, placement=place @ frame.placement) if frame.body == WORLD else frame


def _states(parts: Sequence[Mechanism], links: Sequence[Link]) -> NamedStates:
    """The named states of all parts: zero for coordinates of one that does not know a name."""
    dofs = [name for link in links if link.joint.mimic is None for name in link.joint.dof_names]
    found = []
    for name in dict.fromkeys(name for mechanism in parts for name in mechanism.states):
        q, qd = dict.fromkeys(dofs, 0.0), dict.fromkeys(dofs, 0.0)
        for mechanism in parts:
            if name in mechanism.states:
                state = mechanism.states[name]
                q.update(zip(mechanism.joint_names, state.q, strict=True))
                qd.update(zip(mechanism.joint_names, state.qd, strict=True))
        positions, rates = (frozen([x[dof] for dof in dofs]) for x in (q, qd))
        found.append(NamedState(name, positions, rates, _control(name, parts)))
    return NamedStates(found)


def _control(name: str, mechanisms: Sequence[Mechanism]) -> Array | None:
    """The controls of all actuators in a named state, or None where some are not known."""
    parts: list[Array] = []
    for mechanism in mechanisms:
        control = mechanism.states[name].control if name in mechanism.states else None
        if control is None and mechanism.actuators:
            return None
        parts += [] if control is None else [control]
    return frozen(np.concatenate(parts)) if parts else None
