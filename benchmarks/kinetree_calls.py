"""Kinetree's side: the public call, the packed answer, and the compiled kernel alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.packed import evaluate_packed
from benchmarks.states import States
from benchmarks.timing import Contestant
from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import aligned
from kinetree.dynamics.evaluate import evaluate
from kinetree.engine import run as running
from kinetree.engine.code import many_states
from kinetree.engine.workspace import workspace_size
from kinetree.kernels.aba import ABA_ALONE
from kinetree.kernels.aba_gradient import ABA_GRADIENT
from kinetree.kernels.crba import CRBA
from kinetree.kernels.layout import Kernel
from kinetree.kernels.model_table import packed_rows, tree_table
from kinetree.kernels.number import LANES
from kinetree.kernels.reaction_gradient import REACTION_GRADIENT
from kinetree.kernels.rnea import RNEA_UNLOADED
from kinetree.kernels.rnea_gradient import RNEA_GRADIENT
from kinetree.kernels.rnea_hessian import RNEA_ADJOINT, RNEA_HESSIAN
from kinetree.model.tree import Tree

FULL, PACKED, KERNEL = "kinetree", "kinetree packed", "kinetree kernel"
Public = Callable[..., object]


@dataclass(frozen=True)
class Quantity:
    """What is asked: the kernel behind it, its inputs among the states, and the sizes of its rows of output.

    ``full`` is the public call (mechanism, *inputs, **options); ``packed`` asks inside the library for the
    answer as the kernel packs it, None if there is nothing to pack.
    """

    name: str
    kernel: Kernel
    inputs: tuple[str, ...]
    sizes: Callable[[Tree], list[int]]
    full: Public
    packed: Public | None = None

    def tree(self, mechanism: kt.Mechanism) -> Tree:
        """The tree that the kernel runs on."""
        return mechanism.jointed_tree if self.kernel is REACTION_GRADIENT else mechanism.tree

    def packed_bytes(self, mechanism: kt.Mechanism) -> int:
        """Size of one state's answer as the kernel writes it."""
        tree, entries = self.tree(mechanism), self.kernel.entries
        packed = packed_rows(self.kernel, tree) * entries.width if entries is not None else 0
        return 8 * (sum(self.sizes(tree)) + packed)

    def bytes(self, mechanism: kt.Mechanism) -> int:
        """Size of one state's answer, packed and in full."""
        tree, kernel = self.tree(mechanism), self.kernel
        full = 18 * tree.n_bodies * tree.n if kernel is REACTION_GRADIENT else kernel.n_matrices * tree.n**2
        return self.packed_bytes(mechanism) + 8 * full


def _mass_matrix_packed(mechanism: kt.Mechanism, q: Array, **options: Any) -> object:
    return evaluate_packed(CRBA, mechanism.tree, [q], [], **options)


def _torque_gradients_packed(mechanism: kt.Mechanism, *state: Array, **options: Any) -> object:
    return evaluate_packed(RNEA_GRADIENT, mechanism.tree, state, [mechanism.tree.n], **options)


def _reaction_gradients_packed(mechanism: kt.Mechanism, *state: Array, **options: Any) -> object:
    tree = mechanism.jointed_tree
    return evaluate_packed(REACTION_GRADIENT, tree, state, [6 * tree.n], **options)


def _hessian_packed(mechanism: kt.Mechanism, *state: Array, **options: Any) -> object:
    return evaluate_packed(RNEA_HESSIAN, mechanism.tree, state, [mechanism.tree.n] * 4, **options)


def _reaction_gradients(mechanism: kt.Mechanism, *state: Array, **options: Any) -> object:
    d = kt.analysis.joint_reaction_derivatives(mechanism, *state, **options)
    return d.dreaction_dq, d.dreaction_dqd, d.dreaction_dqdd


def _acceleration_gradients_packed(mechanism: kt.Mechanism, *state: Array, **options: Any) -> object:
    n = mechanism.tree.n
    return evaluate_packed(ABA_GRADIENT, mechanism.tree, state, [n, n, n], **options)


def _adjoint(mechanism: kt.Mechanism, *state: Array, **options: Any) -> object:
    return evaluate(RNEA_ADJOINT, mechanism.tree, state, [mechanism.tree.n] * 4, **options)


def _hessian(mechanism: kt.Mechanism, *state: Array, **options: Any) -> object:
    d = kt.analysis.torque_hessian(mechanism, *state, **options)
    return d.q_q, d.q_qd, d.qd_qd, d.q_qdd


