"""How fast a running system answers, and what that means for the steps of explicit methods.

Close to a state the system is e' = [[0, 1], [dqdd/dq, dqdd/dqd]] e. An explicit method follows a decay
exp(-r t) only with steps h < limit / r, however slow the motion itself is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.kernels.torque_law import AXIS, NO_MODEL
from kinetree.simulation.settings import Method, Options
from kinetree.simulation.system import RATES, System

# on the negative real axis
LIMITS = {"dop853": 6.0, "dopri5": 3.3, "rk4": 2.78, "semi_implicit_euler": 2.0}
DAMPED = 0.2  # share of the real part from which on an eigenvalue is a decay rather than an oscillation
CLOSE = 0.4  # share of the limit from which on steps count as bounded by it
STIFF_AT_START = 5000  # steps that stability asks for, at an rtol of 1e-8, from which on to begin with radau
WORTH = 1000  # steps still to come from which on it pays to change to radau
DIFFERENCE = 1e-6


def slopes(system: System, t: float, y: Array) -> Array | None:
    """Slopes of accelerations and of components' states, by positions, velocities and these states.

    (n + more, 2 n + more), of one simulation at the state y (size,); None where there are none.
    """
    at, address = system.at, system.jacobian_address()
    if address is None:
        return differences(system, t, y)
    state, J = np.array(y, dtype=np.float64), np.zeros((at.n + at.n_more, at.n_moving))
    pointers = (x.ctypes.data for x in (state, J, system.context.memory))
    with system.by_state():
        answer = RATES(address)(t, *pointers)
    return J if answer == 0 and np.isfinite(J).all() else None


def differences(system: System, t: float, y: Array) -> Array | None:
    """Slopes by differences, for laws that are Python functions and for mimic joints."""
    at = system.at
    base = _rates(system, t, y)
    columns = []
    for k in range(at.n_moving):
        moved = np.array(y)
        moved[k] += DIFFERENCE * max(1.0, abs(moved[k]))
        dy = _rates(system, t, moved)
        if base is None or dy is None:
            return None
        columns.append((dy - base)[at.n : at.n_moving] / (moved[k] - y[k]))
    J = np.array(columns).T
    return J if np.isfinite(J).all() else None


def accelerations(system: System, t: float, y: Array) -> Array | None:
    """The accelerations (n,) of the state y (size,); None where there are none."""
    rates = _rates(system, t, y)
    return None if rates is None else rates[system.at.qd]


def _rates(system: System, t: float, y: Array) -> Array | None:
    """The rates (size,) of the state y (size,); None where there are none."""
    rates = np.zeros(system.size)
    state = np.array(y, dtype=np.float64)
    pointers = (x.ctypes.data for x in (state, rates, system.context.memory))
    with system.by_state():
        answer = RATES(system.address("rates"))(t, *pointers)
    if answer != 0:
        system.problem = None  # it comes again, at the place where it is reported
        return None
    return rates


def eigenvalues(J: Array) -> Any:
    """Of the linearized system with the `slopes` J (n + more, 2 n + more), in 1/s."""
    n = J.shape[1] - J.shape[0]
    speeds = np.eye(n, J.shape[1], n)  # positions change by velocities
    return np.asarray(np.linalg.eigvals(np.vstack([speeds, J])))


def fastest_decay(system: System, t: float, y: Array) -> float:
    """The largest |eigenvalue| (1/s) among those that decay."""
    found = slopes(system, t, y)
    if found is None:
        return 0.0
    values = eigenvalues(found)
    decaying = -values.real > DAMPED * np.abs(values)
    return float(np.abs(values[decaying]).max(initial=0.0))


def steps_of_radau(options: Options) -> float:
    """How many more steps a method of order five takes than at an rtol of 1e-8."""
    return float((1e-8 / options.rtol) ** 0.2)


def chosen_method(system: System, options: Options, y: Array) -> Method:
    """What "auto" means for a start in the state y (size,): explicit unless stability asks for many steps."""
    explicit = explicit_method(system)
    if nothing_decays(system):
        return explicit
    steps = fastest_decay(system, 0.0, y) * options.duration / LIMITS[explicit]
    return "radau" if steps > STIFF_AT_START * max(1.0, steps_of_radau(options)) else explicit


def explicit_method(system: System) -> Method:
    """Of high order where all is smooth."""
    return "dopri5" if len(system.parts.points) else "dop853"


def nothing_decays(system: System) -> bool:
    """Whether nothing can damp the motion: no law, ground, springs, friction or stops."""
    if system.is_called or system.at.n_more:
        return False
    parts, axes = system.parts, system.parts.axes
    gains = any(axes[:, AXIS.places[name][0]].any() for name in ("kp", "kd", "ki"))
    passive = axes.view(np.int64)[:, AXIS.places["passive"][0]].any()
    acting = parts.mode != NO_MODEL or parts.period > 0.0 or len(parts.points)
    acting = acting or any(part.damps for part in parts.components)
    return not (gains or passive or acting)


def is_stiff(system: System, options: Options, method: str, t: float, y: Array, step: float) -> bool:
    """Whether stability, not accuracy, keeps the steps (s) of an explicit method short, with many to come."""
    many = (options.duration - t) / step >= WORTH * max(1.0, steps_of_radau(options))
    if not many or nothing_decays(system):
        return False
    return step * fastest_decay(system, t, y) > CLOSE * LIMITS[method]
