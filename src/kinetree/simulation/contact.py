"""Forces of the ground in given states, in plain formulas over any batch ([Shah2013], appendix D)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.algebra.shown import Shown
from kinetree.analysis.kinematics import body_velocities, forward_kinematics
from kinetree.dynamics.evaluate import same_batch
from kinetree.errors import expect
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags
from kinetree.simulation.ground import Ground
from kinetree.state import Wrench, coordinates

TURNS = 25  # at most, until place and normal of a round point on uneven ground agree


@dataclass(frozen=True, eq=False, repr=False)
class ContactForces(Shown):
    """Forces and motion at p contact points, arrays (..., p) and (..., p, 3).

    ``force`` of the ground on the point (N) and its ``position`` (m), both in the world; ``height`` (m) above
    the ground, negative below; ``velocity`` (m/s) out of the ground, forward and to the side. For spheres and
    ellipsoids these refer to the point nearest to the ground; ``center`` (m) is their center.
    """

    names: tuple[str, ...]
    force: Array
    position: Array
    height: Array
    velocity: Array
    center: Array

    @property
    def penetration(self) -> Array:
        """Depth in the ground (m); zero in the air."""
        depth: Array = np.maximum(0.0, -self.height)
        return depth

    @property
    def touching(self) -> Flags:
        """Which points are in contact."""
        return np.asarray(self.force.any(axis=-1))

    def wrenches(self, mechanism: Mechanism) -> list[Wrench]:
        """The forces as loads on the bodies that carry the points."""
        known, found = {point.name: point for point in mechanism.contact_points}, []
        for k, name in enumerate(self.names):
            point, force = known[name], self.force[..., k, :]
            moment = np.zeros(3)
            if point.is_round:
                moment = np.cross(self.position[..., k, :] - self.center[..., k, :], force)
            found.append(Wrench(point.body, force, moment, point.position))
        return found


def contact_forces(mechanism: Mechanism, ground: Ground, q: ArrayLike, qd: ArrayLike) -> ContactForces:
    """Ground forces on the contact points of a mechanism in states q, qd (..., n_dof).

    >>> import kinetree as kt
    >>> robot = kt.zoo.quadruped()
    >>> rest = [0.0] * robot.n_dof
    >>> kt.simulation.contact_forces(robot, kt.Ground(origin=(0, 0, -0.3)), rest, rest).force.shape
    (12, 3)
    """
    expect_mechanism(mechanism)
    expect(ground, Ground, "ground", "a Ground")
    q, qd = same_batch(coordinates(mechanism, q, "q"), coordinates(mechanism, qd, "qd"))
    names = ground.contact_names(mechanism)
    frame = np.stack(ground.frame(mechanism))
    if ground.terrain is None:
        centre, r, v = _points(mechanism, names, q, qd, frame[0])
        local = (r - np.asarray(ground.origin)) @ frame.T
        height, directions = local[..., 0], frame
    else:
        centre, r, v, height, directions, local = _on_terrain(mechanism, ground, names, q, qd)
    velocity = (directions @ v[..., None])[..., 0]
    soil = _soil(mechanism, ground, local[..., 1], local[..., 2])
    known = {point.name: point for point in mechanism.contact_points}
    for k, name in enumerate(names):
        if known[name].friction is not None:
            soil["friction"][..., k] = known[name].friction
    height = height - soil["height"]
    N = _normal_force(-height, velocity[..., 0], soil)
    along, across = (_friction(N, velocity[..., k], soil) for k in (1, 2))
    parts = np.stack([N, along, across], axis=-1)
    force = (np.swapaxes(directions, -1, -2) @ parts[..., None])[..., 0]
    return ContactForces(names, force, r, height, velocity, centre)


def _on_terrain(
    mechanism: Mechanism, ground: Ground, names: tuple[str, ...], q: Array, qd: Array
) -> tuple[Array, ...]:
    """Centers, positions, velocities; heights along the normal; directions (..., p, 3, 3); foot on the plane.

    Place and normal of a round point depend on each other, and are found in turn.
    """
    assert ground.terrain is not None
    frame, origin = np.stack(ground.frame(mechanism)), np.asarray(ground.origin)
    order = frame[[1, 2, 0]]
    normal = np.broadcast_to(frame[0], (*q.shape[:-1], len(names), 3))
    round_ones = any(x.is_round for x in mechanism.contact_points if x.name in names)
    for turn in range(TURNS if round_ones else 1):
        centre, r, v = _points(mechanism, names, q, qd, normal)
        seen = r if turn else centre
        foot, upward = ground.terrain.nearest((seen - origin) @ order.T)
        before, normal = normal, upward @ order
        if turn and np.abs(normal - before).max(initial=0.0) < 1e-15:
            break
    centre, r, v = _points(mechanism, names, q, qd, normal)
    place = foot @ order + origin
    height = ((r - place) * normal).sum(axis=-1)
    slope = -upward[..., :1] / upward[..., 2:]
    ahead = frame[1] + slope * frame[0]
    ahead = ahead / np.linalg.norm(ahead, axis=-1, keepdims=True)
    directions = np.stack([normal, ahead, np.cross(normal, ahead)], axis=-2)
    return centre, r, v, height, directions, foot[..., [2, 0, 1]]


def _points(
    mechanism: Mechanism, names: tuple[str, ...], q: Array, qd: Array, up: Array
) -> tuple[Array, Array, Array]:
    """Centers, contact positions, velocities of these in the world, (..., p, 3); ``up`` likewise or (3,)."""
    known = {point.name: point for point in mechanism.contact_points}
    points = [known[name] for name in names]
    bodies = [mechanism.body_index(point.body) for point in points]
    poses, twists = forward_kinematics(mechanism, q), body_velocities(mechanism, q, qd)[..., bodies, :]
    R, p = poses.rotation[..., bodies, :, :], poses.position[..., bodies, :]
    middle = (R @ np.array([point.position for point in points])[:, :, None])[..., 0]
    seen = (np.swapaxes(R, -1, -2) @ up[..., None])[..., 0]  # the ground's normal in the bodies
    places = np.stack([point.lowest(seen[..., k, :]) for k, point in enumerate(points)], axis=-2)
    arm = (R @ places[..., None])[..., 0]
    return p + middle, p + arm, twists[..., :3] + np.cross(twists[..., 3:], arm)


def _soil(mechanism: Mechanism, ground: Ground, x: Array, y: Array) -> dict[str, Array]:
    """The parameters of the ground under each point; later regions lie on earlier ones."""
    everywhere = {"height": 0.0, **ground.soil.columns(mechanism)}
    here = {name: np.full(x.shape, value) for name, value in everywhere.items()}
    for region in ground.regions:
        (x0, x1), (y0, y1) = region.forward, region.side
        inside = (x >= x0) & (x < x1) & (y >= y0) & (y < y1)
        soil = (region.soil or ground.soil).columns(mechanism)
        for name, value in {"height": region.height, **soil}.items():
            here[name][inside] = value
    return here


def _normal_force(depth: Array, speed: Array, soil: dict[str, Array]) -> Array:
    """K s - c speed, never pulling ([Shah2013], D.1-D.4, D.6); speed > 0 is out of the ground."""
    rises = speed >= 0.0
    share = np.clip(depth / soil["ramp"], 0.0, 1.0)
    ramp = share**2 * (3.0 - 2.0 * share)
    damping = soil["damping"] * np.where(rises, soil["rising"] * ramp, 1.0)
    lowered = np.where(depth > soil["layer"], depth - soil["lowered"] * soil["layer"], 0.0)
    pressed = np.where(rises & (soil["lowered"] == 0.0), depth, lowered)
    push = soil["stiffness"] * pressed - damping * speed
    force: Array = np.where((depth > 0.0) & (push > 0.0), push, 0.0)
    return force


def _friction(N: Array, speed: Array, soil: dict[str, Array]) -> Array:
    """-mu N (2/pi) atan(pi slipping speed / (2 mu N)) ([Shah2013], D.5)."""
    most = soil["friction"] * N
    pull = 0.5 * np.pi * soil["slipping"] * speed
    ratio = np.divide(pull, most, out=np.zeros_like(pull), where=most > 0.0)
    return -most * (2.0 / np.pi) * np.arctan(ratio)
