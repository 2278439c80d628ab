"""Controlled motions against closed forms and the documents' examples."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import kinetree as kt
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.control import PD, PID, ComputedTorque, Feedforward, GravityCompensation, perturb
from kinetree.simulation import simulate as simulation
from kinetree.simulation.ground import Ground
from kinetree.trajectories.cycloidal import cycloid
from support import reference
from support.cases import assert_close

TIGHT = {"rtol": 1e-11, "atol": 1e-12}
EXPLICIT = {"method": "dop853", **TIGHT}


def simulate(*arguments, **options):
    """Time, q, qd and tau of a simulation as plain arrays; light links under stiff feedback need Radau."""
    result = simulation.simulate(*arguments, **{"method": "radau", **options})
    return SimpleNamespace(**{name: np.asarray(getattr(result, name)) for name in ("time", "q", "qd", "tau")})


def slider(mass=2.0):
    """A mass on a rail without gravity."""
    robot = kt.Builder("slider", gravity=(0, 0, 0))
    robot.world.prismatic("rail", axis="x").body("mass", kt.Inertia(mass))
    return robot.build()


# ---- the documents' examples ----------------------------------------------------------------------------
def referenced(name, variant=None):
    file = reference.read(f"{name}.json")
    if variant:
        file = next(part for part in file["variants"] if part["name"] == variant)
    return reference.mechanism(file["model"], name)


CASES = {
    "gripper_PD_table10.7": (lambda: referenced("gripper"), PD),
    "kuka_computed_torque": (lambda: referenced("kuka_kr5", "com_midpoint"), ComputedTorque),
    "kuka_feedforward": (lambda: referenced("kuka_kr5", "com_midpoint"), Feedforward),
}


@pytest.mark.parametrize("name", CASES)
def test_documents_examples(name):
    """[Shah2013], chapter 9 and Table 10.7."""
    case = next(x for x in reference.read("control.json")["cases"] if x["name"] == name)
    make, law = CASES[name]
    robot = make()
    motion = cycloid(case["theta0"], case["thetaT"], case["T"])
    controller = law(motion, case["kp"], case["kd"])
    q0, qd0 = np.split(np.array(case["y0"]), 2)
    run = simulate(robot, q0, qd0, case["T"], controller=controller, times=case["t"], **TIGHT)
    tolerance = 10 * case["accuracy"]
    assert np.abs(run.q - case["q"]).max() < tolerance
    assert reference.relative_error(run.qd, case["qd"]) < 10 * tolerance
    assert reference.relative_error(run.tau, case["tau"]) < 100 * tolerance


# ---- errors of computed torque --------------------------------------------------------------------------
def error_law(kp, kd, ki, e0, times):
    """(k, n): e of e'' + kd e' + kp e + ki (integral of e) = 0 from e0 at rest."""
    errors = []
    for p, d, i, e in np.broadcast(kp, kd, ki, e0):
        A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-i, -p, -d]])
        errors.append([(expm(A * t) @ [0.0, e, 0.0])[1] for t in times])
    return np.array(errors).T


@pytest.mark.parametrize("ki", [0.0, 60.0])
def test_errors_of_computed_torque_follow_a_linear_law(ki):
    """[Shah2013], eq. 9.5, with another gain for each joint: over-, under- and critically damped."""
    arm = kt.zoo.kuka_kr5()
    kp, kd = np.array([49.0, 30.0, 100.0, 64.0, 80.0, 50.0]), np.array([14.0, 20.0, 4.0, 16.0, 10.0, 9.0])
    e0 = np.array([0.1, -0.2, 0.15, 0.3, -0.1, 0.2])
    motion = cycloid(np.zeros(6), np.linspace(0.5, 1.5, 6), 1.0)
    controller = ComputedTorque(motion, kp, kd, ki)
    run = simulate(arm, -e0, duration=1.2, controller=controller, times=7, **TIGHT)
    e = motion.at(run.time).q - run.q
    assert np.abs(e - error_law(kp, kd, ki, e0, run.time)).max() < 1e-9


def test_without_kd_errors_are_critically_damped():
    arm, e0 = kt.zoo.gripper(), np.array([0.1, -0.2, 0.15, 0.3])
    run = simulate(arm, -e0, duration=1.0, controller=ComputedTorque(np.zeros(4), 49.0), times=5, **TIGHT)
    law = e0 * ((1 + 7 * run.time) * np.exp(-7 * run.time))[:, None]
    assert np.abs(-run.q - law).max() < 1e-9


