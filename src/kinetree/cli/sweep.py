"""The command that runs many cases of a study."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinetree.cli.app import (
    FAILED,
    INTERRUPTED,
    AllowCode,
    AsJson,
    Force,
    Page,
    Plot,
    Quiet,
    app,
    console,
    output_option,
    say,
)
from kinetree.cli.names import complete_store, complete_study
from kinetree.cli.setting_names import complete_setting
from kinetree.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from kinetree.result.result import Result


@app.command()
def sweep(
    study: Annotated[
        str | None,
        typer.Argument(
            help="A study file (.toml) with a table [sweep], or the name of an example.",
            autocompletion=complete_study,
            metavar="STUDY",
        ),
    ] = None,
    output: Annotated[
        Path | None, output_option("Folder for the result: .zarr; default STUDY.zarr.", "FOLDER")
    ] = None,
    status: Annotated[
        Path | None,
        typer.Option(
            help="Report the progress of the sweep in a folder.",
            metavar="FOLDER",
            autocompletion=complete_store,
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted sweep.")] = False,
    retry: Annotated[
        bool, typer.Option("--retry-failed", help="With --resume: also repeat cases that failed.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(help="Number of processes; default the number of cores.", metavar="N")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Dask cluster to run on, such as tcp://host:8786.", metavar="ADDRESS")
    ] = None,
    slurm: Annotated[
        str | None,
        typer.Option(
            help="Slurm partition to run on; 'local' simulates Slurm on this machine.", metavar="PARTITION"
        ),
    ] = None,
    case_timeout: Annotated[
        float | None, typer.Option(help="Time limit of a case (s).", metavar="SECONDS")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show the plan: cases, memory, files.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Run more than a million cases without asking.")] = False,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    plot: Plot = None,
    report: Page = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Override a key of the study, e.g. sweep.samples=64; repeatable.",
            metavar="KEY=VALUE",
            autocompletion=complete_setting,
        ),
    ] = None,
    allow_code: AllowCode = None,
) -> None:
    """Run many cases of a study: grids, samples, starts, Pareto fronts.

    Exit codes: 0 done, 2 wrong input, 3 no case passed, 130 interrupted; --resume continues.

    Example: kinetree sweep two_link_pareto --plot front.png
    """
    if status is not None:
        _tell_status(status, as_json)
        return
    if study is None:
        raise InputError("name a study to sweep, or the folder of a sweep to report on: --status FOLDER")
    place = Path(f"{Path(study).stem}.zarr") if output is None else output
    _check_pictures(plot, report, force)
    plan = _planned(study, settings or [], allow_code or [], yes)
    if dry_run:
        _tell_plan(plan, as_json)
        return
    from kinetree.sweeps.sweep import run_plan

    try:
        result = run_plan(
            plan, place, resume=resume, retry=retry, force=force, workers=workers, scheduler=scheduler,
            slurm=slurm, case_timeout=case_timeout, progress=False if quiet or as_json else None,
        )  # fmt: skip
    except KeyboardInterrupt:
        say(f"interrupted; finished cases are in {place}, continue with --resume", stderr=True, style="red")
        raise typer.Exit(INTERRUPTED) from None
    extras = _pictures(result, place, plot, report, allow_code or [])
    if as_json:
        typer.echo(json.dumps({"store": str(place), **result.statistics}))
    elif not quiet:
        console().print(_summary(result, place, extras))
    if not any(result.statistics.get(name) for name in ("ok", "stopped")):
        first = str(result.dataset["message"].values.ravel()[0])
        say(f"no case passed; message of the first case: {first}", stderr=True, style="red")
        raise typer.Exit(FAILED)


def _planned(study: str, settings: list[str], code: list[str], yes: bool) -> Any:
    """The plan; a very large one is run if the user agrees."""
    from kinetree.study.file import parse_settings
    from kinetree.sweeps.plan import MOST, TooManyCases
    from kinetree.sweeps.sweep import planned

    given = parse_settings(settings)
    most = sys.maxsize if yes else MOST
    try:
        return planned(study, settings=given, allow_code=code, most=most, words="--set")[0]
    except TooManyCases as error:
        if not sys.stdin.isatty() or not typer.confirm(f"{error}\nRun them all?"):
            raise
        return planned(study, settings=given, allow_code=code, most=sys.maxsize, words="--set")[0]


def _tell_status(store: Path, as_json: bool) -> None:
    from dataclasses import asdict

    from kinetree.sweeps.status import sweep_status

    found = sweep_status(store)
    if as_json:
        typer.echo(json.dumps({**asdict(found), "done": found.done, "count": found.count}))
    else:
        say(str(found))


def _tell_plan(plan: Any, as_json: bool) -> None:
    from kinetree.sweeps.paper import on_paper

    facts = on_paper(plan)
    if as_json:
        typer.echo(json.dumps(facts))
        return
    for name, value in facts.items():
        say(f"{name:22} {value}")


def _check_pictures(plot: Path | None, report: Path | None, force: bool) -> None:
    from kinetree.report.html.page import check_report
    from kinetree.report.output import check_output, check_picture

    if plot is not None:
        check_picture(plot)
    if report is not None:
        check_report(report)
    check_output([path for path in (plot, report) if path is not None], force)


def _pictures(
    result: Result, store: Path, plot: Path | None, report: Path | None, code: list[str]
) -> dict[str, str]:
    """Write the picture and the page that were asked for."""
    if plot is not None:
        from kinetree.report.output import picture_bytes, write_file
        from kinetree.report.sweep_plot import plot_sweep

        write_file(plot, picture_bytes(plot_sweep(result), plot.suffix))
    if report is not None:
        from kinetree.report.html.sweep_page import write_sweep_report

        write_sweep_report(store, report, force=True, allow_code=code)
    named = {"picture": plot, "report": report}
    return {name: str(path) for name, path in named.items() if path is not None}


def _summary(result: Result, store: Path, extras: dict[str, str]) -> RenderableType:
    """What the cases say together, in a few lines."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from kinetree.sweeps.story import story

    title, facts, lines = story(result)
    table = Table.grid(padding=(0, 2))
    for name, value in (facts | {"result": str(store)} | extras).items():
        table.add_row(Text(name, style="dim"), Text(value, overflow="fold"))
    last = Text(f"Look at it: kinetree plot {store}, kinetree report {store}", style="dim")
    return Group(Text(title, style="bold"), table, *(Text(line, overflow="fold") for line in lines), last)
