"""Commands about mechanisms and the library itself."""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from kinetree.cli.app import (
    Arguments,
    AsJson,
    FloatingBase,
    Force,
    MeshesFrom,
    Model,
    Packages,
    Quiet,
    Root,
    app,
    console,
    numbers_of,
    output_option,
    read_options,
    read_result,
    say,
)
from kinetree.cli.names import complete_model, complete_model_or_result, complete_package
from kinetree.errors import InputError


@app.command()
def info(
    shown: Annotated[
        str,
        typer.Argument(
            help="A mechanism (name or file), a study or a result (.nc).",
            metavar="MODEL|RESULT",
            autocompletion=complete_model_or_result,
        ),
    ],
    folder: MeshesFrom = None,
    packages: Packages = None,
    floating_base: FloatingBase = None,
    root: Root = None,
    arguments: Arguments = None,
    as_json: AsJson = False,
) -> None:
    """Show a mechanism (tree, joints, modules, mobility) or a result.

    For a result: task, variables, audit, settings, computing effort and versions.

    Example: kinetree info four_bar
    """
    options = read_options(folder, packages, floating_base, root, arguments)
    if Path(shown).suffix.lower() == ".nc":
        if options:
            raise InputError(f"{shown}: is a result; options of models do not apply")
        _result_info(Path(shown), as_json)
        return
    from kinetree.study.models import mechanism_of

    mechanism = mechanism_of(shown, **options)
    if as_json:
        from kinetree.study.facts import mechanism_facts

        typer.echo(json.dumps(mechanism_facts(mechanism), allow_nan=False))
        return
    from kinetree.report.terminal import mechanism_report

    console().print(mechanism_report(mechanism))


def _result_info(path: Path, as_json: bool) -> None:

    found = read_result(path)
    if as_json:
        from kinetree.result.facts import result_facts

        typer.echo(json.dumps(result_facts(found), allow_nan=False))
    else:
        say(str(found))


