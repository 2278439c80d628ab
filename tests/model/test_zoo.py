"""The zoo against the reference models; generated mechanisms against what they promise."""

import json
from math import pi
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.rotation import rotation_about
from kinetree.errors import InputError, KinetreeError, ModelError
from kinetree.model import zoo
from kinetree.model.body import WORLD
from kinetree.model.dh import distal_frames, from_dh
from kinetree.model.joint_kind import KINDS as JOINT_KINDS
from support.each import each

REFERENCE = Path(__file__).parents[1] / "data" / "reference"
TREES = json.loads((REFERENCE / "models_trees.json").read_text())["models"]
LOOPS = json.loads((REFERENCE / "models_loops.json").read_text())["models"]
CLASSIC = json.loads((REFERENCE / "models_classic_dh.json").read_text())
TOLERANCE = 1e-12
KINDS = {"free_yxz": "free", "spherical_yxz": "spherical"}


def make(name):
    """A zoo mechanism from a reference name such as 'kuka_kr5 midpoint'."""
    name, *choice = name.split()
    return zoo.ZOO[name](*choice)


def close(value, expected):
    return np.abs(np.asarray(value) - expected).max(initial=0.0) < TOLERANCE


def assert_same_body(link, parent, expected):
    assert link.parent == parent
    assert link.joint.kind == KINDS.get(expected["joint"]["type"], expected["joint"]["type"])
    assert np.array_equal(link.joint.axes, expected["joint"]["axes"])
    assert close(link.placement.rotation, expected["placement"]["R"])
    assert close(link.placement.position, expected["placement"]["p"])
    assert close(link.body.inertia.mass, expected["mass"])
    assert close(link.body.inertia.center, expected["com"])
    assert close(link.body.inertia.moment, expected["inertia_com"])


@each("name", [*TREES, *LOOPS])
def test_model_is_the_reference_model(name):
    expected, mechanism = (TREES | LOOPS)[name], make(name)
    assert np.array_equal(mechanism.gravity, expected["gravity"])
    assert mechanism.n_dof == expected["ndof"]
    for link, body in zip(mechanism.links, expected["bodies"], strict=True):
        parent = WORLD if body["parent"] < 0 else mechanism.body_names[body["parent"]]
        assert_same_body(link, parent, body)


def test_every_documented_mechanism_is_compared():
    compared = {name.split()[0] for name in (*TREES, *LOOPS)}
    compared |= {"two_link", "two_link_prismatic", "two_link_point_masses"}  # below
    compared |= {
        "slider_crank",
        "five_bar",
        "n_four_bar",
        "scissor_lift",
        "jansen_leg",
        "jansen_walker",
        "bricard",
    }  # tests/loops
    compared |= {"stewart", "delta", "human", "ur5"}  # human: test_human.py; ur5: with its URDF, below
    compared |= {"muscle_arm"}  # no one's arm; tests/muscles
    compared |= {"andrews_squeezer", "flyball_governor"}  # simulation/test_springs_in_motion.py
    assert compared | {"chain", "random_tree", "humanoid"} == set(zoo.ZOO)


# ---- DH tables ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gripper", "kuka_kr5 origin", "kuka_kr5 midpoint"])
def test_modified_dh_entries_give_the_mechanism(name):
    rows = [
        {
            **{key: body["dh"][key] for key in ("alpha", "a", "b")},
            "parent": WORLD if body["parent"] < 0 else body["parent"],
            "mass": body["mass"],
            "center": body["com"],
            "inertia": body["inertia_com"],
            "allow_unphysical": True,
        }
        for body in TREES[name]["bodies"]
    ]
    mechanism = from_dh(rows, "modified", gravity=TREES[name]["gravity"])
    for link, body, mine in zip(mechanism.links, TREES[name]["bodies"], make(name).links, strict=True):
        assert (link.body.name, link.joint.name) == (mine.body.name, mine.joint.name)
        assert_same_body(link, mine.parent, body)


def test_classic_dh_entries_give_the_puma():
    bodies = TREES["puma"]["bodies"]
    rows = [{key: body["dh"][key] for key in ("alpha", "a", "b")} for body in bodies]
    for row, end, body in zip(rows, distal_frames(rows), bodies, strict=True):
        row["mass"], R = body["mass"], end.rotation
        if body["mass"]:
            row["center"] = R.T @ (body["com"] - end.position)
        row["inertia"] = R.T @ body["inertia_com"] @ R
        row["allow_unphysical"] = True
    for link, body, mine in zip(from_dh(rows, "classic").links, bodies, zoo.puma().links, strict=True):
        assert link.parent == mine.parent
        assert close(link.placement.rotation, body["placement"]["R"])
        assert close(link.placement.position, body["placement"]["p"])
        assert close(link.body.inertia.moment, mine.body.inertia.moment)
        if body["mass"]:
            assert close(link.body.inertia.center, mine.body.inertia.center)


