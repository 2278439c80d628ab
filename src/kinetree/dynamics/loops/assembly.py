"""Closing the loops: poses that fit together, the ways to assemble a mechanism, motions on one branch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, number
from kinetree.dynamics.loops.positions import loop_positions_of
from kinetree.dynamics.loops.system import CLOSED, RANK, ROUNDED, constraints, misfit
from kinetree.errors import AssemblyError, InputError, listed, must_be, shown
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags, Integers
from kinetree.other_names import checks_keywords
from kinetree.state import Coordinates, State, coordinates, random_state

CLOSE = 1e-13  # gaps (m, sines), relative to the mechanism's size, at which Newton's iteration may end
ITERATIONS = 100
STALLED = 1e-9  # share of the gaps by which an iteration that closes nothing more brings them down
NO_PROGRESS = 1e-4  # of the gaps, in one of many iterations that run together
SMALLEST = 1e-10  # damping of these
LONGEST_STEP = 0.5  # rad or m of one iteration
FLIPPED = 2.0  # the gap of a loop that is closed, but turned by half a turn
SAME = 1e-6  # rad or m between two poses that count as one
HALVINGS = 12  # of a step of a motion, until its branch can be followed

Hold = Sequence[str] | Mapping[str, float]


@checks_keywords
def assemble(mechanism: Mechanism, q0: Coordinates, hold: Hold = ()) -> Array:
    """Coordinates (..., n_dof) near ``q0`` at which all loops are closed.

    ``hold`` names joints that keep the values of ``q0``, or maps names to values. Newton's iteration takes
    the step of least norm, shortened where it does not bring the gaps down.

    >>> import kinetree as kt
    >>> bar = kt.zoo.four_bar()
    >>> assemble(bar, [0.0, 1.0, 4.3], hold=["crank_pivot"]).round(6).tolist()
    [0.0, 0.984373, 4.314439]
    """
    expect_mechanism(mechanism)
    q = np.array(coordinates(mechanism, q0, "q0"))
    free = _freed(mechanism, q, hold)
    if not mechanism.loops:
        return q
    return _assembled(mechanism, q.reshape(-1, mechanism.n_dof), free).reshape(q.shape)


def _assembled(mechanism: Mechanism, q: Array, free: Flags) -> Array:
    """Closed poses near rough ones, (m, n_dof); at once where the loops leave free joints no choice."""
    found, good = loop_positions_of(mechanism).close(q, np.flatnonzero(free))
    if good.any():
        some = constraints(mechanism, found[good])
        good[good] = (some.rows.facing(some.cut) > 0.0).all(axis=-1)
    for k in np.flatnonzero(~good):
        found[k], gap = closest(mechanism, q[k], free)
        if not is_closed(mechanism, gap):
            raise AssemblyError(_open_message(mechanism, found[k], free))
    return found


def closest(mechanism: Mechanism, q: Array, free: Flags) -> tuple[Array, float]:
    """The coordinates that Newton's iteration reaches, and the largest gap left that motions could close."""
    q, found = np.array(q), constraints(mechanism, q)
    error = float(np.linalg.norm(found.gap))
    damping = 0.0
    for _ in range(ITERATIONS):
        if not free.any():
            break
        step = np.zeros_like(q)
        step[free] = _step(found.J[:, free], found.gap, damping)
        longest = np.abs(step).max(initial=0.0)
        if longest > LONGEST_STEP:
            step *= LONGEST_STEP / longest
        new = constraints(mechanism, q + step)
        better = float(np.linalg.norm(new.gap))
        if better < error or better <= CLOSE:
            stalled = better > max((1.0 - STALLED) * error, CLOSED)
            small = longest <= 4.0 * np.finfo(float).eps * max(1.0, np.abs(q).max())
            q, found, damping = q + step, new, damping / 10.0 if damping > 1e-9 else 0.0
            if small or stalled or (error <= CLOSE and better >= 0.5 * error):
                error = better
                break
            error = better
        elif error <= CLOSE or damping > 1e6:
            break
        else:
            damping = max(10.0 * damping, 1e-6)
    gap = float(np.abs(found.gap).max(initial=0.0))
    if 1e3 * CLOSE < gap <= CLOSED:
        gap = float(np.abs(found.gap - misfit(found)).max())
    return q, max(gap, FLIPPED) if (found.rows.facing(found.cut) < 0.0).any() else gap


