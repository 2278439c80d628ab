"""The command line: each command reads its arguments, calls one function and prints."""

from __future__ import annotations

import json
import re
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from kinetree.errors import InputError, KinetreeError

if TYPE_CHECKING:
    from rich.console import Console

BAD_INPUT, INTERRUPTED = 2, 130
Model = Annotated[str, typer.Argument(help="Name of a mechanism (see 'zoo') or a .toml, .urdf or .xml file.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]


class _Commands(TyperGroup):
    """Turns errors about the input into one line, and an interruption into its exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KinetreeError as error:
            _console(stderr=True).print(
                "error: " + " ".join(str(error).split("\n")), style="red", soft_wrap=True, markup=False,
                highlight=False, emoji=False,
            )  # fmt: skip
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    name="kinetree",
    cls=_Commands,
    help="Dynamics and motion of articulated systems.",
    no_args_is_help=True,
    add_completion=False,
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

    found = _demo_with_progress()
    content = {picture: picture_bytes(demo_figure(found)), table: demo_csv(found).encode()}
    for path, written in content.items():
        write_file(path, written)
    console = _console()
    console.print(demo_report(found))
    console.print(f"Wrote {picture} and {table}", soft_wrap=True, markup=False, highlight=False)


@app.command()
def info(model: Model) -> None:
    """Show a mechanism: its tree, joints, limits, modules, mass."""
    from kinetree.report.terminal import mechanism_report
    from kinetree.study.models import mechanism_of

    _console().print(mechanism_report(mechanism_of(model)))


@app.command()
def draw(
    model: Model,
    output: Annotated[
        Path | None,
        typer.Option(help="Picture to write: .png, .pdf, .svg or .jpg.", show_default="MODEL.png"),
    ] = None,
    q: Annotated[
        str | None, typer.Option(help="Pose: numbers (rad, m) with commas, e.g. 0.1,-0.5,0.2.")
    ] = None,
    labels: Annotated[bool, typer.Option("--labels", help="Write the names of the joints.")] = False,
    force: Force = False,
) -> None:
    """Draw a mechanism into a picture file."""
    from kinetree.report.draw import figure_of
    from kinetree.report.output import check_output, check_picture, picture_bytes, write_file
    from kinetree.study.models import mechanism_of

    mechanism = mechanism_of(model)
    path = Path(f"{Path(model).stem}.png") if output is None else output
    check_picture(path)
    check_output([path], force)
    figure = figure_of(mechanism, None if q is None else _numbers(q, "--q"), labels=labels)
    write_file(path, picture_bytes(figure, path.suffix))
    _console().print(f"Wrote {path}", soft_wrap=True, markup=False, highlight=False)


@app.command()
def zoo() -> None:
    """List the mechanisms that come with Kinetree."""
    from kinetree.model import zoo as models
    from kinetree.report.terminal import zoo_table

    rows = [(name, about, models.by_name(name)) for name, about in models.names().items()]
    _console().print(zoo_table(rows))


@app.command()
def schema() -> None:
    """Print the JSON schema of mechanism files (.toml), for editors that complete and check them."""
    from kinetree.model.schema import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))


@app.command()
def stability(
    output: Annotated[Path, typer.Option(help="Folder for stability.png.")] = Path("stability"),
    force: Force = False,
) -> None:
    """Compare recursive forward dynamics with the Cholesky decomposition on the PUMA (002, section 5)."""
    from kinetree.report.output import check_output, picture_bytes, write_file

    picture = output / "stability.png"
    check_output([picture], force)

    from rich.progress import Progress

    from kinetree.report.stability import stability_figure, stability_report
    from kinetree.study.stability import run_stability

    quiet = _console(stderr=True)
    with Progress(console=quiet, transient=True, disable=not quiet.is_terminal) as bar:
        task = bar.add_task("simulations", total=1.0)
        found = run_stability(progress=lambda done: bar.update(task, completed=done))
    write_file(picture, picture_bytes(stability_figure(found)))
    console = _console()
    console.print(stability_report(found))
    console.print(f"Wrote {picture}", soft_wrap=True, markup=False, highlight=False)


@app.command()
def formulations() -> None:
    """Show the formulations of the equations of motion: what each can do, its cost, its source."""
    from kinetree.analysis.by_formulation import formulations as known
    from kinetree.report.terminal import formulation_table

    _console().print(formulation_table(known()))


@app.command()
def warmup() -> None:
    """Compile all algorithms now, so that no first call has to wait; later runs find them on disk."""
    from rich.progress import Progress

    from kinetree.kernels.compile import cache_folder
    from kinetree.kernels.warmup import warmup as compile_all

    quiet = _console(stderr=True)
    with Progress(console=quiet, transient=True, disable=not quiet.is_terminal) as bar:
        task = bar.add_task("compiling", total=None)

        def show(name: str, k: int, total: int) -> None:
            bar.update(task, description=f"compiling {name}", completed=k - 1, total=total)

        seconds = compile_all(show)
    place = cache_folder()
    kept = f"kept in {place}" if place is not None else "kept in memory only"
    _console().print(f"All algorithms are ready ({seconds:.1f} s), {kept}", soft_wrap=True, highlight=False)


def _console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr)


def _demo_with_progress() -> Any:
    """Run the demo under a progress bar, which only a terminal sees."""
    from rich.progress import Progress

    from kinetree.study.demo import run_demo

    console = _console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("free fall", total=1.0)
        return run_demo(lambda done: bar.update(task, completed=done))


def _numbers(text: str, what: str) -> list[float]:
    words = [word for word in re.split(r"[,\s]+", text.strip()) if word]
    try:
        return [float(word) for word in words]
    except ValueError:
        raise InputError(f"{what} must be numbers with commas between them, got '{text}'") from None
