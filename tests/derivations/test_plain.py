"""The plain 6-vector reference: the book's identities, and derivatives against complex steps."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.derivations import plain
from kinetree.derivations.contract import Load
from support.cases import assert_close

MODELS = {
    "kuka_kr5": kt.zoo.kuka_kr5(),
    "gripper": kt.zoo.gripper(),
    "two_link_prismatic": kt.zoo.two_link_prismatic(),
    "tree": kt.zoo.random_tree(5, 6),
}
STEP = 1e-30


def some_loads(tree, rng):
    return [Load(i, *rng.standard_normal((3, 3))) for i in (0, tree.n - 1)]


def by_complex_step(function, x):
    """d function / dx, (..., n)."""
    return np.stack([function(x + 1j * STEP * unit).imag / STEP for unit in np.eye(len(x))], axis=-1)


def test_products_and_transforms_are_those_of_the_book(rng):
    v, w, f = rng.standard_normal((3, 6))
    assert_close(plain.crm(v) @ v, np.zeros(6), 1e-15)
    assert_close(plain.crf(v) @ f @ w, -(plain.crm(v) @ w) @ f, 1e-14)  # power does not change
    assert_close(plain.force_cross(f) @ v, plain.crf(v) @ f, 1e-15)
    tree = MODELS["tree"].tree
    X, S = plain.joint_model(tree, rng.standard_normal(tree.n))
    for i in range(tree.n):
        assert_close(plain.crm(X[i] @ v), X[i] @ plain.crm(v) @ np.linalg.inv(X[i]), 1e-13)  # (2.42)
        assert np.count_nonzero(S[i]) == 1


@pytest.mark.parametrize("model", MODELS)
def test_transforms_change_with_their_joint(model, rng):
    tree = MODELS[model].tree
    q = rng.standard_normal(tree.n)
    X, S = plain.joint_model(tree, q)
    slopes = by_complex_step(lambda x: plain.joint_model(tree, x)[0], q)
    for i in range(tree.n):
        assert_close(slopes[i, :, :, i], -plain.crm(S[i]) @ X[i], 1e-13)


@pytest.mark.parametrize("model", MODELS)
def test_kinetic_energy_is_half_the_mass_matrix(model, rng):
    tree = MODELS[model].tree
    q, qd = rng.standard_normal((2, tree.n))
    expected = kt.kinetic_energy(MODELS[model], q, qd)
    assert_close(qd @ plain.mass_matrix(tree, q) @ qd / 2, expected, 1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_articulated_bodies_invert_inverse_dynamics(model, rng):
    tree = MODELS[model].tree
    q, qd, qdd = rng.standard_normal((3, tree.n))
    loads = some_loads(tree, rng)
    tau = plain.inverse_dynamics(tree, q, qd, qdd, loads)
    found = plain.forward_dynamics(tree, q, qd, tau, loads)
    assert_close(plain.inverse_dynamics(tree, q, qd, found, loads), tau, 1e-11)


@pytest.mark.parametrize("model", MODELS)
def test_derivatives_are_complex_steps(model, rng):
    tree = MODELS[model].tree
    q, qd, qdd = rng.standard_normal((3, tree.n))
    loads = some_loads(tree, rng)
    _, dq, dqd, dqdd = plain.inverse_dynamics_derivatives(tree, q, qd, qdd, loads)
    assert_close(dq, by_complex_step(lambda x: plain.inverse_dynamics(tree, x, qd, qdd, loads), q), 1e-12)
    assert_close(dqd, by_complex_step(lambda x: plain.inverse_dynamics(tree, q, x, qdd, loads), qd), 1e-12)
    assert_close(dqdd, plain.mass_matrix(tree, q), 1e-12)
    _, *slopes = plain.joint_reaction_derivatives(tree, q, qd, qdd, loads)
    for k, given in enumerate((q, qd, qdd)):

        def reactions(x, k=k):
            state = [q, qd, qdd]
            state[k] = x
            return plain.joint_reactions(tree, *state, loads)

        assert_close(slopes[k], by_complex_step(reactions, given), 1e-12)


@pytest.mark.parametrize("model", ["kuka_kr5", "tree"])
def test_slopes_of_accelerations_are_those_of_the_kernels(model, rng):
    mechanism = MODELS[model]
    q, qd, tau = rng.standard_normal((3, mechanism.n_dof))
    found = plain.forward_dynamics_derivatives(mechanism.tree, q, qd, tau)
    expected = kt.forward_dynamics_derivatives(mechanism, q, qd, tau)
    for x, y in zip(
        found, (expected.qdd, expected.dqdd_dq, expected.dqdd_dqd, expected.dqdd_dtau), strict=True
    ):
        assert_close(x, y, 1e-8)
