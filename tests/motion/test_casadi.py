"""The benchmarks' problems against CasADi: other mechanics, other derivatives, another solver."""

import importlib.util

import casadi as ca
import numpy as np
import pytest
from benchmarks import prediction, walking_casadi
from benchmarks.peers import casadi_motion, casadi_tree

import kinetree as kt
from kinetree.motion.predict import predict

LOAD = kt.Wrench("link2", force=(0, -10, 0), point=(0.4, 0, 0))


@pytest.mark.parametrize(
    ("function", "make", "load"),
    [
        (casadi_motion.planar_arm(ca, 9.8062, 10.0), prediction.lifting, LOAD),
        (casadi_motion.sliding_arm(ca), prediction.sliding, None),
        (None, prediction.six_axes, None),
    ],
    ids=["planar", "sliding", "six axes"],
)
def test_mechanics_written_by_hand_agree(rng, function, make, load):
    problem = make()
    function = function or casadi_motion.newton_euler(ca, problem)
    q, qd, qdd = rng.standard_normal((3, problem.mechanism.n_dof))
    expected = kt.inverse_dynamics(problem.mechanism, q, qd, qdd, load)
    assert np.allclose(np.array(function(q, qd, qdd)).ravel(), expected, rtol=1e-10, atol=1e-10)


def test_trees_with_loads_agree(rng):
    robot, point = kt.zoo.quadruped(), np.array([0.1, 0.2, 0.3])
    tree, k = robot.tree, robot.body_index("shank1")
    axis, place = int(tree.body_axis[k]), tree.body_rotation[k] @ point + tree.body_position[k]
    function = casadi_tree.mechanics(ca, tree, [(axis, place)], [axis], [(axis, place)])
    q, qd, qdd = rng.standard_normal((3, robot.n_dof))
    force, moment = rng.standard_normal((2, 3))
    tau, places, speeds = (np.array(x) for x in function(q, qd, qdd, np.stack([force, moment], axis=1)))
    load = kt.Wrench("shank1", force=force, moment=moment, point=point)
    expected = kt.inverse_dynamics(robot, q, qd, qdd, load)
    assert np.allclose(tau.ravel(), expected, rtol=1e-10, atol=1e-10)
    R, p = kt.forward_kinematics(robot, q)["shank1"]
    assert np.allclose(places.ravel(), p + R @ point)
    J = kt.jacobian(robot, q, "shank1", point=point)[:3]
    assert np.allclose(speeds.ravel(), J @ qd)


def test_the_program_of_walking_agrees(rng):
    program = kt.walking.walking_problem().program
    step = walking_casadi.Walk(ca, program)
    z, y = 0.3 * rng.standard_normal(program.n), rng.standard_normal(program.m)
    gradient, J, H = step.chained()
    functions = {
        "torques": ca.Function("tau", [step.z], [step.torques]),
        "objective": ca.Function("f", [step.z], [step.f]),
        "rows": ca.Function("g", [step.z], [step.g]),
        "gradient": ca.Function("df", [step.z], [gradient]),
        "Jacobian": ca.Function("J", [step.z], [J]),
        "Hessian": ca.Function("H", [step.z, step.y], [H]),
    }
    for name, difference in walking_casadi.compared(step, functions, z, y).items():
        assert difference < 1e-11, name


@pytest.mark.parametrize("case", prediction.CASES[:3], ids=lambda case: case.name)
def test_motions_agree(case):
    problem = case.make()
    ours, theirs = predict(problem), case.casadi(ca, problem)
    assert ours.objective == pytest.approx(theirs["objective"], rel=2e-5)
    assert ours.objective == pytest.approx(case.truth, abs=1e-5)


def test_the_demanding_cases_are_solved():
    for make in (prediction.six_axes_with_reactions, prediction.seven_axes):
        found = predict(make())
        assert found.solved
        assert found.violation_at_samples < 1e-5
        families = {bound.family for bound in found.active if bound.price < -1e-3}
        assert families & {"joint reaction limit", "keep-out sphere"}


def test_the_script_has_its_parts():
    assert importlib.util.find_spec("casadi")
    assert {case.name for case in prediction.CASES} >= {name for name, _, _ in prediction.REFINED}
