"""Lifting until someone is exhausted: each lift is that of a person whose joints are as strong as then.

Fatigue by three compartments per joint: the load is |torque| over the strength of the fresh joint, and the
limits of the next lift are what is left. So effort moves to the joints that are less tired, until no lift is
possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, shown
from kinetree.model.human.fatigue import CompartmentRates, fatigued_share, rates_of
from kinetree.motion.options import Search, divided
from kinetree.motion.seek import seek
from kinetree.result.labeled import coordinates_of, labeled_dataset, variables_of
from kinetree.result.result import Result
from kinetree.result.variables import Variable
from kinetree.tasks.lifting.lift import Lift
from kinetree.tasks.lifting.problem import lifter
from kinetree.tasks.lifting.repeated import MOST, check_rest, checked_count, joined, ways
from kinetree.tasks.lifting.search import LiftSearch
from kinetree.tasks.lifting.task import USUAL, Lifting

LEAST = 0.02  # of the strength: no joint is taken to be weaker


@dataclass(frozen=True, eq=False)
class Exhaustion:
    """Lifts one after another, until one was not possible or as many as asked for were done.

    ``lifts``: those that pass; ``strength``: least and largest torque (N m) of fresh joints by their names;
    ``fatigued`` (lifts + 1, joints): their fatigued shares before each lift and after the last; ``failed``:
    the attempt that failed, if one did.
    """

    lifts: tuple[Lift, ...]
    strength: Mapping[str, tuple[float, float]]
    fatigued: Array
    rest: float
    rates: tuple[CompartmentRates, ...]
    failed: Lift | None = None

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints that tire."""
        return tuple(self.strength)

    @property
    def count(self) -> int:
        """How many lifts were possible."""
        return len(self.lifts)

    @property
    def reason(self) -> str:
        """Why the lifts ended, in a sentence."""
        most = int(np.argmax(self.fatigued[-1]))
        left = f"{self.joints[most]} has {1.0 - self.fatigued[-1, most]:.0%} of its strength left"
        if self.failed is None:
            return f"{self.count} lifts were done, as asked for; {left}"
        why = f": {self.failed.conflicts[0]}" if self.failed.conflicts else ""
        return f"lift {self.count + 1} is not possible{why}; {left}"

    def to_result(self) -> Result:
        """All lifts as one motion, with the fatigued share of every joint over time."""
        if not self.lifts:
            assert self.failed is not None
            return self.failed.to_result()
        found = joined(self.lifts, self.rest)
        share = _shares(self)
        share.setflags(write=False)
        more = {"fatigued_share": Variable(("time", "tired_joint"), share, "1", "fatigued share of a joint")}
        labels = {"tired_joint": Variable(("tired_joint",), np.array(self.joints), "", "joint")}
        data = labeled_dataset(coordinates_of(found.dataset) | labels, variables_of(found.dataset) | more)
        return replace(found, dataset=data, messages=(self.reason, *found.messages))

    def __repr__(self) -> str:
        return f"Exhaustion({self.count} lifts; {self.reason})"


def lift_until_exhausted(
    task: Lifting | None = None,
    *,
    most: int = MOST,
    rest: float = 0.0,
    rates: Sequence[CompartmentRates] | CompartmentRates | None = None,
    **changes: Any,
) -> Exhaustion:
    """How often someone can lift a box and lower it again, with a ``rest`` (s) at floor and shelf.

    Each lift is predicted for the strength that is left; joints tire and recover by three compartments
    (:func:`kinetree.human.fatigued_share`), with the ``rates`` of Frey-Law et al. (2012) unless given.
    ``most``: after so many it ends. ``changes`` are those of the task, and options of `predict`.

    >>> import kinetree as kt
    >>> kt.lifting.lift_until_exhausted(box=5.0, shelf=0.7, most=2, rest=1.0).count
    2
    """
    if task is not None and not isinstance(task, Lifting):
        raise InputError(f"lift_until_exhausted needs a Lifting, got {shown(task)}")
    checked_count(most)
    check_rest(rest)
    options, settings = divided(changes)
    task, search = (task or Lifting()).changed(**settings), Search.of(options, USUAL)
    fresh = lifter(task).torques
    joints = tuple(fresh)
    each = rates_of(joints) if rates is None else rates
    own = (each,) * len(joints) if isinstance(each, CompartmentRates) else tuple(each)
    lifts: list[Lift] = []
    tired = [np.zeros(len(joints))]
    for _ in range(most):
        left = {name: max(1.0 - m, LEAST) for name, m in zip(joints, tired[-1], strict=True)}
        found = _lift(task.changed(strength={**task.strength, **left}), lifts[-1:], search)
        if not found.passed:
            return Exhaustion(tuple(lifts), fresh, np.array(tired), rest, own, found)
        lifts.append(found)
        tired.append(_after(found, fresh, own, rest, tired[-1])[-1])
    return Exhaustion(tuple(lifts), fresh, np.array(tired), rest, own)


def _lift(task: Lifting, before: Sequence[Lift], search: Search) -> Lift:
    """The lift of a task, begun with the one before."""
    start = (before[0].prediction.t, before[0].prediction.q) if before else None
    found = seek(LiftSearch(lifter(task), start), search)
    return Lift(found.attempt.mesh, found.prediction, found.checks, found.seconds, found.conflicts)


def _load(lift: Lift, fresh: Mapping[str, tuple[float, float]]) -> Array:
    """|torque| over the strength of fresh joints, (m, joints)."""
    course = lift.course
    torque = np.stack([course.active[:, course.column(name)] for name in fresh], axis=1)
    low, high = np.array(list(fresh.values())).T
    return np.asarray(np.maximum(torque / high, torque / low))


def _after(
    lift: Lift,
    fresh: Mapping[str, tuple[float, float]],
    rates: Sequence[CompartmentRates],
    rest: float,
    m: Array,
) -> Array:
    """Fatigued shares after the lift, a rest, the way down and another rest, (4, joints)."""
    t, load, found = lift.prediction.t, _load(lift, fresh), []
    for way in (load, load[::-1]):
        m = fatigued_share(t, way, rates, m)[-1]
        found.append(m)
        if rest:
            m = fatigued_share([0.0, rest], np.zeros((2, len(m))), rates, m)[-1]
        found.append(m)
    return np.array(found)


def _shares(exhaustion: Exhaustion) -> Array:
    """Fatigued shares at the instants of the motion of all lifts, (m, joints)."""
    rates, rest, m = exhaustion.rates, exhaustion.rest, exhaustion.fatigued[0]
    found: list[Array] = []
    for k, (lift, up) in enumerate(ways(exhaustion.lifts)):
        t, load = lift.prediction.t, _load(lift, exhaustion.strength)
        if k and rest:
            m = fatigued_share([0.0, rest], np.zeros((2, len(m))), rates, m)[-1]
        share = fatigued_share(t if up else t[-1] - t[::-1], load if up else load[::-1], rates, m)
        found.append(share if k == 0 or rest else share[1:])
        m = share[-1]
    return np.concatenate(found)
