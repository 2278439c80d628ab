"""From a link's frame to its parent's by planar screws ([Shah2013], appendix A).

Modified DH parameters lead from the parent's frame to the link's by a turn alpha about and a shift a along x,
then a turn theta about and a shift b along z. Such a planar screw changes two components only, which is where
the low counts of the book come from. Its formulas for x and z (A.8 and A.9, A.37 and A.40, A.49 and A.52) are
the same one with the axes exchanged in turn; here each is written once, with i, j, k for the book's 1, 2, 3.

Twists are [omega; v], wrenches [n; f]. J is the rotational inertia, the book's I. Counts such as 4M2A are
multiplications and additions with general numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kinetree.derivations.denoc.entries import (
    MINUS_ONE,
    ONE,
    ZERO,
    Entry,
    Matrix,
    Vector,
    add,
    cross_matrix,
    plus,
    plus_symmetric,
)

CYCLES = ((1, 2, 0), (2, 0, 1), (0, 1, 2))  # i, j, k for an axis k


class Turn:
    """The rotation Q about a coordinate axis, by an angle with cosine c and sine s ([Shah2013], eq. A.2)."""

    __slots__ = ("axis", "c", "constant", "s", "squares_", "twice_c_")

    def __init__(self, axis: int, c: Entry = ONE, s: Entry = ZERO, constant: bool = True) -> None:
        self.axis, self.c, self.s, self.constant = axis, c, s, constant
        self.squares_: tuple[Entry, Entry, Entry, Entry] | None = None
        self.twice_c_: Entry | None = None

    @property
    def quarter(self) -> bool:
        """Whether it is known to be a multiple of a right angle: it only exchanges components (A.10)."""
        return self.c is ZERO or self.s is ZERO

    @property
    def squares(self) -> tuple[Entry, Entry, Entry, Entry]:
        """t_1 to t_4 of a constant angle, computed beforehand (A.12)."""
        if self.squares_ is None:
            t_1, t_2 = self.s * self.s, self.c * self.s
            self.squares_ = (t_1, t_2, t_2 + t_2, t_1 + t_1 + MINUS_ONE)
        return self.squares_

    @property
    def twice_c(self) -> Entry:
        """2 c, computed once (0M1A)."""
        if self.twice_c_ is None:
            self.twice_c_ = self.c + self.c
        return self.twice_c_


class Screw(NamedTuple):
    """A turn about, then a shift (m) along the same coordinate axis: origin and axes of the inner frame."""

    turn: Turn
    shift: Entry = ZERO


Screws = Sequence[Screw]  # from the link's frame outwards to the parent's


def _arranged(axis: int, first: Entry, second: Entry, own: Entry) -> Vector:
    """Components given in the order i, j, k."""
    if axis == 2:
        return first, second, own
    return (own, first, second) if axis == 0 else (second, own, first)


# ---- vectors: A.2 -------------------------------------------------------------------------------------
def turned(Q: Turn, r: Vector) -> Vector:
    """Q r (4M2A), eq. A.4."""
    i, j, k = CYCLES[Q.axis]
    return _arranged(Q.axis, Q.c * r[i] - Q.s * r[j], Q.s * r[i] + Q.c * r[j], r[k])


def turned_back(Q: Turn, r: Vector) -> Vector:
    """Q^T r (4M2A), eq. A.6."""
    i, j, k = CYCLES[Q.axis]
    return _arranged(Q.axis, Q.c * r[i] + Q.s * r[j], Q.c * r[j] - Q.s * r[i], r[k])


def vector_to_child(screws: Screws, r: Vector) -> Vector:
    """Components of a vector in the link's frame, from those in the parent's (8M4A)."""
    for screw in reversed(screws):
        r = turned_back(screw.turn, r)
    return r


def vector_to_parent(screws: Screws, r: Vector) -> Vector:
    """Components of a vector in the parent's frame, from those in the link's (8M4A)."""
    for screw in screws:
        r = turned(screw.turn, r)
    return r


def position_to_child(screws: Screws, a: Vector) -> Vector:
    """From a point to the link's origin, in its frame, given a from the point to the parent's (8M6A)."""
    for Q, d in reversed(screws):
        i, j, k = CYCLES[Q.axis]
        a = turned_back(Q, _arranged(Q.axis, a[i], a[j], a[k] + d))
    return a


# ---- twists and wrenches: A.4 ---------------------------------------------------------------------------
def wrench_to_parent(screws: Screws, n: Vector, f: Vector) -> tuple[Vector, Vector]:
    """A^T w in the parent's frame, about its origin (20M12A), eqs. A.19-A.23."""
    for Q, d in screws:
        i, j, k = CYCLES[Q.axis]
        n, f = turned(Q, n), turned(Q, f)
        n = _arranged(Q.axis, n[i] - d * f[j], n[j] + d * f[i], n[k])
    return n, f


