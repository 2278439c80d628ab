"""Predictions from study files and the command line: culprits are named, terms and phases are read."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli import app
from kinetree.declare import stored
from kinetree.derivations.two_link import TwoLinkArm, torque_derivatives
from kinetree.errors import KinetreeError
from kinetree.motion.problem.description import described
from kinetree.study.run import prepared, run
from kinetree.study.tasks import predict as predict_task

HEAD = """
[study]
task = "predict"
[mechanism]
zoo = "two_link"
{mechanism}
[predict]
objective = "time"
segments = 8
"""
OUT_OF_REACH = """
start = { q = [0.0, 0.5] }
end = {}
duration = [0.1, 5.0]
[[predict.point]]
body = "link2"
point = [0.4, 0, 0]
target = [2.0, 0, 0]
axes = "xy"
"""
TOO_SHORT = """
start = { q = [0.0, -2.0] }
end = { q = [1.0, -1.0] }
duration = [0.1, 0.3]
"""
TOO_HEAVY = """
start = { q = [0.0, 0.0], qdd = 0.0 }
end = { q = [0.5, 0.0], qdd = 0.0 }
torque_limits = { joint1 = 1.0 }
"""
GRAVITY = "parameters = { gravity = [0, -9.81, 0] }"
INFEASIBLE = {
    "out of reach": (OUT_OF_REACH, "", ["end-effector position", "link2", "2 m from", "reaches only 0.8 m"]),
    "too short": (TOO_SHORT, "", ["torque limit, joint", "at t = ", " N m above ", "too short", "longer"]),
    "too heavy": (TOO_HEAVY, GRAVITY, ["torque limit, joint1", "holding still at the start", "3.924 N m"]),
}  # fmt: skip


def kinetree(*arguments):
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def written(folder, text, mechanism=""):
    path = folder / "study.toml"
    path.write_text(HEAD.replace("{mechanism}", mechanism) + text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", INFEASIBLE)
def test_the_culprit_is_named_and_the_exit_code_is_3(tmp_path, monkeypatch, name):
    text, mechanism, words = INFEASIBLE[name]
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, text, mechanism)
    told = kinetree("run", str(path))
    assert told.exit_code == 3
    message = " ".join(told.stderr.split())
    assert message.startswith("infeasible: No motion was found")
    assert [word for word in words if word not in message] == []
    assert Path("study.nc").exists()
    assert not kt.load_result("study.nc").passed
    asked = json.loads(kinetree("run", str(path), "--json", "--force").stdout.splitlines()[-1])
    assert asked["status"] == "infeasible" and words[0] in asked["message"]


def test_a_search_that_stops_early_is_not_called_infeasible(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = kinetree("run", "two_link_minimum_time", "--set", "predict.max_iterations=3")
    message = " ".join(told.stderr.split())
    assert told.exit_code == 3
    assert message.startswith("audit_failed: Stopped at the iteration limit")
    assert "Continue from here" in message


def test_a_limited_force_costs_time_and_tells_its_price(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = kinetree("run", "two_link_spared_joint", "--plot", "spared.png")
    assert told.exit_code == 0
    text = " ".join(told.stdout.split())
    assert "joint reaction limit, force on link1: upper bound 10 N reached" in text
    assert "1 N more would save 4.31 ms" in text
    result = kt.load_result("two_link_spared_joint.nc")
    assert result.joint_force.sel(body="link1").values.max() < 10.0 * 1.001
    assert result.statistics["duration"] == pytest.approx(0.40633, abs=1e-4)
    free = run("two_link_minimum_time")
    assert free.joint_force.sel(body="link1").values.max() == pytest.approx(32.1, abs=0.1)
    assert kinetree("plot", "two_link_spared_joint.nc", "--variable", "joint_force").exit_code == 0


def test_forces_in_the_joints_are_as_the_document_draws_them():
    """[Barman2020], figures 4.3 and 4.6: two peaks, the first joint's are higher; the turning one lower."""
    arm = run("two_link_minimum_time").joint_force
    first, second = arm.values.T
    middle = len(first) // 4, 3 * len(first) // 4
    assert first[: middle[0]].max() > 25.0 and first[middle[0] : middle[1]].max() > 25.0
    assert first.max() > second.max()
    assert abs(first[-1] - second[-1]) < 0.05 * first.max()
    sliding = run("prismatic_arm").joint_force.values
    assert sliding[:, 1].max() < sliding[:, 0].max()
    assert (sliding[[0, -1]] > 3.0 * sliding.min(axis=0)).all()


