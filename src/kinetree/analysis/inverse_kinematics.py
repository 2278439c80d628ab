"""Inverse kinematics: joint positions that bring bodies to where they are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinetree.algebra.arrays import Array, number
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation_vector import rotation_by
from kinetree.algebra.shown import Shown
from kinetree.analysis.targets import Target, TargetProblems, problem_of
from kinetree.dynamics.loops.assembly import CLOSE, closest, is_closed
from kinetree.dynamics.loops.positions import LoopPositions
from kinetree.dynamics.loops.system import RANK, constraints, size_of
from kinetree.errors import InputError, must_be
from kinetree.model.body import WORLD
from kinetree.model.expected import expect_mechanism
from kinetree.model.joint import Joint
from kinetree.model.loop import Loop
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags, Integers
from kinetree.other_names import checks_keywords
from kinetree.state import Coordinates

MOST_TRIALS = 1_000_000
FIRST_STEP, SHORTEST = 0.25, 2.0**-8  # of the way to the targets on one branch of closed loops
LONGEST_STEP, MOST_CORRECTIONS = 0.5, 12  # rad or m of a joint in one of these, and iterations
HEIGHT, SIDES = 1.6, 4  # of detours along arcs: four times their share of its length; how many
ANYHOW = np.array([0.3, -0.5, 0.7])  # rad: frames that move are prepared with, as no entry of J is zero there

__all__ = ["InverseKinematics", "Target", "inverse_kinematics"]
DAMPING = 0.1  # at the start, relative to the square of the residual
STUCK = 1e12  # damping at which an attempt is given up
STILL = 1e-14  # rad or m: no joint moves by more any longer
IDLE = 1e-14  # relative gain of a step at which an attempt is given up
SMALLEST = 1e-24  # damping that keeps a singular step finite


@dataclass(frozen=True, eq=False)
class Best:
    """The best positions so far (rows, n), the largest error there, and the iterations spent."""

    q: Array
    cost: Array
    size: Array
    iterations: Integers

    def improved(self, rows: Integers, other: Best) -> Best:
        """With some rows replaced where the other attempt came nearer."""
        q, cost, size = (x.copy() for x in (self.q, self.cost, self.size))
        iterations = self.iterations.copy()
        iterations[rows] += other.iterations
        better = other.cost < cost[rows]
        q[rows[better]] = other.q[better]
        cost[rows[better]], size[rows[better]] = other.cost[better], other.size[better]
        return Best(q, cost, size, iterations)


def attempt(problem: TargetProblems, start: Array, tolerance: float, max_iterations: int) -> Best:
    """Damped least squares from one start, all rows at once; a row stops when it is met or stuck."""
    weights = problem.weights
    q = start.copy()
    lacking = problem.residual(q)
    cost = ((weights * lacking) ** 2).sum(axis=1)
    size = largest_error(lacking)
    damping, growth = np.full(len(q), DAMPING), np.full(len(q), 2.0)
    iterations = np.zeros(len(q), dtype=np.int64)
    going = np.flatnonzero(size > tolerance)
    for _ in range(max_iterations):
        if not len(going):
            break
        iterations[going] += 1
        part = problem.rows(going)
        e = weights * lacking[going]
        step, gain = _step(part, q[going], e, weights, damping[going] * cost[going])
        tried = q[going] + step
        new = part.residual(tried)
        new_cost = ((weights * new) ** 2).sum(axis=1)
        better = new_cost < cost[going]
        with np.errstate(over="ignore"):  # a gain that is nearly zero: the ratio counts as large
            ratio = np.where(better, (cost[going] - new_cost) / np.maximum(gain, np.finfo(float).tiny), 0.0)
        shrink = np.maximum(1.0 - (2.0 * np.minimum(ratio, 1.0) - 1.0) ** 3, 1.0 / 3.0)
        damping[going] *= np.where(better, shrink, growth[going])
        growth[going] = np.where(better, 2.0, 2.0 * growth[going])
        idle = better & (cost[going] - new_cost <= IDLE * cost[going])
        kept = going[better]
        q[kept], lacking[kept], cost[kept] = tried[better], new[better], new_cost[better]
        size[kept] = largest_error(new[better])
        stuck = idle | (damping[going] > STUCK) | (np.abs(step).max(axis=1, initial=0.0) < STILL)
        going = going[(size[going] > tolerance) & ~stuck]
    return Best(q, cost, size, iterations)


def _step(problem: TargetProblems, q: Array, e: Array, weights: Array, damping: Array) -> tuple[Array, Array]:
    """The step (rows, n) that lessens |e - J dq|^2 + damping |dq|^2 within the limits, and what it promises.

    Joints at a limit that the slope would push beyond are held.
    """
    J = weights[:, None] * problem.slope(q)
    downhill = np.einsum("rmn,rm->rn", J, e)
    held = ((q >= problem.upper) & (downhill > 0)) | ((q <= problem.lower) & (downhill < 0))
    J = J * ~held[:, None, :]
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    filtered = s / (s**2 + damping[:, None] + SMALLEST) * np.einsum("rmk,rm->rk", U, e)
    free = q + np.einsum("rkn,rk->rn", Vt, filtered)
    step = np.where(problem.moves, np.clip(free, problem.lower, problem.upper), q) - q
    left = e - np.einsum("rmn,rn->rm", J, step)
    return step, (e**2).sum(axis=1) - (left**2).sum(axis=1)


def largest_error(lacking: Array) -> Array:
    """The largest distance or angle of each row, from residuals (rows, m)."""
    largest: Array = np.linalg.norm(lacking.reshape(len(lacking), lacking.shape[1] // 3, 3), axis=2).max(
        axis=1
    )
    return largest


@dataclass(frozen=True, eq=False, repr=False)
class InverseKinematics(Shown):
    """Result of inverse kinematics: joint positions ``q`` (..., n_dof) and remaining errors.

    ``position_error`` (..., n_targets) in m and ``orientation_error`` (..., n_targets) in rad, zero where
    there is no target; ``converged`` (...): all errors within the tolerance; ``iterations`` (...) of all
    attempts.

    >>> import kinetree as kt
    >>> arm = kt.zoo.two_link()
    >>> found = inverse_kinematics(arm, Target("link2", (5.0, 0.0, 0.0)), restarts=0)
    >>> bool(found.converged), found.q.shape
    (False, (2,))
    """

    q: Array
    position_error: Array
    orientation_error: Array
    converged: Flags
    iterations: Integers


@checks_keywords
def inverse_kinematics(
    mechanism: Mechanism,
    targets: Target | Sequence[Target],
    q0: Coordinates | None = None,
    *,
    limits: bool = True,
    free: Sequence[str] | None = None,
    frozen: Sequence[str] | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 100,
    restarts: int = 20,
    seed: int = 0,
    strict: bool = False,
) -> InverseKinematics:
    """Joint positions at which all targets are met, by damped least squares (Levenberg and Marquardt).

    Starts at q0 (..., n_dof), else in the middle of the limits, or at zero where there are none; if that
    fails, ``restarts`` times more from random positions, the same ones for the same ``seed``. Joints stay
    within their ``limits``. Only joints listed in ``free`` move, or all but those in ``frozen`` (names of
    joints or of degrees of freedom); the others keep q0. Revolute joints without limits end within half a
    revolution of the start. Targets and q0 may have leading axes: each entry is solved independently. The
    ``tolerance`` is in m and rad. If no solution is found, the result has the nearest positions found and
    ``converged`` is False; with ``strict`` this raises an error.

    Closed loops stay closed. With q0 they stay on its branch: bodies go from there to their targets in a
    straight line or, where that leads out of reach and the targets determine the pose, in an arc; nothing
    starts from random positions. A target that cannot be reached so is not reached, even if the loops could
    be assembled in another way that does.

    >>> import kinetree as kt
    >>> arm = kt.zoo.two_link(length=(0.4, 0.3))
    >>> found = inverse_kinematics(arm, Target(arm.body_names[-1], (0.5, 0.2, 0.0), point=(0.3, 0, 0)))
    >>> bool(found.converged), bool(found.position_error.max() < 1e-9)
    (True, True)
    """
    expect_mechanism(mechanism)
    problem = problem_of(mechanism, targets, q0, limits, free, frozen)
    _check_settings(tolerance, max_iterations, restarts)
    if mechanism.loops and q0 is not None:
        return _result(problem, _on_branch(problem, tolerance, max_iterations), tolerance, strict)
    best = attempt(problem, problem.start, tolerance, max_iterations)
    rng = np.random.default_rng(seed)
    for _ in range(restarts):
        open_ = np.flatnonzero(best.size > tolerance)
        if not len(open_):
            break
        again = problem.rows(open_)
        found = attempt(again, again.elsewhere(rng), tolerance, max_iterations)
        best = best.improved(open_, found)
    return _result(problem, best, tolerance, strict)


def _on_branch(problem: TargetProblems, tolerance: float, max_iterations: int) -> Best:
    """Positions on the branch of the start: straight to the targets or, where that fails, in arcs."""
    start = problem.start.copy()
    for row in np.flatnonzero(~_is_closed(problem.mechanism, start)):
        pose, gap = closest(problem.mechanism, start[row], problem.moves)
        start[row] = pose if is_closed(problem.mechanism, gap) else start[row]
    problem, tied = replace(problem, start=start), _tied(problem, start)
    first = problem.residual(start)
    best = _along(problem, tied, first, 0.0 * first, tolerance, max_iterations)
    for side in range(SIDES if tied is not None else 0):
        open_ = np.flatnonzero(best.size > tolerance)
        if not len(open_):
            break
        aside = HEIGHT * _across(problem, first[open_], 2.0 * np.pi * side / SIDES)
        found = _along(problem.rows(open_), tied, first[open_], aside, tolerance, max_iterations)
        best = best.improved(open_, found)
    return best


def _along(
    problem: TargetProblems,
    tied: LoopPositions | None,
    first: Array,
    aside: Array,
    tolerance: float,
    max_iterations: int,
) -> Best:
    """Positions on the way of all that is lacking to zero, from the start, on its branch of closed loops.

    residual(q) = (1 - s) (residual(q0) + s aside) with s from 0 to 1, in steps in which no joint moves far.
    """
    q, share = problem.start.copy(), np.zeros(len(problem.start))
    step, iterations = np.full(len(q), FIRST_STEP), np.zeros(len(q), dtype=np.int64)
    dependent, going = np.flatnonzero(problem.moves), np.arange(len(q))
    while len(going):
        ahead = np.minimum(share[going] + step[going], 1.0)[:, None]
        part = replace(problem.rows(going), rest=(1.0 - ahead) * (first[going] + ahead * aside[going]))
        if tied is None:
            found = attempt(part, q[going], tolerance, min(max_iterations, MOST_CORRECTIONS))
            new, good = found.q, found.size <= tolerance
            iterations[going] += found.iterations
        else:
            new, good = tied.reach(q[going], part.frames(), dependent)
            good &= ((new >= problem.lower) & (new <= problem.upper)).all(axis=1)
            iterations[going] += 1
        good &= np.abs(new - q[going]).max(axis=1) <= LONGEST_STEP
        went = going[good]
        q[went], share[went], step[went] = new[good], ahead[good, 0], 2.0 * step[went]
        step[going[~good]] *= 0.5
        going = going[(share[going] < 1.0) & (step[going] >= SHORTEST)]
    lacking = problem.residual(q)
    cost = ((problem.weights * lacking) ** 2).sum(axis=1)
    return Best(q, cost, largest_error(lacking), iterations)


def _tied(problem: TargetProblems, start: Array) -> LoopPositions | None:
    """The mechanism with the targets' bodies tied to the world; None where that leaves it some freedom."""
    mechanism, slope = problem.mechanism, problem.slope(start)[..., problem.moves]
    size = np.linalg.svd(slope, compute_uv=False)
    if size.shape[1] < slope.shape[2] or not (size[:, -1] > RANK * size[:, 0]).all():
        return None
    if problem.followers is not None or any(goal.position is None for goal in problem.goals):
        return None
    ties = []
    for k, goal in enumerate(problem.goals):
        body, place = mechanism.place_of(goal.body)
        kind = "spherical" if goal.orientation is None else "fixed"
        joint = Joint.of_kind(f"target {k + 1}", kind, cut=True)
        at = Placement(place.rotation, place.rotation @ goal.point + place.position)
        ties.append(Loop(joint, WORLD, body, Placement(rotation_by(ANYHOW)), at))
    return LoopPositions(replace(mechanism, loops=(*mechanism.loops, *ties)))


