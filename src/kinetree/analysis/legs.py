"""Robots on feet: trunk, hips, feet and lengths, recognized by topology."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, vector
from kinetree.analysis.inverse import mass_matrix
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.analysis.leg_chains import Leg, LegChain, alternating, leg_chains, reaching_down
from kinetree.dynamics.axis_motion import axis_motion
from kinetree.dynamics.coupling import all_axes
from kinetree.errors import InputError, ModelError, listed
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Link, Mechanism
from kinetree.model.tree import Integers

LEVEL = 1e-9  # sine of the angle between forward and the horizontal plane
# Thresholds in L, the length of the legs. Robots are named where one of them decided; the others hold for the
# bipeds, quadrupeds and hexapods of the zoo and of the walkers' benchmark.
ALIGNED = 1e-3  # how far the axes of a planar robot may be from the lateral direction
ALONG = 0.7  # cosine beyond which two axes count as parallel
POINT = 0.05  # extent of a sole, in L, below which a foot is a point
CORNERS = 4  # contact points of a foot that are all of its sole; of more, the lowest are
SOLE = 0.03  # height, in L, within which contact points of a foot belong to its sole
FACE = 0.005  # distance, in L, from the face of a sole within which contact points belong to it (iCub's rim)
ANKLE = 0.35  # distance, in L, of the last joint from the middle of a sole that it can rotate
FLAT = 0.2  # height, in L, from which on few contact points of a foot are more than its sole
ROUNDING, SLIGHT = 1e-13, 0.01  # eigenvalues that are no inertia (iCub's neck); armature relative to inertias
ALIKE = 1.5  # by how much the lengths of legs may differ


@dataclass(frozen=True, eq=False)
class Foot:
    """A foot: its body, the end of its leg and the corners of its sole, in the frame of the body.

    The leg ends in the ankle of a sole, and in the one contact point of other feet. ``radius`` (m) of a foot
    that is a ball; its point is the center then.
    """

    body: str
    point: Array  # (3,) where the leg ends
    contact_points: tuple[str, ...]
    points: Array  # (k, 3) corners of the sole
    radius: float
    hip: str  # the first body of its leg that the axis of the knee moves
    joints: tuple[str, ...]  # degrees of freedom of its leg
    bending: tuple[tuple[int, float], ...]  # coordinates parallel to the knee's, and their sense

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each of the points: those of the contact points, if these are all."""
        if len(self.contact_points) == len(self.points):
            return self.contact_points
        return tuple(f"{self.body} {k + 1}" for k in range(len(self.points)))

    @property
    def middle(self) -> Array:
        """Mean of the points (3,)."""
        mean: Array = self.points.mean(axis=0)
        return mean


@dataclass(frozen=True, eq=False)
class OnFeet:
    """A mechanism on feet, of a robot or a person: its root, joints, contact points and weight."""

    mechanism: Mechanism

    @cached_property
    def root(self) -> tuple[str, ...]:
        """Coordinates of the root, which the ground moves or nothing does."""
        return tuple(self.mechanism.links[0].joint.dof_names)

    @property
    def still(self) -> Collection[str]:
        """Coordinates besides those of the root that no drive or muscle moves."""
        return ()

    @cached_property
    def joints(self) -> list[str]:
        """All others, which drives or muscles move."""
        others = {*self.root, *self.still}
        return [name for name in self.mechanism.joint_names if name not in others]

    @cached_property
    def points(self) -> dict[str, tuple[str, Array]]:
        """Body and position (3,) (m) of every contact point."""
        return {point.name: (point.body, point.position) for point in self.mechanism.contact_points}

    @property
    def weight(self) -> float:
        """N."""
        return float(self.mechanism.mass * np.linalg.norm(self.mechanism.gravity))

    def placed(self, q: Array) -> dict[str, Array]:
        """Where contact points are in the world at q (n_dof,), (3,) each (m)."""
        poses = forward_kinematics(self.mechanism, q)
        return {name: poses[body][1] + poses[body][0] @ x for name, (body, x) in self.points.items()}


