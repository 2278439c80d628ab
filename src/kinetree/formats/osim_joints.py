"""Joints of OpenSim's models as chains of axes that follow coordinates by functions.

A custom joint slides along three axes of the parent's frame, then turns about three, theta_k = f_k(q);
all other classes are such chains too (Seth, Sherman, Eastman, Delp, "Minimal formulation of joint motion
for biomechanisms", Nonlinear Dynamics 62, 2010). The axis that is a coordinate itself becomes an
independent joint of its name, the others follow it; coordinate couplers are the same law for a coordinate
that depends on another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation import rotation_about
from kinetree.algebra.smooth_functions import (
    IDENTITY,
    Composed,
    Polynomial,
    Scaled,
    SmoothFunction,
    constant,
    kinks,
    line,
)
from kinetree.errors import FileError, listed, unknown_name
from kinetree.formats.osim_document import (
    OffsetFrames,
    flag,
    inner_function,
    last,
    members,
    name_of,
    number,
    numbers,
    objects,
    placement_of,
    socket,
    value,
)
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.xml_file import Element
from kinetree.model.body import Body
from kinetree.model.inertia import Inertia
from kinetree.model.joint import Joint, Mimic
from kinetree.model.mechanism import Link

X, Y, Z = np.eye(3)
SLIDE, TURN = False, True
PLAIN: Mapping[str, tuple[tuple[bool, Array], ...]] = {  # axes of the coordinates, in their order
    "PinJoint": ((TURN, Z),),
    "SliderJoint": ((SLIDE, X),),
    "UniversalJoint": ((TURN, X), (TURN, Y)),
    "BallJoint": ((TURN, X), (TURN, Y), (TURN, Z)),
    "GimbalJoint": ((TURN, X), (TURN, Y), (TURN, Z)),
    "PlanarJoint": ((TURN, Z), (SLIDE, X), (SLIDE, Y)),
    "FreeJoint": ((TURN, X), (TURN, Y), (TURN, Z), (SLIDE, X), (SLIDE, Y), (SLIDE, Z)),
    "WeldJoint": (),
}
CLASSES = (*PLAIN, "CustomJoint")
ROWS = ("translation1", "translation2", "translation3", "rotation1", "rotation2", "rotation3")
NOTHING = Inertia(0.0)


@dataclass(frozen=True)
class Coordinate:
    """A coordinate of a joint: where it is by default, and its limits if it is clamped."""

    name: str
    default: float
    lower: float
    upper: float
    is_locked: bool


@dataclass(frozen=True, eq=False)
class OsimAxis:
    """One axis of a joint: turned about or slid along by ``law`` of a coordinate; None: it stays at zero."""

    name: str
    turns: bool
    direction: Array
    coordinate: str | None
    law: SmoothFunction


@dataclass(frozen=True, eq=False)
class OsimJoint:
    """A joint between two bodies: its frames in both, and its axes from the parent on."""

    name: str
    parent: str
    child: str
    in_parent: Placement
    in_child: Placement
    axes: tuple[OsimAxis, ...]
    coordinates: tuple[Coordinate, ...]


@dataclass(eq=False)
class CoupledCoordinates:
    """Coordinates that depend on others, by couplers: name -> (coordinate, function)."""

    laws: dict[str, tuple[str, SmoothFunction]] = field(default_factory=dict)

    def of(self, name: str | None, law: SmoothFunction) -> tuple[str | None, SmoothFunction]:
        """The independent coordinate and the function of it that a function of a coordinate is."""
        seen = set()
        while name is not None and name in self.laws:
            if name in seen:
                raise FileError(f"coordinate '{name}' is coupled to itself")
            seen.add(name)
            leader, inner = self.laws[name]
            name, law = leader, inner if law is IDENTITY else Composed(law, inner)
        return name, law


def osim_joints(model: Element, frames: OffsetFrames) -> list[OsimJoint]:
    """All joints of a model, those of a <JointSet> (from version 4) and those inside bodies (before)."""
    found = [_joint(x, frames, None) for x in members(model, "JointSet") if x.tag.endswith("Joint")]
    for body in objects(model, "BodySet"):
        inside = body.one("Joint")
        if inside is not None:
            found += [_joint(x, frames, name_of(body)) for x in inside.children]
    return found


def _joint(element: Element, frames: OffsetFrames, owner: str | None) -> OsimJoint:
    if element.tag not in CLASSES:
        raise FileError(
            f"{element.place}: joints of the class {element.tag} are not read; these are: {listed(CLASSES)}"
        )
    if owner is None:
        ends_of = [socket(element, x, x) for x in ("parent_frame", "child_frame")]
        if ends_of[0] is None or ends_of[1] is None:
            raise FileError(f"{element.place}: the frames that it joins are missing")
        (parent, in_parent), (child, in_child) = (frames.of(x, element) for x in ends_of if x is not None)
    else:
        zero = (0.0, 0.0, 0.0)
        parent, child = frames.body(value(element, "parent_body") or "", element), owner
        ends = ("location_in_parent", "orientation_in_parent"), ("location", "orientation")
        in_parent, in_child = (placement_of(*(numbers(element, x, 3, zero) for x in keys)) for keys in ends)
    coordinates = tuple(_coordinate(x) for x in _coordinates(element))
    axes = _custom(element, coordinates) if element.tag == "CustomJoint" else _plain(element, coordinates)
    if flag(element, "reverse", False):
        axes = [OsimAxis(a.name, a.turns, -a.direction, a.coordinate, a.law) for a in axes[::-1]]
    return OsimJoint(name_of(element), parent, child, in_parent, in_child, tuple(axes), coordinates)


def _coordinates(element: Element) -> list[Element]:
    listed_here = element.one("coordinates")
    found = objects(element, "CoordinateSet") if listed_here is None else listed_here.children
    return [x for x in found if x.tag == "Coordinate"]


def _coordinate(element: Element) -> Coordinate:
    low, high = numbers(element, "range", 2, (-np.inf, np.inf)).tolist()
    clamped = flag(element, "clamped", False)
    limits = (low, high) if clamped else (-np.inf, np.inf)
    default = number(element, "default_value", 0.0)
    return Coordinate(name_of(element), default, limits[0], limits[1], flag(element, "locked", False))


def _plain(element: Element, coordinates: tuple[Coordinate, ...]) -> list[OsimAxis]:
    rows = PLAIN[element.tag]
    if len(coordinates) != len(rows):
        raise FileError(
            f"{element.place}: a {element.tag} has {len(rows)} coordinates, got {len(coordinates)}"
        )
    made = [
        OsimAxis(of.name, turns, direction, of.name, IDENTITY)
        for of, (turns, direction) in zip(coordinates, rows, strict=True)
    ]
    return [a for a in made if not a.turns] + [a for a in made if a.turns]


def _custom(element: Element, coordinates: tuple[Coordinate, ...]) -> list[OsimAxis]:
    """The axes of a <SpatialTransform>."""
    rows = {x.attributes.get("name", ""): x for x in element.needed("SpatialTransform").all("TransformAxis")}
    known = [c.name for c in coordinates]
    axes = []
    for key in ROWS:
        row = rows.get(key)
        if row is None:
            raise FileError(f'{element.place}: the <TransformAxis name="{key}"> is missing')
        names = (value(row, "coordinates") or "").split()
        law = inner_function(row, "function")
        if len(names) > 1:
            raise FileError(
                f"{row.place}: functions of several coordinates are not read, got {listed(names)}"
            )
        if law is None or (not names and constant(law) is None):
            raise FileError(f"{row.place}: a function of a coordinate is missing")
        for name in names:
            if name not in known:
                raise FileError(unknown_name("coordinate of the joint", name, known).after(f"{row.place}: "))
        direction = numbers(row, "axis", 3)
        length = float(np.linalg.norm(direction))
        if length == 0.0:
            raise FileError(f"{row.place}: <axis> must not be zero")
        coordinate = names[0] if names and constant(law) is None else None
        own, turns = f"{name_of(element)}.{key}", key.startswith("r")
        axes.append(OsimAxis(own, turns, direction / length, coordinate, law))
    return axes


def couplers(model: Element, passed: PassedOver) -> CoupledCoordinates:
    """The coordinate couplers that are enforced."""
    found = CoupledCoordinates()
    for element in members(model, "ConstraintSet"):
        if element.tag != "CoordinateCouplerConstraint" or not is_enforced(element):
            continue
        names = (value(element, "independent_coordinate_names") or "").split()
        law = inner_function(element, "coupled_coordinates_function")
        dependent = (value(element, "dependent_coordinate_name") or "").strip()
        if len(names) != 1 or law is None or not dependent:
            said = f"{element.place}: couplers of {len(names)} coordinates are not read"
            passed.note("not-used", f"coupler '{name_of(element)}' of several coordinates", said)
            continue
        scale = number(element, "scale_factor", 1.0)
        found.laws[dependent] = names[0], law if scale == 1.0 else Scaled(law, scale)
        for x in kinks(law):
            said = f"{element.place}: its slope jumps at {x:g}, where accelerations have no value"
            passed.mention("kink", f"kinks of coupler '{name_of(element)}'", said)
            break
    return found


def is_enforced(element: Element) -> bool:
    """Whether a constraint or a force acts."""
    return (
        flag(element, "isEnforced", True)
        and flag(element, "appliesForce", True)
        and not flag(element, "isDisabled", False)
    )


class Chain:
    """Links of one joint, from the parent to the body of the child."""

    def __init__(self, joint: OsimJoint, body: Body, followers: CoupledCoordinates) -> None:
        self.joint, self.body, self.followers = joint, body, followers
        self.coordinates = {c.name: c for c in joint.coordinates}
        self.links: list[Link] = []
        self.parent, self.place = joint.parent, joint.in_parent
        self.free: set[str] = set()  # coordinates that have an axis of their own

    def made(self) -> list[Link]:
        """The links; the last carries the body, whose own frame is where the file has it."""
        for axis in self.joint.axes:
            self._axis(axis)
        missing = [n for n in self.coordinates if n not in self.free]
        leaders = [self._leader(name) for name in missing]
        offset = self.joint.in_child.inverse
        if self.links and offset.is_identity and self.place.is_identity:
            self.links[-1] = Link(self.body, *_parts(self.links[-1]))
        else:
            weld = Joint.of_kind(f"{self.joint.name}.weld" if self.links else self.joint.name, "fixed")
            self.links.append(Link(self.body, weld, self.parent, self.place @ offset))
        return leaders + self.links

    def _axis(self, axis: OsimAxis) -> None:
        """An axis: part of the next place if it stays, an independent joint, or one that follows."""
        leader, law = self.followers.of(axis.coordinate, axis.law)
        still = constant(law)
        if leader is None or still is not None:
            self._move(axis.turns, axis.direction, float(still or 0.0))
            return
        slope, offset = line(axis.law) or (0.0, 0.0)
        own = axis.coordinate
        if own is None or own in self.free or abs(slope) != 1.0:
            if not axis.turns:  # from where it is at zero, so that bodies are drawn as long as they are
                rest = float(law.at(0.0))
                self._move(axis.turns, axis.direction, rest)
                law = Composed(Polynomial((-rest, 1.0)), law) if rest else law
            self._joint(axis.name, axis.turns, axis.direction, Mimic(leader, function=law))
            return
        self._move(axis.turns, axis.direction, offset)
        self._joint(own, axis.turns, slope * axis.direction, self._mimic(own))

    def _mimic(self, name: str) -> Mimic | None:
        """How a coordinate follows another; None if it is independent."""
        leader, law = self.followers.of(name, IDENTITY)
        return None if leader is None or leader == name else Mimic(leader, function=law)

    def _move(self, turns: bool, direction: Array, by: float) -> None:
        """Go on from a place further along, or turned."""
        if by:
            step = (
                Placement.at(rotation=rotation_about(direction, by))
                if turns
                else Placement.at(by * direction)
            )
            self.place = self.place @ step

    def _joint(self, name: str, turns: bool, direction: Array, mimic: Mimic | None) -> None:
        options: dict[str, Any] = {}
        if name in self.coordinates:
            self.free.add(name)
            options = {"lower": self.coordinates[name].lower, "upper": self.coordinates[name].upper}
        kind = "revolute" if turns else "prismatic"
        joint = Joint.of_kind(name, kind, axis=direction, mimic=mimic, **options)
        inner = Body(f"{self.body.name} at {name}", NOTHING)
        self.links.append(Link(inner, joint, self.parent, self.place))
        self.parent, self.place = inner.name, Placement()

    def _leader(self, name: str) -> Link:
        """A coordinate that no axis is: the joint of a body without mass, which the axes follow."""
        of, mimic = self.coordinates[name], self._mimic(name)
        joint = Joint.of_kind(name, "revolute", mimic=mimic, lower=of.lower, upper=of.upper)
        return Link(Body(f"{self.body.name} of {name}", NOTHING), joint, self.joint.parent)


def _parts(link: Link) -> tuple[Joint, str, Placement]:
    return link.joint, link.parent, link.placement


def target(element: Element, name: str, *older: str) -> str:
    """The last name of what a component is connected with."""
    return last(socket(element, name, *older) or "")
