"""The ground: a plane of springs, dampers and friction, with regions of other kinds.

[Shah2013], appendix D.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, number, numbers, vector
from kinetree.errors import InputError, must_be, shown, unknown_name
from kinetree.kernels.ground import PLANE, REGION
from kinetree.kernels.layout import layout_rows
from kinetree.model.expected import expect_mechanism
from kinetree.model.floor import plane_frame
from kinetree.model.height_field import HeightField
from kinetree.model.mechanism import Mechanism

ContactKind = Literal["soil", "rigid"]
CONTACTS: tuple[ContactKind, ...] = ("soil", "rigid")
SINKING = 2e-3  # m: how deep the weight of a mechanism rests in firm soil on one point
CREEP = 1e-3  # m/s: how fast a point slips there that the weight pushes along


@dataclass(frozen=True)
class Soil:
    """Contact law of the ground ([Shah2013], D.1-D.6, Table 10.10).

    Normal force k d - c v, never pulling, at the depth d (m) and the speed v (m/s) out of the ground.
    ``stiffness`` k (N/m). ``damping`` c (N s/m); by default it follows from ``overdamping``: c = 2
    overdamping sqrt(k m), m the mass of the mechanism. While the point rises, c is multiplied by x^2 (3 - 2
    x), x = d / ``ramp`` up to 1; by default, the ramp (m) is the static depth of the mechanism's weight on
    one point, m g / k (the book gives no value). ``dust`` (m) is the thickness of a layer without a spring:
    only the damper acts on a point that sinks there, and nothing on one that rises. Below the dust the spring
    acts with the whole depth, as in D.6 with its inequalities exchanged, or, with ``lowered_spring``, with
    the depth below the dust, which never returns more energy than was put in. ``friction`` mu, and
    ``slipping`` (N s/m), the slope of the friction force at rest, give -mu N (2/pi) atan(pi slipping v / (2
    mu N)) along each direction.

    >>> Soil(stiffness=5e4, friction=0.9).dust
    0.0
    """

    stiffness: float = 2000.0
    damping: float | None = None
    overdamping: float = 10.0
    ramp: float | None = None
    friction: float = 0.7
    slipping: float = 1000.0
    dust: float = 0.0
    lowered_spring: bool = False

    def __post_init__(self) -> None:
        least = {"friction": 0.0, "slipping": 0.0, "dust": 0.0, "damping": 0.0, "overdamping": 0.0}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "lowered_spring" or (value is None and field.name in ("damping", "ramp")):
                continue
            x = number(value, f"{field.name} of the ground")
            if x < 0.0 or (x == 0.0 and field.name not in least):
                allowed = ">= 0" if field.name in least else "> 0"
                raise InputError(must_be(f"{field.name} of the ground", allowed, x, "g"))
            object.__setattr__(self, field.name, x)

    def columns(self, mechanism: Mechanism) -> dict[str, float]:
        """All parameters as numbers, for this mechanism."""
        mass, g = mechanism.mass, float(np.linalg.norm(mechanism.gravity))
        damping = self.damping
        if damping is None:
            damping = 2.0 * self.overdamping * math.sqrt(self.stiffness * mass)
        ramp = self.ramp if self.ramp is not None else mass * g / self.stiffness
        return {
            "stiffness": self.stiffness,
            "damping": damping,
            "ramp": ramp if ramp > 0.0 else 1e-3,
            "rising": 0.0 if self.dust > 0.0 else 1.0,
            "layer": self.dust,
            "lowered": float(self.lowered_spring),
            "friction": self.friction,
            "slipping": self.slipping,
        }


@dataclass(frozen=True)
class Region:
    """A rectangle of the ground with its own soil and height: a step, a patch of ice.

    ``forward`` and ``side``: intervals (m) along the plane's two directions; infinite ends are allowed.
    ``height`` (m) above the plane.

    >>> Region(forward=(1.0, 2.0), height=0.1).side
    (-inf, inf)
    """

    forward: tuple[float, float] = (-math.inf, math.inf)
    side: tuple[float, float] = (-math.inf, math.inf)
    height: float = 0.0
    soil: Soil | None = None  # None: that of the ground around

    def __post_init__(self) -> None:
        for name in ("forward", "side"):
            ends = numbers(getattr(self, name), f"{name} of a region")
            if ends.shape != (2,):
                raise InputError(must_be(f"{name} of a region", "two numbers", getattr(self, name)))
            low, high = ends.tolist()
            if not low < high:
                raise InputError(f"{name} of a region must go from low to high, got ({low:g}, {high:g})")
            object.__setattr__(self, name, (low, high))
        object.__setattr__(self, "height", number(self.height, "height of a region"))
        if self.soil is not None and not isinstance(self.soil, Soil):
            raise InputError(must_be("soil of a region", "a Soil", self.soil))


@dataclass(frozen=True)
class Ground:
    """A plane, or a surface above it, that exerts forces on contact points of a mechanism.

    The plane goes through ``origin`` (3,) with the ``normal`` (3,) out of the ground, by default against
    gravity. ``forward`` (3,), projected onto the plane, is the first of its two directions, by default x.
    ``points`` names the contact points that can touch, by default all. ``terrain`` are heights above the
    plane (:class:`HeightField`): depth and force of a contact point are along the normal of the surface at
    its nearest point to the contact point, or to the sphere or ellipsoid around it; regions then have soils
    but no heights. ``contact``: "soil" has the forces of its law; with "rigid", for
    :func:`kinetree.simulate` and :class:`kinetree.Stepper`, nothing sinks in, friction sticks, and joints
    stop at their limits.

    >>> Ground(normal=(0.1, 0, 1), soil=Soil(stiffness=1e4)).regions
    ()
    """

    soil: Soil = Soil()
    origin: ArrayLike = (0.0, 0.0, 0.0)
    normal: ArrayLike | None = None
    forward: ArrayLike | None = None
    regions: Sequence[Region] = ()
    points: Sequence[str] | None = None
    terrain: HeightField | None = None
    contact: ContactKind = "soil"

    def __post_init__(self) -> None:
        if self.contact not in CONTACTS:
            raise InputError(unknown_name("contact of the ground", self.contact, CONTACTS))
        object.__setattr__(self, "origin", tuple(vector(self.origin, 3, "origin of the ground").tolist()))
        for name in ("normal", "forward"):
            if getattr(self, name) is not None:
                direction = vector(getattr(self, name), 3, f"{name} of the ground")
                if not np.linalg.norm(direction) > 0.0:
                    raise InputError(f"{name} of the ground must not be zero, got {direction.tolist()}")
                object.__setattr__(self, name, tuple(direction.tolist()))
        object.__setattr__(self, "regions", tuple(self.regions))
        if not isinstance(self.soil, Soil):
            raise InputError(must_be("soil of the ground", "a Soil", self.soil))
        for region in self.regions:
            if not isinstance(region, Region):
                raise InputError(f"regions of the ground must be a list of Region, got {shown(region)} in it")
        if self.terrain is not None and not isinstance(self.terrain, HeightField):
            raise InputError(must_be("terrain of the ground", "a HeightField", self.terrain))
        high = [region.height for region in self.regions if region.height != 0.0]
        if self.terrain is not None and high:
            raise InputError(
                f"regions of a ground with terrain cannot have a height, got {high[0]:g} m; put heights into "
                f"the terrain, or remove the terrain"
            )
        if isinstance(self.points, str):
            object.__setattr__(self, "points", (self.points,))
        elif self.points is not None:
            object.__setattr__(self, "points", tuple(self.points))

    @classmethod
    def of(cls, mechanism: Mechanism, soil: Soil | None = None, **others: Any) -> Ground:
        """The floor of a mechanism's scene as ground, level at the world's origin if it has none.

        By default the ``soil`` is chosen for the mechanism: its weight on one point sinks in by 2 mm,
        critically damped, and a foot that pushes sideways with the whole weight creeps by 1 mm/s. The
        friction is that of the floor; contact points that have their own keep it. ``others`` are further
        arguments.

        >>> import kinetree as kt
        >>> robot = kt.zoo.quadruped()
        >>> round(kt.Ground.of(robot).soil.stiffness * 0.002 / (robot.mass * 9.81), 9)
        1.0
        """
        expect_mechanism(mechanism)
        floor = mechanism.floor
        if floor is not None:
            more = {"forward": floor.forward, "terrain": floor.terrain} if floor.terrain is not None else {}
            others = {"origin": floor.origin, "normal": floor.normal, **more, **others}
        return cls(firm_soil(mechanism) if soil is None else soil, **others)

    def contact_names(self, mechanism: Mechanism) -> tuple[str, ...]:
        """The contact points of a mechanism that can touch; an error if there are none."""
        known = tuple(point.name for point in mechanism.contact_points)
        if not known:
            raise InputError(
                f"mechanism '{mechanism.name}' has no contact points, so the ground cannot touch it; "
                "add some with Mechanism.contact_points or body.contact(name, at=...) of the builder"
            )
        for name in self.points or ():
            if name not in known:
                raise InputError(unknown_name("contact point", name, known).after("ground: "))
        return known if self.points is None else tuple(self.points)

    def frame(self, mechanism: Mechanism) -> tuple[Array, Array, Array]:
        """Normal, forward and side direction, each (3,), orthonormal."""
        if self.normal is not None:
            up = np.asarray(self.normal, dtype=np.float64)
        elif np.linalg.norm(mechanism.gravity) > 0.0:
            up = -np.asarray(mechanism.gravity)
        else:
            up = np.array([0.0, 0.0, 1.0])
        return plane_frame(up, self.forward)

    def rows(self, mechanism: Mechanism) -> tuple[Array, Array]:
        """The plane and its regions as compiled code reads them; the first region is everywhere."""
        up, ahead, side = self.frame(mechanism)
        plane = layout_rows(PLANE, 1, origin=[self.origin], normal=[up], forward=[ahead], side=[side])
        everywhere = Region()
        rows = []
        for region in (everywhere, *self.regions):
            soil = region.soil if region.soil is not None else self.soil
            corners = {
                "low": [(region.forward[0], region.side[0])],
                "high": [(region.forward[1], region.side[1])],
            }
            rows.append(layout_rows(REGION, 1, height=region.height, **corners, **soil.columns(mechanism)))
        return plane, np.concatenate(rows)

    def heights(self, mechanism: Mechanism, places: Array) -> Array:
        """Heights (...) of points (..., 3) above the ground below them; later regions cover earlier ones."""
        up, ahead, side = self.frame(mechanism)
        relative = places - np.asarray(self.origin)
        x, y = relative @ ahead, relative @ side
        level = np.zeros(x.shape) if self.terrain is None else self.terrain.at(x, y)
        for region in self.regions if self.terrain is None else ():
            inside = (x >= region.forward[0]) & (x < region.forward[1])
            inside &= (y >= region.side[0]) & (y < region.side[1])
            level = np.where(inside, region.height, level)
        height: Array = relative @ up - level
        return height

    def settings(self, mechanism: Mechanism) -> dict[str, Any]:
        """The settings as plain numbers and strings."""
        up, ahead, _ = self.frame(mechanism)
        terrain = {} if self.terrain is None else {"terrain": _stated(self.terrain)}
        rigid = {} if self.contact == "soil" else {"contact": self.contact}
        return (
            terrain
            | rigid
            | {
                "origin": list(self.origin),  # type: ignore[arg-type]
                "normal": up.tolist(),
                "forward": ahead.tolist(),
                "points": list(self.contact_names(mechanism)),
                "soil": asdict(self.soil) | self.soil.columns(mechanism),
                "regions": [_described(region, mechanism) for region in self.regions],
            }
        )


def _stated(field: HeightField) -> dict[str, Any]:
    heights = np.asarray(field.heights).tolist()
    return {"forward": list(field.forward), "side": list(field.side), "heights": heights}


def firm_soil(mechanism: Mechanism) -> Soil:
    """Soil in which a mechanism's weight on one point sinks by 2 mm; see :meth:`Ground.of`."""
    weight = mechanism.mass * float(np.linalg.norm(mechanism.gravity))
    if weight <= 0.0:
        weight = mechanism.mass * 9.81 or 1.0
    floor = mechanism.floor
    return Soil(
        stiffness=weight / SINKING,
        overdamping=1.0,
        friction=Soil().friction if floor is None else floor.friction,
        slipping=weight / CREEP,
    )


def _described(region: Region, mechanism: Mechanism) -> dict[str, Any]:
    ends = {name: [str(x) for x in getattr(region, name)] for name in ("forward", "side")}
    soil = None if region.soil is None else asdict(region.soil) | region.soil.columns(mechanism)
    return {**ends, "height": region.height, "soil": soil}
