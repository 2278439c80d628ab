"""Derivatives that users get: against differences of the compiled answers, and against reference data."""

import numpy as np
import pytest

import kinetree as kt
from support import trees
from support.cases import assert_close
from support.comparison import GRAVITIES, distal_load
from support.derivatives import differences
from support.distal_dh import chain, distal_frame, two_link_pr, two_link_rr
from support.each import each
from support.reference import loads, mechanism, read, relative_error

DIFFERENCES = 1e-8  # sixth order, steps of 1e-3
REFERENCE = 1e-11
BATCH = (2, 3)
STATE = ("q", "qd", "qdd")


def state(robot, rng, batch=()):
    """q, qd, qdd; no joint is so slow that a difference would turn its friction round."""
    q, qd, qdd = trees.state(robot, rng, batch)
    return [q, qd + np.where(qd < 0, -0.05, 0.05), qdd]


def by_differences(function, at, which):
    """d function / d at[which], for one state."""

    def moved(x):
        arguments = list(at)
        arguments[which] = x
        return function(*arguments)

    return differences(moved, at[which])


@pytest.fixture(params=[False, True], ids=["free", "loaded"])
def wrenches(request, robot, rng):
    return trees.loads(rng, robot) if request.param else None


# ---- against differences of compiled answers ----------------------------------------------------------
def test_inverse_dynamics(robot, rng, wrenches):
    at = state(robot, rng)
    d = kt.inverse_dynamics_derivatives(robot, *at, wrenches)
    assert_close(d.tau, kt.inverse_dynamics(robot, *at, wrenches), 1e-13)
    for which, found in enumerate((d.dtau_dq, d.dtau_dqd, d.dtau_dqdd)):
        slope = by_differences(lambda *x: kt.inverse_dynamics(robot, *x, wrenches), at, which)
        assert_close(found, slope, DIFFERENCES)
    assert_close(d.dtau_dqdd, kt.mass_matrix(robot, at[0]), 1e-13)


def test_forward_dynamics(robot, rng, wrenches):
    """Measured as torques: M d(qdd)."""
    q, qd, _ = at = state(robot, rng)
    d = kt.forward_dynamics_derivatives(robot, *at, wrenches)
    M = kt.mass_matrix(robot, q)
    qdd = kt.forward_dynamics(robot, *at, wrenches)
    assert_close(M @ d.qdd, M @ qdd, 1e-12 * np.abs(qdd).max())
    for which, found in enumerate((d.dqdd_dq, d.dqdd_dqd, d.dqdd_dtau)):
        slope = by_differences(lambda *x: kt.forward_dynamics(robot, *x, wrenches), at, which)
        scale = max(1.0, (np.abs(M) @ np.abs(slope)).max())
        assert_close(M @ found / scale, M @ slope / scale, 10 * DIFFERENCES)
    at_qdd = kt.inverse_dynamics_derivatives(robot, q, qd, d.qdd, wrenches)  # the other way round
    assert_close(M @ d.dqdd_dq, -at_qdd.dtau_dq, 1e-10)


def test_joint_reactions(robot, rng, wrenches):
    at = state(robot, rng)
    d = kt.analysis.joint_reaction_derivatives(robot, *at, wrenches)
    assert_close(d.reaction, kt.joint_reactions(robot, *at, wrenches), 1e-13)
    for which, found in enumerate((d.dreaction_dq, d.dreaction_dqd, d.dreaction_dqdd)):
        assert found.shape == (robot.n_bodies, 6, robot.n_dof)
        slope = by_differences(lambda *x: kt.joint_reactions(robot, *x, wrenches), at, which)
        assert_close(found, slope, DIFFERENCES)


def test_torque_hessian(robot, rng, wrenches):
    at = state(robot, rng)
    weight = rng.uniform(-1, 1, robot.n_dof)
    h = kt.analysis.torque_hessian(robot, *at, weight, wrenches)
    d = kt.inverse_dynamics_derivatives(robot, *at, wrenches)
    assert_close(h.tau, d.tau, 1e-13)
    gradient = [h.dq, h.dqd, h.dqdd]
    for found, matrix in zip(gradient, (d.dtau_dq, d.dtau_dqd, d.dtau_dqdd), strict=True):
        assert_close(found, weight @ matrix, 1e-12)

    def gradients(*x):
        e = kt.inverse_dynamics_derivatives(robot, *x, wrenches)
        return np.concatenate([weight @ matrix for matrix in (e.dtau_dq, e.dtau_dqd, e.dtau_dqdd)], axis=-1)

    slopes = [by_differences(gradients, at, which) for which in range(3)]
    assert_close(h.full, np.concatenate(slopes, axis=-1), DIFFERENCES)
    n = robot.n_dof
    assert_close(h.full[:n, n : 2 * n], h.q_qd, 1e-15)
    assert_close(h.full, h.full.T, 1e-13)


# ---- batches ------------------------------------------------------------------------------------------
QUESTIONS = {
    kt.inverse_dynamics_derivatives: ("tau", "dtau_dq", "dtau_dqd", "dtau_dqdd"),
    kt.forward_dynamics_derivatives: ("qdd", "dqdd_dq", "dqdd_dqd", "dqdd_dtau"),
    kt.analysis.joint_reaction_derivatives: ("reaction", "dreaction_dq", "dreaction_dqd", "dreaction_dqdd"),
    kt.analysis.torque_hessian: ("tau", "dq", "dqd", "dqdd", "q_q", "q_qd", "qd_qd", "q_qdd", "full"),
}


