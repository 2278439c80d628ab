"""What all methods share: calls of f, norms, the first step, fitting a step between the times to meet."""

from __future__ import annotations

import math

import numpy as np

from kinetree.engine.door import helper as compiled
from kinetree.engine.lanes.calls import address_of, call, larger_magnitude, load_block, store_block
from kinetree.engine.lanes.calls import total as sum_of
from kinetree.engine.workspace import BLOCK
from kinetree.integrate.settings import ARGUMENT, ATOL, ERROR, FREE, NEW, K, Y

EPSILON = float(np.finfo(float).eps)
SMALLEST = 10.0 * EPSILON  # relative to time: shorter steps are rounding


@compiled
def evaluate(s, memory, t, row, out):
    """f(t, memory[row]) into memory[out]; not zero if the callback wants to stop."""
    s.evaluations += 1
    return call(s.rates, t, (address_of(memory, row), address_of(memory, out), s.context))


@compiled
def copy(memory, row, out):
    """memory[out] = memory[row]."""
    for j in range(0, memory.shape[1], BLOCK):
        store_block(memory, out, j, load_block(memory, row, j))


@compiled
def is_finite(memory, row):
    """Whether all numbers of a row are finite."""
    x = load_block(memory, row, 0)
    doubt = x - x
    for j in range(BLOCK, memory.shape[1], BLOCK):
        x = load_block(memory, row, j)
        doubt = doubt + (x - x)
    return sum_of(doubt) == 0.0


@compiled
def scaled_squares(s, memory, row, other):
    """memory[row] = (row / (atol + rtol max(|y|, |other|)))^2; uncounted entries have an infinite atol."""
    for j in range(0, memory.shape[1], BLOCK):
        size = larger_magnitude(load_block(memory, Y, j), load_block(memory, other, j))
        x = load_block(memory, row, j) / (load_block(memory, ATOL, j) + s.rtol * size)
        store_block(memory, row, j, x * x)


@compiled
def mean_square(s, memory, row, lane):
    """The mean over the counted entries of one lane."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    start = lane * s.size
    whole = s.n_counted // 4 * 4
    for j in range(start, start + whole, 4):
        a += memory[row, j]
        b += memory[row, j + 1]
        c += memory[row, j + 2]
        d += memory[row, j + 3]
    for j in range(start + whole, start + s.n_counted):
        a += memory[row, j]
    return ((a + b) + (c + d)) / max(1, s.n_counted)


@compiled
def worst_mean_square(s, memory, row):
    """The largest of all lanes; NaN if one is NaN."""
    worst = mean_square(s, memory, row, 0)
    for lane in range(1, s.lanes):
        x = mean_square(s, memory, row, lane)
        if x > worst or x != x:
            worst = x
    return worst


@compiled
def shortest_step(s):
    """Steps below this are rounding errors of t."""
    return SMALLEST * max(abs(s.t), abs(s.target - s.t) * EPSILON)


@compiled
def fit(s, wish):
    """Choose the step: not past the target, and no tiny remainder in front of it."""
    rest = s.target - s.t
    h = min(wish, s.max_step)
    s.landing = 0
    if rest <= 1.01 * h:
        h = rest
        s.landing = 1
    elif rest < 2.0 * h:
        h = 0.5 * rest
    s.h = h
    s.t_new = s.target if s.landing else s.t + h


@compiled
def fit_next(s):
    """The planned step as it is, else the one that accuracy allows."""
    if s.hold == FREE:
        fit(s, s.wish)
        return
    rest = s.target - s.t
    s.landing = 1 if rest <= 1.000001 * s.h_held else 0
    s.h = rest if s.landing else s.h_held
    s.t_new = s.target if s.landing else s.t + s.h


@compiled
def first_step(s, memory, order):
    """Hairer, Norsett, Wanner: Solving ordinary differential equations I, II.4; f(t, y) is in row K.

    The shortest of all lanes into s.wish.
    """
    longest = min(s.max_step, s.t_end - s.t)
    h = longest
    for j in range(0, memory.shape[1], BLOCK):
        store_block(memory, ARGUMENT, j, load_block(memory, Y, j))
        store_block(memory, ERROR, j, load_block(memory, K, j))
    scaled_squares(s, memory, ARGUMENT, Y)
    scaled_squares(s, memory, ERROR, Y)
    for lane in range(s.lanes):
        size = math.sqrt(mean_square(s, memory, ARGUMENT, lane))
        slope = math.sqrt(mean_square(s, memory, ERROR, lane))
        h = min(h, 1e-6 if size < 1e-5 or slope < 1e-5 else 0.01 * size / slope)
    h = max(h, 1e-12 * longest)
    for j in range(0, memory.shape[1], BLOCK):
        x = load_block(memory, Y, j) + h * load_block(memory, K, j)
        store_block(memory, ARGUMENT, j, x)
    answer = evaluate(s, memory, s.t + h, ARGUMENT, NEW)
    for j in range(0, memory.shape[1], BLOCK):
        store_block(memory, ARGUMENT, j, load_block(memory, NEW, j) - load_block(memory, K, j))
        store_block(memory, ERROR, j, load_block(memory, K, j))
    scaled_squares(s, memory, ARGUMENT, Y)
    scaled_squares(s, memory, ERROR, Y)
    s.wish = min(100.0 * h, longest)
    for lane in range(s.lanes):
        slope = math.sqrt(mean_square(s, memory, ERROR, lane))
        bend = math.sqrt(mean_square(s, memory, ARGUMENT, lane)) / h
        most = max(slope, bend)
        s.wish = min(s.wish, max(1e-6, h * 1e-3) if most <= 1e-15 else (0.01 / most) ** (1.0 / order))
    if not s.wish > 0.0:  # f was not finite at the trial point
        s.wish = h
    return answer


@compiled
def next_step(s, memory, order):
    """The first step if there is none; after a jolt, a step that is not too long for the new f."""
    before = s.wish
    if before > 0.0 and s.jolt == 0:
        return 0
    answer = first_step(s, memory, order)
    if before > 0.0:
        s.wish = min(s.wish, before)
    return answer


@compiled
def worst_of_two(s, memory, first, second):
    """The largest over all lanes of a^2 / (a + b / 100) with mean squares a, b; NaN if one is NaN."""
    worst = 0.0
    for lane in range(s.lanes):
        a, b = mean_square(s, memory, first, lane), mean_square(s, memory, second, lane)
        x = 0.0 if a == 0.0 else a * (a / (a + 0.01 * b))
        if x > worst or x != x:
            worst = x
    return worst
