"""Machine code for one mechanism: recorded kernels, compiled by LLVM alone, kept on disk by their content.

A tree that `specialize` was called for has kernels run by code of the same shapes as general code
(`engine.code`): batches in lanes, batches with full arrays, single states.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kinetree.engine.tape.llvm_text import Arrays, can_write
from kinetree.engine.tape.recording import Recording
from kinetree.model.kept import once_per_tree
from kinetree.model.tree import Tree

MOTION = "motion"  # what right-hand sides of simulations ask: accelerations without springs and friction


@dataclass(frozen=True, eq=False)
class MadeCode:
    """What code for one mechanism does: a recording, how its results go to arrays, its constant numbers.

    ``constants`` are those of ``columns`` of the model table, which are not known to the code.
    """

    name: str
    recording: Recording
    arrays: Arrays
    columns: tuple[str, ...] = ()
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


def specialize(tree: Tree, made: Iterable[MadeCode]) -> None:
    """Let what the code is named after run by code made for the tree; before it is prepared for it."""
    _all_made(tree).update({code.name: code for code in made})


def made_for(name: str, tree: Tree) -> MadeCode | None:
    """The code that was made for a tree instead of a kernel of that name; None if the general code serves."""
    return _all_made(tree).get(name)


@once_per_tree
def _all_made(tree: Tree) -> dict[str, MadeCode]:
    return {}
