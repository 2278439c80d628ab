"""What mechanics says of every mechanism, checked on random trees of every joint kind."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.kernels import energy
from kinetree.kernels.energy import ENERGY
from kinetree.kernels.rnea import RNEA_UNLOADED
from support import trees
from support.cases import assert_close
from support.derivatives import STEP, axes, differences, gradient, rate
from support.interpreted import run
from support.oracle import coupling


def energy_rates(robot, q, qd, qdd):
    """d/dt of kinetic and potential energy, momentum and first moment, by complex step."""
    q, qd, qdd = axes(robot, q, qd, qdd)
    (result,) = rate(ENERGY, robot, [q, qd], [qd, qdd], [energy.SIZE])
    return result


def mass_matrix_gradient(robot, q):
    """d M_ij / d q_k (n, n, n) in the independent coordinates, by complex step on inverse dynamics."""
    (q_axes,), (G, _), n = axes(robot, q), coupling(robot), robot.tree.n
    rest = np.zeros((n, n * (n + 1)))
    qdd = np.repeat(np.eye(n, n + 1), n, axis=1)  # each unit acceleration, and none, for each q_k
    turned = q_axes[:, None] + 1j * STEP * np.tile(np.eye(n), n + 1)
    (tau,) = run(RNEA_UNLOADED, robot, [turned, rest, qdd], [n])
    slope = tau.imag.reshape(n, n + 1, n) / STEP
    slope = slope[:, :n] - slope[:, n:]
    return np.einsum("abc,ai,bj,ck->ijk", slope, G, G, G, optimize=True)


def friction(robot, qd):
    """Torques against friction in the independent coordinates."""
    rates = axes(robot, np.zeros(robot.n_dof), qd)[1]
    viscous, ahead, back = (
        np.concatenate([getattr(link.joint, key) for link in robot.links])
        for key in ("viscous", "coulomb", "coulomb_reverse")
    )
    return coupling(robot)[0].T @ (viscous * rates + np.where(rates > 0, ahead, back) * np.sign(rates))


def loads_power(robot, q, qd, wrenches):
    """Power of the external wrenches: force times velocity of its point, moment times angular velocity."""
    total, poses = 0.0, kt.forward_kinematics(robot, q)
    for w in wrenches:
        R = poses[w.body][0] if w.frame == "body" else np.eye(3)
        twist = kt.jacobian(robot, q, w.body, w.point) @ qd
        total += (R @ w.force) @ twist[:3] + (R @ w.moment) @ twist[3:]
    return total


def test_slope_of_inverse_dynamics_is_the_mass_matrix(robot, rng):
    q, qd, qdd = trees.state(robot, rng)
    at_rest = kt.bias_torque(robot, q, qd)
    columns = kt.inverse_dynamics(robot, q, qd, np.eye(robot.n_dof)) - at_rest
    M = kt.mass_matrix(robot, q)
    assert_close(columns.T, M)
    assert_close(kt.inverse_dynamics(robot, q, qd, qdd), M @ qdd + at_rest)


def test_mass_matrix_is_symmetric_positive_definite(robot, rng):
    q, _, _ = trees.state(robot, rng, batch=(5,))
    M = kt.mass_matrix(robot, q)
    assert_close(M, np.swapaxes(M, -1, -2), 1e-15)
    assert (np.linalg.eigvalsh(M) > 0).all()


def test_mass_matrix_is_zero_between_branches():
    robot = kt.Builder("fork")
    rod = kt.Inertia.rod(1.0, (0.3, 0.1, 0.2))
    palm = robot.world.revolute("wrist", axis="x").body("palm", rod)
    for name in ("left", "right"):
        palm.revolute(name, axis="y").body(name, rod)
    M = kt.mass_matrix(robot.build(), [0.1, 0.2, 0.3])
    assert M[1, 2] == M[2, 1] == 0.0
    assert np.count_nonzero(M) == 7


def test_kinetic_energy_is_the_form_of_the_mass_matrix(robot, rng):
    q, qd, _ = trees.state(robot, rng)
    assert_close(kt.kinetic_energy(robot, q, qd), 0.5 * qd @ kt.mass_matrix(robot, q) @ qd)


def test_velocity_torques_are_christoffel_symbols(robot, rng):
    """c_k = sum (dM_ki/dq_j - dM_ij/dq_k / 2) qd_i qd_j, which makes Mdot - 2C skew."""
    q, qd, _ = trees.state(robot, rng)
    slope = mass_matrix_gradient(robot, q)
    christoffel = 0.5 * (slope + np.swapaxes(slope, 1, 2) - np.moveaxis(slope, 2, 0))
    C = christoffel @ qd
    at_rest = kt.bias_torque(robot, q, np.zeros_like(qd))
    assert_close(kt.bias_torque(robot, q, qd), at_rest + C @ qd + friction(robot, qd))
    skew = slope @ qd - 2 * C
    assert_close(skew, -skew.T)


def test_mass_matrix_rate_balances_velocity_torques(robot, rng):
    """qd^T (Mdot - 2C) qd = 0 with Mdot along the motion: velocity torques do no work on their own."""
    q, qd, _ = trees.state(robot, rng)
    Mdot = differences(lambda t: kt.mass_matrix(robot, q + t * qd), [0.0])[..., 0]
    c = kt.bias_torque(robot, q, qd) - kt.bias_torque(robot, q, np.zeros_like(qd))
    assert_close(0.5 * qd @ Mdot @ qd, c @ qd - friction(robot, qd) @ qd, 1e-9)


def test_gravity_torque_is_the_gradient_of_potential_energy(robot, rng):
    q, _, _ = trees.state(robot, rng)
    springs = np.concatenate([link.joint.stiffness for link in robot.links])
    rest = np.concatenate([link.joint.rest for link in robot.links])
    (q_axes,), (G, _) = axes(robot, q), coupling(robot)
    held = kt.gravity_torque(robot, q) + G.T @ (springs * (q_axes - rest))
    (slope,) = gradient(ENERGY, robot, [q_axes, np.zeros(robot.tree.n)], 0, [energy.SIZE])
    assert_close(held, slope[energy.POTENTIAL] @ G)
    assert_close(held, differences(lambda x: kt.potential_energy(robot, x), q), 1e-9)
    assert_close(held, kt.bias_torque(robot, q, np.zeros_like(q)))


def test_forward_dynamics_undoes_inverse_dynamics(robot, rng):
    q, qd, qdd = trees.state(robot, rng, batch=(3,))
    wrenches = trees.loads(rng, robot, batch=(3,))
    tau = kt.inverse_dynamics(robot, q, qd, qdd, wrenches)
    assert_close(kt.forward_dynamics(robot, q, qd, tau, wrenches), qdd, 1e-10)


def test_forward_dynamics_solves_with_the_mass_matrix(robot, rng):
    q, qd, tau = trees.state(robot, rng)
    h = kt.bias_torque(robot, q, qd)
    expected = np.linalg.solve(kt.mass_matrix(robot, q), tau - h)
    assert_close(kt.forward_dynamics(robot, q, qd, tau), expected, 1e-10)


def test_power_balance(robot, rng):
    """d/dt (T + V) = tau . qd + power of the loads - friction."""
    q, qd, qdd = trees.state(robot, rng)
    wrenches = trees.loads(rng, robot)
    tau = kt.inverse_dynamics(robot, q, qd, qdd, wrenches)
    rates = energy_rates(robot, q, qd, qdd)
    supplied = tau @ qd + loads_power(robot, q, qd, wrenches) - friction(robot, qd) @ qd
    assert_close(rates[energy.KINETIC] + rates[energy.POTENTIAL], supplied)


def test_momentum_rate_is_the_sum_of_external_wrenches(robot, rng):
    """Loads, weight, and what the world exerts through the joints of the roots."""
    q, qd, qdd = trees.state(robot, rng)
    wrenches = trees.loads(rng, robot)
    rates = energy_rates(robot, q, qd, qdd)
    reactions = kt.joint_reactions(robot, q, qd, qdd, wrenches, frame="world")
    poses = kt.forward_kinematics(robot, q)
    weight = robot.mass * robot.gravity
    force, moment = weight, np.cross(kt.center_of_mass(robot, q), weight)
    for k, link in enumerate(robot.links):
        if link.parent == "world":
            force = force + reactions[k, :3]
            moment = moment + reactions[k, 3:] + np.cross(poses.position[k], reactions[k, :3])
    for w in wrenches:
        R, p = poses[w.body]
        turn = R if w.frame == "body" else np.eye(3)
        force = force + turn @ w.force
        moment = moment + turn @ w.moment + np.cross(p + R @ w.point, turn @ w.force)
    assert_close(rates[energy.LINEAR : energy.LINEAR + 3], force)
    assert_close(rates[energy.ANGULAR : energy.ANGULAR + 3], moment)


def test_momentum_is_the_mass_times_the_velocity_of_the_center(robot, rng):
    q, qd, _ = trees.state(robot, rng)
    slope = differences(lambda x: kt.center_of_mass(robot, x), q)
    assert_close(kt.momentum(robot, q, qd)[:3], robot.mass * slope @ qd, 1e-9)


def test_momentum_about_a_point(robot, rng):
    q, qd, _ = trees.state(robot, rng)
    point = rng.uniform(-1, 1, 3)
    origin, moved = kt.momentum(robot, q, qd), kt.momentum(robot, q, qd, about=point)
    assert_close(moved[:3], origin[:3])
    assert_close(moved[3:], origin[3:] - np.cross(point, origin[:3]))


@pytest.mark.parametrize("case", ["passive", "all kinds"])
def test_derivatives_of_the_kernel_agree_with_differences_of_the_public_call(case, rng):
    """Complex step on the interpreted source, differences on the compiled one."""
    robot = trees.random_tree(rng, 8, passive=case == "passive")
    q, qd, qdd = trees.state(robot, rng)
    (exact,) = gradient(RNEA_UNLOADED, robot, [q, qd, qdd], 0, [robot.n_dof])
    assert_close(differences(lambda x: kt.inverse_dynamics(robot, x, qd, qdd), q), exact, 1e-9)
