"""What predictive control minimizes: sums of squares of rows that goals compute from states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, number, numbers
from kinetree.analysis.kinematics import forward_kinematics, jacobian
from kinetree.errors import InputError, expect, must_be
from kinetree.model.mechanism import Mechanism
from kinetree.state import coordinates

Moving = ArrayLike | Callable[[float], ArrayLike]  # a constant, or a function of time (s)


@runtime_checkable
class MotionGoal(Protocol):
    """Rows r (k, m) of k states at times t, whose squares are summed over the time ahead.

    ``final`` multiplies the squares at the end of it. A goal of your own has these two.
    """

    final: float

    def check(self, mechanism: Mechanism) -> None:
        """Raise if it does not fit the mechanism."""

    def rows(self, mechanism: Mechanism, t: Array, q: Array, qd: Array) -> tuple[Array, Array, Array]:
        """r (k, m), dr/dq and dr/dqd (k, m, n_dof), for t (k,), q and qd (k, n_dof)."""


@dataclass(frozen=True)
class JointGoal:
    """Coordinates near ``q``, rates near ``qd``: arrays (n_dof,) or functions of time.

    ``weight`` and ``weight_rates``, one number or (n_dof,), multiply the squares in rad or m, per s;
    ``final`` those at the end of the time ahead.

    >>> import kinetree as kt
    >>> wave = JointGoal(lambda t: [np.sin(t), 0.0], weight=100.0)
    >>> kt.control.MPC(kt.zoo.two_link(), wave).settings()["goals"]
    ['JointGoal']
    """

    q: Moving = 0.0
    qd: Moving = 0.0
    weight: ArrayLike = 1.0
    weight_rates: ArrayLike = 0.0
    final: float = 1.0

    def check(self, mechanism: Mechanism) -> None:
        """Look at shapes."""
        for name in ("q", "qd", "weight", "weight_rates"):
            value = getattr(self, name)
            row(mechanism, value(0.0) if callable(value) else value, f"{name} of JointGoal")
        if number(self.final, "final of JointGoal") < 0.0:
            raise InputError(must_be("final of JointGoal", ">= 0", self.final, "g"))

    def rows(self, mechanism: Mechanism, t: Array, q: Array, qd: Array) -> tuple[Array, Array, Array]:
        """Errors times the roots of their weights."""
        n = mechanism.n_dof
        root = np.sqrt(row(mechanism, self.weight, "weight"))
        root_rates = np.sqrt(row(mechanism, self.weight_rates, "weight_rates"))
        r = np.concatenate([root * (q - at(self.q, t, n)), root_rates * (qd - at(self.qd, t, n))], axis=1)
        by_q, by_qd = np.zeros((2 * n, n)), np.zeros((2 * n, n))
        by_q[:n], by_qd[n:] = np.diag(root), np.diag(root_rates)
        return r, np.broadcast_to(by_q, (len(t), *by_q.shape)), np.broadcast_to(by_qd, (len(t), *by_qd.shape))


@dataclass(frozen=True)
class PointGoal:
    """The origin of a body or frame near a position (3,) in the world, or a function of time (m).

    >>> import kinetree as kt
    >>> reach = PointGoal("link2", [0.3, 0.2, 0.0], weight=1e3)
    >>> kt.control.MPC(kt.zoo.two_link(), [reach, JointGoal(weight=0.1)]).settings()["horizon"]
    0.4
    """

    body: str
    position: Moving
    weight: float = 1.0
    final: float = 1.0

    def check(self, mechanism: Mechanism) -> None:
        """Look at the name and the shape."""
        mechanism.place_of(self.body)
        value = self.position(0.0) if callable(self.position) else self.position
        if numbers(value, "position of PointGoal").shape != (3,):
            raise InputError(f"position of PointGoal must have shape (3,), got {np.shape(value)}")
        if number(self.weight, "weight of PointGoal") < 0.0:
            raise InputError(must_be("weight of PointGoal", ">= 0", self.weight, "g"))

    def rows(self, mechanism: Mechanism, t: Array, q: Array, qd: Array) -> tuple[Array, Array, Array]:
        """Distances along the axes of the world."""
        root = float(np.sqrt(self.weight))
        place = forward_kinematics(mechanism, q)[self.body][1]
        J = jacobian(mechanism, q, self.body)[..., :3, :]
        return root * (place - at(self.position, t, 3)), root * J, np.zeros_like(J)


@dataclass(frozen=True)
class LimitGoal:
    """Coordinates within the mechanism's limits, less a ``margin`` (rad, m): squares of what exceeds them.

    >>> import kinetree as kt
    >>> kt.control.MPC(kt.zoo.ur5(), [JointGoal(0.1), LimitGoal()]).settings()["goals"]
    ['JointGoal', 'LimitGoal']
    """

    weight: float = 1e4
    margin: float = 0.05
    final: float = 1.0

    def check(self, mechanism: Mechanism) -> None:
        """Look at the numbers."""
        if number(self.weight, "weight of LimitGoal") < 0.0 or number(self.margin, "margin") < 0.0:
            raise InputError("weight and margin of LimitGoal must be >= 0")

    def rows(self, mechanism: Mechanism, t: Array, q: Array, qd: Array) -> tuple[Array, Array, Array]:
        """What exceeds the limits, and its slope."""
        root, n = float(np.sqrt(self.weight)), mechanism.n_dof
        over = np.maximum(q - (mechanism.upper - self.margin), 0.0)
        under = np.minimum(q - (mechanism.lower + self.margin), 0.0)
        by_q = root * ((over > 0.0) | (under < 0.0))[:, :, None] * np.eye(n)
        return root * (over + under), by_q, np.zeros_like(by_q)


def expect_goals(goals: object, mechanism: Mechanism) -> tuple[MotionGoal, ...]:
    """A goal, or a list of them, that fit the mechanism."""
    found = tuple(goals) if isinstance(goals, list | tuple) else (goals,)
    if not found:
        raise InputError("goals is empty: give at least one, such as JointGoal(q=...)")
    for goal in found:
        expect(goal, MotionGoal, "goals", "a list of goals such as JointGoal(q=...)")
        goal.check(mechanism)
    return found


def at(value: Moving, t: Array, n: int) -> Array:
    """What a constant or a function of time is at times (k,): (k, n)."""
    if callable(value):
        found = np.array([value(x) for x in t.tolist()], dtype=np.float64)
        if found.shape not in ((len(t),), (len(t), n)):
            raise InputError(f"a goal must return {n} numbers at a time, got shape {found.shape[1:]}")
        return found if found.ndim == 2 else np.repeat(found[:, None], n, axis=1)
    return np.broadcast_to(np.asarray(value, dtype=np.float64), (len(t), n))


def row(mechanism: Mechanism, value: ArrayLike, what: str) -> Array:
    """One number for all coordinates, or one for each."""
    if np.ndim(value) == 0:
        return np.full(mechanism.n_dof, number(value, what))
    return coordinates(mechanism, value, what)
