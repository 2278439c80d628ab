"""Spheres and ellipsoids on the ground, against closed forms and the plain formulas."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kinetree as kt

FIRM = kt.simulation.Soil(stiffness=2e4, damping=200.0, slipping=2e4, friction=0.9)


def body(inertia, **contact):
    builder = kt.Builder("ball")
    builder.world.free("base").body("ball", inertia).contact("skin", **contact)
    return builder.build()


def test_a_sphere_rolls_down_a_slope():
    """Without slip a solid sphere accelerates by 5/7 g sin(slope)."""
    slope, radius = 0.2, 0.1
    ball = body(kt.Inertia.sphere(2.0, radius), radius=radius)
    normal = np.array([np.sin(slope), 0.0, np.cos(slope)])
    sunk = 2.0 * 9.81 * np.cos(slope) / FIRM.stiffness
    start = np.zeros(6)
    start[:3] = (radius - sunk) * normal
    ground = kt.Ground(FIRM, normal=normal)
    rolled = kt.simulate(ball, start, duration=1.0, ground=ground, rtol=1e-8, progress=False)
    downhill = np.array([np.cos(slope), 0.0, -np.sin(slope)])
    assert (rolled.q.values[-1, :3] - start[:3]) @ downhill == pytest.approx(
        0.5 * 5.0 / 7.0 * 9.81 * np.sin(slope), rel=2e-3
    )


def test_own_friction_of_a_point():
    """Too smooth to roll: a sphere slides by g (sin - mu cos), and no friction turns it the less."""
    slope, mu = 0.5, 0.02
    ball = body(kt.Inertia.sphere(2.0, 0.1), radius=0.1, friction=mu)
    normal = np.array([np.sin(slope), 0.0, np.cos(slope)])
    start = np.zeros(6)
    start[:3] = (0.1 - 2.0 * 9.81 * np.cos(slope) / FIRM.stiffness) * normal
    slid = kt.simulate(ball, start, duration=0.5, ground=kt.Ground(FIRM, normal=normal), progress=False)
    way = np.linalg.norm(slid.q.values[-1, :3] - start[:3])
    assert way == pytest.approx(0.125 * 9.81 * (np.sin(slope) - mu * np.cos(slope)), rel=5e-3)


def test_an_ellipsoid_rests_on_its_flat_side():
    half = np.diag([0.2, 0.15, 0.05])
    stone = body(kt.Inertia.box(3.0, (0.3, 0.2, 0.1)), half_axes=half)
    start = np.zeros(6)
    start[2] = 0.07
    rest = kt.simulate(stone, start, duration=1.0, ground=kt.Ground(FIRM), method="radau", progress=False)
    assert rest.q.values[-1, 2] == pytest.approx(0.05 - 3.0 * 9.81 / FIRM.stiffness, abs=1e-5)
    assert np.abs(rest.qd.values[-1]).max() < 1e-3
    assert rest.contact_force.values[-1, 0, 2] == pytest.approx(3.0 * 9.81, rel=1e-4)


def test_compiled_forces_are_those_of_the_plain_formulas(rng):
    robot = kt.Builder("two")
    trunk = robot.world.free("base").body("trunk", kt.Inertia.box(4.0, (0.3, 0.2, 0.2)))
    arm = trunk.revolute("elbow", axis="y").body("arm", kt.Inertia.rod(1.0, end=(0.3, 0, 0)))
    turned = Rotation.random(random_state=rng).as_matrix() * [[0.1], [0.2], [0.15]]
    trunk.contact("belly", (0.05, 0, -0.1), half_axes=turned, friction=0.4)
    arm.contact("tip", (0.3, 0, 0), radius=0.05).contact("corner", (0.2, 0.1, 0))
    robot = robot.build()
    ground = kt.Ground(FIRM, normal=(0.1, -0.2, 1.0))
    q, qd = 0.2 * rng.standard_normal(7), rng.standard_normal(7)
    q[2] = 0.0
    found = kt.simulation.contact_forces(robot, ground, q, qd)
    assert found.touching.any()
    deep = {"sinking": None}
    short = kt.simulate(
        robot, q, qd, duration=1e-3, ground=ground, reactions=True, progress=False, verdicts=deep
    )
    assert np.abs(short.contact_force.values[0] - found.force).max() < 1e-9 * np.abs(found.force).max()
    loaded = kt.forward_dynamics(robot, q, qd, np.zeros(7), found.wrenches(robot))
    assert np.abs(short.qdd.values[0] - loaded).max() < 1e-9 * np.abs(loaded).max()
    base = kt.joint_reactions(robot, q, qd, short.qdd.values[0], found.wrenches(robot))[0]
    assert np.abs(short.reaction.values[0, 0] - base).max() < 1e-8 * np.abs(found.force).max()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"radius": -0.1}, "radius must be >= 0 m, got -0.1"),
        ({"radius": 0.1, "half_axes": np.diag([0.1, 0.2, 0.3])}, "either a radius or half_axes"),
        ({"half_axes": np.diag([0.1, 0.2, 0.0])}, "none of them zero"),
        ({"half_axes": [[0.1, 0, 0], [0.1, 0.1, 0], [0, 0, 0.1]]}, "right angles"),
        ({"friction": -1.0}, "friction must be >= 0, got -1"),
    ],
)
def test_impossible_shapes(given, message):
    with pytest.raises(kt.errors.ModelError, match=message):
        kt.ContactPoint("toe", "foot", (0.0, 0.0, 0.0), **given)
