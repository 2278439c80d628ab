"""Prediction with closed loops: derivatives through everything, an independent statement, what is refused."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import AssemblyError
from kinetree.motion.terms import (
    Boundary,
    CutForce,
    Jerk,
    JointLimits,
    PointPosition,
    PointSpeed,
    PointVelocity,
    Power,
    ReactionLimit,
    SquaredReaction,
    SquaredTorque,
    Time,
    TorqueLimits,
    TorqueRateLimits,
    Tracking,
    VelocityLimits,
)

FIVE_BAR = kt.zoo.five_bar()
ARMS = ("left_arm_joint", "right_arm_joint")
TIP = {"body": "left_rod", "point": (0.4, 0, 0)}
ENDS = [
    Boundary("start", {ARMS[0]: 0.0, ARMS[1]: 0.0}, 0.0),
    Boundary("end", {ARMS[0]: -0.6, ARMS[1]: -0.5}, 0.0),
]
CONSTRAINTS = {
    "torque": TorqueLimits(8.0),
    "torque rate": TorqueRateLimits(1e3),
    "joint": JointLimits(-2, 2),
    "velocity": VelocityLimits(3.0),
    "acceleration of one that follows": Boundary("start", acceleration={"left_rod_joint": 1.0}),
    "position of one that follows": Boundary("end", {"left_rod_joint": 0.1}),
    "reaction": ReactionLimit("left_rod", 10.0, "fx"),
    "cut reaction": ReactionLimit("tip", 10.0, "fy"),
    "point": PointPosition(TIP["body"], [0.1, 0.5, 0.0], point=TIP["point"], axes="xy"),
    "speed": PointSpeed(TIP["body"], 1.0, TIP["point"]),
    "velocity of a point": PointVelocity(TIP["body"], (0.1, 0.2, 0), point=TIP["point"], axes="xy"),
}
OBJECTIVES = {
    "power": Power(smooth=30.0),
    "jerk": Jerk(),
    "squared reaction": SquaredReaction("tip", "fx"),
    "tracking": Tracking(np.zeros((4, 4))),
}


def with_drives(mechanism, names):
    """The same with other joints driven."""
    links = [
        replace(x, joint=replace(x.joint, driven=tuple(name in names for name in x.joint.dof_names)))
        for x in mechanism.links
    ]
    return replace(mechanism, links=tuple(links))


def problem(mechanism=FIVE_BAR, **changes):
    arguments = {"objective": SquaredTorque(), "duration": (0.5, 5.0), "segments": 3, **changes}
    return kt.Problem(mechanism, **arguments)


def assert_exact(asked, tolerance=1e-6):
    check = asked.check_derivatives()
    assert max(check.gradient, check.hessian, *check.jacobian.values(), 0.0) < tolerance, str(check)


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_derivatives_of_constraints(name):
    assert_exact(problem(constraints=CONSTRAINTS[name]))


@pytest.mark.parametrize("name", OBJECTIVES)
def test_derivatives_of_objectives(name):
    assert_exact(problem(objective=OBJECTIVES[name], constraints=TorqueLimits(8.0)))


@pytest.mark.parametrize("drives", [(*ARMS, "left_rod_joint"), ARMS[:1]], ids=["too many", "too few"])
def test_derivatives_with_another_number_of_drives(drives):
    asked = problem(
        with_drives(FIVE_BAR, drives), constraints=[TorqueLimits(8.0), ReactionLimit("tip", 9.0, "fx")]
    )
    assert ("undriven joint" in asked.families) == (len(drives) == 1)
    assert_exact(asked)


@pytest.mark.parametrize("independent", [None, "plate"])
def test_derivatives_of_a_spatial_mechanism(independent):
    robot = kt.zoo.stewart()
    names = None if independent is None else [x for x in robot.joint_names if x.startswith(independent)]
    limits = [TorqueLimits(100.0), ReactionLimit("ball1", 90.0), ReactionLimit("lower2", 9.0, "moment")]
    assert_exact(problem(robot, constraints=limits, independent=names, segments=2), 2e-6)


def test_torques_and_cut_forces_are_those_of_the_library():
    found = kt.predict(problem(constraints=ENDS, duration=0.5, segments=6))
    tau, forces = kt.loops.inverse_dynamics(FIVE_BAR, found.q, found.qd, found.qdd)
    assert np.allclose(found.tau, tau, rtol=0, atol=1e-9)
    on_left = kt.forward_kinematics(FIVE_BAR, found.q)["left_rod"][0]
    wrench = np.einsum("mij,mi->mj", on_left[:, :2, :2], -forces.wrench[:, 0, :2])  # a on b, in a's frame
    assert np.allclose(found.loop_forces.loops[:, 0, :2], wrench, rtol=0, atol=1e-9)
    assert np.isnan(found.loop_forces.loops[:, 0, 2]).all()
    assert np.abs(kt.loops.gap(FIVE_BAR, found.q)).max() < 1e-12


def five_bar_by_hand():
    """Torques of both arms from Lagrange's function of two angles, the tip by intersecting circles."""
    u, ud, udd = (ca.SX.sym(name, 2) for name in ("u", "ud", "udd"))
    base, arm, rod = 0.3, 0.3, 0.4
    angles = ca.vertcat(2 * ca.pi / 3, ca.pi / 3) + u
    feet = [ca.vertcat(0, 0), ca.vertcat(base, 0)]
    elbows = [feet[k] + arm * ca.vertcat(ca.cos(angles[k]), ca.sin(angles[k])) for k in range(2)]
    across = elbows[1] - elbows[0]
    far = ca.norm_2(across)
    up = ca.vertcat(-across[1], across[0]) / far
    tip = (elbows[0] + elbows[1]) / 2 + up * ca.sqrt(rod**2 - far**2 / 4)
    energy = 0
    for k in range(2):
        for mass, start, end in ((1.0, feet[k], elbows[k]), (0.5, elbows[k], tip)):
            va, vb = (ca.jtimes(x, u, ud) for x in (start, end))
            kinetic = mass / 6 * (ca.dot(va, va) + ca.dot(va, vb) + ca.dot(vb, vb))
            energy += kinetic - mass * 9.81 * (start[1] + end[1]) / 2
    momentum = ca.gradient(energy, ud)
    rate = ca.jtimes(momentum, u, ud) + ca.jtimes(momentum, ud, udd)
    return ca.Function("tau", [u, ud, udd], [rate - ca.gradient(energy, u)])


