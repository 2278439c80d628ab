"""Derivatives of forward dynamics: -M^-1 times those of inverse dynamics at the resulting acceleration.

M = U D U^T keeps the sparsity of the tree, and so do U^-1 times the columns of dtau/dq: only what lies beyond
the column's axis and its ancestors is not zero there. The last step, U^-T D^-1, fills the columns.
"""

from kinetree.kernels.aba import SLOTS as ABA_SLOTS
from kinetree.kernels.aba import aba, has_regular_pivots
from kinetree.kernels.crba import ENTRIES as FACTORS
from kinetree.kernels.layout import WORLD, Kernel, Layout, inward, outward
from kinetree.kernels.number import lanewise, nothing
from kinetree.kernels.rnea_gradient import ENTRIES as TORQUE_ENTRIES
from kinetree.kernels.rnea_gradient import SLOTS as TORQUE_SLOTS
from kinetree.kernels.rnea_gradient import rnea_gradient
from kinetree.kernels.udu import factor
from kinetree.kernels.vectors import scale, scale_plus

SLOTS = Layout(**{**ABA_SLOTS.fields, **TORQUE_SLOTS.fields})
# of full n x n matrices, column by column: dqdd/dq, dqdd/dqd, dqdd/dtau, solved for side by side
ENTRIES = Layout(world=False, x=3)


@lanewise
def aba_gradient(tree, work, slopes, packed, out, q, qd, tau, qdd, pivot, torque):
    """qdd, dqdd/dq = -M^-1 dtau/dq, dqdd/dqd = -M^-1 dtau/dqd and dqdd/dtau = M^-1; torque repeats tau."""
    n = len(q)
    aba(tree, work, q, qd, tau, nothing(q), qdd, pivot)
    rnea_gradient(tree, work, slopes, q, qd, qdd, torque)
    right_sides(tree, n, slopes, packed, out, q)
    factor(tree, n, packed)
    for c in outward(n):
        eliminate(tree, n, packed, out, c)
    for c in range(n // 4):
        substitute_four(tree, work, n, packed, out, 4 * c)
    for c in range(n - n % 4, n):
        substitute(tree, work, n, packed, out, c)


@lanewise
def right_sides(tree, n, slopes, packed, out, q):
    """-dtau/dq, -dtau/dqd and the identity as full matrices, column by column; M moves closer together."""
    zero = 0.0 * q[0]
    for k in range(n * n):
        out.x[k] = (zero, zero, zero)
    k = 0
    for i in inward(n):
        j = i
        own = zero + 1.0
        while j != WORLD:
            packed.M[k] = slopes.M[k]
            out.x[j * n + i] = (-slopes.dq_low[k], -slopes.dqd_low[k], own)
            out.x[i * n + j] = (-slopes.dq_up[k], -slopes.dqd_up[k], own)
            own = zero
            k += 1
            j = tree.parent[j]


@lanewise
def eliminate(tree, n, packed, out, c):
    """x <- U^-1 x for the columns of axis c: zero but for what lies beyond c and for its ancestors."""
    for k in range(tree.last[c] - c):
        eliminate_row(tree, packed, out, c * n, tree.last[c] - k)
    i = c
    while i != WORLD:
        eliminate_row(tree, packed, out, c * n, i)
        i = tree.parent[i]


@lanewise
def eliminate_row(tree, packed, out, n, i):
    """Take row i of the columns that start at n out of the rows of its ancestors."""
    x, k = out.x[n + i], tree.first[i] + 1
    j = tree.parent[i]
    while j != WORLD:
        out.x[n + j] = scale_plus(-packed.M[k], x, out.x[n + j])
        k += 1
        j = tree.parent[j]


@lanewise
def substitute(tree, work, n, packed, out, c):
    """x <- U^-T D^-1 x for the columns of axis c."""
    for i in outward(n):
        x, k = scale(work.inv_D[i], out.x[c * n + i]), tree.first[i] + 1
        j = tree.parent[i]
        while j != WORLD:
            x = scale_plus(-packed.M[k], out.x[c * n + j], x)
            k += 1
            j = tree.parent[j]
        out.x[c * n + i] = x


@lanewise
def substitute_four(tree, work, n, packed, out, c):
    """The same for four axes from c on: the way to the root and every number of U serve all of them."""
    i0, i1, i2, i3 = c * n, (c + 1) * n, (c + 2) * n, (c + 3) * n
    for i in outward(n):
        D, k = work.inv_D[i], tree.first[i] + 1
        a, b = scale(D, out.x[i0 + i]), scale(D, out.x[i1 + i])
        x, y = scale(D, out.x[i2 + i]), scale(D, out.x[i3 + i])
        j = tree.parent[i]
        while j != WORLD:
            U = -packed.M[k]
            a, b = scale_plus(U, out.x[i0 + j], a), scale_plus(U, out.x[i1 + j], b)
            x, y = scale_plus(U, out.x[i2 + j], x), scale_plus(U, out.x[i3 + j], y)
            k += 1
            j = tree.parent[j]
        out.x[i0 + i], out.x[i1 + i], out.x[i2 + i], out.x[i3 + i] = a, b, x, y


@lanewise
def has_regular_factors(tree, work, qdd, pivot, torque):
    """Whether every pivot is above rounding errors."""
    return has_regular_pivots(tree, work, qdd)


ABA_GRADIENT = Kernel(
    aba_gradient,
    SLOTS,
    inputs=3,
    outputs=3,
    entries=ENTRIES,
    scratch=(TORQUE_ENTRIES, FACTORS),
    targets=((0, 0, True), (1, 1, True), (2, 2, True)),
    square=True,
    accept=has_regular_factors,
)
