"""The recursive Lagrangian formulation with 4x4 matrices ([Xiang2009], section 4; Hollerbach, 1980)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinetree.derivations.contract import Formulation, Load, Loads, step
from kinetree.derivations.elimination import solved
from kinetree.derivations.homogeneous import Numbers
from kinetree.derivations.lagrangian_loops import (
    closed_forward_dynamics,
    closed_inverse_dynamics,
    closed_inverse_dynamics_derivatives,
)
from kinetree.derivations.lagrangian_recursion import inverse_dynamics
from kinetree.derivations.lagrangian_sensitivity import inverse_dynamics_derivatives, mass_matrix
from kinetree.errors import InputError, unknown_name
from kinetree.model.body import WORLD
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS, Tree

FORMULATION = Formulation(
    name="lagrangian",
    title="Recursive Lagrangian with 4x4 matrices",
    source="[Xiang2009], section 4",
    cost="O(n); sensitivities and mass matrix O(n depth)",
    can=frozenset(
        {
            "inverse_dynamics",
            "mass_matrix",
            "bias_torque",
            "forward_dynamics",
            "inverse_dynamics_derivatives",
        }
    ),
    closed={
        "inverse_dynamics": closed_inverse_dynamics,
        "forward_dynamics": closed_forward_dynamics,
        "inverse_dynamics_derivatives": closed_inverse_dynamics_derivatives,
    },
)


def bias_torque(tree: Tree, q: Any, qd: Any, loads: Loads = ()) -> Numbers:
    """h (n,) in tau = M qdd + h."""
    return inverse_dynamics(tree, q, qd, np.zeros(tree.n, int), loads)


def forward_dynamics(tree: Tree, q: Any, qd: Any, tau: Any, loads: Loads = ()) -> Numbers:
    """qdd (n,) of M qdd = tau - h, with M from the sensitivities by qdd. O(n^3)."""
    M, h = mass_matrix(tree, q), bias_torque(tree, q, qd, loads)
    with step("solution"):
        return solved(tree, M, np.asarray(tau) - h)


def cut_joint_loads(
    mechanism: Mechanism, forces: Mapping[str, Any], moments: Mapping[str, Any] | None = None
) -> tuple[Load, ...]:
    """The constraint forces of cut joints as loads on the bodies they tie together ([Xiang2009], eq. 38).

    ``forces`` (N) and ``moments`` (N m), three numbers in world axes by the name of the loop: what the
    joint exerts on body a, at ``placement_a``; body b feels the opposite at ``placement_b``. With the right
    ones the open tree moves as the closed mechanism: M qdd + h = tau + J^T lambda.

    >>> from kinetree.model import zoo
    >>> [load.axis for load in cut_joint_loads(zoo.four_bar(), {"crank_pin": (1.0, 2.0, 0.0)})]
    [2, 0]
    """
    moments = {} if moments is None else moments
    loops = {loop.name: loop for loop in mechanism.loops}
    for name, values in (*forces.items(), *moments.items()):
        if name not in loops:
            raise InputError(unknown_name("loop", name, loops))
        if np.shape(values) != (3,):
            raise InputError(
                f"force and moment of loop '{name}' must have 3 components, got shape {np.shape(values)}"
            )
    loads = []
    for name, loop in loops.items():
        if name not in forces and name not in moments:
            continue
        force, moment = np.asarray(forces.get(name, (0, 0, 0))), np.asarray(moments.get(name, (0, 0, 0)))
        for sign, body, place in ((1, loop.body_a, loop.placement_a), (-1, loop.body_b, loop.placement_b)):
            axis, point = _place_on_axis(mechanism, body, place.position)
            if axis != WORLD_AXIS:
                loads.append(Load(axis, sign * force, sign * moment, point))
    return tuple(loads)


def _place_on_axis(mechanism: Mechanism, body: str, point: Numbers) -> tuple[int, Numbers]:
    """The axis that carries a body, and a point of the body in the axis frame."""
    if body == WORLD:
        return WORLD_AXIS, point
    tree, k = mechanism.tree, mechanism.body_index(body)
    return int(tree.body_axis[k]), tree.body_rotation[k] @ point + tree.body_position[k]


__all__ = [
    "FORMULATION",
    "bias_torque",
    "cut_joint_loads",
    "forward_dynamics",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "mass_matrix",
]