def test_minimum_time_of_the_five_bar_equals_an_independent_statement():
    asked = kt.Problem(
        FIVE_BAR, objective=Time(), constraints=[*ENDS, TorqueLimits(8.0)], duration=(0.05, 5.0), segments=10
    )
    found = kt.predict(asked)
    assert found.solved
    by_hand = five_bar_by_hand()
    motion = found.at(found.t[::7])
    tau = np.array(by_hand.map(len(motion[0]))(*(x[:, :2].T for x in motion))).T
    assert np.allclose(tau, found.tau[::7, :2], rtol=0, atol=1e-9)
    grid = asked.setting.unknowns.at(asked.setting.samples).grid
    opti = ca.Opti()
    points, T = opti.variable(asked.basis.n_control, 2), opti.variable()
    for s, target in ((0, (0.0, 0.0)), (-1, (-0.6, -0.5))):
        for k in range(2):
            opti.subject_to(points[s, k] == target[k])
            opti.subject_to(points[1 if s == 0 else -2, k] == target[k])
    for j, first in enumerate(grid.first):
        rates = [
            ca.DM(grid.weights[j, r][None]) @ points[int(first) : int(first) + 4, :] / T**r for r in range(3)
        ]
        opti.subject_to(opti.bounded(-8, by_hand(*(x.T for x in rates)), 8))
    opti.minimize(T)
    opti.set_initial(T, 0.5)
    opti.set_initial(points, np.linspace((0.0, 0.0), (-0.6, -0.5), asked.basis.n_control))
    opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "tol": 1e-9})
    assert found.duration == pytest.approx(opti.solve().value(T), rel=1e-6)


def test_the_force_of_a_cut_joint_as_an_unknown_leads_to_the_same_motion():
    """[Xiang2009], eq. 38: the open tree with tied points and an unknown force, all joints with splines."""
    same = {"duration": 0.5, "segments": 36, "degree": 5, "regularization": 0.0}
    closed = kt.predict(problem(constraints=ENDS, **same))
    tie = CutForce("left_rod", "right_rod", (0.4, 0, 0), (0.4, 0, 0), axes="xy", name="tip")
    opened = problem(FIVE_BAR.opened(), objective=SquaredTorque(ARMS), constraints=[*ENDS, tie], **same)
    other = kt.predict(opened)
    assert closed.solved and other.solved
    assert closed.objective == pytest.approx(other.objective, rel=1e-6)
    assert np.abs(closed.q - other.q).max() < 1e-5
    assert np.abs(kt.loops.gap(FIVE_BAR, other.q)).max() < 1e-8
    force = kt.loops.forces(FIVE_BAR, closed.q, closed.qd, closed.qdd).wrench[:, 0, :2]  # of b on a
    assert np.abs(other.curves["force:tip"] - force).max() < 1e-2 * np.abs(force).max()


