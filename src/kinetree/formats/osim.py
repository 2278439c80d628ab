"""Reading models of OpenSim (.osim), as versions 2 to 4 write them.

Joints become chains of axes (:mod:`kinetree.formats.osim_joints`), coordinates keep their names and
units, bodies their names and frames, the ground is the world. Couplers become joints that follow, other
constraints loops. A body that joins several axes has bodies without mass between them. What is not used
is named in one warning.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from kinetree.algebra.placement import Placement
from kinetree.errors import FileError, InputError, ModelError, must_be
from kinetree.formats.contact_choice import ContactChoice, Contacts
from kinetree.formats.mesh_path import MeshFolder
from kinetree.formats.osim_document import (
    OffsetFrames,
    every,
    last,
    members,
    name_of,
    number,
    numbers,
    placement_of,
    read_document,
    socket,
    value,
)
from kinetree.formats.osim_joints import Chain, OsimJoint, couplers, is_enforced, osim_joints
from kinetree.formats.osim_muscles import osim_muscles, osim_wraps, unused_forces
from kinetree.formats.passed_over import PassedOver, warn_of_unphysical
from kinetree.formats.regular_file import file_content
from kinetree.formats.xml_file import Element, placed
from kinetree.model.body import WORLD, Body, Shape
from kinetree.model.contact_point import ContactPoint
from kinetree.model.floor import Floor
from kinetree.model.inertia import Inertia
from kinetree.model.joint import Joint
from kinetree.model.loop import Loop
from kinetree.model.marker import Marker
from kinetree.model.mechanism import Link, Mechanism
from kinetree.model.named_state import NamedState, NamedStates

PathLike = str | os.PathLike[str]
ZERO = (0.0, 0.0, 0.0)
EARTH = (0.0, -9.80665, 0.0)  # m/s^2 in OpenSim, unless the file says otherwise
DEFAULT = "default"  # the state of the coordinates' default values


def load_osim(
    path: PathLike,
    allow_unphysical: bool = False,
    folder: PathLike | None = None,
    strict: bool = False,
    contacts: Contacts = None,
) -> Mechanism:
    """The mechanism that a model of OpenSim describes.

    Coordinates are joints of their names, in rad and m, in the order of the joints; y is up. Clamped
    ranges become limits, and the default values a state "default". Contact spheres become contact points
    unless ``contacts`` chooses bodies, a contact half space the floor. What is not used is named in one
    warning; ``strict`` refuses it.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(must_be("the path of an OpenSim file", "a text or a path", path))
    file = Path(path)
    passed = PassedOver(str(path), strict)
    mechanism = read_osim(file, folder, ContactChoice.of(contacts), passed)
    passed.warn(stacklevel=3)
    if not allow_unphysical:
        warn_of_unphysical(mechanism, str(path), stacklevel=3)
    return mechanism


def read_osim(file: Path, folder: PathLike | None, contacts: ContactChoice, passed: PassedOver) -> Mechanism:
    """The mechanism of a file; ignored items are collected, not yet reported."""
    root = read_document(file_content(file), passed.source, passed)
    model = root.one("Model")
    if model is None:
        raise FileError(f"{passed.source}: contains no <Model>; files of tools and settings are no models")
    try:
        return _Reader(model, MeshFolder.around(file, folder, None), contacts, passed).mechanism()
    except ModelError as reason:
        raise ModelError(f"{passed.source}: {reason}") from None


