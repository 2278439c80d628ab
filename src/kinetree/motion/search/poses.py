"""Poses to pass on the way: where boundary conditions put the joints, and how targets are reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import Integers
from kinetree.errors import AssemblyError
from kinetree.motion.program.evaluation import At, Evaluation
from kinetree.motion.program.loop_mechanics import mechanics_of
from kinetree.motion.terms.contract import Function, Rows

if TYPE_CHECKING:
    from kinetree.motion.problem.problem import Problem

STEPS, TRIES = 40, 12  # of the search for a pose, and searches from elsewhere if it fails
FEW = 4  # such searches in closed loops, where each step is an assembly
STUCK = 1e6  # damping at which no step helps
CLOSE = 1e-6  # m, rad: what counts as reached
ASIDE = 0.4  # rad, m: how much further from the first guess each of them begins
Known = dict[int, list[tuple[float, float]]]
Targets = list[tuple[Function, Array, Array]]


def known_poses(problem: Problem, guess: Array) -> Known:
    """(s, position) pairs by moving coordinate: boundary conditions, and poses that reach targets of bodies.

    Where several poses reach a target, one near the guess (n,), or near the pose before it, is taken; where
    none is found, the target is left to the search.
    """
    known = {column: list(points) for column, points in problem.known_positions().items()}
    rng, pose = np.random.default_rng(0), np.array(guess, dtype=np.float64)
    for s, targets in sorted(_targets(problem).items()):
        for column, points in known.items():
            at, q = zip(*sorted(points), strict=True)
            pose[column] = np.interp(s, at, q)
        held = {column for column, points in known.items() if any(at == s for at, _ in points)}
        free = np.array([k for k in range(len(pose)) if k not in held], dtype=np.int64)
        found = _reaching(problem, pose, free, targets, rng)
        if found is not None:
            pose = found
            for column in free:
                known.setdefault(int(column), []).append((s, float(pose[column])))
    return {column: sorted(points) for column, points in known.items()}


def _targets(problem: Problem) -> dict[float, Targets]:
    """What is asked of the pose, by instant, wherever there is an equation: functions with their bounds."""
    found: dict[float, Targets] = {}
    exact: set[float] = set()
    for rows in problem.bounded:
        if not isinstance(rows, Rows):
            continue
        function = rows.function
        if not (isinstance(function, Function) and function.of_pose):
            continue
        shape = len(rows.s), function.size
        low, high = (
            np.broadcast_to(np.asarray(x, dtype=np.float64), shape) for x in (rows.lower, rows.upper)
        )
        for s, lower, upper in zip(rows.s, low, high, strict=True):
            found.setdefault(float(s), []).append((function, lower, upper))
            if np.array_equal(lower, upper):
                exact.add(float(s))
    return {s: targets for s, targets in found.items() if s in exact}


def _reaching(
    problem: Problem, pose: Array, free: Integers, targets: Targets, rng: np.random.Generator
) -> Array | None:
    """A pose at which all targets are reached: the first that is found, else the nearest of several."""
    if not len(free):
        return None
    found = _descent(problem, pose, free, targets)
    if found is not None:
        return found
    others = []
    for k in range(1, TRIES if problem.setting.closure is None else FEW):
        start = pose.copy()
        start[free] += k * ASIDE * rng.uniform(-1.0, 1.0, len(free))
        found = _descent(problem, start, free, targets)
        if found is not None:
            others.append(_unwound(problem, found, pose))
    return min(others, key=lambda q: float(np.linalg.norm(q - pose)), default=None)


def _descent(problem: Problem, start: Array, free: Integers, targets: Targets) -> Array | None:
    """A pose at which all targets are reached, by damped Gauss-Newton steps."""
    q, damping = start.copy(), 1e-3
    begun = _errors(problem, q, targets)
    if begun is None:
        return None
    error, slopes = begun
    for _ in range(STEPS):
        if np.abs(error).max() < CLOSE:
            return q
        if damping > STUCK:
            break
        J = slopes[:, free]
        trial = q.copy()
        trial[free] -= np.linalg.solve(J.T @ J + damping * np.eye(len(free)), J.T @ error)
        found = _errors(problem, trial, targets)
        if found is not None and found[0] @ found[0] < error @ error:
            q, (error, slopes), damping = trial, found, max(damping / 10.0, 1e-12)
        else:
            damping *= 10.0
    return None


def _unwound(problem: Problem, q: Array, near: Array) -> Array:
    """The same pose with joints turned by whole turns, as near as can be to another."""
    setting, found = problem.setting, q.copy()
    for joint, column in setting.splines.items():
        if setting.units([joint], "rad", "m") == ["rad"]:
            found[column] -= 2.0 * np.pi * np.round((q[column] - near[column]) / (2.0 * np.pi))
    return found


def _errors(problem: Problem, pose: Array, targets: Targets) -> tuple[Array, Array] | None:
    """How far each target is missed, (k,), and the slopes of that, (k, n); None where loops do not close."""
    setting = problem.setting
    unknowns = setting.unknowns
    x = unknowns.joined(np.tile(pose, (problem.basis.n_control, 1)), 1.0)
    try:
        evaluation = Evaluation(unknowns.at([0.0]), mechanics_of(setting), x)
    except AssemblyError:
        return None
    at = At(evaluation, slice(0, 1))
    values = [function.values(at)[0] for function, _, _ in targets]
    errors = [x - np.clip(x, low, high) for x, (_, low, high) in zip(values, targets, strict=True)]
    missed = np.concatenate(errors)
    slopes = np.concatenate(
        [evaluation.reduced(function.slopes(at), at.part)[0, 0] for function, _, _ in targets]
    )
    return missed, np.where(missed[:, None] != 0.0, slopes, 0.0)
