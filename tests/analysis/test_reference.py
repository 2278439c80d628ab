"""States of every open tree of the documents, and of random trees, against independent solutions."""

import numpy as np
import pytest

import kinetree as kt
from support.comparison import distal_errors, floating_errors, tree_errors
from support.distal_dh import two_link_pr, two_link_rr
from support.each import each
from support.reference import mechanism, read, relative_error

TOLERANCE = 1e-11
QUANTITIES = {"tau", "bias", "qdd_fd"}
FLOATING = ("floating_planar_biped", "floating_spatial_biped", "floating_quadruped", "floating_hexapod")


def single_models():
    """(name, model, states) of the files with one tree, or with variants of one."""
    for name in ("gripper", "biped_fixed", "puma_slender"):
        file = read(f"{name}.json")
        yield name, file["model"], file["states"]
    for variant in read("kuka_kr5.json")["variants"]:
        yield f"kuka_kr5 {variant['name']}", variant["model"], variant["states"]


def assert_small(errors, expected=frozenset()):
    assert expected <= set(errors)
    assert max(errors.values()) < TOLERANCE, errors


@each("tree", read("random_trees.json")["trees"], ids=lambda tree: tree["name"])
def test_random_tree(tree):
    robot = mechanism(tree["model"])
    assert robot.n_dof == tree["model"]["ndof"]
    for state in tree["states"]:
        assert_small(tree_errors(robot, state), QUANTITIES | {"wrench", "M", "udu_D", "kinetic", "potential"})


def test_random_trees_have_loads_and_every_joint_kind_of_the_schema():
    trees = read("random_trees.json")["trees"]
    assert any(state["external"] for tree in trees for state in tree["states"])
    kinds = {body["joint"]["type"] for tree in trees for body in tree["model"]["bodies"]}
    assert kinds == {"revolute", "prismatic", "universal", "spherical_yxz", "free_yxz"}


@pytest.mark.parametrize(("name", "model", "states"), [pytest.param(*x, id=x[0]) for x in single_models()])
def test_document_tree(name, model, states):
    robot = mechanism(model)
    assert any("wrench" in state for state in states)
    for state in states:
        assert_small(tree_errors(robot, state), QUANTITIES)


@pytest.mark.parametrize("name", FLOATING)
def test_floating_base(name):
    file = read(f"{name}.json")
    robot = mechanism(file["model"])
    assert [bool(state["external"]) for state in file["states"]] == [False, True]
    for state in file["states"]:
        assert_small(floating_errors(robot, state), {"qdd_base", "tau_joints", "qdd"})


@each("case", read("chain_sensitivity.json")["cases"], ids=lambda case: case["types"])
def test_distal_dh_chain(case):
    """Joint torques, forces and moments of [Barman2020], chapter 2, under a load."""
    assert "external" in case
    assert_small(distal_errors(case["links"], case["gravity"], case), {"tau", "F", "N"})


def test_two_link_arm_with_two_hinges():
    """[Xiang2009], eqs. 52-65; the load f pulls the tip down."""
    loaded = 0
    for case in read("twolink_rr.json")["cases"]:
        links, gravity = two_link_rr(case["params"])
        f = case["params"]["f"]
        load = {
            "link": 2,
            "force_world": (0, -f, 0),
            "moment_world": (0, 0, 0),
            "point_in_dh_frame": (0, 0, 0),
        }
        loaded += f > 0
        assert_small(distal_errors(links, gravity, case | {"external": load}), {"tau", "F", "dtau_dqdd"})
    assert loaded


def test_two_link_arm_with_slider():
    """[Barman2020], section 4.2."""
    for case in read("twolink_pr.json")["cases"]:
        links = two_link_pr(case["params"])
        assert_small(distal_errors(links, case["gravity"], case), {"tau", "F", "N", "dtau_dqdd"})


def point_mass_arm(mass, length, g):
    arm = kt.Builder("point masses", gravity=(0, -g, 0))
    first = arm.world.revolute("joint1").body("link1", kt.Inertia.point(mass[0], (length[0], 0, 0)))
    first.revolute("joint2", at=(length[0], 0, 0)).body("link2", kt.Inertia.point(mass[1], (length[1], 0, 0)))
    return arm.build()


def test_two_link_arm_of_point_masses():
    """[NCTU], section 6.1: torques, the inertial coefficients D_ij and the weights D_i."""
    for case in read("slides_twolink.json")["cases"]:
        arm, D = point_mass_arm(case["m"], case["l"], case["g"]), case["D"]
        q = case["q"]
        tau = kt.inverse_dynamics(arm, q, case["qd"], case["qdd"])
        M = kt.mass_matrix(arm, q)
        assert relative_error(tau, case["tau"]) < TOLERANCE
        assert relative_error(M, [[D["D11"], D["D12"]], [D["D12"], D["D22"]]]) < TOLERANCE
        assert relative_error(kt.gravity_torque(arm, q), [D["D1"], D["D2"]]) < TOLERANCE


def test_effective_inertias_of_the_point_mass_arm():
    """[NCTU]: inertia felt at joint 1 with joint 2 locked (D11) and free (D11 - D12^2 / D22)."""
    arm = point_mass_arm((1, 1), (1, 1), 9.81)
    for row in read("slides_twolink.json")["table_document"]:
        M = kt.mass_matrix(arm, [0.4, np.deg2rad(row["theta2_deg"])])
        found = [M[0, 0], M[1, 0], M[1, 1], M[0, 0], 1 / np.linalg.inv(M)[0, 0]]
        expected = [row[key] for key in ("D11", "D21", "D22", "I1_locked", "I1_free")]
        assert relative_error(found, expected) < TOLERANCE


def test_mass_matrices_of_bent_links():
    """[Mohan2007], eq. 17 corrected: 6 x 6 mass matrices of the links about their joints, in frame i
    (order v, w)."""
    file = read("puma_slender.json")
    for record, body in zip(file["link_mass_matrices"], file["model"]["bodies"], strict=True):
        dh = body["dh"]
        link = kt.Inertia.bent_rod(
            body["mass"] - body["payload"], dh["a"], dh["b"], body["payload"], body["hub_Izz"]
        )
        robot = kt.Builder("link", gravity=(0, 0, 0))
        robot.world.free("base", sequence="XYZ").body(
            "link", link.moved(kt.Placement.at(rpy=(0, 0, record["theta"])))
        )
        M = kt.mass_matrix(robot.build(), np.zeros(6))
        assert relative_error(M, record["M_vw_order_frame_i"]) < TOLERANCE
