"""The loop of an integration: meet targets, take steps, find events, write outputs."""

from __future__ import annotations

import functools
from typing import Any

from kinetree.engine.door import compiled_words
from kinetree.engine.door import helper as compiled
from kinetree.engine.lanes.calls import address_of, call, load_block, store_block
from kinetree.engine.workspace import BLOCK
from kinetree.integrate.events import (
    allow_chatter,
    begin_events,
    finder,
    measure_again,
    remember_step,
    switch_modes,
)
from kinetree.integrate.explicit import Method, dop853, dopri5
from kinetree.integrate.fixed import rk4, semi_implicit_euler
from kinetree.integrate.radau import radau
from kinetree.integrate.settings import (
    ACCEPTED,
    ARGUMENT,
    ARRAYS,
    CALLBACK,
    DONE,
    EVENT,
    GO_ON,
    JUMP,
    KINK,
    LOG_FULL,
    MOVED,
    NEW,
    PLANNED,
    RUNNING,
    SMOOTH,
    TRACE_FULL,
    K,
    Y,
    name_of_code,
)
from kinetree.integrate.steps import shortest_step

METHODS = {make.__name__: make for make in (dopri5, dop853, radau, rk4, semi_implicit_euler)}


@functools.cache
def method_named(name: str) -> Method:
    """The pieces of a method."""
    return METHODS[name]()


def advancing(name: str, watched: bool) -> Any:
    """The body of `kinetree.integrate.code.advancing`."""
    method = method_named(name)
    start, take, commit = method.start, method.take, method.commit
    dense, project = interpolation(method), projection(method)
    write, first, last = writing(dense), method.first, method.last
    find = finder(dense, first, last) if watched else nothing_found
    measure, switch, begin = (
        (measure_again, switch_modes, begin_events) if watched else (no_event, no_event, no_event)
    )

    def advance(
        settings,
        memory,
        times,
        out,
        breaks,
        g,
        rules,
        log,
        log_index,
        matrices,
        complexes,
        pivots,
        trace,
        max_steps,
    ):
        s = settings[0]
        for _ in range(max_steps):
            if s.start == JUMP:
                write_present(s, memory, times, out)
            if s.t >= s.t_end:
                return DONE
            if s.n_log + s.lanes * s.n_events > log.shape[0]:
                return LOG_FULL
            if trace.shape[0] > 0 and s.n_trace + 2 > trace.shape[0]:
                return TRACE_FULL
            if s.pending_sample != 0 and call(s.sample, s.t, (address_of(memory, Y), s.context)) != 0:
                return CALLBACK
            s.pending_sample = 0
            if s.start == MOVED:
                if start(s, memory) != 0 or measure(s, memory, g) != 0:
                    return CALLBACK
            elif s.start != SMOOTH:
                s.hold = 0
                if switch(s, memory, g) != 0 or start(s, memory) != 0:
                    return CALLBACK
                if begin(s, memory, g) != 0:
                    return CALLBACK
            s.is_fresh = 1 if s.start != SMOOTH else s.is_fresh
            s.start = SMOOTH
            choose_target(s, breaks)
            allow_chatter(s)
            if s.target - s.t > shortest_step(s):
                status = take(s, memory, matrices, complexes, pivots)
                if status != GO_ON:
                    return status
                s.dense_ready = 0
                remember_step(s)
                if s.is_fresh != 0:
                    note(s, memory, trace, s.t, Y, first, 1.0)
                    s.is_fresh = 0
                end = s.t_new
                status = find(s, memory, g, rules, log, log_index)
                if status == CALLBACK or project(s, memory) != 0 or write(s, memory, times, out) != 0:
                    return CALLBACK
                note(s, memory, trace, s.t_new, NEW, last, 1.0 if s.t_new == end else 0.0)
                s.t = s.t_new
                s.steps += 1
                commit(s, memory)
                if status == EVENT:
                    return EVENT
            else:
                s.t = s.target
                s.landing = 1
                write_present(s, memory, times, out)
            if s.landing != 0:
                pass_target(s, breaks)
        return DONE if s.t >= s.t_end else RUNNING

    return compiled_words(advance, ARRAYS, 1, name_of_code(name, watched))


