"""Commands about mechanisms and the library itself."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from kinetree.cli.app import Force, Model, app, console, told
from kinetree.errors import InputError


@app.command()
def info(model: Model) -> None:
    """Show a mechanism: its tree, joints, limits, modules, mass."""
    from kinetree.report.terminal import mechanism_report
    from kinetree.study.models import mechanism_of

    console().print(mechanism_report(mechanism_of(model)))


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
    told(f"Wrote {path}")


@app.command()
def zoo() -> None:
    """List the mechanisms that come with Kinetree."""
    from kinetree.model import zoo as models
    from kinetree.report.terminal import zoo_table

    rows = [(name, about, models.by_name(name)) for name, about in models.names().items()]
    console().print(zoo_table(rows))


@app.command()
def schema(
    study: Annotated[bool, typer.Option("--study", help="That of study files instead.")] = False,
) -> None:
    """Print the JSON schema of mechanism files (.toml), for editors that complete and check them."""
    if study:
        from kinetree.study.file import study_schema as wanted
    else:
        from kinetree.model.schema import json_schema as wanted

    typer.echo(json.dumps(wanted(), indent=2))


@app.command()
def formulations() -> None:
    """Show the formulations of the equations of motion: what each can do, its cost, its source."""
    from kinetree.analysis.by_formulation import formulations as known
    from kinetree.report.terminal import formulation_table

    console().print(formulation_table(known()))


@app.command()
def warmup() -> None:
    """Compile all algorithms now, so that no first call has to wait; later runs find them on disk."""
    from rich.progress import Progress

    from kinetree.kernels.compile import cache_folder
    from kinetree.kernels.warmup import warmup as compile_all

    quiet = console(stderr=True)
    with Progress(console=quiet, transient=True, disable=not quiet.is_terminal) as bar:
        task = bar.add_task("compiling", total=None)

        def show(name: str, k: int, total: int) -> None:
            bar.update(task, description=f"compiling {name}", completed=k - 1, total=total)

        seconds = compile_all(show)
    place = cache_folder()
    kept = f"kept in {place}" if place is not None else "kept in memory only"
    told(f"All algorithms are ready ({seconds:.1f} s), {kept}")


def _numbers(text: str, what: str) -> list[float]:
    words = [word for word in re.split(r"[,\s]+", text.strip()) if word]
    try:
        return [float(word) for word in words]
    except ValueError:
        raise InputError(f"{what} must be numbers with commas between them, got '{text}'") from None
