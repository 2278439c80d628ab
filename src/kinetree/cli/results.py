"""Commands about results that were saved."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kinetree.cli.app import AsJson, Force, Quiet, app, console, output_option, read_result, say
from kinetree.cli.names import (
    complete_body,
    complete_joint,
    complete_picture_kind,
    complete_result,
    complete_variable,
)
from kinetree.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from kinetree.result.result import Result
    from kinetree.study.difference import Difference

ResultFile = Annotated[
    Path,
    typer.Argument(
        help="A result (.nc), or the store of a sweep (.zarr).",
        metavar="RESULT",
        autocompletion=complete_result,
    ),
]
Variables = Annotated[
    list[str] | None,
    typer.Option(
        "--variable",
        help="A variable to draw, e.g. tau; repeatable.",
        metavar="NAME",
        autocompletion=complete_variable,
    ),
]
Joints = Annotated[
    list[str] | None,
    typer.Option(
        "--joint", help="A joint to draw; repeatable.", metavar="NAME", autocompletion=complete_joint
    ),
]
Bodies = Annotated[
    list[str] | None,
    typer.Option(
        "--body",
        help="A body whose forces to draw, e.g. with --variable reaction or ground_force; repeatable.",
        metavar="NAME",
        autocompletion=complete_body,
    ),
]


@app.command()
def plot(
    result: ResultFile,
    output: Annotated[
        Path | None, output_option("Picture: .png, .pdf, .svg or .jpg; default RESULT.png.")
    ] = None,
    variable: Variables = None,
    joint: Joints = None,
    body: Bodies = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="torque_speed: what drives need, beside their limits. For a sweep: heat_map, curves, bands, "
            "distribution, optima, pareto, sensitivity, parallel, scatter; default by the kind of sweep.",
            metavar="KIND",
            autocompletion=complete_picture_kind,
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Draw a result over time into a picture file.

    Example: kinetree plot fall.nc --variable q --joint joint1
    """
    from kinetree.report.output import check_output, check_picture, picture_bytes, write_file

    path = Path(f"{result.stem}.png") if output is None else output
    check_picture(path)
    check_output([path], force)

    from kinetree.report.result_plot import plot_result

    found = read_result(result)
    asked = found.settings.get("study", {}).get("file", {}).get("plot", {})
    names = variable or ([] if kind or found.task == "sweep" else _listed(asked.get("variables")))
    figure = plot_result(
        found, *names, joints=joint or asked.get("joints"), bodies=body or asked.get("bodies"), kind=kind
    )
    write_file(path, picture_bytes(figure, path.suffix))
    if not quiet:
        say(f"Wrote {path}")


@app.command()
def compare(
    first: Annotated[
        Path,
        typer.Argument(
            help="A result (.nc), or a .mot or .sto file of OpenSim.",
            metavar="FIRST",
            autocompletion=complete_result,
        ),
    ],
    second: Annotated[
        Path, typer.Argument(help="Another one.", metavar="SECOND", autocompletion=complete_result)
    ],
    output: Annotated[
        Path | None,
        output_option("Also write a picture (.png, .pdf, .svg, .jpg) or page (.html)."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report", help="Page (.html) to write, with both motions and their curves.", metavar="PAGE"
        ),
    ] = None,
    variable: Variables = None,
    joint: Joints = None,
    body: Bodies = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show how two results differ: a table, a picture or a page.

    A table of OpenSim, motion or generalized forces, is compared with a result of the same model.

    Example: kinetree compare one.nc other.nc --report both.html; kinetree compare lab.nc ik.mot
    """
    from kinetree.report.html.page import check_report
    from kinetree.report.output import check_output, check_picture, picture_bytes, write_file

    if report is not None:
        check_report(report)
        check_output([report], force)
    page = output is not None and output.suffix.lower() in (".html", ".htm")
    if output is not None:
        if not page:
            check_picture(output)
        check_output([output], force)

    from kinetree.report.result_plot import plot_comparison
    from kinetree.study.difference import difference_notes, difference_rows

    a, b = _pair(first, second)
    rows = difference_rows(a, b, variable)
    labels = (first.stem, second.stem)
    pages = [x for x in (output if page else None, report) if x is not None]
    if pages:
        from kinetree.report.html.pair import pair_result

        for place in pages:
            pair_result(a, b, labels).report(place, force)
    if output is not None and not page:
        figure = plot_comparison(a, b, variable or (), labels=labels, joints=joint, bodies=body)
        write_file(output, picture_bytes(figure, output.suffix))
    if as_json:
        typer.echo(json.dumps([row._asdict() for row in rows]))
    elif not quiet:
        console().print(_difference_table(rows))
        for note in difference_notes(a, b, labels):
            say(f"note: {note}")
        for path in filter(None, (output, report)):
            say(f"Wrote {path}")


def _pair(first: Path, second: Path) -> tuple[Result, Result]:
    """Two results, of which one may be a table of OpenSim: then it is of the other's mechanism."""
    from kinetree.capture.table_result import TABLES, table_result

    tables = [path.suffix.lower() in TABLES for path in (first, second)]
    if all(tables):
        raise InputError(f"{first} and {second} are tables of OpenSim; one of both must be a result (.nc)")
    if tables[0]:
        b = read_result(second)
        return table_result(first, b.mechanism), b
    a = read_result(first)
    return a, table_result(second, a.mechanism) if tables[1] else read_result(second)


def _difference_table(rows: Sequence[Difference]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("variable", "largest difference", "largest value", "unit", "at", "where"):
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(
            Text(row.variable, style="bold"), f"{row.difference:.3g}", f"{row.size:.3g}", row.unit,
            f"{row.time:.4g} s", Text(row.place),
        )  # fmt: skip
    return table


def _listed(names: object) -> list[str]:
    return (
        [names]
        if isinstance(names, str)
        else [str(name) for name in names]
        if isinstance(names, list)
        else []
    )
