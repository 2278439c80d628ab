"""Slopes of rows and of dynamics with loops against finite differences; other cut joints; conservation."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.axis_motion import Direction
from kinetree.dynamics.loops.assembly import assemble, assembly_modes, completed, dependent_motion
from kinetree.dynamics.loops.dynamics import loop_forward_dynamics, loop_inverse_dynamics
from kinetree.dynamics.loops.sensitivity import loop_forward_dynamics_derivatives, row_slopes
from kinetree.dynamics.loops.structure import mobility, structure, subsystems
from kinetree.dynamics.loops.system import constraints, loop_rows
from support.each import each
from support.reference import closed, read

FILES = ("slider_crank", "prismatic_cut", "spatial_fourbar", "other_cuts", "six_bar", "five_bar")
CASES = {f"{file}-{v['name']}": v for file in FILES for v in read(f"{file}.json")["variants"]}
every_mechanism = pytest.mark.parametrize("variant", CASES.values(), ids=CASES)


def rod_and_planar():
    """A mechanism whose loops are a rod of constant length and a planar joint."""
    build = kt.Builder("rods", gravity=(0, 0, -9.81))
    inertia = kt.Inertia.box(1.0, (0.1, 0.2, 0.3))
    a = build.world.spherical("ball").body("a", inertia)
    b = a.universal("cross", at=(0.5, 0, 0)).body("b", inertia)
    c = build.world.free("floating").body("c", inertia)
    build.loop("bar", b, c, kind="spherical", at_a=(0.3, 0.1, 0), at_b=(0, 0.1, 0.2), length=0.7)
    build.loop("table", "world", c, kind="planar", at_a=(0, 0, 0.4))
    return build.build()


@every_mechanism
def test_slopes_of_rows_are_differences(variant, rng):
    mechanism = closed(variant)
    rows, n = loop_rows(mechanism), mechanism.n_dof
    check_slopes(rows, *(rng.standard_normal(n) for _ in range(6)))


def test_slopes_of_rods_and_planes_are_differences(rng):
    mechanism = rod_and_planar()
    check_slopes(loop_rows(mechanism), *(rng.standard_normal(mechanism.n_dof) for _ in range(6)))


def check_slopes(rows, q, qd, qdd, dq, dqd, dqdd):
    found = row_slopes(rows, q, qd, qdd, Direction(dq[None], dqd[None], dqdd[None]))

    def at(h):
        motion = rows.motion(q + h * dq, qd + h * dqd, qdd + h * dqdd)
        cut = rows.cut_motion(motion)
        return rows.gap(cut), rows.jacobian(motion, cut), rows.second_rate(cut)

    h = 1e-5
    (_, J_up, s_up), (_, J_low, s_low) = at(h), at(-h)
    assert np.abs(found.J[0] - (J_up - J_low) / (2 * h)).max() < 1e-7
    assert np.abs(found.second_rate[0] - (s_up - s_low) / (2 * h)).max() < 1e-6


@each("case", [*CASES, "rods"])
def test_rates_of_gaps_are_differences_in_time(case, rng):
    """Along q(t) = q + qd t + qdd t^2 / 2 the gaps have slopes J qd and the second rates returned."""
    mechanism = rod_and_planar() if case == "rods" else closed(CASES[case])
    q, qd, qdd = (rng.standard_normal(mechanism.n_dof) for _ in range(3))
    found, h = constraints(mechanism, q, qd, qdd), 1e-3
    before, at, after = (constraints(mechanism, q + qd * t + 0.5 * qdd * t**2).gap for t in (-h, 0.0, h))
    assert np.abs(found.J @ qd - (after - before) / (2 * h)).max() < 1e-4
    assert np.abs(found.rate - (after - 2 * at + before) / h**2).max() < 1e-3


@every_mechanism
def test_derivatives_of_forward_dynamics_are_differences(variant):
    """The independent joints are moved, the others follow on the loops."""
    mechanism = closed(variant)
    state, chosen = variant["states"][0], np.array(variant["independent"])
    names = [mechanism.joint_names[k] for k in chosen]
    free = np.ones(mechanism.n_dof, dtype=bool)
    free[chosen] = False
    q, qd, tau = (np.array(x) for x in (state["q"], state["qd"], state["forward"]["tau"]))
    found = loop_forward_dynamics_derivatives(mechanism, q, qd, tau, names)

    def qdd_at(dq, dqd, dtau):
        moved = q.copy()
        moved[chosen] += dq
        moved = assemble(mechanism, moved, hold=names)
        rates = completed(mechanism, moved, free, qd[chosen] + dqd, np.zeros(len(chosen)), chosen)
        return loop_forward_dynamics(mechanism, moved, rates.qd, tau + dtau)[0]

    h, zero, none = 1e-6, np.zeros(len(chosen)), np.zeros(mechanism.n_dof)
    size = max(1.0, np.abs(found.dqdd_dq).max(), np.abs(found.qdd).max())
    for k in range(len(chosen)):
        step = h * np.eye(len(chosen))[k]
        by_q = (qdd_at(step, zero, none) - qdd_at(-step, zero, none)) / (2 * h)
        by_qd = (qdd_at(zero, step, none) - qdd_at(zero, -step, none)) / (2 * h)
        assert np.abs(found.dqdd_dq[:, k] - by_q).max() < 1e-6 * size
        assert np.abs(found.dqdd_dqd[:, k] - by_qd).max() < 1e-6 * size
    push = np.linspace(-1.0, 1.0, mechanism.n_dof)
    by_tau = (qdd_at(zero, zero, push) - qdd_at(zero, zero, -push)) / 2.0
    assert np.abs(found.dqdd_dtau @ push - by_tau).max() < 1e-9 * size


@every_mechanism
def test_inverse_and_forward_dynamics_are_inverse(variant):
    mechanism, state = closed(variant), variant["states"][0]
    q, qd = np.array(state["q"]), np.array(state["qd"])
    qdd = np.array(state["inverse"]["qdd"])
    tau, pulled = loop_inverse_dynamics(mechanism, q, qd, qdd)
    again, forces = loop_forward_dynamics(mechanism, q, qd, tau)
    assert np.abs(again - qdd).max() < 1e-10 * max(1.0, np.abs(qdd).max())
    assert np.abs(forces.torque - pulled.torque).max() < 1e-10 * max(1.0, np.abs(pulled.torque).max())


def test_loops_do_no_work(rng):
    """qd . J^T lambda = 0: cut joints neither give nor take energy; rods and planes, too."""
    mechanism = rod_and_planar()
    q = assemble(mechanism, 0.3 * rng.standard_normal(mechanism.n_dof))
    found = constraints(mechanism, q)
    *_, Vt = np.linalg.svd(found.J)
    qd = Vt[found.J.shape[0] :].T @ rng.standard_normal(mechanism.n_dof - found.J.shape[0])
    tau = rng.standard_normal(mechanism.n_dof)
    qdd, forces = loop_forward_dynamics(mechanism, q, qd, tau)
    assert abs(forces.torque @ qd) < 1e-12 * np.abs(forces.torque).max()
    assert np.abs(constraints(mechanism, q, qd, qdd).rate).max() < 1e-10


def test_a_rod_pulls_along_itself(rng):
    mechanism = rod_and_planar()
    q = assemble(mechanism, 0.3 * rng.standard_normal(mechanism.n_dof))
    still = np.zeros(mechanism.n_dof)
    _, forces = loop_forward_dynamics(mechanism, q, still, still)
    along = constraints(mechanism, q).cut.D[0]
    force, moment = forces.wrench[0, :3], forces.wrench[0, 3:]
    assert np.abs(np.linalg.norm(along) - 0.7) < 1e-13
    assert np.abs(np.cross(force, along)).max() < 1e-12 * np.linalg.norm(force)
    assert np.abs(moment).max() < 1e-12


def test_a_motion_keeps_its_branch():
    mechanism = kt.zoo.four_bar()
    crank = np.linspace(0.0, 2.0 * np.pi, 50)[:, None]
    motion = dependent_motion(mechanism, ["crank_pivot"], crank, np.ones_like(crank), q0=[0.0, 1.0, 4.3])
    assert np.abs(constraints(mechanism, motion.q).gap).max() < 1e-13
    steps = np.abs(np.diff(motion.q, axis=0))
    assert steps.max() < 0.2  # no jump to the other branch
    turns = (motion.q[-1] - motion.q[0]) / (2.0 * np.pi)
    assert np.abs(turns - np.round(turns)).max() < 1e-12  # a whole turn of the crank closes the motion
    slope = (motion.q[2:] - motion.q[:-2]) / (crank[2:] - crank[:-2])
    assert np.abs(slope - motion.qd[1:-1]).max() < 0.02


def test_assembly_modes_are_found_with_their_counts():
    mechanism = kt.zoo.four_bar()
    modes = assembly_modes(mechanism, [0.0, 1.0, 4.3], hold=["crank_pivot"], starts=40)
    assert len(modes) == 2
    assert sum(mode.count for mode in modes) <= 40
    for mode in modes:
        assert np.abs(constraints(mechanism, mode.q).gap).max() < 1e-12


def test_mobility_on_moving_bases():
    """A loop that rides on a floating base constrains the joints of the loop only."""
    build = kt.Builder("floating_leg")
    rod = kt.Inertia.rod(1.0, end=(0.3, 0, 0))
    trunk = build.world.free("base").body("trunk", kt.Inertia.box(2.0, (0.2, 0.2, 0.2)))
    crank = trunk.revolute("crank", axis="y").body("link1", rod)
    rocker = trunk.revolute("rocker", axis="y", at=(0.2, 0, 0)).body("link2", rod)
    coupler = rocker.revolute("pin", axis="y", at=(0.3, 0, 0)).body("link3", rod)
    build.loop("cut", coupler, crank, at_a=(0.25, 0, 0), at_b=(0.3, 0, 0), axis="y")
    mechanism = build.build()
    found = structure(mechanism)
    assert (found.rows, found.rank, found.redundant, found.mobility) == (5, 2, 3, 7)


@pytest.mark.parametrize(
    ("make", "sizes"),
    [(kt.zoo.four_bar, [2, 1]), (kt.zoo.robotic_leg, [2, 2, 2, 1]), (kt.zoo.three_rrr, [4, 1, 1, 1])],
)
def test_subsystems_of_the_book(make, sizes):
    """[Shah2013], sections 8.3-8.5: found by matching and strong components; finer than the book's."""
    mechanism = make()
    found = subsystems(mechanism)
    assert [x.unknowns for x in found] == sizes
    joints = [name for x in found for name in x.joints]
    assert sorted(joints) == sorted(mechanism.joint_names)
    for k, x in enumerate(found):
        assert all(before < k for before in x.after)
    assert found[0].is_determinate and not found[-1].is_determinate


