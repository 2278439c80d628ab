"""Derivatives of forward dynamics: -M^-1 times those of inverse dynamics at the resulting acceleration."""

from kinetree.kernels.aba import SLOTS as ABA_SLOTS
from kinetree.kernels.aba import aba
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
def aba_gradient(tree, work, packed, out, q, qd, tau, qdd, pivot, torque):
    """qdd, dqdd/dq = -M^-1 dtau/dq, dqdd/dqd = -M^-1 dtau/dqd and dqdd/dtau = M^-1; torque repeats tau."""
    n = len(q)
    aba(tree, work, q, qd, tau, nothing(q), qdd, pivot)
    rnea_gradient(tree, work, packed, q, qd, qdd, torque)
    right_sides(tree, n, packed, out, q)
    factor(tree, n, packed)
    for c in outward(n):
        solve_columns(tree, work, n, packed, out, c * n)


@lanewise
def right_sides(tree, n, packed, out, q):
    """-dtau/dq, -dtau/dqd and the identity as full matrices, column by column."""
    zero = 0.0 * q[0]
    for k in range(n * n):
        out.x[k] = (zero, zero, zero)
    k = 0
    for i in inward(n):
        j = i
        own = zero + 1.0
        while j != WORLD:
            out.x[j * n + i] = (-packed.dq_low[k], -packed.dqd_low[k], own)
            out.x[i * n + j] = (-packed.dq_up[k], -packed.dqd_up[k], own)
            own = zero
            k += 1
            j = tree.parent[j]


@lanewise
def solve_columns(tree, work, n, packed, out, start):
    """Replace the three columns from row `start` on by M^-1 times them; M = U D U^T is in `packed`."""
    for i in inward(n):  # x <- U^-1 x
        x, k = out.x[start + i], tree.first[i] + 1
        j = tree.parent[i]
        while j != WORLD:
            out.x[start + j] = scale_plus(-packed.M[k], x, out.x[start + j])
            k += 1
            j = tree.parent[j]
    for i in outward(n):  # x <- U^-T D^-1 x
        x, k = scale(work.inv_D[i], out.x[start + i]), tree.first[i] + 1
        j = tree.parent[i]
        while j != WORLD:
            x = scale_plus(-packed.M[k], out.x[start + j], x)
            k += 1
            j = tree.parent[j]
        out.x[start + i] = x


ABA_GRADIENT = Kernel(
    aba_gradient,
    SLOTS,
    inputs=3,
    outputs=3,
    entries=ENTRIES,
    scratch=TORQUE_ENTRIES,
    targets=((0, 0, True), (1, 1, True), (2, 2, True)),
    square=True,
)
