"""The zero-moment point: where the ground must push for a robot to move as it does.

[Shah2013], section B.1.1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, number
from kinetree.algebra.rotation import unit_axis
from kinetree.analysis.kinematics import body_accelerations, body_velocities, forward_kinematics
from kinetree.dynamics.checks import check_finite, checking
from kinetree.errors import InputError, SingularityError
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS

WEIGHTLESS = 1e-9  # of the weight: a smaller push has no place where it acts


def zero_moment_point(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    ground_height: float = 0.0,
    normal: ArrayLike | None = None,
) -> Array:
    """Zero-moment point (..., 3) in m: where inertia and weight have no moment tangential to the ground.

    With the force F and the moment N about the world's origin that the motion needs, and the unit normal n of
    the ground n . p = ground_height,  p = (n x N + ground_height F) / (n . F). This is [Shah2013], eq. B.1,
    with full inertias and gyroscopic moments, and with the sign of the last term of y_zmp corrected. The
    normal is against gravity by default.

    >>> import kinetree as kt, numpy as np
    >>> robot = kt.zoo.quadruped()
    >>> still = np.zeros(robot.n_dof)
    >>> (zero_moment_point(robot, still, still, still, ground_height=-0.6).round(9) + 0.0).tolist()
    [0.0, 0.0, -0.6]
    """
    expect_mechanism(mechanism)
    up = _normal(mechanism, normal)
    height = number(ground_height, "ground_height")
    F, N = inertial_wrench(mechanism, q, qd, qdd)
    push = F @ up
    weight = mechanism.mass * float(np.linalg.norm(mechanism.gravity))
    if np.any(np.abs(push) <= WEIGHTLESS * weight):
        raise SingularityError(
            f"'{mechanism.name}' does not push on the ground in some state (free fall), so it has no "
            f"zero-moment point there"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        point: Array = (np.cross(up, N) + height * F) / push[..., None]
    if checking():
        check_finite([point])
    return point


def inertial_wrench(mechanism: Mechanism, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> tuple[Array, Array]:
    """Force (..., 3) in N and moment (..., 3) about the world's origin in N m that a motion needs in total.

    F = sum m (a - g), N = sum c x m (a - g) + d(I w)/dt over all bodies that are not fixed to the world.

    >>> import kinetree as kt, numpy as np
    >>> robot = kt.zoo.quadruped()
    >>> still = np.zeros(robot.n_dof)
    >>> kt.analysis.inertial_wrench(robot, still, still, still)[0].round(6).tolist()
    [0.0, 0.0, 117.72]
    """
    expect_mechanism(mechanism)
    tree = mechanism.tree
    moving = tree.body_axis != WORLD_AXIS
    poses = forward_kinematics(mechanism, q)
    R, p = poses.rotation[..., moving, :, :], poses.position[..., moving, :]
    w = body_velocities(mechanism, q, qd)[..., moving, 3:]
    acceleration = body_accelerations(mechanism, q, qd, qdd)[..., moving, :]
    a, wd = acceleration[..., :3] - mechanism.gravity, acceleration[..., 3:]
    m, S = tree.body_mass[moving], tree.body_second_moment[moving]
    inertia = np.trace(S, axis1=-2, axis2=-1)[:, None, None] * np.eye(3) - S

    def turned(x: Array) -> Array:
        """The inertia of each body times a vector, in world axes."""
        local = np.einsum("...bji,...bj->...bi", R, x)
        result: Array = np.einsum("...bij,bjk,...bk->...bi", R, inertia, local)
        return result

    h = (R @ tree.body_first_moment[moving][:, :, None])[..., 0]
    with np.errstate(over="ignore", invalid="ignore"):
        force = m[:, None] * a + np.cross(wd, h) + np.cross(w, np.cross(w, h))
        moment = np.cross(h, a) + turned(wd) + np.cross(w, turned(w)) + np.cross(p, force)
        F, N = force.sum(axis=-2), moment.sum(axis=-2)
    if checking():
        check_finite([F, N])
    return F, N


def _normal(mechanism: Mechanism, normal: ArrayLike | None) -> Array:
    if normal is not None:
        return unit_axis(normal, "normal")
    if not mechanism.gravity.any():
        raise InputError(
            f"'{mechanism.name}' has no gravity to define the vertical; give the ground's normal"
        )
    return unit_axis(-mechanism.gravity, "normal")
