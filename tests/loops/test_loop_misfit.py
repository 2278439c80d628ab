"""Loops with redundant constraints that do not quite fit, as files with few digits describe them."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.loops.structure import allowed_pose
from kinetree.simulation.loop_audit import gap_checks
from kinetree.study.new_study import start_and_end

LENGTH, APART, LIMIT = 0.1, 0.3, -0.6


def parallelogram(beside: float, tilt: float = 0.0) -> kt.Mechanism:
    """Two equal cranks and a rod on a ball joint, which is redundant across the plane: it fits but for
    ``beside`` (m) there, with an axis out of parallel by ``tilt`` (rad)."""
    robot = kt.Builder("parallelogram", gravity=(0, -9.81, 0))
    arm = kt.Inertia(1.0, (0.5 * LENGTH, 0, 0), (1e-3, 1e-3, 1e-3))
    limits = {"lower": -2.4, "upper": LIMIT}
    crank = robot.world.revolute("crank", **limits).body("crank", arm)
    foot = robot.world.revolute("foot", at=(APART, 0, 0), **limits).body("foot", arm)
    pin = crank.revolute("rod", axis=(0, tilt, 1), at=(LENGTH, 0, 0))
    rod = pin.body("rod", kt.Inertia(0.5, (0.5 * APART, 0, 0), (1e-3, 1e-3, 1e-3)))
    robot.loop("ball", rod, foot, kind="spherical", at_a=(APART, 0, 0), at_b=(LENGTH, 0, beside))
    return robot.build()


@pytest.mark.parametrize(("beside", "tilt"), [(0.0, 0.0), (4e-9, 0.0), (0.0, 1e-8), (4e-9, 1e-8)])
def test_redundant_constraints_that_do_not_quite_fit_are_assembled_nearby(beside, tilt):
    """In closed form crank = foot = -rod; the gap across the plane stays."""
    mechanism = parallelogram(beside, tilt)
    guess = np.array([-0.9004, -0.8997, 0.8999])
    q = kt.loops.assemble(mechanism, guess)
    assert np.abs(q - guess).max() < 1e-3
    np.testing.assert_allclose(q, [q[0], q[0], -q[0]], atol=1e-7)
    check = gap_checks(mechanism, q[None])["loop_gap"]
    assert check.passed and ("redundant" in check.sentence) == (beside + tilt > 0.0)


def test_gaps_that_a_motion_could_close_and_large_misfits_stay_faults():
    mechanism = parallelogram(4e-9)
    q = kt.loops.assemble(mechanism, [-0.9, -0.9, 0.9])
    assert not gap_checks(mechanism, (q + np.array([1e-9, 0, 0]))[None])["loop_gap"].passed
    with pytest.raises(kt.errors.AssemblyError, match="cannot be closed"):
        kt.loops.assemble(parallelogram(1e-5), [-0.9, -0.9, 0.9])


def test_new_studies_begin_within_the_limits_of_loops():
    """At q = 0 the parallelogram is flat and closed, and both cranks are 0.6 rad beyond their limits."""
    mechanism = parallelogram(4e-9)
    q = allowed_pose(mechanism)
    assert q is not None and (q >= mechanism.lower).all() and (q <= mechanism.upper).all()
    np.testing.assert_array_equal(start_and_end(mechanism)[0], q)
    run = kt.simulate(mechanism, duration=0.2, q0=q)
    assert run.audit["loop_gap"].passed
