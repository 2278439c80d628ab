"""External wrenches as the kernels want them: lumped per axis, in its frame at its origin."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, numbers
from kinetree.dynamics.axis_motion import axis_motion, body_poses
from kinetree.dynamics.springs import spring_wrenches
from kinetree.errors import InputError
from kinetree.kernels.load_gradient import LOAD
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS, Tree
from kinetree.state import Wrench

Wrenches = Wrench | Sequence[Wrench] | ArrayLike | None
NO_LOAD = np.zeros(0)


def with_springs(mechanism: Mechanism, q: Array, qd: Array, wrenches: Wrenches) -> Wrenches:
    """The wrenches, and the forces of the mechanism's springs at states (..., n_axes)."""
    if mechanism.tree.springs is None:
        return wrenches
    return [*listed_wrenches(mechanism, wrenches), *spring_wrenches(mechanism, q, qd)]


def listed_wrenches(mechanism: Mechanism, wrenches: Wrenches) -> list[Wrench]:
    """Wrenches of any form as a list of single ones."""
    if wrenches is None:
        return []
    if isinstance(wrenches, Wrench):
        return [wrenches]
    if isinstance(wrenches, Sequence) and all(isinstance(w, Wrench) for w in wrenches):
        return list(cast(Sequence[Wrench], wrenches))
    array = _checked_array(mechanism, cast(ArrayLike, wrenches))
    names = mechanism.body_names
    return [Wrench(name, array[..., k, :3], array[..., k, 3:]) for k, name in enumerate(names)]


def on_body(mechanism: Mechanism, wrench: Wrench) -> Wrench:
    """The wrench, or one on a named frame as that on the body which carries it."""
    if not mechanism.frames or wrench.body in mechanism.body_names:
        return wrench
    body, place = mechanism.place_of(wrench.body)
    force, moment = np.asarray(wrench.force), np.asarray(wrench.moment)
    if wrench.frame == "body":
        force, moment = force @ place.rotation.T, moment @ place.rotation.T
    point = place.rotation @ np.asarray(wrench.point) + place.position
    return Wrench(body, force, moment, point, wrench.frame)


def body_loads(mechanism: Mechanism, q: Array, wrenches: Wrenches) -> Array | None:
    """Force and moment on every body at its origin in body axes, (..., n_bodies, 6); None without loads.

    ``q`` (..., n_axes). ``wrenches`` is a :class:`Wrench`, a list of them, or an array (..., n_bodies, 6) of
    forces and moments at the body origins in world axes.
    """
    if wrenches is None:
        return None
    rest = np.zeros(mechanism.tree.n)
    rotation, _ = body_poses(mechanism.tree, axis_motion(mechanism.tree, q, rest, rest))
    to_body = np.swapaxes(rotation, -1, -2)
    if isinstance(wrenches, Wrench):
        wrenches = [wrenches]
    if isinstance(wrenches, Sequence) and all(isinstance(w, Wrench) for w in wrenches):
        return _listed_loads(mechanism, to_body, cast(Sequence[Wrench], wrenches))
    return _array_loads(mechanism, to_body, cast(ArrayLike, wrenches))


def axis_loads(tree: Tree, loads: Array | None) -> Array:
    """The loads on the axes that carry the bodies, (..., 6 n_axes); empty without loads."""
    if loads is None:
        return NO_LOAD
    force = (tree.body_rotation @ loads[..., :3, None])[..., 0]
    moment = (tree.body_rotation @ loads[..., 3:, None])[..., 0] + np.cross(tree.body_position, force)
    result = np.zeros((*loads.shape[:-2], tree.n, 6))
    for k, axis in enumerate(tree.body_axis):
        if axis != WORLD_AXIS:
            result[..., axis, :3] += force[..., k, :]
            result[..., axis, 3:] += moment[..., k, :]
    return result.reshape((*loads.shape[:-2], 6 * tree.n))


def _listed_loads(mechanism: Mechanism, to_body: Array, wrenches: Sequence[Wrench]) -> Array:
    """Sum of single wrenches, each at its point and in its own frame."""
    batch = _check_batch(to_body, [np.shape(x)[:-1] for w in wrenches for x in (w.force, w.moment)])
    loads = np.zeros((*batch, mechanism.n_bodies, 6))
    for w in map(partial(on_body, mechanism), wrenches):
        k = mechanism.body_index(w.body)
        force, moment = np.asarray(w.force), np.asarray(w.moment)
        if w.frame == "world":
            force = (to_body[..., k, :, :] @ force[..., None])[..., 0]
            moment = (to_body[..., k, :, :] @ moment[..., None])[..., 0]
        loads[..., k, :3] += force
        loads[..., k, 3:] += moment + np.cross(np.asarray(w.point), force)
    return loads


def load_moments(mechanism: Mechanism, tree: Tree, wrenches: Wrenches) -> Array:
    """Loads with what their derivatives need, (..., LOAD n_axes): see `kernels.load_gradient`."""
    listed = listed_wrenches(mechanism, wrenches)
    shapes = [np.shape(x)[:-1] for w in listed for x in (w.force, w.moment)]
    result = np.zeros((*np.broadcast_shapes(*shapes), tree.n, LOAD))
    for w in map(partial(on_body, mechanism), listed):
        k = mechanism.body_index(w.body)
        axis, R = int(tree.body_axis[k]), tree.body_rotation[k]
        if axis == WORLD_AXIS:
            continue
        point = R @ np.asarray(w.point) + tree.body_position[k]
        force, moment = np.asarray(w.force), np.asarray(w.moment)
        if w.frame == "body":
            force, moment = force @ R.T, moment @ R.T
            result[..., axis, :3] += force
            result[..., axis, 3:6] += moment + np.cross(point, force)
        else:
            result[..., axis, 6:9] += force
            result[..., axis, 9:12] += moment
            first = point[:, None] * force[..., None, :]
            result[..., axis, 12:] += first.reshape((*first.shape[:-2], 9))
    return result.reshape((*result.shape[:-2], LOAD * tree.n))


def _check_batch(to_body: Array, shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The common batch shape of states and loads."""
    states = to_body.shape[:-3]
    try:
        return np.broadcast_shapes(states, *shapes)
    except ValueError:
        raise InputError(
            f"batch axes of the wrenches {shapes} do not fit the batch of states {states}"
        ) from None


def _array_loads(mechanism: Mechanism, to_body: Array, wrenches: ArrayLike) -> Array:
    """Wrenches on all bodies at once, turned from world to body axes."""
    array = _checked_array(mechanism, wrenches)
    _check_batch(to_body, [array.shape[:-2]])
    force = (to_body @ array[..., :3, None])[..., 0]
    moment = (to_body @ array[..., 3:, None])[..., 0]
    return np.concatenate([force, moment], axis=-1)


def _checked_array(mechanism: Mechanism, wrenches: ArrayLike) -> Array:
    array = finite(numbers(wrenches, "wrenches"), "wrenches")
    if array.shape[-2:] != (mechanism.n_bodies, 6):
        raise InputError(
            f"wrenches must be Wrench objects or an array of shape (..., {mechanism.n_bodies}, 6), force and "
            f"moment for each body; got shape {array.shape}"
        )
    return array
