"""Closed loops as machine code: accelerations under constraints, and the projection back onto them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.engine.door import FLOAT, INTEGER, NUMBERS, carray, compiled_callback, inline, part
from kinetree.engine.lanes import fields, row_at
from kinetree.engine.loop_compile import loop_views
from kinetree.kernels import aba
from kinetree.kernels.layout import Layout, layout_rows
from kinetree.kernels.loop import accelerate_loops, factor_loops, share_of_group, solve
from kinetree.kernels.loop_table import LOOPS, ROW, UNKNOWN, LoopTables
from kinetree.kernels.model_table import TREE
from kinetree.kernels.rates import split_state
from kinetree.kernels.torque_law import AXIS
from kinetree.simulation.compiled.component import Component
from kinetree.simulation.compiled.context import HEADER
from kinetree.simulation.compiled.rates import OF_COMPONENT

LANES = 4
PASSAGE = Layout(world=False, pivot=int, time=1)
MOST_PASSAGES = 64  # that are remembered
AHEAD = 12.0  # steps ahead from which on a singular position is looked for
PASSED = 0.02  # share of the present regularity below which the smallest one ahead is a passage
TRUSTED = 10.0  # error of a bridge, beside the tolerance, up to which it is used
FLOOR = 1e-3  # regularity below which it is used anyway
APPROACH = 0.6  # share of the distance that a step goes before that
NOISY = 1e-3  # regularity below which rates of loops are rounding divided by nearly nothing
WIDTHS = (0.3, 0.1, 0.03)  # of the parabolas that find the nearest approach, relative to its distance
BRIDGE = Layout(world=False, q=1, qd=1, qdd=1, a=4)  # of each axis: last end of a step; its bridge
HEAD = Layout(
    world=False,
    constant=True,
    n_passages=int,  # singular positions that were passed
    time=1,  # of the last projection of a step
    regularity=1,  # at that time
    begin=1,  # times between which accelerations are those of a bridge
    end=1,
    tolerance=1,  # relative, of the integration
    drift=1,  # the largest gap at the end of a step, before projection
    baumgarte=1,  # rate (1/s) at which accelerations close the loops; 0: projections do
    led=int,  # 1: accelerations are found by a component that prescribes some
)  # it follows the tables of `kernels.loop_table`; passages and bridge follow it
PASSAGES_AT = HEAD.width
BRIDGE_AT = PASSAGES_AT + PASSAGE.width * MOST_PASSAGES
PROJECT = INTEGER(FLOAT, NUMBERS, NUMBERS, NUMBERS, NUMBERS)
ITERATIONS = 4  # of a projection at most
CLOSED = 1e-14  # gap (m, sine) that needs no projection


class Passage(NamedTuple):
    """A singular position that was passed: when (s), and of which loop."""

    time: float
    loop: int


class ClosedLoops(Component):
    """Finds accelerations that keep the loops closed."""

    name = "loops"

    def __init__(
        self,
        tables: LoopTables,
        kept: Sequence[int],
        loops: Sequence[int],
        baumgarte: float | None = None,
        *,
        is_led: bool = False,
    ) -> None:
        """Rows ``kept`` of all there are have multipliers; they belong to ``loops``.

        ``is_led``: another component has found the accelerations already.
        """
        self.tables, self.kept, self.baumgarte, self.is_led = tables, tuple(kept), baumgarte, is_led
        self._loop_of = dict(zip(self._pivots.tolist(), loops, strict=True))

    def numbers(self, parts: Any) -> Array:
        """Tables and scratch, head, passages and bridge in one array."""
        more = np.zeros(BRIDGE_AT + BRIDGE.width * parts.tree.n)
        head = layout_rows(
            HEAD, 1, tolerance=parts.rtol, baumgarte=self.baumgarte or 0.0, led=int(self.is_led)
        )
        more[: HEAD.width] = head[0]
        return np.concatenate([self.tables.numbers(LANES), more])

    @property
    def _pivots(self) -> Any:
        """Places of the multipliers in the order of elimination."""
        rows = self.tables.tables["rows"].view(np.int64)
        return rows[: self.tables.n_loop_rows, ROW.places["unknown"][0]]

    def multipliers(self, own: Array) -> Array:
        """lambda (kept rows,) as the last accelerations of one simulation have left it."""
        start = int(own.view(np.int64)[LOOPS.places["unknowns"][0]])
        return -own[start + UNKNOWN.width * self._pivots]

    def _head(self, own: Array) -> Array:
        """From the head on, of the component's numbers in a context."""
        return own[int(own.view(np.int64)[LOOPS.places["end"][0]]) :]

    def passages(self, own: Array) -> list[Passage]:
        """The singular positions that were passed, from the component's numbers in a context."""
        head = self._head(own)
        words = head.view(np.int64)
        rows = [PASSAGES_AT + PASSAGE.width * k for k in range(int(words[HEAD.places["n_passages"][0]]))]
        return [Passage(float(head[k + 1]), self._loop_of[int(words[k])]) for k in rows]

    def drift(self, own: Array) -> float:
        """The largest gap (m, sine) at the end of a step before its projection."""
        return float(self._head(own)[HEAD.places["drift"][0]])

    def address(self, function: str, lanes: int) -> int:
        """Where "motion" is."""
        return int(loop_motion(lanes).address) if function == "motion" else 0


