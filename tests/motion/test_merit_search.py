"""The search that begins with Gauss and Newton's Hessian: closed-form optima, IPOPT, starts from far away."""

from types import SimpleNamespace

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.predict import predict
from kinetree.motion.problem.problem import Problem
from kinetree.motion.program.linearized import SortedEntries, SparseLinearized
from kinetree.motion.program.nonlinear import NonlinearProgram
from kinetree.motion.search.start import random_start, straight_line
from kinetree.motion.solvers.interface import SolverSettings, Start, Status, Watch
from kinetree.motion.solvers.interior import InteriorPoint, may_be_straight
from kinetree.motion.solvers.merit_search import MeritSearch
from kinetree.motion.solvers.soft import Soft
from kinetree.motion.terms import Boundary, PointPosition, SquaredTorque, TorqueLimits
from motion.problems import minimum_time
from motion.test_legged import crouch, flight, stance_step


class Sheet(NonlinearProgram):
    """1/2 |z - a|^2 where z0 z1 = 2 and z2 <= 1: small, with an equation that bends."""

    n, m, scale, squares = 3, 2, 1.0, True
    lower, upper = np.array([2.0, -np.inf]), np.array([2.0, 1.0])
    x_lower, x_upper = np.full(3, -10.0), np.full(3, 10.0)
    jacobian_rows, jacobian_columns = np.array([0, 0, 1]), np.array([0, 1, 2])
    hessian_rows, hessian_columns = np.array([0, 1, 2, 1]), np.array([0, 1, 2, 0])
    durations = np.zeros(0, dtype=np.int64)
    a = np.array([3.0, 1.0, 4.0])

    def expect_derivatives(self, z): ...

    def objective(self, z):
        return 0.5 * self.scale * float((z - self.a) @ (z - self.a))

    def gradient(self, z):
        return self.scale * (z - self.a)

    def constraints(self, z):
        return np.array([z[0] * z[1], z[2]])

    def jacobian(self, z):
        return np.array([z[1], z[0], 1.0])

    def hessian(self, z, factor, multipliers):
        return np.append(np.full(3, factor * self.scale), multipliers[0])

    def straight_hessian(self, z, factor, multipliers):
        return self.hessian(z, factor, multipliers)

    def duration(self, z):
        return 1.0

    def families(self):
        return {"all": [0, 1]}


def test_a_problem_by_hand():
    """On the hyperbola: z0 - 3 + y z1 = 0 and z1 - 1 + y z0 = 0, from the roots of a quartic."""
    sheet, settings = Sheet(), SolverSettings(1e-9)
    found = InteriorPoint().solve(sheet, Start(np.full(3, 5.0)), settings, Watch(sheet, settings))
    x = np.roots([1.0, -3.0, 0.0, 2.0, -4.0])  # x^3 times the slope of (x - 3)^2 + (2 / x - 1)^2, halved
    x = x[np.abs(x.imag) < 1e-9].real
    best = min(x, key=lambda x: (x - 3.0) ** 2 + (2.0 / x - 1.0) ** 2)
    assert found.status is Status.SOLVED
    assert np.allclose(found.z, [best, 2.0 / best, 1.0], atol=1e-6)
    assert found.multipliers == pytest.approx([(3.0 - best) * best / 2.0, 3.0], abs=1e-5)


def test_a_narrow_band_is_an_equation_at_its_nearer_side():
    """2 - e <= z0 z1 <= 2 + e, with the least objective at z0 z1 = 3: the optimum where z0 z1 = 2 + e."""
    found = []
    for low in (2.0 - 6e-4, 2.0 + 6e-4):
        sheet, settings = Sheet(), SolverSettings(1e-9)
        sheet.lower, sheet.upper = np.array([low, -np.inf]), np.array([2.0 + 6e-4, 1.0])
        search = MeritSearch(sheet, Start(np.full(3, 5.0)), settings, Watch(sheet, settings))
        assert search.run()[0] is Status.SOLVED
        found.append(search)
    band, equation = found
    assert np.allclose(band.at.v[:3], equation.at.v[:3], atol=1e-6)
    assert band.iteration <= equation.iteration + 5


def test_linear_maps_are_the_dense_ones(rng):
    J = rng.standard_normal((6, 4)) * (rng.random((6, 4)) < 0.6)
    rows, columns = np.nonzero(J)
    order = rng.permutation(len(rows))
    places = SortedEntries(4, 6, rows[order], columns[order])
    linear = SparseLinearized(places, J[rows, columns][order], lambda: np.eye(4, order="F"))
    d, y, weight = rng.standard_normal(4), rng.standard_normal(6), rng.uniform(0.0, 1.0, 6)
    assert np.allclose(linear.times(d), J @ d) and np.allclose(linear.transposed(y), J.T @ y)
    assert np.array_equal(linear.chosen(np.array([4, 1])), J[[4, 1]])
    assert np.allclose(np.tril(linear.condensed(weight)), np.tril(np.eye(4) + (J.T * weight) @ J))


def symmetric(H):
    return np.tril(H) + np.tril(H, -1).T


def lagrangian_slope(program, z, y):
    slope = program.gradient(z)
    return slope + np.bincount(
        program.jacobian_columns, program.jacobian(z) * y[program.jacobian_rows], program.n
    )


