"""Running a plan: orders go out, outcomes come in and are written, until all cases are done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any

import numpy as np

from kinetree.errors import InputError, KinetreeError
from kinetree.result.zarr_store import ZarrStore
from kinetree.sweeps.case import job_text, work
from kinetree.sweeps.executors import Backend, is_calling_back
from kinetree.sweeps.lanes import BLOCK
from kinetree.sweeps.outcome import ERROR, CaseOutcome, Order, Refused, version
from kinetree.sweeps.plan import Plan
from kinetree.sweeps.writer import Writer

LOOK = 0.2  # s between two looks at jobs that do not call back
STRIKES = 2  # how often an order may be lost with its worker


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is."""

    done: int
    failed: int
    count: int
    rate: float  # cases per second, in this run

    @property
    def left(self) -> float:
        """Seconds to go."""
        return (self.count - self.done) / self.rate if self.rate > 0.0 else float("inf")

    def __str__(self) -> str:
        left = (
            "" if not np.isfinite(self.left) or self.done == self.count else f", {duration(self.left)} left"
        )
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.done:,} of {self.count:,} cases, {self.rate:.3g} per second{failed}{left}"


def duration(seconds: float) -> str:
    """Seconds as hours, minutes and seconds.

    >>> duration(3725)
    '1:02:05'
    """
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


@dataclass(eq=False)
class SweepRun:
    """One run over a plan: what is to be done, what is on its way, what has come."""

    plan: Plan
    store: ZarrStore
    writer: Writer
    backend: Backend
    function: bytes = b""
    timeout: float | None = None
    tell: Callable[[SweepProgress], object] | None = None
    _arrived: SimpleQueue[Any] = field(default_factory=SimpleQueue)
    _orders: dict[int, tuple[Any, Order]] = field(default_factory=dict)
    _strikes: dict[tuple[int, ...], int] = field(default_factory=dict)
    _began: float = field(default_factory=perf_counter)
    _finished: int = 0

    def run(self) -> None:
        """Run all cases that wait."""
        waiting, self._began = self._next_orders(), perf_counter()
        self._report(force=True)
        try:
            more = True
            while more or self._orders:
                while more and len(self._orders) < self.backend.window:
                    order = next(waiting, None)
                    if order is None:
                        more = False
                        break
                    self._submit(order)
                done = self._done()
                self.backend.check()
                for key in done:
                    self._take(key)
                self._report()
        except BaseException:
            for job, _ in self._orders.values():
                if callable(getattr(job, "cancel", None)) and is_calling_back(job):
                    job.cancel()
            raise
        finally:
            self.writer.flush(now=True)
            self._report(force=True)

    def _next_orders(self) -> Iterator[Order]:
        """Orders of cases that wait, by their numbers; blocks of lanes are always whole."""
        text, size = job_text(self.plan), BLOCK if self.plan.lanes else self.backend.per_order
        count = self.plan.count
        batch: list[int] = []
        for first in range(0, count, size if self.plan.lanes else 4096):
            last = min(first + (size if self.plan.lanes else 4096), count)
            open_cases = (np.flatnonzero(self.writer.status[first:last] == 0) + first).tolist()
            if self.plan.lanes:
                if open_cases:
                    yield self._order(text, list(range(first, last)))
                continue
            for case in open_cases:
                batch.append(case)
                if len(batch) == size:
                    yield self._order(text, batch)
                    batch = []
        if batch:
            yield self._order(text, batch)

    def _order(self, text: str, cases: list[int]) -> Order:
        values = tuple(self.plan.values(case) for case in cases)
        return Order(version(), text, self.function, tuple(cases), values, self.timeout)

    def _submit(self, order: Order) -> None:
        try:
            job = self.backend.executor.submit(work, order)
        except KinetreeError:
            raise
        except Exception as error:
            raise InputError(
                f"{self.backend.about} accepts no more cases: {error}; continue with --resume"
            ) from error
        key = id(job)
        self._orders[key] = job, order
        if is_calling_back(job):
            job.add_done_callback(lambda job: self._arrived.put(id(job)))

    def _done(self) -> list[int]:
        """Jobs that are done; waits a little for the next."""
        found = []
        try:
            found.append(self._arrived.get(timeout=LOOK))
            while True:
                found.append(self._arrived.get_nowait())
        except Empty:
            pass
        asked = [key for key, (job, _) in self._orders.items() if not is_calling_back(job) and job.done()]
        return [*found, *asked]

    def _take(self, key: int) -> None:
        job, order = self._orders.pop(key)
        try:
            answer = job.result()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a worker that was lost with its cases, or a canceled job
            self._lost(order, error)
            return
        if isinstance(answer, Refused):
            raise InputError(answer.message)
        for outcome in answer:
            self.writer.put(outcome)
        self._finished += len(answer)

    def _lost(self, order: Order, error: BaseException) -> None:
        """Try again, a few times; then it is the fault of the cases."""
        self._strikes[order.cases] = strikes = self._strikes.get(order.cases, 0) + 1
        if strikes <= STRIKES:
            self._submit(order)
            return
        stated = f"lost with its worker {strikes} times: {type(error).__name__}: {error}"[:500]
        for case in order.cases:
            self.writer.put(CaseOutcome(case, ERROR, stated, {}, {}, 0.0))

    def _report(self, *, force: bool = False) -> None:
        written = self.writer.flush()
        progress = self.progress()
        if written or force:
            self.store.beat(
                done=progress.done,
                failed=progress.failed,
                count=progress.count,
                rate=progress.rate,
                where=self.backend.about,
            )
        if self.tell is not None:
            self.tell(progress)

    def progress(self) -> SweepProgress:
        """How far it is."""
        counts = self.writer.counts
        count, waiting = self.plan.count, int(counts[0])
        seconds = max(perf_counter() - self._began, 1e-9)
        return SweepProgress(count - waiting, int(counts[4:].sum()), count, self._finished / seconds)
