"""Bad input that people have given to programs like this one: each is refused in words, or harmless.

A message names the offender, its value and what is allowed. The kinds are those that were seen to crash
other libraries or to give NaN and wrong numbers without a word.
"""

import dataclasses
import pickle
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli import app
from kinetree.gait_data.score import vertical_peaks
from kinetree.model.human.strength import scaled_torques
from support.each import each

URDF = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><mass value="MASS"/>INERTIA</inertial>SHAPE</link>
  <link name="fore"><inertial><mass value="1"/>INERTIA</inertial></link>
  <joint name="shoulder" type="TYPE"><parent link="base"/><child link="upper"/>AXISLIMIT</joint>
  <joint name="elbow" type="continuous"><parent link="PARENT"/><child link="fore"/></joint>
</robot>
"""
TENSOR = '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>'
USUAL = {
    "MASS": "2",
    "INERTIA": TENSOR,
    "SHAPE": "",
    "TYPE": "continuous",
    "AXIS": "",
    "LIMIT": "",
    "PARENT": "upper",
}
MESH = '<visual><geometry><mesh filename="{}"/></geometry></visual>'


def urdf(text=URDF, **changes):
    for word, value in (USUAL | changes).items():
        text = text.replace(word, value)
    return text


def with_mass(mass):
    return urdf(MASS=mass)


def tensor(**changes):
    numbers = {"ixx": "0.1", "iyy": "0.1", "izz": "0.1"} | changes
    attributes = " ".join(f'{key}="{value}"' for key, value in numbers.items())
    return f'<inertia {attributes} ixy="0" ixz="0" iyz="0"/>'


TWO_PARENTS = urdf().replace(
    "</robot>", '<joint name="rod" type="fixed"><parent link="base"/><child link="fore"/></joint></robot>'
)
TOML = 'name = "arm"\n[[body]]\nname = "upper"\njoint = { name = "shoulder", kind = "revolute" }\n'
CYCLE = 'name = "arm"\n' + "".join(
    f'[[body]]\nname = "b{k}"\nparent = "b{(k + 1) % 50}"\njoint = {{ name = "j{k}", kind = "revolute" }}\n'
    for k in range(50)
)


def named(name):
    return TOML.replace('"upper"', f'"{name}"')


MODELS = {
    "1 empty": ("arm.urdf", "", ["arm.urdf", "empty"]),
    "1 empty TOML": ("arm.toml", "", ["arm.toml", "empty", "[[body]]"]),
    "1 empty MJCF": ("arm.xml", "", ["arm.xml", "empty"]),
    "2 not XML": ("arm.urdf", "hello\nworld", ["arm.urdf", "line 1"]),
    "3 truncated": ("arm.urdf", urdf()[:300], ["arm.urdf", "line", "cut off"]),
    "5 mass nan": ("arm.urdf", with_mass("nan"), ["line 3", "upper", "mass", "nan"]),
    "6 mass inf": ("arm.urdf", with_mass("inf"), ["line 3", "upper", "mass", "inf"]),
    "7 mass negative": ("arm.urdf", with_mass("-1"), ["line 3", "upper", "mass must be >= 0", "-1"]),
    "9 mass in words": ("arm.urdf", with_mass("heavy"), ["line 3", "upper", "must be a number", "heavy"]),
    "10 decimal comma": ("arm.urdf", with_mass("1,5"), ["line 3", "1,5", "decimal point"]),
    "11 negative inertia": (
        "arm.urdf",
        urdf(INERTIA=tensor(ixx="-1")),
        ["upper", "positive semidefinite", "-1"],
    ),
    "12 triangle": ("arm.urdf", urdf(INERTIA=tensor(izz="5")), ["upper", "triangle inequality", "5"]),
    "13 zero axis": (
        "arm.urdf",
        urdf(TYPE="revolute", AXIS='<axis xyz="0 0 0"/>'),
        ["shoulder", "zero vector", "[0.0, 0.0, 0.0]"],
    ),
    "15 short axis": ("arm.urdf", urdf(AXIS='<axis xyz="1 0"/>'), ["shoulder", "3 numbers", "1 0"]),
    "16 axis nan": ("arm.urdf", urdf(AXIS='<axis xyz="nan 0 1"/>'), ["shoulder", "xyz", "nan"]),
    "17 same name": (
        "arm.urdf",
        urdf().replace('"fore"', '"upper"'),
        ["line 4", "two links are called 'upper'", "line 3"],
    ),
    "18 unknown parent": ("arm.urdf", urdf(PARENT="uper"), ["elbow", "'uper'", "Did you mean 'upper'?"]),
    "19 own parent": ("arm.urdf", urdf(PARENT="fore"), ["elbow", "'fore' is its own parent"]),
    "20 two parents": ("arm.urdf", TWO_PARENTS, ["rod", "'fore' has two parents", "elbow", "loop"]),
    "22 limits": (
        "arm.urdf",
        urdf(TYPE="revolute", LIMIT='<limit lower="1" upper="-1"/>'),
        ["shoulder", "lower = 1", "upper = -1", "no position"],
    ),
    "23 joint type": (
        "arm.urdf",
        urdf(TYPE="revolut"),
        ["shoulder", "'revolut'", "prismatic", "Did you mean"],
    ),
    "24 entity bomb": (
        "arm.urdf",
        '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n' + urdf(),
        ["line 1", "<!DOCTYPE", "not allowed"],
    ),
    "25 external entity": (
        "arm.xml",
        '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><mujoco>&a;</mujoco>',
        ["<!DOCTYPE", "not allowed"],
    ),
    "26 mesh outside": (
        "arm.urdf",
        urdf(SHAPE=MESH.format("../../../etc/passwd")),
        ["upper", "../../../etc/passwd", "outside"],
    ),
    "26 mesh at the root": ("arm.urdf", urdf(SHAPE=MESH.format("/etc/passwd")), ["upper", "/etc/passwd"]),
    "28 deep XML": ("arm.urdf", "<robot>" + "<a>" * 20_000, ["nested deeper than 500"]),
    "29 include of itself": (
        "arm.xml",
        '<mujoco><include file="arm.xml"/></mujoco>',
        ["arm.xml", "includes itself"],
    ),
    "30 typo in an attribute": (
        "arm.urdf",
        urdf().replace("mass value", "mass valeu", 1),
        ["line 3", "'valeu'", "Did you mean 'value'?"],
    ),
    "30 typo in a key": ("arm.toml", TOML + "mas = 1\n", ["upper", "'mas'", "Did you mean 'mass'?"]),
    "22 limits in TOML": (
        "arm.toml",
        TOML.replace('"revolute" }', '"revolute", lower = 2, upper = 1 }'),
        ["shoulder", "2", "1", "exceeds"],
    ),
    "key twice": ("arm.toml", TOML + "mass = 1\nmass = 2\n", ["line 6", "twice", "mass = 2"]),
    "degrees as a length": (
        "arm.toml",
        TOML.replace('"revolute"', '"prismatic", upper = "90 deg"'),
        ["upper", "length (m)", "90 deg"],
    ),
    "decimal comma in TOML": ("arm.toml", TOML + "mass = 1,5\n", ["line 5", "decimal point", "mass = 1,5"]),
    "lines that end in CR": ("arm.toml", TOML.replace("\n", "\r"), ["line 1", r'"arm"\r[[body]]\r']),
    "own parent in TOML": ("arm.toml", TOML + 'parent = "upper"\n', ["line 2", "cycle: upper -> upper"]),
    "same body twice": ("arm.toml", TOML + TOML[13:], ["line 5", "more than one body is called 'upper'"]),
    "same joint twice": (
        "arm.toml",
        TOML + TOML[13:].replace('"upper"', '"fore"'),
        ["line 5", "more than one joint is called 'shoulder'"],
    ),
    "mimic of nothing": (
        "arm.toml",
        TOML.replace('"revolute"', '"revolute", mimic = { joint = "elbow" }'),
        ["line 2", "'shoulder' mimics 'elbow'"],
    ),
    "long cycle": ("arm.toml", CYCLE, ["line 2", "cycle: b0 -> b1 -> ", " -> ... -> b0; "]),
    "huge mass": ("arm.toml", TOML + "mass = 1e300\n", ["line 2", "upper", "at most 1e+60 kg", "1e+300"]),
    "huge center": ("arm.toml", TOML + "mass = 1\ncenter = [0, -1e61, 0]\n", ["upper", "1e+60 m", "-1e+61"]),
    "huge inertia": (
        "arm.urdf",
        urdf(INERTIA=tensor(ixx="1e99", iyy="1e99")),
        ["line 3", "inertia must be at most 1e+60", "1e+99"],
    ),
    "huge length": (
        "arm.urdf",
        urdf(LIMIT='<origin xyz="1e200 0 0"/>'),
        ["shoulder", "position must be at most 1e+06 m", "1e+200"],
    ),
    "digits of another script": ("arm.urdf", with_mass("\u0663"), ["line 3", "must be a number", "\u0663"]),
    "name of an escape": ("arm.toml", named(r"\u009b31m"), ["line 2", "control character", r"\x9b31m"]),
    "name that is reordered": ("arm.toml", named(r"\u202ereppu"), ["control character", r"\u202ereppu"]),
    "name over two lines": ("arm.toml", named(r"up\u2028per"), ["control character", r"up\u2028per"]),
    "name that is not seen": ("arm.toml", named(r"\u200b"), ["can be seen", r"\u200b"]),
    "endless name": ("arm.toml", named("x" * 2000), ["line 2", "2000 characters", "1000"]),
    "suffix": ("arm.docx", "x", [".docx", ".toml", ".urdf", ".xml"]),
}


TOLERATED = (
    "11 negative inertia",
    "12 triangle",
    "22 limits",
    "26 mesh outside",
    "26 mesh at the root",
)  # in URDF
STRICT = (*TOLERATED, "30 typo in an attribute")


@pytest.mark.parametrize("case", MODELS)
def test_bad_models_are_refused_in_words(case, tmp_path):
    name, text, words = MODELS[case]
    if name.endswith(".xml"):
        pytest.importorskip("mujoco")
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    strict = case in STRICT and name.endswith(".urdf")
    with pytest.raises(kt.KinetreeError) as caught:
        kt.load(path, strict=strict)
    said = str(caught.value)
    for word in words:
        assert word in said, said
    assert said.isprintable() and len(said) < 400 + len(str(path)), said
    if strict:
        with (
            pytest.raises(kt.errors.FileError) if case not in TOLERATED else pytest.warns(kt.KinetreeWarning)
        ):
            kt.load(path)
        return
    result = CliRunner().invoke(app, ["convert", str(path), str(tmp_path / "new.toml")])
    assert (result.exit_code, result.stderr) == (2, f"error: {said}\n")
    assert not (tmp_path / "new.toml").exists()


def test_a_study_is_no_mechanism(tmp_path):
    (tmp_path / "fall.toml").write_text('[study]\ntask = "simulate"\n', encoding="utf-8")
    with pytest.raises(kt.errors.FileError, match=r"fall\.toml: is a study, not a mechanism; run it"):
        kt.load(tmp_path / "fall.toml")


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(kt.errors.FileError, match=r"none\.urdf: no such file \(looked in"):
        kt.load(tmp_path / "none.urdf")
    (tmp_path / "x.urdf").mkdir()
    with pytest.raises(kt.errors.FileError, match="is a folder"):
        kt.load(tmp_path / "x.urdf")


def test_text_that_is_no_utf8_is_named(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(TOML, encoding="utf-16")
    with pytest.raises(kt.errors.FileError, match="UTF-16 text; save it as UTF-8"):
        kt.load(path)
    path.write_bytes(TOML.encode() + b"# \xff\n")
    with pytest.raises(kt.errors.FileError, match="line 5: is not UTF-8 text: byte 0xff"):
        kt.load(path)


HARMLESS = {
    "14 axis of any length": urdf(AXIS='<axis xyz="0 0 5"/>'),
    "21 revolute without limits": urdf(TYPE="revolute"),
    "byte order mark": "\ufeff" + urdf(),
    "line ends of Windows": urdf().replace("\n", "\r\n"),
    "names with blanks": urdf().replace('"upper"', '"upper arm ä"'),
}


@pytest.mark.parametrize("case", HARMLESS)
def test_harmless_oddities_are_accepted(case, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(HARMLESS[case], encoding="utf-8", newline="")
    arm = kt.load(path)
    assert arm.n_dof == 2 and np.allclose(np.linalg.norm(arm.links[1].joint.axes, axis=1), 1.0)


def test_a_chain_of_thousands_of_links_is_read(tmp_path):
    """Case 27: no recursion, no crash."""
    n = 2000
    links = "".join(f'<link name="l{k}"/>' for k in range(n + 1))
    joints = "".join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/></joint>'
        for k in range(n)
    )
    path = tmp_path / "long.urdf"
    path.write_text(f'<robot name="long">{links}{joints}</robot>')
    assert kt.load(path).n_dof == n


# ---- states ---------------------------------------------------------------------------------------------

ARM = kt.zoo.kuka_kr5()
REST = np.zeros(6)
STATES = {
    "32 q too short": (lambda: kt.gravity_torque(ARM, [0.0] * 5), ["q", "(..., 6)", "joint1", "(5,)"]),
    "33 q nan": (lambda: kt.gravity_torque(ARM, [0, 0, np.nan, 0, 0, 0]), ["q", "finite", "nan", "joint3"]),
    "33 qd inf": (lambda: kt.inverse_dynamics(ARM, REST, [np.inf, *REST[1:]], REST), ["qd", "inf", "joint1"]),
    "33 nan in a batch": (
        lambda: kt.mass_matrix(ARM, np.where(np.arange(12).reshape(2, 6) == 7, np.nan, 0.0)),
        ["joint2", "state 1"],
    ),
    "q in words": (lambda: kt.gravity_torque(ARM, "home"), ["q", "home"]),
    "40 force of two numbers": (
        lambda: kt.Wrench("link6", force=(1, 2)),
        ["force", "link6", "3 components", "(2,)"],
    ),
    "40 wrench on an unknown body": (
        lambda: kt.inverse_dynamics(ARM, REST, REST, REST, wrenches=[kt.Wrench("lnk6")]),
        ["lnk6", "Did you mean 'link6'?"],
    ),
    "41 unknown body": (lambda: kt.jacobian(ARM, REST, "lnk6"), ["lnk6", "Did you mean 'link6'?"]),
    "42 body by number": (lambda: kt.jacobian(ARM, REST, 99), ["99", "link1"]),
    "formulation": (
        lambda: kt.mass_matrix(ARM, REST, formulation="denok"),
        ["denok", "Did you mean 'denoc'?"],
    ),
    "43 nan at the start": (lambda: kt.simulate(ARM, REST * np.nan, REST, 1.0), ["q0", "nan", "joint1"]),
    "45 step zero": (lambda: kt.simulate(ARM, REST, REST, 1.0, method="rk4", step=0.0), ["step", "0"]),
    "46 step negative": (
        lambda: kt.simulate(ARM, REST, REST, 1.0, method="rk4", step=-1e-3),
        ["step", "-0.001"],
    ),
    "49 duration negative": (lambda: kt.simulate(ARM, REST, REST, -1.0), ["duration", "-1"]),
    "50 torque of wrong size": (
        lambda: kt.simulate(ARM, REST, REST, 0.1, torque=lambda t, q, qd: np.zeros(3)),
        ["torque", "(3,)", "6"],
    ),
    "44 torque nan": (
        lambda: kt.simulate(ARM, REST, REST, 0.1, torque=lambda t, q, qd: np.full(6, np.nan)),
        ["torque", "nan", "joint1"],
    ),
    "method": (lambda: kt.simulate(ARM, REST, REST, 1.0, method="euler"), ["euler", "rk4"]),
    "58 lowest above highest": (
        lambda: kt.Problem(kt.zoo.two_link(), objective=kt.terms.Time(), duration=(2.0, 1.0)),
        ["duration", "2", "1"],
    ),
    "path": (lambda: kt.load(7), ["path", "7"]),
    "run of a name": (lambda: kt.run("gripper_fre_fall"), ["Did you mean 'gripper_free_fall'?"]),
    "zoo": (lambda: kt.zoo.by_name("griper"), ["griper", "Did you mean 'gripper'?"]),
    "batch in a simulation": (lambda: kt.simulate(ARM, np.zeros((2, 6)), REST, 1.0), ["q0", "(2, 6)"]),
}


@each("case", STATES)
def test_bad_states_are_refused_in_words(case):
    call, words = STATES[case]
    with pytest.raises(kt.KinetreeError) as caught:
        call()
    for word in words:
        assert word in str(caught.value), str(caught.value)


@pytest.mark.parametrize("q", [[0] * 6, np.zeros(6, np.float32), np.zeros(6, int), np.zeros((2, 3, 6))])
def test_lists_integers_singles_and_batches_are_accepted(q):
    """Cases 34 to 36."""
    tau = kt.gravity_torque(ARM, q)
    assert tau.shape == np.shape(q)
    assert np.allclose(tau, kt.gravity_torque(ARM, np.zeros(6)), rtol=0, atol=1e-12)


def test_a_mechanism_cannot_be_changed_into_a_wrong_one():
    """Case 48."""
    body = ARM.links[0].body
    with pytest.raises(dataclasses.FrozenInstanceError):
        body.inertia.mass = -1.0
    with pytest.raises(ValueError):
        body.inertia.center[0] = np.nan
    with pytest.raises(kt.errors.ModelError, match="mass must be >= 0 kg, got -1"):
        dataclasses.replace(body.inertia, mass=-1.0)


def test_what_has_no_answer_says_which_joint_is_to_blame():
    """Cases 8, 51 and 53: no mass, no dynamics, gimbal lock."""
    arm = kt.Builder("arm")
    arm.world.revolute("hinge").body("frame")
    with pytest.raises(kt.errors.SingularityError, match="hinge"):
        kt.forward_dynamics(arm.build(), [0.0], [0.0], [1.0])
    top = kt.Builder("top")
    top.world.spherical("ball", sequence="ZXZ").body("top", kt.Inertia.sphere(1.0, 0.1))
    with pytest.raises(kt.errors.SingularityError, match="ball"):
        kt.forward_dynamics(top.build(), [0.0, 0.0, 0.0], np.zeros(3), np.zeros(3))


# ---- results --------------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "run.nc"
    kt.simulate(kt.zoo.two_link(), [0.1, 0.2], [0.0, 0.0], 0.1).save(path)
    return path


@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_result_is_refused(saved, part):
    """Case 61."""
    whole = saved.read_bytes()
    saved.write_bytes(whole[: int(part * len(whole))])
    with pytest.raises(kt.errors.FileError, match=r"run\.nc: .*(empty|incomplete|damaged|not a NetCDF)"):
        kt.load_result(saved)


def test_a_changed_result_is_refused(saved):
    h5py = pytest.importorskip("h5py")
    with h5py.File(saved, "r+") as file:
        file["q"][0, 0] = 7.0
    with pytest.raises(kt.errors.FileError, match="checksum does not match"):
        kt.load_result(saved)


def test_a_result_of_a_newer_version_is_refused(saved):
    h5py = pytest.importorskip("h5py")
    with h5py.File(saved, "r+") as file:
        file.attrs["kinetree_format"] = "99.0"
    with pytest.raises(kt.errors.FileError, match=r"newer Kinetree \(format 99\.0"):
        kt.load_result(saved)


class Trap:
    """Unpickling it would leave a trace."""

    def __reduce__(self):
        return (Path.touch, (Path("touched"),))


def test_a_pickle_is_never_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("run.nc").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(kt.errors.FileError, match="not a NetCDF-4 file"):
        kt.load_result("run.nc")
    assert not Path("touched").exists()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: kt.analysis.equations_of_motion(kt.zoo.two_link(), np.ones(3)),
            "unknown choice of parameters",
        ),
        (lambda: vertical_peaks(np.ones(101), 10**400), "stance must be between 0 and 100 %"),
        (lambda: vertical_peaks(np.ones(101), -1.0), "stance must be between 0 and 100 %"),
        (lambda: scaled_torques({1: (-1.0, 1.0)}, {"left": 0.5}), "names of torques must be a list of names"),
    ],
)
def test_odd_arguments_of_examples_are_refused(call, message):
    with pytest.raises(kt.errors.InputError, match=message):
        call()
