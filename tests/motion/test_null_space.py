"""Newton steps on the null space of equations: against the whole KKT system and eigenvalues."""

import numpy as np
import pytest
from scipy.linalg import null_space

from kinetree.motion.solvers.null_space import NullSpace


def symmetric(rng, n, eigenvalues):
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return (Q * eigenvalues) @ Q.T


@pytest.mark.parametrize(("n", "k"), [(7, 0), (7, 1), (12, 5), (6, 6)])
def test_steps_solve_the_kkt_system(rng, n, k):
    J, A = (
        rng.standard_normal((k, n)) * rng.uniform(0.1, 100.0, (k, 1)),
        symmetric(rng, n, np.arange(1.0, n + 1)),
    )
    right, c = rng.standard_normal(n), rng.standard_normal(k)
    space = NullSpace(J)
    assert space.factor(A, None)
    d, y = space.step(right, c)
    kkt = np.block([[A, J.T], [J, np.zeros((k, k))]])
    assert np.allclose(np.append(d, y), np.linalg.solve(kkt, np.append(right, -c)))


def test_only_the_lower_triangle_counts(rng):
    J, A = rng.standard_normal((2, 6)), symmetric(rng, 6, np.arange(1.0, 7.0))
    one, other = NullSpace(J), NullSpace(J)
    assert one.factor(A, None) and other.factor(np.tril(A) + np.triu(rng.standard_normal((6, 6)), 1), None)
    steps = [space.step(np.ones(6), np.ones(2))[0] for space in (one, other)]
    assert np.allclose(*steps)


def test_equations_that_others_imply_count_once(rng):
    J, A = rng.standard_normal((3, 8)), symmetric(rng, 8, np.arange(1.0, 9.0))
    J = np.vstack([J, 2.0 * J[0] - J[1]])
    c = J @ rng.standard_normal(8)
    space = NullSpace(J)
    assert space.rank == 3 and space.factor(A, None)
    d, y = space.step(np.ones(8), c)
    assert np.allclose(J @ d, -c) and np.allclose(A @ d + J.T @ y, 1.0)


def test_definite_means_definite_on_the_null_space(rng):
    """However negative across it: adding rho J^T J for a test would need a very large rho."""
    n, k = 10, 3
    J = rng.standard_normal((k, n))
    Z = null_space(J)
    Y = np.linalg.qr(J.T)[0]
    cross = 1e4 * Y @ rng.standard_normal((k, n - k)) @ Z.T
    A = Z @ np.diag(rng.uniform(1e-3, 1.0, n - k)) @ Z.T - 50.0 * Y @ Y.T + cross + cross.T
    assert np.linalg.eigvalsh(A)[0] < -1e3
    assert np.linalg.eigvalsh(A + 1e4 * J.T @ J)[0] < 0.0
    space = NullSpace(J)
    assert space.is_definite(A.copy(order="F")) and space.factor(A, None) and space.shift == 0.0
    assert not NullSpace(J).is_definite(np.asfortranarray(A - 2.0 * Z @ Z.T))


def test_the_largest_share_of_all_curvature_that_leaves_it_definite(rng):
    J, n = rng.standard_normal((2, 8)), 8
    Z, A = null_space(J), np.eye(8)
    for least, expected in ((-0.9, 1.0), (-1.5, 0.5), (-3.0, 0.25), (-9.0, 0.0)):
        curvature = symmetric(rng, n, np.zeros(n)) + least * Z[:, :1] @ Z[:, :1].T
        space = NullSpace(J)
        assert space.factor(A, curvature) and space.share == expected and space.shift == 0.0


def test_a_singular_matrix_is_shifted_a_little(rng):
    A = symmetric(rng, 6, np.array([0.0, 0.0, 1.0, 2.0, 3.0, 4.0]))
    space = NullSpace(np.zeros((0, 6)))
    assert not space.is_definite(A.copy(order="F"))
    assert space.factor(A - 1e-9 * np.eye(6), None) and 0.0 < space.shift < 1e-6
    assert not space.factor(np.full((6, 6), np.nan), None)


def test_a_saddle_keeps_all_curvature_with_hardly_more_shift_than_it_needs(rng):
    J, n = rng.standard_normal((2, 8)), 8
    Z, A = null_space(J), np.eye(8)
    for least in (0.5, -0.0005, -0.05, -2.0):
        curvature = symmetric(rng, n, np.zeros(n)) + (least - 1.0) * Z[:, :1] @ Z[:, :1].T
        space = NullSpace(J)
        assert space.factor(A, curvature, saddle=True) and space.share == 1.0
        assert space.shift == 0.0 if least > 0.0 else -least < space.shift < -5.0 * least
    curvature = -50.0 * Z[:, :1] @ Z[:, :1].T
    assert space.factor(A, curvature, saddle=True) and space.share == 0.0  # far from any saddle
