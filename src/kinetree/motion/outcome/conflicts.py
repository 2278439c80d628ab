"""What cannot work, seen before anything is solved: too far, too fast, too heavy."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.motion.problem.places import Place
from kinetree.motion.problem.profile import ProfileMotion
from kinetree.motion.program.loop_mechanics import mechanics_of
from kinetree.motion.terms.contract import LinearRows, Rows, unit_of
from kinetree.motion.terms.functions import Rate, Torque
from kinetree.motion.terms.reach import Position

if TYPE_CHECKING:
    from kinetree.motion.problem.problem import Problem

ROOM = 1e-9
SAME_INSTANT = 1e-12
ENDS = {0.0: "at the start", 1.0: "at the end"}
TORQUE_LIMIT = "torque limit"


def conflicts(problem: Problem) -> list[str]:
    """Sentences about targets out of reach, ways too long for speed and time, poses too heavy to hold."""
    return [*_out_of_reach(problem), *_too_fast(problem), *_too_heavy(problem)]


def _out_of_reach(problem: Problem) -> Iterator[str]:
    """Targets further from the base than all links in a row."""
    tree = problem.setting.extended.tree
    for rows in problem.bounded:
        if not (isinstance(rows, Rows) and isinstance(rows.function, Position)):
            continue
        place: Place = rows.function.place
        if not place.path or not tree.turns[place.path].all() or not np.array_equal(rows.lower, rows.upper):
            continue
        targets = np.atleast_2d(np.asarray(rows.lower, dtype=np.float64))
        base = tree.position[place.path[0]][rows.function.axes]
        links = np.linalg.norm(tree.position[place.path[1:]], axis=1).sum()
        reach = links + float(np.linalg.norm(place.position + place.rotation @ place.local))
        far = float(np.linalg.norm(targets - base, axis=1).max())
        if far > reach * (1.0 + ROOM):
            yield (
                f"{rows.family} of '{place.body}': the target is {far:.4g} m from the base, "
                f"but the arm reaches only {reach:.4g} m; it is out of reach"
            )


def _too_fast(problem: Problem) -> Iterator[str]:
    """Distances between given positions that no allowed speed covers in time."""
    known, longest = problem.known_positions(), problem.setting.duration[1]
    for rows in problem.bounded:
        if not (isinstance(rows, Rows) and isinstance(rows.function, Rate) and rows.function.rate == 1):
            continue
        if np.ndim(rows.upper) > 1:
            continue
        for k, column in enumerate(rows.function.columns):
            points = known.get(int(column), [])
            for (s0, q0), (s1, q1) in pairwise(points):
                if s1 == s0:
                    continue
                needed = (q1 - q0) / ((s1 - s0) * longest)
                low, high = (float(np.ravel(bound)[k]) for bound in (rows.lower, rows.upper))
                if needed > high * (1.0 + ROOM) or needed < low * (1.0 + ROOM):
                    yield (
                        f"{rows.family}, {rows.labels[k]}: going from {q0:g} to {q1:g} within {longest:g} s "
                        f"needs a mean velocity of {needed:.4g}, but {low:g} to {high:g} are allowed"
                    )


def _too_heavy(problem: Problem) -> Iterator[str]:
    """Poses held still whose torque exceeds the limit."""
    for s, where in _instants(problem):
        for who, takes in _overloaded(problem, s, still=True):
            yield f"{who}: holding still {where} against gravity and loads takes {takes}"


def strained(problem: Problem) -> Iterator[str]:
    """Poses at rest that boundary conditions ask for and that are too heavy to hold, but may accelerate."""
    for s, where in _instants(problem):
        if any(_overloaded(problem, s, still=True)):
            continue
        for who, takes in _overloaded(problem, s, still=False):
            yield (
                f"{who}: gravity and loads at rest {where} take {takes}; "
                f"the joint cannot hold this pose, only swing through it"
            )


def _instants(problem: Problem) -> list[tuple[float, str]]:
    """When boundary conditions ask for something, and how messages call it."""
    asked = {
        float(rows.s[0])
        for rows in problem.bounded
        if isinstance(rows, LinearRows) and rows.family == "boundary condition"
    }
    return [(s, ENDS.get(s, f"at s = {s:g}")) for s in sorted(asked)]


def torque_limits(problem: Problem) -> Iterator[tuple[Rows, Torque]]:
    """The limits of torques, with the torques that they limit."""
    for rows in problem.bounded:
        if isinstance(rows, Rows) and isinstance(rows.function, Torque) and rows.family == TORQUE_LIMIT:
            yield rows, rows.function


def holding_torques(problem: Problem, motion: ProfileMotion, s: Array) -> Array:
    """What gravity and loads take in the poses of a motion at s (m,) if they are at rest, (m, n)."""
    zero = np.zeros_like(motion.q)
    mechanics = mechanics_of(problem.setting, problem.loads(s))
    return mechanics.torques(motion._replace(qd=zero, qdd=zero))


def _overloaded(problem: Problem, s: float, *, still: bool) -> Iterator[tuple[str, str]]:
    """Torque limits that are below what holding the pose at s takes: which, and how much.

    Forces that are sought may help to hold it, so that nothing is known then.
    """
    pose = _pose_at_rest(problem, s, still=still)
    if pose is None or problem.acting:
        return
    grid = problem.setting.profiles.at([s])
    motion = grid.motion(np.tile(pose, (problem.basis.n_control, 1)), 1.0)
    tau = holding_torques(problem, motion, np.array([s]))[0]
    for rows, function in torque_limits(problem):
        for m in np.flatnonzero(np.abs(rows.s - s) < SAME_INSTANT)[:1]:
            low, high = (bounds[m] for bounds in limits_of(rows))
            for k, row in enumerate(function.rows):
                if not low[k] - ROOM <= tau[row] <= high[k] + ROOM:
                    takes = f"{tau[row]:.4g} {unit_of(rows, k)}, but {allowed(low[k], high[k], rows, k)}"
                    yield f"{rows.family}, {rows.labels[k]}", takes


def limits_of(rows: Rows) -> tuple[Array, Array]:
    """Lower and upper bounds at all samples, (m, k) each."""
    shape = len(rows.s), rows.function.size
    low, high = (np.broadcast_to(np.asarray(x, dtype=np.float64), shape) for x in (rows.lower, rows.upper))
    return low + 0.0, high + 0.0  # no minus zero in messages


def allowed(low: float, high: float, rows: Rows, k: int) -> str:
    """The bounds of the k-th number of rows in words."""
    if low == high:
        return f"only {low:g} {unit_of(rows, k)} is allowed"
    return f"{low:g} to {high:g} {unit_of(rows, k)} are allowed"


def _pose_at_rest(problem: Problem, s: float, *, still: bool) -> Array | None:
    """The position at s if boundary conditions fix it for all joints without velocity.

    ``still``: and without acceleration.
    """
    found: list[dict[int, float]] = [{}, {}, {}]
    n = problem.setting.profiles.n
    for rows in problem.bounded:
        if isinstance(rows, LinearRows) and rows.family == "boundary condition" and rows.s[0] == s:
            for r, label in enumerate(rows.labels):
                rate = ("position", "velocity", "acceleration").index(label.split()[0])
                column = problem.setting.unknowns.column(int(rows.columns[r, 0]))
                found[rate][column] = float(rows.lower[r])
                if rate and rows.columns.shape[1] > problem.basis.degree + 1:
                    return None  # a velocity other than zero
    wanted = found if still else found[:2]
    if any(len(given) != n for given in wanted) or any(any(given.values()) for given in wanted[1:]):
        return None
    return np.array([found[0][column] for column in range(n)])
