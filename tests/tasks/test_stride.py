"""Strides of two different steps, settings of the wrong kind, and motions for OpenSim."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli import app
from kinetree.gait_data.opensim import opensim_coordinates
from kinetree.walking import Walking, walk, walker, walking_problem

COARSE = {"points": 8, "nodes": (2, 2, 4, 4)}
UNEVEN = Walking(right_hand=8.0, strength={"left_knee": 0.7, "ankle": 0.9}, **COARSE)


@pytest.fixture(scope="module")
def taken():
    return walk(UNEVEN, max_iterations=1, progress=False)


def test_sides_that_differ_are_mirrored_in_the_second_step():
    assert UNEVEN.asymmetric and not Walking(left_hand=2.0, right_hand=2.0, strength={"knee": 0.5}).asymmetric
    right, left = walker(UNEVEN), walker(UNEVEN.mirrored())
    assert right.torques["left_knee"] == pytest.approx(left.torques["right_knee"])
    assert right.torques["left_knee"][0] == pytest.approx(0.7 * right.torques["right_knee"][0])
    assert right.factors["right_ankle.flexion"] == pytest.approx(0.9)
    hands = [
        who.person.link(f"{side}_forearm").body.inertia.mass
        for who, side in ((right, "right"), (left, "left"))
    ]
    assert hands[0] == pytest.approx(hands[1])  # hands are one with forearms while walking


def test_a_stride_is_shown_as_one_motion_of_a_free_person(taken):
    """Whatever the motion: torques of the pelvis vanish under the ground's reactions of both steps."""
    result = taken.to_result()
    assert result.settings["steps"] == 2 and result.mechanism.joint_names == walker(UNEVEN).person.joint_names
    tau = np.asarray(result.tau.values)
    assert np.abs(tau[:, :6]).max() < 1e-8 * np.abs(tau).max()
    force = np.asarray(result["ground_reaction"].values)
    assert (np.diff(result.time.values) > 0.0).all() and force.shape[1:] == (2, 3)
    assert not taken.passed  # one iteration solves nothing
    names = [str(name) for name in result.joint.values]
    legs = kt.human.passive_moments()
    columns = [names.index(name) for name in legs.names]
    passive = legs.moments(result.q.values[:, columns])
    assert np.allclose(result.tau_passive.values[:, columns], passive)  # of both steps, mirrored or not
    assert np.allclose(result.tau.values, result.tau_active.values + result.tau_passive.values)


def test_the_command_line_states_the_figures_of_a_stride(taken, tmp_path):
    statistics = taken.to_result().statistics
    assert statistics["max_violation"] == taken.prediction.max_violation
    coarse = ["walk.right_hand=8", "walk.points=8", "walk.nodes=[2,2,4,4]", "walk.max_iterations=1"]
    command = ["run", "walking", *(word for setting in coarse for word in ("--set", setting))]
    found = CliRunner().invoke(app, [*command, "--json", "-o", str(tmp_path / "a.nc")])
    stated = json.loads(found.stdout)
    assert found.exit_code == 3 and stated["iterations"] >= 1 and stated["max_violation"] > 0.0
    assert "max_violation" in CliRunner().invoke(app, [*command, "-o", str(tmp_path / "b.nc")]).output


def test_steps_meet_as_mirror_images(taken):
    phases = taken.prediction.phases
    assert phases.program.families()["junction of phases"].__len__() == 6 * 32
    assert any("left_knee and right_knee" in label for label in phases.program.labels)
    check = phases.problems[1].check_derivatives()
    assert check.passed, str(check)


def test_strength_by_angle_and_velocity_and_true_friction_are_part_of_the_problem():
    task = Walking(strength_by="angle and velocity", friction_shape="cone", **COARSE)
    problem = walking_problem(task)
    assert problem.families["strength by angle and velocity"] == 2 * 6 * len(problem.setting.samples)
    check = problem.check_derivatives()
    assert check.passed, str(check)


def test_one_step_alone_cannot_mirror_unequal_sides():
    with pytest.raises(kt.errors.InputError, match="left and right differ"):
        walking_problem(UNEVEN)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"speed": "fast"}, "speed must be real numbers, got 'fast'"),
        ({"speed": float("nan")}, "speed must be finite"),
        ({"nodes": 3}, "nodes must be 4 numbers"),
        ({"nodes": (1.5, 2, 3, 4)}, "nodes must be integers"),
        ({"points": "12"}, "points must be an integer"),
        ({"strength": 3}, "strength must map names of joints"),
        ({"strength": {"knee": "x"}}, "strength of 'knee'"),
        ({"arms": 1}, "arms must be true or false"),
        ({"knee_swing": None}, "knee_swing must be 2 numbers"),
        ({"sex": 3}, "sex must be text"),
        ({"left_hand": -1.0}, "left_hand must be from 0"),
        ({"strength_by": "age"}, "unknown choice 'age'"),
        ({"friction_shape": "round"}, "unknown choice 'round'"),
        ({"task": "x"}, "walk needs a Walking"),
        ({"simulated": "yes"}, "simulated must be true or false"),
        ({"start": 3, "max_iterations": 1}, "start must be"),
    ],
)
def test_settings_of_a_wrong_kind_are_refused(changes, message):
    with pytest.raises(kt.errors.InputError, match=message):
        walk(progress=False, **changes)


def test_coordinates_for_opensim_do_not_depend_on_the_root(taken, rng):
    from kinetree.result.build import build_result

    person = walker(Walking()).person
    q = 0.3 * rng.standard_normal((4, person.n_dof))
    foot = person.rooted_at("left_foot", sequence="ZXY")
    moved = kt.analysis.change_root(person, foot, q).q
    time = np.linspace(0.0, 1.0, 4)
    here, there = (
        opensim_coordinates(build_result("simulate", x, {"time": time, "q": y, "qd": 0.0 * y}))
        for x, y in ((person, q), (foot, moved))
    )
    assert here.keys() == there.keys() and all(np.allclose(here[key], there[key], atol=1e-9) for key in here)
    column = person.joint_index("right_knee")
    assert np.allclose(here["knee_angle_r"], np.degrees(q[:, column]))
    alone = np.zeros((1, person.n_dof))
    for name, value, key, wanted in (
        ("root.pitch", 0.2, "pelvis_tilt", -0.2),
        ("root.roll", 0.1, "pelvis_list", 0.1),
        ("root.yaw", 0.3, "pelvis_rotation", 0.3),
    ):
        turned = alone.copy()
        turned[0, person.joint_index(name)] = value
        still = build_result("simulate", person, {"time": [0.0], "q": turned, "qd": 0.0 * turned})
        assert opensim_coordinates(still)[key][0] == pytest.approx(np.degrees(wanted))
