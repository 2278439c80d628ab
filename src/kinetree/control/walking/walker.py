"""A biped as a walking law sees it: trunk, hips, feet and lengths, found in a mechanism by its topology."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, vector
from kinetree.algebra.rotation import rotation_about
from kinetree.algebra.rotation_vector import rotation_vector
from kinetree.analysis.coupling import all_axes
from kinetree.analysis.inverse_kinematics import inverse_kinematics
from kinetree.analysis.kinematics import axis_motion, forward_kinematics
from kinetree.analysis.targets import Target
from kinetree.control.structure import actuated_joints
from kinetree.errors import InputError, ModelError, listed
from kinetree.model.body import WORLD
from kinetree.model.mechanism import Link, Mechanism
from kinetree.model.tree import Integers

ALIGNED = 1e-3  # how far the axes of a planar robot may be from the lateral direction
BENT = (0.6, -0.6)  # rad: knees from which a standing posture is looked for


@dataclass(frozen=True, eq=False)
class Foot:
    """A foot: its body, the ankle (or the only contact point) and the sole's corners (k, 3) in its frame."""

    body: str
    point: Array
    contact_points: tuple[str, ...]
    corners: Array
    hip: str  # the first body of its leg
    joints: tuple[str, ...]  # degrees of freedom of its leg


