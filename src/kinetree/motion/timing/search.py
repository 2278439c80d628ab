"""The fastest timing that keeps its limits between places, too: solved, checked, tightened, solved again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError
from kinetree.motion.timing.course import Limits, PathGrid, Shares, shares
from kinetree.motion.timing.reachability import Reached, ReachRows, reached

ROUNDS = 20  # of tightening
KEPT = 1e-7  # part of a limit by which it may be exceeded
TIGHTER = 1.2  # how much more than what was found too much is taken off a limit
SETTLED = 1e-6  # relative change of the duration between rounds that counts as none, with friction
NEARLY = 1e-3  # the same before limits are tightened
LIMITED = ("torque", "velocity", "acceleration")


@dataclass(frozen=True, eq=False)
class Found:
    """The fastest motion: x (k + 1,), u (k,), its shares of the limits, and the limit curve (k + 1,) of x."""

    x: Array
    u: Array
    shares: Shares
    limit_curve: Array
    rounds: int

    def duration(self, widths: Array) -> float:
        """T (s)."""
        return float(times(self.x, widths)[-1])


def times(x: Array, widths: Array) -> Array:
    """When the places are passed, (k + 1,): dt = 2 ds / (sd_i + sd_i+1)."""
    speed = np.sqrt(np.maximum(x, 0.0))
    return np.concatenate([[0.0], np.cumsum(2.0 * widths / (speed[1:] + speed[:-1]))])


def fastest(course: PathGrid, limits: Limits, tell: Callable[[str, float], object] | None) -> Found:
    """Rounds of reachability analysis, each with limits tightened where the last exceeded them in between."""
    k, n = len(course.widths), course.path.n_dof
    margin = {name: np.zeros((k, n)) for name in LIMITED}
    friction, before, settled = (np.zeros_like(course.motion.q),) * 2, np.inf, False
    best: Found | None = None
    for round_ in range(ROUNDS):
        if tell is not None:
            tell("fastest timing", round_ / ROUNDS)
        rows = limit_rows(course, limits, margin, friction)
        found = reached(rows)
        if found.stuck >= 0:
            if best is not None:
                return best
            raise InputError(_blame(course, limits, found))
        used = shares(course, limits, found.x, found.u)
        answer = Found(found.x, found.u, used, found.allowed[:, 1], round_ + 1)
        friction = course.friction_tangent(course.speeds(found.x, found.u))
        if best is None or used.largest < max(best.shares.largest, 1.0 + KEPT):
            best = answer
        T = answer.duration(course.widths)
        if used.largest <= 1.0 + KEPT and abs(T - before) <= SETTLED * T:
            return answer
        settled = settled or abs(T - before) <= NEARLY * T or not (friction[0].any() or friction[1].any())
        before = T
        if not settled:  # what is too much comes from friction at another speed
            continue
        for name in LIMITED:
            beyond = np.abs(getattr(used, name)).max(axis=1) - 1.0
            margin[name] += TIGHTER * np.maximum(beyond - 0.1 * KEPT, 0.0)
    assert best is not None
    return best


def limit_rows(
    course: PathGrid, limits: Limits, margin: dict[str, Array], friction: tuple[Array, Array]
) -> ReachRows:
    """Limits at both ends of every interval as rows in u and the x of its first end."""
    at, (a, b, c) = course.motion, course.torques
    parts: list[tuple[Array, Array, Array]] = []
    twice = 2.0 * course.widths[:, None]
    for end in (0, -1):
        for first, second, rest, limit, less in (
            (a, b + friction[1], c + friction[0], limits.torque, margin["torque"]),
            (at.qd, at.qdd, np.zeros_like(c), limits.acceleration, margin["acceleration"]),
        ):
            bounded = np.isfinite(limit)
            alpha, beta, gamma = (x[:, end, bounded] / limit[bounded] for x in (first, second, rest))
            if end == -1:
                alpha = alpha + twice * beta
            room = np.maximum(1.0 - less[:, bounded], 0.0)
            parts.append((alpha, beta, gamma - room))
            parts.append((-alpha, -beta, -gamma - room))
    alpha, beta, gamma = (np.concatenate(x, axis=1) for x in zip(*parts, strict=True))
    return ReachRows(alpha, beta, gamma, _fastest_speeds(course, limits, margin["velocity"]), course.widths)


def _fastest_speeds(course: PathGrid, limits: Limits, margin: Array) -> Array:
    """The largest x that velocity limits leave at every place, zero at both ends and at corners."""
    room = np.maximum(1.0 - margin, 0.0)[:, None]
    with np.errstate(divide="ignore"):
        most = np.square(room * limits.velocity / np.abs(course.motion.qd)).min(axis=2)
    fast = np.full(len(course.s), np.inf)
    fast[:-1] = most[:, 0]
    fast[1:] = np.minimum(fast[1:], most[:, -1])
    fast[[0, -1]] = 0.0
    fast[course.corners] = 0.0
    bounded: Array = np.minimum(fast, 1e12)
    return bounded


def _blame(course: PathGrid, limits: Limits, found: Reached) -> str:
    """Why there is no motion, with place and joint."""
    i = min(found.stuck, len(course.widths) - 1)
    where = f"at {100.0 * (course.s[i] - course.s[0]) / (course.s[-1] - course.s[0]):.3g} % of the path"
    rest = course.torques[2][i, 0] / limits.torque
    j = int(np.argmax(np.abs(rest)))
    name = course.mechanism.joint_names[j]
    if abs(rest[j]) > 1.0:
        return (
            f"{where} joint '{name}' needs {rest[j] * limits.torque[j]:.4g} (N m or N) to hold still, "
            f"but its "
            f"limit is {limits.torque[j]:.4g}: no timing of this path satisfies it"
        )
    return (
        f"{where} no speed and acceleration along the path satisfy all limits; the joint nearest to "
        f"its torque "
        f"limit at rest is '{name}', with {100.0 * abs(rest[j]):.3g} % of it"
    )
