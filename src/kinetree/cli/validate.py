"""Commands that compare results with measurements."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinetree.cli.app import AsJson, Force, Quiet, app, console, output_option, read_result, say
from kinetree.cli.help import PlainTyper
from kinetree.cli.results import ResultFile
from kinetree.errors import FileError, InputError, listed, unknown_name

if TYPE_CHECKING:
    from kinetree.gait_data.measured import Measured
    from kinetree.gait_data.score import GaitScore
    from kinetree.result.result import Result

validate_app = PlainTyper(no_args_is_help=True, rich_markup_mode=None, add_completion=False)
app.add_typer(validate_app, name="validate")
SCORES = (".json", ".csv")


@validate_app.callback()
def validate() -> None:
    """Compare a result with measured human gait or squats.

    Example: kinetree validate gait walk.nc; kinetree validate lift lifting.nc
    """


@validate_app.command("gait")
def validate_gait(
    result: ResultFile,
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="Measured data: arnold5, opencap10 (default both) or your own .csv file; repeatable.",
            metavar="NAME",
            autocompletion=lambda: ["arnold5", "opencap10"],
        ),
    ] = None,
    leg: Annotated[
        str,
        typer.Option(
            help="Leg of a stride: right or left.", metavar="SIDE", autocompletion=lambda: ["right", "left"]
        ),
    ] = "right",
    output: Annotated[Path | None, output_option("File for the scores: .json or .csv; default none.")] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Also draw the curves over the measured bands.", metavar="FILE")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare a walking result with measured walking.

    For angles, ground reactions and moments over the gait cycle: correlation, ratio of ranges, RMS difference
    without offset (also relative to the standard deviation), share within two standard deviations, peaks and
    their times, and the stance fraction. Your own .csv file has a column 'percent' of the gait cycle, and
    columns such as 'knee_flexion' (degrees) with 'knee_flexion_sd', as far as you measured them.

    Example: kinetree validate gait walk.nc --data arnold5 --picture walk.png
    """
    from kinetree.gait_data.measured import DATA_SETS, measured_walking
    from kinetree.report.output import check_output, check_picture

    _check_scores(output)
    if picture is not None:
        check_picture(picture)
    check_output([path for path in (output, picture) if path is not None], force)
    names = list(dict.fromkeys(data or DATA_SETS))
    for name in names:
        if name not in DATA_SETS and Path(name).suffix.lower() != ".csv":
            unknown = unknown_name("data set of measured walking", name, DATA_SETS)
            raise InputError(f"{unknown} Your own data are a .csv file.")

    from kinetree.formats.regular_file import write_text
    from kinetree.gait_data.cycle import gait_cycle
    from kinetree.gait_data.score import gait_score
    from kinetree.study.measured_gait import read_measured_walking

    walked = read_result(result)
    cycle = gait_cycle(walked, leg)
    measured = [measured_walking(x) if x in DATA_SETS else read_measured_walking(x) for x in names]
    scores = [gait_score(cycle, one) for one in measured]
    told_scores = {score.data: score.as_dict() for score in scores}
    if output is not None:
        is_json = output.suffix.lower() == ".json"
        text = json.dumps(told_scores, indent=2) + "\n" if is_json else _csv(told_scores)
        write_text(output, text, force)
    if picture is not None:
        _draw(cycle, measured[0], picture)
    _warn_of_failed(walked)
    if as_json:
        typer.echo(json.dumps(told_scores))
    elif not quiet:
        _print(scores)
        for file in (output, picture):
            if file is not None:
                say(f"Wrote {file}")


@validate_app.command("lift")
def validate_lift(
    result: ResultFile,
    output: Annotated[Path | None, output_option("File for the scores: .json or .csv; default none.")] = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare a lift with measured squats without a box.

    For angles of hip, knee, ankle and spine, moments and the ground force: the least and largest values, and
    how many standard deviations the largest ones are from the mean squat. Also the largest net forces in back
    and knees, which were not measured.

    Example: kinetree validate lift lifting.nc --output lift.csv
    """
    from kinetree.report.output import check_output

    _check_scores(output)
    check_output([] if output is None else [output], force)

    from kinetree.formats.regular_file import write_text
    from kinetree.report.terminal_gait import squat_report
    from kinetree.tasks.lifting.squat import squat_score

    lifted = read_result(result)
    score = squat_score(lifted)
    stated = score.as_dict()
    if output is not None:
        is_json = output.suffix.lower() == ".json"
        text = json.dumps(stated, indent=2) + "\n" if is_json else _rows_csv(stated["quantities"])
        write_text(output, text, force)
    _warn_of_failed(lifted)
    if as_json:
        typer.echo(json.dumps(stated))
    elif not quiet:
        console().print(squat_report(score))
        if output is not None:
            say(f"Wrote {output}")


def _check_scores(output: Path | None) -> None:
    if output is not None and output.suffix.lower() not in SCORES:
        raise FileError(f"{output}: scores can be written as {' or '.join(SCORES)}")


def _warn_of_failed(result: Result) -> None:
    """A result that failed its own checks may look human, and is no walk all the same."""
    failed = [name for name, check in result.audit.items() if not check.passed]
    if failed or not result.complete:
        why = f"failed checks of its audit ({listed(failed)})" if failed else "was not finished"
        say(f"warning: this motion {why}: its scores are not meaningful", stderr=True, style="yellow")


def _print(scores: list[GaitScore]) -> None:
    from kinetree.report.terminal_gait import score_report

    for score in scores:
        console().print(score_report(score))
        say("")


def _draw(cycle: Any, data: Measured, path: Path) -> None:
    from kinetree.report.gait_plot import plot_gait
    from kinetree.report.output import picture_bytes, write_file

    write_file(path, picture_bytes(plot_gait(cycle, data), path.suffix))


def _csv(scores: dict[str, Any]) -> str:
    """One row for each data set and curve."""
    return _rows_csv([{"data": name, **row} for name, score in scores.items() for row in score["curves"]])


def _rows_csv(rows: list[dict[str, Any]]) -> str:
    """One line for each row, below the names of its columns."""
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
