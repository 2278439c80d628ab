"""What drives the joints of a `Stepper`: servos that follow a motion, controllers, Python functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.errors import InputError, shown
from kinetree.kernels.torque_law import NO_MODEL, LawParts
from kinetree.model.mechanism import Mechanism

NEEDED = ("torque", "integrates", "runs_compiled", "law_parts", "period")  # of a controller
WHOLE = 1e-6  # relative difference of a period from a multiple of the step


@dataclass(frozen=True, eq=False)
class StepLaw:
    """Gains that act at the end of a step and the motion that they follow, or a function of (t, q, qd)."""

    servo: tuple[Array, Array] | None = None
    motion: PiecewisePolynomial | None = None
    torque: Callable[..., Any] = lambda t, q, qd: 0.0
    acts: bool = False
    every: int = 1  # steps between calls

    @classmethod
    def read(cls, mechanism: Mechanism, controller: Any, dt: float) -> StepLaw:
        """The law of a controller of the library, or of a Python function."""
        if controller is None:
            return cls()
        if callable(controller):
            return cls(torque=controller, acts=True)
        if not all(hasattr(controller, name) for name in NEEDED):
            raise InputError(
                "controller must be one of kinetree.control without a memory of its own, or a function of "
                f"(t, q, qd), got {shown(controller)}"
            )
        if controller.integrates(mechanism):
            raise InputError(f"Stepper does not support integral gains, {type(controller).__name__} has some")
        parts = controller.law_parts(mechanism) if controller.runs_compiled(mechanism) else None
        if parts is not None and _is_servo(parts):
            kp, kd = np.where(parts.actuated, parts.kp, 0.0), np.where(parts.actuated, parts.kd, 0.0)
            return cls((kp, kd), parts.desired, acts=True)
        every = _steps(controller.period, dt)
        return cls(torque=lambda t, q, qd: controller.torque(mechanism, t, q, qd), acts=True, every=every)

    def followed(self, t: Array) -> tuple[Array, Array]:
        """Positions (k, n_dof) to reach at times (k,), and the torques that their speed adds."""
        assert self.servo is not None and self.motion is not None
        return self.motion.at(t), self.servo[1] * self.motion.at(t, derivative=1)


def _is_servo(parts: LawParts) -> bool:
    """Whether a law is proportional and derivative gains along a motion, and nothing else."""
    return (
        parts.mode == NO_MODEL
        and parts.table is None
        and parts.desired is not None
        and parts.drive is None
        and parts.period == 0.0
        and not np.isfinite(parts.limit).any()
    )


def _steps(period: float | None, dt: float) -> int:
    """Steps in the period of a sampled controller."""
    if period is None:
        return 1
    count = max(1, round(period / dt))
    if abs(count * dt - period) > WHOLE * period:
        raise InputError(f"the controller's period must be a multiple of dt = {dt:g} s, got {period:g} s")
    return count
