"""Direct calls read objects by address: what happens where these lie elsewhere, or calls are switched off."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from kinetree.engine import call_words, probe

PROGRAM = """
import json, sys
import numpy as np
from kinetree.engine import call_words
name = sys.argv[1]
if name:
    setattr(call_words, name, getattr(call_words, name) + 1)  # before anything reads it
import kinetree as kt
from kinetree.engine.probe import why_not_direct
arm = kt.zoo.kuka_kr5()
rng = np.random.default_rng(3)
q, qd, qdd = rng.standard_normal((3, 21, 6))
answers = [kt.inverse_dynamics(arm, q[0], qd[0], qdd[0]), kt.inverse_dynamics(arm, q, qd, qdd)]
answers += [kt.mass_matrix(arm, q[:3]), kt.forward_dynamics(arm, q, qd, qdd)]
slopes = kt.inverse_dynamics_derivatives(arm, q, qd, qdd)
answers += [slopes.tau, slopes.dtau_dq, slopes.dtau_dqd, slopes.dtau_dqdd]
refusals = []
for bad in (np.full(6, np.nan), "no"):
    try:
        kt.inverse_dynamics(arm, bad, qd[0], qdd[0])
    except kt.KinetreeError as error:
        refusals.append(str(error))
print(json.dumps([why_not_direct(), [x.ravel().tolist() for x in answers], refusals]))
"""


def answers(name="", **variables):
    """Why calls are not direct, the numbers and the refusals of a process of its own."""
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, name],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    return json.loads(run.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def direct():
    return answers()


def test_this_process_reads_objects_as_they_are(direct):
    assert probe.layout_fault() is None
    assert direct[0] is None


def test_a_variable_switches_direct_calls_off(direct):
    why, *found = answers(KINETREE_DIRECT="0")
    assert why == "KINETREE_DIRECT is 0"
    assert found[1] == direct[2] and len(found[1]) == 2
    for values, expected in zip(found[0], direct[1], strict=True):
        assert np.allclose(values, expected, rtol=1e-12, atol=1e-12)


def test_a_moved_field_switches_them_off_too(direct):
    """The process survives, and its numbers are the same."""
    why, *found = answers("DTYPE")
    assert "kind of an array is not in word" in why
    assert found[1] == direct[2]
    for values, expected in zip(found[0], direct[1], strict=True):
        assert np.allclose(values, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["HEAD", "DATA", "RANK", "SHAPE", "DTYPE", "FLAGS", "ITEMS", "PLAIN"])
@pytest.mark.parametrize("shift", [-1, 1, 9])
def test_every_moved_field_is_found(monkeypatch, name, shift):
    monkeypatch.setattr(call_words, name, getattr(call_words, name) + shift)
    assert probe.layout_fault() is not None


def test_what_cannot_be_looked_at_is_not_used(monkeypatch):
    def missing():
        raise ImportError("no table of functions")

    monkeypatch.setattr(probe, "_numpy_table", missing)
    assert "no table of functions" in probe.layout_fault()
