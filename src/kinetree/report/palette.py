"""The colors that all pictures share."""

from __future__ import annotations

INK, PAPER, GROUND, ALERT = "#22303c", "#ffffff", "#8a97a3", "#c23b3b"
MODULE_COLORS = ("#7b8794", "#2f6db5", "#d9822b", "#3a9a6e", "#b5487c", "#7d63b8", "#b0902c", "#3c9fb0")
LINE_COLORS = (*MODULE_COLORS[1:], MODULE_COLORS[0])
AXIS_COLORS = ("#c23b3b", "#3a9a6e", "#2f6db5")
MUSCLE = "#b0303c"
OBSTACLE, PATH = "#a8788a", "#17687a"
FORCE_COLOR, REACTION_COLOR, CENTER_COLOR = "#c23b3b", "#d9822b", "#22303c"


def module_color(module: int) -> str:
    """The color of the bodies of a module ([Shah2013], section 4.1).

    >>> module_color(1) == module_color(1 + len(MODULE_COLORS))
    True
    """
    return MODULE_COLORS[module % len(MODULE_COLORS)]
