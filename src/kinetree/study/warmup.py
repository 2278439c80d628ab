"""Compiling everything ahead of time, so that the first question of each kind does not wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter

from kinetree.engine.notice import hushed
from kinetree.kernels.catalogue import all_kernels
from kinetree.kernels.number import LANES

Piece = tuple[str, Callable[[], object]]


def warmup(progress: Callable[[str, int, int], None] | None = None) -> float:
    """Compile every kernel in every shape and all that simulations run; returns the seconds it took.

    What is in the disk cache is read from there. ``progress(name, k, total)`` is called before piece
    k = 1 ... total; notices on the terminal are left to it.

    >>> warmup(lambda name, k, total: print(f"{k}/{total} {name}"))  # doctest: +SKIP
    """
    start = perf_counter()
    found = list(pieces())
    for k, (name, compile_piece) in enumerate(found, start=1):
        if progress is None:
            compile_piece()
            continue
        progress(name, k, len(found))
        with hushed():
            compile_piece()
    return perf_counter() - start


def pieces() -> Iterator[Piece]:
    """Name and compilation of every shape of every kernel; importing the compiler takes a moment too."""
    from kinetree.engine.code import full_states, many_states, single_state, unpack_states

    yield "full arrays from packed ones", unpack_states
    for kernel in all_kernels():
        yield f"{kernel.name}, many states", partial(many_states, kernel, streamed=False)
        if kernel.entries is not None:
            yield f"{kernel.name}, large batches", partial(many_states, kernel, streamed=True)
        if kernel.targets or kernel.places:
            yield f"{kernel.name}, full arrays", partial(full_states, kernel)
        if kernel.output_widths is not None:
            yield f"{kernel.name}, single state", partial(single_state, kernel)
    yield from _simulation_pieces()


def _simulation_pieces() -> Iterator[Piece]:
    """The right-hand sides of simulations, and the methods that integrate them."""
    from kinetree.integrate.driver import METHODS, advancing
    from kinetree.simulation.compiled.actuator import drive_jacobian, drive_rates
    from kinetree.simulation.compiled.coupled import coupled_motion
    from kinetree.simulation.compiled.jacobian import jacobian
    from kinetree.simulation.compiled.observe import observe
    from kinetree.simulation.compiled.rates import events, rates, sample, switch

    for lanes in (1, LANES):
        many = "one at a time" if lanes == 1 else f"{lanes} at once"
        yield f"simulations, {many}", partial(rates, lanes)
        yield f"sampled control, {many}", partial(sample, lanes)
        yield f"mimic joints, {many}", partial(coupled_motion, lanes)
        yield f"actuators, {many}", partial(drive_rates, lanes)
    yield "events of simulations", events
    yield "contact in simulations", switch
    yield "slopes of simulations", jacobian
    yield "slopes of actuators", drive_jacobian
    yield "forces in simulations", observe
    for name in METHODS:
        yield f"integration by {name}", partial(advancing, name)
