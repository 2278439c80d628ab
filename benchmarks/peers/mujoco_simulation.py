"""MuJoCo's own stepping, without its contacts; on the ground the same law, as a passive force.

The passive force is asked for in every stage of a step, so that the method keeps its order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import kinetree as kt
from benchmarks.contact_law import Law, contact_law
from benchmarks.coordinates import peer_states
from benchmarks.peers.mujoco import model_of
from benchmarks.simulation_cases import Case, Runner
from kinetree.algebra.arrays import Array

mujoco: Any = import_module("mujoco")
rollout: Any = import_module("mujoco.rollout")
NAME = "mujoco"
FEWEST_ON_GROUND = 3000  # steps per second: with fewer the ground's dampers make every method unstable
METHODS = {"RK4": "mjINT_RK4", "Euler": "mjINT_EULER"}


def runners(case: Case, mechanism: kt.Mechanism, counts: Collection[int]) -> dict[str, list[Runner]]:
    """For each method, one runner for each number of steps per second; the mechanism is padded already."""
    start = peer_states(
        mechanism, case.q0[None], np.zeros((1, len(case.q0))), scalar_first=True, linear_in_body=False
    ).q[0]
    final = partial(_kinetree_positions, mechanism)
    found: dict[str, list[Runner]] = {}
    for method, constant in METHODS.items():
        found[method] = []
        for per_second in counts:
            if case.ground is not None and per_second < FEWEST_ON_GROUND:
                continue
            steps = round(per_second * case.duration)
            run = _stepping(case, mechanism, getattr(mujoco.mjtIntegrator, constant), steps, start)
            found[method].append(Runner(NAME, method, 1.0 / per_second, run, final))
    return found


def _stepping(
    case: Case, mechanism: kt.Mechanism, integrator: Any, steps: int, start: Array
) -> Callable[[], Array]:
    """All steps in one call, looped over in C."""
    model = model_of(mechanism, sites=case.ground is not None)
    model.opt.timestep, model.opt.integrator = case.duration / steps, integrator
    data = mujoco.MjData(model)
    push = None if case.ground is None else ground_force(model, contact_law(mechanism, case.ground))

    def run() -> Array:
        data.time, data.qpos[:], data.qvel[:] = 0.0, start, 0.0
        mujoco.set_mjcb_passive(push)
        try:
            mujoco.mj_step(model, data, nstep=steps)
        finally:
            mujoco.set_mjcb_passive(None)
        return np.array(data.qpos)

    return run


def ground_force(model: Any, law: Law) -> Callable[[Any, Any], None]:
    """The callback that adds what the ground does to the passive forces; the points are sites."""
    site = int(mujoco.mjtObj.mjOBJ_SITE)
    bodies, velocity, no_moment = model.site_bodyid.tolist(), np.zeros(6), np.zeros(3)

    def push(model: Any, data: Any) -> None:
        places = data.site_xpos
        for k, body in enumerate(bodies):
            place = places[k]
            if place[2] < 0.0:
                mujoco.mj_objectVelocity(model, data, site, k, velocity, 0)
                force = law(place[2], *velocity[3:])
                if force is not None:
                    mujoco.mj_applyFT(model, data, np.array(force), no_moment, place, body, data.qfrc_passive)

    return push


def _kinetree_positions(mechanism: kt.Mechanism, qpos: Array) -> Array:
    """Positions in Kinetree's coordinates: quaternions become Euler angles."""
    found, k = [], 0
    for link in mechanism.links:
        joint = link.joint
        if joint.kind == "free":
            assert np.array_equal(joint.axes[:3], np.eye(3))
            assert joint.sequence is not None
            turn = Rotation.from_quat(np.roll(qpos[k + 3 : k + 7], -1))
            found += [qpos[k : k + 3], turn.as_euler(joint.sequence)]
            k += 7
        else:
            found.append(qpos[k : k + joint.n_dof])
            k += joint.n_dof
    return np.concatenate(found)


def rollouts(mechanism: kt.Mechanism, q0: Array, duration: float, steps: int) -> Callable[[], Array]:
    """The final positions (m, n) of motions from rest, with RK4, looped over in C on this thread."""
    model = model_of(mechanism)
    model.opt.timestep, model.opt.integrator = duration / steps, mujoco.mjtIntegrator.mjINT_RK4
    data, n = mujoco.MjData(model), len(q0[0])
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    initial = np.zeros((len(q0), size))
    initial[:, 1 : 1 + n] = q0  # the first number is the time
    states = np.zeros((len(q0), steps, size))
    run = rollout.Rollout(nthread=0).rollout

    def call() -> Array:
        run(model, data, initial, nstep=steps, state=states)
        return np.array(states[:, -1, 1 : 1 + n])

    return call
