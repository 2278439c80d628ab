"""Commands that show what the library can do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kinetree.cli.app import Force, app, console, progress_bar, told


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="Folder for demo.png and demo.csv.")] = Path("demo"),
    force: Force = False,
) -> None:
    """Drive a gripper along a trajectory, let it fall, and leave a picture and a table."""
    from kinetree.report.output import check_output, picture_bytes, write_file

    picture, table = output / "demo.png", output / "demo.csv"
    check_output([picture, table], force)

    from kinetree.report.plots import demo_figure
    from kinetree.report.tables import demo_csv
    from kinetree.report.terminal import demo_report
    from kinetree.study.demo import run_demo

    with progress_bar("free fall") as progress:
        found = run_demo(progress)
    content = {picture: picture_bytes(demo_figure(found)), table: demo_csv(found).encode()}
    for path, written in content.items():
        write_file(path, written)
    console().print(demo_report(found))
    told(f"Wrote {picture} and {table}")


@app.command()
def stability(
    output: Annotated[Path, typer.Option(help="Folder for stability.png.")] = Path("stability"),
    force: Force = False,
) -> None:
    """Compare recursive forward dynamics with the Cholesky decomposition on the PUMA (002, section 5)."""
    from kinetree.report.output import check_output, picture_bytes, write_file

    picture = output / "stability.png"
    check_output([picture], force)

    from kinetree.report.stability import stability_figure, stability_report
    from kinetree.study.stability import run_stability

    with progress_bar("simulations") as progress:
        found = run_stability(progress=progress)
    write_file(picture, picture_bytes(stability_figure(found)))
    console().print(stability_report(found))
    told(f"Wrote {picture}")
