"""Joints that move no inertia are found, however far from the base they sit."""

import numpy as np
import pytest

import kinetree as kt
from support.each import each


def arm_with_needle(reach, length):
    """The last hinge turns a thin rod about itself: it moves no inertia."""
    robot = kt.Builder("arm")
    boom = kt.Inertia.cylinder(1.0, 0.02, reach, axis="x", center=(reach / 2, 0, 0))
    link = kt.Inertia.cylinder(1.0, 0.02, 0.3, axis="x", center=(0.15, 0, 0))
    body = robot.world.revolute("turn", axis="z").body("boom", boom)
    body = body.revolute("lift", at=(reach, 0.1, 0.2), axis="y").body("link", link)
    body.revolute("roll", at=(0.3, 0, 0), axis="x").body("needle", kt.Inertia.rod(1.0, (length, 0, 0)))
    return robot.build()


@each("reach", [0.3, 1.0, 10.0])
@each("length", [0.3, 0.02, 0.001])
def test_needle(reach, length, rng):
    robot = arm_with_needle(reach, length)
    s = kt.random_state(robot, rng, (50,))
    for k in range(50):
        with pytest.raises(kt.errors.SingularityError, match="roll"):
            kt.forward_dynamics(robot, s.q[k], s.qd[k], s.qdd[k])
        with pytest.raises(kt.errors.SingularityError, match="roll"):
            kt.forward_dynamics(robot, s.q[k : k + 1], s.qd[k], s.qdd[k])
    with pytest.raises(kt.errors.SingularityError, match="roll"):
        kt.forward_dynamics_derivatives(robot, s.q, s.qd, s.qdd)


def test_thin_tools_far_out_are_not_refused(rng):
    """A pen of 5 g at the end of a boom of 10 m has little inertia, but some."""
    robot = kt.Builder("boom")
    body = robot.world.revolute("turn", axis="z").body("boom", kt.Inertia.rod(100.0, (10, 0, 0)))
    body.revolute("roll", at=(10, 0, 0), axis="x").body(
        "pen", kt.Inertia.cylinder(0.005, 0.003, 0.1, axis="x", center=(0.05, 0, 0))
    )
    boom = robot.build()
    s = kt.random_state(boom, rng, (20,))
    qdd = kt.forward_dynamics(boom, s.q, s.qd, s.qdd)
    assert np.abs(kt.inverse_dynamics(boom, s.q, s.qd, qdd) - s.qdd).max() < 1e-6
