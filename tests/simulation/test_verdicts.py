"""Verdicts on simulated motions: each against a motion whose fault is known in closed form."""

import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree import control

g = 9.81


def slider(**limits):
    """A mass of 2 kg on a vertical guide: q is its height."""
    made = kt.Builder("slider")
    made.world.prismatic("lift", axis="z", **limits).body("load", kt.Inertia(2.0, moment=(1, 1, 1)))
    return made.build()


def wheel(**limits):
    """A moment of inertia of 0.5 kg m^2 on an axis, without gravity's say."""
    made = kt.Builder("wheel", gravity=(0, 0, 0))
    made.world.revolute("axle", axis="z", **limits).body("disc", kt.Inertia(1.0, moment=(0.5, 0.5, 0.5)))
    return made.build()


def box():
    """A cube of 0.2 m with a floating base and four feet, its center at the origin of its frame."""
    made = kt.Builder("box")
    cube = made.world.free("base").body("cube", kt.Inertia(3.0, moment=(0.02, 0.02, 0.02)))
    cube.revolute("arm", axis="y", at=(0, 0, 0.1)).body("mast", kt.Inertia.rod(0.1, end=(0, 0, 0.6)))
    for k, (x, y) in enumerate([(0.1, 0.1), (0.1, -0.1), (-0.1, 0.1), (-0.1, -0.1)]):
        cube.contact(f"foot{k}", at=(x, y, -0.1))
    return made.build()


def test_a_fall_beyond_a_limit_says_joint_place_and_time():
    fall_time, height = 0.4, 1.0
    with pytest.warns(kt.simulation.VerdictWarning, match="joint 'lift'"):
        fall = kt.simulate(slider(lower=height - 0.5, velocity_limit=3.0), [height], duration=fall_time)
    place, speed = fall.audit["position_limits"], fall.audit["velocity_limits"]
    assert not place.passed and not speed.passed and not fall.passed
    assert place.value == pytest.approx(g * fall_time**2 / 2 - 0.5, rel=1e-9)
    assert speed.value == pytest.approx(g * fall_time / 3.0 - 1.0, rel=1e-9)
    assert "t = 0.4 s" in place.sentence and "beyond its limit 0.5 m" in place.sentence
    assert "3.924 m/s" in speed.sentence and "its limit 3 m/s" in speed.sentence
    assert place.sentence in fall.messages


def test_joints_that_follow_others_have_limits_of_their_own():
    """A cam at 2 q + 0.5 q^2 above the falling load, so fast as 2 + q times its speed."""
    load = slider().links[0]
    cam = kt.Joint.of_kind(
        "cam",
        "prismatic",
        axis="x",
        mimic=kt.model.Mimic("lift", 2.0, 0.0, (0.5,)),
        lower=1.5,
        velocity_limit=2.0,
    )
    robot = kt.Mechanism("cam", [load, kt.model.Link(kt.Body("follower"), cam)])
    with pytest.warns(kt.simulation.VerdictWarning, match="joint 'cam'"):
        fall = kt.simulate(robot, [1.0], duration=0.3)
    q = 1.0 - g * 0.3**2 / 2
    assert fall.audit["position_limits"].value == pytest.approx(1.5 - 2.0 * q - 0.5 * q**2, rel=1e-6)
    assert fall.audit["velocity_limits"].value == pytest.approx((2.0 + q) * g * 0.3 / 2.0 - 1.0, rel=1e-6)
    assert "joint 'cam' is at" in fall.audit["position_limits"].sentence


def test_motions_within_their_limits_pass_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fall = kt.simulate(slider(lower=0.0, velocity_limit=5.0, effort_limit=1.0), [1.0], duration=0.3)
    names = ["position_limits", "velocity_limits", "effort_limits"]
    assert [fall.audit[name].passed for name in names] == [True] * 3 and fall.passed


def test_a_torque_beyond_the_effort_limit_is_told():
    with pytest.warns(kt.simulation.VerdictWarning, match="the effort of joint 'axle'"):
        spun = kt.simulate(wheel(effort_limit=2.0), [0.0], duration=0.1, torque=[3.0])
    assert spun.audit["effort_limits"].value == pytest.approx(0.5)
    quiet = kt.simulate(wheel(effort_limit=2.0), [0.0], duration=0.1, torque=[3.0], verdicts={"effort": 0.6})
    assert quiet.passed


