"""Functions that take the place of others and do what these rarely do: they are interrupted, or lack room."""

from typing import NoReturn


def interrupted(*arguments: object, **options: object) -> NoReturn:
    """Ctrl-C meets it."""
    raise KeyboardInterrupt


def disk_full(*arguments: object, **options: object) -> NoReturn:
    """It finds no room on the disk."""
    raise OSError(28, "No space left on device")


def memory_full(*arguments: object, **options: object) -> NoReturn:
    """It finds no room in memory."""
    raise MemoryError