def test_mimic_joints_in_a_loop():
    """A joint that follows another by a factor counts once; the loop sees both move."""
    build = kt.Builder("geared", gravity=(0, -9.81, 0))
    rod = kt.Inertia.rod(1.0, end=(0.3, 0, 0))
    a = build.world.revolute("a").body("link_a", rod)
    b = a.revolute("b", at=(0.3, 0, 0)).body("link_b", rod)
    build.world.revolute("c", at=(0.5, 0, 0), mimic=kt.model.Mimic("a", -1.0, 3.0)).body("link_c", rod)
    build.loop("pin", b, "link_c", at_a=(0.3, 0, 0), at_b=(0.3, 0, 0), kind="point_on_line", axis="x")
    mechanism = build.build()
    assert mechanism.joint_names == ("a", "b")
    assert mobility(mechanism) == 1
    q = assemble(mechanism, [1.0, -1.0])
    found = constraints(mechanism, q)
    h, d = 1e-6, np.array([0.3, -0.8])
    slope = (constraints(mechanism, q + h * d).gap - constraints(mechanism, q - h * d).gap) / (2 * h)
    assert np.abs(found.J @ d - slope).max() < 1e-9
    still = np.zeros(2)
    qdd, forces = loop_forward_dynamics(mechanism, q, still, still)
    M = kt.mass_matrix(mechanism.opened(), q)
    h = kt.gravity_torque(mechanism.opened(), q)
    assert np.abs(M @ qdd + h - forces.torque).max() < 1e-12


