"""Plugins of simulators that are forces on bodies, by their names."""

from __future__ import annotations

import re

from kinetree.formats.passed_over import PassedOver
from kinetree.formats.xml_file import Element

WORDS = (
    "motor.?model", "lift.?drag", "buoyan", "hydrodynamic", "thrust", "propell", "rotor", "wind",
    "aerodynamic", "underwater", "uuv_", "spring", "mimic.?joint", "gravity.?comp", "suction", "vacuum",
)  # fmt: skip
_FORCES = re.compile("|".join(WORDS), re.IGNORECASE)


def mention_plugins(owner: Element, passed: PassedOver) -> None:
    """Mention the <plugin>s of an element that apply forces, by what they are called."""
    for plugin in owner.all("plugin"):
        called = f"{plugin.attributes.get('filename', '')} {plugin.attributes.get('name', '')}"
        if _FORCES.search(called):
            name = plugin.attributes.get("filename") or plugin.attributes.get("name", "")
            message = f"{plugin.place}: the forces of the plugin '{name}' are ignored"
            passed.mention("not-used", "forces of plugins, such as thrusters or springs", message)
