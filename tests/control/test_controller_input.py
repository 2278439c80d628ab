"""Arguments of controllers: gains by number, array and name; what is refused, with which words."""

import dataclasses
import json

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.control import (
    PD,
    PID,
    ComputedTorque,
    ConstantTorque,
    Controller,
    Feedforward,
    GravityCompensation,
    TorqueTable,
    perturb,
)
from kinetree.errors import InputError
from kinetree.trajectories.cycloidal import cycloid
from support.each import each

ARM, DOG = kt.zoo.gripper(), kt.zoo.quadruped()
POSE, DOG_POSE = np.zeros(4), np.zeros(18)


def refused(message, make, mechanism=None):
    """The controller, or its use on the mechanism, is refused with the message."""
    with pytest.raises(InputError, match=message):
        controller = make()
        assert mechanism is not None, "should have been refused at once"
        controller.law_parts(mechanism)


# ---- gains --------------------------------------------------------------------------------------------
def test_gains_by_number_array_and_name_are_the_same():
    by_name = {name: 30.0 for name in ARM.joint_names}
    expected = PD(POSE, 30.0, 5.0).law_parts(ARM)
    for kp in (np.full(4, 30.0), [30, 30, 30, 30], by_name):
        parts = PD(POSE, kp, 5.0).law_parts(ARM)
        assert (parts.kp == expected.kp).all() and (parts.kd == expected.kd).all()


def test_a_joint_of_several_axes_is_named_as_a_whole_or_by_axis():
    gains = {f"hip{k}": 10.0 for k in range(1, 5)} | {f"knee{k}": 20.0 for k in range(1, 5)}
    gains["hip2.ry"] = 11.0
    parts = PD(DOG_POSE, gains).law_parts(DOG)
    named = dict(zip(DOG.joint_names, parts.kp, strict=True))
    assert named["hip1.rx"] == named["hip2.rx"] == 10.0
    assert named["hip2.ry"] == 11.0 and named["knee3"] == 20.0 and named["base.tz"] == 0.0


def test_arrays_with_and_without_the_floating_base():
    joints = np.arange(1.0, 13.0)
    short = PD(DOG_POSE, joints).law_parts(DOG)
    long = PD(DOG_POSE, np.concatenate([np.full(6, 9.0), joints])).law_parts(DOG)
    assert (short.kp == long.kp).all()
    assert not short.kp[:6].any() and (short.kp[6:] == joints).all()
    assert not short.actuated[:6].any() and short.actuated[6:].all()


def test_kd_none_is_critically_damped():
    kp = {"joint1": 4.0, "joint2": 9.0, "joint3": 16.0, "joint4": 0.0}
    assert PD(POSE, kp).law_parts(ARM).kd.tolist() == [4.0, 6.0, 8.0, 0.0]
    assert ComputedTorque(POSE, [4.0, 9.0, 16.0, 0.0]).law_parts(ARM).kd.tolist() == [4.0, 6.0, 8.0, 0.0]


@each("law", [PD, PID, ComputedTorque, Feedforward, GravityCompensation])
@each(
    ("kp", "message", "at_once"),
    [
        (-1.0, "kp must be finite and >= 0, got -1", True),
        ([1, 2, -3, 4], "kp must be finite and >= 0, got -3 at index 2", True),
        (np.nan, "kp must be finite and >= 0, got nan", True),
        (np.inf, "kp must be finite and >= 0, got inf", True),
        ("strong", "kp must be real numbers", True),
        (None, "kp must be numbers, got None", True),
        (np.ones((2, 2)), r"kp must be one number or a vector, got shape \(2, 2\)", True),
        ({"joint1": -2.0}, "kp of joint 'joint1' must be finite and >= 0, got -2", True),
        ({"joint1": [1.0, 2.0]}, "kp of joint 'joint1' must be one number", True),
        ([1.0, 2.0], "kp must have 4 values for 'gripper'.*got 2", False),
        ({"joint7": 1.0}, "kp: unknown joint 'joint7'.*joint1", False),
        ({"joint1": 1.0}, "kp must be given for every joint; missing: joint2, joint3, joint4", False),
    ],
)
def test_bad_gains(law, kp, message, at_once):
    refused(message, lambda: law(POSE, kp, 1.0), None if at_once else ARM)


@pytest.mark.parametrize("gain", ["kd", "ki"])
def test_other_bad_gains(gain):
    gains = {"kp": 1.0, "kd": 1.0, "ki": 1.0, gain: -1.0}
    refused(f"{gain} must be finite and >= 0", lambda: PID(POSE, **gains))
    refused(f"{gain} must be finite and >= 0", lambda: ComputedTorque(POSE, **gains))


def test_gains_of_a_floating_base_are_refused():
    gains = dict.fromkeys(DOG.joint_names, 1.0)
    refused("'base.tx' belongs to the floating base, which has no actuator", lambda: PD(DOG_POSE, gains), DOG)
    refused("12 without the floating base, values for 'quadruped'", lambda: PD(DOG_POSE, [1.0] * 6), DOG)