# ---- bad input -------------------------------------------------------------------------------------------
def test_a_loop_that_cannot_be_closed_names_itself_and_its_gap():
    build = kt.Builder("short")
    a = build.world.revolute("a").body("link_a", kt.Inertia.rod(1.0, end=(0.1, 0, 0)))
    b = build.world.revolute("b", at=(1, 0, 0)).body("link_b", kt.Inertia.rod(1.0, end=(0.1, 0, 0)))
    build.loop("gap", a, b, at_a=(0.1, 0, 0), at_b=(0.1, 0, 0))
    mechanism = build.build()
    with pytest.raises(kt.KinetreeError, match=r"loop 'gap' cannot be closed .* a gap of 0\.8 m"):
        assemble(mechanism, [0.1, 3.0])
    with pytest.raises(kt.KinetreeError, match=r"its loops \('gap'\) could not be closed"):
        mobility(mechanism)


def test_an_open_loop_is_refused_with_its_gap():
    mechanism, still = kt.zoo.four_bar(), np.zeros(3)
    with pytest.raises(kt.errors.InputError, match=r"loop 'crank_pin' is open by .* in this state"):
        loop_forward_dynamics(mechanism, [0.0, 1.0, 4.3], still, still)


def test_velocities_that_open_a_loop_are_refused():
    mechanism, still = kt.zoo.four_bar(), np.zeros(3)
    q = assemble(mechanism, [0.0, 1.0, 4.3])
    with pytest.raises(kt.errors.InputError, match=r"loop 'crank_pin' opens at"):
        loop_forward_dynamics(mechanism, q, [1.0, 0.0, 0.0], still)
    with pytest.raises(kt.errors.InputError, match=r"loop 'crank_pin' opens with"):
        loop_inverse_dynamics(mechanism, q, still, [1.0, 0.0, 0.0])


