"""Machine code on disk that LLVM loads alone: nothing of numba is imported, which takes most of a first call.

An entry (`keyed`) has a line that gives the symbol and what the code needs, and then the object code.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llvmlite import binding as llvm

from kinetree.engine.companion import compiled_meanwhile
from kinetree.engine.disk_cache import code_folder, first_choice, is_private, room_of, stamp
from kinetree.engine.keyed import content, kept, loading
from kinetree.engine.prebuilt import prebuilt

FILE = "code"
_FAULT = ctypes.create_string_buffer(b"a kernel met an error that only numba can tell; its answer is void")
_STAND_INS = """
declare i32 @kinetree_PyGILState_Ensure()
declare void @kinetree_PyGILState_Release(i32)
declare void @kinetree_PyErr_SetString(i64, i64)
define void @ensure(i64 %place) {{
  %held = call i32 @kinetree_PyGILState_Ensure()
  %at = inttoptr i64 %place to ptr
  store i32 %held, ptr %at
  ret void
}}
define void @release(i64 %place) {{
  %at = inttoptr i64 %place to ptr
  %held = load i32, ptr %at
  call void @kinetree_PyGILState_Release(i32 %held)
  ret void
}}
define i64 @nothing(i64 %a, i64 %b, i64 %c) {{
  call void @kinetree_PyErr_SetString(i64 {kind}, i64 {text})
  ret i64 0
}}
"""
STAND_INS = {
    "numba_gil_ensure": "ensure",
    "numba_gil_release": "release",
    "numba_unpickle": "nothing",
    "numba_do_raise": "nothing",
    "numba_runtime_build_excinfo_struct": "nothing",
}  # what numba's code calls to raise an exception, which no kernel means to

IN_C = {"numba_nextafter": "nextafter"}  # functions of the C library under names of numba


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
                address = address_in_process(name) or (_stand_in(name) if name in STAND_INS else 0)
                if not address:  # LLVM would end the process
                    raise LookupError(name)
                llvm.add_symbol(name, address)  # numba, once there, puts its own
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        self.address: int = self._engine.get_function_address(symbol)
        if not self.address:
            raise LookupError(symbol)


def address_in_process(name: str) -> int:
    """Where a function of the C library or of Python is, without numba; 0 if it is not there."""
    for library in _libraries():
        with contextlib.suppress(AttributeError):
            return ctypes.cast(getattr(library, IN_C.get(name, name)), ctypes.c_void_p).value or 0
    return 0


@functools.cache
def _libraries() -> tuple[Any, ...]:
    """Where to look: the whole process where it can be searched, else Python and the C library by name."""
    try:
        return (ctypes.CDLL(None),)
    except (OSError, TypeError):  # Windows
        found: list[Any] = [ctypes.pythonapi]
        for name in ("ucrtbase", "msvcrt", "vcruntime140"):
            with contextlib.suppress(OSError):
                found.append(ctypes.CDLL(name))
        return tuple(found)


def _stand_in(name: str) -> int:
    """A function in the place of one of numba's: it sets an error instead of ending the process."""
    address: int = _stand_in_engine().get_function_address(STAND_INS[name])
    return address


@functools.cache
def _stand_in_engine() -> Any:
    for name in ("PyGILState_Ensure", "PyGILState_Release", "PyErr_SetString"):
        llvm.add_symbol(f"kinetree_{name}", address_in_process(name))
    engine = _new_engine()
    text = _STAND_INS.format(kind=id(RuntimeError), text=ctypes.addressof(_FAULT))
    try:
        module = llvm.parse_assembly(text)
    except RuntimeError:  # LLVM from before pointers lost their types
        module = llvm.parse_assembly(text.replace(" ptr", " i32*"))
    engine.add_module(module)
    engine.finalize_object()
    return engine


def stored_or_made(name: str, lanes: int, make: Callable[[], Any], source: str | None = None) -> Any:
    """The machine code of that name, with its ``address``: from the cache, from the package, or made.

    ``source`` is a file of the folder that the code comes from, if that is not one of the shared rooms.
    """
    first = first_choice()  # which need not be writable
    tried = first / stamp(lanes, room_of(source)) / name if is_private(first) else None
    found = None if tried is None else _read(tried)
    if found is None:
        found = _prebuilt(name, lanes, room_of(source))
    if found is None:
        folder = code_folder(name, lanes, source)
        found = None if folder in (None, tried) else _read(folder)
        if found is None and folder is not None and compiled_meanwhile(name):
            found = _read(folder)
    return make() if found is None else found


def keep(folder: Path, code: bytes, symbol: str, needs: list[str]) -> bool:
    """Put code on the disk, whole or not at all."""
    head = {"symbol": symbol, "needs": needs}
    return kept(folder, FILE, json.dumps(head).encode() + b"\n" + code)


def _read(folder: Path) -> StoredCode | None:
    """What a folder holds; None if there is nothing, or it is damaged, or cannot run here."""
    found = content(folder, FILE)
    if found is None:
        return None
    with loading(folder, FILE):
        return _loaded(found)


def _prebuilt(name: str, lanes: int, room: str) -> StoredCode | None:
    """What comes with the package; None if there is nothing that fits, or it cannot run here."""
    found = prebuilt(name, lanes, room)
    return None if found is None else _loaded(found)


def _loaded(entry: bytes) -> StoredCode | None:
    try:
        line, _, code = entry.partition(b"\n")
        head = json.loads(line)
        return StoredCode(code, head["symbol"], head["needs"])
    except (ValueError, LookupError, TypeError, AttributeError, RuntimeError):
        return None


def host_machine() -> Any:
    """LLVM's code generator for this processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple().create_target_machine(
        llvm.get_host_cpu_name(), features, opt=3, jit=True
    )


def _new_engine() -> Any:
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), host_machine())
