"""Compiled elimination of loops against singular values, batches against single states, segments."""

import math

import numpy as np
import pytest

import kinetree as kt
from kinetree.analysis.inverse import bias_torque, mass_matrix
from kinetree.dynamics.loops.draft import Draft, random_motion
from kinetree.dynamics.loops.elimination import elimination
from kinetree.dynamics.loops.linear import constrained
from kinetree.dynamics.loops.program import LoopStates, loop_program
from kinetree.dynamics.loops.segments import divided
from kinetree.dynamics.loops.states import fitting_state
from kinetree.dynamics.loops.system import constraints, loop_rows
from kinetree.model.zoo.linkages import Plane
from support.each import each

ZOO = [
    "bricard", "delta", "five_bar", "four_bar", "jansen_leg", "n_four_bar", "robotic_leg", "scissor_lift",
    "slider_crank", "stewart", "three_rrr",
]  # fmt: skip


def by_singular_values(mechanism, q, qd, tau, wrenches=None):
    """Accelerations by the singular values of L^-1 J^T, M = L L^T, one state after the other."""
    tree, answers = mechanism.opened(), []
    for one in zip(q, qd, tau, strict=True):
        found, M = constraints(mechanism, one[0], one[1]), mass_matrix(tree, one[0])
        right = one[2] - bias_torque(tree, one[0], one[1], wrenches=wrenches)
        answers.append(constrained(M, found.J, right[:, None], found.rate[:, None])[0][:, 0])
    return np.array(answers)


def state(mechanism, count, seed=0):
    """Random states that fit the loops, and torques that are not large beside the inertia of the joints."""
    at = fitting_state(mechanism, count, seed)
    inertia = mass_matrix(mechanism.opened(), at.q)
    tau = np.random.default_rng(seed).standard_normal(at.q.shape)
    return at.q, at.qd, tau * np.diagonal(inertia, axis1=-2, axis2=-1)


def series(count):
    """Four-bars one on the coupler of the other."""
    linkage = Plane("series")
    on, x, y = linkage.ground, 0.0, 0.0
    for k in range(count):
        end = (x + 1.1, y + 0.8)
        crank = linkage.bar(on, f"crank{k}", 1.0, (x, y), (x, y + 0.5), driven=True)
        coupler = linkage.bar(crank, f"coupler{k}", 1.0, (x, y + 0.5), end)
        linkage.pin(f"pin{k}", coupler, linkage.bar(on, f"rocker{k}", 1.0, (x + 1.0, y), end), end)
        on, x, y = coupler, x + 0.3, y + 0.9
    return linkage.build.build()


def closed_chain(links):
    """A polygon of links in space, closed by a ball joint, with hinges about y and z in turns."""
    build = kt.Builder("closed_chain")
    on, c, s = build.world, math.cos(2 * math.pi / links), math.sin(2 * math.pi / links)
    for k in range(links - 1):
        place = {"at": (0.3, 0, 0), "rotation": ((c, -s, 0), (s, c, 0), (0, 0, 1))} if k else {}
        joint = on.revolute(f"joint{k}", axis="z" if k % 2 else "y", **place)
        on = joint.body(f"link{k}", kt.Inertia(1.0, (0.15, 0, 0), (0.01, 0.03, 0.03)))
    build.loop("ball", build.world, on, at_b=(0.3, 0, 0), kind="spherical")
    return build.build()


def size(x):
    """The largest number of each state."""
    return np.abs(x).max(axis=-1)


@each("name", ZOO)
def test_accelerations_are_those_of_singular_values(name):
    mechanism = getattr(kt.zoo, name)()
    q, qd, tau = state(mechanism, 12, seed=3)
    expected = by_singular_values(mechanism, q, qd, tau)
    regular = np.array([constraints(mechanism, x).spaces.rank for x in q])
    usual = regular == loop_program(mechanism).rank
    qdd = kt.forward_dynamics(mechanism, q[usual], qd[usual], tau[usual])
    scale = size(expected[usual]) + size(qd[usual]) ** 2 + 10.0
    assert usual.sum() >= 4
    assert (size(qdd - expected[usual]) / scale).max() < 1e-11


