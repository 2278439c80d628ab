"""Commands that test, time and convert the user's own mechanism."""

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.operation_counts.measured import total
from typer.testing import CliRunner

import kinetree as kt
from kinetree.analysis.agreement import QUESTIONS, agreement
from kinetree.analysis.derivative_check import check_derivatives
from kinetree.cli import app
from kinetree.derivations import able
from kinetree.dynamics.loops.structure import mobility
from kinetree.formats.dh_csv import mechanism_from_dh_csv
from kinetree.study.speed import best_time
from support.texts import UNPHYSICAL_URDF

DATA = Path(__file__).parent / "data"


def kinetree(*arguments):
    return CliRunner().invoke(app, [str(x) for x in arguments], env={"COLUMNS": "200"})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ---- verify ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["verify", "derivatives", "bench"])
def test_a_mechanism_that_cannot_move_is_refused(command):
    still = kt.Builder("still")
    still.world.fixed("weld").body("post")
    kt.save(still.build(), "still.toml")
    refused = kinetree(command, "still.toml")
    assert refused.exit_code == 2 and "'still' has no degrees of freedom" in refused.stderr


def test_verify_compares_every_formulation_with_every_quantity():
    told = json.loads(kinetree("verify", "gripper", "--states", 1, "--json").stdout)
    assert told["passed"] is True and 0 < told["worst"] < 1e-12
    found = {(row["quantity"], row["formulation"]) for row in told["rows"]}
    assert {(quantity, name) for quantity in QUESTIONS for name in able(quantity)} <= found
    counted = [row for row in told["rows"] if row["formulation"] == "spatial"]
    assert all(row["operations"][0] > 0 and row["seconds"] > 0 for row in counted)


def test_verify_counts_divisions_as_the_page_of_operation_counts_does(monkeypatch):
    """The documents count a division as a multiplication; additions of joint angles are no part of theirs."""
    asked = {"forward_dynamics": QUESTIONS["forward_dynamics"]}
    monkeypatch.setattr("kinetree.analysis.agreement.QUESTIONS", asked)
    rows = agreement(kt.zoo.hexapod(), states=1)
    (found,) = [
        row.operations for row in rows if (row.formulation, row.quantity) == ("denoc", "forward_dynamics")
    ]
    page = (Path(__file__).parents[1] / "docs/formulations/operation_counts.md").read_text("utf-8")
    assert found[0] == total("forward", kt.zoo.hexapod()).M == 1195
    assert f"| {found[0]}M " in page


def test_verify_prints_a_table_and_is_quiet_on_request():
    result = kinetree("verify", "two_link", "--states", 1)
    assert result.exit_code == 0 and "✓" in result.stdout and "Worst relative difference" in result.stdout
    assert kinetree("verify", "two_link", "--states", 1, "--quiet").output == ""


@pytest.mark.parametrize("width", [60, 80])
def test_a_narrow_terminal_breaks_no_name(width):
    told = (
        CliRunner().invoke(app, ["verify", "two_link", "--states", "1"], env={"COLUMNS": str(width)}).stdout
    )
    words = set(told.split())
    assert {name for quantity in QUESTIONS for name in able(quantity)} <= words
    assert {"formulation", "difference", *QUESTIONS} <= words
    assert max(map(len, told.splitlines())) <= width


def test_a_formulation_that_disagrees_is_found(monkeypatch):
    from kinetree.derivations import denoc

    right = denoc.mass_matrix
    monkeypatch.setattr(denoc, "mass_matrix", lambda tree, q: 1.001 * np.asarray(right(tree, q)))
    result = kinetree("verify", "two_link", "--states", 1)
    assert result.exit_code == 3 and "✗" in result.stdout and "disagree by 1.0e-03" in result.stderr
    assert kinetree("verify", "two_link", "--states", 1, "--quiet").exit_code == 3


