"""Strength by angle and velocity and shapes of friction: exact derivatives, geometry, bad input."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.terms.force import sides_of
from kinetree.motion.terms.strength import StrengthLimits
from kinetree.terms import Friction, HumanStrength, SquaredTorque, Support, UnknownForce

PERSON = kt.zoo.human().frozen(kt.human.FROZEN_WHILE_WALKING).fused()
STANDING = PERSON.rooted_at("right_foot", point="right_heel")
JOINTS = list(STANDING.joint_names[6:])
LEGS = ["left_knee", "right_hip.flexion", "left_ankle.flexion"]
FEET = (("root.x", "root.y", "root.z"), ("root.roll", "root.pitch"), (-0.1, -0.1), (0.2, 0.1))


def problem(*terms):
    return kt.Problem(
        STANDING, objective=SquaredTorque(JOINTS), constraints=list(terms), duration=1.0, segments=3
    )


def somewhere(asked, rng):
    x = rng.uniform(-0.3, 0.3, asked.setting.unknowns.size)
    return asked.setting.unknowns.with_duration(x, 1.0)


@pytest.mark.parametrize(
    "terms",
    [
        [HumanStrength(LEGS, factors={"left": 0.5})],
        [Support(*FEET, shape="octagon")],
        [UnknownForce("left_foot", name="a"), UnknownForce("left_shank", name="b", axes="xz"),
         Friction(["a", "b"], 0.5, shape="cone"), Support(*FEET, shape="cone")],
        [UnknownForce("left_foot", name="a"), Friction("a", 0.5, shape="octagon")],
    ],
)  # fmt: skip
def test_derivatives_are_exact(terms, rng):
    asked = problem(*terms)
    check = asked.check_derivatives(somewhere(asked, rng))
    assert check.passed, str(check)


def test_torques_are_bounded_by_the_strength_of_angle_and_velocity(rng):
    strong = kt.human.strength(LEGS)
    asked = problem(StrengthLimits(strong))
    rows = next(x for x in asked.bounded if x.family == StrengthLimits.family)
    at = asked.evaluation(rows.s, somewhere(asked, rng))
    own = [STANDING.joint_index(name) for name in LEGS]
    q, qd, tau = at.motion.q[:, own], at.motion.qd[:, own], at.tau[:, own]
    limits = strong.limits(q, qd)
    found = rows.function.values(at.everywhere)
    assert np.allclose(found[:, :3], tau - limits.upper) and np.allclose(found[:, 3:], tau - limits.lower)


def test_an_octagon_is_within_the_cone_and_a_box_around_it():
    angles = np.linspace(0.0, 2.0 * np.pi, 721)
    around = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    reach = {}
    for shape in ("box", "octagon"):
        directions, mu = sides_of(shape, 0.6)
        reach[shape] = mu / (around @ directions.T).max(axis=1)  # largest force across for a push of 1
    assert reach["octagon"].max() == pytest.approx(0.6) and reach["octagon"].min() > 0.92 * 0.6
    assert reach["box"].min() == pytest.approx(0.6) and reach["box"].max() == pytest.approx(
        0.6 * np.sqrt(2.0)
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Friction("a", 0.5, shape="round"), "unknown shape 'round'"),
        (lambda: Support(*FEET, shape="ball"), "unknown shape 'ball'"),
        (lambda: HumanStrength(["left_wing"]), "left_wing"),
        (lambda: HumanStrength(["left_knee"], age="young"), "young"),
        (lambda: HumanStrength(["left_knee"], factors={"tail": 0.5}), "tail"),
        (lambda: StrengthLimits(3), "must have names and limits"),
        (lambda: problem(StrengthLimits(kt.human.strength(["neck.flexion"]))), "neck.flexion"),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(kt.KinetreeError, match=message):
        make()
