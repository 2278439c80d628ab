"""The shipped studies: each runs, passes its audit and agrees with what is known of it."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.loops.system import gap
from kinetree.errors import InputError
from kinetree.study.examples import copy_example, example_names, example_text, examples
from kinetree.study.file import read_study
from kinetree.study.run import run
from support import reference

SHIPPED = {
    "gripper_inverse_dynamics", "gripper_free_fall", "kuka_inverse_dynamics", "kuka_free_fall",
    "puma_stability", "biped_single_support", "planar_biped_walk", "spatial_biped_walk", "quadruped_trot",
    "hexapod_tripod", "two_link_minimum_time", "two_link_lifting", "prismatic_arm",
    "two_link_spared_joint", "two_link_lift_and_return", "biped_forced_simulation", "gripper_two_ways",
    "planar_biped_laws", "spatial_biped_laws", "quadruped_laws", "hexapod_laws", "two_link_joint_free",
    "two_link_joint_locked", "planar_biped_dust", "quadruped_fall",
}  # fmt: skip
BOOK_LOOPS = {  # [Shah2013], chapter 8
    "four_bar_crank": ("fourbar.json", "inverse_dynamics"),
    "robotic_leg_crank": ("robotic_leg.json", "inverse_dynamics"),
    "three_rrr_circle": ("rrr3.json", "inverse_dynamics"),
    "four_bar_free_fall": ("fourbar.json", "free_fall_from_rest"),
    "three_rrr_free_fall": ("rrr3.json", "free_fall"),
    "four_bar_forced_simulation": ("fourbar.json", "inverse_dynamics"),
    "robotic_leg_forced_simulation": ("robotic_leg.json", "inverse_dynamics"),
}
CLOSED = {"five_bar_minimum_time", "stewart_minimum_time", "stewart_following", *BOOK_LOOPS}
SWEEPS = {
    "two_link_starts", "two_link_pareto", "kuka_pick_masses", "quadruped_grounds", "walking_speed_step",
}  # fmt: skip
OTHERS = {  # no figure of the documents
    "walking", "walking_two_step", "lifting", "lifting_one_hand", "lifting_repeated", "iftomm", "jansen_walk",
    "quadruped_predicted_trot", "planar_biped_jump", "one_leg_hop",
    "lifting_beside", "lifting_cycle", "lifting_fatigue",
    "quadruped_prescribed", "cart_pole_swing_up", "two_arms_carry",
    *SWEEPS,
}  # fmt: skip
WALKS = {  # axis along which the ground pushes
    "planar_biped_walk": 1,
    "spatial_biped_walk": 2,
    "quadruped_trot": 2,
    "hexapod_tripod": 2,
}


def at(result, times):
    """Indices of the samples at some times."""
    found = np.searchsorted(result.time.values, np.asarray(times) - 1e-9)
    assert np.abs(result.time.values[found] - times).max() < 1e-9
    return found


def test_all_are_there_and_say_where_they_come_from():
    assert set(example_names()) == SHIPPED | CLOSED | OTHERS
    for example in examples():
        study = read_study(example.name)
        assert example.title and example.task == study.task
        told = any(
            word in study.tables.study.description for word in ("Fig. ", "Figs. ", "slide ", "section D")
        )
        assert told or example.name in CLOSED | OTHERS


@pytest.mark.parametrize(
    ("name", "file", "pick", "worst"),
    [
        ("gripper_inverse_dynamics", "gripper.json", lambda x: x, 1e-11),
        ("kuka_inverse_dynamics", "kuka_kr5.json", lambda x: x["variants"][0], 1e-11),
        ("biped_single_support", "biped_fixed.json", lambda x: x, 1e-7),  # its rates are differences
    ],
)
def test_torques_agree_with_the_reference(name, file, pick, worst):
    wanted = pick(reference.read(file))["inverse_dynamics"]
    result = run(name)
    rows = at(result, wanted["t"])
    assert result.passed
    for quantity in ("q", "qd", "qdd", "tau"):
        assert reference.relative_error(result[quantity].values[rows], wanted[quantity]) < worst


@pytest.mark.parametrize(
    ("name", "file", "pick"),
    [
        ("gripper_free_fall", "gripper.json", lambda x: x),
        ("kuka_free_fall", "kuka_kr5.json", lambda x: x["variants"][0]),
    ],
)
def test_falls_agree_with_the_reference(name, file, pick):
    falls = pick(reference.read(file))["free_fall"]
    wanted = falls[0] if isinstance(falls, list) else falls
    result = run(name)
    times = [t for t in wanted["t"] if t <= 1.0]
    assert result.passed
    assert np.allclose(result.q.values[0], wanted["q0"])
    assert np.abs(result.q.values[at(result, times)] - wanted["q"][: len(times)]).max() < 1e-7


@pytest.mark.parametrize("name", WALKS)
def test_walks_follow_their_gait_and_are_carried_by_the_ground(name):
    result = run(name)
    assert result.passed and result.task == "control"
    assert np.abs((result.q - result.q_reference).values[:, 6:]).max() < 1e-6
    up = result.contact_force.values[..., WALKS[name]].sum(axis=1)
    mean = np.trapezoid(up, result.time.values) / result.time.values[-1]
    weight = result.mechanism.mass * np.linalg.norm(result.mechanism.gravity)
    assert mean == pytest.approx(weight, rel=0.03)
    ahead = result.q.values[-1, 0] - result.q.values[0, 0]
    assert ahead == pytest.approx(
        (result.q_reference.values[-1, 0] - result.q_reference.values[0, 0]), rel=0.1
    )


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("two_link_minimum_time", "rr_time_optimal"),
        ("two_link_lifting", "rr_mixed_load"),
        ("prismatic_arm", "pr_mixed"),
    ],
)
def test_predictions_agree_with_the_reference(name, case):
    (wanted,) = (x for x in reference.read("optimal_control.json")["cases"] if x["name"] == case)
    result = run(name)
    assert result.passed and result.audit["simulation"].passed
    assert result.statistics["duration"] == pytest.approx(wanted["T_bspline_20seg_23cp"], abs=1e-3)
    assert result.statistics["objective"] == pytest.approx(wanted["J_bspline"], rel=2e-3)
    assert result.time.values[-1] == pytest.approx(result.statistics["duration"])
    assert np.allclose(result.q.values[[0, -1]], [wanted["q0"], wanted["q1"]], atol=1e-8)
    assert np.abs(result.tau.values).max() < 10.0 * 1.01


def test_the_sliding_arm_may_count_its_angle_from_the_sliding_direction():
    result = run("prismatic_arm", mechanism={"parameters": {"theta2": np.pi / 2}})
    assert result.passed
    assert result.statistics["objective"] == pytest.approx(0.853063, abs=1e-5)
    assert result.statistics["duration"] == pytest.approx(0.64626, abs=1e-3)


def test_the_stability_study_finds_the_horizon_of_the_document():
    """[Mohan2007], Table 3: both algorithms leave the motion after about 5.4 s and 5.1 s."""
    result = run("puma_stability", stability={"tolerances": [1e-6], "states": 2})
    assert result.passed
    assert result.algorithm.values.tolist() == ["articulated", "cholesky"]
    first = result.horizon.values.min(axis=1)
    assert ((5.0 < first) & (first < 6.5)).all()
    lost = np.isnan(result.q_error.values).any(axis=2)
    assert not lost[:, result.time.values < 5.0].any() and lost[:, -1].all()


@pytest.mark.parametrize(("name", "file", "part"), [(name, *where) for name, where in BOOK_LOOPS.items()])
def test_the_books_mechanisms_with_loops_agree_with_the_reference(name, file, part):
    """Driving torques, forces of cut joints, free motions, and motions under torques alone."""
    wanted = reference.read(file)["variants"][0][part]
    result = run(name)
    rows = at(result, wanted["t"])
    assert result.passed
    worst = {"inverse": 1e-11, "simulate": 1e-9, "control": 1e-3}[result.task]
    assert np.abs(result.q.values[rows] - wanted["q"]).max() < worst
    assert np.abs(gap(result.mechanism, result.q.values)).max() < 1e-12
    driven = [k for link in result.mechanism.links for k in link.joint.driven]
    tau = result.tau.values[rows][:, driven]
    if part == "inverse_dynamics":
        known = np.reshape(wanted.get("tau_drive", wanted.get("tau_a")), tau.shape)
        assert reference.relative_error(tau, known) < max(worst, 1e-11)
    if result.task == "inverse":
        force = result.loop_force.values[rows][..., :2]
        assert reference.relative_error(force.reshape(len(rows), -1), wanted["lam"]) < 1e-11


@pytest.mark.parametrize("name", sorted(CLOSED - BOOK_LOOPS.keys()))
def test_closed_loops_stay_closed(name):
    result = run(name)
    assert result.passed
    assert np.abs(gap(result.mechanism, result.q.values)).max() < 1e-12
    if result.task == "predict":
        assert result.audit["simulation"].passed and result.audit["closure"].value < 1e-12
        most = 8.0 if "five_bar" in name else 40.0
        assert np.abs(result.tau.values).max() == pytest.approx(most, rel=0.05)


def test_an_example_is_copied_and_never_over_another(tmp_path):
    place = copy_example("kuka_free_fall", tmp_path / "new")
    assert place.read_text(encoding="utf-8") == example_text("kuka_free_fall")
    place.write_text("mine")
    with pytest.raises(InputError, match="already exists"):
        copy_example("kuka_free_fall", tmp_path / "new")
    assert place.read_text() == "mine"
    copy_example("kuka_free_fall", tmp_path / "new", force=True)
    assert run(place, study={"duration": 0.1}).passed


def test_a_pole_is_swung_up_by_its_cart_and_feedback_brings_it_back():
    """The joint of the pole has no torque; from a start beside the motion, LQR about it ends upright."""
    found = run("cart_pole_swing_up")
    assert found.passed and found.statistics["objective"] == pytest.approx(58.81, abs=0.01)
    assert np.abs(found.tau.sel(joint="pivot").values).max() < 5e-3
    motion = kt.trajectories.from_table(*(found[name].values for name in ("time", "q", "qd", "qdd")))
    law = kt.control.LQR(found.mechanism, motion, q_cost=[10.0, 10.0], tau_cost=0.1, nodes=101)
    start = found.q.values[0] + [0.02, 0.05]
    held = kt.simulate(
        found.mechanism, start, found.qd.values[0], 2.0, controller=law, times=3, rtol=1e-5, progress=False
    )
    alone = kt.simulate(
        found.mechanism, start, found.qd.values[0], 2.0, torque=(found.time.values, found.tau.values),
        times=3, rtol=1e-5, progress=False,
    )  # fmt: skip
    end = np.array([1.0, -np.pi])
    assert np.abs(held.q.values[-1] - end).max() < 0.02 < np.abs(alone.q.values[-1] - end).max()


def test_a_fallen_robot_lies_on_the_ground():
    """[Shah2013], section D.2: trunk and knees carry it, and all forces together are its weight."""
    result = run("quadruped_fall", output={"samples": 61})
    assert result.passed
    names = result.contact.values.tolist()
    force = result.contact_force.values[-1, :, 2]
    assert force.sum() == pytest.approx(result.mechanism.mass * 9.81, rel=1e-3)
    assert force[[k for k, name in enumerate(names) if name.startswith("trunk")]].min() > 5.0
    assert -0.02 < result.q.sel(joint="base.tz").values[-1] < 0.02
    assert np.abs(result.qd.values[-1]).max() < 0.05


def test_dust_softens_the_touch_down():
    result = run("planar_biped_dust", study={"duration": 0.95}, output={"samples": 191})
    assert result.passed
    feet = [k for k, name in enumerate(result.contact.values.tolist()) if name in ("heel2", "toe2")]
    up = result.contact_force.values[:, :, feet, 1].sum(axis=2)
    later = result.time.values > 0.5
    peaks = up[:, later].max(axis=1)
    assert peaks[0] > peaks[1] > peaks[2] > 92.0
