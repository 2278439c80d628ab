"""Calls upwards: what results offer as methods although the code stands in a package above theirs.

Imports go downwards only. The few methods that reach up, such as ``result.plot()``, go through this table,
and the test of the layers reads it; no other file imports a module of the package by a text.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

UPWARD = {  # function: the module in which it stands
    "mechanism_html": "kinetree.report.notebook",  # a mechanism as the last line of a notebook's cell
    "result_html": "kinetree.report.notebook",
    "matrices_html": "kinetree.report.notebook",  # derivatives
    "problem_html": "kinetree.report.notebook",
    "prediction_html": "kinetree.report.notebook",
    "phased_problem_html": "kinetree.report.notebook",
    "phased_prediction_html": "kinetree.report.notebook",
    "timing_html": "kinetree.report.notebook",
    "plot_result": "kinetree.report.result_plot",  # result.plot()
    "write_movie": "kinetree.report.movie",  # result.animate()
    "movie_content": "kinetree.report.movie",
    "write_report": "kinetree.report.html.page",  # result.report()
    "plot_prediction": "kinetree.report.prediction_plot",  # prediction.plot()
    "plot_timing": "kinetree.report.timing_plot",  # timing.plot()
    "plot_workspace": "kinetree.report.workspace_plot",  # workspace.plot()
    "check_by_simulation": "kinetree.tasks.prediction_check",  # prediction.check_by_simulation()
}


def upstairs(name: str) -> Any:
    """A function of a package above, loaded when it is needed."""
    return getattr(import_module(UPWARD[name]), name)
