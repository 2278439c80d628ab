"""Forces of the ground from the motion alone: balance of momentum, standing, and plates of a real walk."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from support.opensim_peer import DATA

T = np.linspace(0.0, 1.0, 51)


def test_a_person_who_stands_and_leans_loads_the_foot_on_that_side():
    person = kt.zoo.human()
    weight = 9.81 * person.mass
    q = np.zeros((len(T), person.n_dof))
    still = kt.markers.ground_reactions(person, T, q)
    assert {x.body for x in still} == {"right_foot", "left_foot"}
    for force in still:
        assert force.force[:, 2] == pytest.approx(0.5 * weight, rel=1e-6)
    bend = q.copy()
    bend[:, person.joint_index("lumbar.bending")] = 0.3
    leaning = {x.body: x.force[25, 2] for x in kt.markers.ground_reactions(person, T, bend)}
    assert sum(leaning.values()) == pytest.approx(weight, rel=1e-6)
    com = kt.center_of_mass(person, bend[25])
    side = "left_foot" if com[1] > kt.center_of_mass(person, q[25])[1] else "right_foot"
    assert leaning[side] > 0.52 * weight
    feet = [kt.forward_kinematics(person, bend[25])[x][1] for x in ("right_foot", "left_foot")]
    lever = (com[1] - feet[0][1]) / (feet[1][1] - feet[0][1])
    assert leaning["left_foot"] / weight == pytest.approx(lever, abs=0.01)


def test_what_they_leave_at_the_base_is_nothing():
    person = kt.zoo.human()
    q = np.zeros((len(T), person.n_dof))
    q[:, person.joint_index("lumbar.flexion")] = 0.2 * np.sin(4 * T)
    forces = kt.markers.ground_reactions(person, T, q)
    result = kt.markers.dynamics(person, T, q, forces, cutoff=6.0)
    assert np.abs(result["residual_force"].values).max() < 1e-6 * 9.81 * person.mass
    assert all(check.passed for check in result.audit.values())


def test_faults_are_named():
    person = kt.zoo.human()
    q = np.zeros((len(T), person.n_dof))
    with pytest.raises(kt.KinetreeError, match="need two feet, got 1: right_foot"):
        kt.markers.ground_reactions(person, T, q, feet=["right_foot"])
    slide = q.copy()
    slide[:, 0] = T
    with pytest.raises(kt.KinetreeError, match="a foot neither lands nor leaves in the trial"):
        kt.markers.ground_reactions(person, T, slide)


@pytest.mark.skipif(not (DATA / "id").is_dir(), reason="the trial is not here")
def test_a_real_walk_has_nearly_the_vertical_forces_of_its_plates():
    folder = DATA / "id"
    m = kt.load(folder / "subject01.osim", allow_unphysical=True)
    time, q = kt.markers.read_motion(folder / "subject01_walk1_ik.mot", m)
    measured = {x.body: x.at(time) for x in kt.markers.read_forces(folder / "subject01_walk1_grf.xml")}
    for force in kt.markers.ground_reactions(m, time, q):
        ours, theirs = (x.force[:, 1] / (9.81 * m.mass) for x in (force, measured[force.body]))
        assert np.corrcoef(ours, theirs)[0, 1] > 0.98 and np.sqrt(((ours - theirs) ** 2).mean()) < 0.08


def test_a_laboratory_without_plates_does_not_judge_what_remains():
    person = kt.zoo.human()
    names = ("chest", "pelvis", "right_foot", "left_foot", "right_hand", "left_hand")
    markers = tuple(kt.model.Marker(f"{x}{k}", x, y) for x in names for k, y in enumerate(0.1 * np.eye(3)))
    person = replace(person, markers=markers)
    q = np.zeros((len(T), person.n_dof))
    poses = kt.forward_kinematics(person, q)
    places = np.stack([poses[m.body][1] + poses[m.body][0] @ np.array(m.position) for m in markers], axis=1)
    trial = kt.markers.Trial(tuple(m.name for m in markers), T, places)
    result = kt.markers.laboratory(person, trial, estimate=True).result
    assert "residual_force" not in result.audit and "residual_force" in result.not_judged
    assert result["ground_reaction"].values[:, :, 2].sum(axis=1) == pytest.approx(
        9.81 * person.mass, rel=1e-3
    )