def test_a_simulation_goes_the_predicted_way_and_the_audit_passes():
    found = kt.predict(
        kt.Problem(FIVE_BAR, objective=Time(), constraints=[*ENDS, TorqueLimits(8.0)], segments=8)
    )
    assert found.check_by_simulation().largest < 1e-7
    result = found.to_result()
    assert result.passed and result.audit["closure"].value < 1e-12
    assert result.cut_reaction.dims == ("time", "loop", "component")


def test_where_loops_leave_forces_undetermined_limits_are_refused():
    with pytest.raises(kt.errors.InputError, match=r"'tip': fz is not available: redundant .* fx, fy, mz"):
        problem(constraints=ReactionLimit("tip", 10.0))
    with pytest.raises(kt.errors.InputError, match=r"'left_rod': mx .* undetermined"):
        problem(constraints=ReactionLimit("left_rod", 10.0, "mx"))


def test_a_start_pose_tells_the_branch():
    modes = kt.loops.assembly_modes(FIVE_BAR, np.zeros(4), hold=ARMS)
    assert len(modes) == 2
    for mode in modes:
        asked = problem(constraints=Boundary("start", mode.q, 0.0), duration=1.0)
        assert np.allclose(kt.predict(asked).q[0], mode.q, atol=1e-9)
    other = max(modes, key=lambda mode: abs(mode.q[2]))
    with pytest.raises(kt.errors.InputError, match="'left_rod_joint' at 'end' is on another branch"):
        problem(constraints=[Boundary("start", np.zeros(4), 0.0), Boundary("end", other.q, 0.0)])
    with pytest.raises(kt.errors.InputError, match="'left_rod_joint' at 'end' leaves the loops open by"):
        problem(constraints=[Boundary("start", np.zeros(4), 0.0), Boundary("end", [0, 0, 0.3, 0], 0.0)])


def test_a_motion_through_a_singular_position_is_refused_with_its_place():
    apart = Boundary("end", {ARMS[0]: 1.0, ARMS[1]: -1.0}, 0.0)
    with pytest.raises(AssemblyError, match=r"singular position of loop 'tip' .* start=\(times"):
        kt.predict(problem(constraints=[ENDS[0], apart], duration=1.0))


