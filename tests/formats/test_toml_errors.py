"""Wrong mechanism files: each says where the fault is, what was found and what is allowed."""

from __future__ import annotations

import tomllib

import pytest

from kinetree.errors import FileError, ModelError
from kinetree.formats.toml_file import mechanism_from_table, mechanism_from_toml
from support.each import each

HEAD = (
    'name = "arm"\n\n[[body]]\nname = "base"\njoint = "fixed"\n\n[[body]]\nname = "upper"\n'  # upper: line 7
)
FIXED = HEAD + 'joint = "fixed"\n'
LOOP = FIXED + '[[loop]]\nname = "close"\n'  # line 10
UPPER = "arm.toml, line 7: body 'upper': "

BAD_FILES = {
    "empty": ("", FileError, ["arm.toml", "is empty", "[[body]]"]),
    "comment only": ("# nothing\n", FileError, ["is empty"]),
    "broken": ('name = "arm"\nmass = 2.0.0\n', FileError, ["line 2, column 11", "mass = 2.0.0"]),
    "broken at the end": (
        'name = "arm"\ngravity = [0, 0,',
        FileError,
        ["line 2, column 17", "gravity = [0, 0,"],
    ),
    "key twice": ('name = "a"\nname = "b"\n', FileError, ["line 2", "given twice", 'name = "b"']),
    "table twice": ("[dh]\n[dh]\n", FileError, ["line 2", "given twice"]),
    "inline key twice": (
        HEAD + "joint = { kind = 'x', kind = 'y' }",
        FileError,
        ["line 9", "Duplicate", "kind"],
    ),
    "inline table over lines": (HEAD + 'joint = { kind = "fixed"\n', FileError, ["line 9", "[body.joint]"]),
    "nested without end": ("a = " + "[" * 4000, FileError, ["nested"]),
    "number without end": ("a = " + "9" * 5000, FileError, ["long a number"]),
    "name missing": (
        "gravity = [0, 0, 0]\n",
        FileError,
        ["arm.toml: name is missing", "Name of the mechanism"],
    ),
    "no body": ('name = "arm"\n', FileError, ["neither [[body]] nor [dh]"]),
    "body and dh": (FIXED + "[dh]\nrow = []\n", FileError, ["both [[body]] and [dh]"]),
    "single brackets": ('name = "a"\n[body]\nname = "b"\n', FileError, ["body must be a list", "[[body]]"]),
    "body is no table": ('name = "a"\nbody = [3]\n', FileError, ["body[0] must be a table, got 3"]),
    "unknown key": (
        HEAD + 'joint = { kind = "revolute", axiss = "y" }',
        FileError,
        [UPPER, "body[1].joint.axiss", "unknown key 'axiss'", "Did you mean 'axis'?"],
    ),
    "unknown top key": ("nmae = 'x'\n", FileError, ["unknown key 'nmae'", "Did you mean 'name'?"]),
    "key below the wrong header": (
        HEAD + '[body.joint]\nkind = "fixed"\nmass = 2\n',
        FileError,
        ["body[1].joint.mass", "'mass' belongs to body[1]", "above"],
    ),
    "top key too late": (
        FIXED + "gravity = [0, 0, 0]\n",
        FileError,
        ["'gravity' belongs at the top of the file"],
    ),
    "joint missing": (HEAD, FileError, [UPPER, "body[1].joint is missing", '"fixed"']),
    "joint kind missing": (HEAD + 'joint = { axis = "y" }', FileError, ["joint.kind is missing", "revolute"]),
    "joint is a number": (HEAD + "joint = 3", FileError, ["body[1].joint must be", '"fixed"', "got 3"]),
    "unknown kind": (
        HEAD + 'joint = "revolut"',
        ModelError,
        [UPPER, "'revolut'", "Did you mean 'revolute'?"],
    ),
    "unknown axis": (
        HEAD + 'joint = { kind = "revolute", axis = "w" }',
        FileError,
        ["body[1].joint.axis", "'w'", "-x"],
    ),
    "axis of a ball": (
        HEAD + 'joint = { kind = "spherical", axis = "y" }',
        ModelError,
        [UPPER, "spherical joint takes no 'axis'"],
    ),
    "mass is text": (FIXED + 'mass = "2"', FileError, [UPPER + "body[1].mass must be a number, got '2'"]),
    "mass is true": (FIXED + "mass = true", FileError, ["body[1].mass must be a number", "True"]),
    "mass is a date": (FIXED + "mass = 2020-01-01", FileError, ["body[1].mass must be a number", "2020"]),
    "mass is nan": (FIXED + "mass = nan", FileError, [UPPER, "body[1].mass", "finite", "nan"]),
    "mass is infinite": (FIXED + "mass = inf", FileError, ["body[1].mass", "finite", "inf"]),
    "mass overflows": (FIXED + "mass = 1e999", FileError, ["body[1].mass", "finite", "inf"]),
    "mass is a huge integer": (FIXED + "mass = " + "9" * 400, FileError, ["body[1].mass", "larger integer"]),
    "mass negative": (FIXED + "mass = -1", ModelError, [UPPER + "mass must be >= 0 kg, got -1"]),
    "name is a number": (
        'name = 3\n[[body]]\nname = "b"\njoint = "free"',
        FileError,
        ["name must be a text", "3"],
    ),
    "name has a newline": (
        FIXED.replace('"upper"', '"a\\nb"'),
        ModelError,
        ["line 7", "body[1]", "control character"],
    ),
    "name empty": (
        'name = " "\n[[body]]\nname = "b"\njoint = "free"',
        ModelError,
        ["mechanism needs a name"],
    ),
    "short vector": (
        FIXED + "mass = 1\ncenter = [1, 2]",
        FileError,
        ["body[1].center", "3 numbers", "[1, 2]"],
    ),
    "vector of text": (FIXED + "center = ['x', 0, 0]", FileError, ["body[1].center", "number", "'x'"]),
    "gravity is a number": (
        "name = 'a'\ngravity = -9.81\n",
        FileError,
        ["gravity must be a list of 3", "-9.81"],
    ),
    "four inertias": (
        FIXED + "inertia = [1, 2, 3, 4]",
        FileError,
        ["body[1].inertia", "xx, yy, zz, xy, xz, yz"],
    ),
    "inertia without mass": (FIXED + "inertia = [1, 1, 1]", ModelError, [UPPER, "no mass"]),
    "impossible inertia": (
        FIXED + "mass = 1\ninertia = [1, 1, 3]",
        ModelError,
        [UPPER, "triangle", "allow_unphysical"],
    ),
    "two inertias": (
        FIXED + "mass = 1\nrod = { mass = 1, end = [1, 0, 0] }",
        ModelError,
        [UPPER, "give either", "mass, rod"],
    ),
    "rod without end": (FIXED + "rod = { mass = 1 }", FileError, ["body[1].rod.end is missing", "(m)"]),
    "rod of endless length": (
        FIXED + "rod = { mass = 1, end = [1e200, 0, 0] }",
        ModelError,
        [UPPER, "finite"],
    ),
    "switch is text": (
        FIXED + 'allow_unphysical = "yes"',
        FileError,
        ["allow_unphysical must be true or false", "yes"],
    ),
    "rotation twice": (
        HEAD + 'joint = { kind = "fixed", rpy = [0, 0, 0], rotation = [[1, 0, 0], [0, 1, 0], [0, 0, 1]] }',
        ModelError,
        [UPPER, "either a rotation matrix or roll-pitch-yaw"],
    ),
    "rotation that stretches": (
        HEAD + 'joint = { kind = "fixed", rotation = [[2, 0, 0], [0, 1, 0], [0, 0, 1]] }',
        ModelError,
        [UPPER, "orthonormal"],
    ),
    "flat rotation": (
        HEAD + 'joint = { kind = "fixed", rotation = [1, 0, 0] }',
        FileError,
        ["body[1].joint.rotation"],
    ),
    "degrees on a slider": (
        HEAD + 'joint = { kind = "prismatic", lower = "-90 deg" }',
        ModelError,
        [UPPER, "lower of a prismatic axis", "-90 deg"],
    ),
    "unknown angle": (
        HEAD + 'joint = { kind = "revolute", upper = "pi" }',
        FileError,
        ["joint.upper", '"90 deg"', "'pi'"],
    ),
    "limits crossed": (
        HEAD + 'joint = { kind = "revolute", lower = 1, upper = -1 }',
        ModelError,
        [UPPER, "lower limit 1 exceeds upper limit -1"],
    ),
    "limit is nan": (HEAD + 'joint = { kind = "revolute", lower = nan }', FileError, ["joint.lower", "nan"]),
    "infinite armature": (
        HEAD + 'joint = { kind = "revolute", armature = inf }',
        FileError,
        ["joint.armature", "inf"],
    ),
    "limits of too many axes": (
        HEAD + 'joint = { kind = "universal", lower = [0, 0, 0] }',
        ModelError,
        [UPPER, "lower must be one number or 2"],
    ),
    "mimics nobody": (
        HEAD + 'joint = { kind = "revolute", mimic = { joint = "elbow" } }',
        ModelError,
        ["arm.toml", "mimics 'elbow'"],
    ),
    "unknown parent": (
        FIXED + 'parent = "bse"',
        ModelError,
        ["line 7", "body 'upper'", "'bse'", "mean 'base'?"],
    ),
    "cycle": (FIXED + 'parent = "upper"', ModelError, ["arm.toml", "cycle", "upper -> upper"]),
    "same name": (FIXED.replace("base", "upper"), ModelError, ["arm.toml", "called 'upper'"]),
    "unknown shape": (FIXED + 'shapes = [{ kind = "bx", size = [1] }]', ModelError, [UPPER, "'bx'", "'box'"]),
    "shape of wrong size": (
        FIXED + 'shapes = [{ kind = "box", size = [1] }]',
        ModelError,
        [UPPER, "size of a box", "3"],
    ),
    "loop on one body": (
        LOOP + 'kind = "revolute"\na = { body = "base" }\nb = { body = "base" }',
        ModelError,
        ["arm.toml, line 10: loop 'close' connects body 'base' to itself"],
    ),
    "loop on no body": (
        LOOP + 'kind = "revolute"\na = { body = "base" }\nb = { body = "upr" }',
        ModelError,
        ["line 10", "loop 'close'", "'upr'", "mean 'upper'?"],
    ),
    "loop without ends": (
        LOOP + 'kind = "fixed"',
        FileError,
        ["line 10: loop 'close': loop[0].a is missing"],
    ),
    "contact on no body": (
        FIXED + '[[contact]]\nname = "toe"\nbody = "foot"',
        ModelError,
        ["line 10: contact point 'toe'", "'foot'", "base, upper"],
    ),
    "unknown DH key": (
        'name = "d"\n[dh]\n[[dh.row]]\na = 1\n[[dh.row]]\nalfa = 1\n',
        FileError,
        ["line 5", "dh.row[1].alfa", "Did you mean 'alpha'?"],
    ),
    "unknown DH convention": (
        'name = "d"\n[dh]\nconvention = "old"\n[[dh.row]]\n',
        ModelError,
        ["'old'", "classic"],
    ),
    "bad DH row": (
        'name = "d"\n[dh]\n[[dh.row]]\nmass = -1\n',
        ModelError,
        ["line 3", "DH row 0", "mass", "-1"],
    ),
    "empty DH table": ('name = "d"\n[dh]\nrow = []\n', ModelError, ["no bodies"]),
}


