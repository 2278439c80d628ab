"""Joints that move as prescribed, whatever torque that takes: a component of the right-hand side.

With M = C^T M C of the coordinates, f free and p prescribed, M_ff x_f = b_f - M_fp x_p; the torques of the
prescribed ones are what their lines of M x = b lack (`kt.analysis.hybrid_dynamics`). Their accelerations are
those of the motion and, against the drift of an integration, 2 r (rate error) + r^2 (position error). With
closed loops x = a + W tau, where W is the answer to torques of one, and W_pp tau_p = x_p - a_p.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.engine.door import carray, compiled_callback, inline
from kinetree.engine.lanes import fields, row_at
from kinetree.engine.loop_compile import loop_views
from kinetree.kernels import aba
from kinetree.kernels.coupled import (
    composite_bodies,
    follow_slopes,
    follower_acceleration,
    reduced_system,
    solve_symmetric,
)
from kinetree.kernels.layout import Layout, layout_rows
from kinetree.kernels.loop import accelerate_loops, factor_loops, solve
from kinetree.kernels.model_table import TREE
from kinetree.kernels.piecewise import polynomials_at
from kinetree.kernels.rates import joint_torques
from kinetree.kernels.torque_law import AXIS
from kinetree.simulation.compiled.component import Component
from kinetree.simulation.compiled.context import HEADER, ContextParts
from kinetree.simulation.compiled.loops import BRIDGE, BRIDGE_AT, HEAD, cross, stabilize
from kinetree.simulation.compiled.rates import OF_COMPONENT

LANES = 4
RATE = 20.0  # 1/s at which prescribed joints return to their motion from errors of the integration
PRESCRIBED = Layout(world=False, constant=True, joints=int, pieces=int, order=int, table=int, scratch=int)
JOINT = Layout(world=False, constant=True, dof=int, axis=int)  # its coordinate, and the axis that this is


class PrescribedJoints(Component):
    """Joints at ``places`` of q (k,), on the axes of these, that follow the columns of ``motion``."""

    name = "prescribed"

    def __init__(
        self, places: Any, axes: Any, motion: PiecewisePolynomial, *, in_loops: bool = False
    ) -> None:
        self.places, self.motion, self.in_loops = np.asarray(places), motion, in_loops
        self.axes = np.asarray(axes)[self.places]

    def numbers(self, parts: ContextParts) -> Array:
        """Head, a row for each joint, the polynomials, scratch."""
        count, n = len(self.places), parts.tree.n_dof
        table = np.concatenate([self.motion.breaks.ravel(), self.motion.coefficients.ravel()])
        begin = PRESCRIBED.width + count * JOINT.width
        scratch = -(-(begin + table.size) // 8) * 8
        head = layout_rows(
            PRESCRIBED,
            1,
            joints=count,
            pieces=len(self.motion.coefficients),
            order=self.motion.coefficients.shape[1],
            table=begin,
            scratch=scratch,
        )
        rows = layout_rows(JOINT, count, dof=self.places, axis=self.axes)
        numbers = np.zeros(scratch + LANES * (n * n + n + 3 * count + count * (n + 1) + 2 * parts.tree.n))
        numbers[: begin + table.size] = np.concatenate([head.ravel(), rows.ravel(), table])
        return numbers

    def address(self, function: str, lanes: int) -> int:
        """Where "rates" is; "motion" leaves what that has found, as do closed loops that are led."""
        if function == "rates":
            made = prescribed_in_loops(lanes) if self.in_loops else prescribed_rates(lanes)
            return int(made.address)
        return int(prescribed_motion().address) if function == "motion" and not self.in_loops else 0

    def drives(self, axis: int) -> bool:
        """Whether an axis is prescribed."""
        return axis in self.axes


@inline
def hold_lines(joints, count, n, want_dd, A, b, kept):
    """Keep the lines of prescribed coordinates, and put x_k = wanted in their place."""
    for j in range(count):
        k = joints.dof[j]
        for c in range(n):
            kept[j * (n + 1) + c] = A[k * n + c]
        kept[j * (n + 1) + n] = b[k]
    for j in range(count):
        k = joints.dof[j]
        for i in range(n):
            b[i] = b[i] - A[i * n + k] * want_dd[j]
    for j in range(count):
        k = joints.dof[j]
        for i in range(n):
            A[i * n + k], A[k * n + i] = 0.0 * b[i], 0.0 * b[i]
        A[k * n + k], b[k] = 1.0 + 0.0 * b[k], 0.0 * b[k] + want_dd[j]


@functools.cache
def prescribed_rates(lanes: int) -> Any:
    """The C callback that fills rows ``qdd`` and, of prescribed joints, ``tau`` of the context."""
    first = PRESCRIBED.width

    def run(t, y_, dy_, context_, own_):
        memory, own = carray(context_, (1,)), carray(own_, (1,))
        head, ours = fields(memory, HEADER, 1, 0), fields(own, PRESCRIBED, 1, 0)
        n, n_dof, count = head.n[0], head.n_dof[0], ours.joints[0]
        joints = fields(own, JOINT, 1, first)
        place = ours.scratch[0]
        A = row_at(own, place, n_dof * n_dof, lanes)
        place += lanes * n_dof * n_dof
        b = row_at(own, place, n_dof, lanes)
        place += lanes * n_dof
        want, want_d = row_at(own, place, count, lanes), row_at(own, place + lanes * count, count, lanes)
        want_dd = row_at(own, place + 2 * lanes * count, count, lanes)
        place += 3 * lanes * count
        kept = row_at(own, place, count * (n_dof + 1), lanes)
        place += lanes * count * (n_dof + 1)
        slopes, bends = row_at(own, place, n, lanes), row_at(own, place + lanes * n, n, lanes)
        tree, axes = fields(memory, TREE, 1, head.tree[0]), fields(memory, AXIS, 1, head.axes[0])
        work = fields(memory, aba.SLOTS, lanes, head.work[0])
        q, qd = row_at(memory, head.q[0], n, lanes), row_at(memory, head.qd[0], n, lanes)
        tau, qdd = row_at(memory, head.tau[0], n, lanes), row_at(memory, head.qdd[0], n, lanes)
        total, stops = row_at(memory, head.total[0], n, lanes), row_at(memory, head.stops[0], 2 * n, 1)
        polynomials_at(own, ours.table[0], ours.pieces[0], ours.order[0], count, t, want, want_d, want_dd)
        for j in range(count):
            i = joints.axis[j]
            tau[i] = 0.0 * q[i]
            off = RATE * (want[j] - q[i]) + 2.0 * (want_d[j] - qd[i])
            want_dd[j] = want_dd[j] + RATE * off
        joint_torques(head, tree, axes, q, qd, tau, stops, total)
        composite_bodies(tree, work, n)
        y = row_at(carray(y_, (1,)), 0, 2 * n_dof, lanes)
        follow_slopes(axes, y, n, n_dof, slopes, bends)
        reduced_system(tree, axes, work, n, n_dof, slopes, bends, total, A, b)
        hold_lines(joints, count, n_dof, want_dd, A, b, kept)
        solve_symmetric(n_dof, A, b)
        for j in range(count):
            x = -kept[j * (n_dof + 1) + n_dof]
            for c in range(n_dof):
                x = x + kept[j * (n_dof + 1) + c] * b[c]
            tau[joints.axis[j]] = x
        for i in range(n):
            qdd[i] = follower_acceleration(axes, i, slopes, bends, b)
        return 0

    return compiled_callback(run, OF_COMPONENT, f"prescribed-{lanes}")


@inline
def answer_of_loops(views, axis, x):
    """Accelerations in x of all unknowns that a torque of one on an axis causes, after `factor_loops`."""
    loops, rows, links, pivots, below = views[0], views[2], views[4], views[7], views[9]
    matrix, unknowns, spares = views[12], views[13], views[16]
    for k in range(loops.n_unknowns[0]):
        unknowns.x[k] = 0.0 * x
    unknowns.x[links.unknown[axis]] = links.ratio[axis] + 0.0 * x
    solve(loops, rows, pivots, below, matrix, unknowns, spares)


@functools.cache
def prescribed_in_loops(lanes: int) -> Any:
    """The C callback that fills rows ``qdd`` and, of prescribed joints, ``tau`` of closed loops."""
    first, see = PRESCRIBED.width, loop_views(lanes)

    def run(t, y_, dy_, context_, own_):
        memory, own = carray(context_, (1,)), carray(own_, (1,))
        head, ours = fields(memory, HEADER, 1, 0), fields(own, PRESCRIBED, 1, 0)
        n, n_dof, count = head.n[0], head.n_dof[0], ours.joints[0]
        joints = fields(own, JOINT, 1, first)
        W = row_at(own, ours.scratch[0], count * count, lanes)
        place = ours.scratch[0] + lanes * n_dof * n_dof
        b = row_at(own, place, count, lanes)
        place += lanes * n_dof
        want, want_d = row_at(own, place, count, lanes), row_at(own, place + lanes * count, count, lanes)
        want_dd = row_at(own, place + 2 * lanes * count, count, lanes)
        kept = row_at(own, place + 3 * lanes * count, count, lanes)
        tree, axes = fields(memory, TREE, 1, head.tree[0]), fields(memory, AXIS, 1, head.axes[0])
        work = fields(memory, aba.SLOTS, lanes, head.work[0])
        q, qd = row_at(memory, head.q[0], n, lanes), row_at(memory, head.qd[0], n, lanes)
        tau, qdd = row_at(memory, head.tau[0], n, lanes), row_at(memory, head.qdd[0], n, lanes)
        total, stops = row_at(memory, head.total[0], n, lanes), row_at(memory, head.stops[0], 2 * n, 1)
        views = see(memory, head.motion_own[0])
        base = head.motion_own[0] + views[0].end[0]
        loops = fields(memory, HEAD, 1, base)
        if lanes == 1 and loops.begin[0] < t <= loops.end[0]:  # across a singular position
            cross(fields(memory, BRIDGE, 1, base + BRIDGE_AT), t - loops.begin[0], n, qdd)
            for j in range(count):
                tau[joints.axis[j]] = kept[j]
            return 0
        polynomials_at(own, ours.table[0], ours.pieces[0], ours.order[0], count, t, want, want_d, want_dd)
        for j in range(count):
            tau[joints.axis[j]] = 0.0 * q[0]
        joint_torques(head, tree, axes, q, qd, tau, stops, total)
        factor_loops(tree, work, n, *views)
        if loops.baumgarte[0] > 0.0:
            stabilize(views, loops.baumgarte[0])
        accelerate_loops(tree, work, n, q, qd, total, qdd, *views)
        links, unknowns = views[4], views[13]
        for j in range(count):
            i = joints.axis[j]
            off = RATE * (want[j] - q[i]) + 2.0 * (want_d[j] - qd[i])
            b[j] = want_dd[j] + RATE * off - qdd[i]
        for j in range(count):
            answer_of_loops(views, joints.axis[j], q[0])
            for k in range(count):
                a = joints.axis[k]
                W[j * count + k] = links.ratio[a] * unknowns.x[links.unknown[a]]
        solve_symmetric(count, W, b)
        for j in range(count):
            i = joints.axis[j]
            tau[i], kept[j] = b[j], b[j]
            total[i] = total[i] + b[j]
        for k in range(views[0].n_unknowns[0]):
            unknowns.x[k] = 0.0 * q[0]
        accelerate_loops(tree, work, n, q, qd, total, qdd, *views)
        return 0

    return compiled_callback(run, OF_COMPONENT, f"prescribed-in-loops-{lanes}")


@functools.cache
def prescribed_motion() -> Any:
    """The C callback that leaves accelerations as they are."""

    def run(t, y_, dy_, context_, own_):
        return 0

    return compiled_callback(run, OF_COMPONENT, "prescribed-motion")
