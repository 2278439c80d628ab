"""Tasks of whole-body laws: what a law asks of accelerations at a tick, as weighted rows J qdd = a."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, number, vector
from kinetree.algebra.rotation_vector import rotation_vector
from kinetree.analysis.kinematics import body_accelerations, body_velocities, forward_kinematics, jacobian
from kinetree.errors import InputError, listed, must_be, shown, unknown_name
from kinetree.model.mechanism import Mechanism

USUAL_RATE = 10.0  # rad/s: an arm follows without oscillating at ticks of a few milliseconds


class TaskRows(NamedTuple):
    """Rows J (r, n_dof) of J qdd = a, their right sides a (r,) and weights (r,); weight 0: an equation.

    >>> TaskRows(np.eye(2), np.array([0.5, 0.0]), np.ones(2)).dense().shape
    (2, 4)
    """

    coefficients: Array
    aim: Array
    weight: Array

    @classmethod
    def of(cls, tasks: Sequence[LawTask], mechanism: Mechanism, t: float, q: Array, qd: Array) -> TaskRows:
        """The rows of several tasks at time t (s) in a state (n_dof,), checked."""
        parts, n = [task.rows(mechanism, t, q, qd) for task in tasks], mechanism.n_dof
        for k, (task, part) in enumerate(zip(tasks, parts, strict=True)):
            what = f"task {k + 1} ({type(task).__name__}) at t = {t:g} s"
            if not isinstance(part, TaskRows):
                raise InputError(f"{what} must return TaskRows, got {shown(part)}")
            shapes = [np.shape(x) for x in part]
            r = len(part.aim) if np.ndim(part.aim) == 1 else -1
            if shapes != [(r, n), (r,), (r,)]:
                raise InputError(
                    f"{what} must return rows of shapes (r, {n}), (r,) and (r,), got {listed(shapes)}"
                )
            if not all(np.isfinite(x).all() for x in part) or (np.asarray(part.weight) < 0.0).any():
                raise InputError(f"{what} must return finite numbers and weights >= 0, got {shown(part)}")
        return cls.joined(parts, n)

    @classmethod
    def joined(cls, parts: Sequence[TaskRows], n: int) -> TaskRows:
        """The rows of several tasks of a mechanism with n degrees of freedom."""
        none = cls(np.zeros((0, n)), np.zeros(0), np.zeros(0))
        return cls(*(np.concatenate(each) for each in zip(none, *parts, strict=True)))

    def dense(self) -> Array:
        """All in one array (r, n_dof + 2), coefficients first."""
        return np.concatenate([self.coefficients, self.aim[:, None], self.weight[:, None]], axis=1)


class LawTask(Protocol):
    """What a law is to reach besides walking, such as a pose of a hand.

    Rows depend on the arguments alone, as a task serves many simulations, and their number stays the same.
    """

    def rows(self, mechanism: Mechanism, t: float, q: Array, qd: Array) -> TaskRows:
        """What it asks for at time t (s) in a state (n_dof,)."""


@dataclass(frozen=True, eq=False)
class PointTask:
    """A point of a body goes to a ``position`` (3,) in the world, or in the frame of another body.

    ``position`` (m) is constant or a trajectory with three columns. With x the point's place,
    a = x_d'' + rate^2 (x_d - x) + 2 rate (x_d' - x'). ``point`` (3,) is in the frame of ``body``, ``rate``
    (rad/s) the bandwidth, ``weight`` counts against the tasks of the law, 1 for the attitude of the trunk.

    >>> import kinetree as kt
    >>> task = PointTask("link2", (0.9, 0.3, 0.0), point=(1.0, 0.0, 0.0))
    >>> task.rows(kt.zoo.two_link(), 0.0, np.zeros(2), np.zeros(2)).coefficients.shape
    (3, 2)
    """

    body: str
    position: Any
    _: KW_ONLY
    point: ArrayLike = (0.0, 0.0, 0.0)
    relative_to: str | None = None
    rate: float = USUAL_RATE
    weight: float = 1.0

    def __post_init__(self) -> None:
        _check_numbers(self, f"the task of a point of '{self.body}'")
        object.__setattr__(self, "point", vector(self.point, 3, f"point of '{self.body}'"))
        if not hasattr(self.position, "at"):
            place = vector(self.position, 3, f"position of the point of '{self.body}'")
            object.__setattr__(self, "position", place)
        elif np.shape(self.position.at(0.0).q) != (3,):
            raise InputError(
                f"the trajectory of a point of '{self.body}' must have three columns, got "
                f"{np.size(self.position.at(0.0).q)}"
            )

    def rows(self, mechanism: Mechanism, t: float, q: Array, qd: Array) -> TaskRows:
        """Three rows, along the axes of the world or of the other body."""
        x, v, a, J = _motion(mechanism, q, qd, self.body, np.asarray(self.point))
        if self.relative_to is not None:
            x, v, a, J = _seen_from(mechanism, q, qd, self.relative_to, x, v, a, J)
        goal, speed, change = _reference(self.position, t)
        aim = change + self.rate**2 * (goal - x) + 2.0 * self.rate * (speed - v) - a
        return TaskRows(J, aim, np.full(3, self.weight))


@dataclass(frozen=True, eq=False)
class OrientationTask:
    """A body turns to an ``orientation`` (3, 3), x_world = R x_body.

    With r the rotation vector from the present orientation to this one and w the angular velocity,
    a = rate^2 r - 2 rate w.

    >>> import kinetree as kt
    >>> task = OrientationTask("link2", np.eye(3), weight=0.2)
    >>> task.rows(kt.zoo.two_link(), 0.0, np.zeros(2), np.zeros(2)).weight.tolist()
    [0.2, 0.2, 0.2]
    """

    body: str
    orientation: ArrayLike
    _: KW_ONLY
    rate: float = USUAL_RATE
    weight: float = 1.0

    def __post_init__(self) -> None:
        _check_numbers(self, f"the task of the orientation of '{self.body}'")
        R = np.asarray(self.orientation, dtype=np.float64)
        if R.shape != (3, 3) or not np.allclose(R @ R.T, np.eye(3), atol=1e-9) or np.linalg.det(R) < 0.0:
            raise InputError(must_be(f"orientation of '{self.body}'", "a rotation (3, 3)", R))
        object.__setattr__(self, "orientation", R)

    def rows(self, mechanism: Mechanism, t: float, q: Array, qd: Array) -> TaskRows:
        """Three rows, about the axes of the world."""
        k = mechanism.body_index(self.body)
        R = forward_kinematics(mechanism, q).rotation[k]
        away = rotation_vector(np.asarray(self.orientation) @ R.T)
        w = body_velocities(mechanism, q, qd)[k, 3:]
        drift = body_accelerations(mechanism, q, qd, np.zeros(len(q)))[k, 3:]
        aim = self.rate**2 * away - 2.0 * self.rate * w - drift
        return TaskRows(jacobian(mechanism, q, self.body)[3:], aim, np.full(3, self.weight))


@dataclass(frozen=True, eq=False)
class JointTask:
    """Joints go to ``positions``, a table from names of degrees of freedom to rad or m.

    >>> import kinetree as kt
    >>> task, still = JointTask({"joint2": 0.3}), np.zeros(2)
    >>> task.rows(kt.zoo.two_link(), 0.0, still, still).aim.round(9).tolist()
    [30.0]
    """

    positions: Mapping[str, float]
    _: KW_ONLY
    rate: float = USUAL_RATE
    weight: float = 1.0

    def __post_init__(self) -> None:
        _check_numbers(self, "the task of joints")
        if not isinstance(self.positions, Mapping) or not self.positions:
            raise InputError(
                f"positions of a task must map names of joints to numbers, got {shown(self.positions)}"
            )
        for name, value in self.positions.items():
            number(value, f"position of '{name}'")
        object.__setattr__(self, "positions", dict(self.positions))

    def rows(self, mechanism: Mechanism, t: float, q: Array, qd: Array) -> TaskRows:
        """One row for each joint."""
        for name in self.positions:
            if name not in mechanism.joint_names:
                raise InputError(unknown_name("joint", name, mechanism.joint_names))
        k = [mechanism.joint_index(name) for name in self.positions]
        goal = np.array(list(self.positions.values()), dtype=np.float64)
        aim = self.rate**2 * (goal - q[k]) - 2.0 * self.rate * qd[k]
        return TaskRows(np.eye(len(q))[k], aim, np.full(len(k), self.weight))


def checked_tasks(tasks: Any) -> tuple[LawTask, ...]:
    """The tasks of a law, each an object with ``rows``."""
    good = isinstance(tasks, list | tuple)
    if not good or not all(hasattr(x, "rows") and not isinstance(x, type) for x in tasks):
        raise InputError(must_be("tasks", "a list of tasks such as PointTask(...)", tasks))
    return tuple(tasks)


# ---- helpers ---------------------------------------------------------------------------------------------


def _check_numbers(task: Any, what: str) -> None:
    for name in ("rate", "weight"):
        if not number(getattr(task, name), f"{name} of {what}") > 0.0:
            raise InputError(must_be(f"{name} of {what}", "> 0", getattr(task, name), "g"))


def _reference(position: Any, t: float) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration (3,) at t; a trajectory rests after its end."""
    if not hasattr(position, "at"):
        return position, np.zeros(3), np.zeros(3)
    state = position.at(min(t, float(position.duration)))
    moves = t < float(position.duration)
    return state.q, state.qd * moves, state.qdd * moves