def test_gauss_newton_and_curvature_are_the_whole_hessian(rng):
    """Their sum against differences of the Lagrangian's slope; the first against squares of slopes."""
    problem = crouch()
    program = problem.program
    z, y = program.reduced(random_start(problem, rng)), rng.standard_normal(program.m)
    straight, bent = program.gauss_newton(z), program.curvature(z, y)
    H, h = symmetric(straight + bent), 1e-5
    for _ in range(3):
        d = rng.standard_normal(program.n)
        change = (lagrangian_slope(program, z + h * d, y) - lagrangian_slope(program, z - h * d, y)) / (2 * h)
        assert np.allclose(H @ d, change, atol=1e-6 * np.abs(change).max())
    assert np.linalg.eigvalsh(symmetric(straight))[0] > -1e-10 * np.abs(straight).max()
    assert np.linalg.eigvalsh(H)[0] < -1e-3 * np.abs(straight).max()


def test_the_rule_which_search_goes_first():
    """Equations and a definite Gauss-Newton matrix: the new one; free durations or free directions: not."""
    start = {}
    for name, problem in (("crouch", crouch()), ("flight", flight({"upper": 0.0, "lower": 0.0}))):
        start[name] = may_be_straight(problem.program, problem.program.reduced(straight_line(problem)))
    assert start == {"crouch": True, "flight": False}
    assert not may_be_straight(minimum_time().program, np.ones(39))


def reach(also=()):
    """A hand ends at a given point; the joints' angles there are found."""
    constraints = [
        Boundary("start", [0.2, 0.8], 0.0),
        Boundary("end", velocity=0.0),
        PointPosition("link2", [0.1, 0.6, 0.0], point=(0.4, 0, 0), axes="xy"),
        *also,
    ]
    return Problem(kt.zoo.two_link(), objective=SquaredTorque(), constraints=constraints, duration=1.0)


@pytest.mark.parametrize("make", [reach, crouch])
def test_it_finds_what_ipopt_finds_and_ends_from_any_start(make):
    pytest.importorskip("casadi")
    problem = make()
    found, second = (predict(problem, solver=name) for name in ("interior", "ipopt"))
    assert found.objective == pytest.approx(second.objective, rel=1e-6)
    others = predict(problem, solver="interior", starts=4)
    assert [trial.status for trial in others.trials] == [Status.SOLVED] * 4


def test_the_soft_stage_brings_a_motion_near():
    """From joints anywhere: violations of hands' and feet's places shrink, the cost does not explode."""
    problem = crouch()
    program = problem.program
    z = program.reduced(random_start(problem, np.random.default_rng(3)))
    program.scale = 1.0 / program.objective(program.reduced(straight_line(problem)))
    soft = Soft(program, z, Watch(program, SolverSettings()))
    before = soft._worst(soft._cost(z))
    assert soft.run() and soft.iteration <= 20
    after = soft._cost(soft.z)
    assert soft._worst(after) < 0.05 * before and after.total < 1.0


def test_the_soft_stage_keeps_its_objective_in_sight():
    """A start a million times dearer than the end: the objective's unit follows, and the end is as near."""
    problem = crouch()
    program = problem.program
    z = program.reduced(random_start(problem, np.random.default_rng(3)))
    ends = []
    for wild in (1.0, 1e6):
        program.scale = 1.0 / (wild * program.objective(z) / program.scale)
        soft = Soft(program, z, Watch(program, SolverSettings()))
        assert soft.run()
        ends.append((soft._worst(soft._cost(soft.z)), program.objective(soft.z) / program.scale))
    (near, f), (near_too, f_too) = ends
    assert near_too == pytest.approx(near, rel=0.5) and f_too == pytest.approx(f, rel=0.5)


def test_dearer_equations_are_kept_closer_in_the_soft_stage_and_end_in_the_same_motion():
    problem = crouch()
    program = problem.program
    z = program.reduced(straight_line(problem))
    left = []
    for price in (2.0, 20.0, 200.0):
        soft = Soft(program, z, Watch(program, SolverSettings()), price=price)
        assert soft.run()
        rows = soft._cost(soft.z).rows[program.lower == program.upper]
        left.append(np.abs(rows).max())
    assert left[0] > 1.5 * left[1] and left[1] > 1.5 * left[2]
    found = [predict(problem, solver="interior", options={"equation_price": x}) for x in (2.0, 200.0)]
    assert all(x.solved for x in found)
    assert found[0].objective == pytest.approx(found[1].objective, rel=1e-6)


def test_a_search_can_be_stopped_in_the_soft_stage_and_after():
    problem = crouch()
    for limit in (2, 9):
        seen = []

        def stop(step, limit=limit, seen=seen):
            seen.append(step.iteration)
            if step.iteration == limit:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            predict(problem, solver="interior", progress=stop)
        assert seen[: limit + 1] == sorted(seen[: limit + 1]) and seen[-1] == limit


def test_a_warm_start_takes_hardly_any_iterations():
    problem = crouch()
    first = predict(problem, solver="interior")
    again = predict(problem, solver="interior", start=first)
    assert again.solved and again.iterations <= 5
    assert again.objective == pytest.approx(first.objective, rel=1e-6)


def test_what_cannot_be_reached_ends_with_a_reason():
    problem = reach([TorqueLimits(1e-3)])
    found = predict(problem, solver="interior")
    assert not found.solved and "torque limit" in str(found)


def test_the_barrier_follows_the_rule_of_loqo():
    problem = stance_step()
    program = problem.program
    search = MeritSearch(
        program, Start(program.reduced(straight_line(problem))), SolverSettings(), SimpleNamespace()
    )
    total, count = search._complementarity(), search.barrier.n_bounds
    assert total == pytest.approx(count * 1e-2)  # at the start all products are alike
    assert search._next_barrier(total) == pytest.approx(0.02 * 1e-2)
    search.at.low[0] *= 1e-3  # one lags behind: a larger share
    total = search._complementarity()
    assert search._next_barrier(total) == pytest.approx(0.8 * total / count, rel=1e-6)
