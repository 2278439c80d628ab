"""A result at other times: splines are reproduced, jumps and missing values stay where they are."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import kinetree as kt
from kinetree.errors import InputError
from kinetree.result.build import build_result
from kinetree.result.resample import at_rate


@pytest.fixture(scope="module")
def reach():
    ends = [kt.terms.Boundary("start", [0, 0], 0.0), kt.terms.Boundary("end", [1, 1], 0.0)]
    arm = kt.zoo.two_link()
    return kt.predict(kt.Problem(arm, objective=kt.terms.SquaredTorque(), constraints=ends, duration=0.6))


def test_a_prediction_between_its_samples_is_its_spline(reach, tmp_path):
    reach.save(tmp_path / "reach.nc")
    t = np.linspace(0.0, 0.6, 601)
    found = kt.load_result(tmp_path / "reach.nc").at(t)
    for name, exact in zip(("q", "qd", "qdd"), reach.at(t), strict=True):
        assert_allclose(found[name].values, exact, atol=1e-9 * np.abs(exact).max())
    torque = kt.inverse_dynamics(reach.problem.mechanism, *reach.at(t))
    assert_allclose(found.tau.values, torque, atol=2e-3 * np.abs(torque).max())
    assert found.audit == reach.result.audit and found.settings == reach.result.settings
    assert_array_equal(found.control_points.values, reach.result.control_points.values)


def test_own_samples_are_given_back(reach):
    result = reach.result
    back = result.at(result.time.values)
    for name in result.variables:
        assert_allclose(back[name].values, result[name].values, rtol=1e-12, atol=1e-9)


def test_a_simulation_between_its_samples_is_the_finer_simulation():
    arm = kt.zoo.two_link()
    t = np.linspace(0.0, 0.5, 101)
    coarse, fine = (kt.simulate(arm, [0.3, 0.5], duration=0.5, times=n, rtol=1e-10) for n in (51, t))
    found = coarse.at(t)
    assert_allclose(found.q.values, fine.q.values, atol=1e-7)
    assert_allclose(found.qd.values, fine.qd.values, atol=1e-5)


def test_an_impact_between_samples_does_not_swing_the_motion():
    """Accelerations of 1e4 at one sample only, as in a contact: the velocity stays between its samples."""
    arm, t = kt.zoo.two_link(), np.linspace(0.0, 0.1, 11)
    qdd = np.zeros((11, 2))
    qdd[5] = 1e4
    motion = {"time": t, "q": np.outer(t, [1.0, 2.0]), "qd": np.tile([1.0, 2.0], (11, 1)), "qdd": qdd}
    found = build_result("simulate", arm, motion).at(np.linspace(0.0, 0.1, 101))
    assert_allclose(found.qd.values, np.tile([1.0, 2.0], (101, 1)), atol=1e-12)
    assert found.qdd.values.max() == 1e4 and found.qdd.values.min() == 0.0


def test_jumps_missing_values_and_counts():
    arm = kt.zoo.two_link()
    motion = {
        "time": [0.0, 1.0, 1.0, 1.0, 2.0],
        "q": np.zeros((5, 2)),
        "qd": np.zeros((5, 2)),
        "tau": np.outer([0.0, 1.0, 7.0, 5.0, 5.0], [1.0, 1.0]),
        "phase": (("time",), [1, 1, 2, 3, 3], "1", "number of the phase"),
        "pressure": (("time",), [1.0, np.nan, np.nan, 3.0, 4.0], "Pa", "pressure", True),
    }
    found = build_result("inverse", arm, motion | {"qdd": np.zeros((5, 2))}).at([0.5, 1.0, 1.5, 2.0])
    assert_array_equal(found.tau.values[:, 0], [0.5, 5.0, 5.0, 5.0])  # at a jump, what comes after it
    assert_array_equal(found.phase.values, [1, 3, 3, 3])
    assert_array_equal(found.pressure.values, [np.nan, 3.0, 3.5, 4.0])


def test_forces_do_not_overshoot():
    arm, t = kt.zoo.two_link(), np.linspace(0.0, 1.0, 11)
    step = np.repeat([[0.0, 0.0], [1.0, 1.0]], [5, 6], axis=0)
    zero = np.zeros((11, 2))
    run = build_result("inverse", arm, {"time": t, "q": zero, "qd": zero, "qdd": zero, "tau": step})
    found = run.at(np.linspace(0.0, 1.0, 1001)).tau.values
    assert found.min() == 0.0 and found.max() == 1.0


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([0.0, 0.7], "0 to 0.6 s, got 0 to 0.7 s"),
        ([0.2, 0.1], "must not decrease"),
        ([], "shape"),
        (np.nan, "finite"),
    ],
)
def test_times_are_checked(reach, times, words):
    with pytest.raises(InputError, match=words):
        reach.result.at(times)


@pytest.mark.parametrize("rate", [0.0, -1.0, np.nan, np.inf, 1e12])
def test_rates_are_checked(reach, rate):
    with pytest.raises(InputError, match="rate"):
        at_rate(reach.result, rate)


def test_a_rate_has_every_period_and_the_end_where_it_fits(reach):
    assert len(at_rate(reach.result, 1000).time) == 601
    assert at_rate(reach.result, 1000).time.values[-1] == pytest.approx(0.6)
    assert at_rate(reach.result, 7).time.values[-1] == pytest.approx(4 / 7)


def test_json_has_the_columns_of_the_table(reach, tmp_path):
    reach.result.to_json(tmp_path / "reach.json", variables=["q", "tau"])
    found = json.loads((tmp_path / "reach.json").read_text())
    assert found["units"] == {"time": "s"} | {f"q.joint{k}": "rad" for k in (1, 2)} | {
        f"tau.joint{k}": "N m" for k in (1, 2)
    }
    table = reach.result.to_pandas()
    for name, values in found["columns"].items():
        assert_array_equal(values, table.index if name == "time" else table[name])
