"""Sweeps that run: the same bits everywhere, whatever is killed, full or too slow meanwhile."""

import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import xarray as xr

import kinetree as kt
from kinetree.result.zarr_store import ZarrStore
from kinetree.sweeps import child, writer
from kinetree.sweeps.executors import Here

ARM = kt.zoo.two_link()
DELAY = 0.15  # s of a case while the sweep is to be interrupted
AXES = {"angle": {"range": [0.0, 2.0], "count": 6}, "mechanism.body.link1.mass": [0.5, 1.0]}


def slowly(seconds):
    """A function of a mechanism that takes a while; local, so that its code travels."""

    def cost(arm, angle):
        import time

        import kinetree as kt

        time.sleep(seconds)
        if angle > 1.9:
            raise kt.errors.InputError(f"angle {angle:g} is too much")
        return {"height": kt.center_of_mass(arm, [angle, 0.3])[1], "M": kt.mass_matrix(arm, [angle, 0.3])}

    cost.__qualname__ = "cost"
    return cost


def swept(seconds=0.0, **more):
    return kt.sweep(slowly(seconds), AXES, mechanism=ARM, **{"executor": Here(), **more})


def same(a, b):
    """Whether two sweeps have the same bits; the delay of a function belongs to its identity."""
    return a.dataset.assign_attrs(kinetree_sweep="").identical(b.dataset.assign_attrs(kinetree_sweep=""))


@pytest.fixture(scope="module")
def undisturbed():
    return swept()


def test_results_have_the_axes_as_dimensions(undisturbed):
    found = undisturbed
    assert found.height.dims == ("angle", "link1_mass") and found.M.dims[:2] == ("angle", "link1_mass")
    assert found.statistics == {"cases": 12, "ok": 10, "error": 2}
    assert found.message.values[-1].tolist() == ["angle 2 is too much"] * 2
    assert np.isnan(found.height.values[-1]).all() and np.isfinite(found.height.values[:-1]).all()
    for k, angle in enumerate(found.angle.values[:-1]):
        assert found.height.values[k, 0] == kt.center_of_mass(ARM, [angle, 0.3])[1]
    assert "12" not in repr(found) or "sweep" in repr(found)


def test_processes_give_the_same_bits(undisturbed, tmp_path):
    steps = []
    kept = swept(executor=None, workers=2, store=tmp_path / "a.zarr", progress=steps.append)
    assert same(kept, undisturbed)
    assert steps[-1].done == 12 and steps[-1].failed == 2 and "12 of 12" in str(steps[-1])
    opened = xr.open_zarr(tmp_path / "a.zarr")
    assert opened.height.dims == ("angle", "link1_mass") and opened.attrs["title"] == "cost"
    assert same(kt.load_result(tmp_path / "a.zarr"), undisturbed)
    status = kt.sweeps.sweep_status(tmp_path / "a.zarr")
    assert status.done == 12 and not status.running and "case 10: angle 2" in str(status)


SCRIPT = textwrap.dedent(
    """
    import sys
    sys.path.insert(0, {tests!r})
    import tests.sweeps.test_sweep_runs as own
    own.swept(own.DELAY, store={store!r}, executor=None, workers=1, **{more!r})
    """
)


