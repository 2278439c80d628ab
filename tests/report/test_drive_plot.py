"""The picture that drives are chosen by: needs of each joint, its limits, and what exceeds them."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.result.build import build_result


@pytest.fixture
def arm():
    build = kt.Builder("arm")
    shoulder = build.world.revolute("shoulder", axis="y", effort_limit=8.0, velocity_limit=4.0)
    upper = shoulder.body("upper", kt.Inertia.rod(1.0, end=(0.5, 0, 0)))
    upper.prismatic("slide", axis="x").body("tool", kt.Inertia.point(0.5))
    return build.build()


def driven(arm, torque, speed):
    time = np.linspace(0.0, 1.0, len(torque))
    motion = {"time": time, "q": np.zeros((len(time), 2)), "qd": speed, "tau": torque}
    return build_result("simulate", arm, motion)


def lines(ax, gid):
    return [line for line in ax.lines if line.get_gid() == gid]


def test_each_joint_has_its_curve_its_limits_and_its_numbers(arm):
    torque = np.array([[3.0, 2.0], [3.0, -4.0], [-3.0, 2.0]])
    speed = np.array([[1.0, 0.5], [2.0, 0.25], [2.0, 0.5]])
    shoulder, slide = driven(arm, torque, speed).plot(kind="torque_speed").axes
    assert lines(shoulder, "shoulder")[0].get_xydata().tolist() == [[1.0, 3.0], [2.0, 3.0], [2.0, -3.0]]
    ends = [x for line in lines(shoulder, "limit") for x in (*line.get_xdata(), *line.get_ydata())]
    assert {-4.0, 4.0, -8.0, 8.0} <= {*ends} and not lines(shoulder, "beyond")
    assert "peak 3 N m (38 %), rms 3 N m" in shoulder.get_title(loc="left")
    assert "speed 2 rad/s (50 %), power 6 W" in shoulder.get_title(loc="left")
    assert slide.get_ylabel() == "force / (N)" and not lines(slide, "limit")
    assert "peak 4 N, rms 3.16 N" in slide.get_title(loc="left")  # sqrt((4 + 16 + 16 + 4) / 4)


def test_what_exceeds_a_limit_is_red_but_for_roundings(arm):
    speed = np.zeros((4, 2))
    torque = np.column_stack([[8.0, 8.05, 8.1, -9.0], np.zeros(4)])
    (only,) = driven(arm, torque, speed).plot(kind="torque_speed").axes
    assert lines(only, "beyond")[0].get_ydata().tolist() == [8.1, -9.0]


def test_joints_can_be_chosen_and_far_limits_do_not_press_the_curve_flat(arm):
    small = driven(arm, np.full((3, 2), 0.1), np.full((3, 2), 0.1))
    (only,) = small.plot(kind="torque_speed", joints=["shoulder"]).axes
    assert not lines(only, "limit") and only.get_ylim()[1] < 0.2


def test_results_without_torques_are_refused(arm):
    still = build_result("simulate", arm, {"time": [0, 1], "q": np.zeros((2, 2)), "qd": np.zeros((2, 2))})
    with pytest.raises(InputError, match="needs velocities and torques over time; the result has no 'tau'"):
        still.plot(kind="torque_speed")
    zero = driven(arm, np.zeros((2, 2)), np.ones((2, 2)))
    with pytest.raises(InputError, match="all are zero"):
        zero.plot(kind="torque_speed")
    with pytest.raises(InputError, match="kind must be 'torque_speed' for the task 'simulate', got 'pareto'"):
        zero.plot(kind="pareto")
    with pytest.raises(InputError, match="variables and axes of its own"):
        zero.plot("q", kind="torque_speed")
