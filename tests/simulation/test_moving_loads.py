"""Loads that vary with time in simulations: tables, functions, jumps; beside quadrature and other methods."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.adaptive import fitted_pieces, side_by_side

ARM = kt.zoo.gripper()
TIP = ARM.body_names[-1]
START = np.array([0.1, 0.0, 0.2, 0.0])
PULSE = ([0.1, 0.1, 0.13, 0.13], kt.Wrench(TIP, force=[[0, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]]))


def block() -> kt.Mechanism:
    build = kt.Builder("block")
    build.world.prismatic("slide", axis="x").body("block", kt.Inertia.box(2.0, (0.1, 0.1, 0.1)))
    return build.build()


def simulated(mechanism, q0, loads, **options):
    return kt.simulate(
        mechanism, q0, loads=loads, **{"duration": 0.4, "times": 9, "progress": False} | options
    )


def test_a_block_moves_as_the_integral_of_the_force():
    """m x'' = F(t): sine, pulse and ramp have closed forms."""
    t = np.linspace(0.0, 1.0, 11)
    options = {"duration": 1.0, "times": t, "rtol": 1e-11}
    sine = simulated(
        block(), [0.0], lambda t: kt.Wrench("block", force=(6.0 * np.sin(5 * t), 0, 0)), **options
    )
    assert np.abs(sine.q.values[:, 0] - 3.0 * (t / 5.0 - np.sin(5 * t) / 25.0)).max() < 1e-9
    pulse = simulated(
        block(), [0.0], lambda t: kt.Wrench("block", force=(4.0 * (0.3 < t < 0.5), 0, 0)), **options
    )
    moved = np.where(t < 0.3, 0.0, np.where(t < 0.5, (t - 0.3) ** 2, 0.04 + 0.4 * (t - 0.5)))
    assert np.abs(pulse.q.values[:, 0] - moved).max() < 1e-8
    ramp = simulated(
        block(), [0.0], ([0.2, 0.6], kt.Wrench("block", force=[[0, 0, 0], [2, 0, 0]])), **options
    )
    late = np.clip(t - 0.6, 0.0, None)
    x = np.clip(t - 0.2, 0.0, 0.4)
    assert np.abs(ramp.q.values[:, 0] - (2.5 * x**3 / 6.0 + 0.2 * late + late**2 / 2.0)).max() < 1e-9
    assert all(run.passed for run in (sine, pulse, ramp))


def test_moments_forces_and_frames_are_those_of_forward_dynamics():
    def push(t):
        force, moment = (0.3 * np.sin(9 * t), 0.2 * np.cos(5 * t), 0.0), (0.0, 0.0, 0.01 * t)
        return [
            kt.Wrench(TIP, force=force, moment=moment, point=(0.02, 0, 0), frame="body"),
            kt.Wrench(ARM.body_names[1], force=force, moment=moment),
        ]

    run = simulated(ARM, START, push, reactions=True)
    states = run.q.values, run.qd.values
    for k, t in enumerate(run.time.values):
        told = kt.forward_dynamics(ARM, states[0][k], states[1][k], np.zeros(4), push(float(t)))
        assert np.allclose(told, run.qdd.values[k], rtol=1e-8, atol=1e-7)
        reaction = kt.joint_reactions(ARM, states[0][k], states[1][k], told, push(float(t)))
        assert np.allclose(reaction, run["reaction"].values[k], rtol=1e-7, atol=1e-8)
    assert run.passed  # the work of the loads is in the balance of energy


def test_all_ways_to_simulate_agree():
    own = simulated(ARM, START, PULSE, rtol=1e-10)
    stiff = simulated(ARM, START, PULSE, method="radau", rtol=1e-10)
    many = kt.simulation.simulate_batch(ARM, [START] * 5, duration=0.4, loads=PULSE, times=9, rtol=1e-10)
    once = kt.simulation.Simulator(ARM, duration=0.4, loads=PULSE, times=9, rtol=1e-10).run(START)
    for other in (stiff.q.values, many.q.values[3], once.q):
        assert np.abs(other - own.q.values).max() < 1e-7
    assert 0.1 in own.time.values.round(9) and own.passed


def test_a_model_based_law_knows_a_load_that_varies():
    hold = kt.control.ComputedTorque(START, kp=49.0)
    run = simulated(ARM, START, PULSE, controller=hold)
    assert np.abs(run.q.values - START).max() < 1e-7


def test_several_loads_each_have_their_own_times():
    second = kt.Wrench(ARM.body_names[1], force=[[0, 0, 0], [0, 0.5, 0]])
    both = simulated(ARM, START, [PULSE, ([0.05, 0.3], second), kt.Wrench(TIP, moment=(0, 0, 0.01))])

    def told(t):
        share = np.clip((t - 0.05) / 0.25, 0.0, 1.0)
        return [
            kt.Wrench(TIP, force=(float(0.1 <= t < 0.13), 0, 0)),
            kt.Wrench(ARM.body_names[1], force=(0, 0.5 * share, 0)),
            kt.Wrench(TIP, moment=(0, 0, 0.01)),
        ]

    same = simulated(ARM, START, told)
    assert np.abs(both.q.values - same.q.values).max() < 1e-7
    assert [x["body"] for x in both.settings["loads"]] == [TIP, ARM.body_names[1], TIP]


def test_polynomials_meet_functions_with_kinks_and_jumps():
    def function(t):
        return np.array([np.exp(-3 * t) * np.cos(20 * t), abs(t - 0.37), float(t > 0.81) * t])

    table = fitted_pieces(function, 1.3, "f")
    t = np.linspace(0.0, 1.3, 1001)
    wanted = np.array([function(x) for x in t])
    assert np.abs(table.at(t) - wanted).max() < 1e-8
    assert np.abs(table.kinks - 0.81).min() < 1e-9 and len(table.breaks) < 400
    pulse = kt.trajectories.PiecewisePolynomial.linear([0.2, 0.2, 0.3, 0.3], [[0.0], [1.0], [1.0], [0.0]])
    assert side_by_side([pulse, pulse]).at([0.1, 0.2, 0.25, 0.3]).tolist() == [[0, 0], [1, 1], [1, 1], [0, 0]]
    doubled = side_by_side([table, table])
    assert np.array_equal(doubled.at(t)[:, :3], doubled.at(t)[:, 3:])


@pytest.mark.parametrize(
    ("loads", "message"),
    [
        (kt.Wrench(TIP, force=[[0, 0, 1]] * 2), r"'link4' must be constant.*loads=\(times, wrench\)"),
        (([0, 1], kt.Wrench(TIP, force=[[0, 0, 1]] * 3)), r"must have shape \(2, 3\), a row for each time"),
        (([1, 0], kt.Wrench(TIP, force=[[0, 0, 1]] * 2)), "times must ascend, got 0 after 1"),
        (([0.0], kt.Wrench(TIP)), "times of loads must be a vector of at least 2"),
        (([0, np.nan], kt.Wrench(TIP, force=[[0, 0, 1]] * 2)), "times"),
        (lambda t, q: kt.Wrench(TIP), r"must take \(t\); it takes \(t, q\)"),
        (lambda t: 3.0, "loads must be a Wrench or a list of them, got 3.0"),
        (lambda t: kt.Wrench(TIP, point=(t, 0, 0)), "on the same bodies, points and frames at all times"),
        (lambda t: kt.Wrench(TIP, force=[[0, 0, 1]]), r"forces and moments \(3,\), not rows"),
        (lambda t: kt.Wrench(TIP, force=(0, 0, np.sin(1e4 * t))), "varies too fast near t ="),
        (lambda t: kt.Wrench("wrist"), "unknown body 'wrist'"),
        ("push", "loads must be a Wrench or a list of them, got 'push'"),
        ([("push", 1)], "times of loads"),
        (3, "loads must be a Wrench"),
    ],
)
def test_bad_input(loads, message):
    with pytest.raises(kt.errors.InputError, match=message):
        simulated(ARM, START, loads)
