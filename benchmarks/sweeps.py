"""Many at once: motions with perturbed masses beside MuJoCo's rollouts, scaling of workers, a million cases.

``python -m benchmarks.sweeps`` prints tables; ``--quick`` makes everything small. Motions are timed by the
processor time of all threads, halved, as others may use the two cores; scaling by the wall, with the load.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.mechanisms import padded
from kinetree.algebra.arrays import Array

DURATION, SPREAD, WANTED = 1.0, 0.1, 1e-4
START = np.array([0.3, -0.4, 0.5, 0.2, -0.3, 0.4])
TOLERANCES = (1e-3, 1e-4, 1e-5)
STEPS = (16, 32, 64, 125, 250)
BLOCK = 1000  # motions of one call of MuJoCo, which returns all steps
AXES = {"mechanism.body.*": {"uniform": [1.0 - SPREAD, 1.0 + SPREAD], "relative": True, "each": True}}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few motions and cases")
    parser.add_argument("--part", choices=("motions", "scaling", "paper"), help="one part alone")
    given = parser.parse_args()
    parts: dict[str, Callable[[bool], None]] = {"motions": motions, "scaling": scaling, "paper": paper}
    for name, part in parts.items():
        if given.part in (None, name):
            part(given.quick)


def timed(
    call: Callable[[], Any], repeats: int = 3, clock: Callable[[], float] = time.perf_counter
) -> tuple[Any, float]:
    """The answer of a call, and the least of some times (s)."""
    best = np.inf
    for _ in range(repeats):
        began = clock()
        answer = call()
        best = min(best, clock() - began)
    return answer, best


def both_cores() -> float:
    """Processor time of all threads (s), shared by two cores."""
    return 0.5 * time.process_time()


# ---- motions with perturbed masses -----------------------------------------------------------------------


def motions(quick: bool) -> None:
    """Motions of the KUKA KR5 from one pose, masses and inertias off by up to a tenth; two threads each."""
    count = 400 if quick else 10_000
    arm = padded(kt.zoo.kuka_kr5())  # MuJoCo refuses bodies that are too thin
    usual = arm.tree.body_mass
    masses = usual * np.random.default_rng(0).uniform(1.0 - SPREAD, 1.0 + SPREAD, (count, len(usual)))
    sharp = _ours(arm, masses, 1e-12)
    rows = []
    for rtol in TOLERANCES:
        answer, seconds = timed(lambda rtol=rtol: _ours(arm, masses, rtol), clock=both_cores)
        rows.append(("kinetree simulate_batch", f"rtol {rtol:g}", answer, seconds))
    few = min(count, 100)
    answer, seconds = timed(lambda: _one_by_one(arm, masses[:few], 1e-4), 2, time.process_time)
    rows.append(("loop over kt.simulate, one thread", "rtol 1e-4", answer, seconds * count / few))
    peer = _mujoco(arm, masses)
    for steps in STEPS:
        answer, seconds = timed(lambda steps=steps: peer(steps), 1, both_cores)
        rows.append(("mujoco.rollout, a model for each", f"{steps} steps of RK4", answer, seconds))
    print(f"\n{count} motions of 1 s, two threads, load {os.getloadavg()[0]:.1f}\n")
    print("| contestant | setting | median error | worst error | seconds | motions per second |")
    print("|---|---|---:|---:|---:|---:|")
    best: dict[str, float] = {}
    for name, setting, answer, seconds in rows:
        error = np.abs(answer - sharp[: len(answer)]).max(axis=1)
        line = f"{np.median(error):.1e} | {error.max():.1e} | {seconds:.3g} | {count / seconds:.0f}"
        print(f"| {name} | {setting} | {line} |")
        if error.max() <= WANTED:
            best[name] = min(best.get(name, np.inf), seconds)
    ours = best["kinetree simulate_batch"]
    for name, seconds in best.items():
        print(f"{name}, worst error at most {WANTED:g}: {seconds:.3g} s, {seconds / ours:.3g} x ours")
    _swept(count)


def _ours(arm: kt.Mechanism, masses: Array, rtol: float) -> Array:
    start = np.tile(START, (len(masses), 1))
    some = {"duration": DURATION, "times": [DURATION], "rtol": rtol, "threads": 2}
    return np.asarray(kt.simulation.simulate_batch(arm, start, masses=masses, **some).q.values)[:, -1]


def _one_by_one(arm: kt.Mechanism, masses: Array, rtol: float) -> Array:
    """A mechanism for each motion, one after the other."""
    from dataclasses import replace

    found = []
    for row in masses:
        links = []
        for link, mass in zip(arm.links, row, strict=True):
            old = link.body.inertia
            inertia = replace(old, mass=float(mass), moment=old.moment * (mass / old.mass))
            links.append(replace(link, body=replace(link.body, inertia=inertia)))
        other = replace(arm, links=tuple(links))
        found.append(kt.simulate(other, START, duration=DURATION, times=[DURATION], rtol=rtol).q.values[-1])
    return np.array(found)


def _mujoco(arm: kt.Mechanism, masses: Array) -> Callable[[int], Array]:
    """Final positions of all motions by so many steps of RK4; the time includes making the models."""
    mujoco: Any = import_module("mujoco")
    rollout: Any = import_module("mujoco.rollout")
    base = import_module("benchmarks.peers.mujoco").model_of(arm)
    base.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    size, n = mujoco.mj_stateSize(base, mujoco.mjtState.mjSTATE_FULLPHYSICS), len(START)
    factors = masses / arm.tree.body_mass

    def call(steps: int) -> Array:
        base.opt.timestep = DURATION / steps
        scratch, found = mujoco.MjData(base), []
        with rollout.Rollout(nthread=2) as pool:
            data = [mujoco.MjData(base) for _ in range(2)]
            for first in range(0, len(factors), BLOCK):
                models = []
                for row in factors[first : first + BLOCK]:
                    model = copy.copy(base)
                    model.body_mass[1:] *= row
                    model.body_inertia[1:] *= row[:, None]
                    mujoco.mj_setConst(model, scratch)
                    models.append(model)
                initial = np.zeros((len(models), size))
                initial[:, 1 : 1 + n] = START
                states = np.zeros((len(models), steps, size))
                pool.rollout(models, data, initial, nstep=steps, state=states)
                found.append(states[:, -1, 1 : 1 + n].copy())
        return np.concatenate(found)

    return call


def _swept(count: int) -> None:
    """The cases as a sweep of a study, with everything that belongs to it: plan, samples, audit, store."""
    settings = {"integrator": {"rtol": 1e-4}, "output": {"samples": 2}}
    with tempfile.TemporaryDirectory() as folder:
        some = {"samples": count, "settings": settings, "measures": {"last": "last q"}}
        began = time.perf_counter()
        kt.sweep("kuka_free_fall", AXES, store=Path(folder) / "k.zarr", **some)
        seconds = time.perf_counter() - began
    rate = f"{seconds:.3g} s of the wall, {count / seconds:.0f} per second"
    print(f"kt.sweep of the study kuka_free_fall with a store: {rate}")


# ---- scaling ----------------------------------------------------------------------------------------------


def waiting(arm: kt.Mechanism, k: int) -> float:
    """A case of 0.3 s that needs no processor: what is left is the cost of sharing out."""
    time.sleep(0.3)
    return float(k)


def computing(arm: kt.Mechanism, k: int) -> float:
    """A case of about 0.3 s of processor time."""
    end, total = time.process_time() + 0.3, 0.0
    while time.process_time() < end:
        total += float(np.sqrt(2.0))
    return float(total > 0.0)


def scaling(quick: bool) -> None:
    """Rates of one and two workers, from the first case that is done to the last."""
    count = 8 if quick else 40
    print(f"\n{count} cases of 0.3 s, load {os.getloadavg()[0]:.1f}\n")
    print("| where | cases | rate of 1 / s | rate of 2 / s | efficiency |")
    print("|---|---|---:|---:|---:|")
    for function in (waiting, computing):
        one, two = (_rate(function, count, workers=k) for k in (1, 2))
        print(f"| pool | {function.__name__} | {one:.3g} | {two:.3g} | {100 * two / (2 * one):.0f} % |")
    for function in (waiting, computing):
        one, two = (_dask_rate(function, count, k) for k in (1, 2))
        print(f"| Dask | {function.__name__} | {one:.3g} | {two:.3g} | {100 * two / (2 * one):.0f} % |")


def _rate(function: Callable[..., float], count: int, **where: Any) -> float:
    """Cases per second, from when every worker has begun."""
    times: list[tuple[float, int]] = []

    def watch(step: Any) -> None:
        if not times or step.done > times[-1][1]:
            times.append((time.perf_counter(), step.done))

    kt.sweep(function, {"k": list(range(count))}, mechanism=kt.zoo.two_link(), progress=watch, **where)
    first = next(x for x in times if x[1] >= 2)
    return (times[-1][1] - first[1]) / (times[-1][0] - first[0])


def _dask_rate(function: Callable[..., float], count: int, workers: int) -> float:
    """The same on a scheduler and worker processes of their own, over TCP."""
    command = [sys.executable, "-m"]
    quiet: dict[str, Any] = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "scheduler.json")
        scheduler = [*command, "distributed.cli.dask_scheduler", "--scheduler-file", file, "--port", "0"]
        worker = [
            *command,
            "distributed.cli.dask_worker",
            "--scheduler-file",
            file,
            "--nthreads",
            "1",
            "--no-nanny",
        ]
        started = [subprocess.Popen([*scheduler, "--host", "127.0.0.1", "--no-dashboard"], **quiet)]
        started += [
            subprocess.Popen([*worker, "--no-dashboard", "--local-directory", folder], **quiet)
            for _ in range(workers)
        ]
        try:
            address = _address(file, workers)
            return _rate(function, count, scheduler=address)
        finally:
            for process in reversed(started):
                process.kill()
                process.wait()


def _address(file: str, workers: int) -> str:
    distributed: Any = import_module("distributed")
    for _ in range(600):
        if os.path.exists(file):
            break
        time.sleep(0.1)
    address = str(json.loads(Path(file).read_text())["address"])
    with distributed.Client(address) as client:
        client.wait_for_workers(workers, timeout=60)
    return address


# ---- a million cases --------------------------------------------------------------------------------------


def paper(quick: bool) -> None:
    """A plan of 1e6 cases: time and memory of the planner, an empty store, time of its status."""
    from kinetree.result.zarr_store import ZarrStore
    from kinetree.sweeps.sweep import created, planned

    count = 10_000 if quick else 1_000_000
    tracemalloc.start()
    began = time.perf_counter()
    plan, _ = planned("kuka_free_fall", AXES, samples=count, measures={"last": "last q"})
    seconds, (now, peak) = time.perf_counter() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"\nplan of {count:,} cases: {seconds:.3g} s, {now / 1e6:.3g} MB kept, {peak / 1e6:.3g} MB at most")
    with tempfile.TemporaryDirectory() as folder:
        store = ZarrStore(Path(folder) / "m.zarr")
        _, seconds = timed(lambda: created(store, plan), 1)
        files = sum(path.is_file() for path in store.path.rglob("*"))
        size = sum(path.stat().st_size for path in store.path.rglob("*") if path.is_file())
        print(f"empty store: {seconds:.3g} s, {files} files, {size / 1e6:.3g} MB")
        status = np.ones(count, dtype=np.int8)
        store.write("status", (slice(0, count),), status)
        stated, seconds = timed(lambda: kt.sweeps.sweep_status(store.path), 3)
        print(f"status of {stated.done:,} cases: {seconds:.3g} s")


if __name__ == "__main__":
    main()
