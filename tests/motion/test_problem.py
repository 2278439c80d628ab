"""Problems are checked when made and can be inspected before they are solved."""

from inspect import signature

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.problem.problem import Problem
from kinetree.motion.terms import (
    Boundary,
    JointLimits,
    PointPosition,
    SquaredTorque,
    Time,
    TorqueLimits,
    VelocityLimits,
)
from motion.problems import from_rest_to_rest, kuka, minimum_time

ARM = kt.zoo.two_link()
ENDS = from_rest_to_rest([0.0, -2.0], [1.0, -1.0])


def test_fixed_control_points_are_no_variables():
    """The reference problem of the six-axis arm has 6 x 19 control points and a duration."""
    problem = kuka()
    assert problem.n_variables == 115
    assert problem.families == {"torque limit": 6 * 41, "velocity limit": 6 * 41}


def test_unclamped_splines_keep_equations():
    problem = minimum_time(clamped=False)
    assert problem.n_variables == 47
    assert problem.families == {"boundary condition": 8, "torque limit": 82}


def test_description_names_everything():
    text = minimum_time(frozen=None, duration=(0.1, 2.0)).describe()
    for words in ("39 variables", "1 time", "free, 0.1 to 2 s", "82  torque limit"):
        assert words in text


def test_changed_keeps_the_rest():
    problem = minimum_time(duration=(0.1, 2.0))
    finer = problem.changed(segments=40)
    assert finer.setting.duration == (0.1, 2.0)
    assert finer.basis.segments == 40


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"objective": []}, "objective is missing"),
        ({"objective": None}, "objective is missing"),
        ({"objective": [TorqueLimits()]}, "not an objective term"),
        ({"constraints": [Time()]}, "not a constraint"),
        ({"segments": 0}, "from 1 to 100000, got 0"),
        ({"degree": 0}, "degree"),
        ({"samples": 0}, "at least 1 per segment"),
        ({"samples": [0.5, 0.2]}, "ascend"),
        ({"duration": -1.0}, "positive"),
        ({"duration": (2.0, 1.0)}, "lowest not above the highest"),
        ({"duration": np.nan}, "finite"),
        ({"duration": (1.0, 2.0, 3.0)}, "lowest, highest"),
        ({"frozen": {"elbow": 0.0}}, "unknown joint 'elbow'"),
        ({"frozen": {"joint1": np.nan}}, "finite"),
        ({"frozen": ["joint1"]}, r"frozen maps joints to where they stay.*got \['joint1'\]"),
        ({"frozen": {"joint1": 0.0, "joint2": 0.0}, "constraints": []}, "at least one must move"),
        ({"frozen": {"joint1": 0.5}}, "frozen, its position is 0.5"),
        ({"loads": kt.Wrench("hand")}, "unknown body 'hand'"),
        ({"loads": kt.Wrench("link2", np.zeros((3, 3)))}, "function of s"),
        ({"loads": [1.0]}, "Wrench objects"),
        (
            {"loads": lambda s: kt.Wrench("link2", np.zeros((2, 3)))},
            r"force on 'link2' must have shape \(3, 3\) or \(3,\), got \(2, 3\)",
        ),
        ({"segments": 1, "degree": 3, "duration": 1.0}, "nothing is left to choose"),
        ({"mechanism": kt.zoo.four_bar()}, "give guess="),
        ({"mechanism": "arm"}, "must be a Mechanism"),
    ],
)
def test_bad_problems_are_refused(arguments, message):
    good = {"mechanism": ARM, "objective": Time(), "constraints": [*ENDS, TorqueLimits()]}
    with pytest.raises(kt.errors.InputError, match=message):
        Problem(**{**good, **arguments})


@pytest.mark.parametrize(
    ("also", "message"),
    [
        (Boundary("start", {"joint1": 0.5}), "position of joint1 at s = 0 .* two terms contradict"),
        (JointLimits(lower=-1.5), "joint limit, joint2 at s = 0 allows -1.5 .* make it -2"),
        (Boundary("end", velocity={"joint2": 1.0}), "velocity of joint2 at s = 1 .* contradict"),
        (
            TorqueLimits(lower=20.0, upper=30.0, joints="joint2"),
            "joint2: 20 to 30 N m are allowed, but another torque limit allows -10 to 10: .* contradict",
        ),
    ],
)
def test_contradictions_are_found_before_solving(also, message):
    with pytest.raises(kt.errors.InputError, match=message):
        minimum_time(also=[also], duration=1.0)


