"""Commands about results that were saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kinetree.cli.app import Force, app, console, told
from kinetree.errors import FileError

ResultFile = Annotated[Path, typer.Argument(help="A result (.nc).", metavar="RESULT")]
Variables = Annotated[
    list[str] | None, typer.Option("--variable", help="Name of a variable to draw, e.g. tau; repeatable.")
]
Joints = Annotated[list[str] | None, typer.Option("--joint", help="Name of a joint to draw; repeatable.")]


@app.command()
def plot(
    result: ResultFile,
    output: Annotated[
        Path | None, typer.Option(help="Picture: .png, .pdf, .svg or .jpg.", show_default="RESULT.png")
    ] = None,
    variable: Variables = None,
    joint: Joints = None,
    force: Force = False,
) -> None:
    """Draw a result over time into a picture file."""
    from kinetree.report.output import check_output, check_picture, picture_bytes, write_file

    path = Path(f"{result.stem}.png") if output is None else output
    check_picture(path)
    check_output([path], force)

    from kinetree.report.result_plot import plot_result
    from kinetree.result.netcdf import load_result

    found = load_result(result)
    asked = found.settings.get("study", {}).get("file", {}).get("plot", {})
    names = variable or _listed(asked.get("variables"))
    write_file(
        path, picture_bytes(plot_result(found, *names, joints=joint or asked.get("joints")), path.suffix)
    )
    told(f"Wrote {path}")


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="A result (.nc).", metavar="FIRST")],
    second: Annotated[Path, typer.Argument(help="Another one.", metavar="SECOND")],
    output: Annotated[
        Path | None, typer.Option(help="Picture to write as well: .png, .pdf, .svg or .jpg.")
    ] = None,
    variable: Variables = None,
    joint: Joints = None,
    force: Force = False,
) -> None:
    """Show how two results differ, as a table and on request in the same axes."""
    from kinetree.report.output import check_output, check_picture, picture_bytes, write_file

    if output is not None:
        check_picture(output)
        check_output([output], force)

    from rich.table import Table
    from rich.text import Text

    from kinetree.report.result_plot import plot_comparison
    from kinetree.result.netcdf import load_result
    from kinetree.study.difference import difference_rows

    a, b = load_result(first), load_result(second)
    rows = difference_rows(a, b, variable)
    if output is not None:
        labels = (first.stem, second.stem)
        figure = plot_comparison(a, b, variable or (), labels=labels, joints=joint)
        write_file(output, picture_bytes(figure, output.suffix))
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("variable", "largest difference", "largest value", "unit", "at", "where"):
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(
            Text(row.variable, style="bold"), f"{row.difference:.3g}", f"{row.size:.3g}", row.unit,
            f"{row.time:.4g} s", Text(row.place),
        )  # fmt: skip
    console().print(table)
    if output is not None:
        told(f"Wrote {output}")


@app.command()
def export(
    result: ResultFile,
    output: Annotated[Path, typer.Argument(help="Table to write: .csv.", metavar="FILE.csv")],
    force: Force = False,
) -> None:
    """Write a result as a table: a row for every time, a column for every number."""
    from kinetree.report.output import check_output

    if output.suffix.lower() != ".csv":
        raise FileError(f"{output}: a result can be exported as .csv")
    check_output([output], force)

    from kinetree.result.netcdf import load_result

    load_result(result).to_csv(output, force)
    told(f"Wrote {output}")


def _listed(names: object) -> list[str]:
    return (
        [names]
        if isinstance(names, str)
        else [str(name) for name in names]
        if isinstance(names, list)
        else []
    )
