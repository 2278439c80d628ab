"""What forces does this motion need? Inverse dynamics, its parts, and joint reactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.analysis.question import closed
from kinetree.dynamics.by_formulation import answer
from kinetree.dynamics.checks import check_threads
from kinetree.dynamics.coupling import axis_state, independent
from kinetree.dynamics.inverse import (
    INVERSE,
    MASS_MATRIX,
    tree_bias_torque,
    tree_gravity_torque,
    tree_reactions,
)
from kinetree.dynamics.loads import Wrenches
from kinetree.errors import InputError, must_be, unknown_name
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.state import COMPONENTS, FRAMES, Frame

if TYPE_CHECKING:
    from xarray import DataArray


def labeled_wrenches(mechanism: Mechanism, values: Array, frame: Frame) -> DataArray:
    """Wrenches (..., n_bodies, 6) with names of bodies and components.

    The axes before are called "state", or "state1", "state2", ... if there are several.
    """
    from xarray import DataArray

    batch = values.ndim - 2
    states = ["state"] if batch == 1 else [f"state{k + 1}" for k in range(batch)]
    return DataArray(
        values,
        dims=[*states, "body", "component"],
        coords={
            "body": list(mechanism.body_names),
            "component": list(COMPONENTS),
            "component_unit": ("component", ["N"] * 3 + ["N m"] * 3),
        },
        name="reaction",
        attrs={
            "units": "N for forces, N m for moments",
            "long_name": f"wrench of the parent on the body, at its origin, in {frame} axes",
        },
    )


def inverse_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrenches: Wrenches = None,
    *,
    threads: int | None = None,
    formulation: str | None = None,
    out: Array | None = None,
) -> Array:
    """Joint torques (N m) and forces (N) of a motion, (..., n_dof): tau = M qdd + c + g + passive - J^T w.

    ``q``, ``qd``, ``qdd`` (..., n_dof); ``wrenches`` act on the bodies (see :class:`Wrench`). Springs,
    friction and armature of the joints, and springs between bodies, are included. Recursive Newton-Euler,
    O(n). ``threads`` for large batches; by default all cores. ``formulation`` selects another derivation
    (:func:`formulations`). ``out``, float64 and contiguous, receives the result.

    For an open tree the result has the torque at every joint, driven or not. With closed loops it has the
    torques of the driven joints, zero elsewhere; redundant drives share the load with the least sum of
    squares (:func:`kinetree.loops.inverse_dynamics` takes weights).

    >>> import kinetree as kt
    >>> kt.inverse_dynamics(kt.zoo.gripper(), [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]).round(4).tolist()
    [0.932, 0.1962, 0.0491, 0.0491]
    """
    try:
        calls = mechanism.tree.kept.calls
    except AttributeError:
        expect_mechanism(mechanism)
        raise
    if (
        wrenches is None
        and formulation is None
        and out is None
        and (threads is None or check_threads(threads))
    ):
        call = calls.get(INVERSE)  # straight to compiled code, which checks plain states
        if call is not None and (tau := call(q, qd, qdd)) is not None:
            return tau  # type: ignore[no-any-return]
    if mechanism.loops:
        return closed(INVERSE, mechanism, (q, qd, qdd), wrenches, threads, formulation, out)
    return INVERSE.closely(mechanism, mechanism.tree, (q, qd, qdd), wrenches, threads, formulation, out)


def bias_torque(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    wrenches: Wrenches = None,
    *,
    formulation: str | None = None,
) -> Array:
    """h (..., n_dof) in tau = M qdd + h: Coriolis, centrifugal, gravity, friction, springs, dampers, loads.

    With closed loops it is that of the tree, M qdd + h = tau + J^T lambda; :func:`kinetree.loops.bias_torque`
    has it for the independent joints.

    >>> import kinetree as kt
    >>> kt.bias_torque(kt.zoo.gripper(), [0, 0, 0, 0], [1, 0, 0, 0]).round(4).tolist()
    [0.932, 0.1962, 0.0491, 0.0491]
    """
    expect_mechanism(mechanism)
    if formulation is not None:
        return answer(formulation, "bias_torque", mechanism, [("q", q), ("qd", qd)], wrenches)
    h = tree_bias_torque(mechanism.opened(), q, qd, wrenches)
    if mechanism.loops:
        from kinetree.dynamics.loops.coordinates import cut_axis_torques, has_cut_forces

        if has_cut_forces(mechanism):
            tree, still = mechanism.tree, np.zeros(mechanism.n_dof)
            at, rates, _ = axis_state(mechanism, tree, q, qd, still)
            h = h - independent(tree, cut_axis_torques(mechanism, at, rates))
    return h


def gravity_torque(mechanism: Mechanism, q: ArrayLike) -> Array:
    """g (..., n_dof): torques that hold the mechanism still against gravity, without springs.

    Compensated weights of bodies (``gravity_compensation``) need none. With closed loops these are torques of
    the driven joints, zero elsewhere.

    >>> import kinetree as kt
    >>> kt.gravity_torque(kt.zoo.two_link_point_masses(), [0, 0]).shape
    (2,)
    """
    expect_mechanism(mechanism)
    if mechanism.loops:
        from kinetree.dynamics.loops.verbs import closed_gravity_torque

        return closed_gravity_torque(mechanism, q)
    return tree_gravity_torque(mechanism, q)


def mass_matrix(
    mechanism: Mechanism,
    q: ArrayLike,
    *,
    threads: int | None = None,
    formulation: str | None = None,
    out: Array | None = None,
) -> Array:
    """M(q) (..., n_dof, n_dof), armature included; symmetric, zero between different branches.

    ``out``, float64 and contiguous, receives the result. With closed loops it is that of the tree, M qdd + h
    = tau + J^T lambda; :func:`kinetree.loops.mass_matrix` reduces it to the independent joints.

    >>> import kinetree as kt
    >>> kt.mass_matrix(kt.zoo.two_link_point_masses(), [0, 0]).round(9).tolist()
    [[5.0, 2.0], [2.0, 1.0]]
    """
    try:
        calls = mechanism.tree.kept.calls
    except AttributeError:
        expect_mechanism(mechanism)
        raise
    if formulation is None and out is None and (threads is None or check_threads(threads)):
        call = calls.get(MASS_MATRIX)  # straight to compiled code
        if call is not None and (M := call(q)) is not None:
            return M  # type: ignore[no-any-return]
    return MASS_MATRIX.closely(mechanism, mechanism.tree, (q,), None, threads, formulation, out)


@overload
def joint_reactions(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrenches: Wrenches = None,
    frame: Frame = "body",
    *,
    formulation: str | None = None,
    labeled: Literal[False] = False,
) -> Array: ...


@overload
def joint_reactions(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrenches: Wrenches = None,
    frame: Frame = "body",
    *,
    formulation: str | None = None,
    labeled: Literal[True],
) -> DataArray: ...


def joint_reactions(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrenches: Wrenches = None,
    frame: Frame = "body",
    *,
    formulation: str | None = None,
    labeled: bool = False,
) -> Array | DataArray:
    """Wrench that each body's parent exerts on it through the joint, (..., n_bodies, 6): force, moment.

    About the body's origin (where its joint sits), in body axes or, with ``frame="world"``, in world axes. It
    includes the torque of the drive; its component along the joint axis is the joint torque minus armature,
    friction and spring torques. Bodies on fixed joints have the wrench of the weld. With closed loops it
    includes the forces of cut joints; components that redundant constraints leave undetermined are NaN
    (:func:`kinetree.loops.reactions` returns a mask).

    With ``labeled`` the result is an xarray.DataArray with the names of bodies and components.

    >>> import kinetree as kt
    >>> still = [0, 0, 0, 0]
    >>> kt.joint_reactions(kt.zoo.gripper(), still, still, still)[0].round(3).tolist()
    [0.0, 9.81, 0.0, 0.0, 0.0, 0.932]
    >>> named = kt.joint_reactions(kt.zoo.gripper(), still, still, still, labeled=True)
    >>> round(float(named.sel(body="link1", component="fy")), 3)
    9.81
    """
    expect_mechanism(mechanism)
    if frame not in FRAMES:
        raise InputError(unknown_name("frame", frame, FRAMES))
    if not isinstance(labeled, bool):
        raise InputError(must_be("labeled", "True or False", labeled))
    if mechanism.loops:
        from kinetree.dynamics.loops.verbs import closed_reactions

        found = closed_reactions(mechanism, q, qd, qdd, wrenches, frame, formulation)
    else:
        found = tree_reactions(mechanism, q, qd, qdd, wrenches, frame, formulation)
    return labeled_wrenches(mechanism, found, frame) if labeled else found
