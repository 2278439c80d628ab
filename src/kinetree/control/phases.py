"""Laws one after the other: each acts until a time has come or something happens."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, number
from kinetree.control.controller import Controller, checked_limits, plain
from kinetree.control.per_joint import PerJoint
from kinetree.control.sampled import ContactReading, RunningLaw, SampledLaw
from kinetree.errors import InputError, must_be
from kinetree.model.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class Phase:
    """A law and its end, ``until``: a time (s) since the phase began, or a condition.

    The law is a controller, a function of (t, q, qd) or of (t, q, qd, contact); its t goes on from phase to
    phase unless ``own_time``, by which it begins at 0. A condition is a function of (t, q, qd, contact), t
    since the phase began, that is true when the phase ends; None: never.

    >>> Phase(lambda t, q, qd: -q, until=0.5).until
    0.5
    """

    law: Any
    until: float | Callable[..., Any] | None = None
    own_time: bool = False

    def __post_init__(self) -> None:
        if not (callable(self.law) or isinstance(self.law, Controller) or hasattr(self.law, "sampled")):
            raise InputError(must_be("the law of a phase", "a controller or a function", self.law))
        if self.until is None or callable(self.until):
            return
        if not number(self.until, "until") > 0.0:
            raise InputError(f"a phase must last longer than 0 s, got until = {self.until:g}")


@dataclass(frozen=True, eq=False, repr=False)
class Phases:
    """A state machine of laws: consecutive phases, the last of which, or a cycle, lasts to the end.

    Called once per ``period`` (s); a phase that ends is followed by the next at the same tick. With ``cycle``
    the first follows the last. ``limits`` bound the torques of all phases.

    >>> import kinetree as kt
    >>> push, brake = (lambda t, q, qd: [1.0, 0.0]), (lambda t, q, qd: -0.1 * qd)
    >>> law = kt.control.Phases([kt.control.Phase(push, until=lambda t, q, qd, c: q[0] > 0.1),
    ...                          kt.control.Phase(brake)], period=0.002)
    >>> run = kt.simulate(kt.zoo.two_link(), [0.0, 0.0], duration=0.2, controller=law)
    >>> run.complete
    True
    """

    phases: Sequence[Phase]
    _: KW_ONLY
    period: float
    cycle: bool = False
    limits: PerJoint | str | None = None

    def __post_init__(self) -> None:
        given = tuple(self.phases) if isinstance(self.phases, list | tuple) else ()
        if not given or not all(isinstance(phase, Phase) for phase in given):
            raise InputError(must_be("phases", "one or more Phase(...)", self.phases))
        endless = [k for k, phase in enumerate(given) if phase.until is None]
        if endless and (endless[0] < len(given) - 1 or self.cycle):
            raise InputError(
                f"phase {endless[0] + 1} of {len(given)} never ends: it needs 'until', as another follows"
            )
        object.__setattr__(self, "phases", given)
        checked_limits(self.limits)
        SampledLaw(lambda t, q, qd, contact: None, period=self.period)

    @property
    def name(self) -> str:
        """What results call it."""
        return "Phases"

    def sampled(self, mechanism: Mechanism) -> RunningLaw:
        """The law in one simulation of a mechanism."""
        machine = _Machine(self, mechanism)
        return SampledLaw(machine, period=self.period, limits=self.limits).sampled(mechanism)

    def settings(self) -> dict[str, Any]:
        """All arguments in plain numbers and texts, as JSON takes them."""
        rows = [
            {"law": _named(phase.law), "until": _named(phase.until) if callable(phase.until) else phase.until}
            for phase in self.phases
        ]
        kept = {"period": self.period, "cycle": self.cycle, "limits": plain(self.limits)}
        return {"controller": "Phases", "phases": rows} | kept

    def __repr__(self) -> str:
        return f"Phases({len(self.phases)} laws, period={self.period:g})"


class _Machine:
    """The state machine: which phase acts, and since when."""

    def __init__(self, given: Phases, mechanism: Mechanism) -> None:
        self.given, self.mechanism = given, mechanism
        self.laws = [_called(phase.law, mechanism) for phase in given.phases]
        self.reset()

    def reset(self) -> None:
        """Begin with the first phase."""
        self.place, self.since, self.changes = 0, 0.0, 0
        for phase, law in zip(self.given.phases, self.laws, strict=True):
            for owner in (phase.law, law):
                if hasattr(owner, "reset"):
                    owner.reset()

    def __call__(self, t: float, q: Array, qd: Array, contact: ContactReading) -> Any:
        """Torques of the phase that acts."""
        phases = self.given.phases
        for _ in phases:
            until, spent = phases[self.place].until, t - self.since
            over = until is not None and (
                bool(until(spent, q, qd, contact)) if callable(until) else spent >= until - 1e-9
            )
            if not over or (self.place == len(phases) - 1 and not self.given.cycle):
                break
            self.place, self.since = (self.place + 1) % len(phases), t
            self.changes += 1
        own = phases[self.place].own_time
        return self.laws[self.place](t - self.since if own else t, q, qd, contact)

    def statistics(self) -> dict[str, float]:
        """How often the phase changed."""
        return {"phase_changes": float(self.changes)}


def _called(law: Any, mechanism: Mechanism) -> Callable[..., Any]:
    """A law as a function of (t, q, qd, contact)."""
    if hasattr(law, "balance"):
        balance: Callable[..., Any] = law.balance(mechanism)
        return balance
    if isinstance(law, SampledLaw):
        law = law.law
    if isinstance(law, Controller):
        controller = law
        controller.torque(mechanism, 0.0, *np.zeros((2, mechanism.n_dof)))
        if controller.integrates(mechanism):
            raise InputError(
                f"{controller!r} integrates its error, which a phase does not store; leave out ki"
            )
        return lambda t, q, qd, contact: controller.torque(mechanism, t, q, qd)
    try:
        inspect.signature(law).bind(*"tqdc")
    except (TypeError, ValueError):
        return lambda t, q, qd, contact: law(t, q, qd)
    given: Callable[..., Any] = law
    return given


def _named(law: Any) -> str:
    return str(getattr(law, "__name__", type(law).__name__))
