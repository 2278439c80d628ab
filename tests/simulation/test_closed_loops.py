"""Motion of mechanisms with closed loops: independent solutions, closed forms, conservation, closure."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.loops.system import constraints
from kinetree.model.joint import Mimic
from support.reference import closed, read

FILES = (
    *("slider_crank", "prismatic_cut", "spatial_fourbar", "five_bar", "jansen_leg", "six_bar"),
    *("other_cuts", "floating_fourbar_legs", "delta", "stewart"),
)
CASES = {f"{file}-{v['name']}": v for file in FILES for v in read(f"{file}.json")["variants"]}


def four_bars(n, theta, speed):
    """n four-bars with their cranks at an angle from the upright, and their motion."""
    mechanism = kt.zoo.n_four_bar(n)
    sign = np.array([-1.0 if "crank" in name else 1.0 for name in mechanism.joint_names])
    return mechanism, sign * theta, sign * speed


def spring_law(mechanism, variant):
    """tau = tau0 - kp (q - q0) - kd qd at the drives, zero elsewhere."""
    law, drives = variant["law"], np.array(variant["actuated"])
    tau0, q0 = np.array(law["tau0"]), np.array(law["q0"])

    def tau(t, q, qd):
        torque = np.zeros(mechanism.n_dof)
        torque[drives] = tau0 - law["kp"] * (q[drives] - q0) - law["kd"] * qd[drives]
        return torque

    return tau


@pytest.mark.parametrize("variant", CASES.values(), ids=CASES)
def test_free_motions_are_those_of_other_formulations(variant):
    """Tree coordinates and maximal coordinates, made without Kinetree."""
    mechanism, expected = closed(variant), variant["simulation"]
    found = kt.simulate(
        mechanism,
        expected["q"][0],
        expected["qd"][0],
        duration=expected["t"][-1],
        times=expected["t"],
        torque=spring_law(mechanism, variant) if "law" in variant else None,
        rtol=1e-10,
        atol=1e-12,
    )
    allowed = max(10 * expected["accuracy"]["pose_two_formulations"], 1e-10)
    assert np.abs(found.q.values - expected["q"]).max() < allowed
    assert np.abs(constraints(mechanism, found.q.values).gap).max() < 1e-12
    assert found.audit["energy_balance"].value < 1e-9
    size = max(1.0, np.abs(expected["qdd"]).max())
    assert np.abs(found.qdd.values - expected["qdd"]).max() < 1e-7 * size


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau", "rk4"])
def test_four_bars_swing_as_one_pendulum(method):
    """Between its singular positions the ladder is the pendulum of its formula, by every method."""
    mechanism, q0, qd0 = four_bars(3, 2.2, 0.0)
    step = {"step": 1e-3} if method == "rk4" else {"rtol": 1e-8, "atol": 1e-9}
    found = kt.simulate(mechanism, q0, qd0, duration=0.25, times=6, method=method, **step)
    rate = (4 / 2 + 3) * 9.81 / (4 / 3 + 3)
    pendulum = kt.Builder("pendulum", gravity=(0, -rate, 0))
    pendulum.world.revolute("pin").body("bob", kt.Inertia.point(1.0, at=(0, 1.0, 0)))
    exact = kt.simulate(pendulum.build(), [-2.2], duration=0.25, times=6, rtol=1e-11)
    assert np.abs(found.q.values[:, 0] - exact.q.values[:, 0]).max() < 1e-7
    assert np.abs(constraints(mechanism, found.q.values).gap).max() < 1e-13
    assert np.abs(constraints(mechanism, found.q.values).J @ found.qd.values[..., None]).max() < 1e-12


def test_a_simulator_gives_the_same_motion():
    mechanism, q0, qd0 = four_bars(2, 0.4, 1.0)
    whole = kt.simulate(mechanism, q0, qd0, duration=0.3, times=4, rtol=1e-9)
    quick = kt.simulation.Simulator(mechanism, 0.3, times=4, rtol=1e-9).run(q0, qd0)
    assert np.abs(whole.q.values - quick.q).max() < 1e-12


def test_drives_hold_a_platform():
    """Holding torques of inverse dynamics leave a Stewart platform at rest."""
    mechanism = kt.zoo.stewart()
    zero = np.zeros(mechanism.n_dof)
    hold, _ = kt.loops.inverse_dynamics(mechanism, zero, zero, zero)
    found = kt.simulate(mechanism, zero, duration=0.2, times=3, torque=hold)
    assert np.abs(found.q.values).max() < 1e-10


def test_a_python_law_drives_a_linkage():
    """Torques of a function act as constant ones do."""
    mechanism = kt.zoo.slider_crank()
    tau = np.array([0.7, 0.0, 0.0])
    given = kt.simulate(mechanism, np.zeros(3), duration=0.1, times=3, torque=tau)
    called = kt.simulate(mechanism, np.zeros(3), duration=0.1, times=3, torque=lambda t, q, qd: tau)
    assert np.abs(given.q.values - called.q.values).max() < 1e-12


def test_friction_in_a_passive_joint_takes_the_energy_that_is_missing():
    mechanism = kt.zoo.five_bar()
    links = list(mechanism.links)
    links[1] = replace(links[1], joint=replace(links[1].joint, viscous=np.array([0.2])))
    found = kt.simulate(replace(mechanism, links=tuple(links)), np.zeros(4), duration=0.4, times=9)
    assert found.joint_work.values[-1] < -1e-3
    assert found.audit["energy_balance"].passed


def test_an_open_start_is_refused():
    with pytest.raises(kt.errors.InputError, match=r"loop 'crank_pin' is open by"):
        kt.simulate(kt.zoo.four_bar(), [0.0, 1.0, 4.3], duration=0.1)
    with pytest.raises(kt.errors.InputError, match=r"loop 'crank_pin' is open by"):
        kt.simulation.Simulator(kt.zoo.four_bar(), 0.1).run([0.0, 1.0, 4.3])


def test_a_spinning_coupler_passes_its_gimbal_lock():
    """Maximal coordinates know no lock; the Euler angles of the ball in the loop come to it at 0.2 s."""
    variant = next(v for v in read("spatial_fourbar.json")["variants"] if v["name"] == "rssr_idle_spin")
    mechanism, start, expected = closed(variant), variant["simulation"], variant["poses"]
    found = kt.simulate(
        mechanism, start["q"][0], start["qd"][0], duration=0.6, times=expected["t"], rtol=1e-10, atol=1e-11
    )
    assert [event.kind for event in found.events] == ["gimbal_switch"]
    poses = kt.forward_kinematics(mechanism, found.q.values)
    assert np.abs(poses.rotation - expected["rotation_world"]).max() < 10 * expected["accuracy"]
    assert np.abs(constraints(mechanism, found.q.values).gap).max() < 1e-12
    assert found.passed


def test_bricard_moves_for_ten_seconds():
    """The IFToMM benchmark, whose five constraints have rank four in every pose."""
    mechanism = kt.zoo.bricard()
    found = kt.simulate(mechanism, np.zeros(5), duration=10.0, times=[1.0, 10.0], rtol=1e-10, atol=1e-11)
    poses = kt.forward_kinematics(mechanism, found.q.values)
    known = [
        [0.5105014611873, -1.649167599395, 0.1401231145532],
        [0.9999999638063, -1.000269012696, 0.9997309511199],
    ]
    ends = np.array([poses.position[k, 3] for k in range(2)])
    assert np.abs(ends - known).max() < 1e-11
    assert found.passed


def test_reactions_and_cut_forces_balance_the_motion():
    """Wrenches of the cut joints are those under the torques; what is redundant is missing."""
    mechanism = kt.zoo.four_bar()
    q0 = kt.loops.assemble(mechanism, [0.0, 1.0, 4.3], hold=["crank_pivot"])
    tau = np.array([0.3, 0.0, 0.0])
    load = kt.Wrench(mechanism.body_names[1], force=(1.0, 2.0, 0.0), point=(0.02, 0.0, 0.0))
    found = kt.simulate(mechanism, q0, duration=0.2, times=5, torque=tau, loads=[load], reactions=True)
    q, qd, qdd = (found[name].values for name in ("q", "qd", "qdd"))
    forces = kt.loops.forces(mechanism, q, qd, tau=np.broadcast_to(tau, q.shape), wrenches=[load])
    size = np.nanmax(np.abs(forces.wrench))
    np.testing.assert_allclose(found.loop_force.values, forces.wrench, atol=1e-8 * size)
    assert np.isnan(found.loop_force.values[0, 0]).tolist() == [False, False, True, True, True, False]
    # all that moves, from the world's reactions: the joints on the ground and gravity and load
    poses = kt.forward_kinematics(mechanism, q)
    acceleration = kt.analysis.body_accelerations(mechanism, q, qd, qdd)
    assert acceleration.shape[0] == len(q)
    grounded = [k for k, link in enumerate(mechanism.links) if link.parent == "world"]
    total = sum(
        (poses.rotation[:, k] @ np.nan_to_num(found.reaction.values[:, k, :3, None]))[..., 0]
        for k in grounded
    )
    cut = mechanism.loops[0]
    assert cut.body_a != "world" and cut.body_b != "world"
    masses = np.array([link.body.inertia.mass for link in mechanism.links])
    centers = [link.body.inertia.center for link in mechanism.links]
    momentum = np.zeros((len(q), 3))
    for k, (m, c) in enumerate(zip(masses, centers, strict=True)):
        r = (poses.rotation[:, k] @ c[:, None])[..., 0]
        a, w = acceleration[:, k, :3], kt.body_velocities(mechanism, q, qd)[:, k, 3:]
        wd = acceleration[:, k, 3:]
        momentum += m * (a + np.cross(wd, r) + np.cross(w, np.cross(w, r)))
    weight = masses.sum() * np.asarray(mechanism.gravity)
    np.testing.assert_allclose(total[:, :2], (momentum - weight - [1.0, 2.0, 0.0])[:, :2], atol=1e-8 * size)


@pytest.mark.parametrize(("name", "guess"), [("slider_crank", [0, 0, 0]), ("four_bar", [0, 1, 4.3])])
def test_a_mechanism_at_rest_keeps_its_energy_up_to_rounding(name, guess):
    mechanism = kt.zoo.by_name(name)
    q, zero = kt.loops.assemble(mechanism, guess), np.zeros(3)
    hold = kt.inverse_dynamics(mechanism, q, zero, zero)
    assert kt.simulate(mechanism, q, duration=1.0, times=11, torque=hold).passed


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-10, 1e-12])
def test_singular_positions_are_passed(rtol):
    """Four-bars that lie flat have more freedoms; they swing through, as the pendulum of their formula."""
    mechanism, q0, qd0 = four_bars(2, 0.0, 1.0)
    found = kt.simulate(
        mechanism, q0, qd0, duration=10.0, times=11, method="dop853", rtol=rtol, atol=0.1 * rtol
    )
    exact = 31.7505971869861  # elliptic functions with 40 digits
    assert abs(abs(found.q.values[-1, 0]) - exact) < max(100 * rtol, 1e-7)
    assert np.abs(constraints(mechanism, found.q.values).gap).max() < 1e-12
    assert found.passed
    flat = [event for event in found.events if event.kind == "singular_position"]
    assert len(flat) == 10 if rtol < 1e-6 else 7 <= len(flat) <= 10  # loose steps may step over one
    assert {event.name for event in flat} <= {
        f"{loop.name} ({name})" for loop in mechanism.loops for name in mechanism.joint_names
    }


def equal_slider_crank():
    """A slider-crank whose rod is as long as its crank, 1 m: both can rotate about the crank's pivot."""
    build = kt.Builder("equal_slider_crank", gravity=(0, -9.81, 0))
    rod = kt.Inertia.rod(1.0, end=(1.0, 0, 0))
    crank = build.world.revolute("crank").body("crank_arm", rod)
    other = crank.revolute("pin", at=(1.0, 0, 0)).body("connecting_rod", rod)
    guide = build.world.prismatic("guide", axis=(1, 0, 0))
    slider = guide.body("slider", kt.Inertia(1.0, (0, 0, 0), (1e-3, 1e-3, 1e-3)))
    build.loop("wrist", other, slider, at_a=(1.0, 0, 0))
    return build.build()


