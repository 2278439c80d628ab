"""OpenSim, called from Python: a model of pins and sliders, one per axis, built through its API.

One state, solver and set of vectors serve all calls. Its Python calls take one state at a time: batches are
a loop in Python. It has no derivatives of dynamics in its Python interface: gradients are central differences
of inverse dynamics by q and v, and its mass matrix; they agree with exact ones to 5e-10 on the arm. Its wheel
brings a CasADi of its own, which cannot be in one process with that of CasADi's wheel.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import kinetree as kt
from benchmarks.states import States, repeated
from benchmarks.timing import Contestant
from kinetree.algebra.arrays import Array
from kinetree.model.tree import Tree


def _loaded() -> Any:
    """The library; what it does to the environment, which other processes inherit, is undone."""
    before = dict(os.environ)
    try:
        return import_module("opensim")
    finally:
        os.environ.clear()
        os.environ.update(before)


osim: Any = _loaded()
NAME = "opensim"
INPUTS = {
    "inverse dynamics": ("q", "qd", "qdd"),
    "forward dynamics": ("q", "qd", "tau"),
    "mass matrix": ("q",),
    "inverse dynamics gradients": ("q", "qd", "qdd"),
}
GRADIENTS = "inverse dynamics gradients"
LEAST_MASS, LEAST_MOMENT = 1e-10, 1e-12  # kg, kg m^2
STEP = 1e-6  # rad, m and per s: of central differences
SLOW_BATCH = 16  # states, of which gradients are asked at once
SLIDES = Rotation.from_euler("y", -90, degrees=True)  # a slider goes along x, an axis along z
Loop = Callable[[], None]


def model_of(tree: Tree) -> Any:
    """Kinetree's compiled tree, body by body: pins about z, sliders along x."""
    osim.Logger.setLevelString("Off")
    model = osim.Model()
    model.setName("tree")
    model.setGravity(osim.Vec3(*map(float, tree.gravity)))
    bodies: list[Any] = [model.getGround()]
    for i in range(tree.n):
        parent = bodies[int(tree.parent[i]) + 1]
        body = osim.Body(f"body{i}", *_mass(tree, i))
        own = Rotation.identity() if tree.turns[i] else SLIDES
        place = Rotation.from_matrix(np.array(tree.rotation[i])) * own
        kind = osim.PinJoint if tree.turns[i] else osim.SliderJoint
        joint = kind(
            f"joint{i}", parent, osim.Vec3(*map(float, tree.position[i])), _angles(place), body,
            osim.Vec3(0.0), _angles(own),
        )  # fmt: skip
        joint.updCoordinate().setName(f"axis{i}")
        model.addBody(body)
        model.addJoint(joint)
        bodies.append(body)
    model.finalizeConnections()
    return model


def _angles(rotation: Rotation) -> Any:
    """Angles about x, y and z of the body, as OpenSim places frames."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a gimbal lock leaves a choice, and any will do
        return osim.Vec3(*map(float, rotation.as_euler("XYZ")))


def _mass(tree: Tree, i: int) -> tuple[float, Any, Any]:
    """Mass, centre, and moments about the centre."""
    mass, first, S = float(tree.mass[i]), np.array(tree.first_moment[i]), np.array(tree.second_moment[i])
    if not mass:  # bodies between axes of one joint, which it refuses without any mass
        return LEAST_MASS, osim.Vec3(0.0), osim.Inertia(*(3 * [LEAST_MOMENT]))
    center = first / mass
    central = S - mass * np.outer(center, center)
    J = np.trace(central) * np.eye(3) - central
    inertia = osim.Inertia(J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
    return mass, osim.Vec3(*map(float, center)), inertia


def order_of(model: Any, state: Any, n: int) -> Array:
    """Where each of the axes is among the state's positions: each is given a value of its own."""
    marks = 1e-3 * np.arange(1, n + 1)
    for i, mark in enumerate(marks.tolist()):
        model.getCoordinateSet().get(f"axis{i}").setValue(state, mark, False)
    q = state.getQ().to_numpy()
    return np.array([int(np.abs(q - mark).argmin()) for mark in marks])


