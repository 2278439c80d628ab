"""Where the search begins: a straight line, a given motion, an earlier result, or chance."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, number, numbers
from kinetree.algebra.bspline import BSplineBasis
from kinetree.errors import AssemblyError, InputError, listed
from kinetree.motion.problem.sampling import spread
from kinetree.motion.problem.unknowns import Curve
from kinetree.motion.search.poses import known_poses
from kinetree.motion.solvers.interface import infeasibility
from kinetree.result.result import Result

if TYPE_CHECKING:
    from kinetree.motion.problem.problem import Problem

FIRST = 1.0  # duration tried first (s)
TRIES = 7  # doublings or halvings of the duration
KEPT = 1e-9  # violations that are none
SPREAD, WAVES = 0.5, 4  # of random motions about the straight line: size (rad, m), segments
SMALLER = 8  # halvings of random motions that closed loops cannot follow
STRETCH = 3.0  # of random durations, up or down


def straight_line(problem: Problem, duration: float | None = None) -> Array:
    """Unknowns of the motion straight through the boundary positions, slowed until limits hold.

    Where bodies have targets it passes poses that reach them. Joints whose position is given nowhere stay at
    the middle of their limits, or at zero.
    """
    unknowns, basis = problem.setting.unknowns, problem.basis
    middle = middle_pose(problem)
    points = np.tile(middle, (basis.n_control, 1))
    for column, given in known_poses(problem, middle).items():
        s, q = zip(*given, strict=True)
        points[:, column] = np.interp(basis.greville, s, q)
    low, high = problem.setting.duration
    if duration is not None:
        T = min(max(number(duration, "duration of the start"), low), high)
        return unknowns.joined(points, T)
    if low == high:
        return unknowns.joined(points, low)
    return slowed(problem, points)


def middle_pose(problem: Problem) -> Array:
    """Every moving joint in the middle of its limits, or at zero; with closed loops, the first pose."""
    setting = problem.setting
    if setting.closure is not None:
        return np.array(setting.closure.guess[setting.closure.independent])
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
    program, unknowns = problem.program, problem.setting.unknowns
    low, high = problem.setting.duration

    def judged(T: float) -> tuple[float, float]:
        z = program.reduced(unknowns.joined(points, T))
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
    return unknowns.joined(points, T)


def given_motion(
    problem: Problem, time: ArrayLike, q: ArrayLike, curves: Mapping[str, Array] | None = None
) -> Array:
    """Unknowns of the splines nearest to positions q (m, n_dof) at times (m,).

    ``curves`` are samples (m, k) of further blocks at these times; others are as at the start of a search.
    """
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
    fitted = {
        curve.name: _fitted(curve, s, curves[curve.name])
        for curve in problem.setting.unknowns.curves
        if curves and np.isfinite(curves.get(curve.name, np.nan)).all()
    }
    return _nearest(problem, dense, values, float(t[-1] - t[0]), fitted)


def _fitted(curve: Curve, s: Array, values: Array) -> Array:
    """The share of x of a curve through samples (m, k) at s (m,), straight between them."""
    dense = _dense_on(curve.basis)
    through = [np.interp(dense, s, values[:, k]) for k in range(values.shape[1])]
    return curve.unknowns(curve.basis.fitted(dense, np.stack(through, axis=1)))


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
    curves = {curve.name: _saved_curve(curve, result) for curve in problem.setting.unknowns.curves}
    return _nearest(problem, dense, basis.matrix(dense) @ points, float(t[-1] - t[0]), curves)


def _saved_curve(curve: Curve, result: Result) -> Array:
    """A further block as a result has it: its splines; without them as at the start."""
    names = curve.variable, f"{curve.variable}_control_points", f"{curve.variable}_knots"
    if any(name not in result for name in names):
        return curve.first
    points, knots = (result[name].values for name in names[1:])
    labels = tuple(result[names[0]][result[names[0]].dims[1]].values.tolist())
    if labels != curve.labels:
        return curve.first
    basis, s = BSplineBasis(knots, len(knots) - len(points) - 1), _dense_on(curve.basis)
    return curve.unknowns(curve.basis.fitted(s, basis.matrix(s) @ points))


def regridded(problem: Problem, other: Problem, x: Array) -> Array:
    """Unknowns of the spline of this problem nearest to the motion x of another problem."""
    names, theirs = (p.mechanism.joint_names for p in (problem, other))
    if names != theirs:
        raise InputError(
            f"a prediction to start from must move the joints {listed(names)}, not {listed(theirs)}"
        )
    dense, unknowns = _dense(problem), other.setting.unknowns
    motion = unknowns.at(dense).motion(x)
    given = {curve.name: curve for curve in unknowns.curves}
    curves = {}
    for curve in problem.setting.unknowns.curves:
        before = given.get(curve.name)
        if before is not None and before.labels == curve.labels:
            s = _dense_on(curve.basis)
            values = unknowns.at(s).curves[curve.name].values(x)
            curves[curve.name] = curve.unknowns(curve.basis.fitted(s, values))
    return _nearest(problem, dense, motion.q[:, other.setting.own], motion.duration, curves)


def _dense(problem: Problem) -> Array:
    """Enough points in every segment to determine a spline of the motion."""
    return _dense_on(problem.basis)


def _dense_on(basis: BSplineBasis) -> Array:
    return np.unique(spread([basis], 2 * basis.degree))


def _nearest(
    problem: Problem, s: Array, q: Array, duration: float, curves: Mapping[str, Array] | None = None
) -> Array:
    """Unknowns of the splines nearest to positions q (m, n_dof) at s (m,); ``curves`` are shares of x."""
    setting = problem.setting
    columns = sorted(setting.splines, key=setting.splines.__getitem__)
    low, high = setting.duration
    points = problem.basis.fitted(s, q[:, columns])
    return setting.unknowns.joined(points, float(np.clip(duration, low, high)), curves)


def random_start(problem: Problem, rng: np.random.Generator) -> Array:
    """The straight line with a random smooth motion added, and a random duration.

    The noise is a spline of few segments, so that it does not depend on how fine the problem's own is.
    Further blocks get such noise in their own scale.
    """
    x, unknowns = straight_line(problem), problem.setting.unknowns
    points = unknowns.control_points(x)
    points = points + _allowed(problem, points, _noise(problem.basis, unknowns.profiles.n, rng))
    T = unknowns.duration_of(x) * STRETCH ** rng.uniform(-1.0, 1.0)
    curves = {
        curve.name: curve.first + np.ravel(_noise(curve.basis, len(curve.labels), rng))
        for curve in unknowns.curves
    }
    return unknowns.with_duration(unknowns.joined(points, T, curves), T)


def _allowed(problem: Problem, points: Array, noise: Array) -> Array:
    """Noise on control points, made smaller until closed loops stay closed."""
    closure = problem.setting.closure
    if closure is None:
        return noise
    grid = problem.setting.profiles.at(_dense(problem))
    for _ in range(SMALLER):
        with suppress(AssemblyError):
            grid.motion(points + noise, 1.0)
            return noise
        noise = 0.5 * noise
    return 0.0 * noise


def _noise(basis: BSplineBasis, n: int, rng: np.random.Generator) -> Array:
    """Control points (n_control, n) of random waves."""
    coarse, s = BSplineBasis.uniform(WAVES, basis.degree), _dense_on(basis)
    noise = SPREAD * rng.uniform(-1.0, 1.0, (coarse.n_control, n))
    return basis.fitted(s, coarse.matrix(s) @ noise)
