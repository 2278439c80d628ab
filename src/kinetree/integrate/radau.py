"""Radau IIA of order 5 or 9 for stiff systems q'' = f: simplified Newton, Gustafsson's control of the steps.

Hairer, Wanner: Solving ordinary differential equations II, 2nd edition, IV.8.
"""

from __future__ import annotations

import math

from kinetree.engine.door import helper as compiled
from kinetree.engine.lanes.calls import load_block, store_block
from kinetree.engine.workspace import BLOCK
from kinetree.integrate.collocation import GAMMA, MOST_STAGES, PAIRS, SCALES, T_INVERSE, C, E, T
from kinetree.integrate.explicit import Method, last_time, nothing_more
from kinetree.integrate.radau_systems import (
    F_START,
    Z_OLD,
    D,
    F,
    W,
    Z,
    new_factors,
    new_jacobian,
    solve_complex,
    solve_real,
    which,
)
from kinetree.integrate.settings import (
    ACCEPTED,
    ARGUMENT,
    CALLBACK,
    ERROR,
    FREE,
    GO_ON,
    JUMP,
    NEW,
    NOT_FINITE,
    STEP_TOO_SMALL,
    K,
    Y,
)
from kinetree.integrate.steps import (
    EPSILON,
    copy,
    evaluate,
    fit_next,
    is_finite,
    next_step,
    scaled_squares,
    shortest_step,
    worst_mean_square,
)

ITERATIONS = 12
LAST = F + MOST_STAGES - 1  # the row with f at the end of an accepted step
FAILED, CONVERGED, STOPPED = range(3)  # Newton's answers
TIGHT = 1e-5  # rtol up to which order 9 needs fewer evaluations than order 5


@compiled
def start(s, memory):
    """f at the present state; the Jacobian stays as a guess unless the state has jumped."""
    s.stages = 5 if s.rtol <= TIGHT else 3
    s.has_old = 0
    s.is_current = 0
    if s.start == JUMP:
        s.has_jacobian = 0
    if evaluate(s, memory, s.t, Y, K) != 0:
        return 1
    if next_step(s, memory, s.stages + 1) != 0:
        return 1
    copy(memory, K, F_START)
    s.has_slope = 1
    s.contraction = 1.0
    return 0


@compiled
def weigh(s, memory, theta):
    """Weights of the rows Z in the collocation polynomial."""
    for i in range(MOST_STAGES):
        s.weights[i] = theta * SCALES[which(s), i]
        for j in range(s.stages):
            if j != i:
                s.weights[i] *= theta - C[which(s), j]


@compiled
def combine(s, memory, table, i, source, target):
    """A row `target` = sum over the stages j of table[i, j] times row source + j."""
    for j in range(0, memory.shape[1], BLOCK):
        x = table[which(s), i, 0] * load_block(memory, source, j)
        for k in range(1, s.stages):
            x = x + table[which(s), i, k] * load_block(memory, source + k, j)
        store_block(memory, target, j, x)


@compiled
def predict(s, memory):
    """Z from the last step's polynomial, or zero; then W = T^-1 Z."""
    last = s.stages - 1
    for i in range(s.stages):
        if s.has_old != 0:
            weigh(s, memory, 1.0 + C[which(s), i] * s.h / s.h_old)
        for j in range(0, memory.shape[1], BLOCK):
            x = load_block(memory, Z_OLD, j) * 0.0
            if s.has_old != 0:
                for k in range(last):
                    x = x + s.weights[k] * load_block(memory, Z_OLD + k, j)
                x = x + (s.weights[last] - 1.0) * load_block(memory, Z_OLD + last, j)
            store_block(memory, Z + i, j, x)
    for i in range(s.stages):
        combine(s, memory, T_INVERSE, i, Z, W + i)


@compiled
def evaluate_stages(s, memory):
    """f at the collocation points into the rows F."""
    for i in range(s.stages):
        for j in range(0, memory.shape[1], BLOCK):
            store_block(memory, ARGUMENT, j, load_block(memory, Y, j) + load_block(memory, Z + i, j))
        t = last_time(s) if i == s.stages - 1 else s.t + C[which(s), i] * s.h
        if evaluate(s, memory, t, ARGUMENT, F + i) != 0:
            return 1
    return 0


