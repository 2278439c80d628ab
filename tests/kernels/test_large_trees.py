"""Mechanisms far beyond any robot: thousands of links in a row, a thousand branches from one body."""

import numpy as np
import pytest

import kinetree as kt


def star(n):
    rng = np.random.default_rng(0)
    robot = kt.Builder("star")
    hub = robot.world.revolute("hub", axis="z").body("hub", kt.Inertia.box(50.0, (1, 1, 1)))
    box = kt.Inertia.box(1.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.3))
    for k in range(n):
        hub.revolute(f"joint{k}", at=rng.uniform(-1, 1, 3), axis="y").body(f"branch{k}", box)
    return robot.build()


@pytest.mark.parametrize(
    ("make", "n", "accuracy"), [(kt.zoo.chain, 5000, 1e-4), (star, 1000, 1e-12)], ids=["chain", "star"]
)
def test_inverse_and_forward_dynamics_agree(make, n, accuracy, rng):
    """The chain is 1.5 km long: accelerations of its tip are that badly determined, torques are not."""
    robot = make(n)
    q, qd, qdd = rng.uniform(-1, 1, (3, 5, robot.n_dof))
    qd *= 0.01
    for rows in (0, slice(None)):  # one state, a batch
        tau = kt.inverse_dynamics(robot, q[rows], qd[rows], qdd[rows])
        back = kt.forward_dynamics(robot, q[rows], qd[rows], tau)
        assert np.abs(back - qdd[rows]).max() < accuracy
        again = kt.inverse_dynamics(robot, q[rows], qd[rows], back)
        assert np.abs(again - tau).max() < 1e-13 * np.abs(tau).max()


def test_energy_of_a_long_chain_is_that_of_its_torques(rng):
    """Power of the torques = rate of energy, by a small step of time."""
    robot = kt.zoo.chain(1000)
    q, qd, qdd = rng.uniform(-1, 1, (3, robot.n_dof)) * np.array([[1.0], [0.01], [0.01]])
    power = kt.inverse_dynamics(robot, q, qd, qdd) @ qd
    t = np.array([-1e-3, 1e-3])[:, None]
    state = q + t * qd + t**2 / 2 * qdd, qd + t * qdd
    energy = kt.kinetic_energy(robot, *state) + kt.potential_energy(robot, state[0])
    assert abs((energy[1] - energy[0]) / 2e-3 - power) < 1e-5 * abs(power)


def test_mass_matrix_of_many_branches(rng):
    """Branches do not feel each other: an arrow."""
    robot = star(300)
    M = kt.mass_matrix(robot, rng.uniform(-1, 1, robot.n_dof))
    inner = M[1:, 1:]
    assert np.array_equal(inner, np.diag(np.diag(inner)))
    assert np.array_equal(M, M.T)
    assert (np.linalg.eigvalsh(M) > 0).all()
