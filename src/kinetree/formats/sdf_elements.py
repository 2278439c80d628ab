"""The bodies and joints that <link> and <joint> of an SDF file stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.rotation import unit_axis
from kinetree.errors import FileError, ModelError, unknown_name
from kinetree.formats.drake_parts import drake_children, rotor_inertia
from kinetree.formats.mesh_path import MeshFolder
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.sdf_values import attribute_flag, flag, number, pose, vector, word
from kinetree.formats.xml_file import Element, placed
from kinetree.model.body import Body, Shape
from kinetree.model.inertia import Inertia, physical_fault
from kinetree.model.joint import Joint, Mimic
from kinetree.model.joint_kind import KINDS

NO_LIMIT = 1e15  # the format writes 1e16 where there is none
TYPES = {
    "fixed": "fixed",
    "continuous": "revolute",
    "revolute": "revolute",
    "prismatic": "prismatic",
    "screw": "revolute",
    "universal": "universal",
    "revolute2": "universal",
    "ball": "spherical",
    "planar": "planar",  # of Drake
}
SIZES: dict[str, tuple[str, tuple[float, ...]]] = {
    "box": ("size", (1.0, 1.0, 1.0)),
    "ellipsoid": ("radii", (1.0, 1.0, 1.0)),
}
ROUND = {"sphere": ("radius",), "cylinder": ("radius", "length"), "capsule": ("radius", "length")}
UNDRAWN = ("plane", "heightmap", "image", "polyline", "cone", "empty")
DENSITY = 1000.0  # kg/m^3, where <inertial auto="true"> and nothing else is said
PARALLEL = 1e-9


class SdfAxis(NamedTuple):
    """One axis of a joint: its direction in the joint's frame, and parameters by name."""

    direction: Array
    parameters: dict[str, float]


# ---- links --------------------------------------------------------------------------------------------


def link_body(
    link: Element, name: str, folder: MeshFolder, allow_unphysical: bool, passed: PassedOver
) -> Body:
    """The body of a <link>, in the frame of the link."""
    inertia = _inertia(link, allow_unphysical, passed)
    drawn = [shape_of(x, folder, passed) for x in link.all("visual")]
    solid = [shape_of(x, folder, passed) for x in link.all("collision")]
    shapes = [shape for shape in drawn if shape] or [shape for shape in solid if shape]
    weightless = 0.0 if flag(link, "gravity", True) else 1.0
    return placed(link, lambda: Body(name, inertia, tuple(shapes), weightless))


def _inertia(link: Element, allow_unphysical: bool, passed: PassedOver) -> Inertia:
    """Inertia about the center of mass, in the axes of its pose.

    What the file does not say is 1 kg and 1 kg m^2, as the format has it.
    """
    inertial = link.one("inertial")
    if inertial is None:
        message = f"{link.place}: has no <inertial>; SDF specifies 1 kg with moments of 1 kg m^2"
        passed.mention("missing-element", "links without <inertial> (SDF specifies 1 kg)", message)
        return Inertia(1.0, moment=np.eye(3))
    if attribute_flag(inertial, "auto"):
        return _computed_inertia(link, inertial)
    if inertial.one("fluid_added_mass") is not None:
        message = f"{inertial.place}: <fluid_added_mass> is not used"
        passed.mention("not-used", "<fluid_added_mass>", message)
    mass, tensor = number(inertial, "mass", 1.0), inertial.one("inertia")
    xx, yy, zz = (number(tensor, key, 1.0) for key in ("ixx", "iyy", "izz"))
    xy, xz, yz = (number(tensor, key, 0.0) for key in ("ixy", "ixz", "iyz"))
    moment = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    allowed = (allow_unphysical or not passed.strict) and bool(physical_fault(moment))
    place = pose(inertial)
    if place.is_turned:
        return placed(inertial, lambda: Inertia(mass, moment=moment, allow_unphysical=allowed).moved(place))
    return placed(inertial, lambda: Inertia(mass, place.position, moment, allowed))