def test_mimic_joints_massless_bodies_and_limits_of_formulations_are_told():
    hand = kt.Builder("hand")
    rod = kt.Inertia.box(1.0, (0.3, 0.1, 0.2), center=(0.1, 0.0, 0.0))
    palm = hand.world.revolute("palm").body("palm", rod)
    palm.revolute("finger", at=(0.3, 0, 0), axis="y", mimic=kt.model.Mimic("palm", 0.5, 0.1)).body(
        "finger", rod
    )
    rows = agreement(hand.build(), states=2)
    assert all(row.passed for row in rows) and any("mimic" in (row.refused or "") for row in rows)
    assert all(check.passed for check in check_derivatives(hand.build(), states=2))
    empty = kt.Builder("frame")
    empty.world.revolute("hinge").body("frame")
    told = [row.refused for row in agreement(empty.build(), states=1) if row.quantity == "forward_dynamics"]
    assert len(told) == 1 and "hinge" in told[0]


def test_impossible_inertias_of_others_are_warned_of():
    """One rule for all commands: a published file is read, with a warning that says by how much."""
    Path("rod.urdf").write_text(UNPHYSICAL_URDF)
    for command in (["info"], ["draw"], ["verify", "--states", 1], ["derivatives", "--states", 1]):
        looked = kinetree(command[0], "rod.urdf", *command[1:])
        assert looked.exit_code == 0, looked.output
        (said,) = looked.stderr.splitlines()
        assert said.startswith("warning: rod.urdf: unphysical inertias, used as given: 'rod' viol")
        assert "by 4e+02 %" in said
    converted = kinetree("convert", "rod.urdf", "rod.toml")
    assert converted.exit_code == 0 and "'rod' violates the triangle inequality" in converted.stderr
    meant = kinetree("convert", "rod.urdf", "rod.toml", "--allow-unphysical", "--force")
    assert meant.exit_code == 0 and meant.stderr == ""
    assert kinetree("info", "rod.toml").stderr == ""


def test_the_mechanism_of_a_study_can_be_looked_at():
    Path("own.toml").write_text('[study]\ntask = "simulate"\n[mechanism]\nzoo = "puma"\n')
    for study, model in (("own.toml", "puma"), ("kuka_free_fall", "kuka_kr5")):
        assert json.loads(kinetree("info", study, "--json").stdout)["name"] == model
    Path("own.toml").write_text('[study]\ntask = "simulate"\n')
    bare = kinetree("info", "own.toml")
    assert bare.exit_code == 2 and "own.toml" in bare.stderr and "mechanism" in bare.stderr


# ---- derivatives ----------------------------------------------------------------------------------------


def test_derivatives_are_compared_with_two_numerical_methods():
    told = json.loads(kinetree("derivatives", "gripper", "--states", 1, "--json").stdout)
    assert told["passed"] and told["worst"] < 1e-8
    found = {(row["quantity"], row["by"], row["method"]) for row in told["rows"]}
    assert ("inverse_dynamics", "q", "complex step") in found and (
        "joint_reactions",
        "qdd",
        "differences",
    ) in found
    assert ("forward_dynamics", "tau", "differences") in found and len(found) == 12


def test_a_wrong_derivative_is_found_and_named(monkeypatch):
    from kinetree.analysis import derivative_check

    right = derivative_check.joint_reaction_derivatives

    class Wrong:
        def __init__(self, *arguments):
            found = right(*arguments)
            self.dreaction_dqd, self.dreaction_dqdd = found.dreaction_dqd, found.dreaction_dqdd
            self.dreaction_dq = np.array(found.dreaction_dq)
            self.dreaction_dq[1, 4, 0] += 1e-2 * np.abs(self.dreaction_dq).max()

    monkeypatch.setattr(derivative_check, "joint_reaction_derivatives", Wrong)
    result = kinetree("derivatives", "two_link_point_masses", "--states", 1)
    assert result.exit_code == 3
    assert "joint_reactions with respect to q at d link2 my / d joint1" in result.stderr