def nearer(mechanism: Mechanism, q: Array) -> tuple[Array, Array]:
    """Poses (m, n_dof) with smaller gaps than given ones, and their largest gaps (m,), all at once.

    The step of Levenberg and Marquardt, -(J^T J + mu)^-1 J^T gap, with mu of each pose's own.
    """
    q, n = np.array(q), q.shape[-1]
    mu = np.full(len(q), 1e-3)
    found = constraints(mechanism, q)
    J, gap = np.array(found.J), np.array(found.gap)
    error, going = np.linalg.norm(gap, axis=-1), np.arange(len(q))
    for _ in range(ITERATIONS):
        Jt = np.swapaxes(J[going], -1, -2)
        A = Jt @ J[going] + mu[going, None, None] * np.eye(n)
        step = -np.linalg.solve(A, Jt @ gap[going][..., None])[..., 0]
        longest = np.abs(step).max(axis=-1, keepdims=True)
        step *= np.minimum(1.0, LONGEST_STEP / np.maximum(longest, 1e-300))
        new = constraints(mechanism, q[going] + step)
        better = np.linalg.norm(new.gap, axis=-1)
        down = better < error[going]
        went, stayed = going[down], going[~down]
        stalled = better[down] > (1.0 - NO_PROGRESS) * error[went]
        q[went], error[went], gap[went], J[went] = (
            q[went] + step[down],
            better[down],
            new.gap[down],
            new.J[down],
        )
        mu[went], mu[stayed] = np.maximum(0.1 * mu[went], SMALLEST), 10.0 * mu[stayed]
        going = np.concatenate(
            [went[~stalled & (error[went] > CLOSED)], stayed[(mu[stayed] < 1e6) & (error[stayed] > CLOSED)]]
        )
        if not len(going):
            break
    return q, np.abs(gap).max(axis=-1)


@dataclass(frozen=True, eq=False)
class AssemblyMode:
    """One way to put a mechanism together: its coordinates, and how many of the starts led there."""

    q: Array
    count: int


def assembly_modes(
    mechanism: Mechanism, q: ArrayLike, hold: Hold, starts: int = 80, seed: int = 0
) -> tuple[AssemblyMode, ...]:
    """The different poses found from random starts with some joints held, most frequent first.

    ``hold`` must take all freedom, or poses go over into each other: as many independent joints as the
    mechanism has mobility. There may be more modes: nothing proves that all were found.

    >>> import kinetree as kt
    >>> modes = kt.loops.assembly_modes(kt.zoo.four_bar(), [0.0, 1.0, 4.3], hold=["crank_pivot"])
    >>> len(modes), sum(mode.count for mode in modes) <= 80
    (2, True)
    """
    expect_mechanism(mechanism)
    if not isinstance(starts, int) or starts < 1:
        raise InputError(must_be("starts", "a positive integer", starts))
    base = np.array(coordinates(mechanism, q, "q"))
    if base.ndim != 1:
        raise InputError(f"q must be one state of {mechanism.n_dof} coordinates, got shape {base.shape}")
    free, rng = _freed(mechanism, base, hold), np.random.default_rng(seed)
    turns = _turning(mechanism)
    found: list[list[Array]] = []
    for k in range(starts):
        start = base.copy()
        if k > 0:
            start[free] = random_state(mechanism, rng).q[free]
        pose, gap = closest(mechanism, start, free)
        if not is_closed(mechanism, gap):
            continue
        for known in found:
            difference = pose - known[0]
            difference[turns] = np.remainder(difference[turns] + np.pi, 2.0 * np.pi) - np.pi
            if np.abs(difference).max() < SAME:
                known.append(pose)
                break
        else:
            found.append([pose])
    _refuse_families(mechanism, [known[0] for known in found], free)
    found.sort(key=len, reverse=True)
    return tuple(AssemblyMode(known[0], len(known)) for known in found)


