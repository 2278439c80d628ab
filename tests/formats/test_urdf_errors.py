"""Bad URDF: what changes the answer is refused, with file, line, element and value; the rest is said."""

import os
import re
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kinetree as kt
from kinetree.formats.urdf import load_urdf, mechanism_from_urdf
from support.each import each

DATA = Path(__file__).parent.parent / "data" / "urdf"
GOOD = """<robot name="r">
<link name="base"/>
<link name="upper">
  <inertial>
    <origin xyz="0 0 0.1" rpy="0 0 0"/>
    <mass value="2.5"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
  </inertial>
  <visual><geometry><cylinder radius="0.1" length="0.4"/></geometry></visual>
</link>
<link name="fore"/>
<joint name="shoulder" type="revolute">
  <parent link="base"/><child link="upper"/>
  <axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="10" velocity="2"/>
</joint>
<joint name="elbow" type="revolute">
  <parent link="upper"/><child link="fore"/>
  <mimic joint="shoulder" multiplier="2"/>
</joint>
</robot>
"""
ELBOW = '<parent link="upper"/><child link="fore"/>'
LOOP_HINT = r"a loop is described by a cut joint \(loop\) in a TOML file"


def changed(old, new):
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)


def refusal(text, strict=True):
    with pytest.raises(kt.KinetreeError) as caught:
        mechanism_from_urdf(text, source="arm.urdf", strict=strict)
    assert str(caught.value).startswith("arm.urdf")
    return caught.value


def test_the_good_text_is_good():
    assert mechanism_from_urdf(GOOD).joint_names == ("shoulder",)


