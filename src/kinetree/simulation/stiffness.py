"""How fast a running system answers, and what that means for the steps of explicit methods.

Close to a state the system is e' = [[0, 1], [dqdd/dq, dqdd/dqd]] e. An explicit method follows a decay
exp(-r t) only with steps h < limit / r, however slow the motion itself is.
"""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.kernels.torque_law import AXIS, NO_MODEL
from kinetree.simulation.options import Options
from kinetree.simulation.system import RATES, System

# on the negative real axis
LIMITS = {"dop853": 6.0, "dopri5": 3.3, "rk4": 2.78, "semi_implicit_euler": 2.0}
DAMPED = 0.2  # share of the real part from which on an eigenvalue is a decay rather than an oscillation
CLOSE = 0.4  # share of the limit from which on steps count as bounded by it
STIFF_AT_START = 5000  # steps that stability asks for, at an rtol of 1e-8, from which on to begin with radau
WORTH = 1000  # steps still to come from which on it pays to change to radau
DIFFERENCE = 1e-6


def slopes(system: System, t: float, y: Array) -> tuple[Array, Array] | None:
    """dqdd/dq and dqdd/dqd (n, n) of one simulation at the state y (size,); None where there are none."""
    n, address = system.n, system.jacobian_address()
    if address is None:
        return _differences(system, t, y)
    state, A = np.array(y, dtype=np.float64), np.zeros((n, 2 * n))
    pointers = (x.ctypes.data for x in (state, A, system.context.memory))
    with system.by_state():
        answer = RATES(address)(t, *pointers)
    if answer != 0 or not np.isfinite(A).all():
        return None
    return A[:, :n].copy(), A[:, n:].copy()


def _differences(system: System, t: float, y: Array) -> tuple[Array, Array] | None:
    """The same by differences, for laws that are Python functions."""
    n = system.n
    base = accelerations(system, t, y)
    columns = []
    for k in range(2 * n):
        moved = np.array(y)
        moved[k] += DIFFERENCE * max(1.0, abs(moved[k]))
        qdd = accelerations(system, t, moved)
        if base is None or qdd is None:
            return None
        columns.append((qdd - base) / (moved[k] - y[k]))
    A = np.array(columns).T
    return (A[:, :n], A[:, n:]) if np.isfinite(A).all() else None


def accelerations(system: System, t: float, y: Array) -> Array | None:
    """The accelerations (n,) of the state y (size,); None where there are none."""
    rates = np.zeros(system.size)
    state = np.array(y, dtype=np.float64)
    pointers = (x.ctypes.data for x in (state, rates, system.context.memory))
    with system.by_state():
        answer = RATES(system.address("rates"))(t, *pointers)
    if answer != 0:
        system.problem = None  # it comes again, at the place where it is told
        return None
    return rates[system.n : 2 * system.n]


def eigenvalues(by_q: Array, by_qd: Array) -> Array:
    """Of the linearised system, (2 n,), in 1/s."""
    n = len(by_q)
    matrix = np.block([[np.zeros((n, n)), np.eye(n)], [by_q, by_qd]])
    values: Array = np.linalg.eigvals(matrix)
    return values


def fastest_decay(system: System, t: float, y: Array) -> float:
    """The largest |eigenvalue| (1/s) among those that decay."""
    found = slopes(system, t, y)
    if found is None:
        return 0.0
    values = eigenvalues(*found)
    decaying = -values.real > DAMPED * np.abs(values)
    return float(np.abs(values[decaying]).max(initial=0.0))


def steps_of_radau(options: Options) -> float:
    """How many more steps a method of order five takes than at an rtol of 1e-8."""
    return float((1e-8 / options.rtol) ** 0.2)


def chosen_method(system: System, options: Options, y: Array) -> str:
    """What "auto" means for a start in the state y (size,): explicit unless stability asks for many steps."""
    explicit = explicit_method(system)
    if nothing_decays(system):
        return explicit
    steps = fastest_decay(system, 0.0, y) * options.duration / LIMITS[explicit]
    return "radau" if steps > STIFF_AT_START * max(1.0, steps_of_radau(options)) else explicit


def explicit_method(system: System) -> str:
    """Of high order where all is smooth."""
    return "dopri5" if len(system.parts.points) else "dop853"


def nothing_decays(system: System) -> bool:
    """Whether nothing can damp the motion: no law, ground, springs, friction or stops."""
    if type(system) is not System or system.function is not None:
        return False
    parts, axes = system.parts, system.parts.axes
    gains = any(axes[:, AXIS.places[name][0]].any() for name in ("kp", "kd", "ki"))
    passive = axes.view(np.int64)[:, AXIS.places["passive"][0]].any()
    acting = parts.mode != NO_MODEL or parts.period > 0.0 or len(parts.points)
    return not (gains or passive or acting)


def is_stiff(system: System, options: Options, method: str, t: float, y: Array, step: float) -> bool:
    """Whether stability, not accuracy, keeps the steps (s) of an explicit method short, with many to come."""
    many = (options.duration - t) / step >= WORTH * max(1.0, steps_of_radau(options))
    if not many or nothing_decays(system):
        return False
    return step * fastest_decay(system, t, y) > CLOSE * LIMITS[method]
