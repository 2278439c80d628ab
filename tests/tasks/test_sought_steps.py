"""Steps whose length, speed or double support is sought: derivatives, optima, what is refused."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.study.run import run
from kinetree.walking import Walking, walk, walking_problem

COARSE = {"points": 8, "nodes": (2, 2, 4, 4)}


@pytest.mark.parametrize("sought", [{"step_range": (0.5, 0.8)}, {"speed_range": (0.9, 1.5)}])
def test_derivatives_with_the_duration_unknown_are_exact(sought):
    problem = walking_problem(Walking(**sought, **COARSE))
    low, high = problem.setting.duration
    assert low < high and problem.program.timed
    check = problem.check_derivatives()
    assert check.passed, str(check)


def test_the_length_of_a_step_is_sought_at_a_given_speed():
    """No fixed length nearby is cheaper, and the trailing foot is as far behind as the duration says."""
    found = walk(step_range=(0.6, 0.75), progress=False)
    assert found.passed, str(found)
    step, T = found.task.step, found.prediction.duration
    assert 0.65 < step < 0.73 and step == pytest.approx(1.2 * T) and found.task.duration == pytest.approx(T)
    behind = found.step.place(*found.walker.points["left_toe_tip"])[0, 0] - found.walker.sole["tip"] * np.cos(
        found.task.toe_out
    )
    assert behind == pytest.approx(-step, abs=1e-4)
    for other in (step - 0.03, step + 0.03):
        near = kt.predict(
            walking_problem(found.task.changed(step=other)), start=found.prediction, tolerance=1e-3,
            progress=False,
        )  # fmt: skip
        assert near.solved_at_samples and near.objective > found.prediction.objective
    result = found.to_result()
    assert result.settings["sought"]["step"] == {"between": [0.6, 0.75], "found": step}
    assert "length of the step" in result.messages[0] and "bound holds it" not in result.messages[0]


def test_a_bound_of_what_is_sought_is_named():
    found = walk(step=0.58, step_range=(0.55, 0.6), progress=False)
    assert found.task.step == pytest.approx(0.6, abs=1e-4) and found.task.step <= 0.6
    assert "the upper bound holds it" in found.sought.sentences()[0]


def test_settled_tasks_seek_nothing_and_begin_within_the_bounds():
    task = Walking(step=0.9, step_range=(0.5, 0.8), double_range=(0.2, 0.24))
    settled = task.settled()
    assert (settled.step, settled.double) == (0.8, 0.24) and not settled.sought
    with pytest.raises(kt.KinetreeError, match="double support is sought by walk"):
        walking_problem(task)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"step_range": (0.8, 0.5)}, r"step_range must be two ascending numbers.*got \(0.8, 0.5\)"),
        ({"step_range": 0.6}, "step_range must be two ascending numbers"),
        ({"step_range": (0.5, float("nan"))}, "step_range"),
        ({"step_range": ("a", "b")}, "step_range must be real numbers"),
        ({"step_range": (0.5, 1.4)}, r"a step must be from .* got 1.4 m \(step_range = \[0.5, 1.4\]\)"),
        ({"speed_range": (0.1, 1.0)}, "speed must be from 0.3 to 2.2"),
        ({"double_range": (0.0, 0.3)}, "no foot would carry"),
        ({"step_range": (0.5, 0.7), "speed_range": (1.0, 1.4)}, "one is given and the other may be sought"),
        ({"speed_range": (1.0, 1.4), "time": -1.0}, "time must be 0 or more"),
        ({"step_range": (0.5, 0.7), "right_hand": 5.0}, "left and right differ.*leave out step_range"),
    ],
)
def test_what_cannot_be_sought_is_refused(changes, message):
    with pytest.raises(kt.KinetreeError, match=message):
        walk(max_iterations=1, progress=False, **changes)


def test_a_study_seeks_the_speed_and_refuses_it_in_the_documents_problem(tmp_path):
    text = """
[study]
task = "walk"
[mechanism]
zoo = "human"
[walk]
step = 0.7
speed = 1.15
speed_range = [1.1, 1.25]
double = 0.25
"""
    path = tmp_path / "pace.toml"
    path.write_text(text)
    result = run(path)
    assert result.passed, result.audit
    assert 1.12 < result.settings["walking"]["speed"] < 1.22
    path.write_text(text.replace("double = 0.25", 'formulation = "two_step"'))
    with pytest.raises(kt.KinetreeError, match="speed_range is for formulation"):
        run(path)
