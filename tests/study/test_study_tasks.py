"""Tasks of studies: torques, controllers, comparisons, functions of one's own."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import FileError, InputError, KinetreeError, SimulationError
from kinetree.study.run import prepared, run
from study.test_study_file import CONTROL, FALL
from support import reference
from support.walking import walk

SLIPPERY = """
def law(t, q, qd):
    return [0.0, 0.01 * t, 0.0, -0.02 * qd[3]]

def motion(t):
    import numpy as np
    return np.array([[t * t] * 4, [2 * t] * 4, [2.0] * 4])

def breaks(t, q, qd):
    raise RuntimeError("no more")

value = 3
"""


@pytest.fixture
def study(tmp_path):
    """Writes a study beside a file of functions."""
    (tmp_path / "laws.py").write_text(SLIPPERY)

    def write(text):
        path = tmp_path / "study.toml"
        path.write_text(text)
        return path

    return write


def test_control_agrees_with_the_reference(study):
    """The gripper under PD ([Shah2013], Table 10.7)."""
    (wanted,) = (x for x in reference.read("control.json")["cases"] if x["name"] == "gripper_PD_table10.7")
    result = run(study(CONTROL), output={"times": wanted["t"]}, integrator={"rtol": 1e-11})
    assert result.task == "control"
    assert np.abs(result.q.values - wanted["q"]).max() < 1e-7
    assert np.abs(result.q_reference.values - wanted["q_des"]).max() < 1e-12
    error = np.abs(np.array(wanted["q"]) - wanted["q_des"])
    assert result.statistics["largest_error"] == pytest.approx(error.max(), rel=1e-6)
    assert not run(study(CONTROL), control={"tolerance": 1e-6}).audit["tracking"].passed


@pytest.mark.parametrize(
    "controller",
    [
        {"kind": "pid", "ki": 5.0},
        {"kind": "computed_torque"},
        {"kind": "feedforward"},
        {"kind": "gravity_compensation", "kp": [4.0, 0.0, 0.0, 1.0]},
        {"kind": "computed_torque", "model_error": {"seed": 3, "mass": 0.2}},
        {"kind": "pd", "limits": 0.5, "period": 0.01},
    ],
)
def test_every_kind_of_controller_is_made_as_in_python(study, controller):
    from kinetree.trajectories.cycloidal import cycloid

    made = {
        "pid": kt.control.PID,
        "computed_torque": kt.control.ComputedTorque,
        "feedforward": kt.control.Feedforward,
        "gravity_compensation": kt.control.GravityCompensation,
        "pd": kt.control.PD,
    }
    arm = kt.zoo.gripper()
    motion = cycloid(np.radians([0, 0, 0, 90]), np.radians([60, 80, 80, 120]), 1.0)
    given = {"kp": 49.0, "kd": 14.0} | {
        k: x for k, x in controller.items() if k not in ("kind", "model_error")
    }
    if "model_error" in controller:
        given["model"] = kt.control.perturb(arm, **controller["model_error"])
    law = made[controller["kind"]](motion, **given)
    start = motion.at(0.0)
    weak = {"following": None}  # some of these laws are too weak for the arm
    wanted = kt.simulate(arm, start.q, start.qd, 0.2, controller=law, times=5, verdicts=weak)
    result = run(
        study(CONTROL), controller=controller, study={"duration": 0.2}, output={"samples": 5},
        verdicts={"following": False},
    )  # fmt: skip
    assert np.array_equal(result.q.values, wanted.q.values)


def test_actuators_follow_a_controller_with_a_lag(study):
    made = {"kind": "pd", "kp": 49.0, "kd": 14.0, "time_constant": 0.02, "torque_constant": 0.5}
    result = run(study(CONTROL), controller=made, study={"duration": 0.1}, output={"samples": 5})
    assert result.settings["controller"]["controller"] == "FirstOrderActuator"
    assert result.tau.values == pytest.approx(0.5 * result.current.values)
    assert np.abs(result.current.values[-1]).max() > 0.0
    with pytest.raises(InputError, match="torque_constant needs a time_constant"):
        run(study(CONTROL), controller={"kind": "pd", "kp": 49.0, "torque_constant": 0.5})


@pytest.mark.parametrize("law", ["computed_torque", "feedforward"])
def test_walking_is_that_of_the_walking_study(study, law):
    text = """
    [study]
    task = "control"
    duration = 0.1
    [mechanism]
    zoo = "hexapod"
    [trajectory]
    kind = "gait"
    [controller]
    kind = "{law}"
    kp = 49
    kd = 14
    [ground]
    """
    result = run(study(text.replace("{law}", law)), output={"samples": 11})
    assert np.array_equal(result.q.values, walk("hexapod", law, duration=0.1, times=11).q.values)


def test_ground_with_regions_and_stops(study):
    """A point mass that falls on a step rests on top of it, as deep as its weight presses it in."""
    text = """
    [study]
    task = "simulate"
    duration = 3.0
    [mechanism]
    name = "stone"
    [[mechanism.body]]
    name = "stone"
    joint = { name = "drop", kind = "prismatic", axis = "z", lower = -1, upper = 1 }
    point = { mass = 2.0 }
    [[mechanism.contact]]
    name = "foot"
    body = "stone"
    [initial]
    q = 0.5
    [ground]
    stiffness = 1e4
    overdamping = 1.0
    [[ground.region]]
    forward = [-1, 1]
    height = 0.2
    [stops]
    """
    result = run(study(text), output={"samples": 2})
    assert result.q.values[-1, 0] == pytest.approx(0.2 - 2.0 * 9.81 / 1e4, abs=1e-4)
    assert result.contact_force.values[-1, 0, 2] == pytest.approx(2.0 * 9.81, rel=1e-3)


@pytest.mark.parametrize(
    "trajectory",
    [
        {"kind": "cubic", "start": 0.0, "end": 1.0, "duration": 2.0, "end_velocity": 0.3},
        {"kind": "quintic", "start": [0, 0, 0, 1], "end": 1.0, "duration": 2.0, "start_acceleration": 0.3},
        {"kind": "trapezoidal", "start": 0.0, "end": 1.0, "duration": 2.0, "blend": 0.2},
        {"kind": "trapezoidal", "start": 0.0, "end": 1.0, "velocity": 1.0, "acceleration": 2.0},
        {"kind": "hold", "start_degrees": 30.0, "duration": 1.0},
        {"kind": "half_turn", "duration": 1.0},
        {"kind": "bspline", "points": [[0.0] * 4, [0.0] * 4, [1.0] * 4, [1.0] * 4], "duration": 1.0},
        {
            "kind": "interpolate",
            "points": [[0.0] * 4, [1.0] * 4, [0.5] * 4, [0.0] * 4],
            "times": [0, 1, 2, 3],
        },
        {"kind": "file", "file": "motion.csv"},
        {"kind": "function", "function": "laws.py:motion", "duration": 1.0},
    ],
    ids=lambda x: x["kind"],
)
def test_every_kind_of_trajectory_moves(study, tmp_path, trajectory):
    """Velocities of the result are the derivatives of its positions, torques those of inverse dynamics."""
    header = "time, joint4, joint3, joint2, joint1\n"
    rows = "\n".join(f"{t}, 0, {t}, {t * t}, {t**3}" for t in np.linspace(0, 1, 6))
    (tmp_path / "motion.csv").write_text(header + rows)
    text = '[study]\ntask = "inverse"\n[mechanism]\nzoo = "gripper"\n'
    allowed = ["laws.py"] if "function" in trajectory else []
    result = run(study(text), trajectory=trajectory, output={"samples": 2001}, allow_code=allowed)
    t, q, qd = result.time.values, result.q.values, result.qd.values
    slope = (q[2:] - q[:-2]) / (t[2:] - t[:-2])[:, None]
    assert np.abs(slope - qd[1:-1]).max() < 1e-2 * max(1.0, np.abs(qd).max())
    assert result.audit["round_trip"].passed
    back = kt.inverse_dynamics(result.mechanism, q, qd, result.qdd.values)
    assert np.array_equal(result.tau.values, back)


def test_reactions_and_loads_come_into_inverse_dynamics(study):
    text = '[study]\ntask = "inverse"\n[mechanism]\nzoo = "gripper"\n'
    text += '[trajectory]\nkind = "hold"\nstart = 0\nduration = 1\n'
    load = '[[load]]\nbody = "link4"\nforce = [0, -2, 0]\npoint = [0.05, 0, 0]\n'
    plain, loaded = run(study(text)), run(study(text + load), output={"reactions": True})
    arm = plain.mechanism
    foot = kt.jacobian(arm, np.zeros(4), "link4", [0.05, 0, 0])
    lift = np.asarray(foot)[..., :3, :].T @ [0, 2.0, 0]
    assert np.allclose((loaded.tau - plain.tau).values, lift, atol=1e-12)
    assert loaded.reaction.dims == ("time", "body", "component")


# ---- comparisons ----------------------------------------------------------------------------------------

CASES = (
    CONTROL.replace('task = "control"', 'task = "compare"')
    + """