def equal_crank_angle(angle, speed, times):
    """Of one freedom: A(a) a'' + A'(a) a'^2 / 2 + 9.81 cos a = 0."""
    from scipy.integrate import solve_ivp

    def rates(_, y):
        s, c = np.sin(y[0]), np.cos(y[0])
        inertia = 1 / 3 + 1 / 12 + 2.25 * s * s + 0.25 * c * c + 4.0 * s * s
        return [y[1], -(6.0 * s * c * y[1] ** 2 + 9.81 * c) / inertia]

    ends = (0.0, times[-1])
    return solve_ivp(rates, ends, [angle, speed], method="DOP853", rtol=1e-13, atol=1e-14, t_eval=times).y[0]


@pytest.mark.parametrize(
    ("method", "rtol", "allowed"),
    [
        ("dop853", 1e-8, 1e-7),
        ("dop853", 1e-10, 1e-9),
        ("dop853", 1e-12, 1e-10),
        ("dopri5", 1e-9, 1e-8),
        ("radau", 1e-8, 1e-7),
    ],
)
def test_a_crank_as_long_as_its_rod_passes_dead_centers(method, rtol, allowed):
    mechanism, a, w, times = equal_slider_crank(), 0.3, 4.0, np.linspace(0.0, 3.0, 31)
    start = [a, -2 * a, 2 * np.cos(a)], [w, -2 * w, -2 * np.sin(a) * w]
    found = kt.simulate(
        mechanism, *start, duration=3.0, times=times, method=method, rtol=rtol, atol=0.1 * rtol
    )
    assert np.abs(found.q.values[:, 0] - equal_crank_angle(a, w, times)).max() < allowed
    passed = [event for event in found.events if event.kind == "singular_position"]
    quarter = np.pi * (np.arange(-20, 20) + 0.5)
    fine = np.linspace(0.0, 3.0, 30001)
    angle = equal_crank_angle(a, w, fine)
    crossings = [fine[k] for x in quarter for k in np.flatnonzero(np.diff(np.sign(angle - x)))]
    np.testing.assert_allclose([event.time for event in passed], sorted(crossings), atol=2e-4)
    assert all(event.name.startswith("wrist (") for event in passed)


