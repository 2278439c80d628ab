"""The ground's reaction by the two-step algorithm as a term: other formulations, differences, bad input."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.terms import (
    GroundReaction,
    PointVelocity,
    ReactionLimit,
    SquaredTorque,
    TorqueLimits,
    UnknownForce,
    ZeroMomentPoint,
)

ROBOT = kt.zoo.spatial_biped()
JOINTS = list(ROBOT.joint_names[6:])
SQUARE = [[-0.2, -0.2], [0.2, -0.2], [0.2, 0.2], [-0.2, 0.2]]
WAYS = {
    "one foot": GroundReaction("foot1"),
    "by time": GroundReaction(["foot1", "foot2"], [[1.0, 0.0], [0.3, 0.7]]),
    "by the zero-moment point": GroundReaction(
        ["foot1", "foot2"], between=[[0.0, 0.1], [0.2, -0.1]], during=(0.0, 0.6)
    ),
    "each at its own place": GroundReaction(
        ["foot1", "foot2"], between=[[0.0, 0.1], [0.2, -0.1]], during=(0.0, 0.6), apart=True
    ),
    "three bodies": GroundReaction(
        ["foot1", "foot2", "shank2"], [[0.2, 0.5, 0.3], [0, 0.5, 0.5]], between=[[0.0, 0.1], [0.2, -0.1]]
    ),
}


def problem(reaction, *more):
    terms = [reaction, TorqueLimits(500.0, joints=JOINTS), ZeroMomentPoint(SQUARE), *more]
    return kt.Problem(ROBOT, objective=SquaredTorque(JOINTS), constraints=terms, duration=1.0, segments=3)


def somewhere(asked, rng):
    x = rng.uniform(-0.2, 0.2, asked.setting.unknowns.size)
    return asked.setting.unknowns.with_duration(x, 1.0)


@pytest.mark.parametrize("way", WAYS)
def test_derivatives_are_exact_and_the_root_is_free(way, rng):
    asked = problem(WAYS[way], ReactionLimit("shank1", 500.0))
    x = somewhere(asked, rng)
    check = asked.check_derivatives(x)
    assert check.passed, str(check)
    tau = asked.evaluation(asked.setting.samples, x).tau[:, asked.setting.own]
    assert np.abs(tau[:, :6]).max() < 1e-10 * np.abs(tau).max()
    assert "undriven joint" not in asked.families


def test_torques_are_those_of_the_tree_on_its_foot_and_the_point_is_the_zero_moment_point(rng):
    asked = problem(WAYS["one foot"])
    s, x = np.linspace(0.0, 1.0, 7), somewhere(asked, rng)
    at = asked.evaluation(s, x)
    own, world = asked.setting.own, asked.setting.reaction("world")
    state = [rate[:, own] for rate in at.motion[:3]]
    standing = ROBOT.rooted_at("foot1", sequence="ZXY")
    seen = kt.analysis.change_root(ROBOT, standing, *state)
    tau = kt.inverse_dynamics(standing, seen.q, seen.qd, seen.qdd)
    mine = at.tau[:, own]
    for name in JOINTS:
        wanted = tau[:, standing.joint_index(name)]
        assert np.allclose(mine[:, ROBOT.joint_index(name)], wanted, atol=1e-9 * np.abs(tau).max())
    F = at.tau[:, world]
    point = kt.analysis.zero_moment_point(ROBOT, *state)
    assert np.allclose(np.stack([-F[:, 4], F[:, 3]], axis=1) / F[:, 2:3], point[..., :2], atol=1e-9)
    loads = asked.loads_of(s, x)
    assert np.allclose(loads[0].force, F[:, :3])


def test_two_feet_share_by_where_the_zero_moment_point_is(rng):
    asked = problem(WAYS["by the zero-moment point"])
    s, x = np.linspace(0.0, 1.0, 11), somewhere(asked, rng)
    at = asked.evaluation(s, x)
    first, second = (np.asarray(load.force)[:, 2] for load in at.pushes)
    F = at.tau[:, asked.setting.reaction("world")]
    assert np.allclose(first + second, F[:, 2])
    share, both = first / F[:, 2], s <= 0.6
    assert np.allclose(share[~both], 0.0) and (share[both] > 0.0).all() and (share[both] < 1.0).all()
    a, b = np.array([0.0, 0.1]), np.array([0.2, -0.1])
    way = (np.stack([-F[:, 4], F[:, 3]], axis=1) / F[:, 2:3] - b) @ (a - b) / ((a - b) @ (a - b))
    inside = both & (way > 0.2) & (way < 0.8)
    assert np.abs(share - way)[inside].max(initial=0.0) < 0.01
    assert (np.sign(np.diff(share[both])) == np.sign(np.diff(way[both]))).all()


def test_feet_apart_carry_their_parts_at_their_own_places(rng):
    """Moved along the line between them: sums are the resultant's, and neither place has a moment across."""
    asked = problem(WAYS["each at its own place"])
    s, x = np.linspace(0.0, 0.6, 31), somewhere(asked, rng)
    at = asked.evaluation(s, x)
    F, own = at.tau[:, asked.setting.reaction("world")], asked.setting.own
    poses = kt.forward_kinematics(ROBOT, at.motion.q[:, own])
    places = [poses[load.body][1] for load in at.pushes]
    moments = [load.moment + np.cross(p, load.force) for p, load in zip(places, at.pushes, strict=True)]
    assert np.allclose(sum(load.force for load in at.pushes), F[:, :3])
    assert np.allclose(sum(moments), F[:, 3:])
    a, b = np.array([0.0, 0.1]), np.array([0.2, -0.1])
    share = at.pushes[0].force[:, 2] / F[:, 2]
    inside = (share > 0.2) & (share < 0.8)
    assert inside.any()
    for place, load, moment in zip((a, b), at.pushes, moments, strict=True):
        point = np.stack([-moment[:, 1], moment[:, 0]], axis=1) / load.force[:, 2:3]
        assert np.abs((point - place) @ (b - a))[inside].max() < 0.01 * (b - a) @ (b - a)


