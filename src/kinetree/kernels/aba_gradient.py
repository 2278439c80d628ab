"""Derivatives of forward dynamics: -M^-1 times those of inverse dynamics at the resulting acceleration."""

from kinetree.kernels.aba import SLOTS as ABA_SLOTS
from kinetree.kernels.aba import aba
from kinetree.kernels.layout import WORLD, Kernel, Layout, inward, outward
from kinetree.kernels.number import lanewise, nothing
from kinetree.kernels.rnea_gradient import ENTRIES as TORQUE_ENTRIES
from kinetree.kernels.rnea_gradient import SLOTS as TORQUE_SLOTS
from kinetree.kernels.rnea_gradient import rnea_gradient
from kinetree.kernels.udu import factor, solve

SLOTS = Layout(**{**ABA_SLOTS.fields, **TORQUE_SLOTS.fields, "x": 1})
ENTRIES = Layout(world=False, dq=1, dqd=1, dtau=1)  # of full n x n matrices, row by row


@lanewise
def aba_gradient(tree, work, packed, out, q, qd, tau, qdd, pivot, torque):
    """qdd, dqdd/dq = -M^-1 dtau/dq, dqdd/dqd = -M^-1 dtau/dqd and dqdd/dtau = M^-1; torque repeats tau."""
    n = len(q)
    aba(tree, work, q, qd, tau, nothing(q), qdd, pivot)
    rnea_gradient(tree, work, packed, q, qd, qdd, torque)
    spread_out(tree, n, packed, out, q)
    factor(tree, n, packed)
    for c in outward(n):
        for i in outward(n):
            work.x[i] = -out.dq[i * n + c]
        solve(tree, work, n, packed)
        for i in outward(n):
            out.dq[i * n + c] = work.x[i]
            work.x[i] = -out.dqd[i * n + c]
        solve(tree, work, n, packed)
        for i in outward(n):
            out.dqd[i * n + c] = work.x[i]
            work.x[i] = out.dtau[i * n + c]
        solve(tree, work, n, packed)
        for i in outward(n):
            out.dtau[i * n + c] = work.x[i]


@lanewise
def spread_out(tree, n, packed, out, q):
    """Full matrices dtau/dq and dtau/dqd from packed ones, and the identity."""
    zero = 0.0 * q[0]
    for k in range(n * n):
        out.dq[k], out.dqd[k], out.dtau[k] = zero, zero, zero
    k = 0
    for i in inward(n):
        out.dtau[i * n + i] = zero + 1.0
        j = i
        while j != WORLD:
            out.dq[j * n + i] = packed.dq_up[k]
            out.dq[i * n + j] = packed.dq_low[k]
            out.dqd[j * n + i] = packed.dqd_up[k]
            out.dqd[i * n + j] = packed.dqd_low[k]
            k += 1
            j = tree.parent[j]


ABA_GRADIENT = Kernel(
    aba_gradient,
    SLOTS,
    inputs=3,
    outputs=3,
    entries=ENTRIES,
    scratch=TORQUE_ENTRIES,
    targets=((0, 0, False), (1, 1, False), (2, 2, False)),
    square=True,
)
