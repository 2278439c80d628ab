"""The numbers that shape a gait, and those of the book's robots ([Shah2013], Tables B.1 and B.2)."""

from __future__ import annotations

from dataclasses import dataclass

from kinetree.algebra.arrays import number, positive
from kinetree.errors import InputError, must_be


@dataclass(frozen=True)
class GaitParameters:
    """One step: its time T (s) and lengths (m), as [Shah2013], appendix B, has them.

    ``x0`` and ``y0``: where the hips are when the step begins, seen from the supporting ankle; x0 < 0 as the
    hips start behind it. ``height`` z_h of the hips above the ground, ``stride`` l_s by which the supporting
    ankles are apart, ``foot_height`` h_f to which the swinging foot is lifted. From step to step the hips go
    on without a jump if stride = -2 x0, which is therefore required.

    >>> GaitParameters(step_time=1.0, x0=-0.15, y0=0.0, height=0.96, stride=0.3, foot_height=0.1).speed
    0.3
    """

    step_time: float
    x0: float
    y0: float
    height: float
    stride: float
    foot_height: float

    def __post_init__(self) -> None:
        for name, unit in (("step_time", "s"), ("height", "m"), ("stride", "m"), ("foot_height", "m")):
            object.__setattr__(self, name, positive(getattr(self, name), name, unit))
        for name in ("x0", "y0"):
            object.__setattr__(self, name, number(getattr(self, name), name))
        if abs(self.stride + 2 * self.x0) > 1e-9 * self.stride:
            raise InputError(
                must_be(
                    "the hips would jump from step to step: stride",
                    f"-2 x0 = {-2 * self.x0:g} m",
                    self.stride,
                    "g",
                )
            )

    @property
    def speed(self) -> float:
        """Mean speed of the hips (m/s)."""
        return self.stride / self.step_time


PLANAR_BIPED = GaitParameters(1.0, -0.15, 0.0, 0.96, 0.3, 0.1)  # [Shah2013], Table B.1
SPATIAL_BIPED = GaitParameters(0.5, -0.15, -0.08, 0.92, 0.3, 0.1)  # [Shah2013], Table B.1
QUADRUPED = GaitParameters(1.0, -0.15, 0.0, 0.50, 0.3, 0.09)  # [Shah2013], Table B.2
HEXAPOD = GaitParameters(0.5, -0.20, 0.0, 0.55, 0.4, 0.08)  # [Shah2013], Table B.2
