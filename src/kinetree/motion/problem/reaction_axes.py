"""Joint reactions as torques: a body whose joint wrench is asked for gets six locked axes before it.

A cut joint of a closed loop gets a body without mass on its side a, held by six locked axes.

The generalized forces of these axes, at zero, are the force and the moment in the joint in body axes, about
the body's origin. So one kernel gives torques and reactions, with first and second derivatives.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from kinetree.algebra.bspline import Integers
from kinetree.algebra.placement import Placement
from kinetree.errors import InputError, unknown_name
from kinetree.model.body import WORLD, Body
from kinetree.model.joint import Joint
from kinetree.model.loop import Loop
from kinetree.model.mechanism import Link, Mechanism
from kinetree.model.rooted import carried_bodies
from kinetree.model.spring import Spring

SUFFIX = " (reaction)"


def reaction_body(mechanism: Mechanism, name: str) -> str:
    """The body that a joint of this name carries; names of bodies and loops, and "world", are their own.

    A joint that was taken apart, such as into "hip.flexion" and "hip.rotation", carries the first body of it.

    >>> import kinetree as kt
    >>> reaction_body(kt.zoo.two_link(), "joint2"), reaction_body(kt.zoo.two_link(), "link2")
    ('link2', 'link2')
    """
    bodies = mechanism.body_names
    if name == WORLD or name in bodies or any(loop.name == name for loop in mechanism.loops):
        return name
    joints = carried_bodies(mechanism)
    if name not in joints:
        known = *bodies, *joints, *(loop.name for loop in mechanism.loops)
        raise InputError(unknown_name("body or joint", name, known).after("joint reaction: "))
    return joints[name]


def with_reaction_axes(mechanism: Mechanism, bodies: Iterable[str]) -> Mechanism:
    """The mechanism with six axes, to be kept at zero, in the joint of each body.

    For "world" they stand below all roots: their forces are what the whole mechanism asks of the ground,
    about the world's origin in world axes. For a loop they are what body a exerts on body b through the cut
    joint, in a's frame of it.

    >>> import kinetree as kt
    >>> with_reaction_axes(kt.zoo.two_link(), ["link2"]).n_dof
    8
    """
    wanted = set(bodies)
    if not wanted:
        return mechanism
    links: list[Link] = []
    if WORLD in wanted:
        links.append(Link(Body(WORLD + SUFFIX), _locked(WORLD)))
    for link in mechanism.links:
        name = link.body.name
        if link.parent == WORLD and WORLD in wanted:
            link = replace(link, parent=WORLD + SUFFIX)
        if name in wanted:
            links.append(replace(link, body=Body(name + SUFFIX)))
            link = Link(link.body, _locked(name), parent=name + SUFFIX)
        links.append(link)
    loops: list[Loop] = []
    for loop in mechanism.loops:
        if WORLD in wanted:
            a, b = (WORLD + SUFFIX if x == WORLD else x for x in (loop.body_a, loop.body_b))
            loop = replace(loop, body_a=a, body_b=b)
        if loop.name in wanted and loop.name not in mechanism.body_names:
            joint, name = _locked(loop.name), loop.name + SUFFIX
            links.append(Link(Body(name), joint, parent=loop.body_a, placement=loop.placement_a))
            loop = replace(loop, body_a=name, placement_a=Placement())
        loops.append(loop)
    springs = [_below(spring) if WORLD in wanted else spring for spring in mechanism.springs]
    return Mechanism(
        mechanism.name,
        tuple(links),
        mechanism.gravity,
        tuple(loops),
        springs=tuple(springs),
        frames=mechanism.frames,
    )


def _below(spring: Spring) -> Spring:
    """A spring whose end on the ground is on the axes below all roots, which then carry its force, too."""
    a, b = (WORLD + SUFFIX if x == WORLD else x for x in (spring.body_a, spring.body_b))
    return replace(spring, body_a=a, body_b=b)


def reaction_rows(mechanism: Mechanism, body: str) -> Integers:
    """Where force (3) and moment (3) of a body's joint stand among the torques."""
    names = _locked(body).dof_names
    return np.array([mechanism.joint_index(name) for name in names], dtype=np.int64)


def own_rows(mechanism: Mechanism, names: Sequence[str]) -> Integers:
    """Where the mechanism's own coordinates stand."""
    return np.array([mechanism.joint_index(name) for name in names], dtype=np.int64)


def _locked(body: str) -> Joint:
    return Joint.of_kind(body + SUFFIX, "free", sequence="XYZ")
