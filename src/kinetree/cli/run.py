"""The command that runs a study."""

from __future__ import annotations

import json
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kinetree.cli.app import (
    BAD_INPUT,
    AllowCode,
    AsJson,
    Force,
    Page,
    Plot,
    Quiet,
    app,
    console,
    output_option,
    progress_bar,
    say,
    show_error,
)
from kinetree.cli.app import terminable as terminable
from kinetree.cli.names import complete_study
from kinetree.cli.setting_names import complete_setting
from kinetree.errors import FileError, KinetreeError, listed

if TYPE_CHECKING:
    from rich.console import RenderableType

    from kinetree.study.outcome import StudyOutcome

MOST_NAMED = 4  # singular positions that are named


@app.command()
def run(
    study: Annotated[
        str,
        typer.Argument(
            help="A study file (.toml) or the name of an example (see 'examples').",
            autocompletion=complete_study,
            metavar="STUDY",
        ),
    ],
    output: Annotated[Path | None, output_option("File for the result: .nc; default STUDY.nc.")] = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    plot: Plot = None,
    report: Page = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Override a key of the study, e.g. integrator.rtol=1e-9; repeatable.",
            metavar="KEY=VALUE",
            autocompletion=complete_setting,
        ),
    ] = None,
    allow_code: AllowCode = None,
    only_inside: Annotated[
        bool, typer.Option("--only-inside", help="Refuse files outside the folder of the study.")
    ] = False,
) -> None:
    """Run a study and save its result.

    Exit codes: 0 done, 2 the input is wrong, 130 interrupted, 3 with a status that says why: infeasible,
    diverged, audit_failed, fell, not_followed, slipped, below_ground, limits_exceeded. What was computed
    is saved.

    Example: kinetree run gripper_free_fall --plot fall.png
    """
    from kinetree.formats.held_inside import held_inside

    path = Path(f"{Path(study).stem}.nc") if output is None else output
    try:
        extras = _Extras(plot, report)
        with held_inside(only_inside):
            outcome = _outcome(study, path, extras, force, settings or [], allow_code or [], quiet or as_json)
    except KinetreeError as error:
        if not as_json:
            raise
        show_error(str(error))
        empty = dict.fromkeys(("task", "model", "seconds", "result"))
        stated: dict[str, Any] = {
            "status": "bad_input",
            **empty,
            "audit": {},
            "not_judged": {},
            "message": str(error),
        }
        typer.echo(json.dumps(stated))
        raise typer.Exit(BAD_INPUT) from None
    saved = str(path) if outcome.result is not None else None
    if as_json:
        typer.echo(json.dumps(outcome.to_json(saved), allow_nan=False))
    elif not quiet:
        console().print(_report(outcome, saved, extras))
    _doubt_plot(outcome)
    if outcome.exit_code:
        say(f"{outcome.status}: {_reason(outcome, saved)}", stderr=True, style="red")
        raise typer.Exit(outcome.exit_code)


def _doubt_plot(outcome: StudyOutcome) -> None:
    """Warn of variables that [plot] names and the result does not have."""
    from kinetree.errors import unknown_name
    from kinetree.report.result_plot import drawn_names

    table: Any = outcome.study.tables.plot
    if outcome.result is None or table is None:
        return
    known = drawn_names(outcome.result)
    for name in table.variables or ():
        if name not in known:
            say(f"warning: [plot] {unknown_name('variable', name, known)}", stderr=True, style="yellow")


class _Extras(NamedTuple):
    """Files to write beside the result."""

    plot: Path | None
    report: Path | None

    def check(self) -> list[Path]:
        """The files, once their suffixes are found good."""
        if self.plot is not None:
            from kinetree.report.output import check_picture

            check_picture(self.plot)
        if self.report is not None:
            from kinetree.report.html.page import check_report

            check_report(self.report)
        return [path for path in self if path is not None]


