"""Colors of URDF files: materials that are defined once, for the robot or in a link, and named again."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinetree.errors import KinetreeError
from kinetree.formats.xml_file import Element

Color = tuple[float, float, float, float]
Colors = Mapping[str, Color]


def material_colors(robot: Element) -> dict[str, Color]:
    """The color of every <material> with a name, of the robot and of its links; the first one counts."""
    found: dict[str, Color] = {}
    drawn = [visual for link in robot.all("link") for visual in link.all("visual")]
    for owner in (robot, *drawn):
        for material in owner.all("material"):
            color = _color(material)
            if color is not None:
                found.setdefault(material.attributes.get("name", ""), color)
    return found


def color_of(drawn: Element, colors: Colors) -> Color | None:
    """The color of a <visual>: its own, or that of the material it names; None if there is none."""
    for material in drawn.all("material"):
        return _color(material) or colors.get(material.attributes.get("name", ""))
    return None


def _color(material: Element) -> Color | None:
    """What <color rgba> says; one that cannot be read changes no answer and is none."""
    for color in material.all("color"):
        try:
            values = color.numbers("rgba", 4)
        except KinetreeError:
            return None
        if not np.isfinite(values).all():
            return None
        red, green, blue, opacity = (float(x) for x in np.clip(values, 0.0, 1.0))
        return red, green, blue, opacity
    return None
