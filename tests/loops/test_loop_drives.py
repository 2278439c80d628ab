"""Compiled inverse dynamics of loops against singular values, one state against many, and what it leaves."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.analysis.tracking import tracking_torque
from kinetree.dynamics.loops import drives
from kinetree.dynamics.loops.dynamics import drive_map
from kinetree.dynamics.loops.states import fitting_state
from kinetree.dynamics.loops.system import constraints
from support.each import each

NAMES = (
    "four_bar",
    "robotic_leg",
    "three_rrr",
    "slider_crank",
    "stewart",
    "delta",
    "scissor_lift",
    "bricard",
)


def by_singular_values(mechanism, at, wrenches=None):
    found = constraints(mechanism, at.q, at.qd, at.qdd)
    needed = kt.inverse_dynamics(mechanism.opened(), at.q, at.qd, at.qdd, wrenches)
    return drive_map(mechanism, found, needed[..., None], np.ones(mechanism.n_dof), mechanism.driven)[..., 0]


def mimicking():
    """A five-bar whose right arm follows the left one, geared."""
    build = kt.Builder("geared", gravity=(0, -9.81, 0))
    rod = kt.Inertia.rod(1.0, end=(0.4, 0, 0))
    left = build.world.revolute("left").body("left_arm", rod)
    right = build.world.revolute("right", at=(0.3, 0, 0), mimic=kt.model.Mimic("left", -0.7, 0.4))
    left_rod = left.revolute("elbow", at=(0.4, 0, 0), driven=False).body("left_rod", rod)
    arm = right.body("right_arm", rod)
    right_rod = arm.revolute("other", at=(0.4, 0, 0), driven=False).body("right_rod", rod)
    build.loop("tip", left_rod, right_rod, at_a=(0.4, 0, 0), at_b=(0.4, 0, 0))
    return build.build()


@each("mechanism", [*map(kt.zoo.by_name, NAMES), mimicking()], ids=lambda x: x.name)
def test_torques_are_those_of_singular_values(mechanism):
    at = fitting_state(mechanism, 6)
    expected = by_singular_values(mechanism, at)
    needed = kt.inverse_dynamics(mechanism.opened(), at.q, at.qd, at.qdd)
    found = drives.compiled_drives(mechanism, at.q, at.qd, at.qdd, needed)
    assert found is not None, "left to singular values"
    size = np.abs(expected).max()
    assert np.abs(found - expected).max() < 1e-12 * size
    assert np.abs(kt.inverse_dynamics(mechanism, at.q, at.qd, at.qdd) - expected).max() < 1e-12 * size
    one = kt.inverse_dynamics(mechanism, at.q[4], at.qd[4], at.qdd[4])  # not in lanes
    assert np.abs(one - expected[4]).max() < 1e-12 * size


def test_loads_and_threads_change_nothing_else():
    mechanism = kt.zoo.three_rrr()
    at, load = fitting_state(mechanism, 9), kt.Wrench("platform", force=(3.0, -2.0, 0.0), moment=(0, 0, 0.4))
    expected = by_singular_values(mechanism, at, [load])
    for threads in (1, 2):
        found = kt.inverse_dynamics(mechanism, at.q, at.qd, at.qdd, wrenches=[load], threads=threads)
        assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("name", ["four_bar", "stewart"])
def test_accelerations_of_drives_are_met(name):
    """The torques of a law, and the accelerations that forward dynamics makes of them."""
    mechanism = kt.zoo.by_name(name)
    at = fitting_state(mechanism, 5)
    alpha = np.random.default_rng(1).standard_normal(at.q.shape)
    tau = tracking_torque(mechanism, at.q, at.qd, alpha, mechanism.driven)
    qdd = kt.forward_dynamics(mechanism, at.q, at.qd, tau)
    assert np.abs(qdd - alpha)[:, mechanism.driven].max() < 1e-9
    whole = drives.following_accelerations(mechanism, at.q, at.qd, alpha)
    assert np.abs(whole - qdd).max() < 1e-9 * (1.0 + np.abs(qdd).max())


def test_what_it_does_not_answer_is_left_to_singular_values():
    """Too many drives, states that do not fit, and positions where a block is nearly singular."""
    ladder, still = kt.zoo.n_four_bar(2), np.zeros(5)
    sign = np.array([-1.0 if "crank" in name else 1.0 for name in ladder.joint_names])
    assert drives.compiled_drives(ladder, 0.4 * sign, still, still, still) is not None
    assert drives.compiled_drives(ladder, (np.pi / 2 - 1e-6) * sign, still, still, still) is None
    assert drives.compiled_drives(ladder, 0.4 * sign + 1e-3, still, still, still) is None
    with pytest.raises(kt.errors.InputError, match="loop 'pin1' is open by"):
        kt.inverse_dynamics(ladder, 0.4 * sign + 1e-3, still, still)
    with pytest.raises(kt.errors.InputError, match="opens with"):
        kt.inverse_dynamics(ladder, 0.4 * sign, still, still + 1.0)
    walker = kt.zoo.jansen_walker()
    q = kt.loops.assemble(walker, np.zeros(walker.n_dof))
    assert drives.loop_drives_of(walker, q) is None
