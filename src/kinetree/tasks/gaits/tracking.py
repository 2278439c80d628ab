"""Predicted motions followed on the ground: from their first state, by a law for the joints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.analysis.kinematics import forward_kinematics
from kinetree.analysis.legged_stance import AXES, LeggedStance
from kinetree.result.result import Result
from kinetree.simulation.ground import Ground
from kinetree.simulation.simulate import simulate
from kinetree.trajectories.base import Trajectory
from kinetree.verdicts.margins import FALLEN_HEIGHT, FALLEN_TILT, Verdicts

TILTS = 201  # samples of a path


def upright_until(who: LeggedStance, run: Result, path: Trajectory) -> int:
    """The last sample of a simulation before the trunk is down or tilted from what a path asks of it."""
    t, q = np.asarray(run.time.values), np.asarray(run.q.values)
    asked = np.stack([path.at(min(float(x), path.duration)).q for x in t])
    up = who.mechanism.joint_index(who.slides(who.up))
    turns = [who.mechanism.joint_index(x) for x in who.turns]
    tilt = np.abs(q[:, turns] - asked[:, turns]).max(axis=1) if turns else np.zeros(len(t))
    fell = np.flatnonzero((q[:, up] < FALLEN_HEIGHT * asked[:, up]) | (tilt > FALLEN_TILT))
    return int(fell[0]) if len(fell) else len(t) - 1


def largest_tilt(who: LeggedStance, path: Trajectory) -> float:
    """By how much the trunk of a path tilts at most from where it starts (rad)."""
    q = np.stack([path.at(float(t)).q for t in np.linspace(0.0, path.duration, TILTS)])
    R = forward_kinematics(who.mechanism, q)[who.mechanism.links[0].body.name][0]
    up = np.eye(3)[AXES.index(who.up)]
    along = np.clip((R @ (R[0].T @ up)) @ up, -1.0, 1.0)
    return float(np.arccos(along).max())


def tracked(
    who: LeggedStance, path: Trajectory, law: Any, ground: Ground | None, options: dict[str, Any]
) -> Result:
    """A simulation on the ground from the start of a path, under a law that follows it.

    A trunk has fallen if it tilts further than one may beyond what the path asks of it.
    """
    start = path.at(0.0)
    soil = Ground.of(who.mechanism) if ground is None else ground
    usual = Verdicts()
    judged = replace(usual, tilt=float(usual.tilt or 0.0) + largest_tilt(who, path))
    given = {"progress": False, "verdicts": judged, **options}
    return simulate(who.mechanism, start.q, start.qd, path.duration, controller=law, ground=soil, **given)
