"""MJCF files that are missing, malformed, malicious or not a mechanism."""

import os
from pathlib import Path

import pytest

import kinetree as kt
from kinetree.formats.mjcf import load_mjcf, mechanism_from_mjcf
from support.each import each

pytest.importorskip("mujoco")
pytestmark = pytest.mark.peers
DATA = Path(__file__).parent.parent / "data" / "mjcf"
BODY = "<body name='bob'><joint name='h'/><geom size='0.1'/></body>"


def model(inside, world=BODY):
    return f"<mujoco>\n{inside}\n<worldbody>{world}</worldbody></mujoco>"


def body(inertial="", joint="<joint name='h'/>", attributes=""):
    mass = inertial or "<geom size='0.1'/>"
    return model("", f"<body name='bob' {attributes}>{joint}{mass}</body>")


NOT_MODELS = {
    "": "text is empty",
    "   \n": "text is empty",
    "not xml": "not well-formed XML",
    "<mujoco><worldbody>": "not well-formed XML",
    "<robot name='r'><link name='a'/></robot>": "line 1, .*<mujoco>, got <robot>",
    "<!DOCTYPE mujoco [<!ENTITY a 'b'>]><mujoco/>": "document type declarations",
    "<mujoco><option xmlns='http://example.com'/></mujoco>": "no namespaces",
    model("<wrold/>"): "MuJoCo refuses it: .*unrecognized element.*'wrold', line 2",
    model("<option gravity='1 2'/>"): "MuJoCo refuses it: .*'gravity'.*'option', line 2",
    model("", "<body><joint/></body>"): "MuJoCo refuses it: .*mass and inertia.*line 3",
    model("", BODY + BODY): "MuJoCo refuses it: .*repeated name 'bob'",
    model("", "<body><joint axis='0 0 0'/><geom size='1'/></body>"): "MuJoCo refuses it: .*axis too small",
    body("<inertial pos='0 0 0' mass='1' diaginertia='1 1 9'/>"): "MuJoCo refuses it: .*A \\+ B >= C",
    body("<inertial pos='0 0 0' mass='nan' diaginertia='1 1 1'/>"): "<inertial> of body 'bob': mass .*'nan'",
    body(attributes="pos='0 NaN 0'"): "line 3, body 'bob': pos must be numbers, got '0 NaN 0'",
}


@each("text", NOT_MODELS)
def test_a_text_that_is_no_model_is_refused_with_the_place(text):
    with pytest.raises(kt.errors.FileError, match=NOT_MODELS[text]):
        mechanism_from_mjcf(text)


NOT_MECHANISMS = {
    "<mujoco/>": "robot: mechanism 'robot' has no bodies",
    body("<inertial pos='0 0 0' mass='inf' diaginertia='1 1 1'/>"): "robot: body 'bob': mass must be finite",
    body("<inertial pos='0 inf 0' mass='1' diaginertia='1 1 1'/>"): "robot: body 'bob': .* must be finite",
    body(attributes="pos='inf 0 0'"): "robot: body 'bob': position must be finite, got inf",
    body(joint="<joint name='h' stiffness='-1'/>"): "robot: joint 'h': stiffness must be >= 0",
    body(joint="<joint name='h' armature='-1'/>"): "robot: joint 'h': armature must be >= 0",
    body(joint="<joint name='h' damping='-2'/>"): "robot: joint 'h': viscous must be >= 0",
    body(joint="<joint name='h' type='slide' ref='inf'/>"): "robot: joint 'h': ref must be finite",
    body(joint="<joint name='h' pos='0 0 inf'/>"): "robot: joint 'h': pos must be finite",
    body(attributes="quat='1 0 inf 0'"): "robot: body 'bob': rotation must be finite",
    model("", BODY.replace("size", "pos='0 0 inf' size")): "robot: body 'bob': .* must be finite",
    model("<option gravity='0 0 inf'/>"): "robot: gravity must be finite",
}


@each("text", NOT_MECHANISMS)
def test_a_model_that_is_no_mechanism_is_refused_with_its_part(text):
    with pytest.raises(kt.errors.ModelError, match=NOT_MECHANISMS[text]):
        mechanism_from_mjcf(text, source="robot")


def test_a_text_may_not_refer_to_files():
    for reference in ("<include file='a.xml'/>", "<asset><mesh file='a.stl'/></asset>"):
        with pytest.raises(kt.errors.FileError, match=r"text, line 2.*may not refer to a file"):
            mechanism_from_mjcf(model(reference))


