"""Zero crossings of event functions: seen at the ends of steps and between them, located on the dense output.

An event function that comes near zero inside a step without changing its sign at the ends is looked at where
a cubic through its values and rates at both ends has its extremum; if it has crossed there, the step ends
there, so that both crossings are found.

An event that happens again and again without time passing, or while the state moves by much less than the
tolerance of errors, chatters: each of its two sides sends the state back to the other one, as stiff contact
about to lift off does within the error of a step, or a foot on the edge of a stair. From then on it is not
located but happens at the ends of short steps, which grow a little until it has calmed down. f jumps inside
these steps, so that they are accepted with larger errors; the next ones drive the state back.
"""

from __future__ import annotations

import math

from kinetree.engine.door import helper as compiled
from kinetree.engine.lanes.calls import address_of, call, load_block, store_block
from kinetree.engine.workspace import BLOCK
from kinetree.integrate.settings import (
    ARGUMENT,
    CALLBACK,
    CHATTER,
    END,
    END_TREND,
    EVENT,
    FIRED,
    GO_ON,
    JUMP,
    KINK,
    NEW,
    OLD,
    PATH,
    SIDE,
    THETA,
    TREND,
    TRIAL,
    Y,
)
from kinetree.integrate.steps import EPSILON, copy, scaled_squares, worst_mean_square

RECORD, RESTART, STOP, SWITCH = range(4)  # actions; the last restarts and is not logged

NEVER = 2.0
OCCURRED, RESET = 1.25, 2.0  # signals to f about an event; signs are 1.0 and -1.0
AHEAD = 2.0**-20  # share of a step over which rates are taken
CLOSE = 0.25  # share of the smaller end value below which an extremum is looked at
LOOKS = 6  # at an extremum
AT_ONCE = 1e-6  # share of a step within which an event is said to happen at once
WITHIN = 0.1  # tolerances of errors: an event that happens again on such a path happens at once as well
PATIENCE = 8  # times in a row that an event may happen at once before it chatters
CALM = 16  # steps in a row without an event after which it does not chatter any more
SHORT, LONG = 1e-3, 2e-2  # first and longest step over a chattering event, as shares of those before it
FADING = 0.998  # of the longest step, with every step
RIPPLE = 1000.0  # tolerances of errors: how far the state may go in a step over a chattering event
SLACK = 100.0  # tolerances of errors: what a step over a chattering event may have


@compiled
def sign_of(x):
    """-1.0, 0.0 or 1.0."""
    if x > 0.0:
        return 1.0
    if x < 0.0:
        return -1.0
    return 0.0


@compiled
def measure(s, memory, g, t, row, out):
    """All event functions of all lanes."""
    return call(s.events, t, (address_of(memory, row), address_of(g, out), s.context))


@compiled
def measure_trend(s, memory, g, t, row, slope, values, out):
    """Rates of all event functions at the state in a row, along its derivatives in the row `slope`."""
    ahead = AHEAD * s.h
    for j in range(0, memory.shape[1], BLOCK):
        store_block(memory, ARGUMENT, j, load_block(memory, row, j) + ahead * load_block(memory, slope, j))
    if measure(s, memory, g, t + ahead, ARGUMENT, out) != 0:
        return 1
    for i in range(s.lanes * s.n_events):
        g[out, i] = (g[out, i] - g[values, i]) / ahead
    return 0


@compiled
def switch_modes(s, memory, g):
    """Tell f what has happened; the row TRIAL keeps the signs that it answers."""
    s.jolt = 0
    if s.n_events == 0:
        return 0
    for i in range(s.lanes * s.n_events):
        g[TRIAL, i] = 0.0
    if s.switch == 0:
        return 0
    for i in range(s.lanes * s.n_events):
        g[TRIAL, i] = RESET if s.start == JUMP else OCCURRED * g[FIRED, i]
        if g[FIRED, i] != 0.0:
            s.jolt = 1
    answer = call(s.switch, s.t, (address_of(memory, Y), address_of(g, TRIAL), s.context))
    for i in range(s.lanes * s.n_events):
        if abs(g[TRIAL, i]) > 1.0:  # not answered: no business of f
            g[TRIAL, i] = 0.0
    return answer


