"""The command that shows what the library can do."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Annotated

from kinetree.cli.app import Force, Quiet, app, console, output_option, progress_bar, say


@app.command()
def demo(
    output: Annotated[
        Path | None,
        output_option(
            "Folder for demo.png and demo.csv; default demo, or demo2, ... if it exists.", "FOLDER"
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Drive a gripper and let it fall; write a picture and a table.

    Example: kinetree demo --output mine
    """
    from kinetree.report.output import check_output, picture_bytes, write_file

    folder = (Path("demo") if force else _new_folder()) if output is None else output
    picture, table = folder / "demo.png", folder / "demo.csv"
    check_output([picture, table], force)

    from kinetree.report.plots import demo_figure
    from kinetree.report.tables import demo_csv
    from kinetree.report.terminal import demo_report
    from kinetree.study.demo import run_demo

    with progress_bar("free fall", wanted=not quiet) as progress:
        found = run_demo(progress)
    content = {picture: picture_bytes(demo_figure(found)), table: demo_csv(found).encode()}
    for path, written in content.items():
        write_file(path, written)
    if not quiet:
        console().print(demo_report(found))
        say(f"Wrote {picture} and {table}")


def _new_folder() -> Path:
    """The first of demo, demo2, demo3, ... that does not exist."""
    names = (Path("demo" if k == 1 else f"demo{k}") for k in count(1))
    return next(path for path in names if not path.exists())
