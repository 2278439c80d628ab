"""Derivatives of joint reactions that external loads cause, with respect to q.

Loads as in `load_gradient`; order and axes of the results as in `reaction_gradient`. Seen from a body, loads
fixed in the world turn backwards when a coordinate between the base and the body changes.
"""

from kinetree.kernels.axes import WORLD, inward, outward
from kinetree.kernels.layout import Kernel, Layout
from kinetree.kernels.load_gradient import SLOTS as LOAD_SLOTS
from kinetree.kernels.load_gradient import composite_loads, join_loads, moment_change
from kinetree.kernels.number import lanewise
from kinetree.kernels.reaction_gradient import by_reaction, in_body, reaction_places
from kinetree.kernels.vectors import cross, cross_plus, negative, product, sub

SLOTS = Layout(**LOAD_SLOTS.fields)
ENTRIES = Layout(world=False, dq=6)


@lanewise
def load_reaction(tree, work, out, q, load):
    """d(reaction)/dq of the loads alone, packed."""
    composite_loads(tree, work, q, load)
    for i in outward(len(q)):
        if tree.carries[i]:
            work.R[i] = product(work.R[i], tree.B[i])
    k = 0
    for i in inward(len(q)):
        join_loads(work, i, tree.parent[i])
        F, N, V = work.F[i], work.N[i], work.V[i]
        if tree.carries[i]:
            j = i
            while j != WORLD:  # what the loads do beyond turning with the body
                z, s = work.z[j], work.s[j]
                n = sub(moment_change(V, F, z, s), cross_plus(z, N, cross(s, F)))
                out.dq[k] = in_body(work.R[i], work.p[i], negative(n), cross(z, F))
                k += 1
                j = tree.parent[j]
        z, s = work.z[i], work.s[i]
        n = cross_plus(z, work.bn[i], cross_plus(s, work.bf[i], moment_change(V, F, z, s)))
        f = cross(z, work.bf[i])
        j = tree.parent[i]
        while j != WORLD:
            if tree.carries[j]:
                out.dq[k] = in_body(work.R[j], work.p[j], negative(n), negative(f))
                k += 1
            j = tree.parent[j]


LOAD_REACTION = Kernel(
    load_reaction,
    SLOTS,
    inputs=2,
    outputs=0,
    entries=ENTRIES,
    rows=lambda tree: len(reaction_places(tree)),
    places=by_reaction(6, 1),
)
