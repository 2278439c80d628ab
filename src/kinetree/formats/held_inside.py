"""Whether files that other files name must be in the folder of the study that is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
