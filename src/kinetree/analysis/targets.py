"""Targets of bodies, and the least-squares problem that they pose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, number, numbers, vector
from kinetree.algebra.rotation_vector import rotation_by, rotation_vector
from kinetree.analysis.kinematics import forward_kinematics, jacobian
from kinetree.dynamics.loops.system import constraints, loop_rows
from kinetree.errors import InputError, expect, must_be, unknown_name
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags, Integers
from kinetree.state import Coordinates, coordinates, independent_axes


@dataclass(frozen=True, eq=False)
class Target:
    """Target pose of a body or a named frame, for inverse kinematics.

    ``position`` (..., 3) in m in the world of the ``point`` (3,) of the body, given in the body frame, or
    ``orientation`` (..., 3, 3) of the body, x_world = R x_body, or both. ``weight`` matters if not all
    targets can be met.

    >>> Target("hand", position=(0.3, 0.0, 0.5)).weight
    1.0
    """

    body: str
    position: ArrayLike | None = None
    orientation: ArrayLike | None = None
    point: ArrayLike = (0.0, 0.0, 0.0)
    weight: float = 1.0

    def __post_init__(self) -> None:
        what = f"of the target of '{self.body}'"
        if self.position is None and self.orientation is None:
            raise InputError(f"the target of '{self.body}' needs a position, an orientation or both")
        if self.position is not None:
            x = finite(numbers(self.position, f"position {what}"), f"position {what}")
            if x.shape[-1:] != (3,):
                raise InputError(f"position {what} must have shape (..., 3), got shape {x.shape}")
            object.__setattr__(self, "position", x)
        if self.orientation is not None:
            object.__setattr__(self, "orientation", _rotations(self.orientation, f"orientation {what}"))
        object.__setattr__(self, "point", vector(self.point, 3, f"point {what}"))
        if number(self.weight, f"weight {what}") <= 0:
            raise InputError(must_be(f"weight {what}", "> 0", self.weight, "g"))


@dataclass(frozen=True, eq=False)
class Goal:
    """A target of every row of a batch: ``position`` (rows, 3) and ``orientation`` (rows, 3, 3), or None."""

    body: str
    point: Array
    weight: float
    position: Array | None
    orientation: Array | None

    def rows(self, chosen: Integers) -> Goal:
        """The target of some of the rows."""
        position = None if self.position is None else self.position[chosen]
        orientation = None if self.orientation is None else self.orientation[chosen]
        return replace(self, position=position, orientation=orientation)


class Followers(NamedTuple):
    """Axes x = matrix q + offset (r,) that follow several coordinates each, between limits; by name."""

    names: tuple[str, ...]
    matrix: Array  # (r, n)
    offset: Array
    lower: Array
    upper: Array

    def lacking(self, q: Array) -> Array:
        """What each lacks to be within its limits, (rows, r)."""
        x = q @ self.matrix.T + self.offset
        found: Array = np.clip(x, self.lower, self.upper) - x
        return found


@dataclass(frozen=True, eq=False)
class TargetProblems:
    """All problems of a batch, one row each."""

    mechanism: Mechanism
    goals: tuple[Goal, ...]
    batch: tuple[int, ...]
    start: Array  # (rows, n)
    lower: Array  # (n,)
    upper: Array
    moves: Flags  # (n,)
    followers: Followers | None = None
    rest: Array | None = None  # (rows, m): what may be lacking, on the way to the targets

    def rows(self, chosen: Integers) -> TargetProblems:
        """Some of the problems."""
        goals, rest = tuple(g.rows(chosen) for g in self.goals), self.rest
        return replace(
            self, goals=goals, start=self.start[chosen], rest=None if rest is None else rest[chosen]
        )

    def residual(self, q: Array) -> Array:
        """What is lacking (rows, m): of each target its position in m, then its orientation in rad.

        Then what loops lack to be closed, and joints that follow several others to be within limits.
        """
        poses = forward_kinematics(self.mechanism, q)
        parts = []
        for goal in self.goals:
            R, p = poses[goal.body]
            if goal.position is not None:
                parts.append(goal.position - p - R @ goal.point)
            if goal.orientation is not None:
                parts.append(rotation_vector(goal.orientation @ np.swapaxes(R, -1, -2)))
        if self.mechanism.loops:
            parts.append(self._padded(-constraints(self.mechanism, q).gap))
        if self.followers is not None:
            parts.append(self._padded(self.followers.lacking(q)))
        lacking = np.concatenate(parts, axis=-1)
        return lacking if self.rest is None else lacking - self.rest

    def _padded(self, rows: Array) -> Array:
        """Rows of loops or followers, with zeros so that they come in threes."""
        lacking = -rows.shape[1] % 3
        return np.concatenate([rows, np.zeros((len(rows), lacking, *rows.shape[2:]))], axis=1)

    def slope(self, q: Array) -> Array:
        """J (rows, m, n): the residual changes by -J dq; nothing for joints that do not move."""
        parts = []
        for goal in self.goals:
            J = jacobian(self.mechanism, q, goal.body, goal.point)
            parts += [J[:, :3]] if goal.position is not None else []
            parts += [J[:, 3:]] if goal.orientation is not None else []
        if self.mechanism.loops:
            parts.append(self._padded(constraints(self.mechanism, q).J))
        if self.followers is not None:
            beyond = self.followers.lacking(q)[:, :, None] != 0.0
            parts.append(self._padded(beyond * self.followers.matrix))
        slope: Array = np.concatenate(parts, axis=-2) * self.moves
        return slope

    def frames(self) -> Array:
        """Rotation matrices and positions of the targets (rows, targets, 12), less what may be lacking."""
        found, column = np.empty((len(self.start), len(self.goals), 12)), 0
        rest = np.zeros((len(self.start), 6 * len(self.goals))) if self.rest is None else self.rest
        for k, goal in enumerate(self.goals):
            R = np.broadcast_to(np.eye(3), (len(found), 3, 3))
            if goal.position is not None:
                found[:, k, 9:], column = goal.position - rest[:, column : column + 3], column + 3
            if goal.orientation is not None:
                R, column = rotation_by(-rest[:, column : column + 3]) @ goal.orientation, column + 3
            found[:, k, :9] = R.reshape(-1, 9)
        return found

    @property
    def weights(self) -> Array:
        """Weight of each entry of the residual (m,)."""
        given = [g.weight for g in self.goals for part in (g.position, g.orientation) if part is not None]
        heaviest = max(given)
        if self.mechanism.loops:
            given += [heaviest] * -(-loop_rows(self.mechanism).n_rows // 3)
        if self.followers is not None:
            given += [heaviest] * -(-len(self.followers.names) // 3)
        return np.repeat(np.array(given), 3)

    def folded(self, q: Array) -> Array:
        """The pose with whole turns taken off joints that turn without limits, nearest to the start."""
        tree, own = self.mechanism.tree, independent_axes(self.mechanism)
        endless = tree.turns[own] & np.isinf(self.lower) & np.isinf(self.upper) & self.moves
        if tree.coupling is not None:  # a joint that others mimic may not be turned alone
            endless &= np.count_nonzero(tree.coupling.linear + tree.coupling.followed, axis=0) == 1
        turns = np.round((q - self.start) / (2 * np.pi))
        return np.where(endless, q - 2 * np.pi * turns, q)

    def elsewhere(self, rng: np.random.Generator) -> Array:
        """Random starts within the limits, or half a turn or 1 m around the start; alike for all rows."""
        turns = self.mechanism.tree.turns[independent_axes(self.mechanism)]
        reach = np.where(turns, np.pi, 1.0)
        low = np.where(np.isfinite(self.lower), self.lower, np.minimum(self.start, self.upper) - reach)
        high = np.where(np.isfinite(self.upper), self.upper, np.maximum(self.start, self.lower) + reach)
        return np.where(self.moves, low + rng.uniform(size=len(self.moves)) * (high - low), self.start)


def problem_of(
    mechanism: Mechanism,
    targets: Target | Sequence[Target],
    q0: Coordinates | None,
    limits: bool,
    free: Sequence[str] | None,
    frozen: Sequence[str] | None,
) -> TargetProblems:
    """The checked problems, with every target given for every row."""
    wanted = (targets,) if isinstance(targets, Target) else targets
    expect(wanted, Iterable, "targets", "a Target or a list of them")
    wanted = tuple(wanted)
    if not wanted or not all(isinstance(target, Target) for target in wanted):
        raise InputError(must_be("targets", "a Target or a list of them", targets))
    for target in wanted:
        mechanism.place_of(target.body)
    lower, upper = (
        _bounds(mechanism) if limits else np.array([[-np.inf], [np.inf]]) * np.ones(mechanism.n_dof)
    )
    bounded = np.isfinite(lower) & np.isfinite(upper)
    middle = np.clip(0.0, lower, upper)
    middle[bounded] = (lower[bounded] + upper[bounded]) / 2
    start = middle if q0 is None else coordinates(mechanism, q0, "q0")
    moves = _movable(mechanism, free, frozen)
    batch = _batch(wanted, start)
    rows = int(np.prod(batch))

    def spread(x: ArrayLike | None, axes: int) -> Array | None:
        if x is None:
            return None
        array = np.asarray(x)
        own = array.shape[array.ndim - axes :]
        return np.broadcast_to(array, (*batch, *own)).reshape((rows, *own))

    goals = tuple(
        Goal(t.body, np.asarray(t.point), t.weight, spread(t.position, 1), spread(t.orientation, 2))
        for t in wanted
    )
    q = np.broadcast_to(start, (*batch, mechanism.n_dof)).reshape(rows, mechanism.n_dof)
    followers = _followers(mechanism) if limits else None
    start = np.where(moves, np.clip(q, lower, upper), q)
    return TargetProblems(mechanism, goals, batch, start, lower, upper, moves, followers)


def _followers(mechanism: Mechanism) -> Followers | None:
    """Axes with limits that follow several coordinates."""
    tree = mechanism.tree
    if tree.coupling is None:
        return None
    limited = np.isfinite(tree.lower) | np.isfinite(tree.upper)
    chosen = np.flatnonzero(tree.coupling.has_several & limited)
    if not len(chosen):
        return None
    names = tuple(tree.axis_names[k] for k in chosen)
    parts = (tree.coupling.linear, tree.coupling.offset, tree.lower, tree.upper)
    return Followers(names, *(x[chosen] for x in parts))


def _bounds(mechanism: Mechanism) -> tuple[Array, Array]:
    """Limits of the independent joints (n,), narrowed by those of joints that mimic one of them alone."""
    tree, own = mechanism.tree, independent_axes(mechanism)
    lower, upper = tree.lower[own].copy(), tree.upper[own].copy()
    if tree.coupling is None:
        return lower, upper
    for axis in np.setdiff1d(np.arange(tree.n), own):
        row, offset = tree.coupling.linear[axis], tree.coupling.offset[axis]
        for k in () if tree.coupling.has_several[axis] else np.flatnonzero(row).tolist():
            ends = np.sort((np.array([tree.lower[axis], tree.upper[axis]]) - offset) / row[k])
            lower[k], upper[k] = max(lower[k], ends[0]), min(upper[k], ends[1])
    if (lower > upper).any():
        k = int(np.argmax(lower > upper))
        raise InputError(
            f"joint '{mechanism.joint_names[k]}' and the joints that mimic it have no position within their "
            f"limits: it would have to be above {lower[k]:g} and below {upper[k]:g}"
        )
    return lower, upper


def _movable(mechanism: Mechanism, free: Sequence[str] | None, frozen: Sequence[str] | None) -> Flags:
    if free is not None and frozen is not None:
        raise InputError("give either free or frozen joints, not both")
    if free is None and frozen is None:
        return np.ones(mechanism.n_dof, dtype=bool)
    names = free if free is not None else frozen
    groups = {link.joint.name: link.joint.dof_names for link in mechanism.links if link.joint.mimic is None}
    named = np.zeros(mechanism.n_dof, dtype=bool)
    for name in (names,) if isinstance(names, str) else tuple(names or ()):
        if name not in groups and name not in mechanism.joint_names:
            raise InputError(unknown_name("joint", name, dict.fromkeys([*mechanism.joint_names, *groups])))
        for dof in groups.get(name, (name,)):
            named[mechanism.joint_index(dof)] = True
    return named if free is not None else ~named


def _batch(targets: tuple[Target, ...], start: Array) -> tuple[int, ...]:
    shapes = [start.shape[:-1]]
    for target in targets:
        shapes += [np.shape(target.position)[:-1]] if target.position is not None else []
        shapes += [np.shape(target.orientation)[:-2]] if target.orientation is not None else []
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise InputError(f"the batch axes of targets and q0 do not fit together: {shapes}") from None


def _rotations(values: ArrayLike, what: str) -> Array:
    R = finite(numbers(values, what), what)
    if R.shape[-2:] != (3, 3):
        raise InputError(f"{what} must have shape (..., 3, 3), got shape {R.shape}")
    off = float(np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(initial=0.0))
    if off > 1e-9 or (np.linalg.det(R) < 0).any():
        raise InputError(f"{what} must be right-handed rotation matrices; R R^T differs from 1 by {off:.2g}")
    return R
