"""Answers by one of the documents' formulations, and the table of formulations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import check_room
from kinetree.derivations import NAMES, able, described, module_of
from kinetree.derivations.contract import Closed, Load
from kinetree.dynamics.axis_motion import axis_motion, body_poses
from kinetree.dynamics.coupling import all_axes, coupled, independent, on_axes
from kinetree.dynamics.evaluate import batch_shape
from kinetree.dynamics.loads import Wrenches, body_loads, with_springs
from kinetree.errors import InputError, listed
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS, Tree
from kinetree.state import Wrench, coordinates

FORCED = ("inverse_dynamics", "bias_torque", "forward_dynamics", "joint_reactions")  # what springs change


def chosen(name: str, ability: str, tree: Tree) -> Callable[..., Any]:
    """The function of a formulation, or an error that names formulations with an answer."""
    module = module_of(name)
    if ability not in described(name).can:
        raise InputError(f"formulation '{name}' offers no {ability}; these do: {listed(able(ability))}")
    reason = described(name).refuses(tree)
    if reason is not None:
        raise InputError(f"formulation '{name}' cannot handle this mechanism: {reason}")
    function: Callable[..., Any] = getattr(module, ability)
    return function


def answer(
    name: str,
    ability: str,
    mechanism: Mechanism,
    states: Sequence[tuple[str, ArrayLike]],
    wrenches: Wrenches = None,
) -> Array:
    """One quantity by a formulation for a batch of states, state by state.

    ``states`` are named arrays (..., n_dof), q first. The quantity is reduced to the independent joints.
    """
    tree = mechanism.tree
    if tree.coupling is not None and ability == "forward_dynamics":
        raise InputError(f"formulation '{name}' cannot solve forward dynamics with mimic joints")
    (full,) = answers(name, ability, mechanism, tree, states, wrenches)
    if tree.coupling is None:
        return full
    (axes,) = on_axes(tree, coordinates(mechanism, states[0][1], states[0][0]))
    return coupled(tree, full, axes) if ability == "mass_matrix" else independent(tree, full, axes)


def answers(
    name: str,
    ability: str,
    mechanism: Mechanism,
    tree: Tree,
    states: Sequence[tuple[str, ArrayLike]],
    wrenches: Wrenches = None,
    fixed: Sequence[Wrench] = (),
) -> list[Array]:
    """All parts of what a formulation computes for the axes of a tree of the mechanism, (..., part) each.

    ``fixed`` are further wrenches that keep their direction in the world and their point of the body.
    """
    function = chosen(name, ability, tree)
    values = [coordinates(mechanism, x, what) for what, x in states]
    torques = [x for (what, _), x in zip(states, values, strict=True) if what == "tau"]
    arrays = [*on_axes(tree, *values[: len(values) - len(torques)]), *torques]
    if mechanism.tree.springs is not None and ability in FORCED:
        moving, rates = on_axes(mechanism.tree, values[0], values[1])
        wrenches = with_springs(mechanism, moving, rates, wrenches)
    loads = _world_loads(mechanism, all_axes(mechanism.tree, values[0]), wrenches)
    batch = batch_shape(*arrays, *([] if loads is None else [loads[..., 0]]))
    count = math.prod(batch)
    check_room(*((count, *shape) for shape in _shapes(ability, tree.n)))
    rows = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(count, x.shape[-1]) for x in arrays]
    if loads is not None:
        loads = np.broadcast_to(loads, (*batch, *loads.shape[-2:])).reshape(count, *loads.shape[-2:])
    results = [np.empty((count, *shape)) for shape in _shapes(ability, tree.n)]
    constant = [_fixed_loads(mechanism, tree, wrench, batch) for wrench in fixed]
    for k in range(count):
        own = [] if loads is None else _listed(tree, loads[k])
        own += [load[k] for load in constant if load]
        found = function(tree, *(x[k] for x in rows), *((own,) if own or loads is not None else ()))
        for result, part in zip(results, found if isinstance(found, tuple) else (found,), strict=True):
            result[k] = part
    return [result.reshape((*batch, *result.shape[1:])) for result in results]


def closed_answers(
    name: str,
    ability: str,
    mechanism: Mechanism,
    closed: Closed,
    states: Sequence[tuple[str, ArrayLike]],
    wrenches: Wrenches = None,
    further: tuple[Any, ...] = (),
) -> list[Array]:
    """All parts of what a formulation computes for a mechanism with closed loops, state by state."""
    module_of(name)
    function = described(name).closed.get(ability)
    if function is None:
        others = [x for x in NAMES if ability in described(x).closed]
        raise InputError(
            f"formulation '{name}' supports {ability} for open trees only; with closed loops these do: "
            f"{listed(others)}. Leave formulation out, or pass mechanism.opened()"
        )
    tree = mechanism.tree
    reason = described(name).refuses(tree)
    if tree.coupling is not None:
        reason = "it has mimic joints as well as loops"
    if reason is not None:
        raise InputError(f"formulation '{name}' cannot handle this mechanism: {reason}")
    arrays = [coordinates(mechanism, x, what) for what, x in states]
    loads = _world_loads(mechanism, arrays[0], wrenches)
    batch = batch_shape(*arrays, *([] if loads is None else [loads[..., 0]]))
    rows = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in arrays]
    if loads is not None:
        loads = np.broadcast_to(loads, (*batch, *loads.shape[-2:])).reshape(-1, *loads.shape[-2:])
    found = []
    for k in range(math.prod(batch)):
        extra = () if loads is None else (_listed(tree, loads[k]),)
        answer = function(tree, closed, *(x[k] for x in rows), *further, *extra)
        found.append(answer if isinstance(answer, tuple) else (answer,))
    return [np.array(part).reshape((*batch, *np.shape(part[0]))) for part in zip(*found, strict=True)]


def _shapes(ability: str, n: int) -> list[tuple[int, ...]]:
    """What a formulation computes for n axes, part by part."""
    by_ability: dict[str, list[tuple[int, ...]]] = {
        "mass_matrix": [(n, n)],
        "joint_reactions": [(n, 6)],
        "inverse_dynamics_derivatives": [(n,), *[(n, n)] * 3],
        "joint_reaction_derivatives": [(n, 6), *[(n, 6, n)] * 3],
    }
    return by_ability.get(ability, [(n,)])


def slopes_of(
    name: str, ability: str, mechanism: Mechanism, tree: Tree, state: Sequence[ArrayLike], wrenches: Wrenches
) -> tuple[Array, Array]:
    """A quantity and its three derivatives by q, qd, qdd, (3, ...), of the axes of a tree.

    Wrenches must be fixed in the world, as those of the documents are.
    """
    given = [wrenches] if isinstance(wrenches, Wrench) else [] if wrenches is None else wrenches
    fixed = list(cast(Sequence[Wrench], given))
    torques = ability == "inverse_dynamics_derivatives" and tree.coupling is None
    if fixed and not (torques and all(isinstance(x, Wrench) and x.frame == "world" for x in fixed)):
        raise InputError(
            f"formulation '{name}' offers derivatives with wrenches of torques alone, without mimic joints, "
            "and of wrenches in world axes; leave formulation out"
        )
    states = list(zip(("q", "qd", "qdd"), state, strict=True))
    values, *slopes = answers(name, ability, mechanism, tree, states, fixed=fixed)
    return values, np.stack(slopes)


def _world_loads(mechanism: Mechanism, q: Array, wrenches: Wrenches) -> Array | None:
    """Loads at the bodies' origins in world axes, (..., n_bodies, 6)."""
    loads = body_loads(mechanism, q, wrenches)
    if loads is None:
        return None
    rest = np.zeros(mechanism.tree.n)
    rotation, _ = body_poses(mechanism.tree, axis_motion(mechanism.tree, q, rest, rest))
    parts = [(rotation @ loads[..., part, None])[..., 0] for part in (slice(0, 3), slice(3, 6))]
    return np.concatenate(parts, axis=-1)


def _fixed_loads(mechanism: Mechanism, tree: Tree, wrench: Wrench, batch: tuple[int, ...]) -> list[Load]:
    """A wrench in world axes at every state of a batch, at its point in the frame of its axis."""
    k = mechanism.body_index(wrench.body)
    if tree.body_axis[k] == WORLD_AXIS:
        return []
    force, moment = (
        np.broadcast_to(np.asarray(x), (*batch, 3)).reshape(-1, 3) for x in (wrench.force, wrench.moment)
    )
    point = tree.body_position[k] + tree.body_rotation[k] @ np.asarray(wrench.point)
    return [Load(int(tree.body_axis[k]), f, n, point) for f, n in zip(force, moment, strict=True)]


def _listed(tree: Tree, loads: Array) -> list[Load]:
    """The loads of one state that are not zero, on the axes that carry the bodies."""
    return [
        Load(int(axis), loads[k, :3], loads[k, 3:], tree.body_position[k])
        for k, axis in enumerate(tree.body_axis)
        if axis != WORLD_AXIS and loads[k].any()
    ]
