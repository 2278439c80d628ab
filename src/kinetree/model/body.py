"""A rigid body: its name, its inertia and the shapes it is drawn with."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass, field
from unicodedata import category

from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, array_key, number, same_arrays, vector
from kinetree.algebra.placement import Placement
from kinetree.errors import ModelError, must_be, shown, unknown_name
from kinetree.model.inertia import Inertia

WORLD = "world"
SHAPE_SIZES = {"box": 3, "cylinder": 2, "sphere": 1, "capsule": 2, "ellipsoid": 3, "mesh": 3}
LONGEST_NAME = 1000  # characters
CONTROL = ("Cc", "Cs", "Zl", "Zp")  # Unicode's controls, halves of characters, ends of lines and paragraphs
REORDERING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # what stands behind is shown elsewhere


def checked_name(name: object, what: str) -> str:
    """A name that can be printed, looked up and written to a file.

    >>> checked_name("Gelenk_äöü", "a joint")
    'Gelenk_äöü'
    """
    if not isinstance(name, str) or not name.strip():
        raise ModelError(f"{what} needs a name that is a non-empty text, got {shown(name)}")
    if len(name) > LONGEST_NAME:
        raise ModelError(
            f"{what} has a name of {len(name)} characters, {reprlib.repr(name)}; allowed are {LONGEST_NAME}"
        )
    if name.isprintable():
        return name
    if any(category(c) in CONTROL or c in REORDERING for c in name):
        raise ModelError(f"{what} has a control character in its name {name!a}; use printable characters")
    if all(category(c) == "Cf" or c.isspace() for c in name):
        raise ModelError(f"{what} needs a name that can be seen, got {name!a}")
    return name


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape for drawing, placed in the body frame; it has no mass.

    ``kind`` and ``size`` (m): box (x, y, z); cylinder and capsule (radius, length along z, a capsule's
    without its caps); sphere (radius,); ellipsoid (half axes x, y, z);
    mesh (scale x, y, z) with the ``file`` it is stored in.

    ``color`` is red, green, blue and opacity, each from 0 to 1; a mesh without one, and any .dae or .glb
    mesh, has the colors of its file. ``folder`` is where a relative ``file`` is found and ``digest`` the
    SHA-256 of what it held when a result was written; both say where a shape comes from, not what it is, so
    equality leaves them out.

    >>> import kinetree as kt
    >>> bar = kt.model.Shape("capsule", (0.03, 0.5), kt.Placement.at((0, 0, 0.25)), color=(1, 0, 0, 1))
    >>> bar.kind, bar.size.tolist()
    ('capsule', [0.03, 0.5])
    """

    kind: str
    size: Array
    placement: Placement = field(default_factory=Placement)
    file: str | None = None
    color: tuple[float, float, float, float] | None = None
    folder: str | None = None
    digest: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in SHAPE_SIZES:
            raise ModelError(unknown_name("shape", self.kind, SHAPE_SIZES))
        size = vector(self.size, SHAPE_SIZES[self.kind], f"size of a {self.kind}", ModelError)
        if (size < 0).any() and self.kind != "mesh":
            raise ModelError(must_be(f"size of a {self.kind}", ">= 0 m", size.tolist()))
        if (self.file is not None) != (self.kind == "mesh"):
            raise ModelError(f"a {self.kind} {'needs' if self.kind == 'mesh' else 'takes no'} mesh file")
        object.__setattr__(self, "size", size)
        if self.color is not None:
            object.__setattr__(self, "color", checked_color(self.color, f"color of a {self.kind}"))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Shape):
            return False
        mine, theirs = ((x.kind, x.placement, x.file, x.color) for x in (self, other))
        return mine == theirs and same_arrays([(self.size, other.size)])

    def __hash__(self) -> int:
        return hash((self.kind, array_key(self.size), self.placement, self.file, self.color))


def checked_color(color: ArrayLike, what: str) -> tuple[float, float, float, float]:
    """Red, green, blue and opacity from 0 to 1; ``what`` names it in messages.

    >>> checked_color([1, 0.5, 0, 1], "color")
    (1.0, 0.5, 0.0, 1.0)
    """
    values = vector(color, 4, what, ModelError)
    if ((values < 0.0) | (values > 1.0)).any():
        raise ModelError(must_be(what, "four numbers from 0 to 1", values.tolist()))
    red, green, blue, opacity = (float(x) for x in values)
    return red, green, blue, opacity


@dataclass(frozen=True)
class Body:
    """A named rigid body; without inertia it is a frame.

    ``gravity_compensation`` is the fraction of its weight that an external force at its center of mass
    compensates: 1 is full compensation, like a massless counterweight.

    >>> import kinetree as kt
    >>> rod = kt.Body("rod", kt.Inertia.rod(2.0, end=(0.6, 0, 0)))
    >>> rod.inertia.mass, rod.inertia.center.tolist()
    (2.0, [0.3, 0.0, 0.0])
    """

    name: str
    inertia: Inertia = field(default_factory=Inertia)
    shapes: tuple[Shape, ...] = ()
    gravity_compensation: float = 0.0

    def __post_init__(self) -> None:
        checked_name(self.name, "a body")
        if self.name == WORLD:
            raise ModelError(f"no body may be named '{WORLD}': that is the fixed root frame of the tree")
        if not isinstance(self.inertia, Inertia):
            raise ModelError(must_be(f"body '{self.name}': inertia", "an Inertia", self.inertia))
        object.__setattr__(self, "shapes", tuple(self.shapes))
        share = number(self.gravity_compensation, f"body '{self.name}': gravity_compensation", ModelError)
        object.__setattr__(self, "gravity_compensation", share)
