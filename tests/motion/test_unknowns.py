"""Blocks of unknowns: sizes, places, bounds and starts; nothing depends on the order in which they stand."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.bspline import BSplineBasis
from kinetree.motion.phased import predict_phases
from kinetree.motion.predict import predict
from kinetree.motion.problem.phases import PhasedProblem
from kinetree.motion.problem.profile import Profiles
from kinetree.motion.problem.unknowns import Curve, Duration, Unknowns
from kinetree.motion.terms import (
    Boundary,
    Jerk,
    SquaredForce,
    Time,
    TorqueLimits,
    TorqueRateLimits,
    UnknownForce,
    VelocityLimits,
)
from motion.problems import minimum_time


def curve(name="force:hand", **changes):
    arguments = {
        "labels": ("x", "z"), "unit": "N", "basis": BSplineBasis.uniform(4, 2), "scale": 20.0,
        "start": np.array([5.0, -10.0]),
    }  # fmt: skip
    return Curve(name, **{**arguments, **changes})


@pytest.fixture
def unknowns():
    profiles = Profiles(BSplineBasis.uniform(5), np.array([0, 2]), np.zeros(3))
    return Unknowns(profiles, Duration(0.5, 2.0), (curve(), curve("force:foot", bounds=(0.0, 3.0))))


def test_blocks_stand_one_after_the_other(unknowns):
    places = [unknowns.slices[name] for name in ("q", "duration", "force:hand", "force:foot")]
    assert [part.stop - part.start for part in places] == [16, 1, 12, 12]
    assert sorted(k for part in places for k in range(part.start, part.stop)) == list(range(unknowns.size))
    low, high = unknowns.bounds
    assert (low[unknowns.duration_place], high[unknowns.duration_place]) == (0.5, 2.0)
    assert (high[unknowns.slices["force:foot"]] == 3.0).all() and (low[unknowns.slices["q"]] == -np.inf).all()
    assert unknowns.fixed() == {}
    still = Unknowns(unknowns.profiles, Duration(0.7, 0.7))
    assert still.fixed() == {still.duration_place: 0.7}


def test_curves_are_their_splines_times_their_scale(unknowns, rng):
    points, s = rng.standard_normal((6, 2)), rng.uniform(size=9)
    hand = unknowns.curves[0]
    x = unknowns.joined(rng.standard_normal((8, 2)), 0.9, {"force:hand": hand.unknowns(points)})
    values = unknowns.at(s).curves["force:hand"].values(x)
    assert np.allclose(values, hand.basis.matrix(s) @ points)
    assert np.allclose(hand.control_points(x[unknowns.slices["force:hand"]]), points)
    assert np.allclose(unknowns.at(s).curves["force:foot"].values(x), [5.0, -10.0])  # as at the start
    assert unknowns.duration_of(x) == 0.9
    assert unknowns.duration_of(unknowns.with_duration(x, 9.0)) == 2.0


def test_a_curve_is_carried_back_to_its_control_points(unknowns, rng):
    """d/dp of sin(u) . w(s) by differences."""
    s, w = rng.uniform(size=7), rng.standard_normal((7, 2))
    grid = unknowns.at(s).curves["force:hand"]
    x, d = (rng.standard_normal(unknowns.size) for _ in range(2))
    by_point = grid.pull((np.cos(grid.values(x)) * w)[:, None])[:, :, 0]
    slope = float((by_point * d[grid.columns]).sum())
    up, down = (float((np.sin(grid.values(x + h * d)) * w).sum()) for h in (1e-6, -1e-6))
    assert slope == pytest.approx((up - down) / 2e-6, rel=1e-6)


def test_the_same_splines_are_told_from_others(unknowns):
    def with_curve(other):
        return Unknowns(unknowns.profiles, unknowns.duration, (other, unknowns.curves[1]))

    assert unknowns.same_splines(with_curve(curve()))
    for changes in ({"scale": 2.0}, {"labels": ("x", "y")}, {"basis": BSplineBasis.uniform(4, 3)}):
        assert not unknowns.same_splines(with_curve(curve(**changes)))
    assert not unknowns.same_splines(Unknowns(unknowns.profiles, unknowns.duration))


def test_a_name_is_a_word_in_results():
    assert curve("force:left foot-2").variable == "force_left_foot_2"


# ---- any order ---------------------------------------------------------------------------------------
ORDERS = {"duration first": (1, 0, 2), "turned": (2, 1, 0), "between": (0, 2, 1)}


@pytest.fixture(params=ORDERS)
def in_another_order(request, monkeypatch):
    """From here on blocks stand in another order: motion, duration and curves at other places in x."""

    def begin():
        def blocks(self):
            groups = (self.profiles,), (self.duration,), self.curves
            return tuple(block for k in ORDERS[request.param] for block in groups[k])

        monkeypatch.setattr(Unknowns, "blocks", property(blocks))

    return begin


def rail():
    build = kt.Builder("rail")
    build.world.prismatic("slide", axis="x").body("block", kt.Inertia.box(2.0, (0.1, 0.1, 0.1)))
    return build.build()


def limited():
    return minimum_time(also=[VelocityLimits(4.0), TorqueRateLimits(400.0)])


def pushed():
    return kt.Problem(
        rail(),
        objective=[SquaredForce("block"), Time()],
        constraints=[
            Boundary("start", 0.0, 0.0), Boundary("end", 0.3, 0.0), UnknownForce("block", axes="x"),
            TorqueLimits(0.0, at="knots"),
        ],
    )  # fmt: skip


def pushed_and_driven():
    force = UnknownForce("block", axes="x", lower=0.0, upper=9.0)  # it cannot brake
    begin, end = Boundary("start", 0.0, 0.0), Boundary("end", 0.5, 0.0)
    push = kt.Problem(
        rail(), objective=Time(), constraints=[begin, force, TorqueLimits(0.0, at="knots")], segments=9
    )
    drive = kt.Problem(rail(), objective=Time(), constraints=[end, TorqueLimits(5.0)], segments=7)
    return [push, drive]


def test_problems_have_the_same_answers_in_any_order(in_another_order):
    first = predict(limited())
    in_another_order()
    found = predict(limited())
    assert found.solved and found.iterations == first.iterations
    assert found.duration == pytest.approx(first.duration, rel=1e-9)
    assert np.allclose(found.q, first.q, atol=1e-7) and np.allclose(found.tau, first.tau, atol=1e-4)
    assert predict(minimum_time(segments=30), start=found).solved
    assert minimum_time(objective=[Time(), 1e-4 * Jerk()]).check_derivatives().passed


def test_forces_and_phases_have_the_same_answers_in_any_order(in_another_order):
    first = predict_phases(pushed_and_driven())
    in_another_order()
    assert pushed().check_derivatives().passed
    found = predict(pushed())
    T = (36.0 * 2.0**2 * 0.3**2) ** 0.25  # least T + 12 m^2 d^2 / T^3
    assert found.solved and found.duration == pytest.approx(T, rel=1e-4)
    assert PhasedProblem(pushed_and_driven()).check_derivatives().passed
    together = predict_phases(pushed_and_driven())
    assert together.solved and min(together.durations) > 0.05
    assert together.durations == pytest.approx(first.durations, rel=1e-6)
