"""Cycles, scores and strides of a gait, from results that are made of measured means."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli import app
from kinetree.gait_data.curves import ANGLES, FORCES, MOMENTS
from kinetree.report.arrows import force_arrows
from kinetree.report.frames import frames
from kinetree.report.html.pictures import gait
from kinetree.result.build import build_result
from kinetree.result.records import Check

PERSON = kt.zoo.human().frozen(kt.human.FROZEN_WHILE_WALKING).fused()


def measured_step(data="arnold5", mechanism=PERSON, change=None, samples=51):
    """A result of one step whose legs move as was measured: the right one 0-50 %, the left one 50-100 %."""
    means = {key: np.array(curve) for key, curve in kt.gait_analysis.measured_walking(data).mean.items()}
    for key, function in (change or {}).items():
        means[key] = function(means[key])
    percent = np.linspace(0.0, 50.0, samples)
    halves = {
        key: [np.interp(percent + 50.0 * k, np.arange(101), x) for k in (0, 1)] for key, x in means.items()
    }
    q, qd, tau = (np.zeros((samples, mechanism.n_dof)) for _ in range(3))
    for k, side in enumerate(("right", "left")):
        for key, kind in ANGLES.items():
            q[:, mechanism.joint_index(f"{side}_{kind.source}")] = np.radians(halves[key][k])
        for key, kind in MOMENTS.items():
            tau[:, mechanism.joint_index(f"{side}_{kind.source}")] = halves[key][k] * mechanism.mass
    weight = mechanism.mass * 9.80665
    force = np.zeros((samples, 2, 3))
    for k, sign in enumerate((-1.0, 1.0)):
        vertical, foreaft, lateral = (weight * halves[key][k] for key in FORCES)
        force[:, k] = np.stack([foreaft, sign * lateral, vertical], axis=1)
    q[:, mechanism.joint_index("root.x")] = np.linspace(0.0, 0.6, samples)
    variables = {"time": np.linspace(0, 0.5, samples), "q": q, "qd": qd, "qdd": qd, "tau": tau}
    forces, feet = kt.gait_analysis.ground_variables({"right": force[:, 0], "left": force[:, 1]})
    return build_result("predict", mechanism, variables | forces, coordinates=feet)


@pytest.mark.parametrize("data", kt.gait_analysis.DATA_SETS)
def test_measured_means_score_full_marks(data):
    cycle = kt.gait_analysis.gait_cycle(measured_step(data))
    measured = kt.gait_analysis.measured_walking(data)
    assert cycle.duration == pytest.approx(1.0) and cycle.mass == pytest.approx(75.0)
    for key, mean in measured.mean.items():
        assert np.allclose(cycle[key], mean, atol=1e-9 * np.ptp(mean)), key
    score = kt.gait_analysis.gait_score(cycle, data)
    assert {row.curve for row in score.curves} == set(measured.mean)
    for row in score.curves:
        assert row.r == pytest.approx(1.0) and row.range_ratio == pytest.approx(1.0) and row.within == 1.0
        assert row.rmse == pytest.approx(0.0, abs=1e-9) and (row.peak, row.peak_at) == pytest.approx(
            (row.peak_measured, row.peak_measured_at)
        )
    assert score.missed == ()
    assert score.stance == pytest.approx(score.stance_measured, abs=1.0)
    assert [height for _, height in score.peaks] == pytest.approx([h for _, h in score.peaks_measured])


def test_known_distortions_have_known_scores():
    measured = kt.gait_analysis.measured_walking("arnold5")
    change = {
        "knee_flexion": lambda x: x.mean() + 1.5 * (x - x.mean()) + 7.0,  # larger and shifted
        "hip_flexion": lambda x: -x,
        "ankle_flexion": lambda x: np.roll(x[:-1], 10)[np.arange(101) % 100],  # ten percent late
        "force_vertical": lambda x: 1.25 * x,
    }
    score = kt.gait_analysis.gait_score(kt.gait_analysis.gait_cycle(measured_step(change=change)), "arnold5")
    knee, hip, ankle = (score[f"{x}_flexion"] for x in ("knee", "hip", "ankle"))
    assert knee.r == pytest.approx(1.0) and knee.range_ratio == pytest.approx(1.5)
    assert knee.offset == pytest.approx(7.0)
    assert knee.rmse == pytest.approx(0.5 * measured.mean["knee_flexion"].std(), rel=1e-6)
    assert knee.rmse_sd == pytest.approx(knee.rmse / measured.sd["knee_flexion"].mean())
    assert hip.r == pytest.approx(-1.0) and hip.within < 0.3
    assert (ankle.peak_at - ankle.peak_measured_at) % 100 == pytest.approx(10.0)
    assert ankle.r < 0.9
    missed = set(score.missed)
    assert {
        "r of hip_flexion",
        "range of knee_flexion",
        "first vertical peak",
        "second vertical peak",
    } <= missed
    assert "r of force_vertical" not in missed
    with pytest.raises(kt.errors.InputError, match="no curve 'elbow'"):
        score["elbow"]


def test_legs_take_turns():
    """The left leg's cycle is the same: who walks evenly does with one leg what the other did before."""
    right, left = (kt.gait_analysis.gait_cycle(measured_step(), leg) for leg in ("right", "left"))
    for key in right.curves:
        assert np.allclose(right[key], left[key], atol=1e-12)


