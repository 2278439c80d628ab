"""Where bodies are and how they move: poses, velocities, accelerations, Jacobians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, vector
from kinetree.algebra.shown import Shown
from kinetree.dynamics.axis_motion import AxisMotion, axis_motion, body_poses
from kinetree.dynamics.checks import given
from kinetree.dynamics.coupling import all_axes, axis_slopes, axis_state, on_axes
from kinetree.dynamics.evaluate import evaluate
from kinetree.dynamics.question import Question
from kinetree.errors import InputError, expect, unknown_name
from kinetree.kernels.jacobian import JACOBIAN
from kinetree.kernels.model_table import aimed_tree
from kinetree.model.body import WORLD
from kinetree.model.expected import expect_mechanism
from kinetree.model.frame import Frame
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Tree

AT_ORIGIN = (0.0, 0.0, 0.0)
_ORIGIN = np.zeros(3)


@dataclass(frozen=True, eq=False, repr=False)
class Poses(Shown):
    """Poses of all bodies in the world.

    ``rotation`` (..., n_bodies, 3, 3) and ``position`` (..., n_bodies, 3) in m:
    x_world = rotation x_body + position.

    ``poses["hand"]``, or ``poses.of("hand")``, gives rotation and position of one body or named frame.
    """

    rotation: Array
    position: Array
    body_names: tuple[str, ...]
    frames: tuple[Frame, ...] = ()

    def __getitem__(self, name: str) -> tuple[Array, Array]:
        expect(name, str, "name", "that of a body or frame")
        if name in self.body_names:
            k = self.body_names.index(name)
            return self.rotation[..., k, :, :], self.position[..., k, :]
        for frame in self.frames:
            if frame.name == name:
                return self._of_frame(frame)
        raise InputError(unknown_name("body", name, [*self.body_names, *(x.name for x in self.frames)]))

    def of(self, name: str) -> tuple[Array, Array]:
        """Rotation (..., 3, 3) and position (..., 3) of a body or a named frame.

        >>> import kinetree as kt
        >>> R, p = kt.forward_kinematics(kt.zoo.gripper(), [0, 0, 0, 0]).of("link3")
        >>> p.round(9).tolist()
        [0.15, 0.0, 0.0]
        """
        return self[name]

    def _of_frame(self, frame: Frame) -> tuple[Array, Array]:
        place = frame.placement
        if frame.body == WORLD:
            batch = self.position.shape[:-2]
            return np.broadcast_to(place.rotation, (*batch, 3, 3)), np.broadcast_to(
                place.position, (*batch, 3)
            )
        R, p = self[frame.body]
        return R @ place.rotation, p + R @ place.position


def forward_kinematics(mechanism: Mechanism, q: ArrayLike) -> Poses:
    """Pose of every body in the world: x_world = rotation x_body + position.

    ``q`` (..., n_dof).

    >>> import kinetree as kt
    >>> kt.forward_kinematics(kt.zoo.gripper(), [0, 0, 0, 0]).position[2].round(9).tolist()
    [0.15, 0.0, 0.0]
    """
    expect_mechanism(mechanism)
    tree = mechanism.tree
    q = all_axes(tree, given(mechanism, q, "q"))
    rest = np.zeros(tree.n)
    rotation, position = body_poses(tree, axis_motion(tree, q, rest, rest))
    return Poses(rotation, position, mechanism.body_names, mechanism.frames)


def body_velocities(mechanism: Mechanism, q: ArrayLike, qd: ArrayLike, *, of: str | None = None) -> Array:
    """Twist of every body, (..., n_bodies, 6): velocity of its origin (m/s), angular velocity (rad/s).

    In world axes. ``of`` names one body or frame: its twist alone, (..., 6).

    >>> import kinetree as kt
    >>> kt.body_velocities(kt.zoo.gripper(), [0, 0, 0, 0], [1, 0, 0, 0])[2].round(9).tolist()
    [0.0, 0.15, 0.0, 0.0, 0.0, 1.0]
    """
    expect_mechanism(mechanism)
    tree = mechanism.tree
    q, qd = on_axes(tree, given(mechanism, q, "q"), given(mechanism, qd, "qd"))
    motion = axis_motion(tree, q, qd, np.zeros(tree.n))
    v, w, r = *_carried(tree, motion.velocity), _offset(tree, motion)
    twists = np.concatenate([v + np.cross(w, r), w], axis=-1)
    return twists if of is None else _of_one(mechanism, of, motion, twists)


def body_accelerations(
    mechanism: Mechanism, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, of: str | None = None
) -> Array:
    """Acceleration of every body, (..., n_bodies, 6): of its origin (m/s^2) and angular (rad/s^2).

    In world axes, as an observer at rest sees them: without gravity. ``of`` names one body or frame.

    >>> import kinetree as kt
    >>> turning = [1, 0, 0, 0], [0, 0, 0, 0]
    >>> kt.analysis.body_accelerations(kt.zoo.gripper(), [0, 0, 0, 0], *turning)[2].round(9).tolist()
    [-0.15, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    expect_mechanism(mechanism)
    tree = mechanism.tree
    q, qd, qdd = axis_state(mechanism, tree, q, qd, qdd)
    motion = axis_motion(tree, q, qd, qdd)
    _, w = _carried(tree, motion.velocity)
    a, wd, r = *_carried(tree, motion.acceleration), _offset(tree, motion)
    found = np.concatenate([a + np.cross(wd, r) + np.cross(w, np.cross(w, r)), wd], axis=-1)
    return found if of is None else _of_one(mechanism, of, motion, found, w)


def _of_one(
    mechanism: Mechanism, name: str, motion: AxisMotion, found: Array, spin: Array | None = None
) -> Array:
    """Velocity of one body or frame from those of all bodies; with ``spin``, their angular velocities, the
    same of accelerations.
    """
    body, place = mechanism.place_of(name)
    if body == WORLD:
        return np.zeros((*found.shape[:-2], 6))
    k, tree = mechanism.body_index(body), mechanism.tree
    linear, angular = found[..., k, :3], found[..., k, 3:]
    arm = motion.rotation[..., tree.body_axis[k], :, :] @ tree.body_rotation[k] @ place.position
    linear = linear + np.cross(angular, arm)
    if spin is not None:
        w = spin[..., k, :]
        linear = linear + np.cross(w, np.cross(w, arm))
    return np.concatenate([linear, angular], axis=-1)


def jacobian(mechanism: Mechanism, q: ArrayLike, body: str, point: ArrayLike = AT_ORIGIN) -> Array:
    """J (..., 6, n_dof) with [velocity of the point; angular velocity] = J qd, in world axes.

    ``body`` is the name of a body or of a frame; ``point`` (3,) is fixed there and given in its frame (m).
    With closed loops qd are the rates of all
    joints of the tree; :func:`kinetree.loops.jacobian` takes those of the independent ones.

    >>> import kinetree as kt
    >>> kt.jacobian(kt.zoo.gripper(), [0, 0, 0, 0], "link3", point=(0.05, 0, 0))[1].round(9).tolist()
    [0.2, 0.1, 0.05, 0.0]
    """
    try:
        elsewhere = mechanism.frames and body not in mechanism.body_names
        k = 0 if elsewhere else mechanism.body_index(body)
    except (AttributeError, TypeError, ValueError):
        expect_mechanism(mechanism).place_of(body)
        raise
    if elsewhere:
        carrier, there = mechanism.place_of(body)
        place = there.rotation @ vector(point, 3, "point") + there.position
        if carrier == WORLD:
            q = all_axes(mechanism.tree, given(mechanism, q, "q"))
            return np.zeros((*q.shape[:-1], 6, mechanism.n_dof))
        return jacobian(mechanism, q, carrier, place)
    tree = aimed_tree(mechanism.tree, k)
    place = _ORIGIN if point is AT_ORIGIN else vector(point, 3, "point")
    call = tree.kept.calls.get(_JACOBIAN)  # straight to compiled code, which checks plain states
    if call is not None and (J := call(q, place)) is not None:
        return J.reshape(6, tree.n)  # type: ignore[no-any-return]
    return _JACOBIAN.closely(mechanism, tree, (q, place))


class _PointQuestion(Question[Array]):
    """A question about a point of a body, whose place is checked before."""

    def checked(self, mechanism: Mechanism, tree: Tree, state: tuple[Any, ...]) -> tuple[Array, ...]:
        """The coordinates of all axes, and the point as it is."""
        q, place = state
        return all_axes(tree, given(mechanism, q, "q")), place


def _jacobians(
    mechanism: Mechanism, tree: Tree, state: tuple[Array, ...], wrenches: None, threads: int | None
) -> Array:
    (J,) = evaluate(JACOBIAN, tree, state, [6 * tree.n])
    J = J.reshape((*state[0].shape[:-1], 6, tree.n))
    return J if tree.coupling is None else J @ axis_slopes(tree, state[0])


_JACOBIAN = _PointQuestion(
    "jacobian",
    JACOBIAN,
    ("q", "point"),
    general=_jacobians,
    answer=lambda tree, found: found.reshape(6, tree.n),
    feels_springs=False,
)


def _carried(tree: Tree, motion: Array) -> tuple[Array, Array]:
    """Linear and angular part of the motion of the axis that carries each body."""
    moved = motion[..., tree.body_axis, :]
    return moved[..., :3], moved[..., 3:]


def _offset(tree: Tree, motion: AxisMotion) -> Array:
    """From the origin of its axis to the origin of each body, in world axes."""
    offset: Array = (motion.rotation[..., tree.body_axis, :, :] @ tree.body_position[:, :, None])[..., 0]
    return offset
