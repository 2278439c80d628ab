"""Predicted motions followed on the ground: computed torque at the joints, nothing at the trunk."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.control.model_based import ComputedTorque
from kinetree.result.result import Result
from kinetree.simulation.ground import Ground
from kinetree.simulation.simulate import simulate
from kinetree.studies.gaits.walker import Legged
from kinetree.trajectories.base import Trajectory


def tracked(
    who: Legged, path: Trajectory, kp: float, kd: float | None, ground: Ground | None, options: dict[str, Any]
) -> Result:
    """A simulation on the ground from the start of a path, whose joints a law follows."""
    start = path.at(0.0)
    law = ComputedTorque(path, kp, 2.0 * float(np.sqrt(kp)) if kd is None else kd)
    soil = Ground.of(who.mechanism) if ground is None else ground
    given = {"rtol": 1e-7, "progress": False, **options}
    return simulate(who.mechanism, start.q, start.qd, path.duration, controller=law, ground=soil, **given)
