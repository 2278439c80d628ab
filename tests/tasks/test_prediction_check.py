"""Predicted torques fed to the simulation."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.terms import Jerk
from kinetree.tasks import prediction_check
from kinetree.tasks.prediction_check import came_about, check_by_pieces, check_by_simulation, torque_table
from motion.problems import from_rest_to_rest, kuka, lifting, minimum_time, prismatic


@pytest.mark.parametrize("make", [minimum_time, lifting, lambda: prismatic(np.pi / 2)], ids=["1", "2", "3"])
def test_the_documents_motions_come_about(make):
    found = kt.predict(make())
    deviation = check_by_simulation(found)
    assert deviation.largest < 1e-8
    assert set(deviation.per_joint) == {"joint1", "joint2"}
    assert deviation.t[-1] == pytest.approx(found.duration)
    assert deviation.check().passed
    assert np.abs(deviation.qd).max() < 1e-6


def test_a_refined_motion_with_switches_comes_about():
    found = kt.motion.refine(kt.predict(minimum_time()), rounds=1)
    assert found.check_by_simulation().largest < 1e-6


def test_six_axes_under_gravity():
    assert kt.predict(kuka()).check_by_simulation().largest < 1e-6


def test_a_load_that_varies_acts_on_the_simulated_mechanism():
    def pushed(s):
        return [kt.Wrench("link2", np.stack([0 * s, -20 * s, 0 * s], axis=1), point=(0.4, 0, 0))]

    found = kt.predict(minimum_time(loads=pushed, segments=8))
    assert check_by_simulation(found, rtol=1e-7).largest < 1e-5


def test_an_unstable_motion_comes_about_piece_by_piece():
    """A biped that is not balanced by anything falls away from its motion, however small the error."""
    q = np.full(12, 0.5)
    ends = from_rest_to_rest(np.zeros(12), q)
    found = kt.predict(kt.Problem(kt.zoo.biped_fixed(), objective=Jerk(), constraints=ends, duration=1.0))
    assert check_by_simulation(found).largest > 1e-3
    pieces = check_by_pieces(found)
    assert pieces.pieces == 20
    assert pieces.largest < 1e-6
    assert "20 pieces" in str(pieces)
    assert pieces.t[-1] == pytest.approx(1.0)
    verdict = came_about(found)
    assert verdict.passed
    assert "in 20 pieces" in verdict.sentence and "unstable" in verdict.sentence


@pytest.mark.parametrize("segments", [8, 60])
def test_slightly_wrong_torques_do_not_pass_for_an_unstable_motion(monkeypatch, segments):
    """However short the pieces: they stray as far as the whole does, within a factor."""
    found = kt.predict(minimum_time(segments=segments))
    assert "unstable" not in check_by_pieces(found).check().sentence
    right = prediction_check._torques
    monkeypatch.setattr(prediction_check, "_torques", lambda *given: 1.001 * right(*given))
    whole, pieces = check_by_simulation(found).largest, check_by_pieces(found).largest
    assert 0.3 * whole < pieces < 3.0 * whole
    verdict = came_about(found)
    assert not verdict.passed
    assert verdict.value == whole and "unstable" not in verdict.sentence


def test_a_simulation_that_breaks_off_does_not_pass():
    found = check_by_simulation(kt.predict(minimum_time(segments=4)))
    assert found.check().passed
    broken = replace(found, complete=False)
    assert not broken.check().passed
    assert "stopped at" in broken.check().sentence


def test_a_motion_that_cannot_be_simulated_is_judged_all_the_same():
    """A massless hand takes torques, which are zero, but they tell nothing about its motion."""
    arm = kt.Builder("arm")
    upper = arm.world.revolute("shoulder").body("upper", kt.Inertia.rod(1.0, (0.4, 0, 0)))
    upper.revolute("wrist", at=(0.4, 0, 0)).body("hand", kt.Inertia(0.0, (0, 0, 0), np.zeros((3, 3))))
    ends = from_rest_to_rest([0.0, 0.0], [1.0, 1.0])
    found = kt.predict(kt.Problem(arm.build(), objective=Jerk(), constraints=ends, duration=1.0))
    verdict = came_about(found)
    assert not verdict.passed
    assert "not possible" in verdict.sentence and "wrist" in verdict.sentence


def test_wrong_torques_are_noticed_piece_by_piece_too(monkeypatch):
    def pushed(s):
        return [kt.Wrench("link2", np.stack([0 * s, -20 * s, 0 * s], axis=1), point=(0.4, 0, 0))]

    found = kt.predict(minimum_time(loads=pushed, segments=8))
    assert check_by_pieces(found, rtol=1e-7).largest < 1e-6
    right = prediction_check._torques
    monkeypatch.setattr(prediction_check, "_torques", lambda *given: 1.1 * right(*given))
    assert not check_by_pieces(found, rtol=1e-7).check().passed


def test_wrong_torques_are_noticed():
    """Torques of a lighter load: the deviation is what the difference of 1 N brings."""
    found = kt.predict(lifting(segments=8))
    lighter = lifting(segments=8, loads=kt.Wrench("link2", force=(0, -9, 0), point=(0.4, 0, 0)))
    wrong = replace(found, problem=lighter)
    wrong.problem.arguments["loads"] = found.problem.arguments["loads"]
    table = torque_table(wrong)
    right = torque_table(found)
    assert np.abs(table.at([0.1]) - right.at([0.1])).max() > 0.1
    run = kt.simulate(
        found.problem.mechanism, found.q[0], found.qd[0], found.duration, torque=table,
        loads=kt.Wrench("link2", force=(0, -10, 0), point=(0.4, 0, 0)), times=found.t,
    )  # fmt: skip
    assert np.abs(run.q.values - found.q).max() > 1e-3


def test_the_table_is_the_torque():
    found = kt.predict(minimum_time())
    inside = ~np.isin(found.s, found.problem.basis.breaks)
    assert np.allclose(torque_table(found).at(found.t[inside]), found.tau[inside], atol=1e-9)


def test_only_predictions_can_be_checked():
    for check in (check_by_simulation, check_by_pieces, came_about):
        with pytest.raises(kt.errors.InputError, match="needs a prediction"):
            check(3)
