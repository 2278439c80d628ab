"""Motions that come as numbers: arrays and CSV files, and what is said of bad ones."""

import numpy as np
import pytest

import kinetree.trajectories as tr
from kinetree.errors import FileError, InputError


def test_rows_are_met_and_joined_as_asked():
    t, q = [0.0, 1.0, 3.0], [[0.0], [2.0], [0.0]]
    for between, middle in (("linear", 1.5), ("hold", 2.0), ("spline", 2.25)):
        motion = tr.from_table(t, q, between=between)
        assert np.allclose(motion.at(t).q, q, atol=1e-14)
        assert motion.at(1.5).q[0] == pytest.approx(middle, abs=1e-14)


def test_velocities_make_cubic_pieces(rng):
    """Of a cubic polynomial the pieces are the polynomial itself."""
    t, c = np.array([0.0, 0.4, 1.5, 1.7]), rng.standard_normal(4)
    p = np.polynomial.Polynomial(c)
    motion = tr.from_table(t, p(t)[:, None], p.deriv()(t)[:, None])
    at = np.linspace(0.0, 1.7, 40)
    assert np.allclose(motion.at(at).q[:, 0], p(at), atol=1e-13)
    assert np.allclose(motion.at(at).qdd[:, 0], p.deriv(2)(at), atol=1e-11)


def test_a_file_gives_the_motion_in_the_order_of_the_joints(tmp_path):
    file = tmp_path / "motion.csv"
    file.write_text(
        "# recorded\ntime, knee, hip, hip:velocity, knee:velocity\n\n0, 1, 10, 0.5, -1\n1,2 ,11, 0.5, -1\n"
        "2.5, 3, 12, 0, 0\n",
        encoding="utf-8",
    )
    motion = tr.read_csv(file, ["hip", "knee"])
    state = motion.at([0.0, 1.0, 2.5])
    assert np.allclose(state.q, [[10, 1], [11, 2], [12, 3]], atol=1e-13)
    assert np.allclose(state.qd, [[0.5, -1], [0.5, -1], [0, 0]], atol=1e-13)
    assert np.array_equal(tr.read_csv(file).at(0.0).q, [1.0, 10.0])


def test_a_file_with_accelerations_as_excel_writes_it(tmp_path):
    file = tmp_path / "motion.csv"
    rows = "time,a.rx,a.rx:velocity,a.rx:acceleration\r\n0,0,1,2\r\n1,0.5,3,4\r\n"
    file.write_bytes(b"\xef\xbb\xbf" + rows.encode())
    state = tr.read_csv(str(file), ["a.rx"]).at([0.0, 1.0])
    assert np.allclose(
        [state.q[:, 0], state.qd[:, 0], state.qdd[:, 0]], [[0, 0.5], [1, 3], [2, 4]], atol=1e-12
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty; a motion has a header 'time, joint1, ...'"),
        ("t, hip, knee\n0, 1, 2\n", "line 1: is not a header 'time, joint1, ...'"),
        ("time, hip, kne\n0, 1, 2\n", "line 1: unknown column 'kne'"),
        ("time, hip, hip\n0, 1, 2\n", "line 1: column 3 has the title of another, 'hip'"),
        ("time, hip, \n0, 1, 2\n", "line 1: column 3 has no title"),
        ("time, hip\n0, 1\n", "line 1: columns are missing: knee"),
        ("time, hip, knee, hip:velocity\n0,1,2,3\n", "columns are missing: knee:velocity"),
        (
            "time, hip, knee, hip:acceleration, knee:acceleration\n0,1,2,3,4\n",
            "accelerations but no velocities",
        ),
        ("time, hip, knee\n0, 1, 2\n1, 2\n", "line 3: 3 numbers are needed, found 2"),
        ("time, hip, knee\n# note\n0, 1, two\n", "line 3: knee must be a number, got 'two'"),
        ("time, hip, knee\n0, 1, nan\n", "line 2: knee must be finite, got 'nan'"),
        ("time, hip, knee\n0, 1, 2\n", "at least 2 rows of numbers, found 1"),
        ("time, hip, knee\n1, 1, 2\n2, 1, 2\n", "line 2: time must begin at 0, got 1"),
        ("time, hip, knee\n0, 1, 2\n2, 1, 2\n2, 1, 3\n", "line 4: time must ascend, got 2 after 2"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path, text, reason):
    file = tmp_path / "motion.csv"
    file.write_text(text)
    with pytest.raises(FileError) as refused:
        tr.read_csv(file, ["hip", "knee"])
    assert reason in str(refused.value) and "motion.csv" in str(refused.value)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(FileError, match=r"none\.csv: no such file \(looked in "):
        tr.read_csv(tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match=r"cannot read '.*bytes\.csv'"):
        tr.read_csv(tmp_path / "bytes.csv")
    only_time = tmp_path / "time.csv"
    only_time.write_text("time\n0\n1\n")
    with pytest.raises(FileError, match="names no joint"):
        tr.read_csv(only_time)


@pytest.mark.parametrize(
    ("arguments", "more", "reason"),
    [
        (([0, 1], [[0], [1]]), {"between": "spine"}, "unknown way between rows 'spine'"),
        (([0, 1], [[0], [1]], [[0], [1]]), {"between": "hold"}, "not by 'hold'"),
        (([0, 1], [[0], [1]], None, [[0], [1]]), {}, "accelerations are given without velocities"),
        (
            ([0, 1], [[0], [1]], [[0]]),
            {},
            "qd must have the shape of the positions, (2, 1), got shape (1, 1)",
        ),
        (([0, 1], [[0], [np.nan]]), {}, "values must be finite"),
        (([0.5, 1], [[0], [1]]), {}, "must begin at 0 s"),
    ],
)
def test_bad_arrays_are_refused(arguments, more, reason):
    with pytest.raises(InputError) as refused:
        tr.from_table(*arguments, **more)
    assert reason in str(refused.value)


def test_files_of_opensim_lead_to_their_reader(tmp_path):
    file = tmp_path / "walk.mot"
    file.write_text("Coordinates\nversion=1\nendheader\ntime\tknee_angle_r\n0\t5\n")
    with pytest.raises(FileError, match=r"read_opensim reads files of OpenSim"):
        tr.read_csv(file, ["knee"])
