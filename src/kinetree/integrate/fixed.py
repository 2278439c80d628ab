"""Methods with steps of equal length; dense output by cubic Hermite polynomials."""

from __future__ import annotations

import math

from kinetree.engine.door import helper as compiled
from kinetree.engine.lanes.calls import load_block, store_block
from kinetree.engine.workspace import BLOCK
from kinetree.integrate.explicit import Method, all_stages, last_time, nothing_more, point
from kinetree.integrate.settings import CALLBACK, GO_ON, NEW, NOT_FINITE, K, Y
from kinetree.integrate.steps import copy, evaluate, is_finite

AT_END, CHANGE = K + 1, K + 2  # rows: f at the end of the step, and y_new - y


@compiled
def start(s, memory):
    """f at the present state into row K."""
    return evaluate(s, memory, s.t, Y, K)


@compiled
def equal_step(s):
    """An integer number of equal steps up to the target, none longer than wanted."""
    rest = s.target - s.t
    count = max(1.0, math.ceil(rest / min(s.step, s.max_step) - 1e-9))
    s.h = rest / count
    s.landing = 1 if count == 1.0 else 0
    s.t_new = s.target if s.landing else s.t + s.h


@compiled
def weigh_hermite(s, memory, theta):
    """Weights of f at both ends and of the change."""
    rest = 1.0 - theta
    s.weights[0] = s.h * theta * rest * rest
    s.weights[1] = -s.h * theta * theta * rest
    s.weights[2] = theta * theta * (3.0 - 2.0 * theta)


@compiled
def commit(s, memory):
    """f at the end is f at the next start."""
    copy(memory, NEW, Y)
    copy(memory, AT_END, K)


def equal_steps(step):
    """take(s, memory, ...) of a function that fills the rows NEW and AT_END."""

    @compiled
    def take(s, memory, matrices, complexes, pivots):
        equal_step(s)
        if step(s, memory) != 0:
            return CALLBACK
        if not is_finite(memory, NEW):
            return NOT_FINITE
        for j in range(0, memory.shape[1], BLOCK):
            store_block(memory, CHANGE, j, load_block(memory, NEW, j) - load_block(memory, Y, j))
        return GO_ON

    return take


@compiled
def euler(s, memory):
    """Velocities with the old accelerations, positions with the new velocities, all else explicitly."""
    h, n = s.h, s.n
    for lane in range(s.lanes):
        q, qd, end = lane * s.size, lane * s.size + n, (lane + 1) * s.size
        for j in range(qd, end):
            memory[NEW, j] = memory[Y, j] + h * memory[K, j]
        for j in range(n):
            memory[NEW, q + j] = memory[Y, q + j] + h * memory[NEW, qd + j]
    return evaluate(s, memory, last_time(s), NEW, AT_END)


def rk4() -> Method:
    """The classical method of order 4."""
    run = all_stages(
        [
            point(3, 0.5, (0.5,)),
            point(4, 0.5, (0.0, 0.0, 0.0, 0.5)),
            point(5, 1.0, (0.0, 0.0, 0.0, 0.0, 1.0)),
            point(1, 1.0, (1 / 6, 0.0, 0.0, 1 / 3, 1 / 3, 1 / 6), NEW),
        ]
    )
    return Method("rk4", 6, 3, start, equal_steps(run), nothing_more, weigh_hermite, commit, K, AT_END)


def semi_implicit_euler() -> Method:
    """qd += h qdd(q, qd), then q += h qd: order 1, symplectic for conservative systems."""
    return Method(
        "semi_implicit_euler", 3, 3, start, equal_steps(euler), nothing_more, weigh_hermite, commit, K, AT_END
    )
