"""Ground reactions by the two-step active-passive algorithm on a tree with a free root.

[Barman2020], section 5.1. First the resultant that the motion asks for, from the generalized forces of the
free root without any ground, and its zero-moment point; then the same motion with that resultant on the feet,
at the zero-moment point: the root's forces vanish, and torques and joint forces are those of a body that
stands (Xiang et al. 2009).

Sensitivities follow from an identity. For weights y of the joint torques let y_full have the root rates that
leave the supporting foot at rest, J_r y_r + J_j y_j = 0. The ground does no work on a foot at rest, so
y . tau = y_full(q) . tau0, tau0 being the torques without ground.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.inverse import inverse_dynamics, joint_reactions
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.analysis.sensitivity import inverse_dynamics_derivatives
from kinetree.errors import InputError, listed
from kinetree.model.mechanism import Mechanism
from kinetree.motion.problem.places import AxisFrames, BodySpin, Place
from kinetree.state import Wrench

FREE = 6  # coordinates of a free root


@dataclass(frozen=True, eq=False)
class TwoStep:
    """Along states (m,): resultant of the ground, where it acts, how feet share it, and what follows.

    ``force`` (N) and ``moment`` (N m) of the ground at its zero-moment point ``point`` (m) on z = 0, (m, 3)
    each; the moment is about z. ``shares`` (m, feet) of it on each foot. ``tau`` (m, n_dof) and ``reaction``
    (m, n_bodies, 6) with the ground's push; the root's part of tau is what is left, and vanishes.
    """

    force: Array
    moment: Array
    point: Array
    shares: Array
    tau: Array
    reaction: Array


def two_step(
    mechanism: Mechanism, q: Array, qd: Array, qdd: Array, feet: list[str], shares: Array | None = None
) -> TwoStep:
    """Ground reactions, torques and joint forces of a free mechanism on one or several feet.

    ``feet`` are bodies on the ground z = 0; with several, ``shares`` (m, feet) say how much of the resultant
    each carries, and add up to 1. In double support [Barman2020] shares by the distances of the zero-moment
    point from both feet; any share gives the same root forces, none.
    """
    _check_root(mechanism)
    for name in feet:
        mechanism.body_index(name)
    active = inverse_dynamics(mechanism, q, qd, qdd)
    force, moment = resultant(mechanism, q, active)
    if (force[:, 2] <= 0.0).any():
        raise InputError("two-step ground reaction: the motion needs the ground to pull, which it cannot")
    x, y = -moment[:, 1] / force[:, 2], moment[:, 0] / force[:, 2]
    point = np.stack([x, y, 0.0 * x], axis=1)
    rest = moment - np.cross(point, force)
    part = np.ones((len(q), 1)) if shares is None else np.asarray(shares, dtype=np.float64)
    if part.shape != (len(q), len(feet)) or not np.allclose(part.sum(axis=1), 1.0):
        raise InputError(
            f"two-step ground reaction: shares of {listed(feet)} must have shape ({len(q)}, {len(feet)}) and "
            f"add up to 1, got shape {part.shape}"
        )
    poses, loads = forward_kinematics(mechanism, q), []
    for k, name in enumerate(feet):
        p = poses[name][1]
        own = part[:, k, None]
        about = own * rest + np.cross(point - p, own * force)  # about the body's origin
        loads.append(Wrench(name, own * force, about))
    tau = inverse_dynamics(mechanism, q, qd, qdd, loads)
    return TwoStep(force, rest, point, part, tau, joint_reactions(mechanism, q, qd, qdd, loads))


def resultant(mechanism: Mechanism, q: Array, active: Array) -> tuple[Array, Array]:
    """Force and moment about the world's origin, (m, 3) each, that do what forces of the root do."""
    J = _root_jacobian(mechanism, q)
    found = np.linalg.solve(np.swapaxes(J, 1, 2), active[:, :FREE, None])[..., 0]
    wrench = np.asarray(found, dtype=np.float64)
    return wrench[:, :3], wrench[:, 3:]


def _root_jacobian(mechanism: Mechanism, q: Array) -> Array:
    """Velocity of the root's point in the world's origin, and angular velocity, per root rate, (m, 6, 6)."""
    frames = AxisFrames(mechanism, np.arange(mechanism.n_dof), q, 0.0 * q)
    root = next(link.body.name for link in mechanism.links if link.parent == "world")
    place, spin = Place(mechanism, root, (0.0, 0.0, 0.0)), BodySpin(mechanism, root)
    linear, angular = place.slopes(frames)[:, :, :FREE], spin.slopes(frames)[:, :, :FREE]
    p = place.position_of(frames)
    back = np.cross(np.swapaxes(angular, 1, 2), -p[:, None])  # from the body's origin to the world's
    return np.concatenate([linear + np.swapaxes(back, 1, 2), angular], axis=1)


def _check_root(mechanism: Mechanism) -> None:
    roots = [link for link in mechanism.links if link.parent == "world"]
    if len(roots) != 1 or not roots[0].joint.is_free:
        raise InputError("two-step ground reaction: the mechanism must have one free root, such as a pelvis")


def virtual_motion(mechanism: Mechanism, q: Array, foot: str, y: Array) -> Array:
    """y_full (m, n_dof): weights y of the joints with root rates that leave the foot at rest."""
    J = _foot_jacobian(mechanism, q, foot)[0]
    full = np.array(y, dtype=np.float64)
    full[:, :FREE] = 0.0
    full[:, :FREE] = -np.linalg.solve(J[:, :, :FREE], J @ full[:, :, None])[..., 0]
    return full


def _foot_jacobian(mechanism: Mechanism, q: Array, foot: str) -> tuple[Array, AxisFrames, Place, BodySpin]:
    frames = AxisFrames(mechanism, np.arange(mechanism.n_dof), q, 0.0 * q)
    place, spin = Place(mechanism, foot, (0.0, 0.0, 0.0)), BodySpin(mechanism, foot)
    return np.concatenate([place.slopes(frames), spin.slopes(frames)], axis=1), frames, place, spin


def torque_gradient(
    mechanism: Mechanism, q: Array, qd: Array, qdd: Array, foot: str, y: Array
) -> tuple[Array, Array, Array]:
    """Derivatives of y . tau by q, qd and qdd, (m, n_dof) each, for torques on one foot.

    By q: y_full . dtau0/dq + tau0_r . dy_r/dq with J_r dy_r/dq_i = -(dJ/dq_i) y_full.
    """
    _check_root(mechanism)
    full = virtual_motion(mechanism, q, foot, y)
    d = inverse_dynamics_derivatives(mechanism, q, qd, qdd)
    J, frames, place, spin = _foot_jacobian(mechanism, q, foot)
    change = np.concatenate([place.change(frames, full), spin.change(frames, full)], axis=1)
    back = -np.linalg.solve(J[:, :, :FREE], change)  # dy_r / dq, (m, 6, n)
    by_q, by_qd, by_qdd = ((full[:, None] @ slopes)[:, 0] for slopes in (d.dtau_dq, d.dtau_dqd, d.dtau_dqdd))
    return by_q + (d.tau[:, None, :FREE] @ back)[:, 0], by_qd, by_qdd
