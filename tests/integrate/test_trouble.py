"""What stops an integration: callbacks, poles, values that are not finite; and misuse that is refused."""

import ctypes
import shutil

import numpy as np
import pytest

from kinetree.engine.disk_cache import code_folder
from kinetree.engine.machine_code import compiled_callback
from kinetree.engine.stored_code import stored_or_made
from kinetree.integrate.integration import Events, Integration, IntegrationStatus
from support.odes import ADAPTIVE, FIXED, SIGNATURE, integration, pendulum, python_callback, sampling_callback

METHODS = ADAPTIVE + FIXED
TROUBLE = {IntegrationStatus.NOT_FINITE, IntegrationStatus.STEP_TOO_SMALL}


@pytest.mark.parametrize("method", METHODS)
def test_a_callback_stops_at_once(method):
    calls = []

    def rates(t, y, _):
        calls.append(t)
        return None if t > 0.5 else [y[1], -y[0]]

    run = integration(method, python_callback(rates, 2, 2), [1.0, 0.0], 2.0, np.linspace(0, 2, 21), step=0.01)
    assert run.advance(10**9) == IntegrationStatus.CALLBACK
    assert calls[-1] > 0.5 and max(calls[:-1]) <= 0.5
    assert run.t <= 0.5
    accuracy = 0.01 if method == "semi_implicit_euler" else 1e-5
    assert abs(run.y[0, 0] - np.cos(run.t)) < accuracy
    assert run.n_out == np.searchsorted(run.times, run.t, side="right")
    assert run.advance(10**9) == IntegrationStatus.CALLBACK  # again, not a crash


def test_an_event_function_may_stop():
    watch = python_callback(lambda t, y, _: None if t > 0.5 else [y[0]], 3, 1)
    run = integration("dopri5", pendulum, [1.0, 0.0, 0.0], 2.0, n_sums=1, events=Events(watch.address, 1))
    assert run.advance(10**9) == IntegrationStatus.CALLBACK and run.t <= 0.5


@pytest.mark.parametrize("method", ADAPTIVE)
def test_a_pole_is_found(method):
    """x' = x^2 as a further state without any position: x = 1 / (1 - t) ends at t = 1."""
    run = integration(method, python_callback(lambda t, y, _: [y[0] ** 2], 1, 1), [1.0], 2.0, n=0)
    assert run.advance(10**6) in TROUBLE
    assert abs(run.t - 1.0) < 1e-6
    assert np.isfinite(run.y).all() and run.y[0, 0] > 1e6


@pytest.mark.parametrize("method", METHODS)
def test_values_that_are_not_finite(method):
    """A force that is undefined from t = 0.5 on; the last good state stays."""
    rates = python_callback(lambda t, y, _: [y[1], 1.0 if t < 0.5 else np.nan], 2, 2)
    run = integration(method, rates, [0.0, 0.0], 2.0, step=0.01)
    status = run.advance(10**6)
    assert status == IntegrationStatus.NOT_FINITE
    assert abs(run.t - 0.5) < 0.011 and np.isfinite(run.y).all()


def test_sums_must_be_finite_too():
    rates = python_callback(lambda t, y, _: [y[1], -y[0], np.inf if t > 0.5 else 1.0], 3, 3)
    run = integration("dopri5", rates, [1.0, 0.0, 0.0], 2.0, n_sums=1)
    assert run.advance(10**6) == IntegrationStatus.NOT_FINITE
    assert abs(run.t - 0.5) < 1e-6


def test_a_jump_without_a_break_is_passed():
    """Step-size control alone gets over a jump of f."""
    rates = python_callback(lambda t, y, _: [y[1], 1.0 if t < 1 / 3 else -1.0], 2, 2)
    run = integration("dopri5", rates, [0.0, 0.0], 1.0, rtol=1e-9, atol=1e-9)
    assert run.advance(10**6) == IntegrationStatus.DONE
    assert abs(run.y[0, 1] + 1 / 3) < 1e-6 and run.statistics["rejected"] > 3


@pytest.mark.parametrize(
    "change",
    [
        {"rates": 0},
        {"n": 2},
        {"n_sums": 2},
        {"n": -1},
        {"context": np.zeros(2, int)},
        {"method": "radau", "y0": np.zeros((4, 3))},
    ],
)
def test_misuse_is_refused(change):
    given = {"method": "dopri5", "rates": pendulum.address, "context": np.zeros(1), "y0": np.zeros((1, 3))}
    given |= {"n": 1, "n_sums": 1, "t_start": 0.0, "t_end": 1.0, "times": np.zeros(0)}
    with pytest.raises(ValueError, match=r"callbacks need|does not fit"):
        Integration(**(given | change))


def test_compiled_callbacks():
    """A function as a C callback, called from Python by its address."""

    def double(t, y, out, context):
        out[0] = 2.0 * y[0] + t * context[0]
        return 7

    made = compiled_callback(double, SIGNATURE, "double-of-a-test")
    numbers = (ctypes.c_double * 3)(3.0, 0.0, 10.0)
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, *[ctypes.POINTER(ctypes.c_double)] * 3)
    places = [ctypes.cast(ctypes.byref(numbers, 8 * k), ctypes.POINTER(ctypes.c_double)) for k in range(3)]
    assert kind(made.address)(0.5, *places) == 7
    assert numbers[1] == 11.0


def test_a_callback_that_needs_nothing_of_numba_is_kept_without_it():
    """The next process loads it by LLVM alone."""

    def made(name):
        def double(t, y, out, context):
            out[0] = 2.0 * y[0]
            return 0

        return compiled_callback(double, SIGNATURE, name)

    name = "kept-of-a-test"
    shutil.rmtree(code_folder(name, 1), ignore_errors=True)  # as if no one had asked for it before
    assert made(name).cache_hits == 0
    assert stored_or_made(name, 1, lambda: None).cache_hits == made(name).cache_hits == 1


def test_sampling_may_stop():
    stop = sampling_callback(lambda t, y, context: t > 0.7, 3)
    run = integration("dopri5", pendulum, [1.0, 0.0, 0.0], 2.0, n_sums=1, sample=(stop.address, 0.5))
    assert run.advance(10**6) == IntegrationStatus.CALLBACK and run.t == 1.0
