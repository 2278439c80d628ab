"""Rows in blocks of torques: the same matrices as from sparse rows, and the same motions."""

import numpy as np
import pytest
from scipy import sparse

import kinetree as kt
from kinetree.motion.program.nonlinear import NonlinearProgram
from kinetree.terms import Boundary, Effort, Posture, SquaredTorque, TorqueLimits
from motion.test_support import moving_support, walker


def arm():
    ends = [Boundary("start", [0.0, -2.0], 0.0), Boundary("end", [1.0, -1.0], 0.0)]
    objective = [SquaredTorque(), 0.1 * Posture()]
    return kt.Problem(
        kt.zoo.two_link(), objective=objective, constraints=[*ends, TorqueLimits()], duration=1.0
    )


@pytest.fixture(params=[lambda: walker(moving_support()), arm], ids=["walker", "arm"])
def program(request):
    found = request.param().program
    assert found.structure is not None
    return found


def test_blocks_are_the_rows(program, rng):
    z, d, y = (
        0.1 * rng.standard_normal(program.n),
        rng.standard_normal(program.n),
        rng.standard_normal(program.m),
    )
    entries = program.jacobian(z), (program.jacobian_rows, program.jacobian_columns)
    J = sparse.csr_array(entries, shape=(program.m, program.n)).toarray()
    linear = program.linearized(z)
    assert np.allclose(linear.times(d), J @ d, rtol=1e-12, atol=1e-12 * np.abs(J @ d).max())
    assert np.allclose(linear.transposed(y), J.T @ y, rtol=1e-12, atol=1e-12 * np.abs(J.T @ y).max())
    some = np.sort(rng.choice(program.m, 7, replace=False))
    assert np.allclose(linear.chosen(some), J[some], atol=1e-12 * np.abs(J[some]).max())
    weight = rng.uniform(0.0, 2.0, program.m)
    wanted = np.tril(NonlinearProgram.gauss_newton(program, z) + (J.T * weight) @ J)
    found = np.tril(linear.condensed(weight))
    assert np.allclose(found, wanted, atol=1e-12 * np.abs(wanted).max())


def test_curvature_and_gradient_in_blocks_are_those_of_all_samples(program, rng):
    z, y = 0.1 * rng.standard_normal(program.n), rng.standard_normal(program.m)
    wanted = np.tril(NonlinearProgram.curvature(program, z, y))
    assert np.allclose(np.tril(program.curvature(z, y)), wanted, atol=1e-11 * np.abs(wanted).max())
    gradient = program.gradient(z)
    program.__dict__["structure"] = None
    other = program.gradient(z)
    assert np.allclose(gradient, other, atol=1e-12 * np.abs(other).max())


def test_powers_of_torques_are_squares_while_they_are_eased():
    joints = ["joint1", "joint2"]
    ends = [Boundary("start", [0.0, -2.0], 0.0), Boundary("end", [1.0, -1.0], 0.0)]
    power, square = (
        kt.Problem(
            kt.zoo.two_link(), objective=Effort(p, joints, limits=3.0), constraints=ends, duration=1.0
        ).program
        for p in (3.5, 2.0)
    )
    z = 0.3 * np.random.default_rng(0).standard_normal(power.n)
    before = power.objective(z)
    assert power.ease(True) and power.objective(z) == pytest.approx(square.objective(z), rel=1e-12)
    assert np.allclose(power.gradient(z), square.gradient(z))
    power.ease(False)
    assert power.objective(z) == before


def test_sizes_of_joints_change_numbers_of_a_solver_but_not_the_motion():
    problem = arm()
    scaled = problem.changed(sizes={"joint2": 0.1})
    z = np.random.default_rng(1).standard_normal(problem.program.n)
    x = problem.program.unknowns(z)
    assert np.allclose(scaled.program.unknowns(scaled.program.reduced(x)), x)
    assert scaled.check_derivatives().passed
    assert kt.predict(scaled).objective == pytest.approx(kt.predict(problem).objective, rel=1e-7)
    with pytest.raises(kt.errors.InputError, match="size of joint 'joint2' must be positive"):
        problem.changed(sizes={"joint2": 0.0})
