"""What is mounted on a body: a payload, a tool, a named frame."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, number
from kinetree.algebra.placement import Placement
from kinetree.errors import InputError, ModelError, expect, must_be
from kinetree.model.body import WORLD, Body, Shape
from kinetree.model.frame import Frame
from kinetree.model.inertia import Inertia
from kinetree.model.joint import Joint
from kinetree.model.joint_kind import FIXED
from kinetree.model.mechanism import Link, Mechanism

SOLID = ("box", "cylinder", "sphere", "capsule", "ellipsoid")  # shapes whose inertia is known


def with_payload(
    mechanism: Mechanism,
    on: str,
    mass: float | Inertia,
    *,
    center: ArrayLike | None = None,
    inertia: ArrayLike | None = None,
    shape: Shape | None = None,
    name: str = "payload",
) -> Mechanism:
    """The mechanism with a body welded to one of its own; see :meth:`kinetree.Mechanism.with_payload`."""
    if shape is not None and not isinstance(shape, Shape):
        raise InputError(must_be(f"payload '{name}': shape", "a Shape", shape))
    matter = _matter(name, mass, center, inertia, shape)
    return mounted(mechanism, on, Body(name, matter, () if shape is None else (shape,)))


def mounted(mechanism: Mechanism, on: str, body: Body) -> Mechanism:
    """The mechanism with one more body, welded to the body or frame ``on``."""
    name = body.name
    expect(on, str, f"payload '{name}': on", "the name of a body or frame")
    if on == WORLD or mechanism.place_of(on)[0] == WORLD:
        raise InputError(f"payload '{name}': '{on}' is fixed in the world; name a body that moves")
    if name in (*mechanism.body_names, *(frame.name for frame in mechanism.frames)):
        raise ModelError(
            f"'{mechanism.name}' has a body or frame called '{name}' already; give the payload another name"
        )
    carrier, place = mechanism.place_of(on)
    link = Link(body, Joint.of_kind(f"{name}_joint", FIXED), carrier, place)
    return replace(mechanism, links=(*mechanism.links, link))


def with_frame(
    mechanism: Mechanism,
    name: str,
    on: str,
    position: ArrayLike = (0.0, 0.0, 0.0),
    rotation: ArrayLike | None = None,
    rpy: ArrayLike | None = None,
) -> Mechanism:
    """The mechanism with one more named frame; see :meth:`kinetree.Mechanism.with_frame`."""
    expect(on, str, "on", "the name of a body or frame")
    carrier, place = (WORLD, Placement()) if on == WORLD else mechanism.place_of(on)
    inside = Placement.at(position, rotation, rpy, what=f"frame '{name}'")
    return replace(mechanism, frames=(*mechanism.frames, Frame(name, carrier, place @ inside)))


def _matter(
    name: str,
    mass: float | Inertia,
    center: ArrayLike | None,
    inertia: ArrayLike | None,
    shape: Shape | None,
) -> Inertia:
    """Mass, center and moment of a payload in the frame that it is mounted on."""
    what = f"payload '{name}'"
    if isinstance(mass, Inertia):
        if center is not None or inertia is not None:
            raise InputError(f"{what}: an Inertia contains center and moments; do not give them separately")
        return mass
    m = number(mass, f"{what}: mass", ModelError)
    if m < 0.0:
        raise ModelError(must_be(f"{what}: mass", ">= 0 kg", m, "g"))
    try:
        if inertia is not None or shape is None:
            return Inertia(
                m,
                np.zeros(3) if center is None else center,  # type: ignore[arg-type]
                np.zeros(3) if inertia is None else inertia,  # type: ignore[arg-type]
            )
        solid = solid_inertia(m, shape)
        return solid if center is None else Inertia(m, center, solid.moment)  # type: ignore[arg-type]
    except ModelError as error:
        raise ModelError(f"{what}: {error}") from None


def solid_inertia(mass: float, shape: Shape) -> Inertia:
    """Inertia of a homogeneous solid of the given shape, in the frame that the shape is placed in.

    Of an ellipsoid with half axes a, b, c: I_xx = m (b^2 + c^2) / 5. A capsule is a cylinder of mass m_c and
    two half balls of mass m_s in all, whose centers of mass are 3 r / 8 beyond its ends.

    >>> solid_inertia(2.0, Shape("box", (0.1, 0.2, 0.3))).moment.diagonal().round(6).tolist()
    [0.021667, 0.016667, 0.008333]
    """
    if shape.kind not in SOLID:
        raise ModelError(
            f"the inertia of a {shape.kind} is not known; give center and inertia, or a box, cylinder, "
            "sphere, capsule or ellipsoid"
        )
    return Inertia(mass, moment=_moment(mass, shape.kind, shape.size)).moved(shape.placement)


def _moment(m: float, kind: str, size: Array) -> Array:
    """Moments about the center of the shape in its own axes."""
    if kind == "box":
        return Inertia.box(m, size).moment
    if kind == "sphere":
        return Inertia.sphere(m, float(size[0])).moment
    if kind == "cylinder":
        return Inertia.cylinder(m, float(size[0]), float(size[1])).moment
    if kind == "ellipsoid":
        square = size**2
        return np.diag(m / 5.0 * (square.sum() - square))
    r, length = (float(x) for x in size)
    if r == 0.0:
        return Inertia.cylinder(m, r, length).moment
    balls = m * (4.0 / 3.0 * r) / (4.0 / 3.0 * r + length)
    far = 0.5 * length + 3.0 / 8.0 * r
    caps = balls * ((2.0 / 5.0 - 9.0 / 64.0) * r**2 + far**2)
    middle = Inertia.cylinder(m - balls, r, length).moment
    return middle + np.diag([caps, caps, 2.0 / 5.0 * balls * r**2])
