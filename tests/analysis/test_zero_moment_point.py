"""Zero-moment points: reference data, momentum, statics, and where there is none."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.analysis.moment_point import inertial_wrench, zero_moment_point
from kinetree.errors import InputError, SingularityError
from support.reference import mechanism as build
from support.reference import read
from support.trees import rotation

BIPED = build(read("floating_spatial_biped.json")["model"])


@pytest.mark.parametrize("case", read("zmp.json")["cases"])
def test_reference(case):
    state = case["q"], case["qd"], case["qdd"]
    F, N = inertial_wrench(BIPED, *state)
    assert np.abs(F - case["total_force"]).max() < 1e-11
    assert np.abs(N - case["total_moment_about_origin"]).max() < 1e-11
    point = zero_moment_point(BIPED, *state)
    assert np.abs(point[:2] - case["zmp_exact"]).max() < 1e-12 and abs(point[2]) < 1e-14


def test_the_wrench_is_the_rate_of_momentum_less_weight(robot, rng):
    """Of any tree: by central differences of the momentum along the motion."""
    x, h = kt.random_state(robot, rng, 5), 1e-4
    F, N = inertial_wrench(robot, x.q, x.qd, x.qdd)
    rate = np.zeros((5, 6))
    for k, weight in ((1, 8.0), (2, -1.0)):  # fourth order
        for sign in (1, -1):
            t = sign * k * h
            q, qd = x.q + t * x.qd + t * t / 2 * x.qdd, x.qd + t * x.qdd
            rate += sign * weight * kt.momentum(robot, q, qd) / (12 * h)
    fixed = sum(
        link.body.inertia.mass
        for link, axis in zip(robot.links, robot.tree.body_axis, strict=True)
        if axis < 0
    )
    scale = 1.0 + np.abs(rate).max()
    assert np.abs(F - rate[:, :3] + (robot.mass - fixed) * robot.gravity).max() < 1e-7 * scale
    if not fixed:
        weight = np.cross(robot.mass * kt.center_of_mass(robot, x.q), robot.gravity)
        assert np.abs(N - rate[:, 3:] + weight).max() < 1e-7 * scale


def test_at_rest_it_is_below_the_centre_of_mass(rng):
    robot = kt.zoo.hexapod()
    q, still = rng.uniform(-0.5, 0.5, (4, 18)), np.zeros(18)
    point = zero_moment_point(robot, q, still, still, ground_height=-0.4)
    assert np.abs(point[:, :2] - kt.center_of_mass(robot, q)[:, :2]).max() < 1e-13
    assert np.allclose(point[:, 2], -0.4, atol=1e-14)


def test_no_moment_along_any_plane_is_left_at_the_point(rng):
    robot = kt.zoo.spatial_biped()
    x, n = kt.random_state(robot, rng, 6), rotation(rng)[0]
    F, N = inertial_wrench(robot, x.q, x.qd, x.qdd)
    point = zero_moment_point(robot, x.q, x.qd, x.qdd, ground_height=0.3, normal=n)
    left = N - np.cross(point, F)
    assert np.abs(np.cross(n, left)).max() < 1e-9 * np.abs(N).max()
    assert np.abs(point @ n - 0.3).max() < 1e-11


def test_refuses():
    robot, still = kt.zoo.quadruped(), np.zeros(18)
    falling = np.array([0, 0, -9.81, *[0] * 15])
    with pytest.raises(SingularityError, match="does not push on the ground"):
        zero_moment_point(robot, still, still, falling)
    with pytest.raises(InputError, match="give the ground's normal"):
        zero_moment_point(robot.with_gravity((0, 0, 0)), still, still, still)
    with pytest.raises(InputError, match="ground_height must be finite"):
        zero_moment_point(robot, still, still, still, ground_height=np.nan)