def test_phases_of_a_study():
    result = run("two_link_lift_and_return")
    assert result.passed and result.audit["junctions"].passed
    durations = result.statistics["durations"]
    assert sum(durations) == pytest.approx(result.time.values[-1])
    let_go = int(np.searchsorted(result["phase"].values, 2))
    assert result.q.values[let_go, 0] == pytest.approx(2.1, abs=1e-6)
    assert result.q.values[let_go - 1] == pytest.approx(result.q.values[let_go], abs=1e-6)
    assert result.qd.values[let_go - 1] == pytest.approx(result.qd.values[let_go], abs=1e-5)
    loaded, empty = (
        kt.inverse_dynamics(
            result.mechanism,
            *(result[x].values[k] for x in ("q", "qd", "qdd")),
            kt.Wrench("link2", force=(0, -load, 0), point=(0.4, 0, 0)),
        )
        for k, load in ((let_go - 1, 10.0), (let_go, 0.0))
    )
    assert result.tau.values[let_go - 1] == pytest.approx(loaded, abs=1e-8)
    assert result.tau.values[let_go] == pytest.approx(empty, abs=1e-8)


def test_other_terms_and_refinement(tmp_path):
    text = """
    start = { q = [0.0, -2.0] }
    end = { q = [1.0, -1.0] }
    torque_rate_limits = 400.0
    acceleration_limits = 100.0
    velocity_limits = 4.0
    [[predict.keep_out]]
    body = "link2"
    points = [[0.4, 0, 0]]
    center = [0.45, 0.0, 0]
    radius = 0.05
    """
    result = run(written(tmp_path, text))
    assert result.passed
    named = [x["term"] for x in result.settings["constraints"]]
    assert {"TorqueRateLimits", "AccelerationLimits", "VelocityLimits", "KeepOut"} <= set(named)
    tip = kt.forward_kinematics(result.mechanism, result.q.values)
    place = tip.position[:, 1] + tip.rotation[:, 1] @ np.array([0.4, 0, 0])
    assert np.linalg.norm(place - [0.45, 0, 0], axis=1).min() > 0.05 * 0.99
    assert np.abs(result.qd.values).max() < 4.0 * 1.02
    refined = run("two_link_minimum_time", predict={"refine": True})
    assert refined.passed and refined.statistics["duration"] < 0.39190


@pytest.mark.parametrize("objective", ["power", "jerk", "squared_torque"])
def test_other_objectives(tmp_path, objective):
    rest = "start = { q = [0.0, -2.0] }\nend = { q = [1.0, -1.0] }"
    result = run(written(tmp_path, rest), study={"duration": 0.6}, predict={"objective": objective})
    assert result.passed


