"""Fair timing on a machine that is not quiet: contestants take turns, the best window counts."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from statistics import median
from time import perf_counter_ns

Clock = Callable[[], int]  # nanoseconds
WINDOW = 4_000_000  # ns: long beside the clock's resolution, short beside what disturbs a machine
LEAST_WINDOWS = 3


@dataclass(frozen=True)
class Contestant:
    """A name and a call without arguments that answers ``states`` states."""

    name: str
    call: Callable[[], object]
    states: int = 1


@dataclass(frozen=True)
class Timing:
    """Nanoseconds per state of one contestant: best and median window, and how many windows there were."""

    contestant: str
    best: float
    median: float
    windows: int


def race(
    contestants: Sequence[Contestant], seconds: float, window: int = WINDOW, clock: Clock = perf_counter_ns
) -> list[Timing]:
    """Time all contestants in turn, window after window, for about ``seconds`` altogether.

    The clock is that of the wall unless given: that of the thread (``time.thread_time_ns``) does not count
    what other programs do, and suits calls that take long and stay on this thread.
    """
    repeats = [_repeats(contestant.call, window, clock) for contestant in contestants]
    found: list[list[float]] = [[] for _ in contestants]
    collecting = gc.isenabled()
    gc.disable()
    try:
        end = perf_counter_ns() + int(seconds * 1e9)
        rounds = 0
        while rounds < LEAST_WINDOWS or perf_counter_ns() < end:
            for k in range(len(contestants)):
                k = (k + rounds) % len(contestants)  # no one always follows the same neighbor
                elapsed = _elapsed(contestants[k].call, repeats[k], clock)
                found[k].append(elapsed / (repeats[k] * contestants[k].states))
            rounds += 1
    finally:
        if collecting:
            gc.enable()
    return [
        Timing(contestant.name, min(values), median(values), len(values))
        for contestant, values in zip(contestants, found, strict=True)
    ]


def _repeats(call: Callable[[], object], window: int, clock: Clock) -> int:
    """How many calls fill a window; the first call only warms up."""
    call()
    count = 1
    while True:
        elapsed = _elapsed(call, count, clock)
        if elapsed > window // 4:
            return max(1, round(count * window / elapsed))
        count *= 4


def _elapsed(call: Callable[[], object], count: int, clock: Clock) -> int:
    """Nanoseconds of a number of calls."""
    start = clock()
    for _ in repeat(None, count):
        call()
    return clock() - start
