"""Commands that test and time the library on the user's own mechanism."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinetree.cli.app import (
    FAILED,
    Arguments,
    AsJson,
    FloatingBase,
    MeshesFrom,
    Model,
    Packages,
    Quiet,
    Root,
    app,
    console,
    numbers_of,
    progress_bar,
    read_options,
    say,
)
from kinetree.errors import InputError

if TYPE_CHECKING:
    from kinetree.model.mechanism import Mechanism

States = Annotated[int, typer.Option(help="Number of random states.", min=1, max=1000, metavar="NUMBER")]
Seed = Annotated[int, typer.Option(help="Seed of the random states.", min=0, metavar="NUMBER")]


@app.command()
def verify(
    model: Model,
    states: States = 4,
    seed: Seed = 0,
    folder: MeshesFrom = None,
    packages: Packages = None,
    floating_base: FloatingBase = None,
    root: Root = None,
    arguments: Arguments = None,
    steps: Annotated[
        bool, typer.Option("--steps", help="Show the recursions module by module at one state.")
    ] = False,
    q: Annotated[
        str | None,
        typer.Option(
            help="With --steps: positions (rad, m), with commas; default random.", metavar="NUMBERS"
        ),
    ] = None,
    qd: Annotated[
        str | None, typer.Option(help="With --q: velocities; default zero.", metavar="NUMBERS")
    ] = None,
    qdd: Annotated[
        str | None, typer.Option(help="With --q: accelerations; default zero.", metavar="NUMBERS")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare all formulations of dynamics on a mechanism.

    The comparison is at random states, with the worst relative difference of each quantity, operation counts
    and times. States of a mechanism with loops close the loops; formulations that support loops are used for
    the closed mechanism.

    Exit codes: 0 they agree, 2 the input is wrong, 3 they do not agree.

    With --steps: twists, wrenches, phi, eta, mu and mass matrices of composite and articulated modules in the
    recursions of inverse and forward dynamics (DeNOC), in world axes, at one state, --q, --qd and --qdd, or
    a random one; it is printed first.

    Example: kinetree verify robot.urdf --states 10; kinetree verify two_link --steps --q 0.5,1 --qd 1,0
    """
    from kinetree.analysis.agreement import agreement
    from kinetree.report.terminal_checks import agreement_table

    mechanism = _movable(model, read_options(folder, packages, floating_base, root, arguments))
    given = {
        name: numbers_of(x, f"--{name}") for name, x in (("q", q), ("qd", qd), ("qdd", qdd)) if x is not None
    }
    if given and not (steps and "q" in given):
        raise InputError("--q, --qd and --qdd are the state of --steps: give --steps and --q with them")
    if steps:
        _show_steps(mechanism, seed, given, as_json, quiet)
        return
    with progress_bar("comparing", wanted=not (quiet or as_json)) as progress:
        rows = agreement(mechanism, states, seed, progress)
    worst = max((row.difference for row in rows if row.difference is not None), default=0.0)
    agreed = all(row.passed for row in rows)
    if as_json:
        _print_json(mechanism.name, agreed, worst, [asdict(row) for row in rows])
    elif not quiet:
        console().print(agreement_table(rows))
        say(f"\nWorst relative difference: {worst:.1e}")
    _ended(agreed, f"the formulations disagree by {worst:.1e} on '{mechanism.name}'")