START, END = "start = { q = [0.0, -2.0] }\n", "end = { q = [1.0, -1.0] }\n"
BAD = {
    "neither start nor end": ("", "the motion has no start and no end"),
    "code that is not allowed": (
        START + END + '[[predict.custom_constraint]]\nfunction = "own.py:f"', "runs only if allowed"
    ),
    "no function": (START + END + '[[predict.custom_objective]]\nfunction = "own"', "as 'file.py:name'"),
    "a file that is not there": (START + END + '[[predict.tracking]]\nreference = "no.csv"', "no.csv"),
    "a file with s": (
        START + END + '[[predict.tracking]]\nreference = "no.csv"\ns = [0, 1]', "its own times; leave out s"
    ),
    "a load that varies without instants": (
        START + END + '[[load]]\nbody = "link2"\nforce = [[0, 0, 0], [1, 0, 0]]', "needs 's', the instants"
    ),
    "instants of a constant load": (
        START + END + '[[load]]\nbody = "link2"\ns = [0, 1]', "with a row for each of 2"
    ),
    "instants that descend": (
        START + END + '[[load]]\nbody = "link2"\nforce = [[0, 0, 0], [1, 0, 0]]\ns = [1, 0]', "that ascend"
    ),
    "instants beyond 1": (
        START + END + '[[load]]\nbody = "link2"\nforce = [[0, 0, 0], [1, 0, 0]]\ns = [0, 2]', "from 0 to 1"
    ),
    "too few rows": (
        START + END + '[[load]]\nbody = "link2"\nforce = [[0, 0, 0], [1, 0, 0]]\ns = [0, 0.5, 1]',
        "2 rows for 3 instants",
    ),
    "times in a prediction": (
        START + END + '[[load]]\nbody = "link2"\nforce = [[0, 0, 0], [1, 0, 0]]\ntimes = [0, 1]',
        "not by 'times'",
    ),
    "unknown body": (START + END + '[[predict.reaction_limit]]\nbody = "hand"\nupper = 3.0', "joint 'hand'"),
    "unknown part": (START + END + '[[predict.reaction_limit]]\nbody = "link1"\nupper = 3\npart = ""', "''"),
    "lower above upper": (
        START + END + '[[predict.reaction_limit]]\nbody = "link1"\nupper = 3.0\nlower = 4.0\npart = "fx"',
        "lower bound 4 is above",
    ),
    "negative torque limit": (START + END + "torque_limits = -1.0", "lower bound 1 is above upper bound -1"),
    "zero segments": (START + END + "degree = 0", "degree"),
    "negative duration": (START + END + "duration = [-1.0, 2.0]", "duration must be positive"),
    "weight of another objective": (START + END + "torque_weight = 0.1", "for the objective 'mixed'"),
    "too many samples": (START + END + "samples = 200_000", "at most 125000 per segment for 8 segments"),
    "turned duration": (START + END + "duration = [3.0, 2.0]", "lowest not above the highest"),
    "one phase": (START + END + "[[predict.phase]]", "at least two consecutive problems"),
    "phases with a fixed duration": (
        START + END + "refine = true\n[[predict.phase]]\n[[predict.phase]]",
        "their own durations and knots",
    ),
    "unknown place": (
        START + END + '[[predict.point]]\nbody = "link2"\ntarget = [0, 0, 0]\nat = "knot"',
        "must be a known place: unknown place 'knot'",
    ),
    "no target": (START + END + '[[predict.point]]\nbody = "link2"', "give a target, or lower and upper"),
    "a key that no term has": (
        START + END + '[[predict.unknown_force]]\nbody = "link2"\nfrictoin = 0.3', "frictoin"
    ),
    "friction below zero": (
        START + END + '[[predict.unknown_force]]\nbody = "link2"\nnormal = [0, 1, 0]\nfriction = -1.0',
        "friction must be 0 or more, got -1",
    ),
    "a force on nothing": (START + END + '[[predict.unknown_force]]\nbody = "hand"', "unknown body 'hand'"),
    "a force that is not there": (
        START + END + '[[predict.squared_force]]\nforce = "hand"', "there is no unknown 'force:hand'"
    ),
    "negative weight": (START + END + "[[predict.time]]\nweight = -1.0", "must be 0 or more"),
    "partners without names": (
        START + END + "[[predict.symmetric]]\npairs = { joint1 = 2 }", "table of names"
    ),
    "load on nothing": (
        START + END + '[[predict.phase]]\nload = [{ body = "hand" }]\n[[predict.phase]]', "hand"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_studies_are_refused_before_solving(tmp_path, name):
    text, reason = BAD[name]
    with pytest.raises(KinetreeError) as refused:
        prepared(written(tmp_path, text))
    assert reason in str(refused.value) and "study.toml" in str(refused.value)


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ({"segments": 100_000_000}, "segments must be an integer from 1 to 100000, got 100000000"),
        (
            {"objective": "mixed", "torque_weight": 2},
            "torque weight u must be between 0",
        ),
    ],
)
def test_numbers_out_of_all_proportion_are_refused_at_once(tmp_path, setting, reason):
    with pytest.raises(KinetreeError) as refused:
        prepared(written(tmp_path, START + END), {"predict": setting})
    assert reason in str(refused.value)


def test_only_listed_objectives(tmp_path):
    study = written(tmp_path, START + END)
    with pytest.raises(KinetreeError, match="needs at least one of them"):
        prepared(study, {"predict": {"objective": "terms"}})


