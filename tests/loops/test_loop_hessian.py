"""Second derivatives of drives' torques with closed loops beside differences of the exact first ones."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.loops.assembly import completed
from support.each import each
from support.reference import closed, loads, read, relative_error

FILES = ("slider_crank", "prismatic_cut", "spatial_fourbar", "jansen_leg", "other_cuts", "delta")
CASES = {f"{file}-{v['name']}": v for file in FILES for v in read(f"{file}.json")["variants"]}


@each("variant", CASES.values(), ids=CASES)
def test_second_derivatives_are_differences_of_the_first(variant, rng):
    mechanism, state = closed(variant), variant["states"][0]
    q, qd, qdd = (np.array(x) for x in (state["q"], state["qd"], state["inverse"]["qdd"]))
    load = loads(mechanism, state["external"]) or None
    weight = rng.standard_normal(mechanism.n_dof)
    chosen = np.array(variant["independent"])
    names = [mechanism.joint_names[k] for k in chosen]
    free = np.ones(mechanism.n_dof, dtype=bool)
    free[chosen] = False
    found = kt.loops.torque_hessian(mechanism, q, qd, qdd, weight, names, load)
    k, drives = len(chosen), mechanism.driven
    own = np.concatenate([q[chosen], qd[chosen], qdd[chosen]])

    def gradient(u):
        guess = q.copy()
        guess[chosen] = u[:k]
        pose = kt.loops.assemble(mechanism, guess, hold=names)
        at = completed(mechanism, pose, free, u[k : 2 * k], u[2 * k :], chosen)
        d = kt.loops.inverse_dynamics_derivatives(mechanism, at.q, at.qd, at.qdd, names, load)
        return np.concatenate([(weight * drives) @ slope for slope in d.matrices])

    assert relative_error(np.concatenate([found.dq, found.dqd, found.dqdd]), gradient(own)) < 1e-11
    h = 1e-5
    slopes = np.stack(
        [(gradient(own + h * unit) - gradient(own - h * unit)) / (2 * h) for unit in np.eye(3 * k)], axis=-1
    )
    assert np.abs(found.full - slopes).max() < 1e-6 * max(1.0, np.abs(slopes).max())


def test_batches_loads_and_the_question_of_kinetree_itself():
    mechanism = kt.zoo.four_bar()
    crank = np.linspace(0.2, 1.2, 3)[:, None]
    at = kt.loops.dependent_motion(
        mechanism, ["crank_pivot"], crank, 3.0 + 0.0 * crank, crank, q0=[0.2, 1.0, 4.3]
    )
    weight = np.array([1.5, 7.0, 9.0])
    found = kt.analysis.torque_hessian(mechanism, at.q, at.qd, at.qdd, weight)
    assert found.independent == ("crank_pivot",)
    assert found.full.shape == (3, 3, 3) and found.tau.shape == (3, 3)
    one = kt.analysis.torque_hessian(mechanism, at.q[1], at.qd[1], at.qdd[1], weight)
    assert relative_error(found.full[1], one.full) < 1e-12
    d = kt.inverse_dynamics_derivatives(mechanism, at.q, at.qd, at.qdd)
    assert relative_error(found.dq[:, 0], 1.5 * d.dtau_dq[:, 0, 0]) < 1e-11


def test_redundant_drives_have_no_second_derivatives():
    (variant,) = read("five_bar.json")["variants"]
    mechanism, state = closed(variant), variant["states"][0]
    with pytest.raises(
        kt.errors.InputError, match=r"torque_hessian with closed loops: .* has 3 driven joints"
    ):
        kt.analysis.torque_hessian(mechanism, state["q"], state["qd"], state["inverse"]["qdd"], np.ones(4))


def test_mimic_joints_in_a_loop():
    """First and second derivatives of torques, and those of reactions, where the loop sees a mimic joint."""
    build = kt.Builder("geared", gravity=(0, -9.81, 0))
    rod = kt.Inertia.rod(1.0, end=(0.3, 0, 0))
    a = build.world.revolute("a").body("link_a", rod)
    b = a.revolute("b", at=(0.3, 0, 0), driven=False).body("link_b", rod)
    build.world.revolute("c", at=(0.5, 0, 0), mimic=kt.model.Mimic("a", -1.0, 3.0)).body("link_c", rod)
    build.loop("pin", b, "link_c", at_a=(0.3, 0, 0), at_b=(0.3, 0, 0), kind="point_on_line", axis="x")
    mechanism = build.build()
    q = kt.loops.assemble(mechanism, [1.0, -1.0])
    weight, chosen, free = np.array([1.0, 0.0]), np.array([0]), np.array([False, True])

    def at(u):
        pose = kt.loops.assemble(mechanism, [u[0], q[1]], hold=["a"])
        state = completed(mechanism, pose, free, u[1:2], u[2:], chosen)
        return mechanism, state.q, state.qd, state.qdd

    u, h = np.array([q[0], 1.3, -2.0]), 1e-5
    H = kt.analysis.torque_hessian(*at(u), weight).full
    slopes = kt.analysis.joint_reaction_derivatives(*at(u)).slopes
    for k, unit in enumerate(np.eye(3)):
        more, less = at(u + h * unit), at(u - h * unit)
        first = [
            kt.inverse_dynamics_derivatives(*x).matrices[:, 0, 0] for x in (more, less)
        ]  # of the drive, by q, qd, qdd
        assert np.abs((first[0] - first[1]) / (2 * h) - H[:, k]).max() < 1e-6
        change = (kt.joint_reactions(*more) - kt.joint_reactions(*less)) / (2 * h)
        assert np.nanmax(np.abs(change - slopes[k][..., 0])) < 1e-6