def _computed_inertia(link: Element, inertial: Element) -> Inertia:
    """The inertia of the collision shapes, each of its own density; scaled to a <mass> that is given."""
    total = Inertia()
    usual = number(inertial, "density", DENSITY)
    for collision in link.all("collision"):
        shape = _only_shape(collision)
        density, place = number(collision, "density", usual), pose(collision)
        total = total + _solid(shape, density).moved(place)
    if total.is_zero:
        raise ModelError(f'{inertial.place}: auto="true" needs a <collision> with a volume')
    mass = number(inertial, "mass", total.mass)
    return placed(inertial, lambda: Inertia(mass, total.center, total.moment * (mass / total.mass)))


def _solid(shape: Element, density: float) -> Inertia:
    if shape.tag == "box":
        size = vector(shape, *SIZES["box"])
        return Inertia.box(density * float(np.prod(size)), size)
    if shape.tag == "sphere":
        r = number(shape, "radius", 1.0)
        return Inertia.sphere(density * 4.0 / 3.0 * np.pi * r**3, r)
    if shape.tag == "cylinder":
        r, length = number(shape, "radius", 1.0), number(shape, "length", 1.0)
        return Inertia.cylinder(density * np.pi * r**2 * length, r, length)
    if shape.tag == "ellipsoid":
        a, b, c = vector(shape, *SIZES["ellipsoid"])
        mass = density * 4.0 / 3.0 * np.pi * a * b * c
        return Inertia(mass, moment=mass / 5.0 * np.array([b**2 + c**2, a**2 + c**2, a**2 + b**2]))
    if shape.tag == "cone":
        return _cone(density, number(shape, "radius", 1.0), number(shape, "length", 1.0))
    if shape.tag == "capsule":
        return _capsule(density, number(shape, "radius", 1.0), number(shape, "length", 1.0))
    raise ModelError(
        f"{shape.place}: the inertia of a {shape.tag} cannot be computed; give <mass> and <inertia>"
    )


def _cone(density: float, r: float, h: float) -> Inertia:
    """A solid cone about z: its tip at h / 2, its center of mass h / 4 above its base."""
    mass = density * np.pi * r**2 * h / 3.0
    across = 3.0 * mass * (4.0 * r**2 + h**2) / 80.0
    return Inertia(mass, np.array([0.0, 0.0, -h / 4.0]), np.diag([across, across, 0.3 * mass * r**2]))


def _capsule(density: float, r: float, h: float) -> Inertia:
    """A solid cylinder of length h about z with half a ball at each end."""
    end, middle = density * 2.0 / 3.0 * np.pi * r**3, density * np.pi * r**2 * h
    total = Inertia.cylinder(middle, r, h)
    away = h / 2.0 + 3.0 / 8.0 * r  # of the center of mass of half a ball
    across, along = (2.0 / 5.0 - 9.0 / 64.0) * end * r**2, 0.4 * end * r**2
    for z in (away, -away):
        total = total + Inertia(end, np.array([0.0, 0.0, z]), np.diag([across, across, along]))
    return total


def _only_shape(drawn: Element) -> Element:
    geometry = drawn.needed("geometry")
    known = (*SIZES, *ROUND, "mesh", *UNDRAWN)
    shapes = [child for child in geometry.children if child.tag in known]
    if len(shapes) != 1:
        raise FileError(f"{geometry.place}: <geometry> must hold one shape, got {len(shapes)} of them")
    return shapes[0]


