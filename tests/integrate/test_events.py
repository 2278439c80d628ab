"""Events: when g changes its sign, located on the dense output."""

import numpy as np
import pytest

from kinetree.integrate.integration import Events, IntegrationStatus
from support.each import each
from support.odes import (
    ADAPTIVE,
    FIXED,
    four_pendulums,
    integration,
    pendulum,
    pendulum_period,
    python_callback,
    solved,
)

G = 9.81
fall = python_callback(lambda t, y, _: [y[1], -G], 2, 2)
TIGHT = {"rtol": 1e-10, "atol": 1e-10, "step": 1e-3}


def watch(function, n_in, count, action=0, direction=0):
    """Events of a Python function, which lives as long as they do."""
    callback = python_callback(function, n_in, count)
    events = Events(callback.address, count, action, direction)
    object.__setattr__(events, "callback", callback)
    return events


@pytest.mark.parametrize("method", ADAPTIVE + FIXED)
def test_a_falling_point_stops_at_the_ground(method):
    events = watch(lambda t, y, _: [y[0]], 2, 1, action=2)
    run = integration(method, fall, [1.0, 0.5], 3.0, np.linspace(0, 3, 31), events=events, **TIGHT)
    assert run.advance(10**9) == IntegrationStatus.EVENT
    landing = (0.5 + np.sqrt(0.25 + 2 * G)) / G
    accuracy = 1e-3 if method == "semi_implicit_euler" else 1e-12
    assert abs(run.t - landing) < accuracy
    assert -1e-12 < run.y[0, 0] <= 0.0 or method == "semi_implicit_euler"
    (event,) = run.event_log
    assert (event.t, event.index, event.lane, event.direction) == (run.t, 0, 0, -1)
    np.testing.assert_array_equal(event.y, run.y[0])
    assert run.n_out == int(landing * 10) + 1
    assert (
        run.advance(10**9) == IntegrationStatus.DONE and len(run.event_log) == 1
    )  # goes on below the ground
    np.testing.assert_allclose(
        run.out[:, 0, 0], 1.0 + 0.5 * run.times - G / 2 * run.times**2, atol=accuracy * 20
    )


@pytest.mark.parametrize("direction", [0, -1])
def test_a_bouncing_ball(direction):
    """Stop, turn the velocity round, restart: each flight is shorter; the events never repeat themselves."""
    events = watch(lambda t, y, _: [y[0]], 2, 1, action=2, direction=direction)
    run = integration("dopri5", fall, [1.0, 0.0], 3.0, events=events, **TIGHT)
    expected, speed = [np.sqrt(2 / G)], np.sqrt(2 * G)
    while run.advance(10**9) == IntegrationStatus.EVENT:
        y = run.y
        y[0, 1] *= -0.7
        run.restart(y=y)
        speed *= 0.7
        expected.append(expected[-1] + 2 * speed / G)
        assert len(expected) < 100
        if speed < 1e-4:
            break
    found = [event.t for event in run.event_log]
    np.testing.assert_allclose(found, expected[: len(found)], atol=1e-10)
    assert len(found) > 15


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("action", [0, 1])
def test_zero_crossings_of_a_pendulum(method, action):
    events = watch(lambda t, y, _: [y[0]], 3, 1, action=action)
    amplitude = 1.5
    run = solved(method, pendulum, [amplitude, 0, 0], 30.0, n_sums=1, events=events, **TIGHT)
    period = pendulum_period(amplitude)
    expected = period * np.arange(0.25, 30 / period, 0.5)
    np.testing.assert_allclose([event.t for event in run.event_log], expected, atol=1e-7)
    assert [event.direction for event in run.event_log] == [(-1, 1)[k % 2] for k in range(len(expected))]
    assert max(abs(event.y[0]) for event in run.event_log) < 1e-13


def test_only_one_direction():
    events = watch(lambda t, y, _: [y[0], y[0]], 3, 2, direction=[1, -1])
    run = solved("dop853", pendulum, [1.0, 0, 0], 20.0, n_sums=1, events=events, **TIGHT)
    for event in run.event_log:
        assert event.direction == (1, -1)[event.index]
        assert np.sign(event.y[1]) == event.direction
    assert len({event.index for event in run.event_log}) == 2


@pytest.mark.parametrize("action", [0, 1])
def test_an_event_at_the_start_does_not_happen(action):
    """g = 0 at the start: only later crossings count."""
    events = watch(lambda t, y, _: [y[0]], 2, 1, action=action)
    run = solved("dopri5", fall, [0.0, G], 3.0, events=events, **TIGHT)
    assert len(run.event_log) == 1
    assert abs(run.event_log[0].t - 2.0) < 1e-12
    resting = python_callback(lambda t, y, _: [0.0, 0.0], 2, 2)
    assert solved("dopri5", resting, [0.0, 0.0], 3.0, events=events, **TIGHT).event_log == []


def test_touching_is_not_crossing():
    """A throw that ends below a line, touches it within rounding, and passes it: 0, at most 2, 2 events."""
    top = 0.5 * G  # of a throw with the speed G, at t = 1
    for shift, counts in ((1e-6, {0}), (0.0, {0, 2}), (-1e-6, {2})):
        events = watch(lambda t, y, _, line=top + shift: [y[0] - line], 2, 1)
        run = solved("dopri5", fall, [0.0, G], 2.0, events=events, breaks=[1.0], **TIGHT)
        assert len(run.event_log) in counts
        for event in run.event_log:
            assert abs(event.t - 1.0) < 1e-3