@each("case", BAD_FILES)
def test_wrong_files_say_what_is_wrong(case: str) -> None:
    text, kind, fragments = BAD_FILES[case]
    with pytest.raises(kind) as caught:
        mechanism_from_toml(text, source="arm.toml")
    message = str(caught.value)
    assert message.startswith("arm.toml")
    for fragment in fragments:
        assert fragment in message, message
    assert "pydantic" not in message and "Input should" not in message and "Value error" not in message


def test_all_faults_are_reported_at_once_but_not_too_many() -> None:
    with pytest.raises(FileError) as caught:
        mechanism_from_toml(FIXED + 'mass = "x"\ncenter = 3\nmas = 2\n')
    assert len(str(caught.value).splitlines()) == 3
    with pytest.raises(FileError, match=r"\.\.\. and 12 more"):
        mechanism_from_toml(FIXED + "".join(f"key{k} = 1\n" for k in range(20)))


def test_a_table_in_a_larger_file_is_named_by_its_source() -> None:
    table = tomllib.loads(FIXED + "mass = -1")
    with pytest.raises(
        ModelError, match=r"^study\.toml: mechanism: body 'upper': mass must be >= 0 kg, got -1$"
    ):
        mechanism_from_table(table, source="study.toml: mechanism")
    for wrong in (3, None, [table]):
        with pytest.raises(FileError, match="table"):
            mechanism_from_table(wrong)  # type: ignore[arg-type]
    with pytest.raises(FileError, match="text"):
        mechanism_from_toml(b"name = 'x'")  # type: ignore[arg-type]


def test_lines_are_left_out_where_they_cannot_be_known() -> None:
    text = 'name = "m"\nbody = [{ name = "b", joint = "fixed", mass = -1 }]\n'
    with pytest.raises(ModelError, match=r"^m\.toml: body 'b': mass"):
        mechanism_from_toml(text, "m.toml")
