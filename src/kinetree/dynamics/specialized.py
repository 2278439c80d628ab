"""Questions about one tree as code made for it: of several recursions the one with the fewest operations.

The library's kernels work in the world frame, which suits general code. For one tree the frames of its joints
save more: most entries of the recursions are constants, 0 or 1 there. So forward dynamics and the mass matrix
are recorded from the DeNOC recursions (`derivations.denoc`), inverse dynamics from whichever is shorter, and
derivatives of forward dynamics from those of inverse dynamics, dqdd/dx = -M^-1 dtau/dx, with M = U D U^T.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.derivations import denoc
from kinetree.derivations.denoc.forward import accelerations_and_pivots
from kinetree.engine.fields import Field, Fields
from kinetree.engine.interpret import interpreted, interpreted_full
from kinetree.engine.specialized import MOTION, MadeCode
from kinetree.engine.tape.llvm_text import Arrays
from kinetree.engine.tape.recording import record, shortest
from kinetree.errors import InputError, unknown_name
from kinetree.kernels.aba import ABA_ALONE, SINGULAR
from kinetree.kernels.aba_gradient import ABA_GRADIENT
from kinetree.kernels.crba import CRBA
from kinetree.kernels.layout import Kernel
from kinetree.kernels.model_table import TREE, column_numbers, tree_table
from kinetree.kernels.number import where_less
from kinetree.kernels.rnea import RNEA_UNLOADED
from kinetree.kernels.rnea_gradient import RNEA_GRADIENT
from kinetree.kernels.rnea_hessian import RNEA_HESSIAN
from kinetree.kernels.tree_columns import gross_inertia
from kinetree.model.tree import WORLD_AXIS, Tree

SIMULATE = "simulate"
KERNELS = {
    "inverse_dynamics": RNEA_UNLOADED,
    "forward_dynamics": ABA_ALONE,
    "mass_matrix": CRBA,
    "inverse_dynamics_derivatives": RNEA_GRADIENT,
    "forward_dynamics_derivatives": ABA_GRADIENT,
    "torque_hessian": RNEA_HESSIAN,
    SIMULATE: ABA_ALONE,
}
PARAMETERS = {
    "inertia": ("m", "h", "S", "subtree_m", "gross"),
    "gravity": ("gravity",),
    "armature": ("armature", "gross"),
    "friction": ("viscous", "coulomb", "coulomb_bias"),
    "springs": ("stiffness", "rest"),
    "geometry": ("R", "p", "B", "gross"),
}  # columns of the model table that stay numbers in memory
LONGEST = {
    "inverse_dynamics": 20_000,
    "forward_dynamics": 20_000,
    "mass_matrix": 5_000,
    "inverse_dynamics_derivatives": 5_000,
    "forward_dynamics_derivatives": 30_000,
    "torque_hessian": 6_000,
    SIMULATE: 20_000,
}  # operations up to which code for one mechanism was measured to be faster than the kernels' loops
Answer = Callable[..., Sequence[Any]]


def made_code(question: str, tree: Tree, parameters: Sequence[str] = ()) -> MadeCode:
    """The code for a question about a tree; numbers of the named parameters are read from memory.

    Raises SingularityError if a joint moves no inertia in any state.
    """
    kernel, name = KERNELS[question], KERNELS[question].name
    sizes = [tree.n] * kernel.inputs
    full = kernel.n_matrices if kernel.entries is not None else 0
    arrays = Arrays(kernel.outputs, full, kernel.suspicion is not None)
    if question == SIMULATE:
        tree, name, arrays = without_passive(tree), MOTION, Arrays(1, 0, False, in_context=True)
    if parameters:
        columns = tuple(sorted({column for x in parameters for column in _columns(x)}))
        constants = tuple(column_numbers(tree_table(tree), columns).tolist())
        recording = record(_with_columns(kernel, tree, columns, arrays), [*sizes, len(constants)])
        return MadeCode(name, recording, replace(arrays, constant=1), columns, constants)
    return MadeCode(name, shortest(_answers(question, tree), sizes), arrays)


def without_passive(tree: Tree) -> Tree:
    """The tree without springs and friction of joints."""
    none = np.zeros(tree.n)
    return replace(tree, stiffness=none, viscous=none, coulomb=none, coulomb_bias=none)


def _columns(name: str) -> tuple[str, ...]:
    if name not in PARAMETERS:
        raise InputError(unknown_name("parameter", name, PARAMETERS))
    return PARAMETERS[name]


# ---- with numbers that stay in memory -------------------------------------------------------------------
def _with_columns(kernel: Kernel, tree: Tree, columns: Sequence[str], arrays: Arrays) -> Answer:
    """The kernel with columns of the model table as one more row of numbers."""

    def answer(*rows: Any) -> Sequence[Any]:
        model, first = Fields(TREE, tree_table(tree)), 0
        for name in columns:
            width = TREE.places[name][1]
            numbers = rows[-1][first : first + (tree.n + 1) * width].reshape(tree.n + 1, width)
            setattr(model, name, Field(numbers, 1))
            first += (tree.n + 1) * width
        return _of_kernel(kernel, tree, rows[:-1], model)[: arrays.count]

    return answer


# ---- without -----------------------------------------------------------------------------------------------
def _answers(question: str, tree: Tree) -> list[Answer]:
    """The recursions that can answer, in the shape of the kernel's outputs."""
    kernel = KERNELS[question]
    if question == "torque_hessian":
        return [lambda *rows: _of_kernel(kernel, tree, rows)]
    others: dict[str, Answer] = {
        "inverse_dynamics": lambda *rows: [denoc.inverse_dynamics(tree, *rows)],
        "forward_dynamics": lambda *rows: _forward(tree, *rows),
        SIMULATE: lambda *rows: _forward(tree, *rows)[:1],
        "mass_matrix": lambda q: [denoc.mass_matrix(tree, q).ravel()],
        "inverse_dynamics_derivatives": lambda *rows: _inverse_slopes(tree, *rows),
        "forward_dynamics_derivatives": lambda *rows: _forward_slopes(tree, *rows),
    }
    if kernel in (ABA_ALONE, ABA_GRADIENT):  # of which the kernel's is always longer
        return [others[question]]
    return [others[question], lambda *rows: _of_kernel(kernel, tree, rows)]


