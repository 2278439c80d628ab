"""Closed loops: whatever answers for open trees refuses them, and answers for the opened mechanism."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.analysis.agreement import agreement
from kinetree.analysis.derivative_check import check_derivatives
from kinetree.analysis.zero_moment_point import inertial_wrench
from kinetree.cli.app import app
from kinetree.derivations import able
from kinetree.derivations.denoc.matrices import denoc_matrices
from kinetree.studies.forced_simulation import check_run
from support.cases import assert_close

LINKAGE, REST = kt.zoo.four_bar(), np.zeros(3)
MANY = np.zeros((50, 3))
RECORDS = json.loads((Path(__file__).parents[1] / "derivations" / "four_bar.json").read_text())["variants"]
DYNAMICS = {
    "inverse_dynamics": lambda m, x: kt.inverse_dynamics(m, x, x, x),
    "forward_dynamics": lambda m, x: kt.forward_dynamics(m, x, x, x),
    "bias_torque": lambda m, x: kt.bias_torque(m, x, x),
    "gravity_torque": kt.gravity_torque,
    "mass_matrix": kt.mass_matrix,
    "joint_reactions": lambda m, x: kt.joint_reactions(m, x, x, x),
    "inverse_dynamics_derivatives": lambda m, x: kt.inverse_dynamics_derivatives(m, x, x, x),
    "forward_dynamics_derivatives": lambda m, x: kt.forward_dynamics_derivatives(m, x, x, x),
    "joint_reaction_derivatives": lambda m, x: kt.joint_reaction_derivatives(m, x, x, x),
    "torque_hessian": lambda m, x: kt.torque_hessian(m, x, x, x, x),
    "inertia_regressor": lambda m, x: kt.inertia_regressor(m, x, x, x),
    "kinetic_energy": lambda m, x: kt.kinetic_energy(m, x, x),
    "potential_energy": kt.potential_energy,
    "momentum": lambda m, x: kt.momentum(m, x, x),
    "zero_moment_point": lambda m, x: kt.zero_moment_point(m, x, x, x),
    "inertial_wrench": lambda m, x: inertial_wrench(m, x, x, x),
}
WHOLE = {
    "agreement": lambda m: agreement(m, states=1),
    "check_derivatives": lambda m: check_derivatives(m, states=1),
    "denoc_matrices": lambda m: denoc_matrices(m, REST),
    "computed torque": lambda m: kt.control.ComputedTorque(REST, kp=1.0).torque(m, 0.0, REST, REST),
    "feedforward": lambda m: kt.control.Feedforward(REST, kp=1.0).torque(m, 0.0, REST, REST),
    "gravity compensation": lambda m: kt.control.GravityCompensation(REST, kp=1.0).torque(m, 0.0, REST, REST),
    "simulate_batch": lambda m: kt.simulate_batch(m, REST[None], duration=0.01, times=2),
    "Problem": lambda m: kt.Problem(m, duration=1.0, objective=[kt.terms.SquaredTorque()]),
    "inverse_kinematics": lambda m: kt.inverse_kinematics(m, kt.Target("coupler", (0.1, 0.1, 0.0))),
    "forced simulation": lambda m: check_run(m, ("cholesky",), 1e-8),
}
STUDY = '[study]\ntask = "{}"\n[mechanism]\nzoo = "four_bar"\n{}'
MOTION = '[trajectory]\nkind = "cycloid"\nstart = 0\nend = 0.5\nduration = 1\n'
TABLES = {
    "inverse": MOTION,
    "simulate": "[initial]\nq = 0\n",
    "control": MOTION + '[controller]\nkind = "pd"\nkp = 1\nkd = 1\n',
    "predict": '[predict]\nduration = [0.5, 1]\nobjective = "squared_torque"\n',
}


def refusal(call):
    with pytest.raises(kt.InputError) as caught:
        call()
    return str(caught.value)


def kinetree(*arguments):
    return CliRunner().invoke(app, [str(x) for x in arguments])


@pytest.mark.parametrize("states", [REST, MANY], ids=["one state", "many"])
@pytest.mark.parametrize("name", DYNAMICS)
def test_every_question_of_dynamics_refuses(name, states):
    DYNAMICS[name](LINKAGE.opened(), states)
    for _ in range(2):  # what was prepared for the open tree is not used for the closed one
        told = refusal(lambda: DYNAMICS[name](LINKAGE, states))
        assert told == (
            f"mechanism 'four_bar' has closed loops (crank_pin); {name} answers for open trees only: pass "
            "mechanism.opened() for the tree without its loops"
        )


@pytest.mark.parametrize("name", WHOLE)
def test_whatever_stands_on_dynamics_refuses(name):
    told = refusal(lambda: WHOLE[name](LINKAGE))
    assert "mechanism 'four_bar' has closed loops (crank_pin)" in told and "mechanism.opened()" in told


def test_a_floating_base_refuses():
    robot = kt.Builder("robot")
    box = kt.Inertia.box(1.0, (0.1, 0.2, 0.3))
    trunk = robot.world.free("base").body("trunk", box)
    legs = [trunk.revolute(f"hip{k}", at=(0.1 * k, 0, 0)).body(f"leg{k}", box) for k in range(2)]
    robot.loop("bar", *legs)
    told = refusal(lambda: kt.floating_base_inverse_dynamics(robot.build(), [0] * 8, [0] * 8, [0] * 2))
    assert "'robot' has closed loops (bar); floating_base_inverse_dynamics answers" in told
    base, _ = kt.floating_base_inverse_dynamics(robot.build().opened(), [0] * 8, [0] * 8, [0] * 2)
    assert_close(base, [0, 0, -9.81, 0, 0, 0])


@pytest.mark.parametrize("formulation", able("inverse_dynamics"))
def test_every_formulation_refuses(formulation):
    told = refusal(lambda: kt.inverse_dynamics(LINKAGE, REST, REST, REST, formulation=formulation))
    assert "closed loops (crank_pin)" in told


def test_loads_and_memory_of_the_user_do_not_open_a_loop():
    load = kt.Wrench("coupler", force=(1, 0, 0))
    assert "closed loops" in refusal(lambda: kt.inverse_dynamics(LINKAGE, REST, REST, REST, load))
    out = np.full(3, 7.0)
    assert "closed loops" in refusal(lambda: kt.inverse_dynamics(LINKAGE, REST, REST, REST, out=out))
    assert (out == 7.0).all()
    with kt.unchecked():
        assert "closed loops" in refusal(lambda: kt.inverse_dynamics(LINKAGE, REST, REST, REST))


def test_equations_of_motion_refuse():
    pytest.importorskip("sympy")
    assert "equations_of_motion answers" in refusal(lambda: kt.equations_of_motion(LINKAGE))
    assert kt.equations_of_motion(LINKAGE.opened()).M.shape == (3, 3)


def test_positions_and_velocities_of_the_tree_are_told_with_loops_too():
    assert_close(
        kt.forward_kinematics(LINKAGE, REST).position, kt.forward_kinematics(LINKAGE.opened(), REST).position
    )
    assert kt.body_velocities(LINKAGE, REST, REST).shape == (3, 6)
    assert kt.body_accelerations(LINKAGE, REST, REST, REST).shape == (3, 6)
    assert kt.jacobian(LINKAGE, REST, "coupler").shape == (6, 3)
    assert kt.center_of_mass(LINKAGE, REST).shape == (3,)


# ---- the opened mechanism ------------------------------------------------------------------------------
def test_opened_leaves_out_the_loops_and_nothing_else():
    opened = LINKAGE.opened()
    assert opened.loops == () and LINKAGE.loops != ()
    assert (opened.name, opened.links, opened.contact_points) == (
        LINKAGE.name,
        LINKAGE.links,
        LINKAGE.contact_points,
    )
    assert np.array_equal(opened.gravity, LINKAGE.gravity)
    assert LINKAGE.opened() is opened, "its tree is compiled once"
    arm = kt.zoo.gripper()
    assert arm.opened() is arm


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["name"])
def test_the_opened_linkage_with_the_force_of_its_pin_moves_as_the_closed_one(record):
    """Reference data: the crank's torque is that of the closed mechanism, rocker and coupler need none."""
    four_bar = kt.zoo.four_bar({"table8.1_full_rod": "table8.1"}.get(record["name"], record["name"]))
    (pin,) = four_bar.loops
    for q, qd, qdd, drive, (x, y) in zip(
        *(record[key] for key in ("q", "qd", "qdd", "tau_drive", "lam")), strict=True
    ):
        loads = [
            kt.Wrench(pin.body_a, force=(x, y, 0), point=pin.placement_a.position),
            kt.Wrench(pin.body_b, force=(-x, -y, 0), point=pin.placement_b.position),
        ]
        assert_close(kt.inverse_dynamics(four_bar.opened(), q, qd, qdd, loads), [drive, 0.0, 0.0], 1e-9)
        alone = kt.inverse_dynamics(four_bar.opened(), q, qd, qdd)
        assert abs(alone[0] - drive) > 0.1, "without the pin the tree needs another torque"


# ---- studies and the command line ----------------------------------------------------------------------
@pytest.mark.parametrize("task", TABLES)
def test_every_study_refuses(task, tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(task, TABLES[task]))
    ran = kinetree("run", path)
    assert ran.exit_code == 2 and "closed loops (crank_pin)" in ran.stderr, ran.output
    checked = kinetree("check", path)
    assert checked.exit_code == 2 and "closed loops (crank_pin)" in checked.output
    assert not list(tmp_path.glob("*.nc"))


@pytest.mark.parametrize("command", ["verify", "derivatives", "bench"])
def test_commands_refuse(command):
    told = kinetree(command, "four_bar")
    assert told.exit_code == 2 and "closed loops (crank_pin)" in told.stderr, told.output


@pytest.mark.parametrize("task", TABLES)
def test_no_study_that_would_be_refused_is_begun(task, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = kinetree("new", "study", "mine", "--template", task, "--model", "three_rrr")
    assert told.exit_code == 2 and "closed loops" in told.output
    assert not Path("mine.toml").exists()
