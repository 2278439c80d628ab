"""Joints that follow others in closed loops by compiled code, compared with the loops' equations in NumPy."""

import numpy as np

import kinetree as kt
from kinetree.dynamics.loops.assembly import closest
from kinetree.dynamics.loops.positions import loop_positions_of
from kinetree.dynamics.loops.system import constraints
from loops.test_loop_drives import mimicking
from support.each import each

MECHANISMS = [
    *map(
        kt.zoo.by_name, ("four_bar", "slider_crank", "five_bar", "jansen_leg", "bricard", "stewart", "delta")
    ),
    mimicking(),
]


def ways(mechanism, seed=0):
    """A regular closed pose, the independent joints, and how they move from there, (samples, k)."""
    start = kt.loops.assemble(mechanism, kt.random_state(mechanism, np.random.default_rng(seed)).q * 0.1)
    names = kt.loops.structure(mechanism).independent
    chosen = [mechanism.joint_index(name) for name in names]
    t = np.linspace(0.0, 1.0, 9)[:, None]
    amplitude = 0.05 + 0.05 * np.arange(len(names)) / len(names)
    u = start[chosen] + amplitude * t**2
    return start, names, chosen, u, 2.0 * amplitude * t, 2.0 * amplitude + 0.0 * t


@each("mechanism", MECHANISMS, ids=lambda x: x.name)
def test_motions_satisfy_the_loops_equations(mechanism):
    start, names, chosen, u, v, a = ways(mechanism)
    motion = kt.loops.dependent_motion(mechanism, names, u, v, a, q0=start)
    found = constraints(mechanism, motion.q, motion.qd, motion.qdd)
    assert np.abs(found.gap).max() < 1e-12
    assert np.abs(found.rows.rate(found.cut)).max() < 1e-12 and np.abs(found.rate).max() < 1e-11
    for given, whole in zip((u, v, a), (motion.q, motion.qd, motion.qdd), strict=True):
        assert np.array_equal(whole[:, chosen], given)


@each("mechanism", MECHANISMS, ids=lambda x: x.name)
def test_a_long_step_ends_on_its_branch_or_is_refused(mechanism):
    """What is reached in one step is what a hundred short ones reach."""
    start, _, chosen, _, _, _ = ways(mechanism)
    dependent = np.setdiff1d(np.arange(mechanism.n_dof), chosen)
    ahead, rng, compared = loop_positions_of(mechanism), np.random.default_rng(1), 0
    for _ in range(100):
        goal = start.copy()
        goal[chosen] += rng.uniform(-1.0, 1.0, len(chosen)) * rng.choice([0.05, 0.2, 0.8])
        at_once, good = ahead.follow(start[None], goal[None], dependent)
        way, count = ahead.chain(
            start, start + np.linspace(0.01, 1.0, 100)[:, None] * (goal - start), dependent
        )
        if good[0] and count == 100:
            assert np.abs(at_once[0] - way[-1]).max() < 1e-9
            compared += 1
    assert compared >= 10


def test_poses_are_assembled_together_as_one_by_one():
    """Compiled code for all poses, singular values where it does not converge."""
    bar = kt.zoo.four_bar()
    guess = np.array([[angle, 1.0 + off, 4.3 - off] for angle in (0.0, 1.0, 3.0) for off in (0.0, 0.7, 2.5)])
    together = kt.loops.assemble(bar, guess, hold=["crank_pivot"])
    free = np.array([False, True, True])
    alone = np.array([closest(bar, q, free)[0] for q in guess])
    assert np.abs(together - alone).max() < 1e-12
    assert np.abs(kt.loops.gap(bar, together)).max() < 1e-14


def test_a_dead_center_between_two_samples_is_passed():
    """The cranks of a parallelogram are parallel, also in the flat pose, where the rods lose rank."""
    bar = kt.zoo.n_four_bar(1)
    sign = np.array([1.0 if "crank" in name else -1.0 for name in bar.joint_names])
    way = np.pi / 2 + np.linspace(-0.3, 0.3, 12)[:, None]
    motion = kt.loops.dependent_motion(bar, [bar.joint_names[0]], way, q0=sign * way[0])
    assert np.abs(motion.q - sign * way).max() < 1e-12