@app.command()
def derivatives(
    model: Model,
    states: States = 3,
    seed: Seed = 0,
    folder: MeshesFrom = None,
    packages: Packages = None,
    floating_base: FloatingBase = None,
    root: Root = None,
    arguments: Arguments = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare the exact derivatives with numerical ones.

    It checks inverse dynamics, forward dynamics and joint reactions at random states, with complex steps and
    differences of sixth order, and reports the worst error and where it is.

    Exit codes: 0 they agree, 2 wrong input, 3 they do not agree.

    Example: kinetree derivatives kuka_kr5
    """
    from kinetree.analysis.derivative_check import check_derivatives
    from kinetree.report.terminal_checks import slope_table

    mechanism = _movable(model, read_options(folder, packages, floating_base, root, arguments))
    with progress_bar("differentiating", wanted=not (quiet or as_json)) as progress:
        checks = check_derivatives(mechanism, states, seed, progress)
    worst = max((check.error for check in checks), default=0.0)
    agreed = all(check.passed for check in checks)
    if as_json:
        _print_json(mechanism.name, agreed, worst, [asdict(x) | {"passed": x.passed} for x in checks])
    elif not quiet:
        console().print(slope_table(checks))
    wrong = [f"{x.quantity} with respect to {x.by} at {x.where}" for x in checks if not x.passed]
    _ended(agreed, f"a derivative of '{mechanism.name}' differs by {worst:.1e}: {'; '.join(wrong)}")


@app.command()
def bench(
    model: Model = "kuka_kr5",
    batch: Annotated[int, typer.Option(help="States in a batch.", min=1, metavar="NUMBER")] = 1000,
    folder: MeshesFrom = None,
    packages: Packages = None,
    floating_base: FloatingBase = None,
    root: Root = None,
    arguments: Arguments = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Time every quantity of a mechanism on this machine.

    It times single states and batches. Each figure is the best of a few runs; a busy machine makes it worse.
    To compare with Pinocchio and MuJoCo, in a checkout of the repository: python -m benchmarks.own MODEL

    Example: kinetree bench quadruped --batch 10000
    """
    from kinetree.report.terminal_checks import speed_table
    from kinetree.study.speed import measure_speed

    mechanism = _movable(model, read_options(folder, packages, floating_base, root, arguments))
    with progress_bar("timing", wanted=not (quiet or as_json)) as progress:
        rows = measure_speed(mechanism, batch, progress=progress)
    if as_json:
        told_rows = [asdict(row) for row in rows]
        typer.echo(json.dumps({"model": mechanism.name, "unit": "us", "batch": batch, "rows": told_rows}))
    elif not quiet:
        say(f"{mechanism.name}, {mechanism.n_dof} degrees of freedom: time per state")
        console().print(speed_table(rows, batch))
        say("\nCompare with Pinocchio and MuJoCo, in a checkout: python -m benchmarks.own MODEL")


def _movable(model: str, options: dict[str, Any]) -> Mechanism:
    """The mechanism, if there is anything to compare or to time."""
    from kinetree.study.models import mechanism_of

    mechanism = mechanism_of(model, **options)
    if not mechanism.n_dof:
        raise InputError(f"mechanism '{mechanism.name}' has no degrees of freedom, so nothing can move")
    return mechanism


def _show_steps(
    mechanism: Mechanism, seed: int, given: dict[str, list[float]], as_json: bool, quiet: bool
) -> None:
    """The recursions at a state, given or random; an error if they do not lead back to its accelerations."""
    import numpy as np

    from kinetree.analysis.module_steps import module_steps
    from kinetree.report.terminal_checks import steps_table
    from kinetree.state import State, random_state

    if given:
        rest = dict.fromkeys(("q", "qd", "qdd"), np.zeros(mechanism.n_dof))
        state = State(**{**rest, **{name: np.array(values) for name, values in given.items()}})
    else:
        state = random_state(mechanism, np.random.default_rng(seed))
    found = module_steps(mechanism, state)
    if as_json:
        used = {name: getattr(found.state, name).tolist() for name in ("q", "qd", "qdd")}
        _print_json(mechanism.name, found.passed, found.difference, found.rows(), state=used)
    elif not quiet:
        console().print(steps_table(found))
        say(f"\nTorques and accelerations agree with those of the kernels to {found.difference:.1e}")
    _ended(
        found.passed, f"the recursions differ from the kernels by {found.difference:.1e}: '{mechanism.name}'"
    )


def _print_json(model: str, agreed: bool, worst: float, rows: list[dict[str, Any]], **more: object) -> None:
    typer.echo(json.dumps({"model": model, "passed": agreed, "worst": worst, **more, "rows": rows}))


def _ended(well: bool, complaint: str) -> None:
    if not well:
        say(f"error: {complaint}", stderr=True, style="red")
        raise typer.Exit(FAILED)
