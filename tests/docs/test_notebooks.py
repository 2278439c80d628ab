"""Notebooks are the tutorials with stored outputs; tutorials are executed as pages, one notebook as such."""

import re
import warnings
from itertools import pairwise

import nbformat
import pytest

from support.pages import DOCS, ROOT, blocks, difference, docs_script

made = docs_script("make_notebooks")
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LARGEST = 500_000  # bytes
STEADY = [name for name in made.NAMES if name != "walker"]  # whose figures do not change with a tuned law


def read(name):
    return nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)


def page_of(name):
    return DOCS / "tutorials" / f"{name}.md"


def printed(cell):
    """What a cell has printed, errors of commands included."""
    return "".join(output.text for output in cell.outputs if output.output_type == "stream")


def test_every_tutorial_by_user_has_its_notebook():
    assert {path.stem for path in NOTEBOOKS} == set(made.NAMES)


@pytest.mark.parametrize("name", STEADY)
def test_notebooks_have_run(name):
    stored = read(name)
    nbformat.validate(stored)
    codes = [cell for cell in stored.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in codes)
    assert any(cell.outputs for cell in codes)
    assert not [x for cell in codes for x in cell.outputs if x.output_type == "error"]


@pytest.mark.parametrize("name", STEADY)
def test_a_notebook_has_the_code_of_its_tutorial(name):
    """``python docs/make_notebooks.py NAME`` after the code of a tutorial has changed."""
    stored, wanted = read(name), made.notebook_of(page_of(name).read_text(encoding="utf-8"))
    codes = [[x.source for x in book.cells if x.cell_type == "code"] for book in (stored, wanted)]
    assert codes[0] == codes[1]


@pytest.mark.parametrize("name", STEADY)
def test_stored_outputs_are_those_of_the_page(name):
    """Numbers agree as far as the page shows them."""
    texts = {cell.source: printed(cell) for cell in read(name).cells if cell.cell_type == "code"}
    found = blocks(page_of(name))
    compared = 0
    for block, after in pairwise(found):
        if block.language == "python" and after.language == "output" and not block.title:
            assert not difference(after.body, texts[block.body.rstrip()]), f"{name}: line {block.line}"
            compared += 1
    assert compared


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_small_and_link_to_files(path):
    assert path.stat().st_size < LARGEST
    prose = "\n".join(cell.source for cell in read(path.stem).cells if cell.cell_type == "markdown")
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", prose)
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_a_notebook_runs(tmp_path, monkeypatch):
    """The lightest one, by the machinery that makes all of them."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the kernel's own machinery
        done = made.executed(made.notebook_of("Text.\n\n```python\nprint(1 + 1)\n```\n"))
    assert [cell.cell_type for cell in done.cells] == ["markdown", "code"]
    assert printed(done.cells[1]) == "2\n"
