"""Trials of motion capture from and to files, plates of all types, and what is wrong with files."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.capture.external_loads import read_forces, write_forces
from kinetree.capture.files import read_trial, write_trial
from kinetree.capture.plates import Plate, plate_force
from kinetree.capture.trial import GroundForce, Trial
from support.opensim_peer import DATA

RNG = np.random.default_rng(2)


def trial():
    positions = RNG.normal(size=(5, 3, 3))
    positions[2, 1] = np.nan
    return Trial(("a", "b c", "d"), np.arange(5) / 100.0, positions)


@pytest.mark.parametrize("name", ["t.trc", "t.c3d"])
@pytest.mark.parametrize("units", ["mm", "m"])
def test_files_keep_positions_gaps_and_times(tmp_path, name, units):
    if name.endswith("c3d"):
        pytest.importorskip("ezc3d")
    ours = trial()
    write_trial(ours, tmp_path / name, units)
    again = read_trial(tmp_path / name)
    assert again.markers == ours.markers and again.units == units
    assert np.allclose(again.time, ours.time, atol=1e-9)
    assert np.allclose(again.positions, ours.positions, atol=1e-6, equal_nan=True)
    with pytest.raises(kt.KinetreeError, match="exists"):
        write_trial(ours, tmp_path / name)


def test_axes_that_point_up_are_turned_with_forces():
    force = GroundForce("plate", [0.0], [[1.0, 2.0, 700.0]], [[0.3, 0.2, 0.0]], [[0.0, 0.0, 5.0]])
    lab = Trial(("head",), [0.0], [[[1.0, 2.0, 1.7]]], (force,))
    turned = lab.with_up("z")
    assert turned.positions[0, 0].tolist() == [1.0, 1.7, -2.0]
    assert turned.forces[0].force[0].tolist() == [1.0, 700.0, -2.0]
    assert turned.with_up("y", "z").positions.tolist() == lab.positions.tolist()


SQUARE = np.array([[0.5, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.8, 0.0], [0.5, 0.8, 0.0]])
DOWN = np.diag([1.0, -1.0, -1.0])  # axes of this plate: y back, z down
FORCE, POINT, TURN = np.array([30.0, -20.0, 700.0]), np.array([0.3, 0.35, 0.0]), 4.0


def channels_of(kind, depth):
    """What a plate of a type shows for a force at a point of its surface and a moment about its normal."""
    at, force, turn = DOWN @ (POINT - SQUARE.mean(axis=0)), DOWN @ FORCE, -TURN
    if kind == 1:
        return np.array([*force, *at[:2], turn])
    about = np.cross(at - np.array([0, 0, depth]), force) + np.array([0, 0, turn])
    if kind in (2, 4):
        return np.array([*force, *about])
    a, b = 0.2, 0.35  # sensors at (a, b), (-a, b), (-a, -b), (a, -b); Mz fixes one of six shares
    z = np.linalg.lstsq(
        np.array([[1, 1, 1, 1], [b, b, -b, -b], [-a, a, a, -a]]), [force[2], about[0], about[1]], rcond=None
    )[0]
    x12 = 0.5 * force[0]
    y14 = 0.5 * (force[1] + (about[2] - b * (force[0] - 2 * x12)) / a)
    return np.array([x12, force[0] - x12, y14, force[1] - y14, *z])


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_plates_of_all_types_give_force_center_and_moment(kind):
    depth = 0.04
    origin = np.array([0.2, 0.35, -depth]) if kind == 3 else np.array([0.0, 0.0, -depth])
    channels, matrix = channels_of(kind, depth), None
    if kind == 4:
        matrix = np.eye(6) + 0.1 * RNG.normal(size=(6, 6))
        channels = np.linalg.solve(matrix, channels)
    found = plate_force(Plate("p", kind, SQUARE, origin, matrix), np.zeros(1), channels[None], 1.0, 1.0)
    assert found.force[0] == pytest.approx(FORCE) and found.point[0] == pytest.approx(POINT)
    assert found.moment[0] == pytest.approx([0.0, 0.0, TURN], abs=1e-9)


def test_an_idle_plate_has_neither_force_nor_point():
    found = plate_force(Plate("p", 2, SQUARE, np.zeros(3)), np.zeros(1), np.full((1, 6), 2.0), 1.0, 1.0)
    assert not found.force.any() and not found.point.any()


def test_forces_go_through_files_of_opensim(tmp_path):
    time = np.linspace(0, 1, 4)
    forces = tuple(
        GroundForce(name, time, *RNG.normal(size=(3, 4, 3)), body)
        for name, body in (("right foot", "calcn_r"), ("left", "calcn_l"))
    )
    write_forces(forces, tmp_path / "f.mot")
    for again in (read_forces(tmp_path / "f.xml"), read_forces(tmp_path / "f.mot")):
        for ours, theirs in zip(forces, again, strict=True):
            assert all(
                np.array_equal(getattr(ours, k), getattr(theirs, k)) for k in ("force", "point", "moment")
            )
    assert [x.body for x in read_forces(tmp_path / "f.xml")] == ["calcn_r", "calcn_l"]


GOOD = """PathFileType\t4\t(X/Y/Z)\tx.trc
DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits
100\t100\t2\t2\tmm
Frame#\tTime\ta\t\t\tb\t\t
\t\tX1\tY1\tZ1\tX2\tY2\tZ2

