"""Limits of the model that a predicted motion exceeds although, or because, no constraint enforces them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.dynamics.coupling import on_axes
from kinetree.motion.problem.model_limits import KINDS, wanted_kinds
from kinetree.motion.problem.problem import Problem
from kinetree.motion.terms.effort import TorqueLimits
from kinetree.result.records import Check
from kinetree.state import independent_axes

ALLOWED = 0.01  # of a limit of speed or effort, or rad or m of a limit of position


class Beyond(NamedTuple):
    """A limit that is exceeded: by which part (or rad, m), whether the problem waives it, and in words."""

    excess: float
    waived: bool
    sentence: str


def beyond_limits(problem: Problem, t: Array, q: Array, qd: Array, tau: Array) -> list[Beyond]:
    """Limits of the model that no constraint enforces and the motion (m, n_dof) exceeds, worst first.

    Joints that follow others have limits of position and velocity, too.
    """
    mechanism, kinds = problem.mechanism, wanted_kinds(problem.arguments["limits"])
    tree, own = mechanism.tree, independent_axes(mechanism)
    found: list[Beyond] = []
    for kind, values in zip(KINDS, (tau, *on_axes(tree, q, qd)[::-1]), strict=True):
        axes = own if kind.term is TorqueLimits else np.arange(tree.n)
        bounds = [getattr(tree, key)[axes] for key in kind.keys]
        if not any(np.isfinite(x).any() for x in bounds):
            continue
        lower, upper = (-bounds[0], bounds[0]) if len(bounds) == 1 else bounds
        enforced = {x for rows in problem.bounded if rows.family == kind.term.family for x in rows.labels}
        over = np.maximum(lower - values, values - upper)
        waived = kinds is not None and kind.name not in kinds
        for j, axis in enumerate(axes):
            k = int(np.argmax(over[:, j]))
            if not over[k, j] > 0.0 or tree.axis_names[axis] in enforced:
                continue
            bound = lower[j] if values[k, j] < lower[j] else upper[j]
            excess = float(over[k, j] / (max(abs(bound), 1e-12) if kind.name != "position" else 1.0))
            if not excess > ALLOWED:
                continue
            unit = kind.units[0 if tree.turns[axis] else 1]
            sentence = (
                f"{kind.name} of joint '{tree.axis_names[axis]}' is {values[k, j]:.4g} {unit} at "
                f"t = {t[k]:.4g} s, the model's limit is {bound:.4g} {unit}: "
                f"{_why(waived, axis in own or kind.name == 'position')}"
            )
            found.append(Beyond(excess, waived, sentence))
    return sorted(found, key=lambda x: -x.excess)


def _why(waived: bool, able: bool) -> str:
    """Why a limit is exceeded: it was waived, or nothing enforces it, which ``limits`` is able to do."""
    if waived:
        return "it is not a constraint"
    return "no constraint enforces it" + ('; limits="model" does' if able else "")


def limits_check(problem: Problem, found: list[Beyond]) -> Check | None:
    """The verdict on limits that are neither enforced nor waived; None if the model has none of these."""
    kinds = wanted_kinds(problem.arguments["limits"])
    known = [kind for kind in KINDS if kinds is None or kind.name in kinds]
    if not any(
        np.isfinite(getattr(problem.mechanism.tree, key)).any() for kind in known for key in kind.keys
    ):
        return None
    judged = [x for x in found if not x.waived]
    words = judged[0].sentence if judged else "the motion stays within the limits of the model"
    return Check.within(judged[0].excess if judged else 0.0, ALLOWED, "1", words)
