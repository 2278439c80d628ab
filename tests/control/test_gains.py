"""Design of gains: closed forms, eigenvalues of closed loops, and motions that feedback brings back."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm, solve_continuous_are

import kinetree as kt
from kinetree.control import LQR, gains
from support.each import each


def rail() -> kt.Mechanism:
    build = kt.Builder("rail")
    build.world.prismatic("slide", axis="x").body("block", kt.Inertia.box(2.0, (0.1, 0.1, 0.1)))
    return build.build()


def cart_pole() -> kt.Mechanism:
    build = kt.Builder("cart_pole")
    cart = build.world.prismatic("slide", axis="x").body("cart", kt.Inertia.box(1.0, (0.2, 0.1, 0.1)))
    cart.revolute("pivot", axis="y", driven=False).body("pole", kt.Inertia.rod(0.3, end=(0, 0, -0.5)))
    return build.build()


def linearized(mechanism, law, q):
    """Eigenvalues of the closed loop, by differences of the accelerations under a law."""
    n, h = mechanism.n_dof, 1e-6
    A = np.zeros((2 * n, 2 * n))
    A[:n, n:] = np.eye(n)
    x0 = np.concatenate([q, np.zeros(n)])
    for k in range(2 * n):
        ends = []
        for sign in (1, -1):
            x = x0 + sign * h * np.eye(2 * n)[k]
            ends.append(kt.forward_dynamics(mechanism, x[:n], x[n:], law(x[:n], x[n:])))
        A[n:, k] = (ends[0] - ends[1]) / (2 * h)
    return np.linalg.eigvals(A)


@pytest.mark.parametrize(("bandwidth", "damping"), [(7.0, 1.0), (12.0, 0.6), (5.0, 2.0)])
def test_computed_torque_has_the_poles_asked_for(bandwidth, damping):
    arm, pose = kt.zoo.kuka_kr5(), np.array([0.2, 0.5, -0.3, 0.1, 0.4, 0.0])
    law = kt.control.ComputedTorque(pose, *gains(bandwidth, damping))
    found = linearized(arm, lambda q, qd: law.torque(arm, 0.0, q, qd), pose)
    root = np.sqrt(complex(damping**2 - 1.0))
    wanted = bandwidth * np.array([-damping + root, -damping - root])
    for pole in found:
        assert np.abs(pole - wanted).min() < 5e-3 * bandwidth  # double poles are sensitive to rounding
    assert np.prod(found).real == pytest.approx(bandwidth**12, rel=1e-5)


def test_torque_gains_use_the_largest_inertia():
    arm = kt.zoo.two_link()
    poses = np.array([[0.0, 0.0], [0.0, 3.0]])
    kp, kd = gains([4.0, 9.0], 0.8, arm, poses)
    M = kt.mass_matrix(arm, poses)
    inertia = np.diagonal(M, axis1=1, axis2=2).max(axis=0)
    assert np.allclose(kp, inertia * [16.0, 81.0]) and np.allclose(kd, 1.6 * inertia * [4.0, 9.0])
    single = rail()
    kp, kd = gains(6.0, 0.5, single)
    found = np.roots([2.0, kd[0], kp[0]])
    assert np.allclose(np.abs(found), 6.0) and np.allclose(-found.real / 6.0, 0.5)
    assert gains({"a": 2.0, "b": 3.0}, 0.5).kd == {"a": 2.0, "b": 3.0}
    assert not gains(5.0, 1.0, kt.zoo.quadruped()).kp[:6].any()


def test_lqr_of_a_block_in_closed_form():
    """m x'' = u with costs a x^2 + b v^2 + r u^2: k1 = sqrt(a / r), k2 = sqrt(2 m k1 + b / r)."""
    law = LQR(rail(), [0.3], q_cost=5.0, qd_cost=2.0, tau_cost=0.4)
    k1 = np.sqrt(5.0 / 0.4)
    assert np.allclose(law.gain(0.0), [[k1, np.sqrt(2 * 2.0 * k1 + 2.0 / 0.4)]], rtol=1e-10)


def test_gains_along_a_motion_approach_the_steady_ones_backward():
    """Of a system that does not change, the Riccati equation stands still where it begins."""
    block, path = rail(), kt.trajectories.cycloid([0.0], [1.0], 1.0)
    law = LQR(block, path, q_cost=5.0, qd_cost=2.0, nodes=11)
    still = LQR(block, [0.0], q_cost=5.0, qd_cost=2.0).gain(0.0)
    assert np.allclose([law.gain(t) for t in (0.0, 0.37, 1.0, 2.0)], still, rtol=1e-9)
    run = kt.simulate(block, [0.1], duration=1.0, controller=law, times=5, progress=False)
    k1, k2 = still[0]
    wanted = path.at(run.time.values).q[:, 0]
    for t, error in zip(run.time.values, run.q.values[:, 0] - wanted, strict=True):
        exact = expm(t * np.array([[0.0, 1.0], [-k1 / 2.0, -k2 / 2.0]])) @ [0.1, 0.0]
        assert error == pytest.approx(exact[0], abs=1e-7)


def test_gains_along_a_motion_solve_the_riccati_equation():
    """Beside an integration of the equation itself, of a pendulum whose linearization changes on its way."""
    build = kt.Builder("pendulum")
    build.world.revolute("hinge", axis="y", viscous=0.1).body("rod", kt.Inertia.rod(1.0, end=(0, 0, -0.8)))
    rod, path = build.build(), kt.trajectories.cycloid([0.0], [2.5], 0.6)
    law = LQR(rod, path, q_cost=3.0, qd_cost=0.2, tau_cost=0.5)

    def linear(t):
        s = path.at(t)
        tau = kt.inverse_dynamics(rod, s.q, s.qd, s.qdd)
        d = kt.forward_dynamics_derivatives(rod, s.q, s.qd, tau)
        return np.array([[0.0, 1.0], [d.dqdd_dq[0, 0], d.dqdd_dqd[0, 0]]]), np.array(
            [[0.0], [d.dqdd_dtau[0, 0]]]
        )

    def back(u, S):
        (A, B), S = linear(0.6 - u), S.reshape(2, 2)
        return (A.T @ S + S @ A - S @ B @ B.T @ S / 0.5 + np.diag([3.0, 0.2])).ravel()

    A, B = linear(0.6)
    end = solve_continuous_are(A, B, np.diag([3.0, 0.2]), [[0.5]])
    S = solve_ivp(back, (0.0, 0.6), end.ravel(), rtol=1e-9, atol=1e-9).y[:, -1].reshape(2, 2)
    assert np.allclose(law.gain(0.0), linear(0.0)[1].T @ S / 0.5, rtol=1e-3)


def test_lqr_holds_a_pole_upright():
    crane, up = cart_pole(), [0.0, np.pi]
    law = LQR(crane, up, q_cost=[1.0, 10.0], qd_cost=0.1, tau_cost=0.1)
    found = linearized(crane, lambda q, qd: law(0.0, q, qd), np.array(up))
    assert found.real.max() < -0.3
    open_loop = linearized(crane, lambda q, qd: np.zeros(2), np.array(up))
    assert open_loop.real.max() > 1.0
    run = kt.simulate(
        crane, [0.1, np.pi - 0.2], duration=6.0, controller=law, times=13, rtol=1e-6, progress=False
    )
    assert np.abs(run.q.values[-1] - up).max() < 0.02 and not run.tau.sel(joint="pivot").values.any()


def test_limits_bound_torques():
    law = LQR(rail(), [0.0], q_cost=100.0, limits=1.5)
    assert law(0.0, np.array([5.0]), np.zeros(1)).tolist() == [-1.5]


@each(
    ("call", "message"),
    [
        (lambda: gains(-1.0), "bandwidth must be > 0 rad/s, got -1|bandwidth must be"),
        (lambda: gains(0.0), "bandwidth must be > 0"),
        (lambda: gains(1.0, 0.0), "damping must be > 0"),
        (lambda: gains([1.0, 2.0], [1.0, 2.0, 3.0]), "2 and 3 values"),
        (lambda: gains({"a": 1.0}, {"b": 1.0}), "missing: a"),
        (lambda: gains(1.0, q=[0.0]), "need a mechanism"),
        (lambda: gains([1.0], 1.0, kt.zoo.gripper()), "bandwidth must have 4 values"),
        (lambda: LQR(rail(), [0.0, 1.0]), "needs a motion of 1 coordinates, got 2"),
        (lambda: LQR(rail(), [0.0], q_cost=-1.0), "q_cost must be 0 or more"),
        (lambda: LQR(rail(), [0.0], tau_cost=0.0), "tau_cost must be > 0"),
        (lambda: LQR(rail(), [0.0], q_cost=[1.0, 2.0]), "q_cost must be a number or 1 of them"),
        (lambda: LQR(rail(), [0.0], q_cost=np.nan), "q_cost must be finite"),
        (lambda: LQR(rail(), [0.0], limits="mine"), "limits must be numbers or 'model'"),
        (lambda: LQR(rail(), [0.0], nodes=1), "nodes must be an integer"),
        (lambda: LQR("rail", [0.0]), "must be a Mechanism"),
        (lambda: LQR(cart_pole(), [0.0, 1.0]), "joint 'pivot' has no drive, but the motion needs"),
        (lambda: LQR(kt.zoo.four_bar(), [0.0] * 3), "closed loops"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(kt.errors.InputError, match=message):
        call()
