"""Exact derivatives of the steps of a `Stepper`, and gradients of many of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kinetree.algebra.arrays import Array
from kinetree.simulation.compiled.step_memory import CAUSE, RESIDUAL, SOLVED
from kinetree.simulation.step_coordinates import Doors, turned
from kinetree.simulation.step_tables import StepTables

Servos = tuple[Array, Array, Array]  # coordinates at mid step, targets, gains of position
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
    _by_target: Callable[[], Array]

    @cached_property
    def by_target(self) -> Array:
        """By targets of servos (..., 2 n, n)."""
        return self._by_target()

    def one(self) -> StepDerivatives:
        """Those of the first state, without a batch axis."""
        return StepDerivatives(
            self.by_state[0], self.by_torque[0], self.margin[0], self.smooth[0], lambda: self._by_target()[0]
        )


@dataclass(frozen=True, eq=False)
class StepSlopes:
    """Slopes of a function of the state after a step, by the state before it and what drives it.

    ``by_state`` (..., 2 n), ``by_torque`` and ``by_target`` (..., n); ``margin`` and ``smooth`` as in
    :class:`StepDerivatives`.

    >>> import kinetree as kt
    >>> arm = kt.Stepper(kt.zoo.two_link(), 0.001)
    >>> arm.pull_back([1.0, 0.0, 0.0, 0.0]).by_state.shape
    (4,)
    """

    by_state: Array
    by_torque: Array
    by_target: Array
    margin: Array
    smooth: NDArray[np.bool_]

    def one(self) -> StepSlopes:
        """Those of the first state, without a batch axis."""
        parts = (self.by_state, self.by_torque, self.by_target, self.margin, self.smooth)
        return StepSlopes(*(part[0] for part in parts))


def on_axes(tables: StepTables, slopes: Array) -> Array:
    """Slopes by states of all axes (..., 2 n) from those by states of the coordinates."""
    coupling, n = tables.tree.coupling, tables.tree.n
    if coupling is None:
        return slopes
    found = np.zeros((*slopes.shape[:-1], 2 * n))
    found[..., np.concatenate([coupling.own_axes, n + coupling.own_axes])] = slopes
    return found


def read_slopes(
    tables: StepTables, doors: Doors, found: Sequence[Array], audit: Array, servos: Servos
) -> StepSlopes:
    """Margins, slopes given by the state after a step, and those before it (k, ...), as users see them."""
    n = tables.tree.n
    near, given, slopes = found[0][:, 0], found[1], found[2]
    still = audit[:, CAUSE] != 0.0
    if still.any():
        slopes[still, : 2 * n], slopes[still, 2 * n :] = given[still], 0.0
    margin = np.where(still | (audit[:, RESIDUAL] > SOLVED), 0.0, near)
    by_state, by_torque = slopes[:, : 2 * n], slopes[:, 2 * n :]
    by_target = doors.by_target(by_torque, servos)
    coupling = tables.tree.coupling
    if coupling is not None:
        by_q, by_v, by_target = (x @ coupling.matrix for x in (by_state[:, :n], by_state[:, n:], by_target))
        by_state, by_torque = np.concatenate([by_q, by_v], axis=1), by_torque[:, coupling.own_axes]
    return StepSlopes(by_state, by_torque, by_target, margin, margin > SURE)


def read_derivatives(
    tables: StepTables, doors: Doors, found: Sequence[Array], audit: Array, servos: Servos
) -> StepDerivatives:
    """Margins and derivatives by states and torques of all axes (k, ...) as users see them."""
    n, count = tables.tree.n, len(audit)
    near, by_state = found[0][:, 0], found[1].reshape(count, 2 * n, 2 * n)
    by_torque = found[2].reshape(count, 2 * n, n)
    still = audit[:, CAUSE] != 0.0
    if still.any():
        by_state[still], by_torque[still] = np.eye(2 * n), 0.0
    margin = np.where(still | (audit[:, RESIDUAL] > SOLVED), 0.0, near)
    coupling, of_axes = tables.tree.coupling, by_torque
    if coupling is None:
        return StepDerivatives(
            by_state, by_torque, margin, margin > SURE, lambda: doors.by_target(of_axes, servos)
        )
    own, none = coupling.own_axes, np.zeros_like(coupling.matrix)
    spread = np.block([[coupling.matrix, none], [none, coupling.matrix]])
    rows = np.concatenate([own, n + own])
    of_axes = by_torque[:, rows]
    return StepDerivatives(
        by_state[:, rows] @ spread,
        np.ascontiguousarray(of_axes[:, :, own]),
        margin,
        margin > SURE,
        lambda: doors.by_target(of_axes, servos) @ coupling.matrix,
    )


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
