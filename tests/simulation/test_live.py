"""Simulations that go on piece by piece, and springs that pull at their bodies."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.simulation import LiveSimulation


def free_body(gravity=(0.0, 0.0, 0.0)):
    build = kt.Builder("brick", gravity=gravity)
    build.world.free("base").body("brick", kt.Inertia.box(2.0, (0.1, 0.2, 0.4)))
    return build.build()


def test_pieces_are_the_whole():
    arm, start = kt.zoo.gripper(), [-1.0, 0.2, 0, 0.3]
    live = LiveSimulation(arm, start, rtol=1e-9)
    for _ in range(7):
        live.advance(0.1)
    whole = kt.simulate(arm, start, duration=0.7, times=2, rtol=1e-9)
    assert live.t == pytest.approx(0.7)
    np.testing.assert_allclose(live.q, whole.q.values[-1], atol=1e-6)
    np.testing.assert_allclose(live.qd, whole.qd.values[-1], atol=1e-5)


def test_observed_torques_of_a_sampled_law_are_the_present_ones():
    law = kt.control.SampledLaw(lambda t, q, qd: np.array([np.sin(t), 0.0]), period=0.01)
    live = LiveSimulation(kt.zoo.two_link(), [0.3, 0.2], controller=law)
    for duration in (0.505, 1.0, 10.0):
        live.advance(duration)
        last = 0.01 * np.floor(live.t / 0.01)
        np.testing.assert_allclose(live.observe().tau[0, 0], [np.sin(last), 0.0], atol=1e-12)


@pytest.mark.parametrize("piece", [0.03, 0.1 / 3])
def test_a_sampled_law_keeps_its_instants(piece):
    """Pieces end at sampling instants or between them; torques stay as they are held."""
    arm, calls = kt.zoo.two_link(), []

    def law(t, q, qd):
        calls.append(t)
        return -3.0 * q - 0.5 * qd

    held = kt.control.SampledLaw(law, period=0.01)
    live = LiveSimulation(arm, [0.4, -0.2], controller=held, rtol=1e-9)
    for _ in range(3):
        live.advance(piece)
    np.testing.assert_allclose(sorted(set(np.round(calls, 9))), 0.01 * np.arange(len(set(calls))), atol=1e-9)
    whole = kt.simulate(arm, [0.4, -0.2], duration=3 * piece, times=2, controller=held, rtol=1e-9)
    np.testing.assert_allclose(live.q, whole.q.values[-1], atol=1e-7)


def test_a_pulled_mass_comes_as_the_damped_spring_says():
    """x = a (1 - (1 + w t) exp(-w t)), critically damped; the force is held for 1/240 s, w h = 0.04."""
    body = free_body()
    live = LiveSimulation(body, np.zeros(6))
    target = np.array([0.3, -0.2, 0.5])
    live.pull("brick", (0, 0, 0), target)
    assert live.pulled.stiffness == pytest.approx(2.0 * 10.0**2)  # mass times the squared frequency
    for t in (0.1, 0.2, 0.4):
        live.advance(t - live.t)
        share = 1.0 - (1.0 + 10.0 * t) * np.exp(-10.0 * t)
        np.testing.assert_allclose(live.q[:3], share * target, atol=0.03 * np.linalg.norm(target))
    momentum = 2.0 * live.qd[:3]
    live.release()
    live.advance(0.2)
    np.testing.assert_allclose(2.0 * live.qd[:3], momentum, atol=1e-9)  # nothing acts any more
    assert not live.force.any() and live.grip is None


def test_a_pull_off_the_center_of_mass_turns_the_body():
    live = LiveSimulation(free_body(), np.zeros(6))
    live.pull("brick", (0, 0, 0.2), (0.5, 0, 0.2), stiffness=50.0, damping=1.0)
    assert live.force == pytest.approx([25.0, 0.0, 0.0])
    live.advance(0.05)
    angular = kt.body_velocities(live.mechanism, live.q, live.qd, of="brick")[3:]
    assert angular[1] > 0.5 and abs(angular[0]) < 1e-9  # about y, by the right-hand rule
    live.move_target((0.0, 0.0, 0.2))
    assert live.force[0] < 0.0


def test_tumbling_passes_gimbal_lock():
    body = free_body(gravity=(0, 0, -9.81))
    spin = np.array([0, 0, 0, 0.3, 4.0, 0.5])  # the middle angle passes its lock
    live = LiveSimulation(body, [0, 0, 0, 0.1, 0.2, 0.3], spin, rtol=1e-8)
    energy = float(kt.kinetic_energy(body, live.q, live.qd) + kt.potential_energy(body, live.q))
    for _ in range(60):
        live.advance(1.0 / 30.0)
        now = float(kt.kinetic_energy(body, live.q, live.qd) + kt.potential_energy(body, live.q))
        assert now == pytest.approx(energy, rel=1e-5, abs=1e-5)
    assert len(live._charts.switches) > 0


def test_the_ground_bears_the_weight():
    robot = kt.zoo.quadruped()
    q = np.zeros(18)
    q[2] = 0.6
    live = LiveSimulation(robot, q, controller=kt.control.PD(q, 100.0, 10.0), ground=kt.Ground())
    live.advance(1.5)
    total = sum(live.contact_forces.values())
    np.testing.assert_allclose(total, [0, 0, robot.mass * 9.81], atol=0.02 * robot.mass * 9.81)
    live.reset()
    assert live.t == 0.0 and live.q.tolist() == q.tolist()


def test_what_cannot_be_pulled_is_named():
    live = LiveSimulation(kt.zoo.two_link(), [0.0, 0.0])
    for body, point, target, words in (
        ("nowhere", (0, 0, 0), (0, 0, 0), "nowhere"),
        ("link1", (0, 0), (0, 0, 0), "point of a pull"),
        ("link1", (0, 0, 0), (0, np.nan, 0), "target of a pull"),
    ):
        with pytest.raises(kt.KinetreeError, match=words):
            live.pull(body, point, target)
    assert live.pulled is None
    with pytest.raises(kt.KinetreeError, match="stiffness of a pull"):
        live.pull("link1", (0, 0, 0), (0, 0, 0), stiffness=-1.0)


def test_rigid_ground_holds_a_robot_that_is_pulled_and_let_go():
    robot, pose = kt.zoo.quadruped(), np.zeros(18)
    pose[6:] = np.tile(np.radians([0, -30, 60]), 4)
    pose[2] = 0.52
    ground = kt.Ground(kt.simulation.Soil(friction=0.8), normal=(0, 0, 1), contact="rigid")
    law = kt.control.PD(pose, kp=200.0, kd=10.0)
    live = kt.simulation.LiveSimulation(robot, pose, controller=law, ground=ground)
    live.advance(1.0)
    assert live.t == pytest.approx(1.0, abs=1e-9) and live.method == "steps"
    weight = robot.mass * 9.81
    assert sum(force[2] for force in live.contact_forces.values()) == pytest.approx(weight, rel=0.01)
    before = live.q.copy()
    live.pull("trunk", (0, 0, 0), live.q[:3] + np.array([0.0, 0.1, 0.0]))
    live.advance(0.5)
    assert live.force[1] > 1.0 and live.q[1] > before[1] + 1e-4
    live.release()
    live.advance(2.0)
    after = live.q.copy()
    live.advance(1.0)
    assert np.abs(live.q - after).max() < 1e-6 < np.abs(after - before).max()
    live.reset()
    assert live.t == 0.0 and np.array_equal(live.q, pose)
