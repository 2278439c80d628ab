"""Mechanisms drawn as a graph: all joints between bodies, from which a spanning tree and cuts are found.

The path from the root to every body shall have few degrees of freedom: the tree of minimum cumulative degrees
of freedom ([Shah2013], section 8.4), found as a tree of shortest paths. Joints with armature, or that others
mimic, stay in the tree; so do, where a plain joint of the same loop can be cut instead, those with drives,
springs, friction or limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush

from numpy.typing import ArrayLike

from kinetree.algebra.arrays import frozen
from kinetree.algebra.placement import Placement
from kinetree.errors import ModelError, expect, listed, shown, unknown_name
from kinetree.model.body import WORLD, Body
from kinetree.model.contact_point import ContactPoint
from kinetree.model.joint import Joint
from kinetree.model.loop import Loop
from kinetree.model.mechanism import EARTH, Link, Mechanism
from kinetree.model.rooted import linked, reversed_joint, single_axes
from kinetree.model.spring import Spring

PLAIN = 1e-3  # share of a degree of freedom by which a joint without drive, spring, ... is longer than others
FORCES = ("viscous", "coulomb", "coulomb_reverse", "stiffness", "lower", "upper", "effort_limit")


def from_graph(
    name: str,
    bodies: Sequence[Body],
    joints: Sequence[Loop],
    *,
    cut: Iterable[str] | None = None,
    gravity: ArrayLike = EARTH,
    springs: Sequence[Spring] = (),
    contact_points: Sequence[ContactPoint] = (),
) -> Mechanism:
    """A mechanism from bodies and all joints between them, whatever loops they form.

    Each joint is a :class:`Loop`: its frame sits at ``placement_a`` in body a and, moved by the joint, at
    ``placement_b`` in body b. A spanning tree from the world is built and the other joints are cut; ``cut``
    names the joints to cut instead. A joint that is traversed from body b to body a is reversed; its
    coordinates keep their names and signs. In the mechanism the frame of a body is that of the joint that
    carries it; shapes, springs and points are transformed accordingly. A free joint to the world makes a body
    float.

    >>> import kinetree as kt
    >>> bar = kt.Inertia.rod(1.0, end=(1, 0, 0))
    >>> tip = kt.Placement.at((1, 0, 0))
    >>> joints = [
    ...     kt.model.Loop(kt.Joint.of_kind("left", "revolute"), "world", "crank"),
    ...     kt.model.Loop(kt.Joint.of_kind("pin", "revolute", driven=False), "crank", "rod", tip),
    ...     kt.model.Loop(
    ...         kt.Joint.of_kind("right", "revolute"), "world", "rod", kt.Placement.at((2, 0, 0)), tip
    ...     ),
    ... ]
    >>> kt.model.from_graph("arch", [kt.Body("crank", bar), kt.Body("rod", bar)], joints).loops[0].name
    'pin'
    """
    expect(bodies, Sequence, "bodies", "a list of bodies")
    for body in bodies:
        expect(body, Body, "one of bodies", "a Body")
    expect(joints, Sequence, "joints", "a list of Loop(joint, body_a, body_b, ...)")
    carried, chosen = spanning_tree(name, [body.name for body in bodies], joints, cut)
    back = {
        body: (joint.placement_b if joint.body_b == body else joint.placement_a).inverse
        for body, joint in carried.items()
    }
    links = [link for body in bodies for link in _links(body, carried[body.name], back)]
    return Mechanism(
        name,
        tuple(links),
        gravity,  # type: ignore[arg-type]
        tuple(_moved_loop(joint, back) for joint in joints if joint.name in chosen),
        tuple(_moved_point(point, back) for point in contact_points),
        tuple(_moved_spring(spring, back) for spring in springs),
    )


def spanning_tree(
    name: str, bodies: Sequence[str], joints: Sequence[Loop], cut: Iterable[str] | None = None
) -> tuple[dict[str, Loop], set[str]]:
    """The joint that carries each body, and the names of the joints that are cut; see :func:`from_graph`.

    A body that is the joint's body a hangs on it the other way round.

    >>> import kinetree as kt
    >>> pin = kt.model.Loop(kt.Joint.of_kind("pin", "revolute"), "rod", "world")
    >>> carried, cut = spanning_tree("rod", ["rod"], [pin])
    >>> carried["rod"].name, cut
    ('pin', set())
    """
    _check(name, bodies, joints)
    chosen = set(_cuts(name, bodies, joints)) if cut is None else _given_cuts(name, joints, cut)
    return _carried(name, bodies, [joint for joint in joints if joint.name not in chosen]), chosen


def _check(name: str, bodies: Sequence[str], joints: Sequence[Loop]) -> None:
    seen: set[str] = set()
    for body in bodies:
        if body in seen or body == WORLD:
            raise ModelError(f"mechanism '{name}': more than one body is called '{body}'; names must differ")
        seen.add(body)
    taken: set[str] = set()
    for joint in joints:
        if not isinstance(joint, Loop):
            raise ModelError(
                f"mechanism '{name}': joints of a graph are Loop(joint, body_a, body_b, ...), "
                f"got {shown(joint)}"
            )
        if joint.name in taken:
            raise ModelError(
                f"mechanism '{name}': more than one joint is called '{joint.name}'; names must differ"
            )
        taken.add(joint.name)
        if joint.joint.is_free and joint.body_a != WORLD:
            raise ModelError(
                f"joint '{joint.name}': a free joint makes a base float, so its body a must be the world; "
                f"got '{joint.body_a}'"
            )
        for body in (joint.body_a, joint.body_b):
            if body != WORLD and body not in seen:
                raise ModelError(
                    unknown_name("body", body, (WORLD, *bodies)).after(f"joint '{joint.name}': ")
                )


def _bodies(names: Sequence[str]) -> str:
    """Bodies in a message."""
    return listed(f"body '{name}'" for name in names)


def _can_carry(joint: Loop) -> bool:
    """Whether it can be a joint of the tree: rods and points on lines cannot."""
    return joint.length is None and joint.joint.kind != "point_on_line"


def _must_carry(joint: Loop, followed: set[str]) -> bool:
    """Whether it cannot be cut: its coordinate is needed."""
    known = joint.joint.mimic is not None or joint.joint.is_free
    return known or not followed.isdisjoint(joint.joint.dof_names) or "armature" in joint.joint.parameters()


def _is_plain(joint: Loop) -> bool:
    """Whether nothing but the constraint acts in it."""
    return not any(joint.joint.driven) and not any(key in joint.joint.parameters() for key in FORCES)


def _cuts(name: str, bodies: Sequence[str], joints: Sequence[Loop]) -> list[str]:
    """Names of joints to cut: those outside the tree of shortest paths, exchanged for plainer ones."""
    tree = _shortest(name, bodies, [joint for joint in joints if _can_carry(joint)])
    mimics = [joint.joint.mimic for joint in joints if joint.joint.mimic is not None]
    followed = {name for mimic in mimics for name, _ in mimic.leaders}
    by_name = {joint.name: joint for joint in joints}
    for joint in joints:
        if joint.name in tree or not _can_carry(joint):
            continue
        must = _must_carry(joint, followed)
        if not must and _is_plain(joint):
            continue
        inside = [by_name[x] for x in _cycle(by_name, tree, joint)]
        able = [x for x in inside if not _must_carry(x, followed) and (must or _is_plain(x))]
        if able:
            tree = (tree - {min(able, key=lambda x: (not _is_plain(x), -x.joint.n_dof)).name}) | {joint.name}
        elif must:
            raise ModelError(
                f"mechanism '{name}': no joint can be cut in the loop of '{joint.name}' and "
                f"{listed(x.name for x in inside)}: all are free, have armature or belong to mimic joints"
            )
    return [joint.name for joint in joints if joint.name not in tree]


def _shortest(name: str, bodies: Sequence[str], joints: Sequence[Loop]) -> set[str]:
    """The joints of the tree of minimum cumulative degrees of freedom."""
    at: dict[str, list[Loop]] = {body: [] for body in (WORLD, *bodies)}
    for joint in joints:
        at[joint.body_a].append(joint)
        at[joint.body_b].append(joint)
    order = {joint.name: k for k, joint in enumerate(joints)}
    waiting: list[tuple[float, int, str, str]] = [(0.0, -1, WORLD, "")]
    reached: set[str] = set()
    tree: set[str] = set()
    while waiting:
        length, _, body, by = heappop(waiting)
        if body in reached:
            continue
        reached.add(body)
        tree |= {by} - {""}
        for joint in at[body]:
            other = joint.body_b if joint.body_a == body else joint.body_a
            if other not in reached:
                longer = length + joint.joint.n_dof + (PLAIN if _is_plain(joint) else 0.0)
                heappush(waiting, (longer, order[joint.name], other, joint.name))
    lost = [body for body in bodies if body not in reached]
    if lost:
        raise ModelError(
            f"mechanism '{name}': no joints lead from the world to {_bodies(lost)}; every body of a graph "
            f"must be connected"
        )
    return tree


def _cycle(joints: dict[str, Loop], tree: set[str], closing: Loop) -> list[str]:
    """The joints of the tree between the two bodies of another joint."""
    at: dict[str, list[tuple[str, str]]] = {}
    for name in tree:
        a, b = joints[name].body_a, joints[name].body_b
        at.setdefault(a, []).append((name, b))
        at.setdefault(b, []).append((name, a))
    ways: dict[str, list[str]] = {closing.body_a: []}
    waiting = [closing.body_a]
    while waiting:
        body = waiting.pop()
        for name, other in at.get(body, ()):
            if other not in ways:
                ways[other] = [*ways[body], name]
                waiting.append(other)
    return sorted(ways[closing.body_b], key=list(joints).index)


def _given_cuts(name: str, joints: Sequence[Loop], cut: Iterable[str]) -> set[str]:
    known = [joint.name for joint in joints]
    chosen = [cut] if isinstance(cut, str) else list(cut)
    for joint in chosen:
        if joint not in known:
            raise ModelError(unknown_name("joint", joint, known).after(f"mechanism '{name}', cut: "))
    for loop in joints:
        if loop.name not in chosen and not _can_carry(loop):
            raise ModelError(
                f"mechanism '{name}': joint '{loop.name}' cannot be part of the tree and must be cut"
            )
    return set(chosen)


def _carried(name: str, bodies: Sequence[str], joints: Sequence[Loop]) -> dict[str, Loop]:
    """The joint that carries each body, on the way from the world; an error where the joints form no tree."""
    at: dict[str, list[Loop]] = {body: [] for body in (WORLD, *bodies)}
    for joint in joints:
        at[joint.body_a].append(joint)
        at[joint.body_b].append(joint)
    found: dict[str, Loop] = {}
    passed: set[str] = set()
    waiting = [WORLD]
    while waiting:
        body = waiting.pop()
        for joint in at[body]:
            if joint.name in passed:
                continue
            passed.add(joint.name)
            other = joint.body_b if joint.body_a == body else joint.body_a
            if other == WORLD or other in found:
                raise ModelError(
                    f"mechanism '{name}': joint '{joint.name}' closes a loop of joints that are not cut; cut "
                    "one of them"
                )
            found[other] = joint
            waiting.append(other)
    lost = [body for body in bodies if body not in found]
    if lost:
        raise ModelError(
            f"mechanism '{name}': with these joints cut nothing leads from the world to {_bodies(lost)}"
        )
    return found


def _links(body: Body, joint: Loop, back: dict[str, Placement]) -> Iterator[Link]:
    """A body on the joint that carries it, passed the other way if it is the joint's body a."""
    frame = back[body.name]
    shapes = tuple(replace(shape, placement=frame @ shape.placement) for shape in body.shapes)
    moved = replace(body, inertia=body.inertia.moved(frame), shapes=shapes)
    if joint.body_b == body.name:
        yield Link(moved, joint.joint, joint.body_a, _seen(back, joint.body_a, joint.placement_a))
        return
    place, turned = _seen(back, joint.body_b, joint.placement_b), reversed_joint(joint.joint)
    if turned is not None:
        yield Link(moved, turned, joint.body_b, place)
        return
    axes: list[Joint] = [
        replace(axis, axes=frozen(0.0 - axis.axes)) for axis in reversed(single_axes(joint.joint))
    ]
    yield from linked(axes, moved, joint.body_b, place)


def _seen(back: dict[str, Placement], body: str, placement: Placement) -> Placement:
    return back[body] @ placement if body in back else placement


def _moved_loop(loop: Loop, back: dict[str, Placement]) -> Loop:
    return replace(
        loop,
        placement_a=_seen(back, loop.body_a, loop.placement_a),
        placement_b=_seen(back, loop.body_b, loop.placement_b),
    )


def _moved_point(point: ContactPoint, back: dict[str, Placement]) -> ContactPoint:
    frame = back.get(point.body, Placement())
    return replace(point, position=frozen(frame.rotation @ point.position + frame.position))


def _moved_spring(spring: Spring, back: dict[str, Placement]) -> Spring:
    a, b = back.get(spring.body_a, Placement()), back.get(spring.body_b, Placement())
    return replace(
        spring,
        point_a=frozen(a.rotation @ spring.point_a + a.position),
        point_b=frozen(b.rotation @ spring.point_b + b.position),
    )