def _across(problem: TargetProblems, first: Array, angle: float) -> Array:
    """Across the ways (rows, m) of all positions: as long as that of the first one, at an angle around it."""
    column, across = 0, np.zeros_like(first)
    way = first[:, :3]
    length = np.linalg.norm(way, axis=1, keepdims=True)
    along = way / np.where(length > 0.0, length, 1.0)
    side = np.cross(along, np.eye(3)[np.abs(along).argmin(axis=1)])
    size = np.linalg.norm(side, axis=1, keepdims=True)
    side /= np.where(size > 0.0, size, 1.0)  # a body that only turns has no way
    bent = length * (np.cos(angle) * side + np.sin(angle) * np.cross(along, side))
    for goal in problem.goals:
        across[:, column : column + 3] = bent
        column += 3 if goal.orientation is None else 6
    return across


def _is_closed(mechanism: Mechanism, q: Array) -> Flags:
    """Which poses (rows, n_dof) have their loops closed to rounding."""
    found = constraints(mechanism, q)
    gaps = np.abs(found.gap).max(axis=1) <= CLOSE * size_of(mechanism)
    closed: Flags = gaps & (found.rows.facing(found.cut) > 0.0).all(axis=1)
    return closed


def _check_settings(tolerance: float, max_iterations: int, restarts: int) -> None:
    if number(tolerance, "tolerance") <= 0:
        raise InputError(must_be("tolerance", "> 0", tolerance, "g"))
    for value, what, least in ((max_iterations, "max_iterations", 1), (restarts, "restarts", 0)):
        if type(value) is not int or not least <= value <= MOST_TRIALS:
            raise InputError(must_be(what, f"an integer from {least} to {MOST_TRIALS}", value))


