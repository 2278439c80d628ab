"""Options of searches: one list of names and defaults, refused before any work."""

import inspect
from dataclasses import fields

import pytest

import kinetree as kt
from kinetree.motion.options import OPTIONS, STATED, Search, divided
from kinetree.motion.phased import predict_phases


def test_predict_takes_the_options_of_a_search_with_their_defaults():
    stated = {
        name: x.default
        for name, x in inspect.signature(kt.predict).parameters.items()
        if name not in ("problem", "start")
    }
    assert stated == {x.name: x.default for x in fields(Search)}


def test_every_option_has_a_description():
    assert all(x.metadata["description"].endswith(".") for x in fields(Search))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tolerance", 0.5), ("tolerance", "small"), ("max_iterations", 0), ("max_iterations", 3.0),
        ("starts", 0), ("seed", -1), ("seed", True), ("time_limit", 0.0), ("options", [1]), ("between", 1.0),
    ],
)  # fmt: skip
def test_wrong_values_are_refused_by_name(name, value):
    with pytest.raises(kt.KinetreeError, match=name):
        Search(**{name: value})


def test_unknown_options_of_phases_name_the_nearest_one():
    with pytest.raises(kt.KinetreeError, match="Did you mean 'max_iterations'"):
        predict_phases([], max_iteration=10)


def test_what_is_left_of_a_time_limit_is_positive_also_when_it_is_over():
    search = Search(time_limit=2.0)
    assert search.after(0.5).time_limit == 1.5
    assert 0.0 < search.after(3.0).time_limit < 1e-6
    assert search.is_over(2.0) and not search.is_over(1.9)
    assert Search().after(1e9) == Search() and not Search().is_over(1e9)


def test_keywords_are_divided_into_options_and_others():
    options, others = divided({"solver": "ipopt", "speed": 1.0})
    assert options == {"solver": "ipopt"} and others == {"speed": 1.0}
    assert set(STATED) < set(OPTIONS) and set(Search().stated()) == set(STATED)