@compiled
def begin_events(s, memory, g):
    """The sides at a start, as signalled or by sight; an event that brought the state here has none yet."""
    s.has_trends = 0
    if s.n_events == 0:
        return 0
    if measure(s, memory, g, s.t, Y, OLD) != 0:
        return 1
    for i in range(s.lanes * s.n_events):
        if g[TRIAL, i] != 0.0:
            g[SIDE, i] = g[TRIAL, i]
        elif g[FIRED, i] != 0.0 and s.start == JUMP:
            g[SIDE, i] = 0.0
        elif s.start == JUMP or g[OLD, i] != 0.0:
            g[SIDE, i] = sign_of(g[OLD, i])
        elif g[FIRED, i] != 0.0:
            g[SIDE, i] = 0.0
        g[FIRED, i] = 0.0
    return 0


@compiled
def measure_again(s, memory, g):
    """Values at a state that was moved a little; the sides stay, so that no crossing is lost."""
    s.has_trends = 0
    return 0 if s.n_events == 0 else measure(s, memory, g, s.t, Y, OLD)


@compiled
def has_crossed(g, row, i, direction):
    """Whether event i changes sign up to the values in a row, in the wanted direction."""
    return g[row, i] * g[SIDE, i] < 0.0 and direction != g[SIDE, i]


@compiled
def note(s, memory, g, rules, log, log_index, i):
    """One entry of the log; the state is in row ARGUMENT."""
    lane = i // s.n_events
    log[s.n_log, 0] = s.t + g[THETA, i] * s.h if g[THETA, i] < 1.0 else s.t_new
    for j in range(s.size):
        log[s.n_log, 1 + j] = memory[ARGUMENT, lane * s.size + j]
    log_index[s.n_log, 0] = i - lane * s.n_events
    log_index[s.n_log, 1] = lane
    log_index[s.n_log, 2] = -int(g[SIDE, i])
    s.n_log += 1


@compiled
def earliest(s, g, rules, least_action):
    """The crossing that comes first among those not yet done (-1: none)."""
    first, when = -1, NEVER
    for i in range(s.lanes * s.n_events):
        if g[THETA, i] < when and rules[0, i % s.n_events] >= least_action:
            first, when = i, g[THETA, i]
    return first


@compiled
def is_chattering(g, i):
    """Whether event i is not located any more."""
    return g[CHATTER, i] >= PATIENCE


@compiled
def allow_chatter(s):
    """Length and error of the next step over events that chatter; without them, as accuracy allows."""
    s.slack = 1.0
    if s.h_chatter > 0.0:
        s.wish, s.slack = s.h_chatter, SLACK


@compiled
def remember_step(s):
    """The longest step lately, or, over events that chatter, one that was accepted."""
    if s.h_chatter == 0.0:
        s.h_lately = max(s.h, FADING * s.h_lately)
    elif s.landing == 0:
        s.h_chatter = min(s.h_chatter, s.h)


@compiled
def measure_path(s, memory, g):
    """How far the state goes in this step, in tolerances of errors; added to the paths of all events."""
    for j in range(0, memory.shape[1], BLOCK):
        store_block(memory, ARGUMENT, j, load_block(memory, NEW, j) - load_block(memory, Y, j))
    scaled_squares(s, memory, ARGUMENT, NEW)
    length = math.sqrt(worst_mean_square(s, memory, ARGUMENT))
    for i in range(s.lanes * s.n_events):
        g[PATH, i] += length
    return length


@compiled
def count_chatter(s, g, end, length):
    """Count events that happen at once; one that chatters has calmed down after some steps without it."""
    if s.h_chatter > 0.0:
        s.h_chatter = min(2.0 * s.h_chatter, s.h_chatter_most)
        if length > RIPPLE:
            s.h_chatter = min(s.h_chatter, s.h * RIPPLE / length)
        s.h_calm = s.h_chatter
    chatters = 0
    for i in range(s.lanes * s.n_events):
        if is_chattering(g, i):
            g[CHATTER, i] = g[CHATTER, i] + 1.0 if g[THETA, i] == NEVER else PATIENCE
            if g[CHATTER, i] > PATIENCE + CALM:
                g[CHATTER, i] = 0.0
        elif g[FIRED, i] != 0.0 and (g[THETA, i] < AT_ONCE * end or g[PATH, i] < WITHIN):
            g[CHATTER, i] += 1.0
            if is_chattering(g, i) and s.h_chatter == 0.0:
                longest = max(s.h, s.h_lately)  # near the end of time s.h is tiny
                s.h_chatter = max(SHORT * longest, min(s.h_calm, LONG * longest))
                s.h_chatter_most = max(LONG * longest, s.h_chatter)
        elif g[THETA, i] != NEVER:
            g[CHATTER, i] = 0.0
        if g[FIRED, i] != 0.0:
            g[PATH, i] = 0.0
        if is_chattering(g, i):
            chatters = 1
    if chatters == 0:
        s.h_chatter = 0.0


