"""What checks and measurements of a mechanism found, for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from kinetree.analysis.agreement import Agreement
from kinetree.analysis.derivative_check import SlopeCheck
from kinetree.analysis.module_steps import ModuleSteps
from kinetree.derivations.denoc.labels import TWIST
from kinetree.report.terminal import NAME, plain_table
from kinetree.study.speed import Speed

GOOD, BAD, QUIET = "green", "red", "dim"


WIDTHS = {"formulation": 14, "difference": 11, "mult.": 7, "add.": 7, "per state": 9, "": 0}


def agreement_table(rows: Iterable[Agreement]) -> Group:
    """Formulations below each other, quantity by quantity; no name is broken in 60 columns or more."""
    tables: dict[str, Table] = {}
    for row in rows:
        if row.quantity not in tables:
            tables[row.quantity] = _agreement_columns(headed=not tables)
        table = tables[row.quantity]
        if row.refused is not None:
            refusal = Text(row.refused, style=QUIET)
            table.add_row(f"  {row.formulation}", Text("no answer", style=QUIET), "", "", "", refusal)
            continue
        counts = ("", "") if row.operations is None else tuple(f"{n:d}" for n in row.operations)
        time = "" if row.seconds is None else _seconds(row.seconds)
        table.add_row(f"  {row.formulation}", _difference(row), *counts, time, "")
    titled = [(Text(name, style=NAME), table) for name, table in tables.items()]
    return Group(*(part for pair in titled for part in pair))


def steps_table(found: ModuleSteps) -> Group:
    """The state, then both recursions, module by module: a line for each link or joint."""
    state = plain_table("joint", "q (rad, m)", "qd", "qdd")
    columns = (found.state.q, found.state.qd, found.state.qdd)
    for name, *numbers in zip(found.mechanism.joint_names, *columns, strict=True):
        state.add_row(name, *(f"{x: .6g}" for x in numbers))
    parts: list[Any] = [Text("state", style=NAME), state]
    for module in found.steps.modules:
        table = plain_table("", "", *TWIST)
        for column in table.columns:
            column.no_wrap = True
        for row in found.rows():
            if row["module"] == module:
                numbers = [f"{x: .3g}" for x in row["values"]]
                table.add_row(row["quantity"], row["of"], *numbers, *[""] * (len(TWIST) - len(numbers)))
        joints = ", ".join(found.steps.joints(module))
        parts += [Text(f"module {module}: {joints}", style=NAME), table]
    return Group(*parts)


def _agreement_columns(headed: bool) -> Table:
    table = plain_table(*WIDTHS)
    table.show_header = headed
    for column, width in zip(table.columns, WIDTHS.values(), strict=True):
        column.min_width, column.no_wrap = width, bool(width)
    return table


def _difference(row: Agreement) -> Text:
    if row.difference is None:
        return Text("reference", style=QUIET)
    return _marked(f"{row.difference:.1e}", row.passed)


def slope_table(checks: Iterable[SlopeCheck]) -> Table:
    """Exact derivatives beside numerical ones."""
    table = plain_table("derivative of", "with respect to", "compared with", "worst relative error", "where")
    for check in checks:
        mark = _marked(f"{check.error:.1e}", check.passed)
        table.add_row(Text(check.quantity, style=NAME), check.by, check.method, mark, Text(check.where))
    return _unbroken(table)


def speed_table(rows: Sequence[Speed], batch: int) -> Table:
    """Time per state, in a batch and one at a time."""
    table = plain_table("quantity", f"batch of {batch}", "one state")
    for row in rows:
        table.add_row(Text(row.quantity, style=NAME), _seconds(1e-6 * row.batch), _seconds(1e-6 * row.alone))
    return _unbroken(table)


def _unbroken(table: Table) -> Table:
    """Names stay on one line, however narrow the terminal is."""
    table.columns[0].no_wrap = True
    return table


def _marked(text: str, passed: bool) -> Text:
    return Text(f"{'✓' if passed else '✗'} {text}", style=GOOD if passed else BAD)


def _seconds(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
