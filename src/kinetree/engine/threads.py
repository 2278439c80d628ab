"""Ranges of states on several threads."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from queue import Empty, SimpleQueue
from typing import TypeVar

Answer = TypeVar("Answer")
THREADING_WORTH = 1 << 17  # numbers to move before a second thread pays
RANGES = 8  # that large batches are cut into, for each thread


def over_threads(work: Callable[[int, int], Answer], count: int, lanes: int, threads: int) -> list[Answer]:
    """Answers of work(begin, end) for ranges of states, cut at whole blocks, none shorter than a block.

    Each thread takes one range after the other from a queue, so that none waits long for a slower one.
    """
    blocks = count // lanes
    threads = max(1, min(threads, blocks))
    if threads == 1:
        return [work(0, count)]
    parts = min(blocks, RANGES * threads)
    cuts = [blocks * k // parts * lanes for k in range(parts)]
    waiting: SimpleQueue[tuple[int, int]] = SimpleQueue()
    for ends in zip(cuts, [*cuts[1:], count], strict=True):
        waiting.put(ends)

    def some(_: int) -> list[Answer]:
        answers: list[Answer] = []
        while True:
            try:
                begin, end = waiting.get_nowait()
            except Empty:
                return answers
            answers.append(work(begin, end))

    try:
        found = _pool().map(some, range(threads))
    except RuntimeError:  # the interpreter is about to end and starts no threads any more
        return [work(0, count)]
    return [answer for answers in found for answer in answers]


def thread_count(threads: int | None, numbers: int) -> int:
    """How many threads to use: as many as asked for, else all cores where there is enough to move."""
    if threads is not None:
        return threads
    return available_cores() if numbers >= THREADING_WORTH else 1


def available_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(available_cores(), thread_name_prefix="kinetree")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork
