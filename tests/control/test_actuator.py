"""Actuators with a current of their own, against closed forms."""

import numpy as np
import pytest
from scipy.linalg import expm

import kinetree as kt
from kinetree.control import PD, PID, ComputedTorque, FirstOrderActuator, TorqueTable
from kinetree.simulation import stiffness
from kinetree.simulation.settings import Settings, read_options
from kinetree.simulation.setup import new_system, surroundings
from kinetree.simulation.torque import read_law
from support.each import each
from support.refused import refused

INERTIA, TORQUE, T, K = 0.4, 3.0, 0.05, 2.0
TIMES = np.linspace(0.0, 0.5, 11)


def rotor(**joint):
    """A wheel on a fixed axis, without gravity."""
    build = kt.Builder("rotor", gravity=(0, 0, 0))
    wheel = kt.Inertia(1.0, (0, 0, 0), np.diag([0.3, 0.3, INERTIA]))
    build.world.revolute("axle", axis="z", **joint).body("wheel", wheel)
    return build.build()


def step_response(t, lag=T):
    """Angle, speed and current after a step of the command, all from zero."""
    rest = lag * (1.0 - np.exp(-t / lag))
    current = TORQUE / K * (1.0 - np.exp(-t / lag))
    return TORQUE / INERTIA * (t**2 / 2 - lag * t + lag * rest), TORQUE / INERTIA * (t - rest), current


STEPS = {
    "constant": [TORQUE],
    "function": lambda t, q, qd: [TORQUE],
    "table": ([0.0, 1.0], [[TORQUE], [TORQUE]]),
    "controller": TorqueTable([0.0, 1.0], [[TORQUE], [TORQUE]]),
}


def assert_step(run, lag=T, tolerance=1e-7):
    q, qd, current = step_response(TIMES, lag)
    assert run.q.values[:, 0] == pytest.approx(q, abs=tolerance)
    assert run.qd.values[:, 0] == pytest.approx(qd, abs=tolerance)
    assert run.current.values[:, 0] == pytest.approx(current, abs=tolerance)
    assert run.tau.values == pytest.approx(K * run.current.values, abs=1e-12)
    assert run.actuator_work.values == pytest.approx(0.5 * INERTIA * qd**2, abs=tolerance)
    assert run.audit["energy_balance"].passed


@pytest.mark.parametrize("command", STEPS)
def test_step_response(command):
    motor = FirstOrderActuator(STEPS[command], T, K)
    assert_step(kt.simulate(rotor(), [0.0], duration=0.5, controller=motor, times=TIMES))


@pytest.mark.parametrize("method", ["dopri5", "dop853", "radau", "rk4", "semi_implicit_euler"])
def test_step_response_by_every_method(method):
    step = {"step": 1e-3 if method == "rk4" else 1e-5} if method in ("rk4", "semi_implicit_euler") else {}
    motor = FirstOrderActuator([TORQUE], T, K)
    run = kt.simulate(rotor(), [0.0], duration=0.5, controller=motor, times=TIMES, method=method, **step)
    assert_step(run, tolerance=1e-3 if method == "semi_implicit_euler" else 1e-7)


def test_a_stiff_actuator_takes_few_steps():
    """Its time constant is far below the steps of radau, which "auto" chooses by its slopes."""
    motor = FirstOrderActuator([TORQUE], 1e-6, K)
    run = kt.simulate(rotor(), [0.0], duration=0.5, controller=motor, times=TIMES)
    assert run.settings["method"] == "radau" and run.statistics["steps"] < 100
    assert_step(run, 1e-6)


def test_feedback_through_the_lag_is_a_linear_system():
    kp, kd, goal = 20.0, 3.0, 0.7
    law = FirstOrderActuator(PD([goal], kp, kd), T, K)
    run = kt.simulate(rotor(viscous=0.1), [0.0], [0.5], 0.5, controller=law, times=TIMES, rtol=1e-10)
    A = np.array([[0, 1, 0], [0, -0.1 / INERTIA, K / INERTIA], [-kp / (K * T), -kd / (K * T), -1 / T]])
    rest = np.linalg.solve(A, [0.0, 0.0, -kp * goal / (K * T)])
    exact = np.array([expm(A * t) @ (np.array([0.0, 0.5, 0.0]) - rest) + rest for t in TIMES])
    assert run.q.values[:, 0] == pytest.approx(exact[:, 0], abs=1e-8)
    assert run.qd.values[:, 0] == pytest.approx(exact[:, 1], abs=1e-8)
    assert run.current.values[:, 0] == pytest.approx(exact[:, 2], abs=1e-7)


