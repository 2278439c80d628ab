"""Motions of known outcome through every door: what is bad must fail, what is sound must pass."""

import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree import control
from kinetree.simulation.standing import standing
from kinetree.verdicts.footing import Footing

g = 9.81
OFTEN = (2, 3, 201)  # outputs


def pendulum(**limits):
    """A rod of 1 kg and 1 m that hangs: 4.905 N m hold it level."""
    made = kt.Builder("pendulum")
    made.world.revolute("hinge", axis="y", **limits).body("rod", kt.Inertia.rod(1.0, end=(0, 0, -1.0)))
    return made.build()


def slider(**limits):
    """1 kg on a level rail."""
    made = kt.Builder("slider", gravity=(0, 0, 0))
    made.world.prismatic("rail", axis="x", **limits).body("load", kt.Inertia(1.0, moment=(1, 1, 1)))
    return made.build()


def block(size=1.0, mass=100.0):
    """A cube with a free base whose corners touch."""
    made = kt.Builder("block")
    cube = made.world.free("base").body("cube", kt.Inertia(mass, moment=3 * (mass * size**2 / 6,)))
    for k in range(8):
        cube.contact(f"corner{k}", at=[size / 2 if k >> i & 1 else -size / 2 for i in range(3)])
    return made.build()


def quadruped():
    """The quadruped, and where it crouches on its feet."""
    robot = kt.zoo.quadruped()
    q = np.zeros(robot.n_dof)
    for k, name in enumerate(robot.joint_names):
        q[k] = 1.0 if name.startswith("knee") else -0.5 if name.startswith("hip") and name[-2:] == "ry" else 0
    return robot, standing(robot, q)


def step_table(force, begin, end, T=1.0):
    """A force from ``begin`` to ``end``, with its breaks."""
    times = np.array([0.0, begin, begin, end, end, T])
    return times, np.array([0.0, 0.0, force, force, 0.0, 0.0])[:, None]


