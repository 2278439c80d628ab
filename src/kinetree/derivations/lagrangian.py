"""The recursive Lagrangian formulation with 4x4 matrices ([Xiang2009], section 4; Hollerbach, 1980)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinetree.derivations.contract import Closed, Formulation, Load, Loads, step
from kinetree.derivations.cut_joints import along, cut_jacobian, cut_rates, end_loads
from kinetree.derivations.elimination import solved
from kinetree.derivations.homogeneous import Numbers
from kinetree.derivations.lagrangian_recursion import forward_kinematics, inverse_dynamics
from kinetree.derivations.lagrangian_sensitivity import inverse_dynamics_derivatives, mass_matrix
from kinetree.errors import InputError, unknown_name
from kinetree.model.body import WORLD
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS, Integers, Tree

RANK = 1e-9  # singular values below this share of the largest count as zero


def closed_inverse_dynamics(
    tree: Tree, closed: Closed, q: Any, qd: Any, qdd: Any, loads: Loads = ()
) -> Numbers:
    """Torques (n,) of the drives, zero elsewhere: least sum of squares subject to the equations of motion."""
    return _solved(tree, closed, q, inverse_dynamics(tree, q, qd, qdd, loads))[0]


def closed_forward_dynamics(
    tree: Tree, closed: Closed, q: Any, qd: Any, tau: Any, loads: Loads = ()
) -> Numbers:
    """qdd (n,): equations of motion with unknown forces at the ends, and g'' = 0, solved together."""
    still = np.zeros(tree.n)
    M, L = mass_matrix(tree, q), force_columns(tree, closed, q)
    right = np.asarray(tau) - inverse_dynamics(tree, q, qd, still, loads)
    bias = cut_rates(closed.cuts, forward_kinematics(tree, q, qd, still))
    J = cut_jacobian(tree, closed.cuts, q)
    whole = np.block([[M, -L], [J, np.zeros((len(J), len(J)))]])
    scale = np.concatenate([1.0 / np.sqrt(np.diag(M)), np.full(len(J), np.sqrt(np.diag(M).mean()))])
    solution = np.linalg.lstsq(
        whole * scale[:, None] * scale, np.concatenate([right, -bias]) * scale, rcond=1e-13
    )[0]
    found: Numbers = (scale * solution)[: tree.n]
    return found


def closed_inverse_dynamics_derivatives(
    tree: Tree, closed: Closed, q: Any, qd: Any, qdd: Any, independent: Integers, loads: Loads = ()
) -> tuple[Numbers, ...]:
    """tau (n,) and its total derivatives by q, qd, qdd of the ``independent`` axes, (n, mobility) each.

    Then the same of J^T lambda, what the forces at the ends do to the joints, and dq / dq_independent. The
    other axes follow the position constraint and its time derivatives; unknown forces at the ends follow the
    equations of motion. Sensitivities of these are [Xiang2009], eqs. 21-35.
    """
    if loads:
        raise InputError(
            "sensitivities of the recursive Lagrangian with cut loops do not support other loads"
        )
    cuts, n, m = closed.cuts, tree.n, len(independent)
    q, qd, qdd = (np.asarray(x, dtype=np.float64) for x in (q, qd, qdd))
    tau_0, *partial = inverse_dynamics_derivatives(tree, q, qd, qdd)
    tau, force, L = _solved(tree, closed, q, tau_0)
    J = cut_jacobian(tree, cuts, q)
    free = np.setdiff1d(np.arange(n), independent)
    back = np.linalg.pinv(J[:, free], rcond=RANK)

    def completed(own: Numbers, right: Numbers) -> Numbers:
        """d (n,) with d_i = own and J d = -right."""
        d = np.zeros(n)
        d[independent] = own
        d[free] = -back @ (right + J[:, independent] @ own)
        return d

    def rate(q: Numbers, qd: Numbers, qdd: Numbers) -> Numbers:
        return cut_rates(cuts, forward_kinematics(tree, q, qd, qdd))

    by_drives, by_ends, G = np.zeros((3, n, m)), np.zeros((3, n, m)), np.zeros((n, m))
    unit, none = np.eye(3 * m).reshape(3 * m, 3, m), np.zeros(len(J))
    for k, (own, own_d, own_dd) in enumerate(unit):
        dq = completed(own, none)
        dqd = completed(own_d, along(lambda x: cut_jacobian(tree, cuts, x) @ qd, q, dq))
        dqdd = completed(own_dd, along(lambda x: rate(*x), (q, qd, qdd), (dq, dqd, 0.0 * dq)))
        needed = sum(slope @ d for slope, d in zip(partial, (dq, dqd, dqdd), strict=True))
        dJ = along(lambda x: cut_jacobian(tree, cuts, x), q, dq)
        dtau = _slope(closed, tau, L, dJ, needed - dJ.T @ force)
        by_drives[k // m, :, k % m], by_ends[k // m, :, k % m] = dtau, needed - dtau
        if k < m:
            G[:, k] = dq
    return tau, *by_drives, tau_0 - tau, *by_ends, G


def _slope(closed: Closed, tau: Numbers, L: Numbers, dJ: Numbers, right: Numbers) -> Numbers:
    """dtau of the least squares: E dx + L dforce = right, dx = E^T dy, L^T dy = -dJ y, where x = E^T y."""
    drives = np.flatnonzero(closed.driven)
    E = np.eye(len(tau))[:, drives]
    free = _null(L.T)
    A = free.T @ E
    y = free @ np.linalg.lstsq(A @ A.T, A @ tau[drives], rcond=RANK)[0]
    outside = -np.linalg.pinv(L.T, rcond=RANK) @ (dJ @ y)
    mu = np.linalg.solve(A @ A.T, free.T @ right - A @ outside[drives])
    dtau = np.zeros(len(tau))
    dtau[drives] = A.T @ mu + outside[drives]
    return dtau


def _solved(tree: Tree, closed: Closed, q: Any, needed: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Torques of the drives, forces at the ends, and what units of these forces do to the joints."""
    L = force_columns(tree, closed, q)
    drives = np.flatnonzero(closed.driven)
    free = _null(L.T)  # motions against which forces at the ends do no work
    A = free.T @ np.eye(tree.n)[:, drives]
    x = np.linalg.lstsq(A, free.T @ needed, rcond=RANK)[0]
    left = float(np.abs(A @ x - free.T @ needed).max(initial=0.0))
    if left > 1e-9 * max(1.0, float(np.abs(needed).max(initial=0.0))):
        raise InputError(f"the drives cannot produce this motion; {left:.3g} N m or N is left over")
    tau = np.zeros(tree.n)
    tau[drives] = x
    return tau, np.linalg.lstsq(L, needed - tau, rcond=RANK)[0], L


