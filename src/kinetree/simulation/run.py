"""Driving an integration from its start to its end, an event, an error or the user's interruption."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, KinetreeError, SimulationError, unknown_name
from kinetree.kernels.context import SUMS
from kinetree.kernels.integrate.integration import Events, Happening, Integration, Status
from kinetree.kernels.torque_law import AXIS
from kinetree.result.records import Event
from kinetree.simulation.chart import Piece
from kinetree.simulation.course import Continued, Course
from kinetree.simulation.gimbal import CLOSE, NEAR, Charts, lock_message
from kinetree.simulation.options import AUTO, Options
from kinetree.simulation.progress import Progress
from kinetree.simulation.stiffness import chosen_method
from kinetree.simulation.system import System

PIECE = 0.05  # s of work between two looks at the clock and the keyboard
RECORD, RESTART, STOP, SWITCH = 0, 1, 2, 3
TOUCH_DOWN, LIFT_OFF, JOINT_LIMIT = "touch_down", "lift_off", "joint_limit"
LIMITS = ("upper", "lower")
BUILT_IN = (TOUCH_DOWN, LIFT_OFF, JOINT_LIMIT)
STUCK_STEPS, STUCK_TIME = 200_000, 1e-7  # so many steps for this share of the duration: it is stuck
WIDE = ("pirk7", "radau")  # methods that ask for several states at once
FASTEST = 1e9  # rad/s or m/s: beyond it a simulation has diverged


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


def new_integration(
    system: System, options: Options, breaks: tuple[float, ...], *, watched: bool = True
) -> Integration:
    """An integration of the system from time zero, still without its initial state."""
    system.watch_locks(CLOSE if options.gimbal == "error" else NEAR)
    rest = np.zeros(system.n)
    y = system.start_state(rest, rest)
    return _integration(Integration, system, options, breaks, watched, options.method, 0.0, y, options.times)


def new_course(system: System, options: Options, breaks: tuple[float, ...], y0: Array, method: str) -> Course:
    """The integration of the system from the state y0 (1, size), with a method that may change later."""

    def continued(method: str, t: float, y: Array, times: Array) -> Integration:
        return _integration(Continued, system, options, breaks, True, method, t, y, times)

    first = _integration(Integration, system, options, breaks, True, method, 0.0, y0, options.times)
    return Course(first, method, options, continued)


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
) -> Integration:
    return kind(
        method,
        system.address("rates"),
        system.context.memory,
        y,
        system.n,
        SUMS,
        t,
        options.duration,
        times,
        rtol=options.rtol,
        atol=options.atol,
        step=options.step,
        max_step=options.max_step,
        events=_events(system, options) if watched and system.lanes == 1 else None,
        jacobian=system.jacobian_address() if method == "radau" else None,
        wide=system.wide_address() if method in WIDE else 0,
        sample=(system.address("sample"), system.parts.period) if system.parts.period > 0.0 else None,
        breaks=[t for t in breaks if 0.0 < t < options.duration],
    )


def integrate(
    charts: Charts, y0: Array, options: Options, breaks: tuple[float, ...], progress: Progress
) -> Run:
    """Integrate from the state y0 = charts.begin(q0, qd0) to the end, or as far as it goes."""
    system = charts.home
    method = chosen_method(charts.system, options, y0[0]) if options.method == AUTO else options.method
    integration = new_course(system, options, breaks, y0, method)
    integration.restart(context=charts.system.context.memory)
    run = Run(options.times, integration.out)
    try:
        status = _advance_through_locks(integration, charts, progress)
    except KeyboardInterrupt:
        run.reason = "interrupted"
    except SimulationError as problem:
        run.failed, run.reason = True, str(problem)
    else:
        _tell_end(run, status, charts, integration)
    done = _count_finite(integration)
    if done < integration.n_out:
        run.failed, run.reason = True, diverged(charts.system, integration)
    if run.reason is not None:
        run.stopped_at = integration.t
    charts.close_piece(*_last_outputs(run, charts, integration))
    run.states, run.pieces = charts.finish(), charts.pieces
    run.messages, run.method = (*integration.messages, *charts.messages()), integration.method
    run.times = np.concatenate([piece.times for piece in run.pieces])
    run.statistics = integration.statistics | {"gimbal_switches": len(charts.switches)}
    told = [_told(system, x) for x in integration.event_log if _is_told(system, x)]
    run.events = sorted(told + charts.switches, key=lambda event: event.time)
    return run


def _count_finite(integration: Course) -> int:
    """How many outputs there are before the first that is not finite."""
    wrong: Any = ~np.isfinite(integration.out[: integration.n_out]).all(axis=(1, 2))
    return int(np.argmax(wrong)) if wrong.any() else len(wrong)


def _last_outputs(run: Run, charts: Charts, integration: Course) -> tuple[Array, Array]:
    """Times and states since the last switch, and where it stopped if that lies beyond."""
    times, states = charts.outputs(integration.times, integration.out, _count_finite(integration))
    beyond = run.reason is not None and (
        not integration.n_out or integration.times[integration.n_out - 1] < integration.t
    )
    if beyond and np.isfinite(integration.y).all():
        times = np.append(times, integration.t)
        states = np.concatenate([states, integration.y[None]])
    return times, states


def _advance_through_locks(integration: Course, charts: Charts, progress: Progress) -> Status:
    """Go on in other coordinates whenever a joint comes near gimbal lock."""
    seen = 0
    while True:
        status = _advance(integration, charts, progress)
        fresh, seen = integration.event_log[seen:], len(integration.event_log)
        if status is not Status.EVENT or any(_is_end(charts, x) for x in fresh):
            return status
        if not any(event_place(charts.home, x.index)[0] == "lock" for x in fresh):
            continue  # a contact that is not to be stopped at
        charts.close_piece(*charts.outputs(integration.times, integration.out, integration.n_out))
        y = charts.switch(integration.t, integration.y)
        integration.restart(y=y, context=charts.system.context.memory)


def _is_end(charts: Charts, happening: Happening) -> bool:
    """Whether an event ends the simulation; gimbal lock does not."""
    family, _ = event_place(charts.home, happening.index)
    if family == "contact":
        return (TOUCH_DOWN if happening.direction < 0 else LIFT_OFF) in charts.options.stop_at
    if family in LIMITS and happening.direction > 0:
        return False
    return family != "lock" and _rules(charts.home, charts.options)[0][happening.index] == STOP


def _advance(integration: Course, charts: Charts, progress: Progress) -> Status:
    """Piece by piece, so that progress is seen and Ctrl-C is heard."""
    steps, mark = 64, (integration.statistics["steps"], integration.t)
    while True:
        begin, before = perf_counter(), integration.statistics["steps"]
        status = integration.advance(steps)
        progress(integration.t)
        if status is not Status.RUNNING:
            return status
        integration.consider(charts.system)
        mark = _moved_on(integration, mark)
        taken, seconds = integration.statistics["steps"] - before, max(perf_counter() - begin, 1e-6)
        steps = int(min(max(taken * PIECE / seconds, 16), 1_000_000))


def _moved_on(integration: Course, mark: tuple[int, float]) -> tuple[int, float]:
    """The steps and the time from which progress counts; raises if there is none in very many steps."""
    steps, t = integration.statistics["steps"], integration.t
    if t - mark[1] > STUCK_TIME * integration.options.duration:
        return steps, t
    if steps - mark[0] > STUCK_STEPS:
        raise SimulationError(
            f"no progress at t = {t:.6g} s: {steps - mark[0]} steps went {t - mark[1]:.3g} s; forces that "
            "jump may chatter: soften the ground or the stops, or take a fixed step"
        )
    return mark


def _events(system: System, options: Options) -> Events | None:
    """Built-in and user's events: contact is located and restarted at, the rest recorded or stopped at."""
    for name in options.stop_at:
        known = (*BUILT_IN, *(trigger.name for trigger in system.triggers))
        if name not in known:
            raise InputError(f"stop_at: {unknown_name('event', name, known)}")
    if not _watched(system):
        return None
    action, direction = map(np.array, _rules(system, options))
    switch = system.address("switch") if system.guards > 1 else 0
    return Events(system.address("events"), system.n_events, action, direction, switch)


