"""Kinematic modules of [Shah2013], section 4.1: serial chains that emerge from the last link of their
parent."""

import pytest

import kinetree as kt
from kinetree.model.modules import Module
from support.each import each
from support.refused import refused

ROD = kt.Inertia.rod(1.0, (1.0, 0.0, 0.0))


def tree(*edges, base="revolute"):
    """A mechanism from (body, parent) pairs; the first body hangs on the given joint."""
    links = [
        kt.model.Link(
            kt.Body(body, ROD), kt.Joint.of_kind(f"j {body}", base if k == 0 else "revolute"), parent
        )
        for k, (body, parent) in enumerate(edges)
    ]
    return kt.Mechanism("m", tuple(links))


def gripper():
    """One arm of two links that carries a finger of two links and a finger of one."""
    return tree(("arm", "world"), ("palm", "arm"), ("left1", "palm"), ("left2", "left1"), ("right", "palm"))


def test_modules_of_a_gripper():
    assert gripper().modules == (
        Module(0, (), None),
        Module(1, ("arm", "palm"), 0),
        Module(2, ("left1", "left2"), 1),
        Module(3, ("right",), 1),
    )


def test_a_floating_base_is_module_zero():
    robot = tree(
        ("trunk", "world"), ("l1", "trunk"), ("l2", "l1"), ("r1", "trunk"), ("r2", "r1"), base="free"
    )
    assert robot.modules == (
        Module(0, ("trunk",), None),
        Module(1, ("l1", "l2"), 0),
        Module(2, ("r1", "r2"), 0),
    )


def test_two_floating_bodies_are_no_base():
    links = [kt.model.Link(kt.Body(x, ROD), kt.Joint.of_kind(f"j {x}", "free")) for x in "ab"]
    modules = kt.Mechanism("m", tuple(links)).modules
    assert modules == (Module(0, (), None), Module(1, ("a",), 0), Module(2, ("b",), 0))


def test_a_chain_is_one_module_and_a_star_is_many():
    names = [f"b{k}" for k in range(2000)]
    serial = tree(*zip(names, ["world", *names], strict=False))
    assert len(serial.modules) == 2 and serial.modules[1].bodies == tuple(names)
    star = tree(("hub", "world"), *[(f"arm{k}", "hub") for k in range(50)])
    assert [m.parent for m in star.modules] == [None, 0] + [1] * 50


def test_numbers_grow_outward_whatever_the_order_of_bodies():
    robot = tree(("a", "world"), ("b", "a"), ("c", "a"), ("d", "b"), ("e", "b"), ("f", "c"))
    modules = robot.modules
    assert [m.number for m in modules] == list(range(len(modules)))
    assert all(m.parent is None or m.parent < m.number for m in modules)
    assert sorted(x for m in modules for x in m.bodies) == list("abcdef")
    assert {m.bodies for m in modules} == {(), ("a",), ("b",), ("d",), ("e",), ("c", "f")}


def test_a_partition_of_the_users_own():
    """Chains may be cut finer than necessary, in any order."""
    modules = gripper().partition([["right"], ["left2"], ["palm"], ["arm"], ["left1"]])
    assert modules == (
        Module(0, (), None),
        Module(1, ("arm",), 0),
        Module(2, ("palm",), 1),
        Module(3, ("left1",), 2),
        Module(4, ("left2",), 3),
        Module(5, ("right",), 2),
    )
    assert gripper().partition([m.bodies for m in gripper().modules[1:]]) == gripper().modules


BAD = {
    "not serial": (
        [["arm", "palm", "left1", "right"], ["left2"]],
        r"not serial.*'right' is carried by 'palm'.*condition 1",
    ),
    "backwards": (
        [["palm", "arm"], ["left1", "left2"], ["right"]],
        "not serial: body 'arm' is carried by 'world'",
    ),
    "from the middle": (
        [["arm", "palm", "left1", "left2"], ["right"]],
        "'palm', which is not the last body 'left2'.*condition 2",
    ),
    "missing": ([["arm", "palm"], ["left1", "left2"]], r"bodies \['right'\] are in no module"),
    "twice": ([["arm", "palm"], ["left1", "left2"], ["right"], ["arm"]], "body 'arm' is in two modules"),
    "unknown": (
        [["arm", "palm"], ["left1", "left2"], ["rigth"]],
        "unknown body 'rigth'.*Did you mean 'right'",
    ),
    "empty": ([["arm", "palm"], [], ["left1", "left2"], ["right"]], "at least one body"),
    "the world": ([["world"], ["arm", "palm"], ["left1", "left2"], ["right"]], "unknown body 'world'"),
}


@each("bad", BAD)
def test_what_is_no_partition(bad):
    groups, message = BAD[bad]
    with pytest.raises(kt.errors.ModelError, match=f"(?s){message}"):
        gripper().partition(groups)


def test_the_base_is_not_listed():
    robot = tree(("trunk", "world"), ("leg", "trunk"), base="free")
    assert robot.partition([["leg"]]) == (Module(0, ("trunk",), None), Module(1, ("leg",), 0))
    with refused("body", "trunk", kind=kt.errors.ModelError):
        robot.partition([["trunk", "leg"]])
