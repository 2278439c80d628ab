"""Drake's own simulator with its integrators that control their error."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.peers.drake import NAME, plant_of
from benchmarks.simulation_cases import Case, Runner
from kinetree.algebra.arrays import Array

analysis: Any = import_module("pydrake.systems.analysis")
METHODS = ("runge_kutta3", "runge_kutta5")
LONGEST = 0.1  # s, of a step


def runners(case: Case, tolerances: Collection[float]) -> dict[str, list[Runner]]:
    """For each method, one runner for each accuracy; without a ground, whose law it has not."""
    if case.ground is not None:
        return {}
    return {
        method: [Runner(NAME, method, x, *_run(case, method, x)) for x in tolerances] for method in METHODS
    }


def _run(case: Case, method: str, accuracy: float) -> tuple[Callable[[], Any], Callable[[Any], Array]]:
    plant = plant_of(case.mechanism.tree)
    n = len(case.q0)
    joints = [plant.GetJointByName(name) for name in case.mechanism.tree.axis_names]
    place = np.array([joint.position_start() for joint in joints])
    start = np.zeros(2 * n)
    start[place] = case.q0
    simulator = analysis.Simulator(plant)
    integrator = analysis.ResetIntegratorFromFlags(simulator, method, LONGEST)
    integrator.set_target_accuracy(accuracy)
    context = simulator.get_mutable_context()
    return partial(_advance, simulator, plant, context, start, case.duration), lambda state: state[place]


def _advance(simulator: Any, plant: Any, context: Any, start: Array, duration: float) -> Array:
    context.SetTime(0.0)
    plant.SetPositionsAndVelocities(context, start)
    simulator.Initialize()
    try:
        simulator.AdvanceTo(duration)
    except RuntimeError:  # so tight that no step is short enough
        return np.full(len(start) // 2, np.nan)
    return np.asarray(plant.GetPositions(context)).copy()
