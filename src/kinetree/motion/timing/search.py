"""The fastest timing that keeps its limits between places, too: solved, checked, tightened, solved again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError
from kinetree.motion.timing.course import Limits, PathGrid, Shares, shares

ROUNDS = 20  # of tightening
KEPT = 1e-7  # part of a limit by which it may be exceeded
TIGHTER = 1.2  # how much more than what was found too much is taken off a limit
SETTLED = 1e-6  # relative change of the duration between rounds that counts as none, with friction
NEARLY = 1e-3  # the same before limits are tightened
LIMITED = ("torque", "velocity", "acceleration")
FLAT = 1e-11  # of the largest coefficient of a row: below, it counts as zero
SLACK = 1e-9  # of a limit: rounding of rows that are met exactly
CHUNK = 64  # places whose pairs of rows are looked at together


@dataclass(frozen=True, eq=False)
class ReachRows:
    """Limits between places: alpha u + beta x + gamma <= 0, (k, m) each, x at the place before.

    Every row is divided by its limit, so that gamma is of the size of 1. ``fastest`` (k + 1,) is the largest
    x at each place, ``widths`` (k,) are the distances of places.
    """

    alpha: Array
    beta: Array
    gamma: Array
    fastest: Array
    widths: Array


@dataclass(frozen=True, eq=False)
class Reached:
    """x (k + 1,) at the places, u (k,) between them, and the interval of x that limits leave, (k + 1, 2).

    Where there is no motion, ``stuck`` is the place, else -1.
    """

    x: Array
    u: Array
    allowed: Array
    stuck: int = -1


def reached(rows: ReachRows) -> Reached:
    """The fastest motion from rest to rest."""
    alone = _allowed_alone(rows)
    sets, stuck = _controllable(rows, alone)
    x, u = np.zeros(len(rows.fastest)), np.zeros(len(rows.widths))
    if stuck < 0 and sets[0, 0] > SLACK * max(1.0, sets[0, 1]):
        stuck = 0
    if stuck >= 0:
        return Reached(x, u, alone, stuck)
    for i, width in enumerate(rows.widths):
        low, high = _accelerations(rows, i, float(x[i]))
        high = min(high, (float(sets[i + 1, 1]) - float(x[i])) / (2.0 * width))
        u[i] = max(high, min(low, (float(sets[i + 1, 1]) - float(x[i])) / (2.0 * width)))
        x[i + 1] = min(max(x[i] + 2.0 * width * u[i], float(sets[i + 1, 0])), float(sets[i + 1, 1]))
        u[i] = (x[i + 1] - x[i]) / (2.0 * width)
        if x[i] <= 0.0 and x[i + 1] <= 0.0:
            return Reached(x, u, alone, i)
    return Reached(x, u, alone)


def _accelerations(rows: ReachRows, i: int, x: float) -> tuple[float, float]:
    """The interval of u at a known x."""
    alpha, rest = rows.alpha[i], -(rows.beta[i] * x + rows.gamma[i])
    up, down = alpha > FLAT * _size(rows, i), alpha < -FLAT * _size(rows, i)
    high = float((rest[up] / alpha[up]).min(initial=np.inf))
    low = float((rest[down] / alpha[down]).max(initial=-np.inf))
    return low, high


def _size(rows: ReachRows, i: int) -> float:
    return max(float(np.abs(rows.alpha[i]).max(initial=0.0)), 1e-300)


def _controllable(rows: ReachRows, alone: Array) -> tuple[Array, int]:
    """Intervals of x (k + 1, 2) from which the end can be reached at rest; the place where there is none."""
    count = len(rows.widths)
    sets = np.zeros((count + 1, 2))
    for i in range(count - 1, -1, -1):
        low, high = alone[i]
        twice = 2.0 * float(rows.widths[i])
        alpha, beta, gamma = rows.alpha[i], rows.beta[i], rows.gamma[i]
        size = FLAT * _size(rows, i)
        to_low, to_high = sets[i + 1]
        # x + 2 d u <= to_high with rows that bound u from below, x + 2 d u >= to_low with those from above
        for chosen, b, c in (
            (alpha < -size, beta * twice - alpha, gamma * twice + alpha * to_high),
            (alpha > size, twice * beta - alpha, twice * gamma + alpha * to_low),
        ):
            low, high = _narrowed(low, high, b[chosen], c[chosen])
        if low > high:
            if low - high > SLACK * max(1.0, abs(high)):
                return sets, i
            low = high
        sets[i] = max(low, 0.0), high
    return sets, -1


def _narrowed(low: float, high: float, b: Array, c: Array) -> tuple[float, float]:
    """An interval of x within which b x + c <= 0, too."""
    size = FLAT * (np.abs(b).max(initial=0.0) + 1e-300)
    above, below, flat = b > size, b < -size, np.abs(b) <= size
    high = min(high, float((-c[above] / b[above]).min(initial=np.inf)))
    low = max(low, float((-c[below] / b[below]).max(initial=-np.inf)))
    if flat.any() and float(c[flat].max()) > SLACK * max(1.0, float(np.abs(c).max())):
        return np.inf, -np.inf
    return low, high


def _allowed_alone(rows: ReachRows) -> Array:
    """Intervals of x (k + 1, 2) at which some u keeps all limits, by elimination of u from pairs of rows."""
    count = len(rows.widths)
    allowed = np.empty((count + 1, 2))
    allowed[:, 0], allowed[:, 1] = 0.0, rows.fastest
    for begin in range(0, count, CHUNK):
        part = slice(begin, min(begin + CHUNK, count))
        a, b, c = rows.alpha[part], rows.beta[part], rows.gamma[part]
        size = FLAT * np.maximum(np.abs(a).max(axis=1, keepdims=True, initial=0.0), 1e-300)
        pairs = (a > size)[:, :, None] & (a < -size)[:, None, :]
        slope = np.where(pairs, a[:, :, None] * b[:, None, :] - a[:, None, :] * b[:, :, None], 0.0)
        rest = np.where(pairs, a[:, :, None] * c[:, None, :] - a[:, None, :] * c[:, :, None], -1.0)
        flat = np.abs(a) <= size
        slope = np.concatenate([slope.reshape(len(a), -1), np.where(flat, b, 0.0)], axis=1)
        rest = np.concatenate([rest.reshape(len(a), -1), np.where(flat, c, -1.0)], axis=1)
        tiny = FLAT * np.abs(slope).max(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = -rest / slope
        high = np.where(slope > tiny, bound, np.inf).min(axis=1)
        low = np.where(slope < -tiny, bound, -np.inf).max(axis=1)
        large = np.abs(rest).max(axis=1, keepdims=True)
        hopeless = ((np.abs(slope) <= tiny) & (rest > SLACK * np.maximum(large, 1e-300))).any(axis=1)
        allowed[part, 0] = np.where(hopeless, np.inf, np.maximum(low, 0.0))
        allowed[part, 1] = np.where(hopeless, -np.inf, np.minimum(high, allowed[part, 1]))
    return allowed


@dataclass(frozen=True, eq=False)
class FastestPace:
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


def fastest(course: PathGrid, limits: Limits, tell: Callable[[str, float], object] | None) -> FastestPace:
    """Rounds of reachability analysis, each with limits tightened where the last exceeded them in between."""
    k, n = len(course.widths), course.path.n_dof
    margin = {name: np.zeros((k, n)) for name in LIMITED}
    friction, before, settled = (np.zeros_like(course.motion.q),) * 2, np.inf, False
    best: FastestPace | None = None
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
        answer = FastestPace(found.x, found.u, used, found.allowed[:, 1], round_ + 1)
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
