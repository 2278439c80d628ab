"""Notebooks are the tutorials with stored outputs.

All tutorials are executed as pages (test_page_blocks); the notebooks that take few seconds are executed as
notebooks, too, and what they print now is compared with what is stored.
"""

import copy
import re
import warnings
from itertools import pairwise

import nbformat
import pytest

from support.pages import DOCS, ROOT, blocks, difference, docs_script

made = docs_script("make_notebooks")
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LARGEST = 500_000  # bytes
QUICK = ("arm", "walker", "teaching")  # 40 s of processor time; the other two take 55 s, and run as pages


def read(name):
    return nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)


def page_of(name):
    return DOCS / "tutorials" / f"{name}.md"


def printed(cell):
    """What a cell has printed, errors of commands included, without bold and faint type."""
    text = "".join(output.text for output in cell.outputs if output.output_type == "stream")
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_every_tutorial_by_user_has_its_notebook():
    assert {path.stem for path in NOTEBOOKS} == set(made.NAMES)


@pytest.mark.parametrize("name", made.NAMES)
def test_notebooks_have_run(name):
    stored = read(name)
    nbformat.validate(stored)
    codes = [cell for cell in stored.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in codes)
    assert any(cell.outputs for cell in codes)
    assert not [x for cell in codes for x in cell.outputs if x.output_type == "error"]
    assert not [cell.source for cell in codes if "\x1b" in printed(cell)]  # such as a bar of progress


@pytest.mark.parametrize("name", made.NAMES)
def test_a_notebook_has_the_code_of_its_tutorial(name):
    """``python docs/make_notebooks.py NAME`` after the code of a tutorial has changed."""
    stored, wanted = read(name), made.notebook_of(page_of(name).read_text(encoding="utf-8"))
    codes = [[x.source for x in book.cells if x.cell_type == "code"] for book in (stored, wanted)]
    assert codes[0] == codes[1]


def shown_on_the_page(name):
    """What the page shows below each Python block and each command, by the code of their cells."""
    found = blocks(page_of(name))
    wanted = {}
    for block, after in pairwise([*found, None]):
        if block.title:
            continue
        if block.language == "python" and after is not None and after.language == "output":
            wanted[block.body.rstrip()] = after.body
        elif block.language == "console":
            (cell,) = made.notebook_of(f"```console\n{block.body}```\n").cells
            lines = [line for line in block.body.splitlines() if not line.startswith("$ ")]
            wanted[cell.source] = "\n".join(lines)
    return wanted


@pytest.mark.parametrize("name", made.NAMES)
def test_stored_outputs_are_those_of_the_page(name):
    """Numbers agree as far as the page shows them."""
    texts = {cell.source: printed(cell) for cell in read(name).cells if cell.cell_type == "code"}
    wanted = shown_on_the_page(name)
    assert wanted
    assert [wrong for code, text in wanted.items() if (wrong := difference(text, texts[code]))] == []


@pytest.mark.parametrize("name", QUICK)
def test_a_stored_notebook_prints_again_what_it_has(name, tmp_path, monkeypatch):
    """Where the page leaves a figure open, as those of time, so does the comparison."""
    monkeypatch.delenv("MPLBACKEND", raising=False)  # figures are shown below their cells
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    stored, wanted = read(name), shown_on_the_page(name)
    emptied = copy.deepcopy(stored)
    for cell in emptied.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the kernel's own machinery
        done = made.executed(emptied)
    for before, after in zip(stored.cells, done.cells, strict=True):
        if before.cell_type == "code":
            text = wanted.get(before.source, printed(before))
            assert not difference(text, printed(after)), before.source
            assert kinds(before) == kinds(after), before.source


def kinds(cell):
    """What a cell shows besides text: pictures, tables."""
    return [sorted(x.data) for x in cell.outputs if x.output_type in ("display_data", "execute_result")]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_small_and_link_to_files(path):
    assert path.stat().st_size < LARGEST
    prose = "\n".join(cell.source for cell in read(path.stem).cells if cell.cell_type == "markdown")
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", prose)
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_a_notebook_runs(tmp_path, monkeypatch):
    """One of a single cell, by the machinery that makes all of them."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the kernel's own machinery
        done = made.executed(made.notebook_of("Text.\n\n```python\nprint(1 + 1)\n```\n"))
    assert [cell.cell_type for cell in done.cells] == ["markdown", "code"]
    assert printed(done.cells[1]) == "2\n"