@inline
def cross(bridge, time, n, qdd):
    """Accelerations of a bridge, so long after its beginning."""
    for i in range(n):
        a = bridge.a[i]
        qdd[i] = a[0] + time * (a[1] + time * (a[2] + time * a[3]))


@inline
def stabilize(views, rate):
    """Biases of gaps that obey g'' + 2 a g' + a^2 g = 0 (Baumgarte 1972), after `factor_loops`."""
    loops, gaps = views[0], views[14]
    for k in range(loops.n_rows[0]):
        gaps.bias[k] = gaps.bias[k] + rate * (2.0 * gaps.rate[k] + rate * gaps.gap[k])


@functools.cache
def loop_motion(lanes: int) -> Any:
    """The C callback that fills the row ``qdd`` of the context from the row ``total``."""
    see = loop_views(lanes)

    def run(t, y_, dy_, context_, own_):
        memory, own = carray(context_, (1,)), carray(own_, (1,))
        head = fields(memory, HEADER, 1, 0)
        n = head.n[0]
        tree, work = fields(memory, TREE, 1, head.tree[0]), fields(memory, aba.SLOTS, lanes, head.work[0])
        q, qd = row_at(memory, head.q[0], n, lanes), row_at(memory, head.qd[0], n, lanes)
        total, qdd = row_at(memory, head.total[0], n, lanes), row_at(memory, head.qdd[0], n, lanes)
        views = see(own, 0)
        if fields(own, HEAD, 1, views[0].end[0]).led[0] == 1:
            return 0
        if lanes == 1:
            base = views[0].end[0]
            loops = fields(own, HEAD, 1, base)
            if loops.begin[0] < t <= loops.end[0]:
                cross(fields(own, BRIDGE, 1, base + BRIDGE_AT), t - loops.begin[0], n, qdd)
                return 0
        factor_loops(tree, work, n, *views)
        rate = fields(own, HEAD, 1, views[0].end[0]).baumgarte[0]
        if rate > 0.0:
            stabilize(views, rate)
        accelerate_loops(tree, work, n, q, qd, total, qdd, *views)
        return 0

    return compiled_callback(run, OF_COMPONENT, f"loops-{lanes}")


@inline
def factored(views, tree, work, n, q, qd):
    """Factor M and J at a place and a motion; gaps and their rates."""
    aba.biased_motion(tree, work, q, qd)
    factor_loops(tree, work, n, *views)


@inline
def regularity(views):
    """Square root of the smallest pivot beside its usual size, and its place, after `factored`.

    It falls in proportion to the distance from a position where the loops lose rank. Of soft rows it is the
    product of all pivots of their group.
    """
    loops, rows, pivots = views[0], views[2], views[7]
    owners, matrix, spares = views[11], views[12], views[16]
    least, worst = np.inf, 0
    for group in range(loops.n_groups[0]):
        share = share_of_group(loops, rows, pivots, owners, matrix, spares, group)
        if share < least:
            least, smallest = share, np.inf
            for k in range(loops.n_rows[0]):
                place = rows.unknown[k]
                part = 1.0 / abs(matrix.A[place] * pivots.usual[place])
                if rows.group[k] == group and part < smallest:
                    smallest, worst = part, place
    for k in range(loops.n_unknowns[0]):
        is_hard = pivots.multiplier[k] and not pivots.is_soft[k]
        if is_hard and pivots.usual[k] > 0.0:  # of a row that counts
            share = 1.0 / abs(matrix.A[k] * pivots.usual[k]) if matrix.A[k] != 0.0 else 0.0
            if share < least:
                least, worst = share, k
    return np.sqrt(least), worst


