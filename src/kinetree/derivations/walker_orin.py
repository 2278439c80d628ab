"""A dynamic simulator made of inverse dynamics alone (Walker and Orin, 1982; [NCTU], section 6.4).

Any inverse dynamics will do: ``inverse_dynamics(tree, q, qd, qdd, loads)`` of any formulation. The default
runs the recursive Newton-Euler kernel, compiled for floats, interpreted for other kinds of number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.derivations import spatial
from kinetree.derivations.contract import Formulation, Loads, counted_steps, step
from kinetree.derivations.elimination import solved
from kinetree.derivations.homogeneous import Numbers, kind_of
from kinetree.engine.run import prepared
from kinetree.errors import InputError
from kinetree.kernels.rnea import RNEA_UNLOADED
from kinetree.model.kept import once_per_tree
from kinetree.model.tree import Tree

InverseDynamics = Callable[..., Any]

FORMULATION = Formulation(
    name="walker_orin",
    title="Mass matrix and simulation from inverse dynamics (Walker-Orin)",
    source="[NCTU], section 6.4",
    cost="n + 1 inverse dynamics, then O(n^3)",
    can=frozenset({"mass_matrix", "bias_torque", "forward_dynamics"}),
)


def newton_euler(tree: Tree, q: Any, qd: Any, qdd: Any, loads: Loads = ()) -> Numbers:
    """Torques (n,) by the library's Newton-Euler kernel, compiled for plain floats without loads."""
    if loads or kind_of(tree, q, qd, qdd) != np.float64 or tree.n == 0:
        torques: Numbers = spatial.inverse_dynamics(tree, q, qd, qdd, loads)
        return torques
    tau = np.zeros((1, tree.n))
    prepared(RNEA_UNLOADED, tree).fill([np.array(x, np.float64)[None] for x in (q, qd, qdd)], [tau])
    alone: Numbers = tau[0]
    return alone


def mass_matrix(tree: Tree, q: Any, inverse_dynamics: InverseDynamics = newton_euler) -> Numbers:
    """M (n, n), column k the torques of a unit acceleration of axis k, at rest, without gravity (step 2)."""
    n, weightless = tree.n, _weightless(tree)
    rest = np.zeros(n, int)
    with step("mass matrix"), counted_steps():
        columns = [inverse_dynamics(weightless, q, rest, unit, ()) for unit in np.eye(n, dtype=int)]
    return np.array(columns).reshape(n, n).T


def bias_torque(
    tree: Tree, q: Any, qd: Any, loads: Loads = (), inverse_dynamics: InverseDynamics = newton_euler
) -> Numbers:
    """b (n,) in tau = M qdd + b: the torques without acceleration (step 1)."""
    with step("bias"), counted_steps():
        b: Numbers = inverse_dynamics(tree, q, qd, np.zeros(tree.n, int), loads)
    return b


def forward_dynamics(
    tree: Tree,
    q: Any,
    qd: Any,
    tau: Any,
    loads: Loads = (),
    inverse_dynamics: InverseDynamics = newton_euler,
) -> Numbers:
    """qdd (n,) of M qdd = tau - b, by Gaussian elimination (step 3)."""
    b = bias_torque(tree, q, qd, loads, inverse_dynamics)
    M = mass_matrix(tree, q, inverse_dynamics)
    with step("solution"):
        return solved(tree, M, np.asarray(tau) - b)


class TimeHistory(NamedTuple):
    """Times (steps + 1,), positions and velocities (steps + 1, n)."""

    t: Array
    q: Array
    qd: Array


def simulate(
    tree: Tree,
    q: Any,
    qd: Any,
    duration: float,
    steps: int,
    torque: Callable[[float, Array, Array], Any] | None = None,
    inverse_dynamics: InverseDynamics = newton_euler,
) -> TimeHistory:
    """The motion under torque(t, q, qd), none by default: classical Runge-Kutta with fixed steps (step 4)."""
    if steps < 1 or not 0 < duration < np.inf:
        raise InputError(
            f"a simulation needs a finite duration > 0 s and at least one step, got duration {duration} s "
            f"and {steps} steps"
        )

    def rates(t: float, x: Array) -> Array:
        position, velocity = x
        tau = np.zeros(tree.n) if torque is None else np.asarray(torque(t, position, velocity))
        return np.array([velocity, forward_dynamics(tree, position, velocity, tau, (), inverse_dynamics)])

    h, times = duration / steps, np.linspace(0.0, duration, steps + 1)
    states = [np.array([q, qd], dtype=np.float64)]
    for t in times[:-1]:
        x = states[-1]
        a = rates(t, x)
        b = rates(t + h / 2, x + h / 2 * a)
        c = rates(t + h / 2, x + h / 2 * b)
        d = rates(t + h, x + h * c)
        states.append(x + h / 6 * (a + 2 * b + 2 * c + d))
    motion = np.array(states)
    return TimeHistory(times, motion[:, 0], motion[:, 1])


@once_per_tree
def _weightless(tree: Tree) -> Tree:
    """The tree without gravity and springs: of its inverse dynamics only M qdd is left at rest."""
    return replace(tree, gravity=np.zeros_like(tree.gravity), stiffness=np.zeros_like(tree.stiffness))
