"""What the algorithms do: they run on numbers that count."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.operation_counts.mechanisms import chain, general, slender_arm
from benchmarks.operation_counts.operations import NONE, Ops
from kinetree.derivations import denoc
from kinetree.derivations.contract import counted_steps
from kinetree.derivations.denoc import slender as denoc_slender
from kinetree.kernels.number import counting

UNCOUNTED = ("joint angles", "tau-bar")
ALGORITHMS: dict[str, Callable[..., Any]] = {
    "inverse": lambda tree, q, qd, qdd: denoc.inverse_dynamics(tree, q, qd, qdd),
    "forward, phi given": lambda tree, q, qd, qdd: denoc.accelerations(tree, q, qdd),
    "forward": lambda tree, q, qd, tau: denoc.forward_dynamics(tree, q, qd, tau),
    "floating inverse": lambda tree, q, qd, qdd: denoc.floating_base_inverse_dynamics(tree, q, qd, qdd[6:]),
    "slender": lambda arm, q, qd, tau: denoc_slender.forward_dynamics(arm, q, qd, tau),
}


def steps(algorithm: str, model: Any) -> dict[str, Ops]:
    """Operations by step on a mechanism, or on the table of a slender arm."""
    subject = model.tree if isinstance(model, kt.Mechanism) else model
    state = [counting(np.linspace(0.3, 1.1, subject.n) + 0.1 * k) for k in range(3)]
    with counted_steps() as counts:
        ALGORITHMS[algorithm](subject, *state)
    return {
        name: Ops(done["multiplications"] + done["divisions"], done["additions"])
        for name, done in counts.steps.items()
        if name not in UNCOUNTED
    }


def total(algorithm: str, model: Any) -> Ops:
    """Operations of all steps together."""
    return sum(steps(algorithm, model).values(), NONE)


@cache
def per_joint(algorithm: str, kind: str, floating: bool = False) -> dict[str, Ops]:
    """What one more joint in the middle of a chain costs, by step; the axes of a joint taken together."""
    long, short = (steps(algorithm, general(chain([kind] * n), floating)) for n in (5, 4))
    found: dict[str, Ops] = {}
    for name, done in long.items():
        what = name.rsplit(", ", 1)[0]
        found[what] = found.get(what, NONE) + (done - short.get(name, NONE))
    return found


def line(algorithm: str, kind: str) -> tuple[Ops, Ops]:
    """Slope and constant of the operations of chains with n joints, n >= 3."""
    long, short = (total(algorithm, general(chain([kind] * n))) for n in (5, 4))
    slope = long - short
    return slope, long - slope.times(5)


def slender_line() -> tuple[dict[str, Ops], Ops]:
    """Operations per link by step, and the constant rest, of long chains of slender links."""
    long, short = (steps("slender", slender_arm(n)) for n in (7, 6))
    slope = {name: done - short[name] for name, done in long.items()}
    return slope, sum(long.values(), NONE) - sum(slope.values(), NONE).times(7)
