"""Coefficients of the Runge-Kutta methods against the order conditions of all rooted trees.

A tree is the tuple of its branches. With Phi_i(tree) = prod over branches of sum_j a_ij Phi_j(branch), a
method has order p if sum_i b_i Phi_i = 1 / gamma for all trees of up to p nodes (Butcher).
"""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from kinetree.kernels.integrate import collocation, dop853, dopri5
from kinetree.kernels.integrate.explicit import weigh_eighth, weigh_fifth
from kinetree.kernels.integrate.fixed import weigh_hermite
from kinetree.kernels.integrate.radau import weigh as weigh_radau

THETAS = (0.0, 0.1, 0.37, 0.5, 0.83, 1.0)


@cache
def forests(nodes, largest):
    """All ways to share nodes among trees of at most that size."""
    if nodes == 0:
        return ((),)
    found = set()
    for size in range(1, min(nodes, largest) + 1):
        for tree in trees(size):
            for rest in forests(nodes - size, size):
                found.add(tuple(sorted((tree, *rest))))
    return tuple(sorted(found))


@cache
def trees(nodes):
    return forests(nodes - 1, nodes - 1) if nodes > 1 else ((),)


def size(tree):
    return 1 + sum(map(size, tree))


def gamma(tree):
    return size(tree) * np.prod([gamma(branch) for branch in tree])


def phi(a, tree):
    return np.prod([a @ phi(a, branch) for branch in tree], axis=0) if tree else np.ones(len(a))


def defect(a, b, order, theta=1.0):
    """The worst violation of all conditions up to an order, for weights b of the time theta."""
    worst = 0.0
    for nodes in range(1, order + 1):
        for tree in trees(nodes):
            worst = max(worst, abs(b @ phi(a, tree) - theta**nodes / gamma(tree)))
    return worst


def square(rows, *more):
    """The coefficient matrix, filled up with zeros."""
    n = 1 + len(rows) + len(more)
    a = np.zeros((n, n))
    for i, row in enumerate([*rows, *more], start=1):
        a[i, : len(row)] = row
    return a


DOPRI5 = square([a for _, a in dopri5.STAGES], dopri5.B)
DOP853 = square([a for _, a in dop853.STAGES], dop853.B, *(a for _, a in dop853.MORE_STAGES))


def padded(b, n):
    return np.array([*b, *[0.0] * (n - len(b))])


def dense_weights(weigh, count, theta, h=1.0):
    s = SimpleNamespace(h=h, weights=np.zeros(16))
    weigh(s, None, theta)
    return s.weights[:count]


def test_the_trees_are_counted():
    assert [len(trees(k)) for k in range(1, 9)] == [1, 1, 2, 4, 9, 20, 48, 115]


def test_nodes_are_row_sums():
    c = [0.0, *(c for c, _ in dopri5.STAGES), 1.0]
    np.testing.assert_allclose(DOPRI5.sum(1), c, atol=1e-15)
    c = [0.0, *(c for c, _ in dop853.STAGES), 1.0, *(c for c, _ in dop853.MORE_STAGES)]
    np.testing.assert_allclose(DOP853.sum(1), c, atol=2e-14)
    np.testing.assert_allclose(collocation.A.sum(1), collocation.C, atol=1e-15)


def test_dormand_prince_five_four():
    b = padded(dopri5.B, 7)
    assert defect(DOPRI5, b, 5) < 1e-15
    assert defect(DOPRI5, b, 6) > 1e-5
    other = b - np.array(dopri5.ERROR)
    assert defect(DOPRI5, other, 4) < 1e-15
    assert defect(DOPRI5, other, 5) > 1e-5


def test_dormand_prince_eight():
    b = padded(dop853.B, 16)
    assert defect(DOP853, b, 8) < 1e-14
    assert defect(DOP853, b, 9) > 1e-8
    for estimator, order in ((dop853.ERROR_5, 5), (dop853.ERROR_3, 3)):
        other = b - padded(estimator, 16)
        assert defect(DOP853, other, order) < 1e-14
        assert defect(DOP853, other, order + 1) > 1e-6


@pytest.mark.parametrize("theta", THETAS)
def test_dense_output(theta):
    assert defect(DOPRI5, dense_weights(weigh_fifth, 7, theta), 4, theta) < 1e-14
    assert defect(DOP853, dense_weights(weigh_eighth, 16, theta), 7, theta) < 1e-13
    lagrange = dense_weights(weigh_radau, 3, theta)
    assert defect(collocation.A, lagrange @ collocation.A, 3, theta) < 1e-14


def test_radau():
    assert defect(collocation.A, collocation.A[2], 5) < 1e-15
    assert defect(collocation.A, collocation.A[2], 6) > 1e-6
    block = collocation.T_INVERSE @ np.linalg.inv(collocation.A) @ collocation.T
    g, a, b = collocation.GAMMA, collocation.ALPHA, collocation.BETA
    np.testing.assert_allclose(block, [[g, 0, 0], [0, a, b], [0, -b, a]], atol=1e-13)
    # the error estimate: f0 + E Z / h = gamma times the difference of two quadratures, exact to order 3
    for k in range(4):
        z = collocation.C ** (k + 1)  # stages of y' = (k + 1) t^k
        estimate = (k == 0) + collocation.E @ z
        assert abs(estimate) < 1e-14 or k == 3


@pytest.mark.parametrize("theta", THETAS)
def test_hermite(theta):
    """Cubics are reproduced."""
    h = 0.7
    f_start, f_end, change = dense_weights(weigh_hermite, 3, theta, h)
    for k in range(1, 4):
        exact = (theta * h) ** k
        assert abs((k == 1) * f_start + k * h ** (k - 1) * f_end + h**k * change - exact) < 1e-15
