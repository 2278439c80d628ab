"""The command that writes the report of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kinetree.cli.app import Force, Quiet, app, output_option, told
from kinetree.cli.results import ResultFile


@app.command()
def report(
    result: ResultFile,
    output: Annotated[Path | None, output_option("Page to write: .html; RESULT.html unless given.")] = None,
    force: Force = False,
    meshes: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the mechanism's mesh files (.stl, .obj), to draw them.", metavar="FOLDER"
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    quiet: Quiet = False,
) -> None:
    """Write a result as a page with animation, curves and tables.

    It is one file that needs nothing else: it opens offline by a double click, can be sent and printed.

    Example: kinetree report fall.nc --open
    """
    from kinetree.report.html.page import check_report
    from kinetree.report.output import check_output

    path = Path(f"{result.stem}.html") if output is None else output
    check_report(path)
    check_output([path], force)

    from kinetree.result.netcdf import load_result

    load_result(result).report(path, force, meshes)
    if not quiet:
        told(f"Wrote {path}")
    if show:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