@compiled
def residuals(s, memory):
    """T^-1 F - (eigenvalues / h) W into the rows D."""
    for i in range(s.stages):
        combine(s, memory, T_INVERSE, i, F, D + i)
    g = GAMMA[which(s)] / s.h
    for j in range(0, memory.shape[1], BLOCK):
        store_block(memory, D, j, load_block(memory, D, j) - g * load_block(memory, W, j))
    for pair in range(s.stages // 2):
        a, b = PAIRS[which(s), pair, 0] / s.h, PAIRS[which(s), pair, 1] / s.h
        one, two = 1 + 2 * pair, 2 + 2 * pair
        for j in range(0, memory.shape[1], BLOCK):
            w_1, w_2 = load_block(memory, W + one, j), load_block(memory, W + two, j)
            store_block(memory, D + one, j, load_block(memory, D + one, j) - (a * w_1 + b * w_2))
            store_block(memory, D + two, j, load_block(memory, D + two, j) - (a * w_2 - b * w_1))


@compiled
def correct(s, memory):
    """W += D, Z = T W; the norm of D."""
    for i in range(s.stages):
        for j in range(0, memory.shape[1], BLOCK):
            store_block(memory, W + i, j, load_block(memory, W + i, j) + load_block(memory, D + i, j))
    for i in range(s.stages):
        combine(s, memory, T, i, W, Z + i)
    square = 0.0
    for i in range(s.stages):
        scaled_squares(s, memory, D + i, Y)
        square += worst_mean_square(s, memory, D + i)
    return math.sqrt(square / s.stages)


@compiled
def newton(s, memory, matrices, complexes, pivots):
    """Solve for the stages; how it ended, and after how many iterations."""
    goal = max(10.0 * EPSILON / s.rtol, min(0.03, math.sqrt(s.rtol)))
    before, rate = 0.0, 0.0
    contraction = max(s.contraction, EPSILON) ** 0.8  # that of the last step, until two iterations tell
    for k in range(ITERATIONS):
        if evaluate_stages(s, memory) != 0:
            return STOPPED, k
        residuals(s, memory)
        solve_real(s, memory, matrices, pivots, D)
        for pair in range(s.stages // 2):
            solve_complex(s, memory, matrices, complexes, pivots, pair)
        size = correct(s, memory)
        if not size < math.inf:
            s.was_not_finite = 1
            return FAILED, k
        s.was_not_finite = 0
        if k > 0:
            rate = size / before
            if rate >= 1.0 or rate ** (ITERATIONS - 1 - k) / (1.0 - rate) * size > goal:
                return FAILED, k
            contraction = rate / (1.0 - rate)
        if size == 0.0 or (size < 1.0 and contraction * size < goal):  # sums are one iteration behind
            s.contraction, s.rate_of_convergence = contraction, rate
            return CONVERGED, k + 1
        before = size
    return FAILED, ITERATIONS


@compiled
def estimate(s, memory, matrices, pivots, row):
    """The squared norm of (gamma / h - J)^-1 (f + E Z / h), with f in a row; the vector stays in D."""
    for j in range(0, memory.shape[1], BLOCK):
        x = load_block(memory, row, j)
        for k in range(s.stages):
            x = x + (E[which(s), k] / s.h) * load_block(memory, Z + k, j)
        store_block(memory, D, j, x)
    solve_real(s, memory, matrices, pivots, D)
    copy(memory, D, ERROR)
    scaled_squares(s, memory, ERROR, NEW)
    return worst_mean_square(s, memory, ERROR)


@compiled
def error_of_step(s, memory, matrices, pivots):
    """The error; filtered once more where a stiff transient may exaggerate it. Negative: callback stopped."""
    for j in range(0, memory.shape[1], BLOCK):
        store_block(memory, NEW, j, load_block(memory, Y, j) + load_block(memory, Z + s.stages - 1, j))
    if not is_finite(memory, NEW):
        return math.inf
    square = estimate(s, memory, matrices, pivots, F_START)
    if square > 1.0 and (s.was_rejected != 0 or s.has_old == 0):
        for j in range(0, memory.shape[1], BLOCK):
            store_block(memory, ARGUMENT, j, load_block(memory, Y, j) + load_block(memory, D, j))
        if evaluate(s, memory, s.t, ARGUMENT, F) != 0:
            return -1.0
        square = estimate(s, memory, matrices, pivots, F)
    return math.sqrt(square) if square < math.inf else math.inf


@compiled
def growth(s, error):
    """Gustafsson's factor for the next step, before the safety factor."""
    error = max(error, 1e-12)
    exponent = 1.0 / (s.stages + 1.0)
    factor = error**-exponent
    if s.has_old != 0:
        factor *= min(1.0, s.h / s.h_old * (s.error_old / error) ** exponent)
    return factor


@compiled
def prepare(s, memory, matrices, complexes, pivots):
    """Jacobian and factors for the step s.h; not zero if the callback stopped."""
    if s.has_jacobian == 0 and new_jacobian(s, memory, matrices) != 0:
        return 1
    if s.h_factored != s.h and not new_factors(s, matrices, complexes, pivots):
        s.h_factored = -1.0
    return 0


@compiled
def attempt(s, memory, matrices, complexes, pivots):
    """The error of a step of the length s.h (infinite: Newton failed, negative: stopped), and iterations."""
    if prepare(s, memory, matrices, complexes, pivots) != 0:
        return -1.0, 0
    if s.h_factored != s.h:
        return math.inf, 0
    predict(s, memory)
    answer, count = newton(s, memory, matrices, complexes, pivots)
    if answer == STOPPED:
        return -1.0, count
    if answer == FAILED:
        return math.inf, count
    return error_of_step(s, memory, matrices, pivots), count


@compiled
def take(s, memory, matrices, complexes, pivots):
    """Repeat the step until Newton converges and the error is accepted."""
    if s.has_slope == 0 and evaluate(s, memory, s.t, Y, F_START) != 0:
        return CALLBACK
    s.has_slope = 1
    while True:
        wish = s.wish
        fit_next(s)
        if s.h < shortest_step(s):
            return NOT_FINITE if s.was_not_finite != 0 else STEP_TOO_SMALL
        error, count = attempt(s, memory, matrices, complexes, pivots)
        if error < 0.0:
            return CALLBACK
        if s.hold == ACCEPTED and error < math.inf:
            s.is_current = 0
            copy(memory, F + s.stages - 1, LAST)
            return GO_ON
        if error <= s.slack:
            accept(s, wish, error, count)
            copy(memory, F + s.stages - 1, LAST)
            return GO_ON
        s.rejected += 1
        s.hold = FREE
        if error == math.inf and s.is_current == 0:
            s.has_jacobian = 0
        elif error == math.inf:
            s.wish = 0.5 * s.h
            s.was_rejected = 1
        else:
            s.wish = s.h * max(0.2, safety(count) * growth(s, error))
            s.was_rejected = 1


@compiled
def safety(count):
    """Less trust after many iterations."""
    return 0.9 * (2 * ITERATIONS + 1) / (2 * ITERATIONS + count)


@compiled
def accept(s, wish, error, count):
    """The next step: the same one, to use the factors again, unless it can grow; a new Jacobian if slow."""
    factor = min(10.0, safety(count) * growth(s, error))
    if s.was_rejected != 0:
        factor = min(factor, 1.0)
    is_slow = count > 2 and s.rate_of_convergence > 1e-3
    if is_slow:
        s.has_jacobian = 0
    elif 0.9 <= factor < 1.2:
        factor = 1.0
    s.wish = s.h * factor
    if factor == 10.0 or (s.h < wish and factor >= 1.0):
        s.wish = max(s.wish, wish)
    s.error_old = max(error, 1e-2)
    s.was_rejected = 0
    s.was_not_finite = 0
    s.is_current = 0


@compiled
def commit(s, memory):
    """Keep the polynomial for the next prediction."""
    for i in range(s.stages):
        copy(memory, Z + i, Z_OLD + i)
    copy(memory, NEW, Y)
    s.h_old = s.h
    s.has_old = 1
    s.has_slope = 0


def radau() -> Method:
    """Radau IIA of order 5, or of order 9 for tight tolerances."""
    rows = F_START - K + 1
    return Method("radau", rows, MOST_STAGES, start, take, nothing_more, weigh, commit, F_START, LAST, 0.42)
