"""The regular Lagrangian in closed form and the two-link arm: kernels, complex steps, reference data."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.derivations import closed_form, lagrangian, two_link
from kinetree.derivations.contract import ABILITIES, counted_steps
from kinetree.kernels.number import counting
from support import trees
from support.cases import assert_close, random_trees, zoo_and_random_trees
from support.comparison import distal_load
from support.distal_dh import chain as distal_chain
from support.distal_dh import two_link_pr, two_link_rr
from support.each import each
from support.on_axes import Question, assert_agreement, axis_loads, complex_step_slopes, reference_errors
from support.reference import read, relative_error

SMALL = [name for name, make in kt.zoo.ZOO.items() if closed_form.refuses(make().tree) is None]
OPEN = zoo_and_random_trees(0)
MECHANISMS = {name: OPEN[name] for name in SMALL} | random_trees(3, 5)


@pytest.fixture(params=MECHANISMS)
def asked(request, rng):
    return Question(MECHANISMS[request.param](), rng)


# ---- numbers -------------------------------------------------------------------------------------------
def test_agrees_with_the_kernels(asked):
    assert asked.loads
    assert_agreement(closed_form, asked)


def test_every_joint_kind_with_springs_friction_welds_and_mimics(robot, rng):
    if closed_form.refuses(robot.tree) is not None:
        robot = trees.random_tree(rng, 4, passive=True)
    assert_agreement(closed_form, Question(robot, rng))


def test_parts_of_the_torque(rng):
    asked = Question(trees.random_tree(rng, 4), rng)
    mechanism, (q, qd, _) = asked.mechanism, asked.state
    weight = closed_form.gravity_torque(asked.tree, q)
    assert_close(weight, kt.gravity_torque(mechanism, q))
    weightless = mechanism.with_gravity((0, 0, 0))
    assert_close(closed_form.velocity_torque(asked.tree, q, qd), kt.bias_torque(weightless, q, qd))
    spared = kt.bias_torque(mechanism, q, qd) - kt.bias_torque(mechanism, q, qd, asked.wrenches)
    assert_close(closed_form.load_torque(asked.tree, q, asked.loads), spared)


def test_derivatives_are_complex_steps(rng):
    """[Xiang2009], eq. 11."""
    asked = Question(trees.random_tree(rng, 4, ("revolute", "prismatic", "universal"), passive=True), rng)
    tree, loads = asked.tree, asked.loads
    expected = complex_step_slopes(lambda *x: closed_form.inverse_dynamics(tree, *x, loads), asked.axes)
    _, *found = closed_form.inverse_dynamics_derivatives(tree, *asked.axes, loads)
    for answer, slope in zip(found, expected, strict=True):
        assert_close(answer, slope, 1e-12)


def test_velocity_coefficients_are_christoffel_symbols(rng):
    """D_ikm = (dM_ik/dq_m + dM_im/dq_k - dM_km/dq_i) / 2, so M' - 2 C is skew."""
    tree = trees.random_tree(rng, 4).tree
    q = rng.standard_normal(tree.n)
    dM = complex_step_slopes(lambda q: closed_form.mass_matrix(tree, q), [q])[0]
    expected = 0.5 * (dM + np.swapaxes(dM, 1, 2) - np.moveaxis(dM, 2, 0))
    assert_close(closed_form.velocity_coefficients(tree, q), expected)


def test_forward_dynamics_undoes_inverse_dynamics(rng):
    asked = Question(trees.random_tree(rng, 4, passive=True), rng)
    q, qd, qdd = asked.axes
    tau = closed_form.inverse_dynamics(asked.tree, q, qd, qdd, asked.loads)
    assert_close(closed_form.forward_dynamics(asked.tree, q, qd, tau, asked.loads), qdd, 1e-10)


def test_large_trees_are_refused_and_said_so():
    assert "55" in closed_form.FORMULATION.refuses(kt.zoo.humanoid().tree)
    assert closed_form.FORMULATION.refuses(kt.zoo.gripper().tree) is None
    assert closed_form.FORMULATION.can <= ABILITIES.keys()
    assert all(callable(getattr(closed_form, name)) for name in closed_form.FORMULATION.can)


# ---- reference data ------------------------------------------------------------------------------------
@each("case", read("chain_sensitivity.json")["cases"], ids=lambda case: case["types"])
def test_distal_chains_with_a_load(case):
    load = distal_load(case["links"], case)
    assert max(reference_errors(closed_form, case["links"], case["gravity"], case, load)) < 1e-9


def test_two_link_arm_with_slider():
    for case in read("twolink_pr.json")["cases"]:
        assert max(reference_errors(closed_form, two_link_pr(case["params"]), case["gravity"], case)) < 1e-9


def point_masses(mass, length, g):
    """The arm of [NCTU]."""
    return kt.zoo.two_link_point_masses(mass, length, (0, -g, 0))


