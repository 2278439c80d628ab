"""Derivatives of the torques along a motion, by two independent ways ([Xiang2009], Fig. 14).

Exact derivatives by the compiled recursion, and by one of the documents' formulations: the closed form of the
paper, its recursive Lagrangian, or any other that has derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.analysis.sensitivity import inverse_dynamics_derivatives
from kinetree.model.mechanism import Mechanism
from kinetree.motion.outcome.prediction import Prediction
from kinetree.result.records import Check
from kinetree.result.variables import Variable

SAME = 1e-8  # of the largest derivative: two ways of computing it agree
RATES = {"q": ("position", ""), "qd": ("velocity", " s"), "qdd": ("acceleration", " s^2")}  # words and units


def torque_slopes(
    prediction: Prediction, formulation: str
) -> tuple[dict[str, Variable], dict[str, Variable], Check]:
    """Derivatives of torques by q, qd and qdd at the samples of a prediction, both ways, and how far apart.

    Variables ``dtau_dq``, ``dtau_dqd``, ``dtau_dqdd`` (time, slope) by the compiled recursion, and the same
    with ``_beside`` by the ``formulation``; their labels, "torque of joint1 by joint2"; a line of an audit.

    >>> import kinetree as kt
    >>> from kinetree.motion.terms import Boundary, SquaredTorque
    >>> ends = [Boundary("start", [0, 0], 0.0), Boundary("end", [1, 1], 0.0)]
    >>> problem = kt.Problem(kt.zoo.two_link(), objective=SquaredTorque(), constraints=ends, duration=1.0)
    >>> variables, labels, check = torque_slopes(kt.predict(problem), "closed_form")
    >>> variables["dtau_dq"].values.shape[1], check.passed
    (4, True)
    """
    problem, mechanism = prediction.problem, prediction.problem.mechanism
    states = prediction.q, prediction.qd, prediction.qdd
    loads = problem.loads_of(prediction.s, prediction.x)
    own = inverse_dynamics_derivatives(mechanism, *states, loads)
    other = inverse_dynamics_derivatives(mechanism, *states, loads, formulation=formulation)
    variables: dict[str, Variable] = {}
    worst = 0.0
    for rate, (word, _) in RATES.items():
        ours, theirs = (_flat(getattr(x, f"dtau_d{rate}")) for x in (own, other))
        scale = max(float(np.abs(ours).max(initial=0.0)), np.finfo(float).tiny)
        worst = max(worst, float(np.abs(ours - theirs).max(initial=0.0)) / scale)
        meaning = f"derivative of the torque by the {word}"
        dims, units = ("time", "slope"), f"{{d{rate}_unit}}"
        variables[f"dtau_d{rate}"] = Variable(dims, ours, units, meaning)
        variables[f"dtau_d{rate}_beside"] = Variable(dims, theirs, units, f"{meaning}, {formulation}")
    sentence = f"derivatives of the torques agree with those of the formulation '{formulation}'"
    return variables, _labels(mechanism), Check.within(worst, SAME, "1", sentence)


def _flat(slopes: Any) -> Any:
    return np.array(slopes).reshape(len(slopes), -1)


def _labels(mechanism: Mechanism) -> dict[str, Variable]:
    """Names and units of all pairs of joints, the torque's first."""
    tree, names = mechanism.tree, mechanism.joint_names
    turns = [bool(tree.turns[tree.axis_names.index(name)]) for name in names]
    labels = [f"torque of {a} by {b}" for a in names for b in names]
    found = {"slope": Variable(("slope",), np.array(labels), "", "torque, and what it is differentiated by")}
    for rate, (word, time) in RATES.items():
        units = [("N m" if a else "N") + time + ("/rad" if b else "/m") for a in turns for b in turns]
        meaning = f"unit of the derivative by the {word}"
        found[f"d{rate}_unit"] = Variable(("slope",), np.array(units), "", meaning)
    return found
