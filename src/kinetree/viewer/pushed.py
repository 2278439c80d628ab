"""The simulation behind the tab Push: what holds the pose, what it stands on, where joints end."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.energy import center_of_mass
from kinetree.analysis.inverse import mass_matrix
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.control.feedback import PD
from kinetree.control.model_actuators import ModelActuators
from kinetree.control.model_based import GravityCompensation
from kinetree.model.body import WORLD
from kinetree.model.mechanism import Mechanism
from kinetree.simulation.live import LiveSimulation
from kinetree.simulation.settings import Stops
from kinetree.viewer.run_panel import FREE, GIVEN, OWN, Given, Request, ground_of

BANDWIDTH, DAMPING = 8.0, 0.7  # rad/s and share of critical damping of joints that hold a pose
HOLD = "hold the pose"
LAWS = (HOLD, FREE)
FALLS = (
    "The base is free and the mechanism has no contact points, so it falls: set gravity to zero in the "
    "Simulate tab, or add contact points to its file."
)
SUNK = (
    "The robot fell, and its center of mass is now below the ground: only bodies with contact points rest on "
    "it. Press Reset to start again."
)


def falls_freely(mechanism: Mechanism) -> bool:
    """Whether a free base has nothing to stand on.

    >>> import kinetree as kt
    >>> falls_freely(kt.zoo.quadruped()), falls_freely(kt.zoo.gripper())
    (False, False)
    """
    return _floats(mechanism) and not mechanism.contact_points


def sunk(live: LiveSimulation) -> bool:
    """Whether the center of mass of a mechanism on a free base is below the ground that it touches."""
    if live.ground is None or not live.mechanism.contact_points or not _floats(live.mechanism):
        return False
    center = center_of_mass(live.mechanism, live.q)
    return bool(live.ground.heights(live.mechanism, center) < 0.0)


def _floats(mechanism: Mechanism) -> bool:
    return any(link.joint.is_free and link.parent == WORLD for link in mechanism.links)


def pushed(mechanism: Mechanism, q0: Array, request: Request, law: str, given: Given) -> LiveSimulation:
    """A simulation from rest in the pose q0 (n_dof,) that can be pulled at.

    Gravity and ground are those of the request. Joints end at stops where they have limits.

    >>> import kinetree as kt
    >>> live = pushed(kt.zoo.gripper(), np.zeros(4), Request(1.0, (0, -9.81, 0)), HOLD, Given())
    >>> live.advance(0.1)
    >>> bool(np.abs(live.q).max() < 1e-6)
    True
    """
    limits = [end for link in mechanism.links for end in (*link.joint.lower, *link.joint.upper)]
    return LiveSimulation(
        mechanism.with_gravity(request.gravity),
        q0,
        controller=_controller(mechanism, q0, law, given),
        ground=ground_of(mechanism, request, given),
        stops=Stops() if np.isfinite(limits).any() else None,
        rtol=1e-5,
    )


def _controller(mechanism: Mechanism, q0: Array, law: str, given: Given) -> Any:
    if law == OWN:
        return ModelActuators.holding(mechanism, q0)
    return given.controller if law == GIVEN else _holding(mechanism, q0) if law == HOLD else None


def _holding(mechanism: Mechanism, q0: Array) -> Any:
    """What pulls the joints to the pose q0 (n_dof,), and carries what gravity asks for if it can be known."""
    inertia = moved_inertia(mechanism, q0)
    kp, kd = BANDWIDTH**2 * inertia, 2.0 * DAMPING * BANDWIDTH * inertia
    knows_weight = not mechanism.loops and not any(link.joint.is_free for link in mechanism.links)
    return (GravityCompensation if knows_weight else PD)(q0, kp, kd)


def moved_inertia(mechanism: Mechanism, q: Array) -> Array:
    """The inertia (n_dof,) that each joint moves; in legs that carry a free base, that of the rest above.

    The former is the diagonal of the mass matrix, the latter the mass times the squared distance from the
    joint to the center of mass.
    """
    opened = mechanism.opened()
    inertia = np.array(np.diagonal(mass_matrix(opened, q)))
    if not any(link.joint.is_free for link in mechanism.links):
        return inertia
    parents = {link.body.name: link.parent for link in mechanism.links}
    bearing: set[str] = set()
    for point in mechanism.contact_points:
        body = point.body
        while body != WORLD and body not in bearing:
            bearing.add(body)
            body = parents[body]
    away = forward_kinematics(opened, q).position - center_of_mass(opened, q)
    lever = mechanism.mass * (away**2).sum(axis=-1)
    for link in mechanism.links:
        if link.body.name in bearing and link.joint.mimic is None:
            for name in link.joint.dof_names:
                k = mechanism.joint_index(name)
                inertia[k] = max(inertia[k], lever[mechanism.body_index(link.body.name)])
    return inertia
