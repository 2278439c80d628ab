"""Whether files that other files name must be in the folder of the study that is read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from kinetree.errors import InputError, cut

_only: ContextVar[bool] = ContextVar("only_inside", default=False)


@contextmanager
def held_inside(wanted: bool) -> Iterator[None]:
    """In here studies and the models they name may read files of the study's folder only, if it is wanted."""
    token = _only.set(wanted)
    try:
        yield
    finally:
        _only.reset(token)


def is_held_inside() -> bool:
    """Whether studies are held to their folders."""
    return _only.get()


def file_of(folder: Path, file: str) -> str:
    """The path of a file that a file in this folder names; links are followed before it is judged."""
    place = os.path.normpath(os.path.join(folder, file))
    if is_held_inside():
        inside = os.path.realpath(folder)
        if os.path.commonpath([inside, os.path.realpath(place)]) != inside:
            raise InputError(
                f"file '{cut(file)}' is outside the folder of the study, {inside}, and files outside are not "
                f"allowed"
            )
    return place