def _of_kernel(kernel: Kernel, tree: Tree, rows: Sequence[Any], model: Any = None) -> list[Any]:
    """Outputs, full arrays and suspicion of the kernel itself."""
    work = Fields(kernel.slots, np.zeros((tree.n + 1, kernel.slots.width), object))
    sizes = [width * tree.n for width in kernel.output_widths or ()]
    run = interpreted if kernel.entries is None else interpreted_full
    outputs, full = run(kernel, tree, rows, sizes, model, work)
    found = [*outputs, *(() if full is None else full)]
    if kernel.suspicion is not None:
        fields = Fields(TREE, tree_table(tree)) if model is None else model
        found.append([kernel.suspicion(fields, work, *outputs)])
    return found


def _forward(tree: Tree, q: Any, qd: Any, tau: Any) -> list[Any]:
    qdd, pivots = accelerations_and_pivots(tree, q, qd, tau)
    return [qdd, [irregular(tree, pivots)]]


def irregular(tree: Tree, pivots: Any) -> Any:
    """How many pivots are not above the rounding errors of the inertia that their axis moves."""
    limits = SINGULAR * gross_inertia(tree)
    return sum(where_less(limit, D, 0.0, 1.0) for limit, D in zip(limits.tolist(), pivots, strict=True))


def _inverse_slopes(tree: Tree, q: Any, qd: Any, qdd: Any) -> list[Any]:
    """With the mass matrix of the frames of the joints."""
    (tau,), full = interpreted_full(RNEA_GRADIENT, tree, [q, qd, qdd], [tree.n])
    return [tau, *full[:2], denoc.mass_matrix(tree, q).ravel()]


def _forward_slopes(tree: Tree, q: Any, qd: Any, tau: Any) -> list[Any]:
    """The outputs of the kernel: accelerations, pivots, torques; derivatives; suspicion."""
    pivots = accelerations_and_pivots(tree, q, qd, tau)[1]
    qdd, *slopes = acceleration_slopes(tree, q, qd, tau)
    return [qdd, pivots, tau, *(x.ravel() for x in slopes), [irregular(tree, pivots)]]


def acceleration_slopes(tree: Tree, q: Any, qd: Any, tau: Any) -> list[Any]:
    """Accelerations, -M^-1 dtau/dq, -M^-1 dtau/dqd and M^-1."""
    n = tree.n
    qdd, _ = accelerations_and_pivots(tree, q, qd, tau)
    _, full = interpreted_full(RNEA_GRADIENT, tree, [q, qd, qdd], [n])
    U, inverse_D = factors(tree, denoc.mass_matrix(tree, q))
    slopes = [divided(tree, U, inverse_D, -x.reshape(n, n)) for x in full[:2]]
    inverse = divided(tree, U, inverse_D, np.eye(n).astype(object))
    for i in range(n):  # symmetric: half of it need not be computed
        inverse[i, :i] = inverse[:i, i]
    return [qdd, *slopes, inverse]


def _upward(tree: Tree, i: int) -> list[int]:
    """The ancestors of an axis."""
    path, j = [], int(tree.parent[i])
    while j != WORLD_AXIS:
        path.append(j)
        j = int(tree.parent[j])
    return path


def factors(tree: Tree, M: Any) -> tuple[Any, list[Any]]:
    """U and 1 / D of M = U D U^T, from the tips to the root: zero but for ancestors."""
    U, A = np.zeros((tree.n, tree.n), object), np.array(M, object)
    inverse_D: list[Any] = [None] * tree.n
    for i in range(tree.n - 1, -1, -1):
        above, inverse_D[i] = _upward(tree, i), 1.0 / A[i, i]
        for j in above:
            U[j, i] = A[j, i] * inverse_D[i]
        for k, j in enumerate(above):
            for a in above[k:]:  # a is j or an ancestor of it
                A[a, j] = A[j, a] = A[a, j] - U[a, i] * A[j, i]
    return U, inverse_D


def divided(tree: Tree, U: Any, inverse_D: list[Any], B: Any) -> Any:
    """M^-1 B: U x = b from the tips, then D, then U^T from the root."""
    X = np.array(B, object)
    for i in range(tree.n - 1, -1, -1):
        for j in _upward(tree, i):
            X[j] = X[j] - X[i] * U[j, i]
    for i in range(tree.n):
        X[i] = X[i] * inverse_D[i]
        for j in _upward(tree, i):
            X[i] = X[i] - X[j] * U[j, i]
    return X
