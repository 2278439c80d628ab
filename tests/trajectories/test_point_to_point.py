"""From here to there: cycloids, polynomials, trapezoids, splines, and motions made of motions."""

import numpy as np
import pytest
from scipy.interpolate import BSpline

import kinetree.trajectories as tr
from kinetree.errors import InputError


# ---- cycloid ------------------------------------------------------------------------------------------
def test_cycloid_is_at_rest_at_both_ends():
    motion = tr.cycloid([0.2, -1.0], [1.5, 3.0], 0.7).at([0.0, 0.7])
    assert np.allclose(motion.q, [[0.2, -1.0], [1.5, 3.0]], atol=1e-15)
    assert np.abs(motion.qd).max() < 1e-14
    assert np.abs(motion.qdd).max() < 1e-13


def test_cycloid_passes_its_middle_at_twice_the_mean_speed():
    motion = tr.cycloid([1.0], [4.0], 2.0).at([1.0])
    assert motion.q[0, 0] == pytest.approx(2.5, rel=1e-15)
    assert motion.qd[0, 0] == pytest.approx(2 * 3.0 / 2.0, rel=1e-15)


def test_half_turn_is_the_formula_of_the_paper():
    """[Mohan2007], eq. 38."""
    t = np.linspace(0.0, 10.0, 21)
    angle = np.pi * t / 10 - np.sin(2 * np.pi * t / 10) / 2
    assert np.allclose(tr.half_turn(3).at(t).q, angle[:, None], atol=1e-15)


# ---- polynomials --------------------------------------------------------------------------------------
def test_cubic_meets_what_is_asked():
    motion = tr.cubic([1.0, 2.0], [3.0, -1.0], 1.7, start_velocity=[0.3, 0.4], end_velocity=[-0.5, 0.6])
    ends = motion.at([0.0, 1.7])
    assert np.allclose(ends.q, [[1.0, 2.0], [3.0, -1.0]], atol=1e-14)
    assert np.allclose(ends.qd, [[0.3, 0.4], [-0.5, 0.6]], atol=1e-14)


def test_quintic_meets_what_is_asked():
    given = {
        "start_velocity": [0.3],
        "end_velocity": [-0.5],
        "start_acceleration": [2.0],
        "end_acceleration": [7.0],
    }
    ends = tr.quintic([1.0], [3.0], 1.7, **given).at([0.0, 1.7])
    assert np.allclose(ends.q[:, 0], [1.0, 3.0], atol=1e-14)
    assert np.allclose(ends.qd[:, 0], [0.3, -0.5], atol=1e-13)
    assert np.allclose(ends.qdd[:, 0], [2.0, 7.0], atol=1e-12)


# ---- trapezoid ----------------------------------------------------------------------------------------
def test_the_fastest_trapezoid_is_at_a_limit_and_never_beyond(rng):
    for _ in range(50):
        a, b = rng.uniform(-2.0, 2.0, (2, 4))
        v, acc = rng.uniform(0.2, 3.0, (2, 4))
        motion = tr.trapezoidal(a, b, velocity=v, acceleration=acc)
        state = motion.at(np.concatenate([np.linspace(0.0, motion.duration, 201), motion.breaks]))
        speed, push = (np.abs(state.qd) / v).max(), (np.abs(state.qdd) / acc).max()
        assert speed <= 1 + 1e-12 and push <= 1 + 1e-12
        assert max(speed, push) > 1 - 1e-9  # of a bang-bang motion the acceleration is at its limit
        assert push > 1 - 1e-9


def test_the_fastest_trapezoid_takes_the_time_of_the_textbook():
    """One joint: d / v + v / a if it cruises, 2 sqrt(d / a) if not."""
    assert tr.trapezoidal([0.0], [3.0], velocity=1.0, acceleration=2.0).duration == pytest.approx(
        3.5, rel=1e-15
    )
    assert tr.trapezoidal([0.0], [-3.0], velocity=9.0, acceleration=3.0).duration == pytest.approx(
        2.0, rel=1e-15
    )


def test_all_joints_keep_step():
    motion = tr.trapezoidal([0.0, 1.0, 5.0], [1.0, -3.0, 5.0], 2.0)
    q = motion.at(np.linspace(0.0, 2.0, 21)).q
    assert np.allclose((q[:, 1] - 1.0) / -4.0, q[:, 0], atol=1e-15)
    assert (q[:, 2] == 5.0).all()


def test_blend_is_the_part_of_the_time_spent_on_speeding_up():
    motion = tr.trapezoidal([0.0], [1.0], 2.0, blend=0.2)
    state = motion.at([0.2, 1.0, 1.8])
    assert motion.breaks.tolist() == pytest.approx([0.0, 0.4, 1.6, 2.0])
    assert state.qdd[:, 0].tolist() == pytest.approx([1 / 1.6 / 0.4, 0.0, -1 / 1.6 / 0.4])
    assert motion.at(2.0).q[0] == pytest.approx(1.0, abs=1e-15)


# ---- splines ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_bspline_is_that_of_scipy(rng, degree):
    P, T = rng.standard_normal((9, 2)), 3.0
    knots = np.concatenate([np.zeros(degree), np.linspace(0, T, 10 - degree), np.full(degree, T)])
    t = rng.uniform(0.0, T, 100)
    motion, wanted = tr.bspline(P, T, degree=degree), BSpline(knots, P, degree)
    assert np.allclose(motion.at(t).q, wanted(t), atol=1e-12)
    assert np.allclose(motion.at(t).qd, wanted.derivative(1)(t), atol=1e-11)
    assert np.allclose(motion.at([0.0, T]).q, P[[0, -1]], atol=1e-12)


