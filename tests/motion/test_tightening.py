"""Bounds hold between samples, too: within a part that is stated, or the first sentence says so."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.free_knots import free_knots
from kinetree.motion.problem.instants import AddedSamples, GaussSamples
from kinetree.motion.tightening import tightened
from kinetree.result.records import Check
from kinetree.tasks.walking.verified import Verified
from kinetree.terms import Boundary, Time, TorqueLimits

ARM = kt.zoo.two_link()
LIMIT = np.array([10.0, 10.0])
START, END = Boundary("start", [0.0, -2.0], 0.0), Boundary("end", [1.0, -1.0], 0.0)


def rough(**more):
    """Six segments with one sample each: between them torques are some per cent too large."""
    given = {"segments": 6, "samples": 1, **more}
    return kt.Problem(ARM, objective=Time(), constraints=[START, END, TorqueLimits()], **given)


def excess(found):
    """The largest part by which torques exceed their limits, by a recursion and a grid of our own."""
    t = np.linspace(0.0, found.duration, 3001)
    q, qd, qdd = found.at(t)
    tau = kt.inverse_dynamics(ARM, q, qd, qdd, formulation="newton_euler")
    return float((np.abs(tau) / LIMIT - 1.0).max())


def test_samples_are_added_until_bounds_hold_between_them():
    loose, found = kt.predict(rough(), between=None), kt.predict(rough())
    assert excess(loose) > 0.03 and excess(found) < 0.0101
    assert loose.solved_at_samples and not loose.solved and found.solved and found.duration > loose.duration
    assert found.status.startswith("Solved: ") and "between samples to 0." in found.status
    assert not found.explanation.violated and found.result.passed
    strict = kt.predict(rough(), between=1e-3)
    assert excess(strict) < 1.01e-3 and strict.duration >= found.duration
    assert strict.result.audit["between_samples"].tolerance == 1e-3
    assert strict.iterations > loose.iterations  # all searches count


def test_what_was_asked_and_tried_stays_known():
    found = kt.predict(rough(), starts=3, seed=5)
    assert len(found.trials) == 3 and found.asked["starts"] == 3 and found.asked["between"] == 0.01
    samples = found.problem.arguments["samples"]
    assert isinstance(samples, AddedSamples) and samples.given == 1 and len(samples.more)
    again = kt.predict(rough(), start=found, between=None)
    assert again.solved_at_samples and len(again.problem.setting.samples) < len(found.problem.setting.samples)


def test_phases_are_tightened_too():
    away = kt.Problem(ARM, objective=Time(), constraints=[START, TorqueLimits()], segments=3, samples=1)
    there = kt.Problem(ARM, objective=Time(), constraints=[END, TorqueLimits()], segments=3, samples=1)
    loose, found = (
        kt.motion.predict_phases([away, there], between=None),
        kt.motion.predict_phases([away, there]),
    )
    assert max(map(excess, loose.parts)) > 0.02 and loose.status.startswith("Solved at the samples only")
    assert not loose.solved and loose.exit_code == 3 and not loose.to_result().passed
    assert max(map(excess, found.parts)) < 0.0101 and found.solved and found.status.startswith("Solved: ")
    assert found.to_result().passed and max(map(abs, found.gaps.values())) < 1e-5


class Judged(Verified):
    """A motion with a check of its own that passes."""

    def __init__(self, prediction):
        self.prediction, self.checks = prediction, {"own": Check.within(0.0, 1.0, "1", "fine")}

    def to_result(self):
        result = self.prediction.to_result()
        return replace(result, audit={**result.audit, **self.checks})


def test_what_is_built_on_predictions_passes_only_with_them():
    """Walks, lifts, gaits and leaps: solved at samples, but bounds between them count, too."""
    loose, found = Judged(kt.predict(rough(), between=None)), Judged(kt.predict(rough()))
    assert loose.solved and not loose.passed and found.passed


def test_effort_is_bounded_and_the_best_before_stays():
    asked = rough(segments=4)
    loose = kt.predict(asked, between=None)
    calls = []

    def lost(problem, start):
        calls.append(len(problem.setting.samples))
        return kt.predict(problem, start=start, between=None, max_iterations=1)

    assert tightened(loose, 1e-6, lost) is loose and len(calls) == 1
    brief = kt.predict(asked, between=1e-6, max_iterations=loose.iterations, time_limit=1e3)
    assert brief.solved_at_samples and brief.max_violation <= loose.max_violation
    once = kt.motion.tighten(loose, tolerance=1e-9, rounds=1)
    assert 1e-9 < once.max_violation < loose.max_violation


def test_nodes_of_integrals_are_left_as_they_are():
    nodes = GaussSamples((0.0, 0.5, 1.0), (4, 4))
    found = kt.predict(rough(samples=nodes))
    assert found.problem.arguments["samples"] is nodes
    assert found.status.startswith("Solved at the samples" if found.max_violation > 0.01 else "Solved: ")
    tight = kt.motion.tighten(
        found
    )  # asked for, they keep their nodes and hold the bounds at further instants
    assert tight.max_violation < 1e-4 and tight.problem.arguments["samples"].given is nodes


def test_knots_can_be_freed_afterwards():
    found = kt.predict(rough(segments=8, samples=2), between=1e-3)
    assert isinstance(found.problem.arguments["samples"], AddedSamples)
    free = free_knots(found)
    assert free.solved and free.duration <= found.duration


@pytest.mark.parametrize("wrong", [0.0, -1.0, 1.0, 2.0, np.nan, "much"])
def test_parts_that_are_none_are_refused(wrong):
    with pytest.raises(kt.errors.InputError, match="between"):
        kt.predict(rough(), between=wrong)


def test_studies_say_how_much(tmp_path):
    study = tmp_path / "rough.toml"
    study.write_text(
        '[study]\ntask = "predict"\n[mechanism]\nzoo = "two_link"\n[predict]\nobjective = "time"\n'
        "segments = 6\nsamples = 1\nstart = { q = [0.0, -2.0] }\nend = { q = [1.0, -1.0] }\n"
    )
    assert kt.run(study).passed
    left = kt.run(study, predict={"between": False})
    assert not left.audit["between_samples"].passed and left.audit["solved"].sentence.startswith("Solved at")
    with pytest.raises(kt.KinetreeError, match=r"between 0 and 1, or be false"):
        kt.run(study, predict={"between": 3.0})
