"""Names that users guess: errors say what the thing is called here."""

import operator
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli import app
from kinetree.errors import OTHER_WORDS, InputError, ModelError
from support.each import each

ARM, BAR = kt.zoo.two_link(), kt.zoo.four_bar()
LINE = kt.trajectories.quintic([0.0], [1.0], 1.0)


@each(
    "call, meant",
    [
        (lambda: kt.loops.assemble(BAR, guess=[0.0, 1.0, 4.3]), "q0"),
        (lambda: kt.loops.dependent_motion(BAR, ["crank_pivot"], [[0.0]], guess=[0.0, 1.0, 4.3]), "q0"),
        (lambda: kt.trajectories.follow(BAR, LINE, ["crank_pivot"], guess=[0.0, 1.0, 4.3]), "q0"),
        (lambda: kt.trajectories.tool_line(ARM, "link2", by=(0.1, 0, 0), duration=1.0, start=[0, 1]), "q0"),
        (lambda: kt.inverse_kinematics(ARM, [], guess=[0, 1]), "q0"),
        (lambda: kt.simulate(ARM, [0, 1], T=1.0), "duration"),
        (lambda: kt.Wrench("link1", force=(0, 0, 1), at=(0.1, 0, 0)), "point"),
        (lambda: kt.Spring("coil", "world", "link1", stiffness=1.0, rest_length=0.3), "rest"),
        (lambda: kt.Builder("b").spring("coil", "world", "x", stiffness=1.0, rest_length=0.3), "rest"),
        (lambda: kt.Problem(ARM, objectives=kt.terms.Time()), "objective"),
        (lambda: kt.Builder("b").world.revolute("j", torque_limit=3.0), "effort_limit"),
    ],
)
def test_keywords_of_other_names_lead_to_ours(call, meant):
    with pytest.raises((InputError, ModelError), match=f"Did you mean '{meant}'"):
        call()


@pytest.mark.parametrize(
    "room", ["terms", "control", "loops", "trajectories", "simulation", "analysis", "zoo"]
)
def test_every_module_names_the_nearest(room):
    module = getattr(kt, room)
    name = module.__all__[0]
    with pytest.raises(AttributeError, match=rf"unknown name of kinetree.{room} '{name}x'.*'{name}'\?"):
        getattr(module, f"{name}x")
    assert not hasattr(module, "_private")


def test_an_obstacle_is_something_to_keep_out_of():
    with pytest.raises(AttributeError, match="Did you mean 'KeepOut'"):
        kt.terms.Obstacle  # noqa: B018


def test_other_words_are_not_ours():
    """A word that stands for itself would hide a typo; each leads to another one."""
    assert all(word not in meant for word, meant in OTHER_WORDS.items())


def test_old_keys_of_files_lead_to_the_new_ones(tmp_path):
    spring = (
        '[[spring]]\nname = "s"\nstiffness = 1\nrest_length = 0.2\na = {body = "world"}\nb = {body = "p"}\n'
    )
    body = 'name = "m"\n[[body]]\nname = "p"\nmass = 1\njoint = {kind = "prismatic", axis = "x"}\n'
    (tmp_path / "m.toml").write_text(body + spring)
    with pytest.raises(kt.KinetreeError, match="Did you mean 'rest'"):
        kt.load(tmp_path / "m.toml")
    with pytest.raises(kt.KinetreeError, match="Did you mean 'start'"):
        kt.run("four_bar_crank", trajectory={"guess": [0.0, 1.0, 4.3]})


def test_poses_by_joint_name():
    """Joints that are not named are at zero, as in study files."""
    given, plain = {"joint2": 0.5}, [0.0, 0.5]
    by_name = kt.simulate(ARM, given, {"joint1": 1.0}, duration=0.1, times=3)
    assert np.array_equal(by_name.q, kt.simulate(ARM, plain, [1.0, 0.0], duration=0.1, times=3).q)
    assert np.array_equal(kt.mass_matrix(ARM, given), kt.mass_matrix(ARM, plain))
    with pytest.raises(InputError, match=r"q0: unknown joint 'joint3'.*Did you mean"):
        kt.simulate(ARM, {"joint3": 0.5}, duration=0.1)
    with pytest.raises(InputError, match="q0 of joint 'joint1' must be"):
        kt.simulate(ARM, {"joint1": "a"}, duration=0.1)


def test_an_objective_is_a_term_and_tables_are_controllers():
    with pytest.raises(InputError, match=r"'time' is not an objective term such as kt.terms.Time\(\)"):
        kt.Problem(ARM, objective="time")
    tables = [([0, 1], [[0, 0], [1, 1]]), ([0, 1, 2], [[0, 0], [1, 1], [2, 2]])]
    with pytest.raises(InputError, match=r"controller=\[kt.control.TorqueTable"):
        kt.simulation.simulate_batch(ARM, np.zeros((2, 2)), duration=0.1, torque=tables)


def test_options_of_other_names_lead_to_ours():
    said = CliRunner().invoke(app, ["draw", "two_link", "--pose", "0,1"])
    assert said.exit_code == 2 and "Did you mean '--q'" in said.output


@pytest.mark.parametrize(
    ("guessed", "said"),
    [
        ("terms.Obstacle", "Did you mean 'KeepOut'?"),
        ("terms.Wall", "Did you mean 'KeepOutBox'?"),
        ("terms.MaxVelocity", "Did you mean 'VelocityLimits'?"),
        ("control.Gravity", "Did you mean 'GravityCompensation'?"),
        ("control.mpc", "control.MPC"),
        ("animate", "use kinetree.Result.animate"),
        ("workspace", "use kinetree.analysis.workspace"),
        ("trajectories.Line", "Did you mean 'tool_line'?"),
    ],
)
def test_guessed_names_lead_to_ours(guessed, said):
    with pytest.raises(AttributeError, match=re.escape(said)):
        operator.attrgetter(guessed)(kt)


def test_the_end_of_a_motion_is_a_constraint():
    with pytest.raises(kt.KinetreeError, match=r"'end'; allowed: .*Did you mean 'constraints'"):
        kt.Problem(kt.zoo.two_link(), end=[0.0, 0.0])