def test_a_singular_start_is_refused():
    """Flat four-bars may go on as parallelograms or folded."""
    mechanism, q0, qd0 = four_bars(2, np.pi / 2, 1.0)
    with pytest.raises(kt.errors.SingularityError, match=r"loop 'pin\d' .*singular position at the start"):
        kt.simulate(mechanism, q0, qd0, duration=0.1)


def five_bar(mimic):
    """A five-bar; its right arm may mirror the left one."""
    build = kt.Builder("mirrored_five_bar", gravity=(0, -9.81, 0))
    rod = kt.Inertia.rod(1.0, end=(0.4, 0, 0))
    left = build.world.revolute("left").body("left_arm", rod)
    right = build.world.revolute("right", at=(0.3, 0, 0), mimic=mimic).body("right_arm", rod)
    left_rod = left.revolute("left_elbow", at=(0.4, 0, 0)).body("left_rod", rod)
    right_rod = right.revolute("right_elbow", at=(0.4, 0, 0)).body("right_rod", rod)
    build.loop("tip", left_rod, right_rod, at_a=(0.4, 0, 0), at_b=(0.4, 0, 0))
    return build.build()


def test_a_mimic_joint_in_a_loop_moves_as_symmetry_does():
    """A five-bar that falls symmetrically does so with its right arm tied to the left one, too.

    Where the elbows meet, at 0.395 s, only the tied one is in a singular position.
    """
    tied, free = five_bar(Mimic("left", -1.0, np.pi)), five_bar(None)
    q0 = kt.loops.assemble(tied, [2.0, -1.2, 1.2], hold=["left"])
    whole = [q0[0], np.pi - q0[0], q0[1], q0[2]]
    options = {"duration": 0.5, "times": 11, "rtol": 1e-10}
    found, expected = kt.simulate(tied, q0, **options), kt.simulate(free, whole, **options)
    assert np.abs(found.q.values - expected.q.values[:, [0, 2, 3]]).max() < 1e-10
    assert found.passed
    assert [event.kind for event in found.events] == ["singular_position"]
    assert not expected.events