def _rules(system: System, options: Options) -> tuple[list[int], list[int]]:
    """What to do about each event, and in which direction it counts."""
    points, guards = len(system.parts.points), (system.guards - 1) * len(system.parts.points)
    contact = STOP if {TOUCH_DOWN, LIFT_OFF} & set(options.stop_at) else RESTART
    stopped = system.parts.axes.view(np.int64)[:, AXIS.places["stopped"][0]] != 0
    at_limit = [RESTART if has_stop else RECORD for has_stop in stopped]
    if JOINT_LIMIT in options.stop_at:
        at_limit = [STOP] * system.n
    action: list[int] = [contact] * points + [SWITCH] * guards + 2 * at_limit
    action += [STOP] * len(system.parts.locks)
    action += [STOP if x.stop or x.name in options.stop_at else RECORD for x in system.triggers]
    direction = [0] * (points + guards) + 2 * [0 if has_stop else -1 for has_stop in stopped]
    direction += [-1] * len(system.parts.locks) + [trigger.direction for trigger in system.triggers]
    return action, direction


def _watched(system: System) -> bool:
    """Whether there is any event that can happen."""
    parts = system.parts
    bounded = parts.axes.view(np.int64)[:, AXIS.places["bounded"][0]].any()
    return bool(len(parts.points) or len(parts.locks) or len(system.triggers) or bounded)


