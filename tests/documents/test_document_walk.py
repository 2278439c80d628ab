"""The document's own walking problem: its size, its derivatives, and one step by six control points."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.study.run import run
from kinetree.walking import two_step_problem, two_step_walk


@pytest.fixture(scope="module")
def result():
    return run("walking_two_step")


ARM = "left_upper_arm", "left_hand"  # whose origins are at the shoulder and the wrist
LEG = "right_thigh", "right_foot"  # at the hip and the ankle


def way(result, first, last):
    """From the origin of a body to that of another, (m, 3)."""
    poses = kt.forward_kinematics(result.mechanism, result.q.values)
    return poses.of(last)[1] - poses.of(first)[1]


def test_it_is_the_documents_problem():
    problem = two_step_problem()
    assert problem.mechanism.n_dof == 55 and problem.basis.n_control == 6
    assert problem.setting.unknowns.size - 1 == 330  # 17 of 55 are held: 228 are free
    assert problem.n_variables == 38 * 6 and 1600 < problem.n_constraints < 1850
    assert set(problem.families) == {
        "joint limit", "torque limit", "end-effector position", "end-effector velocity", "ground clearance",
        "zero-moment point", "product of pendulums", "keep-out sphere", "left-right symmetry",
    }  # fmt: skip


def test_it_walks_and_agrees_with_the_tree_on_its_foot(result):
    assert result.passed, result.audit
    assert result.audit["other_formulation"].value < 1e-9
    assert result.audit["root"].value < 1e-9
    arm, leg = (way(result, *names)[:, 0] for names in (ARM, LEG))
    assert (arm * leg).min() > -1e-3  # m^2; eq. 5.6, also between the samples
    assert (arm > 0.05).any() and (arm < -0.05).any()
    score = kt.gait_analysis.gait_score(kt.gait_analysis.gait_cycle(result), "arnold5")
    assert score["hip_flexion"].r > 0.95 and score["knee_flexion"].r > 0.92  # as [Barman2020] finds
    assert score["force_vertical"].r < 0.95  # what six points and the share by the zero-moment point cost
    force = np.asarray(result["ground_reaction"].values)
    weight = 75.0 * 9.81
    mean = np.trapezoid(force.sum(axis=1), result["time"].values, axis=0) / 0.5
    assert mean[[0, 2]] == pytest.approx([0.0, weight], abs=0.01 * weight)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"slope": 3.0}, "needs level ground"),
        ({"sharing": "fair"}, "sharing must be one of zmp, time"),
        ({"task": 3}, "needs a Walking"),
        ({"points": 3}, "points must be an integer"),
    ],
)
def test_what_it_cannot_do_is_refused(arguments, message):
    with pytest.raises(kt.errors.InputError, match=message):
        two_step_walk(**arguments)
