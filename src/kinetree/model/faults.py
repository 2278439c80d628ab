"""What is wrong with the parts of a mechanism together, though each is in order by itself, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kinetree.errors import listed, unknown_name
from kinetree.model.actuator import Actuator
from kinetree.model.body import WORLD
from kinetree.model.contact_point import ContactPoint
from kinetree.model.floor import Floor
from kinetree.model.frame import Frame
from kinetree.model.inertia import LONGEST
from kinetree.model.joint_kind import CUT_KINDS
from kinetree.model.loop import Loop
from kinetree.model.marker import Marker
from kinetree.model.muscle import MovingPoint, Muscle, Wrap, swallowed
from kinetree.model.named_state import NamedState
from kinetree.model.spring import Spring

if TYPE_CHECKING:
    from kinetree.model.mechanism import Link

LONGEST_CYCLE = 12  # bodies of a cycle that are named


def faults(
    name: str,
    links: Sequence[Link],
    loops: Sequence[Loop] = (),
    points: Sequence[ContactPoint] = (),
    springs: Sequence[Spring] = (),
) -> Iterator[str]:
    """All that is wrong with parts that are in order by themselves, as sentences."""
    if not links:
        yield f"mechanism '{name}' has no bodies; it needs at least one"
    bodies = [link.body.name for link in links]
    yield from _repeated(bodies, "body")
    yield from _too_far(links)
    yield from _unrooted(links)
    yield from _repeated([link.joint.name for link in links] + [loop.name for loop in loops], "joint")
    yield from _repeated([x for link in links for x in link.joint.dof_names], "degree of freedom")
    yield from _repeated([point.name for point in points], "contact point")
    yield from _repeated([spring.name for spring in springs], "spring")
    touching, places = dict.fromkeys(bodies), dict.fromkeys((WORLD, *bodies))
    for loop in loops:
        yield from _unattached(f"loop '{loop.name}'", (loop.body_a, loop.body_b), places)
        yield from _wrong_cuts(name, loop)
    for point in points:
        yield from _unattached(f"contact point '{point.name}'", (point.body,), touching)
    for spring in springs:
        yield from _unattached(f"spring '{spring.name}'", (spring.body_a, spring.body_b), places)
    yield from _wrong_mimics(links)
    several = [x.joint.name for x in links if x.joint.mimic is not None and x.joint.mimic.others]
    if loops and several:
        yield (
            f"joint '{several[0]}' follows several others, which a mechanism with loops does not support; "
            f"loop '{loops[0].name}' is one"
        )


def _wrong_cuts(mechanism: str, loop: Loop) -> Iterator[str]:
    """What a cut joint cannot have: its coordinate is none of the tree's, whose mass matrix is M."""
    if loop.joint.is_free:
        yield unknown_name("cut joint", loop.joint.kind, CUT_KINDS).after(f"loop '{loop.name}': ")
    given = ["armature"] if "armature" in loop.joint.parameters() else []
    for what in given + ["mimic"] * (loop.joint.mimic is not None):
        yield (
            f"mechanism '{mechanism}': the cut joint '{loop.name}' cannot have {what}, since its coordinate "
            f"is not a coordinate of the mechanism; cut the loop at another joint"
        )


def further_faults(
    links: Sequence[Link],
    frames: Sequence[Frame] = (),
    actuators: Sequence[Actuator] = (),
    states: Sequence[NamedState] = (),
    floor: Floor | None = None,
) -> Iterator[str]:
    """What is wrong with frames, actuators, named states and the floor."""
    bodies = [link.body.name for link in links]
    yield from _repeated([*bodies, *(frame.name for frame in frames)], "body or frame")
    places = dict.fromkeys((WORLD, *bodies))
    for frame in frames:
        yield from _unattached(f"frame '{frame.name}'", (frame.body,), places)
    yield from _repeated([actuator.name for actuator in actuators], "actuator")
    dofs = [name for link in links if link.joint.mimic is None for name in link.joint.dof_names]
    for actuator in actuators:
        for dof, _ in actuator.gears:
            if dof not in dofs:
                yield unknown_name("joint", dof, dofs).after(f"actuator '{actuator.name}': ")
    yield from _repeated([state.name for state in states], "state")
    for state in states:
        if len(state.q) != len(dofs):
            yield f"state '{state.name}' has {len(state.q)} positions, the mechanism {len(dofs)} joints"
        if state.control is not None and len(state.control) != len(actuators):
            yield f"state '{state.name}' has {len(state.control)} controls for {len(actuators)} actuators"
    if floor is not None and not isinstance(floor, Floor):
        yield f"floor must be a Floor, got {floor!r}"


