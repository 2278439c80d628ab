"""Forces that jump: steps hold what touches, end where that changes, and go on from there."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.kernels.ground import FLAGS, INSIDE, PUSHING

G = 9.81
ADAPTIVE = ("dop853", "dopri5", "radau")


def ball(mass=2.0):
    """A sphere that moves up and down, with one contact point at its center."""
    build = kt.Builder("ball")
    body = build.world.prismatic("lift", axis="z").body("ball", kt.Inertia.sphere(mass, 0.1))
    body.contact("point", at=(0.0, 0.0, 0.0))
    return build.build()


def cart(**joint):
    build = kt.Builder("cart", gravity=(0, 0, 0))
    build.world.prismatic("rail", axis="x", **joint).body("cart", kt.Inertia.sphere(2.0, 0.1))
    return build.build()


SOIL = kt.simulation.Soil(stiffness=2000.0, damping=40.0, ramp=1e-3)


def sinking(t, mass=2.0, k=2000.0, c=40.0, speed=-1.0):
    """Depth of a point that enters the ground at a speed (m/s), while it sinks: m x'' = m g - k x - c x'."""
    rest, rate = mass * G / k, c / (2 * mass)
    turn = np.sqrt(k / mass - rate**2)
    a, b = -rest, (-speed - rate * rest) / turn
    return rest + np.exp(-rate * t) * (a * np.cos(turn * t) + b * np.sin(turn * t))


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
def test_a_point_sinks_as_the_formula_says(method, rtol):
    """The damper's force jumps at the touch-down, with 1 m/s; no tolerance is too tight for that."""
    drop, touch = 1.0 / (2 * G), 1.0 / G
    times = np.array([touch + 0.005, touch + 0.01, touch + 0.02])
    run = kt.simulate(
        ball(), [drop], duration=0.15, ground=kt.Ground(SOIL), method=method, rtol=rtol, times=times
    )
    assert run.events[0].kind == "touch_down" and run.events[0].time == pytest.approx(touch, rel=1e-12)
    assert -run.q.values[:, 0] == pytest.approx(sinking(times - touch), abs=max(200 * rtol, 1e-13))
    assert run.statistics["rejected"] < 12


def test_a_start_exactly_on_the_ground():
    """Height and speed are zero: the point sinks into the spring, and is held from the first step on."""
    run = kt.simulate(ball(), [0.0], duration=6.0, ground=kt.Ground(SOIL), rtol=1e-9)
    assert run.q.values[-1, 0] == pytest.approx(-2.0 * G / 2000.0, rel=1e-6)
    rising = kt.simulate(ball(), [0.0], [1.0], duration=0.1, ground=kt.Ground(SOIL), rtol=1e-9)
    assert rising.q.values[-1, 0] == pytest.approx(0.1 - 0.5 * G * 0.01, rel=1e-9)
    assert not rising.touching.values.any()


@pytest.mark.parametrize("method", ["dopri5", "radau"])
def test_a_point_at_rest_is_left_alone(method):
    """Rounding errors of its speed are no rising and sinking: hardly any step is cut short."""
    rest = -2.0 * G / 2000.0
    options = {"ground": kt.Ground(SOIL), "method": method, "rtol": 1e-9, "max_step": 0.02}
    run = kt.simulate(ball(), [rest], duration=20.0, **options)
    assert run.statistics["steps"] < (1100 if method == "radau" else 5000)
    assert run.q.values[-1, 0] == pytest.approx(rest, abs=1e-12)


