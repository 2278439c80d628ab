"""Sweeps on a real Dask cluster: a scheduler and two worker processes, over TCP on this machine."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from tests.sweeps.test_sweep_runs import ARM, AXES, DELAY, killed_midway, same, slowly, swept

import kinetree as kt
from kinetree.sweeps import executors
from kinetree.sweeps.executors import Here

distributed = pytest.importorskip("distributed")
QUIET = {"DASK_DISTRIBUTED__SCHEDULER__DASHBOARD__STATUS__TASK_STREAM_LENGTH": "10"}


def started(*command, wait_for):
    """A process of Dask, and what it said when it was ready."""
    process = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + command[0], *command[1:]],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **QUIET},
    )
    for line in process.stderr:
        if match := re.search(wait_for, line):
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return process, match
    raise AssertionError(f"{command} did not start")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Address of a scheduler, and its two workers; all end with the tests."""
    processes = []

    def begin(*command, wait_for):
        process, match = started(*command, wait_for=wait_for)
        processes.append(process)
        return process, match

    _, match = begin(
        "dask_scheduler",
        "--port",
        "0",
        "--host",
        "127.0.0.1",
        "--no-dashboard",
        wait_for=r"(tcp://127\S+:\d+)",
    )
    address, local = match[1], str(tmp_path_factory.mktemp("dask"))

    def worker(*more):
        some = ("--nthreads", "1", "--no-dashboard", "--no-nanny", "--local-directory", local)
        return begin("dask_worker", address, *some, *more, wait_for="Registered to")[0]

    try:
        yield address, [worker(), worker()], worker
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stderr.close()


def test_a_cluster_gives_the_same_bits_though_one_of_its_workers_is_killed(cluster):
    address, workers, _ = cluster
    undisturbed = swept()
    steps = []

    def watch(step):
        if step.done >= 2 and not steps:
            steps.append(step)
            workers[0].send_signal(signal.SIGKILL)

    found = swept(0.2, executor=None, scheduler=address, progress=watch)
    assert steps and workers[0].wait() == -signal.SIGKILL
    assert same(found, undisturbed)


def test_a_killed_client_goes_on(cluster, tmp_path):
    address, _, _ = cluster
    store = tmp_path / "c.zarr"
    assert 0 < killed_midway(store, scheduler=address) < 12
    assert same(swept(DELAY, store=store, resume=True), swept())


def test_a_worker_with_another_version_is_refused(cluster, tmp_path):
    address, _, worker = cluster
    other = tmp_path / "other.py"
    other.write_text("import kinetree.sweeps.outcome as outcome\noutcome.version = lambda: '0.0.9 (other)'\n")
    process = worker("--preload", str(other))
    try:
        with pytest.raises(kt.errors.InputError, match=r"has kinetree 0\.0\.9 \(other\), this sweep needs"):
            swept(executor=None, scheduler=address)
    finally:
        process.kill()
        process.wait()


def test_a_scheduler_that_dies_ends_the_sweep(tmp_path):
    """The client alone would wait for ever; what was finished is kept."""
    some = ("--port", "0", "--host", "127.0.0.1", "--no-dashboard")
    scheduler, match = started("dask_scheduler", *some, wait_for=r"(tcp://127\S+:\d+)")
    alone = ("--nthreads", "1", "--no-dashboard", "--no-nanny", "--local-directory", str(tmp_path))
    worker, _ = started("dask_worker", match[1], *alone, wait_for="Registered to")
    store = tmp_path / "d.zarr"
    try:
        with pytest.raises(kt.errors.InputError, match=r"the connection is lost.*--resume"):
            swept(
                DELAY,
                executor=None,
                scheduler=match[1],
                store=store,
                progress=lambda step: scheduler.kill() if step.done >= 2 else None,
            )
        assert 2 <= kt.load_result(store).statistics["ok"] < 10
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
            process.stderr.close()


def test_a_scheduler_that_is_not_there(monkeypatch):
    assert executors.UNREACHABLE < 10
    monkeypatch.setattr(executors, "UNREACHABLE", 1)
    began = time.perf_counter()
    with pytest.raises(kt.errors.InputError, match=r"tcp://127\.0\.0\.1:9: cannot be reached"):
        kt.sweep(slowly(0.0), AXES, mechanism=ARM, scheduler="tcp://127.0.0.1:9")
    assert time.perf_counter() - began < 10.0


def test_one_place_at_a_time():
    with pytest.raises(kt.errors.InputError, match="one of scheduler, slurm and executor"):
        kt.sweep(slowly(0.0), AXES, mechanism=ARM, scheduler="tcp://x", executor=Here())
    with pytest.raises(kt.errors.InputError, match="workers must be an integer"):
        kt.sweep(slowly(0.0), AXES, mechanism=ARM, workers=0)
    with pytest.raises(kt.errors.InputError, match="has a method submit"):
        kt.sweep(slowly(0.0), AXES, mechanism=ARM, executor=3)
