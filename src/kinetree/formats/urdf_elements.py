"""The elements of a URDF file, and the bodies and joints that <link> and <joint> stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation import rotation_to_axis, unit_axis
from kinetree.errors import FileError, KinetreeError, ModelError, listed, unknown_name
from kinetree.formats.mesh_path import MeshFolder
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.xml_file import Element, placed
from kinetree.model.body import Body, Shape
from kinetree.model.inertia import Inertia, physical_fault
from kinetree.model.joint import Joint, Mimic

NO_LIMIT = 1e30  # stands for "unlimited" where a number must be written; larger limits are read as none
KINDS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "planar": "planar",
    "floating": "free",
    "spherical": "spherical",  # of Bullet
}
Color = tuple[float, float, float, float]


Colors = Mapping[str, Color]


def material_colors(robot: Element) -> dict[str, Color]:
    """The color of every <material> with a name, of the robot and of its links; the first one counts."""
    found: dict[str, Color] = {}
    drawn = [visual for link in robot.all("link") for visual in link.all("visual")]
    for owner in (robot, *drawn):
        for material in owner.all("material"):
            color = _color(material)
            if color is not None:
                found.setdefault(material.attributes.get("name", ""), color)
    return found


def color_of(drawn: Element, colors: Colors) -> Color | None:
    """The color of a <visual>: its own, or that of the material it names; None if there is none."""
    for material in drawn.all("material"):
        return _color(material) or colors.get(material.attributes.get("name", ""))
    return None


def _color(material: Element) -> Color | None:
    """What <color rgba> says; one that cannot be read changes no answer and is none."""
    for color in material.all("color"):
        try:
            values = color.numbers("rgba", 4)
        except KinetreeError:
            return None
        if not np.isfinite(values).all():
            return None
        red, green, blue, opacity = (float(x) for x in np.clip(values, 0.0, 1.0))
        return red, green, blue, opacity
    return None


LOOP_KINDS = {key: kind for key, kind in KINDS.items() if key != "floating"} | {"spherical": "spherical"}
ONE_AXIS_TYPES = ("revolute", "continuous", "prismatic")
DEFAULT_AXIS = (1.0, 0.0, 0.0)
SHAPE_ATTRIBUTES = {
    "box": ("size",),
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
    "capsule": ("radius", "length"),
    "mesh": ("filename", "scale"),
}
SINGLE = ("inertial", "axis")  # of several the first counts, as other readers have it
TENSOR = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


class ElementGrammar(NamedTuple):
    """What an element may have; ``ignored`` children are allowed and not looked at."""

    attributes: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


GRAMMAR = {
    "link": ElementGrammar(
        ("name",), ("inertial", "visual", "collision"), ("contact", "sensor", "self_collision_checking")
    ),
    "inertial": ElementGrammar((), ("origin", "mass", "inertia")),
    "mass": ElementGrammar(("value",)),
    "inertia": ElementGrammar(TENSOR),
    "origin": ElementGrammar(("xyz", "rpy")),
    "visual": ElementGrammar(("name",), ("origin", "geometry"), ("material",)),
    "collision": ElementGrammar(
        ("name",), ("origin", "geometry"), ("material", "verbose", "contact_coefficients")
    ),
    "geometry": ElementGrammar((), tuple(SHAPE_ATTRIBUTES)),
    **{shape: ElementGrammar(attributes) for shape, attributes in SHAPE_ATTRIBUTES.items()},
    "joint": ElementGrammar(
        ("name", "type", "independent"),
        ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
        ("calibration", "safety_controller"),
    ),
    "parent": ElementGrammar(("link",)),
    "child": ElementGrammar(("link",)),
    "axis": ElementGrammar(("xyz",)),
    "limit": ElementGrammar(("lower", "upper", "effort", "velocity", "acceleration", "deceleration", "jerk")),
    "dynamics": ElementGrammar(("damping", "friction")),
    "mimic": ElementGrammar(("joint", "multiplier", "offset")),
}


def check_grammar(element: Element, passed: PassedOver) -> None:
    """Note unknown attributes and children of a <link> or <joint>, as simulators and drivers add them."""
    waiting = [element]
    while waiting:
        current = waiting.pop()
        grammar = GRAMMAR[current.tag]
        for key in current.unknown_attributes(grammar.attributes):
            message = (
                f"{current.place}: {unknown_name('attribute', key, grammar.attributes, len(passed.remarks))}"
            )
            passed.note("unknown-element", f"attribute '{key}' of <{current.tag}>", message)
        known = (*grammar.children, *grammar.ignored)
        for child in current.unknown_children(known):
            stated = unknown_name("element", child.tag, known, len(passed.remarks))
            message = f"{child.place}: in <{current.tag}>, {stated}"
            passed.note("unknown-element", f"element <{child.tag}> of <{current.tag}>", message)
        current.keep_first(SINGLE, passed)
        waiting.extend(child for child in current.children if child.tag in grammar.children)


# ---- links ------------------------------------------------------------------------------------


def link_body(
    link: Element,
    folder: MeshFolder,
    allow_unphysical: bool,
    passed: PassedOver,
    colors: Colors | None = None,
) -> Body:
    """The body of a <link>; it is drawn with its visual shapes, or its collision shapes if it has none.

    ``colors`` are those of the file's materials by name.
    """
    inertia = _inertia(link.one("inertial"), allow_unphysical, passed)
    visual = [shape_of(x, folder, passed, colors or {}) for x in link.all("visual")]
    collision = [shape_of(x, folder, passed) for x in link.all("collision")]
    shapes = [shape for shape in visual if shape] or [shape for shape in collision if shape]
    return placed(link, lambda: Body(link.text("name"), inertia, tuple(shapes)))


def _inertia(inertial: Element | None, allow_unphysical: bool, passed: PassedOver) -> Inertia:
    """Inertia from <inertial>, whose tensor is about the center of mass in the axes of its origin."""
    if inertial is None:
        return Inertia()
    mass, tensor = inertial.one("mass"), inertial.one("inertia")
    if mass is None:
        passed.note("missing-element", "<inertial> without <mass>", inertial.missing("mass"))
        return Inertia()
    if tensor is None:
        passed.note("missing-element", "<inertial> without <inertia>", inertial.missing("inertia"))
    kilograms, moment = mass.number("value"), _moment(tensor, passed)
    place = placement(inertial)
    allowed = (allow_unphysical or not passed.strict) and bool(physical_fault(moment))
    if place.is_turned:
        return placed(
            inertial, lambda: Inertia(kilograms, moment=moment, allow_unphysical=allowed).moved(place)
        )
    return placed(inertial, lambda: Inertia(kilograms, place.position, moment, allowed))


def _moment(tensor: Element | None, passed: PassedOver) -> Array:
    """The matrix of <inertia>; products of inertia that are not given are zero."""
    if tensor is None:
        return np.zeros((3, 3))
    given: dict[str, float] = {}
    for key in TENSOR:
        swapped = f"i{key[2]}{key[1]}"
        if key in tensor.attributes or key[1] == key[2]:
            given[key] = tensor.number(key)
        elif swapped in tensor.attributes:
            given[key] = tensor.number(swapped)
        else:
            passed.note("missing-element", f"<inertia> without '{key}'", tensor.without(key))
            given[key] = 0.0
    xx, xy, xz, yy, yz, zz = (given[key] for key in TENSOR)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def shape_of(
    drawn: Element, folder: MeshFolder, passed: PassedOver, colors: Colors | None = None
) -> Shape | None:
    """A shape from <visual> or <collision>; None if it cannot be drawn, which changes no dynamics."""
    try:
        return _drawn_shape(drawn, folder, passed, colors or {})
    except (FileError, ModelError) as reason:
        passed.note("missing-element", f"<{drawn.tag}> that cannot be drawn", str(reason), type(reason))
        return None


def _drawn_shape(drawn: Element, folder: MeshFolder, passed: PassedOver, colors: Colors) -> Shape | None:
    geometry = drawn.needed("geometry")
    shapes = [child for child in geometry.children if child.tag in SHAPE_ATTRIBUTES]
    if len(shapes) != 1:
        found = f"{len(shapes)} of them" if shapes else "none"
        raise FileError(
            f"{geometry.place}: <geometry> must hold one of {listed(SHAPE_ATTRIBUTES)}, got {found}"
        )
    shape = shapes[0]
    file = where = None
    if shape.tag == "mesh":
        file = folder.found(shape.text("filename"), shape.place, passed)
        if file is None:
            return None
        size: Any = shape.numbers("scale", 3, (1.0, 1.0, 1.0))
        where = folder.holding(file)
    elif shape.tag == "box":
        size = shape.numbers("size", 3)
    else:
        size = [shape.number(key) for key in SHAPE_ATTRIBUTES[shape.tag]]
    place, color = placement(drawn), color_of(drawn, colors)
    return placed(shape, lambda: Shape(shape.tag, size, place, file, color, where))


def placement(element: Element) -> Placement:
    """The placement an element's <origin> gives; the identity without one."""
    origin = element.one("origin")
    if origin is None:
        return Placement()
    xyz, rpy = (origin.numbers(key, 3, (0.0, 0.0, 0.0)) for key in ("xyz", "rpy"))
    return Placement.at(xyz, rpy=rpy if rpy.any() else None, what=origin.place, error=ModelError)