CASES = [
    # numbers
    ('value="2.5"', 'value="nan"', "mass must be finite, got nan"),
    ('value="2.5"', 'value="inf"', "mass must be finite, got inf"),
    ('value="2.5"', 'value="-1"', "mass must be >= 0 kg, got -1"),
    ('value="2.5"', 'value="heavy"', "value must be a number, got 'heavy'"),
    ('value="2.5"', 'value="1,5"', "got '1,5'; write a decimal point, not a comma"),
    ('value="2.5"', 'value="1_5"', "value must be a number, got '1_5'"),
    ('value="2.5"', 'value=""', "value must be one number, got ''"),
    ('value="2.5"', 'value="1 2"', "value must be one number, got '1 2'"),
    ('ixx="1"', 'ixx="-1"', "inertia must be positive semidefinite"),
    ('izz="1"', 'izz="2.5"', "triangle inequality"),
    ('iyz="0"', 'iyz="nan"', "inertia must be finite"),
    ('xyz="0 0 1"', 'xyz="0 0 0"', "must not be the zero vector"),
    ('xyz="0 0 1"', 'xyz="0 1"', "xyz must be 3 numbers separated by blanks, got '0 1'"),
    ('xyz="0 0 1"', 'xyz="0,5 0 1"', "a decimal point"),
    ('xyz="0 0 1"', 'xyz="0 nan 1"', "xyz must be finite, got nan"),
    ('rpy="0 0 0"', 'rpy="0 0 inf"', "rpy must be finite"),
    ('lower="-1"', 'lower="2"', "lower = 2 is above upper = 1"),
    ('lower="-1"', 'lower="nan"', "lower must be finite"),
    ('lower="-1"', 'lower="inf"', "no position is between inf and 1"),
    ('effort="10"', 'effort="-10"', "effort must be >= 0, got -10"),
    ('multiplier="2"', 'multiplier="nan"', "mimic multiplier of 'shoulder' must be finite"),
    ('radius="0.1"', 'radius="-0.1"', "size of a cylinder must be >= 0 m"),
    # structure
    ('<mass value="2.5"/>', "", "a <mass> is missing"),
    ('<mass value="2.5"/>', "<mass>2.5</mass>", "<mass> needs the attribute 'value'"),
    ('<mass value="2.5"/>', '<mass value="1"/><mass value="2"/>', "there may be only one <mass>"),
    ('<mass value="2.5"/>', '<mas value="2.5"/>', "Did you mean 'mass'?"),
    ('iyz="0" ', "", "<inertia> needs the attribute 'iyz'"),
    ('<mass value="2.5"/>', '<mass val="2.5"/>', "unknown attribute 'val'"),
    ('<axis xyz="0 0 1"/>', '<axes xyz="0 0 1"/>', "Did you mean 'axis'?"),
    ('effort="10"', 'efort="10"', "Did you mean 'effort'?"),
    ("<cylinder ", "<cilinder ", "Did you mean 'cylinder'?"),
    ('<cylinder radius="0.1" length="0.4"/>', "", "<geometry> must hold one of box, cylinder"),
    ('<geometry><cylinder radius="0.1" length="0.4"/></geometry>', "", "a <geometry> is missing"),
    ('<link name="fore"/>', '<lnik name="fore"/>', "Did you mean <link>?"),
    ('<link name="fore"/>', '<Link name="fore"/>', "Did you mean <link>?"),
    ('<link name="fore"/>', '<link nam="fore"/>', "<link> needs the attribute 'name'"),
    ('<link name="fore"/>', '<link name=""/>', "name that is a non-empty text"),
    ('<robot name="r">', "<robot>", "<robot> needs the attribute 'name'"),
    # joints
    ('"elbow" type="revolute"', '"elbow" type="revolut"', "Did you mean 'revolute'?"),
    (
        '"elbow" type="revolute"',
        '"elbow" type="ball"',
        "revolute, continuous, prismatic, fixed, planar, floating",
    ),
    ('"elbow" type="revolute"', '"elbow"', "<joint> needs the attribute 'type'"),
    ('"elbow" type="revolute"', '"elbow" type="fixed"', "only one-DOF joints can mimic"),
    ('<parent link="upper"/>', "", "a <parent> is missing"),
    ('<child link="fore"/>', "", "a <child> is missing"),
    ('<parent link="upper"/>', "<parent/>", "<parent> needs the attribute 'link'"),
    ('<parent link="upper"/>', '<parent link="uper"/>', "Did you mean 'upper'?"),
    ('<child link="fore"/>', '<child link="form"/>', "Did you mean 'fore'?"),
    ('<mimic joint="shoulder"', '<mimic joint="sholder"', "Did you mean 'shoulder'?"),
    ('<mimic joint="shoulder"', '<mimic joint="elbow"', "mimic each other in a circle: elbow, elbow"),
    # tree
    ('<link name="fore"/>', '<link name="upper"/>', "two links are called 'upper', the first on line 3"),
    ('"elbow"', '"shoulder"', "two joints are called 'shoulder', the first on line 12"),
    ('<parent link="upper"/>', '<parent link="fore"/>', "link 'fore' is its own parent"),
    (
        ELBOW,
        '<parent link="base"/><child link="upper"/>',
        "two parents, by this joint and by joint 'shoulder'",
    ),
    (ELBOW, '<parent link="upper"/><child link="base"/>', "form a cycle"),
    ('<link name="fore"/>', '<link name="fore"/><link name="loose"/>', "2 links have no parent: base, loose"),
    ('<link name="fore"/>', '<link name="fore"/><link name="world"/>', "2 links have no parent: base, world"),
]


@each(("old", "new", "message"), CASES)
def test_one_mistake(old, new, message):
    text = changed(old, new)
    error = refusal(text)
    assert message in str(error)
    line = GOOD[: GOOD.index(old)].count("\n") + 1
    whole_file = "have no parent" in message
    cycle = "cycle" in message
    named = re.match(r"arm\.urdf, line (\d+), ", str(error))
    assert named, str(error)
    if not (whole_file or cycle):
        assert 0 <= line - int(named[1]) <= 3, str(error)  # the element itself or one that holds it


