"""Documents are cited by keys that the bibliography has; their numbers stand in one table only."""

import re

import pytest

from support.each import each
from support.pages import DOCS, ROOT

KEYS = {"Barman2020", "Xiang2009", "Mohan2007", "NCTU", "Shah2013"}
NUMBER = re.compile(r"(?<![\w.\\#/+-])(?<!\d )(?<!\d,)00[0-4](?![\w]|\.\d|,\d)")
PLACES = ("docs", "src/kinetree", "notebooks", "benchmarks", "tests")
OWN = "tests/docs/test_citations.py"  # has them as examples
ENDINGS = {".md", ".py", ".pyi", ".toml", ".ipynb"}


def texts():
    """Everything that a user reads, by its path."""
    found = [ROOT / "README.md", ROOT / "CHANGELOG.md"]
    for place in PLACES:
        found += sorted(path for path in (ROOT / place).rglob("*") if path.suffix in ENDINGS)
    for path in (x for x in found if x != ROOT / OWN):
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def test_the_numbers_of_the_documents_stand_in_one_table():
    table, stray = [], []
    for name, text in texts():
        for line in text.splitlines():
            if name == "docs/documents.md" and re.match(r"\| 00[0-4] \| \[\w+\] \|", line):
                table.append(line)
            elif NUMBER.search(line):
                stray.append(f"{name}: {line.strip()}")
    assert not stray, "cite documents by author and year:\n" + "\n".join(stray)
    assert {re.findall(r"\[(\w+)\]", line)[0] for line in table} == KEYS and len(table) == len(KEYS)


def test_page_and_bibtex_have_the_same_keys():
    page = (DOCS / "bibliography.md").read_text(encoding="utf-8")
    entries = re.findall(
        r"^@\w+\{(\w+),", (DOCS / "references.bib").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert set(re.findall(r"^## (\w+)$", page, re.MULTILINE)) == set(entries) == KEYS


def test_every_key_that_is_cited_exists():
    pattern = re.compile(r"\[([A-Z][a-z]+(?:19|20)\d\d[a-z]?)\]")
    strange = [f"{name}: {key}" for name, text in texts() for key in pattern.findall(text) if key not in KEYS]
    assert not strange


@pytest.mark.parametrize("text", ["004, Table 6.1", "(001)", "of 000 and 003.", "| 002 |", "see 002's eq. 3"])
def test_a_number_is_recognised(text):
    assert NUMBER.search(text)


@each("text", ["10_000", "340 000", "0.004", "1e-003", "5,000", "2000", "\\u0003", "#001"])
def test_other_numbers_are_left_alone(text):
    assert not NUMBER.search(text)
