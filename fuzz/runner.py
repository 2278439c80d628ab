"""Runs cases in children with limits of time and memory; a child that dies or hangs is a fault."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ACCEPTED, REFUSED = "accepted", "refused"
WRONG, TRACEBACK, CRASH, HANG = "wrong", "traceback", "crash", "hang"
FAULTS = (WRONG, TRACEBACK, CRASH, HANG)
BATCH = 200  # cases of one child, unless one of them ends it
MEMORY = 8 << 30  # bytes of address space
SECONDS = 60  # of one case
OFTEN = 60  # s between lines on how far it is
LONGEST = 400  # characters of what is reported of a fault


class WrongAnswerError(Exception):
    """Two ways to the same number differ."""


@dataclass(frozen=True)
class Fuzzer:
    """One kind of inputs: ``try_one(rng, folder)`` tries a case and returns ACCEPTED or REFUSED.

    It raises :class:`WrongAnswerError` for a wrong answer; any other exception is a traceback that a user
    would have seen. ``prepare`` runs once, before children are made.
    """

    name: str
    about: str
    try_one: Callable[[np.random.Generator, Path], str]
    prepare: Callable[[], None] = lambda: None
    seconds: int = SECONDS
    batch: int = BATCH


@dataclass
class Report:
    """How many cases ended how, and what is known of the faults."""

    name: str
    seed: int
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[int, str, str]] = field(default_factory=list)

    def add(self, case: int, outcome: str, detail: str = "") -> None:
        """Count a case."""
        self.counts[outcome] += 1
        if outcome in FAULTS:
            self.faults.append((case, outcome, detail[-LONGEST:]))

    def __str__(self) -> str:
        parts = ", ".join(f"{self.counts[x]} {x}" for x in (ACCEPTED, REFUSED, *FAULTS))
        return f"{self.name}: {sum(self.counts.values())} cases of seed {self.seed}: {parts}"


def run(fuzzer: Fuzzer, count: int, seed: int, first: int = 0) -> Report:
    """Try cases ``first`` to ``first + count`` in children."""
    report, end, case = Report(fuzzer.name, seed), first + count, first
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fuzzer.prepare()
    since = time.monotonic()
    with contextlib.suppress(KeyboardInterrupt):  # what was tried until then counts
        while case < end:
            case = _child(fuzzer, report, seed, case, min(end, case + fuzzer.batch))
            if time.monotonic() > since + OFTEN:
                since = time.monotonic()
                print(f"{report} so far", file=sys.stderr, flush=True)
    return report


def _child(fuzzer: Fuzzer, report: Report, seed: int, case: int, end: int) -> int:
    """Try some cases in one child; the number of the first that is still to be tried."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    number = os.fork()
    if number == 0:
        os.close(reading)
        _work(fuzzer, seed, case, end, writing)
    os.close(writing)
    try:
        case = _heard(fuzzer, report, reading, number, case, end)
    except KeyboardInterrupt:
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)
        raise
    _, status = os.waitpid(number, 0)
    if case < end:  # it ended before its time
        signalled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        hung = signalled in (signal.SIGALRM, signal.SIGKILL, signal.SIGXCPU)
        report.add(case, HANG if hung else CRASH, f"the process ended with status {status}")
        case += 1
    return case


def _heard(fuzzer: Fuzzer, report: Report, reading: int, number: int, case: int, end: int) -> int:
    """Count what a child reports until it has tried all its cases, ends or hangs."""
    pending = b""
    with open(reading, "rb", buffering=0) as pipe:
        while case < end:
            ready, _, _ = select.select([pipe], [], [], 2.0 * fuzzer.seconds)
            chunk = pipe.read(65536) if ready else b""
            if not chunk:
                if not ready:
                    os.kill(number, signal.SIGKILL)
                break
            pending += chunk
            *lines, pending = pending.split(b"\n")
            for line in lines:
                outcome, _, detail = line.decode(errors="replace").partition(" ")
                report.add(case, outcome, detail)
                case += 1
    return case


def _work(fuzzer: Fuzzer, seed: int, case: int, end: int, writing: int) -> None:
    """The life of a child."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # which also ends what loops in C
    silence = os.open(os.devnull, os.O_RDWR)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="kinetree-fuzz-") as folder:
        os.chdir(folder)
        for k in range(case, end):
            signal.alarm(fuzzer.seconds)
            outcome, detail = attempt(fuzzer, seed, k, Path(folder))
            signal.alarm(0)
            stated = " ".join(detail.split())[-LONGEST:].encode(errors="replace")
            os.write(writing, outcome.encode() + b" " + stated + b"\n")
    os._exit(0)


def attempt(fuzzer: Fuzzer, seed: int, case: int, folder: Path) -> tuple[str, str]:
    """One case in this process: how it ended, and what was seen."""
    rng = np.random.default_rng([seed, case])
    try:
        return fuzzer.try_one(rng, folder), ""
    except WrongAnswerError as error:
        return WRONG, str(error)
    except BaseException:
        return TRACEBACK, traceback.format_exc()


def elapsed(began: float) -> str:
    """Seconds since then, in words."""
    return f"{time.perf_counter() - began:.0f} s"
