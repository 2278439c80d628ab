"""One integration, advanced piece by piece."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import aligned
from kinetree.engine.workspace import BLOCK
from kinetree.integrate import settings as names
from kinetree.integrate.code import STAGES, advancing
from kinetree.integrate.collocation import MOST_PAIRS
from kinetree.integrate.settings import ATOL, EVENT_ROWS, JUMP, PATH, RECORD, STATISTICS, K, Y

LOG_LENGTH = 64  # log entries that fit before they are moved to a list
TRACE_NUMBERS, FEWEST_ROWS = 200_000, 256  # numbers of a trace, and rows, before it is handed over


class IntegrationStatus(enum.IntEnum):
    """How a call of :meth:`Integration.advance` ended."""

    DONE = names.DONE
    RUNNING = names.RUNNING
    EVENT = names.EVENT
    STEP_TOO_SMALL = names.STEP_TOO_SMALL
    NOT_FINITE = names.NOT_FINITE
    CALLBACK = names.CALLBACK


@dataclass(frozen=True)
class Events:
    """Event functions g(t, y): where they are, how many, and what to do about each.

    ``address`` of events(t, y*, g*, context*), which fills (lanes, count) numbers. ``action``: 0 record the
    crossing, 1 locate it and restart there, 2 locate it and stop, 3 restart there without a record.
    ``direction`` of g: -1, 0 (both) or 1. ``switch``: address of switch(t, y*, signals*, context*), called at
    every start with 1.25 for events that have just happened and 2 for all of them at a new state; f may
    change then, and each signal is replaced by the signs that g has from now on, or left
    where g itself decides.
    """

    address: int
    count: int
    action: Any = 0
    direction: Any = 0
    switch: int = 0


@dataclass(frozen=True)
class EventRecord:
    """An event that happened: when, which, in which lane, the direction of g, and the lane's state."""

    t: float
    index: int
    lane: int
    direction: int
    y: Array


class Steps(NamedTuple):
    """Ends of accepted steps: times (k,), states and rates (k, lanes, size), both sides of jumps of f.

    Two rows of equal time are the end of a step and the start of the next after f or the state may have
    jumped; where times decrease, another integration begins. Rates are not those of the state where
    ``has_rates`` (k,) is false: at events that cut a step short.
    """

    t: Array
    y: Array
    rates: Array
    has_rates: Any