def killed_midway(store, **more):
    """Start a sweep in another process and kill it once something is written."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    text = SCRIPT.format(tests=root, store=str(store), more=more)
    process = subprocess.Popen([sys.executable, "-c", text])
    place = ZarrStore(store)
    try:
        for _ in range(1200):
            done = int((place.status() != 0).sum()) if place.is_made() else 0
            if done or process.poll() is not None:
                break
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return int((place.status() != 0).sum())


def test_a_killed_sweep_goes_on(undisturbed, tmp_path):
    store = tmp_path / "k.zarr"
    done = killed_midway(store)
    assert 0 < done < 12
    assert not kt.sweeps.sweep_status(store).running
    assert not kt.load_result(store).complete
    with pytest.raises(kt.errors.FileError, match="already exists"):
        swept(store=store)
    with pytest.raises(
        kt.errors.FileError, match=r"(?s)another sweep.*dimensions.angle.size: 6 there, 2 here"
    ):
        kt.sweep(slowly(DELAY), {**AXES, "angle": [0.0, 1.0]}, mechanism=ARM, store=store, resume=True)
    with ZarrStore(store).locked(), pytest.raises(kt.errors.FileError, match="written by another process"):
        swept(DELAY, store=store, resume=True)
    assert same(swept(DELAY, store=store, resume=True), undisturbed)


def test_a_killed_worker_loses_nothing(undisturbed):
    def kill():
        for _ in range(1000):
            if child.ALL and child.ALL[0].ready:
                os.kill(child.ALL[0].process.pid, signal.SIGKILL)
                return
            time.sleep(0.02)

    killer = threading.Thread(target=kill)
    killer.start()
    assert same(swept(0.03, executor=None, workers=1), undisturbed)
    killer.join()


def test_a_case_that_never_ends_hits_its_limit():
    def endless(arm, turn):
        while turn:
            pass
        return 1.0

    found = kt.sweep(endless, {"turn": [0, 1]}, mechanism=ARM, workers=1, case_timeout=1.0)
    assert found.statistics == {"cases": 2, "ok": 1, "timeout": 1}
    assert "longer than the limit of 1 s" in str(found.message.values[1])


def test_a_full_disk_loses_nothing_that_was_written(tmp_path, monkeypatch):
    def noise(arm, k):
        import numpy as np

        return np.random.default_rng(k).random(20)

    noise.__qualname__ = "noise"
    monkeypatch.setattr(writer, "PATIENCE", 0.0)
    axes, store = {"k": list(range(60))}, tmp_path / "full.zarr"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, before[1]))
    try:
        with pytest.raises(kt.errors.FileError, match=r"the disk is full; earlier cases are safe.*--resume"):
            kt.sweep(noise, axes, mechanism=ARM, store=store, executor=Here())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    early = kt.load_result(store)
    done = early.statistics["ok"]
    assert 10 < done < 60 and not early.complete
    assert np.isfinite(early.value.values[:done]).all()
    found = kt.sweep(noise, axes, mechanism=ARM, store=store, resume=True, executor=Here())
    assert same(found, kt.sweep(noise, axes, mechanism=ARM, executor=Here()))


def test_damaged_stores_are_refused(tmp_path):
    store = tmp_path / "d.zarr"
    swept(store=store)
    chunk = next(path for path in (store / "height" / "c").rglob("*") if path.is_file())
    content = bytearray(chunk.read_bytes())
    content[len(content) // 2] ^= 0xFF
    chunk.write_bytes(content)
    with pytest.raises(kt.errors.FileError, match="damaged"):
        kt.load_result(store)
    with pytest.raises(kt.errors.FileError, match="no such sweep store"):
        kt.load_result(tmp_path / "none.zarr")


def test_cases_whose_shapes_differ_keep_a_message():
    def shapes(arm, n):
        return [1.0] * n

    found = kt.sweep(shapes, {"n": [2, 3, 2]}, mechanism=ARM, executor=Here())
    assert found.statistics == {"cases": 3, "ok": 2, "error": 1}
    assert "shape (3,); in the first case (2,)" in str(found.message.values[1])


def test_a_measure_that_results_do_not_have_stops_the_sweep():
    with pytest.raises(kt.errors.InputError, match=r"unknown variable 'tua'.*'tau'"):
        kt.sweep(
            "gripper_inverse_dynamics", {"output.samples": [3]}, measures={"x": "peak tua"}, executor=Here()
        )


def test_lanes_and_single_simulations_agree():
    axes = {
        "mechanism.body.*": {"uniform": [0.8, 1.2], "relative": True, "each": True},
        "initial.q.joint2": {"uniform": [-0.1, 0.1]},
    }
    some = {
        "samples": 9,
        "settings": {"study": {"duration": 0.1}, "output": {"samples": 4}, "initial": {"q": {"joint1": 0.1}}},
        "measures": {"last": "last q", "effort": "effort qd", "energy": "max kinetic_energy"},
        "keep": ["q"],
        "executor": Here(),
    }
    lanes = kt.sweep("kuka_free_fall", axes, **some)
    single = kt.sweep("kuka_free_fall", axes, lanes=False, **some)
    for name in ("last", "effort", "energy", "q", "time"):
        assert lanes[name].values == pytest.approx(single[name].values, rel=1e-6, abs=1e-8)
    assert lanes.statistics == single.statistics == {"cases": 9, "ok": 9}


def test_jobs_of_submitit_give_the_same_bits(undisturbed, tmp_path):
    pytest.importorskip("submitit")
    found = swept(executor=None, slurm="local", store=tmp_path / "s.zarr")
    assert same(found, undisturbed)


INTERRUPTED = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
sys.path.insert(0, {tests!r})
import kinetree as kt

def slow(arm, k):
    import pathlib, time
    with open({marks!r}, "a") as file:
        file.write(f"{{k}}\\n")
    time.sleep(0.01 if k == 0 else 300.0)
    return 1.0 * k

kt.sweep(slow, {{"k": [0, 1, 2, 3]}}, mechanism=kt.zoo.two_link(), store={store!r}, workers=2)
"""


def test_ctrl_c_ends_at_once_and_starts_nothing_again(tmp_path):
    """Cases of 5 minutes: the process ends in seconds, each case was begun once, and the store goes on."""
    store, marks = tmp_path / "i.zarr", tmp_path / "marks"
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    text = INTERRUPTED.format(tests=root, store=str(store), marks=str(marks))
    process = subprocess.Popen([sys.executable, "-c", text], stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(1200):
            if marks.exists() and len(marks.read_text().split()) >= 3 and kt.sweeps.sweep_status(store).done:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    finally:
        process.kill()
        process.wait()
    assert "KeyboardInterrupt" in said
    begun = sorted(marks.read_text().split())
    assert begun == sorted(set(begun)) and len(begun) <= 3
    assert kt.load_result(store).statistics == {"cases": 4, "waiting": 3, "ok": 1}
