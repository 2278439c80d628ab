"""The demo's pieces: the cycloid, the shipped files, the choice of a model, the energy it reports."""

import numpy as np
import pytest

from kinetree.errors import FileError, InputError
from kinetree.model import zoo
from kinetree.study.cycloid import cycloid
from kinetree.study.demo import END, START, run_demo
from kinetree.study.models import mechanism_of, shipped, shipped_names


def test_cycloid_is_at_rest_at_both_ends():
    motion = cycloid([0.2, -1.0], [1.5, 3.0], 0.7, [0.0, 0.7])
    assert np.allclose(motion.q, [[0.2, -1.0], [1.5, 3.0]], atol=1e-15)
    assert np.abs(motion.qd).max() < 1e-14
    assert np.abs(motion.qdd).max() < 1e-13


def test_cycloid_rates_are_the_derivatives_of_its_positions():
    """Central differences, whose error is h^2 / 6 times the third derivative."""
    t, h = np.linspace(0.1, 0.9, 17), 1e-5
    at, before, after = (cycloid([0.0], [2.0], 1.0, t + step) for step in (0.0, -h, h))
    assert np.allclose(at.qd, (after.q - before.q) / (2 * h), atol=1e-7)
    assert np.allclose(at.qdd, (after.qd - before.qd) / (2 * h), atol=1e-6)


def test_cycloid_passes_its_middle_at_twice_the_mean_speed():
    motion = cycloid([1.0], [4.0], 2.0, [1.0])
    assert motion.q[0, 0] == pytest.approx(2.5, rel=1e-15)
    assert motion.qd[0, 0] == pytest.approx(2 * 3.0 / 2.0, rel=1e-15)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (([0], [1], 0.0, [0]), "duration must be > 0 s, got 0"),
        (([0], [1, 2], 1.0, [0]), "shapes (1,) and (2,)"),
        (([0], [1], 1.0, [0, 1.5]), "within 0 and 1 s"),
        (([np.nan], [1], 1.0, [0]), "start must be finite"),
    ],
)
def test_cycloid_refuses(arguments, reason):
    with pytest.raises(InputError) as refused:
        cycloid(*arguments)
    assert reason in str(refused.value)


def test_shipped_mechanisms_are_those_of_the_zoo():
    """Written by hand in the file, by code in the zoo; equal to rounding."""
    assert shipped_names() == ("gripper", "kuka_kr5", "quadruped")
    for name in shipped_names():
        file, made = shipped(name), zoo.by_name(name)
        assert (file.body_names, file.joint_names) == (made.body_names, made.joint_names)
        assert file.contact_points == made.contact_points
        for key in ("parent", "turns", "rotation", "position", "mass", "first_moment", "gravity"):
            assert np.array_equal(getattr(file.tree, key), getattr(made.tree, key)), key
        assert np.allclose(file.tree.second_moment, made.tree.second_moment, rtol=1e-14, atol=1e-18)


def test_unknown_names_are_refused():
    with pytest.raises(InputError, match="Did you mean 'quadruped'"):
        shipped("quadrupet")
    with pytest.raises(InputError, match=r"unknown model 'robot'.*Or give a file"):
        mechanism_of("robot")
    with pytest.raises(FileError, match="no such file"):
        mechanism_of("robot.urdf")


def test_demo_reports_progress_and_conserves_energy():
    told = []
    demo = run_demo(told.append)
    assert told[0] == 0.0 and 0.9 < max(told) <= 1.0
    assert np.allclose(demo.driven.q[[0, -1]], [START, END], atol=1e-15)
    assert demo.energy_exchanged > 0.1
    assert demo.energy_drift < 1e-9 * demo.energy_exchanged
    assert demo.peak_torque[0] == pytest.approx(np.abs(demo.torque[:, 0]).max())
    assert demo.torque[np.searchsorted(demo.time, demo.peak_time[0]), 0] == pytest.approx(demo.peak_torque[0])
