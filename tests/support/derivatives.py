"""Derivatives of kernels by complex step, of public calls by differences."""

import numpy as np

from support.interpreted import run
from support.oracle import coupling

STEP = 1e-30  # complex steps have no cancellation, so the step can be tiny


def rate(kernel, mechanism, inputs, rates, sizes):
    """d/dt of a kernel's outputs when its inputs change at the given rates."""
    moving = [(x + 1j * STEP * xd)[:, None] for x, xd in zip(inputs, rates, strict=True)]
    return [x[:, 0].imag / STEP for x in run(kernel, mechanism, moving, sizes)]


def gradient(kernel, mechanism, inputs, which, sizes):
    """d outputs / d inputs[which], (size, n) each."""
    n = len(inputs[which])
    columns = [np.repeat(np.asarray(x, complex)[:, None], n, axis=1) for x in inputs]
    columns[which] = columns[which] + 1j * STEP * np.eye(n)
    return [x.imag / STEP for x in run(kernel, mechanism, columns, sizes)]


def differences(function, x, step=1e-3):
    """d function / d x by sixth-order central differences of a batched function, (..., n)."""
    x = np.asarray(x, float)
    offsets = np.array([-3, -2, -1, 1, 2, 3])
    weights = np.array([-1, 9, -45, 45, -9, 1]) / 60.0
    states = x + step * offsets[:, None, None] * np.eye(len(x))
    values = np.asarray(function(states))  # (6, n, ...)
    return np.moveaxis(np.tensordot(weights, values, axes=1), 0, -1) / step


def axes(mechanism, *coordinates):
    """Coordinates of all axes (q first, then its derivatives), as kernels want them."""
    G, offset = coupling(mechanism)
    return [G @ x + (offset if k == 0 else 0.0) for k, x in enumerate(coordinates)]
