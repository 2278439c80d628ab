"""Motions of all joints from the path of a body: on the path, loops closed, rates that belong together."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import AssemblyError

RRR = kt.zoo.three_rrr()
POSE = [
    1.0471975511966, -0.865071873193253, 3.7334035421686, 1.31275707423612, 2.96258012121735,
    4.18879020478639, 5.75958653158129,
]  # fmt: skip
CENTER = (0.2, 0.2 / np.sqrt(3.0), 0.0)
CIRCLE = kt.trajectories.circle([0.65, 0.23, 0.0], 0.08, 2.0)
TIMES = np.linspace(0.0, 2.0, 41)


def along(body="platform", path=CIRCLE, names=("x", "y", "rz"), mechanism=RRR, q0=POSE, point=CENTER):
    return kt.trajectories.follow(mechanism, path, names, body=body, point=point, q0=q0)


def test_a_circle_begins_and_ends_at_rest_and_belongs_to_its_rates():
    wide = kt.trajectories.circle([0.1, 0.0, 0.2], 0.3, 1.5, turns=-2.0, begin=0.4, plane=(2, 0))
    t, h = np.linspace(0.1, 1.4, 9), 1e-5
    middle, later, before = wide.at(t), wide.at(t + h), wide.at(t - h)
    assert np.allclose(np.hypot(middle.q[:, 2] - 0.2, middle.q[:, 0] - 0.1), 0.3)
    assert np.allclose((later.q - before.q) / (2 * h), middle.qd, atol=1e-8)
    assert np.allclose((later.qd - before.qd) / (2 * h), middle.qdd, atol=1e-7)
    ends = wide.at([0.0, 1.5])
    assert np.allclose([ends.qd, ends.qdd], 0.0, atol=1e-12) and np.allclose(ends.q[0], ends.q[1])
    with pytest.raises(kt.errors.InputError, match="plane must be two of the 2 coordinates"):
        kt.trajectories.circle([0.0, 0.0], 1.0, 1.0, plane=(0, 2))


def test_the_platform_of_the_3rrr_goes_around_a_circle():
    motion = along()
    state, h = motion.at(TIMES), 1e-5
    R, p = kt.forward_kinematics(RRR, state.q)["platform"]
    assert np.allclose((R @ np.array(CENTER) + p)[:, :2], CIRCLE.at(TIMES).q[:, :2], rtol=0, atol=1e-12)
    assert np.allclose(R, R[0], rtol=0, atol=1e-12)
    assert np.abs(kt.loops.gap(RRR, state.q)).max() < 1e-12 and motion.gap < 1e-12
    inner = TIMES[1:-1]
    later, before = motion.at(inner + h), motion.at(inner - h)
    assert np.allclose((later.q - before.q) / (2 * h), state.qd[1:-1], rtol=0, atol=1e-7)
    assert np.allclose((later.qd - before.qd) / (2 * h), state.qdd[1:-1], rtol=0, atol=1e-6)
    tau = kt.inverse_dynamics(RRR, state.q, state.qd, state.qdd)
    assert np.allclose(kt.forward_dynamics(RRR, state.q, state.qd, tau), state.qdd, rtol=0, atol=1e-9)


def test_a_plate_follows_position_and_orientation():
    robot = kt.zoo.stewart()
    path = kt.trajectories.cycloid([0, 0, 0.5, 0, 0, 0], [0.03, 0.02, 0.55, 0.1, -0.1, 0.3], 1.0)
    names = ("x", "y", "z", "rz", "rx", "ry")
    motion = along("plate", path, names, robot, np.zeros(24), (0, 0, 0))
    q = motion.at(1.0).q
    R, p = kt.forward_kinematics(robot, q)["plate"]
    assert np.allclose(p, [0.03, 0.02, 0.55], atol=1e-12)
    c, s = np.cos([0.1, -0.1, 0.3]), np.sin([0.1, -0.1, 0.3])
    about_z = np.array([[c[0], -s[0], 0], [s[0], c[0], 0], [0, 0, 1]])
    about_x = np.array([[1, 0, 0], [0, c[1], -s[1]], [0, s[1], c[1]]])
    about_y = np.array([[c[2], 0, s[2]], [0, 1, 0], [-s[2], 0, c[2]]])
    assert np.allclose(R, about_z @ about_x @ about_y, atol=1e-12)


def test_joints_follow_a_driven_one():
    crank = kt.zoo.slider_crank()
    motion = kt.trajectories.follow(
        crank, kt.trajectories.cycloid([0.0], [2.0 * np.pi], 1.0), ["crank_joint"], q0=[0.0, 0.0, 0.0]
    )
    state = motion.at(0.25)
    angle = state.q[0]
    slider = 0.1 * np.cos(angle) + np.sqrt(0.09 - 0.01 * np.sin(angle) ** 2)
    assert state.q[2] == pytest.approx(slider - 0.4, abs=1e-12)
    assert np.allclose(motion.at(1.0).q, [2.0 * np.pi, -2.0 * np.pi, 0.0], atol=1e-12)


def test_computed_torque_keeps_a_parallel_manipulator_on_its_path():
    motion = along()
    law = kt.control.ComputedTorque(motion, kp=100.0, kd=20.0)
    start = motion.at(0.0)
    run = kt.simulate(RRR, start.q, start.qd, 0.5, controller=law, times=6)
    assert np.abs(run.q.values - motion.at(run.time.values).q).max() < 1e-7


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ("x", "y")}, "must name the 3 coordinates"),
        ({"names": ("x", "y", "q")}, "unknown coordinate 'q'"),
        ({"names": ("rz", "x", "y")}, "positions before angles"),
        ({"names": "xyz"}, "must be a list"),
        ({"names": ("x", "y"), "path": kt.trajectories.circle([0.65, 0.23], 0.05, 1.0)}, "mobility 3, but 2"),
        ({"body": "plate"}, "unknown body 'plate'"),
        ({"path": "circle"}, "must be a trajectory"),
        ({"q0": [POSE]}, "one pose of 7"),
        ({"body": None, "mechanism": kt.zoo.two_link(), "q0": [0.0, 0.0]}, "no closed loops"),
    ],
)
def test_bad_paths_are_refused(changes, message):
    with pytest.raises(kt.errors.InputError, match=message):
        along(**changes)


def test_a_path_out_of_reach_is_refused_with_its_place():
    far = kt.trajectories.circle([0.65, 0.23, 0.0], 0.6, 2.0)
    with pytest.raises(
        AssemblyError, match=r"at t = .* the path leaves what mechanism 'three_rrr' can reach"
    ):
        along(path=far)


def test_inverse_kinematics_closes_the_loops():
    found = kt.inverse_kinematics(
        RRR, kt.analysis.Target("platform", (0.66, 0.2, 0.0), point=CENTER), q0=POSE
    )
    assert found.converged and found.position_error.max() < 1e-9
    assert np.abs(kt.loops.gap(RRR, found.q)).max() < 1e-13
    far = kt.inverse_kinematics(RRR, kt.analysis.Target("platform", (3.0, 0.2, 0.0)), q0=POSE, restarts=0)
    assert not far.converged
