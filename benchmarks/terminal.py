"""A table in the terminal."""

from __future__ import annotations

from rich.table import Table as RichTable

from benchmarks.table import NOTHING, Table

WIDEST = 200  # columns of the printed tables when the output is no terminal
COLOURS = {"reached": "[green]reached[/]", "not reached": "[red]not reached[/]", "not measured": "[dim]-[/]"}


def rich_table(table: Table) -> RichTable:
    """A table for the terminal."""
    shown = RichTable(title=table.title, caption=table.note, title_justify="left", caption_justify="left")
    for k, head in enumerate(table.head):
        shown.add_column(head, justify="right" if is_number(table, k) else "left", overflow="fold")
    for row in table.rows:
        shown.add_row(*(COLOURS.get(cell, cell) for cell in row))
    return shown


def is_number(table: Table, k: int) -> bool:
    """Whether a column holds numbers."""
    cells = [row[k] for row in table.rows if row[k] not in (NOTHING, "one call")]
    return bool(cells) and all(cell[0].isdigit() for cell in cells) and k > 0
