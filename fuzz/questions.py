"""Every public question about one open mechanism, each answered a second way: differences, balances, sums."""

from __future__ import annotations

from typing import Any

import numpy as np

import kinetree as kt
from fuzz.answers import compare
from fuzz.runner import WrongAnswerError

Array = Any
STEP = 5e-4  # of five-point differences: the error is of the order of its fourth power
DIFFERENCES = 1e-5  # relative, of what is compared with them
EXACT = 1e-8  # relative, of what is computed two ways


def asked_everything(mechanism: kt.Mechanism, rng: np.random.Generator) -> None:
    """Raise :class:`WrongAnswerError` where an answer differs from another way to it."""
    compare(mechanism, rng)
    if mechanism.n_dof == 0:
        return
    state = kt.random_state(mechanism, rng)
    q, qd, qdd = state.q, state.qd, state.qdd
    _statics(mechanism, q, qd, qdd)
    _motions(mechanism, q, qd, qdd)
    _reactions(mechanism, q, qd, qdd)
    _slopes(mechanism, rng, q, qd, qdd)
    _solved(mechanism, rng, q, qd, qdd)


def _statics(mechanism: kt.Mechanism, q: Array, qd: Array, qdd: Array) -> None:
    """Bias and gravity are parts of inverse dynamics; gravity is the slope of the potential energy."""
    nothing = np.zeros_like(q)
    bias, gravity = kt.bias_torque(mechanism, q, qd), kt.gravity_torque(mechanism, q)
    newton = kt.inverse_dynamics(mechanism, q, qd, nothing, formulation="newton_euler")
    _near(bias, newton, EXACT, "bias torque is not inverse dynamics without acceleration")
    slope = [_central(lambda x: kt.potential_energy(mechanism, x), q, e) for e in np.eye(len(q))]
    _near(gravity, np.array(slope), DIFFERENCES, "gravity torque is not the slope of the potential energy")
    parameters = kt.analysis.inertial_parameters(mechanism)
    regressed = np.tensordot(kt.analysis.inertia_regressor(mechanism, q, qd, qdd), parameters, axes=2)
    tau = kt.inverse_dynamics(mechanism, q, qd, qdd)
    _near(regressed, tau, EXACT, "the regressor gives other torques")


def _motions(mechanism: kt.Mechanism, q: Array, qd: Array, qdd: Array) -> None:
    """Velocities and accelerations are those of poses that move; momentum that of the center of mass."""
    mass = mechanism.mass
    moved = _central(lambda h: kt.center_of_mass(mechanism, _at(q, qd, qdd, h)), 0.0, 1.0)
    momentum = kt.momentum(mechanism, q, qd)
    _near(momentum[:3], mass * moved, DIFFERENCES, "momentum is not that of the center of mass")
    poses = kt.forward_kinematics(mechanism, q)
    places = _central(lambda h: kt.forward_kinematics(mechanism, _at(q, qd, qdd, h)).position, 0.0, 1.0)
    twists = kt.body_velocities(mechanism, q, qd)
    _near(twists[:, :3], places, DIFFERENCES, "velocities are not those of the poses")
    turned = _central(lambda h: kt.forward_kinematics(mechanism, _at(q, qd, qdd, h)).rotation, 0.0, 1.0)
    spin = turned @ np.swapaxes(poses.rotation, -1, -2)  # dR/dt R^T is the cross product with w
    _near(twists[:, 3:], spin[:, [2, 0, 1], [1, 2, 0]], DIFFERENCES, "angular velocities")

    def later(h: float) -> Array:
        return kt.body_velocities(mechanism, _at(q, qd, qdd, h), qd + h * qdd)

    accelerations = kt.analysis.body_accelerations(mechanism, q, qd, qdd)
    _near(accelerations, _central(later, 0.0, 1.0), DIFFERENCES, "accelerations")
    body = mechanism.body_names[-1]
    _near(kt.jacobian(mechanism, q, body) @ qd, twists[-1], EXACT, "the Jacobian gives other velocities")


def _reactions(mechanism: kt.Mechanism, q: Array, qd: Array, qdd: Array) -> None:
    """Forces between the world and all that hangs on it change the momentum."""
    reaction = kt.joint_reactions(mechanism, q, qd, qdd, frame="world")
    roots = [k for k, link in enumerate(mechanism.links) if link.parent == "world"]
    force = reaction[roots, :3].sum(axis=0)

    def later(h: float) -> Array:
        return kt.momentum(mechanism, _at(q, qd, qdd, h), qd + h * qdd)

    rate, weight = _central(later, 0.0, 1.0), mechanism.mass * np.asarray(mechanism.gravity)
    scale = float(np.abs(reaction[..., :3]).max(initial=0.0))
    _near(force, rate[:3] - weight, DIFFERENCES, "reactions do not change the momentum", scale)
    other = kt.joint_reactions(mechanism, q, qd, qdd, frame="world", formulation="newton_euler")
    _near(reaction, other, EXACT, "reactions differ from those of Newton and Euler")


