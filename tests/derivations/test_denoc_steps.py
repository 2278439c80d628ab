"""The recursions module by module ([Shah2013], Tables 6.3 and 6.4): every quantity against another way."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.analysis.module_steps import module_steps
from kinetree.cli import app
from kinetree.derivations.denoc.steps import JOINTS, VECTORS, denoc_steps

NAMES = ("gripper", "biped_fixed", "quadruped", "two_link_prismatic")


@pytest.fixture(scope="module", params=NAMES)
def case(request):
    robot = getattr(kt.zoo, request.param)()
    state = np.random.default_rng(3).uniform(-0.8, 0.8, (3, robot.n_dof))
    return robot, state, denoc_steps(robot, *state)


def state_of(robot):
    return kt.random_state(robot, np.random.default_rng(0))


def whole(steps, name):
    return np.concatenate([steps.of(name, i) for i in steps.modules])


def test_torques_are_those_of_the_kernels_and_lead_back_to_the_accelerations(case):
    robot, state, steps = case
    axes = list(steps.matrices.axes)
    assert whole(steps, "tau") == pytest.approx(kt.inverse_dynamics(robot, *state)[axes], abs=1e-12)
    assert whole(steps, "qdd") == pytest.approx(state[2][axes], abs=1e-10)


def test_twists_are_the_natural_orthogonal_complement_times_the_rates(case):
    _, (_, qd, _), steps = case
    assert whole(steps, "t") == pytest.approx(steps.matrices.N @ qd[list(steps.matrices.axes)], abs=1e-12)


def test_twist_rates_are_differences_of_twists(case):
    """In world axes; without gravity, which only raises the base."""
    robot, (q, qd, qdd), steps = case
    h = 1e-6
    sides = [denoc_steps(robot, q + s * h * qd, qd + s * h * qdd, qdd) for s in (1.0, -1.0)]
    rates = (whole(sides[0], "t") - whole(sides[1], "t")) / (2 * h)
    lifted = whole(steps, "t_dot").reshape(-1, 6) + np.concatenate([np.zeros(3), robot.tree.gravity])
    assert lifted.ravel() == pytest.approx(rates, abs=1e-7)


def test_wrenches_of_composite_modules_are_sums_over_what_they_carry(case):
    _, _, steps = case
    matrices = steps.matrices
    for i in steps.modules:
        carried = [j for j in steps.modules if matrices.upstream(j, i)]
        wanted = sum(matrices.A_bar(j, i).T @ steps.of("w_star", j) for j in carried)
        assert steps.of("w_tilde", i) == pytest.approx(wanted, abs=1e-11)


def test_phi_is_the_inertia_matrix_times_the_accelerations(case):
    _, (_, _, qdd), steps = case
    axes = list(steps.matrices.axes)
    assert whole(steps, "phi") == pytest.approx(steps.matrices.I @ qdd[axes], abs=1e-11)
    assert whole(steps, "phi_hat") == pytest.approx(steps.matrices.U_inv @ whole(steps, "phi"), abs=1e-10)
    assert whole(steps, "mu") == pytest.approx(steps.matrices.N @ qdd[axes], abs=1e-9)


def test_eta_is_what_articulated_modules_hand_on(case):
    """p^T eta of a module's joints is phi: the pivot takes phi^, the rest came from beyond."""
    _, _, steps = case
    for i in steps.modules:
        joints = steps.matrices.N_bar(i).T @ steps.of("eta", i)
        armature = steps.mechanism.tree.armature[list(steps.matrices.block(i).columns)]
        if not armature.any():
            assert joints == pytest.approx(steps.of("phi", i), abs=1e-11)


def test_other_partitions_have_the_same_torques():
    robot, state = kt.zoo.gripper(), np.random.default_rng(1).uniform(-1, 1, (3, 4))
    own = denoc_steps(robot, *state)
    for partition in ("links", "axes"):
        other = denoc_steps(robot, *state, partition)
        assert whole(other, "tau") == pytest.approx(whole(own, "tau"), abs=1e-13)
        assert other.labeled().w_tilde.sel(link="joint1").values == pytest.approx(own.of("w_tilde", 1))


