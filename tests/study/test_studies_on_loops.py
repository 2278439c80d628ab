"""Studies of mechanisms with closed loops: starts that are assembled, motions that follow on the loops."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.lint.study import check_study
from kinetree.study.new_study import StudyAnswers, study_file
from kinetree.study.run import run
from kinetree.trajectories import cycloid

START = "[mechanism]\nzoo = 'four_bar'\n[initial]\nq = [0.0, 1.0, 4.3]\n"


def outcome(folder, text, task, more=""):
    """The result of a study that is written to a file."""
    path = folder / "study.toml"
    path.write_text(f"[study]\ntask = '{task}'\nduration = 0.2\n{more}\n{text}\n[output]\nsamples = 5\n")
    return run(path)


def test_an_open_start_is_refused_with_the_gap(tmp_path):
    with pytest.raises(kt.errors.InputError, match=r"loop 'crank_pin' is open by .*assemble"):
        outcome(tmp_path, START, "simulate")


@pytest.mark.parametrize("key", ["assemble = true", "hold = ['crank_pivot']"])
def test_a_start_is_assembled_when_the_study_says_so(tmp_path, key):
    found = outcome(tmp_path, f"{START}qd = [2.0, 0.0, 0.0]\n{key}\n", "simulate")
    assert found.passed
    q, qd = found.q.values[0], found.qd.values[0]
    assert np.abs(kt.loops.gap(kt.zoo.four_bar(), q)).max() < 1e-12
    if "hold" in key:
        assert q[0] == 0.0
        assert qd[0] == pytest.approx(2.0, rel=1e-12)


def test_joints_to_hold_must_not_contradict_each_other(tmp_path):
    text = START + "qd = [2.0, 0.5, 0.0]\nhold = ['crank_pivot', 'rocker_pivot']\n"
    with pytest.raises(kt.errors.InputError, match="crank_pivot, rocker_pivot held"):
        outcome(tmp_path, text, "simulate")


def test_nothing_is_assembled_without_loops(tmp_path):
    text = "[mechanism]\nzoo = 'gripper'\n[initial]\nassemble = true\n"
    with pytest.raises(kt.errors.InputError, match="no closed loops"):
        outcome(tmp_path, text, "simulate")


def test_torques_of_a_motion_that_follows_on_the_loops(tmp_path):
    """Inverse dynamics along the study's motion is that of dependent motion."""
    text = (
        "[mechanism]\nzoo = 'four_bar'\n[trajectory]\nkind = 'cycloid'\nstart = [0.0, 1.0, 4.3]\n"
        "end = [1.0, 0.0, 0.0]\nindependent = ['crank_pivot']\n"
    )
    path = tmp_path / "study.toml"
    path.write_text(
        f"[study]\ntask = 'inverse'\nduration = 0.5\n{text}[output]\nsamples = 6\nreactions = true\n"
    )
    found = run(path)
    assert found.passed
    bar, times = kt.zoo.four_bar(), found.time.values
    turn = cycloid([0.0], [1.0], 0.5).at(times)
    expected = kt.loops.dependent_motion(bar, ["crank_pivot"], turn.q, turn.qd, turn.qdd, q0=[0.0, 1.0, 4.3])
    np.testing.assert_allclose(found.q.values, expected.q, atol=1e-12)
    tau, forces = kt.loops.inverse_dynamics(bar, expected.q, expected.qd, expected.qdd)
    np.testing.assert_allclose(found.tau.values, tau, atol=1e-9)
    np.testing.assert_allclose(found.loop_force.values, forces.wrench, atol=1e-8)


def test_a_controller_follows_on_the_loops(tmp_path):
    text = study_file(StudyAnswers("follow", "five_bar", "control", 0.05), kt.zoo.five_bar())
    path = tmp_path / "follow.toml"
    path.write_text(text)
    found = run(path)
    assert found.passed
    assert found.statistics["largest_error"] < 1e-6


@pytest.mark.parametrize(
    ("model", "task"), [("slider_crank", "simulate"), ("four_bar", "inverse"), ("four_bar", "control")]
)
def test_new_studies_of_loops_have_no_faults(tmp_path, model, task):
    path = tmp_path / "new.toml"
    path.write_text(study_file(StudyAnswers("new", model, task), getattr(kt.zoo, model)()))
    assert check_study(path) == []


def test_singular_positions_are_told_in_report_and_plot(tmp_path):
    """Passing them is an event with loop and joint; undetermined forces are missing in pages and pictures."""
    linkage = kt.zoo.n_four_bar(1)
    sign = np.array([-1.0 if "crank" in name else 1.0 for name in linkage.joint_names])
    found = kt.simulate(linkage, sign * 1.2, duration=0.6, times=31, reactions=True)
    (event,) = found.events
    assert event.kind == "singular_position"
    found.report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "singular position" in text
    assert event.name in text
    found.plot("loop_force", "loop_error")
    found.save(tmp_path / "swing.nc")
    again = kt.load_result(tmp_path / "swing.nc")
    assert again.equals(found)
    assert np.isnan(again.loop_force.values[0, 0, 2])