def _slopes(mechanism: kt.Mechanism, rng: np.random.Generator, q: Array, qd: Array, qdd: Array) -> None:
    """First and second derivatives along a direction are differences."""
    d = rng.standard_normal((3, len(q)))

    def torque(h: float) -> Array:
        return kt.inverse_dynamics(mechanism, q + h * d[0], qd + h * d[1], qdd + h * d[2])

    found = kt.inverse_dynamics_derivatives(mechanism, q, qd, qdd)
    along = found.dtau_dq @ d[0] + found.dtau_dqd @ d[1] + found.dtau_dqdd @ d[2]
    _near(along, _central(torque, 0.0, 1.0), DIFFERENCES, "derivatives of inverse dynamics")
    weight = rng.standard_normal(len(q))
    second = kt.analysis.torque_hessian(mechanism, q, qd, qdd, weight)

    def gradient(h: float) -> Array:
        there = kt.inverse_dynamics_derivatives(mechanism, q + h * d[0], qd + h * d[1], qdd + h * d[2])
        return weight @ there.dtau_dq

    straight = second.q_q @ d[0] + second.q_qd @ d[1] + second.q_qdd @ d[2]
    _near(straight, _central(gradient, 0.0, 1.0), DIFFERENCES, "second derivatives of inverse dynamics")
    reactions = kt.analysis.joint_reaction_derivatives(mechanism, q, qd, qdd)
    moved = reactions.dreaction_dq @ d[0] + reactions.dreaction_dqd @ d[1] + reactions.dreaction_dqdd @ d[2]

    def reaction(h: float) -> Array:
        return kt.joint_reactions(mechanism, q + h * d[0], qd + h * d[1], qdd + h * d[2])

    _near(moved, _central(reaction, 0.0, 1.0), DIFFERENCES, "derivatives of reactions")


def _solved(mechanism: kt.Mechanism, rng: np.random.Generator, q: Array, qd: Array, qdd: Array) -> None:
    """Forward and hybrid dynamics and inverse kinematics find what they were made from."""
    tau = kt.inverse_dynamics(mechanism, q, qd, qdd)
    M = kt.mass_matrix(mechanism, q)
    if np.linalg.cond(M) < 1e7:
        _near(kt.forward_dynamics(mechanism, q, qd, tau), qdd, 1e-6, "forward dynamics")
        slopes = kt.forward_dynamics_derivatives(mechanism, q, qd, tau)
        other = kt.inverse_dynamics_derivatives(mechanism, q, qd, qdd)
        _near(M @ slopes.dqdd_dq, -other.dtau_dq, 1e-6, "derivatives of forward dynamics by q")
        _near(M @ slopes.dqdd_dqd, -other.dtau_dqd, 1e-6, "derivatives of forward dynamics by qd")
        names = np.array(mechanism.joint_names)
        known = rng.random(len(q)) < 0.5
        part = kt.analysis.hybrid_dynamics(mechanism, q, qd, qdd, tau, prescribed=names[known].tolist())
        _near(part.qdd, qdd, 1e-6, "hybrid dynamics: accelerations")
        _near(part.tau, tau, 1e-6, "hybrid dynamics: torques")
    body = mechanism.body_names[-1]
    wanted = kt.forward_kinematics(mechanism, q)[body][1]
    found = kt.inverse_kinematics(
        mechanism, kt.analysis.Target(body, wanted), q + 0.01 * rng.standard_normal(len(q)), limits=False
    )
    there = kt.forward_kinematics(mechanism, found.q)[body][1]
    if found.converged and np.abs(there - wanted).max() > 1e-6:
        raise WrongAnswerError("inverse kinematics says converged elsewhere")


def _at(q: Array, qd: Array, qdd: Array, h: float) -> Array:
    return q + h * qd + 0.5 * h**2 * qdd


def _central(f: Any, x: Any, along: Any) -> Array:
    """Five-point differences of f along a direction."""
    h = STEP
    near = np.asarray(f(x + h * along)) - np.asarray(f(x - h * along))
    far = np.asarray(f(x + 2 * h * along)) - np.asarray(f(x - 2 * h * along))
    return (8.0 * near - far) / (12.0 * h)


def _near(a: Array, b: Array, close: float, what: str, scale: float = 0.0) -> None:
    size = max(float(np.abs(b).max(initial=0.0)), float(np.abs(a).max(initial=0.0)), scale, 1e-3)
    if not np.isfinite(a).all() or not np.abs(a - b).max(initial=0.0) <= close * size:
        apart = float(np.abs(a - b).max(initial=0.0))
        raise WrongAnswerError(f"{what}: {apart:.3g} apart, of {size:.3g}")
