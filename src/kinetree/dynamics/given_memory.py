"""Memory that the caller gives for an answer, ``out=``: whether it fits, and the answer put into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.engine.run import Prepared
from kinetree.errors import InputError, must_be

Answer = TypeVar("Answer")
Lent = tuple[Sequence[Array], Array | None]
_FLOAT = np.dtype(np.float64)


class Memory(Protocol[Answer]):
    """What an earlier array or answer can be used for."""

    def expect(self, out: object) -> None:
        """Raise, before any work, if something is no memory at all."""
        ...

    def lent(self, out: Answer, ready: Prepared, state: Sequence[Any]) -> Lent:
        """Arrays for the outputs (count, size) and full arrays (m, count, entries) of plain states."""
        ...

    def put(self, out: Answer, answer: Answer, state: Sequence[Any]) -> Answer:
        """``out`` with an answer in it."""
        ...


class ArrayMemory:
    """Memory for an answer that is one array: a kernel's only output, or its only full array."""

    def expect(self, out: object) -> None:
        """Whether it fits is known with the shape of the answer."""

    def lent(self, out: Array, ready: Prepared, state: Sequence[Any]) -> Lent:
        """The array itself, which must fit."""
        shape = state[0].shape
        if ready.kernel.entries is None:
            return (checked_out(out, shape, state),), None
        full = checked_out(out, (shape[0], *ready.shape), state)
        return (), full.reshape(1, shape[0], ready.entries)

    def put(self, out: Array, answer: Array, state: Sequence[Any]) -> Array:
        """The array with the answer copied into it."""
        return copied(out, answer, state)


class DerivativesMemory(Generic[Answer]):
    """An earlier answer of a ``kind`` whose values and ``matrices`` (3, ..., n, n) serve again.

    ``values`` names the array of the kernel's first output, ``words`` what messages call it.
    """

    def __init__(self, kind: type[Answer], values: str, words: str) -> None:
        self.kind, self.values, self.words = kind, values, words

    def expect(self, out: object) -> None:
        """Only an earlier answer will do."""
        self._arrays(out)

    def lent(self, out: Answer, ready: Prepared, state: Sequence[Any]) -> Lent:
        """Its arrays, which must fit, and new ones for outputs that are not part of it."""
        values, matrices = self._arrays(out)
        shape, n = state[0].shape, state[0].shape[1]
        first = checked_out(values, shape, state)
        full = checked_out(matrices, (3, *shape, n), state)
        others = [np.empty(shape) for _ in range(ready.kernel.outputs - 1)]
        return (first, *others), full.reshape(3, shape[0], n * n)

    def put(self, out: Answer, answer: Answer, state: Sequence[Any]) -> Answer:
        """The earlier answer with the new one copied into it."""
        (values, matrices), (found, slopes) = self._arrays(out), self._arrays(answer)
        if values.shape != found.shape:
            raise InputError(f"out has {self.words} of shape {values.shape}, the result's {found.shape}")
        if type(out) is not type(answer):
            raise InputError(
                must_be(
                    "out",
                    f"an earlier result for the same mechanism: {type(answer).__name__}",
                    type(out).__name__,
                    "",
                )
            )
        copied(values, found, state)
        copied(matrices, slopes, state)
        for name in getattr(answer, "further", ()):
            copied(getattr(out, name), getattr(answer, name), state)
        return out

    def _arrays(self, answer: object) -> tuple[Array, Array]:
        if not isinstance(answer, self.kind):
            raise InputError(
                must_be(
                    "out",
                    "an earlier result of this function",
                    type(answer).__name__,
                    "",
                )
            )
        return getattr(answer, self.values), answer.matrices  # type: ignore[attr-defined]


def checked_out(out: object, shape: tuple[int, ...], inputs: Sequence[Any]) -> Array:
    """An array that an answer of that shape can be written to, apart from all inputs, as a plain one."""
    if not isinstance(out, np.ndarray) or out.dtype != np.float64 or out.shape != shape:
        what = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InputError(must_be("out", f"a float64 array of shape {shape}", what, ""))
    if not (out.flags.c_contiguous and out.flags.aligned and out.flags.writeable):
        raise InputError("out must be contiguous (in C order), aligned and writable")
    if any(isinstance(x, np.ndarray) and np.may_share_memory(out, x) for x in inputs):
        raise InputError("out must not share memory with the input")
    return out if type(out) is np.ndarray and out.dtype is _FLOAT else np.asarray(out).view(np.float64)


def copied(out: object, answer: Array, inputs: Sequence[Any]) -> Array:
    """An answer in the array that was given for it."""
    checked_out(out, answer.shape, inputs)[...] = answer
    return out  # type: ignore[return-value]