class OpenSim:
    """A model, its state, and a solver of inverse dynamics."""

    name = NAME

    def __init__(self, mechanism: kt.Mechanism, states: States) -> None:
        tree = mechanism.tree
        self.model = model_of(tree)
        self.state = self.model.initSystem()
        self.matter = self.model.getMatterSubsystem()
        self.solver = osim.InverseDynamicsSolver(self.model)
        self.place = order_of(self.model, self.state, tree.n)
        self.states = {name: self._ordered(getattr(states, name)) for name in ("q", "qd", "qdd", "tau")}

    def _ordered(self, rows: Array) -> Array:
        """Coordinates in OpenSim's order."""
        result = np.zeros_like(rows)
        result[:, self.place] = rows
        return result

    def answers(self, quantities: Collection[str]) -> dict[str, Array]:
        """Its answers for all states, in Kinetree's order; differences are checked apart."""
        found = {}
        for quantity in (INPUTS.keys() - {GRADIENTS}) & set(quantities):
            found[quantity] = self.answer(quantity)
        return found

    def answer(self, quantity: str) -> Array:
        """One of its quantities for all states, in Kinetree's order."""
        rows = [self.states[name] for name in INPUTS[quantity]]
        out = self._empty(quantity, len(rows[0]))
        self._loop(quantity, rows, out)()
        if quantity in ("mass matrix", GRADIENTS):
            return np.asarray(out[..., self.place, :][..., self.place])
        return np.asarray(out[..., self.place])

    def contestants(self, quantity: str, batch: int | None) -> list[Contestant]:
        """A loop over one state (batch None) or over a batch."""
        if quantity not in INPUTS or (quantity == GRADIENTS and (batch or 1) > SLOW_BATCH):
            return []
        count = batch or 1
        rows = [repeated(self.states[name], count) for name in INPUTS[quantity]]
        return [Contestant(self.name, self._loop(quantity, rows, self._empty(quantity, count)), count)]

    def _empty(self, quantity: str, count: int) -> Array:
        n = len(self.place)
        if quantity == GRADIENTS:
            return np.zeros((3, count, n, n))
        return np.zeros((count, n, n) if quantity == "mass matrix" else (count, n))

    def _loop(self, quantity: str, rows: list[Array], out: Array) -> Loop:
        model, state, matter, solver, n = self.model, self.state, self.matter, self.solver, len(self.place)
        vector = osim.Vector.createFromMat
        accelerations, bodies, matrix = osim.Vector(n, 0.0), osim.VectorOfSpatialVec(), osim.Matrix()

        def torques(q: Array, v: Array, a: Array) -> Array:
            state.setQ(vector(q))
            state.setU(vector(v))
            return np.asarray(solver.solve(state, vector(a)).to_numpy())

        def inverse() -> None:
            for k, (q, v, a) in enumerate(zip(*rows, strict=True)):
                out[k] = torques(q, v, a)

        def forward() -> None:
            for k, (q, v, tau) in enumerate(zip(*rows, strict=True)):
                state.setQ(vector(q))
                state.setU(vector(v))
                model.realizeDynamics(state)
                weights = model.getGravityBodyForces(state)
                matter.calcAccelerationIgnoringConstraints(state, vector(tau), weights, accelerations, bodies)
                out[k] = accelerations.to_numpy()

        def mass_matrix() -> None:
            for k, q in enumerate(rows[0]):
                state.setQ(vector(q))
                model.realizePosition(state)
                matter.calcM(state, matrix)
                out[k] = matrix.to_numpy()

        def gradients() -> None:
            eye = STEP * np.eye(n)
            for k, (q, v, a) in enumerate(zip(*rows, strict=True)):
                for j, step in enumerate(eye):
                    out[0, k, :, j] = (torques(q + step, v, a) - torques(q - step, v, a)) / (2.0 * STEP)
                    out[1, k, :, j] = (torques(q, v + step, a) - torques(q, v - step, a)) / (2.0 * STEP)
                state.setQ(vector(q))
                model.realizePosition(state)
                matter.calcM(state, matrix)
                out[2, k] = matrix.to_numpy()

        loops = {"inverse dynamics": inverse, "forward dynamics": forward, "mass matrix": mass_matrix}
        return loops.get(quantity, gradients)
