"""A legged mechanism as a predicted gait sees it: directions, feet by place, and how it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, number, vector
from kinetree.analysis.inverse import mass_matrix
from kinetree.analysis.kinematics import forward_kinematics, jacobian
from kinetree.analysis.legs import Foot, Legged, OnFeet, legged
from kinetree.analysis.stance import standing
from kinetree.errors import InputError, must_be, shown, unknown_name
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism

AXES = "xyz"
SAME = 1e-6
CROUCH = 0.92  # height of the hips above the feet while standing, relative to the length of straight legs
BENT = 0.15  # rad, by which knees stay bent: legs that are straight have no way up, and fold either way
STRETCHES = 0.1  # of the leg's length per rad: a joint that changes it by less is no knee
DEEPEST = 0.4  # of the leg's length: how far hips sink at most before a leap that is looked for
ALIKE = 1e-3  # of the leg's length, or mass times it: left and right differ by less
INDEPENDENT = 1e-3  # singular values below this, relative to the largest: redundant rows


@dataclass(frozen=True, eq=False)
class LeggedStance(OnFeet):
    """A robot on feet, and how it stands on them: ``stance`` q (n_dof,)."""

    robot: Legged
    feet: tuple[Foot, ...]  # from the front to the rear, left before right
    forward: str
    up: str
    held: tuple[str, ...]  # coordinates of the root that leave the plane of a mechanism whose joints do not
    stance: Array
    crouch: float = CROUCH
    own_limits: Mapping[str, float] = field(default_factory=dict)  # N m, instead of those of the mechanism

    @property
    def across(self) -> str:
        """The axis to the side."""
        return next(x for x in AXES if x not in (self.forward, self.up))

    @property
    def leg(self) -> float:
        """Length of a leg, stretched (m)."""
        return self.robot.leg

    @property
    def sagittal(self) -> bool:
        """Whether no joint leaves the plane of walking."""
        return bool(self.held) or not self.can_slide(self.across)

    @cached_property
    def torques(self) -> dict[str, float]:
        """Largest torques (N m) of joints that have limits."""
        tree = self.mechanism.tree
        limits = {name: float(tree.effort_limit[tree.axis_names.index(name)]) for name in self.joints}
        limits |= self.own_limits
        return {name: limit for name, limit in limits.items() if np.isfinite(limit)}

    @cached_property
    def most(self) -> Array:
        """Largest torques (n_dof,), infinite without a limit."""
        found = np.full(self.mechanism.n_dof, np.inf)
        for name, limit in self.torques.items():
            found[self.mechanism.joint_index(name)] = limit
        return found

    def limited(self, limits: Mapping[str, float] | str) -> LeggedStance:
        """The robot with other torque limits (N m) of some joints; "model": those of the model."""
        if not isinstance(limits, Mapping):
            if limits != "model":
                raise InputError(f'gait: limits must map joints to torques, or "model", got {shown(limits)}')
            return self
        for name, limit in limits.items():
            if name not in self.joints:
                raise InputError(unknown_name("joint", name, self.joints).after("gait: limits: "))
            if not number(limit, f"gait: limits: {name}") > 0.0:
                raise InputError(must_be(f"gait: limits: {name}", "positive", limit))
        return replace(self, own_limits={name: float(limit) for name, limit in limits.items()})

    @cached_property
    def unheld_rows(self) -> list[str]:
        """Coordinates of the root at which nothing may push, for a problem to say so."""
        return [x for x in self.root if not (self.flat and x in self.held)]

    @cached_property
    def aside(self) -> tuple[str, ...]:
        """Coordinates of the root that leave the plane of walking."""
        return _leaving(self.mechanism, self.stance, np.eye(3)[AXES.index(self.across)])

    @cached_property
    def mirrored(self) -> bool:
        """Whether feet and masses are alike on the left and on the right."""
        y = AXES.index(self.across)
        places = np.stack([self.places(foot).mean(axis=0) for foot in self.feet])
        other = places * np.where(np.arange(3) == y, -1.0, 1.0)
        far = np.linalg.norm(places[:, None] - other[None], axis=2).min(axis=1)
        M = mass_matrix(self.mechanism, self.stance)
        out = [self.mechanism.joint_index(x) for x in self.aside]
        within = [self.mechanism.joint_index(x) for x in self.root if x not in self.aside]
        coupled = float(np.abs(M[np.ix_(out, within)]).max(initial=0.0))
        return float(far.max()) < ALIKE * self.leg and coupled < ALIKE * self.mechanism.mass * self.leg

    @cached_property
    def twins(self) -> dict[str, tuple[str, float]]:
        """Joints of legs on the right, each with its twin on the left and the sign of a mirror image.

        Empty where sides differ, and where all feet are in one plane.
        """
        if not self.mirrored or self.flat:
            return {}
        y = AXES.index(self.across)
        linear = np.where(np.arange(3) == y, -1.0, 1.0)
        image = np.concatenate([linear, -linear])  # of a velocity and an angular velocity
        found: dict[str, tuple[str, float]] = {}
        for right in self.feet:
            for left in self.feet:
                there, here = self.places(right).mean(axis=0), self.places(left).mean(axis=0)
                if here[y] < SAME or np.linalg.norm(there * linear - here) > ALIKE * self.leg:
                    continue
                pairs = self._mirrored_joints(right, left, image)
                if pairs is None:
                    return {}
                found |= pairs
        return found

    @cached_property
    def sideways(self) -> tuple[str, ...]:
        """Joints of legs that leave the plane of walking as it stands; none where knees do, too."""
        left = np.eye(3)[AXES.index(self.across)]
        out: set[str] = set()
        for foot in self.feet:
            J = jacobian(self.mechanism, self.stance, foot.body, foot.middle)
            out |= {x for x in self.joints if not _in_plane(J[:, self._index(x)], left)}
        return () if out & set(self.knees) else tuple(x for x in self.joints if x in out)

    def _mirrored_joints(self, right: Foot, left: Foot, image: Array) -> dict[str, tuple[str, float]] | None:
        """Joints of one leg by those of another, whose motions are mirror images; None where they are not."""
        ends = [jacobian(self.mechanism, self.stance, foot.body, foot.middle) for foot in (right, left)]
        moved = [[x for x in self.joints if np.abs(J[:, self._index(x)]).max() > SAME] for J in ends]
        if len(moved[0]) != len(moved[1]):
            return None
        found = {}
        for a, b in zip(*moved, strict=True):
            J, mirrored = ends[0][:, self._index(a)], image * ends[1][:, self._index(b)]
            sign = float(np.sign(J @ mirrored))
            if np.abs(J - sign * mirrored).max() > ALIKE * max(self.leg, 1.0):
                return None
            found[a] = (b, sign)
        return found

    def _index(self, name: str) -> int:
        return self.mechanism.joint_index(name)

    @cached_property
    def flat(self) -> bool:
        """Whether nothing is across the plane of walking: the base cannot leave it, or all feet are in it."""
        if not self.can_slide(self.across):
            return True
        y = np.concatenate([self.places(foot)[:, AXES.index(self.across)] for foot in self.feet])
        return self.sagittal and float(np.ptp(y)) < SAME

    def places(self, foot: Foot, q: Array | None = None) -> Array:
        """Where the contact points of a foot are (k, 3), while it stands or at q (m)."""
        R, p = forward_kinematics(self.mechanism, self.stance if q is None else q)[foot.body]
        found: Array = p + foot.points @ R.T
        return found

    def slides(self, axis: str) -> str:
        """The coordinate by which the root slides along an axis."""
        found = self._slide(axis)
        if found is None:
            raise InputError(
                f"gait: the root of '{self.mechanism.name}' has no prismatic coordinate along {axis}"
            )
        return found

    def can_slide(self, axis: str) -> bool:
        """Whether the root has a coordinate that slides along an axis."""
        return self._slide(axis) is not None

    def _slide(self, axis: str) -> str | None:
        body = self.mechanism.links[0].body.name
        J = jacobian(self.mechanism, self.stance, body)
        for name in self.root:
            column = J[:, self.mechanism.joint_index(name)]
            if abs(column[AXES.index(axis)] - 1.0) < SAME and np.abs(column).sum() < 1.0 + 10 * SAME:
                return name
        return None

    @property
    def turns(self) -> list[str]:
        """Coordinates by which the root rotates."""
        sliding = [self._slide(axis) for axis in AXES]
        return [x for x in self.root if x not in sliding]

    @cached_property
    def knees(self) -> dict[str, tuple[float, float]]:
        """Ranges (rad) in which the joint that stretches a leg the most leaves it bent as it stands."""
        found: dict[str, tuple[float, float]] = {}
        for foot in self.feet:
            rates = {name: self._stretch(foot, name, 0.0) for name in self.joints}
            name = max(rates, key=lambda x: abs(rates[x]))
            if abs(rates[name]) < STRETCHES * self.leg:
                continue
            way = np.sign(rates[name])  # towards a straight leg
            turns = np.linspace(0.0, np.pi, 181)
            shrinks = [x for x in turns if way * self._stretch(foot, name, way * x) <= 0.0]
            if not shrinks:
                continue
            at = float(self.stance[self.mechanism.joint_index(name)])
            last = at + way * max(shrinks[0] - BENT, 0.0)
            found[name] = (-np.inf, last) if way > 0 else (last, np.inf)
        return found

    def sunk(self, depth: Array) -> Array:
        """Postures q (m, n_dof) on the same feet whose trunk is lower by depth (m,) than while standing (m).

        They are interpolated between a few that are found; where legs bend no further, they stay.
        """
        found = self.robot
        deepest = float(np.clip(depth.max(), 0.0, DEEPEST * found.leg))
        up = self.mechanism.joint_index(self.slides(self.up))
        heights = self.crouch * found.leg - np.linspace(0.0, deepest, 5)
        poses = [standing(found, heights[0], found.hip_width)]
        for height in heights[1:] if deepest else ():
            poses.append(standing(found, height, found.hip_width, poses[-1]))
        changes = np.stack(poses) - poses[0]
        down = np.maximum.accumulate(-changes[:, up])
        columns = [np.interp(depth, down, changes[:, j]) for j in range(self.mechanism.n_dof)]
        bent: Array = self.stance + np.stack(columns, axis=1)
        return bent

    def _stretch(self, foot: Foot, joint: str, turned: float) -> float:
        """Rate at which a joint, turned from standing, moves a foot's joint away from its hip (m/rad)."""
        q, k = self.stance.copy(), self.mechanism.joint_index(joint)
        q[k] += turned
        poses = forward_kinematics(self.mechanism, q)
        away = poses[foot.body][1] + poses[foot.body][0] @ foot.point - poses[foot.hip][1]
        ends = (jacobian(self.mechanism, q, foot.body, foot.point), jacobian(self.mechanism, q, foot.hip))
        rate = (ends[0] - ends[1])[:3, k]
        return float(rate @ away) / max(float(np.linalg.norm(away)), SAME)

    def ranges(self, widest: float) -> tuple[dict[str, float], dict[str, float]]:
        """Least and largest position of every joint: its limits, or so far from standing; knees stay bent."""
        tree, low, high = self.mechanism.tree, {}, {}
        for name in self.joints:
            k, at = tree.axis_names.index(name), float(self.stance[self.mechanism.joint_index(name)])
            least, most = self.knees.get(name, (-np.inf, np.inf))
            low[name] = max(float(tree.lower[k]) if np.isfinite(tree.lower[k]) else at - widest, least)
            high[name] = min(float(tree.upper[k]) if np.isfinite(tree.upper[k]) else at + widest, most)
        return low, high

    def unheld(self, tau: Array) -> float:
        """Largest of generalized forces tau (m, n_dof) at the trunk over weight, or weight times leg."""
        sizes = [self.weight * self.leg if x in self.turns else self.weight for x in self.unheld_rows]
        columns = [self.mechanism.joint_index(x) for x in self.unheld_rows]
        return float((np.abs(tau[:, columns]) / sizes).max())

    def held_rows(self, foot: Foot, aside: bool = False, held: Sequence[str] = ()) -> list[tuple[int, str]]:
        """Contact points and axes whose coordinates, held, hold the foot: as few as it takes.

        With ``aside`` also those of a trunk that leaves the plane in which all joints move.
        """
        held = () if aside else (held or self.held)
        moving = [j for j, x in enumerate(self.mechanism.joint_names) if x not in held]
        axes = [x for x in (self.up, self.forward, self.across) if not (x == self.across and held)]
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