@dataclass(frozen=True, eq=False)
class Legged(OnFeet):
    """A robot on feet: what laws of walking and predicted gaits must know of it.

    ``axes`` (d, 3): rows forward, left and up, or forward and up of a planar robot. ``moving`` coordinates
    are those that the law thinks of, the base's ``n_base`` first; ``slides`` (d, n_base) takes the base's
    rates into velocity along the axes. Angular velocities about ``turns`` count, the vertical last.
    ``groups``: feet that swing together.
    """

    feet: tuple[Foot, ...]
    groups: tuple[tuple[int, ...], tuple[int, ...]]
    axes: Array
    moving: Integers
    n_base: int
    slides: Array
    turns: Array
    trunk: str
    leg: float  # m: stretched, hip to ankle
    hip_width: float  # m
    upright: Array  # (n_dof,) legs hang down
    steps_sideways: bool  # whether joints of the legs move feet to the side

    @property
    def is_planar(self) -> bool:
        """Whether no joint can move the robot sideways."""
        return len(self.axes) == 2

    @property
    def is_biped(self) -> bool:
        """Whether it walks on two legs."""
        return len(self.feet) == 2

    @property
    def has_soles(self) -> bool:
        """Whether feet are more than points."""
        return all(len(foot.points) > 1 for foot in self.feet)

    @property
    def gravity(self) -> float:
        """Strength of gravity (m/s^2)."""
        return float(np.linalg.norm(self.mechanism.gravity))

    @property
    def lateral(self) -> Array:
        """To the left (3,)."""
        return np.cross(self.axes[-1], self.axes[0])


def legged(
    mechanism: Mechanism,
    forward: ArrayLike = (1.0, 0.0, 0.0),
    legs: Sequence[Leg] | None = None,
    least: int = 2,
) -> Legged:
    """The robot on feet in a mechanism: its root is the trunk, outermost bodies with contact points are feet.

    It has ``least`` legs or more.
    """
    base = expect_mechanism(mechanism).links[0]
    up, ahead = walking_directions(mechanism, forward)
    left = np.cross(up, ahead)
    chains = leg_chains(mechanism, legs)
    _check_several(mechanism, base, chains, least)
    upright = _upright(mechanism, base, chains, up, left)
    _check_inertia(mechanism, upright)
    if legs is None:
        chains = reaching_down(mechanism, chains, upright, up)
        _check_several(mechanism, base, chains, least)
    lengths = [_leg_length(mechanism, chain, upright, left) for chain in chains]
    leg = float(np.mean(lengths))
    _check_alike(mechanism, chains, lengths)
    feet = sorted(
        (_foot(mechanism, chain, upright, up, left, leg, len(chains)) for chain in chains),
        key=lambda foot: -round(float(left @ _place(mechanism, upright, foot.hip)), 9),
    )
    places = [_place(mechanism, upright, foot.hip) for foot in feet]
    groups = alternating(places, left, ahead)
    axes, base_moves, slides, turns = _directions(mechanism, base, upright, ahead, left, up, feet)
    others = np.flatnonzero(mechanism.actuated)
    others = others[others >= base.joint.n_dof]
    across = [float(left @ x) for x in places]
    return Legged(
        mechanism,
        tuple(feet),
        (_members(groups, 0), _members(groups, 1)),
        axes,
        np.concatenate([base_moves, others]),
        len(base_moves),
        slides,
        turns,
        base.body.name,
        leg,
        max(across) - min(across),
        upright,
        not _legs_are_flat(mechanism, upright, left, feet),
    )


def walking_directions(mechanism: Mechanism, forward: ArrayLike) -> tuple[Array, Array]:
    """Up, against gravity, and the horizontal direction of the walk, of length one."""
    up, ahead = _up(mechanism), vector(forward, 3, "forward")
    ahead = ahead - up * (up @ ahead)
    if not np.linalg.norm(ahead) > 0.0:
        raise InputError(f"forward must have a horizontal part, got {np.asarray(forward).tolist()}")
    return up, ahead / float(np.linalg.norm(ahead))


def walking_axes(mechanism: Mechanism, forward: ArrayLike) -> Array:
    """Columns forward, left, up (3, 3); up is against gravity."""
    up, given = _up(mechanism), vector(forward, 3, "forward")
    size = float(np.linalg.norm(given))
    if size == 0.0 or abs(given @ up) > LEVEL * size:
        raise InputError(
            f"forward must be a horizontal direction, got {given.tolist()} with up {up.tolist()}"
        )
    return np.column_stack([given / size, np.cross(up, given / size), up])


