"""Predictive control: its linear model, its cost, its bounded step, and what it does in simulations."""

import numpy as np
import pytest
from scipy.linalg import solve_discrete_are
from scipy.optimize import minimize

import kinetree as kt
from kinetree.control.predictive.goals import JointGoal, LimitGoal, PointGoal
from kinetree.control.predictive.shooting import Shooting, bounded_step
from kinetree.environments.library import cart_pole
from kinetree.errors import InputError

STEP = 1e-6


def shooting(mechanism, goals, steps=4, dt=0.02):
    drives = np.flatnonzero(mechanism.actuated)
    return Shooting(mechanism, goals, drives, np.full(len(drives), 30.0), 0.1, steps, dt)


def differences(function, x):
    columns = [(function(x + STEP * e) - function(x - STEP * e)) / (2 * STEP) for e in np.eye(x.size)]
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("mechanism", [kt.zoo.chain(3), cart_pole().mechanism], ids=lambda x: x.name)
def test_model_and_cost_are_those_of_differences(mechanism):
    random, n = np.random.default_rng(1), mechanism.n_dof
    body = mechanism.body_names[-1]
    goals = (
        JointGoal(lambda t: 0.3 * t, weight=2.0, weight_rates=0.5, final=3.0),
        PointGoal(body, lambda t: [0.2, 0.1 * t, 0.3], weight=4.0),
        LimitGoal(weight=5.0),
    )
    search = shooting(mechanism, goals)
    u = random.normal(size=(search.steps, len(search.drives)))
    plan = search.rolled(random.normal(size=2 * n) * 0.5, u)
    A, B = search.linearized(plan)
    for k in range(search.steps):
        by_x = differences(lambda x, k=k: search.moved(x, plan.u[k], search.dt), plan.x[k])
        by_u = differences(lambda u, k=k: search.moved(plan.x[k], u, search.dt), plan.u[k])
        assert np.abs(A[k] - by_x).max() < 1e-6 * np.abs(by_x).max()
        assert np.abs(B[k] - by_u).max() < 1e-6 * np.abs(by_u).max()
    times = 0.1 + search.dt * np.arange(search.steps + 1)
    gradient, _ = search.quadratic(plan, times)

    def cost(flat):
        moved = type(plan)(plan.u, flat.reshape(plan.x.shape), plan.gains, 0.0)
        return np.array(search.cost(moved, times))

    slope = differences(cost, plan.x.ravel())
    assert np.abs(gradient.ravel() - slope).max() < 1e-6 * np.abs(slope).max()


def test_a_bounded_step_is_that_of_a_general_optimizer():
    random = np.random.default_rng(2)
    at_bounds = 0
    for _ in range(30):
        X = random.normal(size=(4, 4))
        H, g = X @ X.T + 0.1 * np.eye(4), 3.0 * random.normal(size=4)
        low, high = -random.uniform(0.1, 1.0, 4), random.uniform(0.1, 1.0, 4)
        found, K = bounded_step(H, g, np.ones((4, 3)), low, high)
        best = minimize(
            lambda u, H=H, g=g: g @ u + 0.5 * u @ H @ u, np.zeros(4), jac=lambda u, H=H, g=g: g + H @ u,
            bounds=list(zip(low, high, strict=True)), options={"ftol": 1e-14, "gtol": 1e-12},
        )  # fmt: skip
        assert np.abs(found - best.x).max() < 1e-5
        held = (found == low) | (found == high)
        assert not K[held].any()
        at_bounds += held.sum()
    assert at_bounds > 10


def test_a_mass_on_a_rail_gets_the_gain_of_riccatis_equation():
    builder = kt.Builder("rail")
    builder.world.prismatic("x", effort_limit=1.0).body("mass", kt.Inertia.point(2.0))
    mechanism, dt = builder.build(), 0.05
    search = Shooting(
        mechanism,
        (JointGoal(0.0, weight=3.0, weight_rates=1.0),),
        np.array([0]),
        np.array([1e6]),
        1e11,
        400,
        dt,
    )
    plan = search.rolled(np.array([0.1, 0.0]), np.zeros((400, 1)))
    times = dt * np.arange(401)
    plan.cost = search.cost(plan, times)
    gain = search.improved(plan, times).gains[0]
    A, B = np.array([[1.0, dt], [0.0, 1.0]]), np.array([[dt**2 / 4], [dt / 2]])
    Q, R = dt * np.diag([3.0, 1.0]), np.array([[search.price[0]]])
    P = solve_discrete_are(A, B, Q, R)
    assert np.allclose(gain, -np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A), rtol=1e-6)


def test_a_pole_is_swung_up_with_noise_and_delay_within_its_force():
    mechanism = cart_pole().mechanism
    stand = JointGoal(0.0, weight=[1.0, 10.0], weight_rates=[0.1, 0.5], final=20.0)
    plan = kt.control.MPC(mechanism, stand, horizon=1.0, effort=1e-2, delay=0.02)
    law = kt.control.SampledLaw(plan, period=0.02, delay=0.02, noise=(1e-3, 1e-2), seed=3)
    swung = kt.simulate(mechanism, [0.0, np.pi], duration=6.0, controller=law)
    last = swung.q.values[swung.time.values > 5.0]
    assert np.abs(last[:, 1]).max() < 0.1 and np.abs(swung.tau.values).max() <= 10.0 + 1e-9
    assert swung.statistics["solves"] == 300


def test_an_arm_follows_a_moving_point_within_its_torques():
    arm = kt.zoo.ur5()
    home = np.array([0.0, -1.2, 1.5, -1.0, -1.5, 0.0])
    tip = arm.body_names[-1]
    center = kt.forward_kinematics(arm, home)[tip][1]

    def target(t):
        return center + 0.1 * np.array([0.0, np.sin(3.0 * t), 1.0 - np.cos(3.0 * t)])

    goals = [PointGoal(tip, target, weight=2e4), JointGoal(home, weight=0.5, weight_rates=0.05), LimitGoal()]
    plan = kt.control.MPC(arm, goals, horizon=0.3, step=0.03)
    moved = kt.simulate(
        arm, home, duration=1.5, controller=kt.control.SampledLaw(plan, period=0.01), times=151
    )
    place = kt.forward_kinematics(arm, moved.q.values)[tip][1]
    error = np.linalg.norm(place - np.array([target(t) for t in moved.time.values]), axis=1)
    assert error[30:].max() < 2e-3
    assert (np.abs(moved.tau.values) <= arm.effort_limit + 1e-9).all()


def test_what_it_cannot_do_is_said():
    arm = kt.zoo.chain(2)
    for goals, settings, words in (
        (JointGoal([1.0, 2.0, 3.0]), {}, "shape"),
        (PointGoal("hand", [0, 0, 0]), {}, "unknown body 'hand'"),
        ([], {}, "goals is empty"),
        ("up", {}, "goals must be"),
        (JointGoal(), {"horizon": 0.0}, "horizon must be 1 to 1000 steps"),
        (JointGoal(), {"iterations": 0}, "iterations must be"),
        (JointGoal(), {"limits": {"joint3": 1.0}}, "Did you mean 'joint"),
        (JointGoal(), {"limits": -1.0}, "limits must be > 0"),
    ):
        with pytest.raises(InputError, match=words):
            kt.control.MPC(arm, goals, **settings)
    with pytest.raises(InputError, match="opened"):
        kt.control.MPC(kt.zoo.four_bar(), JointGoal())