def shape_of(drawn: Element, folder: MeshFolder, passed: PassedOver) -> Shape | None:
    """A shape from <visual> or <collision>; None if it cannot be drawn, which changes no dynamics."""
    try:
        shape = _only_shape(drawn)
        place, color = pose(drawn), _color(drawn)
        if shape.tag in UNDRAWN:
            return None
        if shape.tag == "mesh" and shape.one("submesh") is not None:
            message = f"{shape.place}: a part of a mesh (<submesh>) is neither drawn nor touches the ground"
            passed.mention("not-used", "parts of meshes (<submesh>)", message)
            return None
        if shape.tag == "mesh":
            file = folder.found(word(shape, "uri"), shape.place, passed)
            scale = vector(shape, "scale", (1.0, 1.0, 1.0))
            if file is None:
                return None
            where = folder.holding(file)
            return placed(shape, lambda: Shape("mesh", scale, place, file, color, where))
        if shape.tag in SIZES:
            size: Any = vector(shape, *SIZES[shape.tag])
        else:
            size = [number(shape, key, 1.0) for key in ROUND[shape.tag]]
        return placed(shape, lambda: Shape(shape.tag, size, place, color=color))
    except (FileError, ModelError) as reason:
        passed.note("missing-element", f"<{drawn.tag}> that cannot be drawn", str(reason), type(reason))
        return None


def undrawn(drawn: Element) -> str | None:
    """The tag of a shape that has no counterpart here, planes apart; None for others."""
    geometry = drawn.one("geometry")
    tags = [] if geometry is None else [x.tag for x in geometry.children]
    return next((tag for tag in tags if tag in UNDRAWN and tag != "plane"), None)


def _color(drawn: Element) -> tuple[float, float, float, float] | None:
    """What <material><diffuse> says; one that cannot be read changes no answer and is none."""
    for material in drawn.all("material"):
        words = word(material, "diffuse", "").split()
        try:
            values = [min(max(float(x), 0.0), 1.0) for x in words]
        except ValueError:
            return None
        if len(values) in (3, 4) and all(map(np.isfinite, values)):
            red, green, blue, opacity = (*values, 1.0)[:4]
            return red, green, blue, opacity
    return None


# ---- joints -------------------------------------------------------------------------------------------


def joint_type(element: Element) -> str:
    """The type attribute of a <joint>, checked."""
    kind = element.text("type")
    if kind not in (*TYPES, "gearbox"):
        raise ModelError(unknown_name("joint type", kind, (*TYPES, "gearbox")).after(f"{element.place}: "))
    return kind


def joints_of(
    element: Element, name: str, mimic: Mimic | None, in_joint: Callable[[Element], Array], passed: PassedOver
) -> Iterator[Joint]:
    """The joint of a <joint>, or the two joints in sequence that together move as it does.

    A screw is a rotation and a translation that follows it. ``in_joint`` gives the rotation from the frame
    that an <xyz> is expressed in to the joint's.
    """
    kind = joint_type(element)
    if kind in ("fixed", "ball"):
        if kind == "ball" and element.one("axis") is not None:
            message = f"{element.place}: <axis> of a ball joint is not used"
            passed.mention("not-used", "<axis> of ball joints", message)
        yield Joint.of_kind(name, TYPES[kind], driven=False)
        return
    if kind == "planar":
        viscous = vector(element, "damping", (0.0, 0.0, 0.0))
        yield placed(element, lambda: Joint.of_kind(name, "planar", viscous=viscous))
        return
    axes = [_axis(x, kind, in_joint, passed) for x in _axis_elements(element, kind)]
    free = [axis.parameters.get("effort_limit") == 0.0 for axis in axes]
    if KINDS[TYPES[kind]].n_dof == 1:
        more: dict[str, Any] = {
            "axis": axes[0].direction,
            "driven": not free[0],
            "mimic": mimic,
            "armature": rotor_inertia(element),
            **axes[0].parameters,
        }
        yield placed(element, lambda: Joint.of_kind(name, TYPES[kind], **more))
        if kind == "screw":
            follows = Mimic(name, _advance(element))
            slide: dict[str, Any] = {"axis": axes[0].direction, "mimic": follows}
            yield placed(element, lambda: Joint.of_kind(f"{name}_advance", "prismatic", **slide))
        return
    if np.linalg.norm(np.cross(axes[0].direction, axes[1].direction)) < PARALLEL:
        raise ModelError(f"{element.place}: the axes of a {kind} joint must not be parallel")
    keys = dict.fromkeys(key for axis in axes for key in axis.parameters)
    usual = {"lower": -np.inf, "upper": np.inf, "effort_limit": np.inf, "velocity_limit": np.inf}
    both: dict[str, Any] = {
        key: [axis.parameters.get(key, usual.get(key, 0.0)) for axis in axes] for key in keys
    }
    driven = [not x for x in free]
    yield placed(
        element,
        lambda: Joint.of_kind(name, TYPES[kind], axes=[x.direction for x in axes], driven=driven, **both),
    )


