"""Predicted motions followed on the ground: from their first state, by a law for the joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.result.result import Result
from kinetree.simulation.ground import Ground
from kinetree.simulation.simulate import simulate
from kinetree.studies.gaits.walker import Legged
from kinetree.trajectories.base import Trajectory

FALLEN = 0.7  # of the height of the trunk at the start
TILTED = 0.8  # rad, of the trunk, from what a path asks for


def upright_until(who: Legged, run: Result, path: Trajectory) -> int:
    """The last sample of a simulation before the trunk is down or tilted from what a path asks of it."""
    t, q = np.asarray(run.time.values), np.asarray(run.q.values)
    asked = np.stack([path.at(min(float(x), path.duration)).q for x in t])
    up = who.mechanism.joint_index(who.slides(who.up))
    turns = [who.mechanism.joint_index(x) for x in who.turns]
    tilt = np.abs(q[:, turns] - asked[:, turns]).max(axis=1) if turns else np.zeros(len(t))
    fell = np.flatnonzero((q[:, up] < FALLEN * asked[:, up]) | (tilt > TILTED))
    return int(fell[0]) if len(fell) else len(t) - 1


def tracked(
    who: Legged, path: Trajectory, law: Any, ground: Ground | None, options: dict[str, Any]
) -> Result:
    """A simulation on the ground from the start of a path, under a law that follows it."""
    start = path.at(0.0)
    soil = Ground.of(who.mechanism) if ground is None else ground
    given = {"progress": False, **options}
    return simulate(who.mechanism, start.q, start.qd, path.duration, controller=law, ground=soil, **given)
