"""The list of the documents' items: every row names something that exists, and the counts are right."""

import re
from collections import Counter

import pytest

import kinetree as kt
from kinetree.cli.commands import COMMANDS
from kinetree.study.examples import example_names
from support.pages import DOCS, ROOT

PAGE = (DOCS / "documents.md").read_text(encoding="utf-8")
ITEMS = {"Barman2020": 47, "Xiang2009": 28, "Mohan2007": 19, "NCTU": 11, "Shah2013": 82}
STATES = ("works", "better", "different", "partial", "missing")
HEAD = ["item", "place", "state", "where it is here", "shown by"]


def rows(document):
    """The rows of a document's table: item, place, state, where, shown by."""
    section = re.search(rf"^## Items of {document}\n\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section, document
    lines = [line for line in section[1].splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0] == HEAD
    return cells[2:]


ROWS = [(document, row) for document in ITEMS for row in rows(document)]


def exists(name):
    """Whether a name of the page is something: a public name, a file, a test, an example, a command."""
    if name.startswith("kt."):
        return public(name.split(".")[1:])
    if name.startswith("mechanism."):
        return hasattr(kt.Mechanism, name.split(".")[1])
    if name.startswith("kinetree "):
        return name.split()[1] in COMMANDS
    if "::" in name:
        file, test = name.split("::")
        path = ROOT / "tests" / file
        return path.exists() and re.search(rf"^def {test}\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    places = (ROOT / "src" / "kinetree" / name, ROOT / "tests" / name, ROOT / name)
    return name in example_names() or any(path.exists() for path in places)


def public(path):
    found = kt
    for part in path:
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


def linked(target):
    """Whether a link leads to a page and, if it names one, to a heading of it."""
    page, _, heading = target.partition("#")
    path = DOCS / page
    if not path.exists() or not heading:
        return path.exists()
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return heading in {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


def test_every_item_is_listed():
    assert Counter(document for document, _ in ROWS) == ITEMS
    assert sum(ITEMS.values()) == 187


@pytest.mark.parametrize("document", ITEMS)
def test_every_row_names_something_that_exists(document):
    for row in rows(document):
        assert len(row) == len(HEAD) and all(row), row
        assert row[2].startswith(STATES), row
        for cell in row[3:]:
            names, links = re.findall(r"`([^`]+)`", cell), re.findall(r"\]\(([^)]+)\)", cell)
            assert names or links, f"{document}, {row[1]}: '{cell}' names nothing"
            wrong = [name for name in names if not exists(name)] + [x for x in links if not linked(x)]
            assert not wrong, f"{document}, {row[1]}: {wrong}"
        links = re.findall(r"\]\(([^)]+)\)", row[2])
        assert all(map(linked, links)), (row[1], links)


def test_the_counts_are_those_of_the_rows():
    for document, items in [*ITEMS.items(), ("all", 187)]:
        states = [row[2] for name, row in ROWS if document in (name, "all")]
        counts = [sum(state.startswith(word) for state in states) for word in STATES]
        label = "all" if document == "all" else f"[{document}]"
        line = "| " + " | ".join([label, str(items), *map(str, counts)]) + " |"
        assert line in PAGE, f"the table of counts needs\n{line}"


@pytest.mark.parametrize(
    "name",
    [
        "kt.nothing",
        "kt.terms.Nothing",
        "kinetree nothing",
        "no/file.py",
        "no_example",
        "model/test_dh.py::no",
    ],
)
def test_what_does_not_exist_is_noticed(name):
    assert not exists(name)
