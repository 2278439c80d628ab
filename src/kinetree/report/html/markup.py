"""HTML that is safe by construction: every text is escaped unless it was made here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

VOID = ("img", "meta", "input", "br")


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def html(content: object) -> Html:
    """Anything as HTML: what is HTML stays, all else is escaped.

    >>> html("<script>")
    '&lt;script&gt;'
    """
    if isinstance(content, Html):
        return content
    if isinstance(content, list | tuple):
        return Html("".join(html(part) for part in content))
    return Html(escape(str(content)))


def element(kind: str, /, *content: object, **attributes: object) -> Html:
    """An element with its content; ``class_`` is class, underlines become dashes, None is left out.

    >>> element("td", "a < b", class_="number")
    '<td class="number">a &lt; b</td>'
    """
    pairs = [(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items()]
    stated = "".join(
        f" {key}" if value is True else f' {key}="{escape(str(value))}"'
        for key, value in pairs
        if value is not None and value is not False
    )
    if kind in VOID:
        return Html(f"<{kind}{stated}>")
    return Html(f"<{kind}{stated}>{html(content)}</{kind}>")


def table(
    head: Sequence[object], rows: Iterable[Sequence[object]], *, caption: str, numbers: int = 1
) -> Html:
    """A table whose columns from the index ``numbers`` on are set as numbers; none without rows."""
    cells = [
        element("tr", *(_cell("th" if k == 0 else "td", x, k >= numbers) for k, x in enumerate(row)))
        for row in rows
    ]
    if not cells:
        return Html("")
    top = element("tr", *(_cell("th", x, k >= numbers, scope="col") for k, x in enumerate(head)))
    return element(
        "div",
        element("table", element("caption", caption), element("thead", top), element("tbody", *cells)),
        class_="scroll",
    )


def _cell(name: str, content: object, is_number: bool, scope: str = "row") -> Html:
    return element(name, content, class_="n" if is_number else None, scope=scope if name == "th" else None)
