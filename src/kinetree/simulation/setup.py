"""From a mechanism and what acts on it to the memory of a running simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError
from kinetree.kernels.external_load import LOAD
from kinetree.kernels.ground import POINT
from kinetree.kernels.rates import LOCK
from kinetree.kernels.torque_law import AXIS
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS, Tree
from kinetree.simulation.compiled.context import ContextParts, layout_rows
from kinetree.simulation.ground import Ground
from kinetree.simulation.options import Options, Stops
from kinetree.simulation.surroundings import Surroundings
from kinetree.simulation.torque import Law
from kinetree.state import Wrench

CALM = 1e-2  # share of atol: m/s to be seen rising or sinking, m above the ground to be seen leaving it


def context_parts(
    mechanism: Mechanism,
    law: Law,
    around: Surroundings,
    options: Options,
) -> ContextParts:
    """All that a simulation reads, as rows for compiled code."""
    tree, parts = mechanism.tree, law.parts
    if parts.model is not None and parts.model.n != tree.n:
        raise InputError(f"the controller's model has {parts.model.n} axes, the mechanism {tree.n}")
    more: dict[str, Any] = {}
    if around.ground is not None:
        plane, regions = around.ground.rows(mechanism)
        more = {"plane": plane, "regions": regions, "points": point_rows(mechanism, around.ground)}
    return ContextParts(
        tree,
        axis_rows(tree, law, around.stops),
        parts.model,
        loads=load_rows(mechanism, around.loads),
        locks=lock_rows(mechanism),
        desired=_arrays(parts.desired),
        table=_arrays(parts.table),
        mode=parts.mode,
        floating=parts.floating,
        aware=parts.aware,
        integrating=bool(np.any(parts.ki != 0.0)),
        period=parts.period,
        n_log=int(options.duration / parts.period + 2) if parts.period > 0.0 else 0,
        slow=options.friction_speed,
        skin=CALM * options.atol,
        calm=CALM * options.atol,
        stiff=options.method not in ("dop853", "dopri5"),
        **more,
    )


def _arrays(table: Any) -> tuple[Array, Array] | None:
    return None if table is None else (table.breaks, table.coefficients)


def axis_rows(tree: Tree, law: Law, stops: Stops | None) -> Array:
    """Gains, limits and stops of every axis."""
    parts = law.parts
    bounded = np.isfinite(tree.lower) & np.isfinite(tree.upper)
    stopped = bounded & (stops is not None)
    return layout_rows(
        AXIS,
        tree.n,
        passive=(tree.passive | stopped).astype(np.int64),
        actuated=np.asarray(parts.actuated, dtype=np.int64),
        bounded=bounded.astype(np.int64),
        stopped=stopped.astype(np.int64),
        kp=parts.kp,
        kd=parts.kd,
        ki=parts.ki,
        limit=parts.limit,
        lower=tree.lower,
        upper=tree.upper,
        stop_k=stops.stiffness if stops is not None else 0.0,
        stop_c=stops.damping if stops is not None else 0.0,
    )


def _place(mechanism: Mechanism, body: str, point: Array, what: str) -> tuple[int, Array]:
    """The axis that carries a body's point, and the point in its frame."""
    tree, k = mechanism.tree, mechanism.body_index(body)
    axis = int(tree.body_axis[k])
    if axis == WORLD_AXIS:
        raise InputError(f"{what} is on body '{body}', which is fixed to the world and cannot move")
    return axis, tree.body_rotation[k] @ point + tree.body_position[k]


def point_rows(mechanism: Mechanism, ground: Ground) -> Array:
    """Where the contact points are."""
    names = ground.contact_names(mechanism)
    known = {point.name: point for point in mechanism.contact_points}
    places = [
        _place(mechanism, known[name].body, known[name].position, f"contact point '{name}'") for name in names
    ]
    return layout_rows(
        POINT, len(names), axis=[axis for axis, _ in places], r=np.array([r for _, r in places])
    )


def load_rows(mechanism: Mechanism, loads: Sequence[Wrench]) -> Array:
    """Constant external wrenches."""
    rows = []
    for load in loads:
        force, moment = np.asarray(load.force), np.asarray(load.moment)
        what = f"the wrench on '{load.body}'"
        if force.ndim != 1 or moment.ndim != 1:
            raise InputError(f"{what} must be constant in a simulation, got arrays of shape {force.shape}")
        axis, r = _place(mechanism, load.body, np.asarray(load.point), what)
        R = mechanism.tree.body_rotation[mechanism.body_index(load.body)]
        if load.frame == "body":
            force, moment = R @ force, R @ moment
        fixed = int(load.frame == "world")
        rows.append(layout_rows(LOAD, 1, axis=axis, fixed=fixed, r=[r], force=[force], moment=[moment]))
    return np.concatenate(rows) if rows else np.zeros((0, LOAD.width))


def lock_rows(mechanism: Mechanism) -> Array:
    """The middle axes of joints that three Euler angles describe: where they can lock."""
    rows, place = [], 0
    for link in mechanism.links:
        joint = link.joint
        if joint.mimic is not None:
            continue
        if joint.has_three_turns:
            a, b, c = joint.axes[-3:]
            if abs(a @ b) < 1e-9 and abs(b @ c) < 1e-9:  # axes of a proper Euler sequence
                symmetric = int(abs(a @ c) > 0.5)
                rows.append(layout_rows(LOCK, 1, axis=place + joint.n_dof - 2, symmetric=symmetric))
        place += joint.n_dof
    return np.concatenate(rows) if rows else np.zeros((0, LOCK.width))