class Integration:
    """y' = f(t, y) from t_start to t_end; f is the C function rates(t, y*, dy*, context*) at an address.

    ``y0`` has the shape (lanes, size), with 1 or 4 lanes that share time and step; size = 2 n + n_more
    + others + n_sums for n positions, n velocities (their derivatives), ``n_more`` states whose slopes
    "radau" takes into account, others that f hardly depends on, and sums, which do not count in the error
    norm.
    ``context`` (floats) is handed to every callback. A callback that answers anything but 0 stops at once.
    ``times`` (ascending) is where the state is written to ``out``. Adaptive methods ("dopri5", "dop853",
    "radau") keep the local error, root mean square of e / (atol + rtol |y|), below one; the others ("rk4",
    "semi_implicit_euler") take equal steps not longer than ``step``. ``sample`` = (address, period): called
    at t_start and at all multiples of the period before t_end; ``breaks`` are times where f jumps. The caller
    keeps the callbacks alive. ``jacobian``(t, y*, J*, context*) fills the slopes (n + n_more,
    2 n + n_more) of the rates of velocities and further states; without it they are found by differences.
    ``project``(t, y*, dy*, plan*, context*) is called at the end of every accepted step, with the rates dy
    there, and may move the state: it answers 1 then, 0 if it did not; anything else stops. plan[0] is the
    length that the next step is likely to have, plan[1] the share of a step in a wide gap between stages, or
    0; it may put a length into plan[2] that the next step has to have, and 1 into plan[3] to have it
    accepted whatever its error (adaptive methods).

    ``trace``: called with the ends of accepted steps, as :class:`Steps`, whenever many have gathered and by
    :meth:`flush`.

    >>> from numba import cfunc
    >>> @cfunc("int64(float64, CPointer(float64), CPointer(float64), CPointer(float64))")
    ... def spring(t, y, dy, context):
    ...     dy[0] = y[1]
    ...     dy[1] = -context[0] * y[0]
    ...     return 0
    >>> start, stiffness = np.array([[1.0, 0.0]]), np.array([4.0])
    >>> run = Integration("dopri5", spring.address, stiffness, start, 1, 0, 0.0, np.pi, [np.pi / 2, np.pi])
    >>> run.advance(10**6)
    <IntegrationStatus.DONE: 0>
    >>> run.out[:, 0, 0].round(5).tolist()
    [-1.0, 1.0]
    """

    def __init__(
        self,
        method: str,
        rates: int,
        context: Array,
        y0: Array,
        n: int,
        n_sums: int,
        t_start: float,
        t_end: float,
        times: Array,
        *,
        rtol: float = 1e-6,
        atol: Any = 1e-9,
        step: float = 0.0,
        max_step: float = np.inf,
        first_step: float = 0.0,
        events: Events | None = None,
        jacobian: int | None = None,
        n_more: int = 0,
        project: int = 0,
        sample: tuple[int, float] | None = None,
        breaks: Any = (),
        trace: Callable[[Steps], None] | None = None,
    ) -> None:
        self._check(method, rates, context, np.shape(y0)[-1], np.size(y0), n, n_sums, n_more)
        self.method = method
        y0 = np.atleast_2d(np.asarray(y0, float))
        self.lanes, self.size = y0.shape
        self._s = np.zeros(1, RECORD)
        self._bytes = self._s.view(np.uint8)  # copied much faster than field by field
        self._memory = self._new_memory(atol, n_sums)
        self._y = self._memory[Y, : y0.size].reshape(y0.shape)
        self._y[:] = y0
        self.context = context
        self.times = np.array(times, float).reshape(-1)
        self._out = np.zeros((len(self.times), y0.size))
        self._breaks = np.unique(np.asarray(breaks, float)) if len(breaks) else np.zeros(0)
        self._set(
            rates=rates,
            context=context.ctypes.data,
            lanes=self.lanes,
            size=self.size,
            n=n,
            more=n_more,
            project=project,
            n_counted=self.size - n_sums,
            t=t_start,
            t_end=t_end,
            rtol=rtol,
            step=step if step > 0.0 else np.inf,
            max_step=max_step,
            wish=first_step,
            start=JUMP,
            k_break=int(np.searchsorted(self._breaks, t_start, side="right")),
        )
        self._prepare_events(events)
        self._prepare_sampling(sample, t_start)
        self._prepare_matrices(jacobian, n, n_more)
        self._sink, numbers = trace, y0.size
        rows = 0 if trace is None else max(FEWEST_ROWS, TRACE_NUMBERS // (2 + 2 * numbers))
        self._trace = np.zeros((rows, 2 + 2 * numbers))
        self._first = self._bytes.copy()
        self._advance = advancing(method, events is not None and events.count > 0).bound(
            self._s,
            self._memory,
            self.times,
            self._out,
            self._breaks,
            self._g,
            self._rules,
            self._log,
            self._log_index,
            self._matrices,
            self._complexes,
            self._pivots,
            self._trace,
        )

    def advance(self, max_steps: int) -> IntegrationStatus:
        """Take up to that many steps."""
        s = self._s[0]
        while True:
            before = int(s["steps"])
            status = self._advance(max_steps)
            self._drain_log()
            if status == names.TRACE_FULL:
                self.flush()
            elif status != names.LOG_FULL:
                return IntegrationStatus(status)
            max_steps = max(0, max_steps - (int(s["steps"]) - before))

    def rewind(self, y0: Array) -> None:
        """Begin once more at the start time, from another state (lanes, size); nothing is kept."""
        rows = int(self._s["n_trace"][0])
        self._bytes[:] = self._first
        self._set(n_trace=rows)  # steps of the run before that nothing has read yet
        self._y[:] = y0
        self._g[:] = 0.0
        self.event_log.clear()

    def restart(self, t: float | None = None, y: Array | None = None, context: Array | None = None) -> None:
        """Go on from another state; outputs already written stay."""
        if y is not None:
            self._y[:] = y
        if context is not None:
            self.context = context
            self._set(context=context.ctypes.data)
        if t is not None:
            self._set(t=t, k_break=int(np.searchsorted(self._breaks, t, side="right")))
            self._set(k_sample=self._next_sample(t))
        self._set(start=JUMP)

    @property
    def n_trace(self) -> int:
        """How many rows the trace holds that nothing has read yet."""
        return int(self._s["n_trace"][0])

    def flush(self) -> None:
        """Hand the steps since the last call over to the trace."""
        count = self.n_trace
        if not count or self._sink is None:
            return
        self._set(n_trace=0)
        rows, shape = self._trace[:count], (count, self.lanes, self.size)
        numbers = self.lanes * self.size
        y, rates = (rows[:, 2 + k * numbers : 2 + (k + 1) * numbers].reshape(shape) for k in (0, 1))
        self._sink(Steps(rows[:, 0].copy(), y.copy(), rates.copy(), rows[:, 1] != 0.0))

    @property
    def t(self) -> float:
        """The present time."""
        return float(self._s["t"][0])

    @property
    def y(self) -> Array:
        """The present state (lanes, size), a copy."""
        return self._y.copy()

    @property
    def n_out(self) -> int:
        """How many of the times have been reached."""
        return int(self._s["n_out"][0])

    @property
    def out(self) -> Array:
        """The states at the times, (times, lanes, size); the first n_out are written."""
        return self._out.reshape(-1, self.lanes, self.size)

    @property
    def cuts(self) -> int:
        """How many steps were ended by events."""
        return int(self._s["cuts"][0])

    @property
    def busiest_event(self) -> int:
        """The event since which the state has moved least: the one that chatters, if any does."""
        return int(np.argmin(self._g[PATH])) % int(self._s["n_events"][0])

    @property
    def statistics(self) -> dict[str, int]:
        """Steps, rejected steps, evaluations of f, Jacobians, factorizations."""
        return {name: int(self._s[name][0]) for name in STATISTICS}

    @staticmethod
    def _check(
        method: str, rates: int, context: Array, size: int, numbers: int, n: int, n_sums: int, n_more: int
    ) -> None:
        """What would otherwise reach into foreign memory."""
        if not rates or context.dtype != float or not context.flags.c_contiguous:
            raise ValueError("callbacks need an address and a contiguous context of floats")
        least = 2 * n + n_more + n_sums
        if min(n, n_sums, n_more) < 0 or least > size or (method == "radau" and numbers != size):
            raise ValueError(
                f"a state of the shape (..., {size}) does not fit n = {n}, n_more = {n_more}, "
                f"n_sums = {n_sums}"
            )

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            self._s[name][0] = value

    def _new_memory(self, atol: Any, n_sums: int) -> Array:
        """The rows; entries that do not count have an infinite atol."""
        numbers = self.lanes * self.size
        memory = aligned(K + STAGES[self.method], max(1, -(-numbers // BLOCK)) * BLOCK)
        memory[:] = 0.0
        memory[ATOL] = np.inf
        tolerance = np.array(np.broadcast_to(atol, (self.lanes, self.size)), float)
        tolerance[:, self.size - n_sums :] = np.inf
        memory[ATOL, :numbers] = tolerance.reshape(-1)
        return memory

    def _prepare_events(self, events: Events | None) -> None:
        count = events.count if events is not None else 0
        total = self.lanes * count
        self._rules = np.zeros((2, count), np.int64)
        self._g = np.zeros((EVENT_ROWS, total))
        self._log = np.zeros((LOG_LENGTH + total, 1 + self.size))
        self._log_index = np.zeros((LOG_LENGTH + total, 3), np.int64)
        self.event_log: list[EventRecord] = []
        if events is not None:
            self._rules[0], self._rules[1] = events.action, events.direction
            self._set(n_events=count, events=events.address, switch=events.switch)

    def _prepare_sampling(self, sample: tuple[int, float] | None, t_start: float) -> None:
        if sample is not None:
            address, period = sample
            self._set(sample=address, period=period, pending_sample=1)
            self._set(k_sample=self._next_sample(t_start))

    def _next_sample(self, t: float) -> int:
        period = float(self._s["period"][0])
        return int(np.floor(t / period + 1e-9)) + 1 if period > 0.0 else 0

    def _prepare_matrices(self, jacobian: int | None, n: int, n_more: int) -> None:
        size, width = (n + n_more, 2 * n + n_more) if self.method == "radau" else (0, 1)
        self._matrices = np.zeros((2 * size + 1, max(1, width)))
        self._complexes = np.zeros((MOST_PAIRS * size + 1, max(1, size)), complex)
        self._pivots = np.zeros((1 + MOST_PAIRS, size), np.int64)
        self._set(jacobian=jacobian or 0)

    def _drain_log(self) -> None:
        for k in range(int(self._s["n_log"][0])):
            numbers, (index, lane, direction) = self._log[k], self._log_index[k].tolist()
            self.event_log.append(EventRecord(float(numbers[0]), index, lane, direction, numbers[1:].copy()))
        self._set(n_log=0)


__all__ = ["EventRecord", "Events", "Integration", "IntegrationStatus", "Steps"]
