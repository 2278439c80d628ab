"""Zero crossings of event functions: seen at the ends of steps, located on the dense output."""

from __future__ import annotations

from kinetree.kernels.integrate.settings import (
    ARGUMENT,
    CALLBACK,
    EVENT,
    GO_ON,
    JUMP,
    KINK,
    NEW,
    Y,
    compiled,
)
from kinetree.kernels.integrate.steps import EPSILON, copy
from kinetree.kernels.lanes.calls import address_of, call

RECORD, RESTART, STOP = range(3)  # actions

# rows of g: values at the start and at the end of a step and in between, the last sign other than zero,
# where the crossing is (theta, or NEVER), whether the event has just happened
OLD, END, TRIAL, SIDE, THETA, FIRED = range(6)
NEVER = 2.0
PEEK = 2.0**-10  # where an event that has just happened shows its new side


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
def begin_events(s, memory, g):
    """The sides at a start; an event that has just happened has none yet."""
    if s.n_events == 0:
        return 0
    if measure(s, memory, g, s.t, Y, OLD) != 0:
        return 1
    for i in range(s.lanes * s.n_events):
        if g[FIRED, i] != 0.0:
            g[SIDE, i] = 0.0
        elif s.start == JUMP or g[OLD, i] != 0.0:
            g[SIDE, i] = sign_of(g[OLD, i])
        g[FIRED, i] = 0.0
    return 0


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
def keep_sides(s, g):
    """After a step that was not cut short."""
    for i in range(s.lanes * s.n_events):
        g[OLD, i] = g[END, i]
        if g[END, i] != 0.0:
            g[SIDE, i] = sign_of(g[END, i])


def trial_with(dense):
    """trial(s, memory, g, theta): state and events at t + theta h; not zero if a callback stopped."""

    @compiled
    def trial(s, memory, g, theta):
        if dense(s, memory, theta) != 0:
            return 1
        return measure(s, memory, g, s.t + theta * s.h, ARGUMENT, TRIAL)

    return trial


def locator(trial):
    """locate(s, memory, g, i): theta just past the crossing of event i, NEVER if a callback stopped."""

    @compiled
    def locate(s, memory, g, i):
        """Illinois, with bisection as a safeguard."""
        a, b, fa, fb, last = 0.0, 1.0, g[OLD, i], g[END, i], 0
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


def finder(dense):
    """find(s, memory, g, rules, log, log_index): log what happened, cut the step short where it restarts."""
    trial = trial_with(dense)
    locate = locator(trial)

    @compiled
    def take_sides(s, memory, g):
        """Sides of events that have just happened, from the first moments of the step."""
        peeked = False
        for i in range(s.lanes * s.n_events):
            if g[SIDE, i] == 0.0 and g[END, i] != 0.0:
                if not peeked and trial(s, memory, g, PEEK) != 0:
                    return 1
                peeked = True
                g[OLD, i] = g[TRIAL, i]
                g[SIDE, i] = sign_of(g[TRIAL, i]) if g[TRIAL, i] != 0.0 else sign_of(g[END, i])
        return 0

    @compiled
    def look(s, memory, g, rules):
        """Where each event happens inside the step."""
        if measure(s, memory, g, s.t_new, NEW, END) != 0 or take_sides(s, memory, g) != 0:
            return 1
        for i in range(s.lanes * s.n_events):
            g[THETA, i] = NEVER
            if has_crossed(g, END, i, rules[1, i % s.n_events]):
                g[THETA, i] = locate(s, memory, g, i)
                if g[THETA, i] == NEVER:
                    return 1
        return 0

    @compiled
    def cut(s, memory, g, rules, theta):
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
        if theta < 1.0:
            s.t_new = s.t + theta * s.h
            s.landing = 0
        s.start = KINK
        return 0

    @compiled
    def find(s, memory, g, rules, log, log_index):
        if s.n_events == 0:
            return GO_ON
        if look(s, memory, g, rules) != 0:
            return CALLBACK
        status = GO_ON
        first = earliest(s, g, rules, RESTART)
        if first >= 0 and cut(s, memory, g, rules, g[THETA, first]) != 0:
            return CALLBACK
        i = earliest(s, g, rules, RECORD)
        while i >= 0:
            if dense(s, memory, g[THETA, i]) != 0:
                return CALLBACK
            note(s, memory, g, rules, log, log_index, i)
            if rules[0, i % s.n_events] == STOP:
                status = EVENT
            g[THETA, i] = NEVER
            i = earliest(s, g, rules, RECORD)
        if first < 0:
            keep_sides(s, g)
        return status

    return find, begin_events
