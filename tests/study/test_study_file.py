"""Study files: what is read, and what is said about what is wrong, and where."""

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import FileError, InputError, KinetreeError
from kinetree.formats.toml_lines import key_lines
from kinetree.study.examples import example_names, example_text
from kinetree.study.file import parse_settings, read_study, study_schema
from kinetree.study.mechanism import joint_values
from kinetree.study.run import prepared, run
from kinetree.study.tasks import known_tasks

FALL = """
[study]
task = "simulate"
duration = 0.1

[mechanism]
zoo = "gripper"

[initial]
q_degrees = [-60, 0, 0, 0]
"""
CONTROL = """
[study]
task = "control"

[mechanism]
zoo = "gripper"

[trajectory]
kind = "cycloid"
start_degrees = [0, 0, 0, 90]
end_degrees = [60, 80, 80, 120]
duration = 1.0

[controller]
kind = "pd"
kp = 49
kd = 14
"""
PENDULUM = """
[study]
task = "simulate"
duration = 0.5

[mechanism]
name = "pendulum"

[[mechanism.body]]
name = "bob"
joint = { name = "pivot", kind = "revolute", axis = "y" }
point = { mass = 1.0, at = [0, 0, -0.5] }

[[mechanism.body]]
name = "cart"
parent = "bob"
joint = { name = "slide", kind = "prismatic", axis = "x" }
point = { mass = 1.0 }
"""


