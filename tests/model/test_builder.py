"""The builder makes what one would write by hand."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.model.joint_kind import KINDS
from support.cases import assert_close
from support.each import each

ROD = kt.Inertia.rod(1.0, (1.0, 0.0, 0.0))


def test_the_builder_writes_links():
    arm = kt.Builder("arm", gravity=(0, -1, 0))
    upper = arm.world.revolute("shoulder", at=(0, 0, 1), axis="y", lower=-1).body(
        "upper", ROD, [kt.model.Shape("sphere", (1,))]
    )
    upper.prismatic("slide", rpy=(0.1, 0.2, 0.3), axis=(1, 1, 0)).body("fore")
    by_hand = kt.Mechanism(
        "arm",
        (
            kt.model.Link(
                kt.Body("upper", ROD, (kt.model.Shape("sphere", (1,)),)),
                kt.Joint.of_kind("shoulder", "revolute", axis="y", lower=-1),
                "world",
                kt.Placement.at((0, 0, 1)),
            ),
            kt.model.Link(
                kt.Body("fore"),
                kt.Joint.of_kind("slide", "prismatic", axis=(1, 1, 0)),
                "upper",
                kt.Placement.at(rpy=(0.1, 0.2, 0.3)),
            ),
        ),
        (0, -1, 0),
    )
    assert arm.build() == by_hand


@each("kind", KINDS)
def test_every_kind_has_a_method(kind):
    one, other = kt.Builder("m"), kt.Builder("m")
    getattr(one.world, kind)("j", at=(1, 2, 3)).body("b", ROD)
    other.world.joint("j", kind, at=(1, 2, 3)).body("b", ROD)
    assert one.build() == other.build()
    assert one.build().links[0].joint.kind == kind


def test_loops_and_contact_points():
    robot = kt.Builder("four-bar")
    a = robot.world.revolute("a").body("crank", ROD)
    b = (
        a.revolute("b", at=(1, 0, 0))
        .body("coupler", ROD)
        .contact("tip", (1, 0, 0))
        .contact("middle", (0.5, 0, 0))
    )
    robot.loop("cut", b, robot.world, at_a=(1, 0, 0), at_b=(2, 0, 0))
    robot.loop("weld", "crank", "world", kind="fixed", rotation_b=np.diag([1, -1, -1]))
    mechanism = robot.build()
    cut, weld = mechanism.loops
    assert (cut.body_a, cut.body_b, cut.n_constraints) == ("coupler", "world", 5)
    assert_close(cut.placement_a.position, [1, 0, 0])
    assert_close(cut.placement_b.position, [2, 0, 0])
    assert (weld.body_a, weld.body_b, weld.n_constraints) == ("crank", "world", 6)
    assert_close(weld.placement_b.rotation, np.diag([1, -1, -1]))
    assert [p.name for p in mechanism.contact_points] == ["tip", "middle"]
    assert mechanism.contact_points[0].body == "coupler"


def test_building_twice_gives_equal_mechanisms_and_goes_on():
    robot = kt.Builder("m")
    a = robot.world.revolute("a").body("a", ROD)
    first, second = robot.build(), robot.build()
    assert first == second and first is not second
    a.revolute("b").body("b", ROD)
    assert robot.build().n_bodies == 2 and first.n_bodies == 1


def test_errors_come_when_the_line_is_written():
    robot = kt.Builder("m")
    with pytest.raises(kt.errors.ModelError, match="joint 'hip': position must be a vector of 3"):
        robot.world.revolute("hip", at=(0, 0))
    with pytest.raises(kt.errors.ModelError, match="joint 'hip': rotation must be a right-handed"):
        robot.world.revolute("hip", rotation=np.diag([1, 1, -1]))
    with pytest.raises(kt.errors.ModelError, match="joint 'hip': unknown joint kind 'hinge'"):
        robot.world.joint("hip", "hinge")
    with pytest.raises(kt.errors.ModelError, match="unknown joint parameter 'damping'"):
        robot.world.revolute("hip", damping=1.0)
    with pytest.raises(
        kt.errors.ModelError, match=r"joint 'hip': its place in the parent body is at=\(x, y, z\)"
    ):
        robot.world.revolute("hip", origin=(0, 0, 1))
    with pytest.raises(kt.errors.ModelError, match="loop 'cut', body b: position must be finite"):
        robot.loop("cut", "a", "b", at_b=(0, 0, np.nan))
    with pytest.raises(kt.errors.ModelError, match="no body may be named 'world'"):
        robot.world.revolute("hip").body("world")


def test_one_joint_carries_one_body():
    robot = kt.Builder("m")
    hip = robot.world.revolute("hip")
    hip.body("a", ROD)
    hip.body("b", ROD)
    with pytest.raises(kt.errors.ModelError, match="called 'hip'"):
        robot.build()


def test_an_empty_builder():
    with pytest.raises(kt.errors.ModelError, match="mechanism 'm' has no bodies"):
        kt.Builder("m").build()
    with pytest.raises(kt.errors.ModelError, match="a mechanism needs a name"):
        robot = kt.Builder("")
        robot.world.revolute("a").body("a")
        robot.build()


def test_a_contact_on_the_ground_itself():
    robot = kt.Builder("m")
    robot.world.contact("spot").revolute("a").body("a")
    with pytest.raises(kt.errors.ModelError, match="contact point 'spot': unknown body 'world'"):
        robot.build()
