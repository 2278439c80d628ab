"""What files of OpenSim have in common: XML as it occurs, values of properties, frames and sockets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kinetree.algebra.arrays import Array, frozen
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation import rotation_about
from kinetree.algebra.smooth_functions import (
    CubicSpline,
    PiecewiseLinear,
    Polynomial,
    Scaled,
    SmoothFunction,
)
from kinetree.errors import FileError, cut, unknown_name
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.xml_file import Element, parse_xml
from kinetree.model.body import WORLD

OLDEST = 20000  # version of files that are read
GROUND = "ground"
CLASS_MEMBERS = re.compile(rb"(</?)(\w+)::(\w+)")  # <HuntCrossleyForce::ContactParametersSet> is no XML
SPLINES = ("SimmSpline", "NaturalCubicSpline", "natCubicSpline")  # three names of the same in OpenSim
FUNCTIONS = (
    "Constant",
    "LinearFunction",
    "MultiplierFunction",
    "PiecewiseLinearFunction",
    "PolynomialFunction",
    *SPLINES,
)


def read_document(content: bytes, source: str, passed: PassedOver) -> Element:
    """The root element of a file of OpenSim: ``::`` in tags and text in Windows' encoding are mended."""
    mended, count = CLASS_MEMBERS.subn(rb"\1\2__\3", content)
    if count:
        said = f"{source}: '::' in names of elements is no XML; read as '__'"
        passed.mention("xml-fault", "'::' in names of elements", said)
    try:
        mended.decode("utf-8")
    except UnicodeDecodeError:
        text = mended.decode("cp1252", "replace")
        said = f"{source}: is not in UTF-8; read in the encoding of Windows (cp1252)"
        passed.mention("xml-fault", "bytes that are not UTF-8", said)
        mended = re.sub(r"(<\?xml[^>]*encoding=)([\"'])[^\"']*\2", r"\1\2UTF-8\2", text, count=1).encode()
    root = parse_xml(mended, source, passed)
    if root.tag != "OpenSimDocument":
        raise FileError(f"{root.place}: the root element must be <OpenSimDocument>, got <{cut(root.tag)}>")
    version = root.attributes.get("Version", "")
    if not version.isdigit() or int(version) < OLDEST:
        raise FileError(
            f"{source}: has the version {cut(version) or 'none'} of OpenSim's format; files of versions from "
            f"{OLDEST} on are read: open it in OpenSim and save it"
        )
    return root


def value(element: Element, *tags: str) -> str | None:
    """The text of the first property with one of the names, without blanks around it; None if it has none."""
    for tag in tags:
        for child in element.children:
            if child.tag == tag:
                return child.content.strip()
    return None


def numbers(element: Element, tag: str, count: int, default: tuple[float, ...] | None = None) -> Array:
    """A property of several numbers."""
    child = element.one(tag)
    if child is None or not child.content:
        if default is None:
            raise FileError(element.missing(tag))
        return frozen(default)
    return child.inner_numbers(count)


def number(element: Element, tag: str, default: float | None = None) -> float:
    """A property that is one number."""
    return float(numbers(element, tag, 1, None if default is None else (default,))[0])


def flag(element: Element, tag: str, default: bool) -> bool:
    """A property that is true or false."""
    text = value(element, tag)
    if not text:
        return default
    if text.lower() not in ("true", "false", "1", "0"):
        raise FileError(f"{element.place}: <{tag}> must be true or false, got '{cut(text)}'")
    return text.lower() in ("true", "1")


def objects(element: Element | None, tag: str) -> list[Element]:
    """The members of a set such as <BodySet>, which stand in its <objects>."""
    of = None if element is None else element.one(tag)
    inside = None if of is None else of.one("objects")
    return [] if inside is None else inside.children


def members(model: Element, tag: str) -> list[Element]:
    """The members of a set of a model, and what stands in its <components>, whatever it is."""
    further = model.one("components")
    return objects(model, tag) + ([] if further is None else further.children)


def every(element: Element, tag: str) -> Iterator[Element]:
    """All elements with a tag, however deep."""
    waiting = [element]
    while waiting:
        found = waiting.pop(0)
        if found.tag == tag:
            yield found
        waiting = found.children + waiting


