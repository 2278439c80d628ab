"""The command that writes the report of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kinetree.cli.app import Force, app, told
from kinetree.cli.results import ResultFile


@app.command()
def report(
    result: ResultFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Page to write: .html.", show_default="RESULT.html")
    ] = None,
    force: Force = False,
    meshes: Annotated[
        Path | None, typer.Option(help="Folder of the mechanism's mesh files (.stl, .obj), to draw them.")
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Write a result as a page with animation, curves, tables and audit, all in one file."""
    from kinetree.report.html.page import check_report
    from kinetree.report.output import check_output

    path = Path(f"{result.stem}.html") if output is None else output
    check_report(path)
    check_output([path], force)

    from kinetree.result.netcdf import load_result

    load_result(result).report(path, force, meshes)
    told(f"Wrote {path}")
    if show:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
