"""The benchmarks' problems against CasADi: other mechanics, other derivatives, another solver."""

import importlib.util

import casadi as ca
import numpy as np
import pytest
from benchmarks import prediction
from benchmarks.peers import casadi_motion

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