PUSH = """
[study]
task = "predict"
duration = 1.5
[mechanism]
name = "rail"
[[mechanism.body]]
name = "block"
box = { mass = 2.0, size = [0.1, 0.1, 0.1] }
joint = { name = "slide", kind = "prismatic", axis = "x" }
[predict]
objective = "terms"
start = { q = [0.0] }
end = { q = [0.3] }
[[predict.squared_force]]
force = "finger"
weight = 2.0
[[predict.unknown_force]]
body = "block"
name = "finger"
axes = "x"
lower = -5.0
upper = 5.0
[[predict.torque_limit]]
upper = 0.0
at = "knots"
"""


def test_a_force_that_a_study_seeks_is_the_closed_form(tmp_path):
    """12 m^2 d^2 / T^3, twice; f = 6 m d / T^2 (1 - 2 t / T)."""
    path = tmp_path / "push.toml"
    path.write_text(PUSH, encoding="utf-8")
    result = run(path)
    assert result.passed and result.audit["simulation"].passed
    m, d, T = 2.0, 0.3, 1.5
    assert result.statistics["objective"] == pytest.approx(2.0 * 12.0 * m**2 * d**2 / T**3, rel=1e-6)
    exact = 6.0 * m * d / T**2 * (1.0 - 2.0 * result.time.values / T)
    assert np.allclose(result["force_finger"].values[:, 0], exact, atol=1e-4)


TERMS = {
    "time": {"weight": 0.5},
    "squared_torque": {"joints": ["joint2"], "weights": [3.0], "normalized": True},
    "power": {"joints": ["joint1"], "smooth": 0.5},
    "jerk": {"weights": {"joint1": 2.0}, "weight": 1e-4},
    "squared_reaction": {"body": "link2", "part": "mz"},
    "squared_force": {"force": "tip", "weights": {"y": 0.0}},
    "tracking": {"reference": [[0.0, -2.0], [1.0, -1.0]], "s": [0.0, 1.0]},
    "torque_limit": {"upper": 9.0, "lower": -8.0, "joints": ["joint1"], "at": [0.2, 0.4]},
    "torque_rate_limit": {"limit": 1e4},
    "velocity_limit": {"upper": [9.0, np.inf]},
    "acceleration_limit": {"upper": 900.0, "at": "knots"},
    "joint_limit": {"lower": "-170 deg", "upper": 3.0},
    "strength_limit": {
        "joint": "joint1", "angles": [-3, 3], "velocities": [-20, 20], "strength": [[80, 80], [80, 80]],
        "direction": -1,
    },
    "reaction_limit": {"body": "link1", "upper": 400.0},
    "point": {"body": "link2", "lower": [-1, -1, -np.inf], "upper": [1, 1, np.inf], "at": "samples"},
    "point_velocity": {"body": "link2", "velocity": [0, 0, 0], "axes": "x", "at": 1.0},
    "point_speed": {"body": "link2", "limit": 90.0, "point": [0.4, 0, 0]},
    "orientation": {"body": "link1", "rotation": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "at": "start"},
    "keep_out": {"body": "link2", "center": [2, 2, 0], "radius": 0.1, "points": [[0, 0, 0], [0.4, 0, 0]]},
    "keep_apart": {"body": "link2", "end": [0.4, 0, 0], "radius": 0.01, "of_start": [2, 2, 0]},
    "keep_out_box": {
        "body": "link2", "center": [2, 2, 0], "size": [0.1, 0.1, 0.1], "end": [0.4, 0, 0], "radius": 0.01
    },
    "ground_clearance": {"body": "link2", "height": -2.0, "normal": [0, 1, 0]},
    "zero_moment_point": {"polygon": [[-9, -9], [9, -9], [9, 9], [-9, 9]]},
    "boundary": {"at": 0.5, "position": {"joint1": "20 deg"}},
    "periodic": {"joints": ["joint2"], "rates": 1},
    "symmetric": {"pairs": {"joint1": "joint2"}, "mirrored": ["joint1"], "rates": 1},
    "unknown_force": {"body": "link2", "point": [0.4, 0, 0], "name": "tip", "axes": "xy", "upper": [1, 2]},
    "effort": {"exponent": 3.0, "joints": ["joint1"], "limits": 80.0},
    "torque_rate": {"joints": ["joint2"], "limits": 80.0, "weight": 1e-3},
    "squared_acceleration": {"weights": {"joint2": 2.0}},
    "posture": {"position": {"joint1": "20 deg"}},
    "squared_sum": {"coefficients": {"joint1": 1.0, "joint2": 1.0}, "target": 0.3},
    "hold": {"joints": ["joint1"], "during": [0.0, 0.1]},
    "cut_force": {"body": "link2", "of": "link1", "point": [0.4, 0, 0], "axes": "xy", "name": "tie"},
    "unknown_moment": {"body": "link2", "name": "twist", "axes": "z", "upper": 5.0, "during": [0.0, 0.5]},
    "friction": {"forces": ["tip"], "friction": 0.5, "normal": [0, 1, 0]},
    "torque_combination": {"coefficients": {"joint1": 1.0, "joint2": -1.0}, "upper": 60.0},
    "joint_combination": {"coefficients": {"joint1": 1.0, "joint2": 1.0}, "upper": 3.0},
    "joint_springs": {"stiffness": 3.0, "joints": ["joint2"]},
    "joint_product": {"joint": "joint1", "other": "joint2", "lower": -9.0},
    "pendulum_product": {
        "pivot": "link1", "end": "link2", "other_pivot": "link1", "other_end": "link2", "lower": -1.0,
    },
    "relative_position": {"body": "link2", "of": "link1", "upper": [1, 1, 1], "point": [0.4, 0, 0]},
}  # fmt: skip