@pytest.fixture
def file(tmp_path):
    """Writes a study and returns its path."""

    def write(text, name="study.toml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


# ---- lines ----------------------------------------------------------------------------------------------

TRICKY = '''
top.dotted = 1   # [not.a.header]
"odd key" = "has = and [brackets]"
text = """
fake = 1
[fake]
"""
[a]
numbers = [
  1, # a ] in a comment
  2,
]
[a.'b c'.d]
x = { y = 1, z = { w = 2 } }
[[list]]
k = 1
[list.inner]
m = 2
[[list]]
k = 2
[[list.deep]]
n = 3
[[list.deep]]
n = 4
'''


def paths(value, path=()):
    """All keys of a parsed file."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from paths(inner, (*path, key))


def test_lines_of_a_tricky_file():
    lines = key_lines(TRICKY)
    wanted = {
        ("top",): 2, ("top", "dotted"): 2, ("odd key",): 3, ("text",): 4, ("a",): 8, ("a", "numbers"): 9,
        ("a", "b c", "d", "x"): 14, ("list",): 15, ("list", 0, "k"): 16, ("list", 0, "inner", "m"): 18,
        ("list", 1, "k"): 20, ("list", 1, "deep", 0, "n"): 22, ("list", 1, "deep", 1, "n"): 24,
    }  # fmt: skip
    assert {path: lines[path] for path in wanted} == wanted
    assert set(lines) <= set(paths(tomllib.loads(TRICKY)))


@pytest.mark.parametrize("name", example_names())
def test_every_key_of_a_shipped_study_is_on_a_line_that_names_it(name):
    text = example_text(name)
    lines, rows = key_lines(text), text.split("\n")
    for path in paths(tomllib.loads(text)):
        keys = [key for key in path if isinstance(key, str)]
        place = next(path[:k] for k in range(len(path), 0, -1) if path[:k] in lines)
        named = [key for key in place if isinstance(key, str)][-1]
        assert named in rows[lines[place] - 1] and named in keys


# ---- what is wrong --------------------------------------------------------------------------------------

WRONG = {
    "unknown table": (FALL + "\n[grond]\n", "line 12: grond: unknown key 'grond'", "Did you mean 'ground'?"),
    "unknown key": (FALL + "qdd = 1", "line 11: initial.qdd: unknown key 'qdd'", "Did you mean 'qd'?"),
    "unknown task": (FALL.replace("simulate", "simulat"), "line 3: study.task", "Did you mean 'simulate'?"),
    "unknown zoo": (
        FALL.replace('"gripper"', '"griper"'),
        "line 7: mechanism.zoo",
        "Did you mean 'gripper'?",
    ),
    "missing task": (FALL.replace('task = "simulate"', ""), "line 2: study.task is missing", "Task:"),
    "missing head": (FALL.replace("[study]", "[stdy]"), "has no [study]", "Did you mean 'study'?"),
    "negative": (FALL.replace("0.1", "-1"), "line 4: study.duration must be a number > 0, got -1", ""),
    "no number": (FALL.replace("0.1", '"1"'), "line 4: study.duration must be a number, got '1'", ""),
    "too short": (FALL.replace("-60, 0, ", ""), "line 9: [initial] q_degrees must have 4 numbers", "got 2"),
    "both": (FALL + "q = 0", "line 9: [initial] give either q or q_degrees", ""),
    "joint": (
        FALL.replace("[-60, 0, 0, 0]", "{ joint11 = 3 }"),
        "[initial] q_degrees",
        "Did you mean 'joint1'?",
    ),
    "no duration": (FALL.replace("duration = 0.1", ""), "line 2: study.duration is missing", "(s)"),
    "unused table": (FALL + '[trajectory]\nkind = "hold"', "does not use [trajectory]", "line 11"),
    "missing table": (
        FALL.replace("simulate", "control"),
        "line 3: the task 'control' needs",
        "[controller]",
    ),
    "method": (FALL + '[integrator]\nmethod = "radu"', "line 12: integrator.method", "Did you mean 'radau'?"),
    "no contact": (FALL + "[ground]\n", "line 11: [ground] mechanism 'gripper' has no contact points", ""),
    "load": (FALL + '[[load]]\nbody = "link9"', "line 11: [load]", "Did you mean 'link"),
    "two torques": (FALL + '[torque]\nconstant = 1\nfile = "x.csv"', "line 11: [torque] give one of", ""),
    "event": (
        FALL + '[integrator]\nstop_at = "touchdown"',
        "stop_at: unknown event 'touchdown'",
        "touch_down",
    ),
    "broken": (FALL + "x = [1,", "broken TOML", "line 11"),
    "kind's key": (
        CONTROL.replace('"cycloid"', '"hold"'),
        "line 8: [trajectory] a trajectory of kind 'hold'",
        "no key 'end_degrees'",
    ),
    "kind": (CONTROL.replace('"cycloid"', '"cyclod"'), "line 9: trajectory.kind", "Did you mean 'cycloid'?"),
    "end": (
        CONTROL.replace("end_degrees", "#"),
        "[trajectory] a trajectory of kind 'cycloid' needs the key 'end'",
        "",
    ),
    "gain": (
        CONTROL.replace("kp = 49", ""),
        "line 14: [controller] a controller of kind 'pd' needs the key 'kp'",
        "",
    ),
    "law's key": (CONTROL + "knows_ground = false", "has no key 'knows_ground'", "kp, bandwidth, kd"),
    "mass": (PENDULUM.replace("mass = 1.0, at", "mass = -1, at"), "line 9: body 'bob': mass", "-1"),
    "parent": (
        PENDULUM.replace('parent = "bob"', 'parent = "bbo"'),
        "line 14: parent of body 'cart'",
        "'bob'?",
    ),
    "axis": (PENDULUM.replace('axis = "y"', 'axis = "q"'), "line 11: mechanism.body[0].joint.axis", "'q'"),
    "two models": (
        PENDULUM.replace("name =", 'zoo = "puma"\nname =', 1),
        "[mechanism] give one of zoo",
        "zoo, a",
    ),
    "degrees of a slider": (PENDULUM + "[initial]\nq_degrees = 5", "joint 'slide' is prismatic", "line 19"),
    "a mechanism": ('name = "arm"\n[[body]]\nname = "x"', "has no [study] table", "kinetree info"),
    "empty": ("", "has no [study] table", "empty"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_with_its_place(case, file):
    text, *parts = WRONG[case]
    path = file(text)
    with pytest.raises(KinetreeError) as refused:
        prepared(path).run()
    said = str(refused.value)
    assert said.startswith(str(path)), said
    assert all(part in said for part in parts), said


def test_all_complaints_come_together_in_the_order_of_the_file(file):
    text = FALL.replace("0.1", "-1").replace('"gripper"', '"griper"') + "[integrator]\nrtol = 'x'"
    with pytest.raises(FileError) as refused:
        read_study(file(text))
    assert [line.split("line ")[1].split(":")[0] for line in str(refused.value).split("\n")] == [
        "4",
        "7",
        "12",
    ]


@pytest.mark.parametrize(
    ("study", "reason"),
    [
        ("gripper_fre_fall", "Did you mean 'gripper_free_fall'?"),
        ("none.toml", "no such file"),
        ("arm.urdf", "suffix .toml"),
        (7, "path of a .toml file or the name of an example"),
    ],
)
def test_a_study_that_is_not_there(study, reason):
    with pytest.raises(KinetreeError) as refused:
        read_study(study)
    assert reason in str(refused.value)


# ---- what is right --------------------------------------------------------------------------------------


def test_a_described_mechanism_moves_as_physics_has_it(file):
    """A point mass on a rod of 0.5 m, small swing: period 2 pi sqrt(l / g)."""
    single = PENDULUM.split("[[mechanism.body]]")
    text = "[[mechanism.body]]".join(single[:2]) + "\n[initial]\nq = { pivot = 1e-4 }"
    half = np.pi * np.sqrt(0.5 / 9.81)
    result = run(
        file(text), study={"duration": float(half)}, output={"samples": 2}, integrator={"atol": 1e-14}
    )
    assert result.mechanism.name == "pendulum"
    assert result.q.values[-1, 0] == pytest.approx(-1e-4, rel=1e-6)


def test_a_mechanism_file_is_looked_for_beside_the_study(file, tmp_path, monkeypatch):
    kt.save(kt.zoo.chain(), tmp_path / "arm.urdf")
    text = FALL.replace('zoo = "gripper"', 'file = "arm.urdf"\ngravity = [0, 0, -1.62]').split("[initial]")[0]
    monkeypatch.chdir("/")
    result = run(file(text))
    assert result.mechanism.n_dof == 6 and result.mechanism.gravity.tolist() == [0, 0, -1.62]


def test_a_urdf_can_float_in_a_study(file, tmp_path):
    inertia = '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.3"/>'
    trunk = f'<link name="trunk"><inertial><mass value="2"/>{inertia}</inertial></link>'
    (tmp_path / "trunk.urdf").write_text(f'<robot name="box">{trunk}</robot>')
    head = '[study]\ntask = "simulate"\nduration = 0.1\n[mechanism]\nfile = "trunk.urdf"\n'
    text = head + "parameters = {option = VALUE, allow_unphysical = true}\n"
    motion = run(file(text.replace("option", "floating_base").replace("VALUE", "true")))
    assert motion.mechanism.n_dof == 6
    lost = motion.potential_energy.values[0] - motion.potential_energy.values
    assert lost == pytest.approx(2.0 * 9.81**2 * motion.time.values**2 / 2, rel=1e-6, abs=1e-9)
    for option, value, message in (
        ("floating", "true", "Did you mean 'floating_base'"),
        ("floating_base", "3", "true or false, got 3"),
    ):
        with pytest.raises(kt.errors.InputError, match=message):
            run(file(text.replace("option", option).replace("VALUE", value)))


def test_settings_from_outside_count_and_are_blamed(file):
    path = file(FALL)
    assert run(path, study={"duration": 0.05}).time.values[-1] == pytest.approx(0.05)
    settings = parse_settings(["integrator.method=rk4", "integrator.step=1e-3", "output.times=[0.0, 0.1]"])
    assert settings == {"integrator": {"method": "rk4", "step": 1e-3}, "output": {"times": [0.0, 0.1]}}
    result = prepared(path, settings).run()
    assert result.settings["method"] == "rk4" and result.time.values.tolist() == [0.0, 0.1]
    for bad, said in (
        ("initial.q=[1]", "with --set initial.q: [initial]"),
        ("study.durtion=1", "--set study.durtion"),
    ):
        with pytest.raises(KinetreeError) as refused:
            prepared(path, parse_settings([bad]))
        assert said in str(refused.value)
    for bad in ("duration", "=3", "a b=3"):
        with pytest.raises(InputError, match="--set takes key=value"):
            parse_settings([bad])


def test_the_result_tells_the_study(file):
    result = run(file(FALL, "fall.toml"), study={"title": "A fall"})
    told = result.settings["study"]
    assert (told["name"], told["title"]) == ("fall", "A fall")
    assert told["file"]["initial"] == {"q_degrees": [-60, 0, 0, 0]}


def test_angles_in_degrees_radians_and_texts_are_the_same(file):
    other = FALL.replace("q_degrees = [-60, 0, 0, 0]", 'q = ["-60 deg", 0, 0, 0]')
    third = FALL.replace("[-60, 0, 0, 0]", "{ joint1 = -60 }")
    starts = [run(file(text)).q.values for text in (FALL, other, third)]
    assert np.array_equal(starts[0], starts[1]) and np.array_equal(starts[0], starts[2])
    assert joint_values(run(file(FALL)).mechanism, 2.0, None, "q").tolist() == [2.0] * 4


def test_every_task_has_a_file_and_the_schema_knows_all():
    schema = study_schema()
    tasks = {
        "inverse",
        "hybrid",
        "simulate",
        "control",
        "predict",
        "stability",
        "compare",
        "walk",
        "gait",
        "lift",
        "laboratory",
        "iftomm",
    }
    assert tasks == set(known_tasks())
    head = schema["$defs"]["StudyHead"]["properties"]
    assert set(head["task"]["enum"]) == set(known_tasks())
    assert {"mechanism", "trajectory", "torque", "controller", "ground", "predict"} <= schema[
        "properties"
    ].keys()
    described = [x for table in schema["$defs"].values() for x in table.get("properties", {}).values()]
    assert all(x.get("description") for x in described)
    json.dumps(schema)


def test_the_studies_of_the_documentation_run(file):
    page = (Path(__file__).parents[2] / "docs" / "study_file.md").read_text(encoding="utf-8")
    blocks = re.findall(r'^```toml title="\w+\.toml"\n(.*?)^```', page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    for text in blocks:
        assert run(file(text)).passed