@pytest.mark.parametrize("value", [None, b"<mujoco/>", 3])
def test_a_text_must_be_a_text(value):
    with pytest.raises(kt.errors.InputError, match="must be a text"):
        mechanism_from_mjcf(value)


def test_a_path_must_lead_to_a_file(tmp_path):
    with pytest.raises(kt.errors.FileError, match="must be a text or a Path, got 5"):
        load_mjcf(5)
    with pytest.raises(kt.errors.FileError, match=r"absent\.xml: no such file"):
        load_mjcf(tmp_path / "absent.xml")
    with pytest.raises(kt.errors.FileError, match="is a folder"):
        load_mjcf(tmp_path)
    (tmp_path / "empty.xml").touch()
    with pytest.raises(kt.errors.FileError, match=r"empty\.xml is empty"):
        load_mjcf(tmp_path / "empty.xml")
    (tmp_path / "latin.xml").write_bytes("<mujoco model='Gerät'/>".encode("latin-1"))
    with pytest.raises(kt.errors.FileError, match=r"latin\.xml, line 1: is not UTF-8 text"):
        load_mjcf(tmp_path / "latin.xml")


def test_a_path_may_be_a_text_and_the_model_is_called_like_the_file(tmp_path):
    (tmp_path / "pendulum.xml").write_text("\ufeff" + model(""), encoding="utf-8")
    assert load_mjcf(str(tmp_path / "pendulum.xml")).name == "pendulum"


# ---- files that a model refers to ----------------------------------------------------------------------