@dataclass(frozen=True, eq=False)
class Walker:
    """What a walking law must know of a biped.

    ``axes`` (d, 3): rows forward, left and up, or forward and up of a planar robot. ``moving`` coordinates
    are those that the law thinks of, the base's ``n_base`` first; ``slides`` (d, n_base) takes the base's
    rates into velocity along the axes. Of ``turns``, angular velocities about the world's axes count.
    """

    mechanism: Mechanism
    feet: tuple[Foot, Foot]
    axes: Array
    moving: Integers
    n_base: int
    slides: Array
    turns: Array
    trunk: str
    leg: float  # m: stretched, hip to ankle
    hip_width: float  # m
    upright: Array  # (n_dof,) legs hang down

    @property
    def is_planar(self) -> bool:
        """Whether no joint can move the robot sideways."""
        return len(self.axes) == 2

    @property
    def has_soles(self) -> bool:
        """Whether feet are more than points."""
        return all(len(foot.corners) > 1 for foot in self.feet)

    @property
    def gravity(self) -> float:
        """Strength of gravity (m/s^2)."""
        return float(np.linalg.norm(self.mechanism.gravity))

    def standing(self, height: float, width: float, guess: Array | None = None) -> Array:
        """Coordinates (n_dof,) of a stance on level ground: hips ``height`` up, feet ``width`` apart (m)."""
        guesses = [self._bent(angle) for angle in BENT] if guess is None else [guess]
        found = [self._stance(start, height, width) for start in guesses]
        good = [q for q in found if q is not None]
        if not good:
            raise ModelError(
                f"'{self.mechanism.name}' cannot stand with its hips {height:.3g} m above its feet; give a "
                "posture from which to look for one"
            )
        return max(good, key=self._knee_forward)

    # ---- helpers -----------------------------------------------------------------------------------------
    def _bent(self, angle: float) -> Array:
        """The upright posture with bent legs, feet level: each second pitch bends, the others undo it."""
        q = self.upright.copy()
        for foot in self.feet:
            pitch = self._pitch_joints(foot)
            bend = (-0.5, 1.0, -0.5) if len(pitch) > 2 else (-0.5, 1.0)
            for (k, sign), share in zip(pitch[:3], bend, strict=False):
                q[k] += sign * share * angle
        return q

    def _pitch_joints(self, foot: Foot) -> list[tuple[int, float]]:
        """Coordinates of a leg that rotate about the lateral axis, and their sense."""
        tree, lateral = self.mechanism.tree, _lateral(self.axes)
        rest = np.zeros(tree.n)
        z = axis_motion(tree, all_axes(tree, self.upright), rest, rest).rotation[:, :, 2]
        found = []
        for name in foot.joints:
            i = tree.axis_names.index(name)
            if tree.turns[i] and abs(z[i] @ lateral) > 0.7:
                found.append((self.mechanism.joint_index(name), float(np.sign(z[i] @ lateral))))
        return found

    def _stance(self, start: Array, height: float, width: float) -> Array | None:
        """The stance nearest to a posture, or None."""
        mechanism, up = self.mechanism, self.axes[-1]
        pose = forward_kinematics(mechanism, start)
        targets = []
        for side, foot in zip((1.0, -1.0), self.feet, strict=True):
            k, hip = mechanism.body_index(foot.body), pose.position[mechanism.body_index(foot.hip)]
            place = hip - up * ((up @ hip) - self._sole_height(foot, self._level(foot, pose.rotation[k])))
            if not self.is_planar:
                left = self.axes[1]
                place = place + left * (0.5 * side * width - left @ (hip - self._middle(pose)))
            level = self._level(foot, pose.rotation[k]) if len(foot.corners) > 1 else None
            targets.append(Target(foot.body, position=place, point=foot.point, orientation=level))
        raised = start + self._lift(height - self._hip_height(start))
        frozen = [
            name
            for name, moves in zip(mechanism.joint_names, self._leg_coordinates(), strict=True)
            if not moves
        ]
        found = inverse_kinematics(mechanism, targets, raised, frozen=frozen, strict=False)
        return found.q if bool(np.all(found.converged)) else None

    def _leg_coordinates(self) -> Array:
        inside = {name for foot in self.feet for name in foot.joints}
        return np.array([name in inside for name in self.mechanism.joint_names])

    def _middle(self, pose: object) -> Array:
        places = [pose.position[self.mechanism.body_index(foot.hip)] for foot in self.feet]  # type: ignore[attr-defined]
        middle: Array = np.mean(places, axis=0)
        return middle

    def _level(self, foot: Foot, rotation: Array) -> Array:
        """The rotation nearest to the present one with the sole on level ground, toes forward."""
        if len(foot.corners) < 2:
            return rotation
        ahead, up = self.axes[0], self.axes[-1]
        corners = foot.corners @ rotation.T
        if self.is_planar:
            far = np.argsort(np.linalg.norm(foot.corners - foot.point, axis=1))
            sole = corners[far[-1]] - corners[far[0]]
            left = _lateral(self.axes)
            angle = np.arctan2(left @ np.cross(sole, ahead), sole @ ahead)
            leveled: Array = rotation_about(left, float(angle)) @ rotation
            return leveled
        normal = np.linalg.svd(corners - corners.mean(axis=0))[2][-1]
        normal = normal if normal @ up > 0.0 else -normal
        across = np.cross(normal, up)
        sine = float(np.linalg.norm(across))
        if sine < 1e-12:
            return rotation
        leveled = rotation_about(across / sine, float(np.arctan2(sine, normal @ up))) @ rotation
        return leveled

    def _sole_height(self, foot: Foot, rotation: Array) -> float:
        """Height of the ankle above the lowest corner of the sole, with the foot as it is."""
        return -float(((foot.corners - foot.point) @ rotation.T @ self.axes[-1]).min())

    def _hip_height(self, q: Array) -> float:
        pose = forward_kinematics(self.mechanism, q)
        heights = [self.axes[-1] @ pose.position[self.mechanism.body_index(x.hip)] for x in self.feet]
        soles = [
            self._sole_height(x, self._level(x, pose.rotation[self.mechanism.body_index(x.body)]))
            for x in self.feet
        ]
        return float(np.mean(heights)) - float(np.mean(soles))

    def _lift(self, distance: float) -> Array:
        """A change of the base's coordinates (n_dof,) that moves the robot up by a distance (m)."""
        change = np.zeros(self.mechanism.n_dof)
        change[self.moving[: self.n_base]] = distance * self.slides[-1]
        return change

    def _knee_forward(self, q: Array) -> float:
        """How far the middle of the legs lies in front of the line from hip to ankle (m)."""
        pose, total = forward_kinematics(self.mechanism, q), 0.0
        for foot in self.feet:
            chain = _chain(self.mechanism, foot.body, foot.hip)
            places = [pose.position[self.mechanism.body_index(link.body.name)] for link in chain]
            hip, ankle = (
                places[0],
                places[-1] + pose.rotation[self.mechanism.body_index(foot.body)] @ foot.point,
            )
            total += sum(
                float(self.axes[0] @ (p - 0.5 * (hip + ankle))) for p in places[1:-1] or [places[-1]]
            )
        return total


