"""Labeled reactions are the plain ones, with names."""

import numpy as np
import pytest

import kinetree as kt


def test_labels_and_values():
    arm = kt.zoo.kuka_kr5()
    rng = np.random.default_rng(3)
    q, qd, qdd = rng.normal(size=(3, 5, 6))
    plain = kt.joint_reactions(arm, q, qd, qdd, frame="world")
    named = kt.joint_reactions(arm, q, qd, qdd, frame="world", labeled=True)
    assert named.dims == ("state", "body", "component")
    for body in arm.body_names:
        for k, component in enumerate(("fx", "fy", "fz", "mx", "my", "mz")):
            values = named.sel(body=body, component=component).values
            assert np.array_equal(values, plain[:, arm.body_index(body), k])
    assert named.component_unit.values.tolist() == ["N"] * 3 + ["N m"] * 3
    assert "world axes" in named.attrs["long_name"]


def test_batches_of_any_shape_and_loops():
    arm = kt.zoo.two_link()
    still = np.zeros((2, 3, 2))
    assert kt.joint_reactions(arm, still, still, still, labeled=True).dims[:2] == ("state1", "state2")
    assert kt.joint_reactions(arm, [0, 0], [0, 0], [0, 0], labeled=True).dims == ("body", "component")
    bar = kt.zoo.four_bar()
    q = kt.loops.assemble(bar, [0.5, 0.5, 0.5])
    named = kt.joint_reactions(bar, q, np.zeros(3), np.zeros(3), labeled=True)
    assert named.sizes["body"] == 3


def test_labeled_is_a_flag():
    arm = kt.zoo.two_link()
    with pytest.raises(kt.errors.InputError, match="labeled must be True or False"):
        kt.joint_reactions(arm, [0, 0], [0, 0], [0, 0], labeled="yes")
