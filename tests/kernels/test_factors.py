"""M = U D U^T and M^-1 against the mass matrix they come from."""

import numpy as np

from support.cases import assert_close
from support.kernels import KERNELS, ancestor_pairs, on_numbers, random_inputs


def mass_matrix(tree, q):
    return on_numbers(KERNELS["crba"], tree, [q])["matrix 0"]


def random_q(tree, rng):
    return random_inputs(KERNELS["crba"], tree, rng, 1)[0][0]


def test_factors_multiply_to_the_mass_matrix(robot, rng):
    """[Mohan2007], eqs. 28-33: U is unit upper triangular and as sparse as the tree."""
    tree, q = robot.tree, random_q(robot.tree, rng)
    packed = on_numbers(KERNELS["udu"], tree, [q])["packed M"][:, 0]
    U, D = np.eye(tree.n), np.zeros(tree.n)
    for (i, j), value in zip(ancestor_pairs(tree), packed, strict=True):
        if i == j:
            D[i] = value
        else:
            U[j, i] = value
    assert (D > 0).all()
    assert_close((U * D) @ U.T, mass_matrix(tree, q), 1e-13)


def test_pivots_are_those_of_forward_dynamics(robot, rng):
    tree, q = robot.tree, random_q(robot.tree, rng)
    packed = on_numbers(KERNELS["udu"], tree, [q])["matrix 0"]
    pivot = on_numbers(KERNELS["aba_unloaded"], tree, [q, 0 * q, 0 * q])["pivot"]
    assert_close(np.diag(packed) / pivot, np.ones(tree.n), 1e-11)


def test_inverse(robot, rng):
    tree, q = robot.tree, random_q(robot.tree, rng)
    inverse = on_numbers(KERNELS["mass_inverse"], tree, [q])["matrix 0"]
    M = mass_matrix(tree, q)
    scale = (np.abs(M) @ np.abs(inverse)).max()
    assert_close(M @ inverse / scale, np.eye(tree.n) / scale, 1e-14)
    assert_close(inverse / np.abs(inverse).max(), inverse.T / np.abs(inverse).max(), 1e-9)
