"""What cannot work, seen before anything is solved: too far, too fast, too heavy."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.motion.mechanics import Mechanics
from kinetree.motion.places import Place
from kinetree.motion.terms.contract import LinearRows, Rows, unit_of
from kinetree.motion.terms.functions import Rate, Torque
from kinetree.motion.terms.reach import Position

if TYPE_CHECKING:
    from kinetree.motion.problem import Problem

ROOM = 1e-9
ENDS = ((0.0, "start"), (1.0, "end"))


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
    for s, where in ENDS:
        for who, takes in _overloaded(problem, s, still=True):
            yield f"{who}: holding still at the {where} against gravity and loads takes {takes}"


def strained(problem: Problem) -> Iterator[str]:
    """Poses that are too heavy to hold where the motion begins or ends, but may accelerate."""
    for s, where in ENDS:
        if any(_overloaded(problem, s, still=True)):
            continue
        for who, takes in _overloaded(problem, s, still=False):
            yield (
                f"{who}: gravity and loads at rest at the {where} take {takes}; "
                f"the joint cannot hold this pose, only swing through it"
            )


def _overloaded(problem: Problem, s: float, *, still: bool) -> Iterator[tuple[str, str]]:
    """Torque limits that are below what holding the pose at s takes: which, and how much."""
    pose = _pose_at_rest(problem, s, still=still)
    if pose is None:
        return
    profiles = problem.setting.profiles
    motion = profiles.at([s]).motion(profiles.unknowns(np.tile(pose, (problem.basis.n_control, 1)), 1.0))
    zero = np.zeros_like(motion.q)
    loads = problem.loads(np.array([s]))
    mechanics = Mechanics(problem.setting.extended, profiles.moving, loads)
    tau = mechanics.torques(motion._replace(qd=zero, qdd=zero))[0]
    for rows in problem.bounded:
        if isinstance(rows, Rows) and isinstance(rows.function, Torque) and s in rows.s:
            yield from _exceeded(rows, rows.function, tau)


def _exceeded(rows: Rows, function: Torque, tau: Array) -> Iterator[tuple[str, str]]:
    if np.ndim(rows.upper) > 1 or rows.family != "torque limit":
        return
    low, high = np.ravel(rows.lower), np.ravel(rows.upper)
    for k, row in enumerate(function.rows):
        if not low[k] - ROOM <= tau[row] <= high[k] + ROOM:
            allowed = f"{low[k]:g} to {high[k]:g} {unit_of(rows, k)} are allowed"
            yield f"{rows.family}, {rows.labels[k]}", f"{tau[row]:.4g} {unit_of(rows, k)}, but {allowed}"


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
                found[rate][int(rows.columns[r, 0]) % n] = float(rows.lower[r])
                if rate and rows.columns.shape[1] > problem.basis.degree + 1:
                    return None  # a velocity other than zero
    wanted = found if still else found[:2]
    if any(len(given) != n for given in wanted) or any(any(given.values()) for given in wanted[1:]):
        return None
    return np.array([found[0][column] for column in range(n)])
