"""What ``kinetree export`` and ``kinetree show`` do, and say when they cannot."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli import app
from kinetree.result.build import build_result
from kinetree.result.opensim import opensim_text


@pytest.fixture(scope="module")
def slide():
    """A result with a sliding and a turning joint, and two samples at the same time."""
    arm = kt.zoo.two_link_prismatic()
    time = [0.0, 0.1, 0.1, 0.3]
    q = [[0.1, 0.0], [0.2, 0.5], [0.2, 0.6], [-0.4, np.pi]]
    return build_result(
        "simulate", arm, {"time": time, "q": q, "qd": np.zeros((4, 2)), "tau": np.ones((4, 2))}
    )


@pytest.fixture
def folder(tmp_path, monkeypatch, slide):
    monkeypatch.chdir(tmp_path)
    slide.save("slide.nc")
    return tmp_path


def kinetree(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def read_opensim(path):
    """Header, labels and rows of a file, read as its format has it and by no code of the library."""
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    end = lines.index("endheader")
    head = dict(line.split("=") for line in lines[1:end])
    labels = lines[end + 1].split("\t")
    rows = np.array([[float(word) for word in line.split("\t")] for line in lines[end + 2 :] if line])
    assert (int(head["nRows"]), int(head["nColumns"])) == rows.shape == (len(rows), len(labels))
    return head, labels, rows


def test_a_motion_for_opensim_is_in_degrees(folder, slide):
    assert kinetree("export", "slide.nc", "slide.mot").stdout == "Wrote slide.mot\n"
    head, labels, rows = read_opensim("slide.mot")
    assert head["inDegrees"] == "yes" and head["version"] == "1"
    assert labels == ["time", *slide.mechanism.joint_names]
    assert rows[:, 0].tolist() == [0.0, 0.1, 0.3]  # strictly increasing
    np.testing.assert_array_equal(rows[:, 1], [0.1, 0.2, -0.4])  # slides stay in m
    np.testing.assert_allclose(rows[:, 2], np.degrees([0.0, 0.6, np.pi]), rtol=1e-15)


def test_a_storage_for_opensim_is_in_si_units(folder):
    assert kinetree("export", "slide.nc", "--output", "slide.sto", "--variable", "tau").exit_code == 0
    head, _, rows = read_opensim("slide.sto")
    assert head["inDegrees"] == "no" and (rows[:, 1:] == 1.0).all()
    assert kinetree("export", "slide.nc", "-o", "q.sto").exit_code == 0
    assert read_opensim("q.sto")[2][-1].tolist() == [0.3, -0.4, np.pi]


def test_labels_of_opensim_files_have_no_blanks_and_differ(slide):
    first, second = slide.mechanism.links
    pairs = [("left knee", "right  knee"), ("a b", "a_b")]
    for names in pairs:
        links = tuple(
            replace(x, joint=replace(x.joint, name=n)) for x, n in zip((first, second), names, strict=True)
        )
        arm = replace(slide.mechanism, links=links)
        motion = {"time": [0.0], "q": [[0.0, 0.0]], "qd": [[0.0, 0.0]]}
        result = build_result("simulate", arm, motion)
        if names == pairs[0]:
            assert "time\tleft_knee\tright_knee\n" in opensim_text(result)
        else:
            with pytest.raises(kt.errors.InputError, match="a_b"):
                opensim_text(result)


def test_the_mechanism_is_written_as_urdf_and_toml(folder, slide):
    for name in ("arm.urdf", "arm.toml"):
        done = kinetree("export", "slide.nc", name)
        assert done.exit_code == 0 and ("gravity" in done.stderr) is (name == "arm.urdf")  # what URDF lacks
        arm = kt.load(name)
        assert arm.joint_names == slide.mechanism.joint_names
        q = np.array([0.1, 0.4])
        np.testing.assert_allclose(kt.mass_matrix(arm, q), kt.mass_matrix(slide.mechanism, q), atol=1e-12)


def test_a_movie_is_written(folder):
    done = kinetree(
        "export", "slide.nc", "-o", "slide.gif", "--fps", "10", "--size", "160x120", "--speed", "0.5"
    )
    assert done.exit_code == 0, done.output
    with Image.open("slide.gif") as movie:
        assert movie.size == (160, 120) and movie.n_frames == 7


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["slide.nc", "x.xls"], ".csv, .json, .mot, .sto, .mp4, .gif, .toml, .urdf, .xml"),
        (["slide.nc"], "name one file"),
        (["slide.nc", "a.csv", "-o", "b.csv"], "name one file"),
        (["slide.nc", "slide.nc"], "can be exported as"),
        (["none.nc", "x.csv"], "none.nc"),
        (["slide.nc", "x.gif", "--size", "huge"], "WIDTHxHEIGHT"),
        (["slide.nc", "x.gif", "--size", "8x8"], "size must be"),
        (["slide.nc", "x.gif", "--fps", "0"], "fps must be"),
        (["slide.nc", "x.sto", "--variable", "taw"], "Did you mean 'tau'"),
        (["slide.nc", "x.mot", "--variable", "tau"], "degrees are for q and qd"),
    ],
)
def test_what_cannot_be_exported_is_told(folder, words, told):
    done = kinetree("export", *words)
    assert done.exit_code == 2 and told in done.stderr.replace("\n", " ")
    assert {path.name for path in folder.iterdir()} == {"slide.nc"}


@pytest.mark.parametrize("name", ["x.csv", "x.mot", "x.sto", "x.gif", "x.urdf", "x.toml"])
def test_no_file_is_replaced_unasked(folder, name):
    Path(name).write_text("mine")
    assert kinetree("export", "slide.nc", name, "--size", "64x64", "--fps", "5").exit_code == 2
    assert Path(name).read_text() == "mine"
    assert kinetree("export", "slide.nc", name, "--size", "64x64", "--fps", "5", "--force").exit_code == 0
    assert Path(name).read_bytes() != b"mine"


# ---- the viewer ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["gripper", "--host", "0.0.0.0"], "--public"),
        (["griper"], "Did you mean 'gripper'"),
        (["none.nc"], "none.nc"),
        (["gripper", "--port", "70000"], "port must be"),
    ],
)
def test_what_cannot_be_shown_is_told(words, told):
    done = kinetree("show", *words, "--no-browser")
    assert done.exit_code == 2 and told in done.stderr.replace("\n", " ")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_viewer_serves_until_it_is_interrupted(number):
    command = [sys.executable, "-m", "kinetree", "show", "two_link", "--no-browser", "--port", "0"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as program:
        try:
            line = program.stdout.readline()
            address = line.split()[4]
            with urllib.request.urlopen(address) as answer:
                assert answer.status == 200
            time.sleep(0.2)
            program.send_signal(number)
            rest, problems = program.communicate(timeout=30)
        finally:
            program.kill()
    assert program.returncode == 0 and "ended" in rest and problems == ""


def test_a_table_at_a_rate(folder, slide):
    assert kinetree("export", "slide.nc", "slide.csv", "--rate", 100, "--variable", "q").exit_code == 0
    rows = np.loadtxt("slide.csv", delimiter=",", skiprows=1)
    assert rows.shape == (31, 3)
    np.testing.assert_allclose(rows[:, 0], np.arange(31) / 100)
    np.testing.assert_allclose(rows[[0, 10, 30], 1:], slide.q.values[[0, 2, 3]], rtol=1e-12)
    assert kinetree("export", "slide.nc", "slide.json", "--rate", 100).exit_code == 0
    for words, message in (
        (("slide.mp4", "--rate", 100), "--rate is for .csv, .json, .mot, .sto"),
        (("a.csv", "--rate", 0), "above 0"),
        (("a.csv", "--variable", "tauu"), "Did you mean 'tau'"),
        (("a.mot", "--variable", "q", "--variable", "tau"), "one variable"),
    ):
        found = kinetree("export", "slide.nc", *words)
        assert found.exit_code == 2 and message in " ".join(found.stderr.split()), found.stderr
