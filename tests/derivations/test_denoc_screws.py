"""Planar screws of the DeNOC recursions: the formulas of [Shah2013], appendix A, and where they are
misprinted."""

import numpy as np
import pytest

from kinetree.derivations.denoc.entries import ONE, ZERO, Entry
from kinetree.derivations.denoc.screws import Articulated, Composite, Screw, Turn
from kinetree.kernels.number import count_operations, counting
from support.cases import assert_close


def entries(matrix):
    return tuple(tuple(Entry(x) for x in row) for row in matrix)


def values(rows):
    return np.array([[entry.value for entry in row] for row in rows])


def six(M):
    """The 6 x 6 matrix of a composite or articulated mass matrix."""
    M = M.articulated if isinstance(M, Composite) else M
    J, F, G = values(M.J), values(M.F), values(M.G)
    return np.block([[J, F.T], [F, G]])


def tensor(a):
    return np.cross(np.eye(3), a)


def propagation(axis, angle, shift):
    """A (6, 6) of eq. A.45, from the outer frame to the inner, and its rotation."""
    a, b = (axis + 1) % 3, (axis + 2) % 3
    Q = np.eye(3)
    Q[a, a] = Q[b, b] = np.cos(angle)
    Q[a, b], Q[b, a] = -np.sin(angle), np.sin(angle)
    r = tensor(-shift * np.eye(3)[axis])
    return np.block([[Q.T, np.zeros((3, 3))], [Q.T @ r, Q.T]]), Q


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("constant_angle", [True, False])
def test_mass_matrices_are_moved_as_their_matrices_are(axis, constant_angle, rng):
    angle, shift = rng.uniform(-3, 3), rng.uniform(-1, 1)
    A, _ = propagation(axis, angle, shift)
    turn = Turn(axis, Entry(np.cos(angle)), Entry(np.sin(angle)), constant_angle)
    full = rng.standard_normal((6, 6))
    full = full + full.T
    moved = Articulated(entries(full[:3, :3]), entries(full[3:, :3]), entries(full[3:, 3:]))
    assert_close(six(moved.to_parent([Screw(turn, Entry(shift))])), A.T @ full @ A, 1e-13)
    J = full[:3, :3]
    rigid = Composite(entries(J), tuple(Entry(x) for x in rng.standard_normal(3)), Entry(1.7))
    assert_close(six(rigid.to_parent([Screw(turn, Entry(shift))])), A.T @ six(rigid) @ A, 1e-13)


def test_quarter_turns_cost_nothing(rng):
    counted = entries(counting(rng.standard_normal((3, 3))))
    M = Articulated(counted, counted, counted)
    for c, s in ((ZERO, ONE), (ZERO, -ONE), (-ONE, ZERO), (ONE, ZERO)):
        screws = [Screw(Turn(0, c, s))]
        assert not any(count_operations(lambda screws=screws: M.to_parent(screws)).values())
    screws = [Screw(Turn(0, Entry(0.6), Entry(0.8)))]
    assert any(count_operations(lambda: M.to_parent(screws)).values())


@pytest.mark.parametrize(("d", "printed"), [(0.7, "A.37"), (0.7, "A.49")])
def test_the_misprints_of_appendix_a_matter(d, printed, rng):
    """c_2 = (c_1 + rho_3) b of A.37, and f_12 in the first entry of A.49, give other matrices."""
    full = rng.standard_normal((6, 6))
    full = full + full.T
    J, F, G = full[:3, :3], full[3:, :3], full[3:, 3:]
    if printed == "A.37":
        rho, m = rng.standard_normal(3), 1.3
        moved = Composite(entries(J), tuple(Entry(x) for x in rho), Entry(m)).to_parent(
            [Screw(Turn(2), Entry(d))]
        )
        wrong = J[0, 0] + (m * d - rho[2] + rho[2]) * d
    else:
        moved = Articulated(entries(J), entries(F), entries(G)).to_parent([Screw(Turn(2), Entry(d))])
        wrong = J[0, 0] - (F[1, 0] - d * G[1, 1] + F[0, 1]) * d
    assert abs(values(moved.J)[0, 0] - wrong) > 1e-3
