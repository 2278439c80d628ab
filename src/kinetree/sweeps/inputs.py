"""What a sweep reads besides its study: the contents of files that it names, and the body of a function.

Both belong to the identity of a sweep, so that no store mixes results of different inputs.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
import pickle
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from kinetree.errors import InputError
from kinetree.formats.held_inside import file_of
from kinetree.formats.mesh_home import file_digest, mesh_record
from kinetree.formats.toml_writer import toml_text
from kinetree.model.mechanism import Mechanism
from kinetree.study.code import NAMED
from kinetree.study.run import texts

LONGEST = 4096  # characters of a path
DEEPEST = 20  # values inside values that are looked at


class ChangedInputError(InputError):
    """A file that a sweep reads is not the one that it was planned with."""


def possible_files(*tables: Any) -> Iterator[str]:
    """All texts in tables that could be names of files, functions in files by their file."""
    for text in dict.fromkeys(texts(tables)):
        match = NAMED.fullmatch(text)
        name = match["file"] if match else text
        if name and len(name) <= LONGEST and "\0" not in name and "\n" not in name:
            yield name


def named_files(folder: Path, *tables: Any, mechanism: Mechanism | None = None) -> dict[str, str]:
    """SHA-256 of each file that texts of tables name, by the name; and of the meshes of a mechanism."""
    found: dict[str, str] = {}
    for name in possible_files(*tables):
        digest = file_digest(Path(os.path.normpath(os.path.join(folder, name))))
        if digest is not None:
            file_of(folder, name)  # an error where files must be inside the folder
            found[name] = digest
    if mechanism is not None:
        for name, stated in mesh_record(mechanism).items():
            place = os.path.relpath(os.path.join(stated["folder"], name), folder)
            found[place.replace(os.sep, "/")] = stated.get("sha256", "")
    return found


def check_files(folder: Path, files: Mapping[str, str]) -> None:
    """Raise if a file has changed since the sweep was planned."""
    for name, digest in files.items():
        now = file_digest(Path(os.path.normpath(os.path.join(folder, name))))
        if now != digest:
            what = "cannot be read any more" if now is None else "has changed"
            raise ChangedInputError(
                f"{os.path.join(folder, name)}: {what} since the sweep was planned; put the file back as it "
                f"was, or start again with --force"
            )


# ---- functions ------------------------------------------------------------------------------------------


def function_digest(function: Callable[..., Any]) -> str:
    """A fingerprint of what a function does: its code, defaults, and the values it refers to.

    Functions of the same module that it calls count; those of other modules count by their names.
    """
    key, seen = hashlib.sha256(), set[int]()

    def add(value: Any, depth: int = 0) -> None:
        if id(value) in seen or depth > DEEPEST:
            key.update(b"again;")
            return
        key.update(f"{type(value).__qualname__}:".encode())
        if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
            key.update(f"{value!r};".encode())
            return
        seen.add(id(value))
        for part in _parts(value):
            if isinstance(part, bytes):
                key.update(part + b";")
            else:
                add(part, depth + 1)

    add(function)
    return key.hexdigest()


def _parts(value: Any) -> list[Any]:
    """What a value consists of; bytes stand for themselves."""
    if isinstance(value, np.ndarray):
        return [f"{value.dtype} {value.shape}".encode(), value.tobytes()]
    if isinstance(value, list | tuple):
        return [str(len(value)).encode(), *value]
    if isinstance(value, set | frozenset):
        return sorted(repr(x).encode() for x in value)
    if isinstance(value, Mapping):
        return [part for pair in value.items() for part in pair]
    if isinstance(value, Mechanism):
        return [toml_text(value).encode()]
    if isinstance(value, CodeType):
        names = (value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars)
        return [value.co_code, repr(names).encode(), *value.co_consts]
    if isinstance(value, FunctionType):
        return _parts_of_function(value)
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, ModuleType | type) or not hasattr(value, "__dict__"):
        return [str(getattr(value, "__qualname__", getattr(value, "__name__", type(value)))).encode()]
    call = inspect.getattr_static(type(value), "__call__", None)
    if isinstance(call, FunctionType):
        return [call, vars(value)]
    try:
        return [pickle.dumps(value, protocol=4)]
    except Exception:  # whatever the value objects with
        return [type(value).__qualname__.encode()]


def _parts_of_function(function: FunctionType) -> list[Any]:
    parts: list[Any] = [function.__code__, function.__defaults__, function.__kwdefaults__]
    for cell in function.__closure__ or ():
        try:
            parts.append(cell.cell_contents)
        except ValueError:  # not filled yet
            parts.append(b"empty")
    for name in sorted(_names(function.__code__)):
        if name not in function.__globals__:
            continue
        value = function.__globals__[name]
        own = getattr(value, "__module__", function.__module__) == function.__module__
        if isinstance(value, FunctionType) and not own:
            value = f"{value.__module__}.{value.__qualname__}"
        parts += [name.encode(), value]
    return parts


def _names(code: CodeType) -> set[str]:
    """Names that code refers to, with those of the functions inside it."""
    inner = (_names(x) for x in code.co_consts if isinstance(x, CodeType))
    return set(code.co_names).union(*inner)