# ---- joints -----------------------------------------------------------------------------------


def joint_of(element: Element, mimic: Mimic | None, passed: PassedOver, armature: float = 0.0) -> Joint:
    """The joint of a <joint>; ``mimic`` with chains of mimics already resolved, ``armature`` of its rotor."""
    name, kind = element.text("name"), joint_type(element)
    options: dict[str, Any] = {"mimic": mimic}
    if kind in ONE_AXIS_TYPES:
        options |= {"axis": _axis(element), **_limits(element, kind, passed), **_friction(element)}
        options["armature"] = armature
    elif kind == "planar":
        options["axes"] = list(rotation_to_axis(_axis(element)).T)
    if kind in ("planar", "floating", "spherical"):
        _mention_unused(element, kind, passed)
    return placed(element, lambda: Joint.of_kind(name, KINDS[kind], **options))


def cut_joint(element: Element) -> Joint:
    """The cut joint of a <loop> of URDF+; besides the types of joints it may be 'spherical'."""
    name, kind = element.text("name"), element.text("type")
    if kind not in LOOP_KINDS:
        raise ModelError(f"{element.place}: {unknown_name('type of a loop', kind, LOOP_KINDS)}")
    options: dict[str, Any] = {}
    if kind in ONE_AXIS_TYPES:
        options["axis"] = _axis(element)
    elif kind == "planar":
        options["axes"] = list(rotation_to_axis(_axis(element)).T)
    return placed(element, lambda: Joint.of_kind(name, LOOP_KINDS[kind], cut=True, **options))


