"""Tuple helpers of the kernels against NumPy."""

import numpy as np
import pytest

from kinetree.kernels import vectors as v
from support.cases import assert_close
from support.trees import inertia, placement


def flat(A):
    return tuple(np.ravel(A))


def sym(A):
    return tuple(A[np.triu_indices(3)])


def square(x):
    return np.reshape(x, (3, 3))


def cross_matrix(a):
    return np.cross(np.eye(3), a) * -1.0


@pytest.fixture
def abc(rng):
    return [tuple(x) for x in rng.standard_normal((3, 3))]


@pytest.fixture
def AB(rng):
    return rng.standard_normal((2, 3, 3))


def test_vectors(abc):
    a, b, c = abc
    x, y, z = map(np.array, abc)
    assert_close(v.add(a, b), x + y)
    assert_close(v.sub(a, b), x - y)
    assert_close(v.negative(a), -x)
    assert_close(v.scale(2.5, a), 2.5 * x)
    assert_close(v.scale_plus(2.5, a, b), 2.5 * x + y)
    assert_close(v.dot(a, b), x @ y)
    assert_close(v.dot_plus(a, b, 3.0), x @ y + 3.0)
    assert_close(v.cross(a, b), np.cross(x, y))
    assert_close(v.cross_plus(a, b, c), np.cross(x, y) + z)
    assert_close(v.cross_z_plus(a, 2.0, c), np.cross(x, (0, 0, 2.0)) + z)
    assert_close(v.add_z(a, 2.0), x + np.array([0, 0, 2.0]))
    assert_close(square(v.skew(a)) @ y, np.cross(x, y))


def test_matrices(abc, AB):
    a, b, _c = abc
    A, B = AB
    assert_close(v.times(flat(A), a), A @ a)
    assert_close(v.times_plus(flat(A), a, b), A @ a + b)
    assert_close(v.transposed_times(flat(A), a), A.T @ a)
    assert_close(v.transposed_times_plus(flat(A), a, b), A.T @ a + b)
    assert_close(square(v.product(flat(A), flat(B))), A @ B)
    assert_close(v.column_z(flat(A)), A[:, 2])
    s, k = np.sin(0.7), np.cos(0.7)
    assert_close(square(v.times_rz(flat(A), s, k)), A @ [[k, -s, 0], [s, k, 0], [0, 0, 1]])
    assert_close(square(v.minus_outer(flat(A), a, b)), A - np.outer(a, b))
    S = A + A.T
    assert_close(square(v.full(sym(S))), S)
    assert_close(square(v.full(v.trace_minus(sym(S)))), np.trace(S) * np.eye(3) - S)
    parallel = tuple(0.3 * np.array(a))
    assert_close(square(v.full(v.sym_minus_outer(sym(S), a, parallel))), S - np.outer(a, parallel))
    assert_close(square(v.twice_trace_minus(flat(A))), 2 * (np.trace(A) * np.eye(3) - A))


def test_bodies(abc, rng):
    """Momentum, its rate and moved inertias as sums over mass elements."""
    w, u, a = map(np.array, abc)
    masses, points = rng.uniform(0.1, 1, 6), rng.uniform(-1, 1, (6, 3))
    m, h = masses.sum(), masses @ points
    S = np.einsum("k,ki,kj->ij", masses, points, points)
    velocity = u + np.cross(w, points)
    L, P = v.inertia_times(m, tuple(h), sym(S), tuple(w), tuple(u))
    assert_close(P, masses @ velocity)
    assert_close(L, masses @ np.cross(points, velocity))
    assert_close(v.momentum(m, tuple(h), tuple(w), tuple(u)), masses @ velocity)
    G = np.einsum("k,ki,kj->ij", masses, velocity, points)
    assert_close(square(v.velocity_moment(tuple(h), sym(S), tuple(w), tuple(u))), G)
    wd = rng.standard_normal(3)
    acceleration = a + np.cross(wd, points) + np.cross(w, np.cross(w, points))
    U = v.spin_matrix(tuple(w), tuple(wd))
    assert_close(points @ square(U).T, acceleration - a)
    assert_close(v.inertial_force(m, tuple(h), U, tuple(a)), masses @ acceleration)
    assert_close(v.inertial_moment(tuple(h), sym(S), U, tuple(a)), masses @ np.cross(points, acceleration))


def test_moved_inertia(rng):
    body, place = inertia(rng), placement(rng)
    moved = body.moved(place)
    h, S = v.moved_inertia(
        body.mass,
        tuple(body.first_moment),
        sym(body.second_moment),
        flat(place.rotation),
        tuple(place.position),
    )
    assert_close(h, moved.first_moment)
    assert_close(square(v.full(S)), moved.second_moment)


def test_rows():
    row = np.arange(12.0)
    assert v.load3(row, 4) == (4.0, 5.0, 6.0)
    v.store3(row, 2, (-1.0, -2.0, -3.0))
    assert row[2:5].tolist() == [-1, -2, -3] and row[5] == 5.0
    v.store9(row, 1, tuple(range(9)))
    assert row[1:10].tolist() == list(range(9)) and row[10] == 10.0
