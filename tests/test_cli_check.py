"""The command that checks files: every fault with its line and rule, and what looks wrong."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli import app
from kinetree.lint.finding import LintFinding
from kinetree.lint.mechanism import check_mechanism_file
from kinetree.lint.rules import RULES
from kinetree.lint.study import check_file
from kinetree.lint.toml import PARTS
from kinetree.study.examples import example_names
from support.texts import UNPHYSICAL_URDF

BROKEN = """name = "arm"
gravty = [0, 0, -9.81]
[[body]]
name = "upper"
joint = { name = "shoulder", kind = "revolute", rpy = [0, 90, 0] }
mass = -1
[[body]]
name = "fore"
parent = "uper"
joint = { name = "elbow", kind = "revolut" }
mass = 1
inertia = [1, 1, 5]
[[body]]
name = "hand"
joint = "fixed"
mass = "heavy"
"""
BROKEN_FINDINGS = {
    (2, "error", "unknown-key"),
    (3, "error", "impossible-body"),
    (5, "warning", "degrees-as-radians"),
    (7, "error", "impossible-body"),
    (9, "error", "impossible-tree"),
    (16, "error", "wrong-value"),
}
ARM = """name = "arm"
[[body]]
name = "upper"
joint = { name = "shoulder", kind = "revolute", axis = "y" }
mass = 2
center = [0.2, 0, 0]
inertia = [0.001, 0.03, 0.03]
[[body]]
name = "fore"
parent = "upper"
joint = { name = "elbow", kind = "revolute", axis = "y", at = [0.4, 0, 0] }
rod = { mass = 1, end = [0.3, 0, 0] }
"""
SUSPICIOUS = {
    "degrees-as-radians": (('axis = "y" }', 'axis = "y", lower = -90, upper = 90 }'), 4, "-90"),
    "millimeters-as-meters": (("at = [0.4, 0, 0]", "at = [400, 0, 0]"), 11, "0.4"),
    "grams-as-kilograms": (("mass = 1, end = [0.3", "mass = 2500, end = [0.05"), 12, "2500"),
    "inertia-does-not-fit": (("[0.001, 0.03, 0.03]", "[1000, 30000, 30000]"), 7, "radius of gyration"),
    "flat-inertia": (("[0.001, 0.03, 0.03]", "[0.01, 0.02, 0.03]"), 7, "thin plate"),
    "unphysical-inertia": (
        ("[0.001, 0.03, 0.03]", "[0.001, 0.01, 0.03]\nallow_unphysical = true"), 7, "triangle inequality",
    ),
    "massless-leaf": (("rod = { mass = 1, end = [0.3, 0, 0] }\n", ""), 8, "elbow"),
    "zero-length-link": (("at = [0.4, 0, 0]", "at = [0, 0.4, 0]"), 11, "shoulder"),
    "no-room-to-move": (('axis = "y" }', 'axis = "y", lower = 1, upper = 1 }'), 4, "cannot move"),
    "rest-outside-limits": (
        ('axis = "y" }', 'axis = "y", lower = -1, upper = 1, stiffness = 5, rest = 2 }'), 4, "rests at 2",
    ),
    "gimbal-lock-at-zero": (
        ('kind = "revolute", axis = "y" }', 'kind = "spherical", sequence = "ZXZ" }'), 4, "gimbal lock",
    ),
    "odd-gravity": (('name = "arm"\n', 'name = "arm"\ngravity = [0, 0, -9810]\n'), 2, "9810"),
}  # fmt: skip


def kinetree(*arguments):
    return CliRunner().invoke(app, [str(x) for x in arguments])


def rules(findings):
    return [(x.line, x.severity, x.rule) for x in findings]


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def written(name, text):
        Path(name).write_text(text, encoding="utf-8")
        return name

    return written


def test_all_faults_of_a_file_are_found_with_their_lines(write):
    found = check_file(write("arm.toml", BROKEN))
    assert {*rules(found)} == BROKEN_FINDINGS
    assert [x.line for x in found] == sorted(x.line for x in found)
    fore = [x.message for x in found if x.line == 7]
    assert len(fore) == 2 and any("triangle" in x for x in fore) and any("'revolut'" in x for x in fore)


def test_a_healthy_file_is_clean(write):
    assert check_file(write("arm.toml", ARM)) == []
    result = kinetree("check", "arm.toml")
    assert (result.exit_code, result.output) == (0, "1 file: no problems found\n")


@pytest.mark.parametrize("rule", SUSPICIOUS)
def test_what_looks_wrong_is_a_warning_with_line_and_value(rule, write):
    (old, new), line, words = SUSPICIOUS[rule]
    assert old in ARM
    found = check_file(write("arm.toml", ARM.replace(old, new, 1)))
    own = [x for x in found if x.rule == rule]
    assert own and own[0].severity == "warning" and own[0].line == line
    assert words in own[0].message
    assert all(x.severity == "warning" for x in found)


def test_angles_in_degrees_are_not_suspected(write):
    text = ARM.replace('axis = "y" }', 'axis = "y", lower = "-90 deg", upper = "720 deg" }', 1)
    assert check_file(write("arm.toml", text)) == []


def test_loops_and_contacts_that_cannot_matter_are_told(write):
    text = ARM + (
        '[[body]]\nname = "stand"\njoint = "fixed"\n'
        '[[body]]\nname = "plate"\nparent = "stand"\njoint = "fixed"\n'
        '[[loop]]\nname = "weld"\nkind = "revolute"\na = { body = "stand" }\nb = { body = "plate" }\n'
        '[[contact]]\nname = "sole"\nbody = "stand"\n'
    )
    found = {(x.rule, x.line) for x in check_file(write("arm.toml", text))}
    assert found == {("unused-loop", 23), ("unused-contact", 27)}


def test_repeated_names_lead_to_the_second_one(write):
    text = ARM.replace('"fore"', '"upper"').replace('"elbow"', '"shoulder"')
    found = [x for x in check_file(write("arm.toml", text)) if x.rule == "repeated-name"]
    assert [x.line for x in found] == [8, 8]


def test_dh_rows_are_checked_one_by_one(write):
    text = 'name = "arm"\n[dh]\n[[dh.row]]\nalpha = 90\n[[dh.row]]\nmass = -1\n[[dh.row]]\njoint = "screw"\n'
    found = [x for x in check_file(write("arm.toml", text)) if x.severity == "error"]
    assert [x.line for x in found] == [3, 5, 7] and {x.rule for x in found} == {"impossible-row"}


def test_all_faults_of_a_urdf_file_are_found(write):
    tensor = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    text = f"""<robot name="r">