[compare]
task = "control"

[[compare.case]]
name = "pd"

[[compare.case]]
name = "computed torque"
controller.kind = "computed_torque"

[[compare.case]]
name = "a short one"
study.duration = 0.5
output.times = [0.0, 0.25, 0.5]
"""
)


def test_cases_are_compared_side_by_side(study):
    result = run(study(CASES.split('[[compare.case]]\nname = "a short')[0]), output={"samples": 5})
    assert result.case.values.tolist() == ["pd", "computed torque"]
    assert result.q.dims == ("case", "time", "joint") and result.task == "compare"
    alone = run(study(CONTROL), output={"samples": 5})
    assert np.array_equal(result.q.values[0], alone.q.values)
    error = np.abs(result.q.values - result.q_reference.values).max(axis=(1, 2))
    assert error[1] < 1e-6 < error[0]
    told = result.statistics["largest_difference_from_first"]["computed torque"]["q"]
    assert told == pytest.approx(np.abs(result.q.values[1] - result.q.values[0]).max())
    assert {name.split(":")[0] for name in result.audit} == {"pd", "computed torque"}


def test_cases_with_other_times_are_refused(study):
    with pytest.raises(InputError, match="the same \\[output\\] times"):
        run(study(CASES))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (('name = "computed torque"', 'name = "pd"'), "different names, got pd, pd"),
        (('"computed_torque"', '"computed_torq"'), "line 27: controller.kind"),
        (
            ('[compare]\ntask = "control"', '[compare]\ntask = "contrl"'),
            "line 20: compare.task must be one of",
        ),
        (('name = "pd"\n', ""), "compare.case[0] must be a table with a name"),
    ],
)
def test_wrong_cases_are_found_before_any_work(study, change, reason):
    with pytest.raises(KinetreeError) as refused:
        prepared(study(CASES.replace(*change)))
    assert reason in str(refused.value)


# ---- functions of one's own -----------------------------------------------------------------------------


def test_a_torque_function_drives_the_motion(study):
    text = 'torque = "laws.py:law"\n' + FALL
    result = run(study(text), allow_code="laws.py", output={"samples": 5})
    wanted = kt.simulate(
        kt.zoo.gripper(), np.radians([-60, 0, 0, 0]), duration=0.1, times=5,
        torque=lambda t, q, qd: [0.0, 0.01 * t, 0.0, -0.02 * qd[3]],
    )  # fmt: skip
    assert np.array_equal(result.q.values, wanted.q.values)


@pytest.mark.parametrize(
    ("name", "allowed", "reason"),
    [
        ("laws.py:law", [], "runs only if allowed"),
        ("laws.py:law", ["./broken.py"], "--allow-code ./broken.py: the study names no such file"),
        ("laws.py:lw", ["laws.py"], "unknown function 'lw'"),
        ("laws.py:value", ["laws.py"], "unknown function 'value'"),
        ("none.py:law", ["none.py"], "no such file"),
        ("../laws.py:law", ["../laws.py"], "not in the folder of the study"),
        ("/etc/laws.py:law", ["/etc/laws.py"], "not in the folder of the study"),
        ("laws.py", [], "must name a function as 'file.py:name'"),
        ("broken.py:law", ["broken.py"], "broken.py, line 2: ZeroDivisionError"),
        ("link.py:law", ["link.py"], "not in the folder of the study"),
    ],
)
def test_functions_run_only_if_allowed_and_beside_the_study(study, tmp_path, name, allowed, reason):
    (tmp_path / "broken.py").write_text("x = 1\ny = 1 / 0\n")
    outside = tmp_path.parent / f"{tmp_path.name}_outside.py"
    outside.write_text("def law(t, q, qd): return 0 * q")
    (tmp_path / "link.py").symlink_to(outside)
    with pytest.raises(KinetreeError) as refused:
        prepared(study(f'torque = "{name}"\n' + FALL), allow_code=allowed)
    assert reason in str(refused.value)


def test_code_that_is_not_allowed_is_not_run(study, tmp_path):
    (tmp_path / "laws.py").write_text("import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n")
    with pytest.raises(InputError):
        prepared(study('torque = "laws.py:law"\n' + FALL))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("given", ["./laws.py", "{folder}/laws.py", "inside/../laws.py"])
def test_a_file_may_be_allowed_by_its_path(study, tmp_path, given):
    text = 'torque = "laws.py:law"\n' + FALL
    assert run(study(text), allow_code=[given.format(folder=tmp_path)], output={"samples": 5}).complete


@pytest.mark.parametrize("task", ["torque", "trajectory", "objective"])
def test_a_function_with_other_arguments_is_refused(study, tmp_path, task):
    (tmp_path / "own.py").write_text("def odd(a, b):\n    return a\n")
    objective = (
        '[study]\ntask = "predict"\n[mechanism]\nzoo = "two_link"\n[predict]\nobjective = "function"\n'
        'function = "own.py:odd"\nstart = { q = 0.0 }\nend = { q = 1.0 }\n'
    )
    trajectory = (
        '[study]\ntask = "inverse"\n[mechanism]\nzoo = "two_link"\n[trajectory]\nkind = "function"\n'
        'function = "own.py:odd"\nduration = 1.0\n'
    )
    texts = {
        "torque": ('torque = "own.py:odd"\n' + FALL, "t, q, qd"),
        "trajectory": (trajectory, "t"),
        "objective": (objective, "s, q, qd, qdd, tau"),
    }
    text, wanted = texts[task]
    with pytest.raises(
        InputError, match=rf"own.py: function 'odd' must take \({wanted}\); it takes \(a, b\)"
    ):
        prepared(study(text), allow_code=["own.py"])


def test_an_objective_that_returns_no_numbers_is_refused(study, tmp_path):
    (tmp_path / "own.py").write_text('def odd(s, q, qd, qdd, tau):\n    return "much"\n')
    text = (
        '[study]\ntask = "predict"\n[mechanism]\nzoo = "two_link"\n[predict]\nobjective = "function"\n'
        'function = "own.py:odd"\nstart = { q = 0.0 }\nend = { q = 1.0 }\n'
    )
    with pytest.raises(InputError, match="own objective returns must be real numbers, got 'much'"):
        run(study(text), allow_code=["own.py"])


def test_a_function_that_fails_tells_so_with_its_line(study, tmp_path):
    line = (tmp_path / "laws.py").read_text().splitlines().index('    raise RuntimeError("no more")') + 1
    with pytest.raises(FileError, match=rf"laws.py, line {line}: RuntimeError: no more") as refused:
        run(study('torque = "laws.py:breaks"\n' + FALL), allow_code=["laws.py"])
    assert isinstance(refused.value.__cause__, RuntimeError)


def test_a_motion_that_diverges_keeps_what_there_is(study, tmp_path):
    (tmp_path / "laws.py").write_text(
        "def law(t, q, qd):\n    return [1e3 * max(min(x, 1e60), -1e60) ** 3 for x in qd]\n"
    )
    text = 'torque = "laws.py:law"\n' + FALL + "qd = 1.0\n"
    with pytest.raises(SimulationError) as refused:
        run(study(text), allow_code=["laws.py"])
    assert refused.value.result.settings["study"]["name"] == "study"
    outcome = prepared(study(text), allow_code=["laws.py"]).outcome()
    assert (outcome.status, outcome.exit_code) == ("diverged", 3)


# ---- predictions ----------------------------------------------------------------------------------------


STANDS = """
[study]
task = "control"
duration = 0.5
[mechanism]
zoo = "quadruped"
[controller]
kind = "pd"
kp = 400
kd = 20
[trajectory]
kind = "hold"
start = { "base.tz" = 0.6 }
[ground]
friction = 0.8
contact = "rigid"
"""


def test_a_robot_stands_on_rigid_ground(study):
    stood = run(study(STANDS))
    assert stood.passed and stood.settings["method"] == "steps"
    up = stood.ground_force.values[-1, :, 2].sum()
    assert abs(up / (stood.mechanism.mass * 9.81) - 1.0) < 0.05
    with pytest.raises(InputError, match="no stops"):
        run(study(STANDS + "[stops]\nstiffness = 100\n"))


DRONE = """<sdf version="1.9"><model name="drone">
  <link name="body"><inertial><mass>1</mass>
    <inertia><ixx>0.01</ixx><iyy>0.01</iyy><izz>0.02</izz></inertia></inertial></link>
  <plugin name="motor" filename="libmulticopter_motor_model.so"/>
