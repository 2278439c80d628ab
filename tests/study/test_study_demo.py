"""The demo's pieces: the shipped files, the choice of a model, the energy it reports."""

import numpy as np
import pytest

from kinetree.errors import FileError, InputError
from kinetree.model import zoo
from kinetree.study.demo import END, START, run_demo
from kinetree.study.models import mechanism_of, shipped, shipped_names


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