# ---- bench ----------------------------------------------------------------------------------------------


def test_bench_times_every_quantity(monkeypatch):
    monkeypatch.setattr("kinetree.study.speed.WINDOW", 1e-4)
    told = json.loads(kinetree("bench", "two_link", "--batch", 16, "--json").stdout)
    assert len(told["rows"]) == 10
    assert all(row["alone"] > 0 and row["batch"] > 0 for row in told["rows"])
    printed = kinetree("bench", "two_link", "--batch", 16)
    assert printed.exit_code == 0 and "inverse_dynamics" in printed.stdout
    assert "python -m benchmarks.own" in printed.stdout
    assert kinetree("bench", "two_link", "--batch", 0).exit_code == 2


def test_the_best_window_counts():
    calls = []
    assert best_time(lambda: calls.append(1)) < 1e-3 and len(calls) > 10


# ---- info -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"), [("four_bar", 1), ("three_rrr", 3), ("robotic_leg", 1), ("puma", 6)]
)
def test_mobility_counts_planar_loops_rightly(name, expected):
    assert mobility(kt.zoo.by_name(name)) == expected


def test_info_tells_mobility_and_facts():
    assert "mobility 1 with closed loops" in kinetree("info", "four_bar").stdout
    told = json.loads(kinetree("info", "four_bar", "--json").stdout)
    assert (told["n_dof"], told["mobility"], told["loops"][0]["name"]) == (3, 1, "crank_pin")
    assert [x["bodies"] for x in told["modules"]][1:] == [["crank"], ["rocker", "coupler"]]
    assert {x["name"] for x in json.loads(kinetree("zoo", "--json").stdout)} == {*kt.zoo.ZOO}


# ---- convert --------------------------------------------------------------------------------------------

TABLE = """name,joint,a,alpha_deg,d,theta_deg,mass,cx,cy,cz,ixx,iyy,izz,lower_deg,upper_deg
# a comment
upper,revolute,0.4,90,0.1,0,2,-0.2,0,0,0.01,0.1,0.1,-90,90
fore,prismatic,0.3,0,0.2,,1,-0.15,0,0,0.01,0.1,0.1,,
"""
ROWS = [
    {"name": "upper", "a": 0.4, "alpha": np.pi / 2, "d": 0.1, "mass": 2.0, "center": (-0.2, 0, 0)}
    | {"inertia": (0.01, 0.1, 0.1), "lower": -np.pi / 2, "upper": np.pi / 2},
    {"name": "fore", "joint": "prismatic", "a": 0.3, "d": 0.2, "mass": 1.0, "center": (-0.15, 0, 0)}
    | {"inertia": (0.01, 0.1, 0.1)},
]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_dh_table_in_csv_is_the_table(separator):
    Path("arm.csv").write_text(TABLE.replace(",", separator))
    assert kinetree("convert", "arm.csv", "arm.toml", "--convention", "classic").exit_code == 0
    expected = kt.from_dh(ROWS, convention="classic", name="arm")
    assert kt.load("arm.toml") == expected


CSV = {
    "empty": ("", "arm.csv: is empty"),
    "column": ("a,alfa\n1,2\n", "line 1: unknown column 'alfa'"),
    "column twice": ("a,alpha,alpha_deg\n1,2,3\n", "'alpha' is given twice"),
    "no rows": ("a,alpha\n", "no rows"),
    "short row": ("a,alpha\n\n1\n", "line 3: has 1 cells, but the header 2"),
    "comma": ("a;mass\n0,5;1\n", "line 2: a must be a number, got '0,5'; write a decimal point"),
    "words": ("a,mass\n1,heavy\n", "line 2: mass must be a number, got 'heavy'"),
    "impossible": ("a,mass\n1,1\n1,-1\n", "line 3: DH row 1 ('link2'): mass must be >= 0 kg, got -1"),
}