def _refuse_families(mechanism: Mechanism, poses: list[Array], free: Flags) -> None:
    """An error if the joints that are not held can still move, so that poses are no separate modes."""
    if not poses:
        return
    J = constraints(mechanism, np.array(poses)).J
    size = np.linalg.svd(J, compute_uv=False)[..., :1]
    ranks = (np.linalg.svd(J[..., free], compute_uv=False) > RANK * size).sum(axis=-1)
    loose = int(free.sum() - ranks.max())
    if loose > 0:
        held = [name for name, is_free in zip(mechanism.joint_names, free, strict=True) if not is_free]
        raise InputError(
            f"mechanism '{mechanism.name}' can still move in {loose} way{'s' * (loose > 1)} with "
            f"{listed(held)} held, so its poses are not separate modes; hold {loose} more independent "
            f"joint{'s' * (loose > 1)}, such as kinetree.loops.structure(mechanism).independent"
        )


@checks_keywords
def dependent_motion(
    mechanism: Mechanism,
    independent: Sequence[str],
    q: ArrayLike,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    *,
    q0: Coordinates,
) -> State:
    """The whole motion that follows from some joints' motion, sample after sample on one branch.

    ``q`` (samples, k) of the ``independent`` joints, with rates and accelerations of the same shape;
    ``q0`` (n_dof,) selects the branch at the first sample. Returns positions, velocities and accelerations
    of all joints, (samples, n_dof): J_d qd_d = -J_i qd_i, J_d qdd_d = -J_i qdd_i - bias.

    >>> import kinetree as kt
    >>> bar, still = kt.zoo.four_bar(), [0.0] * 3
    >>> q = kt.loops.assemble(bar, [0.0, 1.0, 4.3], hold=["crank_pivot"])
    >>> kt.loops.dependent_motion(bar, ["crank_pivot"], [[0.0], [0.1]], q0=q).q.shape
    (2, 3)
    """
    expect_mechanism(mechanism)
    if isinstance(independent, str):
        raise InputError(must_be("independent", "a list of joints", independent))
    chosen = np.array([mechanism.joint_index(name) for name in independent], dtype=np.int64)
    if len(set(chosen.tolist())) != len(chosen):
        raise InputError(f"independent joints must differ, got {listed(list(independent))}")
    given = _samples(q, len(chosen), "q")
    rates = np.zeros_like(given) if qd is None else _samples(qd, len(chosen), "qd", len(given))
    accelerations = np.zeros_like(given) if qdd is None else _samples(qdd, len(chosen), "qdd", len(given))
    free = np.ones(mechanism.n_dof, dtype=bool)
    free[chosen] = False
    start = np.array(coordinates(mechanism, q0, "q0"))
    start[chosen] = given[0]
    poses = np.zeros((len(given), mechanism.n_dof))
    poses[:, chosen] = given
    poses[0] = _assembled(mechanism, start[None], free)[0]
    _refuse_dependent(mechanism, poses[0], free, independent)
    k, ahead = 1, loop_positions_of(mechanism)
    while k < len(given):
        found, count = ahead.chain(poses[k - 1], poses[k:], np.flatnonzero(free))
        poses[k : k + count], k = found[:count], k + count
        if k < len(given):
            poses[k] = _followed(mechanism, poses[k - 1], given[k], chosen, free, k)
            k += 1
    return completed(mechanism, poses, free, rates, accelerations, chosen)


