"""Lengths of muscles as polynomials of joint angles, fitted to exact lengths and arms, with their errors.

Paths around wraps and over conditional points have kinks, where predictions would need derivatives. A
polynomial has all derivatives; moment arms are -dl/dq of the same polynomial, so that power is balanced
exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from kinetree.algebra.arrays import Array
from kinetree.dynamics.muscles.paths import path_geometry
from kinetree.errors import InputError
from kinetree.model.mechanism import Mechanism

Integers = NDArray[np.int64]
POSES, HELD_OUT = 1200, 300
HIGHEST = {0: 0, 1: 8, 2: 7, 3: 6, 4: 5, 5: 4, 6: 4}  # greatest degree by number of joints
LEAST_ARM = 1e-4  # m: joints with smaller moment arms at all poses are not spanned
FINE = 5e-4  # m, root mean square of moment arms: of the degrees the least with it is taken
WIDE = 1.0  # rad or m: half the range of joints without limits
SEED = 20


@dataclass(frozen=True, eq=False)
class LengthPolynomials:
    """Polynomials of the lengths of muscles over ``joints``, (k, terms) padded with zeros, and their errors.

    Muscle i is sum_t coefficients[i, t] prod_j q[span[i, j]]^exponents[i, t, j] over ``dims`` joints and
    ``terms`` terms. ``length_error`` and ``arm_error`` (k,) (m) are the largest at poses that were held out.
    """

    names: tuple[str, ...]
    joints: tuple[str, ...]
    exponents: Integers
    coefficients: Array
    terms: Integers
    span: Integers
    dims: Integers
    length_error: Array
    arm_error: Array

    @property
    def top(self) -> int:
        """The highest power."""
        return int(self.exponents.max(initial=0))


def length_polynomials(
    mechanism: Mechanism, joints: Sequence[str], ranges: Sequence[tuple[float, float]]
) -> LengthPolynomials:
    """The lengths of all muscles fitted over joints within ranges; made once, and kept with the tree."""
    key = (length_polynomials, tuple(joints), tuple(map(tuple, ranges)))
    values = mechanism.tree.kept.values
    if key not in values:  # type: ignore[comparison-overlap]
        values.setdefault(key, _fitted(mechanism, joints, ranges))  # type: ignore[call-overload]
    found: LengthPolynomials = values[key]  # type: ignore[index]
    return found


def _fitted(
    mechanism: Mechanism, joints: Sequence[str], ranges: Sequence[tuple[float, float]]
) -> LengthPolynomials:
    columns = [mechanism.joint_index(name) for name in joints]
    rng = np.random.default_rng(SEED)
    q = np.zeros((POSES + HELD_OUT, mechanism.n_dof))
    low, high = np.array(ranges, dtype=np.float64).reshape(-1, 2).T
    q[:, columns] = low + (high - low) * rng.random((len(q), len(columns)))
    found = path_geometry(mechanism, q)
    rows = [
        _one(q[:, columns], found.length[:, i], found.slope[:, i][:, columns])
        for i in range(found.length.shape[1])
    ]
    k, most = len(rows), max(len(row[1]) for row in rows)
    widest = max(1, *(len(row[0]) for row in rows))
    exponents, span = np.zeros((k, most, widest), dtype=np.int64), np.zeros((k, widest), dtype=np.int64)
    coefficients = np.zeros((k, most))
    for i, (own, E, c, *_) in enumerate(rows):
        exponents[i, : len(E), : len(own)], coefficients[i, : len(E)] = E, c
        span[i, : len(own)] = own
    return LengthPolynomials(
        tuple(muscle.name for muscle in mechanism.muscles),
        tuple(joints),
        exponents,
        coefficients,
        np.array([len(row[1]) for row in rows]),
        span,
        np.array([len(row[0]) for row in rows]),
        np.array([row[3] for row in rows]),
        np.array([row[4] for row in rows]),
    )


def _one(q: Array, length: Array, slope: Array) -> tuple[Integers, Integers, Array, float, float]:
    """Joints, exponents, coefficients of one muscle, and its largest errors of length and moment arms."""
    span = np.flatnonzero(np.abs(slope).max(axis=0) > LEAST_ARM)
    if len(span) > max(HIGHEST):
        raise InputError(f"a muscle spans {len(span)} joints; polynomials of lengths support {max(HIGHEST)}")
    x, best = q[:, span], None
    for degree in range(min(2, HIGHEST[len(span)]), HIGHEST[len(span)] + 1):
        E = _exponents(len(span), degree)
        V, G = _monomials(x, E)
        A = np.vstack([V[:POSES], G[:POSES].transpose(1, 0, 2).reshape(-1, len(E))])
        b = np.concatenate([length[:POSES], slope[:POSES][:, span].T.ravel()])
        c, *_ = np.linalg.lstsq(A, b, rcond=None)
        arm = G[POSES:] @ c - slope[POSES:][:, span]
        off = V[POSES:] @ c - length[POSES:]
        best = span, E, c, float(np.abs(off).max()), float(np.abs(arm).max(initial=0.0))
        if np.sqrt((arm**2).mean() if arm.size else 0.0) < FINE:
            break
    assert best is not None
    return best


def _exponents(d: int, degree: int) -> Integers:
    found = []
    for total in range(degree + 1 if d else 1):
        for picks in combinations_with_replacement(range(d), total):
            found.append([picks.count(j) for j in range(d)])
    return np.array(found, dtype=np.int64).reshape(-1, d)


def _monomials(x: Array, E: Integers) -> tuple[Array, Array]:
    """Monomials (m, terms) and their derivatives (m, d, terms)."""
    d, top = x.shape[1], int(E.max(initial=0)) + 1
    powers = np.stack([x**k for k in range(top + 1)], axis=2)
    each = [powers[:, j, E[:, j]] for j in range(d)]
    V = np.ones((len(x), len(E)))
    for factor in each:
        V = V * factor
    G = np.zeros((len(x), d, len(E)))
    for j in range(d):
        g = E[:, j] * powers[:, j, np.maximum(E[:, j] - 1, 0)]
        for k in range(d):
            if k != j:
                g = g * each[k]
        G[:, j] = g
    return V, G
