"""The dimensionless parameters of a walk."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GaitNumbers:
    """Lengths in L (stretched leg), times in 1 / w = sqrt(height / g), speed in sqrt(g L)."""

    speed: float
    step_time: float = 1.5
    clearance: float = 0.08
    width: float = 0.15
    height: float = 0.88