@pytest.fixture
def house(tmp_path):
    """A folder with a model in it, and beside it a folder with what the model must not read."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, inside / "sub", outside):
        folder.mkdir()
        (folder / "part.xml").write_text(f"<mujoco><worldbody>{BODY}</worldbody></mujoco>")
        (folder / "mesh.obj").write_text((DATA / "parts" / "wedge.obj").read_text())
    return inside


ESCAPES = [
    "<include file='../outside/part.xml'/>",
    "<include file='..\\outside\\part.xml'/>",
    "<include file='sub/../../outside/part.xml'/>",
    "<include file='{outside}/part.xml'/>",
    "<include file='link/part.xml'/>",
    "<include file='link/../outside/part.xml'/>",
    "<include file='sub/leads_out.xml'/>",
    "<include file='../outside/absent.xml'/>",
    "<asset><mesh file='../outside/mesh.obj'/></asset>",
    "<asset><mesh file='{outside}/mesh.obj'/></asset>",
    "<compiler meshdir='../outside'/><asset><mesh file='mesh.obj'/></asset>",
    "<compiler assetdir='{outside}'/><asset><texture type='2d' file='mesh.obj'/></asset>",
    "<asset><texture type='cube' fileup='../outside/mesh.obj'/></asset>",
    "<asset><hfield name='f' size='1 1 1 1' file='../outside/mesh.obj'/></asset>",
    "<asset><model name='m' file='../outside/part.xml'/></asset>",
]


@pytest.mark.parametrize("reference", ESCAPES)
def test_no_file_outside_the_folder_is_read(house, reference):
    outside = house.parent / "outside"
    os.symlink(outside, house / "link")
    (house / "sub" / "leads_out.xml").write_text(model("<include file='../../outside/part.xml'/>", ""))
    (house / "main.xml").write_text(model(reference.format(outside=outside), ""))
    with pytest.raises(kt.errors.FileError, match="is outside the folder"):
        load_mjcf(house / "main.xml", strict=True)
    if "link" in reference or "{outside}" in reference:
        with pytest.raises(kt.errors.FileError, match="is outside the folder"):
            load_mjcf(house / "main.xml")


def test_relative_paths_may_lead_some_folders_up(house):
    deep = house / "a" / "b" / "c" / "d"
    deep.mkdir(parents=True)
    (house / "sub" / "main.xml").write_text(model("<include file='../part.xml'/>", ""))
    (deep / "main.xml").write_text(model("<include file='../../../../part.xml'/>", ""))
    (deep / "far.xml").write_text(model("<include file='../../../../../outside/part.xml'/>", ""))
    (deep / "odd.xml").write_text(model("<include file='../../part.txt'/>", ""))
    (house / "a" / "b" / "part.txt").write_text("secret")
    for file in (house / "sub" / "main.xml", deep / "main.xml"):
        assert load_mjcf(file).body_names == ("bob",)
    for name in ("far.xml", "odd.xml"):
        with pytest.raises(kt.errors.FileError, match="is outside the folder") as caught:
            load_mjcf(deep / name)
        assert "secret" not in str(caught.value)


def test_a_mesh_that_is_not_there_stops_nothing_unless_it_has_mass(house):
    asset = "<asset><mesh name='skin' file='nowhere.obj'/><texture type='2d' name='t' file='no.png'/>"
    asset += "<material name='paint' texture='t'/></asset>"
    with_mass = BODY.replace("<geom size='0.1'/>", "<geom type='mesh' mesh='skin' material='paint'/>")
    inertial = "<inertial pos='0 0 0.1' mass='2' diaginertia='0.1 0.1 0.1'/>"
    assert with_mass != BODY
    (house / "main.xml").write_text(f"<mujoco>{asset}<worldbody>{with_mass}</worldbody></mujoco>")
    with pytest.raises(kt.errors.FileError, match="'skin' is missing, and body 'bob' has its mass from it"):
        load_mjcf(house / "main.xml")
    given = with_mass.replace("<geom", f"{inertial}<geom")
    (house / "main.xml").write_text(f"<mujoco>{asset}<worldbody>{given}</worldbody></mujoco>")
    with pytest.warns(kt.KinetreeWarning, match=r"missing meshes and textures \(nowhere\.obj, no\.png\)"):
        bob = load_mjcf(house / "main.xml").link("bob").body
    assert (bob.inertia.mass, bob.shapes) == (2.0, ())
    with pytest.raises(kt.errors.FileError, match="MuJoCo refuses it"):
        load_mjcf(house / "main.xml", strict=True)


@pytest.mark.parametrize(
    "reference",
    [
        "<include file='sub/part.xml'/>",
        "<include file='sub/../part.xml'/>",
        "<include file='{inside}/sub/part.xml'/>",
        "<include file='../inside/part.xml'/>",
        "<include file='sub/leads_up.xml'/>",
    ],
)
def test_files_inside_the_folder_are_read(house, reference):
    (house / "sub" / "leads_up.xml").write_text(model("<include file='../part.xml'/>", ""))
    (house / "main.xml").write_text(model(reference.format(inside=house), ""))
    assert load_mjcf(house / "main.xml").body_names == ("bob",)


def test_a_folder_around_the_file_may_be_given(house):
    text = model("<compiler meshdir='..'/><asset><mesh name='m' file='mesh.obj'/></asset>")
    text = text.replace("<geom size='0.1'/>", "<geom type='mesh' mesh='m'/>")
    (house / "sub" / "main.xml").write_text(text)
    with pytest.raises(kt.errors.FileError, match=r"mesh\.obj' is outside the folder '.*sub'"):
        load_mjcf(house / "sub" / "main.xml", strict=True)
    (shape,) = load_mjcf(house / "sub" / "main.xml").links[0].body.shapes
    assert shape.file == (house / "mesh.obj").as_posix()
    (shape,) = load_mjcf(house / "sub" / "main.xml", folder=house).links[0].body.shapes
    assert shape.file == "mesh.obj"
    with pytest.raises(kt.errors.FileError, match="is not inside the given folder"):
        load_mjcf(house / "main.xml", folder=house / "sub")


def test_an_include_in_a_circle_is_refused(house):
    (house / "main.xml").write_text(model("<include file='other.xml'/>"))
    (house / "other.xml").write_text(model("<include file='main.xml'/>", ""))
    with pytest.raises(
        kt.errors.FileError, match=r"other\.xml, line 2, .*includes itself: .*main.xml' -> .*other.xml'"
    ):
        load_mjcf(house / "main.xml")


def test_an_included_file_is_checked_like_the_main_one(house):
    (house / "main.xml").write_text(model("<include file='other.xml'/>"))
    with pytest.raises(kt.errors.FileError, match=r"main\.xml, line 2, .*there is no file '.*other\.xml'"):
        load_mjcf(house / "main.xml")
    for text, message in (
        ("", "is empty"),
        ("<!DOCTYPE mujoco><mujoco/>", "document type"),
        (model("<option timestep='nan'/>", ""), "timestep must be numbers"),
        (model("<opton/>", ""), "MuJoCo refuses it: .*'opton'"),
    ):
        (house / "other.xml").write_text(text)
        with pytest.raises(kt.errors.FileError, match=message):
            load_mjcf(house / "main.xml")


def test_nothing_is_written_to_the_working_folder(house, monkeypatch):
    monkeypatch.chdir(house)
    before = sorted(os.listdir(house))
    for bad in (body(attributes="pos='0 nan 0'"), *NOT_MECHANISMS):
        with pytest.raises(kt.KinetreeError):
            mechanism_from_mjcf(bad)
    assert sorted(os.listdir(house)) == before
