"""What every predicted motion on feet is checked for; each task brings its own tolerances.

Checks are made between the instants at which a search enforces its conditions, so each tolerance is what may
be exceeded there. Forces are relative to the weight, torques to their limits.
"""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.kinematics import body_accelerations
from kinetree.result.records import Check
from kinetree.tasks.sampled import SampledMotion

CARRIES = 0.05  # of the weight: a foot that carries less has neither friction nor support to exceed
EXACT = 1e-8  # relative: what balances may be off by rounding


def torque_excess(tau: Array, low: Array, high: Array, size: Array) -> Array:
    """By how much torques (m, joints) exceed their limits, relative to ``size``; negative within them."""
    found: Array = np.maximum(low - tau, tau - high) / size
    return found


def torque_check(excess: Array, tolerance: float) -> Check:
    """Whether torques stay within their limits, from `torque_excess` (m, joints)."""
    words = f"torques stay within their limits at {len(excess)} instants; excess relative to the limit"
    return Check.within(max(float(excess.max()), 0.0), tolerance, "1", words)


def pull(normal: Array, weight: float) -> Array:
    """How much the ground pulls, from its normal forces; zero where it pushes."""
    return np.maximum(-normal, 0.0) / weight


def pushing_check(normal: Array, weight: float, tolerance: float) -> Check:
    """Whether the ground only pushes, from its normal force on each foot."""
    words = "the ground only pushes; pull relative to the weight"
    return Check.within(float(pull(normal, weight).max(initial=0.0)), tolerance, "1", words)


def friction_used(normal: Array, across: Array, weight: float) -> Array:
    """The coefficient of friction that each foot needs, zero where it does not carry."""
    carries = normal > CARRIES * weight
    return np.where(carries, across / np.where(carries, normal, 1.0), 0.0)


def friction_check(used: Array, allowed: float, slack: float) -> Check:
    """Whether friction holds: the coefficient that is needed, at most ``slack`` above the one there is."""
    words = f"the coefficient of friction that is needed; the ground has {allowed:g}"
    return Check.within(float(used.max(initial=0.0)), (1.0 + slack) * allowed, "1", words)


def unsupported_check(residual: float, tolerance: float) -> Check:
    """Whether only the ground supports a body, from the largest force that would have to act on its root."""
    words = "only the ground supports the body; residual relative to the weight"
    return Check.within(residual, tolerance, "1", words)


def outside(point: Array, lower: Array, upper: Array) -> Array:
    """How far points (m, 2) are outside of a rectangle, (m,); zero inside."""
    found: Array = np.maximum(np.maximum(lower - point, point - upper).max(axis=-1), 0.0)
    return found


def momentum_rate(motion: SampledMotion) -> Array:
    """Rate of the momentum of all bodies, (m, 3) in N: the sum of m_k a_k."""
    mechanism = motion.mechanism
    moved = body_accelerations(mechanism, motion.q, motion.qd, motion.qdd)
    rate = np.zeros((len(motion.s), 3))
    for link in mechanism.links:
        inertia = link.body.inertia
        if inertia.mass:
            r = motion.poses[link.body.name][0] @ inertia.center
            w, a = motion.twist(link.body.name)[:, 3:], moved[:, mechanism.body_index(link.body.name)]
            rate += inertia.mass * (a[:, :3] + np.cross(a[:, 3:], r) + np.cross(w, np.cross(w, r)))
    return rate


def momentum_check(motion: SampledMotion, force: Array) -> Check:
    """Rate of momentum minus the ground force (m, 3) and the weight, relative to the weight."""
    weight = motion.mechanism.mass * motion.mechanism.gravity
    apart = np.abs(momentum_rate(motion) - force - weight).max() / np.linalg.norm(weight)
    words = "change of momentum equals ground reaction plus weight; residual relative to the weight"
    return Check.within(float(apart), EXACT, "1", words)
