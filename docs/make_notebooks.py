"""Makes the notebooks from the tutorials, with their outputs: ``python docs/make_notebooks.py [NAME ...]``.

A tutorial and its notebook are one text: prose becomes Markdown cells, Python blocks become code cells, files
are written by cells, commands are run by cells. Pictures that a block saves are shown by a cell of their own.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

DOCS = Path(__file__).parent
NOTEBOOKS = DOCS.parent / "notebooks"
NAMES = ("arm", "walker", "human", "parallel", "teaching")
FENCE = re.compile(r"^```(?P<language>[a-z]+)(?P<options>[^\n]*)\n(?P<body>.*?)^```$\n?", re.M | re.S)
TITLE = re.compile(r'title="([^"]+)"')
PICTURE = re.compile(r"^!\[[^\]]*\]\(\.\./images/tutorials/(?P<name>[^)]+)\)$\n?", re.M)
LINK = re.compile(r"\]\((?!https?:|#)(?P<target>[^)]+)\)")


def notebook_of(page: str) -> Any:
    """The notebook of a tutorial, without outputs."""
    cells, end = [], 0
    for found in FENCE.finditer(page):
        cells += _prose(page[end : found.start()])
        cells += _code(found)
        end = found.end()
    cells += _prose(page[end:])
    for k, cell in enumerate(cells):
        cell["id"] = f"cell-{k:02d}"
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return new_notebook(cells=cells, metadata=metadata)


def _prose(text: str) -> list[Any]:
    """Markdown cells; a picture that a block has saved becomes a cell that shows it."""
    cells, end = [], 0
    for found in PICTURE.finditer(text):
        cells += _markdown(text[end : found.start()])
        source = f'from IPython.display import Image\n\nImage("{found["name"]}")'
        cells.append(new_code_cell(source))
        end = found.end()
    return cells + _markdown(text[end:])


def _markdown(text: str) -> list[Any]:
    linked = LINK.sub(lambda found: f"]({_place(found['target'])})", text).strip()
    return [new_markdown_cell(linked)] if linked else []


def _place(target: str) -> str:
    """Where a link of a tutorial leads from the folder of notebooks."""
    path, mark, heading = target.partition("#")
    place = os.path.normpath(os.path.join("..", "docs", "tutorials", path))
    return place.replace(os.sep, "/") + mark + heading


def _code(found: re.Match[str]) -> list[Any]:
    language, body, title = found["language"], found["body"].rstrip(), TITLE.search(found["options"])
    if title:
        return [new_code_cell(f"%%writefile {title[1]}\n{body}")]
    if language == "python":
        return [new_code_cell(body)]
    if language == "console":
        commands = [line[2:] for line in body.splitlines() if line.startswith("$ ")]
        return [new_code_cell("\n".join(f"!{command}{_silent(command)}" for command in commands))]
    return []  # outputs are the notebook's own


def _silent(command: str) -> str:
    """What keeps a command that would ask questions in a terminal from asking."""
    return " < /dev/null" if command.startswith("kinetree new") else ""


def executed(notebook: Any) -> Any:
    """The notebook with its outputs, run in a folder of its own."""
    from nbclient import NotebookClient

    plain = {"NO_COLOR": "1", "COLUMNS": "100", "TERM": "dumb", "PYTHONWARNINGS": "ignore"}
    path = str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"]
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}})
        done = client.execute(env=os.environ | plain | {"PATH": path})
    for cell in done.cells:
        cell.metadata.pop("execution", None)
        if "outputs" in cell:  # notices of compiling are no part of the answer
            cell.outputs = [x for x in cell.outputs if x.get("name") != "stderr"]
    return done


def main(names: list[str]) -> None:
    """Convert, run and save."""
    for name in names or NAMES:
        page = (DOCS / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
        path = NOTEBOOKS / f"{name}.ipynb"
        nbformat.write(executed(notebook_of(page)), path)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