def test_a_ladder_of_forty_is_as_exact():
    mechanism = kt.zoo.n_four_bar(40)
    sign = np.array([-1.0 if "coupler" in name else 1.0 for name in mechanism.joint_names])
    angle = np.linspace(0.2, 1.3, 4)[:, None]
    q, qd, tau = angle * sign, 1.3 * sign * np.ones_like(angle), np.zeros((4, 81))
    expected = by_singular_values(mechanism, q, qd, tau)
    assert np.abs(kt.forward_dynamics(mechanism, q, qd, tau) - expected).max() < 1e-12
    exact = (41 / 2 + 40) / (41 / 3 + 40) * 9.81 * np.sin(angle)  # one pendulum, for all cranks
    assert np.abs(expected[:, :1] * sign[0] - exact).max() < 1e-11


@pytest.mark.parametrize("name", ["four_bar", "bricard", "stewart"])
def test_batches_have_the_bits_of_single_states(name):
    mechanism = getattr(kt.zoo, name)()
    q, qd, tau = state(mechanism, 7)
    together = kt.forward_dynamics(mechanism, q, qd, tau, threads=2)
    alone = [kt.forward_dynamics(mechanism, *one) for one in zip(q, qd, tau, strict=True)]
    assert np.array_equal(together, alone)
    assert kt.forward_dynamics(mechanism, q[:0], qd[:0], tau[:0]).shape == (0, mechanism.n_dof)
    shaped = kt.forward_dynamics(mechanism, q[:6].reshape(2, 3, -1), qd[:6].reshape(2, 3, -1), 0 * tau[0])
    assert shaped.shape == (2, 3, mechanism.n_dof)


def test_loads_are_felt():
    mechanism = kt.zoo.stewart()
    q, qd, tau = state(mechanism, 5)
    load = kt.Wrench("plate", force=(10.0, -20.0, 30.0), moment=(1.0, 2.0, 3.0), point=(0.1, 0, 0))
    expected = by_singular_values(mechanism, q, qd, tau, [load])
    qdd = kt.forward_dynamics(mechanism, q, qd, tau, wrenches=[load])
    assert (size(qdd - expected) / (size(expected) + 1.0)).max() < 1e-11


@pytest.mark.parametrize("distance", [1e-2, 1e-4, 1e-5, 1e-6, 1e-8])
def test_nearly_singular_positions_are_exact(distance):
    mechanism = kt.zoo.n_four_bar(2)
    sign = np.array([-1.0 if "coupler" in name else 1.0 for name in mechanism.joint_names])
    q, qd = (math.pi / 2 - distance) * sign, 0.7 * sign
    qdd = kt.forward_dynamics(mechanism, q, qd, np.zeros(5))
    exact = (3 / 2 + 2) / (3 / 3 + 2) * 9.81 * math.cos(distance)
    assert abs(qdd[0] * sign[0] - exact) < 1e-14 + 1e-15 / distance


def test_states_that_do_not_fit_are_refused():
    mechanism = kt.zoo.four_bar()
    q = kt.loops.assemble(mechanism, [0.0, 1.0, 4.3], hold=["crank_pivot"])
    still = np.zeros(3)
    with pytest.raises(kt.errors.InputError, match="'crank_pin' is open by"):
        kt.forward_dynamics(mechanism, q + np.array([0.0, 1e-3, 0.0]), still, still)
    with pytest.raises(kt.errors.InputError, match="'crank_pin' opens at"):
        kt.forward_dynamics(mechanism, q, [0.0, 0.1, 0.0], still)


