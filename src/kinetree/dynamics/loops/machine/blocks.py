"""Inverse dynamics of closed loops: forces of drives and of cut joints, block after block.

E x + J^T lambda = tau_tree with as many drives as freedoms falls into blocks ([Shah2013], 8.1 and 8.2): in
the equations of joints without drives, those of a block have its own multipliers and those of earlier blocks.
Each block A lambda = b is solved by A = Q R, modified Gram-Schmidt with the right side as one more column,
which is as stable as Householder's reflections (Bjoerck 1967) and asks for no pivots. The torque of a drive
is what is left of its equation. The same factors give the accelerations that follow those of the drives,
J_u qdd_u = -b - J_d qdd_d, block after block in the other order.

Matrices lie column by column in slots; slot 0 holds 1. Tables of cuts, rows and entries are those of
`kernels.loop_table`, with slots of their own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from kinetree.engine.direct import range_call
from kinetree.engine.door import INTEGER, compiled_callback, inline
from kinetree.engine.lanes import fields
from kinetree.engine.lanes.objects import doubles, rows_by_pairs
from kinetree.kernels.aba import bias_forces
from kinetree.kernels.axes import inward
from kinetree.kernels.layout import Layout
from kinetree.kernels.loop import clear, closure, constrain, larger, size_of
from kinetree.kernels.loop_table import CUT, ENTRY, GAP, ROW, SLOT, SLOTS, UNKNOWN
from kinetree.kernels.model_table import TREE
from kinetree.kernels.number import LANES, square_root, where_less

BLOCK = Layout(
    world=False,
    constant=True,
    size=int,
    first=int,  # of its members
    A=int,  # first slots of its matrix, then Q; of R; and of two vectors
    R=int,
    b=int,
    y=int,
)
MEMBER = Layout(world=False, constant=True, equation=int, row=int)  # coordinate and row of loops of a block
SPAN = Layout(
    world=False, constant=True, first=int, size=int, inner=int
)  # of a row's terms; those in its block
TERM = Layout(
    world=False, constant=True, slot=int, coordinate=int
)  # entries of J, outer ones after inner ones
INVERSE_TABLES = ("cuts", "rows", "entries", "blocks", "members", "spans", "terms")
INVERSE_SCRATCH = ("matrix", "unknowns", "gaps")
INVERSE = Layout(
    world=False,
    constant=True,
    **dict.fromkeys(("n_cuts", "n_rows", "n_all_rows", "n_slots", "n_blocks"), int),
    **dict.fromkeys((*INVERSE_TABLES, *INVERSE_SCRATCH), int),
)  # counts, and where each part begins, from the head's own place
JUDGED = 5  # numbers that tell whether an answer can be trusted, see `judge_blocks`
TINY, HUGE = 1e-300, 1e300
ENDLESS = 1 << 60  # of arrays whose size is never read
_RANGE = INTEGER(*[INTEGER] * 9)


@inline
def fill_blocks(work, qdd, parts, cuts, rows, entries, spans, terms, matrix, unknowns, gaps):
    """J into its slots, gaps with rates, their accelerations under ``qdd``; the largest square in J."""
    clear(matrix, unknowns, parts.n_slots[0], parts.n_rows[0])
    matrix.A[0] = matrix.A[0] + 1.0
    constrain(cuts, rows, entries, work, work, matrix, unknowns, gaps, parts.n_cuts[0])
    closure(cuts, rows, work, gaps, parts.n_cuts[0])
    most = 0.0 * matrix.A[0]
    for k in range(parts.n_rows[0]):
        rate = gaps.bias[k]
        for m in range(spans.first[k], spans.first[k] + spans.size[k]):
            J = matrix.A[terms.slot[m]]
            most = larger(J * J, most)
            rate = rate + J * qdd[terms.coordinate[m]]
        unknowns.x[k] = rate
    return most


@inline
def factor_blocks(blocks, matrix, count):
    """Q and R of all blocks; the smallest square on the diagonal of R."""
    least = HUGE * matrix.A[0]
    for b in range(count):
        k, A, R = blocks.size[b], blocks.A[b], blocks.R[b]
        for c in range(k):
            column = A + c * k
            size = 0.0 * matrix.A[0]
            for r in range(k):
                size = size + matrix.A[column + r] * matrix.A[column + r]
            least = where_less(size, least, size, least)
            norm = square_root(larger(size, TINY))
            matrix.A[R + c * k + c] = norm
            for r in range(k):
                matrix.A[column + r] = matrix.A[column + r] / norm
            for j in range(c + 1, k):
                other, x = A + j * k, 0.0 * matrix.A[0]
                for r in range(k):
                    x = x + matrix.A[column + r] * matrix.A[other + r]
                matrix.A[R + j * k + c] = x
                for r in range(k):
                    matrix.A[other + r] = matrix.A[other + r] - x * matrix.A[column + r]
    return least


@inline
def drive_blocks(blocks, members, spans, terms, matrix, left, count):
    """Take off from ``left``, the forces that the tree needs, what cut joints give; drives do the rest."""
    for b in range(count):
        k, first, A, R = blocks.size[b], blocks.first[b], blocks.A[b], blocks.R[b]
        right, y = blocks.b[b], blocks.y[b]
        for r in range(k):
            matrix.A[right + r] = left[members.equation[first + r]]
            left[members.equation[first + r]] = 0.0 * matrix.A[0]
        for c in range(k):
            x = 0.0 * matrix.A[0]
            for r in range(k):
                x = x + matrix.A[A + c * k + r] * matrix.A[right + r]
            matrix.A[y + c] = x
            for r in range(k):
                matrix.A[right + r] = matrix.A[right + r] - x * matrix.A[A + c * k + r]
        for c in inward(k):
            x = matrix.A[y + c]
            for j in range(c + 1, k):
                x = x - matrix.A[R + j * k + c] * matrix.A[y + j]
            x = x / matrix.A[R + c * k + c]
            matrix.A[y + c] = x
            row = members.row[first + c]
            for i in range(spans.first[row] + spans.inner[row], spans.first[row] + spans.size[row]):
                at = terms.coordinate[i]
                left[at] = left[at] - matrix.A[terms.slot[i]] * x


@inline
def follow_blocks(blocks, members, spans, terms, matrix, gaps, qdd, count):
    """Accelerations of joints without drives that keep the loops closed, those of drives being given."""
    for b in inward(count):
        k, first, A, R = blocks.size[b], blocks.first[b], blocks.A[b], blocks.R[b]
        z = blocks.y[b]
        for c in range(k):
            row = members.row[first + c]
            x = -gaps.bias[row]
            for i in range(spans.first[row] + spans.inner[row], spans.first[row] + spans.size[row]):
                x = x - matrix.A[terms.slot[i]] * qdd[terms.coordinate[i]]
            for j in range(c):
                x = x - matrix.A[R + c * k + j] * matrix.A[z + j]
            matrix.A[z + c] = x / matrix.A[R + c * k + c]
        for r in range(k):
            x = 0.0 * matrix.A[0]
            for c in range(k):
                x = x + matrix.A[A + c * k + r] * matrix.A[z + c]
            qdd[members.equation[first + r]] = x


@inline
def judge_blocks(parts, rows, unknowns, gaps, least, most, verdict):
    """How far an answer can be trusted; the smaller the numbers, the better.

    Largest gap, rate and acceleration of the rows; minus the smallest cosine between frames that face each
    other; minus the smallest square on the diagonal of R relative to the largest square in J.
    """
    zero = 0.0 * least
    gap, rate, second, facing = zero, zero, zero, zero - 1.0
    for i in range(parts.n_all_rows[0]):
        if rows.facing[i]:
            facing = larger(-gaps.gap[i], facing)
        else:
            gap, rate = larger(size_of(gaps.gap[i]), gap), larger(size_of(gaps.rate[i]), rate)
    for i in range(parts.n_rows[0]):
        second = larger(size_of(unknowns.x[i]), second)
    verdict[0], verdict[1], verdict[2], verdict[3], verdict[4] = gap, rate, second, facing, -least / most


@functools.cache
def loop_drives(lanes: int = LANES) -> Callable[..., bool]:
    """run(table, memory, begin, end, arrays, start, following) for states begin..end of arrays (batch, k).

    ``arrays`` are q, qd (batch, n), an empty one, accelerations and forces of the tree (batch, n_dof), and
    what is filled: forces of the drives, and the numbers of `judge_blocks`. ``memory`` is workspace up to
    ``start``, then the tables. ``following`` 1: accelerations in place of the forces, those that are given
    for drives and those that follow.
    """

    def run(table, memory, size, begin, end, pairs, start, following, idle):
        own = doubles(memory, size)
        tree, work = fields(doubles(table, ENDLESS), TREE, 1, 0), fields(own, SLOTS, lanes, 0)
        parts = fields(own, INVERSE, 1, start)
        cuts, rows = fields(own, CUT, 1, start + parts.cuts[0]), fields(own, ROW, 1, start + parts.rows[0])
        entries = fields(own, ENTRY, 1, start + parts.entries[0])
        blocks = fields(own, BLOCK, 1, start + parts.blocks[0])
        members = fields(own, MEMBER, 1, start + parts.members[0])
        spans, terms = (
            fields(own, SPAN, 1, start + parts.spans[0]),
            fields(own, TERM, 1, start + parts.terms[0]),
        )
        matrix = fields(own, SLOT, lanes, start + parts.matrix[0])
        unknowns = fields(own, UNKNOWN, lanes, start + parts.unknowns[0])
        gaps = fields(own, GAP, lanes, start + parts.gaps[0])
        count = parts.n_blocks[0]
        for b in range(begin, end, lanes):
            first = min(b, end - lanes)
            q, qd, none, qdd, given, found, verdict = rows_by_pairs(pairs, 7, first, lanes)
            bias_forces(tree, tree.axis, work, q, qd, none)
            most = fill_blocks(work, qdd, parts, cuts, rows, entries, spans, terms, matrix, unknowns, gaps)
            least = factor_blocks(blocks, matrix, count)
            for i in range(len(given)):
                found[i] = given[i]
            if following != 0:
                follow_blocks(blocks, members, spans, terms, matrix, gaps, found, count)
            else:
                drive_blocks(blocks, members, spans, terms, matrix, found, count)
            judge_blocks(parts, rows, unknowns, gaps, least, most, verdict)
        return 1

    return range_call(compiled_callback(run, _RANGE, "loop-drives", lanes))
