"""What happens to the pages while the site is built: formulas become MathML.

Nothing is fetched: a formula between dollar signs is written as MathML, which browsers draw themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from latex2mathml.converter import convert

CODE = re.compile(r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)\s*?$|(?P<ticks>`+)[^`].*?(?P=ticks)", re.M | re.S)
FORMULA = re.compile(
    r"\$\$(?P<block>.+?)\$\$|(?<![\\\w$])\$(?P<inline>[^\s$](?:[^$\n]*?[^\s$])?)\$(?![\w$])", re.S
)
OUTSIDE = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<up>(?:\.\./)+)(?P<path>[^)]+)\)")
CITED = re.compile(r"(?<!\[)\[(?P<key>Barman2020|Xiang2009|Mohan2007|NCTU|Shah2013)\](?![\[(\]])")
THUMBNAIL = re.compile(r'<img [^>]*src="(?P<file>[^"]*images/gallery/[^"]*)"[^>]*>')
PLACE = "kinetreeformula{}x{}x"


# ---- the steps of MkDocs --------------------------------------------------------------------------------


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Formulas are put aside, and what is not part of the site is named, not linked."""
    markdown = _outside_code(markdown, lambda text: unlinked(text, page.file.src_uri))
    markdown = _outside_code(markdown, lambda text: cited(text, page.file.src_uri))
    page.meta["formulas"] = []
    return _outside_code(markdown, lambda text: FORMULA.sub(lambda m: _put_aside(m, page), text))


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """The formulas come back, and thumbnails of the gallery lead to their pictures."""
    for k, formula in enumerate(page.meta.get("formulas", [])):
        html = html.replace(PLACE.format(k, len(formula)), formula)
    if page.file.src_uri != "gallery.md":
        return html
    return THUMBNAIL.sub(lambda found: f'<a class="thumbnail" href="{found["file"]}">{found[0]}</a>', html)


def _put_aside(found: re.Match[str], page: Any) -> str:
    block = found["block"]
    formula = mathml(block if block is not None else found["inline"], block is not None)
    page.meta["formulas"].append(formula)
    return PLACE.format(len(page.meta["formulas"]) - 1, len(formula))


def mathml(latex: str, block: bool = False) -> str:
    """A formula for the browser."""
    return convert(latex.strip(), display="block" if block else "inline")


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """A text changed but for what is code in it."""
    return "".join(part if code else change(part) for code, part in _parts(text))


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    end = 0
    for found in CODE.finditer(text):
        yield False, text[end : found.start()]
        yield True, found[0]
        end = found.end()
    yield False, text[end:]


def unlinked(text: str, source: str) -> str:
    """Links that leave the folder of the documentation become names of files."""
    depth = source.count("/")

    def change(found: re.Match[str]) -> str:
        leaves = found["up"].count("..") > depth
        return f"{found['text']} (`{found['path']}`)" if leaves else found[0]

    return OUTSIDE.sub(change, text)


def cited(text: str, source: str) -> str:
    """Keys of documents lead to the bibliography.

    >>> cited("as in [Shah2013], Table 6.1", "theory/index.md")
    'as in [[Shah2013]](../bibliography.md#shah2013), Table 6.1'
    """
    up = "../" * source.count("/")
    return CITED.sub(lambda found: f"[{found[0]}]({up}bibliography.md#{found['key'].lower()})", text)
