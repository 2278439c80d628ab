"""Driving an integration from its start to its end, an event, an error or the user's interruption."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.engine import companion
from kinetree.errors import KinetreeError, SimulationError, StopSimulation
from kinetree.integrate import code as methods
from kinetree.integrate.integration import Integration, IntegrationStatus, Steps
from kinetree.integrate.settings import name_of_code
from kinetree.result.records import Event
from kinetree.simulation.chart import Piece, joined
from kinetree.simulation.compiled import code
from kinetree.simulation.compiled.loops import Passage
from kinetree.simulation.course import Continued, SwitchingIntegration
from kinetree.simulation.divergence import diverged, has_diverged, remedy
from kinetree.simulation.event_records import (
    event_in_words,
    event_place,
    is_end,
    is_reported,
    is_watched,
    reported,
    watched_events,
)
from kinetree.simulation.gimbal import CLOSE, NEAR, Charts
from kinetree.simulation.loop_audit import loop_drift, passage_events, passages
from kinetree.simulation.progress import Progress
from kinetree.simulation.settings import AUTO, FIXED, Options
from kinetree.simulation.stiffness import chosen_method, explicit_method
from kinetree.simulation.system import System

PIECE = 0.05  # s of work between two looks at the clock and the keyboard
STUCK_STEPS, STUCK_TIME = 200_000, 1e-7  # so many steps for this share of the duration: it is stuck
RUNAWAY_STEPS, RUNAWAY_SPEED = 200_000, 1e4  # so many steps at such a speed (rad/s, m/s): it runs away
_UNBOUND = "add damping or armature, reduce the torque, or use a shorter duration or a fixed-step method"
_SAMPLED = (
    "its law is sampled every {:g} ms, and such feedback may be unstable: try a shorter period, lower gains "
    "(kd first), torque limits, or armature"
)
ON_INSTANT = 1e-9  # share of a sampling period
CUT_STEPS = 5_000  # a fixed step that events have cut into so many pieces is stuck as well
LOOK = 1_000  # steps between two judgements of a run, so that none depends on how fast the machine is
CUTS = 10_000  # events after which the mean time between two of them is looked at
TICK_STEPS = 50_000  # of one tick of a sampled law: some hundred are usual where feet touch
LONGEST_TICK = 0.02  # s: a run under other laws that is not longer counts as a tick of a loop around it,
CUT_SHARE = 0.01  # if events cut this share of its steps: others are short where motions are fast
QUICKEST, QUICK_SHARE = 5e-7, 1e-3  # s and share of the duration: events that come faster chatter


class Mark(NamedTuple):
    """Steps and time from which progress counts; cuts by events and their time."""

    steps: int = 0
    t: float = 0.0
    cuts: int = 0
    t_cuts: float = 0.0
    tick: int = -1  # of a sampled law, and the steps as it began
    tick_steps: int = 0


@dataclass(eq=False)
class Run:
    """States (k, lanes, size) at the first k of the output times, and how it ended."""

    times: Array
    states: Array
    pieces: list[Piece] = field(default_factory=list)  # one for every set of coordinates that was used
    messages: tuple[str, ...] = ()
    method: str = ""  # the last one in use
    events: list[Event] = field(default_factory=list)
    statistics: dict[str, int] = field(default_factory=dict)
    stopped_at: float | None = None
    reason: str | None = None
    failed: bool = False
    problem: BaseException | None = None
    passages: list[Passage] = field(default_factory=list)  # singular positions of loops
    drift: float = 0.0  # of loops, before projections


Trace = Callable[[Steps], None]


def new_integration(
    system: System,
    options: Options,
    breaks: tuple[float, ...],
    *,
    watched: bool = True,
    trace: Trace | None = None,
) -> Integration:
    """An integration of the system from time zero, still without its initial state."""
    system.watch_locks(CLOSE if options.gimbal == "error" else NEAR)
    rest = np.zeros(system.n)
    y = system.start_state(rest, rest)
    return _integration(
        Integration, system, options, breaks, watched, options.method, 0.0, y, options.times, trace
    )


def new_course(
    system: System,
    options: Options,
    breaks: tuple[float, ...],
    y0: Array,
    method: str,
    trace: Trace | None = None,
) -> SwitchingIntegration:
    """The integration of the system from the state y0 (1, size), with a method that may change later."""

    def continued(method: str, t: float, y: Array, times: Array) -> Integration:
        return _integration(Continued, system, options, breaks, True, method, t, y, times, trace)

    first = _integration(Integration, system, options, breaks, True, method, 0.0, y0, options.times, trace)
    return SwitchingIntegration(first, method, options, continued)


def new_stretch(
    system: System,
    options: Options,
    breaks: tuple[float, ...],
    t: float,
    y: Array,
    until: float,
    method: str,
) -> SwitchingIntegration:
    """A stretch of a simulation without an end, from the state y (1, size) at t to ``until`` (s).

    ``options.duration`` is how long it is likely to go on afterwards: what a change of method pays for.
    """
    stretch, none = replace(options, duration=until), np.zeros(0)
    period = system.parts.period
    samples = period > 0.0 and abs(t / period - round(t / period)) < ON_INSTANT

    def continued(method: str, t: float, y: Array, times: Array) -> Integration:
        return _integration(Continued, system, stretch, breaks, True, method, t, y, times)

    kind = Integration if samples else Continued
    first = _integration(kind, system, stretch, breaks, True, method, t, y, none)
    return SwitchingIntegration(first, method, replace(options, duration=until + options.duration), continued)


def _integration(
    kind: type[Integration],
    system: System,
    options: Options,
    breaks: tuple[float, ...],
    watched: bool,
    method: str,
    t: float,
    y: Array,
    times: Array,
    trace: Trace | None = None,
) -> Integration:
    return kind(
        method,
        system.address("rates"),
        system.context.memory,
        y,
        system.n,
        system.at.n_sums,
        t,
        options.duration,
        times,
        rtol=options.rtol,
        atol=options.atol,
        step=options.step,
        max_step=options.max_step,
        events=watched_events(system, options) if watched and system.lanes == 1 else None,
        jacobian=system.jacobian_address() if method == "radau" else None,
        n_more=system.at.n_more,
        project=system.projection,
        sample=(system.address("sample"), system.parts.period) if system.parts.period > 0.0 else None,
        breaks=[t for t in breaks if 0.0 < t < options.duration],
        trace=trace,
    )


def compile_ahead(system: System, options: Options) -> None:
    """Have two processes compile what a first simulation needs, if it is not there yet."""
    method = explicit_method(system) if options.method == AUTO else options.method
    arguments, here = (method, is_watched(system)), str(code.__file__)
    companion.compile_ahead(
        [companion.CodePiece("rates-1", 1, here, code.rates, (1,))],
        [
            companion.CodePiece(
                name_of_code(*arguments), 1, str(methods.__file__), methods.advancing, arguments
            ),
            companion.CodePiece("observe", 1, here, code.observe),
        ],
    )


def integrate(
    charts: Charts,
    y0: Array,
    options: Options,
    breaks: tuple[float, ...],
    progress: Progress,
    trace: Trace | None = None,
) -> Run:
    """Integrate from the state y0 = charts.begin(q0, qd0) to the end, or as far as it goes.

    ``trace`` gets the ends of all steps, in the coordinates that are in use when it is called.
    """
    system = charts.home
    method = chosen_method(charts.system, options, y0[0]) if options.method == AUTO else options.method
    integration = new_course(system, options, breaks, y0, method, trace)
    integration.restart(context=charts.system.context.memory)
    run = Run(options.times, integration.out)
    try:
        status = advance_through_locks(integration, charts, progress)
    except KeyboardInterrupt:
        run.reason = "interrupted"
    except SimulationError as problem:
        run.failed, run.reason = True, str(problem)
    else:
        _tell_end(run, status, charts, integration)
    integration.flush()
    done = _count_sound(system, integration)
    if done < integration.n_out:
        run.failed, run.stopped_at = True, float(integration.times[max(done - 1, 0)])
        run.reason = diverged(charts.system, options, integration.times[done], integration.out[done])
        if not done:  # not even the start is sound: there is nothing to return
            raise SimulationError(run.reason)
    elif run.reason is not None:
        run.stopped_at = integration.t
    times, states = _last_outputs(run, charts, integration, done)
    charts.close_piece(times, states)
    run.states, run.pieces = charts.finish(), charts.pieces
    run.messages, run.method = (*integration.messages, *charts.messages()), integration.method
    run.times = joined([piece.times for piece in run.pieces])
    run.statistics = integration.statistics | {"gimbal_switches": len(charts.switches)}
    happened = [reported(system, x) for x in integration.event_log if is_reported(system, x)]
    if system.mechanism.loops:
        happened += _loop_story(run, charts)
    run.events = sorted(happened + charts.switches, key=lambda event: event.time)
    return run


def _loop_story(run: Run, charts: Charts) -> list[Event]:
    """Singular positions that were passed, and the drift."""
    mechanism, q = charts.home.mechanism, run.states[:, 0, charts.home.at.q]
    run.passages = passages(charts.systems)
    run.drift = max(loop_drift(system) for system in charts.systems)
    return passage_events(mechanism, run.passages, run.times, q)


def _count_sound(system: System, integration: SwitchingIntegration) -> int:
    """How many outputs there are before the first that has diverged."""
    states = integration.out[: integration.n_out]
    if not has_diverged(system, states.reshape(-1, states.shape[-1])):  # all of them at once
        return len(states)
    wrong = np.array([has_diverged(system, y) for y in states], bool)
    return int(np.argmax(wrong)) if wrong.any() else len(wrong)


def _last_outputs(
    run: Run, charts: Charts, integration: SwitchingIntegration, sound: int
) -> tuple[Array, Array]:
    """Times and states since the last switch, and where it stopped if that lies beyond."""
    system = charts.home
    times, states = charts.outputs(integration.times, integration.out, sound)
    beyond = (
        run.reason is not None
        and sound == integration.n_out
        and (not integration.n_out or integration.times[integration.n_out - 1] < integration.t)
    )
    if beyond and not has_diverged(system, integration.y):
        times = np.append(times, integration.t)
        states = np.concatenate([states, integration.y[None]])
    return times, states


def advance_through_locks(
    integration: SwitchingIntegration, charts: Charts, progress: Progress
) -> IntegrationStatus:
    """Go on in other coordinates whenever a joint comes near gimbal lock."""
    seen = 0
    while True:
        status = _advance(integration, charts, progress)
        fresh, seen = integration.event_log[seen:], len(integration.event_log)
        if status is not IntegrationStatus.EVENT or any(
            is_end(charts.home, charts.options, x) for x in fresh
        ):
            return status
        if not any(event_place(charts.home, x.index)[0] == "lock" for x in fresh):
            continue  # a contact that is not to be stopped at
        integration.flush()
        charts.close_piece(*charts.outputs(integration.times, integration.out, integration.n_out))
        y = charts.switch(integration.t, integration.y)
        integration.restart(y=y, context=charts.system.context.memory)


def _advance(integration: SwitchingIntegration, charts: Charts, progress: Progress) -> IntegrationStatus:
    """Piece by piece, so that progress is seen and Ctrl-C is heard."""
    steps, before = 64, integration.statistics["steps"]
    mark, looked_at = Mark(before, integration.t, integration.cuts, integration.t), before
    while True:
        begin = perf_counter()
        written, steps = integration.n_out, min(steps, looked_at + LOOK - before)
        status = integration.advance(steps if charts.view is None else 1)
        charts.follow(integration, written)
        progress(integration.t)
        if status is not IntegrationStatus.RUNNING:
            return status
        has_left = has_diverged(charts.system, integration.y)
        if not has_left:
            integration.consider(charts.system)
        count = integration.statistics["steps"]
        if count >= looked_at + LOOK:
            looked_at = count
            if has_left:
                return IntegrationStatus.NOT_FINITE
            mark = moved_on(integration, charts.system, integration.options, mark)
            refuse_runaway(integration, charts.system, integration.options, count)
        seconds = max(perf_counter() - begin, 1e-6)
        steps, before = int(min(max((count - before) * PIECE / seconds, 16), TICK_STEPS // 4)), count


def moved_on(
    integration: SwitchingIntegration | Integration, system: System, options: Options, mark: Mark
) -> Mark:
    """From where progress counts; raises if there is none in very many steps, or hardly any for events."""
    t, steps = integration.t, integration.statistics["steps"]
    mark = _within_tick(integration, system, options, _calm(integration, system, options, mark))
    fixed = options.method in FIXED
    if t - mark.t > (options.step if fixed else STUCK_TIME * options.duration):
        return mark._replace(steps=steps, t=t)
    if steps - mark.steps > (CUT_STEPS if fixed else STUCK_STEPS):
        raise SimulationError(
            f"no progress at t = {t:.6g} s: {steps - mark.steps} steps advance by only {t - mark.t:.3g} s; "
            f"discontinuous forces may chatter: {remedy(options)}"
        )
    return mark


def _within_tick(
    integration: SwitchingIntegration | Integration, system: System, options: Options, mark: Mark
) -> Mark:
    """The mark with the present tick; raises where one tick takes very many steps.

    Ticks are those of a sampled law, or whole runs that are as short, as of a `Simulator` in a loop.
    """
    t, steps, sampled = integration.t, integration.statistics["steps"], system.law.is_sampled
    period = float(system.law.parts.period) if sampled else options.duration
    is_tick = sampled or (period <= LONGEST_TICK and integration.cuts >= CUT_SHARE * steps)
    if options.method in FIXED or not is_tick:
        return mark
    tick = int(t / period + ON_INSTANT)
    if tick != mark.tick:
        return mark._replace(tick=tick, tick_steps=steps)
    if steps - mark.tick_steps > TICK_STEPS:
        names = event_in_words(system, integration.busiest_event) if integration.cuts else "stiff forces"
        what, count = "tick" if sampled else "run", steps - mark.tick_steps
        raise SimulationError(
            f"a {what} of {1e3 * period:g} ms takes too many steps: {count} from t = "
            f"{tick * period:.6g} s to {t:.9g} s, cut short by {names}: {remedy(options)}"
        )
    return mark


def _calm(
    integration: SwitchingIntegration | Integration, system: System, options: Options, mark: Mark
) -> Mark:
    """The mark after another look at how fast events follow each other; raises if they chatter."""
    t, count = integration.t, integration.cuts - mark.cuts
    if count < CUTS:
        return mark
    passed = t - mark.t_cuts
    if passed < count * min(QUICKEST, QUICK_SHARE * options.duration):
        raise SimulationError(
            f"hardly any progress at t = {t:.6g} s: {event_in_words(system, integration.busiest_event)} "
            f"changed repeatedly, {count} events in {passed:.3g} s: {remedy(options)}"
        )
    return mark._replace(cuts=mark.cuts + count, t_cuts=t)


def refuse_runaway(
    integration: SwitchingIntegration | Integration, system: System, options: Options, steps: int
) -> None:
    """Raise where a state has diverged, or where very many steps went to a joint faster than machines are."""
    if has_diverged(system, integration.y):
        raise SimulationError(diverged(system, options, integration.t, integration.y))
    sampled = system.law.is_sampled
    if options.method in FIXED or steps < (RUNAWAY_STEPS // 10 if sampled else RUNAWAY_STEPS):
        return
    speed = np.abs(integration.y[:, system.at.qd]).max(axis=0)
    k = int(np.argmax(speed))
    if speed[k] > RUNAWAY_SPEED:
        raise SimulationError(
            f"the motion diverges: joint '{system.mechanism.joint_names[k]}' moves at {speed[k]:.3g} per "
            f"second at t = {integration.t:.4g} s of {options.duration:g} s, after {steps} steps; "
            + (_SAMPLED if sampled else _UNBOUND).format(1e3 * system.law.parts.period)
        )


def _tell_end(run: Run, status: IntegrationStatus, charts: Charts, integration: SwitchingIntegration) -> None:
    """Why the integration ended."""
    system = charts.home
    if status is IntegrationStatus.DONE:
        return
    if status is IntegrationStatus.CALLBACK:
        present = charts.system if charts.system.problem is not None else system
        run.problem, present.problem = present.problem, None
        if isinstance(run.problem, KeyboardInterrupt):
            run.problem, run.reason = None, "interrupted"
            return
        if isinstance(run.problem, StopSimulation):
            run.problem, run.reason = None, str(run.problem)
            return
        run.failed = True
        run.reason = str(run.problem) if isinstance(run.problem, KinetreeError) else repr(run.problem)
    elif status is IntegrationStatus.EVENT:
        ends = (x for x in reversed(integration.event_log) if is_end(system, charts.options, x))
        last = reported(system, next(ends))
        run.reason = f"stopped by {last.kind}{'' if last.kind == 'event' else ' of'} '{last.name}'"
    else:
        run.failed = True
        run.reason = diverged(system, charts.options, integration.t, integration.y)
