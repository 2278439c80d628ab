"""Recursive Newton-Euler dynamics in moving coordinates, with analytical sensitivities.

[Barman2020]; [NCTU], 6.3. Motion goes from the base to the tips, forces come back; everything is in the
links' own axes, so inertias are constant and rotations are 3 x 3. Besides torques the recursion gives the
internal forces and moments of all joints. Steps: `newton_euler_recursion`; their derivatives:
`newton_euler_sensitivity`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.derivations.contract import Formulation, Loads
from kinetree.derivations.newton_euler_recursion import (
    InternalForces,
    Numbers,
    actuation,
    forward_kinematics,
    frames,
    inertial_forces,
    internal_forces,
    with_passive,
)
from kinetree.derivations.newton_euler_sensitivity import (
    QD,
    QDD,
    Q,
    actuation_sensitivity,
    internal_sensitivity,
    motion_sensitivity,
    own_sensitivity,
)
from kinetree.model.tree import Tree

Derivatives = tuple[Numbers, Numbers, Numbers, Numbers]

FORMULATION = Formulation(
    name="newton_euler",
    title="Recursive Newton-Euler in moving coordinates",
    source="[Barman2020], chapters II and III; [NCTU], section 6.3",
    cost="O(n) for torques and reactions, O(n^2) for the mass matrix and all derivatives",
    can=frozenset(
        {
            "inverse_dynamics",
            "mass_matrix",
            "bias_torque",
            "joint_reactions",
            "inverse_dynamics_derivatives",
            "joint_reaction_derivatives",
        }
    ),
)


def joint_forces(tree: Tree, q: Any, qd: Any, qdd: Any, loads: Loads = ()) -> InternalForces:
    """Internal forces and moments of all joints, seen from both sides: F_jp, tau_jp, F_jd, tau_jd.

    [Barman2020].
    """
    at = frames(tree, q)
    motion = forward_kinematics(tree, at, qd, qdd)
    return internal_forces(tree, at, *inertial_forces(tree, at, motion, tree.gravity), loads)


def joint_force_sensitivities(
    tree: Tree, q: Any, qd: Any, qdd: Any, loads: Loads = ()
) -> tuple[InternalForces, InternalForces]:
    """The internal forces and moments, and their derivatives, each (n, 3, n, 3).

    Of the derivative of F_jp by q_i, qd_i, qdd_i the component c is F_p[j, 0, i, c], F_p[j, 1, i, c],
    F_p[j, 2, i, c]; in the same way the others.
    """
    at = frames(tree, q)
    motion = forward_kinematics(tree, at, qd, qdd)
    internal = internal_forces(tree, at, *inertial_forces(tree, at, motion, tree.gravity), loads)
    d = motion_sensitivity(tree, at, motion, qd)
    own = own_sensitivity(tree, motion, d, tree.gravity, loads)
    return internal, internal_sensitivity(tree, at, internal, *own)


def inverse_dynamics(tree: Tree, q: Any, qd: Any, qdd: Any, loads: Loads = ()) -> Numbers:
    """tau (n,): [Barman2020], eqs. 3.92 and 3.94, with armature, springs and friction of the joints."""
    internal = joint_forces(tree, q, qd, qdd, loads)
    return with_passive(tree, actuation(tree, internal, qdd), q, qd)


def bias_torque(tree: Tree, q: Any, qd: Any, loads: Loads = ()) -> Numbers:
    """h (n,) of tau = M qdd + h: the torques without acceleration ([NCTU], section 6.4)."""
    return inverse_dynamics(tree, q, qd, np.zeros_like(qd), loads)


def mass_matrix(tree: Tree, q: Any) -> Numbers:
    """M (n, n), column by column: torques of unit accelerations, without velocity and gravity.

    [NCTU], 6.4.
    """
    at, still, weightless = frames(tree, q), np.zeros(tree.n), np.zeros(3)
    columns = []
    for qdd in np.eye(tree.n):
        motion = forward_kinematics(tree, at, still, qdd)
        internal = internal_forces(tree, at, *inertial_forces(tree, at, motion, weightless))
        columns.append(actuation(tree, internal, qdd))
    return np.reshape(columns, (tree.n, tree.n)).T


def joint_reactions(tree: Tree, q: Any, qd: Any, qdd: Any, loads: Loads = ()) -> Numbers:
    """Force and moment that the parent exerts through each axis, in its frame at its origin: (n, 6)."""
    internal = joint_forces(tree, q, qd, qdd, loads)
    return np.concatenate([internal.F_p, internal.tau_p], axis=-1)


def inverse_dynamics_derivatives(tree: Tree, q: Any, qd: Any, qdd: Any, loads: Loads = ()) -> Derivatives:
    """tau (n,) and dtau_dq, dtau_dqd, dtau_dqdd (n, n): [Barman2020], eqs. 3.93 and 3.95.

    Coulomb friction has no derivative at zero velocity, and none elsewhere.
    """
    internal, d = joint_force_sensitivities(tree, q, qd, qdd, loads)
    tau = with_passive(tree, actuation(tree, internal, qdd), q, qd)
    slopes = actuation_sensitivity(tree, d)
    return tau, slopes[:, Q], slopes[:, QD], slopes[:, QDD]


def joint_reaction_derivatives(tree: Tree, q: Any, qd: Any, qdd: Any, loads: Loads = ()) -> Derivatives:
    """Reactions w (n, 6) and dw_dq, dw_dqd, dw_dqdd (n, 6, n): of components in the moving axes."""
    internal, d = joint_force_sensitivities(tree, q, qd, qdd, loads)
    w = np.concatenate([internal.F_p, internal.tau_p], axis=-1)
    dw = np.swapaxes(np.concatenate([d.F_p, d.tau_p], axis=-1), -1, -2)  # (n, kind, 6, n)
    return w, dw[:, Q], dw[:, QD], dw[:, QDD]
