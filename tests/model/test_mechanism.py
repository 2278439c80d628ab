"""Mechanisms: order, names, checks, values; the compiled tree behind them."""

import copy
import dataclasses
import pickle
from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from support import trees
from support.cases import assert_close
from support.each import each

ROD = kt.Inertia.rod(1.0, (1.0, 0.0, 0.0))


def link(body, parent="world", kind="revolute", joint=None, **more):
    return kt.model.Link(kt.Body(body, ROD), kt.Joint.of_kind(joint or f"to {body}", kind, **more), parent)


def chain(*names):
    parents = ("world", *names)
    return tuple(link(name, parents[k]) for k, name in enumerate(names))


# ---- order and names ---------------------------------------------------------------------------


def test_parents_go_first_and_the_rest_keeps_its_order():
    a, b, c = chain("a", "b", "c")
    d, e = link("d"), link("e", "a")
    assert kt.Mechanism("m", (c, e, d, b, a)).body_names == ("a", "b", "c", "e", "d")
    assert kt.Mechanism("m", (d, a, e, b, c)).body_names == ("d", "a", "e", "b", "c")


def test_a_long_chain_given_backwards():
    names = [f"b{k}" for k in range(3000)]
    robot = kt.Mechanism("m", tuple(reversed(chain(*names))))
    assert robot.body_names == tuple(names)
    assert robot.n_dof == 3000


def test_names_in_the_order_of_q():
    links = (
        link("a", kind="spherical"),
        link("b", "a", "fixed"),
        link("c", "b"),
        link("d", "c", mimic=kt.model.Mimic("to c")),
    )
    robot = kt.Mechanism("m", links)
    assert robot.joint_names == ("to a.ry", "to a.rx", "to a.rz", "to c")
    assert robot.n_dof == 4 and robot.n_bodies == 4 and robot.mass == 4.0
    assert robot.joint_index("to a.rz") == 2 and robot.body_index("c") == 2
    assert robot.link("c") is robot.links[2]


@pytest.mark.parametrize("name", ["to d", "to a", "nobody", 2, None, ["to c"]])
def test_unknown_joint(name):
    robot = kt.Mechanism(
        "m", (link("a", kind="spherical"), link("c", "a"), link("d", "c", mimic=kt.model.Mimic("to c")))
    )
    with pytest.raises(
        kt.errors.InputError, match=r"unknown joint .*allowed: to a\.ry, to a\.rx, to a\.rz, to c"
    ):
        robot.joint_index(name)


def test_unknown_body():
    with pytest.raises(kt.errors.InputError, match=r"unknown body 'arn'; allowed: arm.*Did you mean 'arm'"):
        kt.Mechanism("m", chain("arm")).link("arn")


# ---- values ------------------------------------------------------------------------------------


def test_mechanisms_are_values(rng):
    robot = trees.random_tree(rng, 4)
    same = kt.Mechanism(robot.name, tuple(reversed(tuple(reversed(robot.links)))), robot.gravity)
    assert robot == same and hash(robot) == hash(same)
    assert robot != robot.with_gravity((0, 0, 1)) and robot != "robot"
    assert repr(kt.Mechanism("m", chain("a", "b"))) == "Mechanism('m', 2 bodies, 2 degrees of freedom)"


def test_mechanisms_are_immutable():
    gravity = np.array([0.0, 0.0, -9.81])
    robot = kt.Mechanism("m", list(chain("a")), gravity)
    gravity[2] = 1.0
    assert robot.gravity[2] == -9.81 and isinstance(robot.links, tuple)
    with pytest.raises(dataclasses.FrozenInstanceError):
        robot.name = "other"
    with pytest.raises(dataclasses.FrozenInstanceError):
        robot.links[0].body.name = "other"
    with pytest.raises(ValueError, match="read-only"):
        robot.gravity[0] = 1.0
    for array in vars(robot.tree).values():
        if isinstance(array, np.ndarray):
            assert not array.flags.writeable


def test_mechanisms_can_be_sent_to_other_processes(rng):
    """Before they have answered anything, and after."""
    robot = trees.random_tree(rng, 5)
    q, qd, qdd = trees.state(robot, rng)
    fresh = pickle.loads(pickle.dumps(robot))
    tau = kt.inverse_dynamics(robot, q, qd, qdd)
    used = pickle.loads(pickle.dumps(robot))
    assert robot == fresh == used == copy.deepcopy(robot)
    for other in (fresh, used):
        assert np.array_equal(kt.inverse_dynamics(other, q, qd, qdd), tau)