def test_touching_twice_in_one_step_is_seen():
    """A weak push from below just reaches the ground: a throw upside down, with hardly any steps."""
    build = kt.Builder("ball", gravity=(0, 0, G))  # falls up
    body = build.world.prismatic("lift", axis="z").body("ball", kt.Inertia.sphere(2.0, 0.1))
    body.contact("point", at=(0.0, 0.0, 0.0))
    below = kt.Ground(SOIL, origin=(0, 0, -0.5 * G + 1e-3), normal=(0, 0, 1))
    run = kt.simulate(build.build(), [0.0], [-G], 1.9, ground=below, method="dop853", rtol=1e-6)
    assert [event.kind for event in run.events] == ["touch_down", "lift_off"]
    assert run.events[0].time == pytest.approx(1.0 - np.sqrt(2e-3 / G), abs=1e-6)


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_result_tells_the_forces_of_the_law(method):
    """Forces, penetrations and accelerations at the samples are those of the states, whatever was held."""
    robot = kt.zoo.quadruped()
    q0 = np.zeros(robot.n_dof)
    q0[2], q0[3] = 0.66, 0.05
    run = kt.simulate(robot, q0, duration=0.3, ground=kt.Ground(), method=method, rtol=1e-6)
    law = kt.simulation.contact_forces(robot, kt.Ground(), run.q.values, run.qd.values)
    assert run.touching.values.any()
    np.testing.assert_allclose(run.contact_force.values, law.force, atol=1e-9)
    np.testing.assert_allclose(run.penetration.values, law.penetration, atol=1e-15)
    qdd = kt.forward_dynamics(robot, run.q.values, run.qd.values, run.tau.values, law.wrenches(robot))
    np.testing.assert_allclose(run.qdd.values, qdd, rtol=1e-7, atol=1e-7)


def test_all_methods_agree_on_a_robot_that_falls():
    robot = kt.zoo.quadruped()
    q0 = np.zeros(robot.n_dof)
    q0[2], q0[3], q0[4] = 0.68, 0.05, 0.02
    ends = [
        kt.simulation.Simulator(robot, 0.3, ground=kt.Ground(), times=[0.3], method=method, rtol=rtol)
        .run(q0)
        .q[-1]
        for method, rtol in (("dop853", 1e-13), ("radau", 1e-12), ("dopri5", 1e-10), ("dop853", 1e-8))
    ]
    for end, tolerance in zip(ends[1:], (1e-9, 1e-7, 1e-6), strict=True):
        np.testing.assert_allclose(end, ends[0], atol=tolerance)


def test_flags_follow_the_motion():
    """After a simulation in which a point has come to rest, it is inside and pushed."""
    simulator = kt.simulation.Simulator(ball(), 3.0, ground=kt.Ground(SOIL), method="dopri5", rtol=1e-8)
    simulator.run([0.05])
    flags = simulator.system.context.rows("flags", FLAGS)[0]
    assert flags[INSIDE] == 1.0 and flags[PUSHING] == 1.0
    simulator.run([100.0])
    assert simulator.system.context.rows("flags", FLAGS)[0, INSIDE] == 0.0


def test_stops_with_dampers():
    """Within the stop m x'' = -k x - c x' as long as it pushes; only the arrival is an event."""
    k, c, m, v = 1e4, 30.0, 2.0, 2.0
    times = np.linspace(0.5, 0.515, 31)
    robot = cart(lower=-1.0, upper=1.0)
    stops = kt.simulation.Stops(stiffness=k, damping=c)
    run = kt.simulate(robot, [0.0], [v], 0.8, stops=stops, rtol=1e-10, times=times, method="dop853")
    rate = c / (2 * m)
    turn = np.sqrt(k / m - rate**2)
    t = times - 0.5
    inside = v / turn * np.exp(-rate * t) * np.sin(turn * t)
    pushes = k * inside + c * np.gradient(inside, t) > 0.0
    assert pushes.sum() > 20
    assert run.q.values[pushes, 0] == pytest.approx(1.0 + inside[pushes], abs=1e-9)
    whole = kt.simulate(robot, [0.0], [v], 2.5, stops=stops, rtol=1e-10)
    assert [event.kind for event in whole.events] == ["joint_limit_upper", "joint_limit_lower"]
    assert whole.audit["energy_balance"].passed


def test_fixed_steps_notice_gimbal_lock_in_a_batch():
    """A body that spins about its middle axis comes to its lock, whatever the length of the steps."""
    build = kt.Builder("top", gravity=(0, 0, 0))
    build.world.spherical("ball", sequence="XYZ").body("top", kt.Inertia.sphere(1.0, 0.1))
    start, spin = np.zeros((2, 3)), np.array([[0.0, 1.0, 0.0]] * 2)
    with pytest.raises(kt.errors.SimulationError, match="gimbal lock"):
        kt.simulation.simulate_batch(build.build(), start, spin, 2.0, method="rk4", step=0.01, times=3)


