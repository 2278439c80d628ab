"""A few cases of every fuzzer, and that the runner sees each kind of fault."""

import os
import signal
import time

import numpy as np
import pytest

pytest.importorskip("resource", reason="limits of processes are those of POSIX")

from fuzz import runner
from fuzz.catalogue import FUZZERS
from fuzz.runner import Fuzzer, WrongAnswerError, run

COUNTS = {"toml": 40, "urdf": 40, "mjcf": 20, "dh": 60, "results": 40}


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