# ---- what is followed -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("trajectory", "message", "at_once"),
    [
        ("cycloid.csv", "follows a Trajectory, a PiecewisePolynomial or a vector.*got str", True),
        (None, "follows a Trajectory", True),
        (np.zeros((3, 4)), r"a pose to hold must be a vector, got shape \(3, 4\)", True),
        ([0.0, np.nan, 0.0, 0.0], "trajectory must be finite, got nan at index 1", True),
        (kt.State(np.zeros(4)), "follows a Trajectory.*got State", True),
        ([0.0, 0.0], "trajectory must have 4 values for 'gripper'.*got 2", False),
        (cycloid([0.0] * 6, [1.0] * 6, 1.0), "trajectory must have 4 values for 'gripper'.*got 6", False),
    ],
)
def test_bad_trajectories(trajectory, message, at_once):
    refused(message, lambda: PD(trajectory, 1.0), None if at_once else ARM)


def test_a_pose_a_table_and_a_trajectory_say_the_same():
    pose = [0.1, 0.2, 0.3, 0.4]
    line = PiecewisePolynomial.linear([0.0, 1.0], [pose, pose])
    laws = [ComputedTorque(x, 9.0) for x in (pose, line, cycloid(pose, pose, 1.0))]
    expected = laws[0].torque(ARM, 0.5, POSE, POSE)
    for law in laws[1:]:
        assert np.abs(law.torque(ARM, [0.5, 7.0], POSE, POSE) - expected).max() < 1e-12


def test_kinks_are_where_a_table_is_not_smooth():
    t = np.linspace(0.0, 1.0, 9)
    wave = np.sin(3 * t)[:, None]
    assert PiecewisePolynomial.cubic(t, wave).kinks.tolist() == [0.0, 1.0]
    assert PiecewisePolynomial.linear(t, wave).kinks.tolist() == t.tolist()
    assert PiecewisePolynomial.hold(t[:3], [[1.0], [1.0], [2.0]]).kinks.tolist() == [0.0, 0.25]
    parts = PD(cycloid(POSE, POSE + 1.0, 2.0), 1.0).law_parts(ARM)
    assert parts.breaks == (2.0,)
    torques = (t, np.repeat(wave, 4, axis=1))
    assert Feedforward(POSE, 1.0, torques=torques).law_parts(ARM).breaks == tuple(t[1:])


def test_gravity_compensation_needs_somewhere_to_return_to():
    refused("kp = 5.0 needs a trajectory or a pose", lambda: GravityCompensation(kp=5.0))


def test_feedforward_of_a_floating_base_needs_torques():
    refused("quadruped.*floating base.*give them as torques", lambda: Feedforward(DOG_POSE, 1.0), DOG)
    refused(
        "either torques or a model",
        lambda: Feedforward(POSE, 1.0, torques=([0.0, 1.0], np.zeros((2, 4))), model=ARM),
    )
    refused("torques must be a TorqueTable.*got 'table'", lambda: Feedforward(POSE, 1.0, torques="table"))


def test_a_second_free_body_is_refused_by_laws_with_a_model():
    build = kt.Builder("arm and ball")
    build.world.revolute("hinge", axis="y").body("arm", kt.Inertia.rod(1.0, (0.5, 0, 0)))
    build.world.free("flight").body("ball", kt.Inertia.sphere(0.1, 0.05))
    both = build.build()
    assert PD([0.3], 5.0).law_parts(both).actuated.tolist() == [True] + [False] * 6
    refused("free body 'ball' that is not its first", lambda: ComputedTorque([0.3], 5.0), both)


def test_knows_ground_is_yes_or_no():
    refused(
        "knows_ground must be True or False, got 'maybe'",
        lambda: ComputedTorque(POSE, 1.0, knows_ground="maybe"),
    )


# ---- limits and period ----------------------------------------------------------------------------------
def test_limits():
    far = np.full(4, 100.0)
    assert PD(far, 10.0, limits=2.0).torque(ARM, 0.0, POSE, POSE).tolist() == [2.0] * 4
    assert PD(-far, 10.0, limits=[1, 2, 3, np.inf]).torque(ARM, 0.0, POSE, POSE).tolist() == [
        -1,
        -2,
        -3,
        -1000,
    ]
    by_name = PD(far, 10.0, limits={"joint2": 5.0}).law_parts(ARM)
    assert by_name.limit.tolist() == [np.inf, 5.0, np.inf, np.inf]
    assert (PD(far, 10.0, limits="model").law_parts(ARM).limit == ARM.tree.effort_limit).all()
    assert np.isinf(PD(DOG_POSE, 1.0, limits=3.0).law_parts(DOG).limit[:6]).all()


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (-1.0, "limits must be >= 0, got -1"),
        ([1.0, np.nan, 1.0, 1.0], "limits must be >= 0, got nan at index 1"),
        ("motor", "unknown limits 'motor'; allowed: model"),
        ({"joint1": -3.0}, "limits of joint 'joint1' must be >= 0, got -3"),
    ],
)
def test_bad_limits(limits, message):
    refused(message, lambda: PD(POSE, 1.0, limits=limits))


