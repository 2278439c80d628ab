"""Coefficients of the Runge-Kutta methods against the order conditions of all rooted trees.

A tree is the tuple of its branches. With Phi_i(tree) = prod over branches of sum_j a_ij Phi_j(branch), a
method has order p if sum_i b_i Phi_i = 1 / gamma for all trees of up to p nodes (Butcher).
"""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from kinetree.integrate import collocation, dop853, dopri5
from kinetree.integrate.explicit import weigh_eighth, weigh_fifth
from kinetree.integrate.fixed import weigh_hermite
from kinetree.integrate.radau import weigh as weigh_radau

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


def dense_weights(weigh, count, theta, h=1.0, stages=0):
    s = SimpleNamespace(h=h, weights=np.zeros(16), stages=stages)
    weigh(s, None, theta)
    return s.weights[:count]


def test_the_trees_are_counted():
    assert [len(trees(k)) for k in range(1, 9)] == [1, 1, 2, 4, 9, 20, 48, 115]


def test_nodes_are_row_sums():
    c = [0.0, *(c for c, _ in dopri5.STAGES), 1.0]
    np.testing.assert_allclose(DOPRI5.sum(1), c, atol=1e-15)
    c = [0.0, *(c for c, _ in dop853.STAGES), 1.0, *(c for c, _ in dop853.MORE_STAGES)]
    np.testing.assert_allclose(DOP853.sum(1), c, atol=2e-14)
    for method in collocation.METHODS:
        np.testing.assert_allclose(method.A.sum(1), method.c, atol=1e-15)


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
    for method in collocation.METHODS:
        stages = len(method.c)
        lagrange = dense_weights(weigh_radau, stages, theta, stages=stages)
        assert defect(method.A, lagrange @ method.A, stages, theta) < 1e-14


@pytest.mark.parametrize("method", collocation.METHODS, ids=("five", "nine"))
def test_radau(method):
    s = len(method.c)
    assert defect(method.A, method.A[-1], min(method.order, 8)) < 1e-14
    for k in range(1, method.order + 2):  # quadrature: exact up to the order of the method
        assert (abs(method.A[-1] @ method.c ** (k - 1) - 1 / k) < 1e-15) == (k <= method.order)
    block = method.T_inverse @ np.linalg.inv(method.A) @ method.T
    expected = np.zeros((s, s))
    expected[0, 0] = method.gamma
    for k, (a, b) in enumerate(method.pairs):
        expected[1 + 2 * k : 3 + 2 * k, 1 + 2 * k : 3 + 2 * k] = [[a, b], [-b, a]]
    np.testing.assert_allclose(block, expected, atol=2e-13)
    # the error estimate: f0 + E Z / h = gamma times the difference of two quadratures, exact to order s
    for k in range(s + 1):
        z = method.c ** (k + 1)  # stages of y' = (k + 1) t^k
        estimate = (k == 0) + method.error @ z
        assert (abs(estimate) < 1e-13) == (k < s)


def test_radau_of_order_five_is_the_published_one():
    """Hairer, Wanner: Solving ordinary differential equations II, table IV.5.6 and (8.19)."""
    five, root = collocation.METHODS[0], 6.0**0.5
    np.testing.assert_allclose(five.c, [(4 - root) / 10, (4 + root) / 10, 1.0], atol=1e-15)
    np.testing.assert_allclose(
        five.A[0], [(88 - 7 * root) / 360, (296 - 169 * root) / 1800, (-2 + 3 * root) / 225]
    )
    np.testing.assert_allclose(five.error, np.array([-13 - 7 * root, -13 + 7 * root, -1]) / 3)


@pytest.mark.parametrize("theta", THETAS)
def test_hermite(theta):
    """Cubics are reproduced."""
    h = 0.7
    f_start, f_end, change = dense_weights(weigh_hermite, 3, theta, h)
    for k in range(1, 4):
        exact = (theta * h) ** k
        assert abs((k == 1) * f_start + k * h ** (k - 1) * f_end + h**k * change - exact) < 1e-15
