"""Running a kernel on a tree: what that takes is prepared once, then asked directly or for batches.

`Prepared.call` leads straight from Python into machine code, `Prepared.fill` writes a batch into arrays,
`Prepared.pack` leaves what a kernel packs in its own form.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import aligned, cleared
from kinetree.engine.buffers import new_array
from kinetree.engine.interpret import interpreted
from kinetree.engine.ranges import Ranges
from kinetree.engine.specialized import MadeCode, made_for
from kinetree.engine.threads import over_threads, thread_count
from kinetree.engine.unpack import place_words, unpacked
from kinetree.kernels.layout import Kernel
from kinetree.kernels.model_table import packed_rows, tree_table
from kinetree.kernels.number import LANES
from kinetree.model.kept import once_per_tree
from kinetree.model.tree import Tree

if TYPE_CHECKING:
    from kinetree.engine.direct import StateCall

INTERPRET = bool(os.environ.get("KINETREE_INTERPRET"))  # run kernels in the interpreter: slow, debuggable
HAS_GIL: bool = getattr(sys, "_is_gil_enabled", lambda: True)()  # direct calls share memory and rely on it
WITH_GIL = 1 << 15  # numbers of an answer for which the GIL is not given away
STREAMING_WORTH = 1 << 20  # packed numbers that no cache holds


class Prepared:
    """A kernel prepared for a tree: the model table, machine code and memory, shared by all threads.

    Machine code of each shape is made, or loaded, when it is first needed.
    """

    def __init__(self, kernel: Kernel, tree: Tree) -> None:
        self.kernel, self.tree = kernel, tree
        self.arrays, self.entries, self._places = 0, 0, 0
        if kernel.entries is not None:
            words = place_words(kernel, tree)
            self.arrays, self.entries = words[:2].tolist()
            self._places, self.places = words.ctypes.data, words[2:].reshape(self.arrays, self.entries)
        self._preparing = threading.RLock()
        self._ways: list[StateCall | None] = []  # at most one
        self._blocks: Ranges | None = None
        self._large: Ranges | None = None  # the same for results past the caches
        self._packed = 0  # where the room for one packed block begins in memory

    # ---- directly -----------------------------------------------------------------------------------------
    @property
    def call(self) -> Callable[..., Any]:
        """The function behind `single`, to be kept: it answers what machine code is there for."""
        return _no_answer if self.way is None else self.way.call

    @property
    def way(self) -> StateCall | None:
        """How Python gets into the kernel directly, made once; None if it does not."""
        if not self._ways:
            with self._preparing:
                if not self._ways:
                    self._ways.append(self._new_way())
                    self._answer_batches()
        return self._ways[0]

    def single(self, *inputs: Any) -> Any:
        """What a direct call answers for one plain state (n,), or a few (count, n); see `StateCall`.

        None where an input is not plain, or the answer needs a closer look. Larger batches are answered too
        once `fill` was asked for one.
        """
        way = self.way
        if way is None:
            return None
        if not way.knows_single:
            with self._preparing:
                if not way.knows_single:
                    way.take_single(*self._code_for_one())
        return way.call(*inputs)

    def _code_for_one(self) -> tuple[Any, Array]:
        """Machine code for single states, and its memory."""
        made = made_for(self.kernel.name, self.tree)
        if made is not None:
            from kinetree.engine.tape.made_code import machine_code, new_memory

            return machine_code(made, 1), new_memory(made, 1)
        from kinetree.engine.code import single_state
        from kinetree.engine.workspace import single_memory

        return single_state(self.kernel), single_memory(self.kernel, self.tree)

    def _new_way(self) -> StateCall | None:
        kernel, tree = self.kernel, self.tree
        if (
            kernel.output_widths is None
            or tree.coupling is not None
            or not tree.n
            or INTERPRET
            or not HAS_GIL
        ):
            return None
        from kinetree.engine.direct import StateCall

        inputs = [size or tree.n for size in kernel.input_sizes or (0,) * kernel.inputs]
        outputs = [width * tree.n for width in kernel.output_widths]
        limit = WITH_GIL // (sum(outputs) + self.arrays * self.entries)
        return StateCall(inputs, outputs, self.arrays, self.shape if self.arrays else (), limit)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a full array: matrices, or wrenches of bodies."""
        n = self.tree.n
        return (n, n) if self.kernel.targets else (self.entries // (6 * n) if n else 0, 6, n)

    # ---- batches ------------------------------------------------------------------------------------------
    def fill(
        self,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        full: Array | None = None,
        threads: int | None = None,
    ) -> bool:
        """Fill outputs (count, k) from inputs (count, k), of kernels that pack also ``full``.

        ``full`` is (arrays, count, entries). At least one state. All are plain: C-contiguous, aligned,
        float64; TypeError if one is not. Answers whether all that was written, and what it came from, can be
        trusted.
        """
        arrays, count = (*inputs, *outputs) if full is None else (*inputs, *outputs, full), len(inputs[0])
        if INTERPRET:
            packed = self._interpreted(inputs, outputs)
            if full is not None and packed is not None:
                self.unpack(packed, full)
            return all(bool(np.isfinite(x).all()) for x in arrays)
        if count < LANES:
            return self._fill_few(inputs, outputs, full)
        streamed = full is not None and full.size > STREAMING_WORTH
        code = (self._large if streamed else self._blocks) or self._ready(streamed)
        extra = () if full is None else (self._packed, self._places, streamed)
        numbers = count * self.tree.n * len(arrays) if full is None else full.size
        return code.fill(arrays, count, numbers, threads, extra)

    def _fill_few(self, inputs: Sequence[Array], outputs: Sequence[Array], full: Array | None) -> bool:
        """The same for fewer states than lanes: the last one is repeated until the lanes are full."""
        count = len(inputs[0])
        rows = np.minimum(np.arange(LANES), count - 1)
        padded = [np.zeros((LANES, x.shape[1])) for x in outputs]
        padded_full = None if full is None else np.zeros((len(full), LANES, full.shape[2]))
        trusted = self.fill([x[rows] for x in inputs], padded, padded_full, 1)
        for result, values in zip(outputs, padded, strict=True):
            result[:] = values[:count]
        if full is not None and padded_full is not None:
            full[:] = padded_full[:, :count]
        return trusted

    def _ready(self, streamed: bool) -> Ranges:
        """Machine code for blocks of states, unpacked at once if the kernel packs; for direct calls too.

        Results that are ``streamed`` past the caches are bound by memory: the general code serves for them.
        """
        with self._preparing:
            made = made_for(self.kernel.name, self.tree)
            if made is None:  # the same for both
                self._blocks = self._large = self._blocks or self._general()
            elif streamed:
                self._large = self._large or self._general()
            else:
                self._blocks = self._blocks or self._made(made)
            self._answer_batches()
            found = self._large if streamed else self._blocks
            assert found is not None
            return found

    def _answer_batches(self) -> None:
        """Let direct calls answer batches as soon as there is code for them; without making it."""
        way = self._ways[0] if self._ways else None
        if way is None or way.knows_many or self._blocks is None:
            return
        blocks, made = self._blocks, made_for(self.kernel.name, self.tree)
        places = (self._packed, self._places) if made is None else (0, 0)
        way.take_many(self._body(made), blocks.table, blocks.new_memory(), *places)

    def _body(self, made: MadeCode | None) -> Any:
        """The machine code behind blocks of states."""
        if made is not None:
            from kinetree.engine.tape.made_code import machine_code

            return machine_code(made, LANES)
        from kinetree.engine.code import full_code, many_code

        return (many_code if self.kernel.entries is None else full_code)(self.kernel)

    def _made(self, made: MadeCode) -> Ranges:
        """Code that was made for this tree."""
        from kinetree.engine.direct import range_call
        from kinetree.engine.tape.made_code import new_memory

        table = tree_table(self.tree)
        return Ranges(range_call(self._body(made)), table, partial(new_memory, made, LANES), LANES)

    def _general(self) -> Ranges:
        """Code for any tree."""
        from kinetree.engine.code import full_states, many_states
        from kinetree.engine.workspace import packed_room, workspace_size

        kernel, table = self.kernel, tree_table(self.tree)
        room = workspace_size(kernel, self.tree, LANES)
        if kernel.entries is None:
            run = many_states(kernel)
        else:
            self._packed = -(-room // 8) * 8
            packed = packed_rows(kernel, self.tree) * kernel.entries.width
            room = self._packed + packed_room(packed, LANES)
            run = full_states(kernel)
        return Ranges(run, table, partial(cleared, room), LANES)

    # ---- what a kernel packs ------------------------------------------------------------------------------
    def pack(
        self, inputs: Sequence[Array], outputs: Sequence[Array], threads: int | None = None
    ) -> Array | None:
        """Fill outputs (count, k) and return what the kernel packs, (blocks, rows, width, lanes), or None."""
        kernel, tree, count = self.kernel, self.tree, len(inputs[0])
        if INTERPRET:
            return self._interpreted(inputs, outputs)
        if kernel.entries is None:
            self.fill(inputs, outputs, None, threads)
            return None
        if count < LANES:
            rows = np.minimum(np.arange(LANES), count - 1)
            padded = [np.zeros((LANES, x.shape[1])) for x in outputs]
            few = self.pack([x[rows] for x in inputs], padded, 1)
            for result, values in zip(outputs, padded, strict=True):
                result[:] = values[:count]
            return few
        from kinetree.engine.code import many_states
        from kinetree.engine.workspace import workspace_size

        packed = new_array(-(-count // LANES), packed_rows(kernel, tree), kernel.entries.width, LANES)
        arrays, table, room = (
            (*inputs, *outputs, packed),
            tree_table(tree),
            workspace_size(kernel, tree, LANES),
        )
        size = sum(x.size for x in arrays)
        run = many_states(kernel, streamed=size > STREAMING_WORTH and not kernel.scratch)

        def work(begin: int, end: int) -> None:
            run(table, aligned(room), begin, end, arrays)

        over_threads(work, count, LANES, thread_count(threads, size))
        return packed

    def unpack(self, packed: Array, full: Array, threads: int | None = None) -> None:
        """Fill the full arrays (arrays, count, entries) from what the kernel packed."""
        count, lanes = full.shape[1], packed.shape[3]
        if lanes == 1 or count < lanes:
            by_state = packed.transpose(0, 3, 1, 2).reshape(len(packed) * lanes, -1)[:count]
            full[:] = unpacked(by_state, self.places)
            return
        from kinetree.engine.code import unpack_states
        from kinetree.engine.workspace import packed_room

        run, streamed = unpack_states(), full.size > STREAMING_WORTH

        def work(begin: int, end: int) -> None:
            memory = cleared(packed_room(packed.shape[1] * packed.shape[2], lanes))
            run(memory, memory, begin, end, (packed, full), 0, self._places, streamed)

        over_threads(work, count, lanes, thread_count(threads, full.size))

    # ---- the interpreter ----------------------------------------------------------------------------------
    def _interpreted(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Array | None:
        """The same in the interpreter; each state is a block of its own."""
        columns = [np.ascontiguousarray(x.T) for x in inputs]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            sizes = [x.shape[1] for x in outputs]
            results, packed = interpreted(self.kernel, self.tree, columns, sizes)
        for result, values in zip(outputs, results, strict=True):
            result[:] = values.T
        return None if packed is None else np.ascontiguousarray(packed.transpose(2, 0, 1)[..., None])


def prepared(kernel: Kernel, tree: Tree) -> Prepared:
    """A kernel prepared for a tree; made once."""
    known = _prepared_kernels(tree)
    found = known.get(kernel)
    return found if found is not None else known.setdefault(kernel, Prepared(kernel, tree))


@once_per_tree
def _prepared_kernels(tree: Tree) -> dict[Kernel, Prepared]:
    return {}


def _no_answer(*inputs: object) -> None:
    """What cannot be asked directly."""
