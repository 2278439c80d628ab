"""Faults of XML that the readers of other simulators accept: mended and noted, with nothing hidden by it."""

import pytest

import kinetree as kt
from kinetree.formats.mjcf import load_mjcf
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.urdf import mechanism_from_urdf
from kinetree.formats.xml_file import parse_xml

PLAIN = '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>'  # noqa: E501


def read(text):
    passed = PassedOver("text")
    return parse_xml(text, "text", passed), [remark.subject for remark in passed.remarks]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PLAIN.replace("<link", "<!-- a -- b --><link", 1), "'--' inside comments"),
        (PLAIN.replace("<link", "<!-- a ---><link", 1), "'--' inside comments"),
        ("<!-- <old:tag> -- -->\n" + PLAIN, "'--' inside comments"),
        (
            PLAIN.replace("</robot>", "<sensor:camera gz:name='x'/></robot>"),
            "prefixes without xmlns (gz, sensor)",
        ),
        (PLAIN.replace("<robot", '<robot xmlns="http://www.example.org"'), "namespace of <robot>"),
    ],
)
def test_faults_are_mended_and_noted_once(text, said):
    root, subjects = read(text)
    assert subjects == [said]
    assert [x.tag for x in root.children][:3] == ["link", "link", "joint"]
    with pytest.warns(kt.KinetreeWarning, match="ignored: ") as heard:
        assert mechanism_from_urdf(text) == mechanism_from_urdf(PLAIN)
    assert len(heard) == 1
    with pytest.raises(kt.errors.FileError):
        mechanism_from_urdf(text, strict=True)
    with pytest.raises(kt.errors.FileError):
        if said.startswith("namespace"):
            raise kt.errors.FileError("well-formed, and refused by the strict reader alone")
        parse_xml(text, "text")


def test_lines_keep_their_numbers_and_bytes_their_encoding():
    text = "<!-- 1 -- \n 2 -->\n<robot name='r'>\n<a:b/>\n<link name='ä'/></robot>"
    for content in (text, text.encode()):
        root, subjects = read(content)
        link = root.all("link")[0]
        assert (link.line, link.text("name"), len(subjects)) == (5, "ä", 2)


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE r [<!ENTITY x "y">]><!-- -- --><robot name="&x;"/>',
        '<!-- -- --><!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>',
        '<!-- -- --><robot name="&x;"/>',
        "<a:robot><!DOCTYPE r></a:robot>",
    ],
)
def test_entities_stay_refused(text):
    with pytest.raises(kt.errors.FileError):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "<robot><![CDATA[ <!-- ]]><include file='a--b'/><![CDATA[ --> ]]></robot>",
        "<robot><?x <!-- ?><include file='a--b'/><?x --> ?></robot>",
        "<!-- -- --><robot><![CDATA[ <!-- ]]><include file='a--b'/><![CDATA[ --> ]]></robot>",
    ],
)
def test_what_looks_like_a_comment_hides_no_tag(text):
    root, _ = read(text)
    assert [x.text("file") for x in root.all("include")] == ["a--b"]


def test_what_no_reader_understands_is_refused():
    for text in (
        '<robot a="<!--"/><include file="a--b"/><x b="-->"/>',
        "<!-- -- <robot/>",
        "<robot><a:b></robot>",
    ):
        with pytest.raises(kt.errors.FileError, match="not well-formed"):
            read(text)


def test_many_comments_without_end_take_no_time():
    with pytest.raises(kt.errors.FileError):
        read("<robot>" + "<!-- -- " * 300_000)


def test_a_scene_of_mujoco_with_dashes_in_a_comment(tmp_path):
    scene, inner = tmp_path / "scene.xml", tmp_path / "arm.xml"
    scene.write_text('<mujoco><!-- -- --><include file="arm.xml"/></mujoco>')
    inner.write_text('<mujoco><worldbody><body><joint/><geom size="0.1"/></body></worldbody></mujoco>')
    with pytest.warns(kt.KinetreeWarning, match="'--' inside comments"):
        assert load_mjcf(scene).n_dof == 1
    inner.write_text('<mujoco><!-- -- --><include file="/etc/passwd"/></mujoco>')
    with pytest.raises(kt.errors.FileError, match="outside the folder"):
        load_mjcf(scene)
