"""Mechanism files that draw all joints as a graph."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.formats.toml_file import mechanism_from_toml
from kinetree.lint.toml import check_mechanism_toml
from support.each import each

TEXT = """
name = "four_bar"
gravity = [0, -9.81, 0]

[[body]]
name = "crank"
rod = { mass = 1.0, end = [0.3, 0, 0] }

[[body]]
name = "coupler"
rod = { mass = 2.0, end = [0.8, 0, 0] }

[[body]]
name = "rocker"
rod = { mass = 1.5, end = [0.6, 0, 0] }

[[joint]]
name = "O"
kind = "revolute"
a = { body = "world" }
b = { body = "crank" }

[[joint]]
name = "A"
kind = "revolute"
a = { body = "crank", at = [0.3, 0, 0] }
b = { body = "coupler" }
driven = false

[[joint]]
name = "B"
kind = "revolute"
a = { body = "coupler", at = [0.8, 0, 0] }
b = { body = "rocker", at = [0.6, 0, 0] }
driven = false
stiffness = 4.0
rest = "30 deg"

[[joint]]
name = "C"
kind = "revolute"
a = { body = "world", at = [0.9, 0, 0] }
b = { body = "rocker" }
driven = false

[[spring]]
name = "pull"
a = { body = "coupler", at = [0.4, 0, 0] }
b = { body = "world", at = [0.5, 1.0, 0] }
stiffness = 30.0
rest = 0.2
"""
CUT_C = TEXT.replace('name = "four_bar"', 'name = "four_bar"\ncut = ["C"]')


def in_python(cut):
    def pin(name, **more):
        return kt.Joint.of_kind(name, "revolute", **{"driven": False, **more})

    def at(x):
        return kt.Placement.at((x, 0, 0))

    rods = {"crank": (1.0, 0.3), "coupler": (2.0, 0.8), "rocker": (1.5, 0.6)}
    bodies = [kt.Body(name, kt.Inertia.rod(m, end=(x, 0, 0))) for name, (m, x) in rods.items()]
    joints = [
        kt.model.Loop(pin("O", driven=True), "world", "crank"),
        kt.model.Loop(pin("A"), "crank", "coupler", at(0.3)),
        kt.model.Loop(pin("B", stiffness=4.0, rest=np.radians(30.0)), "coupler", "rocker", at(0.8), at(0.6)),
        kt.model.Loop(pin("C"), "world", "rocker", at(0.9)),
    ]
    pull = kt.Spring("pull", "coupler", "world", (0.4, 0, 0), (0.5, 1.0, 0), 30.0, 0.0, 0.2)
    return kt.model.from_graph("four_bar", bodies, joints, cut=cut, gravity=(0, -9.81, 0), springs=[pull])


@pytest.mark.parametrize(("text", "cut"), [(TEXT, None), (CUT_C, ["C"])])
def test_the_file_is_the_graph_in_python(text, cut, tmp_path):
    path = tmp_path / "four_bar.toml"
    path.write_text(text)
    found, expected = kt.load(path), in_python(cut)
    assert found == expected
    assert found.joint_names == expected.joint_names
    assert [loop.name for loop in found.loops] == [loop.name for loop in expected.loops]
    kt.save(found, tmp_path / "tree.toml")  # as the tree that it has become
    assert kt.load(tmp_path / "tree.toml") == found
    assert check_mechanism_toml(text, "four_bar.toml") == []


BAD = {
    "unknown body": (
        TEXT.replace('b = { body = "crank" }', 'b = { body = "cranck" }'),
        ["line 17", "joint 'O'", "cranck", "crank"],
    ),
    "parent in a graph": (
        TEXT.replace('name = "rocker"\n', 'name = "rocker"\nparent = "crank"\n', 1),
        ["line 13", "body[2].parent", "unknown key"],
    ),
    "loop in a graph": (TEXT + '[[loop]]\nname = "x"\n', ["unknown key", "loop"]),
    "side missing": (TEXT.replace('b = { body = "coupler" }\n', ""), ["line 23", "joint[1].b is missing"]),
    "no such kind": (TEXT.replace('"revolute"', '"hinge"', 1), ["line 17", "hinge", "revolute"]),
    "no such cut": (CUT_C.replace('["C"]', '["D"]'), ["four_bar.toml", "'D'"]),
    "cut that is no loop": (CUT_C.replace('["C"]', '["C", "O"]'), ["four_bar.toml", "'crank'"]),
    "same name": (TEXT.replace('name = "C"', 'name = "B"'), ["line 39", "more than one joint", "'B'"]),
    "lone body": (TEXT + '[[body]]\nname = "lone"\n', ["line 52", "'lone'"]),
    "no bodies": ('name = "x"\n[[joint]]\nname = "j"\n', ["body is missing", "joint[0].kind is missing"]),
    "negative mass": (TEXT.replace("mass = 2.0", "mass = -2.0"), ["line 9", "body 'coupler'", "-2"]),
}


@each(("text", "words"), BAD.values(), ids=BAD)
def test_wrong_graphs_are_refused_with_their_lines(text, words):
    with pytest.raises(kt.KinetreeError) as error:
        mechanism_from_toml(text, "four_bar.toml")
    for word in words:
        assert word in str(error.value), str(error.value)
    assert check_mechanism_toml(text, "four_bar.toml")
