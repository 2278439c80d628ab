"""Derivatives of points and directions fixed in bodies, compiled and interpreted: against differences."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.compiled import points
from kinetree.motion.problem.places import AxisFrames, Place

STEP = 1e-5


@pytest.fixture(params=["compiled", "interpreted"])
def way(request, monkeypatch):
    if request.param == "interpreted":
        monkeypatch.setattr("kinetree.motion.problem.places.compiled", lambda function: function)


@pytest.fixture(params=["point", "direction"])
def place(request):
    """The body furthest out in a tree with turning and sliding joints; not all of its coordinates move."""
    tree, turned = kt.zoo.random_tree(), request.param == "direction"
    places = [Place(tree, name, (0.1, -0.2, 0.3), direction=turned) for name in tree.body_names]
    furthest = max(places, key=lambda place: len(place.path))
    assert 0 < furthest.turns.sum() < len(furthest.path)
    moving = np.setdiff1d(np.arange(tree.n_dof), furthest.path[1:2])
    return tree, furthest, moving


def frames(arm, moving, q):
    return AxisFrames(arm, moving, q, np.zeros_like(q))


def differences(arm, moving, q, of):
    """Derivatives of ``of`` by the coordinates that move, on the last axis."""
    found = []
    for k in moving:
        change = STEP * np.eye(arm.n_dof)[k]
        a, b = (of(frames(arm, moving, x)) for x in (q + change, q - change))
        found.append((a - b) / (2.0 * STEP))
    return np.stack(found, axis=-1)


def test_derivatives_are_those_of_the_position(way, place, rng):
    arm, it, moving = place
    q = rng.uniform(-1.0, 1.0, (4, arm.n_dof))
    weight, rates = rng.standard_normal((4, 3)), rng.standard_normal((4, len(moving)))
    here = frames(arm, moving, q)
    slopes = it.slopes(here)
    assert np.abs(slopes).max() > 0.1
    assert np.allclose(slopes, differences(arm, moving, q, it.position_of), atol=1e-8)
    by_weight = differences(arm, moving, q, lambda x: np.einsum("mi,min->mn", weight, it.slopes(x)))
    assert np.allclose(it.bend(here, weight), by_weight, atol=1e-8)
    by_rates = differences(arm, moving, q, lambda x: np.einsum("min,mn->mi", it.slopes(x), rates))
    assert np.allclose(it.change(here, rates), by_rates, atol=1e-8)


def test_every_function_has_a_signature():
    names = [name for name in vars(points) if name.startswith("point_")]
    assert sorted(names) == sorted(function.__name__ for function in points.SIGNATURES)