TOLERATED = (
    "inertia must be positive", "triangle", "a <mass> is missing", "Did you mean 'mass'", "<inertia> needs",
    "Did you mean 'axis'", "Did you mean 'effort'", "Did you mean 'cylinder'", "<geometry> must",
    "a <geometry>", "size of a cylinder", "<robot> needs", "only one-DOF", "Did you mean 'shoulder'",
    "lower = 2", "effort must",
)  # fmt: skip


@each(("old", "new"), [(old, new) for old, new, message in CASES if message.startswith(TOLERATED)])
def test_what_does_not_change_the_answer_is_one_warning(old, new):
    with pytest.warns(kt.KinetreeWarning) as heard:
        mechanism_from_urdf(changed(old, new), source="arm.urdf")
    (said,) = [str(x.message) for x in heard]
    assert said.startswith("arm.urdf: ") and "strict=True refuses" in said


@each(("old", "new", "message"), [case for case in CASES if not case[2].startswith(TOLERATED)])
def test_what_changes_the_answer_is_refused_by_everybody(old, new, message):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.KinetreeWarning)
        error = refusal(changed(old, new), strict=False)
    assert message in str(error) or "needs the attribute 'value'" in str(error)


def test_message_in_full():
    error = refusal(changed('value="2.5"', 'value="heavy"'))
    assert str(error) == "arm.urdf, line 6, <mass> of link 'upper': value must be a number, got 'heavy'"
    error = refusal(
        changed('<visual><geometry><cylinder radius="0.1" ', '<visual name="skin"><geometry><cylinder ')
    )
    assert str(error).startswith(
        "arm.urdf, line 9, <cylinder> of visual 'skin' of link 'upper': <cylinder> needs"
    )
    error = refusal(changed('lower="-1"', 'lower="2"'))
    limit = "arm.urdf, line 15, <limit> of joint 'shoulder'"
    assert str(error) == f"{limit}: lower = 2 is above upper = 1, which leaves no position"


def test_loops_point_to_the_cut_joint():
    for new in ('<parent link="base"/><child link="upper"/>', '<parent link="upper"/><child link="base"/>'):
        assert re.search(LOOP_HINT, str(refusal(changed(ELBOW, new))))


def test_cycle_apart_from_the_tree():
    extra = '<link name="x"/><link name="y"/>' + "".join(
        f'<joint name="{a}{b}" type="fixed"><parent link="{a}"/><child link="{b}"/></joint>'
        for a, b in ("xy", "yx")
    )
    assert "form a cycle: x, y, x" in str(refusal(changed("</robot>", extra + "</robot>")))


def test_circle_of_mimics():
    text = changed('<axis xyz="0 0 1"/>', '<mimic joint="elbow"/>')
    assert "in a circle: shoulder, elbow, shoulder" in str(refusal(text))


def test_mimic_of_a_joint_without_one_axis():
    text = changed('"shoulder" type="revolute"', '"shoulder" type="fixed"')
    assert "'elbow' mimics 'shoulder', which is not a one-DOF joint" in str(refusal(text))


def test_world_is_no_body():
    text = GOOD.replace('"fore"', '"world"')
    assert "line 11, link 'world': no body may be named 'world'" in str(refusal(text))
    assert "no body may be named 'world'" in str(
        refusal(GOOD.replace('"base"', '"x"').replace('"upper"', '"world"'))
    )


@each(
    ("text", "message"),
    [
        ("", "is empty"),
        (" \n\t", "is empty"),
        ("links: 3", "not well-formed XML"),
        ("\0\0\0", "not well-formed XML"),
        (GOOD[:200], "seems to be cut off"),
        (GOOD.replace("</robot>", ""), "seems to be cut off"),
        (GOOD + GOOD, "not well-formed XML"),
        ("<sdf/>", "the root element of a URDF file is <robot>, got <sdf>"),
        ('<robot name="r"/>', "there is no <link>"),
        ('<robot name="r"><link name="world"/></robot>', "has no bodies"),
        (
            '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:macro name="m"/></robot>',
            "there is no <link>",
        ),
        ("<robot name='\ud800'/>", "cannot be decoded"),
    ],
)
def test_text_that_is_no_robot(text, message):
    assert message in str(refusal(text))


