"""Measured walking from tables of the user."""

from importlib.resources import files

import numpy as np
import pytest

import kinetree as kt
from kinetree.gait_analysis import GaitCycle, gait_score, measured_walking, read_measured_walking

HEAD = "percent,knee_flexion,knee_flexion_sd,force_vertical\n"
ROWS = "0,5,1,0\n20,20,3,1\n50,10,2,1.1\n70,60,4,0\n100,5,1,0\n"


def written(folder, text):
    file = folder / "mine.csv"
    file.write_text(text)
    return file


def test_rows_are_interpolated_and_stance_follows_from_the_force(tmp_path):
    data = read_measured_walking(written(tmp_path, HEAD + ROWS))
    percent = np.arange(101.0)
    assert (data.name, data.source, data.doubtful) == ("mine", "measured walking in mine.csv", ())
    expected = np.interp(percent, [0, 20, 50, 70, 100], [5, 20, 10, 60, 5])
    assert np.array_equal(data.mean["knee_flexion"], expected)
    assert data.sd["knee_flexion"][10] == 2.0 and np.isnan(data.sd["force_vertical"]).all()
    assert 68.0 < data.stance < 70.0  # the force falls to zero at 70 %


def test_a_curve_without_deviation_has_scores_without_it(tmp_path):
    data = read_measured_walking(written(tmp_path, HEAD + ROWS))
    cycle = GaitCycle(data.percent, {key: curve + 1.0 for key, curve in data.mean.items()}, 69.0, 1.1, 75.0)
    score = gait_score(cycle, data)
    assert score["knee_flexion"].offset == pytest.approx(1.0) and score["knee_flexion"].within == 1.0
    force = score["force_vertical"]
    assert force.r == pytest.approx(1.0) and np.isnan(force.within) and np.isnan(force.rmse_sd)
    assert score.as_dict()["curves"][1]["within"] is None
    kt.gait_analysis.plot_gait(cycle, data)


def test_the_included_data_read_as_a_file_are_the_included_data(tmp_path):
    """Their columns have other names, and some are of no curve, which is reported."""
    text = (files("kinetree.gait_data") / "data" / "walking_arnold5.csv").read_text()
    file = written(tmp_path, text.replace("pct_cycle", "percent", 1))
    with pytest.warns(kt.KinetreeWarning, match="ignored columns .*curves are hip_flexion, "):
        data = read_measured_walking(file)
    included = measured_walking("arnold5")
    assert data.mean.keys() == included.mean.keys()
    for key in data.mean:
        assert np.array_equal(data.mean[key], included.mean[key])
        assert np.array_equal(data.sd[key], included.sd[key])
    assert data.stance == pytest.approx(included.stance, abs=1.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty; measured walking has a header 'percent, knee_flexion, "),
        ("time,knee_flexion\n0,1\n", "line 1: is not a header 'percent, "),
        (HEAD + "0,5,1,0\n100,5,1,0\n", "at least 3 rows of numbers, got 2"),
        (HEAD + ROWS.replace("50,", "15,"), "line 4: percent must increase, got 15 after 20"),
        (HEAD + ROWS.replace("100,", "99,"), "must go from 0 to 100, got 0 to 99"),
        (
            HEAD + ROWS.replace("0,5,1,0\n2", "0,x,1,0\n2", 1),
            "line 2: knee_flexion must be a number, got 'x'",
        ),
        (HEAD + ROWS.replace("20,3", "20,-3"), "knee_flexion_sd must not be negative, got -3"),
        (HEAD.replace("knee_flexion_sd", "knee_flexion") + ROWS, "two columns are called 'knee_flexion'"),
        ("percent,kne\n0,1\n50,2\n100,1\n", "no column has the name of a curve; known are hip_flexion, "),
    ],
)
def test_a_table_that_is_no_gait_cycle_is_refused(tmp_path, text, words):
    with pytest.raises(kt.errors.FileError, match=words):
        read_measured_walking(written(tmp_path, text))