def test_commands_are_limited():
    motor = FirstOrderActuator([TORQUE], T, K, limits=0.6, current=-0.2)
    run = kt.simulate(rotor(), [0.0], duration=0.5, controller=motor, times=TIMES)
    assert run.current.values[:, 0] == pytest.approx(0.6 - 0.8 * np.exp(-TIMES / T), abs=1e-8)


def test_a_sampled_command_is_held_while_the_current_goes_on():
    law = FirstOrderActuator(PD([1.0], 5.0, 0.0, period=0.25), T, K)
    run = kt.simulate(rotor(), [0.0], duration=0.5, controller=law, times=TIMES, rtol=1e-10)
    first = 5.0 / K
    current = first * (1.0 - np.exp(-TIMES[:6] / T))
    assert run.current.values[:6, 0] == pytest.approx(current, abs=1e-8)
    second = 5.0 * (1.0 - run.q.values[5, 0]) / K
    later = second + (current[5] - second) * np.exp(-(TIMES[5:] - 0.25) / T)
    assert run.current.values[5:, 0] == pytest.approx(later, abs=1e-8)


# ---- many joints -----------------------------------------------------------------------------------------
ARM, POSE = kt.zoo.kuka_kr5(), np.linspace(0.2, -0.5, 6)
MOTORS = FirstOrderActuator(PD(POSE, 300.0, 40.0), np.linspace(0.01, 0.06, 6), 1.5, limits=80.0)


def test_simulators_and_batches_have_the_same_currents():
    begun = {"following": None}  # the motors have only begun to lift the arm
    run = kt.simulate(ARM, np.zeros(6), duration=0.3, controller=MOTORS, times=4, rtol=1e-9, verdicts=begun)
    motion = kt.simulation.Simulator(ARM, 0.3, controller=MOTORS, times=4, rtol=1e-9).run(np.zeros(6))
    assert motion.q == pytest.approx(run.q.values, abs=1e-8)
    batch = kt.simulation.simulate_batch(
        ARM, np.zeros((5, 6)), duration=0.3, controller=MOTORS, times=4, rtol=1e-9
    )
    assert batch.current.dims == ("rollout", "time", "joint")
    for k in range(5):
        assert batch.q.values[k] == pytest.approx(run.q.values, abs=1e-7)
        assert batch.current.values[k] == pytest.approx(run.current.values, abs=1e-4)


@pytest.mark.parametrize(
    "law",
    [
        MOTORS,
        FirstOrderActuator(ComputedTorque(POSE, 100.0), 0.02, 0.5),
        FirstOrderActuator(ComputedTorque(POSE, 100.0), {"joint2": 0.01, "joint5": 0.03}, limits=20.0),
        FirstOrderActuator(PID(POSE, 300.0, 40.0, 20.0, limits=30.0), 0.02),
        FirstOrderActuator(PD(POSE, 300.0, 40.0, period=0.01), 0.02),
    ],
    ids=["PD", "computed torque", "some joints", "limited PID", "sampled PD"],
)
def test_slopes_are_those_of_the_rates(law, rng):
    """The closed form beside differences of the right-hand side, in states off the kinks."""
    options = read_options(Settings(method="radau"), 1.0)
    system = new_system(ARM, read_law(ARM, None, law), surroundings(), options)
    for _ in range(3):
        y = system.start_state(rng.standard_normal(6), rng.standard_normal(6))[0]
        y[system.at.places["current"]] = rng.standard_normal(system.at.n_more)
        exact, differences = stiffness.slopes(system, 0.0, y), stiffness.differences(system, 0.0, y)
        assert exact.shape == (6 + system.at.n_more, 12 + system.at.n_more)
        scale = np.abs(differences).max(axis=1, keepdims=True)
        assert exact / scale == pytest.approx(differences / scale, abs=2e-5)


def test_joints_without_a_time_constant_have_no_lag():
    law = PD(POSE, 300.0, 40.0)
    some = FirstOrderActuator(law, {"joint1": 0.02})
    run = kt.simulate(ARM, np.zeros(6), duration=0.2, controller=some, times=5)
    torque = law.torque(ARM, run.time.values, run.q.values, run.qd.values)
    assert run.tau.values[:, 1:] == pytest.approx(torque[:, 1:], abs=1e-9)
    assert np.abs(run.tau.values[1:, 0] - torque[1:, 0]).max() > 1.0
    assert not run.current.values[:, 1:].any() and run.tau.values[0, 0] == 0.0


