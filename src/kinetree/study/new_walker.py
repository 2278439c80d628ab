"""Mechanism files of robots that walk: bipeds in space and in a plane, four legs, six legs."""

from __future__ import annotations

from collections.abc import Mapping

from kinetree.errors import InputError, must_be, unknown_name
from kinetree.study.new_lines import FileTemplate

GRAVITY = 9.81
STRONG = 0.8  # effort limit, in m g L
BIPED = {
    "thigh": 0.4, "shank": 0.4, "hip_width": 0.2, "trunk_height": 0.5, "foot_length": 0.2,
    "foot_width": 0.1, "ankle_height": 0.05, "trunk_mass": 20.0, "thigh_mass": 3.0, "shank_mass": 2.0,
    "foot_mass": 0.8,
}  # fmt: skip
MANY = {
    "thigh": 0.25, "shank": 0.25, "hip_width": 0.24, "trunk_length": 0.5, "trunk_height": 0.12,
    "foot_radius": 0.02, "trunk_mass": 12.0, "thigh_mass": 1.0, "shank_mass": 0.4,
}  # fmt: skip
USUAL: dict[str, dict[str, float]] = {
    "biped": BIPED,
    "planar_biped": BIPED,
    "quadruped": MANY,
    "hexapod": MANY | {"trunk_length": 0.8, "trunk_mass": 16.0},
}  # lengths (m) and masses (kg)
TEMPLATES = {
    "biped": "a trunk on two legs with feet, for the walking law",
    "planar_biped": "a planar biped: the base moves forward and up, and pitches",
    "quadruped": "a trunk on four legs with ball feet, which trots",
    "hexapod": "a trunk on six legs with ball feet, which walks on three of them at a time",
}


def walker_text(template: str, values: Mapping[str, float] | None = None) -> str:
    """Tables of a mechanism file; ``values`` change lengths (m) and masses (kg) of the template.

    >>> walker_text("hexapod").count("[[contact]]")
    6
    """
    if template not in USUAL:
        raise InputError(unknown_name("template", template, USUAL))
    size = dict(USUAL[template])
    for key, value in (values or {}).items():
        if key not in size:
            raise InputError(unknown_name("size", key, size).after(f"template '{template}': "))
        if not 0.0 < value < 1e6:
            raise InputError(must_be(f"template '{template}': {key}", "a number > 0", value, "g"))
        size[key] = float(value)
    return (_biped if "biped" in template else _many)(size, template)


def scaled(template: str, length: float, mass: float) -> dict[str, float]:
    """All sizes for thighs and shanks of a length (m) and limbs of a mass (kg), in proportion."""
    usual = USUAL[template]
    by = {"m": length / usual["thigh"], "kg": mass / usual["thigh_mass"]}
    return {key: x * by["kg" if key.endswith("_mass") else "m"] for key, x in usual.items()}


def _torque(size: Mapping[str, float], legs: int) -> float:
    limb = size["thigh_mass"] + size["shank_mass"] + size.get("foot_mass", 0.0)
    weight = GRAVITY * (size["trunk_mass"] + legs * limb)
    return STRONG * weight * (size["thigh"] + size["shank"])


def _biped(size: Mapping[str, float], template: str) -> str:
    planar, x, file = template == "planar_biped", size["foot_length"], FileTemplate("biped")
    width, height, high = size["hip_width"], size["trunk_height"], size["ankle_height"]
    trunk = {"depth": 0.5 * width, "breadth": 1.2 * width, "middle": 0.5 * height}
    text = file.filled("planar trunk" if planar else "trunk", **size, **trunk)
    pin = 'kind = "revolute", axis = "y"'
    for side, y in (("left", 0.5 * width), ("right", -0.5 * width)):
        text += file.filled(
            "leg", **size, side=side, y=0.0 if planar else y, most=f"{_torque(size, 2):.4g}",
            hip=pin if planar else 'kind = "spherical", sequence = "ZXY"',
            hinge=pin if planar else 'kind = "universal", sequence = "YX"',
            knee=-size["thigh"], ankle=-size["shank"], thick=0.5 * high, ahead=0.1 * x, below=-0.75 * high,
        )  # fmt: skip
        for end, along in (("toe", 0.6), ("heel", -0.4)):
            for where, beside in (("", 0.0),) if planar else (("_left", 0.5), ("_right", -0.5)):
                at = {"x": along * x, "y": beside * size["foot_width"], "sole": -high}
                text += file.filled("point", side=side, place=end + where, **at)
    return text


def _many(size: Mapping[str, float], template: str) -> str:
    names = ("front", "rear") if template == "quadruped" else ("front", "middle", "rear")
    length, width, file = size["trunk_length"], size["hip_width"], FileTemplate("many_legs")
    text = file.filled("trunk", **size, long=1.2 * length, wide=0.8 * width)
    for k, name in enumerate(names):
        for side, y in (("left", 0.5 * width), ("right", -0.5 * width)):
            text += file.filled(
                "leg", **size, leg=f"{name}_{side}", x=length * (0.5 - k / (len(names) - 1)), y=y,
                most=f"{_torque(size, 2 * len(names)):.4g}", knee=-size["thigh"], ankle=-size["shank"],
            )  # fmt: skip
    return text
