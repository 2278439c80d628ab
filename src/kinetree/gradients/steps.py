"""A step of a `Stepper` as a function of positions, rates, torques and targets, with exact slopes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, shown
from kinetree.simulation.stepper import Stepper


@dataclass(frozen=True, eq=False)
class StepFunction:
    """(q, qd) after ``times`` steps of a `Stepper`, whose batch the rows have.

    Every call starts afresh at the rows given: no impulses are remembered, the time is 0. Mechanisms with
    free or ball joints have quaternions; slopes by these are along the unit sphere.
    """

    stepper: Stepper
    times: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.stepper, Stepper):
            raise InputError(f"step needs a kt.Stepper, got {shown(self.stepper)}")
        if not isinstance(self.times, int | np.integer) or isinstance(self.times, bool) or self.times < 1:
            raise InputError(f"times must be an integer of at least 1, got {shown(self.times)}")
        if self.stepper.coordinates == "mechanism" and self.stepper.turning:
            raise InputError(
                f"step needs quaternions, '{self.stepper.mechanism.name}' has free or ball joints; give "
                "coordinates='quaternion' to the Stepper"
            )

        if len(self.stepper.rate_names) != self.stepper.mechanism.n_dof:
            raise InputError(
                f"step needs coordinates='mechanism' in the Stepper, '{self.stepper.mechanism.name}' has "
                "mimic joints"
            )

    inputs = ("q", "qd", "torque", "target")

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of positions, rates, torques, targets."""
        stepper, n = self.stepper, self.stepper.mechanism.n_dof
        batch = () if stepper.batch is None else (stepper.batch,)
        return tuple((*batch, width) for width in (len(stepper.coordinate_names), n, n, n))

    def value(self, *rows: Array) -> tuple[Array, Array]:
        """Positions and rates after the steps from rows of positions, rates, torques, targets."""
        self._begin(rows)
        self.stepper.step(rows[2], target=rows[3], times=self.times)
        return self.stepper.q.copy(), self.stepper.qd.copy()

    def slopes(self, by_q: Array, by_qd: Array, *rows: Array) -> tuple[Array, Array, Array, Array]:
        """Slopes of a function by the rows, from those by positions and rates after the steps."""
        stepper = self.stepper
        self._begin(rows)
        before = []
        for _ in range(self.times):
            before.append(stepper.save())
            stepper.step(rows[2], target=rows[3])
        n = stepper.mechanism.n_dof
        state = np.concatenate([self._along_rates(stepper.q, by_q), by_qd], axis=-1)
        by_torque, by_target = np.zeros_like(rows[2]), np.zeros_like(rows[3])
        for saved in reversed(before):
            stepper.restore(saved)
            found = stepper.pull_back(state, rows[2], target=rows[3])
            state = found.by_state
            by_torque, by_target = by_torque + found.by_torque, by_target + found.by_target
        return self._by_numbers(rows[0], state[..., :n]), state[..., n:], by_torque, by_target

    def _begin(self, rows: tuple[Array, ...]) -> None:
        for row, shape, name in zip(rows, self.shapes, self.inputs, strict=True):
            if row.shape != shape:
                raise InputError(f"{name} must have shape {shape}, that of the Stepper, got {row.shape}")
        self.stepper.reset(rows[0], rows[1])

    def _along_rates(self, q: Array, by_q: Array) -> Array:
        """Slopes along rates from those by numbers of quaternions: a small turn d changes q by q d / 2."""
        parts = []
        for first, width in self.stepper.position_parts:
            x, g = q[..., first : first + width], by_q[..., first : first + width]
            if width == 4:
                w, u, a, b = x[..., :1], x[..., 1:], g[..., :1], g[..., 1:]
                g = 0.5 * (w * b - a * u - np.cross(u, b))
            parts.append(g)
        return np.concatenate(parts, axis=-1)

    def _by_numbers(self, q: Array, by_turns: Array) -> Array:
        """Slopes by numbers of quaternions from those along rates."""
        found, at = np.zeros_like(q), 0
        for first, width in self.stepper.position_parts:
            if width == 4:
                x, g = q[..., first : first + 4], 2.0 * by_turns[..., at : at + 3]
                w, u = x[..., :1], x[..., 1:]
                found[..., first] = -(u * g).sum(axis=-1)
                found[..., first + 1 : first + 4] = w * g + np.cross(u, g)
                at += 3
            else:
                found[..., first : first + width] = by_turns[..., at : at + width]
                at += width
        return found
