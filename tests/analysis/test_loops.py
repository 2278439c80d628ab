"""Closed loops: questions about them, about the opened mechanism, and what still refuses them."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.analysis.derivative_check import check_derivatives
from kinetree.analysis.moment_point import inertial_wrench
from kinetree.cli.app import app
from kinetree.derivations.denoc.matrices import denoc_matrices
from kinetree.documents.forced_simulation import check_run
from support.cases import assert_close
from support.each import each

LINKAGE, REST = kt.zoo.four_bar(), np.zeros(3)
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
    "joint_reaction_derivatives": lambda m, x: kt.analysis.joint_reaction_derivatives(m, x, x, x),
    "torque_hessian": lambda m, x: kt.analysis.torque_hessian(m, x, x, x, x),
    "inertia_regressor": lambda m, x: kt.analysis.inertia_regressor(m, x, x, x),
    "kinetic_energy": lambda m, x: kt.kinetic_energy(m, x, x),
    "potential_energy": kt.potential_energy,
    "momentum": lambda m, x: kt.momentum(m, x, x),
    "zero_moment_point": lambda m, x: kt.analysis.zero_moment_point(m, x, x, x),
    "inertial_wrench": lambda m, x: inertial_wrench(m, x, x, x),
}
QUESTIONS = DYNAMICS | {  # at rest
    "inverse_dynamics": lambda m, x: kt.inverse_dynamics(m, x, REST, REST),
    "forward_dynamics": lambda m, x: kt.forward_dynamics(m, x, REST, REST),
    "bias_torque": lambda m, x: kt.bias_torque(m, x, REST),
    "joint_reactions": lambda m, x: kt.joint_reactions(m, x, REST, REST),
    "inverse_dynamics_derivatives": lambda m, x: kt.inverse_dynamics_derivatives(m, x, REST, REST),
    "forward_dynamics_derivatives": lambda m, x: kt.forward_dynamics_derivatives(m, x, REST, REST),
    "joint_reaction_derivatives": lambda m, x: kt.analysis.joint_reaction_derivatives(m, x, REST, REST),
    "inertia_regressor": lambda m, x: kt.analysis.inertia_regressor(m, x, REST, REST),
    "zero_moment_point": lambda m, x: kt.analysis.zero_moment_point(m, x, REST, REST),
    "inertial_wrench": lambda m, x: inertial_wrench(m, x, REST, REST)[0],
}
WHOLE = {
    "denoc_matrices": lambda m: denoc_matrices(m, REST),
    "forced simulation": lambda m: check_run(m, ("cholesky",), 1e-8),
}
STUDY = '[study]\ntask = "{}"\nduration = 1.0\n[mechanism]\nzoo = "four_bar"\n{}'
MOTION = '[trajectory]\nkind = "cycloid"\nstart = 0\nend = 0.5\nduration = 1\n'
TABLES = {
    "inverse": MOTION,
    "simulate": "[initial]\nq = 0\n",
    "control": MOTION + '[controller]\nkind = "pd"\nkp = 1\nkd = 1\n',
}


def refusal(call):
    with pytest.raises(kt.errors.InputError) as caught:
        call()
    return str(caught.value)


def kinetree(*arguments):
    return CliRunner().invoke(app, [str(x) for x in arguments])


CLOSED = kt.loops.assemble(LINKAGE, [0.3, 1.0, 4.3], hold=["crank_pivot"])
OF_THE_TREE = ("bias_torque", "mass_matrix", "kinetic_energy", "potential_energy", "momentum")
OF_THE_TREE += ("zero_moment_point", "inertial_wrench")


def numbers(answer):
    return (
        answer.tau if hasattr(answer, "tau") else getattr(answer, "qdd", getattr(answer, "reaction", answer))
    )


@each("name", [name for name in DYNAMICS if name != "torque_hessian"])
def test_every_question_of_dynamics_answers_for_one_state_and_many(name):
    """At rest in a closed position; those that do not feel the loops answer as for the open tree."""
    DYNAMICS[name](
        LINKAGE.opened(), REST
    )  # what was prepared for the open tree is not used for the closed one
    ask = QUESTIONS[name]
    one, many = (numbers(ask(LINKAGE, q)) for q in (CLOSED, np.tile(CLOSED, (5, 1))))
    assert many.shape == (5, *one.shape)
    assert_close(np.nan_to_num(many[3]), np.nan_to_num(one))
    same = np.array_equal(one, numbers(ask(LINKAGE.opened(), CLOSED)))
    assert same == (name in OF_THE_TREE)


@each("name", [name for name in DYNAMICS if name not in (*OF_THE_TREE, "torque_hessian")])
def test_questions_that_feel_the_loops_refuse_states_that_open_them(name):
    told = refusal(lambda: QUESTIONS[name](LINKAGE, REST))
    assert "mechanism 'four_bar': loop 'crank_pin' is open by" in told


@pytest.mark.parametrize("name", WHOLE)
def test_whatever_stands_on_dynamics_refuses(name):
    told = refusal(lambda: WHOLE[name](LINKAGE))
    assert "mechanism 'four_bar' has closed loops (crank_pin)" in told and "mechanism.opened()" in told


def test_memory_of_the_user_is_left_alone_where_a_loop_is_open():
    out = np.full(3, 7.0)
    assert "is open by" in refusal(lambda: kt.inverse_dynamics(LINKAGE, REST, REST, REST, out=out))
    assert (out == 7.0).all()


def test_equations_of_motion_refuse():
    pytest.importorskip("sympy")
    assert "equations_of_motion supports" in refusal(lambda: kt.analysis.equations_of_motion(LINKAGE))
    assert kt.analysis.equations_of_motion(LINKAGE.opened()).M.shape == (3, 3)


def test_positions_and_velocities_of_the_tree_are_told_with_loops_too():
    assert_close(
        kt.forward_kinematics(LINKAGE, REST).position, kt.forward_kinematics(LINKAGE.opened(), REST).position
    )
    assert kt.body_velocities(LINKAGE, REST, REST).shape == (3, 6)
    assert kt.analysis.body_accelerations(LINKAGE, REST, REST, REST).shape == (3, 6)
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
def test_every_study_refuses_open_loops(task, tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(task, TABLES[task]))
    ran = kinetree("run", path)
    assert ran.exit_code == 2 and "loop 'crank_pin' is open by" in ran.stderr, ran.output
    checked = kinetree("check", path)
    assert checked.exit_code == 2 and "crank_pin" in checked.output
    assert not list(tmp_path.glob("*.nc"))


def test_formulations_are_compared_at_states_that_fit_the_loops():
    told = kinetree("verify", "four_bar", "--states", "1")
    assert told.exit_code == 0, told.output
    assert "denoc" in told.output and "Worst relative difference" in told.output


def test_total_derivatives_are_compared_with_differences_along_the_loops():
    told = kinetree("derivatives", "four_bar", "--states", "1")
    assert told.exit_code == 0, told.output
    checks = check_derivatives(kt.zoo.three_rrr(), states=1)
    assert len(checks) == 8 and all(check.passed for check in checks)


def test_questions_are_timed_at_states_that_fit_the_loops():
    told = kinetree("bench", "four_bar", "--batch", "4", "--json")
    assert told.exit_code == 0, told.output
    assert "inverse_dynamics" in told.output


@pytest.mark.parametrize("task", TABLES)
def test_studies_that_can_be_run_are_begun(task, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = kinetree("new", "study", "mine", "--template", task, "--model", "three_rrr")
    taken = task in ("inverse", "simulate", "control")
    assert told.exit_code == (0 if taken else 2), told.output
    assert taken or "closed loops" in told.output
    assert Path("mine.toml").exists() == taken
    assert not taken or kinetree("check", "mine.toml").exit_code == 0
