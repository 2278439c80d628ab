"""Events on the way of an integration: contact, limits, the user's own; which of them are reported."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.errors import InputError, unknown_name
from kinetree.integrate.integration import EventRecord, Events
from kinetree.kernels.rates import GUARDS
from kinetree.kernels.torque_law import AXIS
from kinetree.result.records import Event
from kinetree.simulation.compiled.component import JOINT_LIMIT, LIMITS, Watched
from kinetree.simulation.settings import Options
from kinetree.simulation.system import System

RECORD, RESTART, STOP, SWITCH = 0, 1, 2, 3
TOUCH_DOWN, LIFT_OFF = "touch_down", "lift_off"
BUILT_IN = (TOUCH_DOWN, LIFT_OFF, JOINT_LIMIT)
FROM_START = 1e-6  # s: a point that touches down by then, by rounding or its weight, was there from the start


def watched_events(system: System, options: Options) -> Events | None:
    """Built-in and user's events: contact is located and restarted at, the rest recorded or stopped at."""
    for name in options.stop_at:
        watched = (event.asked for event in system.parts.watched if not event.is_limit)
        known = (*BUILT_IN, *watched, *(trigger.name for trigger in system.triggers))
        if name not in known:
            raise InputError(unknown_name("event", name, known).after("stop_at: "))
    if not is_watched(system):
        return None
    action, direction = map(np.array, _rules(system, options))
    return Events(system.address("events"), system.n_events, action, direction, system.address("switch"))


def _rules(system: System, options: Options) -> tuple[list[int], list[int]]:
    """What to do about each event, and in which direction it counts."""
    points, guards = len(system.parts.points), (GUARDS - 1) * len(system.parts.points)
    contact = STOP if {TOUCH_DOWN, LIFT_OFF} & set(options.stop_at) else RESTART
    stopped = system.parts.axes.view(np.int64)[: system.n_axes, AXIS.places["stopped"][0]] != 0
    at_limit = [RESTART if has_stop else RECORD for has_stop in stopped]
    if JOINT_LIMIT in options.stop_at:
        at_limit = [STOP] * system.n_axes
    action: list[int] = [contact] * points + [SWITCH] * guards + 2 * at_limit
    action += [STOP] * len(system.parts.locks)
    action += [_action(event, options) for event in system.parts.watched]
    action += [STOP if x.stop or x.name in options.stop_at else RECORD for x in system.triggers]
    direction = [0] * (points + guards) + 2 * [0 if has_stop else -1 for has_stop in stopped]
    direction += [-1] * len(system.parts.locks)
    direction += [event.direction for event in system.parts.watched]
    direction += [trigger.direction for trigger in system.triggers]
    return action, direction


def _action(event: Watched, options: Options) -> int:
    """What to do about an event of a component."""
    if event.asked in options.stop_at:
        return STOP
    return RESTART if event.is_kink else RECORD


def is_watched(system: System) -> bool:
    """Whether there is any event that can happen."""
    parts = system.parts
    bounded = parts.axes.view(np.int64)[:, AXIS.places["bounded"][0]].any()
    more = len(parts.watched) + len(system.triggers)
    return bool(len(parts.points) or len(parts.locks) or more or bounded)


def event_place(system: System, index: int) -> tuple[str, Any]:
    """Which family an event belongs to, and the number in it."""
    sizes = {
        "contact": len(system.parts.points),
        "guard": (GUARDS - 1) * len(system.parts.points),
        "upper": system.n_axes,
        "lower": system.n_axes,
        "lock": len(system.parts.locks),
        "component": len(system.parts.watched),
        "trigger": len(system.triggers),
    }
    for family, size in sizes.items():
        if index < size:
            return family, index
        index -= size
    raise IndexError(index)


def event_in_words(system: System, index: int) -> str:
    """What an event is about.

    >>> import kinetree as kt
    >>> biped = kt.simulation.Simulator(kt.zoo.planar_biped(), ground=kt.Ground())
    >>> event_in_words(biped.system, 0)
    "contact of 'heel1'"
    """
    family, k = event_place(system, index)
    if family in ("contact", "guard"):
        return f"contact of '{system.contact_names[k % len(system.contact_names)]}'"
    if family in LIMITS:
        return f"the {family} limit of '{system.parts.tree.axis_names[k]}'"
    if family == "component":
        return f"{system.parts.watched[k].kind} of '{system.parts.watched[k].name}'"
    return "gimbal lock" if family == "lock" else f"event '{system.triggers[k].name}'"


def is_reported(system: System, record: EventRecord) -> bool:
    """Whether an event is the user's business: no gimbal lock, no return from a stop, no foot at rest."""
    family, _ = event_place(system, record.index)
    if family == "lock" or _holds_from_start(family, record):
        return False
    return not (_is_limit(system, record) and record.direction > 0)


def _is_limit(system: System, record: EventRecord) -> bool:
    """Whether a joint, of the tree or a cut one, meets one of its limits."""
    family, k = event_place(system, record.index)
    return family in LIMITS or (family == "component" and system.parts.watched[k].is_limit)


def _holds_from_start(family: str, record: EventRecord) -> bool:
    """Whether a point touches down where it started."""
    return family == "contact" and record.direction < 0 and record.t <= FROM_START


def reported(system: System, record: EventRecord) -> Event:
    """An event in words."""
    family, k = event_place(system, record.index)
    if family == "contact":
        kind = TOUCH_DOWN if record.direction < 0 else LIFT_OFF
        return Event(record.t, kind, system.contact_names[k])
    if family in LIMITS:
        return Event(record.t, f"{JOINT_LIMIT}_{family}", system.parts.tree.axis_names[k])
    if family == "component":
        event = system.parts.watched[k]
        return Event(record.t, event.kind, event.name)
    return Event(record.t, "event", system.triggers[k].name)


def is_end(system: System, options: Options, record: EventRecord) -> bool:
    """Whether an event ends the simulation; gimbal lock does not."""
    family, _ = event_place(system, record.index)
    if _holds_from_start(family, record):
        return False
    if family == "contact":
        return (TOUCH_DOWN if record.direction < 0 else LIFT_OFF) in options.stop_at
    if _is_limit(system, record) and record.direction > 0:
        return False
    return family != "lock" and _rules(system, options)[0][record.index] == STOP
