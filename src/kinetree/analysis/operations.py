"""How many operations an algorithm takes for a mechanism: counted while it runs, not estimated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinetree.analysis.agreement import QUESTIONS, axis_values
from kinetree.derivations import able, described, module_of
from kinetree.derivations.contract import counted_steps
from kinetree.dynamics.tapes import taped
from kinetree.errors import InputError, unknown_name
from kinetree.kernels.number import count_operations, counting
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.state import random_state


class OperationCounts(NamedTuple):
    """Multiplications, divisions and additions (subtractions among them); ``steps``: the same by step."""

    multiplications: int
    divisions: int
    additions: int
    steps: dict[str, dict[str, int]]


def operation_counts(
    mechanism: Mechanism,
    question: str = "inverse_dynamics",
    formulation: str = "spatial",
    *,
    known_zeros: bool = False,
) -> OperationCounts:
    """Number of operations that a formulation needs for one state of a mechanism.

    ``question``: "inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_torque", "joint_reactions",
    "inverse_dynamics_derivatives" or "joint_reaction_derivatives", as far as the formulation has it
    (:func:`kinetree.analysis.formulations`). Numbers that are known to be zero for this mechanism still
    count, except in "denoc", which leaves out products with zero DH parameters and inertias, as [Shah2013]
    counts. Values of sine and cosine do not count. For closed loops, the open tree is counted.

    ``known_zeros=True`` counts what is left for this one mechanism, as code made for it computes it
    (:func:`kinetree.export_code`): nothing with numbers that its geometry and inertia make constant, 0 or 1,
    nothing twice, nothing that the result does not need. They are those of the recursion that is the shortest
    then, whichever it is, without steps, and for more questions, such as "forward_kinematics" or
    "jacobian:hand".

    >>> import kinetree as kt
    >>> short, long = (kt.analysis.operation_counts(kt.zoo.chain(n)).multiplications for n in (4, 8))
    >>> 1.9 < long / short < 2.3  # recursive Newton-Euler: proportional to the number of joints
    True
    >>> kuka = kt.zoo.kuka_kr5()
    >>> kt.analysis.operation_counts(kuka)[:3], kt.analysis.operation_counts(kuka, known_zeros=True)[:3]
    ((627, 0, 537), (176, 0, 121))
    """
    expect_mechanism(mechanism)
    if known_zeros:
        return _with_known_zeros(mechanism, question, formulation)
    if question not in QUESTIONS:
        raise InputError(unknown_name("question", question, QUESTIONS))
    names = able(question)
    if formulation not in names:
        raise InputError(unknown_name(f"formulation with {question}", formulation, names))
    tree = mechanism.opened().tree
    if (refused := described(formulation).refuses(tree)) is not None:
        raise InputError(f"formulation '{formulation}' cannot count for '{mechanism.name}': {refused}")
    state = random_state(mechanism.opened(), np.random.default_rng(0), (1,))
    values = {"q": state.q, "qd": state.qd, "qdd": state.qdd, "tau": np.ones_like(state.q)}
    given = [values[name] for name in QUESTIONS[question]]
    rows = [counting(x[0]) for x in axis_values(mechanism.opened(), given)]
    function = getattr(module_of(formulation), question)
    with counted_steps() as steps:
        counts = count_operations(lambda: function(tree, *rows))
    return OperationCounts(
        counts["multiplications"], counts["divisions"], counts["additions"], dict(steps.steps)
    )


def _with_known_zeros(mechanism: Mechanism, question: str, formulation: str) -> OperationCounts:
    """Counts of the recorded question."""
    if formulation != "spatial":
        raise InputError(f"known_zeros finds the shortest formulation by itself; leave out '{formulation}'")
    counts = taped(mechanism.opened(), question).recording.counts()
    additions = counts.get("add", 0) + counts.get("subtract", 0)
    return OperationCounts(counts.get("multiply", 0), counts.get("divide", 0), additions, {})