def force_columns(tree: Tree, closed: Closed, q: Any) -> Numbers:
    """(n, rows): generalized forces of units of the cut ends' forces, by the recursion of F and G."""
    still = np.zeros(tree.n)
    alone = inverse_dynamics(tree, q, still, still)
    columns = [
        alone - inverse_dynamics(tree, q, still, still, ends) for ends in end_loads(tree, closed.cuts, q)
    ]
    return np.stack(columns, axis=-1)


def _null(J: Numbers) -> Numbers:
    """A basis (n, n - rank) of what J maps to zero."""
    _, s, Vt = np.linalg.svd(J)
    rank = int((s > RANK * s[:1]).sum())
    basis: Numbers = Vt[rank:].T
    return basis


FORMULATION = Formulation(
    name="lagrangian",
    title="Recursive Lagrangian with 4x4 matrices",
    source="[Xiang2009], section 4",
    cost="O(n); sensitivities and mass matrix O(n depth)",
    can=frozenset(
        {
            "inverse_dynamics",
            "mass_matrix",
            "bias_torque",
            "forward_dynamics",
            "inverse_dynamics_derivatives",
        }
    ),
    closed={
        "inverse_dynamics": closed_inverse_dynamics,
        "forward_dynamics": closed_forward_dynamics,
        "inverse_dynamics_derivatives": closed_inverse_dynamics_derivatives,
    },
)


def bias_torque(tree: Tree, q: Any, qd: Any, loads: Loads = ()) -> Numbers:
    """h (n,) in tau = M qdd + h."""
    return inverse_dynamics(tree, q, qd, np.zeros(tree.n, int), loads)


def forward_dynamics(tree: Tree, q: Any, qd: Any, tau: Any, loads: Loads = ()) -> Numbers:
    """qdd (n,) of M qdd = tau - h, with M from the sensitivities by qdd. O(n^3)."""
    M, h = mass_matrix(tree, q), bias_torque(tree, q, qd, loads)
    with step("solution"):
        return solved(tree, M, np.asarray(tau) - h)


def cut_joint_loads(
    mechanism: Mechanism, forces: Mapping[str, Any], moments: Mapping[str, Any] | None = None
) -> tuple[Load, ...]:
    """The constraint forces of cut joints as loads on the bodies they tie together ([Xiang2009], eq. 38).

    ``forces`` (N) and ``moments`` (N m), three numbers in world axes by the name of the loop: what the
    joint exerts on body a, at ``placement_a``; body b feels the opposite at ``placement_b``. With the right
    ones the open tree moves as the closed mechanism: M qdd + h = tau + J^T lambda.

    >>> from kinetree.model import zoo
    >>> [load.axis for load in cut_joint_loads(zoo.four_bar(), {"crank_pin": (1.0, 2.0, 0.0)})]
    [2, 0]
    """
    moments = {} if moments is None else moments
    loops = {loop.name: loop for loop in mechanism.loops}
    for name, values in (*forces.items(), *moments.items()):
        if name not in loops:
            raise InputError(unknown_name("loop", name, loops))
        if np.shape(values) != (3,):
            raise InputError(
                f"force and moment of loop '{name}' must have 3 components, got shape {np.shape(values)}"
            )
    loads = []
    for name, loop in loops.items():
        if name not in forces and name not in moments:
            continue
        force, moment = np.asarray(forces.get(name, (0, 0, 0))), np.asarray(moments.get(name, (0, 0, 0)))
        for sign, body, place in ((1, loop.body_a, loop.placement_a), (-1, loop.body_b, loop.placement_b)):
            axis, point = _place_on_axis(mechanism, body, place.position)
            if axis != WORLD_AXIS:
                loads.append(Load(axis, sign * force, sign * moment, point))
    return tuple(loads)


def _place_on_axis(mechanism: Mechanism, body: str, point: Numbers) -> tuple[int, Numbers]:
    """The axis that carries a body, and a point of the body in the axis frame."""
    if body == WORLD:
        return WORLD_AXIS, point
    tree, k = mechanism.tree, mechanism.body_index(body)
    return int(tree.body_axis[k]), tree.body_rotation[k] @ point + tree.body_position[k]


__all__ = [
    "FORMULATION",
    "bias_torque",
    "cut_joint_loads",
    "forward_dynamics",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "mass_matrix",
]
