"""From outcomes to the store: chunks that fill up, written as they do, the status last."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.result.zarr_store import (
    CHUNK_CASES,
    MESSAGE,
    STATUS,
    STATUS_CHUNK,
    Chunks,
    Template,
    ZarrStore,
    chunk_cases,
)
from kinetree.sweeps.case import MEASURED, STATUSES
from kinetree.sweeps.measures import Value
from kinetree.sweeps.outcome import ERROR, CaseOutcome

PATIENCE = 1.0  # s between two writes


class Writer:
    """Keeps the chunks that are being filled, and writes them every second and at the end.

    What a case returns decides names and shapes of the variables: the first that succeeds, by its number, so
    that the order in which cases end does not matter.
    """

    def __init__(self, store: ZarrStore, plan: dict[str, Any], status: Array) -> None:
        self.store, self.plan = store, plan
        self.shape = tuple(plan["shape"])
        self.status = status
        self.templates: dict[str, Template] | None = None
        self.counts = np.bincount(self.status, minlength=len(STATUSES))
        self._chunks = Chunks(self.shape, CHUNK_CASES)
        self._open: dict[int, dict[str, Any]] = {}  # arrays of a run by its first case
        self._dirty: set[int] = set()
        self._settled = 0  # cases before this one have no variables
        self._early: dict[int, CaseOutcome] = {}  # outcomes that wait for the variables
        self._written = perf_counter()
        if plan.get("templates"):
            known = {
                name: Template(tuple(x[0]), tuple(x[1]), *x[2:]) for name, x in plan["templates"].items()
            }
            if not all(store.has(name) for name in known):  # a process ended before it could add them
                store.add_variables(plan, known, plan["labels"])
            self._begin(known)

    def wait_again(self, *statuses: int) -> None:
        """Let cases of some statuses wait again."""
        for status in statuses:
            self.counts[0] += self.counts[status]
            self.counts[status] = 0
        self.status[np.isin(self.status, statuses)] = 0

    # ---- what comes in ----------------------------------------------------------------------------------

    def put(self, outcome: CaseOutcome) -> None:
        """Take in the outcome of a case."""
        if self.templates is not None:
            self._place(outcome)
        else:
            self._early[outcome.case] = outcome
            self._settle()

    def _settle(self) -> None:
        """Make the variables once it is known which case is the first that succeeds."""
        while self._settled < len(self.status):
            outcome = self._early.get(self._settled)
            if outcome is None and self.status[self._settled] == 0:
                return
            if outcome is not None and outcome.values:
                self._make(outcome)
                for early in self._early.values():
                    self._place(early)
                self._early.clear()
                return
            self._settled += 1

    def _make(self, outcome: CaseOutcome) -> None:
        found = {
            name: Template(x.dims, tuple(x.values.shape), x.unit, x.meaning)
            for name, x in outcome.values.items()
        }
        self.plan["templates"] = {name: list(x) for name, x in found.items()}
        self.plan["labels"] = outcome.labels
        self.store.write_plan(self.plan)  # before the arrays, so that whoever reads these knows them
        self.store.add_variables(self.plan, found, outcome.labels)
        self._begin(found)
        for case in np.flatnonzero(self.status).tolist():  # failed in an earlier process
            first, last = self._chunks.run(case)
            self._opened(first, last)
            self._dirty.add(first)

    def _begin(self, templates: dict[str, Template]) -> None:
        self.templates = templates
        most = min((chunk_cases(x.shape) for x in templates.values()), default=1)
        self._chunks = Chunks(self.shape, most)

    def _place(self, outcome: CaseOutcome) -> None:
        case, status, message = outcome.case, outcome.status, outcome.message
        measured = status in MEASURED and bool(outcome.values)
        fault = self._misfit(outcome.values) if measured else ""
        if fault:
            status, message = ERROR, fault
        first, last = self._chunks.run(case)
        arrays = self._opened(first, last)
        if measured and not fault:
            for name, value in outcome.values.items():
                arrays[name][case - first] = value.values
        arrays[MESSAGE][case - first] = message
        arrays[STATUS][case - first] = STATUSES.index(status)
        self.counts[self.status[case]] -= 1
        self.status[case] = STATUSES.index(status)
        self.counts[self.status[case]] += 1
        self._dirty.add(first)

    def _misfit(self, values: Mapping[str, Value]) -> str:
        """What is other than in the first case that succeeded."""
        assert self.templates is not None
        if values.keys() != self.templates.keys():
            return f"returned {', '.join(values)}; the first case returned {', '.join(self.templates)}"
        for name, value in values.items():
            if value.values.shape != self.templates[name].shape:
                return (
                    f"'{name}' has shape {value.values.shape}; in the first case {self.templates[name].shape}"
                )
        return ""

    def _opened(self, first: int, last: int) -> dict[str, Any]:
        """The arrays of a run; those of an earlier process are read."""
        found = self._open.get(first)
        if found is None:
            before = self.status[first:last] != 0
            region, count = self._chunks.region(first, last), last - first
            found = {MESSAGE: np.full(count, "", dtype=object), STATUS: self.status[first:last].copy()}
            for name, template in (self.templates or {}).items():
                if before.any():
                    found[name] = np.array(self.store.read(name, region)).reshape(count, *template.shape)
                else:
                    found[name] = np.full((count, *template.shape), np.nan)
            if before.any():
                found[MESSAGE][:] = np.array(self.store.read(MESSAGE, region), dtype=object).reshape(-1)
            self._open[first] = found
        return found

    # ---- what goes out ----------------------------------------------------------------------------------

    def flush(self, *, now: bool = False) -> bool:
        """Write what is new, if it is time; data first, then the status that vouches for them."""
        if not now and perf_counter() - self._written < PATIENCE:
            return False
        if self.templates is None and now:  # nothing succeeded: there is the status alone
            for outcome in self._early.values():
                self._place(outcome)
            self._early.clear()
        done: dict[int, Array] = {}
        for first in sorted(self._dirty):
            arrays, (first, last) = self._open[first], self._chunks.run(first)
            region = self._chunks.region(first, last)
            for name, template in (self.templates or {}).items():
                shape = tuple(part.stop - part.start for part in region)
                self.store.write(name, region, arrays[name].reshape(*shape, *template.shape))
            self.store.write(MESSAGE, region, arrays[MESSAGE].astype(str).reshape(shape_of(region)))
            done[first] = arrays[STATUS]
            if (arrays[STATUS] != 0).all():
                del self._open[first]
        self._write_status(sorted(self._dirty))
        self._dirty.clear()
        self._written = perf_counter()
        return True

    def _write_status(self, firsts: list[int]) -> None:
        chunks = Chunks(self.shape, STATUS_CHUNK)
        for first, last in sorted({chunks.run(k) for k in firsts}):
            region = chunks.region(first, last)
            self.store.write(STATUS, region, self.status[first:last].reshape(shape_of(region)))


def shape_of(region: tuple[slice, ...]) -> tuple[int, ...]:
    """The shape of a block."""
    return tuple(part.stop - part.start for part in region)
