"""Positions, velocities and accelerations of joints that follow others in closed loops, as machine code.

With the columns J_d of the dependent coordinates, of full rank, every step is a least-squares solution of
J_d x = b over all rows, redundant ones included, by J_d = Q R (modified Gram-Schmidt with the right side as
one more column). A motion stays on its branch: Newton's iteration corrects a prediction by little, and
det(Q^T Q') > 0 for the factors before and after, which is the sign of det J_d where that is square.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from kinetree.dynamics.loops.machine.position_tables import (
    AXIS,
    CHAIN,
    CLOSE,
    DEPENDENT,
    POSITIONS,
    RATES,
    REACH,
    TIE,
)
from kinetree.engine.door import INTEGER, compiled_callback, helper, in_any_order
from kinetree.engine.lanes import fields, row_at
from kinetree.engine.lanes.objects import doubles, rows_by_pairs
from kinetree.kernels.aba import bias_forces
from kinetree.kernels.loop import clear, constrain
from kinetree.kernels.loop_table import CUT, ENTRY, GAP, ROW, SLOT, SLOTS, UNKNOWN
from kinetree.kernels.model_table import TREE
from kinetree.kernels.number import nothing

ITERATIONS = 8  # of Newton's iteration after a prediction
MOST_ITERATIONS = 50  # of Newton's iteration from a guess
ROUNDING = 1e-13  # rad or m: a step of Newton's iteration that ends it
MOST_CORRECTED = 0.25  # of a predicted step, by Newton's iteration
ALONE = 1e-9  # rad or m: corrections that need no prediction
LONGEST_STEP = 0.5  # rad or m of one iteration from a guess
REGULAR = 1e-8  # smallest number on the diagonal of R, relative to the largest in J_d, of a J_d of full rank
WIDTH, FRAME, ORIGIN = CUT.width, CUT.places["Ra"][0], CUT.places["pa"][0]
ENDLESS = 1 << 60  # of arrays whose size is never read
_RANGE = INTEGER(*[INTEGER] * 9)


@in_any_order
def product(own, a, b, n):
    """The inner product of n numbers from two places on."""
    total = 0.0
    for k in range(n):
        total += own[a + k] * own[b + k]
    return total


@helper
def subtract(own, a, factor, b, n):
    """Take a multiple of n numbers off others."""
    for k in range(n):
        own[a + k] -= factor * own[b + k]


@helper
def measure(own, base, parts, views):
    """Gaps, biases and J (column by column) of the coordinates in ``q`` at the axes' ``rates``."""
    tree, work, cuts, rows, entries, ties, offsets, matrix, unknowns, gaps = views
    n, m = parts.n_axes[0], parts.n_rows[0]
    q, qd = row_at(own, base + parts.axes[0], n, 1), row_at(own, base + parts.rates[0], n, 1)
    for i in range(n):
        q[i] = offsets.offset[i]
    for k in range(parts.n_ties[0]):
        q[ties.axis[k]] = q[ties.axis[k]] + ties.factor[k] * own[base + parts.q[0] + ties.coordinate[k]]
    bias_forces(tree, tree.axis, work, q, qd, nothing(q))
    clear(matrix, unknowns, 1 + n * m, 1)
    matrix.A[0] = 1.0
    constrain(cuts, rows, entries, work, work, matrix, unknowns, gaps, parts.n_cuts[0])
    J = base + parts.J[0]
    for k in range(parts.n_dof[0] * m):
        own[J + k] = 0.0
    for k in range(parts.n_ties[0]):
        subtract(
            own,
            J + ties.coordinate[k] * m,
            -ties.factor[k],
            base + parts.matrix[0] + 1 + ties.axis[k] * m,
            m,
        )


@helper
def factor(own, base, parts, dependents, Q):
    """Q, from a place on, and R of the dependent columns of J; whether they are independent."""
    m, d, R = parts.n_rows[0], parts.n_dependent[0], base + parts.R[0]
    least, most = 1e300, 0.0
    for c in range(d):
        J = base + parts.J[0] + dependents.coordinate[c] * m
        for k in range(m):
            own[Q + c * m + k] = own[J + k]
            most = max(most, abs(own[J + k]))
    for c in range(d):
        column = Q + c * m
        size = sqrt(product(own, column, column, m))
        least = min(least, size)
        if not least > REGULAR * most:
            return False
        own[R + c * d + c] = size
        for k in range(m):
            own[column + k] /= size
        for j in range(c + 1, d):
            x = product(own, column, Q + j * m, m)
            own[R + j * d + c] = x
            subtract(own, Q + j * m, x, column, m)
    return True


