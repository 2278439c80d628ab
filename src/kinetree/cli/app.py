"""The command line itself: its errors, exit codes, and what all commands share."""

from __future__ import annotations

import errno
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.main
from typer.core import TyperGroup

from kinetree.cli.commands import COMMANDS, SECTIONS
from kinetree.cli.completion import prepare_completion
from kinetree.cli.help import PlainTyper
from kinetree.cli.names import complete_model
from kinetree.errors import InputError, KinetreeError

if TYPE_CHECKING:
    from rich.console import Console

BAD_INPUT, FAILED, INTERRUPTED = 2, 3, 130
Model = Annotated[
    str,
    typer.Argument(
        help="Name of a mechanism (see 'zoo'), a .toml, .urdf, .xacro, .sdf, .xml or .osim file, or a study.",
        metavar="MODEL",
        autocompletion=complete_model,
    ),
]
MeshFolderOption = Annotated[
    Path | None,
    typer.Option("--meshes", help="Folder of the mesh files, if they have moved.", metavar="FOLDER"),
]
MeshesFrom = Annotated[
    str | None,
    typer.Option(
        "--folder", help="Folder above a .urdf, .sdf or .xml file that contains its meshes.", metavar="FOLDER"
    ),
]
Packages = Annotated[
    list[str] | None,
    typer.Option(
        "--packages",
        help="Folder of a package:// or model:// in a .urdf or .sdf file; repeatable.",
        metavar="NAME=FOLDER",
    ),
]
FloatingBase = Annotated[
    bool | None,
    typer.Option(
        "--floating-base/--fixed-base",
        help="Add a free joint at the root of a .urdf, or fix the root of a .sdf to the world.",
        show_default=False,
    ),
]
Root = Annotated[
    str | None,
    typer.Option(
        "--root", help="Root link of a .urdf, or model of a .sdf, if there are several.", metavar="NAME"
    ),
]
Arguments = Annotated[
    list[str] | None,
    typer.Option("--arg", help="Argument of a file with xacro macros; repeatable.", metavar="NAME:=VALUE"),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Plot = Annotated[
    Path | None, typer.Option(help="Also write a picture: .png, .pdf, .svg, .jpg.", metavar="FILE")
]
Page = Annotated[Path | None, typer.Option(help="Also write a report: .html.", metavar="FILE")]
AllowCode = Annotated[
    list[str] | None,
    typer.Option(help="Python file next to the study that may be run; repeatable.", metavar="FILE.py"),
]


def output_option(about: str, metavar: str = "FILE") -> Any:
    """The option that names a file or folder to write."""
    return typer.Option("--output", "-o", help=about, metavar=metavar, show_default=False)


def read_options(
    folder: str | None = None,
    packages: list[str] | None = None,
    floating_base: bool | None = None,
    root: str | None = None,
    arguments: list[str] | None = None,
) -> dict[str, Any]:
    """Options for reading a model, as the library takes them; only those that were given."""
    named = {}
    for text in packages or []:
        name, equals, place = text.partition("=")
        if not (name and equals and place):
            raise InputError(f"--packages takes NAME=FOLDER, got '{text}'")
        named[name] = place
    values = {}
    for text in arguments or []:
        found = re.fullmatch(r"([^:=]+):?=(.*)", text, re.DOTALL)
        if found is None:
            raise InputError(f"--arg takes NAME:=VALUE, got '{text}'")
        values[found[1]] = found[2]
    given = {
        "folder": folder,
        "packages": named or None,
        "floating_base": floating_base,
        "root": root,
        "arguments": values or None,
    }
    return {key: value for key, value in given.items() if value is not None}


class Commands(TyperGroup):
    """Loads a command when it is called; turns errors about the input into a line each, and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, as the help shows them."""
        return [*COMMANDS, *(name for name in self.commands if name not in COMMANDS)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name; a wrong name loads them all, so that the nearest can be suggested."""
        for name in [cmd_name] if cmd_name in COMMANDS else COMMANDS:
            if name not in self.commands:
                self.commands[name] = _loaded(name)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands for the help, by what they are about."""
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, about) for name, (_, about) in commands.items()])

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            with terminable(), warnings.catch_warnings():
                warnings.simplefilter("default", UserWarning)
                warnings.showwarning = _warning_printer()
                return super().invoke(ctx)
        except KinetreeError as error:
            show_error(str(error))
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            say("interrupted", stderr=True, style="red")
            raise typer.Exit(INTERRUPTED) from None
        except MemoryError:
            show_error("not enough memory; use fewer samples, states or motions")
            raise typer.Exit(BAD_INPUT) from None
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            show_error(f"the output cannot be printed: {error.strerror}")
            raise typer.Exit(BAD_INPUT) from None