def test_a_target_out_of_reach_ends_with_an_explanation():
    far = PointPosition(TIP["body"], [0.15, 0.9, 0.0], point=TIP["point"], axes="xy")
    found = kt.predict(
        problem(constraints=[ENDS[0], far], duration=1.0, segments=6), max_iterations=15, solver="interior"
    )
    assert not found.solved
    assert "motions that the loops cannot follow" in str(found.explanation)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"independent": ["left_arm_joint"]}, "mobility 2, but 1 independent"),
        ({"independent": ["left_arm_joint", "left_arm_joint"]}, "must differ"),
        ({"independent": ["left_arm_joint", "elbow"]}, "unknown joint 'elbow'"),
        ({"independent": "left_arm_joint"}, "must be a list"),
        ({"frozen": {"left_rod_joint": 0.0}}, "are not supported with closed loops"),
        ({"guess": np.zeros((2, 4))}, "one pose of 4 coordinates"),
        ({"constraints": kt.terms.UnknownForce("left_rod")}, "unknown forces .* with closed loops"),
        ({"constraints": TorqueLimits(1.0, joints="left_rod_joint")}, "'left_rod_joint' is not driven"),
        ({"constraints": Boundary("start", [0.0, 0.0, 0.5, 0.0])}, "does not close the loops"),
        ({"constraints": Boundary("end", velocity=[1.0, 0.0, 0.0, 0.0])}, "other than zero"),
        ({"constraints": Boundary("end", dict.fromkeys(FIVE_BAR.joint_names[1:], 0.0))}, "has mobility 2"),
        ({"objective": Jerk("left_rod_joint")}, "'left_rod_joint' follows others"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(changes, message):
    with pytest.raises(kt.errors.InputError, match=message):
        problem(**changes)
    with pytest.raises(kt.errors.InputError, match="guess selects the branch"):
        kt.Problem(kt.zoo.two_link(), objective=Time(), guess=[0.0, 0.0])


def test_an_open_chain_without_drives_swings_by_itself():
    """A pendulum with an undriven second link: the torque there is zero, and a simulation agrees."""
    arm = with_drives(kt.zoo.two_link(), ["joint1"]).with_gravity((0.0, -9.81, 0.0))
    ends = [Boundary("start", [-np.pi / 2, 0.0], 0.0), Boundary("end", [-np.pi / 2, 0.0], 0.0)]
    ends.append(Boundary(0.5, {"joint1": -np.pi / 2 + 0.4}))
    asked = kt.Problem(arm, objective=SquaredTorque(), constraints=ends, duration=3.0, segments=30, degree=5)
    assert asked.families["undriven joint"] == 33
    found = kt.predict(asked)
    assert found.solved
    assert found.check_by_simulation().largest < 3e-4
    with pytest.raises(kt.errors.InputError, match="'joint2' is not driven"):
        kt.Problem(arm, objective=Time(), constraints=TorqueLimits(5.0, joints=["joint2"]))


def spatial_crank(kind, thickness=0.03):
    """A crank about z moves a rocker about x by a rod between a ball, or a universal joint, and a ball."""
    build = kt.Builder("spatial_crank")
    crank = build.world.revolute("crank").body("crank", kt.Inertia.rod(1.0, end=(0.2, 0, 0)))
    hinge = build.world.revolute("rocker", axis="x", at=(0.2, 0.8, -0.3), driven=False)
    rocker = hinge.body("rocker", kt.Inertia.rod(1.5, end=(0, 0, 0.5)))
    length = np.hypot(0.8, 0.2)
    rod = kt.Inertia.rod(2.0, end=(0, length, 0))
    if thickness:
        rod += kt.Inertia.cylinder(0.5, thickness, 0.3, axis="y", center=(0, length / 2, 0))
    sequence = {"universal": "XZ", "spherical": "YXZ"}[kind]
    coupler = crank.joint("ball", kind, at=(0.2, 0, 0), driven=False, sequence=sequence).body("coupler", rod)
    build.loop("end", coupler, rocker, at_a=(0, length, 0), at_b=(0, 0, 0.5), kind="spherical")
    return build.build()


def quick_turn(mechanism, end_velocity=0.0, **changes):
    start = kt.loops.assemble(mechanism, np.zeros(mechanism.n_dof), hold=["crank"])
    rest = Boundary("start", start, 0.0), Boundary("end", {"crank": 0.5}, end_velocity)
    limits = TorqueLimits(8.0)
    return problem(
        mechanism, objective=Time(), constraints=[*rest, limits], duration=None, **{"segments": 10} | changes
    )


@pytest.mark.parametrize("thickness", [0.0, 0.03], ids=["thin", "thick"])
@pytest.mark.parametrize("second", ["ball.ry", "ball.rz"])
@pytest.mark.parametrize("end_velocity", [0.0, {"crank": 0.0}], ids=["all at rest", "crank at rest"])
def test_a_rod_between_balls_does_not_spin(thickness, second, end_velocity):
    """Its spin is idle: the motion takes as long as with a universal joint, whose rod hardly spins."""
    robot = spatial_crank("spherical", thickness)
    asked = quick_turn(robot, end_velocity, independent=["crank", second])
    assert "spin of coupler about its own line" in asked.describe()
    found = kt.predict(asked)
    assert found.solved and found.iterations < 40
    s = kt.motion.terms.undriven.collocation_points(asked.basis, 1)
    q, qd, _ = found.at(s * found.duration)
    rotation = kt.forward_kinematics(robot, q)["coupler"][0]
    turn = (kt.jacobian(robot, q, "coupler")[:, 3:] @ qd[..., None])[..., 0]
    assert np.abs((rotation[:, :, 1] * turn).sum(axis=1)).max() < 1e-4
    twin = kt.predict(quick_turn(spatial_crank("universal", thickness)))
    assert found.duration == pytest.approx(twin.duration, rel=1e-6 if thickness == 0.0 else 1e-3)


def test_derivatives_and_refusals_of_idle_spins():
    robot = spatial_crank("spherical")
    assert_exact(quick_turn(robot, segments=4))
    start, end = (kt.loops.assemble(robot, [x, 0, 0, 0, 0], hold=["crank"]) for x in (0.0, 0.5))
    with pytest.raises(kt.errors.InputError, match="cannot be chosen: nothing turns coupler about its own"):
        problem(robot, constraints=[Boundary("start", start, 0.0), Boundary("end", end, 0.0)])
