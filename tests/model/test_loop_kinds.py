"""Kinds of cut joints that trees do not have, rods, and joints without drives."""

import pytest

import kinetree as kt
from kinetree.model.loop import Loop
from support.refused import refused


def slotted(**loop):
    build = kt.Builder("slotted")
    a = build.world.revolute("a", driven=False).body("link_a", kt.Inertia.rod(1.0, end=(0.5, 0, 0)))
    b = build.world.spherical("b", driven=[True, False, True]).body(
        "link_b", kt.Inertia.rod(1.0, end=(0.5, 0, 0))
    )
    build.loop("cut", a, b, **loop)
    return build.build()


@pytest.mark.parametrize(
    ("loop", "count"),
    [
        ({"kind": "point_on_line", "axis": "x"}, 2),
        ({"kind": "spherical", "length": 0.25}, 1),
        ({"kind": "spherical"}, 3),
        ({"kind": "planar"}, 3),
        ({"kind": "fixed"}, 6),
    ],
)
def test_constraints_are_counted_and_files_keep_them(loop, count, tmp_path):
    mechanism = slotted(**loop)
    assert mechanism.loops[0].n_constraints == count
    kt.save(mechanism, tmp_path / "slotted.toml")
    again = kt.load(tmp_path / "slotted.toml")
    assert again == mechanism
    assert again.loops[0].length == loop.get("length")


def test_drives_are_given_per_degree_of_freedom():
    assert slotted(kind="fixed").driven.tolist() == [False, True, False, True]
    assert kt.zoo.gripper().driven.all()
    assert kt.zoo.four_bar().driven.tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("loop", "words"),
    [
        ({"kind": "free"}, "unknown cut joint 'free'"),
        ({"kind": "hinge"}, "unknown joint kind 'hinge'; allowed: .*point_on_line"),
        ({"kind": "revolute", "length": 0.1}, "only a spherical cut joint takes a length"),
        ({"kind": "spherical", "length": 0.0}, "length must be a positive number"),
        ({"kind": "spherical", "length": float("inf")}, "length must be a positive number"),
        ({"kind": "point_on_line", "sequence": "XYZ"}, "takes no 'sequence'"),
    ],
)
def test_impossible_cut_joints_are_refused(loop, words):
    with pytest.raises(kt.errors.ModelError, match=words):
        slotted(**loop)


def test_a_point_on_a_line_is_no_joint_of_a_tree():
    with refused("joint kind", "point_on_line", kind=kt.errors.ModelError):
        kt.Joint.of_kind("slot", "point_on_line")


@pytest.mark.parametrize("driven", [1, "no", [True], [True, 0, True]])
def test_wrong_drives_are_refused(driven):
    with pytest.raises(kt.errors.ModelError, match="driven must be true or false"):
        kt.Joint.of_kind("hip", "spherical", driven=driven)


def test_a_rod_is_a_loop_with_a_length():
    joint = kt.Joint.of_kind("bar", "spherical", cut=True)
    assert Loop(joint, "a", "b", length=2.0).n_constraints == 1
