"""Walking of bipeds: what is found in a mechanism, where feet are put, and that robots stay up."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.walkers import five_link, random_robot

import kinetree as kt
from kinetree.control import SampledLaw, Walking
from kinetree.control.walking.plan import Gait, Plan, minimum_jerk
from kinetree.control.walking.walker import walker_of

G = 9.81
ROBOTS = {"planar": kt.zoo.planar_biped, "spatial": kt.zoo.spatial_biped, "five_link": five_link}
SOIL = kt.Ground(kt.Soil(stiffness=2e4))


def test_minimum_jerk_has_the_rates_of_its_value():
    s, h = np.linspace(0.05, 0.95, 7), 1e-5
    value, rate, bend = (np.array([minimum_jerk(x)[k] for x in s]) for k in range(3))
    ahead, back = (np.array([minimum_jerk(x + d)[0] for x in s]) for d in (h, -h))
    np.testing.assert_allclose(rate, (ahead - back) / (2 * h), atol=1e-8)
    np.testing.assert_allclose(bend, (ahead - 2 * value + back) / h**2, atol=1e-4)
    assert minimum_jerk(0.0) == (0.0, 0.0, 0.0) and minimum_jerk(1.0)[0] == 1.0


@pytest.mark.parametrize("name", ROBOTS)
def test_a_biped_is_found_by_its_topology(name):
    walker = walker_of(ROBOTS[name]())
    assert walker.leg == pytest.approx(0.8 if name == "five_link" else 1.0)
    assert walker.is_planar == (name != "spatial") and walker.has_soles == (name != "five_link")
    assert walker.n_base == (6 if name == "spatial" else 3)
    left = np.cross(walker.axes[-1], walker.axes[0])
    pose = kt.forward_kinematics(walker.mechanism, walker.upright)
    places = [pose.position[walker.mechanism.body_index(foot.hip)] @ left for foot in walker.feet]
    assert places[0] - places[1] == pytest.approx(walker.hip_width)


@pytest.mark.parametrize("name", ROBOTS)
def test_it_starts_on_the_ground_with_bent_knees(name):
    robot = ROBOTS[name]()
    walker, q = walker_of(robot), Walking().start(robot)
    pose, up, ahead = kt.forward_kinematics(robot, q), walker.axes[-1], walker.axes[0]
    points = {point.name: point for point in robot.contact_points}
    for foot in walker.feet:
        k = robot.body_index(foot.body)
        heights = [
            up @ (pose.position[k] + pose.rotation[k] @ points[x].position) for x in foot.contact_points
        ]
        np.testing.assert_allclose(heights, 0.0, atol=1e-8)
        hip = pose.position[robot.body_index(foot.hip)]
        ankle = pose.position[k] + pose.rotation[k] @ foot.point
        assert up @ (hip - ankle) == pytest.approx(0.88 * walker.leg, rel=1e-6)
    knee = pose.position[robot.body_index("shank1")]
    assert ahead @ knee > ahead @ pose.position[robot.body_index("thigh1")] + 0.05


def test_footholds_make_an_inverted_pendulum_walk_at_the_speed():
    """The plan moves the feet of a linear inverted pendulum, x'' = w^2 (x - p), solved exactly."""
    robot = kt.zoo.spatial_biped()
    walker, height, tick = walker_of(robot), 0.8, 0.002
    plan, w = Plan(walker, Gait(0.15)), math.sqrt(G / height)
    feet = [np.array([0.0, 0.1, 0.0]), np.array([0.0, -0.1, 0.0])]
    x, v = np.zeros(2), np.zeros(2)
    where, rows = [], 3000
    for k in range(rows):
        center, velocity = np.array([*x, height]), np.array([*v, 0.0])
        hips = tuple(np.array([x[0], x[1] + side * 0.05, 0.88]) for side in (1, -1))
        seen = SimpleNamespace(
            center=center,
            velocity=velocity,
            hips=hips,
            feet=[SimpleNamespace(position=foot) for foot in feet],
        )
        landed = plan.begun and plan.phase > plan.T
        loads = np.array([0.0, 0.0])
        loads[plan.moving] = 1e3 if landed else 0.0
        if landed:
            feet[plan.moving] = np.array([*plan.foothold, 0.0])
            seen.feet[plan.moving].position = feet[plan.moving]
        plan.update(k * tick, seen, loads)
        p = feet[plan.stance][:2]
        c, s = math.cosh(w * tick), math.sinh(w * tick)
        x, v = p + (x - p) * c + v / w * s, (x - p) * w * s + v * c
        where.append(x.copy())
    speed = (where[-1][0] - where[rows // 2][0]) / (tick * (rows - 1 - rows // 2))
    assert speed == pytest.approx(0.15 * math.sqrt(G * walker.leg), rel=0.06)
    assert np.ptp(np.array(where)[rows // 2 :, 1]) < 0.15 and plan.steps > 10


def walked(robot, law, duration=2.4, ground=SOIL):
    run = kt.simulate(
        robot, law.start(robot), duration=duration, controller=law, ground=ground,
        method="radau", rtol=1e-3, atol=1e-5, times=25,
    )  # fmt: skip
    walker = walker_of(robot)
    pose = kt.forward_kinematics(robot, run.q.values)
    k = robot.body_index(walker.trunk)
    trunk = pose.position[:, k]
    return run, trunk @ walker.axes[0], trunk @ walker.axes[-1], pose.rotation[:, k]


@pytest.mark.parametrize("make", [kt.zoo.spatial_biped, lambda: random_robot("five_link", 3)])
def test_it_walks_and_stays_up(make):
    robot = make()
    run, ahead, height, rotation = walked(robot, Walking())
    assert height.min() > 0.9 * height[0] and ahead[-1] > 0.3
    tilt = np.arccos(np.clip((np.trace(rotation @ rotation[0].T, axis1=1, axis2=2) - 1) / 2, -1, 1))
    assert tilt.max() < 0.2
    weight = robot.mass * G
    half = run.contact_force.values[12:].sum(axis=1) @ walker_of(robot).axes[-1]
    assert half.mean() == pytest.approx(weight, rel=0.15)
    assert np.abs(run.tau.values).max() < 0.8 * weight * walker_of(robot).leg


def test_the_same_walk_twice():
    robot, law = kt.zoo.spatial_biped(), Walking(0.3, noise=(1e-4, 1e-3), seed=5)
    first, second = (walked(robot, law, duration=0.2)[0] for _ in range(2))
    np.testing.assert_array_equal(first.q.values, second.q.values)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Walking(height=1.2), r"height must be between 0\.5 and 0\.97, got 1\.2"),
        (lambda: Walking(period=0.0), "period"),
        (lambda: Walking(model="robot"), "model must be a Mechanism"),
        (lambda: Walking().start(kt.zoo.kuka_kr5()), "has no contact points, so it has no feet"),
        (lambda: Walking().start(kt.zoo.quadruped()), "has 4 legs with contact points .* needs two"),
        (
            lambda: Walking(forward=(0, 0, 1)).start(kt.zoo.spatial_biped()),
            "forward must have a horizontal",
        ),
        (lambda: Walking(9.0).sampled(kt.zoo.spatial_biped()), r"must be within 1\.57 m/s .* got 9 m/s"),
    ],
)
def test_what_cannot_walk_is_refused(make, message):
    with pytest.raises(kt.KinetreeError, match=message):
        make()


def test_a_law_needs_a_ground():
    robot = kt.zoo.spatial_biped()
    with pytest.raises(kt.KinetreeError, match="needs a ground"):
        kt.simulate(robot, Walking().start(robot), duration=0.01, controller=Walking())


def test_it_is_a_sampled_law():
    running = Walking(0.2, delay=0.004).sampled(kt.zoo.spatial_biped())
    assert running.period == 0.004 and isinstance(Walking(0.2)._sampled_law(lambda t, q, qd: 0), SampledLaw)