def test_a_floating_base_has_no_actuators():
    robot, q0 = kt.zoo.quadruped(), np.zeros(18)
    q0[2] = 0.6
    law = FirstOrderActuator(PD(np.zeros(12), 60.0, 3.0), 0.01)
    run = kt.simulate(robot, q0, duration=0.3, controller=law, ground=kt.Ground(), rtol=1e-5, times=7)
    assert not run.current.values[:, :6].any() and run.current.values[-1, 6:].all()
    assert run.audit["energy_balance"].value < 1e-3


def test_mimic_joints_are_driven_through_their_leaders():
    """With a short lag the motion is that without, up to the lag; the law may be Python or not."""
    build = kt.Builder("hand")
    arm = build.world.revolute("arm", axis="y").body("arm", kt.Inertia.box(2.0, (0.5, 0.1, 0.1)))
    for side, follow in (("left", {}), ("right", {"mimic": kt.model.Mimic("left", -1.5, 0.1)})):
        finger = arm.revolute(side, axis="z", at=(0.5, 0.0, 0), **follow)
        finger.body(side, kt.Inertia.box(0.3, (0.2, 0.02, 0.02)))
    hand, tau = build.build(), np.array([3.0, 0.2])
    plain = kt.simulate(hand, [0.0, 0.2], duration=0.3, torque=tau, times=4)
    motors = [FirstOrderActuator(x, 1e-4) for x in (tau, lambda t, q, qd: tau)]
    runs = [kt.simulate(hand, [0.0, 0.2], duration=0.3, controller=x, times=4) for x in motors]
    assert runs[1].q.values == pytest.approx(runs[0].q.values, abs=1e-7)
    assert runs[0].q.values == pytest.approx(plain.q.values, abs=5e-3)
    assert runs[0].current.values[-1] == pytest.approx(tau)
    assert runs[0].audit["energy_balance"].passed


# ---- words -----------------------------------------------------------------------------------------------
def test_results_tell_what_was_used(tmp_path):
    run = kt.simulate(ARM, np.zeros(6), duration=0.05, controller=MOTORS, times=3)
    told = run.settings["controller"]
    assert run.settings["law"] == told["controller"] == "FirstOrderActuator"
    assert told["law"]["controller"] == "PD" and told["torque_constant"] == 1.5
    assert run.units("current") == "A"
    assert repr(MOTORS).startswith("FirstOrderActuator(PD(")
    run.save(tmp_path / "run.nc")
    again = kt.load_result(tmp_path / "run.nc")
    assert np.array_equal(again.current.values, run.current.values)


@each(
    ("arguments", "words"),
    [
        ((None, 0.1), "follows a controller or a torque, got None"),
        ((MOTORS, 0.1), "follows a controller or a torque, got FirstOrderActuator"),
        ((PD, 0.1), "follows a controller or a torque, got <class"),
        (([1.0], 0.0), "time_constant must be > 0 s, got 0"),
        (([1.0], [0.1, -1.0]), "time_constant must be finite and >= 0, got -1 at index 1"),
        (([1.0], {"axle": 0.0}), "time_constant must be > 0 s, got 0 for joint 'axle'"),
        (([1.0], 0.1, 0.0), "torque_constant must be > 0 N m/A or N/A, got 0"),
        (([1.0], 0.1, 1.0, -2.0), "limits of the command must be >= 0, got -2"),
        (([1.0], 0.1, 1.0, None, np.nan), "current must be finite, got nan"),
    ],
)
def test_bad_arguments_are_named(arguments, words):
    with pytest.raises(kt.errors.InputError) as failed:
        FirstOrderActuator(*arguments)
    assert words in str(failed.value)


def test_what_does_not_fit_a_mechanism_is_named():
    with pytest.raises(kt.errors.InputError, match="time_constant must have 1 values"):
        kt.simulate(rotor(), [0.0], controller=FirstOrderActuator([1.0], [0.1, 0.2]))
    with refused("joint", "knee"):
        kt.simulate(rotor(), [0.0], controller=FirstOrderActuator([1.0], {"knee": 0.1}))
    with pytest.raises(kt.errors.InputError, match="torque must have shape"):
        kt.simulate(rotor(), [0.0], controller=FirstOrderActuator([1.0, 2.0], 0.1))
