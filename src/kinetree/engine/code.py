"""The machine code of kernels, shape by shape: from the disk, or else compiled.

``single_state`` runs one state with the lowest latency; ``many_states`` runs blocks of lanes, ``full_states``
unpacks them too. What lies on the disk is loaded without numba, which takes long to import.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from kinetree.engine.companion import CodePiece
from kinetree.engine.direct import range_call
from kinetree.engine.stored_code import stored_or_made
from kinetree.kernels.catalogue import all_kernels
from kinetree.kernels.layout import Kernel
from kinetree.kernels.number import LANES


@functools.cache
def single_state(kernel: Kernel) -> Any:
    """Machine code (memory, size, pairs) for one state; 0 if something is not finite.

    ``memory`` holds the model table, the workspace and what is packed (`single_memory`). Pairs, (address,
    numbers per state), tell inputs, outputs and, of kernels that pack, the full arrays. The GIL is kept, so
    that threads may share the memory.
    """
    name = f"{kernel.name}-single"

    def make() -> Any:
        from kinetree.engine.compile import single_body

        return single_body(name, kernel)

    return stored_or_made(name, 1, make)


@functools.cache
def many_states(kernel: Kernel, lanes: int = LANES, *, streamed: bool = False) -> Callable[..., bool]:
    """run(table, memory, begin, end, arrays) for states begin..end of arrays (batch, k).

    Answers whether all outputs can be trusted. At least `lanes` states; the last block overlaps its
    predecessor when their number is no multiple.
    ``memory`` is workspace, `workspace_size` long. Of kernels that pack, the last of the arrays is
    (blocks, rows, width, lanes); ``streamed`` writes it past the caches, for results of many megabytes.
    """
    return range_call(many_code(kernel, lanes, streamed=streamed))


@functools.cache
def many_code(kernel: Kernel, lanes: int = LANES, *, streamed: bool = False) -> Any:
    """The machine code of `many_states`."""
    shape = "many" if kernel.entries is None else "streamed" if streamed else "packed"
    name = f"{kernel.name}-{shape}"

    def make() -> Any:
        from kinetree.engine.compile import many_body

        return many_body(name, kernel, lanes, streamed)

    return stored_or_made(name, lanes, make)


@functools.cache
def full_states(kernel: Kernel, lanes: int = LANES) -> Callable[..., bool]:
    """run(table, memory, begin, end, arrays, start, places, streamed): unpacked block by block.

    ``memory`` is workspace up to ``start``, then room for one packed block (`packed_room`) that never leaves
    the caches. The last of the arrays is the full one, (arrays, states, entries); ``places`` is the address
    of `place_words`.
    """
    return range_call(full_code(kernel, lanes))


@functools.cache
def full_code(kernel: Kernel, lanes: int = LANES) -> Any:
    """The machine code of `full_states`."""
    name = f"{kernel.name}-full"

    def make() -> Any:
        from kinetree.engine.compile import full_body

        return full_body(name, kernel, lanes)

    return stored_or_made(name, lanes, make)


@functools.cache
def unpack_states(lanes: int = LANES) -> Callable[..., bool]:
    """run(memory, memory, begin, end, (packed, full), 0, places, streamed): full arrays from packed ones.

    ``memory`` has room for one packed block (`packed_room`); the rest as `full_states` wants it.
    """

    def make() -> Any:
        from kinetree.engine.compile import unpack_body

        return unpack_body(lanes)

    return range_call(stored_or_made("unpack", lanes, make))


def piece(kernel: str, shape: str) -> CodePiece:
    """A "single", "many" or "full" shape of the kernel of that name, for `companion.compile_ahead`."""
    lanes = 1 if shape == "single" else LANES
    return CodePiece(f"{kernel}-{shape}", lanes, __file__, made, (kernel, shape))


def made(kernel: str, shape: str) -> Any:
    """The machine code of a `piece`."""
    known = {each.name: each for each in all_kernels()}[kernel]
    return {"single": single_state, "many": many_code, "full": full_code}[shape](known)