def test_kuka_link_6_is_as_printed():
    moment = np.diag(zoo.kuka_kr5().links[5].body.inertia.moment)
    assert moment[0] > moment[1] + moment[2]
    assert [link.body.inertia.allow_unphysical for link in zoo.kuka_kr5().links] == [False] * 5 + [True]


# ---- two-link arms -----------------------------------------------------------------------------


def planar_mass_matrix(m, c, a, J, slides, q):
    """Closed form for two links in a plane, link 1 turning ([Xiang2009], eqs. 52-65) or sliding along y."""
    cos2 = np.cos(q[1])
    if slides:
        coupling = m[1] * c[1] * cos2
        return [[m[0] + m[1], coupling], [coupling, J[1] + m[1] * c[1] ** 2]]
    end = J[1] + m[1] * c[1] ** 2
    coupling = end + m[1] * a[0] * c[1] * cos2
    first = J[0] + m[0] * c[0] ** 2 + end + m[1] * a[0] ** 2 + 2 * m[1] * a[0] * c[1] * cos2
    return [[first, coupling], [coupling, end]]


def read_planar_arm(mechanism):
    """Masses, distances of the centers from the joints, link lengths, moments about z."""
    inertias = [link.body.inertia for link in mechanism.links]
    length = np.linalg.norm(mechanism.links[1].placement.position)
    return (
        [x.mass for x in inertias],
        [np.linalg.norm(x.center) for x in inertias],
        [length],
        [x.moment[2, 2] for x in inertias],
    )


@pytest.mark.parametrize("case", CLASSIC["two_link"])
def test_two_link_has_the_reference_mass_matrix(case):
    p = {key: (case["params"][key + "1"], case["params"][key + "2"]) for key in ("m", "L", "l", "I")}
    arm = zoo.two_link(mass=p["m"], length=p["L"], center=p["l"], inertia=p["I"])
    assert close(planar_mass_matrix(*read_planar_arm(arm), False, case["q"]), case["dtau_dqdd"])
    assert all(link.body.inertia.center[0] > 0 for link in arm.links)


@pytest.mark.parametrize("case", CLASSIC["two_link_point_masses"])
def test_point_masses_have_the_effective_inertias_of_the_slides(case):
    arm, D = zoo.two_link_point_masses(case["m"], case["l"]), case["D"]
    expected = [[D["D11"], D["D12"]], [D["D12"], D["D22"]]]
    assert close(planar_mass_matrix(*read_planar_arm(arm), False, case["q"]), expected)


