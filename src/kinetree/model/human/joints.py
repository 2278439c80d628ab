"""Joints of the digital human: names, axes, ranges and constant strength.

x is forward, y to the left, z up. Coordinates have one sign on both sides: flexion, adduction, internal
rotation, knee flexion, dorsiflexion, inversion and extension of the toes are positive.
"""

from __future__ import annotations

from dataclasses import dataclass

from kinetree.errors import expect

DEGREE = 0.017453292519943295  # rad
ROOT = ("x", "y", "z", "yaw", "roll", "pitch")
GRAVITY = 9.80665  # m/s^2, of the weight that strength is given by
REFERENCE_SIZE = 75.0 * 1.75  # kg m: whom the torques below belong to
WEAKER = 0.8  # of men's of the same size: women's joints without measured figures


@dataclass(frozen=True)
class Axis:
    """One degree of freedom: direction on the left side, range (deg), least and largest torque (N m)."""

    name: str
    direction: tuple[float, float, float]
    range: tuple[float, float]
    torque: tuple[float, float]


def _axes(
    *rows: tuple[str, tuple[int, int, int], tuple[float, float], tuple[float, float]],
) -> tuple[Axis, ...]:
    return tuple(
        Axis(name, (float(x), float(y), float(z)), limits, torque) for name, (x, y, z), limits, torque in rows
    )


# Ranges of hip, knee, ankle, shoulder, elbow and wrist: Rajagopal et al. (2016, IEEE Trans. Biomed. Eng. 63,
# 2068), but for toes, pronation and arms, which would go into the body; those of the spine are chosen so
# that four joints share what it bends. Torques are those of a man of 75 kg and 1.75 m. Flexion of hip, knee
# and ankle: c1 of Anderson, Madigan and Nussbaum (2007, J. Biomech. 40, 3105), men of 18 to 25, times weight
# and stature; the plantar flexors have 1.2 times that, since measured walking takes up to 1.67 N m/kg
# (Arnold et al. 2013). Arms and spine: about 60 % of the gymnast's in RBDL's torque muscles (M. Millard,
# 2016). The others are chosen.
_W = 75.0 * GRAVITY * 1.75
BODY: dict[str, tuple[Axis, ...]] = {  # joints of the middle, from the pelvis upwards
    "lumbar": _axes(
        ("flexion", (0, 1, 0), (-25, 30), (-250, 130)),
        ("bending", (1, 0, 0), (-20, 20), (-120, 120)),
        ("rotation", (0, 0, 1), (-15, 15), (-90, 90)),
    ),
    "waist": _axes(
        ("flexion", (0, 1, 0), (-25, 30), (-250, 130)),
        ("bending", (1, 0, 0), (-20, 20), (-120, 120)),
        ("rotation", (0, 0, 1), (-15, 15), (-90, 90)),
    ),
    "chest": _axes(
        ("flexion", (0, 1, 0), (-25, 30), (-200, 110)),
        ("bending", (1, 0, 0), (-20, 20), (-120, 120)),
        ("rotation", (0, 0, 1), (-30, 30), (-90, 90)),
    ),
    "thorax": _axes(
        ("flexion", (0, 1, 0), (-15, 20), (-150, 80)),
        ("bending", (1, 0, 0), (-15, 15), (-90, 90)),
        ("rotation", (0, 0, 1), (-20, 20), (-60, 60)),
    ),
    "neck": _axes(
        ("flexion", (0, 1, 0), (-45, 40), (-40, 25)),
        ("bending", (1, 0, 0), (-35, 35), (-30, 30)),
        ("rotation", (0, 0, 1), (-50, 50), (-15, 15)),
    ),
    "head": _axes(
        ("flexion", (0, 1, 0), (-25, 20), (-30, 20)),
        ("rotation", (0, 0, 1), (-35, 35), (-15, 15)),
    ),
}
LEG: dict[str, tuple[Axis, ...]] = {
    "hip": _axes(
        ("flexion", (0, -1, 0), (-30, 120), (-0.161 * _W, 0.113 * _W)),
        ("adduction", (-1, 0, 0), (-50, 30), (-120, 120)),
        ("rotation", (0, 0, -1), (-40, 40), (-60, 60)),
    ),
    "knee": _axes(("flexion", (0, 1, 0), (0, 120), (-0.163 * _W, 0.087 * _W))),
    "ankle": _axes(
        ("flexion", (0, -1, 0), (-40, 30), (-1.2 * 0.095 * _W, 0.033 * _W)),
        ("inversion", (-1, 0, 0), (-20, 20), (-40, 40)),
    ),
    "toe": _axes(("extension", (0, -1, 0), (-10, 60), (-25, 25))),
}
ARM: dict[str, tuple[Axis, ...]] = {
    "clavicle": _axes(
        ("elevation", (1, 0, 0), (-10, 30), (-60, 60)),
        ("protraction", (0, 0, -1), (-20, 25), (-60, 60)),
    ),
    "shoulder": _axes(
        ("flexion", (0, -1, 0), (-90, 90), (-60, 55)),
        ("adduction", (-1, 0, 0), (-120, 0), (-60, 60)),
        ("rotation", (0, 0, -1), (-90, 90), (-25, 25)),
    ),
    "elbow": _axes(
        ("flexion", (0, -1, 0), (0, 150), (-40, 60)),
        ("pronation", (0, 0, -1), (-45, 45), (-8, 8)),
    ),
    "wrist": _axes(
        ("flexion", (-1, 0, 0), (-70, 70), (-9, 23)),
        ("deviation", (0, 1, 0), (-25, 35), (-14, 18)),
    ),
}
TOE_STIFFNESS = 20.0  # N m/rad, of the passive joint of the toes
FROZEN_WHILE_WALKING = (
    "chest.bending",
    "thorax",
    "neck",
    "head",
    *(f"{side}_{joint}" for side in ("left", "right") for joint in ("clavicle", "wrist")),
)


def mirror_image(name: str) -> tuple[str, float]:
    """The degree of freedom that takes over in the mirror image of a motion, and its sign.

    Left and right change places; bending and rotation of the spine, and the root's y, yaw and roll, change
    their sign.

    >>> mirror_image("left_hip.flexion"), mirror_image("lumbar.bending")
    (('right_hip.flexion', 1.0), ('lumbar.bending', -1.0))
    """
    expect(name, str, "name", "that of a degree of freedom")
    for mine, other in (("left_", "right_"), ("right_", "left_")):
        if name.startswith(mine):
            return other + name.removeprefix(mine), 1.0
    _, _, label = name.rpartition(".")
    return name, -1.0 if label in ("bending", "rotation", "y", "yaw", "roll") else 1.0