def test_gravity():
    robot = kt.Mechanism("m", chain("a"))
    assert robot.gravity.tolist() == [0, 0, -9.81]
    moon = robot.with_gravity((0, 0, -1.62))
    assert moon.gravity[2] == -1.62 and robot.gravity[2] == -9.81 and moon.links == robot.links
    assert_close(kt.gravity_torque(moon, [0.3]) * 9.81, kt.gravity_torque(robot, [0.3]) * 1.62)


# ---- what is refused ---------------------------------------------------------------------------


def mechanism(*links, **more):
    return lambda: kt.Mechanism("m", links, **more)


def cut(name="cut", a="a", b="b", kind="revolute"):
    return kt.model.Loop(kt.Joint.of_kind(name, kind), a, b)


A, B = chain("a", "b")
BAD = {
    "nothing": (mechanism(), "mechanism 'm' has no bodies"),
    "no name": (lambda: kt.Mechanism(" ", (A,)), "a mechanism needs a name"),
    "same body": (mechanism(A, replace(A, joint=B.joint)), "bod.*called 'a'; body names must differ"),
    "same joint": (mechanism(A, replace(B, joint=A.joint)), "joint.*called 'to a'; joint names must differ"),
    "same degree of freedom": (
        mechanism(link("a", kind="free", joint="base"), link("b", "a", joint="base.tx")),
        "called 'base.tx'",
    ),
    "parent": (mechanism(A, link("c", "aa")), "parent of body 'c': unknown body 'aa'; allowed: world, a, c"),
    "own parent": (mechanism(link("a", "a")), "form a cycle: a -> a"),
    "cycle": (
        mechanism(link("a", "c"), link("b", "a"), link("c", "b"), link("d")),
        "cycle: a -> c -> b -> a",
    ),
    "cycle behind": (mechanism(link("x", "a"), link("a", "b"), link("b", "a")), "cycle: a -> b -> a"),
    "gravity of two": (mechanism(A, gravity=(0, 1)), "gravity must be a vector of 3 numbers"),
    "nan gravity": (mechanism(A, gravity=(0, 0, np.nan)), "gravity must be finite"),
    "mimic nobody": (mechanism(link("a", mimic=kt.model.Mimic("hip"))), "'to a' mimics 'hip'.*allowed: none"),
    "mimic a ball": (
        mechanism(link("a", kind="spherical"), link("b", mimic=kt.model.Mimic("to a"))),
        "'to b' mimics 'to a', which is not an independent one-DOF joint",
    ),
    "mimic a mimic": (
        mechanism(A, link("b", mimic=kt.model.Mimic("to a")), link("c", mimic=kt.model.Mimic("to b"))),
        "'to c' mimics 'to b', which is not an independent one-DOF joint; allowed: to a",
    ),
    "loop of strangers": (
        mechanism(A, B, loops=(cut(b="z"),)),
        "loop 'cut': unknown body 'z'; allowed: world, a, b",
    ),
    "loop named like a joint": (mechanism(A, B, loops=(cut("to a"),)), "called 'to a'"),
    "two loops": (mechanism(A, B, loops=(cut(), cut())), "called 'cut'"),
    "point of strangers": (
        mechanism(A, contact_points=(kt.ContactPoint("toe", "z", (0, 0, 0)),)),
        "contact point 'toe': unknown body 'z'",
    ),
    "point of the world": (
        mechanism(A, contact_points=(kt.ContactPoint("toe", "world", (0, 0, 0)),)),
        "contact point 'toe': unknown body 'world'; allowed: a",
    ),
    "two points": (
        mechanism(A, contact_points=(kt.ContactPoint("toe", "a", (0, 0, 0)),) * 2),
        "contact point.*called 'toe'",
    ),
    "point of two": (
        lambda: kt.ContactPoint("toe", "a", (0, 0)),
        "contact point 'toe': position must be a vector",
    ),
    "body called world": (lambda: kt.Body("world"), "no body may be named 'world'"),
    "body without inertia": (lambda: kt.Body("a", 3.0), "body 'a': inertia must be an Inertia, got 3.0"),
    "unnamed body": (lambda: kt.Body(""), "a body needs a name"),
    "loop to itself": (lambda: cut(b="a"), "loop 'cut' connects body 'a' to itself"),
    "free loop": (mechanism(A, B, loops=(cut(kind="free"),)), "loop 'cut': unknown cut joint 'free'"),
    "shape": (lambda: kt.model.Shape("cone", (1, 1)), "unknown shape 'cone'; allowed: box"),
    "shape size": (lambda: kt.model.Shape("box", (1, 1)), "size of a box must be a vector of 3"),
    "shape negative": (lambda: kt.model.Shape("sphere", (-1,)), "size of a sphere must be >= 0 m"),
    "mesh without file": (lambda: kt.model.Shape("mesh", (1, 1, 1)), "a mesh needs mesh file|a mesh needs"),
    "box with file": (lambda: kt.model.Shape("box", (1, 1, 1), file="a.stl"), "a box takes no mesh file"),
}