def twist_to_child(screws: Screws, w: Vector, v: Vector) -> tuple[Vector, Vector]:
    """A t in the link's frame, of its origin, as if it were fixed to the parent (20M12A)."""
    for Q, d in reversed(screws):
        i, j, k = CYCLES[Q.axis]
        v = _arranged(Q.axis, v[i] + w[j] * d, v[j] - w[i] * d, v[k])
        w, v = turned_back(Q, w), turned_back(Q, v)
    return w, v


# ---- matrices: A.3 --------------------------------------------------------------------------------------
def turned_matrix(Q: Turn, F: Matrix) -> Matrix:
    """Q F Q^T (12M11A), eqs. A.8 and A.9; a quarter turn only exchanges entries, eq. A.10.

    With u = b_1 s + b_2 c the book's d_1 is s u, and its f_12 + d_2 is c u - f_21: one addition less, and no
    products of sine and cosine.
    """
    if Q.quarter:
        return _transposed(tuple(turned(Q, x) for x in _transposed(tuple(turned(Q, x) for x in F))))
    i, j, k = CYCLES[Q.axis]
    c, s = Q.c, Q.s
    u = (F[i][i] - F[j][j]) * s + (F[i][j] + F[j][i]) * c
    d_1, cu = s * u, c * u
    rows = {
        i: _arranged(Q.axis, F[i][i] - d_1, cu - F[j][i], F[i][k] * c - F[j][k] * s),
        j: _arranged(Q.axis, cu - F[i][j], F[j][j] + d_1, F[i][k] * s + F[j][k] * c),
        k: _arranged(Q.axis, F[k][i] * c - F[k][j] * s, F[k][i] * s + F[k][j] * c, F[k][k]),
    }
    return rows[0], rows[1], rows[2]


def turned_symmetric(Q: Turn, F: Matrix) -> Matrix:
    """Q F Q^T of a symmetric F (8M7A), eqs. A.11 and A.12.

    Of a joint's angle the book needs four products of sine and cosine first (4M1A); u = b_1 s + 2 f_12 c does
    without: d_1 = s u and d_2 = c u - f_12. Of a constant angle they are known and save a multiplication
    where f_12 and f_22 are zero.
    """
    if Q.quarter:
        return turned_matrix(Q, F)
    i, j, k = CYCLES[Q.axis]
    c, s = Q.c, Q.s
    b_1 = F[i][i] - F[j][j]
    if Q.constant:
        t_1, t_2, t_3, t_4 = Q.squares
        d_1, d_2 = b_1 * t_1 + F[i][j] * t_3, b_1 * t_2 - F[i][j] * t_4
    else:
        u = b_1 * s + F[i][j] * Q.twice_c
        d_1, d_2 = s * u, c * u - F[i][j]
    ii, jj, ik, jk = F[i][i] - d_1, F[j][j] + d_1, F[i][k] * c - F[j][k] * s, F[i][k] * s + F[j][k] * c
    return _symmetric(Q.axis, ii, d_2, ik, jj, jk, F[k][k])


def _transposed(F: tuple[Vector, ...]) -> Matrix:
    (a, b, c), (d, e, f), (g, h, i) = F
    return (a, d, g), (b, e, h), (c, f, i)


