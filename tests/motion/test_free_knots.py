"""Knots among the unknowns: derivatives by single knots, and motions that are best over both."""

import numpy as np
import pytest
from problems import from_rest_to_rest, lifting, minimum_time

import kinetree as kt
from kinetree.algebra.bspline import BSplineBasis
from kinetree.motion.free_knots import _pieces, free_knots, torques_by_knots
from kinetree.motion.problem.phases import Junction, PhasedProblem
from kinetree.motion.terms import Boundary, JointLimits, Periodic, Time, UnknownForce

BREAKS = [0.0, 0.2, 0.5, 0.5, 0.7, 1.0]
STEP = 1e-6


def moved(breaks, x, by):
    breaks = np.asarray(breaks, dtype=float)
    return np.where(breaks == x, breaks + by, breaks)


@pytest.fixture(scope="module")
def equal():
    return kt.predict(minimum_time(segments=8, samples=4))


@pytest.fixture(scope="module")
def free(equal):
    return free_knots(equal)


# ---- derivatives ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("degree", [3, 5])
def test_basis_functions_by_knots_are_differences(degree):
    basis, s = BSplineBasis.on(BREAKS, degree), np.linspace(0.011, 0.987, 23)
    first, slopes = basis.knot_slopes(s, 2)
    for k, x in enumerate(basis.breaks[1:-1]):
        above, below = (BSplineBasis.on(moved(BREAKS, x, by), degree) for by in (STEP, -STEP))
        for d in range(3):
            wanted = (above.matrix(s, d) - below.matrix(s, d)).toarray() / (2 * STEP)
            for row, start, found in zip(wanted, first, slopes[:, d, :, k], strict=True):
                assert row[start : start + degree + 1] == pytest.approx(found, rel=1e-6, abs=1e-6 * 50**d)


@pytest.mark.parametrize("make", [minimum_time, lifting])
def test_torques_by_knots_are_differences(make):
    """[Xiang2009], eq. 42: the same control points over knots that are moved a little."""
    best = kt.predict(make(segments=5))
    s, T = np.linspace(0.013, 0.979, 17), best.duration
    found = torques_by_knots(best, s)
    assert found.shape == (17, 2, 4)
    for k, x in enumerate(best.problem.basis.breaks[1:-1]):
        sides = []
        for by in (STEP, -STEP):
            other = best.problem.changed(breaks=moved(best.problem.basis.breaks, x, by))
            sides.append(other.evaluation(s, best.x).everywhere.tau[:, other.setting.own])
        wanted = (sides[0] - sides[1]) / (2 * STEP) / T
        assert found[:, :, k] == pytest.approx(wanted, rel=1e-5, abs=1e-6 * np.abs(wanted).max())


def test_first_and_second_derivatives_of_the_program_are_exact():
    pieces = PhasedProblem(_pieces(minimum_time(segments=3), 0.4, 3.0), Junction("acceleration"))
    assert pieces.check_derivatives().passed


# ---- motions --------------------------------------------------------------------------------------------
def test_free_knots_are_faster_than_equal_segments(equal, free):
    assert free.solved and free.duration < equal.duration - 0.003
    assert free.duration > 0.391854540 * (1.0 - 3 * free.max_violation)  # the true optimum
    assert len(free.problem.basis.breaks) == 9
    assert np.diff(free.problem.basis.breaks).std() > 0.05


def test_no_single_knot_can_be_moved_with_profit(free):
    breaks = free.problem.basis.breaks
    for x in breaks[[1, 4, 6]]:
        for by in (2e-3, -2e-3):
            other = kt.predict(free.problem.changed(breaks=moved(breaks, x, by)), start=free)
            assert other.objective > free.objective - 1e-6


def test_another_solver_finds_the_same_knots(equal, free):
    other = free_knots(equal, solver="ipopt")
    assert other.objective == pytest.approx(free.objective, rel=1e-5)


def test_accelerations_may_jump_at_knots_that_are_found(equal, free):
    jumping = free_knots(equal, upto="velocity")
    assert jumping.duration < free.duration
    assert len(jumping.problem.basis.inner) == 2 * 7 + 2


def test_worse_knots_are_not_returned():
    """Where nothing is gained the first prediction comes back."""
    best = kt.predict(lifting(segments=4))
    again = free_knots(best)
    assert again.objective <= best.objective


# ---- what cannot be asked for ---------------------------------------------------------------------------
REFUSED = {
    "fixed duration": (lambda: minimum_time(segments=3, duration=1.0), {}, "fixed to 1 s"),
    "one segment": (lambda: minimum_time(segments=1), {}, "one segment"),
    "unknown rate": (lambda: minimum_time(segments=3), {"upto": "jerk"}, "jerk"),
    "degree": (lambda: minimum_time(segments=3, degree=2), {}, "degree 2"),
    "widest": (lambda: minimum_time(segments=3), {"widest": 1.0}, "widest"),
    "instants": (
        lambda: minimum_time(segments=3, also=[JointLimits(-3.0, 3.0, at=[0.5])]),
        {},
        "JointLimits refers to certain instants",
    ),
    "samples": (lambda: minimum_time(segments=3, samples=[0.0, 0.5, 1.0]), {}, "samples per segment"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_asked_for_is_refused(name):
    make, arguments, told = REFUSED[name]
    best = kt.predict(make(), max_iterations=1)
    with pytest.raises(kt.errors.InputError, match=told):
        free_knots(best, **arguments)


def test_other_unknowns_and_periodic_motions_are_refused():
    arm = kt.zoo.two_link()
    ends = from_rest_to_rest([0.0, -2.0], [1.0, -1.0])
    pushed = kt.Problem(arm, objective=Time(), constraints=[*ends, UnknownForce("link2")], segments=3)
    again = kt.Problem(
        arm, objective=Time(), constraints=[Boundary("start", [0.0, -2.0], 0.0), Periodic()], segments=3
    )
    for problem, told in ((pushed, "force:link2"), (again, "Periodic")):
        with pytest.raises(kt.errors.InputError, match=told):
            free_knots(kt.predict(problem, max_iterations=1))
