"""The recursions of a mechanism module by module at one state, compared with the compiled algorithms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.inverse import inverse_dynamics
from kinetree.derivations.denoc.steps import JOINTS, MATRICES, VECTORS, DenocSteps, denoc_steps
from kinetree.model.mechanism import Mechanism
from kinetree.state import State, coordinates

ALLOWED = 1e-9  # of the largest torque, and of the largest acceleration
INWARD = ("t", "t_dot", "w_star", "w_tilde", "tau", "phi", "eta_tilde", "phi_hat", "phi_tilde", "eta")
OUTWARD = ("mu_tilde", "qdd", "mu")


@dataclass(frozen=True, eq=False)
class ModuleSteps:
    """The steps at one state, and how far torques and accelerations are from the kernels', relatively."""

    mechanism: Mechanism
    state: State
    steps: DenocSteps
    difference: float

    @property
    def passed(self) -> bool:
        """Whether both agree."""
        return bool(self.difference <= ALLOWED)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each quantity of each link or joint: module, quantity, of what, its numbers, meaning."""
        found: list[dict[str, Any]] = []
        for module in self.steps.modules:
            for name in (*INWARD, *OUTWARD, "M_tilde", "M_hat"):
                found += self._quantity(module, name)
        return found

    def _quantity(self, module: int, name: str) -> list[dict[str, Any]]:
        values = self.steps.of(name, module)
        if name in JOINTS:
            parts = zip(self.steps.joints(module), values[:, None], strict=True)
        elif name in VECTORS:
            parts = zip(self.steps.links(module), values.reshape(-1, 6), strict=True)
        else:  # what the first link feels: the first block of rows
            parts = zip(
                (f"{self.steps.links(module)[0]} {k}" for k in range(1, 7)), values[:6, :6], strict=True
            )
        meaning = (VECTORS | JOINTS | MATRICES)[name]
        return [
            {"module": module, "quantity": name, "of": of, "values": _plain(part), "meaning": meaning}
            for of, part in parts
        ]


def _plain(values: Array) -> list[float]:
    return [float(x) for x in values]


def module_steps(mechanism: Mechanism, state: State) -> ModuleSteps:
    """Both recursions at a state.

    >>> import kinetree as kt
    >>> state = kt.random_state(kt.zoo.gripper(), np.random.default_rng(0))
    >>> found = module_steps(kt.zoo.gripper(), state)
    >>> found.passed, found.rows()[0]["quantity"], len(found.rows()[0]["values"])
    (True, 't', 6)
    """
    given = {name: coordinates(mechanism, getattr(state, name), name) for name in ("q", "qd", "qdd")}
    state = State(**given)
    steps = denoc_steps(mechanism, state.q, state.qd, state.qdd)
    axes = list(steps.matrices.axes)
    worst = 0.0
    for name, wanted in (
        ("tau", inverse_dynamics(mechanism, state.q, state.qd, state.qdd)),
        ("qdd", state.qdd),
    ):
        own = np.concatenate([steps.of(name, i) for i in steps.modules])
        scale = max(float(np.abs(wanted).max(initial=0.0)), 1e-300)
        worst = max(worst, float(np.abs(own - wanted[axes]).max(initial=0.0)) / scale)
    return ModuleSteps(mechanism, state, steps, worst)