def walker_of(mechanism: Mechanism, forward: ArrayLike = (1.0, 0.0, 0.0)) -> Walker:
    """The biped in a mechanism: the root is its trunk, the lowest bodies with contact points are its feet."""
    base = mechanism.links[0]
    up, ahead = walking_directions(mechanism, forward)
    left = np.cross(up, ahead)
    upright = _upright(mechanism, base, up, left)
    legs = _legs(mechanism, base)
    if len(legs) != 2:
        raise ModelError(
            f"'{mechanism.name}' has {len(legs)} legs with contact points below its trunk "
            f"'{base.body.name}'; a walking law needs two"
        )
    feet = sorted(
        (_foot(mechanism, base, chain, tip) for chain, tip in legs),
        key=lambda foot: -float(left @ _hip(mechanism, upright, foot)),
    )
    axes, base_moves, slides, turns = _directions(mechanism, base, upright, ahead, left, up, feet)
    others = np.flatnonzero(actuated_joints(mechanism))
    hips = [_hip(mechanism, upright, foot) for foot in feet]
    lengths = [_leg_length(mechanism, foot, upright) for foot in feet]
    return Walker(
        mechanism,
        (feet[0], feet[1]),
        axes,
        np.concatenate([base_moves, others]),
        len(base_moves),
        slides,
        turns,
        base.body.name,
        float(np.mean(lengths)),
        float(left @ (hips[0] - hips[1])),
        upright,
    )


def walking_directions(mechanism: Mechanism, forward: ArrayLike) -> tuple[Array, Array]:
    """Up, against gravity, and the horizontal direction of the walk, of length one."""
    strength = float(np.linalg.norm(mechanism.gravity))
    if strength == 0.0:
        raise InputError(f"'{mechanism.name}' has no gravity, so there is no ground to walk on")
    up = -mechanism.gravity / strength
    ahead = vector(forward, 3, "forward")
    ahead = ahead - up * (up @ ahead)
    if not np.linalg.norm(ahead) > 0.0:
        raise InputError(f"forward must have a horizontal part, got {np.asarray(forward).tolist()}")
    return up, ahead / float(np.linalg.norm(ahead))


def _lateral(axes: Array) -> Array:
    return np.cross(axes[-1], axes[0])


def _legs(mechanism: Mechanism, base: Link) -> list[tuple[list[Link], Link]]:
    """Chains of links from the trunk to the last bodies with contact points, one per child of the trunk."""
    touching = {point.body for point in mechanism.contact_points}
    if not touching:
        raise ModelError(f"'{mechanism.name}' has no contact points, so it has no feet")
    found = []
    for tip in mechanism.links:
        if tip.body.name not in touching or tip is base or _has_touching_child(mechanism, tip, touching):
            continue
        found.append((_chain(mechanism, tip.body.name, None), tip))
    return [(chain, tip) for chain, tip in found if len(chain) > 1]


def _has_touching_child(mechanism: Mechanism, link: Link, touching: set[str]) -> bool:
    """Whether a body further out than this one touches the ground."""
    for other in mechanism.links:
        if other.body.name in touching and other is not link:
            names = [x.body.name for x in _chain(mechanism, other.body.name, None)]
            if link.body.name in names:
                return True
    return False


def _chain(mechanism: Mechanism, body: str, first: str | None) -> list[Link]:
    """Links from a child of the root (or the body ``first``) to a body."""
    by_name = {link.body.name: link for link in mechanism.links}
    chain = [by_name[body]]
    while chain[0].body.name != first and by_name.get(chain[0].parent) is not None:
        parent = by_name[chain[0].parent]
        if parent.parent == WORLD:
            break
        chain.insert(0, parent)
    return chain


def _foot(mechanism: Mechanism, base: Link, chain: list[Link], tip: Link) -> Foot:
    points = [point for point in mechanism.contact_points if point.body == tip.body.name]
    corners = np.array([point.position for point in points])
    movable = [link for link in chain if link.joint.n_dof]
    if not movable:
        raise ModelError(f"'{mechanism.name}': no joint moves the foot '{tip.body.name}'")
    names = tuple(name for link in movable for name in link.joint.dof_names if link.joint.mimic is None)
    has_sole = len(points) > 1
    point = np.zeros(3) if has_sole else corners[0]
    return Foot(tip.body.name, point, tuple(p.name for p in points), corners, movable[0].body.name, names)


def _hip(mechanism: Mechanism, q: Array, foot: Foot) -> Array:
    place: Array = forward_kinematics(mechanism, q).position[mechanism.body_index(foot.hip)]
    return place