def joint_type(element: Element) -> str:
    """The type attribute of a <joint>, checked."""
    kind = element.text("type")
    if kind not in KINDS:
        raise ModelError(f"{element.place}: {unknown_name('joint type', kind, KINDS)}")
    return kind


def mimic_of(element: Element) -> Mimic | None:
    """The <mimic> of a joint as written."""
    mimic = element.one("mimic")
    if mimic is None:
        return None
    name, multiplier, offset = (
        mimic.text("joint"),
        mimic.number("multiplier", 1.0),
        mimic.number("offset", 0.0),
    )
    return placed(mimic, lambda: Mimic(name, multiplier, offset))


def _axis(element: Element) -> Any:
    """The unit axis in the joint frame; (1, 0, 0) if none is given."""
    axis = element.one("axis")
    if axis is None:
        return unit_axis(DEFAULT_AXIS, "axis")
    return unit_axis(axis.numbers("xyz", 3), f"{axis.place}: xyz", ModelError)


def _limits(element: Element, kind: str, passed: PassedOver) -> dict[str, float]:
    """Limits. If one of lower and upper is missing it is zero, as URDF says; if both, there is no limit.

    Exporters write 0 for limits of effort and velocity that they do not know: these are none, too.
    """
    limit = element.one("limit")
    if limit is None:
        return {}
    values = {f"{key}_limit": _largest(limit, key, passed) for key in ("velocity", "effort")}
    if kind != "continuous" and ("lower" in limit.attributes or "upper" in limit.attributes):
        values |= {"lower": limit.number("lower", 0.0), "upper": limit.number("upper", 0.0)}
        lower, upper = values["lower"], values["upper"]
        if lower >= NO_LIMIT or upper <= -NO_LIMIT:
            raise ModelError(f"{limit.place}: no position is between {lower:g} and {upper:g}")
        if lower > upper:
            said = f"{limit.place}: lower = {lower:g} is above upper = {upper:g}, which leaves no position"
            passed.note(
                "not-used", "position limits with lower above upper (taken as none)", said, ModelError
            )
            del values["lower"], values["upper"]
    return {key: np.copysign(np.inf, x) if abs(x) >= NO_LIMIT else x for key, x in values.items()}


def _largest(limit: Element, key: str, passed: PassedOver) -> float:
    """The largest effort or velocity; 0 means that it is not known, as does a number below."""
    value = limit.number(key, np.inf)
    if value == 0.0:
        message = f'{limit.place}: {key}="0" is taken as no limit; nothing could move with it'
        passed.mention("zero-limit", f'{key}="0" of <limit> (taken as none)', message)
    elif value < 0.0:
        message = f"{limit.place}: {key} must be >= 0, got {value:g}"
        passed.note("not-used", f"negative {key} of <limit> (taken as none)", message, ModelError)
    return value if not value <= 0.0 else np.inf


def _friction(element: Element) -> dict[str, float]:
    """Viscous and Coulomb friction from <dynamics>."""
    dynamics = element.one("dynamics")
    if dynamics is None:
        return {}
    return {"viscous": dynamics.number("damping", 0.0), "coulomb": dynamics.number("friction", 0.0)}


def _mention_unused(element: Element, kind: str, passed: PassedOver) -> None:
    for tag in ("limit", "dynamics"):
        if element.one(tag) is not None:
            passed.mention(
                "not-used",
                f"<{tag}> of a {kind} joint",
                f"{element.place}: <{tag}> not used, as one number cannot serve the lengths and angles of a "
                f"{kind} joint",
            )
