"""The same linkage cut at different joints, with springs and friction at all of them: the same answers."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError

LENGTHS = {"crank": 0.2, "coupler": 0.6, "rocker": 0.4}
GROUND = 0.5
JOINTS = ("A", "B", "C", "D")
CRANK = (1.2, 0.7, 0.3)  # position, rate and acceleration of A


def linkage(cut, viscous=0.3, stiffness=5.0):
    """A four-bar whose frames lie along its bars, cut at one of its joints."""
    bodies = [
        kt.Body(name, kt.Inertia.rod(1.0 + length, end=(length, 0, 0))) for name, length in LENGTHS.items()
    ]

    def joint(name):
        given = {"viscous": viscous, "stiffness": stiffness, "rest": 0.2} if stiffness else {}
        return kt.Joint.of_kind(name, "revolute", driven=name == "A", cut=True, **given)

    at = kt.Placement.at
    joints = [
        kt.model.Loop(joint("A"), "world", "crank"),
        kt.model.Loop(joint("B"), "crank", "coupler", at((LENGTHS["crank"], 0, 0))),
        kt.model.Loop(joint("C"), "rocker", "coupler", at((LENGTHS["rocker"], 0, 0)), at((0.6, 0, 0))),
        kt.model.Loop(joint("D"), "world", "rocker", at((GROUND, 0, 0))),
    ]
    return kt.model.from_graph("bar", bodies, joints, cut=[cut], gravity=(0.0, -9.81, 0.0))


def motion(mechanism):
    """q, qd and qdd of all joints on the same branch for every cut."""
    angle = {"A": CRANK[0], "B": -0.75, "C": -1.2, "D": 1.7}
    guess = [angle[name] for name in mechanism.joint_names]
    values = ([[x]] for x in CRANK)
    state = kt.loops.dependent_motion(mechanism, ["A"], *values, q0=guess)
    return state.q[0], state.qd[0], state.qdd[0]


def by_name(mechanism, values):
    return dict(zip(mechanism.joint_names, values, strict=True))


def assert_same(found, close=1e-9):
    """Values by name agree where several cuts have them."""
    for name in JOINTS:
        values = [x[name] for x in found if name in x]
        for value in values[1:]:
            np.testing.assert_allclose(value, values[0], rtol=close, atol=close)


CUTS = ("B", "C", "D")  # A is independent in all of them


@pytest.fixture(scope="module")
def linkages():
    made = {cut: linkage(cut) for cut in CUTS}
    return {cut: (mechanism, *motion(mechanism)) for cut, mechanism in made.items()}


def test_the_motion_is_the_same(linkages):
    for place in (1, 2, 3):
        assert_same([by_name(x[0], x[place]) for x in linkages.values()])


def test_second_derivatives_are_differences_of_first_ones(linkages):
    h = 1e-4
    for mechanism, q, qd, qdd in linkages.values():
        weight = (np.array(mechanism.joint_names) == "A").astype(float)
        second = kt.analysis.torque_hessian(mechanism, q, qd, qdd, weight).full
        for k in range(3):
            slopes = []
            for step in (-h, h):
                crank = np.array(CRANK)
                crank[k] += step
                there = kt.loops.dependent_motion(mechanism, ["A"], *crank[:, None, None], q0=q)
                first = kt.inverse_dynamics_derivatives(mechanism, there.q[0], there.qd[0], there.qdd[0])
                slopes.append(first.matrices[:, list(mechanism.joint_names).index("A"), 0])
            np.testing.assert_allclose(second[k], (slopes[1] - slopes[0]) / (2 * h), rtol=1e-5, atol=1e-5)


def test_mass_matrices_of_the_freedom_do_not_depend_on_the_cut(linkages):
    """G^T M G with the velocities G that follow the crank, and its slope along the motion."""
    sizes = []
    for mechanism, q, _, _ in linkages.values():
        G = kt.inverse_dynamics_derivatives(mechanism, q, 0 * q, 0 * q).dq_dq[:, 0]
        M = kt.mass_matrix(mechanism, q)
        sizes.append({"A": G @ M @ G})
    assert_same(sizes)


def slot(**given):
    """A pin of the crank that slides along the rocker."""
    build = kt.Builder("slot", gravity=(0.0, -9.81, 0.0))
    crank = build.world.revolute("crank_joint").body("crank", kt.Inertia.rod(1.0, end=(0.3, 0, 0)))
    rocker = build.world.revolute("rocker_joint", at=(0.5, 0, 0), driven=False)
    rocker = rocker.body("rocker", kt.Inertia.rod(1.0, end=(-0.6, 0, 0)))
    build.loop("pin", rocker, crank, at_b=(0.3, 0, 0), kind="point_on_line", axis="x", **given)
    return build.build()


def test_coordinates_of_a_point_on_a_line():
    """Its place and the angle across the plane are those of the crank seen from the rocker."""
    mechanism = slot(lower=-1.0, upper=1.0)
    q = kt.loops.assemble(mechanism, [0.7, -0.6], hold=["crank_joint"])
    rate = kt.loops.dependent_motion(mechanism, ["crank_joint"], [[0.7]], [[2.0]], q0=q)
    found = kt.loops.cut_coordinates(mechanism, q, rate.qd[0])
    pin = 0.3 * np.array([np.cos(0.7), np.sin(0.7)]) - [0.5, 0.0]
    line = np.array([np.cos(q[1]), np.sin(q[1])])
    velocity = 0.6 * np.array([-np.sin(0.7), np.cos(0.7)])
    turned = rate.qd[0, 1] * np.array([-line[1], line[0]])
    np.testing.assert_allclose(found.values, [pin @ line, 0.0, 0.0, q[0] - q[1]], atol=1e-12)
    np.testing.assert_allclose(found.rates[0], velocity @ line + pin @ turned, atol=1e-12)
    np.testing.assert_allclose(found.rates[3], rate.qd[0, 0] - rate.qd[0, 1], atol=1e-12)


def test_springs_and_friction_of_a_point_on_a_line_do_their_work():
    """The crank's torque changes by the virtual work of the spring and the damper."""
    plain, sprung = slot(), slot(stiffness=[40.0, 0, 0, 0], viscous=[3.0, 0, 0, 0], rest=[-0.2, 0, 0, 0])
    q = kt.loops.assemble(plain, [0.7, -0.6], hold=["crank_joint"])
    state = kt.loops.dependent_motion(plain, ["crank_joint"], [[0.7]], [[2.0]], q0=q)
    q, qd, qdd = state.q[0], state.qd[0], state.qdd[0]
    at = kt.loops.cut_coordinates(sprung, q, qd)
    force = 40.0 * (at.values[0] + 0.2) + 3.0 * at.rates[0]
    more = kt.inverse_dynamics(sprung, q, qd, qdd) - kt.inverse_dynamics(plain, q, qd, qdd)
    np.testing.assert_allclose(more, [force * at.rates[0] / qd[0], 0.0], atol=1e-10)
    driven = slot(driven=[True, False, False, False])
    assert kt.loops.inverse_dynamics(driven, q, qd, qdd)[1].drive_names == ("pin.tx",)
    assert kt.Joint.of_kind("pin", "point_on_line", axes=["x"], cut=True).axes.tolist() == [[1, 0, 0]] * 4


