"""Kinds of joints: what follows from their axes, and that no other file knows them."""

import ast
from pathlib import Path

import pytest

import kinetree
from kinetree.model.joint_kind import KINDS
from support.each import each

PACKAGE = Path(kinetree.__file__).parent
HOME = "model/joint_kind.py"
OTHER_VOCABULARIES = {  # files in which the same words mean something else
    "formats/mjcf_actuators.py": "MJCF's names of gains",
    "formats/mjcf_bodies.py": "MJCF's names of joints",
    "formats/mjcf_compiled.py": "MJCF's names of joints",
    "formats/mjcf_contact.py": "MJCF's names of joints",
    "formats/mjcf_equality.py": "MJCF's names of equalities",
    "formats/sdf_elements.py": "SDF's names of joints",
    "formats/urdf_elements.py": "URDF's names of joints",
    "formats/urdf_loops.py": "the names of joints in robot.yaml",
    "formats/urdf_writer.py": "URDF's names of joints",
    "kernels/model_table.py": "the name of a column",
    "trajectories/tool_motions.py": "how the orientation of a tool goes",
}


@each(
    ("question", "kinds"),
    [
        ("is_fixed", "fixed"),
        ("is_free", "free"),
        ("is_turn", "revolute"),
        ("is_slide", "prismatic"),
        ("has_three_turns", "spherical free"),
        ("has_direction", "revolute prismatic cylindrical planar"),
        ("slides", "prismatic cylindrical planar free"),
        ("turns_in_a_plane", "revolute planar"),
    ],
)
def test_kinds_are_told_apart(question, kinds):
    assert {name for name, kind in KINDS.items() if getattr(kind, question)} == set(kinds.split())


def named_kinds(source):
    """(line, kind) of every kind that a file compares with or lists."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare():
                words = [node.left, *node.comparators]
            case ast.Dict():
                words = node.keys
            case ast.List() | ast.Tuple() | ast.Set():
                words = node.elts
            case ast.MatchValue():
                words = [node.value]
            case _:
                words = []
        for word in words:
            if isinstance(word, ast.Constant) and word.value in KINDS:
                yield node.lineno, word.value


def test_no_other_file_knows_the_kinds():
    files = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
    assert {HOME, *OTHER_VOCABULARIES} <= files.keys()
    assert [
        f"{name}, line {line}: '{kind}'"
        for name, path in files.items()
        if name not in (HOME, *OTHER_VOCABULARIES)
        for line, kind in named_kinds(path.read_text(encoding="utf-8"))
    ] == []


@pytest.mark.parametrize(
    "source",
    [
        'joint.kind == "free"',
        'joint.kind in ("revolute", "prismatic")',
        'LETTERS = {"universal": "u"}',
        'match kind:\n    case "planar":\n        pass',
    ],
)
def test_a_named_kind_is_found(source):
    assert list(named_kinds(source))


@pytest.mark.parametrize("source", ['Joint.of_kind("base", "free")', 'row = {"joint": "prismatic"}'])
def test_making_a_joint_may_name_its_kind(source):
    assert not list(named_kinds(source))
