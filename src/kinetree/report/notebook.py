"""Mechanisms, results, derivatives, problems and predictions in notebooks: a table and a small picture."""

from __future__ import annotations

import warnings
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from kinetree.algebra.arrays import Array
from kinetree.errors import KinetreeError
from kinetree.model.joint import Joint
from kinetree.model.mechanism import Link, Mechanism
from kinetree.motion.outcome.phased_prediction import PhasedPrediction
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.problem.phases import PhasedProblem
from kinetree.motion.problem.problem import Problem
from kinetree.motion.search.start import straight_line
from kinetree.motion.timing.outcome import FastestTiming
from kinetree.report.draw import draw, strobe
from kinetree.report.html.markup import Html, element, table
from kinetree.report.output import picture_bytes
from kinetree.report.palette import INK
from kinetree.report.prediction_plot import plot_prediction
from kinetree.report.result_plot import plot_result
from kinetree.report.timing_plot import plot_timing
from kinetree.result.result import Result
from kinetree.result.summary import headline, summary_html

MOST_ROWS = 24  # of a table; a human has 55 joints
DOTS = 80  # per inch: a picture of some 20 kB
SIDE = 3.6  # inches of the picture of a mechanism
CURVES, PANEL = 5.6, 1.5  # inches of the curves of a result: width, height of a panel
MOST_NAMED = 9  # curves that a small panel has room to name
MATRIX = 1.7  # inches of the picture of a matrix
SHOWN_AT = np.linspace(0.0, 1.0, 4)  # instants of an initial guess, as parts of the motion
PHASES = ("phase", "variables", "constraints", "minimize", "subject to")
JOINTS = ("joint", "kind", "parent", "body", "mass (kg)", "range")


@contextmanager
def _any_letters() -> Iterator[None]:
    """Draw names of any letters and lengths, without a warning in the notebook that a picture suffers."""
    with warnings.catch_warnings():
        for harmless in ("Glyph .* missing from font", "constrained_layout not applied"):
            warnings.filterwarnings("ignore", harmless)
        yield


@_any_letters()
def mechanism_html(mechanism: Mechanism) -> str:
    """A mechanism as HTML: its joints with kinds, bodies, masses and ranges beside a picture of it.

    >>> import kinetree as kt
    >>> text = mechanism_html(kt.zoo.two_link())
    >>> "2 degrees of freedom" in text, "<img" in text
    (True, True)
    """
    figure = Figure(figsize=(SIDE, SIDE))
    draw(mechanism, ax=figure.add_subplot(projection="3d"), legend=False)
    rows = [_joint_row(link) for link in mechanism.links]
    return _side_by_side(repr(mechanism), _shortened(JOINTS, rows), figure)


@_any_letters()
def result_html(result: Result) -> str:
    """A result as HTML: its variables, audit and settings beside curves of positions and torques.

    A single sample is drawn as a pose, a sweep by the picture that fits its kind.
    """
    words = element("div", Html(summary_html(result)), style="flex: 1 1 26em")
    return _side_by_side(f"Result: {headline(result)}", words, _picture_of(result))


def _picture_of(result: Result) -> Figure | None:
    """Curves of a motion, a single pose, or the usual picture of a sweep; None if no case succeeded."""
    if result.task == "sweep":
        with suppress(KinetreeError):
            return plot_result(result)
        return None
    if len(result.time) == 1:
        figure = Figure(figsize=(SIDE, SIDE))
        q = np.asarray(result["q"])[0]
        draw(result.mechanism, q, ax=figure.add_subplot(projection="3d"), legend=False)
        return figure
    names = [x for x in ("q", "tau") if x in result.variables and np.any(result[x].values)]
    figure = plot_result(result, *(names or ["q"]))
    for ax in figure.axes:
        legend = ax.get_legend()
        if legend is not None and len(legend.get_lines()) > MOST_NAMED:
            legend.remove()
    figure.set_size_inches(CURVES, 0.8 + PANEL * len(figure.axes))
    return figure


@_any_letters()
def matrices_html(answer: Any, table_of: str, names: Sequence[str], core: int) -> str:
    """An answer with its table and a picture of matrices: the larger an entry, the darker, red below zero.

    ``names`` are attributes (..., rows, columns), or (..., bodies, components, columns) for ``core`` 3, which
    are drawn with one row below another. Of a batch, the first state is drawn. Matrices with as many rows as
    columns and others share the height of the picture.
    """
    figure = Figure(figsize=(MATRIX * len(names) + 0.3, MATRIX + 0.5), layout="constrained")
    for k, name in enumerate(names, 1):
        values = np.asarray(getattr(answer, name))
        _draw_matrix(figure.add_subplot(1, len(names), k), name, _first_state(values, core))
    return _side_by_side(type(answer).__name__, Html(table_of), figure)


