"""How quick are the answers for a mechanism on this machine, one state at a time and in batches?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.energy import kinetic_energy
from kinetree.analysis.forward import forward_dynamics
from kinetree.analysis.inverse import gravity_torque, inverse_dynamics, joint_reactions, mass_matrix
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.analysis.sensitivity import (
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
    joint_reaction_derivatives,
)
from kinetree.dynamics.loops.states import fitting_state
from kinetree.errors import InputError, SingularityError, must_be
from kinetree.model.mechanism import Mechanism

QUANTITIES: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "forward_kinematics": (forward_kinematics, ("q",)),
    "gravity_torque": (gravity_torque, ("q",)),
    "inverse_dynamics": (inverse_dynamics, ("q", "qd", "qdd")),
    "mass_matrix": (mass_matrix, ("q",)),
    "forward_dynamics": (forward_dynamics, ("q", "qd", "tau")),
    "joint_reactions": (joint_reactions, ("q", "qd", "qdd")),
    "kinetic_energy": (kinetic_energy, ("q", "qd")),
    "inverse_dynamics_derivatives": (inverse_dynamics_derivatives, ("q", "qd", "qdd")),
    "forward_dynamics_derivatives": (forward_dynamics_derivatives, ("q", "qd", "tau")),
    "joint_reaction_derivatives": (joint_reaction_derivatives, ("q", "qd", "qdd")),
}
WINDOWS, WINDOW = 5, 0.02  # the best of so many windows of so many seconds counts
LARGEST_BATCH = 1_000_000
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Speed:
    """Microseconds for one state: asked ``alone``, and in a ``batch``."""

    quantity: str
    alone: float
    batch: float


def measure_speed(
    mechanism: Mechanism, batch: int = 1000, seed: int = 0, progress: Progress | None = None
) -> list[Speed]:
    """The time of every quantity that the mechanism has.

    >>> import kinetree as kt
    >>> measure_speed(kt.zoo.two_link(), batch=8)[0].quantity
    'forward_kinematics'
    """
    if not 1 <= batch <= LARGEST_BATCH:
        raise InputError(must_be("the batch", f"from 1 to {LARGEST_BATCH} states", batch, ""))
    values = _states(mechanism, batch, seed)
    found: list[Speed] = []
    for k, (name, (function, arguments)) in enumerate(QUANTITIES.items()):
        many = [values[x] for x in arguments]
        one = [np.array(x[0]) for x in many]
        try:
            alone = best_time(partial(function, mechanism, *one))
            together = best_time(partial(function, mechanism, *many)) / batch
        except SingularityError:
            continue
        found.append(Speed(name, 1e6 * alone, 1e6 * together))
        if progress is not None:
            progress((k + 1) / len(QUANTITIES))
    return found


def best_time(call: Callable[[], object]) -> float:
    """Seconds of a call: the best mean of some windows, after a call that is not timed."""
    call()
    began = perf_counter()
    call()
    repeats = max(1, int(WINDOW / max(perf_counter() - began, 1e-7)))
    best = float("inf")
    for _ in range(WINDOWS):
        began = perf_counter()
        for _ in range(repeats):
            call()
        best = min(best, (perf_counter() - began) / repeats)
    return best


def _states(mechanism: Mechanism, batch: int, seed: int) -> dict[str, Array]:
    at = fitting_state(mechanism, batch, seed)
    return {"q": at.q, "qd": at.qd, "qdd": at.qdd, "tau": inverse_dynamics(mechanism, at.q, at.qd, at.qdd)}
