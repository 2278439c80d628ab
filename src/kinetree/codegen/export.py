"""Code for a mechanism in a folder: written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from kinetree.algebra.shown import Shown
from kinetree.codegen.c_source import REALS, functions_of, header, operations_in_words, source
from kinetree.codegen.identifiers import identifier
from kinetree.codegen.self_test import makefile, self_test
from kinetree.dynamics.tapes import OF_POINT, QUESTIONS, taped
from kinetree.errors import FileError, InputError, SizeError, unknown_name
from kinetree.formats.regular_file import PathLike, check_name
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism

LANGUAGES = ("c",)
DEFAULT = ("inverse_dynamics",)
LARGEST = 100_000  # operations of one function: some megabytes of text


@dataclass(frozen=True, eq=False, repr=False)
class ExportedCode(Shown):
    """What was written: ``folder``, ``files``, ``operations`` of each function, ``source_size`` (B)."""

    folder: Path
    files: tuple[str, ...]
    operations: dict[str, str]
    source_size: int


def export_code(
    mechanism: Mechanism,
    functions: Sequence[str] | str = DEFAULT,
    output: PathLike | None = None,
    *,
    language: Literal["c"] = "c",
    real: Literal["double", "float"] = "double",
    force: bool = False,
) -> ExportedCode:
    """Write C code for one mechanism into a folder: a header, a source, a self-test and its Makefile.

    The code is C99 and needs nothing but sin, cos and sqrt: no allocation, no libraries, no loops. It does
    the operations that are left for this mechanism when all constants, zeros and ones of its geometry and
    inertia are known. ``functions``: names such as "inverse_dynamics", "forward_dynamics", "mass_matrix",
    "gravity_torque", "forward_kinematics", "inverse_dynamics_derivatives" or "jacobian:hand", of the origin
    of a body or frame. ``output``: the new folder; default the name of the mechanism with ``_c``. With
    ``force`` files of an existing folder are replaced. With closed loops there are "inverse_dynamics" and
    "forward_dynamics", for states of all joints that close the loops, and "close_loops_step", a step of
    Newton's iteration, with a function around it that closes them.

    >>> import kinetree as kt, tempfile, pathlib
    >>> place = pathlib.Path(tempfile.mkdtemp(), "arm")
    >>> done = kt.export_code(kt.zoo.kuka_kr5(), ["inverse_dynamics", "gravity_torque"], place)
    >>> done.files
    ('kuka_kr5.h', 'kuka_kr5.c', 'kuka_kr5_test.c', 'Makefile')
    >>> done.operations["kuka_kr5_inverse_dynamics"]
    '176 multiplications, 121 additions, 5 sines, 5 cosines'
    """
    expect_mechanism(mechanism)
    names = [functions] if isinstance(functions, str) else list(functions)
    _check(names, language, real)
    name = identifier(mechanism.name)
    folder = Path(output) if output is not None else Path(f"{name}_c")
    check_folder(folder, force)
    answers = [taped(mechanism, x) for x in dict.fromkeys(names)]
    for answer in answers:
        total = sum(answer.recording.counts().values())
        if total > LARGEST:
            raise SizeError(
                f"{answer.question.name} of '{mechanism.name}' takes {total} operations, more than the "
                f"{LARGEST} that code is written for; compiled code for any mechanism has no such limit"
            )
    written = functions_of(mechanism, answers)
    texts = {
        f"{name}.h": header(mechanism, written, real, version("kinetree")),
        f"{name}.c": source(mechanism, written, real, f"{name}.h"),
        f"{name}_test.c": self_test(mechanism, written, real, f"{name}.h"),
        "Makefile": makefile(name),
    }
    _write(folder, texts)
    operations = {x.name: operations_in_words(x.answer) for x in written}
    return ExportedCode(folder, tuple(texts), operations, len(texts[f"{name}.c"]))


def _check(names: list[str], language: str, real: str) -> None:
    if not names:
        raise InputError(f"functions is empty; known are {', '.join((*QUESTIONS, f'{OF_POINT}:BODY'))}")
    for name in names:
        known = isinstance(name, str) and (name in QUESTIONS or name.partition(":")[0] == OF_POINT)
        if not known:
            raise InputError(unknown_name("function", name, [*QUESTIONS, f"{OF_POINT}:BODY"]))
    if language not in LANGUAGES:
        raise InputError(unknown_name("language", language, LANGUAGES))
    if real not in REALS:
        raise InputError(unknown_name("real", real, REALS))


def check_folder(folder: Path, force: bool) -> None:
    """Raise before any work if the folder could not be written, or exists and is not to be changed."""
    check_name(folder)
    if folder.exists() and not folder.is_dir():
        raise FileError(f"{folder}: is a file; give the path of a folder")
    if folder.exists() and not force:
        raise FileError(f"{folder}: already exists; use --force (force=True) to replace its files")
    above = folder if folder.exists() else Path(os.path.abspath(folder)).parent
    if not above.is_dir():
        raise FileError(f"{folder}: cannot be written: {above} is not a folder")
    try:
        with tempfile.TemporaryFile(dir=above):
            pass
    except OSError as error:
        raise FileError(f"{folder}: cannot be written: {error.strerror or error}") from None


def _write(folder: Path, texts: dict[str, str]) -> None:
    """All files, first in a folder beside, which then becomes the folder or gives it its files."""
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=Path(os.path.abspath(folder)).parent))
    try:
        for name, text in texts.items():
            (beside / name).write_text(text, encoding="ascii")
        if folder.exists():
            for name in texts:
                os.replace(beside / name, folder / name)
        else:
            beside.chmod(0o777 & ~_umask())
            beside.rename(folder)
    except OSError as error:
        raise FileError(f"{folder}: cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
