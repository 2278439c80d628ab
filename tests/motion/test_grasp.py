"""Two arms carry a box by friction: pushes of fingertips are sought, and the box obeys Newton under them."""

import numpy as np
import pytest

import kinetree as kt

MU, MASS, HALF, REACH = (
    0.5,
    2.0,
    0.1,
    0.4,
)  # friction, kg, m from the box's middle to a fingertip, m of a forearm
GRAVITY = np.array([0.0, -9.81])


@pytest.fixture(scope="module")
def carried():
    return kt.run("two_arms_carry")


def test_it_is_solved_and_comes_about_in_a_simulation(carried):
    assert carried.passed, carried.audit
    assert carried.audit["simulation"].value < 1e-4


def test_the_box_goes_as_the_pushes_alone_say(carried):
    """m a = f_left + f_right + m g, and no moment about its middle: equal tangential forces."""
    left, right = (np.asarray(carried[f"force_{side}"].values) for side in ("left", "right"))
    qdd = np.asarray(carried.qdd.sel(joint=["box.tx", "box.ty"]).values)
    assert np.abs(left + right + MASS * GRAVITY - MASS * qdd).max() < 1e-6
    assert np.abs(HALF * (right[:, 1] - left[:, 1])).max() < 1e-6
    assert np.abs(carried.tau.sel(joint=["box.tx", "box.ty", "box.rz"]).values).max() < 1e-6


def test_fingers_push_within_friction_and_use_all_of_it(carried):
    left, right = (np.asarray(carried[f"force_{side}"].values) for side in ("left", "right"))
    for push, sideways in ((left[:, 0], left[:, 1]), (-right[:, 0], right[:, 1])):
        assert push.min() > 0.0
        used = np.abs(sideways) / (MU * push)
        assert used.max() < 1.0 + 1e-3 and used.max() > 0.99  # pressing harder than needed costs torque


def test_fingertips_stay_where_they_touch(carried):
    q = np.asarray(carried.q.values)
    poses = kt.forward_kinematics(carried.mechanism, q)
    middle = poses["box"][1]
    for side, sign in (("left", -1.0), ("right", 1.0)):
        R, p = poses[f"{side}_fore"]
        tip = p + R @ np.array([REACH, 0.0, 0.0])
        assert (
            np.abs(tip - middle - [sign * HALF, 0.0, 0.0]).max() < 5e-4
        )  # tied at as many instants as points
    assert middle[:, 1].max() > 0.45 - 1e-6  # lifted over the edge
