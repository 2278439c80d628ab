"""Studies whose joints move partly as prescribed: tasks 'inverse' of floating bases and 'hybrid'."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import FileError, InputError
from kinetree.study.run import run

ARM = """
[study]
task = "hybrid"
[mechanism]
zoo = "gripper"
[trajectory]
kind = "cycloid"
start = [0.1, 0, 0, 0]
end = [1.0, 0, 0, 0]
duration = 0.4
[hybrid]
prescribed = ["joint1"]
[output]
samples = 9
"""
CART = """
[study]
task = "inverse"
[mechanism]
name = "cart_pole"
[[mechanism.body]]
name = "cart"
box = { mass = 1.0, size = [0.2, 0.1, 0.1] }
joint = { name = "slide", kind = "prismatic", axis = "x" }
[[mechanism.body]]
name = "pole"
parent = "cart"
rod = { mass = 0.3, end = [0, 0, -0.5] }
joint = { name = "pivot", kind = "revolute", axis = "y", driven = false }
[trajectory]
kind = "cycloid"
start = [0, 0]
end = [0.5, 0]
duration = 0.5
[output]
samples = 11
"""


def studied(tmp_path, text):
    place = tmp_path / "study.toml"
    place.write_text(text)
    return run(place)


def test_hybrid_is_what_python_says(tmp_path):
    told = studied(tmp_path, ARM + "[torque]\nconstant = { joint2 = 0.05 }\n")
    arm, start = kt.zoo.gripper(), np.array([0.1, 0, 0, 0])
    law = kt.control.Prescribed(
        kt.trajectories.cycloid(start, [1.0, 0, 0, 0], 0.4), ["joint1"], law=[0, 0.05, 0, 0]
    )
    own = kt.simulate(arm, start, duration=0.4, controller=law, times=9, progress=False)
    assert told.task == "hybrid" and told.passed and {"round_trip", "prescribed"} <= set(told.audit)
    assert np.array_equal(told.q.values, own.q.values) and np.array_equal(told.tau.values, own.tau.values)


def test_hybrid_with_a_controller_for_the_others(tmp_path):
    told = studied(tmp_path, ARM + '[controller]\nkind = "pd"\nkp = 20\n')
    assert told.passed and np.abs(told.q.values[:, 1:]).max() < 0.3


def test_inverse_leaves_joints_without_drives_to_themselves(tmp_path):
    told = studied(tmp_path, CART)
    assert told.passed and not told.tau.sel(joint="pivot").values.any()
    assert np.abs(told.q.sel(joint="pivot").values).max() > 0.1
    # the momentum along the rail is the impulse of the drive, which is the only force along it
    force = told.tau.sel(joint="slide").values
    p = kt.momentum(told.mechanism, told.q.values, told.qd.values)[:, 0]
    assert abs(np.trapezoid(force, told.time.values) - p[-1]) < 0.1 * np.abs(force).max() * 0.05 + 1e-2


def test_inverse_of_all_joints_tells_what_is_missing(tmp_path):
    told = studied(tmp_path, CART + '[inverse]\nprescribed = "all"\n')
    assert not told.audit["undriven"].passed and "'pivot' needs up to" in told.audit["undriven"].sentence
    assert np.array_equal(told.q.sel(joint="pivot").values, np.zeros(11))


def test_inverse_of_a_walking_robot_integrates_its_trunk():
    short = {"study": {"duration": 0.1}, "output": {"samples": 6}}
    told = run("quadruped_prescribed", **short)
    held = run("quadruped_trot", **short)
    assert told.task == "inverse" and told.passed and not told.tau.values[:, :6].any()
    assert np.abs(told.q.values - held.q.values).max() < 1e-6
    assert np.abs(told.tau.values - held.tau.values).max() < 1e-2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ARM.replace('joint1"]', 'joint9"]'), r"prescribed: unknown joint 'joint9'"),
        (ARM.replace('["joint1"]', "3"), "hybrid.prescribed must be a list of names"),
        (ARM + '[torque]\nconstant = 0\n[controller]\nkind = "pd"\nkp = 1\n', "not both"),
        (ARM.replace('prescribed = ["joint1"]', 'prescribe = ["joint1"]'), "prescribe"),
        (CART + '[inverse]\nprescribed = "some"\n', "inverse.prescribed must be a known word"),
        (
            CART.replace(", driven = false", "") + "[initial]\nq = 0\n",
            r"\[initial\] is for motions that are integ",
        ),
        (CART.replace('axis = "x" }', 'axis = "x", driven = false }'), "no joint of 'cart_pole' has a drive"),
    ],
)
def test_bad_input(tmp_path, text, message):
    with pytest.raises((FileError, InputError), match=message):
        studied(tmp_path, text)
