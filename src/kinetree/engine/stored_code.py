"""Machine code on disk that LLVM loads alone: nothing of numba is imported, which takes most of a first call.

A file has a line that tells the symbol, what the code needs and a checksum, and then the object code.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llvmlite import binding as llvm

from kinetree.engine.disk_cache import code_folder, first_choice, stamp

FILE = "code"
OF_NUMBA = "numba_"  # how functions begin that numba's code calls only to raise an exception, which none does


class StoredCode:
    """A C function from the disk: ``address`` is where it starts, for as long as the object lives.

    Each has an engine of its own, since functions of different kernels may have the same symbol.
    """

    cache_hits = 1

    def __init__(self, code: bytes, symbol: str, needs: list[str]) -> None:
        """Raises LookupError if something that the code needs is not in this process."""
        self._engine = _new_engine()
        for name in needs:
            if not llvm.address_of_symbol(name):
                if not name.startswith(OF_NUMBA):  # LLVM would end the process
                    raise LookupError(name)
                llvm.add_symbol(name, llvm.address_of_symbol("abort"))  # numba, once there, puts its own
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        self.address: int = self._engine.get_function_address(symbol)
        if not self.address:
            raise LookupError(symbol)


def stored_or_made(name: str, lanes: int, make: Callable[[], Any]) -> Any:
    """The machine code of that name, with its ``address``: from the disk, or made."""
    found = _read(first_choice() / stamp(lanes) / name / FILE)  # which need not be writable
    if found is None:
        folder = code_folder(name, lanes)
        found = None if folder is None else _read(folder / FILE)
    return make() if found is None else found


def keep(folder: Path, code: bytes, symbol: str, needs: list[str]) -> None:
    """Put code on the disk, whole or not at all."""
    head = {"symbol": symbol, "needs": needs, "checksum": _checksum(symbol, needs, code)}
    handle, path = tempfile.mkstemp(dir=folder)
    try:
        with open(handle, "wb") as file:
            file.write(json.dumps(head).encode() + b"\n" + code)
        os.replace(path, folder / FILE)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise


def _read(file: Path) -> StoredCode | None:
    """What a file holds; None if there is none, or it is damaged, or cannot run here."""
    try:
        line, _, code = file.read_bytes().partition(b"\n")
        head = json.loads(line)
        if _checksum(head["symbol"], head["needs"], code) != head["checksum"]:
            return None
        return StoredCode(code, head["symbol"], head["needs"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RuntimeError):
        return None


def _checksum(symbol: str, needs: list[str], code: bytes) -> str:
    return hashlib.sha256(repr((symbol, needs)).encode() + code).hexdigest()


def _new_engine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_default_triple().create_target_machine(
        llvm.get_host_cpu_name(), features, opt=3, jit=True
    )
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