def test_drives_at_cut_joints_alone_are_not_left_out():
    """Functions without a place for them lead to the one that has."""
    mechanism = linkage("B", stiffness=0.0)
    links = [kt.model.Link(x.body, x.joint, x.parent, x.placement) for x in mechanism.links]
    joints = [kt.Joint.of_kind(x.joint.name, "revolute", driven=False) for x in links]
    links = [kt.model.Link(x.body, j, x.parent, x.placement) for x, j in zip(links, joints, strict=True)]
    cut = mechanism.loops[0]
    pin = kt.Joint.of_kind("B", "revolute", driven=True, cut=True)
    loop = kt.model.Loop(pin, cut.body_a, cut.body_b, cut.placement_a, cut.placement_b)
    driven = kt.Mechanism("bar", tuple(links), mechanism.gravity, (loop,))
    q, qd, qdd = motion(driven)
    tau, forces = kt.loops.inverse_dynamics(driven, q, qd, qdd)
    power = kt.inverse_dynamics(mechanism, q, qd, qdd) @ qd
    rate = kt.loops.cut_coordinates(driven, q, qd).rates
    assert not tau.any()
    np.testing.assert_allclose(forces.drive @ rate, power, rtol=1e-9)
    for ask in (lambda: kt.inverse_dynamics(driven, q, qd, qdd), lambda: kt.gravity_torque(driven, q)):
        with pytest.raises(InputError, match=r"'B'.*kinetree\.loops\.inverse_dynamics"):
            ask()
