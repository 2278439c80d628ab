"""Numbers as SIMD lanes for numba, written in LLVM's instructions.

Importing it teaches numba the lane number, memory with named fields, and every function that kernels use.
"""

from numba.extending import register_jitable

import kinetree.engine.lanes.functions  # noqa: F401  (teaches numba sine, cosine and sign)
from kinetree.engine.lanes.memory import fields, row_at
from kinetree.engine.lanes.number import FLAGS, INLINE, PART, number_type
from kinetree.kernels.number import CALLED, LANEWISE

__all__ = ["FLAGS", "fields", "number_type", "register_all", "row_at"]
_known: set[int] = set()


def register_all() -> None:
    """Let numba inline every function marked ``lanewise`` so far, and call those marked ``called``."""
    for function in LANEWISE:
        if id(function) not in _known:
            _known.add(id(function))
            register_jitable(**(PART if function in CALLED else INLINE))(function)