def four_bar_hopper():
    """A floating trunk on two parallelogram legs, whose feet have contact points."""
    build = kt.Builder("hopper", gravity=(0, 0, -9.81))
    trunk = build.world.free("base").body("trunk", kt.Inertia(5.0, (0, 0, 0), (0.05, 0.08, 0.09)))
    leg = kt.Inertia.rod(0.3, end=(0, 0, -0.3))
    for k, y in enumerate((-0.15, 0.15)):
        front = trunk.revolute(f"front{k}", axis=(0, 1, 0), at=(0.1, y, 0)).body(f"front_leg{k}", leg)
        back = trunk.revolute(f"back{k}", axis=(0, 1, 0), at=(-0.1, y, 0)).body(f"back_leg{k}", leg)
        ankle = front.revolute(f"ankle{k}", axis=(0, 1, 0), at=(0, 0, -0.3))
        foot = ankle.body(f"foot{k}", kt.Inertia.rod(0.2, end=(-0.2, 0, 0)))
        build.loop(f"heel{k}", foot, back, at_a=(-0.2, 0, 0), at_b=(0, 0, -0.3), axis=(0, 1, 0))
        foot.contact(f"toe{k}", (0.05, 0, -0.02))
        foot.contact(f"hind{k}", (-0.25, 0, -0.02))
    return build.build()


