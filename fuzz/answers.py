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
    state = kt.random_state(mechanism, rng)
    q, qd, qdd = state.q, state.qd, state.qdd
    try:
        if mechanism.loops:
            return
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
        if x.size and (x.max() > 1e5 * max(1.0, x.min()) or x.max() / x.min() > SPREAD or x.max() > 1e7):
            return True
    inertia = np.abs(np.asarray([link.body.inertia.moment for link in mechanism.links]))
    largest = inertia.max(initial=0.0)
    small = inertia[inertia > 0.0].min(initial=largest)
    return bool(largest > 1e7 or (small > 0.0 and largest / small > SPREAD))