1\t0.0\t1\t2\t3\t4\t5\t6
2\t0.01\t1\t2\t3\t\t\t
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mm", "furlong", "line 3: unknown unit of length 'furlong'"),
        ("PathFileType", "Path", "first line must begin with 'PathFileType'"),
        ("Frame#", "Time", "line 4: must begin with 'Frame#'"),
        ("\t4\t5\t6", "\t4\tx\t6", "line 7: must be numbers"),
        ("2\t0.01", "2\t0.0", "times of a trial must increase, got 0 s after 0 s"),
        ("\ta\t\t\tb", "\ta\t\t\ta", "two markers of the trial are called 'a'"),
        ("Units", "Unity", "names no 'Units'"),
    ],
)
def test_faults_of_marker_files_are_named(tmp_path, old, new, message):
    path = tmp_path / "x.trc"
    path.write_text(GOOD)
    assert np.isnan(read_trial(path).positions[1, 1]).all()
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(kt.KinetreeError, match=message):
        read_trial(path)


def test_damaged_c3d_files_are_named(tmp_path):
    pytest.importorskip("ezc3d")
    write_trial(trial(), tmp_path / "t.c3d")
    content = (tmp_path / "t.c3d").read_bytes()
    for name, data, message in (
        ("cut.c3d", content[: len(content) - 600], "is cut off: its header announces 5 frames"),
        ("text.c3d", b"no c3d file" * 100, "is not a C3D file"),
        ("empty.c3d", b"", "C3D file|empty"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(kt.KinetreeError, match=message):
            read_trial(tmp_path / name)


def test_faults_of_forces_are_named(tmp_path):
    (tmp_path / "q.mot").write_text("q\nendheader\ntime knee\n0 1\n")
    with pytest.raises(kt.KinetreeError, match="no columns of forces such as ground_force_vx"):
        read_forces(tmp_path / "q.mot")
    with pytest.raises(kt.KinetreeError, match=r"a trial is read from .trc, .c3d files, not from '.csv'"):
        read_trial(tmp_path / "x.csv")


@pytest.mark.skipif(not (DATA / "c3d").is_dir(), reason="the trial is not here")
def test_plates_of_a_real_trial_are_what_opensim_reads():
    pytest.importorskip("ezc3d")
    found = read_trial(DATA / "c3d" / "walking2.c3d")
    assert found.positions.shape == (1249, 44, 3) and found.rate == 250.0
    lines = (DATA / "c3d" / "std_cop_walking2_grfs.sto").read_text().splitlines()
    table = np.array([[float(x) for x in line.split()] for line in lines[6:] if line.strip()])
    for k, force in enumerate(found.forces):
        columns = table[:, 1 + 9 * k : 10 + 9 * k]
        loaded = np.abs(columns[:, 2]) > 20.0
        ours = force.at(table[:, 0])
        assert loaded.sum() > 10
        for values, theirs, unit in (
            (ours.force, slice(0, 3), 1.0),
            (ours.point, slice(3, 6), 1e3),
            (ours.moment, slice(6, 9), 1e3),
        ):
            assert np.allclose(unit * values[loaded], columns[loaded, theirs], atol=2e-4)
