"""Whether a fixed step is short enough for the fastest answer of the system, before any step is taken."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.inverse import mass_matrix
from kinetree.analysis.kinematics import forward_kinematics, jacobian
from kinetree.errors import InputError
from kinetree.simulation.contact import contact_forces
from kinetree.simulation.ground import Ground
from kinetree.simulation.options import FIXED, Options
from kinetree.simulation.stiffness import LIMITS, eigenvalues, slopes
from kinetree.simulation.system import System

HOPELESS = 2.0  # times the longest stable step


def check_step(system: System, ground: Ground | None, options: Options, y: Array) -> tuple[str, ...]:
    """Messages about a step that is too long at the state y (size,); an error if contact would explode.

    With a ground all contact points are taken to touch it: (k, c) of the ground over the mass that the
    mechanism has at the points, M^-1 J^T (k, c) J, tell how fast it answers.
    """
    found = slopes(system, 0.0, y) if options.method in FIXED else None
    if found is None:
        return ()
    limit, stated = LIMITS[options.method], []
    law = _fastest(found)
    if options.step * law > limit:
        stated.append(_sentence(options, law, limit, "the torque law and the joints respond"))
    if ground is not None:
        touched = _fastest(_engaged(system, ground, y, found))
        sentence = _sentence(options, touched, limit, "the ground responds to contact points")
        if touched > law and options.step * touched > HOPELESS * limit:
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


def _engaged(system: System, ground: Ground, y: Array, found: Array) -> Array:
    """The slopes with the points that are still in the air on the ground as well."""
    mechanism, at, n = system.mechanism, system.at, system.n
    q, qd = y[at.q], y[at.qd]
    now = contact_forces(mechanism, ground, q, qd)
    soils = [ground.soil, *(region.soil for region in ground.regions if region.soil is not None)]
    columns = [soil.columns(mechanism) for soil in soils]
    k, c, s = (max(column[name] for column in columns) for name in ("stiffness", "damping", "slipping"))
    frame = np.stack(ground.frame(mechanism))
    spring, damper = np.zeros((n, n)), np.zeros((n, n))
    points = {point.name: point for point in mechanism.contact_points}
    for name, touches in zip(now.names, now.touching.tolist(), strict=True):
        if touches:
            continue
        point = points[name]
        R, _ = forward_kinematics(mechanism, q)[point.body]
        J = frame @ jacobian(mechanism, q, point.body, point.lowest(frame[0] @ R))[:3]
        spring += k * np.outer(J[0], J[0])
        damper += c * np.outer(J[0], J[0]) + s * J[1:].T @ J[1:]
    M = mass_matrix(mechanism.opened(), q)
    J = found.copy()
    J[:n, at.q] -= np.linalg.solve(M, spring)
    J[:n, at.qd] -= np.linalg.solve(M, damper)
    return J
