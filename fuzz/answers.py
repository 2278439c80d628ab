"""Answers of a mechanism that was accepted, compared with answers found another way."""

from __future__ import annotations

import warnings

import numpy as np

import kinetree as kt
from fuzz.runner import WrongAnswerError

CLOSE = 1e-7  # relative, for torques that are sums of terms of very different sizes
SPREAD = 1e10  # of masses and lengths: beyond, rounding decides
MOST = 60  # degrees of freedom


def compare(mechanism: kt.Mechanism, rng: np.random.Generator) -> None:
    """Torques by the kernels against plain spatial vectors, and accelerations that give them back."""
    if mechanism.n_dof == 0 or mechanism.n_dof > MOST or _is_extreme(mechanism):
        return
    if mechanism.loops:
        _compare_loops(mechanism, rng)
        return
    state = kt.random_state(mechanism, rng)
    q, qd, qdd = state.q, state.qd, state.qdd
    try:
        tau = kt.inverse_dynamics(mechanism, q, qd, qdd)
        parts = kt.mass_matrix(mechanism, q) @ qdd, kt.bias_torque(mechanism, q, qd)
    except kt.KinetreeError:
        return  # refused with a reason
    scale = max(float(np.abs(parts[0]).max(initial=0.0)), float(np.abs(parts[1]).max(initial=0.0)), 1e-9)
    scale = max(scale, _reach(mechanism) * 1e-3)
    _same(tau, parts[0] + parts[1], scale, "inverse dynamics is not M qdd + b")
    for formulation in ("plain", "newton_euler"):
        try:
            other = kt.inverse_dynamics(mechanism, q, qd, qdd, formulation=formulation)
        except (kt.KinetreeError, NotImplementedError):
            continue
        _same(tau, other, scale, f"inverse dynamics differs from '{formulation}'")
    energy = kt.kinetic_energy(mechanism, q, qd)
    by_matrix = 0.5 * qd @ kt.mass_matrix(mechanism, q) @ qd
    _same(np.array(energy), np.array(by_matrix), max(abs(by_matrix), 1e-9), "kinetic energy")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = kt.forward_dynamics(mechanism, q, qd, tau)
            again = kt.inverse_dynamics(mechanism, q, qd, found)
    except kt.KinetreeError:
        return
    _same(tau, again, scale, "forward dynamics does not give the torques back")


def _compare_loops(mechanism: kt.Mechanism, rng: np.random.Generator) -> None:
    """Accelerations of closed loops against the opened tree: N^T (M qdd + b - tau) = 0, J qdd = -J' qd.

    N spans the motions that the loops allow, J N = 0.
    """
    try:
        q = kt.loops.assemble(mechanism, kt.random_state(mechanism, rng).q)
        J = _gap_slopes(mechanism, q)
        _, sizes, Vt = np.linalg.svd(J)
        rank = int((sizes > 1e-5 * max(sizes.max(initial=0.0), 1.0)).sum())
        if sizes[:rank].min(initial=1.0) < 1e-2 or rank < kt.loops.structure(mechanism).rank:
            return  # near a singular position errors grow
        N = Vt[rank:].T
        qd, tau = N @ rng.normal(size=N.shape[1]), rng.normal(size=mechanism.n_dof) * mechanism.driven
        qdd = kt.forward_dynamics(mechanism, q, qd, tau)
        tree = mechanism.opened()
        force = kt.mass_matrix(tree, q) @ qdd + kt.bias_torque(tree, q, qd) - tau
    except kt.KinetreeError:
        return  # refused with a reason
    scale = max(float(np.abs(force).max(initial=0.0)), float(np.abs(tau).max(initial=0.0)), 1e-6)
    if not any(np.any(x) for loop in mechanism.loops for x in _own_forces(loop.joint)):
        _same(N.T @ force, np.zeros(N.shape[1]), 1e2 * scale, "loops: motion along the loops is not balanced")
    h = 1e-4
    gaps = [kt.loops.gap(mechanism, x) for x in (q + h * qd, q, q - h * qd)]
    rate = (gaps[0] - 2.0 * gaps[1] + gaps[2]) / h**2
    scale = max(float(np.abs(qdd).max(initial=0.0)), float(np.abs(rate).max(initial=0.0)), 1.0)
    _same(J @ qdd, -rate, 1e3 * scale, "loops: accelerations open them")


def _own_forces(joint: kt.Joint) -> tuple[np.ndarray, ...]:
    """Friction and springs of a cut joint, which the opened tree does not have."""
    return joint.viscous, joint.coulomb, joint.coulomb_reverse, joint.stiffness


def _gap_slopes(mechanism: kt.Mechanism, q: np.ndarray) -> np.ndarray:
    """Slopes of the gaps of loops by differences, (rows, n_dof)."""
    steps = 1e-6 * np.eye(len(q))
    slopes = kt.loops.gap(mechanism, q + steps) - kt.loops.gap(mechanism, q - steps)
    return np.asarray(slopes.T / 2e-6)


def _same(a: np.ndarray, b: np.ndarray, scale: float, what: str) -> None:
    if not np.isfinite(a).all():
        raise WrongAnswerError(f"{what}: not finite: {a}")
    apart = float(np.abs(a - b).max(initial=0.0))
    if not apart <= CLOSE * scale:
        raise WrongAnswerError(f"{what}: {apart:.3g} apart, of {scale:.3g}")


def _reach(mechanism: kt.Mechanism) -> float:
    tree = mechanism.tree
    g = float(np.linalg.norm(mechanism.gravity))
    return float(tree.mass.sum() * g * np.abs(tree.position).sum())


def _is_extreme(mechanism: kt.Mechanism) -> bool:
    """Whether rounding, and no fault, would decide the comparison."""
    tree = mechanism.tree
    sizes = [tree.mass[tree.mass > 0.0], np.abs(tree.position[tree.position != 0.0])]
    sizes += [np.array([np.linalg.norm(mechanism.gravity)]), tree.stiffness[tree.stiffness > 0.0]]
    for x in sizes:
        x = x[x > 0.0]
        if x.size and (x.max() > 1e5 * max(1.0, x.min()) or x.max() / x.min() > SPREAD or x.max() > 1e7):
            return True
    inertia = np.abs(np.asarray([link.body.inertia.moment for link in mechanism.links]))
    largest = inertia.max(initial=0.0)
    small = inertia[inertia > 0.0].min(initial=largest)
    return bool(largest > 1e7 or (small > 0.0 and largest / small > SPREAD))
