"""A parallel iterated Runge-Kutta method: all stages of a step at once, in the lanes of the processor.

The four stages of the Radau IIA method of order 7 are predicted by the polynomial of the last step and then
corrected by fixed-point iteration, Y_i = y + h sum a_ij f(Y_j); every sweep is one call of f for four states.
Van der Houwen, Sommeijer: Parallel iteration of high-order Runge-Kutta methods with stepsize control,
J. Comput. Appl. Math. 29 (1990). The dense output integrates the polynomial through f at the stages of this
step and of the one before.
"""

from __future__ import annotations

import numpy as np

from kinetree.engine.lanes.calls import BLOCK, combination, load_block, store_block
from kinetree.integrate.collocation import integrals, radau_nodes
from kinetree.integrate.explicit import Method, controlled, last_time, starting
from kinetree.integrate.settings import ARGUMENT, ERROR, NEW, K, Y, compiled
from kinetree.integrate.steps import (
    copy,
    evaluate,
    evaluate_wide,
    scaled_squares,
    worst_mean_square,
)

STAGES = 4
SWEEPS, FIRST_SWEEPS = 4, 8  # evaluations of all stages; without a last step to predict from
C = radau_nodes(STAGES)
A = integrals(C)
# rows: divided differences of f (the first is f at the start until then), f of this step and of the last one,
# places of the stages, and how far they were from the start in the last step
DIFFERENCES, F, F_OLD, PLACES, Z_OLD = K, K + 8, K + 12, K + 16, K + 20
_places, _weights = np.polynomial.legendre.leggauss(4)
GAUSS, GAUSS_WEIGHTS = 0.5 * (_places + 1.0), 0.5 * _weights  # on 0 ... 1

_moves = [combination([(F + j, A[i, j]) for j in range(STAGES)]) for i in range(STAGES)]
_ways = [combination([(F + j, A[i, j]) for j in range(STAGES)], from_start=False) for i in range(STAGES)]
move_0, move_1, move_2, move_3 = _moves
way_0, way_1, way_2, way_3 = _ways


@compiled
def predict(s, memory):
    """Places of the stages: on the polynomial of the last step, or straight on."""
    for i in range(STAGES):
        theta = 1.0 + C[i] * s.h / s.h_old if s.has_old != 0 else C[i]
        for k in range(STAGES):
            s.weights[k] = theta / C[k]
            for j in range(STAGES):
                if j != k:
                    s.weights[k] *= (theta - C[j]) / (C[k] - C[j])
        for j in range(0, memory.shape[1], BLOCK):
            x = load_block(memory, Y, j)
            if s.has_old != 0:
                for k in range(STAGES - 1):
                    x = x + s.weights[k] * load_block(memory, Z_OLD + k, j)
                x = x + (s.weights[STAGES - 1] - 1.0) * load_block(memory, Z_OLD + STAGES - 1, j)
            else:
                x = x + theta * s.h * load_block(memory, K, j)
            store_block(memory, PLACES + i, j, x)


@compiled
def evaluate_stages(s, memory):
    """f at the places of the stages; not zero if the callback wants to stop."""
    if s.wide != 0:
        return evaluate_wide(s, memory, PLACES, F)
    for i in range(STAGES):
        t = last_time(s) if i == STAGES - 1 else s.t + C[i] * s.h
        if evaluate(s, memory, t, PLACES + i, F + i) != 0:
            return 1
    return 0


@compiled
def run(s, memory):
    """All sweeps; the row NEW has one more correction than the last place."""
    predict(s, memory)
    sweeps = SWEEPS if s.has_old != 0 else FIRST_SWEEPS
    for k in range(sweeps):
        if evaluate_stages(s, memory) != 0:
            return 1
        if k < sweeps - 1:
            move_0(memory, PLACES, Y, s.h)
            move_1(memory, PLACES + 1, Y, s.h)
            move_2(memory, PLACES + 2, Y, s.h)
            move_3(memory, PLACES + 3, Y, s.h)
    move_3(memory, NEW, Y, s.h)
    return 0


