"""Loops closed by accelerations instead of projections (Baumgarte 1972)."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.loops.system import constraints

FOUR_BAR = kt.zoo.four_bar()


@pytest.fixture(scope="module")
def pose():
    return kt.loops.assemble(FOUR_BAR, [0.2, 1.0, 4.3], hold=["crank_pivot"])


def test_free_fall_is_that_of_projection(pose):
    projected = kt.simulate(FOUR_BAR, pose, duration=1.0, times=21, rtol=1e-10)
    found = kt.simulate(FOUR_BAR, pose, duration=1.0, times=21, rtol=1e-10, baumgarte=30.0, reactions=True)
    assert np.abs(found.q.values - projected.q.values).max() < 1e-8
    assert 1e-14 < found.audit["loop_gap"].value < 1e-10  # not projected, and not adrift
    assert found.passed
    assert "loop_drift" not in found.audit
    q, qd = found.q.values, found.qd.values
    forces = kt.loops.forces(FOUR_BAR, q, qd, kt.forward_dynamics(FOUR_BAR, q, qd, np.zeros(3)))
    known = forces.determined[0, 0]
    np.testing.assert_allclose(found.loop_force.values[:, 0, known], forces.wrench[:, 0, known], atol=1e-6)
    quick = kt.simulation.Simulator(FOUR_BAR, 1.0, times=21, rtol=1e-10, baumgarte=30.0).run(pose)
    assert np.abs(quick.q - q).max() < 1e-12


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_gaps_of_an_open_start_decay_as_the_equation_says(pose, method):
    """g'' + 2 a g' + a^2 g = 0, critically damped: g = (g0 + (g0' + a g0) t) exp(-a t)."""
    a, start, speed = 20.0, pose + np.array([0.0, 1e-3, 0.0]), np.array([0.5, 0.0, 2e-3])
    speed[1:] += np.linalg.lstsq(*_velocity_rows(pose), rcond=None)[0]
    found = kt.simulate(
        *(FOUR_BAR, start, speed, 0.6),
        method=method,
        times=13,
        rtol=1e-8,
        baumgarte=a,
        energy_tolerance=0.1,
    )
    seen = constraints(FOUR_BAR, found.q.values)
    rate = seen.J[0] @ found.qd.values[0]
    t = found.time.values[:, None]
    expected = (seen.gap[0] + (rate + a * seen.gap[0]) * t) * np.exp(-a * t)
    assert np.abs(seen.gap[0]).max() > 1e-4
    assert np.abs(rate).max() > 1e-4
    assert np.abs(seen.gap - expected).max() < 2e-8
    assert found.passed


def _velocity_rows(pose):
    """J of rocker and coupler, and the rates of gaps that a crank at 0.5 rad/s asks them to undo."""
    J = constraints(FOUR_BAR, pose).J
    return J[:, 1:], -0.5 * J[:, 0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"baumgarte": 0.0}, "baumgarte must be > 0 1/s, got 0"),
        ({"baumgarte": -2.0}, "baumgarte must be > 0 1/s, got -2"),
        ({"baumgarte": float("nan")}, "baumgarte must be finite, got nan"),
        ({"baumgarte": 5e3, "method": "rk4", "step": 1e-3}, "at most 2700 1/s"),
    ],
)
def test_wrong_rates_are_refused(pose, given, words):
    for ask in (kt.simulate, lambda m, q, **more: kt.simulation.Simulator(m, **more)):
        with pytest.raises(kt.errors.InputError, match=words):
            ask(FOUR_BAR, pose, duration=0.1, **given)


def test_mechanisms_without_loops_and_wide_gaps_are_refused(pose):
    with pytest.raises(kt.errors.InputError, match=r"closes loops, and mechanism 'gripper' has none"):
        kt.simulate(kt.zoo.gripper(), np.zeros(4), duration=0.1, baumgarte=5.0)
    with pytest.raises(kt.errors.InputError, match=r"loop 'crank_pin' is open by .* at most 0\.01"):
        kt.simulate(FOUR_BAR, pose + np.array([0.0, 0.2, 0.0]), duration=0.1, baumgarte=5.0)