def completed(
    mechanism: Mechanism, q: Array, free: Flags, rates: Array, accelerations: Array, chosen: Integers
) -> State:
    """Velocities and accelerations of the dependent joints at closed poses."""
    flat, n = q.reshape(-1, q.shape[-1]), q.shape[-1]
    given = np.zeros((2, *q.shape))
    given[0][..., chosen], given[1][..., chosen] = rates, accelerations
    given = given.reshape(2, -1, n)
    qd, qdd, good = loop_positions_of(mechanism).rates(flat, given[0], given[1], np.flatnonzero(free))
    if not good.all():  # singular positions: the least rates that fit
        some, v, a = flat[~good], *given[:, ~good]
        found = constraints(mechanism, some)
        inverse = np.linalg.pinv(found.J[..., free], rcond=RANK)
        v[:, free] = -(inverse @ (found.J @ v[..., None]))[..., 0]
        bias = constraints(mechanism, some, v).rate
        a[:, free] = -(inverse @ (found.J @ a[..., None] + bias[..., None]))[..., 0]
        qd[~good], qdd[~good] = v, a
    return State(q, qd.reshape(q.shape), qdd.reshape(q.shape))


def fitting_rates(mechanism: Mechanism, q: Array, qd: Array, hold: Sequence[str] = ()) -> Array:
    """Velocities (n_dof,) nearest to given ones that keep the loops closed; joints to hold keep theirs."""
    free = np.ones(mechanism.n_dof, dtype=bool)
    free[[mechanism.joint_index(name) for name in hold]] = False
    J = constraints(mechanism, q).J
    change = np.zeros(mechanism.n_dof)
    change[free] = -np.linalg.pinv(J[:, free], rcond=RANK) @ (J @ qd)
    left = np.abs(J @ (qd + change)).max(initial=0.0)
    if left > 1e-9 * max(1.0, float(np.abs(qd).max(initial=0.0))):
        raise InputError(
            f"mechanism '{mechanism.name}': the velocities of the joints to hold ({listed(list(hold))}) "
            f"contradict each other: the loops would open at {left:.3g} m/s or rad/s"
        )
    return qd + change


def _followed(
    mechanism: Mechanism, last: Array, target: Array, chosen: Integers, free: Flags, k: int
) -> Array:
    """The pose of the next sample on the branch of the last one; long steps are halved."""
    q, goal, parts = last, target - last[chosen], [1.0]
    done = 0.0
    while parts:
        share = parts.pop()
        ahead = done + share
        start, found = q.copy(), constraints(mechanism, q)
        move = last[chosen] + ahead * goal - q[chosen]
        start[chosen] += move
        new, good = loop_positions_of(mechanism).follow(q[None], start[None], np.flatnonzero(free))
        if good[0]:
            q, done = new[0], ahead
            continue
        predicted = -np.linalg.pinv(found.J[:, free], rcond=RANK) @ (found.J[:, chosen] @ move)
        start[free] += predicted
        new, gap = closest(mechanism, start, free)
        correction = np.abs(new[free] - start[free]).max(initial=0.0)
        far = max(np.abs(move).max(initial=0.0), np.abs(predicted).max(initial=0.0))
        if is_closed(mechanism, gap) and correction <= 0.25 * far + 1e-9:
            q, done = new, ahead
        elif share < 2.0**-HALVINGS:
            reason = _open_message(mechanism, new, free)
            if is_closed(mechanism, gap):
                reason = (
                    "the loops close there only far from the last pose: the joints that are prescribed are "
                    "next to a singular position, where the branch ends"
                )
            raise AssemblyError(
                f"mechanism '{mechanism.name}': the motion cannot be followed beyond sample {k - 1} "
                f"(share {done:.3f} of the way to sample {k}); {reason}"
            )
        else:
            parts += [share / 2.0, share / 2.0]
    return q