@pytest.mark.parametrize("method", ["dopri5", "radau"])
def test_feet_flat_on_the_ground_do_not_chatter(method):
    """All corners of both feet start on the surface, where the damper's force jumps, at rest."""
    from support.walking import walk

    run = walk("spatial_biped", duration=0.05, method=method)
    assert run.complete and run.statistics["steps"] < 500 and len(run.events) < 20
    assert run.audit["energy_balance"].passed


def test_a_simulation_that_does_not_move_on_says_so(monkeypatch):
    monkeypatch.setattr("kinetree.simulation.run.PIECE", 1e-5)
    monkeypatch.setattr("kinetree.simulation.run.STUCK_STEPS", 100)
    monkeypatch.setattr("kinetree.simulation.run.STUCK_TIME", 0.9)
    with pytest.raises(kt.errors.SimulationError, match=r"no progress at t = .* advance by .* s") as caught:
        kt.simulate(ball(), [0.1], duration=5.0, ground=kt.Ground(SOIL), max_step=1e-3, method="dopri5")
    assert 0.0 < caught.value.result.stopped_at < 5.0


def test_a_heel_about_to_lift_off_does_not_stop_time():
    """A state of a walk on stairs in which both sides of the toe's guard lead back to the other one."""
    q = [1.2577586892533974, 1.1710040511011133, 0, 0, 0, -1.573201175785337, 0.4023369477599429,
         -0.9672709101612659, 2.122935116072139, 0.5873403042971769, -0.9655317390184965,
         1.9513071264174302]  # fmt: skip
    qd = [0.5007263833020952, 0.16336952792983175, 0, 0, 0, -0.2602037292304271, -0.5445714927713314,
          0.6510663891679722, -0.3490989674794622, -0.5137291112291756, 0.5216123823688292,
          0.23697028090466057]  # fmt: skip
    tau = [0, 0, 0, 0, 0, 0, 9.22330860273155, -1.3716103268268558, 0.013016222996798735,
           -12.65819482533246, 3.8880347771974364, -1.847182981269025]  # fmt: skip
    stairs = [kt.simulation.Region(forward=(x, x + 0.5), height=0.04 * x) for x in (0.5, 1.0, 1.5)]
    ground = kt.Ground(kt.simulation.Soil(stiffness=2e4), regions=stairs)
    robot = kt.zoo.planar_biped()

    def end(method, rtol, atol):
        fast = {"torque": tau, "ground": ground, "times": 2, "method": method, "rtol": rtol, "atol": atol}
        return kt.simulation.Simulator(robot, 0.004, **fast).run(q, qd)

    loose, tight = end("radau", 1e-3, 1e-5), end("dopri5", 1e-7, 1e-9)
    np.testing.assert_allclose(loose.q[-1], tight.q[-1], atol=1e-4)


def foot_on_an_edge(method="radau", rtol=1e-3, atol=1e-5):
    """One control period of a quadruped on stairs, from a state in which its last foot slips off an edge.

    In the air the foot swings forward over the step, which takes it back: faster and faster.
    """
    q = [1.90215, -0.0334495, 0.578836, 0.000283998, 0.000139342, -8.06958e-05, 0.0811908, -0.813122, 1.22437,
         -0.0386046, -0.624106, 1.16891, -0.037462, -0.48562, 0.897322, 0.075591, -0.671419,
         0.971283]  # fmt: skip
    qd = [0.428171, 0.0813222, 0.160962, 0.0265733, -0.0713841, -0.0176953, -0.0960196, 1.01075, -0.235978,
          -0.0628444, 1.21352, -0.740622, -0.0856217, 1.25847, -0.944465, -0.113187, 1.20872,
          -0.758819]  # fmt: skip
    tau = [0, 0, 0, 0, 0, 0, -0.862402, 2.58754, -4.03265, -0.298485, -2.1589, 0.615469, -0.408323, -2.18974,
           0.400937, 1.1123, 2.99707, -2.63688]  # fmt: skip
    stairs = [kt.simulation.Region(forward=(0.5 * k, 0.5 * k + 0.5), height=0.02 * k) for k in range(1, 6)]
    ground = kt.Ground(kt.simulation.Soil(stiffness=2e4), regions=stairs)
    fast = {"torque": tau, "ground": ground, "times": 2, "method": method, "rtol": rtol, "atol": atol}
    simulator = kt.simulation.Simulator(kt.zoo.quadruped(), 0.004, **fast)
    return simulator.run(q, qd), simulator._integration.statistics["steps"]


