"""Muscles: their paths over points and wraps of the bodies, and the numbers of their Hill type models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinetree.algebra.arrays import Array, number, vector
from kinetree.algebra.placement import Placement, Places
from kinetree.algebra.smooth_functions import SmoothFunction
from kinetree.errors import ModelError, must_be, shown, unknown_name
from kinetree.model.body import checked_name
from kinetree.model.inertia import LARGEST
from kinetree.other_names import checks_keywords

RADII = {"cylinder": 1, "sphere": 1, "ellipsoid": 3, "torus": 2}  # how many radii each shape has
SIDES = ("+x", "-x", "+y", "-y", "+z", "-z")
METHODS = ("hybrid", "midpoint", "axial")
Flags = NDArray[np.bool_]
STEEPEST = 1.4706289056333368  # rad: cos is 0.1, where fibers of Thelen's and Millard's muscles stop
CURVES: Mapping[str, Mapping[str, float]] = {  # numbers of the curves, with the values they have in general
    "degroote2016": {
        "active_force_width_scale": 1.0,
        "fiber_damping": 0.0,
        "passive_fiber_strain_at_one_norm_force": 0.6,
        "tendon_strain_at_one_norm_force": 0.049,
        "ignore_passive_fiber_force": 0.0,
    },
    "millard2012": {
        "fiber_damping": 0.1,
        "maximum_pennation_angle": STEEPEST,
        "min_norm_active_fiber_length": 0.4441,
        "transition_norm_fiber_length": 0.73,
        "max_norm_active_fiber_length": 1.8123,
        "shallow_ascending_slope": 0.8616,
        "minimum_value": 0.1,
        "concentric_slope_at_vmax": 0.0,
        "concentric_slope_near_vmax": 0.25,
        "isometric_slope": 5.0,
        "eccentric_slope_at_vmax": 0.0,
        "eccentric_slope_near_vmax": 0.15,
        "max_eccentric_velocity_force_multiplier": 1.4,
        "concentric_curviness": 0.6,
        "eccentric_curviness": 0.9,
        "passive_strain_at_zero_force": 0.0,
        "passive_strain_at_one_norm_force": 0.7,
        "tendon_strain_at_one_norm_force": 0.049,
    },
    "thelen2003": {
        "FmaxTendonStrain": 0.04,
        "FmaxMuscleStrain": 0.6,
        "KshapeActive": 0.45,
        "KshapePassive": 5.0,
        "Af": 0.25,
        "Flen": 1.4,
        "fv_linear_extrap_threshold": 0.95,
        "maximum_pennation_angle": STEEPEST,
    },
}
FOUND = {  # further numbers, which follow from the others unless they are given
    "millard2012": (
        "passive_stiffness_at_low_force",
        "passive_stiffness_at_one_norm_force",
        "passive_curviness",
        "tendon_stiffness_at_one_norm_force",
        "tendon_norm_force_at_toe_end",
        "tendon_curviness",
    ),
}


@dataclass(frozen=True)
class PathPoint:
    """A point of a muscle's path, fixed in a body or the world at ``position`` (3,) (m).

    A conditional point belongs to the path only while the ``coordinate``, a joint, is within ``active``.

    >>> PathPoint("pelvis", (0.0, 0.1, 0.0), "hip", (-2.0, -0.5)).active
    (-2.0, -0.5)
    """

    body: str
    position: tuple[float, float, float]
    coordinate: str | None = None
    active: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        checked_name(self.body, "a path point: body")
        what = f"path point on '{self.body}'"
        place = vector(self.position, 3, f"{what}: position", ModelError)
        if np.abs(place).max() > LARGEST:
            raise ModelError(must_be(f"{what}: position", f"at most {LARGEST:g} m away", place.tolist()))
        object.__setattr__(self, "position", tuple(place.tolist()))
        if (self.coordinate is None) != (self.active is None):
            raise ModelError(f"{what}: a conditional point needs both a coordinate and its active range")
        if self.active is not None:
            checked_name(self.coordinate, f"{what}: coordinate")
            low, high = vector(self.active, 2, f"{what}: active", ModelError).tolist()
            if low > high:
                raise ModelError(f"{what}: active must go from low to high, got ({low:g}, {high:g})")
            object.__setattr__(self, "active", (low, high))


@dataclass(frozen=True)
class MovingPoint:
    """A point of a muscle's path that moves in its body as joints move.

    ``x``, ``y`` and ``z`` (m) are smooth functions of the three ``coordinates``, names of joints, one for
    each; a number is a constant, and its coordinate may be None. They are along the axes of ``placement``, a
    frame in that of the body.

    >>> from kinetree.algebra.smooth_functions import Polynomial
    >>> slide = Polynomial((0.02, 0.01))
    >>> MovingPoint("tibia", slide, 0.3, 0.0, ("knee", None, None)).coordinates
    ('knee', None, None)
    """

    body: str
    x: SmoothFunction | float
    y: SmoothFunction | float
    z: SmoothFunction | float
    coordinates: tuple[str | None, str | None, str | None]
    placement: Placement = field(default_factory=Placement)

    def __post_init__(self) -> None:
        checked_name(self.body, "a moving point: body")
        what = f"moving point on '{self.body}'"
        if not isinstance(self.placement, Placement):
            raise ModelError(must_be(f"{what}: placement", "a Placement", self.placement))
        names = self.coordinates
        if isinstance(names, str) or not isinstance(names, Iterable) or len(tuple(names)) != 3:
            raise ModelError(must_be(f"{what}: coordinates", "three names of joints", names))
        object.__setattr__(self, "coordinates", tuple(names))
        for key, name in zip("xyz", self.coordinates, strict=True):
            value = getattr(self, key)
            if isinstance(value, SmoothFunction):
                checked_name(name, f"{what}: coordinate of {key}")
            else:
                object.__setattr__(self, key, number(value, f"{what}: {key}", ModelError))

    @property
    def laws(self) -> tuple[SmoothFunction | float, SmoothFunction | float, SmoothFunction | float]:
        """The functions, or numbers, along the three axes."""
        return self.x, self.y, self.z


@checks_keywords
@dataclass(frozen=True)
class Wrap:
    """A surface of a body that muscles wrap around, ``placement`` in the frame of the body.

    ``shape`` and ``radii`` (m): cylinder along z (radius), sphere (radius), ellipsoid (half axes along x, y,
    z), torus about z (radius of the tube, radius of its center circle), through whose hole the path goes.
    ``length`` (m) of a cylinder along z; None: unlimited. With a ``side``, such as "+x", the path goes around
    the half on that side of the wrap's frame.

    >>> Wrap("condyles", "femur", "cylinder", radii=0.03, side="-x").radii
    (0.03,)
    """

    name: str
    body: str
    shape: str = "cylinder"
    placement: Placement = field(default_factory=Placement)
    radii: tuple[float, ...] = ()
    length: float | None = None
    side: str | None = None

    def __post_init__(self) -> None:
        what = f"wrap '{checked_name(self.name, 'a wrap')}'"
        checked_name(self.body, f"{what}: body")
        if self.shape not in RADII:
            raise ModelError(unknown_name("shape", self.shape, RADII).after(f"{what}: "))
        if not isinstance(self.placement, Placement):
            raise ModelError(must_be(f"{what}: placement", "a Placement", self.placement))
        given: Any = [self.radii] if np.ndim(self.radii) == 0 else self.radii
        radii = vector(given, RADII[self.shape], f"{what}: radii", ModelError)
        for radius in radii.tolist():
            if radius <= 0.0:
                raise ModelError(must_be(f"{what}: radii", "> 0 m", radius, "g"))
        if self.shape == "torus" and radii[0] >= radii[1]:
            raise ModelError(must_be(f"{what}: the tube's radius", "below that of its circle", given))
        object.__setattr__(self, "radii", tuple(radii.tolist()))
        if self.length is not None:
            length = number(self.length, f"{what}: length", ModelError)
            if length <= 0.0:
                raise ModelError(must_be(f"{what}: length", "> 0 m", length, "g"))
            object.__setattr__(self, "length", length)
        if self.side is not None and self.side not in self.sides:
            raise ModelError(unknown_name("side", self.side, self.sides).after(f"{what}: "))

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides that its shape can have."""
        return {"cylinder": SIDES[:4], "torus": ()}.get(self.shape, SIDES)

    def encloses(self, points: Array) -> Flags:
        """Whether points (..., 3) in the frame of its body are inside the surface, (...)."""
        x = (points - self.placement.position) @ self.placement.rotation
        if self.shape == "torus":
            around = np.hypot(np.hypot(x[..., 0], x[..., 1]) - self.radii[1], x[..., 2]) / self.radii[0]
        elif self.shape == "cylinder":
            around = np.hypot(x[..., 0], x[..., 1]) / self.radii[0]
        else:
            around = np.linalg.norm(x / np.array(self.radii), axis=-1)
        inside: Flags = around < 1.0
        if self.length is not None:
            inside = inside & (np.abs(x[..., 2]) <= 0.5 * self.length)
        return inside