def marker_faults(links: Sequence[Link], markers: Sequence[Marker] = ()) -> Iterator[str]:
    """What is wrong with markers together with the bodies that they name."""
    for marker in markers:
        if not isinstance(marker, Marker):
            yield f"markers of a mechanism must be Markers, got {marker!r}"
            return
    yield from _repeated([marker.name for marker in markers], "marker")
    places = dict.fromkeys((WORLD, *(link.body.name for link in links)))
    for marker in markers:
        yield from _unattached(f"marker '{marker.name}'", (marker.body,), places)


def muscle_faults(
    links: Sequence[Link], muscles: Sequence[Muscle] = (), wraps: Sequence[Wrap] = ()
) -> Iterator[str]:
    """What is wrong with muscles and wraps together with the bodies and joints that they name."""
    for part, kind in ((muscles, Muscle), (wraps, Wrap)):
        for given in part:
            if not isinstance(given, kind):
                yield f"muscles and wraps of a mechanism must be Muscles and Wraps, got {given!r}"
                return
    yield from _repeated([muscle.name for muscle in muscles], "muscle")
    yield from _repeated([wrap.name for wrap in wraps], "wrap")
    places = dict.fromkeys((WORLD, *(link.body.name for link in links)))
    joints = dict.fromkeys(name for link in links for name in link.joint.dof_names)
    known = {wrap.name: wrap for wrap in wraps}
    for wrap in wraps:
        yield from _unattached(f"wrap '{wrap.name}'", (wrap.body,), places)
    for muscle in muscles:
        what = f"muscle '{muscle.name}'"
        for k, point in enumerate(muscle.path):
            yield from _unattached(f"{what}, point {k} of its path", (point.body,), places)
            named = point.coordinates if isinstance(point, MovingPoint) else (point.coordinate,)
            for name in named:
                if name is not None and name not in joints:
                    yield unknown_name("joint", name, joints).after(f"{what}, point {k} of its path: ")
        for use in muscle.wraps:
            if use.wrap not in known:
                yield unknown_name("wrap", use.wrap, known).after(f"{what}: ")
        inside = swallowed(muscle, known)
        if inside is not None:
            yield f"{what}: wrap '{inside}' encloses all points of the path between which it is used"


def _repeated(names: Iterable[str], kind: str) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"more than one {kind} is called '{name}'; {kind} names must differ"


def _too_far(links: Sequence[Link]) -> Iterator[str]:
    """Lengths so large that others would lose all their digits."""
    for link in links:
        places = {f"joint '{link.joint.name}': position": link.placement.position}
        if link.body.inertia.mass > 0.0:
            places[f"body '{link.body.name}': center of mass"] = link.body.inertia.center
        for what, place in places.items():
            if max(map(abs, place.tolist())) > LONGEST:
                given = place.tolist()
                yield f"{what} must be at most {LONGEST:g} m, or precision is lost; got {given}"


def _unattached(what: str, bodies: Iterable[str], choices: Collection[str]) -> Iterator[str]:
    for body in bodies:
        if body not in choices:
            yield unknown_name("body", body, choices).after(f"{what}: ")


def _unrooted(links: Sequence[Link]) -> Iterator[str]:
    """Bodies whose parents lead not to the world: to an unknown body, or around in a cycle."""
    by_body = {link.body.name: link for link in links}
    seen: set[str] = {WORLD}
    lost = 0
    for start in by_body:
        path: dict[str, None] = {}  # bodies from this one towards the root
        body = start
        while body not in seen and body not in path and body in by_body:
            path[body] = None
            body = by_body[body].parent
        if body in path:
            names = list(path)
            cycle = [*names[names.index(body) :], body]
            shown = cycle if len(cycle) <= LONGEST_CYCLE else [*cycle[: LONGEST_CYCLE - 2], "...", body]
            yield (
                f"the bodies form a cycle: {' -> '.join(shown)}; a loop must be closed by a cut joint (loop)"
            )
        elif body not in seen:
            *_, child = path
            yield unknown_name("body", body, (WORLD, *by_body), lost).after(f"parent of body '{child}': ")
            lost += 1
        seen.update(path)


def _wrong_mimics(links: Sequence[Link]) -> Iterator[str]:
    """Mimicked joints exist, have one degree of freedom, or are one of several, and do not mimic in turn."""
    joints = {link.joint.name: link.joint for link in links}
    choices = dict.fromkeys(x for joint in joints.values() if joint.mimic is None for x in joint.dof_names)
    for joint in joints.values():
        for name, _ in () if joint.mimic is None else joint.mimic.leaders:
            if name not in choices:
                yield (
                    f"joint '{joint.name}' mimics '{name}', which is not an independent one-DOF joint; "
                    f"allowed: {listed(choices)}"
                )