def planning() -> Any:
    """plan_step(memory, head, base, dy, plan, t, now, elapsed, before): bridge a singular position ahead.

    The motion is smooth there, but near it the equations amplify errors, and those of the stages of a step
    most of all. Once the position is near enough, accelerations on its way there and as far beyond are those
    of the polynomial through the ends of the last step, and its length is planned such.
    """
    see, width = loop_views(1), PASSAGE.width
    passages, begin, end = (HEAD.places[name][0] for name in ("n_passages", "begin", "end"))

    def ahead(memory, head, base, dy, time):
        """Regularity at a time ahead, along a parabola."""
        n, dof = head.n[0], head.n_dof[0]
        axes, tree = fields(memory, AXIS, 1, head.axes[0]), fields(memory, TREE, 1, head.tree[0])
        work = fields(memory, aba.SLOTS, 1, head.work[0])
        q, qd = row_at(memory, head.q[0], n, 1), row_at(memory, head.qd[0], n, 1)
        there = row_at(memory, head.spare[0], n, 1)
        for i in range(n):
            bend = axes.ratio[i] * dy[dof + axes.dof[i]]
            there[i] = q[i] + time * (qd[i] + 0.5 * time * bend)
        views = see(memory, head.motion_own[0])
        factored(views, tree, work, n, there, qd)
        return regularity(views)

    look_ahead = part(ahead)

    def nearest(memory, head, base, dy, distance):
        """Time until the regularity is smallest, that value, and the pivot that has it."""
        for share in WIDTHS:
            step = share * distance
            early, _ = look_ahead(memory, head, base, dy, distance - step)
            there, _ = look_ahead(memory, head, base, dy, distance)
            late, _ = look_ahead(memory, head, base, dy, distance + step)
            bend = early * early - 2.0 * there * there + late * late
            if bend <= 0.0:
                return distance, np.inf, 0
            move = 0.5 * step * (early * early - late * late) / bend
            distance = min(max(distance + move, 0.3 * distance), 2.0 * distance)
        least, row = look_ahead(memory, head, base, dy, distance)
        return distance, least, row

    find_nearest = inline(nearest)

    def span(memory, head, base, dy, elapsed, length, is_quintic):
        """Fill the bridge; the change of velocities (relative) that the end of the step before makes."""
        n, dof = head.n[0], head.n_dof[0]
        axes, bridge = fields(memory, AXIS, 1, head.axes[0]), fields(memory, BRIDGE, 1, base + BRIDGE_AT)
        q, qd = row_at(memory, head.q[0], n, 1), row_at(memory, head.qd[0], n, 1)
        worst, speed, x = 0.0, 0.0, length / elapsed
        for i in range(n):
            now = axes.ratio[i] * dy[dof + axes.dof[i]]
            A = bridge.qdd[i] - now
            V = (bridge.qd[i] - qd[i]) / elapsed + now
            P = (bridge.q[i] - q[i] + elapsed * qd[i]) / (elapsed * elapsed) - 0.5 * now
            b, c, d = 2.0 * A + 6.0 * V, 3.0 * A + 6.0 * V, -10.0 * A - 60.0 * V - 120.0 * P
            change = d * elapsed * x * x * (0.25 + 0.5 * x + 0.25 * x * x)
            worst, speed = max(worst, abs(change)), max(speed, abs(qd[i]))
            d = d if is_quintic else 0.0
            b, c = b + 0.5 * d, c + 1.5 * d
            bridge.a[i] = now, b / elapsed, c / elapsed**2, d / elapsed**3
        return worst / max(speed, 1e-300)

    fill = part(span)

    def plan_step(memory, head, base, dy, plan, t, now, elapsed, before):
        distance = now * elapsed / (before - now)
        far = AHEAD * (plan[0] if now > FLOOR else max(plan[0], elapsed))
        if distance > far:
            return
        distance, least, row = find_nearest(memory, head, base, dy, distance)
        if least > PASSED * now or distance > far:
            return
        loops, words = fields(memory, HEAD, 1, base), memory.view(np.int64)
        error = fill(memory, head, base, dy, elapsed, 2.0 * distance, True)
        if error > TRUSTED * loops.tolerance[0]:
            if now > FLOOR:
                plan[2] = min(plan[0], APPROACH * distance)
                return
            fill(memory, head, base, dy, elapsed, 2.0 * distance, False)
        memory[base + begin], memory[base + end] = t, t + 2.0 * distance
        plan[2], plan[3] = 2.0 * distance, 1.0
        count = words[base + passages]
        if count < MOST_PASSAGES:
            place = base + PASSAGES_AT + width * count
            words[place] = row
            memory[place + 1] = t + distance
            words[base + passages] += 1

    return inline(plan_step)