@compiled
def keep_sides(s, g):
    """After a step that was not cut short."""
    for i in range(s.lanes * s.n_events):
        g[OLD, i], g[TREND, i] = g[END, i], g[END_TREND, i]
        if g[END, i] != 0.0:
            g[SIDE, i] = sign_of(g[END, i])
    s.has_trends = 1


@compiled
def take_sides(s, g):
    """Sides of events that have none: where they are going, or where they have gone."""
    for i in range(s.lanes * s.n_events):
        if g[SIDE, i] == 0.0:
            g[SIDE, i] = sign_of(g[TREND, i]) if g[TREND, i] != 0.0 else sign_of(g[END, i])
            g[OLD, i] = 0.0


@compiled
def extremum(s, g, i):
    """Where a cubic through values and rates at both ends comes closest to zero or beyond; NEVER if not near.

    Only for functions that start towards zero and end away from it, on the same side.
    """
    side = g[SIDE, i]
    a, b = g[OLD, i] * side, g[END, i] * side
    da, db = g[TREND, i] * side * s.h, g[END_TREND, i] * side * s.h
    if not (a > 0.0 and b > 0.0 and da < 0.0 and db > 0.0):
        return NEVER
    k2, k1 = 6.0 * (a - b) + 3.0 * (da + db), -6.0 * (a - b) - 4.0 * da - 2.0 * db  # k2 x^2 + k1 x + da = 0
    x = -2.0 * da / (k1 + math.sqrt(max(0.0, k1 * k1 - 4.0 * k2 * da)))
    if not 0.0 < x < 1.0:
        return NEVER
    lowest = a + x * (da + x * (0.5 * k1 + x * k2 / 3.0))
    return x if lowest < CLOSE * min(a, b) else NEVER


def trial_with(dense):
    """trial(s, memory, g, theta): state and events at t + theta h; not zero if a callback stopped."""

    @compiled
    def trial(s, memory, g, theta):
        if dense(s, memory, theta) != 0:
            return 1
        return measure(s, memory, g, s.t + theta * s.h, ARGUMENT, TRIAL)

    return trial


def locator(trial):
    """locate(s, memory, g, i, end): theta just past the crossing before end, NEVER if a callback stopped."""

    @compiled
    def locate(s, memory, g, i, end):
        """Illinois, with bisection as a safeguard."""
        a, b, fa, fb, last = 0.0, end, g[OLD, i], g[END, i], 0
        if fa * g[SIDE, i] <= 0.0:  # it has just been here
            if trial(s, memory, g, AHEAD * end) != 0:
                return NEVER
            if g[TRIAL, i] * g[SIDE, i] > 0.0:
                a, fa = AHEAD * end, g[TRIAL, i]
        tolerance = 2.0 * EPSILON * max(abs(s.t), abs(s.t_new)) / s.h
        width, tries = 4.0, 0
        while b - a > max(tolerance, EPSILON):
            x = b - fb * (b - a) / (fb - fa)
            tries += 1
            if tries % 3 == 0:
                if b - a > 0.25 * width:
                    x = 0.5 * (a + b)
                width = b - a
            margin = min(0.5 * tolerance, 0.25 * (b - a))
            x = min(max(x, a + margin), b - margin)
            if trial(s, memory, g, x) != 0:
                return NEVER
            f = g[TRIAL, i]
            if f * g[SIDE, i] <= 0.0:
                b, fb = x, f
                if f == 0.0:
                    return b
                if last == 1:
                    fa *= 0.5
                last = 1
            else:
                a, fa = x, f
                if last == -1:
                    fb *= 0.5
                last = -1
        return b

    return locate


def dipper(trial):
    """dip(s, memory, g, i): where event i has crossed inside the step, 1.0 if nowhere, NEVER if stopped."""

    @compiled
    def dip(s, memory, g, i):
        """Parabolas through the lowest point found and one on each side of it."""
        x, side = extremum(s, g, i), g[SIDE, i]
        if x == NEVER:
            return 1.0
        a, fa, b, fb = 0.0, g[OLD, i] * side, 1.0, g[END, i] * side
        middle, low = x, math.inf
        for _ in range(LOOKS):
            if trial(s, memory, g, x) != 0:
                return NEVER
            f = g[TRIAL, i] * side
            if f < 0.0:
                return x
            if f < low:
                if low < math.inf:
                    if x > middle:
                        a, fa = middle, low
                    else:
                        b, fb = middle, low
                middle, low = x, f
            elif x > middle:
                b, fb = x, f
            else:
                a, fa = x, f
            left, right = (low - fa) / (middle - a), (fb - low) / (b - middle)
            if not right > left:
                return 1.0
            x = 0.5 * (a + middle) - left * 0.5 * (b - a) / (right - left)
            if abs(x - middle) < 1e-3 * (b - a) or not a < x < b:
                return 1.0
        return 1.0

    return dip


