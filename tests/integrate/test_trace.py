"""The trace of accepted steps: their ends, both sides of jumps, rates, and nothing lost on the way."""

import numpy as np
import pytest
from numba import cfunc

from kinetree.integrate import integration as integrations
from kinetree.integrate.code import STAGES as METHODS
from kinetree.integrate.integration import Integration, IntegrationStatus
from support.odes import four_pendulums

SIGNATURE = "int64(float64, CPointer(float64), CPointer(float64), CPointer(float64))"


@cfunc(SIGNATURE)
def pushed(t, y, dy, context):
    """A mass that is pushed with 1 N until t = 0.5 s, with -1 N afterwards."""
    dy[0] = y[1]
    dy[1] = 1.0 if t < 0.5 else -1.0
    return 0


@cfunc(SIGNATURE)
def spring(t, y, dy, context):
    dy[0], dy[1] = y[1], -y[0]
    dy[2], dy[3] = y[3], -4.0 * y[2]
    return 0


def traced(method, rates, y0, t_end, n=1, **more):
    rows = []
    step = {} if method in ("dopri5", "dop853", "radau") else {"step": 0.01}
    run = Integration(
        method, rates.address, np.zeros(1), np.array(y0, float), n, 0, 0.0, t_end, np.array([t_end]),
        trace=rows.append, **step, **more,
    )  # fmt: skip
    assert run.advance(10**6) is IntegrationStatus.DONE
    run.flush()
    return run, rows


@pytest.mark.parametrize("method", METHODS)
def test_both_sides_of_a_jump_are_in_the_trace(method):
    run, rows = traced(method, pushed, [[0.0, 0.0]], 1.0, breaks=[0.5])
    (steps,) = rows
    assert steps.t[0] == 0.0 and steps.t[-1] == 1.0
    assert len(steps.t) == run.statistics["steps"] + 2  # the first row of either part, then one for each step
    jump = np.flatnonzero(np.diff(steps.t) == 0.0)
    assert steps.t[jump].tolist() == [0.5]
    assert steps.rates[jump[0], 0, 1] == pytest.approx(1.0) and steps.rates[jump[0] + 1, 0, 1] == -1.0
    assert np.array_equal(steps.y[jump], steps.y[jump + 1])
    v = np.where(steps.t < 0.5, steps.t, 1.0 - steps.t)
    assert np.allclose(steps.y[:, 0, 1], v, atol=1e-9) and np.allclose(steps.rates[:, 0, 0], v, atol=1e-9)
    assert steps.has_rates.all() and np.array_equal(steps.y[-1], run.y)


@pytest.mark.parametrize("method", METHODS)
def test_a_full_trace_is_handed_over_and_nothing_is_lost(method, monkeypatch):
    run, whole = traced(method, spring, [[1.0, 0.0, 0.0, 2.0]], 20.0, n=1)
    monkeypatch.setattr(integrations, "TRACE_NUMBERS", 1)
    monkeypatch.setattr(integrations, "FEWEST_ROWS", 7)
    short, pieces = traced(method, spring, [[1.0, 0.0, 0.0, 2.0]], 20.0, n=1)
    assert len(whole) == 1 and len(pieces) > 5 and max(len(x.t) for x in pieces) <= 7
    for k in range(4):
        assert np.array_equal(whole[0][k], np.concatenate([x[k] for x in pieces]))
    assert short.statistics == run.statistics


def test_lanes_have_rows_of_their_own_and_runs_follow_each_other():
    run, rows = traced("rk4", four_pendulums, [[1.0, 0.0, 0.0], [0.5, 0.0, 0.0]] * 2, 0.05)
    assert rows[0].y.shape == (6, 4, 3) and np.array_equal(rows[0].y[:, 0], rows[0].y[:, 2])
    assert rows[0].rates[0, :2, 1] == pytest.approx(-np.sin([1.0, 0.5]))
    for start in (1.0, 2.0):
        run.rewind(np.full((4, 3), start))
        run.advance(10**6)
    run.flush()
    assert len(rows) == 2 and np.flatnonzero(np.diff(rows[1].t) < 0.0).tolist() == [5]
    assert rows[1].y[0, 0, 0] == 1.0 and rows[1].y[6, 0, 0] == 2.0


def test_rates_at_events_that_cut_a_step_are_marked():
    @cfunc(SIGNATURE)
    def crossing(t, y, g, context):
        g[0] = t - 0.3
        return 0

    events = integrations.Events(crossing.address, 1, action=1)
    _, (steps,) = traced("dopri5", pushed, [[0.0, 0.0]], 0.4, events=events)
    cut = np.flatnonzero(~steps.has_rates)
    assert len(cut) == 1 and steps.t[cut[0]] == pytest.approx(0.3) and steps.t[cut[0] + 1] == steps.t[cut[0]]
    assert steps.has_rates[cut[0] + 1]


def test_without_a_trace_nothing_is_kept():
    run = Integration(
        "dopri5", spring.address, np.zeros(1), np.array([[1.0, 0, 0, 0]]), 1, 0, 0.0, 1.0, np.array([1.0])
    )
    run.advance(10**6)
    run.flush()
    assert run.n_trace == 0 and run._trace.size == 0