def test_legs_of_loops_land_on_the_ground():
    """Two methods agree, the ground carries the weight in the end, and loops stay closed."""
    robot = four_bar_hopper()
    q0 = np.zeros(robot.n_dof)
    q0[2], legs = 0.34, kt.Ground(kt.simulation.Soil(stiffness=5e3, damping=200.0))
    stiff, plain = (
        kt.simulate(robot, q0, duration=0.25, times=6, ground=legs, method=method, rtol=1e-7)
        for method in ("radau", "dopri5")
    )
    assert stiff.passed
    assert plain.passed
    assert np.abs(stiff.q.values - plain.q.values).max() < 1e-5
    assert [event.kind for event in plain.events][:4] == ["touch_down"] * 4


def limited_crank(lower):
    mechanism = kt.zoo.slider_crank()
    links = list(mechanism.links)
    links[0] = replace(
        links[0], joint=replace(links[0].joint, lower=np.array([lower]), upper=np.array([2.0]))
    )
    return replace(mechanism, links=tuple(links))


def test_events_and_limits_are_found_in_loops():
    """A trigger, a limit and a stop at the same angle are met at the same time."""
    mechanism, tau = limited_crank(-0.2), np.array([-0.5, 0.0, 0.0])
    below = kt.simulation.Trigger("below", lambda t, q, qd: q[0] + 0.2)
    options = {"duration": 1.0, "torque": tau, "rtol": 1e-9}
    ended = kt.simulate(mechanism, np.zeros(3), stop_at="joint_limit", events=[below], **options)
    (seen,) = [event for event in ended.events if event.name == "below"]
    assert seen.time == pytest.approx(ended.stopped_at, abs=1e-9)
    assert ended.q.values[-1, 0] == pytest.approx(-0.2, abs=1e-9)
    bounced = kt.simulate(mechanism, np.zeros(3), stops=kt.simulation.Stops(1e3, 5.0), **options)
    first = next(event for event in bounced.events if event.kind == "joint_limit_lower")
    assert first.time == pytest.approx(ended.stopped_at, abs=1e-8)
    assert bounced.q.values[:, 0].min() > -0.3
    assert bounced.passed


def test_actuators_drive_loops_with_their_lag():
    """A motor that is fast against the motion does what its law asks for."""
    mechanism = kt.zoo.slider_crank()
    law = kt.control.PD([0.3, 0.0, 0.0], [4.0, 0.0, 0.0], [0.3, 0.0, 0.0])
    options = {"duration": 0.2, "times": 5, "rtol": 1e-8}
    direct = kt.simulate(mechanism, np.zeros(3), controller=law, **options)
    motor = kt.control.FirstOrderActuator(law, time_constant=1e-4)
    driven = kt.simulate(mechanism, np.zeros(3), controller=motor, **options)
    assert driven.passed
    assert np.abs(driven.q.values - direct.q.values).max() < 1e-3
    assert np.abs(direct.q.values[-1, 0]) > 1e-2


def test_batches_have_the_bits_of_single_motions():
    mechanism, q0, qd0 = four_bars(2, 0.4, 0.3)
    starts = np.outer([1.0, 0.7, -0.4], q0), np.outer([1.0, -0.5, 0.8], qd0)
    together = kt.simulation.simulate_batch(mechanism, *starts, duration=0.4, times=3, rtol=1e-9, threads=2)
    assert {"loop_gap", "loop_rate", "loop_drift"} <= set(together.audit)
    assert together.passed
    assert together.loop_error.dims == ("rollout", "time", "loop")
    for k, (q, qd) in enumerate(zip(*starts, strict=True)):
        alone = kt.simulate(mechanism, q, qd, duration=0.4, times=3, rtol=1e-9, method="dop853")
        assert np.array_equal(together.q.values[k], alone.q.values)
    with pytest.raises(kt.errors.InputError, match="is open by"):
        kt.simulation.simulate_batch(mechanism, starts[0] + np.eye(5)[0], duration=0.1)
