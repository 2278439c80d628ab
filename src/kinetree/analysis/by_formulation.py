"""The same questions answered by one of the documents' formulations, and the table of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.analysis.evaluate import all_axes, all_rates, coupled, independent
from kinetree.analysis.kinematics import axis_motion, body_poses
from kinetree.analysis.loads import Wrenches, body_loads
from kinetree.errors import InputError, listed
from kinetree.formulations import NAMES, able, described, module_of
from kinetree.formulations.contract import ABILITIES, Formulation, Load
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS, Tree
from kinetree.state import coordinates


class FormulationTable(tuple[Formulation, ...]):
    """The formulations as a tuple that prints as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        rows = [("name", "can", "cost", "source")]
        for f in self:
            rows.append((f.name, ", ".join(name for name in ABILITIES if name in f.can), f.cost, f.source))
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        lines = [
            "  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])


def formulations() -> FormulationTable:
    """The formulations that Kinetree knows: what each can do, its cost and its source.

    Pass a name as ``formulation=`` to inverse_dynamics, mass_matrix, forward_dynamics, ...

    >>> import kinetree as kt
    >>> [f.name for f in kt.formulations()][:2]
    ['spatial', 'newton_euler']
    """
    return FormulationTable(described(name) for name in NAMES)


def chosen(name: str, ability: str, tree: Tree) -> Callable[..., Any]:
    """The function of a formulation, or an error that says who could answer."""
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
    function = chosen(name, ability, tree)
    if tree.coupling is not None and ability == "forward_dynamics":
        raise InputError(f"formulation '{name}' cannot solve forward dynamics with mimic joints")
    values = [coordinates(mechanism, x, what) for what, x in states]
    arrays = [all_axes(tree, values[0])]
    arrays += [
        x if what == "tau" else all_rates(tree, x)
        for (what, _), x in zip(states[1:], values[1:], strict=True)
    ]
    loads = _world_loads(mechanism, arrays[0], wrenches)
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays), () if loads is None else loads.shape[:-2])
    count = math.prod(batch)
    rows = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(count, -1) for x in arrays]
    if loads is not None:
        loads = np.broadcast_to(loads, (*batch, *loads.shape[-2:])).reshape(count, *loads.shape[-2:])
    results = []
    for k in range(count):
        extra = () if loads is None else (_listed(tree, loads[k]),)
        results.append(np.asarray(function(tree, *(x[k] for x in rows), *extra), dtype=np.float64))
    shape = (tree.n, tree.n) if ability == "mass_matrix" else (tree.n,)
    full = np.array(results).reshape((*batch, *shape))
    return coupled(tree, full) if ability == "mass_matrix" else independent(tree, full)


def _world_loads(mechanism: Mechanism, q: Array, wrenches: Wrenches) -> Array | None:
    """Loads at the bodies' origins in world axes, (..., n_bodies, 6)."""
    loads = body_loads(mechanism, q, wrenches)
    if loads is None:
        return None
    rest = np.zeros(mechanism.tree.n)
    rotation, _ = body_poses(mechanism.tree, axis_motion(mechanism.tree, q, rest, rest))
    parts = [(rotation @ loads[..., part, None])[..., 0] for part in (slice(0, 3), slice(3, 6))]
    return np.concatenate(parts, axis=-1)


def _listed(tree: Tree, loads: Array) -> list[Load]:
    """The loads of one state that are not zero, on the axes that carry the bodies."""
    return [
        Load(int(axis), loads[k, :3], loads[k, 3:], tree.body_position[k])
        for k, axis in enumerate(tree.body_axis)
        if axis != WORLD_AXIS and loads[k].any()
    ]
