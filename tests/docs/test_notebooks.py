"""The notebooks run from top to bottom, and are kept without what they show."""

import warnings
from pathlib import Path

import nbformat
import pytest

from support.pages import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def read(path):
    return nbformat.read(path, as_version=4)


def test_there_are_notebooks():
    assert {path.stem for path in NOTEBOOKS} >= {"arm", "walk"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path):
    notebook = read(path)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert not cell.get("outputs") and not cell.get("execution_count"), "clear all outputs before saving"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path, tmp_path, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the kernel's own machinery
        from nbclient import NotebookClient

        monkeypatch.setenv("MPLBACKEND", "agg")
        monkeypatch.setenv("PYTHONWARNINGS", "ignore")
        monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
        done = NotebookClient(
            read(path), timeout=300, resources={"metadata": {"path": str(tmp_path)}}
        ).execute()
    codes = [cell for cell in done.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in codes)
    assert any(cell.outputs for cell in codes)
    assert not list(Path(tmp_path).glob("*.ipynb"))
