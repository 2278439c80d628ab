"""Many motions at once: the same as one at a time, with the same energies and audit."""

import os
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt

ARM = kt.zoo.kuka_kr5()
START = np.array([0.2, -0.4, 0.3, 0.1, -0.2, 0.5])


def standing():
    q = np.zeros(18)
    q[2] = 0.55
    q[[7, 10, 13, 16]], q[[8, 11, 14, 17]] = 0.3, -0.6
    return q


@pytest.mark.parametrize("count", [1, 3, 4, 9])
def test_batch_is_many_single_simulations(count):
    rng = np.random.default_rng(3)
    q0, qd0 = rng.uniform(-1, 1, (2, count, 6))
    tau = rng.uniform(-5, 5, (count, 6)) * [1, 1, 1, 1e-3, 1e-3, 1e-5]
    batch = kt.simulation.simulate_batch(ARM, q0, qd0, 0.3, torque=tau, times=5, rtol=1e-11)
    for k in range(count):
        one = kt.simulate(ARM, q0[k], qd0[k], 0.3, torque=tau[k], times=5, rtol=1e-11)
        assert batch.q.values[k] == pytest.approx(one.q.values, abs=1e-8)
        assert batch.qd.values[k] == pytest.approx(one.qd.values, abs=1e-7)


def test_batch_does_not_depend_on_threads():
    q0 = np.random.default_rng(5).uniform(-1, 1, (23, 6))
    one, two = (
        kt.simulation.simulate_batch(ARM, q0, duration=0.2, times=3, threads=k).q.values for k in (1, 2)
    )
    assert np.array_equal(one, two)


def test_batch_of_controllers_and_grounds():
    path = kt.trajectories.hold(START, 1.0)
    laws = [kt.control.PD(path, kp, 10.0) for kp in (10.0, 100.0)]
    some = {"duration": 0.2, "times": 3, "method": "radau"}
    batch = kt.simulation.simulate_batch(ARM, np.tile(START, (2, 1)), controller=laws, **some)
    for k, law in enumerate(laws):
        one = kt.simulate(ARM, START, controller=law, **some)
        assert batch.q.values[k] == pytest.approx(one.q.values, abs=1e-9)
    grounds = [kt.Ground(kt.simulation.Soil(stiffness=k)) for k in (1e3, 1e4)]
    quadruped = kt.zoo.quadruped()
    starts = np.tile(standing(), (2, 1))
    batch = kt.simulation.simulate_batch(quadruped, starts, duration=0.2, ground=grounds, times=3, rtol=1e-7)
    assert batch.q.values[0, -1, 2] < batch.q.values[1, -1, 2]


def test_batches_have_the_energies_and_the_audit_of_single_simulations(rng):
    starts, some = rng.uniform(-1, 1, (5, 6)), {"duration": 0.2, "times": 5, "torque": [1.0, 0, 0, 0, 0, 0.1]}
    batch = kt.simulation.simulate_batch(ARM, starts, **some)
    ones = [kt.simulate(ARM, start, method="dop853", **some) for start in starts]
    for name in ("kinetic_energy", "potential_energy", "actuator_work", "joint_work", "energy_error"):
        assert batch[name].dims == ("rollout", "time") and batch.units(name) == "J"
        stacked = np.stack([one[name].values for one in ones])
        assert batch[name].values == pytest.approx(stacked, rel=1e-7, abs=1e-7)
    assert np.abs(batch.actuator_work.values).max() > 0.01
    check = batch.audit["energy_balance"]
    assert batch.passed and check.value < 1e-6 and "of 5" in check.sentence


def test_the_audit_of_a_batch_finds_the_worst_motion():
    starts = np.zeros((3, 6))
    starts[1] = START
    batch = kt.simulation.simulate_batch(
        ARM, starts, 5.0 * starts, duration=1.0, method="rk4", step=0.02, times=3
    )
    worst = np.abs(batch.energy_error.values).max(axis=1)
    assert worst[1] > 1e-4
    assert "motion 1 of 3" in batch.audit["energy_balance"].sentence


def test_a_batch_that_runs_away_is_an_error():
    with pytest.raises(
        kt.errors.SimulationError, match=r"rollouts? 0.*: the simulation diverged at t = .*joint"
    ):
        kt.simulation.simulate_batch(
            kt.zoo.gripper(), np.zeros((2, 4)), duration=200.0, method="rk4", step=10.0
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0] * 6,), r"q0 must be states \(m, 6\)"),
        ((np.zeros((2, 6)), np.zeros((3, 6))), "do not fit together"),
    ],
)
def test_bad_batches(arguments, message):
    with pytest.raises(kt.errors.InputError, match=message):
        kt.simulation.simulate_batch(ARM, *arguments)


def lighter(mechanism, masses):
    """The mechanism with other masses, built link by link."""
    links = []
    for link, mass in zip(mechanism.links, masses, strict=True):
        given = link.body.inertia
        factor = mass / given.mass if given.mass else 1.0
        inertia = replace(given, mass=mass, moment=factor * given.moment)
        links.append(replace(link, body=replace(link.body, inertia=inertia)))
    return replace(mechanism, links=tuple(links))


@pytest.mark.parametrize(
    ("arm", "method", "rtol"),
    [
        (kt.zoo.gripper(), "dop853", 1e-11),
        (kt.zoo.puma(), "dop853", 1e-11),  # has bodies with moments of inertia and no mass
        (kt.zoo.gripper(), "radau", 1e-9),
    ],
)
def test_masses_may_differ_from_motion_to_motion(rng, arm, method, rtol):
    masses = rng.uniform(0.7, 1.4, (5, len(arm.links))) * [x.body.inertia.mass for x in arm.links]
    starts, some = rng.uniform(-1, 1, (5, arm.n_dof)), {"duration": 0.2, "times": 4, "rtol": rtol}
    batch = kt.simulation.simulate_batch(arm, starts, masses=masses, method=method, **some)
    for k, start in enumerate(starts):
        one = kt.simulate(lighter(arm, masses[k]), start, method=method, **some)
        for name in ("q", "kinetic_energy", "potential_energy"):
            assert batch[name].values[k] == pytest.approx(one[name].values, rel=1e-7, abs=1e-7)
    assert batch.passed


@pytest.mark.parametrize(
    ("masses", "message"),
    [
        (np.ones((2, 5)), r"masses must be \(2, 6\)"),
        (np.array([np.ones(6), [1, 1, 0, 1, 1, 1]]), "mass of body 'link3' in motion 1 must be more than 0"),
        (np.full((2, 6), np.nan), "masses"),
    ],
)
def test_wrong_masses_are_refused(masses, message):
    with pytest.raises(kt.errors.InputError, match=message):
        kt.simulation.simulate_batch(ARM, np.zeros((2, 6)), masses=masses)


def test_ctrl_c_ends_all_threads():
    """Motions that would take many minutes: both threads end, and none goes on in the background."""
    arm, starts = kt.zoo.gripper(), np.random.default_rng(0).normal(size=(2000, 4))
    kt.simulation.simulate_batch(arm, starts[:8], duration=0.01, threads=2)  # compiled
    before, began = threading.active_count(), time.perf_counter()
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in the background
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            kt.simulation.simulate_batch(arm, starts, duration=1000.0, times=2, threads=2)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, handler)
    assert threading.active_count() <= before and time.perf_counter() - began < 60.0
