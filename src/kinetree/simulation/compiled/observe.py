"""Torques, accelerations and contact at given states, through the right-hand side itself."""

from __future__ import annotations

from typing import Any

from kinetree.engine.door import compiled_words
from kinetree.engine.lanes.calls import address_of, call
from kinetree.simulation.compiled.component import OBSERVED


def observe() -> Any:
    """The body of `kinetree.simulation.compiled.code.observe`."""

    def run(memory, periods, times, states, rates_out, tau, contact, rates, context, *places):
        tau_at, contact_at, held_at, log_at, n_log = places
        period = periods[0]
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

    return compiled_words(run, OBSERVED, 7, "observe")
