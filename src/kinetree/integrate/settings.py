"""What an integration remembers between two calls: a record of scalars, and rows of numbers.

The state y has the shape (lanes, size) with size = 2 n + more + others + sums: n positions, n velocities,
further states that f depends on, others that it hardly does, and quadratures. A row of
``memory`` holds it flat, filled up with zeros to whole vectors.
"""

from __future__ import annotations

import numpy as np

from kinetree.engine.word_call import ArrayKind

# rows of the memory
Y, NEW, ARGUMENT, ERROR, ATOL, K = range(6)  # stage derivatives from K on

# rows of g: values at the start and at the end of a step and in between, the last sign other than zero,
# where the crossing is (theta, or NEVER), whether the event has just happened, rates at start and end, how
# often in a row it has happened at once, how far the state has gone since it happened
OLD, END, TRIAL, SIDE, THETA, FIRED, TREND, END_TREND, CHATTER, PATH, EVENT_ROWS = range(11)

# what a compiled call answers
DONE, RUNNING, EVENT, STEP_TOO_SMALL, NOT_FINITE, CALLBACK, LOG_FULL, TRACE_FULL = range(8)
GO_ON = -1

# why the method has to start again: not at all, a projection moved the state a little, f may have jumped, or
# the state may have jumped as well
SMOOTH, MOVED, KINK, JUMP = range(4)

# the next step: as accuracy allows, of a planned length, or of that length and accepted whatever its error
FREE, PLANNED, ACCEPTED = range(3)

_FLOATS = (
    "t",
    "t_new",  # where the step in progress ends
    "t_end",
    "target",  # the next time to step onto exactly
    "h",  # the step in progress
    "wish",  # the step that accuracy allows
    "step",
    "max_step",
    "rtol",
    "period",
    "log_error",  # of the last accepted step, for the PI controller
    "h_old",
    "error_old",
    "h_factored",
    "rate_of_convergence",  # of Newton's iteration
    "contraction",
    "h_held",  # the step that a projection has planned
    "h_chatter",  # the longest step over events that happen again and again at once; 0: there are none
    "h_chatter_most",
    "h_calm",  # the last of such steps
    "h_lately",  # the longest step that accuracy allowed lately, before events chattered
    "slack",  # the error up to which a step is accepted: 1, or more over events that chatter
)
_INTEGERS = (
    "rates",  # addresses
    "events",
    "jacobian",
    "sample",
    "switch",
    "hold",  # FREE, PLANNED or ACCEPTED
    "project",  # 0: there is none
    "context",
    "lanes",
    "n",
    "more",  # states behind the velocities whose slopes implicit methods take into account
    "size",
    "n_counted",  # entries in the error norm: all but the sums
    "n_events",
    "n_out",
    "k_break",
    "k_sample",
    "pending_sample",
    "n_log",
    "start",  # SMOOTH, MOVED, KINK or JUMP
    "landing",  # the step in progress ends on the target
    "was_rejected",
    "was_not_finite",
    "dense_ready",
    "has_jacobian",
    "is_current",  # the Jacobian belongs to the present state
    "has_old",
    "stages",  # of an implicit step
    "has_slope",
    "jolt",  # events that change f have just happened
    "has_trends",  # the rates of event functions at the start of the step are known
    "cuts",  # steps that events have ended
    "n_trace",  # rows of the trace that are written
    "is_fresh",  # the method has started again: its first row of the trace is still to be written
    "steps",
    "rejected",
    "evaluations",
    "jacobians",
    "factorisations",
)
RECORD = np.dtype(
    [(name, "f8") for name in _FLOATS] + [(name, "i8") for name in _INTEGERS] + [("weights", "f8", (16,))],
    align=True,
)
ARRAYS = [ArrayKind(RECORD, 1)] + [
    ArrayKind(element, rank)
    for element, rank in zip(
        "f8 f8 f8 f8 f8 i8 f8 i8 f8 c16 i8 f8".split(), (2, 1, 2, 1, 2, 2, 2, 2, 2, 2, 2, 2), strict=True
    )
]  # that `advance` takes: settings, memory, times, out, breaks, g, rules, log, log_index, matrices, ...


def name_of_code(method: str, watched: bool) -> str:
    """Under which name the machine code of a method is kept, with event functions or without."""
    return f"integrate-{method}-watched" if watched else f"integrate-{method}"


STATISTICS = ("steps", "rejected", "evaluations", "jacobians", "factorisations")