def _motion(
    mechanism: Mechanism, q: Array, qd: Array, body: str, point: Array
) -> tuple[Array, Array, Array, Array]:
    """Place, velocity, acceleration without joint accelerations (3,), and Jacobian (3, n_dof) of a point."""
    k = mechanism.body_index(body)
    poses = forward_kinematics(mechanism, q)
    arm = poses.rotation[k] @ point
    V = body_velocities(mechanism, q, qd)[k]
    A = body_accelerations(mechanism, q, qd, np.zeros(len(q)))[k]
    v = V[:3] + np.cross(V[3:], arm)
    a = A[:3] + np.cross(A[3:], arm) + np.cross(V[3:], np.cross(V[3:], arm))
    return poses.position[k] + arm, v, a, jacobian(mechanism, q, body, point)[:3]


def _seen_from(
    mechanism: Mechanism, q: Array, qd: Array, body: str, x: Array, v: Array, a: Array, J: Array
) -> tuple[Array, Array, Array, Array]:
    """The motion of a point in the frame of a body that moves itself."""
    k = mechanism.body_index(body)
    poses = forward_kinematics(mechanism, q)
    R, r = poses.rotation[k], x - poses.position[k]
    V = body_velocities(mechanism, q, qd)[k]
    A = body_accelerations(mechanism, q, qd, np.zeros(len(q)))[k]
    w = V[3:]
    rate = v - V[:3] - np.cross(w, r)
    change = a - A[:3] - np.cross(A[3:], r) - np.cross(w, np.cross(w, r)) - 2.0 * np.cross(w, rate)
    J_body = jacobian(mechanism, q, body)
    relative = J - J_body[:3] + np.cross(r, J_body[3:].T).T
    return R.T @ r, R.T @ rate, R.T @ change, R.T @ relative
