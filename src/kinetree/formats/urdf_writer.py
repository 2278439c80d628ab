"""Writing a mechanism as URDF, in words that every URDF parser understands.

A joint with several degrees of freedom is written as the chain of one-DOF joints it is, with empty links
between them. The joints of the chain are called like the degrees of freedom ('hip.ry'), so that reading the
text again gives the same ``joint_names``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation import rpy_from_rotation
from kinetree.errors import FileError, KinetreeWarning, listed
from kinetree.formats.urdf_elements import LOOP_KINDS, NO_LIMIT, TENSOR
from kinetree.formats.xml_numbers import spaced, written
from kinetree.model.body import WORLD, Body, Shape
from kinetree.model.inertia import Inertia
from kinetree.model.joint import Joint, friction_differs, mean_friction
from kinetree.model.loop import Loop
from kinetree.model.mechanism import EARTH, Link, Mechanism

LOOP_TYPES = {kind: name for name, kind in LOOP_KINDS.items()}
ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # no XML may hold these


def urdf_text(mechanism: Mechanism) -> str:
    """The mechanism as the text of a URDF file, rooted in a link called 'world'.

    Loops are <loop> elements of URDF+, beside <transmission>s of the driven joints. What URDF cannot hold
    (cut joints of other kinds, contact points, armature, springs, another gravity than 9.81 m/s^2 along -z)
    is left out with a warning that names it.
    """
    _warn_of_losses(mechanism)
    robot = Element("robot", name=mechanism.name)
    SubElement(robot, "link", name=WORLD)
    new_link = name_maker((WORLD, *mechanism.body_names))
    new_joint = name_maker(link.joint.name for link in mechanism.links)
    for link in mechanism.links:
        _write_link(robot, link, new_link, new_joint)
    for frame in mechanism.frames:  # as everybody writes them: links without mass on fixed joints
        link_name = new_link(frame.name)
        _connect(robot, new_joint(f"{frame.name}_joint"), "fixed", frame.body, link_name, frame.placement)
        SubElement(robot, "link", name=link_name)
    for loop in mechanism.loops:
        if _loop_type(loop):
            _write_loop(robot, loop)
    if mechanism.loops and not mechanism.driven.all():
        _write_drives(robot, mechanism)
    indent(robot)
    text = tostring(robot, encoding="unicode")
    illegal = ILLEGAL.search(text)
    if illegal:
        raise FileError(
            f"mechanism '{mechanism.name}' uses the character {illegal[0]!r}, which XML cannot hold"
        )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _warn_of_losses(mechanism: Mechanism) -> None:
    joints = [link.joint for link in mechanism.links]
    losses = {
        "loops of other types than URDF+ has": [x.name for x in mechanism.loops if not _loop_type(x)],
        "springs, friction and limits of cut joints": [
            x.name for x in mechanism.loops if x.joint.parameters()
        ],
        "drives of cut joints": [x.name for x in mechanism.loops if any(x.joint.driven)],
        "springs between bodies": [spring.name for spring in mechanism.springs],
        "contact points": [point.name for point in mechanism.contact_points],
        "gravity compensation": [x.body.name for x in mechanism.links if x.body.gravity_compensation],
        "actuators": [actuator.name for actuator in mechanism.actuators],
        "named states": list(mechanism.states),
        "floor": [] if mechanism.floor is None else ["of the scene"],
        "armature of joints": [joint.name for joint in joints if joint.armature.any()],
        "joints without drives": []
        if mechanism.loops
        else [joint.name for joint in joints if not all(joint.driven)],
        "higher powers of mimics": [x.name for x in joints if x.mimic is not None and x.mimic.higher],
        "functions of mimics, written as tangents at zero": [
            x.name for x in joints if x.mimic is not None and x.mimic.function is not None
        ],
        "markers": [marker.name for marker in mechanism.markers],
        "further joints of mimics": [x.name for x in joints if x.mimic is not None and x.mimic.others],
        "direction-dependent friction, written as its mean": [x.name for x in joints if friction_differs(x)],
        "springs of joints": [joint.name for joint in joints if joint.stiffness.any()],
        "ellipsoids of bodies": [x.body.name for x in mechanism.links if _has_ellipsoids(x.body)],
        "gravity": [] if np.array_equal(mechanism.gravity, EARTH) else [spaced(mechanism.gravity)],
    }
    lost = [f"{what} ({listed(names)})" for what, names in losses.items() if names]
    if lost:
        warnings.warn(
            f"URDF cannot represent all of mechanism '{mechanism.name}'; left out: {'; '.join(lost)}",
            KinetreeWarning,
            stacklevel=3,
        )


def name_maker(names: Iterable[str]) -> Callable[[str], str]:
    """A function that gives a name that is free."""
    taken = set(names)

    def new(name: str) -> str:
        while name in taken:
            name += "_"
        taken.add(name)
        return name

    return new


# ---- links ------------------------------------------------------------------------------------


def _write_link(
    robot: Element, link: Link, new_link: Callable[[str], str], new_joint: Callable[[str], str]
) -> None:
    """The joint of a link as one or more <joint> elements, and its body."""
    joint, parent, place = link.joint, link.parent, link.placement
    if joint.n_dof == 0:
        _connect(robot, joint.name, "fixed", parent, link.body.name, place)
    for k, dof in enumerate(joint.dof_names):
        last = k == joint.n_dof - 1
        child = link.body.name if last else new_link(f"{dof}_link")
        name = dof if joint.n_dof == 1 else new_joint(dof)
        _write_axis(_connect(robot, name, _type(joint, k), parent, child, place), joint, k)
        if not last:
            SubElement(robot, "link", name=child)
        parent, place = child, Placement()
    _write_body(robot, link.body)


def _write_body(robot: Element, body: Body) -> None:
    link = SubElement(robot, "link", name=body.name)
    if not body.inertia.is_zero:
        _write_inertia(link, body.inertia)
    for shape in body.shapes:
        for simple in _simple_shapes(shape):
            _write_shape(link, simple)


def _write_inertia(link: Element, inertia: Inertia) -> None:
    inertial = SubElement(link, "inertial")
    _write_origin(inertial, Placement(position=inertia.center))
    SubElement(inertial, "mass", value=written(inertia.mass))
    upper = inertia.moment[np.triu_indices(3)]
    SubElement(inertial, "inertia", {key: written(x) for key, x in zip(TENSOR, upper, strict=True)})


def _has_ellipsoids(body: Body) -> bool:
    return any(shape.kind == "ellipsoid" for shape in body.shapes)


def _simple_shapes(shape: Shape) -> list[Shape]:
    """The shape in words of plain URDF, which has no capsule: a cylinder with a sphere at either end."""
    if shape.kind == "ellipsoid":
        return []
    if shape.kind != "capsule":
        return [shape]
    radius, length = shape.size
    ends = [shape.placement @ Placement.at((0.0, 0.0, z)) for z in (-0.5 * length, 0.5 * length)]
    return [
        replace(shape, kind="cylinder"),
        *(Shape("sphere", np.array([radius]), end, color=shape.color) for end in ends),
    ]


def _write_shape(link: Element, shape: Shape) -> None:
    visual = SubElement(link, "visual")
    _write_origin(visual, shape.placement)
    geometry = SubElement(visual, "geometry")
    if shape.file is not None:
        SubElement(geometry, "mesh", filename=shape.file, scale=spaced(shape.size))
    elif shape.kind == "box":
        SubElement(geometry, "box", size=spaced(shape.size))
    elif shape.kind == "sphere":
        SubElement(geometry, "sphere", radius=written(shape.size[0]))
    else:
        radius, length = shape.size
        SubElement(geometry, shape.kind, radius=written(radius), length=written(length))
    if shape.color is not None:
        SubElement(SubElement(visual, "material", name=""), "color", rgba=spaced(shape.color))


# ---- joints -----------------------------------------------------------------------------------


def _type(joint: Joint, k: int) -> str:
    """The URDF type of axis k."""
    if not joint.turns[k]:
        return "prismatic"
    return "continuous" if np.isinf([joint.lower[k], joint.upper[k]]).all() else "revolute"


def _connect(robot: Element, name: str, kind: str, parent: str, child: str, place: Placement) -> Element:
    joint = SubElement(robot, "joint", name=name, type=kind)
    _write_origin(joint, place)
    SubElement(joint, "parent", link=parent)
    SubElement(joint, "child", link=child)
    return joint


def _write_axis(element: Element, joint: Joint, k: int) -> None:
    """Direction, limits, friction and mimic of axis k of a joint."""
    SubElement(element, "axis", xyz=spaced(joint.axes[k]))
    limits = {"effort": _limit(joint.effort_limit[k]), "velocity": _limit(joint.velocity_limit[k])}
    if element.get("type") != "continuous":
        limits = {"lower": _limit(joint.lower[k]), "upper": _limit(joint.upper[k]), **limits}
        SubElement(element, "limit", limits)
    elif np.isfinite([joint.effort_limit[k], joint.velocity_limit[k]]).any():
        SubElement(element, "limit", limits)
    dry = mean_friction(joint)[k]
    if joint.viscous[k] or dry:
        SubElement(element, "dynamics", damping=written(joint.viscous[k]), friction=written(dry))
    if joint.mimic is not None:
        mimic = joint.mimic
        SubElement(
            element,
            "mimic",
            joint=mimic.joint,
            multiplier=written(float(mimic.slope(0.0))),
            offset=written(float(mimic.at(0.0))),
        )


# ---- loops ------------------------------------------------------------------------------------


def _loop_type(loop: Loop) -> str:
    """The type of a <loop>; empty if URDF+ has none."""
    if loop.length is not None:
        return ""
    return LOOP_TYPES.get(loop.joint.kind, "")


def _write_loop(robot: Element, loop: Loop) -> None:
    element = SubElement(robot, "loop", name=loop.name, type=_loop_type(loop))
    for role, body, place in (
        ("predecessor", loop.body_a, loop.placement_a),
        ("successor", loop.body_b, loop.placement_b),
    ):
        _write_origin(SubElement(element, role, link=body), place)
    if loop.joint.n_dof:
        SubElement(element, "axis", xyz=spaced(loop.joint.axes[-1]))


def _write_drives(robot: Element, mechanism: Mechanism) -> None:
    """A simple transmission for each driven joint: those without one are free."""
    for name in np.array(mechanism.joint_names)[mechanism.driven].tolist():
        transmission = SubElement(robot, "transmission", name=f"{name}_transmission")
        SubElement(transmission, "type").text = "transmission_interface/SimpleTransmission"
        SubElement(transmission, "joint", name=name)
        SubElement(transmission, "actuator", name=f"{name}_motor")


def _write_origin(element: Element, place: Placement) -> None:
    if not place.is_identity:
        rpy = rpy_from_rotation(place.rotation)
        SubElement(element, "origin", xyz=spaced(place.position), rpy=spaced(rpy))


# ---- numbers ----------------------------------------------------------------------------------


def _limit(value: float) -> str:
    return written(np.clip(value, -NO_LIMIT, NO_LIMIT))