<link name="base"/>
<link name="a"><inertial><mass value="1,5"/>{tensor}</inertial></link>
<link name="a"/>
<link name="b"><inertial><mass value="-1"/>{tensor}</inertial></link>
<joint name="j" type="revolute"><parent link="bas"/><child link="a"/><axis xyz="0 0 0"/></joint>
<joint name="k" type="revolut"><parent link="base"/><child link="b"/></joint>
</robot>"""
    found = check_file(write("r.urdf", text))
    assert [(x.line, x.rule) for x in found] == [
        (3, "impossible-body"),
        (4, "repeated-name"),
        (5, "impossible-body"),
        (6, "impossible-joint"),
        (6, "impossible-tree"),
        (7, "impossible-joint"),
    ]


@pytest.mark.parametrize("name", ["arm7.urdf", "gripper.urdf"])
def test_urdf_files_that_are_good_have_no_errors(name):
    path = Path(__file__).parent / "data" / "urdf" / name
    assert [x for x in check_mechanism_file(path) if x.severity == "error"] == []


def test_suspicions_about_a_urdf_file_have_lines(write):
    text = (
        '<robot name="r">\n<link name="base"/>\n<link name="a"><inertial><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>\n'
        '<joint name="j" type="revolute"><parent link="base"/><child link="a"/>\n'
        '<limit lower="-180" upper="180"/></joint></robot>'
    )
    found = check_file(write("r.urdf", text))
    assert rules(found) == [(5, "warning", "degrees-as-radians")] * 2


def test_mjcf_files_are_checked(write):
    pytest.importorskip("mujoco")
    text = (
        '<mujoco model="m"><compiler angle="radian"/><worldbody><body name="b">\n'
        '<joint name="j" type="hinge" axis="0 1 0" range="-90 90" limited="true"/>\n'
        '<inertial pos="0.1 0 0" mass="1" diaginertia="0.01 0.01 0.01"/></body></worldbody></mujoco>'
    )
    assert {x[:2] for x in rules(check_file(write("m.xml", text)))} == {(2, "warning")}
    assert check_file(write("m.xml", "<mujoco"))[0].severity == "error"


# ---- studies --------------------------------------------------------------------------------------------

STUDY = """[study]
task = "simulate"
duration = 1
[mechanism]
zoo = "gripper"
[initial]
q = [0, 0, 0, 0]
"""


@pytest.mark.parametrize("name", example_names())
def test_the_shipped_examples_are_clean(name):
    assert check_file(name) == []


def test_all_faults_of_a_study_are_found(write):
    text = STUDY.replace("duration = 1", "duration = -1\ntitel = 3").replace("gripper", "griper")
    found = check_file(write("s.toml", text))
    assert rules(found) == [
        (3, "error", "wrong-value"),
        (4, "error", "unknown-key"),
        (6, "error", "wrong-value"),
    ]


def test_missing_and_useless_tables_are_all_told(write):
    found = check_file(write("s.toml", '[study]\ntask = "inverse"\n[torque]\n'))
    assert [(x.line, x.rule) for x in found] == [
        (2, "wrong-tables"),
        (2, "wrong-tables"),
        (3, "wrong-tables"),
    ]
    assert "needs a table [mechanism]" in found[0].message and "[trajectory]" in found[1].message


def test_values_in_several_tables_are_all_judged(write):
    text = (
        STUDY.replace("[0, 0, 0, 0]", "[0, 0]")
        + '[[load]]\nbody = "lnk1"\n[torque]\nconstant = [1]\n[plot]\n'
    )
    found = check_file(write("s.toml", text))
    assert [x.line for x in found] == [6, 8, 10]
    assert "Did you mean 'link1'?" in found[1].message


def test_the_mechanism_of_a_study_is_checked_too(write):
    described = BROKEN.replace("[[body]]", "[[mechanism.body]]").replace("gravty = [0, 0, -9.81]\n", "")
    text = STUDY.replace('zoo = "gripper"\n', described)
    assert {x.line for x in check_file(write("s.toml", text)) if x.severity == "error"} == {6, 10, 12, 19}
    write("arm.toml", BROKEN)
    beside = check_file(write("t.toml", STUDY.replace('zoo = "gripper"', 'file = "arm.toml"')))
    assert {*rules(beside)} >= BROKEN_FINDINGS


def test_units_start_and_ground_of_a_study_are_doubted(write):
    (degrees,) = check_file(write("s.toml", STUDY.replace("[0, 0, 0, 0]", "[-60, 0, 0, 0]")))
    assert (degrees.line, degrees.rule) == (7, "degrees-as-radians") and "q_degrees" in degrees.message
    robot = STUDY.replace("gripper", "quadruped").replace("[0, 0, 0, 0]", "{ 'base.rx' = 1.5 }")
    found = {x.rule for x in check_file(write("s.toml", robot))}
    assert found == {"unused-contact", "near-gimbal-lock"}


@pytest.mark.parametrize(
    ("stiffness", "said"),
    [("1e4", "are stable"), ("1e6", "step of 0.01 s"), ("1e9", "step of 0.01 s")],
)
def test_a_step_that_is_too_long_for_the_ground_is_told(write, stiffness, said):
    text = STUDY.replace("gripper", "quadruped").replace("[initial]\nq = [0, 0, 0, 0]\n", "")
    text += f'[ground]\nstiffness = {stiffness}\n[integrator]\nmethod = "rk4"\nstep = 0.01\n'
    (found,) = check_file(write("s.toml", text))
    assert (found.line, found.rule) == (10, "step-too-long") and said in found.message


def test_loops_that_a_task_would_leave_open_are_errors(write):
    text = STUDY.replace("gripper", "four_bar").replace(", 0]", "]")
    (found,) = check_file(write("s.toml", text))
    assert (found.rule, found.severity) == ("open-loop", "error")
    assert "loop 'crank_pin' is open by" in found.message
    ran = kinetree("run", "s.toml")
    assert ran.exit_code == 2 and "crank_pin" in ran.stderr and not Path("s.nc").exists()


def test_loops_that_inverse_dynamics_would_leave_open_are_errors(write):
    motion = '[trajectory]\nkind = "cycloid"\nstart = 0\nend = 0.5\nduration = 1\n'
    text = f'[study]\ntask = "inverse"\n[mechanism]\nzoo = "four_bar"\n{motion}'
    (found,) = check_file(write("s.toml", text))
    assert (found.rule, found.severity) == ("open-loop", "error") and "crank_pin" in found.message


def test_code_is_looked_for_and_not_run(write):
    write("laws.py", "open('touched', 'w')\ndef law(t, q, qd):\n    return 0 * q\n")
    assert check_file(write("s.toml", 'torque = "laws.py:law"\n' + STUDY)) == []
    (found,) = check_file(write("t.toml", 'torque = "laws.py:lav"\n' + STUDY))
    assert "Did you mean 'law'?" in found.message
    assert not Path("touched").exists()


def test_a_world_link_is_no_fault_beside_another(write):
    (found,) = check_file(write("bad.urdf", UNPHYSICAL_URDF))
    assert (found.line, found.rule) == (3, "unphysical-inertia") and "triangle inequality" in found.message
    assert check_file(write("good.urdf", UNPHYSICAL_URDF.replace('"0.1"', '"0.01"'))) == []


# ---- the command ----------------------------------------------------------------------------------------


def test_exit_codes_and_quiet(write):
    write("bad.toml", BROKEN)
    write("odd.toml", ARM.replace("[0.4, 0, 0]", "[400, 0, 0]"))
    assert kinetree("check", "bad.toml").exit_code == 2
    assert kinetree("check", "odd.toml").exit_code == 0
    assert kinetree("check", "odd.toml", "--strict").exit_code == 2
    assert kinetree("check", "odd.toml", "--quiet").output == ""
    both = kinetree("check", "bad.toml", "odd.toml")
    assert both.exit_code == 2 and both.stdout.splitlines()[-1].startswith("2 files: 6 errors, ")
    assert "bad.toml:9: error: parent of body 'fore'" in both.stdout
    missing = kinetree("check", "none.toml")
    assert missing.exit_code == 2 and "none.toml: error: no such file" in missing.stdout


def test_json_holds_all_findings(write):
    write("bad.toml", BROKEN)
    told = json.loads(kinetree("check", "bad.toml", "--json").stdout)
    assert (told["files"], told["errors"], told["warnings"]) == (1, 6, 1)
    assert told["findings"][0].keys() == {"file", "line", "severity", "rule", "message"}


def test_the_rules_are_listed():
    told = kinetree("check", "--rules")
    assert told.exit_code == 0
    assert [line.split()[0] for line in told.stdout.splitlines()] == [*RULES]


def test_every_rule_is_used_and_no_finding_is_without_one():
    """The names of the rules are written where findings are made."""
    package = Path(kt.__file__).parent
    rooms = ("model", "formats", "lint", "study")
    files = [path for room in rooms for path in package.joinpath(room).glob("*.py")]
    text = "".join(path.read_text(encoding="utf-8") for path in files if path.name != "rules.py")
    made = {f"impossible-{part.key.rpartition('.')[2]}" for part in PARTS}
    assert [rule for rule in RULES if f'"{rule}"' not in text and rule not in made] == []
    with pytest.raises(AssertionError, match="no rule"):
        LintFinding("a.toml", 1, "error", "no-such-rule", "")


def test_saved_mechanisms_of_the_zoo_have_no_errors(tmp_path):
    for name in ("gripper", "quadruped", "four_bar", "puma"):
        path = tmp_path / f"{name}.toml"
        kt.save(kt.zoo.by_name(name), path)
        assert [x for x in check_mechanism_file(path) if x.severity == "error"] == []


def test_what_real_robots_have_is_not_suspicious():
    """Wheels that turn fast, telescopes, and small parts of which only a mesh is known."""
    from dataclasses import replace

    from kinetree.model.suspicions import suspicions

    build = kt.Builder("robot")
    base = build.world.revolute("wheel", axis="y", velocity_limit=100.0).body(
        "base", kt.Inertia.box(5.0, (1, 1, 1))
    )
    first = base.prismatic("boom1", axis="x", lower=0.0, upper=0.5).body(
        "tube1", kt.Inertia.rod(1.0, (0.3, 0, 0))
    )
    second = first.prismatic("boom2", axis="x", lower=0.0, upper=0.5).body(
        "tube2", kt.Inertia.rod(1.0, (0.3, 0, 0))
    )
    flange = kt.Inertia(0.1879, (0, 0, -0.00116), (9.89e-5, 9.89e-5, 1.32e-4))
    second.revolute("wrist", axis="z", at=(0.3, 0, 0), lower=-1.0, upper=1.0, velocity_limit=90.0).body(
        "flange", flange
    )
    robot = build.build()
    mesh = kt.model.Shape("mesh", (1, 1, 1), file="flange.stl")
    links = [
        replace(x, body=replace(x.body, shapes=(mesh,))) if x.body.name == "flange" else x
        for x in robot.links
    ]
    found = {(x.rule, x.name) for x in suspicions(replace(robot, links=tuple(links)))}
    assert found == {("degrees-as-radians", "wrist")}
    assert ("inertia-does-not-fit", "flange") in {(x.rule, x.name) for x in suspicions(robot)}