def quiet(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


def simulated(*arguments, **options):
    return quiet(kt.simulate, *arguments, **options)


def failed(result):
    """Names of the checks that fail."""
    assert result.passed == all(check.passed for check in result.audit.values())
    return {name for name, check in result.audit.items() if not check.passed}


# ---- limits between outputs ------------------------------------------------------------------------------


@pytest.mark.parametrize("times", OFTEN)
def test_a_swing_beyond_its_limits_between_outputs(times):
    """From the bottom with qd: cos a = 1 - l qd^2 / (3 g), by the energy of a rod."""
    amplitude, rate = 1.2, np.sqrt(3.0 * g * (1.0 - np.cos(1.2)))
    run = simulated(pendulum(lower=-0.5, upper=0.5), [0.0], [rate], duration=4.0, times=times)
    assert failed(run) == {"position_limits"}
    assert run.audit["position_limits"].value == pytest.approx(amplitude - 0.5, abs=1e-3)
    sound = simulated(pendulum(lower=-1.195, upper=1.195), [0.0], [rate], duration=4.0, times=times)
    assert failed(sound) == set()


def test_a_short_push_in_a_long_simulation():
    """200 s, 201 outputs, pushed for 0.4 s: it swings for a second beyond the limit, then on and on."""
    push = step_table(2.5, 50.0, 50.4, 200.0)
    run = simulated(pendulum(lower=-0.4, upper=0.4), [0.0], duration=200.0, torque=push, rtol=1e-7)
    fine = simulated(pendulum(), [0.0], duration=200.0, torque=push, times=40001, rtol=1e-7)
    beyond = np.abs(fine.q.values).max() - 0.4
    assert beyond > 0.02 and failed(run) == {"position_limits"}
    assert run.audit["position_limits"].value == pytest.approx(beyond, abs=1e-3)


@pytest.mark.parametrize("method", ["dopri5", "dop853", "radau", "rk4"])
def test_speeds_between_outputs(method):
    fastest = np.sqrt(3.0 * g * (1.0 - np.cos(1.2)))
    fixed = {"step": 0.01} if method == "rk4" else {}
    for share, wrong in ((0.9, {"velocity_limits"}), (1.0, set())):
        robot = pendulum(velocity_limit=share * fastest)
        run = simulated(robot, [1.2], duration=3.0, times=2, method=method, **fixed)
        assert failed(run) == wrong
        assert run.audit["velocity_limits"].value == pytest.approx(max(0.0, 1 / share - 1), abs=1e-3)


def test_a_pulse_of_a_table_between_outputs():
    pulse = step_table(50.0, 0.101, 0.103)
    run = simulated(slider(effort_limit=10.0), [0.0], torque=pulse)
    assert failed(run) == {"effort_limits"} and run.audit["effort_limits"].value == pytest.approx(4.0)
    assert "t = 0.101 s" in run.audit["effort_limits"].sentence
    assert run.qd.values[-1, 0] == pytest.approx(0.1)
    assert failed(simulated(slider(effort_limit=50.0), [0.0], torque=pulse)) == set()


def test_a_pulse_of_a_function_is_not_called_seen():
    run = simulated(slider(), [0.0], torque=lambda t, q, qd: [50.0 if 0.101 < t < 0.103 else 0.0])
    (stated,) = (why for name, why in run.not_judged.items() if "pulses" in name)
    assert "max_step" in stated
    close = simulated(
        slider(), [0.0], torque=lambda t, q, qd: [50.0 if 0.101 < t < 0.103 else 0.0], max_step=5e-4
    )
    assert close.qd.values[-1, 0] == pytest.approx(0.1, rel=0.1)
    assert any("max_step was 0.0005" in why for why in close.not_judged.values())


def test_batches_say_which_motion_fails():
    rates = np.sqrt(3.0 * g * (1.0 - np.cos([1.2, 0.3, 0.505, 0.8, 0.45])))[:, None]
    many = quiet(
        kt.simulation.simulate_batch, pendulum(lower=-0.5, upper=0.5), np.zeros((5, 1)), rates, 4.0, times=2
    )
    assert many.motion_passed.values.tolist() == [False, True, True, False, True]
    assert "in motion 0; 2 of 5 motions fail" in many.audit["position_limits"].sentence
    assert "slip" in many.not_judged


def test_efforts_of_batches():
    laws = [control.PD([0.0], kp=k, kd=1.0) for k in (1.0, 40.0)]
    starts = np.array([[1.0], [1.0]])
    many = quiet(
        kt.simulation.simulate_batch,
        slider(effort_limit=10.0),
        starts,
        duration=1.0,
        controller=laws,
        times=2,
    )
    assert many.motion_passed.values.tolist() == [True, False]
    assert many.audit["effort_limits"].value == pytest.approx(3.0)
    torques = np.array([[5.0], [12.0], [9.0]])
    pushed = quiet(
        kt.simulation.simulate_batch, slider(effort_limit=10.0), np.zeros((3, 1)), torque=torques, times=2
    )
    assert pushed.motion_passed.values.tolist() == [True, False, True]


def test_prepared_simulations_are_judged_between_outputs():
    rate = np.sqrt(3.0 * g * (1.0 - np.cos(1.2)))
    run = kt.simulation.Simulator(pendulum(lower=-0.5, upper=0.5), 4.0, times=2)
    first = run.run([0.0], [rate])
    assert run.audit()["position_limits"].value == pytest.approx(0.7, abs=1e-3)
    assert np.array_equal(run.run([0.0], [rate]).q, first.q)


# ---- laws ------------------------------------------------------------------------------------------------
LEVEL = np.pi / 2


def test_a_law_too_weak_to_hold_an_arm():
    law = control.PD([LEVEL], kp=100.0, kd=20.0, limits=1.0)
    assert failed(simulated(pendulum(), [LEVEL], duration=5.0, controller=law)) == {"control_error"}
    assert failed(simulated(pendulum(), [0.0], duration=5.0, controller=law)) == {"control_error"}


@pytest.mark.parametrize(
    ("start", "goal", "kp", "kd"),
    [
        (LEVEL, LEVEL, 100.0, 20.0),  # droops by 0.05 rad
        (0.0, LEVEL, 100.0, 20.0),  # comes from afar
        (1.0, 0.0, 1.0, 50.0),  # far too slow, but on its way
        (1.0, 0.0, 5.0, 0.1),  # swings for long, but ever less
        (0.0, 0.0, 1e4, 100.0),
    ],
)
def test_laws_that_do_as_they_should(start, goal, kp, kd):
    law = control.PD([goal], kp=kp, kd=kd)
    assert failed(simulated(pendulum(), [start], duration=3.0, controller=law)) == set()


def test_following_a_motion():
    motion = kt.trajectories.quintic([0.0], [1.5], 2.0)
    good = control.PD(motion, kp=400.0, kd=40.0)
    assert failed(simulated(pendulum(), [0.0], duration=2.0, controller=good)) == set()
    weak = control.PD(motion, kp=1.0, kd=0.5)
    run = simulated(pendulum(), [0.0], duration=2.0, controller=weak)
    assert failed(run) == {"control_error"} and "does not follow" in run.audit["control_error"].sentence
    late = control.PD(motion, kp=400.0, kd=40.0)  # starts elsewhere and catches up
    assert failed(simulated(pendulum(), [0.8], duration=2.0, controller=late)) == set()


# ---- on the ground ---------------------------------------------------------------------------------------


def test_a_quadruped_that_stands_and_one_that_lies_down():
    robot, q = quadruped()
    hold = control.PD(q[6:], kp=200.0, kd=10.0)
    ground = kt.Ground()
    stands = simulated(robot, q, duration=0.5, controller=hold, ground=ground)
    assert failed(stands) == set()
    assert {"tilt", "base_height", "slip", "sinking", "above_ground", "control_error"} <= {*stands.audit}
    limp = np.concatenate([np.zeros(6), np.full(12, 1e-3)])
    for torque in (limp, (np.array([0.0, 2.0]), np.tile(limp, (2, 1)))):
        lies = simulated(robot, q, duration=0.7, torque=torque, ground=ground)
        assert failed(lies) == {"base_height"} and "the robot fell" in lies.audit["base_height"].sentence
    dropped = simulated(robot, q, duration=0.7, ground=ground)
    assert failed(dropped) == set() and "no law" in dropped.not_judged["base_height"]


def test_a_law_in_python_is_a_law():
    robot, q = quadruped()
    lies = simulated(
        robot, q, duration=0.5, torque=lambda t, q, qd: np.concatenate([np.zeros(6), -1e-3 * qd[6:]]),
        ground=kt.Ground(), rtol=1e-4,
    )  # fmt: skip
    assert failed(lies) == {"base_height"}


def test_falls_in_batches():
    robot, q = quadruped()
    laws = [control.PD(q[6:], kp=200.0, kd=10.0), control.PD(q[6:], kp=0.5, kd=0.1)]
    many = quiet(
        kt.simulation.simulate_batch, robot, np.stack([q, q]), duration=0.7, controller=laws,
        ground=kt.Ground(), times=3,
    )  # fmt: skip
    assert many.motion_passed.values.tolist() == [True, False]
    assert "the robot fell" in many.audit["base_height"].sentence


def test_batches_state_what_functions_of_time_may_hide():
    """A pulse of 2 ms between steps of a second: nothing sees it, so the result says how long steps were."""

    def pulse(t, q, qd):
        return np.array([50.0 if 0.101 < t < 0.103 else 0.0])

    run = quiet(
        kt.simulation.simulate_batch, slider(), np.zeros((2, 1)), duration=20.0, torque=pulse, times=2
    )
    (said,) = (x for name, x in run.not_judged.items() if "pulses" in name)
    assert "may be stepped over, unless max_step" in said
    fine = quiet(
        kt.simulation.simulate_batch, slider(), np.zeros((2, 1)), duration=0.2, torque=pulse, times=2,
        max_step=5e-4,
    )  # fmt: skip
    assert np.allclose(fine.qd.values[:, -1, 0], 0.1, rtol=0.05)


def test_slip_in_batches_is_that_of_single_motions():
    """Robots that start with a velocity on ice and on firm ground, with outputs at the ends alone."""
    robot, q = quadruped()
    push = np.zeros_like(q)
    push[0] = 0.8
    law, grounds = (
        control.PD(q[6:], kp=400.0, kd=20.0),
        [kt.Ground(kt.simulation.Soil(friction=x)) for x in (0.02, 0.9)],
    )
    settings = {"duration": 0.5, "controller": law, "times": 2, "rtol": 1e-6, "verdicts": {"following": None}}
    batch = kt.simulation.simulate_batch
    many = quiet(batch, robot, np.stack([q, q]), np.stack([push, push]), ground=grounds, **settings)
    alone = [simulated(robot, q, push, ground=ground, **settings) for ground in grounds]
    assert many.audit["slip"].value == pytest.approx(alone[0].audit["slip"].value, rel=1e-3)
    assert many.motion_passed.values.tolist() == [x.passed for x in alone] and "slip" in failed(alone[0])


def test_tall_robots_in_mud():
    """A base of 1.5 m on feet that are 13 cm deep: less than a tenth of its height, but no firm ground."""
    t = np.linspace(0.0, 1.0, 11)
    tall = kt.Builder("tall")
    tall.world.free("base", driven=False).body("base", kt.Inertia.sphere(40.0, 0.2)).contact(
        "foot", (0, 0, -1.5)
    )
    for depth, passes in ((0.13, False), (0.08, True)):
        q = np.zeros((1, 11, 6))
        q[..., 2] = 1.5 - depth
        footing = Footing(tall.build(), kt.Ground(), kt.simulation.Verdicts(), t, q)
        assert bool(footing.sinking()["sinking"].passed[0]) is passes


def test_feet_that_slip():
    """The same trot on firm ground and on ice."""
    firm = kt.run("quadruped_trot", study={"duration": 1.0}, output={"samples": 21})
    assert failed(firm) == set() and firm.audit["drift"].value < 0.2 and firm.audit["slip"].value < 0.15
    with pytest.warns(kt.simulation.VerdictWarning, match="the ground does not hold it"):
        slips = kt.run("quadruped_trot", ground={"friction": 0.02}, output={"samples": 21})
    assert failed(slips) == {"slip"}


@pytest.mark.parametrize(("stiffness", "wrong"), [(250.0, {"sinking"}), (2e4, set())])
def test_a_block_in_the_mud(stiffness, wrong):
    run = simulated(
        block(), [0, 0, 0.5, 0, 0, 0], duration=3.0, rtol=1e-6,
        ground=kt.Ground(kt.simulation.Soil(stiffness=stiffness)),
    )  # fmt: skip
    assert failed(run) == wrong


def test_dust_does_not_count_as_depth():
    soil = kt.simulation.Soil(stiffness=1e4, dust=0.1, lowered_spring=True)
    run = simulated(block(), [0, 0, 0.41, 0, 0, 0], duration=0.5, rtol=1e-6, ground=kt.Ground(soil))
    assert float(run.penetration.max()) > 0.09 and failed(run) == set()
    bare = kt.simulation.Soil(stiffness=3300.0)
    sunk = simulated(block(), [0, 0, 0.42, 0, 0, 0], duration=0.1, rtol=1e-6, ground=kt.Ground(bare))
    assert failed(sunk) == {"sinking"}


@pytest.mark.parametrize(
    ("speed", "wanted", "passes"),
    [(-0.5, 1.1, False), (0.9, 1.1, True), (0.4, 1.1, False), (1.1, 1.1, True), (0.01, 0.0, True)],
)
def test_a_base_that_strays_from_its_way(speed, wanted, passes):
    """Along the ground at a constant speed (m/s) for 2 s, where another one is asked for."""
    t = np.linspace(0.0, 2.0, 21)
    q, course = np.zeros((1, 21, 6)), np.zeros((21, 6))
    q[0, :, 0], course[:, 0] = speed * t, wanted * t
    q[..., 2] = course[:, 2] = 0.5
    found = Footing(block(), kt.Ground(), kt.simulation.Verdicts(), t, q, course).drift()["drift"]
    assert bool(found.passed[0]) is passes
    away = abs(speed - wanted) * 2.0 / max(wanted * 2.0, 0.5)
    assert found.values[0] == pytest.approx(away)


@pytest.mark.parametrize(("forwards", "wrong"), [(True, set()), (False, {"drift"})])
def test_a_gait_that_walks_the_wrong_way(forwards, wrong):
    """Joints that follow a tripod gait from its end to its start walk back, while its base goes ahead."""
    robot = kt.zoo.hexapod()
    path = kt.trajectories.tripod(robot, steps=2)
    times = np.linspace(0.0, path.duration, 201)
    q, legs = path.at(times).q.copy(), slice(6, None)
    q[:, legs] = q[:, legs] if forwards else q[::-1, legs]
    kp = np.repeat([0.0, 2000.0], [6, robot.n_dof - 6])
    law = control.PD(kt.trajectories.from_table(times, q), kp, 0.02 * kp)
    ground, precise = kt.Ground.of(robot), {"method": "radau", "rtol": 1e-4, "atol": 1e-6}
    run = simulated(robot, q[0], duration=path.duration, controller=law, ground=ground, times=21, **precise)
    walked = float(run.q[-1, 0] - run.q[0, 0])
    assert walked == pytest.approx(0.8 if forwards else -0.8, rel=0.1) and failed(run) == wrong


# ---- motions known in advance ----------------------------------------------------------------------------
REACH = """
[study]
task = "inverse"
duration = {T}
[mechanism]
zoo = "ur5"
[trajectory]
kind = "quintic"
start = [0, -1.2, 1.0, 0, 0, 0]
end = [{turn}, -1.0, 0.8, 0, 0, 0]
[output]
samples = 3
"""


@pytest.mark.parametrize(
    ("T", "turn", "wrong"),
    [
        (3.0, 1.0, set()),
        (0.5, 1.745, {"velocity_limits"}),
        (0.1, 1.745, {"velocity_limits", "effort_limits"}),
        (60.0, 8.0, {"position_limits"}),
    ],
)
def test_inverse_dynamics_of_an_arm_beyond_its_limits(tmp_path, T, turn, wrong):
    file = tmp_path / "reach.toml"
    file.write_text(REACH.format(T=T, turn=turn))
    found = quiet(kt.run, file)
    assert failed(found) == wrong
    if "velocity_limits" in wrong:  # 15/8 of the mean speed, seen between three samples
        assert found.audit["velocity_limits"].value == pytest.approx(15 / 8 * turn / T / 3.15 - 1, rel=1e-6)
    loose = {"velocity": 1e3, "effort": 1e6, "position": 100.0}
    assert failed(quiet(kt.run, file, verdicts=loose)) == set()
    off = quiet(kt.run, file, verdicts={"position": False, "velocity": False, "effort": False})
    assert {*off.audit} == {"round_trip"} and off.not_judged["effort_limits"] == "switched off"


def test_hybrid_studies_are_judged_by_steps(tmp_path):
    file = tmp_path / "hybrid.toml"
    file.write_text(REACH.format(T=0.5, turn=1.745).replace('"inverse"', '"hybrid"'))
    with pytest.warns(kt.simulation.VerdictWarning, match="velocity of joint 'shoulder_pan_joint'"):
        found = kt.run(file)
    assert "velocity_limits" in failed(found)


def test_the_fastest_timing_of_a_path_beyond_the_limits():
    robot = slider(lower=-1.0, upper=1.0, effort_limit=5.0)
    beyond = kt.fastest_timing(robot, [[0.0], [3.0]])
    assert failed(beyond.result) == {"position_limits"} and "position limits exceeded" in str(beyond)
    assert beyond.result.audit["position_limits"].value == pytest.approx(2.0)
    assert failed(kt.fastest_timing(robot, [[-0.9], [0.9]]).result) == set()


# ---- what is not judged ----------------------------------------------------------------------------------


def test_what_is_switched_off_does_not_pass(tmp_path):
    run = simulated(slider(upper=0.1), [0.0], [1.0], duration=1.0, verdicts=False)
    assert not run.passed and "all verdicts" in run.not_judged and {*run.audit} == {"energy_balance"}
    assert "not judged: all verdicts (switched off" in str(run)
    run.save(tmp_path / "run.nc")
    again = kt.load_result(tmp_path / "run.nc")
    assert again.equals(run) and not again.passed and again.not_judged == run.not_judged
    judged = simulated(slider(upper=2.0), [0.0], [1.0], duration=1.0)
    assert judged.passed and judged.not_judged["effort_limits"] == "no joint has an effort limit"
    assert "not judged: " in str(judged)