class _Reader:
    """One model on its way to a mechanism."""

    def __init__(
        self, model: Element, folder: MeshFolder, contacts: ContactChoice, passed: PassedOver
    ) -> None:
        self.model, self.folder, self.contacts, self.passed = model, folder, contacts, passed
        found = members(model, "BodySet")
        self.bodies = {name_of(x): x for x in found if x.tag == "Body" and name_of(x) != "ground"}
        self.frames = OffsetFrames(model, list(self.bodies))
        self.joints = self._connected(osim_joints(model, self.frames))
        self.followers = couplers(model, passed)

    def mechanism(self) -> Mechanism:
        """All parts together."""
        links = self._links()
        dofs = frozenset(x for link in links for x in link.joint.dof_names)
        wraps = osim_wraps(self.model, self.frames, self.passed)
        muscles = osim_muscles(self.model, self.frames, wraps, dofs, self.passed)
        unused_forces(self.model, self.passed)
        gravity = numbers(self.model, "gravity", 3, EARTH)
        bent = [x.joint.name for x in links if x.joint.mimic is not None and x.joint.mimic.law is not None]
        made = Mechanism(
            self.model.attributes.get("name") or "model",
            tuple(links),
            gravity,
            tuple(self._loops(bent)),
            contact_points=tuple(self._contacts()),
            floor=self._floor(),
            muscles=tuple(muscles),
            wraps=tuple(wraps.values()),
            markers=tuple(self._markers()),
        )
        return self._with_default_state(made)

    def _connected(self, joints: list[OsimJoint]) -> list[OsimJoint]:
        """The joints, one for each body; a body without one floats."""
        owners: dict[str, OsimJoint] = {}
        for joint in joints:
            if joint.child == WORLD:
                raise FileError(f"{self.passed.source}: joint '{joint.name}' has the ground as its child")
            if joint.child in owners:
                raise FileError(
                    f"{self.passed.source}: body '{joint.child}' is the child of two joints, "
                    f"'{owners[joint.child].name}' and '{joint.name}'; write the second as a WeldConstraint"
                )
            owners[joint.child] = joint
        for name, element in self.bodies.items():
            if name not in owners:
                raise FileError(f"{element.place}: no joint connects it; a FreeJoint lets it float")
        return joints

    def _links(self) -> list[Link]:
        links: list[Link] = []
        for joint in self.joints:
            links += Chain(joint, self._body(self.bodies[joint.child]), self.followers).made()
        return links

    def _body(self, element: Element) -> Body:
        mass, center = number(element, "mass"), numbers(element, "mass_center", 3, ZERO)
        if element.one("inertia") is not None:
            xx, yy, zz, xy, xz, yz = numbers(element, "inertia", 6, (0.0,) * 6).tolist()
        else:
            keys = ("xx", "yy", "zz", "xy", "xz", "yz")
            xx, yy, zz, xy, xz, yz = (number(element, f"inertia_{key}", 0.0) for key in keys)
        moment = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if mass == 0.0 and moment.any():
            said = f"{element.place}: has a moment of inertia but no mass; it is left out"
            self.passed.mention("not-used", f"inertia of '{name_of(element)}' without mass", said)
            moment = np.zeros((3, 3))
        inertia = placed(element, lambda: Inertia(mass, center, moment, allow_unphysical=True))
        return Body(name_of(element), inertia, tuple(self._shapes(element)))

    def _shapes(self, element: Element) -> Iterable[Shape]:
        """Mesh files of a body that are there."""
        from kinetree.formats.osim_shapes import body_shapes

        return body_shapes(element, self.frames, self.folder, self.passed)

    def _markers(self) -> Iterable[Marker]:
        for element in members(self.model, "MarkerSet"):
            if element.tag != "Marker":
                continue
            body, frame = self.frames.of(socket(element, "parent_frame", "body") or "", element)
            x, y, z = (frame.rotation @ numbers(element, "location", 3) + frame.position).tolist()
            yield Marker(name_of(element), body, (x, y, z))

    def _loops(self, bent: list[str]) -> Iterable[Loop]:
        """Constraints other than couplers."""
        for element in members(self.model, "ConstraintSet"):
            of_class = element.tag.endswith("Constraint") and element.tag != "CoordinateCouplerConstraint"
            if not of_class or not is_enforced(element):
                continue
            name = name_of(element)
            if element.tag not in LOOPS:
                said = f"{element.place}: constraints of this class are not used"
                self.passed.note("not-used", f"<{element.tag}>", said)
            elif bent:
                said = (
                    f"{element.place}: closed loops support joints that follow others linearly only, and "
                    f"'{bent[0]}' follows by another function; the constraint is left out"
                )
                self.passed.note("not-used", f"constraint '{name}'", said)
            else:
                yield placed(element, partial(_loop, element, self.frames))

    def _contacts(self) -> Iterable[ContactPoint]:
        names: set[str] = set()
        friction = _frictions(self.model)
        for element in members(self.model, "ContactGeometrySet"):
            if not element.tag.startswith("Contact") or element.tag == "ContactHalfSpace":
                continue
            if element.tag != "ContactSphere":
                said = f"{element.place}: contact geometry of this class is not used"
                self.passed.note("not-used", f"<{element.tag}>", said)
                continue
            body, place = self._geometry(element)
            if body == WORLD or not self.contacts.wants(body, True):
                continue
            name = name_of(element)
            name = name if name not in names else f"{name} of {body}"
            names.add(name)
            radius = number(element, "radius")
            yield ContactPoint(name, body, place.position, radius, friction=friction.get(name))

    def _geometry(self, element: Element) -> tuple[str, Placement]:
        body, frame = self.frames.of(socket(element, "frame", "body_name") or "", element)
        angles = numbers(element, "orientation", 3, ZERO)
        return body, frame @ placement_of(numbers(element, "location", 3, ZERO), angles)

    def _floor(self) -> Floor | None:
        """The half space of the ground, which lies along its x axis."""
        for element in members(self.model, "ContactGeometrySet"):
            if element.tag == "ContactHalfSpace":
                body, place = self._geometry(element)
                if body == WORLD:
                    return Floor(place.position, np.round(-place.rotation[:, 0], 12) + 0.0)
        return None

    def _with_default_state(self, made: Mechanism) -> Mechanism:
        defaults = {c.name: c.default for joint in self.joints for c in joint.coordinates}
        q = np.array([defaults.get(name, 0.0) for name in made.joint_names])
        return replace(made, states=NamedStates([NamedState(DEFAULT, q)])) if len(q) else made