MOTION, FORCED, WEIGHTED = ("q", "qd", "qdd"), ("q", "qd", "tau"), ("q", "qd", "qdd", "y")
QUANTITIES = {
    quantity.name: quantity
    for quantity in (
        Quantity("inverse dynamics", RNEA_UNLOADED, MOTION, lambda t: [t.n], kt.inverse_dynamics),
        Quantity("mass matrix", CRBA, ("q",), lambda t: [], kt.mass_matrix, _mass_matrix_packed),
        Quantity("forward dynamics", ABA_ALONE, FORCED, lambda t: [t.n], kt.forward_dynamics),
        Quantity(
            "inverse dynamics gradients",
            RNEA_GRADIENT,
            MOTION,
            lambda t: [t.n],
            kt.inverse_dynamics_derivatives,
            _torque_gradients_packed,
        ),
        Quantity(
            "forward dynamics gradients",
            ABA_GRADIENT,
            FORCED,
            lambda t: [t.n] * 3,
            kt.forward_dynamics_derivatives,
            _acceleration_gradients_packed,
        ),
        Quantity(
            "reaction gradients",
            REACTION_GRADIENT,
            MOTION,
            lambda t: [6 * t.n],
            _reaction_gradients,
            _reaction_gradients_packed,
        ),
        Quantity("adjoint of y.tau", RNEA_ADJOINT, WEIGHTED, lambda t: [t.n] * 4, _adjoint),
        Quantity("Hessian of y.tau", RNEA_HESSIAN, WEIGHTED, lambda t: [t.n] * 4, _hessian, _hessian_packed),
    )
}

CHECKED = (
    "inverse dynamics",
    "forward dynamics",
    "mass matrix",
    "inverse dynamics gradients",
    "forward dynamics gradients",
)  # what peers answer too


def answers(mechanism: kt.Mechanism, states: States, quantities: Iterable[str]) -> dict[str, Array]:
    """Kinetree's answers for all states, to compare with; the three gradients of a quantity in one array."""
    q, qd, qdd, tau = states.q, states.qd, states.qdd, states.tau
    found: dict[str, Array] = {}
    for name in quantities:
        if name == "inverse dynamics":
            found[name] = kt.inverse_dynamics(mechanism, q, qd, qdd)
        elif name == "forward dynamics":
            found[name] = kt.forward_dynamics(mechanism, q, qd, tau)
        elif name == "mass matrix":
            found[name] = kt.mass_matrix(mechanism, q)
        elif name == "inverse dynamics gradients":
            d = kt.inverse_dynamics_derivatives(mechanism, q, qd, qdd)
            found[name] = np.array([d.dtau_dq, d.dtau_dqd, d.dtau_dqdd])
        else:
            e = kt.forward_dynamics_derivatives(mechanism, q, qd, tau)
            found[name] = np.array([e.dqdd_dq, e.dqdd_dqd, e.dqdd_dtau])
    return found


def contestants(
    quantity: Quantity, mechanism: kt.Mechanism, states: States, batch: int | None
) -> list[Contestant]:
    """The public calls for one state (batch None) or for a batch, and from 16 states on the kernel alone."""
    single = batch is None
    rows = states.repeated(batch or 1)
    inputs = [getattr(rows, name)[0].copy() if single else getattr(rows, name) for name in quantity.inputs]
    options = {} if single else {"threads": 1}
    count = batch or 1
    result = [Contestant(FULL, partial(quantity.full, mechanism, *inputs, **options), count)]
    if quantity.packed is not None:
        result.append(Contestant(PACKED, partial(quantity.packed, mechanism, *inputs, **options), count))
    if count >= 4 * LANES:
        result.append(Contestant(KERNEL, kernel_call(quantity, mechanism, inputs), count))
    return result


def threaded_call(
    quantity: Quantity, mechanism: kt.Mechanism, states: States, batch: int, threads: int
) -> Contestant:
    """The public call, packed where matrices are asked for, on a number of threads."""
    rows = states.repeated(batch)
    inputs = [getattr(rows, name) for name in quantity.inputs]
    call = partial(quantity.packed or quantity.full, mechanism, *inputs, threads=threads)
    return Contestant(f"{threads} threads", call, batch)


def kernel_call(quantity: Quantity, mechanism: kt.Mechanism, inputs: list[Array]) -> Callable[[], object]:
    """The machine code alone: all arrays are made beforehand and used again."""
    kernel, tree, count = quantity.kernel, quantity.tree(mechanism), len(inputs[0])
    arrays = (*inputs, *(np.zeros((count, size)) for size in quantity.sizes(tree)))
    extra: tuple[Array, ...] = ()
    if kernel.entries is not None:
        extra = (aligned(-(-count // LANES), packed_rows(kernel, tree), kernel.entries.width, LANES),)
    size = sum(x.size for x in (*arrays, *extra))
    run = many_states(kernel, streamed=bool(extra) and size > running.STREAMING_WORTH and not kernel.scratch)
    memory = aligned(workspace_size(kernel, tree, LANES))
    return partial(run, tree_table(tree), memory, 0, count, (*arrays, *extra))
