"""Where to put a mechanism with a free base: with its lowest contact point on the ground."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.kinematics import Poses, forward_kinematics
from kinetree.model.body import WORLD
from kinetree.model.contact_point import ContactPoint
from kinetree.model.mechanism import Mechanism
from kinetree.simulation.ground import Ground

SAME = 1e-9  # m
STEPS, LEAST = 3, 0.1  # of the search on slopes; a floor whose normal has less than this along up is a wall


def can_stand(mechanism: Mechanism) -> bool:
    """Whether there are contact points, and a base that can be lifted against gravity."""
    return bool(mechanism.contact_points) and _lift(mechanism) is not None


def standing(mechanism: Mechanism, q: Array) -> Array:
    """The pose q (n_dof,) moved along gravity until the lowest contact point touches the floor.

    Without a floor of its own that is a level plane at height zero. A mechanism that cannot be moved so, or
    has no contact points, keeps its pose.

    >>> import kinetree as kt
    >>> standing(kt.zoo.quadruped(), np.zeros(18))[:3].round(3).tolist()
    [0.0, 0.0, 0.6]
    """
    lift = _lift(mechanism)
    if lift is None or not mechanism.contact_points:
        return q
    moved: Array = q + _missing(mechanism, q) * lift
    return moved


def lifted(mechanism: Mechanism, q: Array) -> Array:
    """The pose q (n_dof,), moved up as :func:`standing` does if a contact point is below the floor.

    >>> import kinetree as kt
    >>> robot = kt.zoo.quadruped()
    >>> [float(lifted(robot, np.eye(18)[2] * z)[2].round(3)) for z in (0.0, 0.9)]
    [0.6, 0.9]
    """
    lift = _lift(mechanism)
    if lift is None or not mechanism.contact_points:
        return q
    moved: Array = q + max(0.0, _missing(mechanism, q)) * lift
    return moved


def _missing(mechanism: Mechanism, q: Array) -> float:
    """How far (m) the lowest contact point of a pose must go up to touch the floor; below 0 if down."""
    ground = Ground.of(mechanism)
    up, normal = up_of(mechanism), ground.frame(mechanism)[0]
    poses = forward_kinematics(mechanism, q)
    places = np.array([_underside(poses, point, normal) for point in mechanism.contact_points])
    raised = 0.0
    for _ in range(STEPS if float(up @ normal) > LEAST else 0):
        raised -= float(ground.heights(mechanism, places + raised * up).min()) / float(up @ normal)
    return raised


def _underside(poses: Poses, point: ContactPoint, normal: Array) -> Array:
    """The place (3,) of a contact point, or of its sphere or ellipsoid, that reaches farthest down."""
    R, p = poses[point.body]
    place: Array = p + R @ point.lowest(R.T @ normal)
    return place


def up_of(mechanism: Mechanism) -> Array:
    """The unit vector (3,) against gravity, z without any."""
    length = float(np.linalg.norm(mechanism.gravity))
    return -mechanism.gravity / length if length > 0.0 else np.array([0.0, 0.0, 1.0])


def _lift(mechanism: Mechanism) -> Array | None:
    """The change of q (n_dof,) that moves the whole mechanism up by 1 m; None if there is none."""
    roots = [link for link in mechanism.links if link.parent == WORLD and not link.joint.is_fixed]
    if len(roots) != 1 or roots[0].joint.mimic is not None:
        return None
    joint = roots[0].joint
    sliding = [k for k, turns in enumerate(joint.turns) if not turns]
    if not sliding or sliding != list(range(len(sliding))):
        return None
    directions = (roots[0].placement.rotation @ joint.axes[sliding].T).reshape(3, -1)
    up = up_of(mechanism)
    amounts = np.linalg.lstsq(directions, up, rcond=None)[0]
    if np.linalg.norm(directions @ amounts - up) > SAME:
        return None
    first = mechanism.joint_index(joint.dof_names[0])
    lift = np.zeros(mechanism.n_dof)
    lift[first : first + len(sliding)] = amounts
    return lift
