"""Whether a fixed step is short enough for the fastest answer of the system, before any step is taken."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.inverse import mass_matrix
from kinetree.analysis.kinematics import forward_kinematics, jacobian
from kinetree.errors import InputError
from kinetree.simulation.ground import Ground
from kinetree.simulation.settings import FIXED, Options
from kinetree.simulation.stiffness import LIMITS, eigenvalues, slopes
from kinetree.simulation.system import System

HOPELESS = 5.0  # times the longest stable step, from which on a landing gains energy


def check_step(system: System, ground: Ground | None, options: Options, y: Array) -> tuple[str, ...]:
    """Messages about a step that is too long at the state y (size,); an error if contact would explode.

    With a ground every contact point is taken to touch it alone: spring and damper (k, c) of the ground with
    the mass 1 / (J M^-1 J^T) that the mechanism has there, along the normal, tell how fast it answers.
    Friction does not count: where its slope is too steep for the step, it is held by its limit.
    """
    found = slopes(system, 0.0, y) if options.method in FIXED else None
    if found is None:
        return ()
    limit, stated = LIMITS[options.method], []
    law = _fastest(found)
    if options.step * law > limit:
        what = "the torque law and the joints respond"
        if ground is not None:
            what = "the torque law, the joints and what touches the ground respond"
        stated.append(_sentence(options, law, limit, what))
    if ground is not None:
        touched = _fastest_contact(system, ground, y)
        sentence = _sentence(options, touched, limit, "the ground responds to contact points")
        if options.step * touched > HOPELESS * limit:
            raise InputError(f"{sentence}; or choose a softer ground, or the method 'radau'")
        if touched > law and options.step * touched > limit:
            stated.append(sentence)
    return tuple(stated)


def _sentence(options: Options, rate: float, limit: float, what: str) -> str:
    return (
        f"a step of {options.step:g} s is too long for '{options.method}': {what} with rates up to "
        f"{rate:.3g} per second; steps below {limit / rate:.2g} s are stable"
    )


def _fastest(J: Array) -> float:
    """The largest |eigenvalue| (1/s) among those that do not grow."""
    values = eigenvalues(J)
    return float(np.abs(values[values.real <= 1e-6 * np.abs(values)]).max(initial=0.0))


def _fastest_contact(system: System, ground: Ground, y: Array) -> float:
    """The largest |root| (1/s) of s^2 + (c s + k) / m at any contact point with its mass m."""
    mechanism, q = system.mechanism, y[system.at.q]
    soils = [ground.soil, *(region.soil for region in ground.regions if region.soil is not None)]
    columns = [soil.columns(mechanism) for soil in soils]
    k, c = (max(column[name] for column in columns) for name in ("stiffness", "damping"))
    normal = ground.frame(mechanism)[0]
    M, poses = mass_matrix(mechanism.opened(), q), forward_kinematics(mechanism, q)
    ease = 0.0  # 1 / kg
    for point in mechanism.contact_points:
        R, _ = poses[point.body]
        J = normal @ jacobian(mechanism, q, point.body, point.lowest(normal @ R))[:3]
        ease = max(ease, float(J @ np.linalg.solve(M, J)))
    return float(np.abs(np.roots([1.0, c * ease, k * ease])).max())
