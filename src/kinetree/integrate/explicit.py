"""Explicit Runge-Kutta methods with error control: stages, error norm, PI controller, dense output."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.engine.door import helper as compiled
from kinetree.engine.lanes.calls import combination, stages
from kinetree.integrate import dop853 as eighth
from kinetree.integrate import dopri5 as fifth
from kinetree.integrate.settings import (
    ACCEPTED,
    ARGUMENT,
    CALLBACK,
    ERROR,
    FREE,
    GO_ON,
    NEW,
    NOT_FINITE,
    STEP_TOO_SMALL,
    K,
    Y,
)
from kinetree.integrate.steps import (
    copy,
    evaluate,
    fit_next,
    is_finite,
    next_step,
    scaled_squares,
    shortest_step,
    worst_mean_square,
    worst_of_two,
)


@dataclass(frozen=True)
class Method:
    """The compiled pieces of a method, and how much memory it wants.

    start(s, memory): f at the present state, and the first step. take(s, memory, ...): one accepted step
    into row NEW. finish(s, memory): what the dense output needs. weigh(s, memory, theta): weights of the rows
    K ... K + rows - 1. commit(s, memory): go on to the new state.
    """

    name: str
    stages: int  # rows from K on
    rows: int  # of which the dense output uses the first
    start: Callable[..., Any]
    take: Callable[..., Any]
    finish: Callable[..., Any]
    weigh: Callable[..., Any]
    commit: Callable[..., Any]
    first: int  # rows with f at the start of the step
    last: int  # and at its end
    blind: float = 0.0  # share of a step around which no stage is, in a widest gap; 0: steps are not planned


def point(k, c, coefficients, argument=ARGUMENT):
    """The plan of one stage (counted from 0): f at y + h sum a_kj f_j into row K + k."""
    return [(K + j, a) for j, a in enumerate(coefficients)], c, argument, K + k


def all_stages(plan):
    """run(s, memory): the stages of a plan one after the other; not zero if the callback wants to stop."""
    run, count = stages(plan, Y), len(plan)

    @compiled
    def run_all(s, memory):
        s.evaluations += count
        return run(memory, s.rates, s.context, s.t, last_time(s), s.h)

    return run_all


@compiled
def last_time(s):
    """The end of the step, as f sees it: in front of a jump on the target, not behind it."""
    if s.landing != 0:
        return np.nextafter(s.t_new, s.t)
    return s.t_new


def one_error(coefficients):
    """error(s, memory): squared norm of one embedded difference."""
    combine = combination([(K + j, e) for j, e in enumerate(coefficients)], from_start=False)

    @compiled
    def error(s, memory):
        combine(memory, ERROR, Y, s.h)
        scaled_squares(s, memory, ERROR, NEW)
        return worst_mean_square(s, memory, ERROR)

    return error


def two_errors(fifth_order, third_order):
    """error(s, memory): e5^4 / (e5^2 + e3^2 / 100), from norms of two embedded differences."""
    better = combination([(K + j, e) for j, e in enumerate(fifth_order)], from_start=False)
    worse = combination([(K + j, e) for j, e in enumerate(third_order)], from_start=False)

    @compiled
    def error(s, memory):
        better(memory, ERROR, Y, s.h)
        scaled_squares(s, memory, ERROR, NEW)
        worse(memory, ARGUMENT, Y, s.h)
        scaled_squares(s, memory, ARGUMENT, NEW)
        return worst_of_two(s, memory, ERROR, ARGUMENT)

    return error


def controlled(run, error, exponent, memory_exponent, least, most, safety=0.9):
    """take(s, memory, ...): repeat the step until its error is accepted, with Hairer's PI controller.

    h changes by safety error^-exponent error_old^memory_exponent, between the factors `least` and `most`.
    """

    @compiled
    def attempt(s, memory):
        """The squared error of a step of the length s.h; negative if the callback stopped it."""
        if run(s, memory) != 0:
            return -1.0
        if not is_finite(memory, NEW):
            return math.inf
        square = error(s, memory)
        return square if square == square else math.inf

    @compiled
    def take(s, memory, matrices, complexes, pivots):
        while True:
            wish = s.wish
            fit_next(s)
            if s.h < shortest_step(s):
                return NOT_FINITE if s.was_not_finite != 0 else STEP_TOO_SMALL
            square = attempt(s, memory)
            if square < 0.0:
                return CALLBACK
            if square == math.inf:
                s.was_not_finite = 1
                s.wish = 0.1 * s.h
            else:
                log_error = 0.5 * math.log(max(square, 1e-40))
                factor = safety * math.exp(memory_exponent * s.log_error - exponent * log_error)
                if s.hold == ACCEPTED:
                    return GO_ON
                if square <= s.slack * s.slack:
                    accept(s, wish, factor)
                    s.log_error = max(log_error, LOG_SMALL)
                    return GO_ON
                s.was_not_finite = 0
                s.wish = s.h * max(least, safety * math.exp(-exponent * log_error))
            s.hold = FREE
            s.was_rejected = 1
            s.rejected += 1

    @compiled
    def accept(s, wish, factor):
        """The next step; one that was cut short in front of a target says little, if all is well."""
        factor = min(max(factor, least), most)
        if s.was_rejected != 0:
            factor = min(factor, 1.0)
        s.wish = s.h * factor
        if factor == most or s.was_rejected != 0:
            s.wish = max(s.wish, wish)
        s.was_rejected = 0
        s.was_not_finite = 0

    return take


LOG_SMALL = math.log(1e-4)


def starting(order):
    """start(s, memory): f at the present state into row K, the first step if there is none."""

    @compiled
    def start(s, memory):
        if evaluate(s, memory, s.t, Y, K) != 0:
            return 1
        s.log_error = LOG_SMALL
        return next_step(s, memory, order)

    return start


def going_on(last):
    """commit(s, memory): the last stage is the first of the next step."""
    row = K + last

    @compiled
    def commit(s, memory):
        copy(memory, NEW, Y)
        copy(memory, row, K)

    return commit


@compiled
def nothing_more(s, memory):
    """The dense output needs nothing beyond the stages."""
    return 0


@compiled
def weigh_fifth(s, memory, theta):
    """Weights of the stages in the dense output of order 4, II.6 (6.12)."""
    rest = 1.0 - theta
    of_new, of_first = theta * theta * (3.0 - 2.0 * theta), theta * rest * rest
    of_last = -theta * theta * rest
    bend = theta * theta * rest * rest
    for j in range(7):
        s.weights[j] = s.h * (of_new * FIFTH_B[j] + bend * FIFTH_D[j])
    s.weights[0] += s.h * of_first
    s.weights[6] += s.h * of_last


@compiled
def weigh_eighth(s, memory, theta):
    """Weights of the stages in the dense output of order 7, II.6 (6.13)."""
    rest = 1.0 - theta
    of_new, of_first = theta * theta * (3.0 - 2.0 * theta), theta * rest * rest
    of_last = -theta * theta * rest
    d0 = theta * theta * rest * rest
    d1 = d0 * theta
    d2 = d1 * rest
    d3 = d2 * theta
    for j in range(16):
        bend = d0 * EIGHTH_D[0, j] + d1 * EIGHTH_D[1, j] + d2 * EIGHTH_D[2, j] + d3 * EIGHTH_D[3, j]
        s.weights[j] = s.h * (of_new * EIGHTH_B[j] + bend)
    s.weights[0] += s.h * of_first
    s.weights[12] += s.h * of_last


FIFTH_B, FIFTH_D = np.array([*fifth.B, 0.0]), np.array(fifth.D)
EIGHTH_B, EIGHTH_D = np.array([*eighth.B, 0.0, 0.0, 0.0, 0.0]), np.array(eighth.D)


def dopri5() -> Method:
    """Dormand-Prince 5(4), FSAL."""
    plan = [point(k, c, a) for k, (c, a) in enumerate(fifth.STAGES, start=1)]
    run = all_stages([*plan, point(6, 1.0, fifth.B, NEW)])
    take = controlled(run, one_error(fifth.ERROR), 0.2 - 0.75 * 0.04, 0.04, 0.2, 10.0)
    commit = going_on(6)
    return Method("dopri5", 7, 7, starting(5), take, nothing_more, weigh_fifth, commit, K, K + 6, 0.55)


def dop853() -> Method:
    """Dormand-Prince of order 8 with the error estimators of orders 5 and 3."""
    plan = [point(k, c, a) for k, (c, a) in enumerate(eighth.STAGES, start=1)]
    run = all_stages([*plan, point(12, 1.0, eighth.B, NEW)])
    more = all_stages([point(k, c, a) for k, (c, a) in enumerate(eighth.MORE_STAGES, start=13)])
    error = two_errors(eighth.ERROR_5, eighth.ERROR_3)
    take = controlled(run, error, 1 / 8 - 0.75 * 0.04, 0.04, 1 / 3, 6.0, 0.85)
    commit = going_on(12)
    return Method("dop853", 16, 16, starting(8), take, more, weigh_eighth, commit, K, K + 12, 7 / 15)