def test_coefficients_of_the_slides():
    """[NCTU]: effective, coupling, centripetal, Coriolis and gravity coefficients; D_ikm counts from 1."""
    for case in read("slides_twolink.json")["cases"]:
        arm = point_masses(case["m"], case["l"], case["g"])
        M = closed_form.mass_matrix(arm.tree, case["q"])
        D = closed_form.velocity_coefficients(arm.tree, case["q"])
        G = closed_form.gravity_torque(arm.tree, case["q"])
        found = {"D11": M[0, 0], "D12": M[0, 1], "D22": M[1, 1], "D1": G[0], "D2": G[1]}
        for i, k, m in np.ndindex(2, 2, 2):
            found[f"D{i + 1}{k + 1}{m + 1}"] = D[i, k, m]
        assert set(found) == set(case["D"])
        assert max(relative_error(value, case["D"][key]) for key, value in found.items()) < 1e-9
        tau = closed_form.inverse_dynamics(arm.tree, case["q"], case["qd"], case["qdd"])
        assert relative_error(tau, case["tau"]) < 1e-9


def test_table_of_effective_inertias():
    """[NCTU]: D11, D21, D22 for theta2 = 0, 90, 180, 270 degrees, and inertias with joint 2 locked and
    free."""
    rows = read("slides_twolink.json")["table_document"]
    assert [row["theta2_deg"] for row in rows] == [0, 90, 180, 270]
    slides = two_link.TwoLinkArm(m1=1, m2=1, L1=1, L2=1, l1=1, l2=1, I1=0, I2=0)
    for row in rows:
        q = np.array([0.3, np.deg2rad(row["theta2_deg"])])
        M = closed_form.mass_matrix(point_masses((1, 1), (1, 1), 9.81).tree, q)
        assert_close(two_link.mass_matrix(slides, q), M)
        found = [M[0, 0], M[1, 0], M[1, 1]]
        found += [
            two_link.inertia_at_first_joint(slides, q, second_joint_free=free) for free in (False, True)
        ]
        assert_close(found, [row[key] for key in ("D11", "D21", "D22", "I1_locked", "I1_free")])


# ---- the two-link arm ----------------------------------------------------------------------------------
def two_link_cases(rng):
    """Reference cases, then random arms under gravity and with a tip load."""
    for case in read("twolink_rr.json")["cases"]:
        yield two_link.TwoLinkArm(**case["params"]), *(np.array(case[key]) for key in ("q", "qd", "qdd"))
    for _ in range(5):
        numbers = rng.uniform(0.1, 2.0, 10)
        yield two_link.TwoLinkArm(*numbers), *rng.uniform(-3, 3, (3, 2))


def test_two_link_arm_agrees_with_kernels_and_both_lagrangians(rng):
    """[Xiang2009], eqs. 52-65 and 69-82."""
    for arm, *state in two_link_cases(rng):
        links, gravity = two_link_rr(arm._asdict())
        mechanism = distal_chain(links, gravity)
        tip = [kt.Wrench("link2", (0, -arm.f, 0), point=(arm.L2, 0, 0))]
        d = kt.inverse_dynamics_derivatives(mechanism, *state, tip)
        answers = [
            (two_link.torques(arm, *state), *two_link.torque_derivatives(arm, *state)),
            closed_form.inverse_dynamics_derivatives(mechanism.tree, *state, axis_loads(mechanism, tip)),
            lagrangian.inverse_dynamics_derivatives(mechanism.tree, *state, axis_loads(mechanism, tip)),
        ]
        for answer in answers:
            for found, expected in zip(answer, (d.tau, d.dtau_dq, d.dtau_dqd, d.dtau_dqdd), strict=True):
                assert_close(found, expected, 1e-12)


def test_two_link_arm_agrees_with_the_reference():
    for case in read("twolink_rr.json")["cases"]:
        arm, state = two_link.TwoLinkArm(**case["params"]), [case[key] for key in ("q", "qd", "qdd")]
        found = (two_link.torques(arm, *state), *two_link.torque_derivatives(arm, *state))
        names = ("tau", "dtau_dq", "dtau_dqd", "dtau_dqdd")
        assert max(relative_error(x, case[name]) for name, x in zip(names, found, strict=True)) < 1e-9


def test_two_link_derivatives_are_complex_steps(rng):
    arm, state = two_link.TwoLinkArm(*rng.uniform(0.1, 2.0, 10)), rng.uniform(-3, 3, (3, 2))
    expected = complex_step_slopes(lambda *x: two_link.torques(arm, *x), state)
    for found, slope in zip(two_link.torque_derivatives(arm, *state), expected, strict=True):
        assert_close(found, slope, 1e-12)


# ---- operation counts ----------------------------------------------------------------------------------
def counts(n):
    robot = kt.Builder("chain")
    body = robot.world
    for k in range(n):
        box = kt.Inertia.box(1.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.3))
        body = body.revolute(f"j{k}", at=(0.3, 0.2, 0.1), rpy=(1, 2, 3)).body(f"b{k}", box)
    state = [counting(np.linspace(0.1, 1.0, n) + 0.1 * k) for k in range(3)]
    with counted_steps() as counted:
        closed_form.inverse_dynamics(robot.build().tree, *state)
    return {name: c["multiplications"] for name, c in counted.steps.items()}


def test_operations_grow_with_the_fourth_power():
    """[Xiang2009], section 4.4; M alone with the third."""
    table = [counts(n) for n in range(3, 9)]
    assert set(table[0]) == {"mass matrix", "velocity terms", "gravity", "sum"}
    orders = {"mass matrix": 3, "velocity terms": 4, "gravity": 2, "sum": 2}
    for name, order in orders.items():
        operations = [steps[name] for steps in table]
        assert np.diff(operations, order)[0] > 0, name
        assert (np.diff(operations, order + 1) == 0).all(), name