def test_limits_by_a_wrong_name():
    refused("limits: unknown joint 'joint9'", lambda: PD(POSE, 1.0, limits={"joint9": 3.0}), ARM)


def test_period():
    assert PD(POSE, 1.0).law_parts(ARM).period == PD(POSE, 1.0, period=0).law_parts(ARM).period == 0.0
    assert PD(POSE, 1.0, period=1e-3).law_parts(ARM).period == 1e-3
    refused("period must be > 0 s, or None.*got -0.1", lambda: PD(POSE, 1.0, period=-0.1))
    refused("period must be finite, got nan", lambda: PD(POSE, 1.0, period=np.nan))
    refused("period must be a number, got True", lambda: PD(POSE, 1.0, period=True))


# ---- states -----------------------------------------------------------------------------------------------
def test_bad_states():
    law = PID(POSE, 1.0, 1.0, 1.0)
    bad = [
        (r"q must have shape \(..., 4\)", ([0.0], POSE, None)),
        ("qd must be finite, got nan for joint 'joint1'", (POSE, [np.nan, 0, 0, 0], None)),
        (r"integral must have shape \(..., 4\)", (POSE, POSE, [1.0])),
    ]
    for message, (q, qd, integral) in bad:
        with pytest.raises(InputError, match=message):
            law.torque(ARM, 0.0, q, qd, integral)
    with pytest.raises(InputError, match="time must be finite, got nan"):
        law.torque(ARM, np.nan, POSE, POSE)


# ---- what is told -----------------------------------------------------------------------------------------
def all_kinds():
    motion = cycloid(POSE, POSE + 1.0, 1.0)
    wrong = perturb(ARM, 1)
    times, torques = np.linspace(0, 1, 600), np.ones((600, 4))
    return [
        PD(POSE, 1.0),
        PID(
            motion,
            [1, 2, 3, 4],
            None,
            {"joint1": 1.0, "joint2": 0, "joint3": 0, "joint4": 0},
            limits=[1, 2, np.inf, 4],
        ),
        ComputedTorque(motion, 49.0, model=wrong, knows_ground=False, period=0.01),
        Feedforward(motion, 1.0, torques=(times, torques)),
        Feedforward(motion, 1.0, torques=PiecewisePolynomial.linear(times, torques)),
        GravityCompensation(limits="model"),
        TorqueTable(times[:3], torques[:3], "hold", ARM.joint_names),
        ConstantTorque({"joint1": 2.0}),
    ]


@each("controller", all_kinds(), ids=lambda x: type(x).__name__)
def test_settings_are_plain(controller):
    assert isinstance(controller, Controller)
    told = json.loads(json.dumps(controller.settings(), allow_nan=False))
    assert told["controller"] == type(controller).__name__
    assert {"limits", "period"} <= told.keys()
    assert len(json.dumps(told)) < 4000
    assert repr(controller).startswith(f"{type(controller).__name__}(") and len(repr(controller)) < 200


def test_settings_tell_everything():
    _, pid, computed, *_ = all_kinds()
    told = computed.settings()
    assert told["model"] == "gripper perturbed" and told["knows_ground"] is False and told["period"] == 0.01
    assert told["kp"] == 49.0 and told["kd"] == 14.0
    assert told["trajectory"] == {"kind": "Cycloid", "coordinates": 4, "begin": 0.0, "end": 1.0}
    assert pid.settings()["limits"] == [1.0, 2.0, None, 4.0]
    assert repr(PD(POSE, 1.0, limits=3.0)) == "PD(pose of 4 coordinates, kp=1, kd=2, limits=3)"


def test_controllers_do_not_change_with_what_they_were_made_from():
    pose, kp = np.ones(4), np.ones(4)
    law = PD(pose, kp, 0.0)
    pose[:], kp[:] = 7.0, 7.0
    assert law.torque(ARM, 0.0, POSE, POSE).tolist() == [1.0] * 4
    with pytest.raises(dataclasses.FrozenInstanceError):
        law.kp = 3.0
    assert dataclasses.replace(law, kp=3.0).torque(ARM, 0.0, POSE, POSE).tolist() == [3.0] * 4


def test_one_controller_serves_several_mechanisms(rng):
    law = PD(np.zeros(6), 2.0, 0.0)
    arm, other = kt.zoo.kuka_kr5(), kt.zoo.puma()
    q = rng.standard_normal(6)
    for mechanism in (arm, other, arm):
        assert np.allclose(law.torque(mechanism, 0.0, q, np.zeros(6)), -2.0 * q)