def test_a_stride_needs_no_mirror():
    step = measured_step()
    whole = kt.gait_analysis.strides(step, 1)
    assert whole.settings["steps"] == 2
    expected = kt.gait_analysis.gait_cycle(step)
    for leg in ("right", "left"):
        cycle = kt.gait_analysis.gait_cycle(whole, leg)
        assert cycle.duration == pytest.approx(1.0)
        for key in (*ANGLES, *FORCES):
            inner = slice(1, 100)
            assert np.allclose(cycle[key][inner], expected[key][inner], atol=1e-6 * np.ptp(expected[key]))


def test_strides_go_on():
    """Rooted at a foot or at the pelvis, three strides are the same motion of the same matter."""
    step = measured_step()
    walk = kt.gait_analysis.strides(step, 3)
    assert walk.time.values[-1] == pytest.approx(3.0) and (np.diff(walk.time.values) > 0).all()
    x = walk.q.sel(joint="root.x").values
    assert x[-1] == pytest.approx(3.6) and (np.diff(x) > 0).all()
    foot = PERSON.rooted_at("right_foot", point="right_heel", sequence="ZXY")
    state = kt.analysis.change_root(PERSON, foot, step.q.values, step.qd.values)
    moved = {"time": step.time.values, "q": state.q, "qd": state.qd, "qdd": state.qd, "tau": 0 * state.q}
    both = step.ground_reaction.values
    forces, feet = kt.gait_analysis.ground_variables({"right": both[:, 0], "left": both[:, 1]})
    other = kt.gait_analysis.strides(build_result("predict", foot, moved | forces, coordinates=feet), 3)
    assert other.mechanism.links[0].body.name == "pelvis"
    for mechanism, motion in ((walk.mechanism, walk), (other.mechanism, other)):
        center = kt.center_of_mass(mechanism, motion.q.values)
        if motion is walk:
            expected = center
    assert np.allclose(center - center[0], expected - expected[0], atol=1e-9)
    assert np.allclose(other.ground_reaction.values, walk.ground_reaction.values)


def test_contact_forces_are_summed_by_foot():
    step = measured_step()
    names = [point.name for point in PERSON.contact_points]
    force = np.zeros((51, len(names), 3))
    for k, side in enumerate(("right", "left")):
        mine = [j for j, name in enumerate(names) if name.startswith(side)]
        force[:, mine] = step.ground_reaction.values[:, k, None] / len(mine)
    variables = {name: step[name].values for name in ("time", "q", "qd", "qdd", "tau")}
    other = build_result("predict", PERSON, variables | {"contact_force": force})
    assert np.allclose(
        kt.gait_analysis.gait_cycle(other)["force_vertical"],
        kt.gait_analysis.gait_cycle(step)["force_vertical"],
    )


def test_joint_forces_are_those_of_the_joint():
    """Wherever the tree is rooted; the left leg hangs free of the root in both."""
    rng = np.random.default_rng(0)
    q, qd, qdd = (0.2 * rng.standard_normal((20, PERSON.n_dof)) for _ in range(3))
    foot = PERSON.rooted_at("right_foot", sequence="ZXY")
    state = kt.analysis.change_root(PERSON, foot, q, qd, qdd)
    weight = 75.0 * 9.80665
    for mechanism, x in ((PERSON, (q, qd, qdd)), (foot, (state.q, state.qd, state.qdd))):
        variables = {"time": np.linspace(0, 0.5, 20), "tau": kt.inverse_dynamics(mechanism, *x)}
        variables |= dict(zip(("q", "qd", "qdd"), x, strict=True))
        variables["reaction"] = kt.joint_reactions(mechanism, *x)
        cycle = kt.gait_analysis.gait_cycle(build_result("predict", mechanism, variables))
        assert "force_vertical" not in cycle.curves and np.isnan(cycle.stance)
        for joint, body in (("hip", "left_thigh"), ("knee", "left_shank"), ("ankle", "left_foot")):
            size = np.linalg.norm(kt.joint_reactions(PERSON, q, qd, qdd)[0, PERSON.body_index(body), :3])
            assert cycle[f"{joint}_reaction"][50] * weight == pytest.approx(
                size, rel=1e-9
            )  # the left leg's start


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: kt.gait_analysis.gait_cycle(r, "middle"), "leg must be 'right' or 'left'"),
        (lambda r: kt.gait_analysis.gait_cycle(r, steps=3), "1 step or the 2"),
        (lambda r: kt.gait_analysis.gait_cycle(measured_step(samples=5)), "at least 8 samples"),
        (lambda r: kt.gait_analysis.measured_walking("norm"), "unknown data set of measured walking 'norm'"),
        (
            lambda r: kt.gait_analysis.ground_variables({"right": np.zeros((3, 3))}),
            "for the feet 'right' and 'left'",
        ),
        (lambda r: kt.gait_analysis.strides(r, 0), "integer from 1"),
        (
            lambda r: kt.gait_analysis.gait_score(kt.gait_analysis.GaitCycle(np.arange(101), {}, 60, 1, 75)),
            "no curve",
        ),
    ],
)
def test_what_is_no_gait_is_refused(call, words):
    with pytest.raises(kt.KinetreeError, match=words):
        call(measured_step())


