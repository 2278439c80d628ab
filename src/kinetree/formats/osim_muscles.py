"""Muscles and wraps of OpenSim's models, with all their numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinetree.algebra.placement import Placement
from kinetree.algebra.smooth_functions import SmoothFunction, constant
from kinetree.errors import FileError, unknown_name
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
from kinetree.formats.osim_joints import is_enforced
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.xml_file import Element
from kinetree.model.muscle import CURVES, FOUND, MovingPoint, Muscle, PathPoint, PathWrap, Wrap

KINDS = {
    "Thelen2003Muscle": "thelen2003",
    "Millard2012EquilibriumMuscle": "millard2012",
    "Millard2012AccelerationMuscle": "millard2012",
    "DeGrooteFregly2016Muscle": "degroote2016",
}
ACTIVATION = {"thelen2003": (0.015, 0.05), "millard2012": (0.01, 0.04), "degroote2016": (0.015, 0.06)}
SHAPES = {
    "WrapCylinder": ("cylinder", ("radius",)),
    "WrapSphere": ("sphere", ("radius",)),
    "WrapEllipsoid": ("ellipsoid", ("dimensions",)),
    "WrapTorus": ("torus", ("inner_radius", "outer_radius")),
}
PARTS = {  # curves of Millard's muscles inside it, and what goes before the names of their numbers here
    "ActiveForceLengthCurve": "",
    "ForceVelocityCurve": "",
    "FiberForceLengthCurve": "passive_",
    "TendonForceLengthCurve": "tendon_",
}
FORCES = ("Force", "Actuator", "Ligament", "Spring")  # ends of the names of other classes of forces
ELSEWHERE = {"norm_force_at_toe_end": "tendon_norm_force_at_toe_end"}


def osim_wraps(model: Element, frames: OffsetFrames, passed: PassedOver) -> dict[str, Wrap]:
    """The surfaces that muscles wrap around, by name."""
    found: dict[str, Wrap] = {}
    ground = [x for x in (model.one("Ground"), model.one("ground")) if x is not None]
    for body in (*ground, *members(model, "BodySet")):
        for element in objects(body, "WrapObjectSet"):
            if element.tag not in SHAPES:
                said = f"{element.place}: {unknown_name('class of wraps', element.tag, SHAPES)}"
                passed.note("not-used", f"<{element.tag}>", said)
                continue
            if flag(element, "active", True):
                wrap = _wrap(element, frames.body(name_of(body), body))
                found.setdefault(wrap.name, wrap)
    return found


def _wrap(element: Element, body: str) -> Wrap:
    shape, keys = SHAPES[element.tag]
    radii = [x for key in keys for x in numbers(element, key, 3 if key == "dimensions" else 1).tolist()]
    zero = (0.0, 0.0, 0.0)
    place = placement_of(*(numbers(element, x, 3, zero) for x in ("translation", "xyz_body_rotation")))
    quadrant = (value(element, "quadrant") or "all").strip()
    side = None if quadrant in ("all", "") else quadrant if quadrant[0] in "+-" else f"+{quadrant}"
    if shape == "torus" or (shape == "cylinder" and side is not None and side.endswith("z")):
        side = None
    length = number(element, "length") if shape == "cylinder" else None
    return Wrap(name_of(element), body, shape, place, tuple(radii), length, side)


def osim_muscles(
    model: Element,
    frames: OffsetFrames,
    wraps: Mapping[str, Wrap],
    joints: frozenset[str],
    passed: PassedOver,
) -> list[Muscle]:
    """All muscles that act; classes without curves of their own here are read with those of Thelen."""
    defaults = model.one("defaults")
    usual = {} if defaults is None else {x.tag: x for x in defaults.children}
    found = []
    for element in members(model, "ForceSet"):
        if not element.tag.endswith("Muscle"):
            continue
        if not is_enforced(element):
            passed.mention("not-used", "muscles that are switched off", f"{element.place}: is switched off")
            continue
        if element.tag not in KINDS:
            said = f"{element.place}: has curves that are not known; those of a Thelen2003Muscle are used"
            passed.mention("other-curves", f"curves of <{element.tag}> (Thelen's instead)", said)
        found.append(_OfMuscle(element, usual.get(element.tag), frames, wraps, joints, passed).made())
    return found


class _OfMuscle:
    """One muscle: its properties, or those of the defaults of its class."""

    def __init__(
        self,
        element: Element,
        usual: Element | None,
        frames: OffsetFrames,
        wraps: Mapping[str, Wrap],
        joints: frozenset[str],
        passed: PassedOver,
    ) -> None:
        self.element, self.usual, self.frames = element, usual, frames
        self.wraps, self.joints, self.passed = wraps, joints, passed
        self.kind = KINDS.get(element.tag, "thelen2003")

    def made(self) -> Muscle:
        """The muscle."""
        up, down = ACTIVATION[self.kind]
        return Muscle(
            name_of(self.element),
            tuple(self._point(x) for x in self._members("PathPointSet", "MusclePointSet")),
            tuple(self._uses()),
            self._number(1000.0, "max_isometric_force"),
            self._number(0.1, "optimal_fiber_length"),
            self._number(0.2, "tendon_slack_length"),
            self._number(0.0, "pennation_angle_at_optimal", "pennation_angle"),
            self._number(10.0, "max_contraction_velocity", "Vmax"),
            self._number(up, "activation_time_constant"),
            self._number(down, "deactivation_time_constant"),
            min(1.0, max(0.0, self._number(0.01, "minimum_activation"))),
            self.kind,
            self._flag("ignore_tendon_compliance"),
            tuple(self._curves().items()),
        )

    def _property(self, *tags: str) -> tuple[Element, str] | None:
        for holder in (self.element, self.usual):
            for tag in tags if holder is not None else ():
                if holder is not None and value(holder, tag):
                    return holder, tag
        return None

    def _number(self, default: float, *tags: str) -> float:
        found = self._property(*tags)
        return default if found is None else number(*found)

    def _flag(self, tag: str) -> bool:
        found = self._property(tag)
        return False if found is None else flag(*found, False)

    def _curves(self) -> dict[str, float]:
        """Numbers of the curves that the file has."""
        known = (*CURVES[self.kind], *FOUND.get(self.kind, ()))
        found: dict[str, float] = {}
        for holder in (self.usual, self.element):
            if holder is None:
                continue
            found |= self._numbers_of(holder, "", known)
            for tag, prefix in PARTS.items():
                inner = holder.one(tag) if self.kind == "millard2012" else None
                if inner is not None:
                    found |= self._numbers_of(inner, prefix, known)
        return found

    @staticmethod
    def _numbers_of(holder: Element, prefix: str, known: tuple[str, ...]) -> dict[str, float]:
        found = {}
        for child in holder.children:
            name = ELSEWHERE.get(child.tag, f"{prefix}{child.tag}")
            if name in known and child.content:
                text = child.content.strip().lower()
                found[name] = (
                    float(text == "true") if text in ("true", "false") else float(child.inner_numbers(1)[0])
                )
        return found

    def _members(self, *sets: str) -> list[Element]:
        path = self.element.one("GeometryPath") or self.element.one("path") or self.element
        for holder in (path, *path.all("GeometryPath")):
            for tag in sets:
                if holder.one(tag) is not None:
                    return objects(holder, tag)
        return []

    def _point(self, element: Element) -> PathPoint | MovingPoint:
        """A point of the path, in the frame of its body."""
        body, frame = self.frames.of(socket(element, "parent_frame", "body") or "", element)
        if element.tag.startswith("Moving"):
            return self._moving(element, body, frame)
        place = frame.rotation @ numbers(element, "location", 3) + frame.position
        x, y, z = place.tolist()
        if element.tag.startswith("Conditional"):
            name = last(socket(element, "coordinate", "coordinate") or "")
            low, high = sorted(numbers(element, "range", 2).tolist())
            return PathPoint(body, (x, y, z), self._coordinate(name, element), (low, high))
        return PathPoint(body, (x, y, z))

    def _moving(self, element: Element, body: str, frame: Placement) -> MovingPoint:
        laws: list[SmoothFunction | float] = []
        names: list[str | None] = []
        for x in "xyz":
            law = inner_function(element, f"{x}_location")
            if law is None:
                raise FileError(element.missing(f"{x}_location"))
            still = constant(law)
            name = last(socket(element, f"{x}_coordinate", f"{x}_coordinate") or "")
            names.append(None if still is not None else self._coordinate(name, element))
            laws.append(law if still is None else still)
        return MovingPoint(body, laws[0], laws[1], laws[2], (names[0], names[1], names[2]), frame)

    def _coordinate(self, name: str, element: Element) -> str:
        if name not in self.joints:
            raise FileError(unknown_name("coordinate", name, sorted(self.joints)).after(f"{element.place}: "))
        return name

    def _uses(self) -> list[PathWrap]:
        """The wraps that it uses; those that are not active or not known are left out."""
        found = []
        for element in self._members("PathWrapSet", "MuscleWrapSet"):
            name = (value(element, "wrap_object") or "").strip()
            if name not in self.wraps:
                said = f"{element.place}: wrap '{name}' is not active"
                self.passed.mention("not-used", f"wrap '{name}'", said)
                continue
            first, end = (int(x) for x in np.asarray(numbers(element, "range", 2, (-1.0, -1.0))))
            method = (value(element, "method") or "hybrid").strip()
            span = None if first < 1 else first - 1, None if end < 1 else end - 1
            found.append(PathWrap(name, *span, method))
        return found


def unused_forces(model: Element, passed: PassedOver) -> None:
    """Mention forces, controllers and probes that are not used."""
    for element in members(model, "ForceSet"):
        if element.tag.endswith(FORCES):
            passed.note("not-used", f"<{element.tag}>", f"{element.place}: forces of this class are not used")
    for tag in ("ControllerSet", "ProbeSet", "ComponentSet"):
        for element in objects(model, tag):
            passed.note("not-used", f"<{element.tag}>", f"{element.place}: is not used")