def legged_stance(
    mechanism: Mechanism, forward: str = "x", crouch: float = CROUCH, stance: ArrayLike | None = None
) -> LeggedStance:
    """Feet and stance of a mechanism with legs; refused where there are none.

    It stands with its hips at ``crouch`` of the legs' length, unless a ``stance`` (n_dof,) is given.
    """
    expect_mechanism(mechanism)
    if forward not in tuple(AXES):
        raise InputError(must_be("gait: forward", "x, y or z", forward))
    g = mechanism.gravity
    if not np.linalg.norm(g) or np.abs(g).max() < (1.0 - SAME) * np.linalg.norm(g):
        raise InputError(f"gait: gravity must point along an axis of the world, got {g.tolist()}")
    up = AXES[int(np.argmax(np.abs(g)))]
    if g[AXES.index(up)] > 0.0 or up == forward:
        raise InputError(
            f"gait: gravity {g.tolist()} must point down a world axis, normal to forward = {forward}"
        )
    found = legged(mechanism, np.eye(3)[AXES.index(forward)], least=1)
    if stance is None:
        return _arranged(found, standing(found, crouch * found.leg, found.hip_width), forward, up, crouch)
    return _arranged(found, vector(stance, mechanism.n_dof, "stance"), forward, up, crouch)


