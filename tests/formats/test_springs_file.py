"""Springs in files: TOML and back, messages with lines, what URDF forgets, what checks find."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import KinetreeError, KinetreeWarning
from kinetree.formats.toml_file import mechanism_from_toml, toml_text
from kinetree.formats.urdf_writer import urdf_text
from kinetree.lint.toml import check_mechanism_toml
from kinetree.model.suspicions import suspicions

TEXT = """name = "slide"
[[body]]
name = "block"
joint = { kind = "prismatic", axis = "x" }
mass = 2
[[spring]]
name = "coil"
stiffness = 50
rest = 0.25
damping = 3
a = { body = "world", at = [0, 0.1, 0] }
b = { body = "block" }
"""


def test_a_file_has_springs():
    robot = mechanism_from_toml(TEXT, "slide.toml")
    (spring,) = robot.springs
    assert (spring.name, spring.body_a, spring.body_b) == ("coil", "world", "block")
    assert (spring.stiffness, spring.damping, spring.rest) == (50.0, 3.0, 0.25)
    assert spring.point_a.tolist() == [0.0, 0.1, 0.0]


def test_springs_and_drives_of_cut_joints_are_written_and_read_again():
    robot = kt.zoo.four_bar()
    spring = kt.Spring("coil", "crank", "rocker", np.array([0.1, 1 / 3, 0]), stiffness=1 / 7, rest=0.1)
    driven = replace(robot.loops[0].joint, driven=(True,))
    robot = replace(robot, springs=(spring,), loops=(replace(robot.loops[0], joint=driven),))
    again = mechanism_from_toml(toml_text(robot), "four_bar.toml")
    assert again == robot
    assert again.springs[0].point_a.tolist() == spring.point_a.tolist()
    assert again != replace(robot, springs=())
    assert "driven" not in toml_text(kt.zoo.four_bar()).partition("[[loop]]")[2]


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("stiffness = 50", "stiffness = -50", "line 6: spring 'coil'.*stiffness must be >= 0"),
        ('b = { body = "block" }', 'b = { body = "blok" }', "line 6: spring 'coil': unknown body 'blok'"),
        ("stiffness = 50", "stifness = 50", "unknown key 'stifness'"),
        ("rest = 0.25", 'rest = "long"', "rest"),
        ('b = { body = "block" }', 'b = { body = "world" }', "connects body 'world' to itself"),
    ],
)
def test_wrong_springs_are_named_with_their_line(old, new, said):
    with pytest.raises(KinetreeError, match=said):
        mechanism_from_toml(TEXT.replace(old, new), "slide.toml")
    assert check_mechanism_toml(TEXT.replace(old, new), "slide.toml")


def test_urdf_says_that_it_forgets_springs():
    with pytest.warns(KinetreeWarning, match=r"springs between bodies \('?coil"):
        urdf_text(mechanism_from_toml(TEXT, "slide.toml"))


def test_a_spring_between_welded_bodies_is_doubtful():
    build = kt.Builder("pair")
    block = build.world.prismatic("rail").body("block", kt.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    block.fixed("weld", at=(0.1, 0, 0)).body("tip", kt.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    build.spring("idle", "block", "tip", stiffness=1.0)
    robot = build.build()
    assert "unused-spring" in {x.rule for x in suspicions(robot)}
    assert robot.fused().springs == ()


def test_springs_follow_their_bodies_to_another_root():
    build = kt.Builder("flyer", gravity=(0, 0, 0))
    trunk = build.world.free("base").body("trunk", kt.Inertia.box(2.0, (0.3, 0.2, 0.1)))
    trunk.revolute("hip", at=(0.1, 0, 0.05), axis="y").body("leg", kt.Inertia.rod(1.0, end=(0, 0, -0.4)))
    build.spring("bow", "trunk", "leg", (0.2, 0, 0), (0, 0.02, -0.2), stiffness=30.0, damping=2.0)
    robot = build.build()
    other = robot.rooted_at("leg")
    q, other_q = np.zeros(7), np.zeros(7)
    q[6] = other_q[other.joint_index("hip")] = 0.4
    assert np.isclose(kt.potential_energy(robot, q), kt.potential_energy(other, other_q))