@pytest.mark.parametrize("case", CLASSIC["two_link_prismatic"])
def test_prismatic_arm_has_the_reference_mass_matrix(case):
    p = {key: (case["params"][key + "1"], case["params"][key + "2"]) for key in ("m", "L", "I")}
    arm = zoo.two_link_prismatic(mass=p["m"], length=p["L"], inertia=p["I"])
    assert close(planar_mass_matrix(*read_planar_arm(arm), True, case["q"]), case["dtau_dqdd"])
    slider, turner = arm.links
    assert close(slider.placement.rotation @ slider.body.inertia.center, (0, 0, -p["L"][0] / 2))
    towards = slider.placement.rotation @ turner.placement.rotation  # world axes of link 2 at q = 0
    assert close(
        towards, [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    )  # x of link 2 along y, y along the slide, z along x


def test_two_link_defaults_are_the_documents_values():
    arm = zoo.two_link()
    assert arm.mass == 1.0 and not arm.gravity.any()
    for link in arm.links:
        assert link.body.inertia.center.tolist() == [0.2, 0, 0]
        assert np.array_equal(link.body.inertia.moment, 0.1 * np.eye(3))
        assert link.joint.effort_limit == 10
    assert arm.links[1].placement.position.tolist() == [0.4, 0, 0]
    assert zoo.two_link(gravity=(0, -9.8062, 0)).gravity.tolist() == [0, -9.8062, 0]
    turned = zoo.two_link_prismatic(theta2=pi / 2).links[1].placement.rotation
    straight = zoo.two_link_prismatic().links[1].placement.rotation
    assert close(turned, straight @ rotation_about("z", pi / 2))


# ---- loops and contacts ------------------------------------------------------------------------


def planar_poses(mechanism, q):
    """World rotation and position of each body of a mechanism whose joints all turn about z."""
    pose = {WORLD: (np.eye(3), np.zeros(3))}
    for link, angle in zip(mechanism.links, q, strict=True):
        R, p = pose[link.parent]
        place = link.placement
        pose[link.body.name] = (R @ place.rotation @ rotation_about("z", angle), R @ place.position + p)
    return pose


@pytest.mark.parametrize("name", LOOPS)
def test_loops_are_the_reference_cuts_and_close(name):
    mechanism, expected = make(name), LOOPS[name]
    for loop, cut in zip(mechanism.loops, expected["cuts"], strict=True):
        assert loop.joint.kind == "revolute" and loop.joint.axes.tolist() == [[0, 0, 1]]
        assert loop.body_a == mechanism.body_names[cut["bodyA"]]
        assert loop.body_b == mechanism.body_names[cut["bodyB"]]
        assert close(loop.placement_a.position, cut["pA"]) and close(loop.placement_b.position, cut["pB"])
    for q in expected["closed_at"]:
        pose = planar_poses(mechanism, q)
        for loop in mechanism.loops:
            (Ra, pa), (Rb, pb) = pose[loop.body_a], pose[loop.body_b]
            gap = Ra @ loop.placement_a.position + pa - Rb @ loop.placement_b.position - pb
            assert np.abs(gap).max() < 1e-13


def test_closed_configurations_in_the_docstrings():
    for function, name in ((zoo.four_bar, "four_bar table10.3"), (zoo.three_rrr, "three_rrr")):
        text = " ".join(function.__doc__.split()).split("q = (")[1].split(")")[0]
        assert close([float(x) for x in text.split(",")], LOOPS[name]["closed_at"][0])


def test_leg_pantograph_enlarges_four_times():
    """From the hip, the foot is four times as far as the pin that the coupler guides."""
    leg = zoo.robotic_leg()
    for q in LOOPS["robotic_leg"]["closed_at"]:
        pose = planar_poses(leg, q)
        hip, (R, p) = pose["thigh"][1], pose["shank"]
        foot = R @ leg.contact_points[0].position + p
        R, p = pose["coupler"]
        guided = R @ leg.loops[1].placement_b.position + p
        assert np.abs(foot - hip - 4 * (guided - hip)).max() < 1e-13


@pytest.mark.parametrize(
    "name, per_foot, feet",
    [
        ("biped_fixed", 4, ["foot_swing"]),
        ("planar_biped", 2, ["foot1", "foot2"]),
        ("spatial_biped", 4, ["foot1", "foot2"]),
        ("quadruped", 1, [f"shank{k}" for k in range(1, 5)]),
        ("hexapod", 1, [f"shank{k}" for k in range(1, 7)]),
    ],
)
def test_feet_have_contact_points(name, per_foot, feet):
    """Points, lines and surfaces touch the ground with 1, 2 and 4 points ([Shah2013], appendix D)."""
    points = [x for x in zoo.ZOO[name]().contact_points if not x.name.startswith(("trunk", "knee"))]
    assert sorted(point.body for point in points) == sorted(feet * per_foot)
    for foot in feet:
        at = np.array([point.position for point in points if point.body == foot])
        tip = [0, 0, -0.3] if per_foot == 1 else [0, 0, 0]
        assert close(at.mean(axis=0), tip)
        assert close(np.ptp(at, axis=0), {1: (0, 0, 0), 2: (0.15, 0, 0), 4: (0.15, 0.1, 0)}[per_foot])


@pytest.mark.parametrize("name", ["planar_biped", "spatial_biped", "quadruped", "hexapod"])
def test_a_robot_that_has_fallen_touches_the_ground_with_trunk_and_knees(name):
    """[Shah2013], section D.2; feet come first, knees are where the shanks hang."""
    robot = zoo.ZOO[name]()
    names = [x.name for x in robot.contact_points]
    body = [x for x in robot.contact_points if x.name.startswith(("trunk", "knee"))]
    assert names[-len(body) :] == [x.name for x in body]
    knees = [x for x in body if x.name.startswith("knee")]
    assert len(knees) == sum(joint.startswith("knee") for joint in robot.joint_names)
    for knee in knees:
        (shank,) = (link for link in robot.links if link.joint.name == knee.name)
        assert shank.parent == knee.body and close(shank.placement.position, knee.position)
    corners = np.array([x.position for x in body if x.body == "trunk"])
    assert len(corners) >= 4 and close(corners.mean(axis=0), [0, 0, 0])


# ---- generated ---------------------------------------------------------------------------------


def test_chain_alternates_its_axes():
    chain = zoo.chain(5, length=0.2, mass=2.0)
    assert chain.n_dof == 5 and chain.mass == pytest.approx(10.0)
    assert [link.joint.axes[0].tolist() for link in chain.links] == [[0, 0, 1], [0, 1, 0]] * 2 + [[0, 0, 1]]
    assert [link.placement.position.tolist() for link in chain.links] == [[0, 0, 0]] + [[0.2, 0, 0]] * 4
    assert np.linalg.eigvalsh(chain.links[0].body.inertia.moment).min() > 0
    assert [link.parent for link in chain.links] == [WORLD, *chain.body_names[:-1]]


def test_long_chain_is_quick():
    start = perf_counter()
    assert zoo.chain(1000).tree.n == 1000
    assert perf_counter() - start < 5.0


@pytest.mark.parametrize("seed", range(6))
def test_random_tree_has_every_kind_and_branches(seed):
    mechanism = zoo.random_tree(seed, 24)
    assert mechanism.n_bodies == 24
    assert {link.joint.kind for link in mechanism.links} == set(JOINT_KINDS)
    children = [link.parent for link in mechanism.links]
    assert len(set(children)) < len(children)
    assert mechanism.links[0].joint.n_dof > 0
    for link in mechanism.links:
        small, middle, large = np.linalg.eigvalsh(link.body.inertia.moment)
        assert 0 < small and large < small + middle
        assert np.abs(link.body.inertia.moment[np.triu_indices(3, 1)]).min() > 0
    assert mechanism.tree.n == mechanism.n_dof


def test_random_trees_use_all_sequences():
    links = [link for seed in range(40) for link in zoo.random_tree(seed, 16).links]
    used = {link.joint.sequence for link in links if link.joint.kind in ("universal", "spherical")}
    assert len(used) == 18


def test_random_tree_is_determined_by_its_seed():
    assert zoo.random_tree(3, 20) == zoo.random_tree(3, 20)
    assert zoo.random_tree(3, 20) != zoo.random_tree(4, 20)
    assert zoo.random_tree(np.int64(3), 20) == zoo.random_tree(3, 20)


def test_random_tree_of_chosen_kinds():
    arm = zoo.random_tree(1, 10, kinds=["revolute", "fixed"], gravity=(1, 2, 3))
    assert sorted(link.joint.kind for link in arm.links) == ["fixed"] * 5 + ["revolute"] * 5
    assert arm.gravity.tolist() == [1, 2, 3]
    assert zoo.random_tree(0, 1, kinds=["fixed"]).n_dof == 0


# ---- by name, and what is refused --------------------------------------------------------------


def test_every_mechanism_can_be_listed_and_made_by_name():
    listing = zoo.names()
    assert list(listing) == list(zoo.ZOO)
    for name, line in listing.items():
        assert line.endswith(".") and len(line) < 110
        mechanism = zoo.by_name(name)
        assert mechanism.name == name and mechanism.tree.n == mechanism.n_dof > 0
        assert mechanism == zoo.by_name(name)
        assert hasattr(zoo, name) and name in zoo.__all__
    assert zoo.by_name("chain", n=3).n_dof == 3


BAD_CALLS = [
    (lambda: zoo.by_name("griper"), ["unknown mechanism 'griper'", "Did you mean 'gripper'"]),
    (lambda: zoo.by_name("chain", links=3), ["unknown parameter of chain 'links'", "length"]),
    (lambda: zoo.kuka_kr5(com="center"), ["'center'", "origin, midpoint"]),
    (lambda: zoo.four_bar("table10.4"), ["'table10.4'", "table10.3, table8.1"]),
    (lambda: zoo.chain(0), ["integer from 1", "got 0"]),
    (lambda: zoo.chain(2.5), ["integer", "2.5"]),
    (lambda: zoo.chain(2, length=-1), [">= 0 m"]),
    (lambda: zoo.random_tree(-1, 3), ["seed", "integer from 0", "-1"]),
    (lambda: zoo.random_tree(0, True), ["n of random_tree", "True"]),
    (lambda: zoo.random_tree(0, 3, kinds=["hinge"]), ["unknown joint kind 'hinge'"]),
    (lambda: zoo.random_tree(0, 3, kinds=[]), ["at least one joint kind"]),
    (lambda: zoo.two_link(mass=(1, 2, 3)), ["mass of the two links", "2 numbers"]),
    (lambda: zoo.two_link(length=(1, float("nan"))), ["length of the two links", "nan"]),
    (lambda: zoo.two_link(mass=(1, -1)), ["mass must be >= 0 kg, got -1"]),
]


@each("call, words", BAD_CALLS)
def test_bad_parameters_are_refused(call, words):
    with pytest.raises(KinetreeError) as raised:
        call()
    assert isinstance(raised.value, InputError | ModelError)
    for word in words:
        assert word in str(raised.value)


def test_ur5_is_that_of_its_urdf():
    """Torques and places of the tool by Pinocchio, from the URDF; the provenance is in the file."""
    states = json.loads((REFERENCE.parent / "urdf" / "ur5_states.json").read_text(encoding="utf-8"))["states"]
    arm = kt.zoo.ur5()
    for x in states:
        assert np.allclose(kt.inverse_dynamics(arm, x["q"], x["qd"], x["qdd"]), x["tau"], atol=1e-8)
        assert np.allclose(kt.forward_kinematics(arm, x["q"])["tool0"][1], x["tool0"], atol=1e-9)
