"""The user's own function as objective or constraint, differentiated numerically."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError
from kinetree.motion.evaluation import At
from kinetree.motion.setting import Setting, Where
from kinetree.motion.terms.contract import Bounded, Constraint, Function, Objective, Rows

UserFunction = Callable[[Array, Array, Array, Array, Array], ArrayLike]
STEP, WIDE_STEP = 1e-6, 1e-3  # for first and second derivatives, relative to the size of what is changed


class CustomObjective(Objective):
    """Integral of f(s, q, qd, qdd, tau) dt for a function of all samples: (m,), four (m, n_dof) -> (m,)."""

    family = "own objective"

    def __init__(self, function: UserFunction) -> None:
        self.function = function

    @override
    def integrand(self, setting: Setting) -> Function:
        """What is integrated over the motion."""
        return _User(self.function, setting, 1, self.family)


class CustomConstraint(Constraint):
    """lower <= f(s, q, qd, qdd, tau) <= upper for a function of all samples that returns (m, k).

    Equality of anything with anything: the difference of both with ``lower = upper = 0``.
    """

    family = "own constraint"

    def __init__(
        self,
        function: UserFunction,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        size: int = 1,
        name: str = "own constraint",
        at: Where = "samples",
    ) -> None:
        self.function, self.at, self.size, self.family = function, at, size, name
        self.lower, self.upper = (np.asarray(x, dtype=np.float64) * np.ones(size) for x in (lower, upper))
        if np.isnan(self.lower).any() or np.isnan(self.upper).any() or (self.lower > self.upper).any():
            raise InputError(f"{name}: bounds must be numbers, the lower not above the upper")

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        function = _User(self.function, setting, self.size, self.family)
        labels = [f"number {k + 1}" for k in range(self.size)]
        s = setting.where(self.at, self.family)
        return [Rows(function, s, self.lower, self.upper, self.family, labels, "", 1.0, "own")]


class _User(Function):
    """Central differences by q, qd, qdd and tau; torques are then carried on exactly."""

    def __init__(self, function: UserFunction, setting: Setting, size: int, name: str) -> None:
        self.function, self.size, self.name = function, size, name
        self.own = setting.own
        self.columns = np.array(sorted(setting.column.values()))
        self.joints = np.array([j for j, _ in sorted(setting.column.items(), key=lambda pair: pair[1])])

    def _state(self, at: At) -> list[Array]:
        motion = at.motion
        return [motion.q[:, self.own], motion.qd[:, self.own], motion.qdd[:, self.own], at.tau[:, self.own]]

    def _call(self, s: Array, state: list[Array]) -> Array:
        found = np.asarray(self.function(s, *state), dtype=np.float64)
        found = found[:, None] if found.ndim == 1 else found
        if found.shape != (len(s), self.size):
            wanted = f"({len(s)},)" if self.size == 1 else f"({len(s)}, {self.size})"
            raise InputError(f"{self.name} must return shape {wanted}, got {found.shape}")
        return found

    def _changes(
        self, state: list[Array], step: float
    ) -> Iterator[tuple[int, int, Array, list[Array], list[Array]]]:
        """Every argument and column, its step (m,), and the states to both sides."""
        for k in range(4):
            for j in range(state[k].shape[1]) if k == 3 else self.joints:
                h = step * np.maximum(1.0, np.abs(state[k][:, j]))
                sides = []
                for sign in (1.0, -1.0):
                    changed = list(state)
                    changed[k] = state[k].copy()
                    changed[k][:, j] += sign * h
                    sides.append(changed)
                yield k, int(j), h, sides[0], sides[1]

    def _partials(self, s: Array, state: list[Array], step: float) -> list[Array]:
        """Derivatives by q, qd, qdd of the moving joints and by all tau: four times (m, k, columns)."""
        found: list[list[Array]] = [[], [], [], []]
        for k, _, h, up, down in self._changes(state, step):
            found[k].append((self._call(s, up) - self._call(s, down)) / (2.0 * h[:, None]))
        return [np.stack(columns, axis=2) for columns in found]

    @override
    def values(self, at: At) -> Array:
        return self._call(at.s, self._state(at))

    @override
    def slopes(self, at: At) -> Array:
        partials = self._partials(at.s, self._state(at), STEP)
        found = partials[3][:, None] @ at.torque_slopes[:, :, self.own]
        for k in range(3):
            found[:, k] += partials[k]
        return found

    @override
    def bend(self, at: At, weight: Array) -> None:
        state, s = self._state(at), at.s
        partials = self._partials(s, state, STEP)
        at.weigh_torques(self.own, (weight[:, None] @ partials[3])[:, 0])
        rows = self._rows(at)
        for k, j, h, up, down in self._changes(state, WIDE_STEP):
            both = [self._partials(s, side, WIDE_STEP) for side in (up, down)]
            change = [
                (weight[:, None] @ (a - b))[:, 0] / (2.0 * h[:, None]) for a, b in zip(*both, strict=True)
            ]
            column = j if k == 3 else int(np.flatnonzero(self.joints == j)[0])
            bent = sum((change[i][:, None, None, :] @ rows[i] for i in range(4)), np.zeros(()))
            ones = np.ones((len(s), 1))
            at.add_outer(ones, rows[k][:, :, column : column + 1], np.asarray(bent))

    def _rows(self, at: At) -> list[Array]:
        """Slopes of q, qd, qdd and tau themselves, (m, 3, columns, n)."""
        m, n = len(at.s), at.moving.shape[2]
        found = []
        for k in range(3):
            unit = np.zeros((m, 3, n, n))
            unit[:, k] = np.eye(n)
            found.append(unit)
        return [*found, at.torque_slopes[:, :, self.own]]
