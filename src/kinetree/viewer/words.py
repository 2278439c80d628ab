"""Text for the page. Names come from files: nothing in them may act as markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from kinetree.report.palette import ALERT, GROUND

LONGEST_NAME = 60


def shown(text: object) -> str:
    """A text as HTML that shows it and does nothing else.

    >>> shown("<script>")
    '&lt;script&gt;'
    """
    return escape(str(text), quote=True)


def short(name: str) -> str:
    """A name cut to a length that fits beside an input."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def point(values: Iterable[float]) -> str:
    """Coordinates in m.

    >>> point([0.5, -0.0001])
    '0.500, 0.000 m'
    """
    return ", ".join(fixed(x) for x in values) + " m"


def fixed(value: float) -> str:
    """A number with three decimals, zero without a sign."""
    return f"{value:.3f}" if abs(value) >= 0.0005 else "0.000"


def paragraph(text: object, *, alert: bool = False, faint: bool = False) -> str:
    """A few lines of text as HTML."""
    color = f"color:{ALERT};" if alert else f"color:{GROUND};" if faint else ""
    return (
        f'<div style="{color}font-size:0.85em;padding:0.2em 0.6em;white-space:pre-wrap">{shown(text)}</div>'
    )


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table as HTML: names to the left, numbers to the right."""
    cell = "padding:0.1em 0.4em;overflow-wrap:anywhere;"
    right = f"{cell}text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap"
    parts = [
        f'<th style="{cell if k == 0 else right};font-weight:600">{shown(x)}</th>' for k, x in enumerate(head)
    ]
    lines = ["<tr>" + "".join(parts) + "</tr>"]
    for row in rows:
        parts = [f'<td style="{cell if k == 0 else right}">{shown(x)}</td>' for k, x in enumerate(row)]
        lines.append("<tr>" + "".join(parts) + "</tr>")
    style = "width:calc(100% - 1em);font-size:0.8em;border-collapse:collapse;margin:0.2em 0.5em 0.5em"
    return f'<table style="{style};text-align:left">{"".join(lines)}</table>'
