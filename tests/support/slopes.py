"""Slopes of kernels by complex step and by dual numbers: the same source, other kinds of number."""

import numpy as np

from kinetree.kernels.number import dual_parts, duals
from support.kernels import on_numbers

STEP = 1e-30  # nothing cancels in a complex step


def by_complex_step(kernel, tree, inputs, which):
    """d answers / d inputs[which], the coordinate last; inputs (k,)."""
    n = len(inputs[which])
    rows = [np.repeat(np.asarray(x, complex)[:, None], n, axis=1) for x in inputs]
    rows[which] += 1j * STEP * np.eye(n)
    return {key: x.imag / STEP for key, x in on_numbers(kernel, tree, rows).items()}


def by_dual_numbers(kernel, tree, inputs, which):
    """The same for the outputs, with all directions in one pass."""
    n = len(inputs[which])
    rows = [duals(x[:, None], np.zeros((len(x), n))) for x in inputs]
    rows[which] = duals(inputs[which][:, None], np.eye(n))
    answers = on_numbers(kernel, tree, rows)
    return {key: dual_parts(x)[1] for key, x in answers.items() if x.ndim == 1}


def mixed(kernel, tree, inputs, first, second):
    """d2 output / d inputs[first] d inputs[second], (k, n, n): dual numbers of complex numbers."""
    n = len(inputs[first])
    rows = []
    for k, x in enumerate(inputs):
        value = np.zeros((len(x), n, 1), complex) + x[:, None, None]
        if k == second:
            value = value + 1j * STEP * np.eye(n)[:, :, None]
        slope = np.eye(n)[:, None, :] if k == first else np.zeros((len(x), 1, 1))
        rows.append(duals(value, np.broadcast_to(slope, (len(x), n, n))))
    answers = on_numbers(kernel, tree, rows)
    return {key: np.swapaxes(dual_parts(x)[1].imag / STEP, 1, 2) for key, x in answers.items() if x.ndim == 1}
