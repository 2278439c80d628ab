"""The ground law in plain formulas, and the compiled one beside it."""

import numpy as np
import pytest

import kinetree as kt

ROBOT = kt.zoo.quadruped()
SOILS = {
    "firm": kt.simulation.Soil(stiffness=3000.0, overdamping=2.0, ramp=0.02),
    "dusty": kt.simulation.Soil(dust=0.03, damping=400.0),
    "lowered": kt.simulation.Soil(dust=0.03, damping=400.0, lowered_spring=True, friction=0.3),
    "smooth": kt.simulation.Soil(friction=0.0),
}


def ball():
    build = kt.Builder("ball")
    body = build.world.free("float").body("ball", kt.Inertia.sphere(2.0, 0.1))
    body.contact("low", at=(0.0, 0.0, -0.1))
    return build.build()


def state_of(height, velocity):
    q, qd = np.zeros(6), np.zeros(6)
    q[2], qd[:3] = height + 0.1, velocity
    return q, qd


@pytest.mark.parametrize(
    ("height", "velocity", "force"),
    [
        (0.01, (0, 0, -1), (0, 0, 0)),  # in the air
        (-0.01, (0, 0, -1), (0, 0, 20 + 300)),  # sinking: k d - c v
        (-0.01, (0, 0, 0.01), (0, 0, 20 - 300 * 0.5 * 0.01)),  # rising, half of the ramp: 0.25 (3 - 1) = 0.5
        (-0.05, (0, 0, 0.1), (0, 0, 100 - 30)),  # rising, below the ramp
        (-0.01, (0, 0, 5.0), (0, 0, 0)),  # the damper never pulls
        (-0.01, (0.01, 0, 0), (-7.0 * 2 / np.pi * np.arctan(np.pi * 100 * 0.01 / (2 * 7.0)) * 2, 0, 20)),
    ],
)
def test_forces_by_hand(height, velocity, force):
    soil = kt.simulation.Soil(stiffness=2000.0, damping=300.0, ramp=0.02, friction=0.7, slipping=100.0)
    found = kt.simulation.contact_forces(ball(), kt.Ground(soil), *state_of(height, velocity))
    if velocity[0]:  # mu N = 14 N
        force = (-14.0 * 2 / np.pi * np.arctan(np.pi * 100 * 0.01 / (2 * 14.0)), 0, 20)
    assert found.force[0] == pytest.approx(force)
    assert found.penetration[0] == pytest.approx(max(0.0, -height))
    assert found.touching[0] == any(force)


@pytest.mark.parametrize("soil", SOILS)
def test_simulation_has_the_same_forces(soil, rng):
    """Compiled contact against plain formulas, on a tilted plane with a step and a patch of ice."""
    ground = kt.Ground(
        SOILS[soil],
        origin=(0, 0, -0.35),
        normal=(0.1, -0.05, 1.0),
        forward=(1.0, 0.3, 0.0),
        regions=[
            kt.simulation.Region(forward=(0.1, 3.0), height=0.03),
            kt.simulation.Region(side=(-3.0, 0.0), soil=kt.simulation.Soil(friction=0.01, stiffness=900.0)),
        ],
    )
    q0 = np.concatenate([[0, 0, 0.05, 0.1, -0.1, 0.2], 0.2 * rng.standard_normal(12)])
    how = {"duration": 0.3, "rtol": 1e-6, "times": 41, "verdicts": False}
    run = kt.simulate(ROBOT, q0, rng.standard_normal(18), ground=ground, **how)
    found = kt.simulation.contact_forces(ROBOT, ground, run.q.values, run.qd.values)
    assert found.touching.any() and not found.touching.all()
    assert run.contact_force.values == pytest.approx(found.force, abs=1e-6)
    assert run.penetration.values == pytest.approx(found.penetration, abs=1e-12)
    assert np.array_equal(run.touching.values.astype(bool), found.touching)


def test_slip_is_along_the_ground_where_it_touches():
    ground = kt.Ground(origin=(0, 0, -0.2), normal=(0.2, 0.0, 1.0))
    robot = ball()
    q0 = np.array([0.0, 0, 0.0, 0, 0, 0])
    run = kt.simulate(robot, q0, [1.0, 0.5, 0, 0, 0, 0], duration=0.3, ground=ground, times=31, rtol=1e-7)
    touching, slip = run.touching.values[:, 0].astype(bool), run.slip_velocity.values[:, 0]
    assert touching.any() and not touching.all()
    assert np.isnan(slip[~touching]).all() and np.isfinite(slip[touching]).all()
    up = np.array([0.2, 0.0, 1.0]) / np.linalg.norm([0.2, 0.0, 1.0])
    v = kt.body_velocities(robot, run.q.values, run.qd.values)[:, 0]
    R = kt.forward_kinematics(robot, run.q.values).rotation[:, 0]
    foot = v[:, :3] + np.cross(v[:, 3:], R @ [0.0, 0.0, -0.1])
    along = foot - (foot @ up)[:, None] * up
    assert slip[touching] == pytest.approx(along[touching], abs=1e-9)


def test_any_batch_and_wrenches(rng):
    q = 0.1 * rng.standard_normal((2, 3, 18))
    q[..., 2] -= 0.1
    ground = kt.Ground(origin=(0, 0, -0.35))
    found = kt.simulation.contact_forces(ROBOT, ground, q, np.zeros(18))
    assert found.force.shape == (2, 3, 12, 3) and found.touching.shape == (2, 3, 12)
    one = kt.simulation.contact_forces(ROBOT, ground, q[1, 2], np.zeros(18))
    assert one.force == pytest.approx(found.force[1, 2], abs=1e-12)
    push = kt.forward_dynamics(ROBOT, q, 0 * q, 0 * q, found.wrenches(ROBOT))
    total = kt.inverse_dynamics(ROBOT, q, 0 * q, push)[..., :3]
    assert total == pytest.approx(found.force.sum(axis=-2), abs=1e-8)  # on the translations of the base
