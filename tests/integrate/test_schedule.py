"""Outputs, breaks, sampling, pauses, restarts and lanes."""

import numpy as np
import pytest
from scipy.linalg import expm

from kinetree.integrate.integration import Events, IntegrationStatus
from support.odes import (
    ADAPTIVE,
    FIXED,
    four_pendulums,
    integration,
    pendulum,
    pendulum_angle,
    pendulum_slopes,
    python_callback,
    sampling_callback,
    solved,
)

METHODS = ADAPTIVE + FIXED
OPTIONS = {"rtol": 1e-8, "atol": 1e-8, "step": 0.01}


@pytest.mark.parametrize("method", METHODS)
def test_pauses_change_nothing(method):
    """One step at a time, or all at once: the same bits, with events, breaks and samples."""
    crossings = python_callback(lambda t, y, _: [y[0], y[1] - 0.1], 3, 2)

    def run():
        log = []
        sample = sampling_callback(lambda t, y, context: log.append((t, *y)), 3)
        made = integration(
            method,
            pendulum,
            [1.0, 0.2, 0.0],
            4.0,
            np.linspace(0, 4, 77),
            n_sums=1,
            events=Events(crossings.address, 2, [0, 1], 0),
            sample=(sample.address, 0.3),
            breaks=[1.0, 1.2, 2.5],
            jacobian=pendulum_slopes.address,
            **OPTIONS,
        )
        made.keep = sample
        return made, log

    (whole, log), (pieces, other_log) = run(), run()
    assert whole.advance(10**9) == IntegrationStatus.DONE
    count = 0
    while (status := pieces.advance(1)) == IntegrationStatus.RUNNING:
        count += 1
    assert status == IntegrationStatus.DONE and count > 10
    assert pieces.t == whole.t == 4.0
    np.testing.assert_array_equal(pieces.out, whole.out)
    np.testing.assert_array_equal(pieces.y, whole.y)
    assert log == other_log and len(log) == 14
    assert pieces.statistics == whole.statistics
    assert len(whole.event_log) == len(pieces.event_log) > 2
    for one, other in zip(whole.event_log, pieces.event_log, strict=True):
        assert one.t == other.t and one.index == other.index and one.direction == other.direction
        np.testing.assert_array_equal(one.y, other.y)


