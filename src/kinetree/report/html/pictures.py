"""The pictures of a report that do not move: the mechanism, its motion in some poses, the search for it."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

import numpy as np

from kinetree.errors import InputError
from kinetree.gait_data.cycle import gait_cycle
from kinetree.gait_data.ground import FOOT_VECTOR, FORCE
from kinetree.gait_data.score import gait_score
from kinetree.report.draw import figure_of
from kinetree.report.frames import frames, motion_names
from kinetree.report.html.markup import Html, element
from kinetree.report.output import picture_bytes
from kinetree.report.palette import INK, LINE_COLORS
from kinetree.report.panel import quiet_frame
from kinetree.result.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_LABELS = 14  # names of joints in the picture
INCHES, DOTS = 4.4, 160  # width of a picture, and its sharpness
POSES = 10  # of a motion in one picture
SMALLEST = 1e-12  # violation that counts as one


def drawing(result: Result) -> Html:
    """The mechanism in its first pose, with the names of its joints if there are few."""
    mechanism = result.mechanism
    first = frames(result, most=1) if motion_names(result) else None
    pose = None if first is None else first.q[0]
    named = mechanism.n_dof <= MOST_LABELS
    figure = figure_of(mechanism, pose, labels=named, inches=INCHES, around=first)
    figure.axes[0].set_position((0.07, 0.02, 0.86, 0.9))  # room for names
    words = f"Drawing of {mechanism.name} in its first pose: links, joints by kind, centers of mass"
    return _picture(figure, words)


def poses(result: Result) -> Html:
    """A predicted motion as poses at equal times over each other, the last in full color."""
    if result.task != "predict" or not motion_names(result):
        return Html("")
    shots = frames(result, most=POSES)
    figure = figure_of(result.mechanism, shots.q, inches=INCHES, around=shots)
    words = f"{len(shots.time)} poses at equal times, from pale to dark"
    return Html(_picture(figure, words) + element("p", f"{words}.", class_="quiet"))


def history(result: Result) -> Html:
    """How objective and largest violation came down from iteration to iteration."""
    if "objective_history" not in result or len(result["objective_history"]) < 2:
        return Html("")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(INCHES, 0.8 * INCHES), layout="constrained")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 1, sharex=True)
    step = result["iteration"].values
    violation = np.maximum(result["violation_history"].values, SMALLEST)
    above.plot(step, result["objective_history"].values, "o-", color=LINE_COLORS[0], markersize=3)
    below.plot(step, violation, "o-", color=LINE_COLORS[1], markersize=3)
    below.set_yscale("log")
    for ax, words in ((above, "objective"), (below, f"largest violation (cut off below {SMALLEST:.0e})")):
        ax.set_title(words, loc="left", fontsize=9, color=INK)
        quiet_frame(ax)
    below.set_xlabel("iteration", fontsize=9, color=INK)
    below.xaxis.get_major_locator().set_params(integer=True)
    return _picture(figure, "Objective and largest constraint violation over the iterations")


def gait(result: Result) -> Html:
    """The cycle of a leg above measured walking, and its scores, for results with ground reactions."""
    if FORCE not in result or result[FORCE].dims != FOOT_VECTOR:
        return Html("")
    from kinetree.report.gait_plot import plot_gait

    try:
        cycle = gait_cycle(result)
    except InputError:  # some other mechanism with feet
        return Html("")
    score = gait_score(cycle)
    words = f"Right leg over its gait cycle, with mean and standard deviation of {score.source}"
    bars = score.bars
    reached = f"Meets {len(bars) - len(score.missed)} of {len(bars)} criteria of a human gait"
    missed = f"; missed: {', '.join(score.missed)}." if score.missed else "."
    return Html(
        _picture(plot_gait(cycle), words, "picture wide") + element("p", reached + missed, class_="quiet")
    )


def muscles(result: Result) -> Html:
    """Activations of muscles as a map, for results that have them."""
    if "activation" not in result:
        return Html("")
    from kinetree.report.muscle_plot import plot_activations

    return _picture(plot_activations(result), "Activations of muscles as a map of colors", "picture wide")


def _picture(figure: Figure, words: str, looks: str = "picture") -> Html:
    """A figure within the page."""
    content = b64encode(picture_bytes(figure, dots=DOTS)).decode("ascii")
    width, height = (round(DOTS * x) for x in figure.get_size_inches())
    source = f"data:image/png;base64,{content}"
    return element("img", class_=looks, src=source, width=str(width), height=str(height), alt=words)
