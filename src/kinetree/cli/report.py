"""The command that writes the report of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kinetree.cli.app import AllowCode, Force, MeshFolderOption, Quiet, app, output_option, read_result, say
from kinetree.cli.results import ResultFile
from kinetree.errors import InputError


@app.command()
def report(
    result: ResultFile,
    output: Annotated[Path | None, output_option("Page to write: .html; default RESULT.html.")] = None,
    force: Force = False,
    meshes: MeshFolderOption = None,
    case: Annotated[
        int | None,
        typer.Option(help="For a sweep: the case to animate; default chosen automatically.", metavar="N"),
    ] = None,
    allow_code: AllowCode = None,
    only_inside: Annotated[
        bool,
        typer.Option("--only-inside", help="For a sweep: refuse files outside the folder that it is in."),
    ] = False,
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    quiet: Quiet = False,
) -> None:
    """Write a result as a page with animation, curves and tables.

    The page is one self-contained file: it opens offline with a double click and can be sent and printed.

    Example: kinetree report fall.nc --open
    """
    from kinetree.report.html.page import check_report
    from kinetree.report.output import check_output

    path = Path(f"{result.stem}.html") if output is None else output
    check_report(path)
    check_output([path], force)

    if result.suffix.lower() == ".zarr":
        from kinetree.report.html.sweep_page import write_sweep_report

        write_sweep_report(
            result, path, case=case, force=force, allow_code=allow_code or [], only_inside=only_inside
        )
    elif case is not None or allow_code or only_inside:
        given = "--case" if case is not None else "--allow-code" if allow_code else "--only-inside"
        raise InputError(f"{given} is for stores of sweeps (.zarr), got {result}")
    else:
        read_result(result).report(path, force, meshes)
    if not quiet:
        say(f"Wrote {path}")
    if show:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
