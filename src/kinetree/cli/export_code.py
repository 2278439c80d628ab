"""The command that writes C code for a mechanism."""

from __future__ import annotations

import json
from pathlib import Path
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
    output_option,
    read_options,
    say,
)
from kinetree.cli.names import complete_code_functions


@app.command("export-code")
def export_code(
    model: Model,
    functions: Annotated[
        str,
        typer.Option(
            help="Functions to write, with commas: inverse_dynamics, forward_dynamics, mass_matrix, "
            "bias_torque, gravity_torque, joint_reactions, forward_kinematics, body_velocities, energies, "
            "inertia_regressor, inverse_dynamics_derivatives, forward_dynamics_derivatives, jacobian:BODY; "
            "with closed loops inverse_dynamics, forward_dynamics, close_loops_step.",
            metavar="NAMES",
            autocompletion=complete_code_functions,
        ),
    ] = "inverse_dynamics",
    language: Annotated[
        str, typer.Option(help="Language: c.", metavar="c", autocompletion=lambda: ["c"])
    ] = "c",
    real: Annotated[
        str,
        typer.Option(
            help="Type of all numbers.",
            metavar="double|float",
            autocompletion=lambda: ["double", "float"],
        ),
    ] = "double",
    output: Annotated[Path | None, output_option("New folder; default NAME_c.", "FOLDER")] = None,
    folder: MeshesFrom = None,
    packages: Packages = None,
    floating_base: FloatingBase = None,
    root: Root = None,
    arguments: Arguments = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write C code of a mechanism's dynamics that needs no library.

    One header, one source in C99 without allocation, which calls only sin, cos and sqrt, a self-test
    with numbers, and a Makefile: 'make test' builds and runs it. Torques and accelerations of mechanisms
    with closed loops are those of states that close them, which close_loops finds.

    Example: kinetree export-code kuka_kr5 --functions inverse_dynamics,gravity_torque --real float
    """
    from kinetree.codegen.export import export_code as exported
    from kinetree.study.models import mechanism_of

    mechanism = mechanism_of(model, **read_options(folder, packages, floating_base, root, arguments))
    names = [name.strip() for name in functions.split(",") if name.strip()]
    done = exported(mechanism, names, output, language=language, real=real, force=force)  # type: ignore[arg-type]
    if as_json:
        facts = {"folder": str(done.folder), "files": done.files, "source_size": done.source_size}
        typer.echo(json.dumps(facts | {"operations": done.operations}))
        return
    if quiet:
        return
    say(f"Wrote {done.folder}: {', '.join(done.files)}; {done.source_size / 1000:.1f} kB of source")
    for name, operations in done.operations.items():
        say(f"  {name}: {operations}")