def test_bspline_on_knots_of_ones_own():
    """Uniform cubic: at a knot the curve is (P0 + 4 P1 + P2) / 6."""
    P = np.array([[0.0], [6.0], [12.0], [0.0], [6.0]])
    motion = tr.bspline(P, 4.0, knots=np.arange(9.0))
    assert motion.duration == 4.0
    assert motion.at([0.0, 2.0, 4.0]).q[:, 0].tolist() == pytest.approx([6.0, 9.0, 3.0], abs=1e-14)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5])
def test_interpolation_meets_its_points_and_reproduces_polynomials(rng, degree):
    t = np.concatenate([[0.0], np.cumsum(rng.uniform(0.2, 0.5, 9))])
    c = rng.standard_normal((degree + 1, 2))
    x = (t[:, None] ** np.arange(degree + 1)) @ c
    motion, at = tr.interpolate(t, x, degree=degree), np.linspace(0.0, t[-1], 33)
    assert np.allclose(motion.at(t).q, x, atol=1e-10)
    assert np.allclose(motion.at(at).q, (at[:, None] ** np.arange(degree + 1)) @ c, atol=1e-9)


# ---- made of others -----------------------------------------------------------------------------------
def test_a_sequence_is_its_parts_one_after_another():
    first, second = tr.cycloid([0.0], [1.0], 2.0), tr.cubic([1.0], [3.0], 1.0, start_velocity=[2.0])
    both, t = tr.sequence(first, second), np.linspace(0.0, 3.0, 31)
    early = t < 2.0
    for what in ("q", "qd", "qdd"):
        whole = getattr(both.at(t), what)
        assert np.allclose(whole[early], getattr(first.at(t[early]), what), atol=1e-13)
        assert np.allclose(whole[~early], getattr(second.at(t[~early] - 2.0), what), atol=1e-13)
    assert both.at(2.0).qd[0] == 2.0  # from the right
    assert both.breaks.tolist() == [0.0, 2.0, 3.0]


def test_sequences_nest():
    step = tr.sequence(tr.cubic([0.0], [1.0], 1.0), tr.cubic([1.0], [0.0], 1.0))
    many = tr.sequence(tr.repeat(step, 3), tr.hold([0.0], 1.0))
    assert many.duration == 7.0
    assert many.at([1.0, 3.0, 5.0, 6.5]).q[:, 0].tolist() == [1.0, 1.0, 1.0, 0.0]


def test_repetition_has_the_period():
    motion = tr.repeat(tr.interpolate([0.0, 1.0, 2.0, 3.0], [[0.0], [1.0], [-1.0], [0.0]]), 4)
    t = np.linspace(0.0, 2.9, 30)
    for cycle in range(4):
        assert np.allclose(motion.at(t + 3.0 * cycle).q, motion.at(t).q, atol=1e-12)


ONE = tr.cycloid([0.0], [1.0], 1.0)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: tr.cycloid([0], [1], 0.0), "duration must be > 0 s, got 0"),
        (lambda: tr.cycloid([0], [1, 2], 1.0), "shapes (1,) and (2,)"),
        (lambda: tr.cycloid([np.nan], [1], 1.0), "start must be finite"),
        (lambda: tr.half_turn(0), "n_dof must be an integer from 1 to 1000000, got 0"),
        (lambda: tr.cubic([0], [1], 1.0, start_velocity=[1, 2]), "start_velocity must have 1 values"),
        (lambda: tr.quintic([0], [1], 1.0, end_acceleration=[np.inf]), "end_acceleration must be finite"),
        (lambda: tr.hold(0.0, 1.0), "q must be a vector"),
        (lambda: tr.trapezoidal([0], [1]), "either a duration"),
        (lambda: tr.trapezoidal([0], [1], 1.0, velocity=1.0), "either a duration"),
        (lambda: tr.trapezoidal([0], [1], velocity=1.0), "acceleration is missing"),
        (lambda: tr.trapezoidal([0], [1], velocity=-1.0, acceleration=1.0), "velocity limits must be"),
        (lambda: tr.trapezoidal([0], [0], velocity=1.0, acceleration=1.0), "give a duration instead"),
        (lambda: tr.trapezoidal([0], [1], 1.0, blend=0.6), "at most 0.5, got 0.6"),
        (lambda: tr.bspline([[0.0], [1.0]], 1.0), "degree must be an integer from 1 to 1"),
        (lambda: tr.bspline(np.zeros((4, 1)), 1.0, knots=np.arange(7)), "need 8 knots"),
        (lambda: tr.bspline(np.zeros((4, 1)), 1.0, knots=np.zeros(8)), "knots must ascend"),
        (lambda: tr.interpolate([0, 1, 1, 2], np.zeros((4, 1))), "got 1 after 1 at index 2"),
        (lambda: tr.interpolate([1, 2, 3, 4], np.zeros((4, 1))), "must begin at 0 s"),
        (lambda: tr.sequence(), "at least one trajectory"),
        (lambda: tr.sequence(ONE, "on"), "part 2 of the sequence must be a Trajectory, got 'on'"),
        (lambda: tr.sequence(ONE, tr.hold([1, 1], 1.0)), "has 2 coordinates, the first 1"),
        (lambda: tr.sequence(ONE, ONE), "coordinate 0 would jump by -1"),
        (lambda: tr.repeat(ONE, 2), "coordinate 0 gains 1 per cycle"),
        (lambda: tr.repeat(ONE, 0), "times must be an integer from 1 to 1000000, got 0"),
        (lambda: tr.PolynomialTrajectory(None), "needs a PiecewisePolynomial"),
    ],
)  # fmt: skip
def test_refuses(call, reason):
    with pytest.raises(InputError) as refused:
        call()
    assert reason in str(refused.value)