@pytest.mark.parametrize("key", TERMS)
def test_every_declared_term_can_be_said_in_a_study(tmp_path, monkeypatch, key):
    """The study has the term that Python makes of the same arguments."""
    elsewhere = {*OTHERS, "custom_objective", "custom_constraint", "muscle_cost"}  # tests of their own
    objectives = {x.key: x.name for x in stored("objectives")}
    names = objectives | {x.key: x.name for x in stored("constraints")}
    assert {*TERMS, *elsewhere} == names.keys()
    kind = "objective" if key in objectives else "constraints"
    rows = {key: [TERMS[key]]}
    if key in ("squared_force", "friction"):
        rows["unknown_force"] = [TERMS["unknown_force"]]
    gravity = "parameters = { gravity = [0, 0, -9.81] }"
    study = written(tmp_path, "start = { q = { joint1 = 0.0 } }\nend = {}\n", gravity)
    if key == "torque_rate":  # as an objective it is one of motions of given duration
        study.write_text(study.read_text().replace("[study]\n", "[study]\nduration = 1.0\n"))
    problem = asked_problem(monkeypatch, study, rows)
    made = getattr(problem, kind)[-1]
    assert type(made).__name__ == names[key]
    if key in objectives:
        assert made.weight == TERMS[key].get("weight", 1.0)
    given = {name: in_radians(x) for name, x in TERMS[key].items() if name != "weight"}
    other = problem.changed(**{kind: [*getattr(problem, kind)[:-1], getattr(kt.terms, names[key])(**given)]})
    said, wanted = (described(x)[kind][-1] | {"weight": None} for x in (problem, other))
    assert said == wanted


def in_radians(value):
    """Angles such as "90 deg" as Python takes them."""
    if isinstance(value, dict):
        return {key: in_radians(x) for key, x in value.items()}
    if isinstance(value, str) and value.endswith(" deg"):
        return np.radians(float(value.removesuffix(" deg")))
    return value


def asked_problem(monkeypatch, study, rows):
    """The problem that a study asks for."""
    found, stated = [], predict_task._problem
    monkeypatch.setattr(predict_task, "_problem", lambda *given: found.append(stated(*given)) or found[0])
    prepared(study, {"predict": rows})
    return found[0]


OWN = """
def effort(s, q, qd, qdd, tau):
    return (tau**2).sum(axis=1)

def by_torque(s, q, qd, qdd, tau):
    return None, None, None, 2.0 * tau

def apart(s, q, qd, qdd, tau):
    return q[:, :2] - q[:, 1:]
"""


