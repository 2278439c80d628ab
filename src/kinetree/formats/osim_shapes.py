"""What bodies of OpenSim's models are drawn with: mesh files that are there, and simple solids."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation import rotation_about
from kinetree.formats.mesh_path import MeshFolder
from kinetree.formats.osim_document import (
    OffsetFrames,
    every,
    name_of,
    number,
    numbers,
    objects,
    placement_of,
    value,
)
from kinetree.formats.passed_over import NOT_FOUND, PassedOver
from kinetree.formats.xml_file import Element
from kinetree.model.body import Shape

ONE, ZERO = (1.0, 1.0, 1.0), (0.0, 0.0, 0.0)
BESIDE = ("", "Geometry/")  # where OpenSim looks for mesh files, from the folder of the model
UPRIGHT = Placement.at(
    rotation=rotation_about("x", -0.5 * np.pi)
)  # from z to y, along which its cylinders stand
SOLIDS = ("Sphere", "Ellipsoid", "Cylinder", "Brick")


def body_shapes(
    element: Element, frames: OffsetFrames, folder: MeshFolder, passed: PassedOver
) -> Iterator[Shape]:
    """The shapes of a body: its own, and those of frames fixed in it by the file's <attached_geometry>."""
    for holder in element.all("attached_geometry"):
        yield from _attached(holder, Placement(), folder, passed)
    for frame in every(element, "PhysicalOffsetFrame"):
        _, place = frames.of(name_of(frame), element)
        for holder in frame.all("attached_geometry"):
            yield from _attached(holder, place, folder, passed)
    visible = element.one("VisibleObject")
    for geometry in [] if visible is None else objects(visible, "GeometrySet"):
        assert visible is not None
        scale = numbers(visible, "scale_factors", 3, ONE) * numbers(geometry, "scale_factors", 3, ONE)
        turned = numbers(geometry, "transform", 6, (*ZERO, *ZERO))
        place = placement_of(turned[3:], turned[:3])
        name = value(geometry, "geometry_file") or ""
        color = numbers(geometry, "color", 3, ONE) if geometry.one("color") is not None else None
        yield from _mesh(name, geometry, scale, place, color, folder, passed)


def _attached(holder: Element, place: Placement, folder: MeshFolder, passed: PassedOver) -> Iterator[Shape]:
    for geometry in holder.children:
        scale = numbers(geometry, "scale_factors", 3, ONE)
        look = geometry.one("Appearance")
        color = None if look is None or look.one("color") is None else numbers(look, "color", 3)
        if geometry.tag == "Mesh":
            name = value(geometry, "mesh_file") or ""
            yield from _mesh(name, geometry, scale, place, color, folder, passed)
        elif geometry.tag in SOLIDS:
            yield _solid(geometry, scale, place, color)


def _solid(geometry: Element, scale: Array, place: Placement, color: Array | None) -> Shape:
    """A sphere, ellipsoid, cylinder or box."""
    if geometry.tag == "Brick":
        size = 2.0 * numbers(geometry, "half_lengths", 3, ONE) * scale
        return Shape("box", size, place, color=_color(color))
    if geometry.tag == "Cylinder":
        radius, half = number(geometry, "radius", 1.0), number(geometry, "half_height", 1.0)
        size = np.array([radius * scale[0], 2.0 * half * scale[1]])
        return Shape("cylinder", size, place @ UPRIGHT, color=_color(color))
    if geometry.tag == "Ellipsoid":
        return Shape("ellipsoid", numbers(geometry, "radii", 3, ONE) * scale, place, color=_color(color))
    return Shape("ellipsoid", number(geometry, "radius", 1.0) * scale, place, color=_color(color))


def _mesh(
    name: str,
    element: Element,
    scale: Array,
    place: Placement,
    color: Array | None,
    folder: MeshFolder,
    passed: PassedOver,
) -> Iterator[Shape]:
    """A mesh file, if it is in the folder of the model or in its folder Geometry."""
    if not name:
        return
    for prefix in BESIDE:
        if (
            folder.root is not None
            and folder.start is not None
            and (folder.start / f"{prefix}{name}").is_file()
        ):
            kept = folder.found(f"{prefix}{name}", element.place, passed)
            if kept is not None:
                yield Shape("mesh", scale, place, kept, _color(color), folder.holding(kept))
            return
    passed.mention(NOT_FOUND, "meshes that are missing", f"{element.place}: mesh file '{name}' is missing")


def _color(color: Array | None) -> tuple[float, float, float, float] | None:
    return None if color is None else (float(color[0]), float(color[1]), float(color[2]), 1.0)
