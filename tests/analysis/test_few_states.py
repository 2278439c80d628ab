"""Batches shorter than the lanes: one state after the other, with the answers and errors of longer ones."""

import os
import subprocess
import sys

import numpy as np
import pytest

import kinetree as kt
from kinetree.kernels.number import LANES
from support.each import each

ROBOT = kt.zoo.kuka_kr5()
FEW = range(1, LANES)


def answers(q, qd, x):
    """Everything that has a way of its own for few states."""
    slopes = kt.inverse_dynamics_derivatives(ROBOT, q, qd, x)
    return {
        "tau": kt.inverse_dynamics(ROBOT, q, qd, x),
        "qdd": kt.forward_dynamics(ROBOT, q, qd, x),
        "M": kt.mass_matrix(ROBOT, q),
        "tau of slopes": slopes.tau,
        "dtau_dq": slopes.dtau_dq,
        "dtau_dqd": slopes.dtau_dqd,
        "dtau_dqdd": slopes.dtau_dqdd,
    }


@pytest.mark.parametrize("count", FEW)
def test_few_states_are_the_first_of_many(rng, count):
    q, qd, x = rng.standard_normal((3, 2 * LANES, 6))
    many = answers(q, qd, x)
    few = answers(*(np.array(a[:count]) for a in (q, qd, x)))
    for name, expected in many.items():
        assert few[name].shape == (count, *expected.shape[1:])
        np.testing.assert_allclose(few[name], expected[:count], rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("count", FEW)
def test_slopes_of_few_states_are_views_of_one_array(rng, count):
    slopes = kt.inverse_dynamics_derivatives(ROBOT, *rng.standard_normal((3, count, 6)))
    assert slopes.matrices.shape == (3, count, 6, 6)
    assert np.shares_memory(slopes.dtau_dq, slopes.matrices)
    again = kt.inverse_dynamics_derivatives(ROBOT, *rng.standard_normal((3, count, 6)), out=slopes)
    assert again is slopes


@pytest.mark.parametrize("count", FEW)
def test_answers_go_where_they_are_wanted(rng, count):
    state, out = rng.standard_normal((3, count, 6)), np.zeros((count, 6))
    assert kt.inverse_dynamics(ROBOT, *state, out=out) is out
    np.testing.assert_array_equal(out, kt.inverse_dynamics(ROBOT, *state))
    with pytest.raises(kt.errors.InputError, match="out must not share memory"):
        kt.inverse_dynamics(ROBOT, *state, out=state[0])


@each("count", [*FEW, 2 * LANES])
@each("function", [kt.inverse_dynamics, kt.forward_dynamics])
def test_a_bad_number_is_named(rng, function, count):
    q, qd, x = rng.standard_normal((3, count, 6))
    qd[count - 1, 2] = np.nan
    with pytest.raises(
        kt.errors.InputError, match=rf"qd must be finite, got nan for joint .* in state {count - 1}"
    ):
        function(ROBOT, q, qd, x)


@pytest.mark.parametrize("count", [*FEW, 2 * LANES])
def test_unchecked_few_states_keep_nan_to_themselves(rng, count):
    q, qd, x = rng.standard_normal((3, count, 6))
    clean = kt.inverse_dynamics(ROBOT, q, qd, x)
    q[0, 0] = np.nan
    with kt.analysis.unchecked():
        tau = kt.inverse_dynamics(ROBOT, q, qd, x)
    assert np.isnan(tau[0]).any()
    np.testing.assert_allclose(tau[1:], clean[1:], rtol=1e-13, atol=1e-13)


@each("count", [*FEW, LANES, 5, 1023])
@each("threads", [1, 2])
def test_one_singular_state_among_plain_ones_is_found(rng, count, threads):
    robot = kt.Builder("top")
    robot.world.spherical("socket").body("top", kt.Inertia(1.0, (0, 0, 0.2), (0.1, 0.1, 0.1)))
    top, still = robot.build(), np.zeros((count, 3))
    q = rng.uniform(-0.5, 0.5, (count, 3))
    assert np.isfinite(kt.forward_dynamics(top, q, still, still, threads=threads)).all()
    q[count // 2, 1] = np.pi / 2
    words = rf"joint 'socket\.ry' moves no inertia in state {count // 2} .*gimbal lock"
    for ask in (kt.forward_dynamics, kt.forward_dynamics_derivatives):
        with pytest.raises(kt.errors.SingularityError, match=words):
            ask(top, q, still, still, threads=threads)


def test_a_singular_state_is_found_in_the_interpreter_too():
    program = """
import numpy as np, kinetree as kt
robot = kt.Builder("top")
robot.world.spherical("socket").body("top", kt.Inertia(1.0, (0, 0, 0.2), (0.1, 0.1, 0.1)))
top, q, still = robot.build(), np.full((5, 3), 0.1), np.zeros((5, 3))
q[3, 1] = np.pi / 2
try:
    kt.forward_dynamics(top, q, still, still)
except kt.errors.SingularityError as error:
    print(error)
"""
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "KINETREE_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "in state 3 " in found.stdout


@each("count", [*FEW, LANES])
@each("threads", [0, 1.5, "two"])
def test_a_senseless_number_of_threads_is_refused(count, threads):
    x = np.zeros((count, 6))
    for ask in (kt.inverse_dynamics, kt.forward_dynamics, kt.inverse_dynamics_derivatives):
        with pytest.raises(kt.errors.InputError, match="threads must be"):
            ask(ROBOT, x, x, x, threads=threads)
    with pytest.raises(kt.errors.InputError, match="threads must be"):
        kt.mass_matrix(ROBOT, x, threads=threads)
