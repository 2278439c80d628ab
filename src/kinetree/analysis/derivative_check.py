"""Are the exact derivatives right on a mechanism? They are compared with numerical ones at random states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.forward import forward_dynamics
from kinetree.analysis.inverse import inverse_dynamics, joint_reactions
from kinetree.analysis.sensitivity import (
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
    joint_reaction_derivatives,
)
from kinetree.derivations import module_of
from kinetree.dynamics.coupling import independent, on_axes
from kinetree.dynamics.loops.assembly import assemble, completed
from kinetree.dynamics.loops.states import fitting_state
from kinetree.dynamics.loops.structure import structure
from kinetree.errors import SingularityError
from kinetree.model.mechanism import Mechanism
from kinetree.state import COMPONENTS, State

OFFSETS = np.array([-3, -2, -1, 1, 2, 3])
WEIGHTS = np.array([-1, 9, -45, 45, -9, 1]) / 60.0  # central differences of sixth order
STEP = 1e-3
CLOSED_STEP = 1e-4  # along loops, whose other joints may move much faster
COMPLEX_STEP = 1e-30  # no cancellation, so the step can be tiny
LIMITS = {"complex step": 1e-9, "differences": 1e-6}  # relative errors that the method explains
SLOWEST = 0.05  # rad/s, m/s: dry friction has no slope at rest
Progress = Callable[[float], None]

FLATTEST = 1e-4  # of the quantity: slopes below are taken for rounding


@dataclass(frozen=True)
class SlopeCheck:
    """One derivative compared with a numerical one.

    ``error`` is the worst over all states, relative to the largest slope, or to what of the quantity itself
    could be a slope if that is zero; ``where`` names the entry.
    """

    quantity: str
    by: str
    method: str
    error: float
    where: str

    @property
    def passed(self) -> bool:
        """Whether the numerical method explains the difference."""
        return self.error <= LIMITS[self.method]


def check_derivatives(
    mechanism: Mechanism, states: int = 3, seed: int = 0, progress: Progress | None = None
) -> list[SlopeCheck]:
    """The derivatives of torques, accelerations and joint reactions compared with numerical ones.

    Differences of sixth order for all, and for torques also the complex step on the Newton-Euler recursion.
    Accelerations are left out where the mass matrix is singular. With closed loops derivatives are total, and
    so are the differences: the independent joints are moved, and the others follow.

    >>> import kinetree as kt
    >>> all(check.passed for check in check_derivatives(kt.zoo.gripper(), states=1))
    True
    """
    at = fitting_state(mechanism, states, seed)
    qd = at.qd if mechanism.loops else at.qd + np.where(at.qd < 0, -SLOWEST, SLOWEST)
    checks = _closed_checks if mechanism.loops else _checks
    worst: dict[tuple[str, str, str], SlopeCheck] = {}
    for k in range(states):
        for check in checks(mechanism, at.q[k], qd[k], at.qdd[k]):
            key = (check.quantity, check.by, check.method)
            if key not in worst or check.error > worst[key].error:
                worst[key] = check
        if progress is not None:
            progress((k + 1) / states)
    return list(worst.values())


def _checks(mechanism: Mechanism, q: Array, qd: Array, qdd: Array) -> Iterator[SlopeCheck]:
    names = mechanism.joint_names
    rates = ("q", "qd", "qdd")
    load = float(np.abs(joint_reactions(mechanism, q, qd, qdd)).max(initial=0.0))
    inverse = inverse_dynamics_derivatives(mechanism, q, qd, qdd)
    exact = [inverse.dtau_dq, inverse.dtau_dqd, inverse.dtau_dqdd]
    for which, by in enumerate(rates):
        slope = _complex_slope(mechanism, (q, qd, qdd), which)
        yield _check("inverse_dynamics", by, "complex step", exact[which], slope, names, names, load)
        slope = _slope(lambda *x: inverse_dynamics(mechanism, *x), (q, qd, qdd), which)
        yield _check("inverse_dynamics", by, "differences", exact[which], slope, names, names, load)
    try:
        forward = forward_dynamics_derivatives(mechanism, q, qd, inverse.tau)
    except SingularityError:
        forward = None
    if forward is not None:
        found = [forward.dqdd_dq, forward.dqdd_dqd, forward.dqdd_dtau]
        pace = load * float(np.abs(forward.dqdd_dtau).max(initial=0.0))
        for which, by in enumerate(("q", "qd", "tau")):
            slope = _slope(lambda *x: forward_dynamics(mechanism, *x), (q, qd, inverse.tau), which)
            yield _check("forward_dynamics", by, "differences", found[which], slope, names, names, pace)
    reaction = joint_reaction_derivatives(mechanism, q, qd, qdd)
    of = [f"{body} {c}" for body in mechanism.body_names for c in COMPONENTS]
    found = [reaction.dreaction_dq, reaction.dreaction_dqd, reaction.dreaction_dqdd]
    for which, by in enumerate(rates):
        slope = _slope(lambda *x: joint_reactions(mechanism, *x), (q, qd, qdd), which)
        exact_rows, rows = (np.asarray(x).reshape(-1, mechanism.n_dof) for x in (found[which], slope))
        yield _check("joint_reactions", by, "differences", exact_rows, rows, of, names, load)


def _closed_checks(mechanism: Mechanism, q: Array, qd: Array, qdd: Array) -> Iterator[SlopeCheck]:
    """Total derivatives by the independent joints compared with differences along the loops."""
    names = structure(mechanism).independent
    chosen = np.array([mechanism.joint_index(name) for name in names], dtype=np.int64)
    free = np.ones(mechanism.n_dof, dtype=bool)
    free[chosen] = False

    def whole(q_i: Array, qd_i: Array, qdd_i: Array) -> State:
        guess = np.tile(q, (*q_i.shape[:-1], 1))
        guess[..., chosen] = q_i
        closed = assemble(mechanism, guess, hold=names)
        return completed(mechanism, closed, free, qd_i, qdd_i, chosen)

    def reactions(*x: Array) -> Array:
        at = whole(*x)
        return joint_reactions(mechanism, at.q, at.qd, at.qdd)

    def torques(*x: Array) -> Array:
        at = whole(*x)
        return inverse_dynamics(mechanism, at.q, at.qd, at.qdd)

    own, of = (q[chosen], qd[chosen], qdd[chosen]), mechanism.joint_names
    load = float(np.nanmax(np.abs(joint_reactions(mechanism, q, qd, qdd)), initial=0.0))
    inverse = inverse_dynamics_derivatives(mechanism, q, qd, qdd)
    forward = forward_dynamics_derivatives(mechanism, q, qd, inverse.tau)
    reaction = joint_reaction_derivatives(mechanism, q, qd, qdd)
    pace = load * float(np.abs(forward.dqdd_dtau).max(initial=0.0))

    def moved(q_i: Array, qd_i: Array) -> Array:
        at = whole(q_i, qd_i, np.zeros_like(q_i))
        return forward_dynamics(mechanism, at.q, at.qd, inverse.tau)

    for which, by in enumerate(("q", "qd", "qdd")):
        slope = _slope(torques, own, which, CLOSED_STEP)
        exact = inverse.matrices[which]
        yield _check("inverse_dynamics", by, "differences", exact, slope, of, names, load)
        if which < 2:
            slope, exact = _slope(moved, own[:2], which, CLOSED_STEP), forward.matrices[which]
            yield _check("forward_dynamics", by, "differences", exact, slope, of, names, pace)
        rows = [f"{body} {c}" for body in mechanism.body_names for c in COMPONENTS]
        slope = np.nan_to_num(_slope(reactions, own, which, CLOSED_STEP).reshape(-1, len(names)))
        exact = np.nan_to_num(reaction.slopes[which].reshape(-1, len(names)))
        yield _check("joint_reactions", by, "differences", exact, slope, rows, names, load)


def _check(
    quantity: str,
    by: str,
    method: str,
    exact: Array,
    slope: Array,
    rows: Sequence[str],
    columns: Sequence[str],
    size: float,
) -> SlopeCheck:
    """Compare two Jacobians (r, n); ``size`` is that of the forces or accelerations they are slopes of."""
    off = np.abs(np.asarray(exact) - slope)
    slopes = (float(np.abs(x).max(initial=0.0)) for x in (slope, exact))
    largest = max(*slopes, FLATTEST * size)
    if not off.size:
        return SlopeCheck(quantity, by, method, 0.0, "")
    i, j = divmod(int(off.argmax()), off.shape[1])
    error = float(off[i, j]) / largest if largest > 0.0 else float(off[i, j])
    return SlopeCheck(quantity, by, method, error, f"d {rows[i]} / d {columns[j]}")


def _slope(function: Callable[..., Any], at: Sequence[Array], which: int, step: float = STEP) -> Array:
    """d function / d at[which], (..., n), by central differences of sixth order."""
    n = len(at[which])
    moved = at[which] + step * OFFSETS[:, None, None] * np.eye(n)
    arguments = [moved if k == which else np.broadcast_to(x, moved.shape) for k, x in enumerate(at)]
    values = np.asarray(function(*arguments))  # (6, n, ...)
    slope: Array = np.moveaxis(np.tensordot(WEIGHTS, values, axes=1), 0, -1) / step
    return slope


def _complex_slope(mechanism: Mechanism, at: Sequence[Array], which: int) -> Array:
    """d tau / d at[which] (n, n) by complex steps through the Newton-Euler recursion."""
    tree = mechanism.tree
    torque = module_of("newton_euler").inverse_dynamics
    columns = []
    for k in range(mechanism.n_dof):
        moved: list[Any] = [np.array(x, dtype=np.complex128) for x in at]
        moved[which][k] += 1j * COMPLEX_STEP
        axes = on_axes(tree, *moved)
        tau: Any = np.array(torque(tree, *axes), dtype=np.complex128)
        columns.append(independent(tree, tau, axes[0]).imag / COMPLEX_STEP)
    return np.stack(columns, axis=-1)
