"""Every kind of trajectory keeps the same promises: rates are derivatives, ends are held, tables are true."""

import numpy as np
import pytest

import kinetree.trajectories as tr
from kinetree.errors import InputError
from kinetree.model import zoo

A, B = [0.2, -1.0], [1.5, 3.0]
KINDS = {
    "cycloid": lambda: tr.cycloid(A, B, 0.7),
    "half_turn": lambda: tr.half_turn(2, 3.0),
    "cubic": lambda: tr.cubic(A, B, 1.3, start_velocity=[0.5, -1.0], end_velocity=[0.0, 2.0]),
    "quintic": lambda: tr.quintic(A, B, 1.3, start_velocity=[0.5, -1.0], end_acceleration=[1.0, -3.0]),
    "hold": lambda: tr.hold(A, 2.0),
    "trapezoidal": lambda: tr.trapezoidal(A, B, 2.0, blend=0.3),
    "fastest": lambda: tr.trapezoidal(A, B, velocity=[1.0, 2.0], acceleration=4.0),
    "triangular": lambda: tr.trapezoidal(A, B, velocity=100.0, acceleration=[1.0, 4.0]),
    "bspline": lambda: tr.bspline(np.sin(np.arange(14.0)).reshape(7, 2), 2.0, degree=4),
    "interpolate": lambda: tr.interpolate([0.0, 0.3, 0.5, 1.1], [A, B, A, B]),
    "tabulated": lambda: tr.from_table([0.0, 0.3, 0.5, 1.1], [A, B, A, B]),
    "hermite": lambda: tr.from_table([0.0, 0.3, 1.1], [A, B, A], [B, A, B], [A, A, B]),
    "sequence": lambda: tr.sequence(tr.cycloid(A, B, 1.0), tr.hold(B, 0.5), tr.cubic(B, A, 1.0)),
    "repeat": lambda: tr.repeat(tr.cycloid(A, B, 0.5), 3, advance=True),
    "pendulum": lambda: tr.InvertedPendulum(tr.SPATIAL_BIPED),
    "swing": lambda: tr.SwingFoot(tr.HEXAPOD),
    "gait": lambda: tr.biped_gait(zoo.spatial_biped(), steps=3),
    "feet": lambda: tr.trot(zoo.quadruped(), steps=3).feet,
}


@pytest.fixture(params=KINDS)
def motion(request):
    return KINDS[request.param]()


def between_breaks(motion, h, count=40):
    """Times that are at least h away from every break."""
    t = np.linspace(0.0, motion.duration, count + 2)[1:-1] + 1e-4 * motion.duration
    return t[np.abs(t[:, None] - motion.breaks).min(axis=1) > 2 * h]


def test_rates_are_derivatives(motion):
    """Central differences of the fourth order, whose error is h^4 / 30 times the fifth derivative."""
    h = 2e-3 * motion.duration / len(motion.breaks)
    t = between_breaks(motion, 2 * h)
    near = {k: motion.at(t + k * h) for k in (-2, -1, 1, 2)}
    at = motion.at(t)
    for what, rate in (("q", at.qd), ("qd", at.qdd)):
        x = {k: getattr(state, what) for k, state in near.items()}
        slope = (8 * (x[1] - x[-1]) - (x[2] - x[-2])) / (12 * h)
        assert np.abs(slope - rate).max() < 2e-8 * max(1.0, np.abs(rate).max())


def test_shapes_and_single_times(motion):
    many = motion.at(np.array([[0.0, 0.1, 0.2], [0.3, 0.4, 0.5]]))
    one = motion.at(0.4)
    assert many.q.shape == many.qdd.shape == (2, 3, motion.n_dof)
    assert one.qd.shape == (motion.n_dof,)
    assert np.array_equal(one.q, many.q[1, 1]) and np.array_equal(one.qdd, many.qdd[1, 1])
    assert motion.at([]).q.shape == (0, motion.n_dof)


def test_ends_are_held(motion):
    T = motion.duration
    before, start, end, after = (motion.at(t) for t in (-1.0, 0.0, T, T + 1.0))
    assert np.array_equal(before.q, start.q) and np.array_equal(after.q, end.q)
    assert not any(x.any() for x in (before.qd, before.qdd, after.qd, after.qdd))


def test_the_end_belongs_to_the_motion(motion):
    """A rounding error in the last time does not bring it to a halt."""
    T = motion.duration
    late = motion.at(np.nextafter(T, np.inf))
    assert np.array_equal(late.qd, motion.at(T).qd) and np.array_equal(late.qdd, motion.at(T).qdd)


def test_breaks_span_the_motion(motion):
    assert motion.breaks[0] == 0.0 and motion.breaks[-1] == motion.duration
    assert (np.diff(motion.breaks) > 0).all()


@pytest.mark.parametrize("tolerance", [1e-6, 1e-12])
def test_the_table_is_within_its_tolerance(motion, rng, tolerance):
    table = motion.table(tolerance)
    t = np.concatenate([rng.uniform(-0.1, 1.1 * motion.duration, 500), motion.breaks])
    state = motion.at(t)
    assert np.abs(table.at(t) - state.q).max() <= tolerance + 1e-14
    assert np.abs(table.at(t, 1) - state.qd).max() <= 3e3 * tolerance + 1e-12
    assert np.abs(table.at(t, 2) - state.qdd).max() <= 1e7 * tolerance + 1e-11


def test_the_table_knows_the_jumps(motion):
    """Just before a break it follows the piece that ends there, at the break the one that begins."""
    table = motion.table()
    assert np.isin(motion.breaks, table.breaks).all()
    t = np.nextafter(motion.breaks[1:], 0.0)
    assert np.allclose(table.at(t, 2), motion.at(t).qdd, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("time", [np.nan, [0.0, np.inf], "now", None])
def test_times_must_be_numbers(motion, time):
    with pytest.raises(InputError, match="time must be"):
        motion.at(time)


def test_tolerance_must_be_positive(motion):
    with pytest.raises(InputError, match="tolerance must be > 0"):
        motion.table(0.0)


def test_polynomials_give_their_own_table():
    motion = KINDS["quintic"]()
    assert motion.table() is motion.polynomial
    joined = tr.sequence(tr.cubic(A, B, 1.0), tr.hold(B, 0.5)).table()
    assert joined.coefficients.shape == (2, 4, 2)


def test_a_kink_within_a_piece_is_reported():
    class Kinked(type(tr.cycloid([0.0], [1.0], 1.0))):
        def piece(self, i, t):
            state = super().piece(i, t)
            return type(state)(state.q + (np.abs(t - 0.3) > 0.01)[:, None], state.qd, state.qdd)

    with pytest.raises(InputError, match="is the motion smooth between its breaks"):
        Kinked(np.zeros(1), np.ones(1), 1.0).table()