def _first_state(values: Array, core: int) -> Array:
    """The matrix of the first state of a batch; no rows if the batch is empty."""
    shape = values.shape[values.ndim - core :]
    flat = values.reshape((-1, int(np.prod(shape[:-1])), shape[-1]))
    return flat[0] if len(flat) else np.zeros((0, shape[-1]))


def _draw_matrix(ax: Any, name: str, values: Array) -> None:
    """Entries as colors that are symmetric about zero, with the largest absolute value below."""
    largest = float(np.nanmax(np.abs(values), initial=0.0))  # undetermined reactions are NaN
    if values.size:
        limit = largest or 1.0
        ax.imshow(values, cmap="RdBu", vmin=-limit, vmax=limit, interpolation="nearest", aspect="auto")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_title(name, color=INK, fontsize=9, parse_math=False)
    ax.set_xlabel(f"up to {largest:.3g}", color=INK, fontsize=8)


@_any_letters()
def problem_html(problem: Problem) -> str:
    """A problem as HTML: size, objective and families of constraints beside poses of the initial guess."""
    rows = [("minimize", f"{term.weight:g} {term.family}") for term in problem.objective]
    rows += [(f"{count}", family) for family, count in problem.families.items()]
    return _side_by_side(repr(problem), _shortened(("rows", "term"), rows), _guessed([problem]))


def _guessed(problems: Sequence[Problem]) -> Figure:
    """Poses of the straight lines from which the searches start; the first pose if loops cannot follow."""
    mechanism, poses = problems[0].mechanism, []
    with suppress(KinetreeError):
        for problem in problems:
            evaluation = problem.evaluation(SHOWN_AT, straight_line(problem, 1.0))
            poses.append(np.asarray(evaluation.motion.q))
    figure = Figure(figsize=(SIDE, SIDE))
    ax: Any = figure.add_subplot(projection="3d")
    if poses:
        strobe(mechanism, np.concatenate(poses), ax)
    else:
        draw(mechanism, ax=ax, legend=False)
    ax.set_title("initial guess" if poses else mechanism.name, color=INK, fontsize=9, parse_math=False)
    return figure


@_any_letters()
def prediction_html(prediction: Prediction) -> str:
    """A prediction as HTML: what the search found, in words, beside positions and torques over time."""
    words = element("div", *(element("div", line) for line in str(prediction).splitlines()))
    return _side_by_side(repr(prediction), words, plot_prediction(prediction, "q", "tau"))


@_any_letters()
def phased_problem_html(problem: PhasedProblem) -> str:
    """A problem in phases as HTML: a row for each phase with its size, its objective and its constraints."""
    rows = [
        (
            f"{k}",
            f"{part.n_variables}",
            f"{part.n_constraints}",
            ", ".join(f"{term.weight:g} {term.family}" for term in part.objective),
            ", ".join(part.families),
        )
        for k, part in enumerate(problem.problems, 1)
    ]
    return _side_by_side(repr(problem), _shortened(PHASES, rows), _guessed(problem.problems))


@_any_letters()
def phased_prediction_html(prediction: PhasedPrediction) -> str:
    """A prediction in phases as HTML: what was found, in words, beside positions and torques over time."""
    words = element("div", *(element("div", line) for line in str(prediction).splitlines()))
    return _side_by_side(repr(prediction), words, prediction.plot())


@_any_letters()
def timing_html(timing: FastestTiming) -> str:
    """A timing as HTML: what was found, in words, beside the phase plane with its limits."""
    words = element("div", *(element("div", line) for line in str(timing).splitlines()))
    return _side_by_side(repr(timing), words, plot_timing(timing))


def _joint_row(link: Link) -> tuple[str, ...]:
    """A joint and what it carries, as the columns of the table."""
    body, joint = link.body, link.joint
    return joint.name, joint.kind, link.parent, body.name, f"{body.inertia.mass:.4g}", _range(joint)


def _range(joint: Joint) -> str:
    """The range of a joint with one degree of freedom; nothing for others and for joints without limits."""
    if len(joint.lower) != 1 or not np.isfinite([joint.lower[0], joint.upper[0]]).any():
        return ""
    return f"{joint.lower[0]:.4g} to {joint.upper[0]:.4g}"


def _shortened(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Html:
    """A table of the first rows, and how many more there are."""
    more = len(rows) - MOST_ROWS
    return Html(
        table(head, rows[:MOST_ROWS], caption="", numbers=len(head))
        + (element("div", f"and {more} more") if more > 0 else "")
    )


def _side_by_side(title: str, left: Html, figure: Figure | None) -> str:
    """A bold title above some HTML and, beside it where there is room, a picture."""
    if figure is None:
        return element("div", element("b", title), left)
    data = b64encode(picture_bytes(figure, ".png", DOTS)).decode()
    picture = element("img", src=f"data:image/png;base64,{data}", alt=title)
    style = "display: flex; flex-wrap: wrap; gap: 1em; align-items: flex-start"
    return element("div", element("b", title), element("div", left, picture, style=style))
