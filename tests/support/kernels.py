"""Inputs for any kernel of the catalog, and its answers: compiled, single, interpreted."""

import numpy as np
from benchmarks.packed import Packed

import kinetree as kt
from kinetree.engine import run
from kinetree.engine.fields import Fields
from kinetree.engine.run import prepared
from kinetree.kernels.catalogue import all_kernels
from kinetree.kernels.load_gradient import LOAD
from kinetree.kernels.model_table import TREE, aimed_tree, n_pairs, packed_rows, tree_table

KERNELS = {kernel.name: kernel for kernel in all_kernels()}
WIDE = {  # numbers per axis
    "wrench": 6,
    "load": LOAD,
    "reaction": 6,
    "pose": 12,
    "velocity": 6,
    "acceleration": 6,
    "J": 6,
}
FIXED = {"result": 11, "base": 6, "check": 3, "point": 3}  # however many axes


def rows_of(kernel):
    """Names of the inputs and outputs of a kernel."""
    code = kernel.function.__code__
    memory = 2 + len(kernel.scratch) + (kernel.entries is not None)
    names = code.co_varnames[memory : code.co_argcount]
    assert len(names) == kernel.inputs + kernel.outputs
    return names[: kernel.inputs], names[kernel.inputs :]


def width(name, n):
    """How many numbers a row of that name has for n axes."""
    return FIXED.get(name, WIDE.get(name, 1) * n)


def tree_for(kernel, mechanism):
    """The tree that a kernel is asked about: the one with an axis for every weld if it tells of bodies."""
    if kernel.name == "jacobian":
        return aimed_tree(mechanism.tree, mechanism.tree.n_bodies - 1)
    of_bodies = kernel.name in ("reaction_gradient", "load_reaction", "regressor")
    return mechanism.jointed_tree if of_bodies else mechanism.tree


def has_floating_base(tree):
    return tree.n >= 6 and not tree.turns[:3].any() and tree.turns[3:6].all() and tree.axis_body[5] == 0


def random_inputs(kernel, tree, rng, count):
    """Rows (count, k); Euler angles keep away from gimbal lock, floating bases are not driven."""
    inputs = [rng.uniform(-1.5, 1.5, (count, width(name, tree.n))) for name in rows_of(kernel)[0]]
    for axes in _joints(tree):
        if len(axes) >= 3 and tree.turns[axes[-3:]].all():
            inputs[0][:, axes[-2]] = rng.choice([-1, 1], count) * rng.uniform(0.4, 1.2, count)
    if kernel.name == "floating_inverse":
        inputs[2][:, :6] = 0.0
    return inputs


def _joints(tree):
    return [np.flatnonzero(tree.axis_body == body) for body in np.unique(tree.axis_body)]


def on_batch(kernel, tree, inputs, threads=None):
    """Outputs (count, k) by name, packed fields (count, rows, k) and full matrices (count, n, n), by name."""
    count = len(inputs[0])
    names = rows_of(kernel)[1]
    outputs = [np.full((count, width(name, tree.n)), np.nan) for name in names]
    blocks = prepared(kernel, tree).pack(inputs, outputs, threads)
    answers = dict(zip(names, outputs, strict=True))
    if kernel.entries is not None:
        packed = Packed(kernel, tree, (count,), blocks, threads)
        for name, (start, size, _) in kernel.entries.places.items():
            answers[f"packed {name}"] = packed.by_state[..., start : start + size]
        if kernel.targets:
            answers |= {f"matrix {k}": matrix for k, matrix in enumerate(packed.matrices)}
    return answers


def on_numbers(kernel, tree, inputs):
    """The same in the interpreter on rows (k, ...) of any kind of number: the axes of numbers come first."""
    kind, shape = np.result_type(*inputs), np.broadcast_shapes(*(x.shape[1:] for x in inputs))

    def memory(layout, rows):
        return np.zeros((rows, layout.width, *shape), kind)

    names, n = rows_of(kernel)[1], tree.n
    work = [Fields(kernel.slots, memory(kernel.slots, n + 1))]
    for layout in kernel.scratch:
        work.append(Fields(layout, memory(layout, n_pairs(tree))))
    outputs = [np.zeros((width(name, n), *shape), kind) for name in names]
    if kernel.entries is not None:
        packed = memory(kernel.entries, packed_rows(kernel, tree))
        work.append(Fields(kernel.entries, packed))
    kernel.function(Fields(TREE, tree_table(tree)), *work, *inputs, *outputs)
    answers = dict(zip(names, outputs, strict=True))
    if kernel.entries is not None:
        for name, (start, size, _) in kernel.entries.places.items():
            answers[f"packed {name}"] = packed[:, start : start + size]
        answers |= {f"matrix {k}": x for k, x in enumerate(_spread(kernel, tree, packed))}
    return answers


def _spread(kernel, tree, packed):
    """Full matrices (m, n, n, ...) from packed rows of pairs, or of entries if they are square already."""
    pairs = list(np.ndindex(tree.n, tree.n)) if kernel.square else ancestor_pairs(tree)
    matrices = np.zeros((kernel.n_matrices, tree.n, tree.n, *packed.shape[2:]), packed.dtype)
    for row, (i, j) in zip(packed, pairs, strict=bool(kernel.targets)):
        for entry, matrix, transposed in kernel.targets:
            matrices[(matrix, j, i) if transposed else (matrix, i, j)] = row[entry]
    return matrices


def ancestor_pairs(tree):
    """(axis, itself or an ancestor), tips first."""
    pairs = []
    for i in reversed(range(tree.n)):
        j = i
        while j >= 0:
            pairs.append((i, j))
            j = int(tree.parent[j])
    return pairs


def interpreted(kernel, tree, inputs, monkeypatch):
    """The same in the interpreter."""
    with monkeypatch.context() as patch:
        patch.setattr(run, "INTERPRET", True)
        return on_batch(kernel, tree, inputs)


def on_single(kernel, tree, inputs):
    """Outputs (n,) and full matrices (n, n) of one state by the path for single states, or None."""
    found, n, names = prepared(kernel, tree).single(*inputs), tree.n, rows_of(kernel)[1]
    if found is None:
        return None
    parts = found if isinstance(found, tuple) else (found,)
    rows, matrices = np.split(np.concatenate([x.ravel() for x in parts]), [kernel.outputs * n])
    answers = dict(zip(names, rows.reshape(-1, n), strict=True))
    return answers | {f"matrix {k}": x for k, x in enumerate(matrices.reshape(kernel.n_matrices, n, n))}


def zoo():
    """Every mechanism of the zoo without its loops, and random trees of several sizes."""
    models = {name: make().opened() for name, make in kt.zoo.ZOO.items()}
    return models | {f"random {seed}": kt.zoo.random_tree(seed, n) for seed, n in ((1, 3), (2, 8), (3, 14))}


def both_trees(robot):
    """Without and with axes for the welds, where there are any."""
    return [robot.tree] if robot.jointed_tree is robot.tree else [robot.tree, robot.jointed_tree]


def one_state(name, tree, rng):
    """Inputs of a kernel for one random state."""
    return [x[0] for x in random_inputs(KERNELS[name], tree, rng, 1)]