@dataclass(frozen=True)
class PathWrap:
    """The name of a ``wrap`` that a muscle may wrap around, between two points of its path.

    ``first`` and ``last`` are indices into the path, from 0, both included; None: from its start, to its end.
    ``method`` is that of ellipsoids in OpenSim (hybrid, midpoint, axial); the shortest path needs none.

    >>> PathWrap("condyles", 1, 2).last
    2
    """

    wrap: str
    first: int | None = None
    last: int | None = None
    method: str = "hybrid"

    def __post_init__(self) -> None:
        what = f"use of wrap '{checked_name(self.wrap, 'a use of a wrap')}'"
        for key in ("first", "last"):
            value = getattr(self, key)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | np.integer)):
                raise ModelError(must_be(f"{what}: {key}", "an index of a path point", value))
        if self.first is not None and self.last is not None and self.first >= self.last:
            raise ModelError(f"{what}: first must be before last, got {self.first} and {self.last}")
        if self.method not in METHODS:
            raise ModelError(unknown_name("method", self.method, METHODS).after(f"{what}: "))


@checks_keywords
@dataclass(frozen=True)
class Muscle:
    """A muscle of Hill's type: fibers at a pennation angle in series with a tendon, along a path over bodies.

    ``path``: at least two points, :class:`PathPoint` or :class:`MovingPoint`, from origin to insertion;
    ``wraps``: what it wraps around. ``max_isometric_force`` (N), ``optimal_fiber_length`` and
    ``tendon_slack_length`` (m), ``pennation_angle`` at the optimal length (rad), ``max_contraction_velocity``
    (optimal lengths per second), times of activation and deactivation (s). ``kind`` names the curves:
    degroote2016, millard2012 or thelen2003, and ``curves`` their numbers, by the names that OpenSim gives
    them; those of passive fibers and tendons of Millard's muscle begin with ``passive_`` and ``tendon_``.
    ``slow_twitch`` is the share of slow fibers and ``specific_tension`` (Pa) the greatest stress, both for
    metabolic rates.

    >>> path = [PathPoint("femur", (0.0, 0.0, -0.1)), PathPoint("tibia", (0.03, 0.0, -0.05))]
    >>> vastus = Muscle("vastus", path, max_isometric_force=2000.0, tendon_slack_length=0.1)
    >>> vastus.kind, vastus.curve_numbers["tendon_strain_at_one_norm_force"]
    ('degroote2016', 0.049)
    """

    name: str
    path: tuple[PathPoint | MovingPoint, ...]
    wraps: tuple[PathWrap, ...] = ()
    max_isometric_force: float = 1000.0
    optimal_fiber_length: float = 0.1
    tendon_slack_length: float = 0.2
    pennation_angle: float = 0.0
    max_contraction_velocity: float = 10.0
    activation_time: float = 0.015
    deactivation_time: float = 0.06
    minimum_activation: float = 0.01
    kind: str = "degroote2016"
    rigid_tendon: bool = False
    curves: tuple[tuple[str, float], ...] = ()
    slow_twitch: float = 0.5
    specific_tension: float = 250e3

    def __post_init__(self) -> None:
        what = f"muscle '{checked_name(self.name, 'a muscle')}'"
        self._check_path(what)
        for key, (unit, least_allowed) in QUANTITIES.items():
            value = number(getattr(self, key), f"{what}: {key}", ModelError)
            if value < 0.0 or (value == 0.0 and not least_allowed):
                raise ModelError(
                    must_be(f"{what}: {key}", f"{'>=' if least_allowed else '>'} 0{unit}", value, "g")
                )
            if value > LARGEST:
                raise ModelError(must_be(f"{what}: {key}", f"at most {LARGEST:g}{unit}", value, "g"))
            object.__setattr__(self, key, value)
        if self.pennation_angle >= 0.5 * pi:
            raise ModelError(
                must_be(f"{what}: pennation_angle", "below pi / 2 rad", self.pennation_angle, "g")
            )
        for key in ("minimum_activation", "slow_twitch"):
            if getattr(self, key) > 1.0:
                raise ModelError(must_be(f"{what}: {key}", "at most 1", getattr(self, key), "g"))
        if self.kind not in CURVES:
            raise ModelError(unknown_name("kind of muscle", self.kind, CURVES).after(f"{what}: "))
        if not isinstance(self.rigid_tendon, bool | np.bool_):
            raise ModelError(must_be(f"{what}: rigid_tendon", "True or False", self.rigid_tendon))
        self._check_curves(what)

    def _check_path(self, what: str) -> None:
        for key, kinds, wanted in (
            ("path", (PathPoint, MovingPoint), "PathPoints or MovingPoints"),
            ("wraps", (PathWrap,), "PathWraps"),
        ):
            given = getattr(self, key)
            if isinstance(given, str) or not isinstance(given, Iterable):
                raise ModelError(must_be(f"{what}: {key}", f"a list of {wanted}", given))
            parts = tuple(given)
            for part in parts:
                if not isinstance(part, kinds):
                    raise ModelError(f"{what}: {key} must be a list of {wanted}, got {shown(part)} in it")
            object.__setattr__(self, key, parts)
        if len(self.path) < 2:
            raise ModelError(f"{what}: path needs at least two points, got {len(self.path)}")
        for wrap in self.wraps:
            for index in (wrap.first, wrap.last):
                if index is not None and not 0 <= index < len(self.path):
                    raise ModelError(
                        f"{what}: wrap '{wrap.wrap}' is used at point {index}; the path has points 0 to "
                        f"{len(self.path) - 1}"
                    )

    def _check_curves(self, what: str) -> None:
        given = dict(self.curves)
        known = (*CURVES[self.kind], *FOUND.get(self.kind, ()))
        for key, value in given.items():
            if key not in known:
                raise ModelError(
                    unknown_name(f"number of the curves of {self.kind}", key, known).after(f"{what}: ")
                )
            given[key] = number(
                float(value) if isinstance(value, bool) else value, f"{what}: {key}", ModelError
            )
        object.__setattr__(self, "curves", tuple(sorted(given.items())))

    @property
    def curve_numbers(self) -> dict[str, float]:
        """The numbers of its curves: those given, and the usual ones for the others."""
        return {**CURVES[self.kind], **dict(self.curves)}

    @property
    def bodies(self) -> tuple[str, ...]:
        """The bodies that its path has points on, in order, each once."""
        return tuple(dict.fromkeys(point.body for point in self.path))

    def span(self, wrap: PathWrap) -> range:
        """Indices of the points between which it may wrap."""
        last = len(self.path) - 1 if wrap.last is None else wrap.last
        return range(wrap.first or 0, last + 1)

    @property
    def mass(self) -> float:
        """Mass of its fibers (kg): density 1059.7 kg/m^3 times force over stress times optimal length."""
        return DENSITY * self.max_isometric_force / self.specific_tension * self.optimal_fiber_length