def test_other_mechanisms_do_not_walk_like_people():
    arm = kt.zoo.two_link()
    motion = {"time": np.linspace(0, 1, 20), "q": np.zeros((20, 2)), "qd": np.zeros((20, 2))}
    with pytest.raises(
        kt.errors.InputError, match=r"is not a walking human: it lacks the joints right_hip\.flexion"
    ):
        kt.gait_analysis.gait_cycle(build_result("simulate", arm, motion))


# ---- the command ----------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    measured_step().save("walk.nc")
    return tmp_path


def kinetree(*words):
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})


def test_command_compares_with_a_table_of_the_user(folder):
    (folder / "mine.csv").write_text("percent,knee_flexion\n0,5\n15,20\n40,5\n72,65\n100,5\n")
    outcome = kinetree("validate", "gait", "walk.nc", "--json", "--data", "mine.csv")
    assert [row["curve"] for row in json.loads(outcome.stdout)["mine"]["curves"]] == ["knee_flexion"]
    shown = kinetree("validate", "gait", "walk.nc", "--data", "mine.csv", "--picture", "mine.png")
    assert shown.exit_code == 0 and "measured walking in mine.csv" in shown.stdout
    outcome = kinetree("validate", "gait", "walk.nc", "--data", "mine")
    assert outcome.exit_code == 2 and "arnold5, opencap10. Your own data are a .csv file." in outcome.stderr


def test_command_prints_and_saves(folder):
    outcome = kinetree("validate", "gait", "walk.nc")
    assert outcome.exit_code == 0, outcome.output
    assert "arnold5" in outcome.stdout and "opencap10" in outcome.stdout and "1.000" in outcome.stdout
    assert "warning" not in outcome.stderr
    outcome = kinetree("validate", "gait", "walk.nc", "--json", "--data", "arnold5")
    assert set(json.loads(outcome.stdout)) == {"arnold5"}
    assert [path.name for path in folder.iterdir()] == ["walk.nc"]  # it writes nothing by itself
    assert kinetree("validate", "gait", "walk.nc", "-o", "score.json").exit_code == 0
    saved = json.loads((folder / "score.json").read_text())
    assert saved["arnold5"]["missed"] == [] and set(saved) == {"arnold5", "opencap10"}
    again = kinetree("validate", "gait", "walk.nc", "-o", "score.json")
    assert again.exit_code == 2 and "already exists" in again.output
    assert kinetree("validate", "gait", "walk.nc", "-o", "score.json", "--force").exit_code == 0
    outcome = kinetree("validate", "gait", "walk.nc", "-o", "score.csv", "--quiet")
    assert outcome.stdout == ""
    rows = list(csv.DictReader((folder / "score.csv").read_text().splitlines()))
    assert {row["data"] for row in rows} == {"arnold5", "opencap10"}
    assert float(rows[0]["r"]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["walk.nc", "--data", "norm"], "unknown data set"),
        (["walk.nc", "-o", "score.txt"], "scores can be written as"),
        (["walk.nc", "--picture", "walk.txt"], "picture"),
        (["walk.nc", "--leg", "middle"], "leg must be"),
        (["none.nc"], "none.nc"),
    ],
)
def test_command_says_what_is_wrong(folder, words, complaint):
    outcome = kinetree("validate", "gait", *words)
    assert outcome.exit_code == 2 and complaint in outcome.output
    assert [path.name for path in folder.iterdir()] == ["walk.nc"]


# ---- pictures and files ---------------------------------------------------------------------------------


def test_scores_of_a_motion_that_failed_its_checks_come_with_a_warning(folder):
    fell = Check.within(2.0, 1.0, "m", "it stands")
    replace(measured_step(), audit={"height": fell}).save("fallen.nc")
    outcome = kinetree("validate", "gait", "fallen.nc")
    assert (
        outcome.exit_code == 0
        and "warning: this motion failed checks of its audit (height)" in outcome.stderr
    )


