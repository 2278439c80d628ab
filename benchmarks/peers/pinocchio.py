"""Pinocchio, called from Python: with its own joints of several degrees of freedom, or axis after axis."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.coordinates import PeerStates, peer_states
from benchmarks.states import States, repeated
from benchmarks.timing import Contestant
from kinetree.algebra.arrays import Array
from kinetree.model.body import WORLD
from kinetree.model.joint import Joint
from kinetree.model.tree import Tree

pin: Any = import_module("pinocchio")
NAME, NAME_ONE_AXIS = "pinocchio", "pinocchio 1-DOF"
NAME_PARALLEL = "pinocchio parallel"  # its own loop over a batch, in C++, on one thread
LARGEST = 256  # degrees of freedom: its workspace holds four arrays of n^3 numbers
ALIGNED = {(1, 0, 0): "X", (0, 1, 0): "Y", (0, 0, 1): "Z"}


def model_of_links(mechanism: kt.Mechanism) -> Any:
    """The mechanism with Pinocchio's own free, spherical and universal joints."""
    model = pin.Model()
    model.gravity = pin.Motion(np.array(mechanism.gravity), np.zeros(3))
    carried = {WORLD: (0, pin.SE3.Identity())}  # joint and place of each body
    for link in mechanism.links:
        parent, base = carried[link.parent]
        place = base * pin.SE3(np.array(link.placement.rotation), np.array(link.placement.position))
        if link.joint.n_dof:
            parent = model.addJoint(parent, _joint(link.joint), place, link.joint.name)
            place = pin.SE3.Identity()
        carried[link.body.name] = parent, place
        inertia = link.body.inertia
        matter = pin.Inertia(inertia.mass, np.array(inertia.center), np.array(inertia.moment))
        model.appendBodyToJoint(parent, matter, place)
    return model


def _joint(joint: Joint) -> Any:
    """Pinocchio's joint of the same kind."""
    if joint.kind == "free":
        return pin.JointModelFreeFlyer()
    if joint.kind == "spherical":
        return pin.JointModelSpherical()
    if joint.kind == "universal":
        return pin.JointModelUniversal(np.array(joint.axes[0]), np.array(joint.axes[1]))
    if joint.kind not in ("revolute", "prismatic"):
        raise ValueError(f"joint '{joint.name}': no measurement has {joint.kind} joints")
    letter = ALIGNED.get(tuple(joint.axes[0]))
    kind = joint.kind.capitalize()
    if letter is None:
        return getattr(pin, f"JointModel{kind}Unaligned")(np.array(joint.axes[0]))
    return getattr(pin, f"JointModel{kind[0]}{letter}")()


def model_of_axes(tree: Tree) -> Any:
    """The same mechanism as Kinetree's compiled tree: one joint about or along z per axis."""
    model = pin.Model()
    model.gravity = pin.Motion(np.array(tree.gravity), np.zeros(3))
    for i in range(tree.n):
        kind = pin.JointModelRZ() if tree.turns[i] else pin.JointModelPZ()
        place = pin.SE3(np.array(tree.rotation[i]), np.array(tree.position[i]))
        joint = model.addJoint(int(tree.parent[i]) + 1, kind, place, tree.axis_names[i])
        model.appendBodyToJoint(joint, lumped(tree, i), pin.SE3.Identity())
    return model


def lumped(tree: Tree, i: int) -> Any:
    """Inertia about the center of mass from the moments about the axis frame's origin."""
    mass, first, S = tree.mass[i], tree.first_moment[i], tree.second_moment[i]
    center = first / mass if mass > 0 else np.zeros(3)
    central = S - mass * np.outer(center, center)
    return pin.Inertia(mass, center, np.trace(central) * np.eye(3) - central)