def test_thresholds_can_be_set_or_left_out():
    model, fall = slider(lower=0.9), {"q0": [1.0], "duration": 0.2}
    depth = g * 0.2**2 / 2 - 0.1
    with pytest.warns(kt.simulation.VerdictWarning):
        kt.simulate(model, **fall, verdicts={"position": 0.99 * depth})
    assert kt.simulate(model, **fall, verdicts={"position": 1.01 * depth}).passed
    assert "position_limits" not in kt.simulate(model, **fall, verdicts={"position": None}).audit
    assert list(kt.simulate(model, **fall, verdicts=False).audit) == ["energy_balance"]
    assert kt.simulate(model, **fall, verdicts=kt.simulation.Verdicts(position=1.0)).passed
    for wrong, words in (
        ({"tllt": 1}, "Did you mean 'tilt'"),
        ({"tilt": -1}, "tilt must be > 0"),
        (3, "Verdicts"),
    ):
        with pytest.raises(kt.errors.InputError, match=words):
            kt.simulate(model, **fall, verdicts=wrong)


def test_stops_may_yield_more_than_a_limit_without_them():
    stopped = kt.simulate(slider(lower=0.9), [1.0], duration=0.5, stops=kt.simulation.Stops(1e4, 400.0))
    assert 0.0 < stopped.audit["position_limits"].value < 0.1 and stopped.passed


def test_the_worst_of_many_motions_is_named():
    many = kt.simulation.simulate_batch(slider(lower=0.5), [[1.0], [0.8], [2.0]], duration=0.3)
    check = many.audit["position_limits"]
    assert check.value == pytest.approx(0.5 - (0.8 - g * 0.3**2 / 2), rel=1e-9)
    assert "in motion 1" in check.sentence and not many.passed and check.sentence in many.messages


def test_a_law_that_settles_passes():
    stable = kt.simulate(wheel(), [1.0], duration=5.0, controller=control.PD([0.0], kp=50.0, kd=10.0))
    assert stable.audit["control_error"].passed and stable.passed


def test_a_sampled_law_that_is_too_slow_diverges():
    # sampled every 0.5 s, kp = 50 of an inertia of 0.5: each period multiplies the error
    slow = control.PD([0.0], kp=50.0, kd=0.0, period=0.5)
    with pytest.warns(kt.simulation.VerdictWarning, match="joint 'axle' does not follow"):
        run = kt.simulate(wheel(), [0.05], duration=4.0, controller=slow)
    assert not run.audit["control_error"].passed


def test_a_robot_that_stands_passes_and_one_that_tips_over_has_fallen():
    robot, ground = box(), kt.Ground(kt.simulation.Soil(stiffness=2e4))
    stand = np.zeros(7)
    stand[2] = 0.1
    law = control.PD(np.zeros(1), kp=20.0, kd=1.0)
    upright = kt.simulate(robot, stand, duration=0.5, controller=law, ground=ground, rtol=1e-6)
    assert upright.passed and upright.audit["tilt"].value < 0.01 and upright.audit["base_height"].value < 0.1
    spun, aloft = np.zeros(7), stand + 0.4 * np.eye(7)[2]
    spun[4] = 8.0  # rad/s, in free flight: it lands on its side
    with pytest.warns(kt.simulation.VerdictWarning, match="the robot fell"):
        fallen = kt.simulate(robot, aloft, spun, duration=0.25, controller=law, ground=ground, rtol=1e-6)
    assert not fallen.audit["tilt"].passed and "from t = 0.1" in fallen.audit["tilt"].sentence
    driven = {"torque": np.zeros(7), "ground": ground, "rtol": 1e-6}
    assert "tilt" not in kt.simulate(robot, aloft, spun, 0.1, **driven).audit  # nobody asked it to stand


def test_a_body_without_contact_points_passes_the_ground_and_is_named():
    robot = box()
    start = np.zeros(7)
    start[2], start[6] = 0.1, 2.8  # the mast hangs down beside the feet, through the ground
    with pytest.warns(kt.simulation.VerdictWarning, match="body 'mast'"):
        run = kt.simulate(
            robot, start, duration=0.01, ground=kt.Ground(kt.simulation.Soil(stiffness=2e4)), rtol=1e-6
        )
    found = run.audit["above_ground"]
    assert not found.passed and found.value == pytest.approx(-(0.2 + 0.3 * np.cos(2.8)), abs=2e-3)
    on_steps = kt.Ground(kt.simulation.Soil(stiffness=2e4), origin=(0, 0, -1.0))
    assert kt.simulate(robot, start, duration=0.01, ground=on_steps, rtol=1e-6).audit["above_ground"].passed


