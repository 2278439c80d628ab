"""The command that writes a result in other formats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kinetree.cli.app import (
    Force,
    MeshFolderOption,
    Quiet,
    app,
    output_option,
    progress_bar,
    read_result,
    say,
)
from kinetree.cli.names import complete_result, complete_variable
from kinetree.errors import FileError, InputError, listed
from kinetree.formats.kinds import WRITTEN

if TYPE_CHECKING:
    from kinetree.result.result import Result

TABLES, OPENSIM, MOVIES = (".csv", ".json"), (".mot", ".sto"), (".mp4", ".gif")
FORMATS = (*TABLES, *OPENSIM, *MOVIES, *WRITTEN)


@app.command()
def export(
    result: Annotated[
        Path, typer.Argument(help="A result (.nc).", metavar="RESULT", autocompletion=complete_result)
    ],
    file: Annotated[Path | None, typer.Argument(help="File to write.", metavar="FILE")] = None,
    output: Annotated[Path | None, output_option("Same as FILE.")] = None,
    variable: Annotated[
        list[str] | None,
        typer.Option(
            help="For tables: a variable such as tau, repeatable; default all. For OpenSim: one over "
            "time and joint; default q.",
            metavar="NAME",
            autocompletion=complete_variable,
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            help="For tables and OpenSim: rows per second, between the samples of the result; default its "
            "samples.",
            metavar="NUMBER",
        ),
    ] = None,
    fps: Annotated[float, typer.Option(help="For movies: frames per second.", metavar="NUMBER")] = 30.0,
    speed: Annotated[
        float | None,
        typer.Option(
            help="For movies: 0.5 is half speed; default slow motion for short motions, else 1.",
            metavar="NUMBER",
        ),
    ] = None,
    size: Annotated[
        str, typer.Option(help="For movies: size in pixels.", metavar="WIDTHxHEIGHT")
    ] = "800x600",
    strides: Annotated[
        int | None,
        typer.Option(
            help="For walking: number of strides, made from a step and its mirror image.", metavar="NUMBER"
        ),
    ] = None,
    meshes: MeshFolderOption = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Export a result: table, movie, OpenSim files, mechanism.

    The suffix of FILE selects the format: .csv or .json a table; .mp4 or .gif a movie; .mot coordinates for
    OpenSim (angles in degrees; a human has the names of OpenSim's gait models, rooted at the pelvis); .sto a
    variable for OpenSim (SI units); .urdf, .toml or .xml (MJCF) the mechanism. With --variable
    ground_reaction a .mot or .sto file has the forces on both feet, their points of application and moments,
    in OpenSim's axes.

    Example: kinetree export reach.nc reach.csv --rate 1000 --variable q --variable tau
    """
    from kinetree.report.output import check_output

    path = _only_one(file, output)
    if path.suffix.lower() not in FORMATS:
        raise FileError(f"{path}: a result can be exported as {listed(FORMATS)}")
    if rate is not None and path.suffix.lower() not in (*TABLES, *OPENSIM):
        raise InputError(f"--rate is for {listed((*TABLES, *OPENSIM))}, not for {path.suffix.lower()}")
    check_output([path], force)

    found = read_result(result)
    if strides is not None:
        from kinetree.gait_data.strides import strides as walk_on

        found = walk_on(found, strides)
    if rate is not None:
        from kinetree.result.resample import at_rate

        found = at_rate(found, rate)
    if path.suffix.lower() in MOVIES:
        _write_movie(found, path, (fps, speed, _pixels(size)), meshes, force=force, quiet=quiet)
    else:
        _write(found, path, variable, force)
    if not quiet:
        say(f"Wrote {path}")


def _only_one(file: Path | None, output: Path | None) -> Path:
    given = [path for path in (file, output) if path is not None]
    if len(given) != 1:
        raise InputError(f"name one file to write, as FILE or with --output, got {listed(given)}")
    return given[0]


def _write_movie(
    result: Result,
    path: Path,
    movie: tuple[float, float | None, list[int]],
    meshes: Path | None,
    *,
    force: bool,
    quiet: bool,
) -> None:
    from kinetree.report.movie import write_movie

    fps, speed, size = movie
    with progress_bar("drawing", wanted=not quiet) as progress:
        write_movie(result, path, fps, size, speed, force=force, progress=progress, meshes=meshes)


def _write(result: Result, path: Path, variables: list[str] | None, force: bool) -> None:
    """Write by the suffix."""
    suffix = path.suffix.lower()
    if suffix in OPENSIM and variables is not None and len(variables) > 1:
        raise InputError(f"a file for OpenSim has one variable, got --variable {listed(variables)}")
    variable = variables[0] if variables else "q"
    if suffix == ".csv":
        result.to_csv(path, force, variables)
    elif suffix == ".json":
        result.to_json(path, force, variables)
    elif suffix in OPENSIM:
        from kinetree.formats.regular_file import write_text
        from kinetree.result.opensim import GROUND, ground_text, opensim_text

        if variable == GROUND:
            write_text(path, ground_text(result), force)
            return
        motion = suffix == ".mot"
        if motion and variable == "q":
            from kinetree.gait_data.opensim import is_human, opensim_motion

            if is_human(result.mechanism):  # however it is rooted
                write_text(path, opensim_motion(result), force)
                return
        write_text(path, opensim_text(result, degrees=motion, variable=variable), force)
    else:
        _save_model(result, path, force)


def _save_model(result: Result, path: Path, force: bool) -> None:
    """Write the mechanism, and tell what the format leaves out."""
    import warnings

    from kinetree.formats.files import save

    with warnings.catch_warnings(record=True) as left_out:
        warnings.simplefilter("always", UserWarning)
        save(result.mechanism, path, force)
    for note in left_out:
        say(f"note: {note.message}", stderr=True)


def _pixels(text: str) -> list[int]:
    """Width and height out of 800x600."""
    try:
        return [int(word) for word in text.lower().split("x")]
    except ValueError:
        raise InputError(f"--size must be WIDTHxHEIGHT in pixels such as 800x600, got '{text}'") from None
