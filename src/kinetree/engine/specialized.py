"""Machine code for one mechanism: recorded kernels, compiled by LLVM alone, kept on disk by their content.

A tree that `specialize` was called for has kernels run by code of the same shapes as general code
(`engine.code`): batches in lanes, batches with full arrays, single states.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kinetree.engine.tape.llvm_text import Arrays, can_write
from kinetree.engine.tape.recording import Recording
from kinetree.kernels.layout import Kernel
from kinetree.model.kept import once_per_tree
from kinetree.model.tree import Tree


@dataclass(frozen=True, eq=False)
class MadeCode:
    """What code for one mechanism does: a recording, how its results go to arrays, its constant numbers."""

    name: str
    recording: Recording
    arrays: Arrays
    constants: Sequence[float] = ()

    @property
    def operations(self) -> int:
        """How many operations one state takes."""
        return sum(self.recording.counts().values())

    @property
    def can_be_written(self) -> bool:
        """Whether there is machine code for all operations."""
        return can_write(self.recording)

    @functools.cached_property
    def digest(self) -> str:
        """What the code is known by on the disk; constants of the workspace have no part in it."""
        found = self.recording
        content = repr((found.sizes, found.operations, found.outputs, self.arrays))
        return hashlib.sha256(content.encode()).hexdigest()[:24]


def specialize(tree: Tree, made: Mapping[Kernel, MadeCode]) -> None:
    """Let kernels run by code that was made for the tree; before any of them is prepared for it."""
    _made_kernels(tree).update(made)


def made_for(kernel: Kernel, tree: Tree) -> MadeCode | None:
    """The code that was made for a kernel and a tree; None if the general code serves."""
    return _made_kernels(tree).get(kernel)


@once_per_tree
def _made_kernels(tree: Tree) -> dict[Kernel, MadeCode]:
    return {}
