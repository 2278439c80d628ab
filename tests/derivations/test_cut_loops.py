"""Formulations of the documents with closed loops: [Shah2013], eqs. 8.1-8.7, and [Xiang2009], eq. 38."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.analysis.agreement import agreement
from kinetree.derivations import able, described
from kinetree.derivations.cut_joints import along, cut_jacobian, cut_rates
from kinetree.derivations.lagrangian import force_columns
from kinetree.derivations.lagrangian_recursion import forward_kinematics
from kinetree.dynamics.loops.states import fitting_state
from kinetree.dynamics.loops.system import constraints
from kinetree.dynamics.loops.verbs import closed_of
from support.reference import closed, loads, read, relative_error

FILES = ("slider_crank", "prismatic_cut", "spatial_fourbar", "jansen_leg", "other_cuts", "five_bar", "delta")
CASES = {f"{file}-{v['name']}": v for file in FILES for v in read(f"{file}.json")["variants"]}
every_mechanism = pytest.mark.parametrize("variant", CASES.values(), ids=CASES)


def rod_and_planar():
    """A bar held by a rod of constant length, and a plate that slides on a plane."""
    build = kt.Builder("rods", gravity=(0, 0, -9.81))
    rod = kt.Inertia.rod(1.0, end=(0.5, 0.1, 0))
    a = build.world.revolute("a", axis="y").body("link_a", rod)
    b = a.revolute("b", axis="x", at=(0.5, 0, 0)).body("link_b", rod)
    c = b.revolute("c", axis="z", at=(0.3, 0.2, 0), driven=False).body("link_c", rod)
    build.loop("stay", "world", c, kind="spherical", at_a=(0.4, 0.6, 0.1), at_b=(0.3, 0, 0), length=0.7)
    return build.build()


@every_mechanism
@pytest.mark.parametrize("formulation", ["lagrangian", "denoc"])
def test_torques_and_accelerations_are_those_of_independent_solutions(variant, formulation):
    mechanism, state = closed(variant), variant["states"][0]
    q, qd, expected = state["q"], state["qd"], state["forward"]
    load = loads(mechanism, state["external"]) or None
    qdd = kt.forward_dynamics(mechanism, q, qd, expected["tau"], load, formulation=formulation)
    assert relative_error(qdd, expected["qdd"]) < 1e-9
    expected = state["inverse"]
    if len(variant["actuated"]) > variant["mobility"] and formulation == "denoc":
        with pytest.raises(kt.errors.InputError, match="as many drives as the mobility"):
            kt.inverse_dynamics(mechanism, q, qd, expected["qdd"], load, formulation=formulation)
        return
    tau = kt.inverse_dynamics(mechanism, q, qd, expected["qdd"], load, formulation=formulation)
    known = expected.get("tau_minimum_norm", expected["tau"])
    assert relative_error(tau[variant["actuated"]], known) < 1e-11
    assert not np.delete(tau, variant["actuated"]).any()


@every_mechanism
def test_sensitivities_of_the_lagrangian_with_cut_loops(variant):
    """[Xiang2009], eqs. 21-35 and 38: total derivatives of the drives' torques and of what the cut ends
    do."""
    mechanism = closed(variant)
    at = fitting_state(mechanism, 1, seed=2)
    found = kt.inverse_dynamics_derivatives(mechanism, at.q, at.qd, at.qdd, formulation="lagrangian")
    expected = kt.inverse_dynamics_derivatives(mechanism, at.q, at.qd, at.qdd)
    assert found.independent == expected.independent
    for name in ("tau", "matrices", "torque", "torque_matrices", "dq_dq"):
        assert relative_error(getattr(found, name), getattr(expected, name)) < 1e-9


@pytest.mark.parametrize("make", [rod_and_planar, kt.zoo.bricard, kt.zoo.stewart, kt.zoo.three_rrr])
def test_forces_at_the_cut_ends_do_the_work_of_the_position_constraint(make):
    """The recursion of F and G over the ends' forces is the transpose of the Jacobian from A."""
    mechanism = make()
    at, ends = fitting_state(mechanism, 1, seed=1), closed_of(mechanism)
    q, qd, qdd = at.q[0], at.qd[0], at.qdd[0]
    tree = mechanism.tree
    J = cut_jacobian(tree, ends.cuts, q)
    assert np.abs(force_columns(tree, ends, q) - J.T).max() < 1e-12
    found = constraints(mechanism, q, qd, qdd)
    assert np.abs(J - found.J).max() < 1e-12
    rate = cut_rates(ends.cuts, forward_kinematics(tree, q, qd, qdd))
    assert np.abs(rate - found.rate).max() < 1e-9 * (1.0 + np.abs(qdd).max())
    bias = along(lambda x: cut_jacobian(tree, ends.cuts, x) @ qd, q, qd)
    assert np.abs(bias - constraints(mechanism, q, qd).rate).max() < 1e-10 * (1.0 + np.abs(qd).max() ** 2)


def test_small_accelerations_of_large_forces_are_compared_as_forces():
    rows = agreement(kt.zoo.andrews_squeezer(), states=2)
    assert all(row.passed for row in rows)


@pytest.mark.parametrize("name", ["four_bar", "robotic_leg", "three_rrr"])
def test_formulations_agree_on_the_mechanisms_of_the_book(name):
    rows = agreement(kt.zoo.by_name(name), states=2)
    assert all(row.passed for row in rows)
    compared = {(row.quantity, row.formulation) for row in rows if row.difference is not None}
    assert {
        ("inverse_dynamics", "denoc"),
        ("inverse_dynamics", "lagrangian"),
        ("forward_dynamics", "denoc"),
        ("forward_dynamics", "lagrangian"),
        ("inverse_dynamics_derivatives", "lagrangian"),
        ("mass_matrix", "denoc"),
    } <= compared


def test_the_table_says_who_takes_loops():
    assert [f.name for f in kt.analysis.formulations() if f.closed] == ["lagrangian", "denoc"]
    assert "with closed loops" in repr(kt.analysis.formulations())


@pytest.mark.parametrize("formulation", [x for x in able("inverse_dynamics") if not described(x).closed])
def test_other_formulations_name_those_that_do(formulation):
    bar = kt.zoo.four_bar()
    at = fitting_state(bar, 1)
    with pytest.raises(kt.errors.InputError, match="with closed loops these do: lagrangian, denoc"):
        kt.inverse_dynamics(bar, at.q, at.qd, at.qdd, formulation=formulation)
    with pytest.raises(kt.errors.InputError, match="joint_reactions for open trees only"):
        kt.joint_reactions(bar, at.q, at.qd, at.qdd, formulation=formulation)


def test_loops_with_mimic_joints_are_refused_by_name():
    build = kt.Builder("geared", gravity=(0, -9.81, 0))
    rod = kt.Inertia.rod(1.0, end=(0.3, 0, 0))
    a = build.world.revolute("a").body("link_a", rod)
    b = a.revolute("b", at=(0.3, 0, 0)).body("link_b", rod)
    build.world.revolute("c", at=(0.5, 0, 0), mimic=kt.model.Mimic("a", -1.0, 3.0)).body("link_c", rod)
    build.loop("pin", b, "link_c", at_a=(0.3, 0, 0), at_b=(0.3, 0, 0), kind="point_on_line", axis="x")
    mechanism = build.build()
    q, still = kt.loops.assemble(mechanism, [1.0, -1.0]), np.zeros(2)
    with pytest.raises(kt.errors.InputError, match="it has mimic joints as well as loops"):
        kt.forward_dynamics(mechanism, q, still, still, formulation="denoc")