def _leg_length(mechanism: Mechanism, foot: Foot, q: Array) -> float:
    """The sum of the distances between the joints of a leg (m)."""
    pose = forward_kinematics(mechanism, q)
    chain = _chain(mechanism, foot.body, foot.hip)
    places = [pose.position[mechanism.body_index(link.body.name)] for link in chain]
    k = mechanism.body_index(foot.body)
    places.append(pose.position[k] + pose.rotation[k] @ foot.point)
    return float(sum(np.linalg.norm(b - a) for a, b in pairwise(places)))


def _upright(mechanism: Mechanism, base: Link, up: Array, left: Array) -> Array:
    """Coordinates with the trunk rotated about the lateral axis such that the legs hang down."""
    q = np.zeros(mechanism.n_dof)
    pose = forward_kinematics(mechanism, q)
    downs = []
    for chain, tip in _legs(mechanism, base):
        foot = _foot(mechanism, base, chain, tip)
        k = mechanism.body_index(foot.body)
        downs.append(
            pose.position[k] + pose.rotation[k] @ foot.corners.mean(axis=0) - _hip(mechanism, q, foot)
        )
    down, ahead = np.sum(downs, axis=0), np.cross(left, up)
    lean = float(np.arctan2(-(down @ ahead), -(down @ up)))
    if abs(lean) < 0.3:  # rad: feet may reach out a little
        return q
    for k in range(base.joint.n_dof):
        z = _axis(mechanism, q, k)
        if mechanism.tree.turns[k] and abs(abs(z @ left) - 1.0) < ALIGNED:
            q[k] = -lean * np.sign(z @ left)
            return q
    raise ModelError(
        f"'{mechanism.name}' does not stand at q = 0, and no axis of its base '{base.joint.name}' is lateral"
    )


def _axis(mechanism: Mechanism, q: Array, k: int) -> Array:
    tree = mechanism.tree
    rest = np.zeros(tree.n)
    z: Array = axis_motion(tree, all_axes(tree, q), rest, rest).rotation[k, :, 2]
    return z


def _directions(
    mechanism: Mechanism,
    base: Link,
    upright: Array,
    ahead: Array,
    left: Array,
    up: Array,
    feet: Sequence[Foot],
) -> tuple[Array, Integers, Array, Array]:
    """Axes of the walk, coordinates of the base that move, their directions, rotations that count."""
    joint = base.joint
    slides = [k for k in range(joint.n_dof) if not mechanism.tree.turns[k]]
    directions = np.array([_axis(mechanism, upright, k) for k in slides]).reshape(-1, 3)
    turns = [k for k in range(joint.n_dof) if mechanism.tree.turns[k]]
    tree = mechanism.tree
    rest = np.zeros(tree.n)
    z = axis_motion(tree, all_axes(tree, upright), rest, rest).rotation[:, :, 2]
    inside = [tree.axis_names.index(name) for foot in feet for name in foot.joints]
    planar = all(abs(abs(z[i] @ left) - 1.0) < ALIGNED for i in inside)
    axes = np.array([ahead, up] if planar else [ahead, left, up])
    wanted = 3 if planar else 6
    if planar:
        slides_kept = [k for k, d in zip(slides, directions, strict=True) if abs(d @ left) < ALIGNED]
        turns_kept = [k for k in turns if abs(abs(_axis(mechanism, upright, k) @ left) - 1.0) < ALIGNED][:1]
    else:
        slides_kept, turns_kept = slides, turns
    kept = [*slides_kept, *turns_kept]
    if len(kept) != wanted or len(slides_kept) != len(axes):
        raise ModelError(
            f"'{mechanism.name}': a {'planar' if planar else 'spatial'} walker needs a base that moves along "
            f"{'forward and up and rotates about the lateral axis' if planar else 'and about all axes'}; "
            f"'{joint.name}' is {joint.kind} with {listed(joint.dof_names)}"
        )
    moves = np.zeros((len(axes), len(kept)))
    for column, k in enumerate(slides_kept):
        moves[:, column] = axes @ _axis(mechanism, upright, k)
    about = np.array([left]) if planar else np.eye(3)
    return axes, np.array(kept), moves, about


def attitude_error(wanted: Array, present: Array) -> Array:
    """Rotation vector (3,) in the world from the present rotation to the wanted one."""
    turn: Array = rotation_vector(wanted @ present.T)
    return turn