@pytest.mark.parametrize("case", CSV)
def test_bad_tables_are_refused_with_their_line(case):
    text, reason = CSV[case]
    with pytest.raises(kt.KinetreeError) as caught:
        mechanism_from_dh_csv(text, "arm.csv")
    assert reason in str(caught.value)


def test_formats_are_converted_into_each_other_with_notes(rng):
    assert kinetree("convert", "kuka_kr5", "arm.urdf").exit_code == 0
    assert "triangle inequality" in kinetree("convert", "arm.urdf", "arm.toml").stderr  # link6 of the book
    meant = kinetree("convert", "arm.urdf", "arm.toml", "--quiet", "--allow-unphysical", "--force")
    assert meant.exit_code == 0 and meant.output == ""
    arm, copy = kt.zoo.kuka_kr5(), kt.load("arm.toml")
    s = kt.random_state(arm, rng)
    assert np.allclose(
        kt.inverse_dynamics(copy, s.q, s.qd, s.qdd), kt.inverse_dynamics(arm, s.q, s.qd, s.qdd)
    )
    loops = kinetree("convert", "five_bar", "loop.urdf", "--json")
    (note,) = json.loads(loops.stdout)["notes"]
    assert "gravity (0 -9.81 0)" in note and "loops" not in note
    assert "note: URDF cannot represent" in kinetree("convert", "four_bar", "loop.urdf", "--force").stderr
    bar, back = kt.zoo.four_bar(), kt.load("loop.urdf")
    assert [loop.name for loop in back.loops] == [loop.name for loop in bar.loops]


def test_mjcf_is_converted():
    pytest.importorskip("mujoco")
    told = json.loads(kinetree("convert", DATA / "mjcf" / "arm.xml", "arm.toml", "--json").stdout)
    assert kt.load("arm.toml").n_dof == told["dof"] > 0


def test_conversions_that_cannot_be_are_refused():
    kinetree("convert", "puma", "puma.toml")
    for arguments, reason in (
        (["puma", "puma.toml"], "--force"),
        (["puma", "puma.sdf"], "can be converted into .toml, .urdf, .xml"),
        (["puma.toml", "puma.toml", "--force"], "is the input file"),
        (["puma.toml", "x.toml", "--convention", "classic"], "a convention is for DH tables"),
        (
            ["puma.toml", "x.toml", "--floating-base"],
            "puma.toml: floating_base is not an option for .toml files; set it in the file",
        ),
        (["none.csv", "x.toml"], "no such file"),
    ):
        result = kinetree("convert", *arguments)
        assert result.exit_code == 2 and reason in result.stderr


# ---- quiet and JSON elsewhere -----------------------------------------------------------------------------


def test_quiet_and_json_of_commands_about_results_and_pictures():
    short = ("--set", "study.duration=0.1", "--set", "output.samples=3", "--quiet")
    for name in ("one", "two"):
        assert kinetree("run", "gripper_free_fall", "--output", f"{name}.nc", *short).output == ""
    for arguments in (
        ["plot", "one.nc"],
        ["draw", "gripper"],
        ["examples", "copy", "kuka_free_fall", "mine"],
    ):
        assert (kinetree(*arguments, "--quiet").output, kinetree(*arguments).exit_code) == ("", 2)
    assert kinetree("compare", "one.nc", "two.nc", "--quiet").output == ""
    rows = json.loads(kinetree("compare", "one.nc", "two.nc", "--json").stdout)
    assert {row["variable"] for row in rows} >= {"q", "qd"} and all(row["difference"] == 0 for row in rows)
    largest = float(np.abs(kt.load_result("one.nc").qd.values).max())  # of all joints, not of the first
    assert next(row for row in rows if row["variable"] == "qd")["size"] == largest > 0
    listed = json.loads(kinetree("examples", "--json").stdout)
    assert {"name", "task", "title", "picture"} == listed[0].keys()
    assert next(x for x in listed if x["name"] == "quadruped_trot")["picture"] == "~─4×(∞─o)"
