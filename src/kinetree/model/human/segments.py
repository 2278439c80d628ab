"""Segments of the human body: masses, centers, radii of gyration, lengths (de Leva 1996), and stature.

Masses, centers and radii are those of table 4 of P. de Leva (1996), Adjustments to Zatsiorsky-Seluyanov's
segment inertia parameters, J. Biomech. 29, 1223-1230; so are the lengths, those of the mean man of 1.741 m
and woman of 1.735 m. Heights of the ankle, widths of hips and shoulders are round figures of adults.

The hips of women are higher than there: at the height of the trochanterion of ANSUR II, 0.519 of stature (C.
C. Gordon et al. 2014, 2012 Anthropometric Survey of U.S. Army Personnel, NATICK/TR-15/007), instead of 0.500.
Lower trunk and thighs meet there; masses, centers of mass and radii of gyration (m) remain as they were.
Their feet are longer than there: 0.151 of stature by the same survey instead of 0.132 (0.148 for men there);
center of mass and radii remain the same shares of the length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, number, vector
from kinetree.errors import InputError, must_be, shown, unknown_name
from kinetree.model.inertia import Inertia

Table = dict[str, tuple[float, float, float, float, float, float]]
SEXES = ("male", "female")
SIDES = ("left", "right")
HEIGHTS = (1.2, 2.3)  # m: smaller and taller people have other proportions
MASSES = (25.0, 250.0)  # kg
LEAST_INDEX, LARGEST_INDEX = 12.0, 60.0  # kg/m^2, body mass index
REFERENCE = {"male": 1.741, "female": 1.735}  # m, stature of de Leva's means
# mass, center of mass from the first end, radii of gyration about the fore-aft, the lateral and the long
# axis, all as shares of body mass and length; then the length (m) of the mean person
_MALE: Table = {
    "head": (0.0694, 0.5002, 0.303, 0.315, 0.261, 0.2429),  # vertex to cervicale
    "upper_trunk": (0.1596, 0.5066, 0.505, 0.320, 0.465, 0.2421),  # cervicale to xiphion
    "middle_trunk": (0.1633, 0.4502, 0.482, 0.383, 0.468, 0.2155),  # xiphion to omphalion
    "lower_trunk": (0.1117, 0.6115, 0.615, 0.551, 0.587, 0.1457),  # omphalion to the middle of the hips
    "upper_arm": (0.0271, 0.5772, 0.285, 0.269, 0.158, 0.2817),
    "forearm": (0.0162, 0.4574, 0.276, 0.265, 0.121, 0.2689),
    "hand": (0.0061, 0.7900, 0.628, 0.513, 0.401, 0.0862),  # wrist to the third knuckle
    "thigh": (0.1416, 0.4095, 0.329, 0.329, 0.149, 0.4222),
    "shank": (0.0433, 0.4395, 0.251, 0.246, 0.102, 0.4340),
    "foot": (0.0137, 0.4415, 0.257, 0.245, 0.124, 0.2581),  # heel to tip of the toes
}
_FEMALE: Table = {
    "head": (0.0668, 0.4841, 0.271, 0.295, 0.261, 0.2437),
    "upper_trunk": (0.1545, 0.5050, 0.466, 0.314, 0.449, 0.2280),
    "middle_trunk": (0.1465, 0.4512, 0.433, 0.354, 0.415, 0.2053),
    "lower_trunk": (0.1247, 0.4920, 0.433, 0.402, 0.444, 0.1815),
    "upper_arm": (0.0255, 0.5754, 0.278, 0.260, 0.148, 0.2751),
    "forearm": (0.0138, 0.4559, 0.261, 0.257, 0.094, 0.2643),
    "hand": (0.0056, 0.7474, 0.531, 0.454, 0.335, 0.0780),
    "thigh": (0.1478, 0.3612, 0.369, 0.364, 0.162, 0.3685),
    "shank": (0.0481, 0.4352, 0.267, 0.263, 0.092, 0.4323),
    "foot": (0.0129, 0.4014, 0.299, 0.279, 0.139, 0.2283),
}
# mean heights of 1986 women: trochanterion relative to stature, 845.4 mm of 1628.5 mm (Gordon et al. 2014)
_FEMALE_HIPS = 0.5191
_FEMALE_FOOT = 0.1512  # foot length over stature, 246.3 mm of the same women; de Leva's mean has 0.1316
# heights and half widths (m) of the mean person: ankle above the sole, hips and shoulders from the middle,
# shoulders above the hips (de Leva: middle of the shoulders to middle of the hips)
_FRAME: dict[str, dict[str, float]] = {
    "male": {"ankle": 0.075, "hip": 0.088, "shoulder": 0.185, "shoulder_height": 0.5155},
    "female": {"ankle": 0.067, "hip": 0.088, "shoulder": 0.174, "shoulder_height": 0.4979},
}


def _with_hips_at(
    share: float, table: Table, frame: dict[str, float], stature: float
) -> tuple[Table, dict[str, float]]:
    """A table and its frame with the hips at a share of the stature: what has mass stays where it is."""
    rise = share * stature - table["thigh"][-1] - table["shank"][-1] - frame["ankle"]
    found = dict(table)
    for name, longer, before in (("lower_trunk", -rise, 0.0), ("thigh", rise, rise)):
        mass, center, x, y, z, old = table[name]
        length = old + longer
        ratio = old / length
        found[name] = (mass, ratio * center + before / length, ratio * x, ratio * y, ratio * z, length)
    return found, {**frame, "shoulder_height": frame["shoulder_height"] - rise}


_WOMAN, _FRAME["female"] = _with_hips_at(_FEMALE_HIPS, _FEMALE, _FRAME["female"], REFERENCE["female"])
_WOMAN["foot"] = (*_FEMALE["foot"][:-1], _FEMALE_FOOT * REFERENCE["female"])
TABLE = {"male": _MALE, "female": _WOMAN}
PAIRED = ("upper_arm", "forearm", "hand", "thigh", "shank", "foot")
OVERRIDES = ("mass", "length", "center", "radii")
# stature (m) and mass (kg) at the 5th, 50th and 95th percentile. Women: ANSUR II 2012, n = 1986 (Gordon et
# al. 2014, NATICK/TR-15/007; from the public data set). Men: ANSUR 1988, n = 1774 (Gordon et al. 1989,
# NATICK/TR-89/044)
PERCENTILES = {
    "male": {5: (1.647, 61.6), 50: (1.755, 77.7), 95: (1.866, 98.1)},
    "female": {5: (1.525, 51.3), 50: (1.626, 66.8), 95: (1.740, 87.1)},
}


@dataclass(frozen=True)
class Segment:
    """One segment: ``mass`` (kg), ``length`` (m), ``center`` from its first end and ``radii`` of gyration.

    Center and the three radii, about the fore-aft, the lateral and the long axis, are shares of the length.

    >>> import kinetree as kt
    >>> thigh = kt.human.proportions("female", 1.65, 60.0).segments["left_thigh"]
    >>> round(thigh.mass, 2), round(thigh.length, 3)
    (8.87, 0.382)
    """

    mass: float
    length: float
    center: float
    radii: tuple[float, float, float]

    def inertia(self, start: Any, end: Any, length: float | None = None) -> Inertia:
        """The segment between two points of a body frame with x forward and y to the left.

        The moment of inertia uses its own ``length`` unless another (m) is given.
        """
        a, b = np.array(start, dtype=np.float64), np.array(end, dtype=np.float64)
        about_x, about_y, along = (r * (self.length if length is None else length) for r in self.radii)
        lies = abs((b - a)[0]) > np.abs((b - a)[1:]).max()  # a foot: the long axis is the fore-aft one
        radii = np.array([along, about_y, about_x] if lies else [about_x, about_y, along])
        return Inertia(self.mass, a + self.center * (b - a), np.diag(self.mass * radii**2))


@dataclass(frozen=True)
class Proportions:
    """Segments by name ("head", "left_thigh", ...) and the frame they hang in (m)."""

    segments: dict[str, Segment]
    ankle: float
    hip: float
    shoulder: float
    shoulder_height: float
    scale: float

    def __getitem__(self, name: str) -> Segment:
        return self.segments[name]


def size_at(sex: str, percentile: int) -> dict[str, Any]:
    """Sex, stature (m) and mass (kg) of a person at a percentile: 5, 50 or 95.

    Women by the survey of US Army personnel of 2012 (Gordon et al. 2014), men by that of 1988 (Gordon et al.
    1989). Stature and mass at the same percentile do not go together in every person.

    >>> size_at("female", 5)
    {'sex': 'female', 'height': 1.525, 'mass': 51.3}
    """
    table = PERCENTILES[checked_sex(sex)]
    if not isinstance(percentile, int) or percentile not in table:
        raise InputError(must_be("percentile", f"one of {', '.join(map(str, table))}", percentile))
    height, mass = table[percentile]
    return {"sex": sex, "height": height, "mass": mass}


def checked_sex(sex: object) -> str:
    """One of the two tables."""
    if not isinstance(sex, str) or sex not in SEXES:
        raise InputError(unknown_name("sex", sex, SEXES))
    return sex


def checked_size(height: float, mass: float) -> tuple[float, float]:
    """Stature (m) and mass (kg) that a person can have."""
    for value, what, unit, (low, high) in (
        (height, "height", "m", HEIGHTS),
        (mass, "mass", "kg", MASSES),
    ):
        if not low <= number(value, f"{what} of a human") <= high:
            raise InputError(
                must_be(f"{what} of a human", f"between {low:g} and {high:g} {unit}", value, "g")
            )
    index = mass / height**2
    if not LEAST_INDEX <= index <= LARGEST_INDEX:
        raise InputError(
            f"a human of {height:g} m and {mass:g} kg has a body mass index of {index:.3g} kg/m^2; allowed "
            f"are {LEAST_INDEX:g} to {LARGEST_INDEX:g}"
        )
    return float(height), float(mass)


def proportions(
    sex: str, height: float, mass: float, segments: Mapping[str, Mapping[str, Any]] | None = None
) -> Proportions:
    """The segments of a person, from de Leva's tables and what is given instead.

    ``segments`` maps names such as "thigh" (both) or "left_thigh" to values that replace those of the table:
    mass (kg), length (m), center and radii (shares of the length).

    >>> import kinetree as kt
    >>> woman = kt.human.proportions("female", 1.65, 60.0)
    >>> round(sum(part.mass for part in woman.segments.values()), 6)
    60.0
    """
    table = TABLE[checked_sex(sex)]
    height, mass = checked_size(height, mass)
    scale = height / REFERENCE[sex]
    whole = sum(row[0] * (2 if name in PAIRED else 1) for name, row in table.items())
    found: dict[str, Segment] = {}
    for name, (share, center, x, y, z, length) in table.items():
        one = Segment(mass * share / whole, scale * length, center, (x, y, z))
        for part in [f"{side}_{name}" for side in SIDES] if name in PAIRED else [name]:
            found[part] = one
    allowed = [*table, *(name for name in found if name not in table)]
    for name, given in (segments or {}).items():
        if name not in allowed:
            raise InputError(unknown_name("segment", name, allowed))
        for part in [f"{side}_{name}" for side in SIDES] if name in PAIRED else [name]:
            found[part] = _changed(name, found[part], given)
    frame = {key: scale * value for key, value in _FRAME[sex].items()}
    return Proportions(found, **frame, scale=scale)


def _changed(name: str, segment: Segment, given: Any) -> Segment:
    """A segment with some values replaced."""
    if not isinstance(given, Mapping):
        raise InputError(f"segment '{name}' takes a table of {', '.join(OVERRIDES)}, got {shown(given)}")
    values: dict[str, Any] = {}
    for key, value in given.items():
        what = f"{key} of segment '{name}'"
        if key not in OVERRIDES:
            raise InputError(unknown_name("value", key, OVERRIDES).after(f"segment '{name}': "))
        if key == "radii":
            radii: Array = vector(value, 3, what)
            values[key] = tuple(float(x) for x in radii)
            if not (radii > 0).all():
                raise InputError(must_be(what, "positive fractions of its length", radii.tolist()))
            continue
        values[key] = number(value, what)
        if not values[key] > 0 or (key == "center" and values[key] > 1):
            raise InputError(
                must_be(what, f"{'between 0 and 1' if key == 'center' else 'positive'}", value, "")
            )
    return replace(segment, **values)
