"""What muscles do at states: forces, torques of joints, rates of activation and of energy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, numbers
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.analysis.muscles import geometry, muscle_index, need_muscles
from kinetree.dynamics.checks import given
from kinetree.dynamics.muscles.hill import (
    FiberState,
    activation_rates,
    fiber_state,
    hill_tables,
    metabolic_rates,
)
from kinetree.dynamics.muscles.paths import axis_wrenches
from kinetree.errors import InputError, must_be
from kinetree.model.mechanism import Mechanism
from kinetree.state import Wrench

Activations = ArrayLike | Mapping[str, float]  # (..., muscles), one number for all, or by name: others are 0


def activations(mechanism: Mechanism, values: Activations, what: str = "activation") -> Array:
    """Activations (..., muscles) between 0 and 1, or an error that names the muscle."""
    need_muscles(mechanism)
    names = [muscle.name for muscle in mechanism.muscles]
    if isinstance(values, Mapping):
        array = np.zeros(len(names))
        for name, value in values.items():
            array[muscle_index(mechanism, name)] = value
    else:
        array = numbers(values, what)
    if array.ndim == 0:
        array = np.full(len(names), float(array))
    if array.shape[-1] != len(names):
        raise InputError(
            f"{what} must have shape (..., {len(names)}), one value for each muscle of '{mechanism.name}', "
            f"got shape {array.shape}"
        )
    wrong = ~((array >= 0.0) & (array <= 1.0))
    if wrong.any():
        place = tuple(int(k) for k in np.argwhere(wrong)[0])
        name = names[place[-1]]
        raise InputError(must_be(f"{what} of muscle '{name}'", "between 0 and 1", array[place], "g"))
    return array


def forces(mechanism: Mechanism, q: ArrayLike, qd: ArrayLike, activation: Activations) -> FiberState:
    """Forces, fibers and tendons of all muscles, (..., muscles), at states (..., n_dof) and activations.

    Rigid tendons do not stretch; elastic ones are in equilibrium with the fibers, the rate of their stretch
    left out. Where a path is shorter than the slack tendon, the muscle does not pull.

    >>> import kinetree as kt
    >>> arm = kt.zoo.muscle_arm()
    >>> kt.muscles.forces(arm, [0.0, 1.0], [0.0, 0.0], {"brachialis": 0.5}).tendon_force[2].round(1).tolist()
    456.4
    """
    found, batch = geometry(mechanism, q)
    a = activations(mechanism, activation)
    length = found.length.reshape(*batch, -1)
    slope = found.slope.reshape(*batch, *found.slope.shape[1:])
    rate = (slope @ given(mechanism, qd, "qd")[..., None])[..., 0]
    return fiber_state(hill_tables(mechanism), *np.broadcast_arrays(length, rate, a))


def torques(mechanism: Mechanism, q: ArrayLike, qd: ArrayLike, activation: Activations) -> Array:
    """Generalized forces of all muscles together, sum -dl/dq F, (..., n_dof) (N m, N).

    What drives must add to a motion is ``kt.inverse_dynamics(...) - kt.muscles.torques(...)``.

    >>> import kinetree as kt
    >>> arm, still = kt.zoo.muscle_arm(), [0.0, 0.0]
    >>> kt.muscles.torques(arm, [0.0, 1.0], still, {"brachialis": 0.5}).round(2).tolist()
    [-0.18, 18.78]
    """
    found, batch = geometry(mechanism, q)
    force = forces(mechanism, q, qd, activation).tendon_force
    slope = found.slope.reshape(*batch, *found.slope.shape[1:])
    torque: Array = -(np.swapaxes(slope, -1, -2) @ force[..., None])[..., 0]
    return torque


def wrenches(mechanism: Mechanism, q: ArrayLike, force: ArrayLike) -> list[Wrench]:
    """The loads of muscles on bodies at poses (..., n_dof), from forces along paths (..., muscles) (N).

    With them joint reactions are contact forces of joints: ``kt.joint_reactions(mechanism, q, qd, qdd,
    kt.muscles.wrenches(mechanism, q, force))``; without them they are net reactions, which drives make. Loads
    of bodies welded together are on the first of these.

    >>> import kinetree as kt
    >>> arm, q, still = kt.zoo.muscle_arm(), [0.0, 1.0], [0.0, 0.0]
    >>> torque = kt.inverse_dynamics(arm, q, still, still)
    >>> force = kt.muscles.share(arm, [q], [still], [torque]).force[0]
    >>> loads = kt.muscles.wrenches(arm, q, force)
    >>> [kt.joint_reactions(arm, q, still, still, w)[1, :3].round(1).tolist() for w in (None, loads)]
    [[13.6, 8.7, 0.0], [90.2, -99.8, 0.0]]
    """
    need_muscles(mechanism)
    at, pull = given(mechanism, q, "q"), numbers(force, "force")
    if pull.shape != (*at.shape[:-1], len(mechanism.muscles)):
        wanted = (*at.shape[:-1], len(mechanism.muscles))
        raise InputError(f"force must have shape {wanted}, one for each muscle, got shape {pull.shape}")
    rows = np.ascontiguousarray(at.reshape(-1, mechanism.n_dof))
    out, origin = axis_wrenches(mechanism, rows, finite(pull, "force").reshape(len(rows), -1))
    tree, poses, found = mechanism.tree, forward_kinematics(mechanism, rows), []
    for axis in range(tree.n):
        on = np.flatnonzero(tree.body_axis == axis)
        if len(on) == 0 or not out[:, axis].any():
            continue
        _, place = poses[mechanism.body_names[on[0]]]
        F = out[:, axis, :3]
        M = out[:, axis, 3:] + np.cross(origin[:, axis] - place, F)
        shape = (*at.shape[:-1], 3)
        found.append(Wrench(mechanism.body_names[on[0]], F.reshape(shape), M.reshape(shape)))
    return found


def activation_rate(mechanism: Mechanism, excitation: Activations, activation: Activations) -> Array:
    """da/dt of all muscles, (..., muscles) (1/s), from excitations and activations between 0 and 1.

    >>> import kinetree as kt
    >>> kt.muscles.activation_rate(kt.zoo.muscle_arm(), 1.0, 0.2)[0].round(2).tolist()
    40.9
    """
    u = activations(mechanism, excitation, "excitation")
    return activation_rates(mechanism.muscles, u, activations(mechanism, activation))


def metabolic_rate(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    activation: Activations,
    excitation: Activations | None = None,
) -> Array:
    """Rates at which muscles spend energy, (..., muscles) (W), by Bhargava, Pandy and Anderson 2004.

    Without the rate of a resting body, about 1.2 W/kg. ``excitation`` is the activation unless it is given.
    With elastic tendons fibers shorten as if their tendons had a constant length.

    >>> import kinetree as kt
    >>> arm = kt.zoo.muscle_arm()
    >>> kt.muscles.metabolic_rate(arm, [0.0, 1.0], [0.0, 2.0], {"brachialis": 0.5})[2].round(1).tolist()
    73.4
    """
    state = forces(mechanism, q, qd, activation)
    u = activations(mechanism, activation if excitation is None else excitation, "excitation")
    return metabolic_rates(hill_tables(mechanism), state, u)