@compiled
def node(s, k):
    """Where, in steps from the start, the k-th value of f is: those of the last step come first."""
    if s.has_old == 0:
        return 0.0 if k == 0 else C[k - 1]
    return (C[k] - 1.0) * s.h_old / s.h if k < STAGES else C[k - STAGES]


@compiled
def count_nodes(s):
    """How many values of f the dense output uses."""
    return 2 * STAGES if s.has_old != 0 else STAGES + 1


@compiled
def finish(s, memory):
    """Divided differences of f, for the dense output."""
    count = count_nodes(s)
    for k in range(count):
        if s.has_old != 0:
            copy(memory, F_OLD + k if k < STAGES else F + k - STAGES, DIFFERENCES + k)
        elif k > 0:
            copy(memory, F + k - 1, DIFFERENCES + k)
    for order in range(1, count):
        for k in range(count - 1, order - 1, -1):
            factor = 1.0 / (node(s, k) - node(s, k - order))
            for j in range(0, memory.shape[1], BLOCK):
                x = load_block(memory, DIFFERENCES + k, j) - load_block(memory, DIFFERENCES + k - 1, j)
                store_block(memory, DIFFERENCES + k, j, factor * x)
    return 0


@compiled
def weigh(s, memory, theta):
    """Integrals from 0 to theta of Newton's polynomials, by Gauss's rule, which is exact for them."""
    count = count_nodes(s)
    for k in range(2 * STAGES):
        s.weights[k] = 0.0
    for i in range(len(GAUSS)):
        x, product = theta * GAUSS[i], s.h * theta * GAUSS_WEIGHTS[i]
        for k in range(count):
            s.weights[k] += product
            product *= x - node(s, k)


@compiled
def error(s, memory):
    """Squared norms of the last correction, and of the difference from the integral of the dense output."""
    finish(s, memory)
    weigh(s, memory, 1.0)
    for j in range(0, memory.shape[1], BLOCK):
        end = load_block(memory, NEW, j)
        x = load_block(memory, Y, j) - end
        for k in range(2 * STAGES):
            x = x + s.weights[k] * load_block(memory, DIFFERENCES + k, j)
        store_block(memory, ERROR, j, x)
        store_block(memory, ARGUMENT, j, end - load_block(memory, PLACES + STAGES - 1, j))
    scaled_squares(s, memory, ERROR, NEW)
    scaled_squares(s, memory, ARGUMENT, NEW)
    return worst_mean_square(s, memory, ERROR) + worst_mean_square(s, memory, ARGUMENT)


@compiled
def commit(s, memory):
    """Keep f and the ways of the stages for the next prediction."""
    way_0(memory, Z_OLD, Y, s.h)
    way_1(memory, Z_OLD + 1, Y, s.h)
    way_2(memory, Z_OLD + 2, Y, s.h)
    way_3(memory, Z_OLD + 3, Y, s.h)
    for i in range(STAGES):
        copy(memory, F + i, F_OLD + i)
    copy(memory, NEW, Y)
    s.h_old = s.h
    s.has_old = 1


_begin = starting(7)
SHORT = 0.2


@compiled
def start(s, memory):
    """f at the present state into row K; a short step, since without a last one its dense output is poor."""
    s.has_old = 0
    if _begin(s, memory) != 0:
        return 1
    s.wish *= SHORT
    return 0


def pirk7() -> Method:
    """Order 7, explicit, four stages at once."""
    take = controlled(run, error, 1 / 8 - 0.75 * 0.04, 0.04, 0.2, 3.0, 0.85)
    rows = Z_OLD - K + STAGES
    return Method("pirk7", rows, 2 * STAGES, start, take, finish, weigh, commit, K, F + STAGES - 1)
