"""Plans of sweeps: axes become dimensions, paths become fields, mistakes are named before any work."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.result.zarr_store import Chunks
from kinetree.sweeps.dimensions import unit_samples
from kinetree.sweeps.fields import places
from kinetree.sweeps.measures import read_measures
from kinetree.sweeps.sweep import planned


def plan_of(axes, study="two_link_minimum_time", **more):
    return planned(study, axes, **more)[0]


@pytest.mark.parametrize("shape", [(7,), (3, 4, 5), (2, 1, 9), (1, 6)])
@pytest.mark.parametrize("most", [1, 2, 5, 7, 1000])
def test_chunks_are_runs_of_cases_and_blocks_of_the_grid(shape, most):
    chunks = Chunks(shape, most)
    numbers, seen = np.arange(np.prod(shape)).reshape(shape), []
    case = 0
    while case < numbers.size:
        first, last = chunks.run(case)
        assert first == case and last - first <= max(most, 1)
        assert numbers[chunks.region(first, last)].ravel().tolist() == list(range(first, last))
        assert all(chunks.run(k) == (first, last) for k in range(first, last))
        seen.append(last)
        case = last


def test_a_grid_has_all_combinations():
    plan = plan_of({"predict.segments": [8, 10], "study.title": ["a", "b", "c"]})
    assert plan.shape == (2, 3) and plan.count == 6
    assert [plan.values(k) for k in (0, 1, 5)] == [[8, "a"], [8, "b"], [10, "c"]]


def test_fields_that_vary_together_are_one_axis():
    axis = {"field": ["predict.segments", "predict.degree"], "name": "mesh", "values": [[8, 3], [10, 5]]}
    plan = plan_of([axis])
    assert plan.shape == (2,) and [plan.values(k) for k in (0, 1)] == [[8, 3], [10, 5]]


def test_ranges_and_seeds():
    plan = plan_of(
        [
            {"field": "predict.tolerance", "range": [1e-6, 1e-4], "count": 3, "spacing": "log"},
            {"field": "predict.seed", "seeds": 2},
        ],
        seed=5,
    )
    assert plan.values(2) == pytest.approx([1e-5, 5]) and plan.values(5)[1] == 6


@pytest.mark.parametrize("sampler", ["random", "sobol", "halton", "latin_hypercube"])
def test_samples_follow_their_distributions(sampler):
    drawn = unit_samples(sampler, 1024, 3, seed=3)
    assert drawn.shape == (1024, 3) and (drawn > 0).all() and (drawn < 1).all()
    assert drawn.mean(axis=0) == pytest.approx([0.5] * 3, abs=0.04)
    assert drawn.var(axis=0) == pytest.approx([1 / 12] * 3, abs=0.01)
    assert np.array_equal(drawn, unit_samples(sampler, 1024, 3, seed=3))
    plan = plan_of({"predict.tolerance": {"normal": [1e-3, 1e-4]}}, samples=512, sampler=sampler)
    values = np.array([plan.values(k)[0] for k in range(plan.count)])
    assert values.mean() == pytest.approx(1e-3, rel=0.02) and values.std() == pytest.approx(1e-4, rel=0.1)


def test_parts_of_a_mechanism_are_found_by_name_and_all_at_once():
    plan = plan_of({"mechanism.body.*": {"uniform": [0.9, 1.1], "relative": True, "each": True}}, samples=4)
    assert [column.name for column in plan.columns] == ["link1", "link2"]
    assert [x["name"] for x in plan.table["mechanism"]["body"]] == ["link1", "link2"]
    assert places(plan.table, "mechanism.body.link2.joint.at.0") == [
        ("mechanism", "body", 1, "joint", "at", 0)
    ]


def test_two_plans_are_compared():
    one, two = plan_of({"predict.seed": [1, 2]}), plan_of({"predict.seed": [1, 3]})
    assert one.digest == plan_of({"predict.seed": [1, 2]}).digest != two.digest


@pytest.mark.parametrize(
    ("axes", "more", "message"),
    [
        ({"predcit.segments": [8]}, {}, "unknown table 'predcit'.*Did you mean 'predict'"),
        ({"predict.segmets": [8]}, {}, "segmets.*[Dd]id you mean 'segments'"),
        ({"mechanism.body.link3.mass": [1.0]}, {}, "unknown entry 'link3'; allowed: link1, link2"),
        ({"mechanism.body.link1.mas": [1.0]}, {}, "mas"),
        ({"predict.seed": []}, {}, "at least one value"),
        ({}, {}, "at least one field"),
        ({"predict": [1]}, {}, "a whole table"),
        ({"predict.seed": {"uniform": [0, 1]}}, {}, "is random: give sweep.samples"),
        ({"predict.seed": {"uniform": [1, 0]}}, {"samples": 4}, r"\[lowest, highest\]"),
        ({"predict.seed": {"range": [0, 1]}}, {}, "range and count"),
        ({"predict.seed": {"seeds": 3, "values": [1]}}, {}, "needs one of"),
        ({"predict.tolerance": [1e-5, float("nan")]}, {}, "finite"),
        ({"predict.seed": {"range": [0, 1], "count": 10**9}}, {}, "1,000,000,000 cases.*--yes"),
        ({"predict.seed": {"uniform": [0, 1]}}, {"samples": 10**9}, "1,000,000,000 cases.*--yes"),
        ({"study.title": {"values": ["a"], "relative": True}}, {}, "relative: values must be numbers"),
        ({"study.duration": {"values": [2.0], "relative": True}}, {}, "no number there"),
        ({"predict.seed": [1], "predict.tolerance": {"values": [1e-5], "name": "seed"}}, {}, "is used twice"),
        ({"predict.seed": [1]}, {"measures": {"x": "peek tau"}}, "unknown reduction 'peek'.*'peak'"),
        ({"predict.seed": [1]}, {"kind": "pareto"}, "objectives"),
        ({"predict.seed": [1]}, {"kind": "pareto", "objectives": ["a"]}, "2 objectives"),
        ({"predict.seed": [1]}, {"quantiles": [2.0]}, "from 0 to 1"),
        ({"predict.seed": [-1]}, {}, "seed"),
        ({"predict.seed": [1]}, {"lanes": True}, "lanes = true: only simulations"),
        ({"predict.seed": [1]}, {"kind": "sensitivity"}, "at least two random axes"),
    ],
)
def test_mistakes_are_named_before_any_work(axes, more, message):
    with pytest.raises(kt.KinetreeError, match=f"(?s){message}"):
        plan_of(axes, **more)


def test_a_study_without_sweep_and_a_function_without_mechanism():
    with pytest.raises(kt.errors.InputError, match=r"has no table \[sweep\]"):
        plan_of(None)
    with pytest.raises(kt.errors.InputError, match="must be a Mechanism"):
        kt.sweep(lambda arm: 1.0, {"x": [1]})


def test_measures_in_words():
    one, two = read_measures({"up": "min q base.z > 0.3", "T": "duration"})
    assert (one.reduction, one.variable, one.labels, one.sense, one.bound) == (
        "min",
        "q",
        ("base.z",),
        ">",
        0.3,
    )
    assert (two.reduction, two.variable) == (None, "duration")