def test_simultaneous_events():
    """Three functions with the same zero, one with a later one, one that is already past: all in order."""
    landing = np.sqrt(2 / G)
    events = watch(
        lambda t, y, _: [y[0], -3 * y[0], t - landing, t - 1.0, y[0] - 0.5], 2, 5, action=[1, 0, 0, 1, 0]
    )
    run = solved("dop853", fall, [1.0, 0.0], 1.5, events=events, **TIGHT)
    assert run.event_log[0].index == 4
    assert sorted(event.index for event in run.event_log) == [0, 1, 2, 3, 4]
    times = {event.index: event.t for event in run.event_log}
    assert max(abs(times[k] - landing) for k in (0, 1, 2)) < 1e-12
    assert abs(times[3] - 1.0) < 1e-14 and abs(times[4] - np.sqrt(1 / G)) < 1e-12
    assert [event.t for event in run.event_log] == sorted(times.values())


def test_more_events_than_the_log_holds():
    """The log is emptied on the way; steps are neither lost nor repeated."""
    events = watch(lambda t, y, _: [np.sin(20 * t)], 2, 1)
    run = solved("rk4", fall, [0.0, 0.0], 40.0, events=events, step=0.01)
    expected = np.arange(1, int(40 * 20 / np.pi) + 1) * np.pi / 20
    np.testing.assert_allclose([event.t for event in run.event_log], expected, rtol=1e-13)
    assert run.statistics["steps"] == 4000


def test_events_of_four_lanes():
    amplitudes = np.array([0.5, 1.0, 1.5, 2.0])
    y0 = np.stack([amplitudes, np.zeros(4), np.zeros(4)], axis=1)
    events = watch(lambda t, y, _: y[[0, 1, 3, 4, 6, 7, 9, 10]], 12, 8)
    events = Events(events.address, 2, [0, 0], [-1, 0]), events
    run = solved("dop853", four_pendulums, y0, 5.0, n_sums=1, events=events[0], **TIGHT)
    for lane in range(4):
        period = pendulum_period(amplitudes[lane])
        found = [event for event in run.event_log if event.lane == lane and event.index == 0]
        assert abs(found[0].t - period / 4) < 1e-8
        assert abs(found[0].y[0]) < 1e-13
        turn = next(event for event in run.event_log if event.lane == lane and event.index == 1)
        assert abs(turn.t - period / 2) < 1e-8 and abs(turn.y[0] + amplitudes[lane]) < 1e-8


def test_a_restart_at_an_event_keeps_full_accuracy():
    """A spring that acts on one side only: f has a kink where the event is; the energy is kept."""
    spring = python_callback(lambda t, y, _: [y[1], -G - 1e4 * min(0.0, y[0])], 2, 2)
    events = watch(lambda t, y, _: [y[0]], 2, 1, action=1)
    run = solved("dopri5", spring, [1.0, 0.0], 5.0, events=events, rtol=1e-9, atol=1e-11)
    q, qd = run.y[0]
    energy = 0.5 * qd**2 + G * q + 0.5e4 * min(0.0, q) ** 2
    assert abs(energy - G) < 5e-6
    flight, omega = 2 * np.sqrt(2 / G), 100.0
    contact = (np.pi + 2 * np.arctan(G / omega / np.sqrt(2 * G))) / omega
    np.testing.assert_allclose(
        [event.t for event in run.event_log[:3]],
        [flight / 2, flight / 2 + contact, 1.5 * flight + contact],
        atol=1e-8,
    )


@each("method", [*ADAPTIVE, "rk4"])
@each("action", [0, 1])
def test_two_crossings_in_one_step(method, action):
    """A throw that passes a line just below its top: both crossings are seen, however long the steps are."""
    top = 0.5 * G  # of a throw with the speed G, at t = 1
    for below in (1e-1, 1e-3, 1e-5):
        events = watch(lambda t, y, _, line=top - below: [y[0] - line], 2, 1, action=action)
        options = {"rtol": 1e-6, "atol": 1e-6, "step": 0.3}
        run = solved(method, fall, [0.0, G], 1.9, events=events, **options)
        assert [event.direction for event in run.event_log] == [1, -1]
        half = np.sqrt(2 * below / G)
        expected = [1 - half, 1 + half]
        np.testing.assert_allclose([event.t for event in run.event_log], expected, atol=1e-6)


def test_one_direction_of_two_crossings_in_one_step():
    top = 0.5 * G
    events = watch(lambda t, y, _: [y[0] - top + 1e-3], 2, 1, direction=-1)
    run = solved("dop853", fall, [0.0, G], 1.9, events=events, rtol=1e-6, atol=1e-6)
    (event,) = run.event_log
    assert event.direction == -1 and abs(event.t - 1 - np.sqrt(2e-3 / G)) < 1e-9


@pytest.mark.parametrize("method", ADAPTIVE)
def test_an_event_that_chatters_does_not_stop_time(method):
    """Friction that drives a velocity back from both sides: it stays at zero, and time goes on."""

    def rates(t, y, context):
        return [y[1], -2.0 if context[0] > 0.0 else 1.0]

    def switch(t, y, context):
        context[0] = np.sign(y[1]) if calls == [] else -context[0]
        calls.append(t)
        return [context[0]]

    calls = []
    events = watch(lambda t, y, _: [y[1]], 2, 1, action=3)
    turn = python_callback(switch, 2, 1)
    object.__setattr__(events, "switch", turn.address)
    rate = python_callback(rates, 2, 2)
    run = integration(method, rate, [0.0, 1.0], 1.0, [0.25, 0.5, 1.0], events=events, rtol=1e-6, atol=1e-6)
    assert run.advance(5000) == IntegrationStatus.DONE
    distance = 0.25  # v^2 / (2 a)
    np.testing.assert_allclose(run.out[:, 0, 0], [0.1875, distance, distance], atol=2e-3)
    np.testing.assert_allclose(run.out[2, 0, 1], 0.0, atol=0.05)
    assert len(calls) > 10
