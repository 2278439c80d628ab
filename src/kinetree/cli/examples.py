"""Commands about the studies that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kinetree.cli.app import Force, app, console, told


def complete_example(incomplete: str) -> list[str]:
    """Names of examples for the shell's completion; this reads only the names of files."""
    folder = Path(__file__).parents[1] / "examples"
    return sorted(path.stem for path in folder.glob(f"{incomplete}*.toml"))


ExampleName = Annotated[
    str, typer.Argument(help="Name of an example.", autocompletion=complete_example, metavar="NAME")
]
examples_app = typer.Typer(help="List the studies that come with Kinetree, or copy one to change it.")
app.add_typer(examples_app, name="examples", invoke_without_command=True)


@examples_app.callback()
def examples(ctx: typer.Context) -> None:
    """List the studies that come with Kinetree, or copy one to change it."""
    if ctx.invoked_subcommand is not None:
        return
    from rich.table import Table
    from rich.text import Text

    from kinetree.study.examples import examples as shipped

    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("name", "task", "what it shows"):
        table.add_column(column, overflow="fold")
    for example in shipped():
        table.add_row(Text(example.name, style="bold"), example.task, Text(example.title))
    console().print(table)
    told("\nRun one: kinetree run NAME. Copy one: kinetree examples copy NAME FOLDER.")


@examples_app.command("copy")
def copy(
    name: ExampleName,
    folder: Annotated[Path, typer.Argument(help="Folder to copy it to.", metavar="FOLDER")] = Path("."),
    force: Force = False,
) -> None:
    """Copy an example into a folder."""
    from kinetree.study.examples import copy_example

    told(f"Wrote {copy_example(name, folder, force)}")
