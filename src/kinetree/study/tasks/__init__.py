"""The tasks of studies, one file each: whatever file is here with a ``TASK`` in it can be asked for.

A task says which tables of the study file it needs and which it may use, brings a table of its own if it has
settings (called as the task is), and turns an assignment into work. All that can be wrong is found while the
work is prepared; only then does it start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from kinetree.formats.schema_parts import Table
from kinetree.result.result import Result
from kinetree.study.assignment import Assignment

Work = Callable[[], Result]
ALWAYS = ("study", "plot", "sweep")  # tables that every study may have


@dataclass(frozen=True)
class Task:
    """A kind of study: its name, a line about it, how work is prepared, and the tables it reads.

    ``settings`` is its own table, or a function that returns it, for one that takes long to make;
    ``output``: whether the table of that name chooses the samples of the result.
    """

    name: str
    about: str
    prepare: Callable[[Assignment], Work]
    needs: tuple[str, ...] = ("mechanism",)
    uses: tuple[str, ...] = ()
    settings: type[Table] | Callable[[], type[Table]] | None = None
    output: bool = True

    @property
    def own_table(self) -> type[Table] | None:
        """The class of its own table, made if need be."""
        return self.settings if self.settings is None or isinstance(self.settings, type) else self.settings()

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables that a study of this task may have."""
        own = (self.name,) if self.settings is not None and self.name not in self.needs else ()
        return (*ALWAYS, *(("output",) if self.output else ()), *self.needs, *self.uses, *own)


@cache
def known_tasks() -> dict[str, Task]:
    """The tasks by name.

    >>> "simulate" in known_tasks()
    True
    """
    found = {}
    for file in iter_modules(__path__):
        task: Task = import_module(f"{__name__}.{file.name}").TASK
        found[task.name] = task
    return found
