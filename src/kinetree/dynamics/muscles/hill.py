"""Forces of Hill type muscles from lengths, rates and activations, for batches of states.

With pennation alpha the fibers keep their thickness, l_M sin(alpha) = l_o sin(alpha_o); along the tendon they
are x = l_M cos(alpha) long. A rigid tendon has x = l - l_s. An elastic one is in equilibrium with the fibers,

    (a f_l(l_M) f_v(v_M) + f_p(l_M) + beta v_M) cos(alpha) = f_t((l - x) / l_s),    v_M = dl/dt cos(alpha),

where the rate of the tendon's own stretch is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinetree.algebra.arrays import Array
from kinetree.dynamics.muscles.curves import KINDS, Curves
from kinetree.model.mechanism import Mechanism
from kinetree.model.muscle import Muscle

Flags = NDArray[np.bool_]
SHORTEST = 1e-2  # optimal lengths along the tendon: fibers of elastic tendons are never shorter
ITERATIONS = 80
CLOSE = 1e-13  # of the greatest force: where the equilibrium is found


@dataclass(frozen=True, eq=False)
class HillTables:
    """Numbers of all muscles (k,), and which of them share curves."""

    force: Array
    optimal: Array
    slack: Array
    thickness: Array  # m, of the fibers: optimal length times sine of pennation
    fastest: Array  # m/s
    rigid: Flags
    mass: Array
    slow: Array
    alike: tuple[tuple[Array, Curves], ...]


def hill_tables(mechanism: Mechanism) -> HillTables:
    """The tables of a mechanism, made once and kept with its tree."""
    values = mechanism.tree.kept.values
    if hill_tables not in values:
        values.setdefault(hill_tables, _tables(mechanism.muscles))
    found: HillTables = values[hill_tables]
    return found


def _tables(muscles: tuple[Muscle, ...]) -> HillTables:
    def of(name: str) -> Array:
        return np.array([getattr(muscle, name) for muscle in muscles])

    sets: dict[object, list[int]] = {}
    for k, muscle in enumerate(muscles):
        sets.setdefault((muscle.kind, muscle.curves), []).append(k)
    alike = tuple(
        (np.array(rows), KINDS[muscles[rows[0]].kind](muscles[rows[0]].curve_numbers))
        for rows in sets.values()
    )
    optimal = of("optimal_fiber_length")
    return HillTables(
        force=of("max_isometric_force"),
        optimal=optimal,
        slack=of("tendon_slack_length"),
        thickness=optimal * np.sin(of("pennation_angle")),
        fastest=of("max_contraction_velocity") * optimal,
        rigid=np.array([muscle.rigid_tendon for muscle in muscles], dtype=bool),
        mass=of("mass"),
        slow=of("slow_twitch"),
        alike=alike,
    )


@dataclass(frozen=True, eq=False)
class FiberState:
    """Fibers and tendons of all muscles (..., muscles): lengths (m), rates (m/s), forces (N).

    ``tendon_force`` is that along the path; ``active`` and ``passive`` are of the fibers, damping counted
    as passive; ``isometric`` is that of active fibers at rest.

    >>> import kinetree as kt
    >>> kt.muscles.forces(kt.zoo.muscle_arm(), [0.0, 1.0], [0.0, 0.0], 0.1).pennation.tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """

    tendon_force: Array
    fiber_length: Array
    fiber_velocity: Array
    pennation: Array
    active: Array
    passive: Array
    isometric: Array


def fibers_along(
    tables: HillTables, length: Array, rate: Array, activation: Array, along: Array
) -> FiberState:
    """The fibers where they are ``along`` (..., k) long along the tendon (m); tendon force from fibers."""
    fiber = np.sqrt(along * along + tables.thickness**2)
    cosine = along / np.maximum(fiber, 1e-300)
    velocity = rate * cosine
    active, passive, still = (np.zeros_like(fiber) for _ in range(3))
    for rows, curves in tables.alike:
        size, v = fiber[..., rows] / tables.optimal[rows], velocity[..., rows] / tables.fastest[rows]
        a = activation[..., rows]
        still[..., rows] = a * curves.active(size)[0]
        active[..., rows] = still[..., rows] * curves.velocity(v, a)[0]
        passive[..., rows] = curves.passive(size)[0] + curves.damping * v
    pull = (active + passive) * cosine * tables.force
    angle = np.arccos(np.clip(cosine, -1.0, 1.0))
    forces = (x * tables.force for x in (active, passive, still))
    return FiberState(pull, fiber, velocity, angle, *forces)


def fiber_state(tables: HillTables, length: Array, rate: Array, activation: Array) -> FiberState:
    """Forces at lengths, rates and activations (..., k): rigid tendons, and elastic ones in equilibrium.

    Where a path is shorter than the slack tendon with the shortest fibers, nothing pulls.
    """
    room = length - tables.slack
    least = np.where(tables.rigid, 0.0, SHORTEST * tables.optimal)
    along = np.where(tables.rigid, room, equilibrium(tables, length, rate, activation))
    slack = room <= least
    along = np.where(slack, np.maximum(least, 1e-9), along)
    found = fibers_along(tables, length, rate, activation, along)
    force = np.where(slack, 0.0, found.tendon_force)
    return FiberState(force, *(getattr(found, key) for key in _REST))


_REST = ("fiber_length", "fiber_velocity", "pennation", "active", "passive", "isometric")


def tendon_pull(tables: HillTables, stretched: Array) -> tuple[Array, Array]:
    """Forces of tendons in greatest forces at lengths in slack lengths, (..., k), and their slopes."""
    force, slope = np.zeros_like(stretched), np.zeros_like(stretched)
    for rows, curves in tables.alike:
        force[..., rows], slope[..., rows] = curves.tendon(stretched[..., rows])
    return force, slope


def equilibrium(tables: HillTables, length: Array, rate: Array, activation: Array) -> Array:
    """Lengths of the fibers along elastic tendons (..., k), by Newton's method held between its bounds."""
    low = np.broadcast_to(SHORTEST * tables.optimal, length.shape).copy()
    high = np.maximum(length - tables.slack, low)
    x = np.clip(length - 1.02 * tables.slack, low, high)
    slack = np.where(tables.slack > 0.0, tables.slack, 1.0)
    solved = tables.rigid | (tables.slack == 0.0)
    for _ in range(ITERATIONS):
        off, slope = _imbalance(tables, length, rate, activation, x, slack)
        low, high = np.where(off < 0.0, x, low), np.where(off > 0.0, x, high)
        new = x - off / np.where(slope > 0.0, slope, np.inf)
        new = np.where((new <= low) | (new >= high) | (slope <= 0.0), 0.5 * (low + high), new)
        settled = solved | (np.abs(off) < CLOSE) | (np.abs(new - x) < 1e-17)
        x = np.where(settled, x, new)
        if settled.all():
            break
    return np.where(tables.slack == 0.0, length, x)