@app.command()
def convert(
    source: Annotated[
        str,
        typer.Argument(
            help="A .toml, .urdf, .xacro, .sdf, .xml (MJCF), .osim or .m (of ReDySim) file, a DH table "
            "as .csv, or a name in the zoo.",
            metavar="IN",
            autocompletion=complete_model,
        ),
    ],
    target: Annotated[
        Path, typer.Argument(help="File to write: .toml, .urdf or .xml (MJCF).", metavar="OUT")
    ],
    convention: Annotated[
        str | None,
        typer.Option(
            help="Convention of a DH table in .csv; default modified.",
            metavar="classic|modified",
            autocompletion=lambda: ["modified", "classic"],
        ),
    ] = None,
    allow_unphysical: Annotated[
        bool,
        typer.Option("--allow-unphysical", help="Accept unphysical inertias (.urdf, .sdf, .xml, .csv)."),
    ] = False,
    folder: MeshesFrom = None,
    packages: Packages = None,
    floating_base: FloatingBase = None,
    root: Root = None,
    arguments: Arguments = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Convert TOML, URDF, SDF, MJCF, .osim, .m and DH tables to TOML, URDF or MJCF.

    Whatever the other format cannot represent is left out and reported. A DH table in CSV has a header such
    as name,joint,a,alpha_deg,d,theta_deg,mass,cx,cy,cz,ixx,iyy,izz and one row per body; joint is its kind,
    such as revolute or prismatic. initials.m and trajectory.m beside an inputs.m become studies.

    Example: kinetree convert arm.csv arm.urdf --convention classic
    """
    from kinetree.model.mechanism import size_in_words
    from kinetree.report.output import check_output
    from kinetree.study.convert import convert as converted

    check_output([target], force)
    options = read_options(folder, packages, floating_base, root, arguments)
    options |= {"allow_unphysical": True} if allow_unphysical else {}
    mechanism, notes = converted(source, target, force, convention, **options)
    if as_json:
        counts = {"bodies": mechanism.n_bodies, "dof": mechanism.n_dof}
        typer.echo(json.dumps({"model": mechanism.name, **counts, "file": str(target), "notes": notes}))
        return
    for note in notes:
        say(f"note: {note}", stderr=True, style="yellow")
    if not quiet:
        say(f"Wrote {target}: {size_in_words(mechanism)}")


@app.command()
def draw(
    model: Model,
    output: Annotated[
        Path | None,
        output_option("Picture to write: .png, .pdf, .svg or .jpg; default MODEL.png."),
    ] = None,
    q: Annotated[
        str | None, typer.Option(help="Pose (rad, m), with commas: 0.1,-0.5,0.2.", metavar="NUMBERS")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            help="Named state of the model (a keyframe); default 'home', else the first.",
            metavar="NAME",
        ),
    ] = None,
    labels: Annotated[bool, typer.Option("--labels", help="Show the names of the joints.")] = False,
    skeleton: Annotated[
        bool,
        typer.Option("--skeleton", help="Draw joints and links instead of shapes and meshes."),
    ] = False,
    graph: Annotated[
        bool, typer.Option("--graph", help="Draw bodies and joints as a graph, cut joints dashed.")
    ] = False,
    folder: MeshesFrom = None,
    packages: Packages = None,
    floating_base: FloatingBase = None,
    root: Root = None,
    arguments: Arguments = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Draw a mechanism into a picture file.

    Bodies have the meshes (.stl, .obj; .dae and .glb with the extra 'meshes'), shapes and colors of
    the model file.

    Example: kinetree draw gripper --q 0,0.5,0.3,0.2 --labels
    """
    from kinetree.report.draw import figure_of
    from kinetree.report.loop_graph import graph_of
    from kinetree.report.output import check_output, check_picture, picture_bytes, write_file
    from kinetree.study.models import mechanism_of

    if graph and (q is not None or state is not None or labels or skeleton):
        raise InputError(
            "--graph shows bodies and joints without a pose: leave out --q, --state, --labels, --skeleton"
        )
    if q is not None and state is not None:
        raise InputError("give either --q or --state, not both")
    mechanism = mechanism_of(model, **read_options(folder, packages, floating_base, root, arguments))
    path = Path(f"{Path(model).stem}.png") if output is None else output
    check_picture(path)
    check_output([path], force)
    pose = None if q is None else numbers_of(q, "--q")
    if state is not None:
        pose = mechanism.states[state].q.tolist()
    figure = graph_of(mechanism) if graph else figure_of(mechanism, pose, labels=labels, looks=not skeleton)
    write_file(path, picture_bytes(figure, path.suffix))
    if not quiet:
        say(f"Wrote {path}")


@app.command()
def zoo(
    package: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="List the robot files of an installed package instead.",
            metavar="PACKAGE",
            autocompletion=complete_package,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List mechanisms that come with Kinetree or another package.

    Every command that reads a model accepts models of packages as PACKAGE:NAME.

    Example: kinetree zoo --from example-robot-data
    """
    if package is not None:
        _installed_models(package, as_json)
        return
    from kinetree.model import zoo as models

    rows = [(name, about, models.by_name(name)) for name, about in models.names().items()]
    if as_json:
        told_rows = [
            {"name": name, "about": about, "bodies": x.n_bodies, "dof": x.n_dof} for name, about, x in rows
        ]
        typer.echo(json.dumps(told_rows))
        return
    from kinetree.report.terminal import zoo_table

    console().print(zoo_table(rows))


def _installed_models(package: str, as_json: bool) -> None:
    """The models of a package by the names that commands take."""
    from kinetree.formats.installed import installed_models

    models = installed_models(package)
    if as_json:
        typer.echo(json.dumps([{"name": f"{package}:{x}", "file": str(file)} for x, file in models.items()]))
        return
    if not models:
        say(f"The package {package} has no URDF, SDF or MJCF files.")
        return
    from kinetree.report.terminal import file_table

    console().print(file_table((f"{package}:{name}", file) for name, file in models.items()))


@app.command()
def schema(
    study: Annotated[bool, typer.Option("--study", help="Print the schema of study files instead.")] = False,
) -> None:
    """Print the JSON schema of mechanism or study files.

    Editors use it to complete and check .toml files.

    Example: kinetree schema --study > study.json
    """
    if study:
        from kinetree.study.file import study_schema as wanted
    else:
        from kinetree.formats.schema import json_schema as wanted

    typer.echo(json.dumps(wanted(), indent=2))


@app.command()
def formulations() -> None:
    """Show the formulations of the equations of motion.

    What each can do, its cost and its source; 'verify' compares them.

    Example: kinetree formulations
    """
    from kinetree.analysis.by_formulation import formulations as known
    from kinetree.report.terminal import formulation_table

    console().print(formulation_table(known()))


@app.command()
def warmup(quiet: Quiet = False) -> None:
    """Compile all algorithms now, so that later calls start at once.

    It takes some minutes, and a line shows what is compiled, how much is done, and for how long; where
    there is no terminal, one line for each tenth. Later runs load the machine code from disk. Machine code of
    release wheels, which is for many processors, is replaced by code for this one.

    Example: kinetree warmup
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from kinetree.engine.disk_cache import cache_folder
    from kinetree.progress import has_live_terminal
    from kinetree.study.warmup import warmup as compile_all

    terminal = console(stderr=True)
    hidden = quiet or not terminal.is_terminal or not has_live_terminal()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    count, begun = 0, perf_counter()
    with Progress(*columns, console=terminal, transient=True, disable=hidden) as bar:
        task = bar.add_task("compiling", total=None)

        def show(name: str, k: int, total: int) -> None:
            nonlocal count
            count = total
            bar.update(task, description=f"compiling {name}", completed=k - 1, total=total)
            if hidden and not quiet and k * 10 // total > (k - 1) * 10 // total:
                terminal.print(f"{k} of {total} ({perf_counter() - begun:.0f} s): {name}", highlight=False)

        seconds = compile_all(show)
    place = cache_folder()
    kept = f"stored in {place}" if place is not None else "in memory only"
    if not quiet:
        say(f"All algorithms are ready ({count} pieces, {seconds:.1f} s), {kept}")
