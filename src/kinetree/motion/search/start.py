"""Where the search begins: a straight line, a given motion, an earlier result, or chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, number, numbers
from kinetree.algebra.bspline import BSplineBasis
from kinetree.errors import InputError, listed
from kinetree.motion.problem.problem import Problem, spread
from kinetree.motion.search.poses import known_poses
from kinetree.motion.solvers.interface import infeasibility
from kinetree.result.result import Result

FIRST = 1.0  # duration tried first (s)
TRIES = 7  # doublings or halvings of the duration
KEPT = 1e-9  # violations that are none
SPREAD, WAVES = 0.5, 4  # of random motions about the straight line: size (rad, m), segments
STRETCH = 3.0  # of random durations, up or down


def straight_line(problem: Problem, duration: float | None = None) -> Array:
    """Unknowns of the motion straight through the boundary positions, slowed until limits hold.

    Where bodies have targets it passes poses that reach them. Joints whose position is given nowhere stay at
    the middle of their limits, or at zero.
    """
    profiles, basis = problem.setting.profiles, problem.basis
    middle = middle_pose(problem)
    points = np.tile(middle, (basis.n_control, 1))
    for column, given in known_poses(problem, middle).items():
        s, q = zip(*given, strict=True)
        points[:, column] = np.interp(basis.greville, s, q)
    low, high = problem.setting.duration
    if duration is not None:
        T = min(max(number(duration, "duration of the start"), low), high)
        return profiles.unknowns(points, T)
    if low == high:
        return profiles.unknowns(points, low)
    return slowed(problem, points)


def middle_pose(problem: Problem) -> Array:
    """Every moving joint in the middle of its limits, or at zero."""
    setting = problem.setting
    found = np.zeros(setting.profiles.n)
    lower, upper = setting.model_limits("lower"), setting.model_limits("upper")
    for joint, column in setting.column.items():
        a, b = lower[joint], upper[joint]
        if np.isfinite(a) and np.isfinite(b):
            found[column] = (a + b) / 2.0
        else:
            found[column] = min(max(0.0, a), b)
    return found


def slowed(problem: Problem, points: Array) -> Array:
    """The path in the one of a few durations that violates limits least and, if several do, costs least."""
    program, profiles = problem.program, problem.setting.profiles
    low, high = problem.setting.duration

    def judged(T: float) -> tuple[float, float]:
        z = program.reduced(profiles.unknowns(points, T))
        violation = infeasibility(program, z)
        return (violation if violation > KEPT else 0.0), program.objective(z)

    T = min(max(FIRST, low), high)
    found = judged(T)
    for factor in (2.0,) if found[0] else (0.5, 2.0):
        before = T
        for _ in range(TRIES):
            other = min(max(T * factor, low), high)
            if other == T:
                break
            changed = judged(other)
            if not changed < (0.999 * found[0], found[1]):
                break
            T, found = other, changed
        if T != before:
            break
    return profiles.unknowns(points, T)


def given_motion(problem: Problem, time: ArrayLike, q: ArrayLike) -> Array:
    """Unknowns of the spline nearest to positions q (m, n_dof) at times (m,)."""
    t, q = finite(numbers(time, "time"), "time"), finite(numbers(q, "q"), "q")
    n = problem.mechanism.n_dof
    if t.ndim != 1 or len(t) < 2 or q.shape != (len(t), n) or (np.diff(t) <= 0.0).any():
        raise InputError(
            f"a motion to start from is ascending times (m,) and positions (m, {n}), "
            f"got shapes {t.shape} and {q.shape}"
        )
    s = (t - t[0]) / (t[-1] - t[0])
    dense = np.union1d(s, _dense(problem))
    values = np.stack([np.interp(dense, s, q[:, j]) for j in range(n)], axis=1)
    return _nearest(problem, dense, values, float(t[-1] - t[0]))


def result_motion(problem: Problem, result: Result) -> Array:
    """Unknowns of the spline nearest to the motion of a result: to its own splines if it was predicted."""
    names = problem.mechanism.joint_names
    if "q" not in result or tuple(result.q["joint"].values.tolist()) != tuple(names):
        raise InputError(f"a result to start from needs positions q of the joints {listed(names)}")
    t = result.time.values
    if "control_points" not in result or "knots" not in result:
        return given_motion(problem, t, result.q.values)
    points, knots = result.control_points.values, result.knots.values
    basis, dense = BSplineBasis(knots, len(knots) - len(points) - 1), _dense(problem)
    return _nearest(problem, dense, basis.matrix(dense) @ points, float(t[-1] - t[0]))


def regridded(problem: Problem, other: Problem, x: Array) -> Array:
    """Unknowns of the spline of this problem nearest to the motion x of another problem."""
    names, theirs = (p.mechanism.joint_names for p in (problem, other))
    if names != theirs:
        raise InputError(
            f"a prediction to start from must move the joints {listed(names)}, not {listed(theirs)}"
        )
    dense = _dense(problem)
    motion = other.setting.profiles.at(dense).motion(x)
    return _nearest(problem, dense, motion.q[:, other.setting.own], motion.duration)


def _dense(problem: Problem) -> Array:
    """Enough points in every segment to determine a spline."""
    return np.unique(spread(problem.basis, 2 * problem.basis.degree))


def _nearest(problem: Problem, s: Array, q: Array, duration: float) -> Array:
    setting = problem.setting
    columns = sorted(setting.column, key=setting.column.__getitem__)
    low, high = setting.duration
    points = problem.basis.fitted(s, q[:, columns])
    return setting.profiles.unknowns(points, float(np.clip(duration, low, high)))


def random_start(problem: Problem, rng: np.random.Generator) -> Array:
    """The straight line with a random smooth motion added, and a random duration.

    The noise is a spline of few segments, so that it does not depend on how fine the problem's own is.
    """
    x = straight_line(problem)
    low, high = problem.setting.duration
    coarse = BSplineBasis.uniform(WAVES, problem.basis.degree)
    noise = SPREAD * rng.uniform(-1.0, 1.0, (coarse.n_control, problem.setting.profiles.n))
    s = _dense(problem)
    x[:-1] += problem.basis.fitted(s, coarse.matrix(s) @ noise).ravel()
    x[-1] = np.clip(x[-1] * STRETCH ** rng.uniform(-1.0, 1.0), low, high)
    return x
