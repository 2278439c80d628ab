"""Compiling everything ahead of time, so that the first question of each kind does not wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter

import numpy as np

from kinetree.analysis.inverse import inverse_dynamics
from kinetree.engine.notice import hushed
from kinetree.engine.prebuilt import ignored
from kinetree.kernels.catalogue import all_kernels
from kinetree.kernels.number import LANES
from kinetree.model.zoo.arms import two_link

Piece = tuple[str, Callable[[], object]]


def warmup(progress: Callable[[str, int, int], None] | None = None) -> float:
    """Compile all kernels and all code of simulations, controllers and predictions; returns the seconds.

    What is in the disk cache is read from there; code that comes with the package, which is for many
    processors, is not used. ``progress(name, k, total)`` is called before piece
    k = 1 ... total; notices on the terminal are left to it.

    >>> warmup(lambda name, k, total: print(f"{k}/{total} {name}"))  # doctest: +SKIP
    """
    start = perf_counter()
    with ignored():  # code of this very processor, also where the package brings some of its own
        _compile(list(pieces()), progress)
    return perf_counter() - start


def _compile(found: list[Piece], progress: Callable[[str, int, int], None] | None) -> None:
    for k, (name, compile_piece) in enumerate(found, start=1):
        if progress is None:
            compile_piece()
            continue
        progress(name, k, len(found))
        with hushed():
            compile_piece()


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
    yield "calls without Python", _call_directly
    yield from _simulation_pieces()
    yield from _loop_pieces()
    yield from _prediction_pieces()
    yield from _muscle_pieces()


def _call_directly() -> None:
    """Call an algorithm for one state and for several, which compiles how calls get in."""
    arm = two_link()
    for shape in ((arm.n_dof,), (LANES, arm.n_dof)):
        still = np.zeros(shape)
        inverse_dynamics(arm, still, still, still)


def _simulation_pieces() -> Iterator[Piece]:
    """The right-hand sides of simulations, and the methods that integrate them."""
    from kinetree.integrate.code import STAGES, advancing
    from kinetree.simulation.compiled.actuator import drive_jacobian, drive_rates
    from kinetree.simulation.compiled.code import (
        events,
        forces,
        jacobian,
        law,
        made_rates,
        observe,
        rates,
        sample,
        step_derivatives,
        step_states,
        switch,
    )
    from kinetree.simulation.compiled.coupled import coupled_motion
    from kinetree.simulation.compiled.prescribed import prescribed_motion, prescribed_rates
    from kinetree.simulation.compiled.servos import servo_jacobian, servo_torques
    from kinetree.simulation.compiled.springs import spring_forces, spring_jacobian

    for lanes in (1, LANES):
        many = "one at a time" if lanes == 1 else f"{lanes} at once"
        for models in (1,) if lanes == 1 else (1, lanes):
            each = "" if models == 1 else ", each with its masses"
            yield f"simulations, {many}{each}", partial(rates, lanes, models)
            yield f"sampled control, {many}{each}", partial(sample, lanes, models)
        yield f"simulations of specialized mechanisms, {many}", partial(made_rates, lanes)
        yield f"ground and loads, {many}", partial(forces, lanes)
        yield f"laws, {many}", partial(law, lanes)
        yield f"mimic joints, {many}", partial(coupled_motion, lanes)
        yield f"actuators, {many}", partial(drive_rates, lanes)
        yield f"servos, {many}", partial(servo_torques, lanes)
        yield f"springs, {many}", partial(spring_forces, lanes)
        yield f"prescribed joints, {many}", partial(prescribed_rates, lanes)
    yield "events of simulations", events
    yield "contact in simulations", switch
    yield "slopes of simulations", jacobian
    yield "slopes of actuators", drive_jacobian
    yield "slopes of servos", servo_jacobian
    yield "slopes of springs", spring_jacobian
    yield "motion of prescribed joints", prescribed_motion
    yield "forces in simulations", observe
    yield "steps with rigid contact", step_states
    yield "derivatives of steps", step_derivatives
    for name in STAGES:
        yield f"integration by {name}", partial(advancing, name)
        yield f"integration by {name}, with events", partial(advancing, name, watched=True)


def _loop_pieces() -> Iterator[Piece]:
    """Accelerations and driving forces of closed loops, and what their simulations run."""
    from kinetree.dynamics.loops.direct import judged_state
    from kinetree.dynamics.loops.machine.blocks import loop_drives
    from kinetree.dynamics.loops.machine.code import loop_positions
    from kinetree.engine.loop_code import loop_states
    from kinetree.simulation.compiled.cut_joints import cut_joint_events, cut_joint_forces
    from kinetree.simulation.compiled.loops import loop_motion, loop_projection
    from kinetree.simulation.compiled.prescribed import prescribed_in_loops

    for lanes in (1, LANES):
        many = "one at a time" if lanes == 1 else f"{lanes} at once"
        yield f"closed loops, {many}", partial(loop_states, lanes)
        yield f"inverse dynamics of closed loops, {many}", partial(loop_drives, lanes)
        yield f"simulations of closed loops, {many}", partial(loop_motion, lanes)
        yield f"forces of cut joints, {many}", partial(cut_joint_forces, lanes)
        yield f"prescribed joints in closed loops, {many}", partial(prescribed_in_loops, lanes)
    yield "direct calls of closed loops", judged_state
    yield "joints that follow others in closed loops", loop_positions
    yield "events of cut joints", cut_joint_events
    yield "closing loops in simulations", loop_projection


def _prediction_pieces() -> Iterator[Piece]:
    """The inner functions of predictions and of their solver, and the walking law."""
    from kinetree.control.whole_body.compiled.least_squares import compiled_least_squares
    from kinetree.control.whole_body.compiled.tick import compiled_note, compiled_plan
    from kinetree.motion.compiled import assembly, blocks, condensed, points

    for room in (assembly, blocks, condensed, points):
        place = room.__name__.rpartition(".")[2]
        for function in room.SIGNATURES:
            yield f"predictions, {place}, {function.__name__}", partial(room.compiled, function)
    yield "walking law", compiled_plan
    yield "notes of the walking law", compiled_note
    yield "laws of robots on feet", compiled_least_squares


def _muscle_pieces() -> Iterator[Piece]:
    """Paths of muscles, the sharing of torques among them, and poses from markers."""
    from kinetree.capture import fit
    from kinetree.dynamics.muscles import paths, sharing
    from kinetree.dynamics.muscles.machine import least_cost

    for name in paths.LETTERS:
        yield f"muscles, {name}", partial(paths.compiled, name)
    yield "muscles, sharing", sharing.compiled
    for function in least_cost.SIGNATURES:
        yield f"muscles, {function.__name__}", partial(least_cost.compiled, function)
    for name in fit.LETTERS:
        yield f"markers, {name}", partial(fit.compiled, name)
