"""Do the formulations agree on a mechanism? Each answers the same questions at the same random states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.forward import forward_dynamics
from kinetree.analysis.inverse import bias_torque, inverse_dynamics, mass_matrix
from kinetree.analysis.sensitivity import inverse_dynamics_derivatives
from kinetree.derivations import able, described, module_of
from kinetree.dynamics.by_formulation import answer
from kinetree.dynamics.coupling import on_axes
from kinetree.dynamics.loops.states import fitting_state
from kinetree.errors import InputError, SingularityError
from kinetree.kernels.number import count_operations, counting
from kinetree.model.mechanism import Mechanism
from kinetree.state import State

AGREE = 1e-8  # relative difference that rounding explains
COMPILED = "compiled"
QUESTIONS: dict[str, tuple[str, ...]] = {
    "inverse_dynamics": ("q", "qd", "qdd"),
    "mass_matrix": ("q",),
    "bias_torque": ("q", "qd"),
    "forward_dynamics": ("q", "qd", "tau"),
    "joint_reactions": ("q", "qd", "qdd"),
    "inverse_dynamics_derivatives": ("q", "qd", "qdd"),
    "joint_reaction_derivatives": ("q", "qd", "qdd"),
}
COMPILED_CALLS: dict[str, Callable[..., Any]] = {
    "inverse_dynamics": inverse_dynamics,
    "mass_matrix": mass_matrix,
    "bias_torque": bias_torque,
    "forward_dynamics": forward_dynamics,
}
CLOSED_CALLS: dict[str, Callable[..., Any]] = {
    "inverse_dynamics": inverse_dynamics,
    "forward_dynamics": forward_dynamics,
    "inverse_dynamics_derivatives": inverse_dynamics_derivatives,
}
OF_TREES = ("mass_matrix", "bias_torque")  # loops do not change them
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Agreement:
    """One quantity by one formulation compared with the reference.

    ``difference`` is the worst relative one over all states, None for the reference itself; ``operations``
    are multiplications (divisions among them, as the documents count) and additions for one state, None for
    compiled code; ``seconds`` are for one state.
    ``refused`` says why there is no answer.
    """

    quantity: str
    formulation: str
    reference: str
    difference: float | None = None
    operations: tuple[int, int] | None = None
    seconds: float | None = None
    refused: str | None = None

    @property
    def passed(self) -> bool:
        """Whether rounding explains the difference."""
        return self.difference is None or self.difference <= AGREE


def agreement(
    mechanism: Mechanism, states: int = 4, seed: int = 0, progress: Progress | None = None
) -> list[Agreement]:
    """Every formulation on a mechanism at random states: differences, operation counts, time.

    Torques, mass matrix, bias torque and accelerations are compared with those of the compiled kernels,
    accelerations as M qdd, so that a badly conditioned M does not blur them; reactions and derivatives with
    those of the first formulation that has them. Of a mechanism with closed loops, mass matrix and bias
    torque are those of the tree; torques, accelerations and total derivatives are compared with the answers
    of kinetree's own questions at states that fit the loops.

    >>> import kinetree as kt
    >>> all(row.passed for row in agreement(kt.zoo.gripper(), states=1))
    True
    """
    at = fitting_state(mechanism, states, seed)
    rows: list[Agreement] = []
    for k, quantity in enumerate(QUESTIONS):
        feels = mechanism.loops and quantity not in OF_TREES
        rows += _closed_rows(mechanism, quantity, at) if feels else _rows(mechanism.opened(), quantity, at)
        if progress is not None:
            progress((k + 1) / len(QUESTIONS))
    return rows


def _closed_rows(mechanism: Mechanism, quantity: str, at: State) -> Iterator[Agreement]:
    """A quantity of a mechanism with loops by every formulation that can tell it."""
    if quantity not in CLOSED_CALLS:
        return
    ask, given = CLOSED_CALLS[quantity], _given(mechanism, quantity, at)
    ask(mechanism, *given)
    began = perf_counter()
    expected = _flat(ask(mechanism, *given))
    yield Agreement(quantity, COMPILED, COMPILED, None, None, (perf_counter() - began) / len(at.q))
    for name in able(quantity):
        if quantity not in described(name).closed:
            yield Agreement(quantity, name, COMPILED, refused="it supports open trees only")
            continue
        began = perf_counter()
        try:
            found = _flat(ask(mechanism, *given, formulation=name))
        except InputError as error:
            yield Agreement(quantity, name, COMPILED, refused=str(error))
            continue
        seconds = (perf_counter() - began) / len(at.q)
        difference = _closed_difference(mechanism, quantity, given, found, expected)
        yield Agreement(quantity, name, COMPILED, difference, None, seconds)


def _closed_difference(
    mechanism: Mechanism, quantity: str, given: list[Array], found: Array, expected: Array
) -> float:
    """The worst of all states, relative to the largest number; accelerations as M qdd relative to all forces.

    What acts on the joints, M qdd + h = tau + J^T lambda, may be much larger than what is left to accelerate.
    """
    a, b = found, expected
    largest = float(np.abs(b).max(initial=0.0))
    if quantity == "forward_dynamics":
        q, qd, tau = given
        M = mass_matrix(mechanism, q)
        a, b = ((M @ x[..., None])[..., 0] for x in (a, b))
        h = bias_torque(mechanism, q, qd)
        largest = max(float(np.abs(x).max(initial=0.0)) for x in (b, h, tau, b + h - tau))
    worst = float(np.abs(a - b).max(initial=0.0))
    return worst / largest if largest > 0.0 else worst


def _flat(answer: Any) -> Array:
    """An answer, or torques with their derivatives, as one array."""
    if isinstance(answer, np.ndarray):
        return answer
    return np.concatenate([np.ravel(x) for x in (answer.tau, answer.matrices, answer.torque_matrices)])


def _rows(mechanism: Mechanism, quantity: str, at: State) -> Iterator[Agreement]:
    given = _given(mechanism, quantity, at)
    reference, expected = "", None
    if quantity in COMPILED_CALLS:
        reference = COMPILED
        try:
            COMPILED_CALLS[quantity](mechanism, *given)  # compiled before it is timed
            began = perf_counter()
            expected = COMPILED_CALLS[quantity](mechanism, *given)
            yield Agreement(quantity, COMPILED, COMPILED, None, None, (perf_counter() - began) / len(at.q))
        except SingularityError as error:
            yield Agreement(quantity, COMPILED, COMPILED, refused=str(error))
            return
    for name in able(quantity):
        refused = _refusal(mechanism, name, quantity)
        if refused is not None:
            yield Agreement(quantity, name, reference or name, refused=refused)
            continue
        began = perf_counter()
        found = _answer(mechanism, name, quantity, given)
        seconds = (perf_counter() - began) / len(at.q)
        difference = None
        if expected is None:
            reference, expected = name, found
        else:
            difference = _difference(mechanism, quantity, given, found, expected)
        yield Agreement(
            quantity, name, reference, difference, _operations(mechanism, name, quantity, given), seconds
        )


def _given(mechanism: Mechanism, quantity: str, at: State) -> list[Array]:
    """The arguments of a question; torques are those of the random accelerations."""
    values = {"q": at.q, "qd": at.qd, "qdd": at.qdd}
    if "tau" in QUESTIONS[quantity]:
        values["tau"] = inverse_dynamics(mechanism, at.q, at.qd, at.qdd)
    return [values[name] for name in QUESTIONS[quantity]]


def _refusal(mechanism: Mechanism, name: str, quantity: str) -> str | None:
    if mechanism.tree.coupling is not None and quantity == "forward_dynamics":
        return "it cannot solve forward dynamics with mimic joints"
    return described(name).refuses(mechanism.tree)


def _answer(mechanism: Mechanism, name: str, quantity: str, given: list[Array]) -> Any:
    """The answer for all states; reactions and derivatives of all axes, those of mimic joints too."""
    names = QUESTIONS[quantity]
    if quantity in COMPILED_CALLS:
        return answer(name, quantity, mechanism, list(zip(names, given, strict=True)))
    function, tree = getattr(module_of(name), quantity), mechanism.tree
    found = []
    for row in zip(*axis_values(mechanism, given), strict=True):
        answers = function(tree, *row)
        parts = answers if isinstance(answers, tuple) else (answers,)
        kept = tree.body_axis[tree.body_axis >= 0]
        if quantity != "inverse_dynamics_derivatives":  # reactions of axes that carry bodies
            parts = tuple(part[kept] for part in parts)
        found.append(np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in parts]))
    return np.array(found)


def axis_values(mechanism: Mechanism, given: list[Array]) -> list[Array]:
    """Positions, then rates (..., axes) of all axes from those of the degrees of freedom (..., n_dof)."""
    tree = mechanism.tree
    return list(on_axes(tree, *given))


def _difference(mechanism: Mechanism, quantity: str, given: list[Array], found: Any, expected: Any) -> float:
    """The worst of all states, relative to the largest number of the answer."""
    a, b = np.asarray(found), np.asarray(expected)
    if quantity == "forward_dynamics":
        M = mass_matrix(mechanism, given[0])
        a, b = ((M @ x[..., None])[..., 0] for x in (a, b))
        largest = max(float(np.abs(given[2]).max()), float(np.abs(b).max()))
    else:
        largest = float(np.abs(b).max(initial=0.0))
    worst = float(np.abs(a - b).max(initial=0.0))
    return worst / largest if largest > 0.0 else worst


def _operations(mechanism: Mechanism, name: str, quantity: str, given: list[Array]) -> tuple[int, int]:
    function, tree = getattr(module_of(name), quantity), mechanism.tree
    rows = [counting(x[0]) for x in axis_values(mechanism, given)]
    counts = count_operations(lambda: function(tree, *rows))
    return counts["multiplications"] + counts["divisions"], counts["additions"]
