"""The machine code of simulations: from the disk, without the compiler, or else compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from kinetree.engine.direct import range_call
from kinetree.engine.stored_code import stored_or_made
from kinetree.engine.word_call import WordCall
from kinetree.kernels.number import LANES
from kinetree.simulation.compiled.component import OBSERVED


@functools.cache
def rates(lanes: int, models: int = 1) -> Any:
    """The C callback (t, y*, dy*, context*) with the rates of `lanes` states, one after the other.

    All states are of one mechanism, or, if there are as many ``models``, each of its own.
    """

    def make() -> Any:
        from kinetree.simulation.compiled.rates import rates

        return rates(lanes, models)

    return _stored(_of_states("rates", lanes, models), make)


@functools.cache
def made_rates(lanes: int) -> Any:
    """The C callback of `rates` for mechanisms whose accelerations are found by code made for them."""

    def make() -> Any:
        from kinetree.simulation.compiled.rates import made_rates

        return made_rates(lanes)

    return _stored(f"made-rates-{lanes}", make)


@functools.cache
def forces(lanes: int) -> Any:
    """The C callback (t, y*, context*) that adds the forces of ground and loads; axes have moved before."""

    def make() -> Any:
        from kinetree.simulation.compiled.acting import forces

        return forces(lanes)

    return _stored(f"forces-{lanes}", make)


@functools.cache
def law(lanes: int) -> Any:
    """The C callback (t, y*, context*) with the torques of the built-in law, after the forces."""

    def make() -> Any:
        from kinetree.simulation.compiled.acting import law

        return law(lanes)

    return _stored(f"law-{lanes}", make)


@functools.cache
def sample(lanes: int, models: int = 1) -> Any:
    """The C callback (t, y*, context*) that takes the law's torques, holds them and logs them."""

    def make() -> Any:
        from kinetree.simulation.compiled.rates import sample

        return sample(lanes, models)

    return _stored(_of_states("sample", lanes, models), make)


@functools.cache
def events() -> Any:
    """The C callback (t, y*, g*, context*) with the values of `kernels.rates.event_values`."""

    def make() -> Any:
        from kinetree.simulation.compiled.rates import events

        return events()

    return _stored("events", make)


@functools.cache
def switch() -> Any:
    """The C callback (t, y*, signals*, context*) of `kernels.rates.switch_modes`; modes are held after it."""

    def make() -> Any:
        from kinetree.simulation.compiled.rates import switch

        return switch()

    return _stored("switch", make)


@functools.cache
def jacobian() -> Any:
    """The C callback (t, y*, J*, context*) with the slopes of the rates."""

    def make() -> Any:
        from kinetree.simulation.compiled.jacobian import jacobian

        return jacobian()

    return _stored("jacobian", make)


@functools.cache
def step_states() -> Callable[..., bool]:
    """run(unused, memory, begin, end, arrays, times) for states begin..end, both multiples of `LANES`.

    ``memory`` is that of `step_memory.STEP`; the arrays are states, torques (batch, n), targets (batch, n),
    gains (batch, 2 n), factors of friction (batch, 1) and, where they differ, masses and moments of the
    bodies on all axes (batch, 10 n). With times = 0 states are looked at: gaps are
    found, and the cause is the number of an axis that moves no inertia, counted from 1, or 0.
    """

    def make() -> Any:
        from kinetree.simulation.compiled.step_code import step_states

        return step_states()

    return range_call(stored_or_made("step-states", LANES, make, __file__))


@functools.cache
def step_derivatives() -> Callable[..., bool]:
    """run(unused, memory, begin, end, arrays, backward, 0, 0) takes one step of states and its derivatives.

    The arrays are those of `step_states`, then how far contacts are from other states (batch, 1), in m/s, and
    derivatives by the state (batch, 2 n, 2 n) and by torques (batch, 2 n, n); ``memory`` has room for them,
    see `StepTables.memory`. With backward = 1 the last two are slopes by the state after the step
    (batch, 2 n), which are given, and by the state before it and torques (batch, 3 n).
    """

    def make() -> Any:
        from kinetree.simulation.compiled.gradient_code import step_derivatives

        return step_derivatives()

    return range_call(stored_or_made("step-derivatives", LANES, make, __file__))


@functools.cache
def observe() -> WordCall:
    """The function (memory, period, times, states, rates_out, tau, contact, rates, context, *places).

    It answers how many states were done. ``rates`` and ``context`` are addresses, ``places`` the starts of
    tau, contact, held and log in the context, and the number of logged instants; ``period`` is an array of
    one number; rows of the matrices belong to the times, all lanes in one row. With a period the held torques
    are those of the last sampling instant, or, with no logged instants, those in the context.
    """

    def make() -> Any:
        from kinetree.simulation.compiled.observe import observe

        return observe()

    return WordCall(_stored("observe", make), OBSERVED, 7)


def _of_states(name: str, lanes: int, models: int) -> str:
    return f"{name}-{lanes}" + (f"-{models}" if models > 1 else "")


def _stored(name: str, make: Callable[[], Any]) -> Any:
    return stored_or_made(name, 1, make, __file__)
