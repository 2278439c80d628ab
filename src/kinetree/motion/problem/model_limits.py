"""Limits of the model in a problem: the constraints that enforce them, and what is left without any."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, unknown_name
from kinetree.model.mechanism import Mechanism
from kinetree.motion.terms.contract import Constraint
from kinetree.motion.terms.effort import TorqueLimits
from kinetree.motion.terms.limits import JointLimits, VelocityLimits

MODEL, NONE = "model", "none"
Limits = str | Sequence[str] | None


class Kind(NamedTuple):
    """A kind of limits: its name, the term that enforces it, the limits of mechanisms, its units."""

    name: str
    term: type[Any]
    keys: tuple[str, ...]
    units: tuple[str, str]


KINDS = (
    Kind("effort", TorqueLimits, ("effort_limit",), ("N m", "N")),
    Kind("velocity", VelocityLimits, ("velocity_limit",), ("rad/s", "m/s")),
    Kind("position", JointLimits, ("lower", "upper"), ("rad", "m")),
)


def wanted_kinds(limits: Limits) -> tuple[str, ...] | None:
    """The kinds that are to be enforced; None if nothing was said.

    >>> wanted_kinds("model"), wanted_kinds("none"), wanted_kinds(["velocity"])
    (('effort', 'velocity', 'position'), (), ('velocity',))
    """
    if limits is None:
        return None
    names = tuple(kind.name for kind in KINDS)
    if isinstance(limits, str) and limits in (MODEL, NONE):
        return names if limits == MODEL else ()
    chosen = [limits] if isinstance(limits, str) else list(limits) if np.iterable(limits) else [limits]
    for name in chosen:
        if name not in names:
            raise InputError(f"limits: {unknown_name('kind of limits', name, (MODEL, NONE, *names))}")
    return tuple(chosen)


def limits_of(mechanism: Mechanism, key: str) -> Array:
    """A limit of the mechanism for each of the user's coordinates (n_dof,)."""
    tree = mechanism.tree
    limits: Array = getattr(tree, key)
    return limits[[tree.axis_names.index(name) for name in mechanism.joint_names]]


def model_terms(
    mechanism: Mechanism, limits: Limits, given: Sequence[Constraint], frozen: Iterable[str]
) -> list[Constraint]:
    """Terms that enforce the limits of the model where no term of the same kind is given."""
    kinds, still, found = wanted_kinds(limits), set(frozen), list[Constraint]()
    for kind in KINDS if kinds else ():
        if kind.name not in (kinds or ()):
            continue
        finite = np.any([np.isfinite(limits_of(mechanism, key)) for key in kind.keys], axis=0)
        if kind.term is TorqueLimits:
            finite = finite & mechanism.driven
        joints = [x for x, has in zip(mechanism.joint_names, finite, strict=True) if has and x not in still]
        own = [term for term in given if type(term) is kind.term]
        for term in own:
            chosen: Any = term.joints  # type: ignore[attr-defined]
            covered = (
                mechanism.joint_names if chosen is None else (chosen,) if isinstance(chosen, str) else chosen
            )
            joints = [name for name in joints if name not in covered]
        if joints:
            found.append(kind.term(joints=joints) if own else kind.term())
    return found