class Pinocchio:
    """One model of a mechanism with states of its own."""

    def __init__(self, mechanism: kt.Mechanism, states: States, *, one_axis: bool = False) -> None:
        self.name = NAME_ONE_AXIS if one_axis else NAME
        if mechanism.n_dof > LARGEST:
            size = 4 * 8 * mechanism.n_dof**3 / 1e9
            raise ValueError(f"its workspace would take {size:.1f} GB")
        self.one_axis, self.mechanism, self.states = one_axis, mechanism, states
        if one_axis:
            n = mechanism.n_dof
            eye, zero = np.tile(np.eye(n), (len(states), 1, 1)), np.zeros((len(states), n))
            self.model, self.map = model_of_axes(mechanism.tree), PeerStates(states.q, eye, zero)
        else:
            self.model = model_of_links(mechanism)
            self.map = peer_states(mechanism, states.q, states.qd, scalar_first=False, linear_in_body=True)
        self.data = self.model.createData()
        self.q, self.v = self.map.q, self.map.rates(states.qd)
        self.a, self.tau = self.map.accelerations(states.qdd), self.map.forces(states.tau)

    def answers(self, quantities: Collection[str]) -> dict[str, Array]:
        """Its answers for all states, in Kinetree's coordinates."""
        found = self._values(quantities)
        if self.one_axis and MATRICES[0] in quantities:
            found |= self._gradients()
        return found

    def _values(self, quantities: Collection[str]) -> dict[str, Array]:
        model, data, upper = self.model, self.data, np.triu_indices(self.model.nv, 1)
        tau, acceleration = np.zeros_like(self.v), np.zeros_like(self.v)
        with_matrix = "mass matrix" in quantities
        M = np.zeros((len(tau) if with_matrix else 0, self.model.nv, self.model.nv))
        for k in range(len(tau)):
            tau[k] = pin.rnea(model, data, self.q[k], self.v[k], self.a[k])
            acceleration[k] = pin.aba(model, data, self.q[k], self.v[k], self.tau[k])
            if with_matrix:
                M[k] = pin.crba(model, data, self.q[k])
                M[k].T[upper] = M[k][upper]
        found = {
            "inverse dynamics": self.map.torques(tau),
            "forward dynamics": self.map.accelerations_of(acceleration),
        }
        return found | ({"mass matrix": self.map.mass_matrix(M)} if with_matrix else {})

    def _gradients(self) -> dict[str, Array]:
        """Derivatives; only in coordinates that are Kinetree's own can they be compared as they are."""
        inverse, forward = [], []
        for q, v, a, tau in zip(self.q, self.v, self.a, self.tau, strict=True):
            dq, dv, M = pin.computeRNEADerivatives(self.model, self.data, q, v, a)
            inverse.append([dq.copy(), dv.copy(), np.triu(M) + np.triu(M, 1).T])
            dq, dv, inverse_M = pin.computeABADerivatives(self.model, self.data, q, v, tau)
            inverse_M = np.triu(inverse_M) + np.triu(inverse_M, 1).T
            forward.append([dq.copy(), dv.copy(), inverse_M])
        return {
            "inverse dynamics gradients": np.moveaxis(np.array(inverse), 1, 0),
            "forward dynamics gradients": np.moveaxis(np.array(forward), 1, 0),
        }

    def contestants(self, quantity: str, batch: int | None) -> list[Contestant]:
        """The calls that answer a quantity for one state (batch None) or for a batch."""
        if quantity not in FUNCTIONS:
            return []
        function, arguments = FUNCTIONS[quantity]
        inputs = [getattr(self, name) for name in arguments]
        if batch is None:
            call = partial(function, self.model, self.data, *(x[0].copy() for x in inputs))
            return [Contestant(self.name, call)]
        rows = [repeated(x, batch) for x in inputs]
        result = [Contestant(self.name, self._loop(quantity, rows), batch)]
        in_parallel = PARALLEL.get(quantity)
        if in_parallel is not None and not self.one_axis:
            columns = [np.asfortranarray(x.T) for x in rows]
            pool = pin.ModelPool(self.model, 1)
            out = np.zeros((self.model.nv, batch), order="F")
            call = partial(in_parallel, 1, pool, *columns, out)
            result.append(Contestant(NAME_PARALLEL, call, batch))
        return result

    def _loop(self, quantity: str, rows: list[Array]) -> Callable[[], None]:
        """A Python loop over the states; the rows it reads and the arrays it writes are made beforehand."""
        function, model, data = FUNCTIONS[quantity][0], self.model, self.data
        n, inputs = model.nv, [list(x) for x in rows]
        if quantity in MATRICES:
            matrices = np.zeros((3, len(rows[0]), n, n))

            def three_matrices() -> None:
                for k, row in enumerate(zip(*inputs, strict=True)):
                    matrices[0, k], matrices[1, k], matrices[2, k] = function(model, data, *row)

            return three_matrices
        out = np.zeros((len(rows[0]), n, n) if quantity == "mass matrix" else (len(rows[0]), n))

        def one_array() -> None:
            for k, row in enumerate(zip(*inputs, strict=True)):
                out[k] = function(model, data, *row)

        return one_array


FUNCTIONS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "inverse dynamics": (pin.rnea, ("q", "v", "a")),
    "mass matrix": (pin.crba, ("q",)),
    "forward dynamics": (pin.aba, ("q", "v", "tau")),
    "inverse dynamics gradients": (pin.computeRNEADerivatives, ("q", "v", "a")),
    "forward dynamics gradients": (pin.computeABADerivatives, ("q", "v", "tau")),
}
MATRICES = ("inverse dynamics gradients", "forward dynamics gradients")
PARALLEL = {
    "inverse dynamics": getattr(pin, "rneaInParallel", None),
    "forward dynamics": getattr(pin, "abaInParallel", None),
}
