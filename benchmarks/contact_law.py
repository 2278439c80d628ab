"""The ground's law of Kinetree in plain Python, for engines that have another one or none.

[Shah2013], app. D.
"""

from __future__ import annotations

from collections.abc import Callable
from math import atan, pi

import kinetree as kt
from kinetree.simulation.ground import Ground

Force = tuple[float, float, float]
Law = Callable[[float, float, float, float], Force | None]  # (height, vx, vy, vz) -> force, None in the air


def contact_law(mechanism: kt.Mechanism, ground: Ground) -> Law:
    """The force (x, y, z) on a point at a height above the level ground z = 0, at a velocity."""
    if ground.regions or any(ground.origin) or ground.normal is not None or ground.soil.dust:  # type: ignore[arg-type]
        raise ValueError("only level, firm ground of one kind")
    soil = ground.soil.columns(mechanism)
    k, c, ramp, mu, slipping = (
        soil[name] for name in ("stiffness", "damping", "ramp", "friction", "slipping")
    )

    def law(height: float, vx: float, vy: float, vz: float) -> Force | None:
        if height >= 0.0:
            return None
        damping = c
        if vz >= 0.0 and -height < ramp:
            x = -height / ramp
            damping = c * x * x * (3.0 - 2.0 * x)
        normal = -k * height - damping * vz
        if normal <= 0.0:
            return None
        most = 2.0 / pi * mu * normal
        return -most * atan(slipping * vx / most), -most * atan(slipping * vy / most), normal

    return law