def test_functions_of_ones_own_are_terms(tmp_path, monkeypatch):
    """The study has the rows and the objective that Python makes of the same functions."""
    (tmp_path / "own.py").write_text(OWN)
    text = (
        START
        + END
        + """
[[predict.custom_objective]]
function = "own.py:effort"
slopes = "own.py:by_torque"
weight = 0.25
[[predict.custom_constraint]]
function = "own.py:apart"
lower = [-4.0, -inf]
upper = 4.0
size = 2
name = "apart"
at = [0.25, 0.5]
"""
    )
    study = written(tmp_path, text)
    found, stated = [], predict_task._problem
    monkeypatch.setattr(predict_task, "_problem", lambda *given: found.append(stated(*given)) or found[0])
    prepared(study, allow_code=["own.py"])
    space: dict = {}
    exec(OWN, space)
    objective = [kt.terms.Time(), 0.25 * kt.terms.CustomObjective(space["effort"], space["by_torque"])]
    own = kt.terms.CustomConstraint(space["apart"], [-4.0, -np.inf], 4.0, 2, "apart", [0.25, 0.5])
    python = found[0].changed(objective=objective, constraints=[*found[0].constraints[:-1], own])
    same_program(found[0], python)


def same_program(said, python):
    """Two problems with the same objective and the same rows between the same bounds, at random unknowns."""
    a, b = said.program, python.program
    assert a.n == b.n
    x = np.random.default_rng(0).uniform(0.3, 0.9, a.n)
    assert a.objective(x) == pytest.approx(b.objective(x), rel=1e-12)
    assert np.allclose(a.constraints(x), b.constraints(x), rtol=1e-10, atol=1e-10)
    assert np.array_equal(a.lower, b.lower) and np.array_equal(a.upper, b.upper)


def standing_biped():
    from motion.test_support import BIPED

    return BIPED


