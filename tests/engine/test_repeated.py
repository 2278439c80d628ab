"""Kernels called again and again on batches of one size: the same answers as the formulations, every time."""

import numpy as np

import kinetree as kt
from kinetree.engine.repeated import Repeated
from kinetree.kernels.number import LANES
from kinetree.kernels.rnea import RNEA_UNLOADED
from kinetree.kernels.rnea_gradient import RNEA_GRADIENT
from kinetree.kernels.rnea_hessian import RNEA_HESSIAN
from support.each import each

MECHANISMS = {
    "gripper": kt.zoo.gripper(),
    "tree": kt.zoo.random_tree(7, 11),
    "slider": kt.zoo.two_link_prismatic(),
}
COUNTS = (1, LANES - 1, LANES, LANES + 1, 3 * LANES + 2)


def states(mechanism, rng, count):
    return [rng.standard_normal((count, mechanism.n_dof)) for _ in range(3)]


@each("count", COUNTS)
@each("name", MECHANISMS)
def test_torques_of_batches_one_after_the_other(rng, name, count):
    mechanism = MECHANISMS[name]
    repeated = Repeated(RNEA_UNLOADED, mechanism.tree, count)
    for _ in range(3):
        state = states(mechanism, rng, count)
        tau = np.full((count, mechanism.n_dof), np.nan)
        repeated.fill(state, [tau])
        expected = kt.inverse_dynamics(mechanism, *state, formulation="newton_euler")
        assert np.allclose(tau, expected, rtol=1e-10, atol=1e-10)


@each("count", COUNTS)
@each("name", MECHANISMS)
def test_full_arrays_of_derivatives(rng, name, count):
    """By differences of another formulation's torques along random directions, and twice the same bits."""
    mechanism, n = MECHANISMS[name], MECHANISMS[name].n_dof
    repeated = Repeated(RNEA_GRADIENT, mechanism.tree, count)
    state, tau, h = states(mechanism, rng, count), np.empty((count, n)), 1e-6
    full = repeated.arrays(state, [tau]).reshape(3, count, n, n)
    for r in range(3):
        d, sides = rng.standard_normal((count, n)), []
        for sign in (h, -h):
            changed = [x.copy() for x in state]
            changed[r] += sign * d
            sides.append(kt.inverse_dynamics(mechanism, *changed, formulation="newton_euler"))
        expected = (sides[0] - sides[1]) / (2 * h)
        found = np.einsum("mij,mj->mi", full[r], d)
        assert np.allclose(found, expected, rtol=1e-5, atol=1e-6 * max(1.0, np.abs(full).max()))
    before = full.copy()
    repeated.arrays(states(mechanism, rng, count), [tau])
    assert np.array_equal(full, before)  # what was returned belongs to the caller
    assert np.array_equal(repeated.arrays(state, [tau]).reshape(full.shape), before)


def test_curvature_of_weighted_torques(rng):
    """q-q, q-qd, qd-qd and q-qdd blocks against differences of weighted slopes."""
    mechanism, count, h = MECHANISMS["gripper"], LANES + 1, 1e-5
    n = mechanism.n_dof
    state, weight = states(mechanism, rng, count), rng.standard_normal((count, n))
    unused = [np.empty((count, n)) for _ in range(RNEA_HESSIAN.outputs)]
    blocks = Repeated(RNEA_HESSIAN, mechanism.tree, count).arrays([*state, weight], unused)
    blocks = blocks.reshape(-1, count, n, n)

    def slope(changed, by):
        d = kt.inverse_dynamics_derivatives(mechanism, *changed)
        return np.einsum("mi,mij->mj", weight, (d.dtau_dq, d.dtau_dqd, d.dtau_dqdd)[by])

    for k, (first, second) in enumerate([(0, 0), (0, 1), (1, 1), (0, 2)]):
        for j in range(n):
            up, down = ([x.copy() for x in state] for _ in range(2))
            up[second][:, j] += h
            down[second][:, j] -= h
            expected = (slope(up, first) - slope(down, first)) / (2 * h)
            assert np.allclose(blocks[k, :, :, j], expected, rtol=1e-4, atol=1e-6 * np.abs(blocks).max())


def test_interpreted_kernels_go_the_same_way(rng, monkeypatch):
    monkeypatch.setattr("kinetree.engine.run.INTERPRET", True)
    mechanism = MECHANISMS["slider"]
    repeated = Repeated(RNEA_UNLOADED, mechanism.tree, LANES + 1)
    state, tau = states(mechanism, rng, LANES + 1), np.empty((LANES + 1, 2))
    repeated.fill(state, [tau])
    assert np.allclose(tau, kt.inverse_dynamics(mechanism, *state, formulation="newton_euler"), atol=1e-12)
