"""Mechanisms from graphs: the same physics whichever joint is cut, the choice of cuts, wrong graphs."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.loops.system import constraints
from support.refused import refused

GRAVITY = (0.0, -9.81, 0.0)


def at(x, y=0.0):
    return kt.Placement.at((x, y, 0))


def pin(name, **parameters):
    return kt.Joint.of_kind(name, "revolute", **{"driven": False, **parameters})


def rod(name, length, mass):
    return kt.Body(name, kt.Inertia.rod(mass, end=(length, 0, 0)))


FORCES = {"stiffness": 4.0, "rest": 0.5, "viscous": 0.3, "coulomb": 0.2, "coulomb_reverse": 0.5}


def four_bar(cut=None, **forces):
    """Crank, coupler, rocker; all joints as a graph, with forces in the pin B."""
    bodies = [rod("crank", 0.3, 1.0), rod("coupler", 0.8, 2.0), rod("rocker", 0.6, 1.5)]
    joints = [
        kt.model.Loop(pin("O", driven=True), "world", "crank"),
        kt.model.Loop(pin("A"), "crank", "coupler", at(0.3)),
        kt.model.Loop(pin("B", **forces), "coupler", "rocker", at(0.8), at(0.6)),
        kt.model.Loop(pin("C"), "world", "rocker", at(0.9)),
    ]
    return kt.model.from_graph("four_bar", bodies, joints, cut=cut, gravity=GRAVITY)


def pose(robot, theta=0.7):
    """Closed-form positions, and velocities with a coupler that turns at 1 rad/s."""
    a, c = 0.3 * np.array([np.cos(theta), np.sin(theta)]), np.array([0.9, 0.0])
    d = c - a
    length = np.hypot(*d)
    alpha = np.arctan2(d[1], d[0]) + np.arccos((0.64 + length**2 - 0.36) / (1.6 * length))
    b = a + 0.8 * np.array([np.cos(alpha), np.sin(alpha)])
    phi = np.arctan2(b[1] - c[1], b[0] - c[0])
    angles = {"O": theta, "A": alpha - theta, "B": phi - alpha, "C": phi}
    q = np.array([angles[name] for name in robot.joint_names])
    v = np.linalg.svd(constraints(robot, q).J)[2][-1]
    return q, v / kt.body_velocities(robot, q, v)[robot.body_index("coupler"), 5], angles


@pytest.mark.parametrize("cut", "OABC")
def test_physics_is_the_same_whichever_joint_is_cut(cut):
    usual, robot = four_bar(["C"], **FORCES), four_bar([cut], **FORCES)
    q, qd, angles = pose(robot)
    assert np.abs(kt.loops.gap(robot, q)).max() < 1e-14
    found = kt.loops.cut_coordinates(robot, q, qd)
    assert found.names == (cut,)
    assert found.values[0] == pytest.approx(angles[cut], abs=1e-14)
    q0, qd0, _ = pose(usual)
    torque = {name: 0.4 if name == "O" else 0.0 for name in "OABC"}
    if cut != "O":
        tau = [torque[name] for name in robot.joint_names]
        expected = kt.forward_dynamics(usual, q0, qd0, [torque[name] for name in usual.joint_names])
        motion = kt.analysis.body_accelerations(usual, q0, qd0, expected)[usual.body_index("coupler")]
        qdd = kt.forward_dynamics(robot, q, qd, tau)
        here = kt.analysis.body_accelerations(robot, q, qd, qdd)[robot.body_index("coupler")]
        np.testing.assert_allclose(here[3:], motion[3:], atol=1e-11)
        needed = kt.inverse_dynamics(robot, q, qd, qdd)[robot.joint_index("O")]
        assert needed == pytest.approx(0.4, abs=1e-11)
        independent = kt.forward_dynamics_derivatives(robot, q, qd, tau).independent
        assert independent == ("O",)
    else:  # the motor is at the cut joint
        qdd0 = kt.forward_dynamics(usual, q0, qd0, [0.4, 0.0, 0.0])
        rates = dict(zip(usual.joint_names, qdd0, strict=True))
        rates["C"] = rates["O"] + rates["A"] + rates["B"]
        qdd = np.array([rates[name] for name in robot.joint_names])
        tau, forces = kt.loops.inverse_dynamics(robot, q, qd, qdd)
        assert forces.drive_names == ("O",)
        assert forces.drive[0] == pytest.approx(0.4, abs=1e-10)
        assert not tau.any()
    assert kt.potential_energy(robot, q) == pytest.approx(kt.potential_energy(usual, q0), abs=1e-12)


def test_slopes_with_forces_at_the_cut_joint_are_those_of_differences():
    robot = four_bar(["B"], **FORCES)
    q, qd, _ = pose(robot)
    d = kt.forward_dynamics_derivatives(robot, q, qd, np.zeros(3))
    same = kt.forward_dynamics_derivatives(four_bar(["C"], **FORCES), *pose(four_bar(["C"]))[:2], np.zeros(3))
    np.testing.assert_allclose(d.dqdd_dq[0], same.dqdd_dq[0], rtol=1e-9)
    np.testing.assert_allclose(d.dqdd_dqd[0], same.dqdd_dqd[0], rtol=1e-9)


def test_motion_with_forces_at_the_cut_joint():
    ends = []
    for cut in "BC":
        robot = four_bar([cut], **FORCES)
        q, qd, _ = pose(robot)
        result = kt.simulate(robot, q, qd, 0.4, times=2, rtol=1e-10)
        assert result.audit["energy_balance"].passed
        ends.append(result["q"].values[-1, robot.joint_index("O")])
    assert ends[0] == pytest.approx(ends[1], abs=1e-8)


def test_a_motor_and_stops_at_the_cut_joint():
    ends = []
    for cut in "BC":
        robot = four_bar([cut], driven=True, lower=0.9, upper=1.1, viscous=0.2)
        q, qd, _ = pose(robot)
        result = kt.simulate(
            robot, q, qd, 0.3, times=2, rtol=1e-9, torque={"B": 0.7}, stops=kt.simulation.Stops(900.0, 5.0)
        )
        assert result.audit["energy_balance"].passed
        ends.append(result["q"].values[-1, robot.joint_index("O")])
    assert ends[0] == pytest.approx(ends[1], abs=1e-6)


@pytest.mark.filterwarnings("ignore:.*joint .B. is")  # verdicts on limits that nothing enforces
def test_limits_and_given_forces_of_a_cut_joint_are_those_of_a_joint_of_the_tree():
    """The same events at the same times, and a force beyond the effort limit is exerted as it is given."""
    told, ends = [], []
    for cut in "BC":
        robot = four_bar([cut], driven=True, lower=0.9, upper=1.1, effort_limit=0.1)
        q, qd, _ = pose(robot)
        run = kt.simulate(robot, q, qd, 0.3, times=2, rtol=1e-9, torque={"B": 0.7})
        ends.append(run["q"].values[-1, robot.joint_index("O")])
        ended = kt.simulate(robot, q, qd, 0.3, rtol=1e-9, torque={"B": 0.7}, stop_at="joint_limit")
        told.append([(event.kind, event.name, round(event.time, 7)) for event in run.events])
        assert ended.stopped_at == pytest.approx(run.events[0].time, abs=1e-9)
    assert told[0] == told[1]
    assert told[0][0][:2] == ("joint_limit_lower", "B")
    assert ends[0] == pytest.approx(ends[1], abs=1e-8)


RAMP = ([0.0, 0.1, 0.3], [0.0, 0.9, -0.4])
LAWS = {
    "table": lambda robot: {"B": RAMP},
    "feedback": lambda robot: {"B": kt.control.PD([1.3], kp=6.0, kd=0.4, limits=0.8)},
    "function": lambda robot: {
        "B": lambda t, q, qd: 0.8 * np.sin(9.0 * t) - 0.1 * qd[robot.joint_index("A")]
    },
    "all at once": lambda robot: {"O": 0.2, "A": lambda t, q, qd: 0.1 * t, "B": RAMP},
}


@pytest.mark.parametrize("law", LAWS)
def test_a_law_of_a_motor_does_the_same_at_a_cut_joint_as_at_one_of_the_tree(law):
    ends, forces = [], []
    for cut in "BC":
        robot = four_bar([cut], driven=True, viscous=0.2)
        q, qd, _ = pose(robot)
        run = kt.simulate(robot, q, qd, 0.3, times=7, rtol=1e-10, torque=LAWS[law](robot), reactions=True)
        assert run.passed
        ends.append(run["q"].values[-1, robot.joint_index("O")])
        if cut == "B":
            assert run["cut_tau"].coords["cut_joint"].values.tolist() == ["B"]
            forces.append(run["cut_tau"].values[:, 0])
            first = run["loop_force"].sel(loop="B").values
        else:
            forces.append(run["tau"].values[:, robot.joint_index("B")])
            on_rocker = run["reaction"].sel(body="rocker").values
            hinge = run["loop_force"].sel(loop="C").values
    assert ends[0] == pytest.approx(ends[1], abs=1e-8)  # steps do not end where a motor meets its limit
    np.testing.assert_allclose(forces[0], forces[1], atol=1e-7)
    assert np.abs(forces[0]).max() > 0.1
    assert np.isfinite(on_rocker[:, [0, 1, 5]]).all()
    assert np.isfinite(hinge[:, [0, 1, 5]]).all()
    total = forces[1] - 0.2 * _rate_of_b(law)  # the motor's torque less friction, as B transmits them
    np.testing.assert_allclose(-first[:, 5], total, atol=1e-7)


def _rate_of_b(law):
    """Rates of the angle B where it is a joint of the tree."""
    robot = four_bar(["C"], driven=True, viscous=0.2)
    q, qd, _ = pose(robot)
    run = kt.simulate(robot, q, qd, 0.3, times=7, rtol=1e-10, torque=LAWS[law](robot))
    return run["qd"].values[:, robot.joint_index("B")]


def test_a_motor_at_a_cut_joint_works_beside_a_controller():
    ends = []
    for cut in "BC":
        robot = four_bar([cut], driven=True)
        q, qd, _ = pose(robot)
        want = np.where(np.array(robot.joint_names) == "O", 0.9, 0.0)
        gains = {name: (3.0 if name == "O" else 0.0) for name in robot.joint_names if name in ("O", "B")}
        law = kt.control.PD(want, kp=gains, kd=gains)
        if cut == "C":  # B belongs to the controller, so its torque comes from a function
            run = kt.simulate(
                robot,
                q,
                qd,
                0.2,
                times=3,
                rtol=1e-9,
                verdicts={"following": None},  # the motor pushes the joint away from its goal
                controller=lambda t, q, qd, robot=robot, law=law: (
                    law.torque(robot, t, q, qd) + 0.5 * (np.array(robot.joint_names) == "B")
                ),
            )
        else:
            run = kt.simulate(
                robot,
                q,
                qd,
                0.2,
                times=3,
                rtol=1e-9,
                controller=law,
                torque={"B": 0.5},
                verdicts={"following": None},
            )
        ends.append(run["q"].values[-1, robot.joint_index("O")])
    assert ends[0] == pytest.approx(ends[1], abs=1e-8)


def test_wrong_laws_of_motors_are_refused():
    robot = four_bar(["B"], driven=True)
    q, qd, _ = pose(robot)
    for torque, message in (
        ({"B": kt.control.PD([0.1, 0.2], kp=1.0)}, "a PD of one joint has a trajectory of one coordinate"),
        ({"B": kt.control.GravityCompensation()}, "GravityCompensation is not a law of a single joint"),
        ({"B": lambda t, q, qd: np.nan}, "must be one number, got nan"),
        ({"B": ([0.0, 1.0], [[1.0], [2.0]])}, r"must be numbers \(k,\)"),
        ({"B": "much"}, "torque of 'B'"),
        ({"D": 1.0}, "unknown joint 'D'"),
    ):
        with pytest.raises(kt.errors.InputError, match=message):
            kt.simulate(robot, q, qd, 0.1, torque=torque)
    with pytest.raises(
        kt.errors.InputError, match="with a controller, torque may only name coordinates of cut joints"
    ):
        kt.simulate(robot, q, qd, 0.1, torque={"O": 1.0}, controller=kt.control.PD(q, kp=1.0))


def test_plain_joints_are_cut():
    assert [loop.name for loop in four_bar().loops] == ["B"]
    assert [loop.name for loop in four_bar(**FORCES).loops] == ["A"]
    assert [loop.name for loop in four_bar(driven=True).loops] == ["A"]


def test_the_tree_has_minimum_cumulative_degrees_of_freedom():
    """A body on a chain of three hinges and on one hinge hangs on the latter."""
    bodies = [rod(name, 1.0, 1.0) for name in ("a", "b", "c")]
    joints = [
        kt.model.Loop(pin("j1"), "world", "a"),
        kt.model.Loop(pin("j2"), "a", "b", at(1)),
        kt.model.Loop(pin("j3"), "b", "c", at(1)),
        kt.model.Loop(pin("j4"), "world", "c", at(2), at(1)),
    ]
    robot = kt.model.from_graph("ring", bodies, joints)
    assert robot.link("c").parent == "world"
    assert [loop.name for loop in robot.loops] == ["j3"]


def test_a_joint_with_armature_or_a_follower_is_not_cut():
    assert [loop.name for loop in four_bar(armature=0.1).loops] == ["A"]
    with pytest.raises(kt.errors.ModelError, match="the cut joint 'B' cannot have armature"):
        four_bar(["B"], armature=0.1)


def test_wrong_graphs_are_refused():
    bodies = [rod("a", 1.0, 1.0), rod("b", 1.0, 1.0)]
    lone = [kt.model.Loop(pin("j1"), "world", "a")]
    with pytest.raises(kt.errors.ModelError, match="no joints lead from the world to body 'b'"):
        kt.model.from_graph("two", bodies, lone)
    chain = [*lone, kt.model.Loop(pin("j2"), "a", "b", at(1))]
    with refused("joint", "j9", kind=kt.errors.ModelError):
        kt.model.from_graph("two", bodies, chain, cut=["j9"])
    with pytest.raises(kt.errors.ModelError, match="nothing leads from the world to"):
        kt.model.from_graph("two", bodies, chain, cut=["j1"])
    ring = [*chain, kt.model.Loop(pin("j3"), "world", "b", at(2), at(1))]
    with pytest.raises(kt.errors.ModelError, match="closes a loop of joints that are not cut"):
        kt.model.from_graph("two", bodies, ring, cut=[])
    with refused("body", "c", kind=kt.errors.ModelError):
        kt.model.from_graph("two", bodies, [*chain, kt.model.Loop(pin("j4"), "a", "c")])
    with pytest.raises(kt.errors.ModelError, match="more than one joint is called 'j1'"):
        kt.model.from_graph("two", bodies, [*chain, kt.model.Loop(pin("j1"), "world", "b")])


@pytest.mark.parametrize(
    "kind, more",
    [
        ("revolute", {}),
        ("prismatic", {"axis": (1, 2, 3)}),
        ("cylindrical", {"axis": (1, 2, 3)}),
        ("universal", {}),
        ("spherical", {}),
        ("spherical", {"sequence": "ZXZ"}),
        ("planar", {}),
    ],
)
def test_coordinates_of_cut_joints_are_those_of_the_same_joint_in_a_tree(kind, more):
    rng = np.random.default_rng(2)
    place = {"at": (0.1, 0.2, 0.3), "rotation": np.linalg.qr(rng.normal(size=(3, 3)))[0]}
    place["rotation"] *= np.sign(np.linalg.det(place["rotation"]))
    build = kt.Builder("twice")
    base = build.world.free("base").body("a", kt.Inertia.box(1.0, (1, 2, 3)))
    base.joint("tree", kind, **place, **more).body("b", kt.Inertia.box(1.0, (1, 2, 3)))
    build.loop("cut", "a", "b", at_a=place["at"], rotation_a=place["rotation"], kind=kind, **more)
    robot = build.build()
    q, qd = rng.uniform(0.2, 1.3, (4, robot.n_dof)), rng.normal(size=(4, robot.n_dof))
    found = kt.loops.cut_coordinates(robot, q, qd)
    assert [name.replace("cut", "tree") for name in found.names] == list(robot.joint_names[6:])
    np.testing.assert_allclose(found.values, q[:, 6:], atol=1e-13)
    np.testing.assert_allclose(found.rates, qd[:, 6:], atol=1e-12)


def test_a_continuous_angle_does_not_jump():
    robot = four_bar(["O"])
    turns = np.linspace(0.0, 12.0, 200)
    whole = [pose(robot, theta)[0] for theta in turns]
    found = kt.loops.cut_coordinates(robot, np.array(whole), continuous=True)
    np.testing.assert_allclose(found.values[:, 0], turns, atol=1e-12)


def carried_four_bar(floating):
    """A four-bar whose frame is a body, on the world or floating."""
    bodies = [
        rod("frame", 0.9, 3.0),
        rod("crank", 0.3, 1.0),
        rod("coupler", 0.8, 2.0),
        rod("rocker", 0.6, 1.5),
    ]
    base = kt.Joint.of_kind("base", "free" if floating else "fixed")
    joints = [
        kt.model.Loop(base, "world", "frame"),
        kt.model.Loop(pin("O", driven=True), "frame", "crank"),
        kt.model.Loop(pin("A"), "crank", "coupler", at(0.3)),
        kt.model.Loop(pin("B"), "coupler", "rocker", at(0.8), at(0.6)),
        kt.model.Loop(pin("C"), "frame", "rocker", at(0.9)),
    ]
    return kt.model.from_graph("carried", bodies, joints, cut=["B"], gravity=GRAVITY)


def test_a_base_floats_in_a_graph():
    """Without gravity it keeps its momentum; held in place, it moves as the one on the world."""
    floating, fixed = carried_four_bar(True), carried_four_bar(False)
    assert floating.n_dof == 9
    assert floating.links[0].floats
    assert kt.loops.mobility(floating) == 7
    q, qd, _ = pose(fixed)
    still = np.zeros(6)
    whole = np.concatenate([still, q]), np.concatenate([still, qd])
    qdd = kt.forward_dynamics(fixed, q, qd, np.zeros(3))
    pushed = kt.inverse_dynamics(floating, *whole, np.concatenate([still, qdd]))
    assert np.abs(pushed[6:]).max() < 1e-10
    assert np.abs(pushed[:2]).max() > 1.0  # the world's reaction
    run = kt.simulate(floating.with_gravity((0, 0, 0)), *whole, 0.4, times=5, rtol=1e-10)
    momentum = kt.momentum(floating, run.q.values, run.qd.values)
    assert np.abs(momentum - momentum[0]).max() < 1e-9
    assert run.passed


def test_free_joints_only_let_bases_float():
    free, hinge = kt.Joint.of_kind("base", "free"), kt.model.Loop(pin("j"), "world", "a")
    bodies = [rod("a", 1.0, 1.0), rod("b", 1.0, 1.0)]
    with pytest.raises(
        kt.errors.ModelError, match="a free joint makes a base float, so its body a must be the"
    ):
        kt.model.from_graph("x", bodies, [hinge, kt.model.Loop(free, "a", "b")])
    joints = [hinge, kt.model.Loop(free, "world", "b"), kt.model.Loop(pin("k"), "a", "b")]
    with refused("cut joint", "free", kind=kt.errors.ModelError):
        kt.model.from_graph("x", bodies, joints, cut=["base"])


def test_a_joint_with_a_coordinate_that_another_follows_is_not_cut():
    """Of a triangle of bars the joint with most freedom would be cut; a needle follows its rotation."""
    slider = kt.Joint.of_kind("slider", "cylindrical", axis="z", driven=False)
    needle = pin("needle", mimic=kt.model.Mimic("slider.rz", 2.0))
    joints = [
        kt.model.Loop(pin("left"), "world", "a"),
        kt.model.Loop(slider, "a", "b", at(1.0)),
        kt.model.Loop(pin("right"), "b", "world", at(1.0), at(1.0, 1.0)),
    ]
    bodies = [rod("a", 1.0, 1.0), rod("b", 1.0, 1.0)]
    assert [x.name for x in kt.model.from_graph("x", bodies, joints).loops] == ["slider"]
    follower = kt.model.Loop(needle, "a", "c")
    found = kt.model.from_graph("x", [*bodies, rod("c", 0.1, 0.1)], [*joints, follower])
    assert [x.name for x in found.loops] != ["slider"] and "slider.rz" in found.joint_names
