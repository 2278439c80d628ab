"""Mesh files that cannot be meant: not regular, not finite, cut off; the robot loads without them."""

import os
import struct
import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import FileError
from kinetree.formats.mesh_file import mesh_surfaces

CORNERS = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
URDF = (
    '<robot name="r"><link name="base"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    '<collision><geometry><mesh filename="{file}"/></geometry></collision></link></robot>'
)


def obj(corners):
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in FACES]
    return "\n".join(lines).encode()


def ascii_stl(corners):
    rows = [f"vertex {x} {y} {z}" for face in FACES for x, y, z in (corners[k] for k in face)]
    return "\n".join(["solid s", *rows, "endsolid"]).encode()


def binary_stl(corners):
    with np.errstate(over="ignore"):
        values = np.array([corners[k] for face in FACES for k in face], dtype=float).astype("<f4")
    records = [bytes(12) + values[3 * k : 3 * k + 3].tobytes() + bytes(2) for k in range(len(FACES))]
    return bytes(80) + struct.pack("<I", len(FACES)) + b"".join(records)


def loaded(folder, name, content):
    (folder / name).write_bytes(content)
    file = folder / "r.urdf"
    file.write_text(URDF.format(file=name))
    return kt.load(file, floating_base=True)


@pytest.mark.parametrize("value", ["nan", "inf", "-1e300"])
@pytest.mark.parametrize(
    ("name", "content", "where"),
    [("m.obj", obj, "line 3"), ("m.stl", ascii_stl, "line 3"), ("m.stl", binary_stl, "corner 2")],
)
def test_corners_that_are_not_finite(tmp_path, name, content, where, value):
    corners = [*CORNERS[:2], (0, float(value), 0), CORNERS[3]]
    with pytest.warns(kt.KinetreeWarning, match="contact of meshes that cannot be read"):
        robot = loaded(tmp_path, name, content(corners))
    assert robot.contact_points == ()
    (shape,) = robot.links[0].body.shapes
    with pytest.raises(FileError, match=rf"{name}, {where}: is at .*must be finite"):
        mesh_surfaces(shape)


@pytest.mark.parametrize(("name", "content"), [("m.obj", obj), ("m.stl", ascii_stl), ("m.stl", binary_stl)])
def test_sound_meshes_keep_their_corners(tmp_path, name, content):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = loaded(tmp_path, name, content(CORNERS))
    (surface,) = mesh_surfaces(robot.links[0].body.shapes[0])
    assert sorted(map(tuple, surface.corners.tolist())) == sorted(CORNERS)


SDF = (
    '<sdf version="1.9"><model name="m"><link name="b"><collision name="c"><geometry><mesh>'
    "<uri>pipe.stl</uri></mesh></geometry></collision></link></model></sdf>"
)
MJCF = (
    '<mujoco><asset><mesh name="m" file="pipe.stl"/></asset><worldbody><body><freejoint/>'
    '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
)
PICTURE = (
    '<mujoco><asset><texture name="t" type="2d" file="pipe.png"/></asset><worldbody><body><freejoint/>'
    '<geom size="1"/></body></worldbody></mujoco>'
)


@pytest.mark.parametrize(("suffix", "text"), [(".urdf", URDF.format(file="pipe.stl")), (".sdf", SDF)])
def test_pipes_are_no_meshes(tmp_path, suffix, text):
    """The opening of a pipe would wait for ever."""
    os.mkfifo(tmp_path / "pipe.stl")
    file = tmp_path / f"r{suffix}"
    file.write_text(text)
    with pytest.warns(kt.KinetreeWarning, match="contact of meshes that cannot be read"):
        robot = kt.load(file, floating_base=True)
    with pytest.raises(FileError, match="not a regular file"):
        mesh_surfaces(robot.links[0].body.shapes[0])
    with pytest.warns(kt.KinetreeWarning, match="not a regular file"):
        kt.draw(robot)


@pytest.mark.parametrize(("name", "text"), [("pipe.stl", MJCF), ("pipe.png", PICTURE)])
def test_pipes_are_no_assets_of_mjcf(tmp_path, name, text):
    pytest.importorskip("mujoco")
    os.mkfifo(tmp_path / name)
    (tmp_path / "r.xml").write_text(text)
    with pytest.raises(FileError, match="not a regular file"):
        kt.load(tmp_path / "r.xml")


def test_pipes_are_no_files_anywhere(tmp_path):
    """Models, parts of models, studies, tables, code and results."""
    for suffix in (".toml", ".urdf", ".sdf", ".xml", ".xacro", ".nc", ".csv", ".py"):
        os.mkfifo(tmp_path / f"pipe{suffix}")
    for suffix in (".toml", ".urdf", ".sdf", ".xml", ".xacro"):
        with pytest.raises(FileError, match="not a regular file"):
            kt.load(tmp_path / f"pipe{suffix}")
    (tmp_path / "a.sdf").write_text(
        '<sdf version="1.9"><model name="m"><include><uri>pipe.sdf</uri></include><link name="b"/></model>'
        "</sdf>"
    )
    (tmp_path / "a.xml").write_text('<mujoco><include file="pipe.xml"/></mujoco>')
    for suffix in (".sdf", ".xml"):
        with pytest.raises(FileError, match="not a regular file"):
            kt.load(tmp_path / f"a{suffix}")
    with pytest.raises(FileError, match="not a regular file"):
        kt.load_result(tmp_path / "pipe.nc")
    with pytest.raises(FileError, match="not a regular file"):
        kt.run(tmp_path / "pipe.toml")
    study = '[study]\ntask = "inverse"\nduration = 1.0\n[mechanism]\nzoo = "two_link"\n[trajectory]\n'
    (tmp_path / "table.toml").write_text(study + 'kind = "file"\nfile = "pipe.csv"\n')
    with pytest.raises(FileError, match="not a regular file"):
        kt.run(tmp_path / "table.toml")
    (tmp_path / "code.toml").write_text(
        'torque = "pipe.py:law"\n[study]\ntask = "simulate"\nduration = 0.1\n[mechanism]\nzoo = "two_link"\n'
    )
    with pytest.raises(kt.KinetreeError, match="not a regular file"):
        kt.run(tmp_path / "code.toml", allow_code=["pipe.py"])


def test_names_of_included_models_can_be_too_long(tmp_path):
    include = f"<include><uri>{'x' * 5000}</uri></include>"
    (tmp_path / "a.sdf").write_text(
        f'<sdf version="1.9"><model name="m">{include}<link name="b"/></model></sdf>'
    )
    with pytest.raises(FileError, match="too long"):
        kt.load(tmp_path / "a.sdf")
