"""Results that several tests of reports look at; each is computed once."""

import pytest

from kinetree.study.run import run


@pytest.fixture(scope="session")
def gripper_fall():
    return run("gripper_free_fall")


@pytest.fixture(scope="session")
def biped_walk():
    return run("spatial_biped_walk", study={"duration": 1.0})


@pytest.fixture(scope="session")
def fastest():
    return run("two_link_minimum_time")


@pytest.fixture(scope="session")
def gripper_torques():
    return run("gripper_inverse_dynamics")
