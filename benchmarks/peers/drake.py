"""Drake, called from Python: one joint about or along z per axis, so that its state is Kinetree's.

Contexts, forces and ports are made once and used again. Its Python calls take one state at a time, so batches
are a loop in Python; gradients are by its automatic differentiation (AutoDiffXd), seeded once per state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.states import States, repeated
from benchmarks.timing import Contestant
from kinetree.algebra.arrays import Array
from kinetree.model.tree import Tree

plants: Any = import_module("pydrake.multibody.plant")
elements: Any = import_module("pydrake.multibody.tree")
places: Any = import_module("pydrake.math")
duals: Any = import_module("pydrake.autodiffutils")
NAME = "drake"
INPUTS = {
    "inverse dynamics": ("q", "qd", "qdd"),
    "forward dynamics": ("q", "qd", "tau"),
    "mass matrix": ("q",),
    "inverse dynamics gradients": ("q", "qd", "qdd"),
    "forward dynamics gradients": ("q", "qd", "tau"),
}
MATRICES = ("inverse dynamics gradients", "forward dynamics gradients")
SLOW_BATCH = 16  # states: dual numbers of a humanoid take 40 ms each, whatever the batch
Loop = Callable[[], None]


def plant_of(tree: Tree) -> Any:
    """A plant in continuous time: Kinetree's compiled tree, body by body."""
    plant = plants.MultibodyPlant(time_step=0.0)
    plant.mutable_gravity_field().set_gravity_vector(np.array(tree.gravity))
    bodies = [plant.world_body()]
    for i in range(tree.n):
        parent = bodies[int(tree.parent[i]) + 1]
        body = plant.AddRigidBody(f"body{i}", _inertia(tree, i))
        place = places.RigidTransform(
            places.RotationMatrix(np.array(tree.rotation[i])), np.array(tree.position[i])
        )
        kind = elements.RevoluteJoint if tree.turns[i] else elements.PrismaticJoint
        frame = plant.AddFrame(elements.FixedOffsetFrame(f"place{i}", parent.body_frame(), place))
        plant.AddJoint(kind(tree.axis_names[i], frame, body.body_frame(), np.array([0.0, 0.0, 1.0])))
        bodies.append(body)
    plant.Finalize()
    return plant


def _inertia(tree: Tree, i: int) -> Any:
    """Mass, center and moments about the axis frame's origin, taken as they are."""
    mass, first, S = float(tree.mass[i]), np.array(tree.first_moment[i]), np.array(tree.second_moment[i])
    if not mass:
        return elements.SpatialInertia.Zero()
    G = (np.trace(S) * np.eye(3) - S) / mass
    unit = elements.UnitInertia(G[0, 0], G[1, 1], G[2, 2], G[0, 1], G[0, 2], G[1, 2])
    return elements.SpatialInertia(mass, first / mass, unit, skip_validity_check=True)


