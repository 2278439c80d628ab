"""The user's own Python functions: run only when the user has named their file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from kinetree.algebra.functions import check_takes
from kinetree.errors import FileError, InputError, KinetreeError, listed, unknown_name
from kinetree.formats.regular_file import read_text

NAMED = re.compile(r"(?P<file>[^:]+\.py):(?P<function>[A-Za-z_]\w*)")


@dataclass(frozen=True, eq=False)
class Code:
    """Functions in files beside a study.

    Those ``allowed`` to run are named as the study names them, or by their path from the current folder.
    """

    folder: Path
    allowed: Collection[str] = ()
    _modules: dict[str, ModuleType] = field(default_factory=dict)

    def function(self, name: str, what: str, arguments: str) -> Callable[..., Any]:
        """The function of a name such as "laws.py:my_law" that takes the arguments; its file is run once."""
        match = NAMED.fullmatch(name)
        if match is None:
            raise InputError(f"{what} must name a function as 'file.py:name', got '{name}'")
        file = match["file"]
        place = self._place(file)
        if not any(self._names(given, file) for given in self.allowed):
            raise InputError(
                f"{what} '{name}' is Python code, which runs only if allowed: read {place}, then "
                f"add --allow-code {file} (in Python: allow_code=['{file}'])"
            )
        module = self._module(file, place)
        found = getattr(module, match["function"], None)
        if not callable(found):
            known = [
                key for key, value in vars(module).items() if callable(value) and not key.startswith("_")
            ]
            raise InputError(unknown_name("function", match["function"], known).after(f"{place}: "))
        function: Callable[..., Any] = found
        check_takes(function, arguments, f"{place}: function '{match['function']}'")
        return function

    def check_allowed(self, texts: Collection[str]) -> None:
        """Raise if a file is allowed that the study, with these texts in it, does not name."""
        used = {match["file"] for text in texts if (match := NAMED.fullmatch(text))}
        for given in self.allowed:
            if not any(self._names(given, file) for file in used):
                raise InputError(
                    f"--allow-code {given}: the study names no such file; it names {listed(sorted(used))}"
                )

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """What goes wrong inside the user's code is reported with its file and line."""
        try:
            yield
        except KinetreeError:
            raise
        except Exception as error:
            for place in (str(module.__file__) for module in self._modules.values()):
                if line := _line(error, place):
                    raise FileError(f"{place}, line {line}: {type(error).__name__}: {error}") from error
            raise

    def _names(self, given: str, file: str) -> bool:
        """Whether what the user allows is a file that the study names."""
        if os.path.normpath(given) == os.path.normpath(file):
            return True
        return os.path.realpath(given) == os.path.realpath(os.path.join(self.folder, file))

    def _place(self, file: str) -> Path:
        """The file, which must lie in the folder of the study."""
        inside = os.path.realpath(self.folder)
        place = os.path.realpath(os.path.join(inside, file))
        if os.path.isabs(file) or os.path.commonpath([inside, place]) != inside:
            raise InputError(f"code file '{file}' is not in the folder of the study, {inside}")
        return Path(place)

    def _module(self, file: str, place: Path) -> ModuleType:
        if file not in self._modules:
            module = ModuleType(place.stem)
            module.__file__ = str(place)
            text = read_text(place)
            try:
                exec(compile(text, str(place), "exec"), module.__dict__)
            except Exception as error:
                line = getattr(error, "lineno", None) or _line(error, str(place))
                said = f"{type(error).__name__}: {error}"
                raise FileError(f"{place}, line {line}: {said}") from error
            self._modules[file] = module
        return self._modules[file]


def _line(error: BaseException, file: str) -> int:
    """The last line of the file that an error passed through."""
    line, step = 0, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == file:
            line = step.tb_lineno
        step = step.tb_next
    return line
