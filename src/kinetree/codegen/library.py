"""What the library itself answers to the questions that code is exported for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.energy import kinetic_energy, potential_energy
from kinetree.analysis.forward import forward_dynamics
from kinetree.analysis.inverse import (
    bias_torque,
    gravity_torque,
    inverse_dynamics,
    joint_reactions,
    mass_matrix,
)
from kinetree.analysis.kinematics import body_velocities, forward_kinematics, jacobian
from kinetree.analysis.regressor import inertia_regressor
from kinetree.analysis.sensitivity import forward_dynamics_derivatives, inverse_dynamics_derivatives
from kinetree.dynamics.tapes import TapedAnswer
from kinetree.model.mechanism import Mechanism


def library_answer(mechanism: Mechanism, answer: TapedAnswer, state: Sequence[Array]) -> list[Array] | None:
    """The results (states, size) at inputs (states, n_dof); None if no public function gives them."""
    name, _, body = answer.question.name.partition(":")
    if body:
        found: Sequence[Any] = [np.array([jacobian(mechanism, q, body) for q in state[0]])]
    elif name in ANSWERS:
        found = ANSWERS[name](mechanism, *state)
    else:
        return None
    return [np.asarray(x).reshape(len(state[0]), -1) for x in found]


def _poses(mechanism: Mechanism, q: Array) -> Sequence[Any]:
    found = forward_kinematics(mechanism, q)
    return found.rotation, found.position


def _inverse_slopes(mechanism: Mechanism, *state: Array) -> Sequence[Any]:
    found = inverse_dynamics_derivatives(mechanism, *state)
    return found.tau, *found.matrices


def _forward_slopes(mechanism: Mechanism, *state: Array) -> Sequence[Any]:
    found = forward_dynamics_derivatives(mechanism, *state)
    return found.qdd, *found.matrices


ANSWERS: dict[str, Callable[..., Sequence[Any]]] = {
    "inverse_dynamics": lambda *given: [inverse_dynamics(*given)],
    "forward_dynamics": lambda *given: [forward_dynamics(*given)],
    "mass_matrix": lambda *given: [mass_matrix(*given)],
    "bias_torque": lambda *given: [bias_torque(*given)],
    "gravity_torque": lambda *given: [gravity_torque(*given)],
    "joint_reactions": lambda *given: [joint_reactions(*given)],
    "forward_kinematics": _poses,
    "body_velocities": lambda *given: [body_velocities(*given)],
    "energies": lambda mechanism, q, qd: [kinetic_energy(mechanism, q, qd), potential_energy(mechanism, q)],
    "inertia_regressor": lambda *given: [inertia_regressor(*given)],
    "inverse_dynamics_derivatives": _inverse_slopes,
    "forward_dynamics_derivatives": _forward_slopes,
}
