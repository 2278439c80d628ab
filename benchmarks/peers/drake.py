"""Drake, called from Python, with the one-DOF joints of the mechanism's URDF."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.states import States, repeated
from benchmarks.timing import Contestant
from kinetree.algebra.arrays import Array
from kinetree.formats.urdf_writer import urdf_text

plants: Any = import_module("pydrake.multibody.plant")
parsing: Any = import_module("pydrake.multibody.parsing")
elements: Any = import_module("pydrake.multibody.tree")
NAME = "drake"
INPUTS = {
    "inverse dynamics": ("q", "qd", "qdd"),
    "forward dynamics": ("q", "qd", "tau"),
    "mass matrix": ("q",),
}


class Drake:
    """A plant in continuous time and its context."""

    name = NAME

    def __init__(self, mechanism: kt.Mechanism, states: States) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # URDF holds no contact points; none are needed
            text = urdf_text(mechanism)
        self.plant = plants.MultibodyPlant(time_step=0.0)
        parsing.Parser(self.plant).AddModelsFromString(text, "urdf")
        self.plant.mutable_gravity_field().set_gravity_vector(np.array(mechanism.gravity))
        self.plant.Finalize()
        self.context = self.plant.CreateDefaultContext()
        self._restore_inertias(mechanism)
        self.loads = elements.MultibodyForces(self.plant)
        joints = [self.plant.GetJointByName(name) for name in mechanism.joint_names]
        self.place = np.array([joint.velocity_start() for joint in joints])
        self.states = {name: self._ordered(getattr(states, name)) for name in ("q", "qd", "qdd", "tau")}

    def _restore_inertias(self, mechanism: kt.Mechanism) -> None:
        """Give bodies the inertias that the parser replaced by those of spheres, as no body can have them."""
        for link in mechanism.links:
            inertia = link.body.inertia
            if not (inertia.allow_unphysical and inertia.mass):
                continue
            center = np.asarray(inertia.center)
            about_origin = np.asarray(inertia.moment) / inertia.mass
            about_origin = about_origin + (center @ center) * np.eye(3) - np.outer(center, center)
            xx, yy, zz = np.diag(about_origin)
            xy, xz, yz = about_origin[0, 1], about_origin[0, 2], about_origin[1, 2]
            unit = elements.UnitInertia(xx, yy, zz, xy, xz, yz)
            exact = elements.SpatialInertia(inertia.mass, center, unit, skip_validity_check=True)
            body = self.plant.GetBodyByName(link.body.name)
            body.SetSpatialInertiaInBodyFrame(self.context, exact)

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
            if quantity == "mass matrix":
                found[quantity] = out[:, self.place][..., self.place]
        return found

    def contestants(self, quantity: str, batch: int | None) -> list[Contestant]:
        """A loop over one state (batch None) or over a batch."""
        if quantity not in INPUTS:
            return []
        count = batch or 1
        rows = [repeated(self.states[name], count) for name in INPUTS[quantity]]
        return [Contestant(self.name, self._loop(quantity, rows, self._empty(quantity, count)), count)]

    def _empty(self, quantity: str, count: int) -> Array:
        n = len(self.place)
        return np.zeros((count, n, n) if quantity == "mass matrix" else (count, n))

    def _loop(self, quantity: str, rows: list[Array], out: Array) -> Callable[[], None]:
        plant, context, loads = self.plant, self.context, self.loads
        applied = plant.get_applied_generalized_force_input_port()

        def inverse() -> None:
            for k, (q, v, a) in enumerate(zip(*rows, strict=True)):
                plant.SetPositions(context, q)
                plant.SetVelocities(context, v)
                plant.CalcForceElementsContribution(context, loads)
                out[k] = plant.CalcInverseDynamics(context, a, loads)

        def forward() -> None:
            n = len(self.place)
            for k, (q, v, tau) in enumerate(zip(*rows, strict=True)):
                plant.SetPositions(context, q)
                plant.SetVelocities(context, v)
                applied.FixValue(context, tau)
                out[k] = plant.EvalTimeDerivatives(context).CopyToVector()[-n:]

        def mass_matrix() -> None:
            for k, q in enumerate(rows[0]):
                plant.SetPositions(context, q)
                out[k] = plant.CalcMassMatrix(context)

        loops = {"inverse dynamics": inverse, "forward dynamics": forward, "mass matrix": mass_matrix}
        return loops[quantity]
