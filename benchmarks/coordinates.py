"""Kinetree's Euler angles beside the quaternions and body velocities of its peers.

v = T(q) qd, a = T qdd + b, tau = T^T tau_peer, M = T^T M_peer T: with T and b every answer of a peer can be
compared with Kinetree's, digit by digit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

import kinetree as kt
from kinetree.algebra.arrays import Array


@dataclass(frozen=True)
class PeerStates:
    """Positions (count, nq), the map T (count, n, n) and the bias b (count, n) of a peer's coordinates."""

    q: Array
    T: Array
    b: Array

    def rates(self, qd: Array) -> Array:
        """v = T qd."""
        return (self.T @ qd[..., None])[..., 0]

    def accelerations(self, qdd: Array) -> Array:
        """a = T qdd + b."""
        return self.rates(qdd) + self.b

    def accelerations_of(self, a: Array) -> Array:
        """qdd = T^-1 (a - b)."""
        return np.asarray(np.linalg.solve(self.T, (a - self.b)[..., None])[..., 0], dtype=np.float64)

    def forces(self, tau: Array) -> Array:
        """tau_peer = T^-T tau."""
        T = np.swapaxes(self.T, -1, -2)
        return np.asarray(np.linalg.solve(T, tau[..., None])[..., 0], dtype=np.float64)

    def torques(self, tau_peer: Array) -> Array:
        """tau = T^T tau_peer."""
        return (np.swapaxes(self.T, -1, -2) @ tau_peer[..., None])[..., 0]

    def mass_matrix(self, M_peer: Array) -> Array:
        """M = T^T M_peer T."""
        return np.swapaxes(self.T, -1, -2) @ M_peer @ self.T


def peer_states(
    mechanism: kt.Mechanism, q: Array, qd: Array, *, scalar_first: bool, linear_in_body: bool
) -> PeerStates:
    """States (count, n) for a peer with quaternions.

    ``scalar_first`` is the order of its quaternions; ``linear_in_body`` whether linear velocities of free
    bodies are in body axes. Angular velocities are in body axes.
    """
    count, n = q.shape
    positions, T, b, k = [], np.zeros((count, n, n)), np.zeros((count, n)), 0
    for link in mechanism.links:
        joint = link.joint
        here = slice(k, k + joint.n_dof)
        k += joint.n_dof
        if joint.kind in ("spherical", "free"):
            turning = slice(here.stop - 3, here.stop)
            axes = joint.axes[-3:]
            R, E, bias = _ball(axes, q[:, turning], qd[:, turning])
            T[:, turning, turning], b[:, turning] = E, bias
            if joint.kind == "free":
                sliding = slice(here.start, here.start + 3)
                positions.append(q[:, sliding] @ joint.axes[:3])
                T[:, sliding, sliding], b[:, sliding] = joint.axes[:3].T, 0.0
                if linear_in_body:
                    to_body = np.swapaxes(R, -1, -2)
                    T[:, sliding, sliding] = to_body @ joint.axes[:3].T
                    w, v = (E @ qd[:, turning, None])[..., 0], T[:, sliding, sliding] @ qd[:, sliding, None]
                    b[:, sliding] = -np.cross(w, v[..., 0])
            positions.append(_quaternion(R, scalar_first))
        else:
            positions.append(q[:, here])
            T[:, here, here] = np.eye(joint.n_dof)
    return PeerStates(np.ascontiguousarray(np.concatenate(positions, axis=1)), T, b)


def _ball(axes: Array, angles: Array, rates: Array) -> tuple[Array, Array, Array]:
    """Rotation, E with w = E rates in body axes, and E' rates; for successive turns about the axes."""
    count = len(angles)
    R = np.tile(np.eye(3), (count, 1, 1))
    E, bias, beyond = np.zeros((count, 3, 3)), np.zeros((count, 3)), np.zeros((count, 3))
    for k in (2, 1, 0):  # from the body towards the parent: R turns body axes into those after turn k
        E[:, :, k] = np.swapaxes(R, -1, -2) @ axes[k]
        bias -= np.cross(beyond, E[:, :, k]) * rates[:, k, None]
        beyond += E[:, :, k] * rates[:, k, None]
        R = Rotation.from_rotvec(angles[:, k, None] * axes[k]).as_matrix() @ R
    return R, E, bias


def _quaternion(R: Array, scalar_first: bool) -> Array:
    xyzw = Rotation.from_matrix(R).as_quat()
    return np.roll(xyzw, 1, axis=1) if scalar_first else xyzw