class Drake:
    """A plant, its twin for automatic differentiation, and their contexts."""

    name = NAME

    def __init__(self, mechanism: kt.Mechanism, states: States) -> None:
        tree = mechanism.tree
        self.plant = plant_of(tree)
        self.context = self.plant.CreateDefaultContext()
        self.loads = elements.MultibodyForces(self.plant)
        self.twin = self.plant.ToAutoDiffXd()
        self.twin_context = self.twin.CreateDefaultContext()
        self.twin_loads = elements.MultibodyForces_[duals.AutoDiffXd](self.twin)
        joints = [self.plant.GetJointByName(name) for name in tree.axis_names]
        self.place = np.array([joint.velocity_start() for joint in joints])
        self.states = {name: self._ordered(getattr(states, name)) for name in ("q", "qd", "qdd", "tau")}

    def _ordered(self, rows: Array) -> Array:
        """Coordinates in Drake's order."""
        result = np.zeros_like(rows)
        result[:, self.place] = rows
        return result

    def answers(self, quantities: Collection[str]) -> dict[str, Array]:
        """Its answers for all states, in Kinetree's order."""
        found = {}
        for quantity in INPUTS.keys() & set(quantities):
            rows = [self.states[name] for name in INPUTS[quantity]]
            out = self._empty(quantity, len(rows[0]))
            self._loop(quantity, rows, out)()
            found[quantity] = out[..., self.place]
            if quantity == "mass matrix" or quantity in MATRICES:
                found[quantity] = out[..., self.place, :][..., self.place]
        return found

    def contestants(self, quantity: str, batch: int | None) -> list[Contestant]:
        """A loop over one state (batch None) or over a batch."""
        if quantity not in INPUTS or (quantity in MATRICES and (batch or 1) > SLOW_BATCH):
            return []
        count = batch or 1
        rows = [repeated(self.states[name], count) for name in INPUTS[quantity]]
        return [Contestant(self.name, self._loop(quantity, rows, self._empty(quantity, count)), count)]

    def _empty(self, quantity: str, count: int) -> Array:
        n = len(self.place)
        if quantity in MATRICES:
            return np.zeros((3, count, n, n))
        return np.zeros((count, n, n) if quantity == "mass matrix" else (count, n))

    def _loop(self, quantity: str, rows: list[Array], out: Array) -> Loop:
        if quantity in MATRICES:
            return self._gradients(quantity, rows, out)
        plant, context, loads, n = self.plant, self.context, self.loads, len(self.place)
        applied = plant.get_applied_generalized_force_input_port()
        states = np.concatenate(rows[:2], axis=1) if len(rows) > 1 else rows[0]

        def inverse() -> None:
            for k, (state, a) in enumerate(zip(states, rows[2], strict=True)):
                plant.SetPositionsAndVelocities(context, state)
                plant.CalcForceElementsContribution(context, loads)
                out[k] = plant.CalcInverseDynamics(context, a, loads)

        def forward() -> None:
            for k, (state, tau) in enumerate(zip(states, rows[2], strict=True)):
                plant.SetPositionsAndVelocities(context, state)
                applied.FixValue(context, tau)
                out[k] = plant.EvalTimeDerivatives(context).CopyToVector()[n:]

        def mass_matrix() -> None:
            for k, q in enumerate(rows[0]):
                plant.SetPositions(context, q)
                out[k] = plant.CalcMassMatrix(context)

        return {"inverse dynamics": inverse, "forward dynamics": forward, "mass matrix": mass_matrix}[
            quantity
        ]

    def _gradients(self, quantity: str, rows: list[Array], out: Array) -> Loop:
        """Derivatives by q, by v, and by accelerations or torques, of one evaluation in dual numbers."""
        plant, context, loads, n = self.twin, self.twin_context, self.twin_loads, len(self.place)
        applied = plant.get_applied_generalized_force_input_port()
        inputs, gradient, seeded = (
            np.concatenate(rows, axis=1),
            duals.ExtractGradient,
            duals.InitializeAutoDiff,
        )

        def inverse() -> None:
            for k, row in enumerate(inputs):
                x = seeded(row)[:, 0]
                plant.SetPositionsAndVelocities(context, x[: 2 * n])
                plant.CalcForceElementsContribution(context, loads)
                slopes = gradient(plant.CalcInverseDynamics(context, x[2 * n :], loads))
                out[:, k] = slopes.reshape(n, 3, n).swapaxes(0, 1)

        def forward() -> None:
            for k, row in enumerate(inputs):
                x = seeded(row)[:, 0]
                plant.SetPositionsAndVelocities(context, x[: 2 * n])
                applied.FixValue(context, x[2 * n :])
                slopes = gradient(plant.EvalTimeDerivatives(context).CopyToVector()[n:])
                out[:, k] = slopes.reshape(n, 3, n).swapaxes(0, 1)

        return inverse if quantity.startswith("inverse") else forward