@pytest.mark.parametrize("name", ["quadruped", "spatial_biped"])
@pytest.mark.parametrize("grounded", [False, True])
def test_joints_of_a_floating_base_follow_the_same_law(name, grounded):
    """Flying or standing: the base does what it must, the joints' errors vanish as asked."""
    robot = getattr(kt.zoo, name)()
    e0 = 0.05 * np.cos(np.arange(robot.n_dof - 6.0))
    q0 = np.concatenate([np.zeros(6), -e0])
    ground = None
    if grounded:
        points = kt.forward_kinematics(robot, q0)
        feet = [
            points.position[robot.body_index(p.body)] + points.rotation[robot.body_index(p.body)] @ p.position
            for p in robot.contact_points
        ]
        ground = Ground(origin=(0.0, 0.0, min(foot[2] for foot in feet) + 0.01))
    controller = ComputedTorque(np.zeros(robot.n_dof - 6), 49.0)
    run = simulate(robot, q0, duration=0.1, controller=controller, ground=ground, times=5, rtol=1e-9)
    law = e0 * ((1 + 7 * run.time) * np.exp(-7 * run.time))[:, None]
    assert np.abs(-run.q[:, 6:] - law).max() < 1e-7
    assert not run.tau[:, :6].any()
    fall = -0.5 * 9.81 * run.time[-1] ** 2
    assert (abs(run.q[-1, 2] - fall) < 0.02) != grounded
    if grounded:
        ignorant = ComputedTorque(np.zeros(robot.n_dof - 6), 49.0, knows_ground=False)
        other = simulate(robot, q0, duration=0.1, controller=ignorant, ground=ground, times=5, rtol=1e-9)
        assert np.abs(-other.q[:, 6:] - law).max() > 1e-4


# ---- the other laws -------------------------------------------------------------------------------------
def test_feedforward_of_a_perfect_model_stays_on_its_way():
    arm = kt.zoo.kuka_kr5()
    motion = cycloid(np.zeros(6), np.full(6, 1.0), 1.0)
    for controller in (Feedforward(motion, 200.0, 40.0), ComputedTorque(motion, 49.0)):
        run = simulate(arm, np.zeros(6), duration=1.0, controller=controller, times=5, **TIGHT)
        assert np.abs(run.q - motion.at(run.time).q).max() < 1e-9


@pytest.mark.parametrize("law", [ComputedTorque, Feedforward])
def test_a_wrong_model_leaves_errors_that_grow_with_it(law):
    arm = kt.zoo.kuka_kr5()
    motion = cycloid(np.zeros(6), np.full(6, 1.0), 1.0)
    worst = []
    for part in (0.0, 0.02, 0.2):
        model = perturb(arm, 7, mass=part, inertia=part, center=0.0)
        controller = law(motion, 100.0, 20.0, model=model)
        run = simulate(arm, np.zeros(6), duration=1.0, controller=controller, times=21)
        worst.append(np.abs(run.q - motion.at(run.time).q).max())
    assert worst[0] < 1e-6 and worst[1] > 1e-4 and 4 < worst[2] / worst[1] < 25


def test_pd_rests_where_its_torque_carries_the_weight():
    arm, pose = kt.zoo.gripper(), np.array([-1.0, 0.4, 0.3, 0.2])
    run = simulate(arm, pose, duration=8.0, controller=PD(pose, 5.0, 2.0), times=2)
    offset = pose - run.q[-1]
    assert_close(5.0 * offset, kt.gravity_torque(arm, run.q[-1]), 1e-5)
    assert np.abs(offset).max() > 0.01


@pytest.mark.parametrize("law", ["PID", "computed torque", "gravity"])
def test_what_removes_the_offset(law):
    arm, pose = kt.zoo.gripper(), np.array([-1.0, 0.4, 0.3, 0.2])
    wrong = perturb(arm, 3, mass=0.3, center=0.0)
    controller = {
        "PID": PID(pose, 5.0, 2.0, 4.0),
        "computed torque": ComputedTorque(pose, 49.0, 14.0, 60.0, model=wrong),
        "gravity": GravityCompensation(pose, 5.0, 2.0),
    }[law]
    run = simulate(arm, pose - 0.1, duration=40.0, controller=controller, times=2)
    assert np.abs(run.q[-1] - pose).max() < 1e-4


def test_gravity_compensation_floats_in_every_pose(rng):
    arm = kt.zoo.kuka_kr5()
    pose = rng.standard_normal(6)
    law = GravityCompensation()
    assert (
        np.abs(kt.forward_dynamics(arm, pose, np.zeros(6), law.torque(arm, 0.0, pose, np.zeros(6)))).max()
        < 1e-9
    )
    run = simulate(arm, pose, 0.1 * np.ones(6), controller=law, times=5, **TIGHT)
    energy = kt.kinetic_energy(arm, run.q, run.qd)  # without weight it cannot change
    assert_close(energy / energy[0], np.ones(5), 1e-8)
    damped = simulate(arm, pose, np.ones(6), 5.0, controller=GravityCompensation(kd=200.0), times=3)
    assert np.abs(damped.qd[-1]).max() < 1e-3
    assert np.abs(damped.q[-1] - pose).max() > 1e-3


