"""Values of SDF files, which stand as text inside elements: numbers, vectors, poses, yes and no."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinetree.algebra.arrays import Array, frozen
from kinetree.algebra.placement import Placement
from kinetree.errors import FileError, ModelError
from kinetree.formats.mjcf_compiled import placement_from
from kinetree.formats.xml_file import Element

TRUE, FALSE = ("true", "1"), ("false", "0")


def word(element: Element, tag: str, default: str | None = None) -> str:
    """The text inside a child; it must be there unless there is a default."""
    child = element.one(tag)
    if child is not None and child.content:
        return child.content
    if default is None:
        raise FileError(element.missing(tag))
    return default


def number(element: Element | None, tag: str, default: float) -> float:
    """The number inside a child."""
    child = None if element is None else element.one(tag)
    return default if child is None else float(child.inner_numbers(1)[0])


def vector(element: Element, tag: str, default: Sequence[float]) -> Array:
    """The numbers inside a child, as many as the default has."""
    child = element.one(tag)
    return frozen(list(default)) if child is None else child.inner_numbers(len(default))


def flag(element: Element, tag: str, default: bool = False) -> bool:
    """Whether the text inside a child is true."""
    child = element.one(tag)
    return default if child is None else _is_true(child, f"<{tag}>", child.content)


def attribute_flag(element: Element, key: str) -> bool:
    """Whether an attribute is given and true."""
    return key in element.attributes and _is_true(element, key, element.attributes[key])


def _is_true(element: Element, what: str, text: str) -> bool:
    said = text.strip().lower()
    if said not in TRUE + FALSE:
        raise FileError(f"{element.place}: {what} must be true or false, got '{text}'")
    return said in TRUE


def pose(element: Element) -> Placement:
    """The placement in an element's <pose>: x y z, then roll pitch yaw or a quaternion x y z w."""
    child = element.one("pose")
    if child is None or not child.content:
        return Placement()
    form = child.attributes.get("rotation_format", "euler_rpy")
    if form == "quat_xyzw":
        x, y, z, *quaternion = child.inner_numbers(7).tolist()
        if not np.any(quaternion):
            raise ModelError(f"{child.place}: the quaternion must not be zero, got '{child.content}'")
        return placement_from((x, y, z), quaternion[-1:] + quaternion[:-1], child.place)
    if form != "euler_rpy":
        raise FileError(f"{child.place}: rotation_format must be one of euler_rpy, quat_xyzw, got '{form}'")
    values = child.inner_numbers(6)
    rpy = np.deg2rad(values[3:]) if attribute_flag(child, "degrees") else values[3:]
    return Placement.at(values[:3], rpy=rpy if rpy.any() else None, what=child.place, error=ModelError)


def pose_frame(element: Element) -> str:
    """The frame that an element's <pose> is relative to, if the file names one."""
    child = element.one("pose")
    if child is None:
        return ""
    return child.attributes.get("relative_to") or child.attributes.get("frame") or ""
