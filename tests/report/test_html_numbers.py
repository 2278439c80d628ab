"""Numbers of reports: how they are packed, thinned and drawn."""

import numpy as np
import pytest

from kinetree.report.html.panels import CurvePanel, MotionLine, thinned
from kinetree.report.html.payload import packed
from kinetree.report.panel import Line
from support.report_page import unpacked


def test_numbers_that_do_not_fit_four_bytes_keep_eight():
    for values in ([1e300, 1.0], [1e-200, 0.0]):
        text = packed(values)
        assert text.startswith("d:")
        np.testing.assert_array_equal(unpacked(text), values)
    assert np.isnan(unpacked(packed([np.nan, 1.0]))[0])


def test_thinning_keeps_peaks_gaps_and_ends(rng):
    time = np.linspace(0.0, 1.0, 20_001)
    values = rng.normal(size=len(time))
    values[[7777, 15_000]] = 100.0, -100.0
    values[3000:6000] = np.nan
    line = thinned(Line("x", time, values), 500)
    assert len(line.time) <= 502 and (np.diff(line.time) > 0).all()
    assert np.nanmax(line.values) == 100.0 and np.nanmin(line.values) == -100.0
    assert line.time[0] == 0.0 and line.time[-1] == 1.0
    inside = (line.time > time[3100]) & (line.time < time[5900])
    assert inside.any() and np.isnan(line.values[inside]).all()


@pytest.mark.parametrize(
    ("values", "logarithmic"),
    [
        (lambda t: np.sin(np.pi * t) + 1e-16, False),  # a motion from rest to rest
        (lambda t: np.exp(30 * t), True),
        (lambda t: 1.0 + t, False),
        (lambda t: np.exp(30 * t) - 1.0, False),
        (lambda t: np.full_like(t, np.nan), False),
    ],
)
def test_powers_are_drawn_only_of_what_grows_by_powers(values, logarithmic):
    t = np.linspace(0.0, 1.0, 201)
    panel = CurvePanel("", "x", "", [MotionLine(Line("x", t, values(t)), 0)])
    assert panel.logarithmic is logarithmic
