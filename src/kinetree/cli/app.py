"""The command line itself: its errors, exit codes, and what all commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from kinetree.errors import KinetreeError

if TYPE_CHECKING:
    from rich.console import Console

BAD_INPUT, INTERRUPTED = 2, 130
Model = Annotated[str, typer.Argument(help="Name of a mechanism (see 'zoo') or a .toml, .urdf or .xml file.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]


FIRST = ("run", "examples", "demo", "plot", "compare", "export")


class Commands(TyperGroup):
    """Turns errors about the input into a line each, and an interruption into its exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands as the help shows them: those for studies and results first."""
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except KinetreeError as error:
            show_error(str(error))
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    name="kinetree",
    cls=Commands,
    help="Dynamics and motion of articulated systems.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Entry point of the ``kinetree`` command; what a terminal cannot print becomes a question mark."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()


def _print_version(wanted: bool) -> None:
    if wanted:
        from kinetree import __version__

        typer.echo(f"kinetree {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def console(*, stderr: bool = False) -> Console:
    """The terminal."""
    from rich.console import Console

    return Console(stderr=stderr)


def told(text: str, *, stderr: bool = False, style: str | None = None) -> None:
    """Print a text as it is, without wrapping or colouring what is in it."""
    console(stderr=stderr).print(
        text, style=style, soft_wrap=True, markup=False, highlight=False, emoji=False
    )


def show_error(message: str) -> None:
    """Print what is wrong, one line for each complaint."""
    for k, line in enumerate(message.split("\n")):
        told(f"{'error: ' if k == 0 else '       '}{line}", stderr=True, style="red")


@contextmanager
def progress_bar(name: str, wanted: bool = True) -> Iterator[Callable[[float], None] | None]:
    """A function to be told the part that is done, with a bar that only a terminal sees."""
    from rich.progress import Progress

    terminal = console(stderr=True)
    if not wanted or not terminal.is_terminal:
        yield None
        return
    with Progress(console=terminal, transient=True) as bar:
        task = bar.add_task(name, total=1.0)
        yield lambda part: bar.update(task, completed=part)