def test_mimic_joints_in_loops():
    """A five-bar whose right arm follows the left one."""
    build = kt.Builder("mimic", gravity=(0, -9.81, 0))
    left = build.world.revolute("left", driven=True).body("left_arm", kt.Inertia.rod(1.0, end=(0.3, 0, 0)))
    right = build.world.revolute("right", at=(0.3, 0, 0), mimic=kt.model.Mimic("left", -0.8, 2.9))
    arm = right.body("right_arm", kt.Inertia.rod(1.5, end=(0.3, 0, 0)))
    one = left.revolute("one", at=(0.3, 0, 0)).body("rod1", kt.Inertia.rod(0.5, end=(0.4, 0, 0)))
    two = arm.revolute("two", at=(0.3, 0, 0)).body("rod2", kt.Inertia.rod(0.7, end=(0.4, 0, 0)))
    build.loop("tip", one, two, at_a=(0.4, 0, 0), at_b=(0.4, 0, 0))
    mechanism = build.build()
    at = fitting_state(mechanism, 5)
    tau = np.random.default_rng(0).standard_normal(at.q.shape)
    expected = by_singular_values(mechanism, at.q, at.qd, tau)
    qdd = kt.forward_dynamics(mechanism, at.q, at.qd, tau)
    assert (size(qdd - expected) / (size(expected) + 1.0)).max() < 1e-11


@pytest.mark.parametrize(("mechanism", "depth"), [(series(6), 4), (closed_chain(17), 5)])
def test_segments_change_no_answer(mechanism, depth):
    q, qd, tau = state(mechanism, 4)
    expected = by_singular_values(mechanism, q, qd, tau)
    rows, kept = loop_rows(mechanism), loop_program(mechanism).kept.tolist()
    present, motion = random_motion(rows, kept)
    for some in (0, depth):
        draft = Draft(rows, kept, present, motion, some)
        assert (draft.segments.count > 1) == (some > 0)
        qdd = LoopStates(mechanism.tree, draft.tables()).answer(q, qd, tau).qdd
        assert (size(qdd - expected) / size(expected)).max() < 1e-9


def test_loops_of_one_stage_stay_within_a_segment():
    mechanism = series(8)
    rows = loop_rows(mechanism)
    motion = rows.motion(np.random.default_rng(0).uniform(-1, 1, (3, mechanism.n_dof)))
    segments = divided(rows, 6, motion)
    assert all(
        segments.path(int(a))[1] == segments.path(int(b))[1]
        for a, b in zip(rows.axis_A, rows.axis_B, strict=True)
    )
    assert segments.moves.tolist() == [[False, False, True, True, True, False]] * segments.count


def test_cost_grows_with_the_length_of_a_chain():
    short, long = (loop_program(series(count)).tables.operations for count in (10, 20))
    assert long < 2.4 * short


def test_rows_are_eliminated_after_their_motions():
    """A random sparse system: order is a permutation, rows come late, and L D L^T is the matrix."""
    rng, n, m = np.random.default_rng(5), 9, 4
    J = rng.standard_normal((m, n)) * (rng.random((m, n)) < 0.4) + np.eye(m, n)
    A = np.block([[np.diag(rng.uniform(1, 2, n)), J.T], [J, np.zeros((m, m))]])
    program = elimination([set(np.flatnonzero(A[i]).tolist()) | {i} for i in range(n + m)], n)
    assert sorted(program.place.tolist()) == list(range(n + m))
    for k in range(m):
        assert program.place[n + k] > max(program.place[j] for j in np.flatnonzero(J[k]))
    slots = np.zeros(program.n_slots)
    for i in range(n + m):
        for j in np.flatnonzero(A[i]):
            slots[program.entry(i, int(j))] = A[i, j]
    L, D, target, first = np.eye(n + m), np.zeros(n + m), 0, n + m + 1
    for k, count in enumerate(program.counts):
        D[k] = slots[k]
        column = slots[first : first + count].copy()
        for a in range(count):
            for b in range(a + 1):
                slots[program.targets[target]] -= column[a] * column[b] / D[k]
                target += 1
        L[program.below[first - n - m - 1 :][:count], k] = column / D[k]
        first += count
    order = np.argsort(program.place)
    assert np.abs(L @ np.diag(D) @ L.T - A[np.ix_(order, order)]).max() < 1e-12