def test_picture_shows_curves_above_bands():
    figure = kt.gait_analysis.plot_gait(measured_step())
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert (
        len(titles) == 12 and titles[0] == "hip flexion   r = 1.00" and titles[3].startswith("vertical force")
    )
    knee = figure.axes[1]
    lines = {line.get_gid(): line for line in knee.lines}
    assert np.allclose(lines["knee_flexion"].get_ydata(), lines["mean"].get_ydata())
    assert {x.get_gid() for x in knee.collections} == {"1 SD", "2 SD"}
    assert lines["toe-off"].get_xdata()[0] == pytest.approx(62.8, abs=0.5)
    plain = kt.gait_analysis.plot_gait(kt.gait_analysis.gait_cycle(measured_step()), data=None)
    assert not plain.axes[0].collections
    with pytest.raises(kt.errors.InputError, match="no curves"):
        kt.gait_analysis.plot_gait(kt.gait_analysis.GaitCycle(np.arange(101.0), {}, 60.0, 1.0, 75.0))


def test_report_puts_walking_beside_measurements():
    shown = gait(measured_step())
    assert "Right leg over its gait cycle" in shown and "Meets 14 of 14 criteria" in shown
    assert not gait(kt.gait_analysis.strides(measured_step(), 2))
    assert not gait(kt.simulate(kt.zoo.two_link(), [0, 0], duration=0.1, times=3))


def test_ground_reactions_for_opensim(folder):
    """x forward, y up, z to the right: what OpenSim's tables of external loads have."""
    step = measured_step()
    outcome = kinetree("export", "walk.nc", "grf.mot", "--variable", "ground_reaction")
    assert outcome.exit_code == 2 and "no 'ground_reaction_point'" in outcome.output
    force = step.ground_reaction.values
    both = [{"right": x[:, 0], "left": x[:, 1]} for x in (force, 0.1 * force, 0.01 * force)]
    variables, feet = kt.gait_analysis.ground_variables(*both)
    motion = {name: step[name].values for name in ("time", "q", "qd", "qdd", "tau")}
    build_result("predict", PERSON, motion | variables, coordinates=feet).save("full.nc")
    assert kinetree("export", "full.nc", "grf.mot", "--variable", "ground_reaction").exit_code == 0
    lines = (folder / "grf.mot").read_text().splitlines()
    end = lines.index("endheader")
    names = lines[end + 1].split("\t")
    rows = np.array([[float(x) for x in line.split("\t")] for line in lines[end + 2 :]])
    assert len(names) == 19 and rows.shape == (51, 19)
    table = dict(zip(names, rows.T, strict=True))
    assert np.allclose(table["right_ground_force_vy"], force[:, 0, 2])
    assert np.allclose(table["left_ground_force_vz"], -force[:, 1, 1])
    assert np.allclose(table["left_ground_force_px"], 0.1 * force[:, 1, 0])
    assert np.allclose(table["right_ground_torque_y"], 0.01 * force[:, 0, 2])


def test_forces_on_feet_are_drawn():
    """Arrows begin where the ground pushes; a foot in the air keeps its last place and has no arrow."""
    step = measured_step()
    force = step.ground_reaction.values
    point = np.zeros_like(force)
    point[:, 0] = [0.1, -0.05, 0.0]
    point[:, 1] = [-0.5, 0.05, 0.0]
    point[force[..., 2] < 1.0] = np.nan
    both = [{"right": x[:, 0], "left": x[:, 1]} for x in (force, point)]
    variables, feet = kt.gait_analysis.ground_variables(*both)
    motion = {name: step[name].values for name in ("time", "q", "qd", "qdd", "tau")}
    result = build_result("predict", PERSON, motion | variables, coordinates=feet)
    (arrows,) = force_arrows(frames(result), longest=0.4)
    assert arrows.kind == "contact" and np.allclose(arrows.at[:, 1], [-0.5, 0.05, 0.0])
    assert np.allclose(arrows.vector[10] / arrows.per_newton, force[10])
    walk = kt.gait_analysis.strides(result, 1)
    (later,) = force_arrows(frames(walk), longest=0.4)
    last = np.flatnonzero(walk.time.values >= 0.6)[0]
    assert later.at[last, 1] == pytest.approx([0.1 + 0.6, 0.05, 0.0])  # the left foot has stepped


def test_strides_are_exported(folder):
    assert kinetree("export", "walk.nc", "walk.csv", "--strides", "2").exit_code == 0
    rows = list(csv.DictReader((folder / "walk.csv").read_text().splitlines()))
    assert float(rows[-1]["time [s]"]) == pytest.approx(2.0)
    assert kinetree("export", "walk.nc", "none.csv", "--strides", "0").exit_code == 2
