"""A legged mechanism as a predicted gait sees it: directions, feet by place, and how it stands."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, vector
from kinetree.analysis.kinematics import forward_kinematics, jacobian
from kinetree.control.walking.standing import standing
from kinetree.control.walking.walker import Walker, walker_of
from kinetree.errors import InputError
from kinetree.model.mechanism import Mechanism

AXES = "xyz"
SAME = 1e-6
CROUCH = 0.92  # height of the hips above the feet while standing, beside the length of straight legs
INDEPENDENT = 1e-3  # singular values below this beside the largest: rows that say nothing new


@dataclass(frozen=True, eq=False)
class Foot:
    """A foot: its body, contact points (k, 3) in its frame with their names, the hip's body."""

    body: str
    names: tuple[str, ...]
    points: Array
    hip: str

    @property
    def middle(self) -> Array:
        """Mean of the contact points (3,) in the body's frame."""
        mean: Array = self.points.mean(axis=0)
        return mean


@dataclass(frozen=True, eq=False)
class Legged:
    """A mechanism with a floating root and feet, and how it stands on them: ``stance`` q (n_dof,)."""

    mechanism: Mechanism
    feet: tuple[Foot, ...]  # from the front to the rear, left before right
    forward: str
    up: str
    held: tuple[str, ...]  # coordinates of the root that leave the plane of a mechanism whose joints do not
    leg: float  # m, stretched
    stance: Array

    @property
    def across(self) -> str:
        """The axis to the side."""
        return next(x for x in AXES if x not in (self.forward, self.up))

    @property
    def weight(self) -> float:
        """N."""
        return float(self.mechanism.mass * np.linalg.norm(self.mechanism.gravity))

    @property
    def sagittal(self) -> bool:
        """Whether no joint leaves the plane of walking."""
        return bool(self.held)

    @cached_property
    def root(self) -> tuple[str, ...]:
        """Coordinates of the floating root."""
        return tuple(self.mechanism.links[0].joint.dof_names)

    @cached_property
    def joints(self) -> list[str]:
        """All others."""
        return [name for name in self.mechanism.joint_names if name not in self.root]

    @cached_property
    def flat(self) -> bool:
        """Whether all feet are in one plane of walking, so that nothing is across it."""
        y = np.concatenate([self.places(foot)[:, AXES.index(self.across)] for foot in self.feet])
        return self.sagittal and float(np.ptp(y)) < SAME

    def places(self, foot: Foot, q: Array | None = None) -> Array:
        """Where the contact points of a foot are (k, 3), while it stands or at q (m)."""
        R, p = forward_kinematics(self.mechanism, self.stance if q is None else q)[foot.body]
        found: Array = p + foot.points @ R.T
        return found

    def slides(self, axis: str) -> str:
        """The coordinate by which the root slides along an axis."""
        body = self.mechanism.links[0].body.name
        J = jacobian(self.mechanism, self.stance, body)
        for name in self.root:
            column = J[:, self.mechanism.joint_index(name)]
            if abs(column[AXES.index(axis)] - 1.0) < SAME and np.abs(column).sum() < 1.0 + 10 * SAME:
                return name
        raise InputError(
            f"gait: the root of '{self.mechanism.name}' has no coordinate that slides along {axis}"
        )

    def held_rows(self, foot: Foot) -> list[tuple[int, str]]:
        """Contact points and axes whose coordinates, held, hold the foot: as few as it takes."""
        moving = [j for j, x in enumerate(self.mechanism.joint_names) if x not in self.held]
        axes = [x for x in (self.up, self.forward, self.across) if not (x == self.across and self.held)]
        found: list[tuple[int, str]] = []
        rows = np.zeros((0, len(moving)))
        for j, point in enumerate(foot.points):
            J = jacobian(self.mechanism, self.stance, foot.body, point)[:3, moving]
            for axis in axes:
                more = np.vstack([rows, J[AXES.index(axis)]])
                sizes = np.linalg.svd(more, compute_uv=False)
                if len(sizes) == len(more) and sizes[-1] > INDEPENDENT * max(sizes[0], 1.0):
                    rows = more
                    found.append((j, axis))
        return found


def legged(
    mechanism: Mechanism, forward: str = "x", crouch: float = CROUCH, stance: ArrayLike | None = None
) -> Legged:
    """Feet and stance of a mechanism with legs; refused where there are none.

    It stands with its hips at ``crouch`` of the legs' length, unless a ``stance`` (n_dof,) is given.
    """
    if not isinstance(mechanism, Mechanism):
        raise InputError(f"a gait needs a mechanism, got {type(mechanism).__name__}")
    if forward not in tuple(AXES):
        raise InputError(f"gait: forward must be x, y or z, got {forward!r}")
    g = mechanism.gravity
    if not np.linalg.norm(g) or np.abs(g).max() < (1.0 - SAME) * np.linalg.norm(g):
        raise InputError(f"gait: gravity must point along an axis of the world, got {g.tolist()}")
    up = AXES[int(np.argmax(np.abs(g)))]
    if g[AXES.index(up)] > 0.0 or up == forward:
        raise InputError(
            f"gait: gravity {g.tolist()} must point down an axis of the world, across forward = {forward}"
        )
    found = walker_of(mechanism, np.eye(3)[AXES.index(forward)])
    if stance is None:
        return _arranged(found, standing(found, crouch * found.leg, found.hip_width), forward, up)
    return _arranged(found, vector(stance, mechanism.n_dof, "stance"), forward, up)


def _arranged(found: Walker, stance: Array, forward: str, up: str) -> Legged:
    """Feet in the order of schedules."""
    mechanism = found.mechanism
    poses = forward_kinematics(mechanism, stance)
    ahead, left = found.axes[0], found.lateral

    def order(foot: Foot) -> tuple[float, float]:
        place = poses[foot.hip][1]
        return -round(float(ahead @ place), 6), -round(float(left @ place), 6)

    feet = []
    for foot in found.feet:
        points = np.atleast_2d(foot.corners) if len(foot.corners) else np.atleast_2d(foot.point)
        names = (
            foot.contact_points
            if len(foot.contact_points) == len(points)
            else tuple(f"{foot.body} {k + 1}" for k in range(len(points)))
        )
        feet.append(Foot(foot.body, tuple(names), points, foot.hip))
    held = _out_of_plane(mechanism, stance, [foot.body for foot in feet], left)
    return Legged(mechanism, tuple(sorted(feet, key=order)), forward, up, held, found.leg, stance)


def _out_of_plane(mechanism: Mechanism, q: Array, feet: list[str], left: Array) -> tuple[str, ...]:
    """Coordinates of the root that leave the plane of walking, if no joint of any leg does; else none."""
    root = mechanism.links[0].joint.dof_names
    for foot in feet:
        J = jacobian(mechanism, q, foot)
        for j, name in enumerate(mechanism.joint_names):
            if name not in root and not _in_plane(J[:, j], left):
                return ()
    J = jacobian(mechanism, q, mechanism.links[0].body.name)
    return tuple(x for x in root if not _in_plane(J[:, mechanism.joint_index(x)], left))


def _in_plane(rate: Array, left: Array) -> bool:
    """Whether a velocity and angular velocity (6,) stay in a plane with this normal."""
    spin = rate[3:] - (rate[3:] @ left) * left
    return abs(float(rate[:3] @ left)) < SAME and float(np.abs(spin).max()) < SAME
