"""Errors carry what they refuse: as fields, through prefixes, to other processes."""

import pickle

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, KinetreeError, Refusal, must_be, unknown_name
from kinetree.motion.options import Search
from support.refused import faults, mismatch


def test_fields_of_what_users_get_wrong():
    """In every layer: arrays, models, states, simulations, predictions, trajectories, walking."""
    arm, still = kt.zoo.gripper(), np.zeros(4)
    calls = [
        ("short", lambda: kt.gravity_torque(arm, [0.0]), "q", (1,), "(..., 4)"),
        ("name", lambda: kt.gravity_torque(arm, {"jiont1": 1.0}), "joint", "jiont1", ["joint1", "joint4"]),
        ("body", lambda: kt.jacobian(arm, still, "hand"), "body", "hand", ["link1"]),
        ("time", lambda: kt.simulate(arm, still, duration=-1.0), "duration", -1.0, "> 0 s"),
        ("path", lambda: kt.trajectories.cycloid([0], [1], 0.0), "duration", 0.0, "> 0 s"),
        ("zoo", lambda: kt.zoo.by_name("kuka"), "mechanism", "kuka", ["kuka_kr5"]),
        ("tolerance", lambda: Search(tolerance=1.0), "tolerance", 1.0, "between 0 and 0.1"),
        ("law", lambda: kt.control.SampledLaw(3, period=0.1), "law", 3, "a function of (t, q, qd)"),
    ]  # fmt: skip
    assert faults(calls, KinetreeError) == {}


def test_a_refusal_is_its_text_with_parts():
    stated = must_be("step", "> 0 s", -0.5, "g").after("study 'x': ").then("; see the page on steps")
    assert stated == "study 'x': step must be > 0 s, got -0.5; see the page on steps"
    assert isinstance(stated, Refusal) and (stated.offender, stated.value) == ("step", -0.5)
    near = unknown_name("body", "hant", ["hand", "arm"])
    assert near == "unknown body 'hant'; allowed: hand, arm. Did you mean 'hand'?"
    assert unknown_name("body", "hant", ["hand"], 99) == "unknown body 'hant'"


def test_errors_reach_other_processes_whatever_the_value_is():
    error = InputError(must_be("law", "a function", lambda: None))
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and mismatch(again, "law", allowed="a function") is None
    assert again.value.startswith("<function")
    plain = pickle.loads(pickle.dumps(InputError("as it is")))
    assert str(plain) == "as it is" and plain.offender is plain.value is plain.allowed is None
    with pytest.raises(InputError) as caught:
        kt.mass_matrix(kt.zoo.gripper(), "x")
    assert type(caught.value.args[0]) is str
