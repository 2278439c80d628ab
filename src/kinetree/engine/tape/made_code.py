"""Recordings compiled by LLVM, without numba, and kept on the disk."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from llvmlite import binding as llvm

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import cleared
from kinetree.engine.disk_cache import code_folder
from kinetree.engine.notice import Notice
from kinetree.engine.specialized import MadeCode
from kinetree.engine.stored_code import StoredCode, host_machine, keep, stored_or_made
from kinetree.engine.tape.llvm_text import ModuleText

NEEDS = ["sin", "cos"]  # of the C library


def new_memory(made: MadeCode, lanes: int) -> Array:
    """Memory for the code, with its constant numbers in every lane."""
    memory = cleared(_text(made, lanes, False).numbers)
    if made.constants:
        constants_in(made, memory, lanes)[:] = np.array(made.constants)[:, None]
    return memory


def constants_in(made: MadeCode, memory: Array, lanes: int) -> Array:
    """A view (constants, lanes) of the constant numbers in memory for the code."""
    first, count = lanes * sum(made.recording.sizes[:-1]), len(made.constants)
    return memory[first : first + lanes * count].reshape(count, lanes)


@functools.lru_cache(maxsize=64)
def machine_code(made: MadeCode, lanes: int) -> Any:
    """Code for blocks of states or one state: from the disk, or else compiled."""
    name = f"{made.name}-{made.digest}"
    return stored_or_made(name, lanes, lambda: _compiled(made, lanes, name), __file__)


@functools.lru_cache(maxsize=8)
def _text(made: MadeCode, lanes: int, typed: bool) -> ModuleText:
    return ModuleText(made.recording, made.arrays, _symbol(made, lanes), lanes, typed)


def _symbol(made: MadeCode, lanes: int) -> str:
    return f"made_{made.digest}_{lanes}"


def _compiled(made: MadeCode, lanes: int, name: str) -> StoredCode:
    """Machine code, which is put on the disk."""
    with Notice(name) as notice:
        notice.show()
        machine = host_machine()
        try:
            module = llvm.parse_assembly(_text(made, lanes, False).text)
        except RuntimeError:  # LLVM from before pointers lost their types
            module = llvm.parse_assembly(_text(made, lanes, True).text)
        code = machine.emit_object(module)
    folder, symbol = code_folder(name, lanes, __file__), _symbol(made, lanes)
    if folder is not None:
        keep(folder, code, symbol, NEEDS)
    return StoredCode(code, symbol, NEEDS)