# ---- helpers ---------------------------------------------------------------------------------------------


def _up(mechanism: Mechanism) -> Array:
    strength = float(np.linalg.norm(mechanism.gravity))
    if strength == 0.0:
        raise InputError(f"'{mechanism.name}' has no gravity, so there is no ground to walk on")
    up: Array = -mechanism.gravity / strength
    return up


def _check_several(mechanism: Mechanism, base: Link, chains: Sequence[LegChain], least: int) -> None:
    if len(chains) < least:
        raise ModelError(
            f"'{mechanism.name}' has one leg with contact points below its trunk '{base.body.name}', to "
            f"'{chains[0].foot}'; walking needs two or more that reach about as far down"
        )


def without_inertia(mechanism: Mechanism, q: Array) -> dict[str, float]:
    """Joints that move no inertia at q, to rounding, each with an armature (kg m^2) that is small but enough.

    A combination of joints that no inertia resists is an eigenvector of the mass matrix whose eigenvalue is
    nothing but rounding; the joint with the largest part in it is named.

    >>> from kinetree.model import zoo
    >>> without_inertia(zoo.quadruped(), np.zeros(18))
    {}
    """
    M = mass_matrix(mechanism, q)
    first = mechanism.links[0].joint.n_dof
    usual = float(np.median(np.diag(M)[first:])) if len(M) > first else 0.0
    armature = float(f"{SLIGHT * usual:.1g}")
    found: dict[str, float] = {}
    while armature > 0.0 and len(found) < len(M):
        sizes, parts = np.linalg.eigh(M)
        if sizes[0] > ROUNDING * sizes[-1]:
            break
        k = int(np.argmax(np.abs(parts[:, 0])))
        dof = mechanism.joint_names[k]
        name = next(link.joint.name for link in mechanism.links if dof in link.joint.dof_names)
        if name in found or k < first:
            break
        found[name] = armature
        M[k, k] += armature
    return found


def _check_inertia(mechanism: Mechanism, q: Array) -> None:
    missing = without_inertia(mechanism, q)
    if missing:
        given = ", ".join(f"{name} = {x:g}" for name, x in missing.items())
        names = listed([f"'{name}'" for name in missing])
        raise ModelError(
            f"'{mechanism.name}': joint {names} moves no inertia, so that any torque accelerates "
            f"it without bound; give it an armature (kg m^2) in the file, by load(..., armature=...), or by "
            f"parameters = {{ armature = {{ {given} }} }} in the study of a URDF"
        )


def _members(groups: Sequence[int], which: int) -> tuple[int, ...]:
    return tuple(k for k, group in enumerate(groups) if group == which)


def _place(mechanism: Mechanism, q: Array, body: str) -> Array:
    place: Array = forward_kinematics(mechanism, q).position[mechanism.body_index(body)]
    return place


def _axis_directions(mechanism: Mechanism, q: Array) -> Array:
    """Directions of all axes of the tree in the world (n, 3)."""
    tree = mechanism.tree
    rest = np.zeros(tree.n)
    z: Array = axis_motion(tree, all_axes(tree, q), rest, rest).rotation[:, :, 2]
    return z


def _check_alike(mechanism: Mechanism, chains: Sequence[LegChain], lengths: Sequence[float]) -> None:
    """Raise for legs of different kinds, on which weight cannot be shifted from one to the next."""
    counts = [len(chain.joints) for chain in chains]
    if len(set(counts)) > 1:
        a, b = int(np.argmin(counts)), int(np.argmax(counts))
        raise ModelError(
            f"the legs of '{mechanism.name}' are of different kinds: that to '{chains[a].foot}' has "
            f"{counts[a]} degrees of freedom, that to '{chains[b].foot}' has {counts[b]}; name the legs with "
            f"legs=[Leg(...), ...]"
        )
    a, b = int(np.argmin(lengths)), int(np.argmax(lengths))
    if lengths[b] > ALIKE * lengths[a]:
        raise ModelError(
            f"the legs of '{mechanism.name}' are of different kinds: that to '{chains[a].foot}' is "
            f"{lengths[a]:.3g} m long, that to '{chains[b].foot}' {lengths[b]:.3g} m, more than {ALIKE:g} "
            "times as much"
        )


