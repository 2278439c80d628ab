"""One state or many: shapes, broadcasting, any memory layout, any number of threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import kinetree as kt
from support import trees
from support.cases import assert_close

EPS = 1e-13  # one state and a block of states may round differently


@pytest.fixture
def arm(rng):
    return trees.welded_tree(rng)


def answers(robot, q, qd, qdd):
    """Every public answer with the shape it has for one state."""
    n, bodies = robot.n_dof, robot.n_bodies
    poses = kt.forward_kinematics(robot, q)
    return {
        "inverse_dynamics": (kt.inverse_dynamics(robot, q, qd, qdd), (n,)),
        "forward_dynamics": (kt.forward_dynamics(robot, q, qd, qdd), (n,)),
        "bias_torque": (kt.bias_torque(robot, q, qd), (n,)),
        "joint_reactions": (kt.joint_reactions(robot, q, qd, qdd), (bodies, 6)),
        "kinetic_energy": (kt.kinetic_energy(robot, q, qd), ()),
        "momentum": (kt.momentum(robot, q, qd), (6,)),
        "body_velocities": (kt.body_velocities(robot, q, qd), (bodies, 6)),
        "body_accelerations": (kt.analysis.body_accelerations(robot, q, qd, qdd), (bodies, 6)),
    }, {
        "mass_matrix": (kt.mass_matrix(robot, q), (n, n)),
        "gravity_torque": (kt.gravity_torque(robot, q), (n,)),
        "potential_energy": (kt.potential_energy(robot, q), ()),
        "center_of_mass": (kt.center_of_mass(robot, q), (3,)),
        "rotation": (poses.rotation, (bodies, 3, 3)),
        "position": (poses.position, (bodies, 3)),
        "jacobian": (kt.jacobian(robot, q, "tool", (0.1, 0, 0)), (6, n)),
    }


@pytest.mark.parametrize("batch", [(), (1,), (3,), (2, 3), (0,), (2, 0), (9,), (1, 2, 2)], ids=str)
def test_batch_axes_lead(arm, rng, batch):
    for group in answers(arm, *trees.state(arm, rng, batch)):
        for name, (value, shape) in group.items():
            assert np.shape(value) == (*batch, *shape), name
            assert np.asarray(value).dtype == np.float64, name


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9, 17])
def test_rows_of_a_batch_are_single_answers(arm, rng, count):
    """Whatever the number of states beside the width of a block."""
    q, qd, qdd = trees.state(arm, rng, (count,))
    together = answers(arm, q, qd, qdd)
    for k in range(count):
        alone = answers(arm, q[k], qd[k], qdd[k])
        for many, one in zip(together, alone, strict=True):
            for name in many:
                assert_close(many[name][0][k], one[name][0], 1e-11 if name == "forward_dynamics" else EPS)


def test_one_position_with_many_velocities(arm, rng):
    q, qd, qdd = trees.state(arm, rng, (5,))
    expanded = np.broadcast_to(q[0], q.shape).copy()
    for short, full in ((answers(arm, q[0], qd, qdd), answers(arm, expanded, qd, qdd)),):
        for name in short[0]:
            assert_close(short[0][name][0], full[0][name][0], EPS)


def test_batch_axes_broadcast_against_each_other(arm, rng):
    q, qd, qdd = trees.state(arm, rng, (2, 3))
    tau = kt.inverse_dynamics(arm, q[:, :1], qd[:1], qdd[0, 0])
    assert tau.shape == (2, 3, arm.n_dof)
    assert_close(tau[1, 2], kt.inverse_dynamics(arm, q[1, 0], qd[0, 2], qdd[0, 0]), EPS)


def test_memory_layout_and_number_type_do_not_matter(arm, rng):
    q, qd, qdd = trees.state(arm, rng, (6,))
    expected = kt.inverse_dynamics(arm, q, qd, qdd)
    frozen = q.copy()
    frozen.setflags(write=False)
    assert_close(kt.inverse_dynamics(arm, frozen, qd, qdd), expected, EPS)
    assert_close(kt.inverse_dynamics(arm, np.asfortranarray(q), qd, qdd), expected, EPS)
    assert_close(kt.inverse_dynamics(arm, q[::-1], qd[::-1], qdd[::-1]), expected[::-1], EPS)
    assert_close(kt.inverse_dynamics(arm, q.tolist(), qd.tolist(), qdd.tolist()), expected, EPS)
    wide = np.repeat(q[0], 2)
    assert_close(kt.inverse_dynamics(arm, wide[::2], qd[0], qdd[0]), expected[0], EPS)
    assert_close(kt.inverse_dynamics(arm, frozen[0], qd[0], qdd[0]), expected[0], EPS)
    assert_close(kt.inverse_dynamics(arm, q[0].tolist(), qd[0], qdd[0]), expected[0], EPS)
    whole = np.round(q)
    assert_close(
        kt.inverse_dynamics(arm, whole.astype(int), qd, qdd), kt.inverse_dynamics(arm, whole, qd, qdd), EPS
    )
    single = q.astype(np.float32)
    assert_close(
        kt.inverse_dynamics(arm, single, qd, qdd),
        kt.inverse_dynamics(arm, single.astype(float), qd, qdd),
        EPS,
    )


def test_inputs_are_left_alone_and_answers_are_new(arm, rng):
    q, qd, qdd = trees.state(arm, rng)
    before = (q.copy(), qd.copy(), qdd.copy())
    first = kt.inverse_dynamics(arm, q, qd, qdd)
    second = kt.inverse_dynamics(arm, 2 * q, qd, qdd)
    assert not np.shares_memory(first, second)
    assert_close(first, kt.inverse_dynamics(arm, q, qd, qdd), 1e-15)
    first[:] = np.nan
    kt.mass_matrix(arm, q)[:] = np.nan
    assert all(np.array_equal(a, b) for a, b in zip(before, (q, qd, qdd), strict=True))
    assert np.isfinite(kt.mass_matrix(arm, q)).all()


def test_same_input_gives_the_same_bits_with_any_number_of_threads(rng):
    robot = trees.random_tree(rng, 8)
    state = trees.state(robot, rng, (1001,))
    for answer in (kt.inverse_dynamics, kt.forward_dynamics):
        alone = answer(robot, *state, threads=1)
        assert np.array_equal(alone, answer(robot, *state, threads=1))
        for threads in (2, 3, None):
            assert np.array_equal(alone, answer(robot, *state, threads=threads))
    M = kt.mass_matrix(robot, state[0], threads=1)
    assert np.array_equal(M, kt.mass_matrix(robot, state[0], threads=2))


def test_mechanisms_do_not_disturb_each_other(rng):
    """Answers of one mechanism between two calls to another."""
    one, other = trees.random_tree(rng, 6), trees.random_tree(rng, 9)
    mine, theirs = trees.state(one, rng), trees.state(other, rng)
    before = kt.inverse_dynamics(one, *mine), kt.forward_dynamics(one, *mine)
    kt.inverse_dynamics(other, *theirs), kt.forward_dynamics(other, *theirs)
    assert np.array_equal(before[0], kt.inverse_dynamics(one, *mine))
    assert np.array_equal(before[1], kt.forward_dynamics(one, *mine))


def test_threads_may_share_a_mechanism(rng):
    """Single answers from several Python threads at once."""
    robot = trees.random_tree(rng, 6)
    states = [trees.state(robot, rng) for _ in range(40)]
    expected = [kt.inverse_dynamics(robot, *state) for state in states]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda state: kt.inverse_dynamics(robot, *state), states * 5))
    assert all(np.array_equal(a, b) for a, b in zip(found, expected * 5, strict=True))


def test_floating_base_batches(rng):
    robot = kt.Builder("bird")
    body = robot.world.free("base").body("body", trees.inertia(rng))
    for side in ("left", "right"):
        body.revolute(side, at=rng.uniform(-0.3, 0.3, 3)).body(side, trees.inertia(rng))
    bird = robot.build()
    q, qd, qdd = trees.state(bird, rng, (2, 3))
    load = kt.Wrench("left", rng.uniform(-1, 1, (2, 1, 3)))
    base, tau = kt.analysis.floating_base_inverse_dynamics(bird, q, qd[0], qdd[0, 0, 6:], load)
    assert base.shape == (2, 3, 6) and tau.shape == (2, 3, 2)
    one = kt.Wrench("left", load.force[1, 0])
    alone = kt.analysis.floating_base_inverse_dynamics(bird, q[1, 2], qd[0, 2], qdd[0, 0, 6:], one)
    assert_close(base[1, 2], alone[0], 1e-12)
    assert_close(tau[1, 2], alone[1], 1e-12)
    many = kt.analysis.floating_base_inverse_dynamics(bird, q[0, 0], qd[0, 0], qdd[0, 0, 6:], load)
    assert many[0].shape == (2, 1, 6) and many[1].shape == (2, 1, 2)
    none = kt.analysis.floating_base_inverse_dynamics(bird, np.zeros((0, 8)), np.zeros(8), np.zeros(2))
    assert none[0].shape == (0, 6) and none[1].shape == (0, 2)


def test_random_states(rng):
    robot = kt.Builder("limits")
    rod = kt.Inertia.rod(1.0, (1, 0, 0))
    a = robot.world.revolute("both", lower=-0.1, upper=0.2).body("a", rod)
    b = a.revolute("low", lower=5.0).body("b", rod)
    c = b.prismatic("high", upper=-7.0).body("c", rod)
    d = c.revolute("follower", mimic=kt.model.Mimic("both")).body("d", rod)
    d.prismatic("free").body("e", rod)
    s = kt.random_state(robot.build(), rng, batch=(200,), scale=2.0)
    assert s.q.shape == s.qd.shape == s.qdd.shape == (200, 4)
    both, low, high, free = s.q.T
    assert (both >= -0.1).all() and (both <= 0.2).all() and np.ptp(both) > 0.2
    assert (low >= 5.0).all() and np.ptp(low) > 1.0
    assert (high <= -7.0).all() and np.ptp(high) > 0.5
    assert (np.abs(free) <= 1.0).all()
    assert 1.5 < s.qd.std() < 2.5
    again = (
        kt.random_state(robot.build(), np.random.default_rng(3)),
        kt.random_state(robot.build(), np.random.default_rng(3)),
    )
    assert np.array_equal(again[0].q, again[1].q)
