"""Time derivatives of the loops' Jacobian and second derivatives of gaps, against other derivations."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.axis_motion import Direction
from kinetree.dynamics.loops.jets import RowJets
from kinetree.dynamics.loops.sensitivity import row_slopes
from kinetree.dynamics.loops.system import constraints, loop_rows


def rod_linkage():
    """A spatial chain that a rod and a prismatic cut close, one of them between moving bodies."""
    robot, bar = kt.Builder("rods"), kt.Inertia.rod(1.0, end=(0.3, 0, 0))
    a = robot.world.revolute("a", axis="z").body("A", bar)
    b = a.universal("b", at=(0.3, 0, 0)).body("B", bar)
    c = robot.world.revolute("c", axis="y", at=(0.1, 0.4, 0)).body("C", bar)
    robot.loop("rod", b, c, kind="spherical", at_a=(0.3, 0, 0), at_b=(0.2, 0.1, 0), length=0.5)
    robot.loop("rail", a, c, kind="prismatic", axis="x", at_a=(0.1, 0, 0))
    return robot.build()


CASES = {
    "five_bar": kt.zoo.five_bar,
    "stewart": kt.zoo.stewart,
    "bricard": kt.zoo.bricard,
    "slider_crank": kt.zoo.slider_crank,
    "rods": rod_linkage,
}


@pytest.mark.parametrize("name", CASES)
def test_jets_agree_with_slopes_and_differences(name, rng):
    mechanism = CASES[name]()
    rows, m, h = loop_rows(mechanism), 2, 1e-4
    n, kept = rows.tree.n, np.arange(rows.n_rows)
    q, qd, qdd = 0.3 * rng.standard_normal((3, m, n))
    weight = rng.standard_normal((m, rows.n_rows))
    jets, found = RowJets(rows, kept, q, qd, qdd), constraints(mechanism, q, qd, qdd)
    assert np.allclose(jets.gap, found.gap, rtol=0, atol=1e-14)
    assert np.allclose(jets.J[0], found.J, rtol=0, atol=1e-14)
    still, unit = np.zeros((m, 1, n)), np.broadcast_to(np.eye(n), (m, n, n))
    once = row_slopes(rows, q, qd, qdd, Direction(qd[:, None], still, still)).J[:, 0]
    assert np.allclose(jets.J[1], once, rtol=0, atol=1e-13)
    twice = row_slopes(rows, q, qd, qdd, Direction(unit, 0 * unit, 0 * unit)).J
    assert np.allclose(jets.bend(weight)[0], np.einsum("mkrn,mr->mkn", twice, weight), rtol=0, atol=1e-13)
    later, before = (RowJets(rows, kept, q + t * qd + t**2 / 2 * qdd, qd + t * qdd, qdd) for t in (h, -h))
    assert np.allclose(jets.J[2], (later.J[1] - before.J[1]) / (2 * h), rtol=0, atol=1e-6)
    bends = later.bend(weight), before.bend(weight)
    for order in (0, 1):
        slope = (bends[0][order] - bends[1][order]) / (2 * h)
        assert np.allclose(jets.bend(weight)[order + 1], slope, rtol=0, atol=1e-6)