</model></sdf>"""


def test_results_and_reports_state_what_of_the_file_is_not_used(tmp_path):
    (tmp_path / "drone.sdf").write_text(DRONE)
    fall = '[study]\ntask = "simulate"\nduration = 0.1\n[mechanism]\nfile = "drone.sdf"\n'
    (tmp_path / "fall.toml").write_text(fall)
    with pytest.warns(kt.KinetreeWarning, match="thrusters"):
        result = run(tmp_path / "fall.toml")
    assert result.passed  # it falls, as computed
    assert result.messages[-1].startswith("drone.sdf: ignored: forces of plugins, such as thrusters")
    result.save(tmp_path / "fall.nc")
    result.report(tmp_path / "fall.html")
    assert result.messages == kt.load_result(tmp_path / "fall.nc").messages
    assert "such as thrusters" in (tmp_path / "fall.html").read_text()


def test_a_motion_that_cannot_be_is_infeasible(study):
    text = """
    [study]
    task = "predict"
    duration = 0.05
    [mechanism]
    zoo = "two_link"
    [predict]
    objective = "squared_torque"
    start = { q = [0.0, -2.0] }
    end = { q = { joint1 = 1.0 } }
    segments = 6
    """
    outcome = prepared(study(text)).outcome()
    assert (outcome.status, outcome.exit_code) == ("infeasible", 3)
    assert outcome.to_json("x.nc")["max_violation"] > 0.1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"objective": "tme"}, "Did you mean 'time'?"),
        ({"start": {"q": [0.0]}}, "start.q must have 2 numbers"),
        ({"objective": "function"}, "belong together"),
        ({"frozen": {"joint7": 0.0}}, "joint7"),
        ({"velocity_limits": {"joint3": 2.0}}, "joint3"),
    ],
)
def test_wrong_predictions_are_refused(change, reason):
    with pytest.raises(KinetreeError) as refused:
        prepared("two_link_minimum_time", {"predict": change})
    assert reason in str(refused.value)


@pytest.mark.parametrize("task", ["walk", "lift"])
def test_who_walks_is_found_in_another_table(study, task):
    file = study(f'[study]\ntask = "{task}"\n[mechanism]\nzoo = "human"\n[{task}]\nheight = 1.6\n')
    with pytest.raises(KinetreeError, match=r"unknown key 'height'.*is mechanism\.parameters\.height\."):
        prepared(file)
