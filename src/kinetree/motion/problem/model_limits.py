"""Limits of the model in a problem: the constraints that enforce them, and what is left without any."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, unknown_name
from kinetree.model.joint import Joint
from kinetree.model.mechanism import Mechanism
from kinetree.motion.problem.setting import Setting
from kinetree.motion.terms.contract import Bounded, Constraint
from kinetree.motion.terms.effort import TorqueLimits
from kinetree.motion.terms.limits import JointLimits, VelocityLimits
from kinetree.motion.terms.posture import JointCombination

MODEL, NONE = "model", "none"
JOINTS = "position"
Limits = str | Sequence[str] | None


class LimitKind(NamedTuple):
    """A kind of limits: its name, the term that enforces it, the limits of mechanisms, its units."""

    name: str
    term: type[Any]
    keys: tuple[str, ...]
    units: tuple[str, str]


KINDS = (
    LimitKind("effort", TorqueLimits, ("effort_limit",), ("N m", "N")),
    LimitKind("velocity", VelocityLimits, ("velocity_limit",), ("rad/s", "m/s")),
    LimitKind(JOINTS, JointLimits, ("lower", "upper"), ("rad", "m")),
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
            raise InputError(unknown_name("kind of limits", name, (MODEL, NONE, *names)).after("limits: "))
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
        own = [term for term in given if type(term) is kind.term]
        covered = still.union(*(_covered(mechanism, term) for term in own))
        names = zip(mechanism.joint_names, finite, strict=True)
        joints = [name for name, has in names if has and name not in covered]
        if joints:
            found.append(kind.term(joints=joints) if own else kind.term())
    if kinds and JOINTS in kinds and not mechanism.loops:
        found += _following(mechanism, still)
    return found


def _covered(mechanism: Mechanism, term: Constraint) -> Sequence[str]:
    """Joints that a term of limits is for."""
    chosen: Sequence[str] | None = getattr(term, "joints", None)
    if chosen is None:
        return mechanism.joint_names
    return (chosen,) if isinstance(chosen, str) else chosen


def _following(mechanism: Mechanism, still: Collection[str]) -> Iterator[Constraint]:
    """Terms that keep joints which follow others linearly within their limits of position."""
    for joint in (link.joint for link in mechanism.links):
        lower, upper = (None if np.isinf(x).all() else float(x[0]) for x in (joint.lower, joint.upper))
        if joint.mimic is None or joint.mimic.law is not None or (lower is None and upper is None):
            continue
        ends = (None if x is None else x - joint.mimic.offset for x in (lower, upper))
        ratios = {name: ratio for name, ratio in joint.mimic.leaders if ratio != 0.0}
        if any(name not in still for name in ratios):
            yield FollowerLimit(joint, ratios, *ends)


class FollowerLimit(JointCombination):
    """A joint that follows others linearly stays within its limits."""

    family = JointLimits.family

    def __init__(
        self, joint: Joint, ratios: Mapping[str, float], lower: float | None, upper: float | None
    ) -> None:
        """``lower`` and ``upper`` of the sum of ratios times coordinates."""
        super().__init__(ratios, lower, upper, at="samples")
        self.joint = joint

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """The combination under the name of the joint."""
        name, unit = self.joint.name, "rad" if self.joint.is_turn else "m"
        return [replace(rows, labels=[name], unit=unit) for rows in super().bounded(setting)]