def _symmetric(axis: int, ii: Entry, ij: Entry, ik: Entry, jj: Entry, jk: Entry, kk: Entry) -> Matrix:
    """A symmetric matrix from its entries in the order i, j, k."""
    i, j, k = CYCLES[axis]
    rows = {i: _arranged(axis, ii, ij, ik), j: _arranged(axis, ij, jj, jk), k: _arranged(axis, ik, jk, kk)}
    return rows[0], rows[1], rows[2]


# ---- mass matrices: A.6 and A.7 ----------------------------------------------------------------------------
class Composite(NamedTuple):
    """Mass matrix [[J, (rho x 1)^T], [rho x 1, m 1]] of a rigid body, rho = -m d ([Shah2013], eq. A.30)."""

    J: Matrix
    rho: Vector
    m: Entry

    def to_parent(self, screws: Screws) -> Composite:
        """A^T M A in the parent's frame (30M31A), eqs. A.34-A.40; c_2 of A.37 corrected (errata)."""
        J, rho, m = self
        for Q, d in screws:
            i, j, k = CYCLES[Q.axis]
            J, rho = turned_symmetric(Q, J), turned(Q, rho)
            if d is not ZERO:
                c_1 = m * d - rho[k]
                c_2 = (c_1 - rho[k]) * d
                ik, jk = J[i][k] + rho[i] * d, J[j][k] + rho[j] * d
                J = _symmetric(Q.axis, J[i][i] + c_2, J[i][j], ik, J[j][j] + c_2, jk, J[k][k])
                rho = _arranged(Q.axis, rho[i], rho[j], -c_1)
        return Composite(J, rho, m)

    def joined(self, other: Composite) -> Composite:
        """Two bodies rigidly connected (0M9A)."""
        return Composite(plus_symmetric(self.J, other.J), add(self.rho, other.rho), self.m + other.m)

    @property
    def articulated(self) -> Articulated:
        """The blocks as one full mass matrix."""
        m = self.m
        return Articulated(
            self.J, cross_matrix(self.rho), ((m, ZERO, ZERO), (ZERO, m, ZERO), (ZERO, ZERO, m))
        )


class Articulated(NamedTuple):
    """Mass matrix [[J, F^T], [F, G]] of an articulated body ([Shah2013], eq. A.42)."""

    J: Matrix
    F: Matrix
    G: Matrix

    def to_parent(self, screws: Screws) -> Articulated:
        """A^T M A in the parent's frame (60M61A after a revolute joint), eqs. A.45-A.52; A.49 corrected."""
        M = self
        for Q, d in screws:
            M = Articulated(turned_symmetric(Q, M.J), turned_matrix(Q, M.F), turned_symmetric(Q, M.G))
            if d is not ZERO:
                M = M.shifted(Q.axis, d)
        return M

    def shifted(self, axis: int, d: Entry) -> Articulated:
        """About a point that lies d before the origin on a coordinate axis, eqs. A.49 and A.52."""
        i, j, k = CYCLES[axis]
        J, F, G = self
        c_1 = d * G[i][j]
        c_2, c_3, c_4 = F[i][i] - c_1, F[i][j] + d * G[i][i], F[j][i] - d * G[j][j]
        rows = {
            i: _arranged(axis, c_2, c_3, F[i][k]),
            j: _arranged(axis, c_4, F[j][j] + c_1, F[j][k]),
            k: _arranged(axis, F[k][i] - d * G[j][k], F[k][j] + d * G[i][k], F[k][k]),
        }
        ii, jj = J[i][i] - (c_4 + F[j][i]) * d, J[j][j] + (c_3 + F[i][j]) * d
        ij, ik, jk = J[i][j] + (c_2 - F[j][j]) * d, J[i][k] - F[j][k] * d, J[j][k] + F[i][k] * d
        return Articulated(_symmetric(axis, ii, ij, ik, jj, jk, J[k][k]), (rows[0], rows[1], rows[2]), G)

    def joined(self, other: Articulated) -> Articulated:
        """The sum of two mass matrices (0M15A if one is of a rigid body)."""
        return Articulated(
            plus_symmetric(self.J, other.J), plus(self.F, other.F), plus_symmetric(self.G, other.G)
        )