def _freed(mechanism: Mechanism, q: Array, hold: Hold) -> Flags:
    """Which coordinates may move; values that are given for held ones go into q."""
    if isinstance(hold, str) or not isinstance(hold, Iterable):
        raise InputError(f"hold must list joints or map them to values, got {shown(hold)}")
    free = np.ones(mechanism.n_dof, dtype=bool)
    for name in hold:
        k = mechanism.joint_index(name)
        if not free[k]:
            raise InputError(f"hold names joint '{name}' twice")
        free[k] = False
        if isinstance(hold, Mapping):
            value = number(hold[name], f"hold: the value of joint '{name}'")
            q[..., k] = value
    return free


def _step(J: Array, gap: Array, damping: float) -> Array:
    if damping == 0.0:
        step: Array = -np.linalg.pinv(J, rcond=ROUNDED) @ gap
        return step
    n = J.shape[1]
    damped = np.concatenate([J, np.sqrt(damping) * np.eye(n)])
    step = -np.linalg.lstsq(damped, np.concatenate([gap, np.zeros(n)]), rcond=None)[0]
    return step


def is_closed(mechanism: Mechanism, gap: float) -> bool:
    """Whether a gap (m, rad) is rounding relative to the mechanism's size."""
    size = max(1.0, float(np.abs(mechanism.tree.position).max(initial=0.0)))
    return gap <= 1e3 * CLOSE * size


def _open_message(mechanism: Mechanism, q: Array, free: Flags) -> str:
    found = constraints(mechanism, q)
    worst = int(np.argmax(np.abs(found.gap)))
    flipped = np.flatnonzero(found.rows.facing(found.cut) < 0.0)
    if len(flipped):
        return (
            f"mechanism '{mechanism.name}': loop '{found.rows.loops[flipped[0]].name}' closes only with its "
            f"frames in opposite directions from this guess. Try another guess"
        )
    loop = found.rows.loops[found.rows.loop_of_row[worst]].name
    held = [name for name, is_free in zip(mechanism.joint_names, free, strict=True) if not is_free]
    message = (
        f"mechanism '{mechanism.name}': loop '{loop}' cannot be closed from this guess; the closest that was "
        f"reached is a gap of {abs(found.gap[worst]):.3g} m or rad"
    )
    if held:
        message += f" with {listed(held)} held"
    return message + ". Try another guess, hold fewer joints, or check the lengths"


def _refuse_dependent(mechanism: Mechanism, q: Array, free: Flags, names: Sequence[str]) -> None:
    """An error where the chosen joints do not determine the motion, or are not independent."""
    J = constraints(mechanism, q).J
    rank = np.linalg.matrix_rank(J, tol=RANK * max(1.0, np.abs(J).max(initial=0.0)))
    held = np.linalg.matrix_rank(J[:, free], tol=RANK * max(1.0, np.abs(J).max(initial=0.0)))
    mobility = mechanism.n_dof - int(rank)
    if held < rank:
        raise InputError(
            f"mechanism '{mechanism.name}': the joints {listed(list(names))} cannot be prescribed together "
            f"at the first sample: they are not independent, or the pose is singular (mobility {mobility})"
        )
    if len(names) < mobility:
        raise InputError(
            f"mechanism '{mechanism.name}' has mobility {mobility}: its motion does not follow from "
            f"{listed(list(names))} alone; name {mobility} independent joints"
        )


def _samples(values: ArrayLike, k: int, what: str, count: int | None = None) -> Array:
    array = np.array(values, dtype=float)
    if (
        array.ndim != 2
        or array.shape[1] != k
        or (count is not None and len(array) != count)
        or len(array) == 0
    ):
        shape = f"({'samples' if count is None else count}, {k})"
        raise InputError(f"{what} must have shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{what} must be finite")
    return array


def _turning(mechanism: Mechanism) -> Flags:
    tree = mechanism.tree
    if tree.coupling is None:
        return tree.turns
    names = {name: k for k, name in enumerate(tree.axis_names)}
    return np.array([tree.turns[names[name]] for name in mechanism.joint_names])
