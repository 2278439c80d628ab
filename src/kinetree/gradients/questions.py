"""Dynamics and kinematics of a mechanism as functions with exact first and second derivatives.

Arguments are rows (..., n_dof), all of one batch; an answer is a row (..., m), whatever its shape. What a
framework needs of a function y(x), x all arguments side by side, are its values, its slopes dy/dx, and the
second derivatives of weight . y. Those are closed forms; nothing is differenced.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import check_room
from kinetree.algebra.placement import Placement
from kinetree.analysis.forward import forward_dynamics
from kinetree.analysis.inverse import inverse_dynamics, mass_matrix
from kinetree.analysis.kinematics import forward_kinematics, jacobian
from kinetree.analysis.sensitivity import (
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
    torque_hessian,
)
from kinetree.errors import InputError
from kinetree.model.body import WORLD
from kinetree.model.mechanism import Mechanism
from kinetree.state import Wrench

POSE = 12  # numbers of a pose: its position, then its rotation by rows


class SmoothQuestion(Hashable, Protocol):
    """A function of rows of one batch: ``inputs`` are their names, ``shape`` is that of one answer."""

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that is asked about; its rows have n_dof numbers."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the arguments."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the answer for one state."""

    def value(self, *rows: Array) -> Array:
        """The answer (..., m)."""

    def slopes(self, *rows: Array) -> Array:
        """Its derivatives with respect to all arguments, side by side, (..., m, k n_dof)."""

    def bends(self, weight: Array, *rows: Array) -> Array:
        """Second derivatives of weight . answer, (..., k n_dof, k n_dof), for weights (..., m)."""


@dataclass(frozen=True)
class InverseDynamics:
    """tau(q, qd, qdd)."""

    mechanism: Mechanism
    inputs = ("q", "qd", "qdd")

    @property
    def shape(self) -> tuple[int, ...]:
        """One torque for each coordinate."""
        return (self.mechanism.n_dof,)

    def value(self, *rows: Array) -> Array:
        """Recursive Newton-Euler."""
        q, qd, qdd = rows
        return inverse_dynamics(self.mechanism, q, qd, qdd)

    def slopes(self, *rows: Array) -> Array:
        """dtau/dq, dtau/dqd, M."""
        q, qd, qdd = rows
        found = inverse_dynamics_derivatives(self.mechanism, q, qd, qdd)
        return np.concatenate([found.dtau_dq, found.dtau_dqd, found.dtau_dqdd], axis=-1)

    def bends(self, weight: Array, *rows: Array) -> Array:
        """The Hessian of weight . tau."""
        q, qd, qdd = rows
        return torque_hessian(self.mechanism, q, qd, qdd, weight).full


@dataclass(frozen=True)
class ForwardDynamics:
    """qdd(q, qd, tau).

    Differentiating ID(q, qd, qdd(z)) = tau twice with respect to z = (q, qd, tau) gives the second
    derivatives of w . qdd: -T^T H T, where T = d(q, qd, qdd)/dz and H those of (M^-1 w) . ID.
    """

    mechanism: Mechanism
    inputs = ("q", "qd", "tau")

    @property
    def shape(self) -> tuple[int, ...]:
        """One acceleration for each coordinate."""
        return (self.mechanism.n_dof,)

    def value(self, *rows: Array) -> Array:
        """Articulated bodies."""
        q, qd, tau = rows
        return forward_dynamics(self.mechanism, q, qd, tau)

    def slopes(self, *rows: Array) -> Array:
        """dqdd/dq, dqdd/dqd, M^-1."""
        q, qd, tau = rows
        found = forward_dynamics_derivatives(self.mechanism, q, qd, tau)
        return np.concatenate([found.dqdd_dq, found.dqdd_dqd, found.dqdd_dtau], axis=-1)

    def bends(self, weight: Array, *rows: Array) -> Array:
        """-T^T H T."""
        (q, qd, tau), n = rows, self.mechanism.n_dof
        found = forward_dynamics_derivatives(self.mechanism, q, qd, tau)
        force = np.einsum("...ij,...i->...j", found.dqdd_dtau, weight)
        H = torque_hessian(self.mechanism, q, qd, found.qdd, force).full
        T = np.zeros_like(H)
        T[..., : 2 * n, : 2 * n] = np.eye(2 * n)
        T[..., 2 * n :, :] = np.concatenate([found.dqdd_dq, found.dqdd_dqd, found.dqdd_dtau], axis=-1)
        bends: Array = -np.swapaxes(T, -1, -2) @ H @ T
        return bends