@functools.cache
def loop_projection() -> Any:
    """The C callback (t, y*, dy*, plan*, context*) that closes the loops of one simulation and their rates.

    Steps are of least kinetic energy: M dq + J^T mu = 0, J dq = -gap; then the same for velocities. See
    `integrate.integration` for what it answers and plans.
    """
    see, plan_step = loop_views(1), planning()
    last, known, end = (HEAD.places[name][0] for name in ("time", "regularity", "end"))
    passages, drift = HEAD.places["n_passages"][0], HEAD.places["drift"][0]

    def corrected(views, n, rates, change):
        """Fill the steps of all axes that make the gaps, or their rates, vanish."""
        loops, rows, links, pivots, below = views[0], views[2], views[4], views[7], views[9]
        matrix, unknowns, gaps, spares = views[12], views[13], views[14], views[16]
        for k in range(loops.n_unknowns[0]):
            unknowns.x[k] = 0.0
        for k in range(loops.n_rows[0]):
            unknowns.x[rows.unknown[k]] = -gaps.rate[k] if rates else -gaps.gap[k]
        solve(loops, rows, pivots, below, matrix, unknowns, spares)
        for i in range(n):
            change[i] = links.ratio[i] * unknowns.x[links.unknown[i]]

    correct = inline(corrected)

    def run(t, y_, dy_, plan_, context_):
        memory, y = carray(context_, (1,)), carray(y_, (1,))
        dy, plan = carray(dy_, (1,)), carray(plan_, (1,))
        head = fields(memory, HEADER, 1, 0)
        n, dof = head.n[0], head.n_dof[0]
        views = see(memory, head.motion_own[0])
        base = head.motion_own[0] + views[0].end[0]
        loops, axes = fields(memory, HEAD, 1, base), fields(memory, AXIS, 1, head.axes[0])
        n_rows, gaps = views[0].n_rows[0], views[14]
        tree, work = fields(memory, TREE, 1, head.tree[0]), fields(memory, aba.SLOTS, 1, head.work[0])
        q, qd = row_at(memory, head.q[0], n, 1), row_at(memory, head.qd[0], n, 1)
        change = row_at(memory, head.spare[0], n, 1)
        whole = row_at(y, 0, head.size[0], 1)
        if plan[0] > 0.0 and loops.begin[0] < t < loops.end[0]:  # still on the bridge
            plan[2], plan[3] = loops.end[0] - t, 1.0
            return 0
        if loops.end[0] > 0.0 and plan[0] > 0.0:  # behind a bridge
            memory[base + known] = 0.0
        memory[base + end] = 0.0
        split_state(head, axes, whole, q, qd)
        factored(views, tree, work, n, q, qd)
        for count in range(ITERATIONS):
            worst = 0.0
            for k in range(n_rows):
                worst = max(worst, abs(gaps.gap[k]))
            if count == 0 and plan[0] > 0.0:
                memory[base + drift] = max(memory[base + drift], worst)
            if worst < CLOSED:
                break
            correct(views, n, False, change)
            for i in range(n):
                if axes.leads[i]:
                    y[axes.dof[i]] += change[i]
            split_state(head, axes, whole, q, qd)
            factored(views, tree, work, n, q, qd)
        now, _ = regularity(views)
        if now > NOISY:
            correct(views, n, True, change)
            for i in range(n):
                if axes.leads[i]:
                    y[dof + axes.dof[i]] += change[i]
        if plan[0] <= 0.0:
            return 1
        split_state(head, axes, whole, q, qd)
        elapsed, before = t - memory[base + last], memory[base + known]
        memory[base + last], memory[base + known] = t, now
        if elapsed < 0.0:  # another run
            memory.view(np.int64)[base + passages], memory[base + drift] = 0, 0.0
        elif now < before and plan[1] > 0.0:
            plan_step(memory, head, base, dy, plan, t, now, elapsed, before)
        bridge = fields(memory, BRIDGE, 1, base + BRIDGE_AT)
        for i in range(n):
            bridge.q[i], bridge.qd[i] = q[i], qd[i]
            bridge.qdd[i] = axes.ratio[i] * dy[dof + axes.dof[i]]
        return 1

    return compiled_callback(run, PROJECT, "loop-projection")
