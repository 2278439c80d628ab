"""Closed loops against independent solutions (tree and maximal coordinates, complex step); see tests/data."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.analysis.loops.assembly import assemble
from kinetree.analysis.loops.dynamics import loop_forward_dynamics, loop_inverse_dynamics
from kinetree.analysis.loops.sensitivity import loop_inverse_dynamics_derivatives
from kinetree.analysis.loops.structure import structure
from support.reference import closed, loads, read, relative_error

FILES = (
    *("slider_crank", "prismatic_cut", "spatial_fourbar", "five_bar", "jansen_leg", "six_bar"),
    *("other_cuts", "delta", "stewart", "floating_fourbar_legs"),
)
CASES = {f"{file}-{v['name']}": v for file in FILES for v in read(f"{file}.json")["variants"]}
every_mechanism = pytest.mark.parametrize("variant", CASES.values(), ids=CASES)
CLOSE = 1e-11  # of torques, accelerations and wrenches, relative


def names(mechanism, indices):
    return [mechanism.joint_names[k] for k in indices]


def weights(mechanism, variant, state):
    given = np.ones(mechanism.n_dof)
    given[variant["actuated"]] = state["inverse"].get("weights", 1.0)
    return given


def assert_same_wrench(found, expected):
    expected = np.array([[np.nan if x is None else x for x in row] for row in expected])
    assert np.array_equal(found.determined, np.isfinite(expected))
    assert np.array_equal(np.isfinite(found.wrench), found.determined)
    known = found.determined
    assert relative_error(found.wrench[known], expected[known]) < CLOSE


@every_mechanism
def test_inverse_dynamics_gives_the_torques_of_the_drives(variant):
    mechanism = closed(variant)
    for state in variant["states"]:
        expected = state["inverse"]
        tau, forces = loop_inverse_dynamics(
            mechanism,
            state["q"],
            state["qd"],
            expected["qdd"],
            loads(mechanism, state["external"]),
            weights(mechanism, variant, state),
        )
        assert relative_error(tau[variant["actuated"]], expected["tau"]) < CLOSE
        assert not np.delete(tau, variant["actuated"]).any()
        assert relative_error(forces.torque, expected["jt_lambda"]) < CLOSE
        assert_same_wrench(forces, expected["cut_wrench"])


@every_mechanism
def test_forward_dynamics_gives_accelerations_and_wrenches(variant):
    mechanism = closed(variant)
    for state in variant["states"]:
        expected = state["forward"]
        qdd, forces = loop_forward_dynamics(
            mechanism, state["q"], state["qd"], expected["tau"], loads(mechanism, state["external"])
        )
        assert relative_error(qdd, expected["qdd"]) < CLOSE
        assert relative_error(forces.torque, expected["jt_lambda"]) < CLOSE
        assert_same_wrench(forces, expected["cut_wrench"])


@every_mechanism
def test_newton_returns_from_a_rough_guess(variant):
    mechanism = closed(variant)
    for state in variant["states"]:
        q = assemble(mechanism, state["guess"], hold=names(mechanism, variant["independent"]))
        assert np.abs(q - state["q"]).max() < 1e-12


@every_mechanism
def test_rank_and_mobility_are_those_of_assembled_poses(variant):
    found = structure(closed(variant))
    assert (found.rows, found.rank) == (variant["constraint_rows"], variant["rank"])
    assert found.mobility == variant["mobility"]
    assert len(found.independent) == found.mobility


@every_mechanism
def test_total_derivatives(variant):
    mechanism = closed(variant)
    independent, drives = names(mechanism, variant["independent"]), variant["actuated"]
    for state in variant["states"]:
        expected = state["inverse"].get("gradients")
        if expected is None:  # floating bases
            continue
        found = loop_inverse_dynamics_derivatives(
            mechanism,
            state["q"],
            state["qd"],
            state["inverse"]["qdd"],
            independent,
            loads(mechanism, state["external"]),
            weights(mechanism, variant, state),
        )
        assert relative_error(found.dq_dq, state["dq_dindependent"]) < CLOSE
        for by in ("q", "qd", "qdd"):
            assert relative_error(getattr(found, f"dtau_d{by}")[drives], expected[f"dtau_d{by}"]) < CLOSE
            assert relative_error(getattr(found, f"dtorque_d{by}"), expected[f"djtl_d{by}"]) < CLOSE


def test_least_norm_of_redundant_drives():
    (variant,) = read("five_bar.json")["variants"]
    mechanism = closed(variant)
    for state in variant["states"]:
        tau, _ = loop_inverse_dynamics(
            mechanism,
            state["q"],
            state["qd"],
            state["inverse"]["qdd"],
            loads(mechanism, state["external"]),
        )
        assert relative_error(tau[variant["actuated"]], state["inverse"]["tau_minimum_norm"]) < CLOSE


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
    """004, chapter 8: the cranks and the base joints are driven."""
    mechanism = kt.zoo.four_bar()
    assert mechanism.driven.tolist() == [True, False, False]
    assert structure(mechanism).independent == ("crank_pivot",)
    assert structure(kt.zoo.robotic_leg()).independent == ("crank_pivot",)
    assert structure(kt.zoo.three_rrr()).independent == ("base1", "base2", "base3")
