"""Kernels in the interpreter, on any kind of number: their memory made, their results handed back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.engine.fields import Fields
from kinetree.engine.unpack import place_words
from kinetree.kernels.layout import Kernel
from kinetree.kernels.model_table import TREE, n_pairs, packed_rows, tree_table
from kinetree.model.tree import Tree


def interpreted(
    kernel: Kernel,
    tree: Tree,
    inputs: Sequence[Any],
    sizes: Sequence[int],
    model: Any = None,
    work: Any = None,
) -> tuple[list[Any], Any]:
    """Outputs (size, ...) of a kernel for inputs (size, ...), and what it packs, (rows, width, ...) or None.

    What follows the first axis belongs to the number, such as one entry per state. ``model`` stands in for
    the fields of the model table, ``work`` for those of the workspace.
    """
    kind, tail = np.result_type(*inputs), np.shape(inputs[0])[1:]
    if work is None:
        work = Fields(kernel.slots, np.zeros((tree.n + 1, kernel.slots.width, *tail), kind))
    memory = [work]
    for layout in kernel.scratch:
        memory.append(Fields(layout, np.zeros((n_pairs(tree), layout.width, *tail), kind)))
    packed = None
    if kernel.entries is not None:
        packed = np.zeros((packed_rows(kernel, tree), kernel.entries.width, *tail), kind)
        memory.append(Fields(kernel.entries, packed))
    outputs = [np.zeros((size, *tail), kind) for size in sizes]
    if tree.n:
        fields = Fields(TREE, tree_table(tree)) if model is None else model
        kernel.function(fields, *memory, *inputs, *outputs)
    return outputs, packed


def interpreted_full(
    kernel: Kernel,
    tree: Tree,
    inputs: Sequence[Any],
    sizes: Sequence[int],
    model: Any = None,
    work: Any = None,
) -> tuple[list[Any], Any]:
    """Outputs of a kernel that packs for one state, and the full arrays (arrays, entries) that it packs."""
    outputs, packed = interpreted(kernel, tree, inputs, sizes, model, work)
    words = place_words(kernel, tree)
    return outputs, np.append(packed.ravel(), 0.0)[words[2:].reshape(words[:2])]
