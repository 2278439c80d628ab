"""One settings object for all simulations: the same answers, keywords before it, nearest names in errors."""

import inspect
from dataclasses import fields
from typing import get_type_hints

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.simulation import Settings, Simulator, simulate_batch
from kinetree.simulation.settings import SettingsKeywords

ARM, START = kt.zoo.two_link(), [0.3, -0.2]
CALLS = {
    "simulate": lambda **given: kt.simulate(ARM, START, duration=0.1, **given),
    "simulate_batch": lambda **given: simulate_batch(ARM, [START], duration=0.1, threads=1, **given),
    "Simulator": lambda **given: Simulator(ARM, 0.1, **given).run(START),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_object_and_keywords_are_the_same(name):
    load = kt.Wrench("link2", (0.0, 1.0, 0.0))
    given = {"method": "rk4", "step": 1e-2, "times": 4, "loads": load}
    by_object = np.asarray(CALLS[name](settings=Settings(**given)).q)
    np.testing.assert_array_equal(by_object, np.asarray(CALLS[name](**given).q))
    assert np.abs(by_object - np.asarray(CALLS[name](settings=Settings(**given), loads=()).q)).max() > 1e-6


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_keyword_names_the_nearest(name):
    with pytest.raises(InputError, match=f"unknown argument of {name} 'metod'.* Did you mean 'method'"):
        CALLS[name](metod="radau")
    with pytest.raises(InputError, match=r"settings must be a kt\.simulation\.Settings or None, got {'rtol'"):
        CALLS[name](settings={"rtol": 1e-6})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "radu"}, "unknown method 'radu'.*Did you mean 'radau'"),
        ({"rtol": -1.0}, "rtol must be > 0, got -1"),
        ({"rtol": None}, "rtol must be a number, got None"),
        ({"step": 0.0}, "step must be > 0 s, got 0"),
        ({"max_step": "long"}, "max_step must be real numbers"),
        ({"friction_speed": float("nan")}, "friction_speed must be finite"),
        ({"stops": 1e4}, "stops must be a Stops, got 10000.0"),
    ],
)
def test_wrong_settings_are_refused_when_they_are_made(given, message):
    with pytest.raises(InputError, match=message):
        Settings(**given)


def test_fields_are_declared_alike_for_objects_and_keywords():
    assert get_type_hints(Settings) == get_type_hints(SettingsKeywords)


@pytest.mark.parametrize("function", [kt.simulate, simulate_batch, Simulator])
def test_help_shows_all_keywords(function):
    shown = inspect.signature(function).parameters
    assert {field.name for field in fields(Settings)} <= set(shown) and "settings" in shown
    assert all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in shown.values())
    assert shown["rtol"].default == 1e-8


def test_settings_print_what_was_chosen():
    assert repr(Settings()) == "Settings()"
    assert repr(Settings(rtol=1e-6, method="radau")) == "Settings(method='radau', rtol=1e-06)"


def test_a_batch_closes_loops_by_accelerations_as_a_single_motion_does():
    bar = kt.zoo.four_bar()
    q = kt.loops.assemble(bar, [0.0, 1.0, 4.3], hold=["crank_pivot"])
    given = Settings(baumgarte=20.0, times=5)
    one = kt.simulate(bar, q, duration=0.2, settings=given)
    many = simulate_batch(bar, [q, q], duration=0.2, settings=given, method="dop853", threads=1)
    np.testing.assert_allclose(many.q.values[1], one.q.values, atol=1e-7)


def test_options_of_one_simulation_are_no_settings():
    made = kt.simulation.Simulator(kt.zoo.two_link(), duration=0.1)
    with pytest.raises(kt.errors.InputError, match="settings must be"):
        kt.simulate(kt.zoo.two_link(), [0.1, 0.2], duration=0.1, settings=made.options)