@pytest.mark.parametrize("method", METHODS)
def test_outputs_at_special_times_come_once(method):
    """At the start, at the end, at breaks, at samples, twice the same time."""
    sample = sampling_callback(lambda t, y, context: None, 3)
    times = [0.0, 0.0, 0.1, 0.25, 0.3, 0.3, 0.5, 0.75, 1.0, 1.0]
    run = solved(
        method,
        pendulum,
        [1.0, 0.0, 0.0],
        1.0,
        times,
        n_sums=1,
        breaks=[0.0, 0.3, 0.75, 1.0, 2.0],
        sample=(sample.address, 0.25),
        **OPTIONS,
    )
    assert run.n_out == len(times)
    accuracy = 0.01 if method == "semi_implicit_euler" else 1e-7
    np.testing.assert_allclose(run.out[:, 0, 0], pendulum_angle(1.0, times), atol=accuracy)
    np.testing.assert_array_equal(run.out[0, 0], [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(run.out[-1], run.y)


def test_no_time_at_all():
    run = solved("dopri5", pendulum, [1.0, 0.0, 0.0], 0.0, [0.0], n_sums=1)
    assert run.n_out == 1 and run.statistics["steps"] == 0
    np.testing.assert_array_equal(run.out[0, 0], [1.0, 0.0, 0.0])


@pytest.mark.parametrize("method", METHODS)
def test_breaks_keep_full_accuracy(method):
    """A force that jumps: constant accelerations are integrated exactly if no step sees both sides."""
    jumps = np.array([0.3, 0.7, 0.7000000000000001, 1.1])
    levels = np.array([1.0, -3.0, 5.0, 5.0, -2.0])
    rates = python_callback(lambda t, y, _: [y[1], levels[np.searchsorted(jumps, t, side="right")]], 2, 2)
    times = np.linspace(0, 2, 41)
    run = solved(method, rates, [0.0, 0.0], 2.0, times, breaks=jumps, rtol=1e-6, atol=1e-6, step=0.1)
    edges = np.array([0.0, *jumps, 9.0])
    inside = np.clip(times[:, None], edges[:-1], edges[1:]) - edges[:-1]
    velocity = inside @ levels
    np.testing.assert_allclose(run.out[:, 0, 1], velocity, atol=1e-12)
    left = np.clip(times[:, None] - edges[1:], 0.0, None)
    position = (inside**2 / 2 + inside * left) @ levels
    np.testing.assert_allclose(
        run.out[:, 0, 0], position, atol=1.0 if method == "semi_implicit_euler" else 1e-12
    )


def test_breaks_beat_no_breaks():
    rates = python_callback(lambda t, y, _: [y[1], 1.0 if t < 1 / 3 else -1.0], 2, 2)
    with_break = solved("dopri5", rates, [0.0, 0.0], 1.0, breaks=[1 / 3], rtol=1e-6, atol=1e-6)
    without = solved("dopri5", rates, [0.0, 0.0], 1.0, rtol=1e-6, atol=1e-6)
    assert with_break.statistics["evaluations"] < without.statistics["evaluations"] / 2
    assert abs(with_break.y[0, 1] + 1 / 3) < 1e-14


@pytest.mark.parametrize("method", ["dopri5", "dop853", "rk4", "radau"])
def test_sampled_control_of_a_linear_system(method):
    """q'' = u with u = -k q - d qd held between samples, against the exact discrete-time solution."""
    k, d, period, count = 30.0, 4.0, 0.05, 60

    def sample(t, y, context):
        context[0] = -k * y[0] - d * y[1]
        instants.append(t)

    instants = []
    rates = python_callback(lambda t, y, context: [y[1], context[0] - 2.0 * y[0]], 2, 2)
    callback = sampling_callback(sample, 2)
    times = period * np.arange(count + 1)
    run = solved(
        method,
        rates,
        [1.0, 0.0],
        times[-1],
        times,
        sample=(callback.address, period),
        rtol=1e-11,
        atol=1e-12,
        step=0.002,
    )
    whole = expm(period * np.array([[0.0, 1.0, 0.0], [-2.0, 0.0, 1.0], [0.0, 0.0, 0.0]]))
    x = np.array([1.0, 0.0])
    for j in range(count + 1):
        np.testing.assert_allclose(run.out[j, 0], x, atol=3e-9)
        x = whole[:2] @ [*x, -k * x[0] - d * x[1]]
    assert instants == [k * period for k in range(count)]


def test_sampling_does_not_shrink_the_steps():
    """Each sampling instant costs one new evaluation, not a new search for the step."""
    callback = sampling_callback(lambda t, y, context: None, 3)
    options = {"n_sums": 1, "rtol": 1e-6, "atol": 1e-6}
    free = solved("dopri5", pendulum, [1.0, 0.0, 0.0], 100.0, **options)
    held = solved("dopri5", pendulum, [1.0, 0.0, 0.0], 100.0, sample=(callback.address, 10.0), **options)
    assert held.statistics["steps"] < free.statistics["steps"] + 15


@pytest.mark.parametrize("method", METHODS)
def test_restart_in_other_coordinates(method):
    """The angle is counted anew from the other side, half way: the motion goes on, outputs too."""
    times = np.linspace(0, 2, 41)
    events = python_callback(lambda t, y, _: [y[0] - 0.5], 3, 1)
    run = integration(
        method,
        pendulum,
        [1.0, 0.0, 0.0],
        2.0,
        times,
        n_sums=1,
        events=Events(events.address, 1, 2, -1),
        **OPTIONS,
    )
    assert run.advance(10**9) == IntegrationStatus.EVENT
    written = run.n_out
    y = run.y
    y[0, 0] -= 2 * np.pi
    run.restart(y=y)
    assert run.advance(10**9) == IntegrationStatus.DONE and run.n_out == len(times)
    angles = run.out[:, 0, 0].copy()
    angles[written:] += 2 * np.pi
    accuracy = 0.02 if method == "semi_implicit_euler" else 1e-6
    np.testing.assert_allclose(angles, pendulum_angle(1.0, times), atol=accuracy)


def test_restart_with_another_context_and_time():
    rates = python_callback(lambda t, y, context: [y[1], context[0]], 2, 2)
    run = integration("dopri5", rates, [0.0, 0.0], 2.0, [0.5, 1.0, 1.5, 2.0], context=[1.0], breaks=[1.0])
    while run.t < 1.0:
        run.advance(1)
    run.restart(context=np.array([-1.0]))
    assert run.advance(10**9) == IntegrationStatus.DONE
    np.testing.assert_allclose(run.out[:, 0, 1], [0.5, 1.0, 0.5, 0.0], atol=1e-12)
    run.restart(t=0.0, y=[[0.0, 0.0]])
    assert run.t == 0.0 and run.advance(10**9) == IntegrationStatus.DONE
    assert abs(run.y[0, 1] + 2.0) < 1e-12 and run.n_out == 4


@pytest.mark.parametrize("method", ["dopri5", "dop853", "rk4", "semi_implicit_euler"])
def test_four_lanes_are_four_simulations(method):
    amplitudes = np.array([0.1, 1.0, 2.0, 3.0])
    y0 = np.stack([amplitudes, np.zeros(4), np.zeros(4)], axis=1)
    times = np.linspace(0, 3, 16)
    together = solved(method, four_pendulums, y0, 3.0, times, n_sums=1, rtol=1e-9, atol=1e-9, step=0.01)
    for lane in range(4):
        alone = solved(method, pendulum, y0[lane], 3.0, times, n_sums=1, rtol=1e-9, atol=1e-9, step=0.01)
        np.testing.assert_allclose(together.out[:, lane], alone.out[:, 0], atol=3e-8)


def test_the_worst_lane_decides():
    """Three lanes at rest do not dilute the error of the fourth."""
    y0 = np.zeros((4, 3))
    y0[2, 0] = 2.0
    together = solved("dopri5", four_pendulums, y0, 3.0, n_sums=1)
    alone = solved("dopri5", pendulum, y0[2], 3.0, n_sums=1)
    assert abs(together.statistics["steps"] - alone.statistics["steps"]) <= 4


def test_tolerance_of_each_entry():
    """A loose absolute tolerance of the velocity allows longer steps."""
    tight = solved("dopri5", pendulum, [1.0, 0.0, 0.0], 10.0, n_sums=1, rtol=1e-12, atol=[1e-9, 1e-9, 0.0])
    loose = solved("dopri5", pendulum, [1.0, 0.0, 0.0], 10.0, n_sums=1, rtol=1e-12, atol=[1e-4, 1e-4, 0.0])
    assert loose.statistics["steps"] < tight.statistics["steps"] / 5


@pytest.mark.parametrize("method", ADAPTIVE)
def test_max_step_is_kept(method):
    run = solved(method, pendulum, [0.1, 0.0, 0.0], 10.0, n_sums=1, max_step=0.1, rtol=1e-3, atol=1e-3)
    assert run.statistics["steps"] >= 99