def _result(problem: TargetProblems, best: Best, tolerance: float, strict: bool) -> InverseKinematics:
    """The answer in the shape of the batch."""
    best = replace(best, q=problem.folded(best.q))
    if problem.mechanism.loops:
        best = _closed(problem, best, tolerance)
    lacking = np.linalg.norm(
        problem.residual(best.q).reshape(len(best.q), len(problem.weights) // 3, 3), axis=2
    )
    distance, angle = np.zeros((2, len(best.q), len(problem.goals)))
    column = 0
    for k, goal in enumerate(problem.goals):
        for errors, given in ((distance, goal.position), (angle, goal.orientation)):
            if given is not None:
                errors[:, k] = lacking[:, column]
                column += 1
    converged = best.size <= tolerance
    if strict and not converged.all():
        row = int(np.argmin(converged))
        _refuse(problem, best.q[row], distance, angle, row, tolerance)
    batch = problem.batch
    return InverseKinematics(
        best.q.reshape((*batch, problem.mechanism.n_dof)),
        distance.reshape((*batch, len(problem.goals))),
        angle.reshape((*batch, len(problem.goals))),
        converged.reshape(batch),
        best.iterations.reshape(batch),
    )


def _closed(problem: TargetProblems, best: Best, tolerance: float) -> Best:
    """Loops closed to rounding where the targets are met; not met where one is closed the wrong way round."""
    q, size = best.q.copy(), best.size.copy()
    for row in np.flatnonzero((size <= tolerance) & ~_is_closed(problem.mechanism, q)):
        pose, gap = closest(problem.mechanism, q[row], problem.moves)
        if not is_closed(problem.mechanism, gap):
            size[row] = gap
        elif ((pose >= problem.lower) & (pose <= problem.upper)).all():
            q[row] = pose
    return replace(best, q=q, size=size)


def _refuse(
    problem: TargetProblems, q: Array, distance: Array, angle: Array, row: int, tolerance: float
) -> None:
    k = int(np.argmax(distance[row] + angle[row]))
    place = tuple(int(i) for i in np.unravel_index(row, problem.batch)) if problem.batch else ()
    where = f" in entry {place[0] if len(place) == 1 else place}" if place else ""
    beyond = ""
    if problem.followers is not None:
        lacking = np.abs(problem.followers.lacking(q))
        worst = int(np.argmax(lacking))
        if lacking[worst] > tolerance:
            beyond = f" with joint '{problem.followers.names[worst]}' {lacking[worst]:.3g} beyond its limit"
    branch = " on the branch of q0" if problem.mechanism.loops else ""
    raise InputError(
        f"'{problem.mechanism.name}' does not reach the target of body '{problem.goals[k].body}'{where}: "
        f"the nearest found{branch} is {distance[row, k]:.3g} m and {angle[row, k]:.3g} rad away{beyond}, "
        f"allowed {tolerance:g}"
    )