def socket(element: Element, name: str, *older: str) -> str | None:
    """What a component is connected with, as the file has it, under the names of all versions."""
    tags = (f"socket_{name}", f"socket_{name}_connectee_name", f"connector_{name}_connectee_name", *older)
    return value(element, *tags) or None


def last(path: str) -> str:
    """The last name of a path such as /bodyset/tibia_r."""
    return path.strip().rsplit("/", 1)[-1]


def name_of(element: Element) -> str:
    """The name of a component."""
    return element.text("name")


def placement_of(position: Array, angles: Array) -> Placement:
    """A frame from its position and body-fixed angles about x, y and z."""
    a, b, c = angles.tolist()
    R = rotation_about("x", a) @ rotation_about("y", b) @ rotation_about("z", c) if any((a, b, c)) else None
    return Placement.at(position, R)


class OffsetFrames:
    """Offset frames of a model by name, and the bodies that carry them."""

    def __init__(self, model: Element, bodies: list[str]) -> None:
        self.bodies = bodies
        self.offsets: dict[str, Element] = {}
        for frame in every(model, "PhysicalOffsetFrame"):
            self.offsets.setdefault(name_of(frame), frame)

    def of(self, path: str, owner: Element) -> tuple[str, Placement]:
        """The body and the frame in it that a path of a component names; frames of the owner go before."""
        name = last(path)
        own = [x for x in every(owner, "PhysicalOffsetFrame") if name_of(x) == name]
        frame = own[0] if own else None if name in (*self.bodies, GROUND) else self.offsets.get(name)
        if frame is None:
            return self.body(name, owner), Placement()
        parent = socket(frame, "parent")
        if parent is None or last(parent) == name:
            raise FileError(f"{frame.place}: a frame that it is fixed in is missing")
        body, place = self.of(_owner(frame) if parent.strip() == ".." else parent, frame)
        zero = (0.0, 0.0, 0.0)
        inner = placement_of(numbers(frame, "translation", 3, zero), numbers(frame, "orientation", 3, zero))
        return body, place @ inner

    def body(self, path: str, owner: Element) -> str:
        """The body that a path names; ground is the world."""
        name = last(path)
        if name == GROUND:
            return WORLD
        if name not in self.bodies:
            raise FileError(unknown_name("body", name, [GROUND, *self.bodies]).after(f"{owner.place}: "))
        return name


def _owner(frame: Element) -> str:
    """The name of the component that a frame stands in."""
    owner = frame.parent
    while owner is not None and "name" not in owner.attributes:
        owner = owner.parent
    return "" if owner is None else name_of(owner)


def function_of(element: Element) -> SmoothFunction:
    """A function of one coordinate."""
    tag = element.tag
    if tag == "Constant":
        return Polynomial((number(element, "value", 0.0),))
    if tag == "LinearFunction":
        slope, offset = numbers(element, "coefficients", 2, (1.0, 0.0))
        return Polynomial((float(offset), float(slope)))
    if tag == "PolynomialFunction":
        return Polynomial(tuple(_list(element, "coefficients")[::-1]))
    if tag == "MultiplierFunction":
        inner = element.needed("function")
        if len(inner.children) != 1:
            raise FileError(f"{inner.place}: the function that is multiplied is missing")
        return Scaled(function_of(inner.children[0]), number(element, "scale", 1.0))
    if tag in (*SPLINES, "PiecewiseLinearFunction"):
        x, y = _list(element, "x"), _list(element, "y")
        kind = PiecewiseLinear if tag == "PiecewiseLinearFunction" else CubicSpline
        try:
            return kind(tuple(x), tuple(y))
        except ValueError as reason:
            raise FileError(f"{element.place}: {reason}") from None
    raise FileError(unknown_name("class of function", tag, FUNCTIONS).after(f"{element.place}: "))


def inner_function(element: Element, *tags: str) -> SmoothFunction | None:
    """The function of a component: inside one of its properties, or itself one of its children."""
    for tag in tags:
        holder = element.one(tag)
        if holder is not None and holder.children:
            return function_of(holder.children[0])
    for child in element.children:
        if child.tag in FUNCTIONS or child.attributes.get("name") in tags:
            return function_of(child)
    return None


def _list(element: Element, tag: str) -> list[float]:
    child = element.needed(tag)
    found: list[float] = child.inner_numbers(len(child.content.split())).tolist()
    return found
