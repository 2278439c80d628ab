"""Where cases run: processes of this machine, a Dask cluster, Slurm, or an executor of the user's own.

All of them keep the protocol of :class:`concurrent.futures.Executor`, as far as ``submit`` goes. What they
return may be a future that calls back, or a job that is asked whether it is done, as those of submitit are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

from kinetree.engine.threads import available_cores
from kinetree.errors import InputError, MissingExtraError, must_be
from kinetree.sweeps.outcome import version

UNREACHABLE = 8  # s after which a scheduler counts as unreachable
DAY = 24 * 60  # minutes that a job of Slurm may take
JOBS = 64  # of Slurm, among which the cases are shared


@dataclass(frozen=True, eq=False)
class Backend:
    """An executor, how many orders it gets at a time, how many cases an order has, and its name."""

    executor: Any
    window: int
    per_order: int
    about: str
    check: Callable[[], None] = lambda: None  # raises if the place is lost


class LocalPool(Executor):
    """Processes of this machine: a thread waits for each, and starts another if one is killed."""

    def __init__(self, workers: int) -> None:
        from kinetree.sweeps.child import join_pool

        self._closing = Event()
        self._threads = ThreadPoolExecutor(workers, initializer=join_pool, initargs=(self._closing,))

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a call of ``work``; any other function runs in a thread."""
        return self._threads.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes, at once if no one waits for them."""
        from kinetree.sweeps.child import ALL

        self._threads.shutdown(wait=False, cancel_futures=cancel_futures)
        self._closing.set()  # no thread starts another process
        own = [child for child in list(ALL) if child.closing is self._closing]
        for child in own:
            child.process.kill()
        self._threads.shutdown(wait=wait)
        for child in own:
            child.end()


class Here(Executor):
    """This process, one call after the other."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run the call at once."""
        from kinetree.sweeps.case import work, work_here

        future: Future[Any] = Future()
        try:
            future.set_result((work_here if fn is work else fn)(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def backend(
    count: int,
    *,
    lanes: bool,
    workers: int | None = None,
    scheduler: str | None = None,
    slurm: str | None = None,
    executor: Any = None,
    folder: Path | None = None,
    timeout: float | None = None,
) -> Iterator[Backend]:
    """The chosen executor, ready to take orders; closed in the end unless it is the user's own."""
    given = [name for name, x in (("scheduler", scheduler), ("slurm", slurm), ("executor", executor)) if x]
    if len(given) > 1:
        raise InputError(f"cases run in one place: give one of scheduler, slurm and executor, got {given}")
    if workers is not None and (not isinstance(workers, int) or isinstance(workers, bool) or workers < 1):
        raise InputError(must_be("workers", "an integer of at least 1", workers))
    if executor is not None:
        if not callable(getattr(executor, "submit", None)):
            raise InputError(f"an executor has a method submit(function, *arguments), got {executor!r}")
        yield Backend(executor, 4 * (workers or available_cores()), 1, type(executor).__name__)
    elif scheduler is not None:
        with _dask(scheduler) as found:
            yield found
    elif slurm is not None:
        yield _slurm(slurm, count, folder or Path())
    elif lanes and timeout is None:
        yield Backend(Here(), 1, 1, "this process, in SIMD lanes")
    else:
        number = min(workers or available_cores(), max(count, 1))
        pool = LocalPool(number)
        try:
            yield Backend(pool, 2 * number, 1, f"{number} processes")
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _dask(address: str) -> Iterator[Backend]:
    """A Dask cluster: its workers must have the same version of Kinetree."""
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise MissingExtraError("distributed", "cluster", "a Dask cluster") from None
    try:
        client = distributed.Client(address, timeout=UNREACHABLE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(f"scheduler {address}: cannot be reached within {UNREACHABLE} s: {said}") from None
    try:
        _check_workers(client, address)
        cores = sum(client.nthreads().values())
        executor, about = client.get_executor(pure=False), f"{cores} threads at {address}"
        yield Backend(executor, max(8, 4 * cores), 1, about, _Watch(client, address).check)
    finally:
        client.close(timeout=UNREACHABLE)


class _Watch:
    """Looks whether a scheduler is still there; a client would wait for it for ever."""

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address, self._heard = client, address, monotonic()

    def check(self) -> None:
        """Raise once the client has had no connection for a while."""
        if self._client.status == "running":
            self._heard = monotonic()
        elif self._client.status == "closed" or monotonic() - self._heard > UNREACHABLE:
            raise InputError(
                f"scheduler {self._address}: the connection is lost, and it did not come back within "
                f"{UNREACHABLE} s; finished cases are in the store, continue with --resume"
            )


def _check_workers(client: Any, address: str) -> None:
    """Raise unless all workers that are there have this version."""
    found = client.run(_reported_version, on_error="return")
    for worker, stated in found.items():
        if isinstance(stated, BaseException):
            raise InputError(f"worker {worker} of {address} has no usable kinetree: {stated}")
        if stated != version():
            raise InputError(
                f"worker {worker} of {address} has kinetree {stated}, this sweep needs {version()}; install "
                "the same version there"
            )
    if not found:
        raise InputError(f"scheduler {address} has no workers; start some: dask worker {address}")


def _reported_version() -> str:
    """What a worker says; looked up there."""
    from kinetree.sweeps import outcome

    return outcome.version()


def _slurm(partition: str, count: int, folder: Path) -> Backend:
    """Jobs of Slurm through submitit, each with some of the cases; "local" stands in for Slurm here."""
    try:
        submitit: Any = import_module("submitit")
    except ImportError:
        raise MissingExtraError("submitit", "slurm", "Slurm") from None
    if partition == "local":
        executor = submitit.AutoExecutor(folder, cluster="local")
    else:
        try:
            executor = submitit.AutoExecutor(folder, cluster="slurm")
        except RuntimeError as error:
            stated = f"Slurm cannot be used here: {error}; to simulate Slurm on this machine: --slurm local"
            raise InputError(stated) from None
        executor.update_parameters(slurm_partition=partition, cpus_per_task=1)
    executor.update_parameters(name="kinetree", timeout_min=DAY)
    jobs = available_cores() if partition == "local" else JOBS
    return Backend(executor, jobs, max(1, math.ceil(count / jobs)), f"Slurm, {partition}")


def is_calling_back(job: Any) -> bool:
    """Whether a job reports by itself that it is done."""
    return callable(getattr(job, "add_done_callback", None))