def _bending(mechanism: Mechanism, chain: LegChain, q: Array, left: Array) -> list[tuple[str, float]]:
    """Degrees of freedom that rotate parallel to the knee, and in which sense.

    The knee's axis is lateral, or else that of the last joint that rotates.
    """
    tree, z = mechanism.tree, _axis_directions(mechanism, q)
    axes = [(name, tree.axis_names.index(name)) for name in chain.joints]
    axes = [(name, i) for name, i in axes if tree.turns[i]]
    if not axes:
        raise ModelError(f"'{mechanism.name}': no joint rotates the foot '{chain.foot}'")
    knee = left
    if sum(abs(z[i] @ left) > ALONG for _, i in axes) < 2:
        knee = z[axes[-1][1]]
    return [(name, float(np.sign(z[i] @ knee))) for name, i in axes if abs(z[i] @ knee) > ALONG]


def _leg_length(mechanism: Mechanism, chain: LegChain, q: Array, left: Array) -> float:
    """The sum of the distances between the joints of a leg from its first pitch on, seen along it (m)."""
    pose, hip = forward_kinematics(mechanism, q), _hip(mechanism, chain, q, left)
    names = [link.body.name for link in chain.links if not link.joint.is_fixed]
    places = [pose.position[mechanism.body_index(name)] for name in names[names.index(hip) :]]
    k = mechanism.body_index(chain.foot)
    end = chain.middle if _is_point(chain, 1.0) else np.zeros(3)
    places.append(pose.position[k] + pose.rotation[k] @ end)
    names_bent = _bending(mechanism, chain, q, left)
    knee = _axis_directions(mechanism, q)[mechanism.tree.axis_names.index(names_bent[-1][0])]
    steps = [b - a for a, b in pairwise(places)]
    length = float(sum(np.linalg.norm(x - knee * (knee @ x)) for x in steps))
    if not length > 0.0:
        raise ModelError(f"the leg of '{mechanism.name}' to '{chain.foot}' has no length")
    return length


def _hip(mechanism: Mechanism, chain: LegChain, q: Array, left: Array) -> str:
    first = _bending(mechanism, chain, q, left)[0][0]
    return next(link.body.name for link in chain.links if first in link.joint.dof_names)


def _extent(chain: LegChain) -> float:
    corners = np.array([point.position for point in chain.points])
    return float(np.ptp(corners, axis=0).max())


def _is_point(chain: LegChain, leg: float) -> bool:
    return len(chain.points) == 1 or _extent(chain) < POINT * leg


def _has_ankle(mechanism: Mechanism, chain: LegChain, q: Array, middle: Array, leg: float) -> bool:
    """Whether the last joint of a leg is near its foot, so that it can rotate the sole."""
    pose = forward_kinematics(mechanism, q)
    last = [link.body.name for link in chain.links if not link.joint.is_fixed][-1]
    k, joint = mechanism.body_index(chain.foot), pose.position[mechanism.body_index(last)]
    return float(np.linalg.norm(pose.position[k] + pose.rotation[k] @ middle - joint)) < ANKLE * leg


def _foot(
    mechanism: Mechanism, chain: LegChain, q: Array, up: Array, left: Array, leg: float, count: int
) -> Foot:
    pose, k = forward_kinematics(mechanism, q), mechanism.body_index(chain.foot)
    corners = np.array([point.position for point in chain.points])
    upwards = pose.rotation[k].T @ up
    heights = np.array([point.lowest(upwards) @ upwards for point in chain.points])
    few = len(corners) <= CORNERS and float(np.ptp(heights)) <= FLAT * leg
    lowest = (heights <= heights.min() + SOLE * leg) | few
    if not few and len(corners) > CORNERS:
        lowest = lowest & _on_face(np.array([point.lowest(upwards) for point in chain.points]), upwards, leg)
    kept = [point for point, low in zip(chain.points, lowest, strict=True) if low]
    corners = corners[lowest]
    bending = tuple((mechanism.joint_index(name), sign) for name, sign in _bending(mechanism, chain, q, left))
    hip = _hip(mechanism, chain, q, left)
    names = tuple(point.name for point in chain.points)
    if count > 2 or _is_point(chain, leg) or not _has_ankle(mechanism, chain, q, corners.mean(axis=0), leg):
        ball = chain.points[int(np.argmin(heights))]
        if ball.radius:  # the foot stands on it, whatever else is there
            corners, kept = ball.position[None], [ball]
        middle = corners.mean(axis=0)
        radius = float(np.mean([point.radius for point in kept]))
        return Foot(chain.foot, middle, names, middle[None], radius, hip, chain.joints, bending)
    return Foot(chain.foot, np.zeros(3), names, corners, 0.0, hip, chain.joints, bending)


