"""MuJoCo's stepping of mechanisms with closed loops, which are soft: as stiff as its steps allow."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.loop_cases import LoopCase
from benchmarks.peers.mujoco import spec_of
from benchmarks.simulation_cases import Runner
from kinetree.algebra.arrays import Array
from kinetree.dynamics.loops.structure import structure
from kinetree.dynamics.loops.system import loop_rows
from kinetree.model.body import WORLD

mujoco: Any = import_module("mujoco")
APART = 0.5  # m between two points on the axis of a hinge in space
IMPEDANCE = (0.9999, 0.9999, 0.001, 0.5, 2.0)


def runners(case: LoopCase, mechanism: kt.Mechanism, counts: Collection[int]) -> dict[str, list[Runner]]:
    """RK4 with one runner for each number of steps per second; the mechanism is padded already."""
    found = []
    for per_second in counts:
        steps = round(per_second * case.duration)
        if steps > 0:
            run = _stepping(case, mechanism, steps)
            found.append(Runner("mujoco", "RK4", 1.0 / per_second, run, lambda q: q))
    return {"RK4": found}


def _stepping(case: LoopCase, mechanism: kt.Mechanism, steps: int) -> Callable[[], Array]:
    """All steps in one call, looped over in C."""
    step = case.duration / steps
    model = model_of(mechanism, step)
    data = mujoco.MjData(model)

    def run() -> Array:
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = case.q0, case.rates
        mujoco.mj_step(model, data, nstep=steps)
        return np.array(data.qpos)

    return run


def model_of(mechanism: kt.Mechanism, step: float) -> Any:
    """The compiled model with a point that keeps each loop closed, two for a hinge in space."""
    spec = spec_of(mechanism)
    for name in ("CONSTRAINT", "EQUALITY"):
        spec.option.disableflags &= ~int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}"))
    is_planar = structure(mechanism).rank == 2 * len(loop_rows(mechanism).loops)
    for loop in mechanism.loops:
        two = loop.joint.kind == "revolute" and not is_planar
        for k, shift in enumerate((0.0, APART) if two else (0.0,)):
            along = shift * np.array(loop.joint.axes[0])
            places = [
                place.rotation @ along + place.position for place in (loop.placement_a, loop.placement_b)
            ]
            sites = []
            for side, body, place in zip("ab", (loop.body_a, loop.body_b), places, strict=True):
                sites.append(f"{loop.name}.{k}{side}")
                holder = spec.worldbody if body == WORLD else spec.body(body)
                holder.add_site(name=sites[-1], pos=place)
            tie = spec.add_equality(type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_SITE)
            tie.name1, tie.name2 = sites
            tie.solref = (2.0 * step, 1.0)
            tie.solimp = IMPEDANCE
    spec.option.timestep, spec.option.integrator = step, mujoco.mjtIntegrator.mjINT_RK4
    spec.option.tolerance, spec.option.iterations = 0.0, 30
    return spec.compile()