@helper
def solve(own, base, parts, Q):
    """The least-squares solution x for the right side b, after `factor`; its largest number."""
    m, d, R, b, x = (
        parts.n_rows[0],
        parts.n_dependent[0],
        base + parts.R[0],
        base + parts.b[0],
        base + parts.x[0],
    )
    for c in range(d):
        own[x + c] = product(own, Q + c * m, b, m)
        subtract(own, b, own[x + c], Q + c * m, m)
    largest = 0.0
    for c in range(d - 1, -1, -1):
        own[x + c] /= own[R + c * d + c]
        subtract(own, x, own[x + c], R + c * d, c)
        largest = max(largest, abs(own[x + c]))
    return largest


@helper
def is_same_branch(own, base, parts):
    """Whether det(Q^T Q') > 0 for the factors before and now; R is overwritten."""
    m, d, W = parts.n_rows[0], parts.n_dependent[0], base + parts.R[0]
    for r in range(d):
        for c in range(d):
            own[W + r * d + c] = product(own, base + parts.before[0] + r * m, base + parts.Q[0] + c * m, m)
    positive = True
    for k in range(d):
        best = k
        for r in range(k + 1, d):
            if abs(own[W + r * d + k]) > abs(own[W + best * d + k]):
                best = r
        if best != k:
            positive = not positive
            for c in range(d):
                own[W + k * d + c], own[W + best * d + c] = own[W + best * d + c], own[W + k * d + c]
        pivot = own[W + k * d + k]
        if pivot == 0.0:
            return False
        if pivot < 0.0:
            positive = not positive
        for r in range(k + 1, d):
            subtract(own, W + r * d + k, own[W + r * d + k] / pivot, W + k * d + k, d - k)
    return positive


@helper
def close(own, base, parts, views, dependents, iterations, most):
    """Newton's iteration for the dependent coordinates; whether it closes the loops.

    With ``most`` >= 0 it may not lead farther from ``first`` than that; else its steps are not long, and the
    gaps come down with each.
    """
    gaps = views[-1]
    m, d, q = parts.n_rows[0], parts.n_dependent[0], base + parts.q[0]
    last, before = 1e300, 1e300
    for _ in range(iterations):
        measure(own, base, parts, views)
        gap, error, largest = 0.0, 0.0, 1.0
        for k in range(m):
            own[base + parts.b[0] + k] = -gaps.gap[k]
            gap, error = max(gap, abs(gaps.gap[k])), error + gaps.gap[k] * gaps.gap[k]
        if most < 0.0 and not (error < before or gap <= parts.closed[0]):
            return False
        if not factor(own, base, parts, dependents, base + parts.Q[0]):
            return False
        size = solve(own, base, parts, base + parts.Q[0])
        share = LONGEST_STEP / size if most < 0.0 and size > LONGEST_STEP else 1.0
        for k in range(parts.n_dof[0]):
            largest = max(largest, abs(own[q + k]))
        for c in range(d):
            at = q + dependents.coordinate[c]
            own[at] += share * own[base + parts.x[0] + c]
            if most >= 0.0 and not abs(own[at] - own[base + parts.first[0] + c]) <= most:
                return False
        if size <= ROUNDING * largest or (size >= 0.5 * last and size < ALONE):
            return gap <= parts.closed[0]
        last, before = size, error
    return False


@helper
def follow(own, base, parts, views, dependents, wanted):
    """From the closed pose in ``q`` to the one at wanted coordinates on its branch; whether it is reached."""
    m, d, q, b = parts.n_rows[0], parts.n_dependent[0], base + parts.q[0], base + parts.b[0]
    measure(own, base, parts, views)
    if not factor(own, base, parts, dependents, base + parts.before[0]):
        return False
    for c in range(d):
        wanted[dependents.coordinate[c]] = own[q + dependents.coordinate[c]]
    far = 0.0
    for k in range(m):
        own[b + k] = 0.0
    for k in range(parts.n_dof[0]):
        move = wanted[k] - own[q + k]
        far = max(far, abs(move))
        own[q + k] = wanted[k]
        subtract(own, b, move, base + parts.J[0] + k * m, m)
    far = max(far, solve(own, base, parts, base + parts.before[0]))
    for c in range(d):
        own[q + dependents.coordinate[c]] += own[base + parts.x[0] + c]
        own[base + parts.first[0] + c] = own[q + dependents.coordinate[c]]
    most = MOST_CORRECTED * far + ALONE
    if not close(own, base, parts, views, dependents, ITERATIONS, most):
        return False
    return is_same_branch(own, base, parts)