@compiled
def nothing_found(s, memory, g, rules, log, log_index):
    """What `find` does if there are no event functions."""
    return GO_ON


@compiled
def no_event(s, memory, g):
    """Nothing is measured, switched or begun."""
    return 0


def writing(dense: Any) -> Any:
    """write(s, memory, times, out): all outputs of a step; not zero if a callback stopped."""

    @compiled
    def write(s, memory, times, out):
        """All outputs up to the end of the step."""
        numbers = s.lanes * s.size
        while s.n_out < times.shape[0] and times[s.n_out] <= s.t_new:
            row = NEW
            if times[s.n_out] < s.t_new:
                if dense(s, memory, (times[s.n_out] - s.t) / s.h) != 0:
                    return 1
                row = ARGUMENT
            for j in range(numbers):
                out[s.n_out, j] = memory[row, j]
            s.n_out += 1
        return 0

    return write


def projection(method: Method) -> Any:
    """project(s, memory): let the caller's function move the end of a step and plan the next one."""
    last, blind = method.last, method.blind

    @compiled
    def project(s, memory):
        """Not zero if it stopped; f is evaluated again where it moved the state, dense output stays."""
        if s.project == 0:
            return 0
        likely = min(s.wish, s.max_step)
        memory[ARGUMENT, 0] = min(likely, s.period) if s.period > 0.0 else likely
        memory[ARGUMENT, 1] = blind
        memory[ARGUMENT, 2] = memory[ARGUMENT, 3] = 0.0
        where = (address_of(memory, NEW), address_of(memory, last), address_of(memory, ARGUMENT), s.context)
        answer = call(s.project, s.t_new, where)
        if answer < 0 or answer > 1:
            return 1
        s.hold = 0
        if memory[ARGUMENT, 2] > 0.0:
            s.h_held = memory[ARGUMENT, 2]
            s.hold = ACCEPTED if memory[ARGUMENT, 3] != 0.0 else PLANNED
        if answer == 1:
            s.start = max(s.start, MOVED)
        return 0

    return project


@compiled
def note(s, memory, trace, t, row, slope, has_slope):
    """A row of the trace: time, whether the rates belong to it, state and rates."""
    if trace.shape[0] == 0:
        return
    numbers = s.lanes * s.size
    trace[s.n_trace, 0] = t
    trace[s.n_trace, 1] = has_slope
    for j in range(numbers):
        trace[s.n_trace, 2 + j] = memory[row, j]
        trace[s.n_trace, 2 + numbers + j] = memory[slope, j]
    s.n_trace += 1


@compiled
def write_present(s, memory, times, out):
    """All outputs up to the present time."""
    while s.n_out < times.shape[0] and times[s.n_out] <= s.t:
        for j in range(s.lanes * s.size):
            out[s.n_out, j] = memory[Y, j]
        s.n_out += 1


@compiled
def choose_target(s, breaks):
    """The next time to step onto exactly."""
    s.target = s.t_end
    if s.k_break < breaks.shape[0]:
        s.target = min(s.target, breaks[s.k_break])
    if s.period > 0.0:
        s.target = min(s.target, s.k_sample * s.period)


@compiled
def pass_target(s, breaks):
    """What is due at the present time; a target is there twice if a break falls on a sampling instant."""
    while s.k_break < breaks.shape[0] and breaks[s.k_break] <= s.t:
        s.k_break += 1
        s.start = max(s.start, KINK)
    if s.period > 0.0 and s.k_sample * s.period <= s.t:
        s.k_sample += 1
        s.pending_sample = 1
        s.start = max(s.start, KINK)


def interpolation(method: Method) -> Any:
    """dense(s, memory, theta): the state at t + theta h into row ARGUMENT; not zero if a callback stopped."""
    finish, weigh, rows = method.finish, method.weigh, method.rows

    @compiled
    def dense(s, memory, theta):
        if s.dense_ready == 0:
            if finish(s, memory) != 0:
                return 1
            s.dense_ready = 1
        weigh(s, memory, theta)
        for j in range(0, memory.shape[1], BLOCK):
            x = load_block(memory, Y, j)
            for r in range(rows):
                x = x + s.weights[r] * load_block(memory, K + r, j)
            store_block(memory, ARGUMENT, j, x)
        return 0

    return dense
