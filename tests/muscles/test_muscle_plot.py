"""The map of activations."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.result.labeled import Unlabeled
from kinetree.result.result import arrays_of, changed
from kinetree.result.variables import Variable

NAMES = ("right_soleus", "left_soleus")


def result(steps):
    found = kt.simulate(kt.zoo.two_link(), [0.0, 0.0], times=np.linspace(0.0, 0.5, 11))
    coordinates, variables = arrays_of(found)
    t = np.asarray(found["time"].values)
    a = np.stack([t, 0.5 - t], axis=1)
    more = {"activation": Variable(("time", "muscle"), a, "", "activation")}
    labels = {"muscle": Variable(("muscle",), np.array(NAMES), "", "muscle")}
    settings = found.settings if steps is None else {**found.settings, "steps": steps}
    return changed(found, dataset=Unlabeled(coordinates | labels, variables | more), settings=settings)


def shown(figure):
    return np.asarray(figure.axes[0].images[0].get_array())


def test_a_mirrored_step_becomes_a_cycle():
    right, left = (shown(kt.muscles.plot(result(1), leg)) for leg in ("right", "left"))
    assert right.shape == (1, 201)
    assert right[0, [0, 50, 99, 150]] == pytest.approx([0.0, 0.25, 0.495, 0.25], abs=0.01)
    assert left[0, [0, 50]] == pytest.approx([0.0, 0.25], abs=0.01)


def test_other_results_are_drawn_over_time():
    figure = kt.muscles.plot(result(None))
    assert shown(figure).shape == (2, 201)
    assert figure.axes[0].get_xlabel() == "time / s"


def test_results_without_activations_are_refused():
    still = kt.simulate(kt.zoo.two_link(), [0.0, 0.0], duration=0.01)
    with pytest.raises(kt.errors.InputError, match="no activations"):
        kt.muscles.plot(still)
    with pytest.raises(kt.errors.InputError, match="leg must be right or left"):
        kt.muscles.plot(result(1), "middle")
