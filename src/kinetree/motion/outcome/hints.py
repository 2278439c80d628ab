"""What is odd about a motion: joints that whirl, poses that only a swing passes, limits too low for any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import listed
from kinetree.motion.outcome.conflicts import TORQUE_LIMIT, allowed, holding_torques, limits_of, torque_limits
from kinetree.motion.outcome.verify import Verification, Violation
from kinetree.motion.problem.problem import Problem
from kinetree.motion.search.start import straight_line
from kinetree.motion.terms.apart import KeepApart, KeepOutBox
from kinetree.motion.terms.contract import Rows, unit_of
from kinetree.motion.terms.limits import JointLimits
from kinetree.motion.terms.reach import GroundClearance, KeepOut

WHIRL = 2.0 * np.pi  # rad that a joint may turn further than its boundary conditions ask for
OBSTACLES = {KeepOut.family, KeepOutBox.family, KeepApart.family, GroundClearance.family}
DETOUR = 1.3  # objectives relative to the straight motion from which another way may be better
QUICKEST, DURATIONS = 0.2, 24  # of the straight motion beside the one found: the shortest, and how many
BEYOND = 1e-3  # of a torque limit by which a pose must be too heavy


def whirling(problem: Problem, check: Verification) -> Iterator[str]:
    """Joints without limits that go round and round: light bodies that others push themselves off."""
    setting, known = problem.setting, problem.known_positions()
    limited = {
        label for rows in problem.bounded if rows.family == JointLimits.family for label in rows.labels
    }
    found = []
    for joint, column in setting.column.items():
        name = setting.mechanism.joint_names[joint]
        if name in limited or setting.units([joint], "rad", "m") != ["rad"]:
            continue
        asked = [q for _, q in known.get(column, [])]
        turned, needed = (float(np.ptp(x)) if len(x) else 0.0 for x in (check.q[:, joint], asked))
        if turned > needed + WHIRL:
            found.append(f"'{name}' by {turned:.2g} rad")
    if found:
        yield (
            f"Nothing limits the positions of joints that make full revolutions ({', '.join(found)}): "
            "add JointLimits(lower=..., upper=...), or some 1e-4 * Jerk() to the objective."
        )


def swinging(problem: Problem, x: Array, check: Verification) -> Iterator[str]:
    """Poses on the way that are too heavy to hold: each number of swings has a best motion of its own."""
    if problem.acting:
        return  # forces that are sought may hold them
    unknowns = problem.setting.unknowns
    tau = holding_torques(problem, unknowns.at(check.s).motion(x), check.s)
    for rows, function in torque_limits(problem):
        if np.ndim(rows.upper) > 1 or len(rows.s) < 2:
            continue
        held = tau[:, function.rows]
        low, high, scale = (np.asarray(x, dtype=np.float64) for x in (rows.lower, rows.upper, rows.scale))
        excess = np.maximum(held - high, low - held) / scale
        m, k = (int(i) for i in np.unravel_index(int(excess.argmax()), excess.shape))
        if excess[m, k] > BEYOND:
            t, takes = check.s[m] * unknowns.duration_of(x), f"{held[m, k]:.3g} {unit_of(rows, k)}"
            yield (
                f"{rows.labels[k]} swings through poses it cannot hold (at {t:.3g} s that takes {takes}): "
                "another number of swings may be better; predict(problem, starts=10) tries several."
            )
            return


def detouring(problem: Problem, x: Array) -> Iterator[str]:
    """Obstacles that make a motion far dearer than the straight one through them: there are other ways."""
    program, unknowns = problem.program, problem.setting.unknowns
    families = [name for name in program.families() if name in OBSTACLES]
    low, high = problem.setting.duration
    if not families or problem.acting or problem.setting.closure is not None:
        return
    ours = np.ones(program.m, dtype=bool)
    for name in families:
        ours[program.families()[name]] = False
    T, cost = unknowns.duration_of(x), program.cost(program.reduced(x))
    line, best = _eased(problem, straight_line(problem, T)), np.inf
    for duration in np.unique(np.clip(T * np.geomspace(QUICKEST, 1.0, DURATIONS), low, high)):
        z = program.reduced(unknowns.with_duration(line, float(duration)))
        g = program.constraints(z)
        if (np.maximum(program.lower - g, g - program.upper)[ours] <= BEYOND).all():
            best = min(best, program.cost(z))
    if cost > DETOUR * best:
        yield (
            f"Through the obstacles ({listed(families)}), a straight motion would cost {best:.3g} instead of "
            f"{cost:.3g}: another way around them may be better; predict(problem, starts=6) tries several."
        )


def _eased(problem: Problem, x: Array) -> Array:
    """The same path with constant acceleration up to the middle of the time, and deceleration from there."""
    unknowns, at = problem.setting.unknowns, problem.basis.greville
    ahead = np.where(at < 0.5, 2.0 * at**2, 1.0 - 2.0 * (1.0 - at) ** 2)
    points = unknowns.control_points(x)
    eased = np.stack([np.interp(ahead, at, column) for column in points.T], axis=1)
    return unknowns.joined(eased, unknowns.duration_of(x))


def undriven(problem: Problem) -> dict[str, str]:
    """Joints that may exert only one torque all the time, and which; none where forces are sought."""
    found: dict[str, str] = {}
    if problem.acting:
        return found  # they may drive any joint
    for rows, function in torque_limits(problem):
        low, high = limits_of(rows)
        for k in range(function.size):
            if len(rows.s) > 1 and (low[:, k] == high[:, k]).all() and np.ptp(low[:, k]) == 0.0:
                found[rows.labels[k]] = f"{low[0, k]:g} {unit_of(rows, k)}"
    return found


def too_weak(problem: Problem, x: Array, violated: Sequence[Violation]) -> Iterator[str]:
    """Joints whose torque limits cannot do what is asked: not driven at all, or too weak for their poses."""
    still = [f"{joint} ({torque})" for joint, torque in undriven(problem).items()]
    if still:
        yield (
            f"{TORQUE_LIMIT}: joints whose lower and upper torque limits are equal are not driven: "
            f"{listed(still)}; allow a range, such as TorqueLimits(upper=1.0), or leave their motion free."
        )
    worst = {v.label: v for v in reversed(violated) if v.family == TORQUE_LIMIT}
    for rows, function in torque_limits(problem):
        for k, label in enumerate(rows.labels):
            if label in worst:
                yield from _too_heavy_there(problem, x, worst[label], rows, k, int(function.rows[k]))


def _too_heavy_there(
    problem: Problem, x: Array, worst: Violation, rows: Rows, k: int, row: int
) -> Iterator[str]:
    """What the pose takes in which a limit is exceeded most, if that alone is too much."""
    if problem.acting:
        return  # forces that are sought may help to hold it
    unknowns = problem.setting.unknowns
    s = worst.t / unknowns.duration_of(x)
    tau = holding_torques(problem, unknowns.at([s]).motion(x), np.array([s]))[0, row]
    low, high = (bounds[int(np.abs(rows.s - s).argmin()), k] for bounds in limits_of(rows))
    if not low - BEYOND * abs(low) <= tau <= high + BEYOND * abs(high):
        yield (
            f"{TORQUE_LIMIT}, {worst.label}: holding the pose at t = {worst.t:.4g} s against gravity "
            f"and loads takes {tau:.4g} {worst.unit}, but {allowed(low, high, rows, k)}."
        )
