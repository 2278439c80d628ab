"""Rows in blocks of torques: products and squares against the sparse Jacobian and dense matrices."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.problem.problem import Problem
from kinetree.motion.program.block_linearized import BlockLinearized
from kinetree.motion.program.nonlinear import NonlinearProgram
from kinetree.motion.terms import (
    Boundary,
    Effort,
    JointLimits,
    Posture,
    SquaredTorque,
    TorqueLimits,
    TorqueRate,
)
from kinetree.tasks.walking.problem import walking_problem
from kinetree.tasks.walking.task import Walking


def arm():
    """Limited torques, an effort with an exponent, rates, posture: on splines of a few segments."""
    objective = [Effort(2.5, limits=10.0), 0.1 * SquaredTorque(), 0.01 * TorqueRate(limits=10.0), Posture()]
    ends = [Boundary("start", [0.0, 0.5], 0.0), Boundary("end", [1.0, -0.5], 0.0)]
    limits = [TorqueLimits([9.0, 5.0]), JointLimits(lower=-2.0, upper=2.0)]
    return Problem(
        kt.zoo.two_link(), objective=objective, constraints=[*ends, *limits], duration=0.7, segments=5
    )


def walker():
    """A human's step with few points and instants: mirrored splines, forces that are sought, supports."""
    return walking_problem(Walking(points=6, flat=1.0 / 3.0, nodes=(2, 2, 3, 3), closure=2, clearances=2))


@pytest.fixture(scope="module", params=[arm, walker])
def case(request):
    program = request.param().program
    rng = np.random.default_rng(5)
    z = np.clip(0.1 * rng.standard_normal(program.n), program.x_lower, program.x_upper)
    program.scale = 0.3
    linear, J = program.linearized(z), np.zeros((program.m, program.n))
    J[program.jacobian_rows, program.jacobian_columns] = program.jacobian(z)
    assert isinstance(linear, BlockLinearized)
    return program, z, linear, J, rng


def close(a, b):
    return np.abs(a - b).max() <= 1e-11 * max(1.0, np.abs(b).max())


def test_products_are_those_of_the_jacobian(case):
    program, _, linear, J, rng = case
    d, y = rng.standard_normal(program.n), rng.standard_normal(program.m)
    assert close(linear.times(d), J @ d) and close(linear.transposed(y), y @ J)
    rows = rng.permutation(program.m)[:20]
    assert close(linear.chosen(rows), J[rows])


def test_squares_are_dense_products(case):
    """Without weights the objective's alone, by its half Hessians; with some of them zero, too."""
    program, z, linear, J, rng = case
    squares = NonlinearProgram.gauss_newton(program, z)
    for weight in (np.zeros(program.m), rng.uniform(0.0, 3.0, program.m) * (rng.random(program.m) < 0.5)):
        expected = np.tril(squares + (J.T * weight) @ J)
        assert close(np.tril(linear.condensed(weight)), expected)


def test_curvature_is_what_squares_leave(case):
    program, z, _, _, rng = case
    y = rng.standard_normal(program.m)
    assert close(np.tril(program.curvature(z, y)), np.tril(NonlinearProgram.curvature(program, z, y)))


def test_slopes_and_hessians_are_differences(case):
    program, z, linear, _, rng = case
    y, d, h = rng.standard_normal(program.m), rng.standard_normal(program.n), 1e-6
    up, down = z + h * d, z - h * d
    change = (program.objective(up) - program.objective(down)) / (2 * h)
    assert program.gradient(z) @ d == pytest.approx(change, rel=1e-6)
    lagrangian = [program.gradient(x) + program.linearized(x).transposed(y) for x in (up, down)]
    H = np.tril(linear.condensed(np.zeros(program.m)) + program.curvature(z, y))
    found, expected = (H + np.tril(H, -1).T) @ d, (lagrangian[0] - lagrangian[1]) / (2 * h)
    assert np.abs(found - expected).max() < 1e-6 * np.abs(expected).max()


def test_easing_makes_powers_squares_and_back(case):
    program, z, *_ = case
    before = program.objective(z)
    assert program.ease(True)
    eased, H = program.objective(z), program.gauss_newton(z)
    assert eased != before and np.isfinite(H).all()
    program.ease(False)
    assert program.objective(z) == before
