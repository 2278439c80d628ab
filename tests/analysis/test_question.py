"""One question, every way to its answer: all give what another formulation gives."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.inverse import INVERSE
from kinetree.engine import run
from support import trees
from support.cases import assert_close
from support.each import each

COUNT = 9


def listed(robot, *x):
    return kt.inverse_dynamics(robot, *(y.tolist() for y in x))


def strided(robot, *x):
    return kt.inverse_dynamics(robot, *(np.repeat(y, 2, axis=-1)[..., ::2] for y in x))


def given(robot, *x):
    return kt.inverse_dynamics(robot, *x, out=np.full(x[0].shape, np.nan))


def unchecked(robot, *x):
    with kt.analysis.unchecked():
        return kt.inverse_dynamics(robot, *x)


def broadcast(robot, *x):
    return kt.inverse_dynamics(robot, *(y[None] for y in x))[0]


WAYS = {
    "first and later": lambda robot, *x: [kt.inverse_dynamics(robot, *x) for _ in range(3)][-1],
    "lists": listed,
    "not contiguous": strided,
    "single precision": lambda robot, *x: kt.inverse_dynamics(robot, *(y.astype(np.float32) for y in x)),
    "given memory": given,
    "two threads": lambda robot, *x: kt.inverse_dynamics(robot, *x, threads=2),
    "unchecked": unchecked,
    "more axes": broadcast,
    "no load": lambda robot, *x: kt.inverse_dynamics(robot, *x, kt.Wrench(robot.body_names[-1])),
}


@each("batch", [(), (1,), (3,), (COUNT,), (2, 3)], ids=str)
@each("way", WAYS)
@each("make", [lambda rng: kt.zoo.gripper(), trees.mimic_tree], ids=["gripper", "mimic"])
def test_every_way_gives_what_another_formulation_gives(make, way, batch, rng):
    robot = make(rng)
    x = [np.float32(rng.uniform(-1, 1, (*batch, robot.n_dof))).astype(float) for _ in range(3)]
    expected = kt.inverse_dynamics(robot, *x, formulation="newton_euler")
    assert_close(WAYS[way](robot, *x), expected, 1e-11)


def test_the_interpreter_is_asked_where_machine_code_is_off(rng, monkeypatch):
    monkeypatch.setattr(run, "INTERPRET", True)
    robot = kt.zoo.two_link_prismatic()
    for batch in ((), (2,), (COUNT,)):
        x = [rng.uniform(-1, 1, (*batch, 2)) for _ in range(3)]
        expected = kt.inverse_dynamics(robot, *x, formulation="newton_euler")
        assert_close(kt.inverse_dynamics(robot, *x), expected)
        assert_close(kt.forward_dynamics(robot, *x[:2], expected), x[2], 1e-9)
    assert run.prepared(INVERSE.kernel, robot.tree).way is None


def test_what_leads_straight_to_machine_code_is_kept_with_the_tree():
    robot, rest = kt.zoo.gripper(), np.zeros(4)
    assert not robot.tree.kept.calls
    tau = kt.inverse_dynamics(robot, rest, rest, rest)
    call = robot.tree.kept.calls[INVERSE]
    assert np.array_equal(call(rest, rest, rest), tau)
    assert call(rest.tolist(), rest, rest) is None and call(np.full(4, np.nan), rest, rest) is None


def test_something_else_than_an_earlier_answer_is_refused_before_any_work(rng):
    """Although the states are wrong, too."""
    arm, wrong = kt.zoo.kuka_kr5(), [[np.nan] * 6] * 3
    for ask in (kt.inverse_dynamics_derivatives, kt.forward_dynamics_derivatives):
        with pytest.raises(kt.errors.InputError, match="earlier result of this function, got list"):
            ask(arm, *wrong, out=[])