app = PlainTyper(
    name="kinetree",
    cls=Commands,
    help="Dynamics and motion of articulated systems.",
    epilog="Example: kinetree run gripper_free_fall --report fall.html\n\n"
    "Exit codes: 0 done, 2 the input is wrong, 3 computed but not passed, 130 interrupted.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich is slow to load
)


def _loaded(name: str) -> Any:
    """The command that its file adds to the app."""
    import_module(f"kinetree.cli.{COMMANDS[name][0]}")
    for group in app.registered_groups:
        if group.name == name and group.typer_instance is not None:
            command = typer.main.get_command(group.typer_instance)
            command.name = name
            return command
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    alone.registered_commands = [info for info in app.registered_commands if name_of(info) == name]
    return typer.main.get_command(alone)


def name_of(info: Any) -> str:
    """The name of a command that was added to the app: its own, or that of its function."""
    return str(info.name or info.callback.__name__)


@contextmanager
def terminable() -> Iterator[None]:
    """Let a request to terminate be heard as Ctrl-C is, so that what was computed is kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler):
            handler(signal.SIGINT, frame)
        else:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def reading() -> Iterator[None]:
    """In here a file is read, maybe by C code that hears no exception: signals end the process at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def numbers_of(text: str, what: str) -> list[float]:
    """The numbers of an option, which commas or spaces separate."""
    try:
        return [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        raise InputError(f"{what} must be numbers separated by commas, got '{text}'") from None


def read_result(path: Any) -> Any:
    """The result in a file, of which Ctrl-C and requests to terminate are heard while it is read."""
    from kinetree.result.netcdf import load_result

    with reading():
        return load_result(path)


def main() -> None:
    """Entry point of the ``kinetree`` command; what a terminal cannot print becomes a question mark."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    prepare_completion()
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


def say(text: str, *, stderr: bool = False, style: str | None = None) -> None:
    """Print a text as it is, without wrapping or coloring what is in it."""
    console(stderr=stderr).print(
        text, style=style, soft_wrap=True, markup=False, highlight=False, emoji=False
    )


def show_error(message: str) -> None:
    """Print what is wrong, one line for each complaint."""
    for k, line in enumerate(message.split("\n")):
        say(f"{'error: ' if k == 0 else '       '}{line}", stderr=True, style="red")


def _warning_printer() -> Callable[..., None]:
    """A function that prints each warning of a command once, without the place in the code it came from."""
    printed: set[str] = set()

    def show(message: Warning | str, *place: Any, **more: Any) -> None:
        text = str(message)
        if text not in printed:
            printed.add(text)
            say(f"warning: {text}", stderr=True, style="yellow")

    return show


@contextmanager
def progress_bar(name: str, wanted: bool = True) -> Iterator[Callable[[float], None] | None]:
    """A function that takes the part that is done, with a bar that only a terminal sees."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    from kinetree.progress import has_live_terminal

    terminal = console(stderr=True)
    if not wanted or not terminal.is_terminal or not has_live_terminal():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=terminal, transient=True) as bar:
        task = bar.add_task(name, total=None)  # pulses until something is done: code is compiled first

        def update(part: float) -> None:
            bar.update(task, total=1.0 if part > 0.0 else None, completed=part)

        yield update
