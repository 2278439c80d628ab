"""What is zero throughout is drawn nowhere unless asked for, and said so everywhere."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.report.html.page import report_html
from kinetree.report.html.panels import report_panels
from kinetree.report.result_plot import plot_comparison, plot_result
from kinetree.viewer.plot_panel import curve_groups, split_zero, telling

NOTE = "Zero throughout and not drawn: tau"


@pytest.fixture(scope="module")
def fall():
    return kt.simulate(kt.zoo.gripper(), [-1, 0, 0, 0], duration=0.1, times=5)


@pytest.fixture(scope="module")
def pushed():
    return kt.simulate(kt.zoo.gripper(), [-1, 0, 0, 0], duration=0.1, times=5, torque=[0, 0, 0, 0.01])


def symbols(figure):
    return [ax.get_ylabel().split(" / ")[0] for ax in figure.axes]


def test_a_plot_leaves_zeros_out_and_says_so(fall, pushed):
    assert "tau" not in symbols(plot_result(fall)) and plot_result(fall).get_supxlabel() == NOTE
    assert "tau" in symbols(plot_result(pushed)) and plot_result(pushed).get_supxlabel() == ""


def test_a_plot_shows_zeros_that_are_asked_for(fall):
    figure = plot_result(fall, "q", "tau")
    assert symbols(figure) == ["q", "tau"] and figure.get_supxlabel() == ""


def test_a_picture_of_nothing_but_zeros_is_still_a_picture():
    still = kt.zoo.two_link(gravity=(0, 0, 0))
    figure = plot_result(kt.simulate(still, [0, 0], duration=0.1, times=3))
    assert "q" in symbols(figure) and figure.get_supxlabel() == ""


def test_a_comparison_shows_what_is_zero_in_one_of_two(fall, pushed):
    assert "tau" in symbols(plot_comparison(fall, pushed))
    both = plot_comparison(fall, fall)
    assert "tau" not in symbols(both) and both.get_supxlabel() == NOTE


def test_a_report_leaves_zeros_out_and_says_so(fall, pushed):
    assert "tau" not in {panel.symbol for panel in report_panels(fall, 1)}
    assert NOTE in report_html(fall)
    assert "tau" in {panel.symbol for panel in report_panels(pushed, 1)}
    assert "Zero throughout" not in report_html(pushed)


def test_the_viewer_leaves_zeros_out_and_says_so(fall, pushed):
    groups, note = split_zero(curve_groups(fall))
    assert "tau [N m]" in note and "tau [N m]" not in groups and "tau [N m]" not in telling(groups)
    assert all(np.any(curve.values) for title in groups for curve in groups[title][:1])
    assert "tau [N m]" in split_zero(curve_groups(pushed))[0]
