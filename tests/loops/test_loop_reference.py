"""Closed loops against independent solutions (tree and maximal coordinates, complex step); see tests/data."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.loops.dynamics import loop_forward_dynamics
from kinetree.dynamics.loops.structure import structure
from support.each import each
from support.loop_walk import BENCHMARKS, BOOK, STATES, walk
from support.reference import closed, read, relative_error

FILES = (
    *("slider_crank", "prismatic_cut", "spatial_fourbar", "five_bar", "jansen_leg", "six_bar"),
    *("other_cuts", "delta", "stewart", "floating_fourbar_legs"),
)
CASES = {f"{file}-{v['name']}": v for file in FILES for v in read(f"{file}.json")["variants"]}
every_mechanism = pytest.mark.parametrize("variant", CASES.values(), ids=CASES)
CLOSE = 1e-11  # of torques, accelerations and wrenches, relative


@each("name", [*BOOK, *BENCHMARKS, *STATES])
def test_questions_answer_as_independent_solutions(name):
    """Torques, multipliers, wrenches with masks, accelerations, derivatives, energies, assembly."""
    worst = walk(name, read(f"{name}.json"))
    assert {quantity: error for quantity, error in worst.items() if not error < CLOSE} == {}
    assert len(worst) >= 2


def test_a_walk_sees_what_is_wrong():
    """A torque, a wrench, a gradient that are off, and a mask that claims too much."""
    for spoil, quantity in (
        (
            lambda state: state["inverse"]["tau"].__setitem__(0, state["inverse"]["tau"][0] + 1e-8),
            "weighted tau",
        ),
        (lambda state: state["forward"]["qdd"].__setitem__(1, 0.0), "qdd"),
        (
            lambda state: state["inverse"]["gradients"]["dtau_dqd"][0].__setitem__(0, 7.0),
            "derivatives of tau",
        ),
        (lambda state: state["inverse"]["cut_wrench"][0].__setitem__(2, 1.0), "cut wrench mask"),
        (lambda state: state["guess"].__setitem__(2, state["guess"][2] + 2.5), "assembly"),
    ):
        content = read("six_bar.json")
        spoil(content["variants"][0]["states"][0])
        try:
            assert walk("six_bar", content)[quantity] > CLOSE
        except kt.errors.AssemblyError:
            assert quantity == "assembly"


@every_mechanism
def test_rank_and_mobility_are_those_of_assembled_poses(variant):
    found = structure(closed(variant))
    assert (found.rows, found.rank) == (variant["constraint_rows"], variant["rank"])
    assert found.mobility == variant["mobility"]
    assert len(found.independent) == found.mobility


def test_batches_are_the_states_one_by_one():
    (variant,) = read("six_bar.json")["variants"]
    mechanism = closed(variant)
    (state,) = variant["states"]
    q, qd, tau = (np.array(x) for x in (state["q"], state["qd"], state["forward"]["tau"]))
    scale = np.linspace(-1.0, 1.0, 7)[:, None]
    many, forces = loop_forward_dynamics(mechanism, q, scale * qd, tau)
    for k in range(7):
        one, force = loop_forward_dynamics(mechanism, q, scale[k] * qd, tau)
        assert relative_error(many[k], one) < 1e-13
        assert relative_error(forces.torque[k], force.torque) < 1e-13


def test_mechanisms_of_the_book():
    """[Shah2013], chapter 8: the cranks and the base joints are driven."""
    mechanism = kt.zoo.four_bar()
    assert mechanism.driven.tolist() == [True, False, False]
    assert structure(mechanism).independent == ("crank_pivot",)
    assert structure(kt.zoo.robotic_leg()).independent == ("crank_pivot",)
    assert structure(kt.zoo.three_rrr()).independent == ("base1", "base2", "base3")
