"""Ground contact: the law of the book, bodies at rest, sliding, steps, slopes."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.kernels.ground import friction_force, normal_force
from support.reference import read
from support.refused import refused

CASES = read("ground_model.json")["cases"]
G = 9.81


def ball(mass=2.0, gravity=(0.0, 0.0, -G), points=((0.0, 0.0, 0.0),)):
    """A small body on three sliding axes with contact points."""
    build = kt.Builder("ball", gravity=gravity)
    carrier = build.world.prismatic("x", axis="x").body("slide_x", kt.Inertia(0.0))
    carrier = carrier.prismatic("y", axis="y").body("slide_y", kt.Inertia(0.0))
    body = carrier.prismatic("z", axis="z").body("ball", kt.Inertia.sphere(mass, 0.01))
    for k, at in enumerate(points):
        body.contact(f"point{k}", at=at)
    return build.build()


def soil(case):
    return kt.simulation.Soil(
        stiffness=case["k"],
        overdamping=case["zeta"],
        ramp=case["delta_max"],
        friction=case["mu"],
        slipping=case["c_h"],
    )


@pytest.mark.parametrize("case", CASES)
def test_normal_force_of_the_book(case):
    """[Shah2013], D.1-D.4 and D.6 with its inequalities exchanged."""
    numbers = (case["delta"], case["foot_v"][2], case["k"], case["c_max"], case["delta_max"])
    assert normal_force(*numbers, 1.0, 0.0, 0.0) == pytest.approx(case["Fz_firm_clipped"], rel=1e-12)
    dusty = normal_force(*numbers, 0.0, case["t_d"], 0.0)
    assert dusty == pytest.approx(max(0.0, case["Fz_dusty_corrected"]), rel=1e-12)
    lowered = normal_force(*numbers, 0.0, case["t_d"], 1.0)
    assert lowered == pytest.approx(max(0.0, case["Fz_dusty_lowered_spring"]), rel=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_friction_of_the_book(case):
    """[Shah2013], D.5, with the friction of a normal force that does not pull."""
    for k, key in enumerate(("Fx", "Fy")):
        force = friction_force(case["Fz_firm_clipped"], case["foot_v"][k], case["mu"], case["c_h"])
        assert force == pytest.approx(case[key], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("case", CASES[::3])
def test_compiled_contact_is_the_law(case):
    robot = ball(case["sum_m"])
    ground = kt.Ground(soil(case))
    start = [0.3, -0.2, case["foot_height"]]
    run = kt.simulate(robot, start, case["foot_v"], duration=1e-9, times=2, ground=ground)
    force = run.contact_force.values[0, 0]
    assert force == pytest.approx([case["Fx"], case["Fy"], case["Fz_firm_clipped"]], rel=1e-9, abs=1e-9)
    assert run.penetration.values[0, 0] == pytest.approx(case["delta"], rel=1e-12)


@pytest.mark.parametrize("dust", [0.0, 0.002])
def test_weight_rests_in_the_springs(dust):
    """Static equilibrium: k depth = m g, below the dust if there is any."""
    robot = ball(points=((0.1, 0.0, 0.0), (-0.1, 0.0, 0.0)))
    ground = kt.Ground(kt.simulation.Soil(stiffness=5000.0, overdamping=1.0, dust=dust, lowered_spring=True))
    run = kt.simulate(robot, [0.0, 0.0, 0.01], duration=3.0, ground=ground, method="radau", rtol=1e-6)
    assert run.q.values[-1, 2] == pytest.approx(-dust - robot.mass * G / (2 * 5000.0), rel=1e-3)
    assert run.contact_force.values[-1].sum(axis=0) == pytest.approx([0, 0, robot.mass * G], rel=1e-3)


def test_touch_down_is_located():
    run = kt.simulate(ball(), [0.0, 0.0, 0.2], duration=0.5, ground=kt.Ground())
    first = next(event for event in run.events if event.kind == "touch_down")
    assert first.time == pytest.approx(np.sqrt(2 * 0.2 / G), rel=1e-9)
    assert first.name == "point0"


@pytest.mark.parametrize("height", [0.0, -1e-17, 1e-17, -0.003])
def test_a_point_that_starts_on_the_ground_does_not_touch_down(height):
    run = kt.simulate(ball(), [0, 0, height], duration=0.2, ground=kt.Ground(), stop_at="touch_down")
    assert run.complete and run.events == ()
    assert run.touching.values[1:].all()


def test_a_point_that_leaves_the_ground_comes_back_with_an_event():
    run = kt.simulate(ball(), [0, 0, 0], [0, 0, 1], duration=0.5, ground=kt.Ground())
    assert [event.time for event in run.events[:1]] == pytest.approx([2 / G], rel=1e-6)


def test_stop_at_touch_down():
    run = kt.simulate(ball(), [0, 0, 0.2], duration=1.0, ground=kt.Ground(), stop_at="touch_down")
    assert not run.complete
    assert run.stopped_at == pytest.approx(np.sqrt(2 * 0.2 / G), rel=1e-9)
    assert run.time.values[-1] == run.stopped_at


def test_lift_off_is_stopped_at():
    """A ball on a spring without a damper comes back up."""
    run = kt.simulate(ball(), [0, 0, 0.05], [0, 0, 0], duration=1.0, ground=bouncy(), stop_at="lift_off")
    assert [event.kind for event in run.events] == ["touch_down", "lift_off"]
    assert run.stopped_at == run.events[1].time
    assert run.qd.values[-1, 2] > 0.0


def bouncy():
    return kt.Ground(kt.simulation.Soil(stiffness=1e4, damping=0.0))


def test_ground_takes_the_energy():
    run = kt.simulate(ball(), [0.0, 0.0, 0.3], duration=1.0, ground=kt.Ground(), rtol=1e-9)
    assert run.ground_work.values[-1] < -0.9 * 2.0 * G * 0.3
    assert run.audit["energy_balance"].passed


def test_sliding_stops_by_friction():
    """Coulomb friction at speed: the deceleration is mu g."""
    ground = kt.Ground(kt.simulation.Soil(stiffness=2e4, overdamping=1.0, friction=0.4, slipping=1e6))
    depth = 2.0 * G / 2e4
    run = kt.simulate(ball(), [0, 0, -depth], [3.0, 0, 0], duration=0.5, ground=ground, method="radau")
    assert run.qd.values[-1, 0] == pytest.approx(3.0 - 0.4 * G * 0.5, rel=1e-3)


def test_creep_on_a_slope():
    """Pseudo-Coulomb friction holds a body on a slope but for a slow creep that D.5 predicts."""
    angle, mu, slipping = np.radians(10.0), 0.7, 1e3
    normal = (-np.sin(angle), 0.0, np.cos(angle))
    ground = kt.Ground(
        kt.simulation.Soil(stiffness=1e4, overdamping=2.0, friction=mu, slipping=slipping), normal=normal
    )
    run = kt.simulate(ball(), [0, 0, 0], duration=2.0, ground=ground, method="radau", rtol=1e-8)
    N, along = 2.0 * G * np.cos(angle), 2.0 * G * np.sin(angle)
    speed = 2 * mu * N / (np.pi * slipping) * np.tan(np.pi * along / (2 * mu * N))
    velocity = run.qd.values[-1]
    assert -velocity @ [np.cos(angle), 0, np.sin(angle)] == pytest.approx(speed, rel=1e-4)
    assert velocity @ normal == pytest.approx(0.0, abs=1e-6)


def test_regions_have_their_own_height_and_soil():
    step = kt.simulation.Region(
        forward=(1.0, 2.0), height=0.1, soil=kt.simulation.Soil(stiffness=1e4, overdamping=1.0)
    )
    ground = kt.Ground(kt.simulation.Soil(stiffness=1000.0, overdamping=1.0), regions=[step])
    for x, height, k in ((0.5, 0.0, 1000.0), (1.5, 0.1, 1e4), (2.5, 0.0, 1000.0)):
        run = kt.simulate(ball(), [x, 0, height], duration=4.0, ground=ground, method="radau", rtol=1e-8)
        assert run.q.values[-1, 2] == pytest.approx(height - 2.0 * G / k, rel=2e-3)


def test_ground_across_gravity():
    """The plane stands against gravity unless told: here gravity is along -y."""
    run = kt.simulate(ball(gravity=(0, -G, 0)), [0, 0.1, 0], duration=0.5, ground=kt.Ground())
    assert run.contact_force.values[-1, 0, 1] > 0.0
    assert run.settings["ground"]["normal"] == pytest.approx([0, 1, 0])


def test_only_named_points_touch():
    robot = ball(points=((0, 0, -0.1), (0, 0, 0.0)))
    with pytest.warns(kt.simulation.VerdictWarning, match="the point 'point0' of body 'ball' is"):
        run = kt.simulate(robot, [0, 0, 0.3], duration=1.0, ground=kt.Ground(points=["point1"]))
    force = run.contact_force.values
    assert not force[:, 0].any()
    assert force[:, 1].any()


def test_bad_grounds():
    with pytest.raises(kt.errors.InputError, match=r"stiffness of the ground must be > 0, got -5"):
        kt.simulation.Soil(stiffness=-5.0)
    with pytest.raises(kt.errors.InputError, match=r"friction of the ground must be >= 0, got -0\.1"):
        kt.simulation.Soil(friction=-0.1)
    with pytest.raises(kt.errors.InputError, match="normal of the ground must not be zero"):
        kt.Ground(normal=(0, 0, 0))
    with pytest.raises(kt.errors.InputError, match=r"forward of a region must go from low to high"):
        kt.simulation.Region(forward=(2.0, 1.0))
    with refused("contact point", "heel"):
        kt.simulate(ball(), [0, 0, 1], ground=kt.Ground(points=["heel"]))
    with pytest.raises(kt.errors.InputError, match="has no contact points"):
        kt.simulate(kt.zoo.gripper(), [0] * 4, ground=kt.Ground())