def test_drives_that_cannot_move_it_are_named():
    mechanism = kt.zoo.four_bar()
    links = [replace(x, joint=replace(x.joint, driven=(False,))) for x in mechanism.links]
    undriven, still = replace(mechanism, links=tuple(links)), np.zeros(3)
    q = assemble(undriven, [0.0, 1.0, 4.3])
    with pytest.raises(kt.errors.InputError, match="no joint is driven, so nothing can produce this motion"):
        loop_inverse_dynamics(undriven, q, still, still)


@pytest.mark.parametrize(
    ("hold", "words"),
    [
        (["nobody"], "unknown joint 'nobody'"),
        (["crank_pivot", "crank_pivot"], "names joint 'crank_pivot' twice"),
        ({"crank_pivot": float("nan")}, "must be finite"),
        ("crank_pivot", "hold must list joints"),
        (["crank_pivot", "rocker_pivot", "coupler_pin"], "with crank_pivot, rocker_pivot, coupler_pin held"),
    ],
)
def test_wrong_holds_are_refused(hold, words):
    with pytest.raises(kt.errors.InputError, match=words):
        assemble(kt.zoo.four_bar(), [0.0, 1.0, 4.3], hold=hold)


def test_dependent_joints_cannot_be_prescribed_together():
    mechanism = kt.zoo.four_bar()
    q = assemble(mechanism, [0.0, 1.0, 4.3])
    with pytest.raises(kt.errors.InputError, match="they are not independent"):
        dependent_motion(mechanism, ["crank_pivot", "rocker_pivot"], q[None, :2], q0=q)
    with pytest.raises(kt.errors.InputError, match="has mobility 3: its motion does not follow"):
        robot = kt.zoo.three_rrr()
        pose = assemble(robot, [1.05, -0.87, 3.73, 1.31, 2.96, 4.19, 5.76])
        dependent_motion(robot, ["base1"], pose[None, :1], q0=pose)
