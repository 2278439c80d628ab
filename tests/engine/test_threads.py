"""Answers depend on the state alone: not on threads, neighbours in the batch, or other callers."""

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import kinetree as kt
from support.kernels import KERNELS, has_floating_base, on_batch, random_inputs, tree_for, zoo

MODELS = zoo()
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))


def small_tree(kernel):
    tree = tree_for(kernel, MODELS["planar_biped" if kernel.name == "floating_inverse" else "random 1"])
    assert kernel.name != "floating_inverse" or has_floating_base(tree)
    return tree


def assert_same_bits(found, expected, rows=slice(None)):
    for key, value in expected.items():
        known = ~np.isnan(value[rows])  # reactions are not written for axes without a body
        assert np.array_equal(found[key][rows][known], value[rows][known]), key


# ---- threads ------------------------------------------------------------------------------------------
@every_kernel
@pytest.mark.parametrize("count", [5, 8, 103])
def test_same_bits_for_any_number_of_threads(kernel, count, rng):
    tree = small_tree(kernel)
    inputs = random_inputs(kernel, tree, rng, count)
    alone = on_batch(kernel, tree, inputs, threads=1)
    for threads in (2, 3, 8, 1000):
        assert_same_bits(on_batch(kernel, tree, inputs, threads=threads), alone)


def test_same_bits_for_any_number_of_threads_in_public(rng):
    robot = MODELS["quadruped"]
    s = kt.random_state(robot, rng, (1001,))
    weight = rng.uniform(-1, 1, robot.n_dof)

    def answers(threads):
        d = kt.inverse_dynamics_derivatives(robot, s.q, s.qd, s.qdd, threads=threads)
        f = kt.forward_dynamics_derivatives(robot, s.q, s.qd, s.qdd, threads=threads)
        yield kt.inverse_dynamics(robot, s.q, s.qd, s.qdd, threads=threads)
        yield kt.forward_dynamics(robot, s.q, s.qd, s.qdd, threads=threads)
        yield kt.mass_matrix(robot, s.q, threads=threads)
        yield from (d.tau, d.dtau_dq, d.dtau_dqd, d.dtau_dqdd, f.qdd, f.dqdd_dq, f.dqdd_dqd, f.dqdd_dtau)
        yield kt.analysis.joint_reaction_derivatives(robot, s.q, s.qd, s.qdd, threads=threads).dreaction_dq
        yield kt.analysis.torque_hessian(robot, s.q, s.qd, s.qdd, weight, threads=threads).full

    one = list(answers(1))
    for threads in (2, 3, 8, None):
        for found, expected in zip(answers(threads), one, strict=True):
            assert np.array_equal(found, expected)


def callers(work, count=4):
    """Run work(k) in several Python threads that take turns as often as possible."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(work, range(count)))
    finally:
        sys.setswitchinterval(interval)


def test_callers_share_a_mechanism_for_single_states(rng):
    """All use the same memory."""
    robot = kt.zoo.random_tree(5, 9)
    s = kt.random_state(robot, rng, (4,))
    questions = (kt.inverse_dynamics, kt.forward_dynamics, kt.inverse_dynamics_derivatives)

    def ask(k):
        tau, qdd, d = (question(robot, s.q[k], s.qd[k], s.qdd[k]) for question in questions)
        return [tau, qdd, d.tau, d.dtau_dq, d.dtau_dqd, d.dtau_dqdd, kt.mass_matrix(robot, s.q[k])]

    expected = [ask(k) for k in range(4)]

    def insist(k):
        for _ in range(150):
            for found, value in zip(ask(k), expected[k], strict=True):
                assert np.array_equal(found, value)

    callers(insist)


def test_callers_share_a_mechanism_for_batches(rng):
    robot = kt.zoo.random_tree(6, 9)
    states = [kt.random_state(robot, rng, (64 + k,)) for k in range(4)]
    expected = [kt.inverse_dynamics(robot, s.q, s.qd, s.qdd) for s in states]

    def insist(k):
        s = states[k]
        for threads in (1, 2, 3) * 20:
            assert np.array_equal(kt.inverse_dynamics(robot, s.q, s.qd, s.qdd, threads=threads), expected[k])

    callers(insist)


def test_new_mechanisms_in_many_callers(rng):
    """The first call of a mechanism makes its tables."""
    for seed in range(5):
        robot = kt.zoo.random_tree(seed, 7)
        s = kt.random_state(robot, rng)
        found = callers(lambda _, robot=robot, s=s: kt.inverse_dynamics(robot, s.q, s.qd, s.qdd))
        again = kt.inverse_dynamics(robot, s.q, s.qd, s.qdd)
        assert all(np.array_equal(x, again) for x in found)


def forked_status(work, patience=10.0):
    """Exit status of work() in a forked process; None if it does not end."""
    child = os.fork()
    if child == 0:
        os._exit(0 if work() else 1)
    end = time.monotonic() + patience
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


if hasattr(os, "fork"):

    @pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
    def test_forked_processes_start_their_own_threads(rng):
        """Threads do not survive a fork: process pools would wait for them forever."""
        robot = MODELS["gripper"]
        s = kt.random_state(robot, rng, (64,))
        state = (s.q, s.qd, s.qdd)
        expected = kt.inverse_dynamics(robot, *state, threads=2)  # there are threads now

        def same():
            return np.array_equal(kt.inverse_dynamics(robot, *state, threads=2), expected)

        assert forked_status(same) == 0


# ---- neighbours ---------------------------------------------------------------------------------------
@every_kernel
@pytest.mark.parametrize("bad", [np.nan, np.inf], ids=str)
def test_what_is_not_finite_stays_in_its_state(kernel, bad, rng):
    """The states 3 to 5 of six are computed twice: the last block overlaps the first."""
    tree = small_tree(kernel)
    inputs = random_inputs(kernel, tree, rng, 6)
    clean = on_batch(kernel, tree, inputs)
    for state in (0, 3, 5):
        for k in range(kernel.inputs):
            spoiled = [x.copy() for x in inputs]
            spoiled[k][state] = bad
            with np.errstate(invalid="ignore"):
                found = on_batch(kernel, tree, spoiled)
            others = np.arange(6) != state
            assert_same_bits(found, clean, others)
            assert any(not np.isfinite(found[key][state]).all() for key in clean), (state, k)


@every_kernel
def test_far_angles_stay_in_their_state(kernel, rng):
    """Lanes far out take another way through sine and cosine than their neighbours."""
    tree = small_tree(kernel)
    inputs = random_inputs(kernel, tree, rng, 5)
    clean = on_batch(kernel, tree, inputs)
    axis = int(np.flatnonzero(tree.turns)[0])
    inputs[0][2, axis] = 1e9
    assert_same_bits(on_batch(kernel, tree, inputs), clean, np.arange(5) != 2)


def test_public_calls_refuse_what_is_not_finite(rng):
    robot = MODELS["gripper"]
    s = kt.random_state(robot, rng, (6,))
    s.q[2, 1] = np.nan
    with pytest.raises(kt.errors.InputError, match="finite"):
        kt.inverse_dynamics(robot, s.q, s.qd, s.qdd)
