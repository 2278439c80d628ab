"""The documents' problems, for several test files."""

import numpy as np

import kinetree as kt
from kinetree.motion.problem.problem import Problem
from kinetree.motion.terms import Boundary, Time, TorqueLimits, VelocityLimits, time_and_torque

TIP = (0.4, 0.0, 0.0)


def from_rest_to_rest(start, end):
    return [Boundary("start", start, velocity=0.0), Boundary("end", end, velocity=0.0)]


def minimum_time(**changes):
    """[Xiang2009], section 6.3; [Barman2020], section 4.1."""
    constraints = [*from_rest_to_rest([0.0, -2.0], [1.0, -1.0]), TorqueLimits(), *changes.pop("also", [])]
    return Problem(kt.zoo.two_link(), **{"objective": Time(), "constraints": constraints, **changes})


def frozen_elbow(**changes):
    """One radian in the least time with the elbow held at -1 rad."""
    ends = [Boundary(end, {"joint1": q}, {"joint1": 0.0}) for end, q in (("start", 0.0), ("end", 1.0))]
    constraints = [*ends, TorqueLimits(), *changes.pop("also", [])]
    return Problem(
        kt.zoo.two_link(), objective=Time(), constraints=constraints, frozen={"joint2": -1.0}, **changes
    )


def lifting(**changes):
    """[Xiang2009], section 6.4: 10 N downwards at the tip."""
    arguments = {
        "objective": time_and_torque(0.01),
        "constraints": [*from_rest_to_rest([1.32, -2.37], [2.80, -2.37]), TorqueLimits()],
        "loads": kt.Wrench("link2", force=(0, -10, 0), point=TIP),
    }
    return Problem(kt.zoo.two_link(gravity=(0, -9.8062, 0)), **{**arguments, **changes})


def prismatic(theta2, **changes):
    """[Barman2020], section 4.2."""
    constraints = [*from_rest_to_rest([0.1, 0.6], [np.pi / 4, -np.pi / 4]), TorqueLimits()]
    arguments = {"objective": time_and_torque(0.01), "constraints": constraints}
    return Problem(kt.zoo.two_link_prismatic(theta2=theta2), **{**arguments, **changes})


def kuka(**changes):
    """The six-axis arm of kuka_mintime.json."""
    torque, speed = [200, 300, 150, 20, 10, 5], [2.7, 2.7, 2.7, 5.6, 6.3, 11.4]
    constraints = [
        *from_rest_to_rest([0.0] * 6, [np.pi / 3] * 6),
        TorqueLimits(torque),
        VelocityLimits(speed),
        *changes.pop("also", []),
    ]
    return Problem(kt.zoo.kuka_kr5(), **{"objective": Time(), "constraints": constraints, **changes})