def looker(trial, first_row, last_row):
    """look(s, memory, g, rules): where each event happens inside the step, and the end of the step.

    f at the start and at the end of the step are in the rows `first_row` and `last_row`.
    """
    locate, dip = locator(trial), dipper(trial)

    @compiled
    def measure_step(s, memory, g):
        """Values, rates and sides."""
        if measure(s, memory, g, s.t_new, NEW, END) != 0:
            return 1
        if s.has_trends == 0 and measure_trend(s, memory, g, s.t, Y, first_row, OLD, TREND) != 0:
            return 1
        if measure_trend(s, memory, g, s.t_new, NEW, last_row, END, END_TREND) != 0:
            return 1
        take_sides(s, g)
        return 0

    @compiled
    def end_inside(s, memory, g):
        """The first place where an event has crossed and will cross back (1.0: none, NEVER: stopped)."""
        end = 1.0
        for i in range(s.lanes * s.n_events):
            x = 1.0 if is_chattering(g, i) else dip(s, memory, g, i)
            if x == NEVER:
                return NEVER
            end = min(end, x)
        return end

    @compiled
    def shorten(s, memory, g, theta):
        """End the step at theta."""
        if trial(s, memory, g, theta) != 0:
            return 1
        copy(memory, ARGUMENT, NEW)
        for i in range(s.lanes * s.n_events):
            g[END, i] = g[TRIAL, i]
        s.t_new = s.t + theta * s.h
        s.landing = 0
        s.start = KINK
        return 0

    @compiled
    def look(s, memory, g, rules):
        """Where each event happens inside the step; the end of the step, NEVER if stopped."""
        if measure_step(s, memory, g) != 0:
            return NEVER
        end = end_inside(s, memory, g)
        if end == NEVER or (end < 1.0 and shorten(s, memory, g, end) != 0):
            return NEVER
        for i in range(s.lanes * s.n_events):
            g[THETA, i] = NEVER
            if has_crossed(g, END, i, rules[1, i % s.n_events]):
                g[THETA, i] = end if is_chattering(g, i) else locate(s, memory, g, i, end)
                if g[THETA, i] == NEVER:
                    return NEVER
        return end

    return look


def finder(dense, first_row, last_row):
    """find(s, memory, g, rules, log, log_index): log what happened, cut the step short where it restarts."""
    trial = trial_with(dense)
    look = looker(trial, first_row, last_row)

    @compiled
    def cut(s, memory, g, rules, theta, end):
        """End the step at theta; whatever has happened by then happens now."""
        if trial(s, memory, g, theta) != 0:
            return 1
        copy(memory, ARGUMENT, NEW)
        for i in range(s.lanes * s.n_events):
            if g[THETA, i] > theta:
                g[THETA, i] = NEVER
                if has_crossed(g, TRIAL, i, rules[1, i % s.n_events]):
                    g[THETA, i] = theta
            g[FIRED, i] = 0.0 if g[THETA, i] == NEVER else 1.0
        if theta < end:
            s.t_new = s.t + theta * s.h
            s.landing = 0
        s.start = KINK
        return 0

    @compiled
    def log_all(s, memory, g, rules, log, log_index):
        """What happened, in order; EVENT if the integration is to stop."""
        status = GO_ON
        i = earliest(s, g, rules, RECORD)
        while i >= 0:
            if rules[0, i % s.n_events] != SWITCH:
                if dense(s, memory, g[THETA, i]) != 0:
                    return CALLBACK
                note(s, memory, g, rules, log, log_index, i)
            if rules[0, i % s.n_events] == STOP:
                status = EVENT
            g[THETA, i] = NEVER
            i = earliest(s, g, rules, RECORD)
        return status

    @compiled
    def find(s, memory, g, rules, log, log_index):
        if s.n_events == 0:
            return GO_ON
        end = look(s, memory, g, rules)
        if end == NEVER:
            return CALLBACK
        first = earliest(s, g, rules, RESTART)
        if first >= 0:
            s.cuts += 1
            if cut(s, memory, g, rules, g[THETA, first], end) != 0:
                return CALLBACK
        length = measure_path(s, memory, g)
        if first >= 0 or s.h_chatter > 0.0:
            count_chatter(s, g, end, length)
        status = log_all(s, memory, g, rules, log, log_index)
        if first < 0:
            keep_sides(s, g)
        return status

    return find
