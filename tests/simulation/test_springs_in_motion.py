"""Simulations with springs and dampers between bodies: closed forms, published benchmarks, all methods."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm

import kinetree as kt

CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, *[ctypes.c_void_p] * 3)
MASS, K, C, LENGTH = 2.0, 50.0, 3.0, 0.4
GOVERNOR = {0.5: 0.7432494247863, 1.0: 0.5014209223796, 10.0: 0.6196229170614}
ANDREWS = [
    -0.0617138900142764, 0.0, 0.45527981916307, 0.487364979543843, 0.222668390165886, 1.23054744454982,
    -0.222668390165886,
]  # fmt: skip


def oscillator(damping=C):
    """A block on a rail, tied to the world by a spring along the rail."""
    build = kt.Builder("oscillator", gravity=(0, 0, 0))
    build.world.prismatic("rail", axis="x").body("block", kt.Inertia.point(MASS))
    build.spring("coil", "world", "block", at_a=(-3, 0, 0), stiffness=K, damping=damping, rest=LENGTH + 2)
    return build.build()


def closed_form(times, x0, v0):
    A = np.array([[0.0, 1.0], [-K / MASS, -C / MASS]])
    at_rest = np.array([LENGTH - 1.0, 0.0])
    return np.array([expm(A * t) @ (np.array([x0, v0]) - at_rest) + at_rest for t in times])


@pytest.mark.parametrize("method", ["dop853", "radau", "rk4"])
def test_an_oscillator_follows_its_closed_form(method):
    times = np.linspace(0.0, 1.0, 5)
    step = {"step": 1e-3} if method == "rk4" else {"rtol": 1e-10}
    result = kt.simulate(oscillator(), [0.1], [1.0], 1.0, times=times, method=method, **step)
    expected = closed_form(times, 0.1, 1.0)
    np.testing.assert_allclose(result["q"].values[:, 0], expected[:, 0], atol=1e-8)
    np.testing.assert_allclose(result["qd"].values[:, 0], expected[:, 1], atol=1e-8)
    assert result.audit["energy_balance"].passed
    lost = -C * np.trapezoid(closed_form(np.linspace(0, 1, 4001), 0.1, 1.0)[:, 1] ** 2, dx=1 / 4000)
    assert result["joint_work"].values[-1] == pytest.approx(lost, rel=1e-5)


def test_four_oscillators_in_lanes_are_as_one():
    starts = np.linspace(-0.2, 0.3, 6)[:, None]
    many = kt.simulation.simulate_batch(oscillator(), starts, np.ones((6, 1)), 0.7, times=3, rtol=1e-10)
    for k, x in enumerate(starts):
        assert many["q"].values[k, -1, 0] == pytest.approx(closed_form([0.7], x[0], 1.0)[0, 0], abs=1e-8)
    assert many.audit["energy_balance"].passed


def test_the_governor_moves_as_published():
    robot = kt.zoo.flyball_governor()
    start = [0.0, 0.5, 0.0, 0.0], [2.0 * np.pi, 0.0, 0.0, 0.0]
    result = kt.simulate(robot, *start, 10.0, times=[0.0, *GOVERNOR], method="radau", rtol=1e-9)
    np.testing.assert_allclose(result["q"].values[1:, 1], list(GOVERNOR.values()), atol=1e-10)
    assert result.audit["energy_balance"].passed


@pytest.mark.parametrize("seed", range(3))
def test_slopes_for_stiff_methods_are_those_of_forward_dynamics(seed):
    rng = np.random.default_rng(seed)
    robot = kt.zoo.random_tree(seed, 6, kinds=("revolute", "prismatic", "cylindrical"))
    names = ["world", *robot.body_names]
    springs = []
    for k in range(4):
        a, b = rng.choice(len(names), 2, replace=False)
        ends = rng.normal(scale=0.3, size=(2, 3))
        springs.append(kt.Spring(f"s{k}", names[a], names[b], *ends, *(rng.random(3) * (80, 9, 0.3))))
    robot = replace(robot, springs=tuple(springs))
    system = kt.simulation.Simulator(robot, 1.0, method="radau").system
    state, n = kt.random_state(robot, rng), robot.n_dof
    y = system.start_state(state.q, state.qd)[0]
    found = np.full((n, 2 * n), np.nan)
    assert (
        CALL(system.jacobian_address())(0.0, *(x.ctypes.data for x in (y, found, system.context.memory))) == 0
    )
    d = kt.forward_dynamics_derivatives(robot, state.q, state.qd, np.zeros(n))
    expected = np.concatenate([d.dqdd_dq, d.dqdd_dqd], axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


def test_a_stiff_mechanism_is_recognized():
    simulator = kt.simulation.Simulator(kt.zoo.flyball_governor(), 10.0, rtol=1e-9, times=2)
    motion = simulator.run([0.0, 0.5, 0.0, 0.0], [2.0 * np.pi, 0.0, 0.0, 0.0])
    assert motion.q[-1, 1] == pytest.approx(GOVERNOR[10.0], abs=1e-9)
    assert simulator.method == "radau"


def test_the_squeezer_moves_as_published():
    robot = kt.zoo.andrews_squeezer()
    assert np.abs(kt.loops.gap(robot, ANDREWS)).max() < 1e-15
    torque = [0.033, *[0.0] * 6]
    qdd, forces = kt.loops.forward_dynamics(robot, ANDREWS, np.zeros(7), torque)
    np.testing.assert_allclose(qdd[:2], [14222.443919954, -10666.8329399655], rtol=1e-12)
    np.testing.assert_allclose(forces.wrench[0, :2], [-98.566870396241, 6.12268834425573], rtol=1e-12)
    result = kt.simulate(robot, ANDREWS, duration=0.03, torque=torque, times=2, rtol=1e-10)
    assert result["q"].values[-1, 0] == pytest.approx(15.810771195154, abs=1e-10)
    assert result.audit["energy_balance"].passed


def test_a_controller_knows_the_springs_of_its_model():
    """Computed torque cancels a spring that its model has, and not one that it does not have."""
    robot = oscillator(0.0)
    law = kt.control.ComputedTorque([0.3], kp=100.0, kd=20.0)
    result = kt.simulate(robot, [0.3], duration=0.5, controller=law, times=3)
    assert abs(result["q"].values[-1, 0] - 0.3) < 1e-6
    blind = kt.control.ComputedTorque([0.3], kp=100.0, kd=20.0, model=replace(robot, springs=()))
    with pytest.warns(kt.simulation.VerdictWarning, match="does not follow"):
        result = kt.simulate(robot, [0.3], duration=0.5, controller=blind, times=3)
    assert abs(result["q"].values[-1, 0] - 0.3) > 1e-2