OTHERS = {
    "support": (
        "Support", standing_biped,
        {
            "lower": [-0.1, -0.05], "upper": [0.2, 0.05], "friction": 0.5, "largest": 2.0,
        },
    ),
    "ground_reaction": (
        "GroundReaction", kt.zoo.spatial_biped,
        {"feet": ["foot1", "foot2"], "shares": [[1.0, 0.0], [0.3, 0.7]], "s": [0.2, 0.8]},
    ),
    "human_passive": (
        "HumanPassive", lambda: kt.zoo.human().frozen(kt.human.FROZEN_WHILE_WALKING).fused(),
        {"height": 1.6, "mass": 55.0, "sides": ["left"], "factor": 0.5},
    ),
    "human_strength": (
        "HumanStrength", lambda: kt.zoo.human().frozen(kt.human.FROZEN_WHILE_WALKING).fused(),
        {"joints": ["left_knee", "right_hip.flexion"], "sex": "female", "factors": {"left": 0.5}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("key", OTHERS)
def test_terms_of_walkers_are_said_in_a_study(tmp_path, monkeypatch, key):
    """The rows of terms that need a mechanism of their own, as Python makes them."""
    term, made, given = OTHERS[key]
    mechanism = made()
    if key == "support":
        from motion.test_support import FORCE, MOMENT

        given = {**given, "force": list(FORCE), "moment": list(MOMENT)}
    kt.save(mechanism, tmp_path / "walker.toml")
    study = tmp_path / "study.toml"
    study.write_text(
        HEAD.replace('zoo = "two_link"', 'file = "walker.toml"')
        .replace("{mechanism}", "")
        .replace('"time"', '"jerk"')
        .replace("segments = 8", "segments = 3")
        .replace("[study]", "[study]\nduration = 1.0")
        + "start = { q = 0.0 }\n"
    )
    said = asked_problem(monkeypatch, study, {key: [given]})
    assert type(said.constraints[-1]).__name__ == term
    own = getattr(kt.terms, term)(**given)
    same_program(said, said.changed(constraints=[*said.constraints[:-1], own]))


def test_tracking_of_a_file_is_that_of_its_rows(tmp_path, monkeypatch):
    (tmp_path / "seen.csv").write_text("time, joint2, joint1\n0, -2, 0\n0.5, -1.8, 0.4\n2, -1, 1\n")
    rows = {"tracking": [{"reference": "seen.csv", "weights": 2.0}]}
    said = asked_problem(monkeypatch, written(tmp_path, START + END), rows)
    reference = [[0.0, -2.0], [0.4, -1.8], [1.0, -1.0]]
    own = kt.terms.Tracking(reference, [0.0, 0.25, 1.0], weights=2.0)
    same_program(said, said.changed(objective=[kt.terms.Time(), own]))


def test_loads_that_vary_and_open_ends(tmp_path, monkeypatch):
    """A start alone, and a force that grows: the rows of torques are those of Python's function of s."""
    load = """
[[load]]
body = "link2"
force = [[0, 0, 0], [4, 2, 0]]
s = [0.25, 0.75]
point = [0.4, 0, 0]
[[load]]
body = "link1"
moment = [0, 0, 0.3]
"""
    said = asked_problem(monkeypatch, written(tmp_path, START + load), {"torque_limits": 60.0})

    def loads(s):
        share = np.clip((s - 0.25) / 0.5, 0.0, 1.0)[:, None]
        push = kt.Wrench("link2", force=share * [4.0, 2.0, 0.0], point=(0.4, 0, 0))
        return [push, kt.Wrench("link1", moment=(0, 0, 0.3))]

    same_program(said, said.changed(loads=loads))
    assert len([x for x in said.constraints if type(x).__name__ == "Boundary"]) == 1


# ---- knots and derivatives ------------------------------------------------------------------------------
def test_free_knots_of_a_study_take_less_time():
    equal = run("two_link_minimum_time", predict={"segments": 6, "samples": 4})
    free = run("two_link_minimum_time", predict={"segments": 6, "samples": 4, "free_knots": True})
    assert free.passed and free.time.values[-1] < equal.time.values[-1] - 0.002
    assert np.diff(free.knots.values[3:-3]).std() > 0.05


def test_derivatives_of_the_torques_stand_beside_a_formulation():
    """[Xiang2009], Fig. 14: at the optimum, with the load at the tip."""
    result = run("two_link_lifting", predict={"segments": 6, "sensitivities": "lagrangian"})
    assert result.audit["sensitivities"].passed and result.audit["sensitivities"].value < 1e-12
    by_hand = TwoLinkArm(0.5, 0.5, 0.4, 0.4, 0.2, 0.2, 0.1, 0.1, g=9.8062, f=10.0)
    states = zip(result.q.values, result.qd.values, result.qdd.values, strict=True)
    wanted = np.array([torque_derivatives(by_hand, *state)[0] for state in states])
    assert result.dtau_dq.values == pytest.approx(wanted.reshape(len(wanted), 4), abs=1e-10)
    assert result.units("dtau_dqd")[0] == "N m s/rad"


def test_knots_are_chosen_in_one_way_only():
    with pytest.raises(kt.errors.InputError, match="free_knots and refine"):
        run("two_link_minimum_time", predict={"free_knots": True, "refine": True})
    with pytest.raises(kt.errors.InputError, match="need a free duration"):
        run("two_link_minimum_time", study={"duration": 1.0}, predict={"free_knots": True})


def test_samples_of_a_search_are_those_of_the_output_table():
    usual, asked = (run("two_link_minimum_time", **tables) for tables in ({}, {"output": {"samples": 61}}))
    assert len(asked.time) == 61 and len(usual.time) != 61
    np.testing.assert_allclose(asked.time, np.linspace(0.0, float(usual.time[-1]), 61))
    np.testing.assert_allclose(asked.q, usual.at(asked.time.values).q)


@pytest.mark.parametrize(
    ("study", "output", "words"),
    [
        ("two_link_minimum_time", {"times": [0.0, 0.1]}, "the task 'predict' takes output.samples"),
        ("walking", {"times": [0.0, 0.1]}, "the task 'walk' takes output.samples"),
        ("lifting", {"samples": 1}, "at least 2"),
        ("quadruped_predicted_trot", {"samples": 2, "times": [0.0]}, "takes output.samples"),
        ("puma_stability", {"samples": 5}, "does not use [output]"),
    ],
)
def test_output_that_a_search_cannot_give_is_refused_before_it(study, output, words):
    with pytest.raises(KinetreeError, match=re.escape(words)):
        prepared(study, {"output": output})
