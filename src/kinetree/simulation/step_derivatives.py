"""Exact derivatives of the steps of a `Stepper`, and gradients of many of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinetree.algebra.arrays import Array
from kinetree.simulation.compiled.step_memory import CAUSE, RESIDUAL, SOLVED
from kinetree.simulation.step_coordinates import turned
from kinetree.simulation.step_tables import StepTables

SURE = 1e-6  # m/s: what is nearer to another state of contact has derivatives that depend on the direction


@dataclass(frozen=True, eq=False)
class StepDerivatives:
    """How the state after a step depends on the state before it and on what drives it.

    States are positions, then rates, 2 n numbers: ``by_state`` (..., 2 n, 2 n), ``by_torque`` and
    ``by_target`` (..., 2 n, n). Rates are those of a `Stepper` with coordinates="quaternion", and positions
    change along them: of a free or ball joint by a small turn about the axes of its body, and torques and
    turns of targets are about these axes, too; all else is in the mechanism's coordinates.

    ``margin`` (m/s) is how far the contact, stop or dry friction that is nearest to another state (open,
    sticking, sliding) is from it. Where it is below 1e-6, where a foot stands on more points than its leg
    can satisfy, or where the step is not solved, the derivative depends on the direction of a change, and
    that of one of them is given: ``smooth`` (...) is False.

    >>> import kinetree as kt
    >>> arm = kt.Stepper(kt.zoo.two_link(), 0.001)
    >>> slopes = arm.step_derivatives([1.0, 0.0])
    >>> slopes.by_state.shape, slopes.by_torque.shape, bool(slopes.smooth)
    ((4, 4), (4, 2), True)
    """

    by_state: Array
    by_torque: Array
    margin: Array
    smooth: NDArray[np.bool_]
    pull_by_target: Array  # (..., n, n): how torques of servos change with their targets

    @property
    def by_target(self) -> Array:
        """By targets of servos (..., 2 n, n)."""
        found: Array = self.by_torque @ self.pull_by_target
        return found

    def one(self) -> StepDerivatives:
        """Those of the first state, without a batch axis."""
        parts = (self.by_state, self.by_torque, self.margin, self.smooth, self.pull_by_target)
        return StepDerivatives(*(part[0] for part in parts))


def read_derivatives(
    tables: StepTables, found: Sequence[Array], audit: Array, pull: Array
) -> StepDerivatives:
    """Margins and derivatives by states and torques of all axes (k, ...) as users see them."""
    n, count = tables.tree.n, len(audit)
    near, by_state = found[0][:, 0], found[1].reshape(count, 2 * n, 2 * n)
    by_torque = found[2].reshape(count, 2 * n, n)
    still = audit[:, CAUSE] != 0.0
    if still.any():
        by_state[still], by_torque[still] = np.eye(2 * n), 0.0
    margin = np.where(still | (audit[:, RESIDUAL] > SOLVED), 0.0, near)
    coupling = tables.tree.coupling
    if coupling is not None:
        own, none = coupling.own_axes, np.zeros_like(coupling.matrix)
        spread = np.block([[coupling.matrix, none], [none, coupling.matrix]])
        rows = np.concatenate([own, n + own])
        by_state = by_state[:, rows] @ spread
        by_torque = np.ascontiguousarray(by_torque[:, rows][:, :, own])
        pull = pull[:, own] @ coupling.matrix
    return StepDerivatives(by_state, by_torque, margin, margin > SURE, pull)


def first_half(tables: StepTables, x: Array, v: Array) -> Array:
    """Coordinates (k, nq) at mid step, where forces are taken."""
    h = tables.settings["dt"] - tables.settings["half"]
    found = np.array(x)
    alone = np.ones(tables.tree.n, dtype=bool)
    for ball in tables.balls:
        alone[ball.axis : ball.axis + 3] = False
        part = slice(ball.at, ball.at + 4)
        found[:, part] = turned(x[:, part], h * v[:, ball.axis : ball.axis + 3])
    found[:, tables.places[alone]] += h * v[:, alone]
    return found
