"""Kernels in the interpreter, on any kind of number."""

import numpy as np

from kinetree.engine.fields import Fields
from kinetree.kernels.model_table import TREE, n_pairs, packed_rows, tree_table


def run(kernel, mechanism, inputs, sizes):
    """Outputs (size, ...) of a kernel on inputs (numbers, ...), all of one kind; what it packs is dropped."""
    tree, kind, shape = mechanism.tree, np.result_type(*inputs), inputs[0].shape[1:]

    def memory(layout, rows):
        return Fields(layout, np.zeros((rows, layout.width, *shape), kind))

    work = [memory(kernel.slots, tree.n + 1)]
    work += [memory(layout, n_pairs(tree)) for layout in kernel.scratch]
    if kernel.entries is not None:
        work.append(memory(kernel.entries, packed_rows(kernel, tree)))
    outputs = [np.zeros((size, *shape), kind) for size in sizes]
    kernel.function(Fields(TREE, tree_table(tree)), *work, *inputs, *outputs)
    return outputs