def _imbalance(
    tables: HillTables, length: Array, rate: Array, activation: Array, x: Array, slack: Array
) -> tuple[Array, Array]:
    """Pull of the fibers less that of the tendon, in greatest forces, and its slope by x."""
    fiber = np.sqrt(x * x + tables.thickness**2)
    cosine, bend = x / fiber, tables.thickness**2 / fiber**3  # d cosine / dx
    velocity = rate * cosine
    force, slope = tendon_pull(tables, (length - x) / slack)
    off, grows = -force, slope / slack
    for rows, curves in tables.alike:
        size, v = fiber[..., rows] / tables.optimal[rows], velocity[..., rows] / tables.fastest[rows]
        a, c, c1 = activation[..., rows], cosine[..., rows], bend[..., rows]
        (fl, dfl), (fv, dfv), (fp, dfp) = curves.active(size), curves.velocity(v, a), curves.passive(size)
        dl, dv = c / tables.optimal[rows], rate[..., rows] * c1 / tables.fastest[rows]
        pull = a * fl * fv + fp + curves.damping * v
        by_x = (a * dfl * fv + dfp) * dl + (a * fl * dfv + curves.damping) * dv
        off[..., rows] += pull * c
        grows[..., rows] += by_x * c + pull * c1
    return off, grows


def activation_rates(muscles: tuple[Muscle, ...], excitation: Array, activation: Array) -> Array:
    """da/dt (..., k) (1/s) by Winters 1995 as Thelen 2003 has it; smoothed for De Groote and Fregly's muscle.

    With z = 1/2 + 3 a / 2: (u - a) / (T_a z) while u > a, (u - a) z / T_d else; smoothed between both by
    tanh((u - a) / 10) / 2 (De Groote et al. 2016, equation 1).
    """
    rise = np.array([muscle.activation_time for muscle in muscles])
    fall = np.array([muscle.deactivation_time for muscle in muscles])
    smooth = np.array([muscle.kind == "degroote2016" for muscle in muscles])
    z, more = 0.5 + 1.5 * activation, excitation - activation
    f = np.where(smooth, 0.5 * np.tanh(0.1 * more), np.where(more > 0.0, 0.5, -0.5))
    rate: Array = more * ((f + 0.5) / (rise * z) + (0.5 - f) * z / fall)
    return rate


REACHES = np.array([0.0, 0.5, 1.0, 1.5])  # optimal lengths
HOLDS = np.array([0.5, 0.5, 1.0, 0.0])  # share of maintenance heat there
LEAST_HEAT = 1.0  # W/kg


def metabolic_rates(tables: HillTables, state: FiberState, excitation: Array) -> Array:
    """Rates of energy (..., k) (W) by Bhargava, Pandy and Anderson 2004, without the basal rate.

    With r = s sin(pi u / 2) and t = (1 - s)(1 - cos(pi u / 2)) of slow and fast fibers, heat of activation
    40 r + 133 t and of maintenance 74 r + 111 t times a share that depends on the length, W/kg; heat of
    shortening (0.16 F_iso + 0.18 F) |v|, of lengthening -0.157 F |v|, F with passive forces; work of active
    fibers. Heat is at least 1 W/kg, and the sum not negative, as in OpenSim.
    """
    u = 0.5 * np.pi * excitation
    slow, fast = tables.slow * np.sin(u), (1.0 - tables.slow) * (1.0 - np.cos(u))
    share = np.interp(state.fiber_length / tables.optimal, REACHES, HOLDS)
    rise, hold = 40.0 * slow + 133.0 * fast, share * (74.0 * slow + 111.0 * fast)
    v, force = state.fiber_velocity, state.active + state.passive
    move = np.where(v <= 0.0, 0.16 * state.isometric + 0.18 * force, 0.157 * force) * -v
    work = -state.active * v
    heat = tables.mass * (rise + hold) + move
    heat = np.where(heat + work < 0.0, -work, heat)
    rate: Array = np.maximum(heat, LEAST_HEAT * tables.mass) + work
    return rate
