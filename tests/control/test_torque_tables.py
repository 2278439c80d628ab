"""Torques over time: rows in arrays and in CSV files."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.control import ConstantTorque, Feedforward, TorqueTable
from kinetree.errors import FileError, InputError
from support.cases import assert_close

ARM, DOG = kt.zoo.gripper(), kt.zoo.quadruped()
REST = np.zeros(4)


def torque(controller, t, mechanism=ARM):
    rest = np.zeros(mechanism.n_dof)
    return controller.torque(mechanism, t, rest, rest)


def test_between_rows():
    t, values = np.linspace(0.0, 2.0, 5), np.outer(np.linspace(0.0, 2.0, 5) ** 3, [1.0, 2.0, 3.0, 4.0])
    times = np.array([0.3, 0.5, 1.7, 2.0, 9.0])
    inside = np.minimum(times, 2.0)
    assert_close(torque(TorqueTable(t, values, "cubic"), times), np.outer(inside**3, [1, 2, 3, 4]))
    line = np.interp(inside, t, t**3)
    assert_close(torque(TorqueTable(t, values), times), np.outer(line, [1, 2, 3, 4]))
    held = np.array([0.0, 0.5, 1.5, 2.0, 2.0]) ** 3
    assert_close(torque(TorqueTable(t, values, "hold"), times), np.outer(held, [1, 2, 3, 4]))


def test_columns_by_name_and_for_a_floating_base():
    named = TorqueTable([0.0, 1.0], [[1.0, 2.0], [1.0, 2.0]], joints=["joint4", "joint1"])
    assert torque(named, 0.5).tolist() == [2.0, 0.0, 0.0, 1.0]
    joints = np.arange(1.0, 13.0)
    short = TorqueTable([0.0, 1.0], [joints, joints])
    long = TorqueTable([0.0, 1.0], [np.concatenate([np.zeros(6), joints])] * 2)
    assert torque(short, 0.5, DOG).tolist() == torque(long, 0.5, DOG).tolist() == [0.0] * 6 + joints.tolist()
    assert (short.law_parts(DOG).table.coefficients == long.law_parts(DOG).table.coefficients).all()


def test_constant_torques():
    assert torque(ConstantTorque(2.0), 0.0).tolist() == [2.0] * 4
    assert torque(ConstantTorque([-1, 2, -3, 4], limits=2.5), 7.0).tolist() == [-1.0, 2.0, -2.5, 2.5]
    assert torque(ConstantTorque(1.0), 0.0, DOG).tolist() == [0.0] * 6 + [1.0] * 12
    assert torque(ConstantTorque({"hip1": 1.0}), 0.0, DOG).sum() == 2.0
    assert ConstantTorque(2.0).law_parts(ARM).breaks == ()


def test_feedforward_takes_every_form(rng):
    t, values = np.linspace(0.0, 1.0, 4), rng.standard_normal((4, 4))
    table = TorqueTable(t, values)
    forms = [table, (t, values), table._recipe.torques.polynomial]
    laws = [Feedforward(REST, 3.0, 1.0, torques=form) for form in forms]
    for law in laws:
        q, qd = rng.standard_normal((2, 4))
        assert_close(law.torque(ARM, 0.4, q, qd), torque(table, 0.4) - 3.0 * q - qd)


def refused(message, make, mechanism=ARM):
    with pytest.raises(InputError, match=message):
        make().law_parts(mechanism)


def test_bad_tables():
    two = np.zeros((2, 4))
    refused("unknown kind of table 'spline'", lambda: TorqueTable([0, 1], two, "spline"))
    refused("times must ascend, got 0 after 1", lambda: TorqueTable([1, 0], two))
    refused(r"values must have shape \(2, n\)", lambda: TorqueTable([0, 1], np.zeros(4)))
    refused(
        r"values must be finite, got nan at index \(0, 1\)", lambda: TorqueTable([0], [[0, np.nan]], "hold")
    )
    refused(
        "torque table must have 4 values for 'gripper'.*got 3", lambda: TorqueTable([0, 1], np.zeros((2, 3)))
    )
    refused("torque table: unknown joint 'wrist'", lambda: TorqueTable([0, 1], [[1], [2]], joints=["wrist"]))
    refused("needs as many joint names, got 1", lambda: TorqueTable([0, 1], two, joints=["joint1"]))
    refused(
        "names the joint 'joint1' twice", lambda: TorqueTable([0], [[1, 2]], "hold", ["joint1", "joint1"])
    )
    refused("must be a list of names", lambda: TorqueTable([0], [[1]], "hold", "j"))
    refused("'hip1' has 2 axes", lambda: TorqueTable([0], [[1]], "hold", ["hip1"]), DOG)
    driven = np.zeros((2, 18))
    driven[1, 2] = 5.0
    refused("must be zero for 'base.tz'", lambda: TorqueTable([0, 1], driven), DOG)
    refused("must be zero for 'base.tx'", lambda: ConstantTorque(np.ones(18)), DOG)
    refused("torque: 'base' belongs to the floating base", lambda: ConstantTorque({"base": 1.0}), DOG)
    refused("torque must be finite, got inf", lambda: ConstantTorque(np.inf))


# ---- files --------------------------------------------------------------------------------------------
def written(folder, text):
    file = folder / "torques.csv"
    file.write_text(text)
    return file


def test_a_file(tmp_path):
    text = "\ufeff# measured\n\ntime, joint3, joint1\n0, 1.5, 2\n  0.5, 2.5, 3\n\n# end\n2, 2.5, -3\n"
    file = written(tmp_path, "")
    file.write_text(text, encoding="utf-8")
    table = TorqueTable.read(file, "hold", limits=2.8)
    assert torque(table, [0.1, 0.5, 3.0]).tolist() == [[2, 0, 1.5, 0], [2.8, 0, 2.5, 0], [-2.8, 0, 2.5, 0]]
    assert repr(table) == "TorqueTable(3 rows for joint3, joint1 from 0 to 2 s, hold, limits=2.8)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; a torque table has a header"),
        ("# nothing\n", "is empty"),
        ("t, joint1\n0, 1\n", "line 1: is not a header 'time, joint1, ...'"),
        ("time\n0\n", "line 1: a torque table needs a joint's column"),
        ("time, joint1\n", "line 1: a torque table needs .* a row of numbers"),
        (
            "time, joint1, joint1\n0, 1, 2\n",
            "line 1: column 3 needs the name of a joint of its own, got 'joint1'",
        ),
        ("time, , joint1\n0, 1, 2\n", "line 1: column 2 needs the name"),
        ("time, joint1\n0, 1\n\n1\n", "line 4: 2 numbers are needed, found 1"),
        ("time, joint1\n0, 1\n1, much\n", "line 3: joint1 must be a number, got 'much'"),
        ("time, joint1\n0, 1\n1, nan\n", "line 3: joint1 must be finite, got 'nan'"),
        ("time, joint1\n1, 1\n0.5, 2\n", "line 3: time must ascend, got 0.5 after 1"),
    ],
)
def test_bad_files(tmp_path, text, message):
    with pytest.raises(FileError, match=message):
        TorqueTable.read(written(tmp_path, text))


def test_a_missing_file_and_one_of_bytes(tmp_path):
    with pytest.raises(FileError, match=r"none\.csv: no such file \(looked in "):
        TorqueTable.read(tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match=r"cannot read '.*bytes\.csv'"):
        TorqueTable.read(tmp_path / "bytes.csv")
