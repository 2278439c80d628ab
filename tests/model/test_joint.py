"""Joints as lists of axes: kinds, names, parameters and what is refused."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.rotation import THREE_AXIS_SEQUENCES, TWO_AXIS_SEQUENCES
from kinetree.model.joint import PARAMETERS
from kinetree.model.joint_kind import KINDS
from support.cases import assert_close
from support.each import each

X, Y, Z = np.eye(3)
DEFAULTS = {
    "fixed": ([], ()),
    "revolute": ([Z], ("j",)),
    "prismatic": ([Z], ("j",)),
    "cylindrical": ([Z, Z], ("j.rz", "j.tz")),
    "universal": ([X, Y], ("j.rx", "j.ry")),
    "spherical": ([Y, X, Z], ("j.ry", "j.rx", "j.rz")),
    "planar": ([X, Y, Z], ("j.tx", "j.ty", "j.rz")),
    "free": ([X, Y, Z, Y, X, Z], ("j.tx", "j.ty", "j.tz", "j.ry", "j.rx", "j.rz")),
}


def test_every_kind_is_listed():
    assert set(DEFAULTS) == set(KINDS)


@each("kind", DEFAULTS)
def test_kind(kind):
    axes, names = DEFAULTS[kind]
    joint = kt.Joint.of_kind("j", kind)
    assert joint.n_dof == len(axes) and joint.axes.shape == (len(axes), 3)
    assert np.array_equal(joint.axes, np.reshape(axes, (-1, 3)))
    assert joint.dof_names == names
    assert len(joint.turns) == joint.n_dof
    assert joint.parameters() == {}


def test_which_axes_turn():
    assert kt.Joint.of_kind("j", "planar").turns == (False, False, True)
    assert kt.Joint.of_kind("j", "free").turns == (False,) * 3 + (True,) * 3


def test_the_plane_of_a_planar_joint_is_given_by_its_axis():
    assert kt.Joint.of_kind("j", "planar", axis="y").dof_names == ("j.tx", "j.tz", "j.ry")
    assert kt.Joint.of_kind("j", "planar", axis="-x").axes.tolist() == [[0, 1, 0], [0, 0, 1], [-1, 0, 0]]
    slanted = kt.Joint.of_kind("j", "planar", axis=(1.0, 2.0, -2.0)).axes
    np.testing.assert_allclose(slanted @ slanted.T, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(slanted[2], np.array([1, 2, -2]) / 3, atol=1e-15)
    with pytest.raises(kt.errors.ModelError, match="only one of 'axis', 'axes'"):
        kt.Joint.of_kind("j", "planar", axis="y", axes=["x", "z", "y"])
    assert kt.Joint.of_kind("j", "cylindrical").turns == (True, False)


@each("sequence", THREE_AXIS_SEQUENCES)
def test_sequences_of_three(sequence):
    for kind, skip in (("spherical", 0), ("free", 3)):
        joint = kt.Joint.of_kind("j", kind, sequence=sequence.lower())
        assert joint.sequence == sequence
        assert np.array_equal(joint.axes[skip:], [np.eye(3)["XYZ".index(c)] for c in sequence])
        assert len(set(joint.dof_names)) == joint.n_dof
    if sequence == "ZXZ":
        assert kt.Joint.of_kind("j", "spherical", sequence=sequence).dof_names == ("j.rz1", "j.rx", "j.rz2")


@pytest.mark.parametrize("sequence", TWO_AXIS_SEQUENCES)
def test_sequences_of_two(sequence):
    joint = kt.Joint.of_kind("j", "universal", sequence=sequence)
    assert np.array_equal(joint.axes, [np.eye(3)["XYZ".index(c)] for c in sequence])


def test_axes_are_normalised_and_named():
    joint = kt.Joint.of_kind("j", "revolute", axis=(0, 3, 4))
    assert_close(joint.axes, [[0, 0.6, 0.8]], 1e-15)
    assert np.array_equal(kt.Joint.of_kind("j", "prismatic", axis="-x").axes, [-X])
    joint = kt.Joint.of_kind("j", "spherical", axes=[(1, 1, 0), "z", (0, 1, 1)])
    assert joint.dof_names == ("j.r1", "j.rz", "j.r3") and joint.sequence is None
    assert kt.Joint.of_kind("j", "fixed", axes=[]) == kt.Joint.of_kind("j", "fixed")


def test_parameters_are_spread_over_the_degrees_of_freedom():
    joint = kt.Joint.of_kind("j", "universal", armature=0.1, lower=(-1, -2), upper=np.inf, rest=(0.0, 0.0))
    assert joint.armature.tolist() == [0.1, 0.1] and joint.lower.tolist() == [-1, -2]
    assert set(joint.parameters()) == {"armature", "lower"}
    assert not joint.lower.flags.writeable
    for key, (default, _) in PARAMETERS.items():
        assert (getattr(kt.Joint.of_kind("j", "free"), key) == default).all()


def test_joints_are_values():
    a, b = (kt.Joint.of_kind("j", "revolute", axis=x, viscous=0.1) for x in ("y", (0, 2, 0)))
    assert a == b and hash(a) == hash(b)
    assert a != kt.Joint.of_kind("j", "revolute", axis="y", viscous=0.2)
    assert a != kt.Joint.of_kind("j", "prismatic", axis="y", viscous=0.1) and a != "j"


def of_kind(*given, **parameters):
    return lambda: kt.Joint.of_kind("knee", *given, **parameters)


BAD = {
    "no name": (lambda: kt.Joint.of_kind("", "revolute"), "a joint needs a name"),
    "number as name": (lambda: kt.Joint.of_kind(3, "revolute"), "a joint needs a name.*got 3"),
    "newline in name": (lambda: kt.Joint.of_kind("a\nb", "revolute"), "control character"),
    "kind": (of_kind("revolut"), "joint 'knee': unknown joint kind 'revolut'.*Did you mean 'revolute'"),
    "kind not a name": (of_kind(["revolute"]), "joint 'knee': unknown joint kind"),
    "axis of a ball": (
        of_kind("spherical", axis="x"),
        "spherical joint takes no 'axis'.*revolute, prismatic",
    ),
    "sequence of a hinge": (of_kind("revolute", sequence="XY"), "revolute joint takes no 'sequence'"),
    "sequence": (of_kind("spherical", sequence="XXY"), "joint 'knee': unknown axis sequence 'XXY'"),
    "sequence of two": (of_kind("spherical", sequence="XY"), "unknown axis sequence 'XY'; allowed: XYX"),
    "axis and axes": (of_kind("revolute", axis="x", axes=["x"]), "only one of 'axis', 'axes' and 'sequence'"),
    "two axes": (of_kind("revolute", axes=["x", "y"]), "a revolute joint has 1 axes, got 2"),
    "axes a number": (of_kind("revolute", axes=5), "joint 'knee'.*5"),
    "zero axis": (of_kind("revolute", axis=(0, 0, 0)), "joint 'knee': axis must not be the zero vector"),
    "nan axis": (of_kind("revolute", axis=(0, 0, np.nan)), "joint 'knee': axis must be finite"),
    "axis letter": (of_kind("revolute", axis="w"), "joint 'knee': axis: unknown axis 'w'"),
    "parallel": (of_kind("spherical", axes=["x", "-x", "y"]), "two successive revolute axes are parallel"),
    "flat slides": (of_kind("planar", axes=["x", "x", "z"]), "prismatic axes.*not independent"),
    "two screws": (
        of_kind("cylindrical", axes=["x", "y"]),
        "rotates about and translates along one axis, got two",
    ),
    "unknown parameter": (of_kind("revolute", dampng=1.0), "unknown joint parameter 'dampng'"),
    "negative friction": (of_kind("revolute", viscous=-1.0), "joint 'knee': viscous must be >= 0, got -1"),
    "negative armature": (of_kind("revolute", armature=-1.0), "armature must be >= 0"),
    "infinite stiffness": (of_kind("revolute", stiffness=np.inf), "stiffness must be finite"),
    "nan limit": (of_kind("revolute", lower=np.nan), "lower must be finite"),
    "text limit": (of_kind("revolute", lower="low"), "joint 'knee': lower must be real numbers"),
    "limits crossed": (of_kind("revolute", lower=1.0, upper=-1.0), "lower limit 1 exceeds upper limit -1"),
    "too many values": (of_kind("universal", viscous=(1, 2, 3)), r"one number or 2 .*got shape \(3,\)"),
    "ball that mimics": (
        of_kind("spherical", mimic=kt.model.Mimic("hip")),
        "only one-DOF joints can mimic.*spherical",
    ),
    "mimics itself": (of_kind("revolute", mimic=kt.model.Mimic("knee")), "joint 'knee' mimics itself"),
    "mimic a name": (of_kind("revolute", mimic="hip"), "joint 'knee': mimic must be a Mimic"),
    "mimic nan": (lambda: kt.model.Mimic("hip", np.nan), "mimic multiplier of 'hip' must be finite"),
    "mimic text": (lambda: kt.model.Mimic("hip", offset="x"), "mimic offset of 'hip' must be"),
    "mimic number": (lambda: kt.model.Mimic("hip", higher=3), "higher must be up to 3 numbers, .* got 3"),
    "mimic word": (lambda: kt.model.Mimic("hip", higher="12"), "higher must be up to 3 numbers, .* got '12'"),
    "mimic nobody": (lambda: kt.model.Mimic(""), "joint that is mimicked needs a name"),
}


@each("bad", BAD)
def test_what_is_refused(bad):
    call, message = BAD[bad]
    with pytest.raises(kt.errors.ModelError, match=f"(?s){message}"):
        call()
