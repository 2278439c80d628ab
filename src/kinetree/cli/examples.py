"""Commands about the studies that come with the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from kinetree.cli.app import AsJson, Force, Quiet, app, console, say
from kinetree.cli.help import PlainTyper
from kinetree.cli.names import complete_example

ExampleName = Annotated[
    str, typer.Argument(help="Name of an example.", autocompletion=complete_example, metavar="NAME")
]
examples_app = PlainTyper(invoke_without_command=True, rich_markup_mode=None, add_completion=False)
app.add_typer(examples_app, name="examples")


@examples_app.callback()
def examples(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the example studies, or copy one.

    Examples: kinetree examples; kinetree examples copy gripper_free_fall mine
    """
    if ctx.invoked_subcommand is None:
        _listed(as_json)


@examples_app.command("list")
def list_examples(as_json: AsJson = False) -> None:
    """List the examples, each with its mechanism in a line of characters.

    Example: kinetree examples list
    """
    _listed(as_json)


def _listed(as_json: bool) -> None:
    from kinetree.study.examples import examples as shipped

    if as_json:
        typer.echo(json.dumps([example._asdict() for example in shipped()]))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("name", no_wrap=True)
    for column in ("task", "mechanism", "what it shows"):
        table.add_column(column, overflow="fold")
    for example in shipped():
        name, picture = Text(example.name, style="bold"), Text(example.picture, style="cyan")
        table.add_row(name, example.task, picture, Text(example.title))
    console().print(table)
    say("\nRun one: kinetree run NAME. Copy one: kinetree examples copy NAME FOLDER.")


@examples_app.command("copy")
def copy(
    name: ExampleName,
    folder: Annotated[Path, typer.Argument(help="Folder to copy it to.", metavar="FOLDER")] = Path("."),
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Copy an example into a folder.

    Example: kinetree examples copy gripper_free_fall mine
    """
    from kinetree.study.examples import copy_example

    place = copy_example(name, folder, force)
    if not quiet:
        say(f"Wrote {place}")