@pytest.mark.parametrize(
    ("also", "message"),
    [
        (
            [Boundary("end", velocity={"joint2": 1.0})],
            "velocity of joint2 at s = 1 must be 1 rad/s, but another one requires 0",
        ),
        ([Boundary(0.5, velocity={"joint1": x}) for x in (1.0, 2.0)], "velocity of joint1 at s = 0.5"),
        (
            [Boundary("end", acceleration={"joint1": x}) for x in (0.0, 2.0)],
            "acceleration of joint1 .* 2 rad/s",
        ),
        (
            [Boundary(0.5, velocity={"joint1": 3.0}), VelocityLimits(2.0)],
            "velocity of joint1 at s = 0.5 must be 3 rad/s, but the velocity limit allows -2 to 2",
        ),
    ],
)
def test_contradictions_are_found_with_a_free_duration_too(also, message):
    with pytest.raises(kt.errors.InputError, match=message):
        minimum_time(also=also)


def test_limits_of_other_instants_or_that_overlap_are_no_contradiction():
    wide = TorqueLimits(lower=5.0, upper=30.0, joints="joint2", at=[0.3])
    elsewhere = TorqueLimits(lower=20.0, upper=30.0, joints="joint2", at=[0.313])
    assert minimum_time(also=[wide, elsewhere]).families["torque limit"] == 84


def test_the_objective_can_be_left_out_by_mistake():
    with pytest.raises(kt.errors.InputError, match="objective is missing"):
        Problem(ARM, constraints=ENDS)


def test_terms_are_weighed_from_both_sides():
    assert (Time() * 3.0).weight == (3.0 * Time()).weight == 3.0


@pytest.mark.parametrize("weight", [-1.0, -1e-300, np.nan, np.inf, "1"])
def test_weights_are_numbers_that_are_not_negative(weight):
    with pytest.raises(kt.errors.InputError, match=r"weight of SquaredTorque must be .*, got") as caught:
        weight * SquaredTorque()
    assert (repr(weight) if isinstance(weight, str) else f"{weight:g}") in str(caught.value)
    assert (0.0 * SquaredTorque()).weight == 0.0


def test_a_rest_on_the_way_that_is_too_heavy_is_seen_before_solving():
    arm = kt.zoo.two_link(gravity=(0, -9.81, 0))
    rest = Boundary(0.3, [0.0, 0.0], 0.0, 0.0)
    limits = [TorqueLimits(upper=x) for x in (3.0, 5.0)]
    weak, strong = (Problem(arm, objective=Time(), constraints=[rest, x]) for x in limits)
    (sentence,) = weak.conflicts()
    assert "joint1: holding still at s = 0.3 against gravity and loads takes 3.924 N m" in sentence
    assert strong.conflicts() == []


def test_the_same_condition_twice_is_no_contradiction():
    assert minimum_time(also=[Boundary("start", {"joint1": 0.0})]).n_variables == 39


def test_what_cannot_work_is_seen_before_solving():
    far = PointPosition("link2", [2.0, 0.0, 0.0], point=(0.4, 0, 0), axes="xy")
    near = PointPosition("link2", [0.5, 0.5, 0.0], point=(0.4, 0, 0), axes="xy")
    (sentence,) = minimum_time(also=[far]).conflicts()
    assert "2 m from the base, but the arm reaches only 0.8 m" in sentence
    assert minimum_time(also=[near]).conflicts() == []
    (sentence,) = minimum_time(also=[VelocityLimits({"joint1": 1.5})], duration=(0.1, 0.5)).conflicts()
    assert "joint1: going from 0 to 1 within 0.5 s needs a mean velocity of 2" in sentence
    start = Boundary("start", [0.0, 0.0], 0.0, 0.0)
    arm = kt.zoo.two_link(gravity=(0, -9.81, 0))
    heavy = Problem(arm, objective=Time(), constraints=[start, TorqueLimits(3.0)])
    (sentence,) = heavy.conflicts()
    assert "joint1: holding still at the start" in sentence
    assert "takes 3.924 N m, but -3 to 3 N m are allowed" in sentence


def test_a_wrong_derivative_is_found():
    class Wrong(SquaredTorque):
        def integrand(self, setting):
            function = super().integrand(setting)
            right = function.slopes
            function.slopes = lambda at: 1.01 * right(at)
            return function

    check = Problem(ARM, objective=Wrong(), constraints=ENDS).check_derivatives()
    assert not check.passed
    assert 1e-3 < check.gradient < 0.1


def test_a_changed_problem_keeps_its_kind_and_its_other_arguments():
    class Slower(Problem):
        pass

    def pushed(s):
        return [kt.Wrench("link2", force=(0, -1, 0))]

    given = {
        "samples": 3,
        "clamped": False,
        "frozen": {"joint2": 0.3},
        "loads": pushed,
        "duration": (1.0, 2.0),
    }
    ends = [Boundary("start", {"joint1": 0.0}), Boundary("end", {"joint1": 1.0})]
    problem = Slower(kt.zoo.two_link(), objective=Time(), constraints=ends, **given)
    finer = problem.changed(breaks=np.linspace(0, 1, 8), degree=4)
    assert type(finer) is Slower and finer.basis.degree == 4 and finer.basis.segments == 7
    assert {key: finer.arguments[key] for key in given} == given
    assert set(finer.arguments) == set(signature(Problem).parameters)