def _arranged(found: Legged, stance: Array, forward: str, up: str, crouch: float) -> LeggedStance:
    """Feet in the order of schedules."""
    mechanism = found.mechanism
    poses = forward_kinematics(mechanism, stance)
    ahead, left = found.axes[0], found.lateral

    def order(foot: Foot) -> tuple[float, float]:
        place = poses[foot.hip][1]
        return -round(float(ahead @ place), 6), -round(float(left @ place), 6)

    held = _out_of_plane(mechanism, stance, [foot.body for foot in found.feet], left)
    feet = tuple(sorted(found.feet, key=order))
    return LeggedStance(mechanism, found, feet, forward, up, held, stance, crouch)


def _out_of_plane(mechanism: Mechanism, q: Array, feet: list[str], left: Array) -> tuple[str, ...]:
    """Coordinates of the root that leave the plane of walking, if no joint of any leg does; else none."""
    root = mechanism.links[0].joint.dof_names
    for foot in feet:
        J = jacobian(mechanism, q, foot)
        for j, name in enumerate(mechanism.joint_names):
            if name not in root and not _in_plane(J[:, j], left):
                return ()
    return _leaving(mechanism, q, left)


def _leaving(mechanism: Mechanism, q: Array, left: Array) -> tuple[str, ...]:
    """Coordinates of the root that leave the plane whose normal is left."""
    J = jacobian(mechanism, q, mechanism.links[0].body.name)
    root = mechanism.links[0].joint.dof_names
    return tuple(x for x in root if not _in_plane(J[:, mechanism.joint_index(x)], left))


def _in_plane(rate: Array, left: Array) -> bool:
    """Whether a velocity and angular velocity (6,) stay in a plane with this normal."""
    spin = rate[3:] - (rate[3:] @ left) * left
    return abs(float(rate[:3] @ left)) < SAME and float(np.abs(spin).max()) < SAME
