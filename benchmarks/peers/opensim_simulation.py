"""OpenSim's Manager with Simbody's integrators that control their error; states are not recorded."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers.opensim import NAME, model_of, order_of, osim
from benchmarks.simulation_cases import Case, Runner
from kinetree.algebra.arrays import Array

METHODS = {"RungeKuttaMerson": "RungeKuttaMerson", "RungeKuttaFehlberg": "RungeKuttaFeldberg"}


def runners(case: Case, tolerances: Collection[float]) -> dict[str, list[Runner]]:
    """For each method, one runner for each accuracy; without a ground, whose law it has not."""
    if case.ground is not None:
        return {}
    return {
        method: [Runner(NAME, method, x, *_run(case, name, x)) for x in tolerances]
        for method, name in METHODS.items()
    }


def _run(case: Case, method: str, accuracy: float) -> tuple[Callable[[], Any], Callable[[Any], Array]]:
    n = len(case.q0)
    model = model_of(case.mechanism.tree)
    state = model.initSystem()
    place = order_of(model, state, n)
    start = np.zeros(n)
    start[place] = case.q0
    vectors = osim.Vector.createFromMat(start), osim.Vector(n, 0.0)
    kind = getattr(osim.Manager, f"IntegratorMethod_{method}")
    call = partial(_integrate, model, state, kind, accuracy, vectors, case.duration)
    return call, lambda q: np.asarray(q[place])


def _integrate(
    model: Any, state: Any, kind: int, accuracy: float, start: tuple[Any, Any], duration: float
) -> Array:
    """A manager serves one run: it cannot go back in time."""
    state.setTime(0.0)
    state.setQ(start[0])
    state.setU(start[1])
    manager = osim.Manager(model)
    manager.setWriteToStorage(False)
    manager.setPerformAnalyses(False)
    manager.setIntegratorMethod(kind)
    manager.setIntegratorAccuracy(accuracy)
    manager.initialize(state)
    try:
        return np.asarray(manager.integrate(duration).getQ().to_numpy()).copy()
    except RuntimeError:  # so tight that no step is short enough
        return np.full(state.getNQ(), np.nan)