def test_a_foot_on_the_edge_of_a_stair_does_not_stop_time():
    loose, steps = foot_on_an_edge()
    tight, _ = foot_on_an_edge("dopri5", 1e-7, 1e-9)
    assert steps < 1000  # tens of thousands where each crossing of the edge is located
    np.testing.assert_allclose(loose.q[-1], tight.q[-1], atol=1e-5)


def test_events_that_leave_hardly_any_progress_are_an_error(monkeypatch):
    for module in ("run", "simulator"):
        monkeypatch.setattr(f"kinetree.simulation.{module}.CUTS", 20)
    monkeypatch.setattr("kinetree.simulation.run.QUICKEST", 1.0)
    monkeypatch.setattr("kinetree.simulation.run.QUICK_SHARE", 1.0)
    said = r"hardly any progress at t = .* s: contact of 'foot4' changed repeatedly, \d+ events in"
    with pytest.raises(kt.errors.SimulationError, match=said):
        foot_on_an_edge()


def test_a_tick_that_takes_too_many_steps_is_an_error_that_names_the_contact(monkeypatch):
    """One tick of a sampled law may never hang: with a bound of some steps a falling foot exceeds it."""
    monkeypatch.setattr("kinetree.simulation.run.LOOK", 20)
    monkeypatch.setattr("kinetree.simulation.run.TICK_STEPS", 20)
    build = kt.Builder("ball")
    ball = build.world.prismatic("height", axis="z", driven=False).body("ball", kt.Inertia.sphere(1.0, 0.1))
    ball.contact("sole", at=(0, 0, 0))
    law = kt.control.SampledLaw(lambda t, q, qd: [0.0], period=0.5)
    options = {"controller": law, "ground": kt.Ground(kt.simulation.Soil(stiffness=1e5)), "method": "radau"}
    said = r"a tick of 500 ms takes too many steps: \d+ from t = 0 s to .*, cut short by contact of 'sole'"
    with pytest.raises(kt.errors.SimulationError, match=said):
        kt.simulate(build.build(), [0.05], duration=1.0, rtol=1e-10, atol=1e-12, **options)


def test_a_run_as_short_as_a_tick_has_the_same_bound_under_constant_torque(monkeypatch):
    monkeypatch.setattr("kinetree.simulation.run.TICK_STEPS", 20)
    monkeypatch.setattr("kinetree.simulation.simulator.CUTS", 20)
    said = r"a run of 4 ms takes too many steps: \d+ from t = 0 s to .*, cut short by contact of 'foot4'"
    with pytest.raises(kt.errors.SimulationError, match=said):
        foot_on_an_edge()


def test_a_short_run_of_a_fast_motion_may_take_many_steps():
    """10 ms of 1 MHz: about 100 thousand steps, none of which is cut by an event."""
    build = kt.Builder("resonator", gravity=(0, 0, 0))
    rate = 2 * np.pi * 1e6  # rad/s
    build.world.prismatic("x", axis="x", stiffness=rate**2).body("proof_mass", kt.Inertia.point(1.0))
    end = 0.01 + 1e-7
    run = kt.simulation.Simulator(build.build(), end, times=2, method="dopri5", rtol=1e-7, atol=1e-14)
    q = run.run([1e-6], [0.0]).q[-1, 0]
    assert q == pytest.approx(1e-6 * np.cos(rate * end), abs=1e-8)
    assert run._integration.statistics["steps"] > 50_000
