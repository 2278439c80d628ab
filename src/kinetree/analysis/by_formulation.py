"""The formulations that Kinetree knows."""

from __future__ import annotations

from kinetree.derivations import NAMES, described
from kinetree.derivations.contract import ABILITIES, Formulation


class FormulationTable(tuple[Formulation, ...]):
    """The formulations as a tuple that prints as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        rows = [("name", "can", "with closed loops", "cost", "source")]
        for f in self:
            can, closed = (
                ", ".join(name for name in ABILITIES if name in some) for some in (f.can, f.closed)
            )
            rows.append((f.name, can, closed or "-", f.cost, f.source))
        widths = [max(len(row[k]) for row in rows) for k in range(5)]
        lines = [
            "  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])


def formulations() -> FormulationTable:
    """The formulations that Kinetree knows: what each can do, its cost and its source.

    Pass a name as ``formulation=`` to the functions listed in its abilities; ``closed`` lists those that it
    also supports with closed loops.

    >>> import kinetree as kt
    >>> [f.name for f in kt.analysis.formulations()][:2]
    ['spatial', 'newton_euler']
    """
    return FormulationTable(described(name) for name in NAMES)