def _on_face(points: Array, up: Array, leg: float) -> Array:
    """Which points (k, 3) belong to the face of their convex hull that is below their middle.

    Of all planes z = a x + b y + c that no point is below, it is the one that is highest there.
    """
    from scipy.optimize import linprog

    across = np.linalg.svd(up[None])[2][1:]
    flat, z = (points - points.mean(axis=0)) @ across.T, (points - points.mean(axis=0)) @ up
    rows = np.column_stack([flat, np.ones(len(flat))])
    found = linprog([0.0, 0.0, -1.0], A_ub=rows, b_ub=z, bounds=(None, None))
    if not found.success:  # all in a line or a vertical plane
        return np.ones(len(points), bool)
    chosen: Array = z - rows @ found.x < FACE * leg
    return chosen


def _upright(mechanism: Mechanism, base: Link, chains: Sequence[LegChain], up: Array, left: Array) -> Array:
    """Coordinates with the trunk rotated about the lateral axis such that the legs hang down."""
    q = np.zeros(mechanism.n_dof)
    pose = forward_kinematics(mechanism, q)
    downs = []
    for chain in chains:
        k = mechanism.body_index(chain.foot)
        foot = pose.position[k] + pose.rotation[k] @ chain.middle
        downs.append(foot - pose.position[mechanism.body_index(chain.hip)])
    down, ahead = np.sum(downs, axis=0), np.cross(left, up)
    lean = float(np.arctan2(-(down @ ahead), -(down @ up)))
    if abs(lean) < 0.3:  # rad: feet may reach out a little
        return q
    directions = _axis_directions(mechanism, q)
    for k in range(base.joint.n_dof):
        z = directions[k]
        if mechanism.tree.turns[k] and abs(abs(z @ left) - 1.0) < ALIGNED:
            q[k] = -lean * np.sign(z @ left)
            return q
    raise ModelError(
        f"'{mechanism.name}' does not stand at q = 0, and no axis of its base '{base.joint.name}' is lateral"
    )


def _legs_are_flat(mechanism: Mechanism, upright: Array, left: Array, feet: Sequence[Foot]) -> bool:
    """Whether all joints of the legs rotate about the lateral axis, so that feet stay in planes."""
    z, names = _axis_directions(mechanism, upright), mechanism.tree.axis_names
    inside = [names.index(name) for foot in feet for name in foot.joints]
    return all(abs(abs(z[i] @ left) - 1.0) < ALIGNED for i in inside)


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
    joint, tree = base.joint, mechanism.tree
    z = _axis_directions(mechanism, upright)
    slides = [k for k in range(joint.n_dof) if not tree.turns[k]]
    turns = [k for k in range(joint.n_dof) if tree.turns[k]]
    planar = _legs_are_flat(mechanism, upright, left, feet) and (len(feet) == 2 or not joint.is_free)
    axes = np.array([ahead, up] if planar else [ahead, left, up])
    wanted = 3 if planar else 6
    slides_kept, turns_kept = slides, turns
    if planar:
        slides_kept = [k for k in slides if abs(z[k] @ left) < ALIGNED]
        turns_kept = [k for k in turns if abs(abs(z[k] @ left) - 1.0) < ALIGNED][:1]
    kept = [*slides_kept, *turns_kept]
    if len(kept) != wanted or len(slides_kept) != len(axes):
        raise ModelError(
            f"'{mechanism.name}': a {'planar' if planar else 'spatial'} walker needs a base that moves along "
            f"{'forward and up and rotates about the lateral axis' if planar else 'and about all axes'}; "
            f"'{joint.name}' is {joint.kind} with {listed(joint.dof_names) or 'no degree of freedom'}"
        )
    moves = np.zeros((len(axes), len(kept)))
    for column, k in enumerate(slides_kept):
        moves[:, column] = axes @ z[k]
    about = np.array([left]) if planar else axes
    return axes, np.array(kept), moves, about
