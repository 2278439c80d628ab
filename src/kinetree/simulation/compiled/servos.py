"""Actuators of a mechanism's own, motors and servos with gears, as machine code: a component.

Each has a force f = f0 - kp l - kv dl/dt within its range, with the length l = sum of gear q, and adds gear f
to the torques; these stay within limits.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.engine.door import carray, compiled_callback
from kinetree.engine.lanes import fields, row_at
from kinetree.kernels.layout import Layout, layout_rows
from kinetree.kernels.number import lanewise, where_less
from kinetree.kernels.torque_law import limited
from kinetree.simulation.compiled.component import Component
from kinetree.simulation.compiled.context import HEADER, ContextParts
from kinetree.simulation.compiled.rates import OF_COMPONENT

SERVOS = Layout(world=False, constant=True, servos=int, gears=int, limits=int)  # how many rows of each follow
SERVO = Layout(world=False, constant=True, first=int, many=int, force=1, kp=1, kv=1, low=1, high=1)
GEAR = Layout(world=False, constant=True, axis=int, gear=1)
LIMIT = Layout(world=False, constant=True, axis=int, most=1)


class Servos(Component):
    """Adds the torques of actuators; ``gears`` (k, n_dof), the others (k,), ``most`` (n_dof,).

    ``axes`` (n_dof,) are the axes of the coordinates.
    """

    name = "servos"
    has_slopes = True

    def __init__(
        self,
        gears: Array,
        force: Array,
        kp: Array,
        kv: Array,
        low: Array,
        high: Array,
        most: Array,
        axes: Any,
    ) -> None:
        self.gears, self.most, self.axes = gears, most, np.asarray(axes)
        self.columns = {"force": force, "kp": kp, "kv": kv, "low": low, "high": high}

    @property
    def damps(self) -> bool:
        """Whether a servo resists motion."""
        return bool(self.columns["kv"].any())

    def numbers(self, parts: ContextParts) -> Array:
        """Their numbers, then a row for each actuator, each gear and each limited axis."""
        servo, dof = np.nonzero(self.gears)
        count = np.count_nonzero(self.gears, axis=1)
        stiff = np.flatnonzero(np.isfinite(self.most))
        blocks = (
            layout_rows(SERVOS, 1, servos=len(count), gears=len(dof), limits=len(stiff)),
            layout_rows(SERVO, len(count), first=np.cumsum(count) - count, many=count, **self.columns),
            layout_rows(GEAR, len(dof), axis=self.axes[dof], gear=self.gears[servo, dof]),
            layout_rows(LIMIT, len(stiff), axis=self.axes[stiff], most=self.most[stiff]),
        )
        return np.concatenate([block.ravel() for block in blocks])

    def address(self, function: str, lanes: int) -> int:
        """Where "rates" and "slopes" are."""
        if function == "rates":
            return int(servo_torques(lanes).address)
        return int(servo_jacobian().address) if function == "slopes" and lanes == 1 else 0

    def drives(self, axis: int) -> bool:
        """Whether an axis has an actuator."""
        return bool(self.gears[:, self.axes == axis].any())


@lanewise
def servo_force(servos, gears, k, q, qd):
    """The force of an actuator before its range cuts it off."""
    x, v = 0.0 * q[0], 0.0 * q[0]
    for g in range(servos.first[k], servos.first[k] + servos.many[k]):
        i = gears.axis[g]
        x, v = x + gears.gear[g] * q[i], v + gears.gear[g] * qd[i]
    return servos.force[k] - servos.kp[k] * x - servos.kv[k] * v


@lanewise
def serve(servos, gears, limits, counts, q, qd, tau):
    """Add the torques of all actuators, and keep torques within the limits of the axes."""
    for k in range(counts.servos[0]):
        f = servo_force(servos, gears, k, q, qd)
        low, high = servos.low[k], servos.high[k]
        f = where_less(f, low, low, where_less(high, f, high, f))
        for g in range(servos.first[k], servos.first[k] + servos.many[k]):
            i = gears.axis[g]
            tau[i] = tau[i] + gears.gear[g] * f
    for k in range(counts.limits[0]):
        i = limits.axis[k]
        tau[i] = limited(tau[i], limits.most[k])


@lanewise
def serve_slopes(servos, gears, counts, q, qd, n, width, J):
    """Add the slopes of the torques to the lines of J (..., width): by positions, then by velocities."""
    for k in range(counts.servos[0]):
        f = servo_force(servos, gears, k, q, qd)
        able = where_less(servos.low[k], f, where_less(f, servos.high[k], 1.0, 0.0), 0.0)
        first, last = servos.first[k], servos.first[k] + servos.many[k]
        for g in range(first, last):
            row = gears.axis[g] * width
            for h in range(first, last):
                j, share = gears.axis[h], able * (gears.gear[g] * gears.gear[h])
                J[row + j] = J[row + j] - share * servos.kp[k]
                J[row + n + j] = J[row + n + j] - share * servos.kv[k]


@functools.cache
def servo_torques(lanes: int) -> Any:
    """The C callback of `serve` for `lanes` states."""
    first, width, next_width = SERVOS.width, SERVO.width, GEAR.width

    def run(t, y_, dy_, context_, own_):
        memory, own = carray(context_, (1,)), carray(own_, (1,))
        head, counts = fields(memory, HEADER, 1, 0), fields(own, SERVOS, 1, 0)
        n = head.n[0]
        q, qd = row_at(memory, head.q[0], n, lanes), row_at(memory, head.qd[0], n, lanes)
        at_gears = first + counts.servos[0] * width
        at_limits = at_gears + counts.gears[0] * next_width
        servos, gears = fields(own, SERVO, 1, first), fields(own, GEAR, 1, at_gears)
        limits = fields(own, LIMIT, 1, at_limits)
        serve(servos, gears, limits, counts, q, qd, row_at(memory, head.tau[0], n, lanes))
        return 0

    return compiled_callback(run, OF_COMPONENT, f"servos-{lanes}")


@functools.cache
def servo_jacobian() -> Any:
    """The C callback of `serve_slopes`."""
    first, step = SERVOS.width, SERVO.width

    def run(t, y_, J_, context_, own_):
        memory, own = carray(context_, (1,)), carray(own_, (1,))
        head, counts = fields(memory, HEADER, 1, 0), fields(own, SERVOS, 1, 0)
        n, more = head.n[0], head.more[0]
        width = 2 * n + more
        q, qd = row_at(memory, head.q[0], n, 1), row_at(memory, head.qd[0], n, 1)
        J = row_at(carray(J_, (1,)), 0, (n + more) * width, 1)
        servos = fields(own, SERVO, 1, first)
        gears = fields(own, GEAR, 1, first + counts.servos[0] * step)
        serve_slopes(servos, gears, counts, q, qd, n, width, J)
        return 0

    return compiled_callback(run, OF_COMPONENT, "servo-slopes")