def test_a_point_at_rest_may_move_by_its_slack():
    (rows,) = PointVelocity("foot1", np.zeros(3), axes="xz", slack=0.1).bounded(
        problem(WAYS["one foot"]).setting
    )
    assert np.allclose(rows.lower, -0.1) and np.allclose(rows.upper, 0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GroundReaction([]), "at least one foot"),
        (lambda: GroundReaction(["foot1", "foot1"]), "each once"),
        (lambda: GroundReaction(["foot1", "foot2"]), "share the ground reaction"),
        (lambda: GroundReaction(["foot1", "foot2"], [[0.5, 0.6]]), "add up to 1"),
        (lambda: GroundReaction(["foot1", "foot2"], [[0.5, 0.5]], [0.0, 1.0]), "one row for each s"),
        (lambda: GroundReaction(["foot1", "foot2"], [[1, 0], [0, 1]], [0.5, 0.2]), "ascend"),
        (lambda: GroundReaction("foot1", between=[[0, 0], [1, 0]]), "first two of several"),
        (lambda: GroundReaction(["foot1", "foot2"], between=[[0, 0], [0, 0]]), "must differ"),
        (lambda: GroundReaction(["foot1", "foot2"], between=[0, 0]), "shape"),
        (lambda: GroundReaction("foot1", during=(0.5, 0.2)), "two ascending s"),
        (lambda: GroundReaction("foot1", apart=True), "share between positions"),
        (lambda: problem(GroundReaction("hoof")), "unknown body 'hoof'"),
        (lambda: problem(GroundReaction("world")), "world has no feet"),
        (lambda: problem(WAYS["one foot"], UnknownForce("foot2")), "excludes other ground reactions"),
        (lambda: problem(WAYS["one foot"], GroundReaction("foot2")), "excludes other ground reactions"),
        (lambda: PointVelocity("foot1", np.zeros(3), slack=-1.0), "slack must be 0 or more"),
        (
            lambda: kt.Problem(
                kt.zoo.kuka_kr5(),
                objective=SquaredTorque(),
                constraints=GroundReaction("link6"),
                duration=1.0,
            ),
            "one free root",
        ),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(kt.errors.InputError, match=message):
        make()
