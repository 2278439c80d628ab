"""The curves and pictures of a report: what was asked for behind what came, peaks, the search."""

import numpy as np
import pytest

from kinetree.report.html.page import report_html
from kinetree.report.html.panels import CurvePanel, MotionLine, _without_noise, report_panels
from kinetree.report.html.payload import payload
from kinetree.report.panel import Line
from kinetree.result.build import build_result
from kinetree.study.run import run
from kinetree.zoo import two_link


def result_of(task="control", **variables):
    """A result of a two-link arm over 1001 samples of 1 s."""
    t = np.linspace(0.0, 1.0, 1001)
    q = np.column_stack([np.sin(t), np.cos(t)])
    return build_result(task, two_link(), {"time": t, "q": q, "qd": q, **variables})


def panel_of(panels, symbol):
    """The first panel of a symbol."""
    return next(panel for panel in panels if panel.symbol == symbol)


def test_what_was_asked_for_stands_behind_what_came():
    wanted = np.column_stack([np.linspace(0.0, 1.0, 1001)] * 2)
    result = result_of(q_reference=wanted)
    panel = panel_of(report_panels(result, 1), "q")
    assert [(x.line.label, x.asked) for x in panel.lines] == [
        ("joint1", False), ("joint2", False), ("joint1", True), ("joint2", True),
    ]  # fmt: skip
    assert panel.lines[2].line.values[-1] == 1.0
    (told,) = (x for x in payload(result)["panels"] if x["symbol"] == "q")
    assert [line["asked"] for line in told["lines"]] == [False, False, True, True]


def test_rare_peaks_are_cut_off_and_only_they():
    tau = np.ones((1001, 2))
    assert panel_of(report_panels(result_of(tau=tau), 1), "tau").window is None
    tau[500] = [60.0, -40.0]
    window = panel_of(report_panels(result_of(tau=tau), 1), "tau").window
    assert window == (-2.0, 2.0)
    many = np.where(np.arange(1001)[:, None] < 100, 60.0, tau)
    assert panel_of(report_panels(result_of(tau=many), 1), "tau").window is None


def test_a_motion_that_runs_away_does_not_press_the_others_flat():
    result = run(
        "two_link_joint_free",
        **{
            "compare": {
                "case": [
                    {"name": "calm", "torque": {"constant": [1, 0]}},
                    {"name": "wild", "torque": {"constant": [900, 0]}},
                ]
            }
        },
    )
    panel = panel_of(report_panels(result, 2), "q")
    size = [max(np.abs(x.line.values).max() for x in panel.lines if x.motion == k) for k in (0, 1)]
    assert size[1] > 4 * size[0]
    low, high = panel.window
    assert -2 * size[0] <= low <= high <= 2 * size[0]


@pytest.fixture(scope="module")
def fastest():
    """A predicted motion."""
    return run("two_link_minimum_time")


def test_a_predicted_motion_shows_its_poses_and_its_search(fastest):
    page = report_html(fastest)
    assert "The motion at a glance" in page and "Optimization" in page
    assert page.count('<img class="picture"') == 3


def test_other_motions_have_no_search():
    page = report_html(result_of("simulate"))
    assert "Optimization" not in page and page.count('<img class="picture"') == 1


def test_rounding_beside_another_unit_of_the_variable_is_not_drawn(rng):
    """The moment of a pin about its axis is zero but for rounding; its force is not."""
    wrench = np.zeros((1001, 2, 6))
    wrench[..., 0] = 70.0
    names = ["x", "y", "z", "mx", "my", "mz"]
    units = ["N"] * 3 + ["N m"] * 3

    def panels(moment):
        wrench[..., 5] = moment
        lines = [
            CurvePanel("wrench", "w", unit, [MotionLine(Line(name, np.zeros(1001), wrench[:, 0, k]), 0)])
            for k, (name, unit) in enumerate(zip(names, units, strict=True))
            if k in (0, 5)
        ]
        return [panel.unit for panel in _without_noise(lines)]

    assert panels(1e-15 * rng.standard_normal((1001, 2))) == ["N"]
    assert panels(1e-6 * rng.standard_normal((1001, 2))) == ["N", "N m"]


def test_reactions_have_components_beside_sizes():
    reaction = np.zeros((1001, 2, 6))
    reaction[:, 1, 2] = -5.0
    symbols = [panel.symbol for panel in report_panels(result_of(reaction=reaction), 1)]
    assert "joint force" in symbols and "f_z" in symbols and "m_x" not in symbols  # which is zero
