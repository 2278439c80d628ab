"""Pinocchio's articulated-body algorithm inside scipy's solve_ivp.

On the ground it has one joint per degree of freedom, so that its state is Kinetree's and no quaternions have
to be turned; its forces are found by the same law, point by point, in plain Python.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.contact_law import contact_law
from benchmarks.peers.pinocchio import model_of_axes, model_of_links
from benchmarks.simulation_cases import Case, Runner
from kinetree.algebra.arrays import Array

pin: Any = import_module("pinocchio")
NAME = "pinocchio"
METHODS = ("DOP853", "LSODA")
STIFF_METHODS = ("DOP853", "LSODA", "Radau")


def runners(case: Case, tolerances: Collection[float]) -> dict[str, list[Runner]]:
    """For each method, one runner for each tolerance."""
    rates = rates_of(case)
    start, n = np.concatenate([case.q0, np.zeros_like(case.q0)]), len(case.q0)

    def final(answer: Any) -> Array:
        return np.full(n, np.nan) if answer is None else np.asarray(answer.y[:n, -1])

    def run(method: str, tolerance: float) -> object:
        try:
            return solve_ivp(rates, (0.0, case.duration), start, method, rtol=tolerance, atol=tolerance)
        except ValueError:  # its Newton iteration went where numbers end
            return None

    return {
        method: [Runner(NAME, method, x, partial(run, method, x), final) for x in tolerances]
        for method in (METHODS if case.ground is None else STIFF_METHODS)
    }


def rates_of(case: Case) -> Callable[[float, Array], Array]:
    """The right-hand side y' = f(t, y) for y = (q, v)."""
    return _rates(case) if case.ground is None else _rates_on_ground(case)


def _rates(case: Case) -> Callable[[float, Array], Array]:
    model = model_of_links(case.mechanism)
    data, n = model.createData(), model.nv
    if model.nq != n:
        raise ValueError("positions and velocities must be the same in number")
    tau, aba, joined = np.zeros(n), pin.aba, np.concatenate

    def rates(_: float, y: Array) -> Array:
        v = y[n:]
        return joined((v, aba(model, data, y[:n], v, tau)))

    return rates


def _rates_on_ground(case: Case) -> Callable[[float, Array], Array]:
    assert case.ground is not None
    tree = case.mechanism.tree
    model, law = model_of_axes(tree), contact_law(case.mechanism, case.ground)
    points = [(joint + 1, pin.SE3(np.eye(3), r)) for joint, r in _points(case)]
    n = model.nv
    tau, joined, world = np.zeros(n), np.concatenate, pin.LOCAL_WORLD_ALIGNED
    forces = pin.StdVec_Force()
    forces.extend([pin.Force.Zero() for _ in range(model.njoints)])
    zero, force, nowhere = pin.Force.Zero(), pin.Force, np.zeros(3)
    pushed = sorted({joint for joint, _ in points})
    frames = [
        model.addFrame(pin.Frame(f"point{k}", joint, place, pin.FrameType.OP_FRAME))
        for k, (joint, place) in enumerate(points)
    ]
    data = model.createData()
    places, bodies = data.oMf, data.oMi

    def rates(_: float, y: Array) -> Array:
        q, v = y[:n], y[n:]
        pin.forwardKinematics(model, data, q, v)
        for joint in pushed:
            forces[joint] = zero
        for (joint, place), frame in zip(points, frames, strict=True):
            pin.updateFramePlacement(model, data, frame)
            height = places[frame].translation[2]
            push = None
            if height < 0.0:
                push = law(height, *pin.getFrameVelocity(model, data, frame, world).linear)
            if push is not None:
                local = bodies[joint].rotation.T @ np.array(push)
                forces[joint] += place.act(force(local, nowhere))
        return joined((v, pin.aba(model, data, q, v, tau, forces)))

    return rates


def _points(case: Case) -> list[tuple[int, Array]]:
    """Axis and place in its frame of every contact point; a body may have several."""
    tree, found = case.mechanism.tree, []
    for point in case.mechanism.contact_points:
        k = tree.body_names.index(point.body)
        r = tree.body_rotation[k] @ np.asarray(point.position) + tree.body_position[k]
        found.append((int(tree.body_axis[k]), r))
    return found
