"""One state of closed loops with a verdict: the machine code of it, and the words of its memory.

What lies on the disk is loaded without numba, so that the compiled side is in a file of its own
(`machine.judged_code`).
"""

from __future__ import annotations

import functools
from typing import Any

from kinetree.engine.stored_code import stored_or_made

MOST = 8  # arrays of one call
# a kernel of the tree that is asked first, or 0: its machine code, memory and size, and where its answer goes
FIRST, FIRST_MEMORY, FIRST_SIZE, NEEDED = range(4)
BODY, TABLE, MEMORY, SIZE, START = range(4, 9)  # machine code of a `range_call`, and what it is called with
N_DOF, ARRAYS, VERDICT, JUDGED = range(9, 13)  # numbers of a state; arrays; place and size of the verdict
SOURCES = 13  # of each array: which of the caller's it is, or -1
PAIRS = SOURCES + MOST  # address and numbers per state of each array
BOUNDS = PAIRS + 2 * MOST  # of each number of the verdict, three: `judged_code.is_within`


@functools.cache
def judged_state() -> Any:
    """Machine code (words, size, pairs) for one state, as `StateCall` takes it; 0 if it needs a closer look.

    Pairs tell position, velocity, acceleration or torque, and the answer, all of as many numbers. The code
    that the words name is the one that other calls run, so that all of them give the same bits.
    """

    def make() -> Any:
        from kinetree.analysis.loops.machine.judged_code import SINGLE, run
        from kinetree.engine.door import compiled_callback

        return compiled_callback(run, SINGLE, "loop-judged", alone=True)

    return stored_or_made("loop-judged", 1, make, __file__)
