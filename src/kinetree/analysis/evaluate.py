"""From arrays with any batch axes to kernels and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.engine.buffers import new_array, new_result
from kinetree.engine.call_words import PLAIN
from kinetree.engine.run import INTERPRET, run_batch, run_full, run_plain, single_call, unpack
from kinetree.engine.unpack import place_words
from kinetree.errors import InputError
from kinetree.kernels.layout import Kernel
from kinetree.kernels.model_table import packed_rows
from kinetree.kernels.number import LANES
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Tree
from kinetree.state import coordinates, fitting

_FLOAT = np.dtype(np.float64)
_checking: ContextVar[bool] = ContextVar("checking", default=True)


def evaluate(
    kernel: Kernel, tree: Tree, inputs: Sequence[Array], sizes: Sequence[int], threads: int | None = None
) -> list[Array]:
    """Run a kernel on inputs (..., k) with broadcast batch axes; returns outputs (..., size)."""
    if kernel.output_widths is not None:
        single = evaluate_single(kernel, tree, *inputs)
        if single is not None:
            return np.split(single.ravel(), np.cumsum(sizes[:-1]))
    results = evaluate_packed(kernel, tree, inputs, sizes, threads)[0]
    check_finite(results)
    return results


def evaluate_packed(
    kernel: Kernel, tree: Tree, inputs: Sequence[Array], sizes: Sequence[int], threads: int | None = None
) -> tuple[list[Array], Packed]:
    """The same for a kernel that packs matrices; they are unpacked when asked for."""
    check_threads(threads)
    batch = batch_shape(*inputs)
    count = math.prod(batch)
    rows = [_plain_rows(x, batch, count) for x in inputs]
    results = [new_result((count, size)) if tree.n else np.zeros((count, size)) for size in sizes]
    blocks = run_batch(kernel, tree, rows, results, threads) if tree.n and count else None
    shaped = [result.reshape((*batch, result.shape[-1])) for result in results]
    return shaped, Packed(kernel, tree, batch, blocks, threads)


@dataclass(frozen=True, eq=False)
class Packed:
    """Tree-sparse matrices of a batch as a kernel leaves them: ``blocks`` (blocks, rows, width, lanes)."""

    kernel: Kernel
    tree: Tree
    batch: tuple[int, ...]
    blocks: Array | None
    threads: int | None

    @property
    def by_state(self) -> Array:
        """The packed numbers state by state, (count, rows, width)."""
        count = math.prod(self.batch)
        if self.blocks is None:
            rows = packed_rows(self.kernel, self.tree) if self.tree.n else 0
            return np.zeros((count, rows, self.kernel.entries.width if self.kernel.entries else 0))
        n_blocks, rows, width, lanes = self.blocks.shape
        place = np.arange(count)
        if count > lanes:  # the last block overlaps its predecessor
            last = place >= (n_blocks - 1) * lanes
            place[last] += n_blocks * lanes - count
        return self.blocks.transpose(0, 3, 1, 2).reshape(n_blocks * lanes, rows, width)[place]

    @cached_property
    def arrays(self) -> Array:
        """The full arrays, (m, ..., entries)."""
        full = new_array(*_full_shape(self.kernel, self.tree, math.prod(self.batch)))
        if self.blocks is None:
            full[:] = 0.0
        else:
            unpack(self.kernel, self.tree, self.blocks, full, self.threads)
        return full.reshape(len(full), *self.batch, full.shape[-1])

    @property
    def matrices(self) -> Array:
        """The full matrices, (m, ..., n, n), of kernels that pack matrices."""
        return as_matrices(self.arrays, self.tree.n)


def as_matrices(arrays: Array, n: int) -> Array:
    """Full arrays (m, ..., n n) as matrices (m, ..., n, n)."""
    return arrays.reshape(*arrays.shape[:-1], n, n)


def _full_shape(kernel: Kernel, tree: Tree, count: int) -> tuple[int, int, int]:
    arrays, entries = place_words(kernel, tree)[:2].tolist()
    return arrays, count, entries


def evaluate_full(
    kernel: Kernel,
    tree: Tree,
    inputs: Sequence[Array],
    sizes: Sequence[int],
    threads: int | None = None,
    full: Array | None = None,
    results: list[Array] | None = None,
    explain: Callable[[list[Array]], None] | None = None,
) -> tuple[list[Array], Array]:
    """Outputs (..., size) and full arrays (m, ..., entries) of a kernel that packs, unpacked while in cache.

    ``full`` (m, ..., entries) and ``results``, contiguous, are filled if they are given. Raises where an
    answer overflows, but lets ``explain(outputs)`` say first why it cannot be trusted.
    """
    check_threads(threads)
    batch = batch_shape(*inputs)
    count = math.prod(batch)
    rows = [_plain_rows(x, batch, count) for x in inputs]
    results = results or [new_result((count, size)) for size in sizes]
    shape = _full_shape(kernel, tree, count)
    flat = new_array(*shape) if full is None else full.reshape(shape)
    if tree.n and count and not run_full(kernel, tree, rows, results, flat, threads):
        if explain is not None:
            explain(results)
        check_finite([*results, flat])
    shaped = [result.reshape((*batch, result.shape[-1])) for result in results]
    return shaped, flat.reshape(shape[0], *batch, shape[2])


def is_plain(tree: Tree, inputs: Sequence[Any], least: int = LANES) -> bool:
    """Whether inputs are plain arrays (batch, n), such as compiled code takes without a look at the values.

    For kernels whose inputs are n numbers each. Compiled code tells whether the answer, and what it came
    from, can be trusted; if not, the caller looks closer.
    """
    shape: tuple[int, ...] = inputs[0].shape if type(inputs[0]) is np.ndarray else ()
    if len(shape) != 2 or shape[1] != tree.n or not tree.n or shape[0] < least or tree.coupling is not None:
        return False
    for x in inputs:
        if type(x) is not np.ndarray or x.shape != shape or x.dtype is not _FLOAT:
            return False
        if x.flags.num & PLAIN != PLAIN:
            return False
    return True


def evaluate_plain(
    kernel: Kernel,
    tree: Tree,
    inputs: Sequence[Any],
    threads: int | None = None,
    out: Array | None = None,
) -> Array | None:
    """The n outputs of each state for a batch of plain arrays (see `is_plain`), into ``out`` if it is given.

    None if they are not plain, or the answer needs a closer look.
    """
    if not is_plain(tree, inputs, 1):
        return None
    if INTERPRET and kernel.suspicion is not None and _checking.get():
        return None  # only compiled code judges its answers
    check_threads(threads)
    shape = inputs[0].shape
    if shape[0] < LANES and _checking.get():
        few = single_call(kernel, tree)(*inputs)
        return few if few is None or out is None else copied(out, few, inputs)
    result = new_result(shape) if out is None else checked_out(out, shape, inputs)
    if shape[0] < LANES:
        run_batch(kernel, tree, inputs, [result])
    elif not run_plain(kernel, tree, inputs, (result,), threads) and _checking.get():
        return None
    return result if out is None else out


def evaluate_plain_full(
    kernel: Kernel, tree: Tree, inputs: Sequence[Any], threads: int | None = None
) -> tuple[Array, Array] | None:
    """Outputs (k, batch, size) and full arrays (m, batch, entries) of plain states (see `is_plain`).

    Of kernels that pack, their outputs of one size. None if the states are not plain, or the answer needs a
    closer look.
    """
    if not is_plain(tree, inputs, 1) or (INTERPRET and kernel.suspicion is not None and _checking.get()):
        return None
    count, n, widths = len(inputs[0]), tree.n, kernel.output_widths or (0,)
    if count < LANES and _checking.get():
        few = single_call(kernel, tree)(*inputs)
        if few is None:
            return None
        outputs, full = few if kernel.outputs else (np.zeros(0), few)
        shape = _full_shape(kernel, tree, count)
        return outputs.reshape(kernel.outputs, count, widths[0] * n), full.reshape(shape)
    outputs = new_result((kernel.outputs, count, widths[0] * n))
    full = new_array(*_full_shape(kernel, tree, count))
    trusted = run_full(kernel, tree, inputs, tuple(outputs), full, threads)
    return (outputs, full) if trusted or not _checking.get() else None


def checked_out(out: object, shape: tuple[int, ...], inputs: Sequence[Any]) -> Array:
    """An array that an answer of that shape can be written to, apart from all inputs, as a plain one."""
    if not isinstance(out, np.ndarray) or out.dtype != np.float64 or out.shape != shape:
        what = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InputError(f"out must be a float64 array of shape {shape}, got {what}")
    if not (out.flags.c_contiguous and out.flags.aligned and out.flags.writeable):
        raise InputError("out must be contiguous (in C order), aligned and writable")
    if any(isinstance(x, np.ndarray) and np.may_share_memory(out, x) for x in inputs):
        raise InputError("out must not share memory with the input")
    return out if type(out) is np.ndarray and out.dtype is _FLOAT else np.asarray(out).view(np.float64)


def copied(out: object, answer: Array, inputs: Sequence[Any]) -> Array:
    """An answer in the array that was given for it."""
    checked_out(out, answer.shape, inputs)[...] = answer
    return out  # type: ignore[return-value]


@contextmanager
def unchecked() -> Iterator[None]:
    """Within, numbers are not looked at, for inner loops: NaN in, NaN out, no SingularityError.

    Shapes and types are checked as ever, and so are loads and what other formulations are asked. Holds for
    the current thread or task only.

    >>> import kinetree as kt, numpy as np
    >>> arm, still = kt.zoo.kuka_kr5(), np.zeros((8, 6))
    >>> with kt.unchecked():
    ...     tau = kt.inverse_dynamics(arm, np.full((8, 6), np.nan), still, still)
    >>> bool(np.isnan(tau).all())
    True
    """
    token = _checking.set(False)
    try:
        yield
    finally:
        _checking.reset(token)


def checking() -> bool:
    """Whether numbers are checked."""
    return _checking.get()


def given(mechanism: Mechanism, values: ArrayLike, what: str) -> Array:
    """Values as a float64 array (..., n_dof); finite, or an error names the joint, unless nobody asks."""
    return (coordinates if _checking.get() else fitting)(mechanism, values, what)


def is_finite(result: Array) -> bool:
    """Whether all entries are finite, or nobody asks."""
    if not _checking.get():
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(result.sum()) or bool(np.isfinite(result).all())


def check_finite(results: Sequence[Array]) -> None:
    """Raise where an answer is not finite although the input was: the numbers are too large."""
    for result in results:
        if not is_finite(result):
            raise InputError(
                "the answer overflows: some result is not finite although all input is; "
                "the values given are too large (are they in SI units and radians?)"
            )


def check_threads(threads: object) -> None:
    """Raise unless it is a number of threads, or None for as many as there are cores."""
    if threads is not None and (type(threads) is not int or threads < 1):
        raise InputError(f"threads must be a whole number of at least 1, got {threads!r}")


def _plain_rows(x: Array, batch: tuple[int, ...], count: int) -> Array:
    """The states one after the other, (count, k), plain as compiled code wants them."""
    if x.shape[:-1] != batch:
        x = np.broadcast_to(x, (*batch, x.shape[-1]))
    if type(x) is not np.ndarray or x.dtype is not _FLOAT or x.flags.num & PLAIN != PLAIN:
        x = np.array(x, dtype=np.float64, order="C")
    return x.reshape(count, x.shape[-1])


def evaluate_single(kernel: Kernel, tree: Tree, *inputs: Array) -> Any:
    """What a direct call answers for one state; None if there is a batch or the answer needs a closer look.

    It leaves a function in ``tree.memo[kernel]`` that later calls may use directly.
    """
    if any(x.ndim != 1 for x in inputs):
        return None
    call = single_call(kernel, tree)
    answer = call(*inputs)
    if answer is None and any(not x.flags.c_contiguous for x in inputs):
        answer = call(*(np.array(x) for x in inputs))
    return answer


def batch_shape(*arrays: Array) -> tuple[int, ...]:
    """The common leading shape of arrays (..., k), or an error that shows all of them."""
    first = arrays[0].shape[:-1]
    if all(array.shape[:-1] == first for array in arrays):
        return first
    try:
        return np.broadcast_shapes(*(array.shape[:-1] for array in arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape[:-1]) for array in arrays)
        raise InputError(f"the batch axes of the arguments do not fit together: {shapes}") from None


def same_batch(*arrays: Array) -> tuple[Array, ...]:
    """The arrays (..., k) with their leading axes broadcast against each other."""
    batch = batch_shape(*arrays)
    return tuple(np.broadcast_to(x, (*batch, x.shape[-1])) for x in arrays)


def all_axes(tree: Tree, q: Array) -> Array:
    """Coordinates of every axis from the independent ones: the mimic joints filled in."""
    return q if tree.coupling is None else q @ tree.coupling.matrix.T + tree.coupling.offset


def all_rates(tree: Tree, qd: Array) -> Array:
    """Velocities or accelerations of every axis from the independent ones."""
    return qd if tree.coupling is None else qd @ tree.coupling.matrix.T


def axis_state(
    mechanism: Mechanism, tree: Tree, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
) -> tuple[Array, Array, Array]:
    """Checked positions, velocities and accelerations of every axis, (..., n_axes)."""
    return (
        all_axes(tree, given(mechanism, q, "q")),
        all_rates(tree, given(mechanism, qd, "qd")),
        all_rates(tree, given(mechanism, qdd, "qdd")),
    )


def coupled(tree: Tree, matrix: Array) -> Array:
    """A matrix over all axes, (..., n, n), felt at the independent joints: G^T A G."""
    return matrix if tree.coupling is None else tree.coupling.matrix.T @ matrix @ tree.coupling.matrix


def independent(tree: Tree, tau: Array) -> Array:
    """Torques felt at the independent joints: those of their mimics included."""
    return tau if tree.coupling is None else tau @ tree.coupling.matrix
