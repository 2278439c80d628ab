"""First-order actuators as machine code: a component of the right-hand side with states of its own."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.engine.door import carray, compiled_callback
from kinetree.engine.lanes import fields, row_at
from kinetree.kernels.actuator import DRIVE, DRIVES, drive_axes, drive_slopes
from kinetree.kernels.layout import layout_rows
from kinetree.kernels.torque_law import DriveParts
from kinetree.simulation.compiled.component import Component
from kinetree.simulation.compiled.context import HEADER, ContextParts
from kinetree.simulation.compiled.rates import OF_COMPONENT


class Actuators(Component):
    """Currents of the driven axes, in their order; see `kernels.actuator`."""

    name = "current"
    is_sloped = True
    has_slopes = True

    def __init__(self, parts: DriveParts, axes: Any, n_dof: int) -> None:
        """``axes`` (n_dof,) are the axes of the coordinates."""
        self.parts, self.n_dof = parts, n_dof
        self.driven = np.flatnonzero(parts.driven)  # among the coordinates
        self.axes = np.asarray(axes)[self.driven]
        self.n_state = len(self.driven)

    def numbers(self, parts: ContextParts) -> Array:
        """A row for each driven axis, after their number."""
        at = parts.at
        place, count, chosen = at.places[self.name].start, np.arange(self.n_state), self.driven
        rows = layout_rows(
            DRIVE,
            self.n_state,
            axis=self.axes,
            state=place + count,
            line=place - at.n + count,
            column=place + count,
            lag=self.parts.lag[chosen],
            gain=self.parts.gain[chosen],
            limit=self.parts.limit[chosen],
        )
        return np.concatenate([layout_rows(DRIVES, 1, axes=self.n_state).ravel(), rows.ravel()])

    def address(self, function: str, lanes: int) -> int:
        """Where "rates" and "slopes" are."""
        if function == "rates":
            return int(drive_rates(lanes).address)
        return int(drive_jacobian().address) if function == "slopes" and lanes == 1 else 0

    def start(self) -> Array:
        """The currents at the beginning."""
        return self.parts.start[self.driven]

    def variables(self, states: Array) -> dict[str, Any]:
        """The currents of all coordinates, zero where there is no actuator."""
        current = np.zeros((*states.shape[:-1], self.n_dof))
        current[..., self.driven] = states
        return {self.name: current}

    def drives(self, axis: int) -> bool:
        """Whether an axis has an actuator."""
        return axis in self.axes


@functools.cache
def drive_rates(lanes: int) -> Any:
    """The C callback of `kernels.actuator.drive_axes` for `lanes` states."""
    first = DRIVES.width

    def run(t, y_, dy_, context_, own_):
        memory, own = carray(context_, (1,)), carray(own_, (1,))
        head, count = fields(memory, HEADER, 1, 0), fields(own, DRIVES, 1, 0).axes[0]
        n, size = head.n[0], head.size[0]
        y, dy = row_at(carray(y_, (1,)), 0, size, lanes), row_at(carray(dy_, (1,)), 0, size, lanes)
        tau = row_at(memory, head.tau[0], n, lanes)
        drive_axes(fields(own, DRIVE, 1, first), count, y, tau, dy)
        return 0

    return compiled_callback(run, OF_COMPONENT, f"actuators-{lanes}")


@functools.cache
def drive_jacobian() -> Any:
    """The C callback of `kernels.actuator.drive_slopes`."""
    first = DRIVES.width

    def run(t, y_, J_, context_, own_):
        memory, own = carray(context_, (1,)), carray(own_, (1,))
        head, count = fields(memory, HEADER, 1, 0), fields(own, DRIVES, 1, 0).axes[0]
        n, more = head.n[0], head.more[0]
        width = 2 * n + more
        J = row_at(carray(J_, (1,)), 0, (n + more) * width, 1)
        command = row_at(memory, head.command[0], n, 1)
        drive_slopes(fields(own, DRIVE, 1, first), count, width, command, J)
        return 0

    return compiled_callback(run, OF_COMPONENT, "actuator-slopes")
