"""What is odd about a motion although it is the best: joints that whirl, poses that only a swing passes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.motion.mechanics import Mechanics
from kinetree.motion.problem import Problem
from kinetree.motion.terms.contract import Rows, unit_of
from kinetree.motion.terms.functions import Torque
from kinetree.motion.terms.limits import JointLimits
from kinetree.motion.verify import Check

WHIRL = 2.0 * np.pi  # rad that a joint may turn further than its boundary conditions ask for
BEYOND = 1e-3  # of a torque limit by which a pose must be too heavy


def whirling(problem: Problem, check: Check) -> Iterator[str]:
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
            f"Nothing limits the positions of joints that turn round on the way ({', '.join(found)}): "
            "add JointLimits(lower=..., upper=...), or some 1e-4 * Jerk() to the objective."
        )


def swinging(problem: Problem, x: Array, check: Check) -> Iterator[str]:
    """Poses on the way that are too heavy to hold: each number of swings has a best motion of its own."""
    profiles = problem.setting.profiles
    motion = profiles.at(check.s).motion(x)
    rest = motion._replace(qd=np.zeros_like(motion.q), qdd=np.zeros_like(motion.q))
    tau = Mechanics(problem.setting.extended, profiles.moving, problem.loads(check.s)).torques(rest)
    for rows in problem.bounded:
        if not (isinstance(rows, Rows) and isinstance(rows.function, Torque)):
            continue
        if rows.family != "torque limit" or np.ndim(rows.upper) > 1 or len(rows.s) < 2:
            continue
        held = tau[:, rows.function.rows]
        low, high, scale = (np.asarray(x, dtype=np.float64) for x in (rows.lower, rows.upper, rows.scale))
        excess = np.maximum(held - high, low - held) / scale
        m, k = (int(i) for i in np.unravel_index(int(excess.argmax()), excess.shape))
        if excess[m, k] > BEYOND:
            t, takes = check.s[m] * x[-1], f"{held[m, k]:.3g} {unit_of(rows, k)}"
            yield (
                f"{rows.labels[k]} swings through poses it cannot hold (at {t:.3g} s that takes {takes}): "
                "another number of swings may be better; predict(problem, starts=10) tries several."
            )
            return
