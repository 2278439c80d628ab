"""Trajectories of the documents: torques and energies along them, and free motion between their samples."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kinetree as kt
from support.comparison import GRAVITIES
from support.each import each
from support.reference import mechanism, read, relative_error

ALGEBRA = 1e-11


def trajectories(*keys):
    """(id, model, record) of all records under the keys, of which some files have several."""
    for name in ("gripper", "kuka_kr5", "biped_fixed", "puma_slender", *floating()):
        file = read(f"{name}.json")
        for part in file.get("variants", [file]):
            for key in keys:
                records = part.get(key, [])
                for k, record in enumerate(records if isinstance(records, list) else [records]):
                    yield pytest.param(part["model"], record, id=f"{name} {part.get('name', '')} {key} {k}")


def floating():
    return [f"floating_{name}" for name in ("planar_biped", "spatial_biped", "quadruped", "hexapod")]


def free_motion(robot, q, qd, tau, duration):
    """Where all the given states are after the duration: one integration for the whole batch."""
    shape = (2, *np.shape(q))

    def rates(_, x):
        position, velocity = x.reshape(shape)
        return np.stack([velocity, kt.forward_dynamics(robot, position, velocity, tau)]).ravel()

    start = np.stack([q, qd]).ravel()
    end = solve_ivp(rates, (0.0, duration), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    return end.reshape(shape)


def whole_motion(robot, record):
    """The trajectory at all samples, integrated from its start."""
    n, tau, times = robot.n_dof, np.array(record["tau_const"], float), record["t"]

    def rates(_, x):
        return np.concatenate([x[n:], kt.forward_dynamics(robot, x[:n], x[n:], tau)])

    start = np.array(record["q0"] + record["qd0"], float)
    span = (times[0], times[-1])
    found = solve_ivp(rates, span, start, method="DOP853", rtol=1e-12, atol=1e-12, t_eval=times)
    return np.split(found.y.T, 2, axis=1)


@pytest.mark.parametrize(("model", "record"), list(trajectories("inverse_dynamics")))
def test_torques_along_a_trajectory(model, record):
    robot = mechanism(model)
    if "gravity" in record:
        robot = robot.with_gravity(GRAVITIES[record["gravity"]])
    motion = [np.array(record[key]) for key in ("q", "qd", "qdd")]
    if motion[0].ndim == 1:  # all joints move alike
        motion = [np.repeat(x[:, None], robot.n_dof, axis=1) for x in motion]
    assert relative_error(kt.inverse_dynamics(robot, *motion), record["tau"]) < ALGEBRA
    if "F" in record:
        assert relative_error(kt.joint_reactions(robot, *motion), record["F"]) < ALGEBRA


@each(("model", "record"), list(trajectories("free_fall", "free_flight")))
def test_free_motion_from_the_start(model, record):
    """The gripper started from zeros is chaotic: its stated accuracy says so."""
    q, qd = whole_motion(mechanism(model), record)
    accuracy = 10 * record["accuracy"]["diff_tol_1e_11"]
    assert relative_error(q, record["q"]) < accuracy
    assert relative_error(qd, record["qd"]) < 10 * accuracy


@each(("model", "record"), list(trajectories("free_fall", "free_flight")))
def test_free_motion_from_sample_to_sample(model, record):
    """The whole trajectory, tightly, without the growth of errors in chaotic motion."""
    robot = mechanism(model)
    t, q, qd = (np.array(record[key]) for key in ("t", "q", "qd"))
    step = t[1] - t[0]
    assert np.allclose(np.diff(t), step, rtol=1e-9)
    found_q, found_qd = free_motion(robot, q[:-1], qd[:-1], np.array(record["tau_const"]), step)
    assert relative_error(found_q, q[1:]) < ALGEBRA
    assert relative_error(found_qd, qd[1:]) < 10 * ALGEBRA


@each(("model", "record"), list(trajectories("free_fall", "free_flight")))
def test_energies_along_free_motion(model, record):
    robot = mechanism(model)
    kinetic = kt.kinetic_energy(robot, record["q"], record["qd"])
    potential = kt.potential_energy(robot, record["q"])
    assert relative_error(kinetic, record["kinetic"]) < ALGEBRA
    assert relative_error(potential, record["potential"]) < ALGEBRA
    assert not np.any(record["tau_const"])
    assert np.ptp(kinetic + potential) < 1e-9 * max(1.0, np.abs(kinetic).max())


def test_free_flight_keeps_momentum():
    """Without contact only gravity acts: the momentum about the center of mass stays, [Shah2013] section
    7.2."""
    for name in floating():
        file = read(f"{name}.json")
        robot, record = mechanism(file["model"]), file["free_flight"]
        t, q, qd = (np.array(record[key]) for key in ("t", "q", "qd"))
        about = kt.center_of_mass(robot, q)
        linear, angular = np.split(kt.momentum(robot, q, qd, about=about), 2, axis=-1)
        weight = robot.mass * robot.gravity
        assert relative_error(linear, linear[0] + t[:, None] * weight) < 1e-10
        assert relative_error(angular, np.broadcast_to(angular[0], angular.shape)) < 1e-10
