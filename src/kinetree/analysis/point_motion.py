"""How position, velocity and acceleration of a point depend on the coordinates and their rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, vector
from kinetree.algebra.shown import Shown
from kinetree.dynamics.axis_motion import AxisMotion, at_origin, axis_motion, crossed, screws
from kinetree.dynamics.checks import given
from kinetree.dynamics.coupling import Bends, on_axes
from kinetree.model.body import WORLD
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Coupling, Tree


@dataclass(frozen=True, eq=False, repr=False)
class PointMotion(Shown):
    """Motion of a point of a body in the world, and its exact derivatives.

    ``position`` (..., 3) in m; ``velocity`` and ``acceleration`` (..., 6): of the point (m/s, m/s^2), then
    angular (rad/s, rad/s^2), without gravity. ``jacobian`` J (..., 6, n_dof) is dvelocity_dqd and
    dacceleration_dqdd; its first three rows are the derivative of the position. ``dvelocity_dq``,
    ``dacceleration_dq`` and ``dacceleration_dqd`` (..., 6, n_dof).
    """

    position: Array
    velocity: Array
    acceleration: Array
    jacobian: Array
    dvelocity_dq: Array
    dacceleration_dq: Array
    dacceleration_dqd: Array


def point_motion_derivatives(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    body: str,
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> PointMotion:
    """Motion of a point of a body or frame with its exact derivatives with respect to q, qd and qdd.

    For states (..., n_dof); ``point`` (3,) is given in the frame of the body (m). With S_i the screw of axis
    i on the way to the body, V_i and A_i velocity and acceleration of what it carries, all at the origin of
    the world, and W = V - V_i those of the body relative to it, dV/dq_i = S_i x W and

        dA/dq_i = S_i x (A - A_i - V_i x W) + V_i x (S_i x W),    dA/dqd_i = V_i x S_i + S_i x W

    (Featherstone 2008, chapter 2); steps 5 and 6 of [Barman2020], equations 3.21-3.46, are a recursion for
    them. With closed loops the coordinates are those of all joints of the tree.

    >>> import kinetree as kt
    >>> turning = [0.0, 0.0], [1.0, 0.0], [0.0, 0.0]
    >>> tip = point_motion_derivatives(kt.zoo.two_link(), *turning, "link2", point=(0.4, 0, 0))
    >>> tip.dvelocity_dq[:2].round(9).tolist()
    [[-0.8, -0.4], [0.0, 0.0]]
    """
    carrier, place = expect_mechanism(mechanism).place_of(body)
    tree = mechanism.tree
    at = place.rotation @ vector(point, 3, "point") + place.position
    given_state = [given(mechanism, x, name) for x, name in ((q, "q"), (qd, "qd"), (qdd, "qdd"))]
    state = np.broadcast_arrays(*on_axes(tree, *given_state))
    motion = axis_motion(tree, *state)
    if carrier == WORLD:
        none = [np.zeros((*motion.position.shape[:-2], 6, mechanism.n_dof)) for _ in range(4)]
        still = [x[..., -1, :] for x in (motion.position, motion.velocity, motion.acceleration)]
        return PointMotion(still[0] + at, still[1], still[2], *none)
    k = mechanism.body_index(carrier)
    found = _of_point(
        tree, motion, int(tree.body_axis[k]), tree.body_rotation[k] @ at + tree.body_position[k]
    )
    return found if tree.coupling is None else _by_coordinates(tree.coupling, found, given_state)


def _by_coordinates(coupling: Coupling, found: PointMotion, state: Sequence[Array]) -> PointMotion:
    """Derivatives by the coordinates, from those by all axes of a tree with mimic joints."""
    bends = Bends(coupling, *np.broadcast_arrays(*state))
    none = np.zeros_like(found.jacobian)
    velocity = bends.slopes(np.stack([found.dvelocity_dq, found.jacobian, none]))
    acceleration = bends.slopes(np.stack([found.dacceleration_dq, found.dacceleration_dqd, found.jacobian]))
    return replace(
        found,
        jacobian=acceleration[2],
        dvelocity_dq=velocity[0],
        dacceleration_dq=acceleration[0],
        dacceleration_dqd=acceleration[1],
    )


def _of_point(tree: Tree, motion: AxisMotion, end: int, at: Array) -> PointMotion:
    """The motion of a point (3,) in the frame of an axis, by the motion of all axes."""
    x = motion.position[..., end, :] + motion.rotation[..., end, :, :] @ at
    way = _way(tree, end)
    S = screws(tree, motion)[..., way, :]
    V, A = at_origin(motion)
    Vi, Ai, V, A = V[..., way, :], A[..., way, :], V[..., end, :], A[..., end, :]
    W = V[..., None, :] - Vi
    SW = crossed(S, W)
    dA_dq = crossed(S, A[..., None, :] - Ai - crossed(Vi, W)) + crossed(Vi, SW)
    dA_dqd = crossed(Vi, S) + SW
    # of the point: v = (linear part of V) + w x x, a = (linear part of A) + wd x x + w x v
    w, wd = V[..., :3], A[..., :3]
    v = V[..., 3:] + np.cross(w, x)
    a = A[..., 3:] + np.cross(wd, x) + np.cross(w, v)
    x, v, w, wd = (y[..., None, :] for y in (x, v, w, wd))
    dx = S[..., 3:] + np.cross(S[..., :3], x)
    dv_dq = SW[..., 3:] + np.cross(SW[..., :3], x) + np.cross(w, dx)
    da_dq = dA_dq[..., 3:] + np.cross(dA_dq[..., :3], x) + np.cross(wd, dx)
    da_dq += np.cross(SW[..., :3], v) + np.cross(w, dv_dq)
    da_dqd = dA_dqd[..., 3:] + np.cross(dA_dqd[..., :3], x) + np.cross(S[..., :3], v) + np.cross(w, dx)

    def columns(linear: Array, angular: Array) -> Array:
        """Columns of all axes (..., 6, n), zero for those that are not on the way."""
        whole = np.zeros((*linear.shape[:-2], 6, tree.n))
        whole[..., way] = np.swapaxes(np.concatenate([linear, angular], axis=-1), -1, -2)
        return whole

    return PointMotion(
        x[..., 0, :],
        np.concatenate([v, w], axis=-1)[..., 0, :],
        np.concatenate([a, wd[..., 0, :]], axis=-1),
        columns(dx, S[..., :3]),
        columns(dv_dq, SW[..., :3]),
        columns(da_dq, dA_dq[..., :3]),
        columns(da_dqd, dA_dqd[..., :3]),
    )


def _way(tree: Tree, end: int) -> list[int]:
    """The axes from the root to one of them, which is the last."""
    way = [end] if end >= 0 else []
    while way and tree.parent[way[0]] >= 0:
        way.insert(0, int(tree.parent[way[0]]))
    return way