def _outcome(
    study: str, path: Path, extras: _Extras, force: bool, settings: list[str], code: list[str], quiet: bool
) -> StudyOutcome:
    """Check, run and save."""
    from kinetree.report.output import check_output, write_file, write_or_keep

    if path.suffix.lower() != ".nc":
        raise FileError(f"{path}: a result is a file with the suffix .nc")
    paths = [path, *extras.check()]
    check_output(paths, force)

    from kinetree.engine.notice import hushed
    from kinetree.result.netcdf import result_bytes
    from kinetree.simulation.warned import AccuracyWarning, VerdictWarning
    from kinetree.study.file import parse_settings
    from kinetree.study.run import prepared

    silence = hushed() if quiet else nullcontext()
    with silence, progress_bar("running", wanted=not quiet) as progress, warnings.catch_warnings():
        for shown_by_audit in (UserWarning,) if quiet else (AccuracyWarning, VerdictWarning):
            warnings.simplefilter("ignore", shown_by_audit)
        ready = prepared(study, parse_settings(settings), code, progress)
        check_output([_further_place(path, name) for name in ready.further], force)
        outcome = ready.outcome()
    if outcome.result is not None:
        write_or_keep(path, result_bytes(outcome.result))
        for name, further in outcome.further.items():
            if further is not None:
                write_or_keep(_further_place(path, name), result_bytes(further))
        if extras.plot is not None:
            write_file(extras.plot, _picture(outcome, extras.plot.suffix))
        if extras.report is not None:
            outcome.result.report(extras.report, force=True)
    return outcome


def _further_place(path: Path, name: str) -> Path:
    """The file of a further result, such as gait_tracked.nc of gait.nc."""
    return path.with_name(f"{path.stem}_{name}{path.suffix}")


def _reason(outcome: StudyOutcome, saved: str | None) -> str:
    """Why a study did not end well, and where what there is can be found."""
    from kinetree.study.outcome import failed_checks

    result = outcome.result
    if result is None or result.complete:
        failed = [] if result is None else failed_checks(result)
        return outcome.message or "; ".join(failed)
    moving = ("simulate", "control", "inverse", "hybrid")
    until = f" until t = {result.stopped_at:g} s" if result.task in moving else ""
    why = "" if outcome.message == outcome.status else f"{outcome.message}; "
    return f"{why}the result{until} is in {saved}"


def _picture(outcome: StudyOutcome, suffix: str) -> bytes:
    from kinetree.report.output import picture_bytes
    from kinetree.report.result_plot import drawn_names, plot_result

    table: Any = outcome.study.tables.plot
    assert outcome.result is not None
    wanted = () if table is None else table.variables or ()
    names = [name for name in wanted if name in drawn_names(outcome.result)]  # of others there is a warning
    chosen = {} if table is None else {"joints": table.joints, "bodies": table.bodies}
    return picture_bytes(plot_result(outcome.result, *names, **chosen), suffix)


def _report(outcome: StudyOutcome, saved: str | None, extras: _Extras) -> RenderableType:
    """A few lines about what was done, and the audit."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from kinetree.result.summary import listed_unjudged
    from kinetree.study.outcome import OF_PREDICTIONS

    facts = {
        "task": outcome.study.task,
        "model": outcome.model,
        "status": outcome.status,
        "seconds": f"{outcome.seconds:.3g}",
    }
    if outcome.result is not None:
        if outcome.result.task == "predict":
            facts |= {name: f"{outcome.result.statistics[name]:.6g}" for name in OF_PREDICTIONS}
        singular = [x for x in outcome.result.events if x.kind == "singular_position"]
        if singular:
            say = listed(f"{x.time:.4g} s {x.name}" for x in singular[:MOST_NAMED])
            facts["singular"] = say + (", ..." if len(singular) > MOST_NAMED else "")
        facts["result"] = str(saved)
        further = [x for x, found in outcome.further.items() if found is not None]
        facts |= {name: str(_further_place(Path(str(saved)), name)) for name in further}
    if outcome.result is not None:
        named = {"picture": extras.plot, "report": extras.report}
        facts |= {name: str(place) for name, place in named.items() if place is not None}
    table = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        table.add_row(Text(name, style="dim"), Text(value, overflow="fold"))
    lines: list[RenderableType] = [Text(outcome.study.title, style="bold"), table]
    checks = {} if outcome.result is None else outcome.result.audit
    for name, check in checks.items():
        mark, style = ("✓", "green") if check.passed else ("✗", "red")
        lines.append(Text.assemble((f"{mark} {name} {check}", style), (f"  {check.sentence}", "dim")))
    if outcome.result is not None and outcome.result.not_judged:
        stated = listed_unjudged(outcome.result.not_judged)
        lines.append(Text(f"not judged: {stated}", style="dim", overflow="fold"))
    if outcome.result is not None and not outcome.exit_code:  # else they are the reason, reported at the end
        lines += [Text(f"- {message}", overflow="fold") for message in outcome.result.messages]
    if saved is not None:
        lines.append(Text(f"Look at it: kinetree plot {saved}, kinetree report {saved}", style="dim"))
    return Group(*lines)
