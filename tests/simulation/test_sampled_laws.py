"""Laws with a memory: one call per tick, in order, whatever the integrator repeats."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.control import PD, SampledLaw

ARM = kt.zoo.two_link()
START = np.array([0.4, -0.3])
G = 9.81


def cart(damping=0.0):
    build = kt.Builder("cart", gravity=(0, 0, 0))
    rail = build.world.prismatic("rail", axis="x", viscous=damping)
    rail.body("cart", kt.Inertia.sphere(2.0, 0.1))
    return build.build()


class Recorder:
    """PD that writes down when it was called, and what it saw."""

    def __init__(self):
        self.resets = 0
        self.reset()

    def reset(self):
        self.resets, self.times, self.seen = self.resets + 1, [], []

    def __call__(self, t, q, qd):
        self.times.append(t)
        self.seen.append(np.array([*q, *qd]))
        return -20.0 * q - 2.0 * qd


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau", "rk4"])
def test_it_is_called_once_per_tick_in_order(method):
    law, step = Recorder(), {"step": 1e-3} if method == "rk4" else {}
    kt.simulate(ARM, START, duration=0.1, controller=SampledLaw(law, period=0.004), method=method, **step)
    np.testing.assert_allclose(law.times, 0.004 * np.arange(25), atol=1e-12)


def test_it_moves_as_the_built_in_law_with_the_same_period():
    """PD about zero, compiled and sampled, against the same law in Python."""
    compiled = PD(np.zeros(2), 20.0, 2.0, period=0.004, limits=1.5)
    called = SampledLaw(Recorder(), period=0.004, limits=1.5)
    a, b = (kt.simulate(ARM, START, duration=0.3, controller=x, rtol=1e-10) for x in (compiled, called))
    np.testing.assert_allclose(b.q.values, a.q.values, atol=1e-9)
    np.testing.assert_allclose(b.tau.values, a.tau.values, atol=1e-8)
    assert np.abs(b.tau.values).max() == pytest.approx(1.5)


def test_a_simulator_begins_with_an_empty_memory_every_time():
    law = Recorder()
    runs = kt.simulation.Simulator(
        ARM, 0.02, controller=SampledLaw(law, period=0.004, noise=(1e-3, 1e-2)), times=3
    )
    first, second = runs.run(START), runs.run(START)
    np.testing.assert_array_equal(first.q, second.q)
    assert law.resets == 3 and len(law.times) == 5


def test_a_stiff_method_knows_that_held_torques_have_no_slopes():
    law = SampledLaw(Recorder(), period=0.004)
    run = kt.simulate(ARM, START, duration=0.1, controller=law, method="radau", rtol=1e-8)
    best = kt.simulate(ARM, START, duration=0.1, controller=law, method="dop853", rtol=1e-11)
    np.testing.assert_allclose(run.q.values, best.q.values, atol=1e-7)


def test_delayed_torques_come_late():
    """x'' = f / m with f = 6 N from the second tick on: nothing moves before."""
    late = SampledLaw(lambda t, q, qd: [6.0], period=0.1, delay=0.2)
    run = kt.simulate(cart(), [0.0], duration=1.0, controller=late, times=11)
    moved = np.maximum(0.0, run.time.values - 0.2)
    np.testing.assert_allclose(run.q.values[:, 0], 0.5 * 3.0 * moved**2, atol=1e-9)


def test_noise_has_the_spread_that_was_asked_for():
    law = Recorder()
    given = SampledLaw(law, period=1e-3, noise=(0.01, 0.2), seed=3)
    run = kt.simulate(cart(), [0.0], duration=2.0, controller=given, times=2001, rtol=1e-9)
    true = np.stack([run.q.values[:-1, 0], run.qd.values[:-1, 0]], axis=1)
    spread = (np.array(law.seen) - true).std(axis=0)
    np.testing.assert_allclose(spread, [0.01, 0.2], rtol=0.06)


def test_it_reads_the_forces_of_the_ground():
    """A ball at rest: the law reads its weight, and lifts half of it."""
    build = kt.Builder("ball")
    ball = build.world.prismatic("lift", axis="z").body("ball", kt.Inertia.sphere(2.0, 0.1))
    ball.contact("point", at=(0, 0, 0))
    robot, read = build.build(), []

    def law(t, q, qd, contact):
        read.append(contact.of("point")[2])
        assert contact.names == ("point",) and contact.velocity.shape == (1, 3)
        return [0.5 * 2.0 * G] if t >= 0.5 else [0.0]

    ground = kt.Ground(kt.simulation.Soil(stiffness=1e4))
    kt.simulate(robot, [-2.0 * G / 1e4], duration=1.5, ground=ground, controller=SampledLaw(law, period=0.05))
    assert read[9] == pytest.approx(2.0 * G, rel=1e-3) and read[-1] == pytest.approx(G, rel=2e-2)


def test_torques_of_the_actuated_joints_are_enough():
    robot = kt.zoo.quadruped()
    law = SampledLaw(lambda t, q, qd: np.full(12, 0.1), period=0.01)
    run = kt.simulate(robot, np.zeros(robot.n_dof), duration=0.02, controller=law)
    assert np.all(run.tau.values[:, :6] == 0.0) and np.all(run.tau.values[:, 6:] == 0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SampledLaw(3.0, period=0.1), "law must be a function of"),
        (lambda: SampledLaw(lambda t: t, period=0.1), r"must take \(t, q, qd\)"),
        (lambda: SampledLaw(Recorder(), period=0.0), "period of a sampled law must be > 0 s, got 0"),
        (
            lambda: SampledLaw(Recorder(), period=0.1, delay=0.05),
            "delay must be a multiple >= 0",
        ),
        (lambda: SampledLaw(Recorder(), period=0.1, noise=1.0), "noise must be two numbers"),
        (lambda: SampledLaw(Recorder(), period=0.1, noise=(-1.0, 0.0)), "noise must be >= 0"),
        (lambda: SampledLaw(Recorder(), period=0.1, seed=-1), "seed must be an integer >= 0, got -1"),
        (lambda: SampledLaw(Recorder(), period=0.1, limits="best"), "best"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(kt.errors.InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (lambda t, q, qd: [1.0], "must return 18 torques, for .* or 12 of the actuated joints"),
        (lambda t, q, qd: "much", "must return numbers at t = 0 s, got str"),
        (
            lambda t, q, qd: np.ones(18),
            "returns 1 at t = 0 s for 'base.tx', which belongs to",
        ),
        (lambda t, q, qd: np.full(12, np.nan), "returns nan for joint"),
    ],
)
def test_wrong_answers_are_named(law, message):
    robot = kt.zoo.quadruped()
    with pytest.raises(kt.errors.SimulationError, match=message):
        kt.simulate(robot, np.zeros(18), duration=0.02, controller=SampledLaw(law, period=0.01))