@each("ask", QUESTIONS, ids=lambda ask: ask.__name__)
@each("case", ["all kinds", "mimic", "welded"])
def test_batches_are_single_states_side_by_side(ask, case, rng):
    make = {"all kinds": trees.random_tree, "mimic": trees.mimic_tree, "welded": trees.welded_tree}[case]
    robot = make(rng, 8)
    at = state(robot, rng, BATCH)
    if ask is kt.analysis.torque_hessian:
        at.append(rng.uniform(-1, 1, (*BATCH, robot.n_dof)))
    together = ask(robot, *at)
    tolerance = 1e-9 if ask is kt.forward_dynamics_derivatives else 1e-12
    for place in np.ndindex(BATCH):
        alone = ask(robot, *(x[place].copy() for x in at))
        for name in QUESTIONS[ask]:
            many, one = getattr(together, name), getattr(alone, name)
            assert many.shape == (*BATCH, *one.shape)
            assert_close(many[place], one, tolerance)


def test_batches_broadcast(rng):
    robot = trees.random_tree(rng, 6)
    q, qd, qdd = state(robot, rng, (4, 1))
    many = kt.inverse_dynamics_derivatives(robot, q, qd[0, 0], qdd[:, 0])
    assert many.dtau_dq.shape == (4, 4, robot.n_dof, robot.n_dof)
    one = kt.inverse_dynamics_derivatives(robot, q[2, 0], qd[0, 0], qdd[1, 0])
    assert_close(many.dtau_dq[2, 1], one.dtau_dq, 1e-13)


def test_one_load_for_many_states_and_many_loads_for_one_state(rng):
    robot = trees.random_tree(rng, 6)
    at = state(robot, rng, (3,))
    force = rng.uniform(-5, 5, (3, 3))
    body = robot.body_names[-1]
    many = kt.inverse_dynamics_derivatives(robot, *(x[0] for x in at), kt.Wrench(body, force))
    assert many.dtau_dq.shape == (3, robot.n_dof, robot.n_dof)
    for k in range(3):
        one = kt.inverse_dynamics_derivatives(robot, *(x[0] for x in at), kt.Wrench(body, force[k]))
        assert_close(many.dtau_dq[k], one.dtau_dq, 1e-13)
    shared = kt.inverse_dynamics_derivatives(robot, *at, kt.Wrench(body, force[0]))
    for k in range(3):
        one = kt.inverse_dynamics_derivatives(robot, *(x[k] for x in at), kt.Wrench(body, force[0]))
        assert_close(shared.dtau_dq[k], one.dtau_dq, 1e-12)


# ---- against reference data ---------------------------------------------------------------------------
def torque_errors(robot, case, wrenches):
    d = kt.inverse_dynamics_derivatives(robot, *(case[key] for key in STATE), wrenches)
    found = {"tau": d.tau, "dtau_dq": d.dtau_dq, "dtau_dqd": d.dtau_dqd, "dtau_dqdd": d.dtau_dqdd}
    return {key: relative_error(value, case[key]) for key, value in found.items() if key in case}


def distal_reaction_errors(links, gravity, case):
    """Of dF and dN: components in the moving distal frames, moments about O_(i-1)."""
    robot, load = chain(links, gravity), distal_load(links, case)
    d = kt.analysis.joint_reaction_derivatives(robot, *(case[key] for key in STATE), load)
    errors = {}
    for key in STATE:
        slopes = getattr(d, f"dreaction_d{key}")
        dF, dN = [], []
        for i, link in enumerate(links):
            force, moment = slopes[i, :3].T, slopes[i, 3:].T.copy()  # (coordinate, component)
            if link["type"] == "P":  # the body frame has slid away from O_(i-1)
                moment += np.cross((0, 0, case["q"][i]), force)
                moment[i] += np.cross((0, 0, float(key == "q")), d.reaction[i, :3])
            R = distal_frame(link).rotation
            dF.append(force @ R)
            dN.append(moment @ R)
        errors |= {f"dF_d{key}": (dF, case), f"dN_d{key}": (dN, case)}
    return {key: relative_error(value, case[key]) for key, (value, _) in errors.items() if key in case}


@each("tree", read("random_trees.json")["trees"], ids=lambda tree: tree["name"])
def test_reference_trees(tree):
    robot = mechanism(tree["model"])
    for case in tree["states"]:
        if "gravity" in case:
            robot = robot.with_gravity(GRAVITIES[case["gravity"]])
        errors = torque_errors(robot, case, loads(robot, case["external"]))
        assert {"tau"} <= errors.keys()
        assert max(errors.values()) < REFERENCE, errors


@each("case", read("chain_sensitivity.json")["cases"], ids=lambda case: case["types"])
def test_reference_chains(case):
    """[Barman2020], chapter 3: torques, joint forces and moments of loaded chains of hinges and sliders."""
    links, gravity = case["links"], case["gravity"]
    errors = torque_errors(chain(links, gravity), case, distal_load(links, case))
    errors |= distal_reaction_errors(links, gravity, case)
    assert len(errors) == 4 + 6
    assert max(errors.values()) < REFERENCE, errors


def test_reference_two_link_arms():
    """[Xiang2009], eqs. 52-65, and [Barman2020], section 4.2."""
    for case in read("twolink_rr.json")["cases"]:
        links, gravity = two_link_rr(case["params"])
        load = kt.Wrench("link2", (0, -case["params"]["f"], 0), point=(case["params"]["L2"], 0, 0))
        errors = torque_errors(chain(links, gravity), case, load)
        assert len(errors) == 4 and max(errors.values()) < REFERENCE, errors
    for case in read("twolink_pr.json")["cases"]:
        links = two_link_pr(case["params"])
        errors = torque_errors(chain(links, case["gravity"]), case, None)
        errors |= distal_reaction_errors(links, case["gravity"], case)
        assert len(errors) == 7 and max(errors.values()) < REFERENCE, errors