@dataclass(frozen=True)
class MassMatrix:
    """M(q), by rows. Rows of M are forces of unit accelerations, so its derivatives are those of torques."""

    mechanism: Mechanism
    inputs = ("q",)

    @property
    def shape(self) -> tuple[int, ...]:
        """n_dof by n_dof."""
        return (self.mechanism.n_dof, self.mechanism.n_dof)

    def value(self, *rows: Array) -> Array:
        """Composite rigid bodies."""
        (q,) = rows
        found = mass_matrix(self.mechanism, q)
        return found.reshape((*found.shape[:-2], -1))

    def slopes(self, *rows: Array) -> Array:
        """dM_ij/dq_k: the mixed derivatives of tau_i by q_k and qdd_j."""
        (q,) = rows
        n = self.mechanism.n_dof
        still = np.zeros(n)
        by_row = torque_hessian(self.mechanism, q[..., None, :], still, still, np.eye(n)).q_qdd
        return np.swapaxes(by_row, -1, -2).reshape((*q.shape[:-1], n * n, n))

    def bends(self, weight: Array, *rows: Array) -> Array:
        """Of tau_i with the accelerations weight_i and without, summed over i."""
        (q,) = rows
        n = self.mechanism.n_dof
        still, accelerations = np.zeros(n), weight.reshape((*weight.shape[:-1], n, n))

        def bent(qdd: Array) -> Array:
            return torque_hessian(self.mechanism, q[..., None, :], still, qdd, np.eye(n)).q_q

        found: Array = (bent(accelerations) - bent(still)).sum(axis=-3)
        return found


@dataclass(frozen=True)
class BodyPose:
    """Position and rotation (by rows) of a place on a body, as a row of 12.

    Columns of the rotation are positions of points relative to the origin, and the gradient of f . x of a
    point x is J^T f, the torque that balances the force f there; so its derivatives are those of torques
    under loads.
    """

    mechanism: Mechanism
    body: str
    place: Placement
    inputs = ("q",)
    shape = (POSE,)

    @property
    def _points(self) -> list[Array]:
        """The origin and the ends of the axes, in the body's frame."""
        return [self.place.position, *(self.place.position + axis for axis in self.place.rotation.T)]

    def value(self, *rows: Array) -> Array:
        """Forward kinematics."""
        (q,) = rows
        rotation, position = forward_kinematics(self.mechanism, q)[self.body]
        place = position + rotation @ self.place.position
        turned = rotation @ self.place.rotation
        return np.concatenate([place, turned.reshape((*turned.shape[:-2], 9))], axis=-1)

    def slopes(self, *rows: Array) -> Array:
        """Those of the origin, then of the ends of the axes relative to it, by rows of the rotation."""
        (q,) = rows
        at = [jacobian(self.mechanism, q, self.body, point)[..., :3, :] for point in self._points]
        turned = np.stack([J - at[0] for J in at[1:]], axis=-2)  # (..., row, column, n)
        return np.concatenate([at[0], turned.reshape((*turned.shape[:-3], 9, turned.shape[-1]))], axis=-2)

    def bends(self, weight: Array, *rows: Array) -> Array:
        """The change of the torques that forces at the four points need, against that without them."""
        (q,), still = rows, np.zeros(self.mechanism.n_dof)
        columns = weight[..., 3:].reshape((*weight.shape[:-1], 3, 3))
        forces = [weight[..., :3] - columns.sum(axis=-1), *np.moveaxis(columns, -1, 0)]
        loads = [Wrench(self.body, f, point=x) for f, x in zip(forces, self._points, strict=True)]

        def stiffness(wrenches: list[Wrench] | None) -> Array:
            found = inverse_dynamics_derivatives(self.mechanism, q, still, still, wrenches)
            return np.asarray(found.dtau_dq)

        return stiffness(None) - stiffness(loads)


def pose_of(mechanism: Mechanism, name: str) -> BodyPose:
    """The pose of a body or a frame, by its name."""
    body, place = mechanism.place_of(name)
    if body == WORLD:
        raise InputError(f"'{name}' is fixed to the world, so that its pose has no derivatives")
    return BodyPose(mechanism, body, place)


def all_bends(question: SmoothQuestion, *rows: Array) -> Array:
    """Second derivatives of every number of an answer, (..., m, k n_dof, k n_dof)."""
    m, wide = math.prod(question.shape), len(question.inputs) * question.mechanism.n_dof
    batch = np.broadcast_shapes(*(row.shape[:-1] for row in rows))
    check_room((*batch, m, wide, wide), what="the second derivatives")
    return question.bends(np.eye(m), *(row[..., None, :] for row in rows))
