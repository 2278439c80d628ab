"""The mass matrix as U D U^T, and its inverse.

Eliminating from the tips inward keeps the tree's sparsity: U_ji is zero unless j is an ancestor of i, so the
factors fit into the packed places of M itself ([Mohan2007], eqs. 28-33; [Shah2013], section 5.3).
"""

from kinetree.kernels.axes import WORLD, inward, outward, upward
from kinetree.kernels.crba import ENTRIES, crba
from kinetree.kernels.crba import SLOTS as CRBA_SLOTS
from kinetree.kernels.layout import Kernel, Layout
from kinetree.kernels.number import lanewise

SLOTS = Layout(**CRBA_SLOTS.fields, x=1)
SQUARE = Layout(world=False, inverse=1)  # one entry of a full n x n matrix, row by row


@lanewise
def factor(tree, n, out):
    """Replace packed M by U (off the diagonal) and D (on it), in place."""
    for i in inward(n):
        D = 1.0 / out.M[tree.first[i]]
        k = tree.first[i] + 1
        j = tree.parent[i]
        while j != WORLD:  # M_jl -= U_ji M_il for j and l above i, then U_ji takes the place of M_ij
            U = out.M[k] * D
            below = k
            place = tree.first[j]
            above = j
            while above != WORLD:
                for _ in upward(above, tree.top[above]):
                    out.M[place] = out.M[place] - U * out.M[below]
                    below += 1
                    place += 1
                above = tree.parent[tree.top[above]]
            out.M[k] = U
            k += 1
            j = tree.parent[j]


@lanewise
def solve(tree, work, n, out):
    """Replace work.x by M^-1 x, with M factored in `out`."""
    for i in inward(n):  # x <- U^-1 x
        x, k = work.x[i], tree.first[i] + 1
        j = tree.parent[i]
        while j != WORLD:
            for a in upward(j, tree.top[j]):
                work.x[a] = work.x[a] - out.M[k] * x
                k += 1
            j = tree.parent[tree.top[j]]
    for i in outward(n):  # x <- U^-T D^-1 x
        x, k = work.x[i] / out.M[tree.first[i]], tree.first[i] + 1
        j = tree.parent[i]
        while j != WORLD:
            for a in upward(j, tree.top[j]):
                x = x - out.M[k] * work.x[a]
                k += 1
            j = tree.parent[tree.top[j]]
        work.x[i] = x


@lanewise
def udu(tree, work, out, q):
    """U and D of M(q) = U D U^T for every axis i and its ancestors j (D first), tips first."""
    crba(tree, work, out, q)
    factor(tree, len(q), out)


@lanewise
def mass_inverse(tree, work, packed, out, q):
    """M(q)^-1, column by column."""
    n = len(q)
    udu(tree, work, packed, q)
    for c in outward(n):
        for i in outward(n):
            work.x[i] = 0.0 * q[i]
        work.x[c] = 1.0 + 0.0 * q[c]
        solve(tree, work, n, packed)
        for i in outward(n):
            out.inverse[i * n + c] = work.x[i]


UDU = Kernel(udu, SLOTS, inputs=1, outputs=0, entries=ENTRIES, targets=((0, 0, False),), output_widths=())
MASS_INVERSE = Kernel(
    mass_inverse,
    SLOTS,
    inputs=1,
    outputs=0,
    entries=SQUARE,
    scratch=(ENTRIES,),
    targets=((0, 0, False),),
    square=True,
    output_widths=(),
)
