"""Profiles and their chain rule: against reference data, and against finite differences."""

import json
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.bspline import BSplineBasis
from kinetree.motion.problem.profile import PAIRS, Profiles
from kinetree.motion.problem.unknowns import Unknowns

REFERENCE = Path(__file__).parents[1] / "data" / "reference" / "bspline_chain_rule.json"


def motion_of(grid, x):
    """The motion of unknowns x = (control points; T) at the samples of a grid."""
    return Unknowns(grid.profiles).at(grid.s).motion(x)


def test_torque_derivatives_of_the_reference():
    """[Xiang2009], eqs. 41 and 42: d tau / d control points, and d tau / dT at fixed t / T."""
    for case in json.loads(REFERENCE.read_text(encoding="utf-8"))["cases"]:
        basis = BSplineBasis.uniform(case["segments"], clamped=False)
        profiles = Profiles(basis, np.arange(2), np.zeros(2))
        params = case["params"]
        arm = kt.zoo.two_link(gravity=(0, -params["g"], 0))
        x = Unknowns(profiles).joined(np.array(case["control_points"]).T, case["T"])
        for sample in case["samples"]:
            grid = profiles.at([sample["t"] / case["T"]])
            motion = motion_of(grid, x)
            load = kt.Wrench("link2", force=(0, -params["f"], 0), point=(0.4, 0, 0))
            d = kt.inverse_dynamics_derivatives(arm, motion.q, motion.qd, motion.qdd, load)
            slopes = np.stack([d.dtau_dq, d.dtau_dqd, d.dtau_dqdd], axis=1)
            by_point, by_duration = grid.pull(slopes, motion)
            assert np.allclose(motion.q[0], sample["q"], atol=1e-12)
            assert np.allclose(motion.qdd[0], sample["qdd"], rtol=1e-10)
            assert np.allclose(d.tau[0], sample["tau"], rtol=1e-10)
            full = np.zeros((2, 2, basis.n_control))
            first = sample["segment"]
            assert grid.first.tolist() == [first]
            full[:, :, first : first + 4] = by_point[0].transpose(1, 2, 0)
            assert np.allclose(full, sample["dtau_dp"], rtol=1e-9, atol=1e-9)
            assert np.allclose(by_duration[0], sample["dtau_dT_at_fixed_t_over_T"], rtol=1e-9)


@pytest.fixture
def setting(rng):
    """A spline of degree 4 for two of three coordinates, samples, and a smooth scalar of the motion."""
    profiles = Profiles(BSplineBasis.uniform(3, degree=4), np.array([0, 2]), np.array([9.0, 0.5, 9.0]))
    grid = profiles.at(rng.uniform(size=5))
    x = Unknowns(profiles).joined(rng.standard_normal((profiles.basis.n_control, 2)), 0.8)
    W = rng.standard_normal((6, 6))
    return profiles, grid, x, W + W.T


def scalar(grid, x, W):
    """sum over samples of sin(u) . W . cos(u), u = (q, qd, qdd) of what moves; with derivatives."""
    motion = motion_of(grid, x)
    u = motion.moving.reshape(len(grid.s), 6)
    c, s = np.cos(u), np.sin(u)
    value = np.einsum("ma,ab,mb->", s, W, c)
    gradient = c * (c @ W) - s * (s @ W)
    H = np.einsum("ma,ab,mb->mab", -c, W, s)
    H = H + np.swapaxes(H, 1, 2)
    k = np.arange(6)
    H[:, k, k] += -s * (c @ W) - c * (s @ W)
    return value, gradient.reshape(-1, 3, 2), H.reshape(-1, 3, 2, 3, 2), motion


def total_gradient(profiles, grid, x, W):
    _, gradient, _, motion = scalar(grid, x, W)
    by_point, by_duration = grid.pull(gradient[:, :, None], motion)
    total = np.zeros((profiles.basis.n_control, 2))
    np.add.at(total, grid.points, by_point[:, :, 0])
    return np.append(total, by_duration.sum())


def test_frozen_coordinates_stay(setting):
    _, grid, x, _ = setting
    motion = motion_of(grid, x)
    assert (motion.q[:, 1] == 0.5).all()
    assert (motion.qd[:, 1] == 0.0).all()


def test_gradient_by_differences(setting, rng):
    profiles, grid, x, W = setting
    found = total_gradient(profiles, grid, x, W)
    d, h = rng.standard_normal(profiles.size + 1), 1e-6
    slope = (scalar(grid, x + h * d, W)[0] - scalar(grid, x - h * d, W)[0]) / (2 * h)
    assert found @ d == pytest.approx(slope, rel=1e-6)


def test_second_derivatives_by_differences(setting, rng):
    profiles, grid, x, W = setting
    _, gradient, H, motion = scalar(grid, x, W)
    half = np.stack([H[:, k, :, j] * (0.5 if k == j else 1.0) for k, j in PAIRS], axis=1)
    points, mixed, twice = grid.pull_twice(half, gradient, motion)
    nc = profiles.basis.n_control
    M = np.zeros((nc, 2, nc, 2))
    mixed_total = np.zeros((nc, 2))
    for m, where in enumerate(grid.points):
        for c, a in enumerate(where):
            mixed_total[a] += mixed[m, c]
            for e, b in enumerate(where):
                M[a, :, b] += points[m, c, e]
    full = np.zeros((len(x), len(x)))
    full[:-1, :-1] = M.reshape(2 * nc, 2 * nc)
    full += full.T
    full[-1, :-1] = full[:-1, -1] = mixed_total.ravel()
    full[-1, -1] = twice.sum()
    d, h = rng.standard_normal(profiles.size + 1), 1e-6
    slope = (total_gradient(profiles, grid, x + h * d, W) - total_gradient(profiles, grid, x - h * d, W)) / (
        2 * h
    )
    assert np.allclose(full @ d, slope, rtol=1e-5, atol=1e-5 * np.abs(slope).max())
