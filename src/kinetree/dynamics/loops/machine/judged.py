"""The words of the memory that machine code for one state of closed loops reads (`machine.judged_code`)."""

from __future__ import annotations

MOST = 8  # arrays of one call
# a kernel of the tree that runs first, or 0: its machine code, memory and size, and where its answer goes
FIRST, FIRST_MEMORY, FIRST_SIZE, NEEDED = range(4)
BODY, TABLE, MEMORY, SIZE, START = range(4, 9)  # machine code of a `range_call`, and what it is called with
N_DOF, ARRAYS, VERDICT, JUDGED = range(9, 13)  # numbers of a state; arrays; place and size of the verdict
SOURCES = 13  # of each array: which of the caller's it is, or -1
PAIRS = SOURCES + MOST  # address and numbers per state of each array
BOUNDS = PAIRS + 2 * MOST  # of each number of the verdict, three: `judged_code.is_within`