def test_springs_friction_and_armature_are_in_the_torques():
    build = kt.Builder("driven", gravity=(0, 0, -9.81))
    arm = build.world.revolute(
        "hinge", axis="y", armature=0.2, stiffness=3.0, viscous=0.4, coulomb=0.1, coulomb_reverse=0.3
    ).body("arm", kt.Inertia.rod(1.0, end=(0.5, 0, 0)))
    arm.prismatic("slide", axis="x", at=(0.5, 0, 0), viscous=2.0).body("hand", kt.Inertia.sphere(0.5, 0.1))
    robot, state = build.build(), np.array([[0.3, 0.1], [0.7, -0.2], [1.0, 0.5]])
    steps = denoc_steps(robot, *state)
    assert whole(steps, "tau") == pytest.approx(kt.inverse_dynamics(robot, *state), abs=1e-12)
    assert whole(steps, "qdd") == pytest.approx(state[2], abs=1e-12)


def test_labeled_data_have_names_modules_and_meanings(case):
    _, _, steps = case
    data = steps.labeled()
    assert set(data.data_vars) == {*VECTORS, *JOINTS}
    assert all(data[name].attrs["long_name"] for name in data.data_vars)
    for i in steps.modules:
        own = data.eta.values[data.link_module.values == i]
        assert own.ravel() == pytest.approx(steps.of("eta", i))
        assert set(data.joint.values[data.joint_module.values == i]) == set(steps.joints(i))


def test_what_is_not_there_is_named():
    steps = module_steps(kt.zoo.gripper(), state_of(kt.zoo.gripper())).steps
    with pytest.raises(kt.errors.InputError, match="w_tilde"):
        steps.of("w_tidle", 1)
    with pytest.raises(kt.errors.InputError, match="module"):
        steps.of("t", 9)
    with pytest.raises(kt.KinetreeError, match="closed loops"):
        module_steps(kt.zoo.four_bar(), state_of(kt.zoo.four_bar()))


def test_the_command_shows_every_step():
    said = CliRunner().invoke(app, ["verify", "gripper", "--steps"], env={"COLUMNS": "120"})
    assert said.exit_code == 0 and "module 2: joint2, joint3" in said.output
    for name in (*VECTORS, *JOINTS, "M_tilde", "M_hat"):
        assert f"\n{name} " in said.output
    told = json.loads(CliRunner().invoke(app, ["verify", "gripper", "--steps", "--json"]).output)
    assert told["passed"] and {row["module"] for row in told["rows"]} == {1, 2, 3}
    refused = CliRunner().invoke(app, ["verify", "four_bar", "--steps"])
    assert refused.exit_code == 2 and "closed loops" in refused.output


def test_the_command_takes_the_state_and_prints_it():
    """The torques are those of inverse dynamics at the state that the user gave."""
    given = ["--q", "0.5,-1.25", "--qd", "-1,0.5", "--qdd", "0.25,2"]
    said = CliRunner().invoke(app, ["verify", "two_link", "--steps", "--json", *given])
    found = json.loads(said.stdout)
    assert found["state"] == {"q": [0.5, -1.25], "qd": [-1.0, 0.5], "qdd": [0.25, 2.0]}
    tau = [row["values"][0] for row in found["rows"] if row["quantity"] == "tau"]
    assert tau == pytest.approx(kt.inverse_dynamics(kt.zoo.two_link(), *found["state"].values()), abs=1e-12)
    shown = CliRunner().invoke(app, ["verify", "two_link", "--steps", *given]).stdout
    assert "-1.25" in shown and shown.index("state") < shown.index("module 1")


@pytest.mark.parametrize("given", [["--q", "0.5,1"], ["--steps", "--qd", "1,2"], ["--steps", "--q", "1"]])
def test_a_state_without_its_purpose_is_refused(given):
    said = CliRunner().invoke(app, ["verify", "two_link", *given])
    assert said.exit_code == 2