@helper
def reach(own, base, parts, views, dependents, frames):
    """From the closed pose in ``q`` to frames (R, p) of the last cuts in the world; whether it is reached.

    The first step of Newton's iteration is the prediction.
    """
    d, q, first = parts.n_dependent[0], base + parts.q[0], base + parts.first[0]
    for k in range(parts.n_targets[0]):
        cut = base + parts.cuts[0] + WIDTH * (parts.n_cuts[0] - parts.n_targets[0] + k)
        for i in range(9):
            own[cut + FRAME + i] = frames[12 * k + i]
        for i in range(3):
            own[cut + ORIGIN + i] = frames[12 * k + 9 + i]
    measure(own, base, parts, views)
    if not factor(own, base, parts, dependents, base + parts.before[0]):
        return False
    for k in range(parts.n_rows[0]):
        own[base + parts.b[0] + k] = -views[-1].gap[k]
    far = solve(own, base, parts, base + parts.before[0])
    for c in range(d):
        own[q + dependents.coordinate[c]] += own[base + parts.x[0] + c]
        own[first + c] = own[q + dependents.coordinate[c]]
    if not close(own, base, parts, views, dependents, ITERATIONS, MOST_CORRECTED * far + ALONE):
        return False
    return is_same_branch(own, base, parts)


@helper
def complete(own, base, parts, views, dependents, rates, second):
    """Dependent velocities and accelerations for those given, in place; whether they are determined."""
    ties, gaps, m, b = views[5], views[-1], parts.n_rows[0], base + parts.b[0]
    Q, x = base + parts.Q[0], base + parts.x[0]
    measure(own, base, parts, views)
    if not factor(own, base, parts, dependents, Q):
        return False
    for given in (rates, second):
        for c in range(parts.n_dependent[0]):
            given[dependents.coordinate[c]] = 0.0
        for k in range(m):
            own[b + k] = -gaps.bias[k]  # zero at rest
        for k in range(parts.n_dof[0]):
            subtract(own, b, given[k], base + parts.J[0] + k * m, m)
        solve(own, base, parts, Q)
        for c in range(parts.n_dependent[0]):
            given[dependents.coordinate[c]] = own[x + c]
        for k in range(parts.n_ties[0]):
            own[base + parts.rates[0] + ties.axis[k]] += ties.factor[k] * rates[ties.coordinate[k]]
        measure(own, base, parts, views)
    return True


def loop_positions() -> Any:
    """The body of `kinetree.dynamics.loops.machine.code.loop_positions`."""

    def run(table, memory, size, begin, end, pairs, base, what, idle):
        own = doubles(memory, size)
        parts = fields(own, POSITIONS, 1, base)
        dependents = fields(own, DEPENDENT, 1, base + parts.dependents[0])
        views = (
            fields(doubles(table, ENDLESS), TREE, 1, 0),
            fields(own, SLOTS, 1, 0),
            fields(own, CUT, 1, base + parts.cuts[0]),
            fields(own, ROW, 1, base + parts.rows[0]),
            fields(own, ENTRY, 1, base + parts.entries[0]),
            fields(own, TIE, 1, base + parts.ties[0]),
            fields(own, AXIS, 1, base + parts.offsets[0]),
            fields(own, SLOT, 1, base + parts.matrix[0]),
            fields(own, UNKNOWN, 1, base + parts.unknowns[0]),
            fields(own, GAP, 1, base + parts.gaps[0]),
        )
        q, n = base + parts.q[0], parts.n_dof[0]
        for k in range(begin, end):
            start, wanted, found, verdict = rows_by_pairs(pairs, 4, k, 1)
            for i in range(parts.n_axes[0]):
                own[base + parts.rates[0] + i] = 0.0
            if what != CHAIN or k == begin:
                for i in range(n):
                    own[q + i] = start[i]
            if what == RATES:
                good = complete(own, base, parts, views, dependents, wanted, found)
            elif what == REACH:
                good = reach(own, base, parts, views, dependents, wanted)
            elif what == CLOSE:
                good = close(own, base, parts, views, dependents, MOST_ITERATIONS, -1.0)
            else:
                good = follow(own, base, parts, views, dependents, wanted)
            verdict[0] = 1.0 if good else 0.0
            if what != RATES:
                for i in range(n):
                    found[i] = own[q + i]
            if what == CHAIN and not good:
                break
        return 1

    return compiled_callback(run, _RANGE, "loop-positions")