def event_place(system: System, index: int) -> tuple[str, Any]:
    """Which family an event belongs to, and the number in it."""
    sizes = {
        "contact": len(system.parts.points),
        "guard": (system.guards - 1) * len(system.parts.points),
        "upper": system.n,
        "lower": system.n,
        "lock": len(system.parts.locks),
        "trigger": len(system.triggers),
    }
    for family, size in sizes.items():
        if index < size:
            return family, index
        index -= size
    raise IndexError(index)


def _is_told(system: System, happening: Happening) -> bool:
    """Whether an event is the user's business: no gimbal lock, no return from a stop."""
    family, _ = event_place(system, happening.index)
    return family != "lock" and not (family in LIMITS and happening.direction > 0)


def _told(system: System, happening: Happening) -> Event:
    """An event in words."""
    family, k = event_place(system, happening.index)
    if family == "contact":
        kind = TOUCH_DOWN if happening.direction < 0 else LIFT_OFF
        return Event(happening.t, kind, system.contact_names[k])
    if family in LIMITS:
        return Event(happening.t, f"{JOINT_LIMIT}_{family}", system.mechanism.joint_names[k])
    return Event(happening.t, "event", system.triggers[k].name)


def _tell_end(run: Run, status: Status, charts: Charts, integration: Course) -> None:
    """Why the integration ended."""
    system = charts.home
    if status is Status.DONE:
        return
    if status is Status.CALLBACK:
        run.problem, system.problem = system.problem, None
        if isinstance(run.problem, KeyboardInterrupt):
            run.problem, run.reason = None, "interrupted"
            return
        run.failed = True
        run.reason = str(run.problem) if isinstance(run.problem, KinetreeError) else repr(run.problem)
    elif status is Status.EVENT:
        last = _told(system, next(x for x in reversed(integration.event_log) if _is_end(charts, x)))
        run.reason = f"stopped by {last.kind} of '{last.name}'"
    else:
        run.failed, run.reason = True, diverged(system, integration)


def diverged(system: System, integration: Integration | Course) -> str:
    """Where and in which joint a simulation went out of hand, or locked."""
    locked = lock_message(system, integration.t, integration.y)
    if locked is not None:
        return locked
    n, y = system.n, integration.y
    speed = np.abs(np.nan_to_num(y[:, n : 2 * n], nan=np.inf)).max(axis=0)
    joint = system.mechanism.joint_names[int(np.argmax(speed))]
    return (
        f"the simulation diverged at t = {integration.t:.6g} s: no step is short enough; fastest is joint "
        f"'{joint}' with {speed.max():.3g} per second"
    )
