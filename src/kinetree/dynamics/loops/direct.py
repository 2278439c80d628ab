"""Single states of closed loops, straight from Python into machine code.

For mechanisms without mimic joints, springs between bodies, and springs or friction at cut joints. States
that are not finite, do not fit the loops or are near singular positions get None, and so are left to those
who answer them otherwise or say what is wrong (`dynamics.loops.acceleration`, `dynamics.loops.dynamics`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.dynamics.loops.acceleration import bounds
from kinetree.dynamics.loops.coordinates import has_cut_drives, has_cut_forces
from kinetree.dynamics.loops.drives import drive_bounds, known_drives
from kinetree.dynamics.loops.machine import judged as at
from kinetree.dynamics.loops.program import loop_program
from kinetree.dynamics.loops.ranges import LoopRanges
from kinetree.engine import call_words, run
from kinetree.engine.code import single_state
from kinetree.engine.direct import StateCall
from kinetree.engine.stored_code import stored_or_made
from kinetree.engine.workspace import single_memory
from kinetree.kernels.rnea import RNEA_UNLOADED
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Tree

Call = Callable[..., Any]
Q, QD, THIRD, ANSWER, OWN = 0, 1, 2, 3, -1  # whose an array is: the caller's, or that of the call
STILL, WITH_SPEED, WITH_MOTION = (0.0, 0.0), (1.0, 0.0), (0.0, 1.0)  # how a bound grows: `is_within`


def acceleration_call(mechanism: Mechanism) -> Call:
    """call(q, qd, tau): accelerations (n_dof,) of one closed state, or (count, n_dof) of a few, or None."""
    if not _is_direct(mechanism):
        return _no_answer
    n, program = mechanism.n_dof, loop_program(mechanism)
    _, rows, pivots, judged = program.states.sizes
    arrays = [(Q, n), (QD, n), (THIRD, n), (OWN, 0), (ANSWER, n), (OWN, rows), (OWN, pivots), (OWN, judged)]
    most = [x for some in bounds(mechanism, program, 0.0) for x in some]
    return _new_call(n, program.states.ranges, arrays, most, [STILL, WITH_SPEED, *[STILL] * 4])


def torque_call(mechanism: Mechanism) -> Call | None:
    """call(q, qd, qdd): torques of the drives, as `acceleration_call`; None where blocks do not serve."""
    if not _is_direct(mechanism) or has_cut_drives(mechanism):
        return _no_answer
    drives = known_drives(mechanism)
    if drives is None:
        return None
    n, most = mechanism.n_dof, drive_bounds(mechanism, 0.0, 0.0)
    arrays = [(Q, n), (QD, n), (OWN, 0), (THIRD, n), (OWN, n), (ANSWER, n), (OWN, len(most))]
    growth = [STILL, WITH_SPEED, WITH_MOTION, STILL, STILL]
    return _new_call(n, drives.ranges, arrays, most, growth, (mechanism.opened().tree, 4))


def _is_direct(mechanism: Mechanism) -> bool:
    tree = mechanism.tree
    is_plain = tree.coupling is None and tree.springs is None and not has_cut_forces(mechanism)
    return is_plain and run.HAS_GIL and not run.INTERPRET


def _no_answer(*inputs: object) -> None:
    """The answer for mechanisms without a direct call."""


def _new_call(
    n: int,
    ranges: LoopRanges,
    arrays: Sequence[tuple[int, int]],
    most: Sequence[float],
    growth: Sequence[tuple[float, float]],
    needed: tuple[Tree, int] | None = None,
) -> Call:
    """A direct call of the machine code of ``ranges`` for one state at a time.

    ``arrays`` says whose each of its arrays is, and its numbers per state; the last one gets the verdict,
    whose bounds are ``most`` at rest and grow with the motion. ``needed``: a tree, and which array gets its
    inverse dynamics before.
    """
    way = StateCall([n] * 3, [n], 0, (), 0)
    if way.knows_single:  # direct calls are off
        return way.call
    words = np.zeros(at.BOUNDS + 3 * len(most))
    integers, code, memory = words.view(np.int64), ranges.code(1), ranges.new_memory(1)
    own = [np.zeros(max(size, 1)) for _, size in arrays]
    kept: list[Any] = [code, memory, ranges.table, own]
    start = ranges.start(1)
    places = _place(ranges.table), _place(memory)
    integers[[at.BODY, at.TABLE, at.MEMORY, at.SIZE, at.START]] = _address(code), *places, memory.size, start
    integers[[at.N_DOF, at.ARRAYS, at.VERDICT, at.JUDGED]] = n, len(arrays), _place(own[-1]), len(most)
    integers[at.SOURCES : at.SOURCES + len(arrays)] = [source for source, _ in arrays]
    pairs = [(_place(room), size) for room, (_, size) in zip(own, arrays, strict=True)]
    integers[at.PAIRS : at.PAIRS + 2 * len(arrays)] = np.ravel(pairs)
    words[at.BOUNDS :] = np.column_stack([most, growth]).ravel()
    if needed is not None:
        tree, which = needed
        first, room = single_state(RNEA_UNLOADED), single_memory(RNEA_UNLOADED, tree)
        kept += [first, room]
        integers[[at.FIRST, at.FIRST_MEMORY, at.FIRST_SIZE]] = first.address, _place(room), room.size
        integers[at.NEEDED] = _place(own[which])
    judge = judged_state()
    way.take_single(SimpleNamespace(address=judge.address, kept=[judge, *kept]), words)
    return way.call


def _place(array: Array) -> int:
    return int(array.ctypes.data)


def _address(code: Any) -> int:
    """Where the machine code of a `range_call` starts: its `self` are words, of which one says so."""
    return int(code.__self__[call_words.BODY])


@functools.cache
def judged_state() -> Any:
    """Machine code (words, size, pairs) for one state, as `StateCall` takes it; 0 if it needs a closer look.

    Pairs tell position, velocity, acceleration or torque, and the answer, all of as many numbers. The code
    that the words name is the one that other calls run, so that all of them give the same bits; stored
    code is loaded without numba.
    """

    def make() -> Any:
        from kinetree.dynamics.loops.machine.judged_code import SINGLE, run
        from kinetree.engine.door import compiled_callback

        return compiled_callback(run, SINGLE, "loop-judged")

    return stored_or_made("loop-judged", 1, make, at.__file__)
