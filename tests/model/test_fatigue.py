"""Fatigue of joints: closed forms, another integrator, repetitions, bad input."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kinetree as kt
from kinetree.human import fatigue, repetitions

MINUTE = 60.0


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_endurance_of_a_constant_load_is_the_closed_form(share):
    """Ma et al. 2009: c = exp(-k f t) meets f at t = -ln(f) / (k f)."""
    t = np.linspace(0.0, 20 * MINUTE, 24001)
    capacity = fatigue(t, np.full((len(t), 1), share))[:, 0]
    endured = t[np.argmax(capacity < share)]
    assert endured == pytest.approx(-np.log(share) / (share / MINUTE), abs=0.06)


def test_varying_loads_with_recovery_agree_with_another_integrator():
    t = np.linspace(0.0, 90.0, 4001)
    load = np.stack([0.5 + 0.4 * np.sin(0.7 * t), np.where(t % 10 < 4, 0.8, 0.0)], axis=1)
    rate, recovery = np.array([1.0, 1.4]) / MINUTE, np.array([2.4, 0.5]) / MINUTE
    found = fatigue(t, load, rate, recovery)
    for k in range(2):
        f = lambda s, k=k: np.interp(s, t, load[:, k])  # noqa: E731
        slope = lambda s, c, k=k, f=f: -rate[k] * f(s) * c + recovery[k] * (1 - c)  # noqa: E731
        wanted = solve_ivp(slope, (0, 90), [1.0], rtol=1e-9, atol=1e-11, t_eval=t[::400], max_step=0.02).y[0]
        assert found[::400, k] == pytest.approx(wanted, abs=1e-6)


def test_rest_lets_a_motion_be_repeated_more_often():
    t = np.linspace(0.0, 4.0, 41)
    load = 0.75 * np.sin(np.pi * t / 4.0)[:, None] ** 2
    tired, rested = repetitions(t, load), repetitions(t, load, rest=4.0, recovery=0.3 / MINUTE)
    assert 0 < tired < rested
    # by hand: c falls by exp(-k integral of f) each time, and the peak comes in the middle
    whole, half = (np.exp(-np.trapezoid(load[:n, 0], t[:n]) / MINUTE) for n in (41, 21))
    assert tired == int(np.floor(np.log(0.75 / half) / np.log(whole))) + 1
    assert repetitions(t, load, rest=60.0, recovery=2.4 / MINUTE, most=500) == 500


def test_the_load_of_a_lift_comes_from_torques_and_strength():
    """A predicted motion of an arm: shares of its limits, and what is left of them."""
    from kinetree.study.run import run

    found = run("two_link_lifting")
    limits = np.array([30.0, 15.0])
    share = np.abs(found.tau.values) / limits
    left = fatigue(found.time.values, share)
    work = np.trapezoid(share, found.time.values, axis=0)
    assert left[-1] == pytest.approx(np.exp(-work / MINUTE), rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0], [[0.5]]), "times must be two or more that ascend"),
        (([1.0, 0.0], [[0.5], [0.5]]), "times must be two or more that ascend"),
        (([0.0, 1.0], [0.5, 0.5]), r"load must have shape \(2, n\)"),
        (([0.0, 1.0], [[0.5], [np.nan]]), "load must be finite"),
        (([0.0, 1.0], [[0.5], [0.5]], -1.0), "rate must be 0 or more, got -1"),
        (([0.0, 1.0], [[0.5], [0.5]], [1.0, 2.0]), r"rate must be a number or 1 of them, got shape \(2,\)"),
        (
            ([0.0, 1.0], [[0.5], [0.5]], 0.1, 0.0, 2.0),
            "start must be a fraction of the strength, 0 to 1, got 2",
        ),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(kt.errors.InputError, match=message):
        fatigue(*arguments)
    if len(arguments) < 5:
        with pytest.raises(kt.errors.InputError, match=message):
            repetitions(*arguments[:2], 0.0, *arguments[2:])


def test_bad_rests():
    with pytest.raises(kt.errors.InputError, match="rest must be >= 0 s"):
        repetitions([0.0, 1.0], [[0.5], [0.5]], rest=-1.0)