# ---- limits and sampling --------------------------------------------------------------------------------
def test_a_saturated_drive_accelerates_evenly():
    """Far from its goal a drive at its limit moves the mass by a parabola."""
    run = simulate(slider(), [0.0], duration=1.0, controller=PD([100.0], 50.0, 1.0, limits=3.0), times=5)
    assert_close(run.q[:, 0], 0.5 * 3.0 / 2.0 * run.time**2, 1e-9)
    assert (run.tau == 3.0).all()


def test_limits_of_the_model():
    robot = kt.Builder("drive", gravity=(0, 0, 0))
    robot.world.prismatic("rail", axis="x", effort_limit=2.5).body("mass", kt.Inertia(2.0))
    run = simulate(robot.build(), [0.0], duration=1.0, controller=PD([100.0], 50.0, limits="model"), times=3)
    assert (run.tau == 2.5).all()


def test_anti_windup_overshoots_less():
    """An integral that stands still at the limit has nothing to pay back; one that grew on would."""
    goal, gains = [1.0], (20.0, 12.0, 15.0)
    held = simulate(slider(), [0.0], duration=12.0, controller=PID(goal, *gains, limits=1.0), times=241)
    overshoot = held.q.max() - 1.0

    def windy(t, y):
        e = 1.0 - y[0]
        tau = np.clip(gains[0] * e - gains[1] * y[1] + gains[2] * y[2], -1.0, 1.0)
        return [y[1], tau / 2.0, e]

    free = solve_ivp(windy, (0.0, 12.0), [0.0, 0.0, 0.0], rtol=1e-8, max_step=0.05).y[0].max() - 1.0
    assert 0.0 <= overshoot < 0.6 * free
    assert abs(held.q[-1, 0] - 1.0) < 0.05


def test_sampled_feedback_is_a_linear_recursion():
    """A mass under a held force: x and v after each period are known exactly."""
    m, kp, kd, h = 2.0, 30.0, 6.0, 0.05
    x, v, expected = 1.0, 0.0, [1.0]
    for _ in range(20):
        a = (-kp * x - kd * v) / m
        x, v = x + v * h + 0.5 * a * h * h, v + a * h
        expected.append(x)
    controller = PD([0.0], kp, kd, period=h)
    run = simulate(slider(m), [1.0], duration=1.0, controller=controller, times=21, **EXPLICIT)
    assert np.abs(run.q[:, 0] - expected).max() < 1e-9
    continuous = simulate(slider(m), [1.0], duration=1.0, controller=PD([0.0], kp, kd), times=21, **TIGHT)
    assert np.abs(continuous.q - run.q).max() > 1e-2


def test_sampling_faster_comes_closer_to_continuous_control():
    arm, motion = kt.zoo.gripper(), cycloid(np.zeros(4), np.ones(4), 1.0)
    q0 = np.full(4, -0.1)
    smooth = simulate(arm, q0, duration=1.0, controller=ComputedTorque(motion, 49.0), times=11, **EXPLICIT)
    errors = []
    for period in (0.02, 0.01):
        held = ComputedTorque(motion, 49.0, period=period)
        run = simulate(arm, q0, duration=1.0, controller=held, times=11, **EXPLICIT)
        errors.append(np.abs(run.q - smooth.q).max())
    assert 1.8 < errors[0] / errors[1] < 2.2  # first order


def test_sampled_integral_of_a_moving_goal():
    """Between samples the integral goes on with the error there is, not with the goal of the last sample."""
    m, ki, h, speed = 2.0, 8.0, 0.1, 1.0
    ramp = PiecewisePolynomial.linear([0.0, 2.0], [[0.0], [2.0 * speed]])
    x, v, s, expected = 0.0, 0.0, 0.0, [0.0]
    for k in range(5):
        a = (10.0 * (speed * k * h - x) + 5.0 * (speed - v) + ki * s) / m
        goal = speed * (k * h * h + 0.5 * h * h)
        s += goal - (x * h + 0.5 * v * h * h + a * h**3 / 6)
        x, v = x + v * h + 0.5 * a * h * h, v + a * h
        expected.append(x)
    controller = PID(ramp, 10.0, 5.0, ki, period=h)
    run = simulate(slider(m), [0.0], duration=0.5, controller=controller, times=6, **EXPLICIT)
    assert np.abs(run.q[:, 0] - expected).max() < 1e-9


def test_computed_torque_is_as_exact_as_asked_for():
    """With a perfect model the motion is the desired one, up to what the tolerance of the steps leaves."""
    arm = kt.zoo.kuka_kr5()
    motion = kt.trajectories.cycloid(np.zeros(6), np.linspace(0.5, 1.5, 6), duration=1.0)
    errors = []
    for rtol in (1e-8, 1e-10, 1e-12):
        law = ComputedTorque(motion, kp=49.0)
        run = kt.simulate(arm, np.zeros(6), duration=1.0, controller=law, rtol=rtol, times=21)
        errors.append(np.abs(run.q.values - motion.at(run.time.values).q).max())
    assert errors[0] > 10 * errors[1] > 100 * errors[2]
    assert errors[2] < 5e-12