def _axis_elements(element: Element, kind: str) -> list[Element]:
    if KINDS[TYPES[kind]].n_dof == 1:
        return [element.needed("axis")]
    return [element.needed("axis"), element.needed("axis2")]


def _axis(axis: Element, kind: str, in_joint: Callable[[Element], Array], passed: PassedOver) -> SdfAxis:
    """Direction, limits, friction and spring of an <axis>."""
    xyz = vector(axis, "xyz", (0.0, 0.0, 1.0))
    place = axis.place if axis.one("xyz") is None else axis.needed("xyz").place
    direction = in_joint(axis) @ unit_axis(xyz, place, ModelError)
    return SdfAxis(direction, _limits(axis, kind, passed) | _forces(axis))


def _limits(axis: Element, kind: str, passed: PassedOver) -> dict[str, float]:
    """Limits; negative ones of effort and velocity, and very large ones, are none."""
    limit = axis.one("limit")
    if limit is None:
        return {}
    found = {}
    for key, tag in (("velocity_limit", "velocity"), ("effort_limit", "effort")):
        value = number(limit, tag, np.inf)
        found[key] = np.inf if value < 0.0 or value >= NO_LIMIT else value
    lower, upper = number(limit, "lower", -np.inf), number(limit, "upper", np.inf)
    if kind != "continuous" and lower > upper:
        said = f"{limit.place}: lower = {lower:g} is above upper = {upper:g}, which leaves no position"
        passed.note("not-used", "position limits with lower above upper (taken as none)", said, ModelError)
    elif kind != "continuous":
        found |= {"lower": -np.inf if lower <= -NO_LIMIT else lower}
        found |= {"upper": np.inf if upper >= NO_LIMIT else upper}
    return found


def _forces(axis: Element) -> dict[str, float]:
    dynamics = axis.one("dynamics")
    if dynamics is None:
        return {}
    tags = {
        "viscous": "damping",
        "coulomb": "friction",
        "stiffness": "spring_stiffness",
        "rest": "spring_reference",
    }
    return {key: number(dynamics, tag, 0.0) for key, tag in tags.items()}


def _advance(element: Element) -> float:
    """Translation of a screw for each radian (m); the older <thread_pitch> is in -rad/m."""
    if element.one("screw_thread_pitch") is not None:
        return number(element, "screw_thread_pitch", 1.0) / (2.0 * np.pi)
    pitch = number(element, "thread_pitch", 1.0)
    if pitch == 0.0:
        raise ModelError(f"{element.place}: <thread_pitch> must not be zero")
    return -1.0 / pitch


def mimic_of(element: Element, full: Callable[[str], str]) -> Mimic | None:
    """The <mimic> of a joint's <axis>: q = multiplier (q_other - reference) + offset."""
    axis = element.one("axis")
    if axis is None:
        return None
    own = next(iter(drake_children(axis, "mimic")), None)
    if own is not None:
        ratio, shift = own.number("multiplier", 1.0), own.number("offset", 0.0)
        return placed(own, lambda: Mimic(full(own.text("joint")), ratio, shift))
    mimic = axis.one("mimic")
    if mimic is None:
        return None
    multiplier = number(mimic, "multiplier", 1.0)
    offset = number(mimic, "offset", 0.0) - multiplier * number(mimic, "reference", 0.0)
    return placed(mimic, lambda: Mimic(full(mimic.text("joint")), multiplier, offset))