DENSITY = 1059.7  # kg/m^3, of mammalian muscle (Mendez and Keys 1960)
QUANTITIES = {  # unit, and whether it may be zero
    "max_isometric_force": (" N", False),
    "optimal_fiber_length": (" m", False),
    "tendon_slack_length": (" m", True),
    "pennation_angle": (" rad", True),
    "max_contraction_velocity": (" optimal lengths/s", False),
    "activation_time": (" s", False),
    "deactivation_time": (" s", False),
    "minimum_activation": ("", True),
    "slow_twitch": ("", True),
    "specific_tension": (" Pa", False),
}


def swallowed(muscle: Muscle, wraps: Mapping[str, Wrap]) -> str | None:
    """The name of a wrap that encloses all points of the muscle between which it is used, all on its body."""
    for use in muscle.wraps:
        wrap = wraps.get(use.wrap)
        if wrap is None:
            continue
        points = [muscle.path[k] for k in muscle.span(use)]
        places = [x.position for x in points if isinstance(x, PathPoint) and x.body == wrap.body]
        if len(places) == len(points) and wrap.encloses(np.array(places)).all():
            return wrap.name
    return None


def carried_muscle(muscle: Muscle, places: Places) -> Muscle:
    """The muscle with its points on the bodies that carry theirs now."""

    def carried(point: PathPoint | MovingPoint) -> PathPoint | MovingPoint:
        body, frame = places.get(point.body, (point.body, Placement()))
        if isinstance(point, MovingPoint):
            return replace(point, body=body, placement=frame @ point.placement)
        place = frame.rotation @ np.array(point.position) + frame.position if not frame.is_identity else None
        return replace(point, body=body, position=point.position if place is None else tuple(place.tolist()))

    return replace(muscle, path=tuple(carried(point) for point in muscle.path))


