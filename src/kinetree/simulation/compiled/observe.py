"""Torques, accelerations and contact at given states, through the right-hand side itself."""

from __future__ import annotations

import functools
from typing import Any

from kinetree.engine.door import FLOAT, INTEGER, array_type, compiled_function, tuple_type
from kinetree.engine.lanes.calls import address_of, call

_VECTOR, _MATRIX = array_type(FLOAT, 1), array_type(FLOAT, 2)
_PLACES = tuple_type(INTEGER, 5)


@functools.cache
def observe() -> Any:
    """The function (rates, context, memory, places, period, times, states, rates_out, tau, contact).

    It answers how many states were done. ``places`` are the starts of tau, contact, held and log in the
    context, and the number of logged instants; rows of the matrices belong to the times, all lanes in one
    row. With a period the held torques are those of the last sampling instant, or,
    with no logged instants, those in the context.
    """

    def run(rates, context, memory, places, period, times, states, rates_out, tau, contact):
        tau_at, contact_at, held_at, log_at, n_log = places
        width, wide = tau.shape[1], contact.shape[1]
        for k in range(len(times)):
            if period > 0.0 and n_log > 0:
                instant = min(int(times[k] / period + 1e-9), n_log - 1)
                for i in range(width):
                    memory[held_at + i] = memory[log_at + instant * width + i]
            if call(rates, times[k], (address_of(states, k), address_of(rates_out, k), context)) != 0:
                return k
            for i in range(width):
                tau[k, i] = memory[tau_at + i]
            for i in range(wide):
                contact[k, i] = memory[contact_at + i]
        return len(times)

    signature = [
        INTEGER,
        INTEGER,
        _VECTOR,
        _PLACES,
        FLOAT,
        _VECTOR,
        _MATRIX,
        _MATRIX,
        _MATRIX,
        _MATRIX,
    ]
    return compiled_function(run, signature, "observe")
