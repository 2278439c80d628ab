"""Scores of a gait and of a lift for the terminal."""

from __future__ import annotations

import numpy as np
from rich.console import Group
from rich.text import Text

from kinetree.gait_data.curves import ALL
from kinetree.gait_data.score import CurveScore, GaitScore
from kinetree.report.terminal import NAME, QUIET, plain_table
from kinetree.tasks.lifting.squat import SquatScore

GOOD, BAD = "green", "red"


def score_report(score: GaitScore) -> Group:
    """The table of curves, peaks and stance, and which bars are reached."""
    table = plain_table("curve", "r", "range", "rmse", "/SD", "2 SD", "peak @% (measured)")
    for row in score.curves:
        cells = (
            f"{row.r:.3f}",
            f"x{row.range_ratio:.2f}",
            f"{row.rmse:.{2 if row.unit == 'deg' else 3}f} {row.unit}",
            _number(row.rmse_sd),
            f"{_number(100 * row.within, 0)} %" if np.isfinite(row.within) else "none",
            f"{_peak(row, row.peak, row.peak_at)} ({_peak(row, row.peak_measured, row.peak_measured_at)})",
        )
        style = QUIET if row.doubtful else ""
        name = Text(ALL[row.curve].title + (" *" if row.doubtful else ""), style=style or NAME)
        table.add_row(name, *(Text(cell, style=style) for cell in cells))
    for column in table.columns:
        column.no_wrap = True
    parts: list[Text | object] = [Text(f"{score.data}: {score.source}", style=NAME), table]
    if any(row.doubtful for row in score.curves):
        parts.append(Text("* measured with known errors: shown, but not counted", style=QUIET))
    if score.peaks:
        mine, theirs = (
            ", ".join(_at(y, x) for x, y in peaks) for peaks in (score.peaks, score.peaks_measured)
        )
        parts.append(
            f"vertical peaks (BW) {mine}, valley {_number(score.valley)} (measured {theirs}, "
            f"{_number(score.valley_measured)}); stance {_number(score.stance, 1)} % "
            f"(measured {_number(score.stance_measured, 1)} %)"
        )
    bars = score.bars
    missed = [f"{name} {_number(bars[name][0])}" for name in score.missed]
    text = f"meets {len(bars) - len(missed)} of {len(bars)} criteria"
    if missed:
        parts.append(Text(f"{text}; missed: {', '.join(missed)}", style=BAD))
    else:
        parts.append(Text(text, style=GOOD))
    return Group(*parts)  # type: ignore[arg-type]


def squat_report(score: SquatScore) -> Group:
    """A lift beside the measured squat: least and largest values, and the forces in back and knees."""
    table = plain_table("quantity", "lift", "squat, mean", "range", "SD away")
    for row in score.rows:
        digits = 0 if row.unit == "deg" else 2
        cells = (
            f"{row.least:.{digits}f} to {row.largest:.{digits}f}",
            f"{row.least_measured:.{digits}f} to {row.largest_measured:.{digits}f}",
            f"x{row.ratio:.2f}",
        )
        away = Text(f"{row.away:+.1f}", style=GOOD if row.within else BAD)
        table.add_row(Text(f"{row.title} ({row.unit})", style=NAME), *map(Text, cells), away)
    for column in table.columns:
        column.no_wrap = True
    forces = ", ".join(f"{name.replace('_', ' ')} {x:.0f} N" for name, x in score.forces.items())
    return Group(
        Text(score.source, style=NAME),
        table,
        Text(f"largest net forces: {forces} (not measured)"),
        Text("SD away: the largest value, in standard deviations of people. Legs are averaged.", style=QUIET),
    )


def _at(value: float, percent: float) -> str:
    return f"{value:.3g} at {percent:.0f} %"


def _peak(row: CurveScore, value: float, percent: float) -> str:
    return f"{value:.{0 if row.unit == 'deg' else 2}f} @{percent:.0f}"


def _number(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}" if np.isfinite(value) else "none"