def carried_wrap(wrap: Wrap, places: Places) -> Wrap:
    """The wrap on the body that carries its body now."""
    body, frame = places.get(wrap.body, (wrap.body, Placement()))
    return replace(wrap, body=body, placement=frame @ wrap.placement)


def prefixed_muscle(muscle: Muscle, prefix: str, body: Callable[[str], str]) -> Muscle:
    """The muscle with a prefix before its name and those of joints and wraps; ``body`` renames bodies."""

    def joint(name: str | None) -> str | None:
        return None if name is None else prefix + name

    path: list[PathPoint | MovingPoint] = []
    for point in muscle.path:
        if isinstance(point, MovingPoint):
            a, b, c = (joint(name) for name in point.coordinates)
            path.append(replace(point, body=body(point.body), coordinates=(a, b, c)))
        else:
            path.append(replace(point, body=body(point.body), coordinate=joint(point.coordinate)))
    wraps = tuple(replace(use, wrap=prefix + use.wrap) for use in muscle.wraps)
    return replace(muscle, name=prefix + muscle.name, path=tuple(path), wraps=wraps)


def held_muscle(muscle: Muscle, held: Mapping[str, float]) -> Muscle:
    """The muscle with points that follow held joints where these stay, without those inactive there."""
    path: list[PathPoint | MovingPoint] = []
    new_index = {}
    for k, point in enumerate(muscle.path):
        new_index[k] = len(path)
        where = held.get(point.coordinate or "") if isinstance(point, PathPoint) else None
        if isinstance(point, MovingPoint):
            path.append(_held_point(point, held))
        elif where is None or point.active is None:
            path.append(point)
        elif point.active[0] <= where <= point.active[1]:
            path.append(PathPoint(point.body, point.position))
    new_index[len(muscle.path)] = len(path)
    wraps = tuple(
        replace(
            use,
            first=None if use.first is None else min(new_index[use.first], len(path) - 2),
            last=None if use.last is None else max(new_index[use.last + 1] - 1, 1),
        )
        for use in muscle.wraps
    )
    return replace(muscle, path=tuple(path), wraps=wraps)


def _held_point(point: MovingPoint, held: Mapping[str, float]) -> MovingPoint:
    """A moving point whose functions of held joints are the numbers that they have there."""
    x, y, z = (
        law if isinstance(law, float) or name not in held else float(law.at(held[name]))
        for law, name in zip(point.laws, map(str, point.coordinates), strict=True)
    )
    a, b, c = (None if name in held else name for name in point.coordinates)
    return replace(point, x=x, y=y, z=z, coordinates=(a, b, c))
