"""Whether a robot can leave the ground upright from feet that rest: how fast its trunk would have to rotate.

A leap that comes down where it began is the same backwards in time, so it has no angular momentum about
its center of mass. Legs that stretch have some: the weight they lift is not in one line with their joints;
the trunk must take it, and a trunk of little inertia spins.
"""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.energy import center_of_mass, momentum
from kinetree.analysis.kinematics import jacobian
from kinetree.analysis.legged_stance import AXES, LeggedStance
from kinetree.errors import InputError

SMALL = 1e-9  # weight of all rates beside that of the trunk's rotation
MET = 1e-6  # how well conditions are met
TURNS = np.pi  # rad: a trunk that would rotate so far before the top of its flight cannot stay upright


def takeoff_rates(who: LeggedStance, led: list[str], speed: float) -> Array | None:
    """Rates (n_dof,) of standing on all feet with the center of mass rising at ``speed`` (m/s).

    Without angular momentum about it, and with the least rotation of the trunk; ``led`` coordinates move, and
    twins with them. None where there are no such rates.
    """
    mechanism, n = who.mechanism, who.mechanism.n_dof
    index = mechanism.joint_index
    moves = np.zeros((n, len(led)))
    for k, name in enumerate(led):
        moves[index(name), k] = 1.0
        for twin, (leads, sign) in who.twins.items():
            if leads == name:
                moves[index(twin), k] = sign
    center = center_of_mass(mechanism, who.stance)
    rows = [
        jacobian(mechanism, who.stance, foot.body, foot.points[j])[AXES.index(axis)]
        for foot in who.feet
        for j, axis in who.held_rows(foot, held=who.held)
    ]
    total = np.stack([momentum(mechanism, who.stance, x, about=center) for x in np.eye(n)], axis=1)
    up, ahead, across = (AXES.index(x) for x in (who.up, who.forward, who.across))
    rows += [total[up] / mechanism.mass, total[ahead] / mechanism.mass, total[3 + across]]
    A = np.stack(rows) @ moves
    b = np.zeros(len(A))
    b[-3] = speed
    H = SMALL * np.eye(len(led)) + np.diag([1.0 if x in who.turns else 0.0 for x in led])
    root = np.linalg.cholesky(np.linalg.inv(H))
    rates: Array = moves @ root @ np.linalg.lstsq(A @ root, b, rcond=1e-10)[0]
    gap = np.stack(rows) @ rates - b
    return rates if np.abs(gap).max() < MET * max(speed, 1.0) else None


def check_takeoff(who: LeggedStance, led: list[str], speed: float, flight: float) -> None:
    """An error where the trunk would rotate half a turn before the top of a ``flight`` (s)."""
    rates = takeoff_rates(who, led, speed)
    if rates is None:
        return
    spin = max((abs(float(rates[who.mechanism.joint_index(x)])) for x in who.turns), default=0.0)
    if 0.5 * spin * flight < TURNS:
        return
    raise InputError(
        f"leap: '{who.mechanism.name}' cannot leave the ground upright: as its legs stretch, the trunk "
        f"'{who.mechanism.links[0].body.name}' would have to rotate at {spin:.0f} rad/s to leave at "
        f"{speed:.2g} m/s without angular momentum. Take a trunk with more inertia, lighter legs, or a lower "
        "height"
    )
