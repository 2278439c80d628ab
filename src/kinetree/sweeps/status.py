"""How far a sweep is, as seen by another process."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from kinetree.errors import FileError
from kinetree.formats.regular_file import PathLike
from kinetree.result.zarr_store import ZarrStore
from kinetree.sweeps.drive import duration

MOST = 5  # messages that are reported
FAILED = 4  # statuses from here on are failures


@dataclass(frozen=True)
class SweepStatus:
    """Counts of cases by status, the state of the running process, and some messages of failed cases."""

    title: str
    counts: dict[str, int]
    running: bool
    rate: float
    where: str
    messages: tuple[str, ...]
    heard: float | None  # s since the process was heard of

    @property
    def count(self) -> int:
        """Number of cases."""
        return sum(self.counts.values())

    @property
    def done(self) -> int:
        """Cases that have ended."""
        return self.count - self.counts.get("waiting", 0)

    def __str__(self) -> str:
        share = 100.0 * self.done / max(self.count, 1)
        parts = ", ".join(f"{n:,} {name}" for name, n in self.counts.items())
        lines = [f"{self.title}: {self.done:,} of {self.count:,} cases ({share:.3g} %)", f"  {parts}"]
        if self.running:
            left = (self.count - self.done) / self.rate if self.rate > 0.0 else float("inf")
            to_go = f", {duration(left)} left" if np.isfinite(left) else ""
            lines.append(f"  running: {self.where}, {self.rate:.3g} per second{to_go}")
        elif self.done < self.count:
            lines.append("  no process is running: continue with --resume")
        return "\n".join([*lines, *(f"  {message}" for message in self.messages)])


def sweep_status(store: PathLike) -> SweepStatus:
    """Progress of the sweep of a store, which may still be running.

    >>> print(sweep_status("walk.zarr"))  # doctest: +SKIP
    """
    place = ZarrStore(store)
    if not place.path.is_dir():
        raise FileError(f"{place.path}: there is no such sweep store")
    plan, stated = place.plan(), place.heartbeat()
    made = place.is_made()
    status = place.status() if made else np.zeros(1, dtype=np.int8)
    numbers = np.bincount(status, minlength=len(plan["statuses"]))
    counts = {name: int(n) for name, n in zip(plan["statuses"], numbers, strict=True) if n}
    when, rate = stated.get("when"), stated.get("rate", 0.0)
    heard = time.time() - when if isinstance(when, int | float) else None
    return SweepStatus(
        plan["title"],
        counts,
        place.is_locked(),
        float(rate) if isinstance(rate, int | float) else 0.0,
        str(stated.get("where", "")),
        _messages(place, status) if made else (),
        heard,
    )


def _messages(store: ZarrStore, status: np.ndarray) -> tuple[str, ...]:
    """The messages of the first failed cases."""
    failed = np.flatnonzero(status >= FAILED)[:MOST].tolist()
    return tuple(f"case {case}: {store.message(case)}" for case in failed)
