"""A few cases of every fuzzer, and that the runner sees each kind of fault."""

import contextlib
import faulthandler
import os
import signal
import time
import warnings
from operator import attrgetter

import numpy as np
import pytest

pytest.importorskip("resource", reason="limits of processes are those of POSIX")

from fuzz import long, runner, stores
from fuzz.answers import compare
from fuzz.catalogue import FUZZERS
from fuzz.parsers import texts
from fuzz.plausible import plausible
from fuzz.questions import asked_everything
from fuzz.runner import Fuzzer, WrongAnswerError, run

import kinetree as kt

COUNTS = {
    "toml": 40, "urdf": 40, "mjcf": 20, "sdf": 30, "loops": 10, "dh": 60, "api": 60, "results": 40,
    "stores": 40, "examples": 60, "studies": 10, "cli": 10, "cache": 3, "xacro": 60, "meshes": 60,
    "mechanisms": 40, "predictions": 8, "people": 40,
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_a_few_cases_have_no_fault(name):
    report = run(FUZZERS[name], COUNTS[name], seed=2026)
    assert report.faults == [] and sum(report.counts.values()) == COUNTS[name]


def test_faults_are_seen_and_the_run_goes_on():
    def strange(rng, folder):
        kind = int(rng.integers(6))
        if kind == 0:
            raise ValueError("a traceback")
        if kind == 1:
            raise WrongAnswerError("two ways differ")
        if kind == 2:
            faulthandler.disable()  # or pytest prints the stacks of a process that aborts on purpose
            os.abort()
        if kind == 3:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            time.sleep(30)
        return runner.ACCEPTED if kind == 4 else runner.REFUSED

    report = run(Fuzzer("strange", "", strange, seconds=1), 12, seed=3)
    expected = [int(np.random.default_rng([3, k]).integers(6)) for k in range(12)]
    names = [runner.TRACEBACK, runner.WRONG, runner.CRASH, runner.HANG, runner.ACCEPTED, runner.REFUSED]
    assert {name: report.counts[name] for name in names} == {
        n: expected.count(k) for k, n in enumerate(names)
    }
    assert [case for case, _, _ in report.faults] == [k for k, kind in enumerate(expected) if kind < 4]


def test_wrong_answers_of_any_question_are_seen(monkeypatch, rng):
    """Each question in turn answers a millionth too much, and the comparison says so."""
    robot = kt.zoo.random_tree(3, 5)
    asked_everything(robot, rng)
    for name in (
        "inverse_dynamics", "bias_torque", "gravity_torque", "mass_matrix", "potential_energy", "momentum",
        "center_of_mass", "body_velocities", "analysis.body_accelerations", "joint_reactions",
        "analysis.inertia_regressor", "forward_dynamics", "jacobian",
    ):  # fmt: skip
        answer = attrgetter(name)(kt)
        with monkeypatch.context() as changed:
            changed.setattr(
                f"kinetree.{name}", lambda *a, _answer=answer, **more: 1.001 * _answer(*a, **more)
            )
            with pytest.raises(WrongAnswerError):
                asked_everything(robot, rng)


@pytest.mark.parametrize("name", ["two_link", "four_bar"])
def test_wrong_accelerations_and_torques_are_seen(monkeypatch, rng, name):
    """What is compared of accepted files, of trees and of loops."""
    robot = getattr(kt.zoo, name)()
    compare(robot, rng)
    for question in ("forward_dynamics", "mass_matrix", "bias_torque"):
        answer = getattr(kt, question)
        with monkeypatch.context() as changed:
            changed.setattr(kt, question, lambda *a, _answer=answer, **more: 1.001 * _answer(*a, **more))
            with pytest.raises(WrongAnswerError):
                compare(robot, rng)


@pytest.mark.parametrize("suffix", [".toml", ".urdf", ".xml", ".sdf"])
def test_plausible_changes_leave_models(suffix, tmp_path):
    """At least half of what can be meant is read; all of it is another text."""
    known, read = texts(suffix), 0
    for k in range(20):
        rng = np.random.default_rng([5, k])
        before = known[k % len(known)]
        text = plausible(rng, before, suffix)
        place = tmp_path / f"case{suffix}"
        place.write_text(text, encoding="utf-8")
        with contextlib.suppress(kt.KinetreeError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kt.load(place)
            read += 1
    assert read >= 10


def test_memory_that_grows_is_seen(monkeypatch):
    monkeypatch.setattr(long, "_resident", iter([0, 0, 0, 1 << 20, 64 << 20]).__next__)
    soak = long.Soak()
    for _ in range(4):
        soak.judge(long.CALLS)
    with pytest.raises(WrongAnswerError, match=r"memory grew by 64\.0 MB in 20000 calls"):
        soak.judge(long.CALLS)


def test_an_interrupted_run_counts_what_was_tried():
    def one(rng, folder):
        if int(rng.integers(2**31)) == int(np.random.default_rng([4, 6]).integers(2**31)):
            time.sleep(1.0)  # until the parent waits
            os.kill(os.getppid(), signal.SIGINT)
            time.sleep(30)
        return runner.ACCEPTED

    report = run(Fuzzer("stopped", "", one, seconds=60, batch=3), 12, seed=4)
    assert report.counts == {runner.ACCEPTED: 6} and report.faults == []


def test_numbers_that_a_store_lacks_are_seen(monkeypatch, rng, tmp_path):
    """Without the check of chunks, a store whose chunk was removed is read as NaN, and that is a fault."""

    def remove(rng, place):
        (place / "value" / "c" / "0" / "0").unlink(missing_ok=True)
        (place / "last_q" / "c" / "0" / "0").unlink(missing_ok=True)

    monkeypatch.setattr(stores, "CHANGES", (remove,))
    assert stores.stores(rng, tmp_path) == runner.REFUSED
    monkeypatch.setattr("kinetree.result.zarr_store.required_chunks", lambda *given: ())
    with pytest.raises(WrongAnswerError, match=r"is missing in cases that are ok|other numbers"):
        stores.stores(rng, tmp_path)