def test_the_gait_of_a_walking_robot_passes_all_verdicts():
    walk = kt.run("planar_biped_walk", study={"duration": 0.5}, output={"samples": 51})
    names = ("tilt", "base_height", "above_ground", "control_error")
    assert all(walk.audit[name].passed for name in names)


def test_torques_alone_let_the_biped_fall_as_in_the_book():
    """[Shah2013], Figs. 7.7, 7.8: without control the planar biped falls in its first step."""
    with pytest.warns(kt.simulation.VerdictWarning, match="the robot fell"):
        fallen = kt.run(
            "planar_biped_walk",
            study={"duration": 1.0},
            controller={"kind": "feedforward", "kp": 0, "kd": 0},
            output={"samples": 51},
            control={"tolerance": 100.0},
        )
    assert not fallen.passed and not fallen.audit["tilt"].passed


def test_stops_hold_joints_that_have_a_limit_on_one_side_only():
    """A mass on a stop below it comes to rest where the spring carries its weight."""
    rested = kt.simulate(slider(lower=0.9), [0.95], duration=2.0, stops=kt.simulation.Stops(1e4, 400.0))
    assert rested.q.values[-1, 0] == pytest.approx(0.9 - 2.0 * g / 1e4, abs=1e-9)


# ---- prepared simulations --------------------------------------------------------------------------------
def prepared(robot, q0, qd0=None, duration=1.0, **more):
    run = kt.simulation.Simulator(robot, duration, **more)
    run.run(q0, qd0)
    return run.audit()


def test_prepared_simulations_are_judged_on_request():
    """Each fault has its closed form, as above; a prepared run warns of nothing by itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fall = prepared(slider(lower=0.5, velocity_limit=3.0), [1.0], duration=0.4)
        assert fall["position_limits"].value == pytest.approx(g * 0.4**2 / 2 - 0.5, rel=1e-6)
        assert fall["velocity_limits"].value == pytest.approx(g * 0.4 / 3.0 - 1.0, rel=1e-6)
        spun = prepared(wheel(effort_limit=2.0), [0.0], duration=0.1, torque=[3.0])
        assert spun["effort_limits"].value == pytest.approx(0.5) and not spun["effort_limits"].passed
        allowed = prepared(wheel(effort_limit=2.0), [0.0], torque=[3.0], verdicts={"effort": 0.6})
        assert allowed["effort_limits"].passed
        assert prepared(wheel(effort_limit=2.0), [0.0], torque=[3.0], verdicts=False) == {}
        slow = control.PD([0.0], kp=50.0, kd=0.0, period=0.5)
        grown = prepared(wheel(), [0.05], duration=4.0, controller=slow)
        assert not grown["control_error"].passed and "does not follow" in grown["control_error"].sentence


def test_a_prepared_robot_that_tips_over_has_fallen():
    robot, ground = box(), kt.Ground(kt.simulation.Soil(stiffness=2e4))
    aloft, spun = np.zeros(7), np.zeros(7)
    aloft[2], spun[3] = 0.5, 8.0
    law = control.PD(np.zeros(1), kp=20.0, kd=1.0)
    runs = kt.simulation.Simulator(robot, 0.25, controller=law, ground=ground, rtol=1e-6)
    with pytest.raises(kt.errors.InputError, match="there is none"):
        runs.audit()
    runs.run(aloft, spun)
    assert "the robot fell" in runs.audit()["tilt"].sentence
    low = aloft.copy()
    low[2] = 0.1
    runs.run(low)
    found = runs.audit()  # of the last run alone
    assert found["tilt"].passed and found["base_height"].passed and found["above_ground"].passed


def test_runs_that_break_off_leave_nothing_to_judge():
    runs = kt.simulation.Simulator(
        wheel(), 1.0, torque=lambda t, q, qd: np.array([np.nan if t > 0.5 else 0.0])
    )
    with pytest.raises(kt.KinetreeError):
        runs.run([0.0])
    with pytest.raises(kt.errors.InputError, match="there is none"):
        runs.audit()