@each("bad", BAD)
def test_what_is_refused(bad):
    call, message = BAD[bad]
    with pytest.raises(kt.errors.ModelError, match=f"(?s){message}"):
        call()


# ---- loops and points --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "count"), [("fixed", 6), ("revolute", 5), ("spherical", 3), ("planar", 3), ("universal", 4)]
)
def test_loops_count_what_they_forbid(kind, count):
    assert cut(kind=kind).n_constraints == count
    robot = kt.Mechanism("m", (A, B), loops=(cut(kind=kind, b="world"),))
    assert robot.loops[0].name == "cut" and robot.n_dof == 2


def test_points_are_values():
    a, b = kt.ContactPoint("toe", "a", (0, 1, 2)), kt.ContactPoint("toe", "a", np.array([0.0, 1, 2]))
    assert a == b and hash(a) == hash(b) and a != kt.ContactPoint("toe", "a", (0, 1, 3)) and a != 3


# ---- the compiled tree -------------------------------------------------------------------------


def test_the_tree_is_compiled_once(rng):
    robot = trees.random_tree(rng, 5)
    assert robot.tree is robot.tree


def test_multi_dof_joints_become_axes_with_empty_bodies_between():
    robot = kt.Mechanism("m", (link("a", kind="free"), link("b", "a", "fixed"), link("c", "b", "universal")))
    tree = robot.tree
    assert tree.n == 8 and tree.n_bodies == 3 and tree.n_dof == 8
    assert tree.parent.tolist() == [-1, 0, 1, 2, 3, 4, 5, 6]
    assert tree.massive.tolist() == [False] * 5 + [True, False, True]
    assert tree.turns.tolist() == [False] * 3 + [True] * 5
    assert tree.body_axis.tolist() == [5, 5, 7]
    assert tree.mass[5] == 2.0  # the welded body is lumped
    assert tree.axis_names == robot.joint_names


def test_bodies_fixed_to_the_world_have_no_axis():
    tree = kt.Mechanism("m", (link("a", kind="fixed"), link("b", "a", "fixed"), link("c", "b"))).tree
    assert (
        tree.body_axis.tolist() == [-1, -1, 0]
        and tree.parent.tolist() == [-1]
        and tree.mass.tolist() == [1.0]
    )


def test_axes_of_the_tree_lie_on_z(rng):
    robot = trees.random_tree(rng, 8)
    q = np.zeros(robot.n_dof)
    poses = kt.forward_kinematics(robot, q)
    R = [np.eye(3)]
    for i in range(robot.tree.n):
        R.append(R[robot.tree.parent[i] + 1] @ robot.tree.rotation[i])
    k = 0
    for body, x in enumerate(robot.links):
        for axis in x.joint.axes:
            assert_close(R[k + 1][:, 2], poses.rotation[body] @ axis, 1e-13)
            k += 1


def test_coupling_of_mimic_joints():
    robot = kt.Mechanism(
        "m", (link("a", mimic=kt.model.Mimic("to b", 2.0, 0.5)), link("b"), link("c", kind="prismatic"))
    )
    assert robot.tree.coupling.matrix.tolist() == [[2, 0], [1, 0], [0, 1]]
    assert robot.tree.coupling.offset.tolist() == [0.5, 0, 0]
    assert robot.tree.n == 3 and robot.tree.n_dof == 2
    assert kt.Mechanism("m", (A,)).tree.coupling is None


def test_limits_are_in_the_order_of_q_without_joints_that_mimic():
    arm = kt.Builder("arm")
    rod = kt.Inertia.rod(1.0, end=(0.4, 0, 0))
    first = arm.world.revolute("a", mimic=kt.model.Mimic("b"), lower=-9.0, upper=9.0).body("one", rod)
    second = first.revolute("b", lower=-1.0, upper=2.0, velocity_limit=3.0, effort_limit=4.0).body("two", rod)
    second.prismatic("c", upper=0.5).body("three", rod)
    found = arm.build()
    assert found.joint_names == ("b", "c")
    for name, expected in (
        ("lower", [-1.0, -np.inf]),
        ("upper", [2.0, 0.5]),
        ("velocity_limit", [3.0, np.inf]),
        ("effort_limit", [4.0, np.inf]),
    ):
        values = getattr(found, name)
        assert values.tolist() == expected
        assert not values.flags.writeable
