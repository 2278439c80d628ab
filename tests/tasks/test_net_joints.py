"""Forces in joints of a person: the same names, values and directions whichever body is the root."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.analysis.rooting import change_root
from kinetree.errors import InputError
from kinetree.model.rooted import carried_bodies
from kinetree.motion.problem.problem import Problem
from kinetree.report.arrows import force_arrows
from kinetree.report.frames import frames
from kinetree.report.result_plot import result_panels
from kinetree.result.build import build_result
from kinetree.tasks.net_joints import net_joint_reactions, with_net_joints
from kinetree.tasks.walking.problem import walker
from kinetree.terms import Boundary, Effort, ReactionLimit
from support.refused import refused

WHO = walker(kt.walking.Walking())
SUPPORT = "right_toes"


def moving(rng, count=3):
    """A motion of who stands on the right toes, and the reactions in that tree."""
    q, qd, qdd = (0.3 * rng.standard_normal((count, WHO.mechanism.n_dof)) for _ in range(3))
    return q, qd, qdd, kt.joint_reactions(WHO.mechanism, q, qd, qdd)


def test_they_are_those_of_the_person_rooted_at_the_pelvis(rng):
    """There the ground is a load on the toes, and every joint leads from the proximal to the distal body."""
    q, qd, qdd, reaction = moving(rng)
    k = WHO.mechanism.body_index(SUPPORT)
    R = kt.forward_kinematics(WHO.mechanism, q).rotation[:, k]
    force, moment = ((R @ x[..., None])[..., 0] for x in (reaction[:, k, :3], reaction[:, k, 3:]))
    push = kt.Wrench(SUPPORT, force, moment, point=WHO.heel)
    state = change_root(WHO.mechanism, WHO.person, q, qd, qdd)
    expected = kt.joint_reactions(WHO.person, state.q, state.qd, state.qdd, [push])
    rotation = kt.forward_kinematics(WHO.person, state.q).rotation
    found = net_joint_reactions(WHO.person, WHO.mechanism, q, reaction)
    assert {"right_hip", "left_hip", "right_knee", "left_knee", "right_toe", "chest"} <= {*found}
    assert "root" not in found
    for joint, wrench in found.items():
        b = WHO.person.body_index(carried_bodies(WHO.person)[joint])
        both = expected[:, b].reshape(-1, 2, 3)
        own = np.einsum("mij,mpj->mpi", rotation[:, b], both).reshape(-1, 6)
        np.testing.assert_allclose(wrench, own, atol=1e-9 * np.abs(expected).max(), err_msg=joint)


def standing(rng):
    """A result of someone who stands still with most of the weight on the right foot."""
    q = np.zeros((2, WHO.mechanism.n_dof))
    reaction = kt.joint_reactions(WHO.mechanism, q, q, q)
    motion = {"time": [0.0, 1.0], "q": q, "qd": q, "qdd": q, "tau": q, "reaction": reaction}
    return with_net_joints(build_result("predict", WHO.mechanism, motion), WHO.person), reaction


def test_the_results_name_joints_and_arrows_point_from_proximal_to_distal_on_both_sides(rng):
    result, reaction = standing(rng)
    assert "reaction" not in result and "body" not in result
    force = result["net_joint_force"]
    above = kt.zoo.human().mass - sum(
        link.body.inertia.mass for link in WHO.person.links if link.body.name.startswith("right_")
        and link.body.name.endswith(("thigh", "shank", "foot", "toes"))
    )  # fmt: skip
    assert float(force.sel(at_joint="right_hip")[0]) == pytest.approx(9.81 * above, rel=1e-3)
    drawn = frames(result)
    carried = carried_bodies(WHO.mechanism)
    arrows = {x: drawn.reaction[0, WHO.mechanism.body_index(carried[x])] for x in ("right_hip", "right_knee")}
    assert all(arrow[2] < 0.0 for arrow in arrows.values())  # what is above pushes down
    left = drawn.reaction[0, WHO.mechanism.body_index("left_thigh")]
    assert left[2] > 0.0  # and the leg that hangs is held
    np.testing.assert_allclose(
        arrows["right_knee"], result["net_joint_reaction"].sel(at_joint="right_knee")[0, :3]
    )
    assert [x.kind for x in force_arrows(drawn, 0.1)] == ["reaction"]
    (panel,) = result_panels(result, ["net_joint_force"], ["right_hip"])
    assert [line.label for line in panel.lines] == ["right_hip"]
    assert np.abs(reaction).max() > 0.0


def test_a_result_with_reactions_by_bodies_is_drawn_as_it_was(rng):
    """As files of earlier versions have them."""
    q, qd, qdd, reaction = moving(rng, 2)
    motion = {"time": [0.0, 1.0], "q": q, "qd": qd, "qdd": qdd, "tau": 0 * q, "reaction": reaction}
    old = build_result("predict", WHO.mechanism, motion)
    R = kt.forward_kinematics(WHO.mechanism, q).rotation
    np.testing.assert_allclose(frames(old).reaction, (R @ reaction[..., :3, None])[..., 0], atol=1e-9)


def asked(*limits):
    robot = kt.zoo.two_link()
    ends = [Boundary("start", [0.0, 0.0]), Boundary("end", [1.0, 0.5])]
    return Problem(robot, objective=Effort(), constraints=[*ends, *limits], duration=1.0)


def test_a_limit_may_name_the_joint():
    by_joint, by_body = (asked(ReactionLimit(name, 30.0)) for name in ("joint2", "link2"))
    assert np.array_equal(by_joint.setting.reaction("joint2"), by_body.setting.reaction("link2"))
    assert by_joint.setting.reaction("joint2").tolist() == by_joint.setting.reaction("link2").tolist()
    with pytest.raises(InputError, match="name the body that the joint carries, 'link2'"):
        asked(ReactionLimit("joint2", 30.0, "fx"))
    with refused("body or joint", "joint9"):
        asked(ReactionLimit("joint9", 30.0))


def test_loads_of_walkers_are_drawn_where_they_weigh():
    free, loaded = (walker(kt.walking.Walking(**x)).person for x in ({}, {"backpack": 10.0, "hand": 4.0}))
    assert loaded.mass == pytest.approx(free.mass + 18.0)
    before, after = ({x.body.name: x.body for x in person.links} for person in (free, loaded))
    for name in after:
        more = len(after[name].shapes) - len(before[name].shapes)
        assert more == (after[name].inertia.mass > before[name].inertia.mass + 1e-9), name
    (pack,) = [x.placement.position for x in after["chest"].shapes if x.kind == "box"]
    center, mass = before["chest"].inertia.center, before["chest"].inertia.mass
    moved = (mass * center + 10.0 * pack) / (mass + 10.0)
    np.testing.assert_allclose(after["chest"].inertia.center, moved, atol=1e-9)