LOOPS = ("WeldConstraint", "PointConstraint", "PointOnLineConstraint", "ConstantDistanceConstraint")


def _loop(element: Element, frames: OffsetFrames) -> Loop:
    """A constraint between two bodies as a cut joint."""
    name = name_of(element)
    if element.tag == "WeldConstraint":
        (a, place_a), (b, place_b) = (_end(element, frames, k) for k in (1, 2))
        return Loop(Joint.of_kind(name, "fixed", cut=True), a, b, place_a, place_b)
    if element.tag == "PointOnLineConstraint":
        a = frames.body(socket(element, "line_body", "line_body") or "", element)
        b = frames.body(socket(element, "follower_body", "follower_body") or "", element)
        start, along = numbers(element, "point_on_line", 3, ZERO), numbers(element, "line_direction_vec", 3)
        joint = Joint.of_kind(name, "point_on_line", axis=along, cut=True)
        at = numbers(element, "point_on_follower", 3, ZERO)
        return Loop(joint, a, b, Placement.at(start), Placement.at(at))
    ends = []
    for k in (1, 2):
        body = frames.body(socket(element, f"body_{k}", f"body_{k}") or "", element)
        keys = (f"location_body_{k}", f"location_in_body_{k}")
        key = next((x for x in keys if element.one(x) is not None), keys[0])
        ends.append((body, Placement.at(numbers(element, key, 3, ZERO))))
    length = None
    if element.tag == "ConstantDistanceConstraint":
        length = number(element, "constant_distance")
    (a, place_a), (b, place_b) = ends
    return Loop(Joint.of_kind(name, "spherical", cut=True), a, b, place_a, place_b, length)


def _end(element: Element, frames: OffsetFrames, k: int) -> tuple[str, Placement]:
    """An end of a weld: a frame from version 4 on, before a body and a place in it."""
    given = socket(element, f"frame{k}")
    if given is not None:
        return frames.of(given, element)
    place = placement_of(
        numbers(element, f"location_body_{k}", 3, ZERO), numbers(element, f"orientation_body_{k}", 3, ZERO)
    )
    return frames.body(value(element, f"body_{k}") or "", element), place


def _frictions(model: Element) -> dict[str, float]:
    """Dynamic friction by the name of a contact sphere."""
    found: dict[str, float] = {}
    for force in members(model, "ForceSet"):
        if force.tag == "SmoothSphereHalfSpaceForce":
            found[last(socket(force, "sphere") or "")] = number(force, "dynamic_friction", 0.0)
        elif force.tag == "HuntCrossleyForce":
            for parts in every(force, "HuntCrossleyForce__ContactParameters"):
                for name in (value(parts, "geometry") or "").split():
                    found[last(name)] = number(parts, "dynamic_friction", 0.0)
    return found
