"""Compiling everything ahead of time, so that the first question of each kind does not wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter

from kinetree.kernels.catalogue import PLAIN, all_kernels

Piece = tuple[str, Callable[[], object]]


def warmup(progress: Callable[[str, int, int], None] | None = None) -> float:
    """Compile every kernel in every shape, or find it in the disk cache; returns the seconds it took.

    ``progress(name, k, total)`` is called before piece k = 1 ... total.

    >>> warmup(lambda name, k, total: print(f"{k}/{total} {name}"))  # doctest: +SKIP
    """
    start = perf_counter()
    pieces = list(_pieces())
    for k, (name, compile_piece) in enumerate(pieces, start=1):
        if progress is not None:
            progress(name, k, len(pieces))
        compile_piece()
    return perf_counter() - start


def _pieces() -> Iterator[Piece]:
    """Name and compilation of every shape of every kernel; importing the compiler takes a moment too."""
    from kinetree.kernels.compile import full_matrices, many_states, single_state

    for kernel in all_kernels():
        yield f"{kernel.name}, many states", partial(many_states, kernel, streamed=False)
        if kernel.entries is not None:
            yield f"{kernel.name}, large batches", partial(many_states, kernel, streamed=True)
        if kernel.targets:
            yield f"{kernel.name}, full matrices", partial(full_matrices, kernel)
        if kernel in PLAIN:
            yield f"{kernel.name}, single state", partial(single_state, kernel)
