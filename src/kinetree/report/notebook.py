"""What notebooks show of mechanisms, problems, predictions and timings: a table and a small picture."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from kinetree.model.joint import Joint
from kinetree.model.mechanism import Link, Mechanism
from kinetree.motion.outcome.phased_prediction import PhasedPrediction
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.problem.phases import PhasedProblem
from kinetree.motion.problem.problem import Problem
from kinetree.motion.timing.outcome import FastestTiming
from kinetree.report.draw import draw
from kinetree.report.html.markup import Html, element, table
from kinetree.report.output import picture_bytes
from kinetree.report.prediction_plot import plot_prediction
from kinetree.report.timing_plot import plot_timing

MOST_ROWS = 24  # of a table; a human has 55 joints
DOTS = 80  # per inch: a picture of some 20 kB
SIDE = 3.6  # inches of the picture of a mechanism
PHASES = ("phase", "variables", "constraints", "minimize", "subject to")
JOINTS = ("joint", "kind", "parent", "body", "mass (kg)", "range")


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


def problem_html(problem: Problem) -> str:
    """A problem as HTML: how large it is, what it minimizes, and the families of its constraints."""
    rows = [("minimize", f"{term.weight:g} {term.family}") for term in problem.objective]
    rows += [(f"{count}", family) for family, count in problem.families.items()]
    return element("div", element("b", repr(problem)), _shortened(("rows", "term"), rows))


def prediction_html(prediction: Prediction) -> str:
    """A prediction as HTML: what the search found, in words, beside positions and torques over time."""
    words = element("div", *(element("div", line) for line in str(prediction).splitlines()))
    return _side_by_side(repr(prediction), words, plot_prediction(prediction, "q", "tau"))


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
    return element("div", element("b", repr(problem)), _shortened(PHASES, rows))


def phased_prediction_html(prediction: PhasedPrediction) -> str:
    """A prediction in phases as HTML: what was found, in words, beside positions and torques over time."""
    words = element("div", *(element("div", line) for line in str(prediction).splitlines()))
    return _side_by_side(repr(prediction), words, prediction.plot())


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


def _side_by_side(title: str, left: Html, figure: Figure) -> str:
    """A bold title above some HTML and, beside it where there is room, a picture."""
    data = b64encode(picture_bytes(figure, ".png", DOTS)).decode()
    picture = element("img", src=f"data:image/png;base64,{data}", alt=title)
    style = "display: flex; flex-wrap: wrap; gap: 1em; align-items: flex-start"
    return element("div", element("b", title), element("div", left, picture, style=style))
