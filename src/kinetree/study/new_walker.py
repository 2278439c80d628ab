"""Mechanism files of robots that walk: bipeds in space and in a plane, four legs, six legs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kinetree.errors import InputError, must_be, unknown_name

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


def walker_lines(template: str, values: Mapping[str, float] | None = None) -> list[str]:
    """Tables of a mechanism file; ``values`` change lengths (m) and masses (kg) of the template.

    >>> sum("[[contact]]" in line for line in walker_lines("hexapod"))
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
    make: Callable[[Mapping[str, float], str], list[str]] = _biped if "biped" in template else _many
    return make(size, template)


def scaled(template: str, length: float, mass: float) -> dict[str, float]:
    """All sizes for thighs and shanks of a length (m) and limbs of a mass (kg), in proportion."""
    usual = USUAL[template]
    by = {"m": length / usual["thigh"], "kg": mass / usual["thigh_mass"]}
    return {key: x * by["kg" if key.endswith("_mass") else "m"] for key, x in usual.items()}


def _torque(size: Mapping[str, float], legs: int) -> float:
    limb = size["thigh_mass"] + size["shank_mass"] + size.get("foot_mass", 0.0)
    weight = GRAVITY * (size["trunk_mass"] + legs * limb)
    return STRONG * weight * (size["thigh"] + size["shank"])


def _biped(size: Mapping[str, float], template: str) -> list[str]:
    planar, x = template == "planar_biped", size["foot_length"]
    most = f"effort_limit = {_torque(size, 2):.4g}"
    width, height, high = size["hip_width"], size["trunk_height"], size["ankle_height"]
    base = (
        'joint = { name = "base", kind = "planar", axis = "y", driven = false }'
        "  # translates along x and z, rotates about y"
        if planar
        else 'joint = { name = "base", kind = "free" }  # moves freely: three positions, then angles YXZ'
    )
    lines = [
        "[[body]]",
        'name = "trunk"',
        base,
        f"box = {{ mass = {size['trunk_mass']:g}, size = [{0.5 * width:g}, {1.2 * width:g}, {height:g}], "
        f"center = [0, 0, {0.5 * height:g}] }}",
    ]
    for side, y in (("left", 0.5 * width), ("right", -0.5 * width)):
        where = f"[0, {0.0 if planar else y:g}, 0]"
        hip = (
            f'kind = "revolute", axis = "y", at = {where}'
            if planar
            else f'kind = "spherical", sequence = "ZXY", at = {where}'
        )
        ankle = 'kind = "revolute", axis = "y"' if planar else 'kind = "universal", sequence = "YX"'
        lines += [
            "",
            "[[body]]",
            f'name = "{side}_thigh"',
            'parent = "trunk"',
            f'joint = {{ name = "{side}_hip", {hip}, {most} }}',
            f"rod = {{ mass = {size['thigh_mass']:g}, end = [0, 0, {-size['thigh']:g}] }}",
            "",
            "[[body]]",
            f'name = "{side}_shank"',
            f'parent = "{side}_thigh"',
            f'joint = {{ name = "{side}_knee", kind = "revolute", axis = "y", '
            f'at = [0, 0, {-size["thigh"]:g}], lower = 0, upper = "150 deg", {most} }}',
            f"rod = {{ mass = {size['shank_mass']:g}, end = [0, 0, {-size['shank']:g}] }}",
            "",
            "[[body]]",
            f'name = "{side}_foot"',
            f'parent = "{side}_shank"',
            f'joint = {{ name = "{side}_ankle", {ankle}, at = [0, 0, {-size["shank"]:g}], {most} }}',
            f"box = {{ mass = {size['foot_mass']:g}, size = [{x:g}, {size['foot_width']:g}, "
            f"{0.5 * high:g}], center = [{0.1 * x:g}, 0, {-0.75 * high:g}] }}",
        ]
        lines += _sole(size, side, planar)
    return lines


def _sole(size: Mapping[str, float], side: str, planar: bool) -> list[str]:
    lines = []
    for end, x in (("toe", 0.6), ("heel", -0.4)):
        for where, y in (("", 0.0),) if planar else (("_left", 0.5), ("_right", -0.5)):
            place = f"[{x * size['foot_length']:g}, {y * size['foot_width']:g}, {-size['ankle_height']:g}]"
            lines += [
                "",
                "[[contact]]  # a point that may touch the ground",
                f'name = "{side}_{end}{where}"',
                f'body = "{side}_foot"',
                f"at = {place}",
            ]
    return lines


def _many(size: Mapping[str, float], template: str) -> list[str]:
    rows = 2 if template == "quadruped" else 3
    most = f"effort_limit = {_torque(size, 2 * rows):.4g}"
    length, width, height = size["trunk_length"], size["hip_width"], size["trunk_height"]
    lines = [
        "[[body]]",
        'name = "trunk"',
        'joint = { name = "base", kind = "free" }  # moves freely: three positions, then angles YXZ',
        f"box = {{ mass = {size['trunk_mass']:g}, size = [{1.2 * length:g}, {0.8 * width:g}, {height:g}] }}",
    ]
    names = {2: ("front", "rear"), 3: ("front", "middle", "rear")}[rows]
    for k, name in enumerate(names):
        for side, y in (("left", 0.5 * width), ("right", -0.5 * width)):
            leg, x = f"{name}_{side}", length * (0.5 - k / (rows - 1))
            lines += [
                "",
                "[[body]]",
                f'name = "{leg}_thigh"',
                'parent = "trunk"',
                f'joint = {{ name = "{leg}_hip", kind = "universal", sequence = "XY", '
                f"at = [{x:g}, {y:g}, 0], {most} }}",
                f"rod = {{ mass = {size['thigh_mass']:g}, end = [0, 0, {-size['thigh']:g}] }}",
                "",
                "[[body]]",
                f'name = "{leg}_shank"',
                f'parent = "{leg}_thigh"',
                f'joint = {{ name = "{leg}_knee", kind = "revolute", axis = "y", '
                f"at = [0, 0, {-size['thigh']:g}], {most} }}",
                f"rod = {{ mass = {size['shank_mass']:g}, end = [0, 0, {-size['shank']:g}] }}",
                "",
                "[[contact]]  # a ball that may touch the ground",
                f'name = "{leg}_foot"',
                f'body = "{leg}_shank"',
                f"at = [0, 0, {-size['shank']:g}]",
                f"radius = {size['foot_radius']:g}",
            ]
    return lines
