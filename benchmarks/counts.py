"""How many operations a kernel does for one state, counted by running it on counting numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.kinetree_calls import Quantity
from benchmarks.states import States
from kinetree.engine.fields import Fields
from kinetree.engine.workspace import workspace_size
from kinetree.kernels.layout import Layout
from kinetree.kernels.model_table import TREE, n_pairs, packed_rows, tree_table
from kinetree.kernels.number import LANES, count_operations, counting

view: Any = Fields
number: Any = counting
SINCOS = 36  # multiplications and additions in the polynomials of one sine and cosine


def operations(quantity: Quantity, mechanism: kt.Mechanism, states: States) -> dict[str, int]:
    """Multiplications, additions, divisions and pairs of sine and cosine, and what they add up to."""
    kernel, tree = quantity.kernel, quantity.tree(mechanism)

    def memory(layout: Layout, rows: int) -> Any:
        return view(layout, np.zeros((rows, layout.width), object))

    views = [memory(kernel.slots, tree.n + 1)]
    views += [memory(layout, n_pairs(tree)) for layout in kernel.scratch]
    if kernel.entries is not None:
        views.append(memory(kernel.entries, packed_rows(kernel, tree)))
    inputs = [number(getattr(states, name)[0]) for name in quantity.inputs]
    outputs = [np.zeros(size, object) for size in quantity.sizes(tree)]
    table = view(TREE, tree_table(tree))
    counts = count_operations(lambda: kernel.function(table, *views, *inputs, *outputs))
    total = counts["multiplications"] + counts["additions"] + counts["divisions"] + SINCOS * counts["sincos"]
    return {**counts, "total": total}


def workspace_bytes(quantity: Quantity, mechanism: kt.Mechanism) -> int:
    """Memory that one thread needs beside inputs and outputs."""
    return 8 * workspace_size(quantity.kernel, quantity.tree(mechanism), LANES)
