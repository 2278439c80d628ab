"""What is done to pages while the site is built."""

from types import SimpleNamespace

import griffe
import pytest

from support.pages import docs_script

hooks, docstrings = docs_script("hooks"), docs_script("docstrings")


def drawn(markdown, source="theory/page.md"):
    """A page after both steps, without Markdown between them."""
    page = SimpleNamespace(meta={}, file=SimpleNamespace(src_uri=source))
    return hooks.on_page_content(hooks.on_page_markdown(markdown, page, None, None), page, None, None)


def test_formulas_become_mathml():
    text = drawn("Let $q_1$ and $$ M \\ddot q = \\tau $$ be.")
    assert text.count("<math") == 2 and text.count('display="block"') == 1
    assert "$" not in text and text.startswith("Let ") and text.endswith(" be.")


@pytest.mark.parametrize("text", ["costs $5 and $6 each", "`$x$`", "```sh\n$ kinetree run $x$\n```", "a$b$c"])
def test_what_is_no_formula_stays(text):
    assert drawn(text) == text


def test_many_formulas_come_back_in_their_places():
    text = drawn(" ".join(f"${k}$" for k in range(30)))
    assert [part.split("</mn>")[0] for part in text.split("<mn>")[1:]] == [str(k) for k in range(30)]


def test_links_out_of_the_documentation_are_named():
    assert drawn("[it](../../README.md)") == "it (`README.md`)"
    assert drawn("[it](../notation.md)") == "[it](../notation.md)"
    assert drawn("[it](../benchmarks/README.md)", "benchmarks.md") == "it (`benchmarks/README.md`)"


def test_signatures_show_types_without_declarations():
    package = griffe.load(
        "kinetree.motion.terms",
        search_paths=["src"],
        extensions=griffe.Extensions(docstrings.PlainDocstrings()),
    )
    shown = {x.name: str(x.annotation) for x in package["reach.KeepOut.__init__"].parameters}
    assert shown == {
        "self": "None", "body": "str", "center": "ArrayLike", "radius": "float", "points": "ArrayLike",
        "of": "str", "at": "Where",
    }  # fmt: skip


def test_docstrings_become_markdown():
    text = "A sum, see :func:`~kinetree.run`.\n\n>>> 1 + 1  # doctest: +SKIP\n2\n\nMore.\n\n>>> 3\n3"
    wanted = "A sum, see `kinetree.run`.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore.\n\n```pycon\n>>> 3\n3\n```"
    assert docstrings.as_markdown(text) == wanted