def test_unknown_encoding(tmp_path):
    (tmp_path / "r.urdf").write_bytes(b'<?xml version="1.0" encoding="klingon"?><robot name="r"/>')
    with pytest.raises(kt.errors.FileError):
        load_urdf(tmp_path / "r.urdf")


def test_binary_file(tmp_path):
    (tmp_path / "r.urdf").write_bytes(bytes(range(256)) * 10)
    with pytest.raises(kt.errors.FileError, match="not well-formed XML"):
        load_urdf(tmp_path / "r.urdf")


# ---- files ------------------------------------------------------------------------------------


def test_missing_file_folder_and_strange_arguments(tmp_path):
    with pytest.raises(kt.errors.FileError, match=r"nothing\.urdf: no such file"):
        load_urdf(tmp_path / "nothing.urdf")
    with pytest.raises(kt.errors.FileError, match="is a folder"):
        load_urdf(tmp_path)
    with pytest.raises(kt.errors.FileError):
        load_urdf("x" * 5000)
    with pytest.raises(kt.errors.InputError, match="must be a text or a path, got None"):
        load_urdf(None)
    with pytest.raises(kt.errors.InputError, match="use load_urdf for files"):
        mechanism_from_urdf(DATA / "arm7.urdf")


def test_pipe_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.urdf")
    with pytest.raises(kt.errors.FileError, match="not a regular file"):
        load_urdf(tmp_path / "pipe.urdf")


def test_file_name_is_in_the_message(tmp_path):
    file = tmp_path / "my arm.urdf"
    file.write_text(changed('value="2.5"', 'value="-1"'))
    with pytest.raises(
        kt.errors.ModelError, match=re.escape(f"{file}, line 4, <inertial> of link 'upper': mass")
    ):
        load_urdf(file)


# ---- hostile XML ------------------------------------------------------------------------------

BOMB = (
    '<!DOCTYPE robot [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {x} "{f"&{y};" * 10}">' for x, y in zip("bcdefghij", "abcdefghi", strict=True))
    + ']><robot name="&j;"><link name="a"/></robot>'
)


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>',
        '<!DOCTYPE robot SYSTEM "http://example.org/robot.dtd"><robot name="r"><link name="a"/></robot>',
        '<!DOCTYPE robot [<!ENTITY % p SYSTEM "http://example.org/p"> %p;]><robot name="r"/>',
        '<!DOCTYPE robot><robot name="r"><link name="a"/></robot>',
    ],
)
def test_document_types_and_entities_are_refused(text):
    error = refusal(text)
    assert isinstance(error, kt.errors.FileError)
    assert "document type declarations and entities" in str(error)


def test_unknown_entity():
    assert "undefined entity" in str(refusal('<robot name="&x;"/>'))


def test_elements_nested_20000_deep():
    assert "nested deeper" in str(refusal("<robot name='r'>" + "<a>" * 20_000 + "</a>" * 20_000 + "</robot>"))


# ---- anything at all --------------------------------------------------------------------------


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damaged_text_gives_a_mechanism_or_a_kinetree_error(data):
    start = data.draw(st.integers(0, len(GOOD)))
    length = data.draw(st.integers(0, 12))
    insert = data.draw(
        st.sampled_from(["", "nan", "-", "9e999", '"', "<", "/>", "&#0;", "é", "link", " ", "1e308"])
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.KinetreeWarning)
        try:
            assert mechanism_from_urdf(GOOD[:start] + insert + GOOD[start + length :]).n_bodies >= 1
        except kt.KinetreeError as error:
            assert str(error)
