"""Laws with a memory of their own: called once per period, in order, with what sensors say."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array, number
from kinetree.algebra.functions import check_takes
from kinetree.control.controller import checked_limits, plain, short
from kinetree.control.fitted import torque_limits
from kinetree.control.per_joint import PerJoint
from kinetree.control.structure import why_idle
from kinetree.errors import InputError, SimulationError, listed, must_be, unknown_name
from kinetree.model.mechanism import Mechanism


class ContactReading(NamedTuple):
    """Contact forces at p contact points at one instant.

    ``force`` (p, 3) of the ground on the points in the world (N), ``penetration`` (p,) in the ground (m),
    ``velocity`` (p, 3) out of the ground, forward and to the side (m/s).

    >>> heel = ContactReading(("heel",), np.array([[0.0, 0.0, 9.0]]), np.array([0.001]), np.zeros((1, 3)))
    >>> float(heel.force[0, 2])
    9.0
    """

    names: tuple[str, ...]
    force: Array
    penetration: Array
    velocity: Array

    def of(self, name: str) -> Array:
        """Force (3,) on one contact point in the world (N).

        >>> reading = ContactReading(("heel",), np.array([[0.0, 0.0, 9.0]]), np.zeros(1), np.zeros((1, 3)))
        >>> reading.of("heel").tolist()
        [0.0, 0.0, 9.0]
        """
        if not isinstance(name, str) or name not in self.names:
            raise InputError(unknown_name("contact point", name, self.names))
        force: Array = self.force[self.names.index(name)]
        return force


NO_CONTACT = ContactReading((), np.zeros((0, 3)), np.zeros(0), np.zeros((0, 3)))


@dataclass(frozen=True, eq=False, repr=False)
class SampledLaw:
    """A Python law that is called once per ``period``, in order, and may have internal states.

    ``law`` is a function of (t, q, qd), or of (t, q, qd, contact) with a :class:`ContactReading`, and returns
    the torques of all degrees of freedom (n_dof,) or of the actuated ones. Steps end at multiples of the
    period (s), torques are held between: steps that an integrator repeats or rejects never call the law. Its
    method ``reset()``, if it has one, is called before each simulation; results keep its ``settings()`` and
    ``statistics()``. It may raise :class:`StopSimulation` to end the motion.

    ``limits`` bound the torques as for all controllers ("model": the mechanism's own). ``delay`` (s), a
    multiple of the period, passes before a torque acts, with zero torque until then. ``noise``: standard
    deviations of what the law reads of (q, qd), in rad or m and in rad/s or m/s, drawn by ``seed``.

    >>> import kinetree as kt
    >>> class Counter:
    ...     ticks = 0
    ...     def __call__(self, t, q, qd):
    ...         self.ticks += 1
    ...         return -20.0 * q - 2.0 * qd
    >>> law = Counter()
    >>> run = kt.simulate(kt.zoo.two_link(), [0.1, 0.2], duration=0.1,
    ...                   controller=kt.control.SampledLaw(law, period=0.002))
    >>> law.ticks
    50
    """

    law: Callable[..., Any]
    _: KW_ONLY
    period: float
    limits: PerJoint | str | None = None
    delay: float = 0.0
    noise: tuple[float, float] = (0.0, 0.0)
    seed: int = 0

    def __post_init__(self) -> None:
        if not callable(self.law) or isinstance(self.law, type):
            raise InputError(must_be("law", "a function of (t, q, qd) or (t, q, qd, contact)", self.law))
        if not self._reads_contact:
            check_takes(self.law, "t, q, qd", f"the law '{self.name}'")
        period, delay = number(self.period, "period"), number(self.delay, "delay")
        if not period > 0.0:
            raise InputError(must_be("period of a sampled law", "> 0 s", period, "g"))
        ticks = delay / period
        if delay < 0.0 or abs(ticks - round(ticks)) > 1e-6:
            raise InputError(f"delay must be a multiple >= 0 of the period {period:g} s, got {delay:g} s")
        values: dict[str, Any] = {"period": period, "delay": delay, "limits": checked_limits(self.limits)}
        values |= {"noise": _checked_noise(self.noise), "seed": _checked_seed(self.seed)}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        """What messages call the law."""
        return str(getattr(self.law, "__name__", type(self.law).__name__))

    @property
    def _reads_contact(self) -> bool:
        try:
            inspect.signature(self.law).bind(*"tqdc")
        except (TypeError, ValueError):
            return False
        return True

    def sampled(self, mechanism: Mechanism) -> RunningLaw:
        """The law in one simulation of a mechanism."""
        return RunningLaw(self, mechanism, self._reads_contact)

    def settings(self) -> dict[str, Any]:
        """All arguments in plain numbers and texts, as JSON takes them."""
        stated = self.law.settings() if hasattr(self.law, "settings") else f"function {self.name}"
        names = ("period", "limits", "delay", "noise", "seed")
        return {"controller": "SampledLaw", "law": stated} | {x: plain(getattr(self, x)) for x in names}

    def __repr__(self) -> str:
        return f"SampledLaw({self.name}, period={short(self.period)})"


class RunningLaw:
    """A sampled law in a running simulation: delayed torques, noise, the latest reading of contact."""

    def __init__(self, given: SampledLaw, mechanism: Mechanism, reads_contact: bool) -> None:
        self._given, self._mechanism, self._reads_contact = given, mechanism, reads_contact
        self.actuated = mechanism.actuated
        self.limit = torque_limits(given.limits, mechanism)  # type: ignore[arg-type]
        self.period = given.period
        self._late: deque[Array] = deque()
        self._contact = NO_CONTACT
        self._random = np.random.default_rng(given.seed)

    def reset(self) -> None:
        """Begin once more: all memory is empty."""
        ticks = round(self._given.delay / self.period)
        self._late = deque(np.zeros(self._mechanism.n_dof) for _ in range(ticks))
        self._random = np.random.default_rng(self._given.seed)
        self._contact = NO_CONTACT
        if hasattr(self._given.law, "reset"):
            self._given.law.reset()

    def sense(self, names: tuple[str, ...], rows: Array) -> None:
        """Take note of what the ground does: rows (p, 7 or more) of force, penetration and velocity."""
        if self._reads_contact:
            self._contact = ContactReading(names, rows[:, :3].copy(), rows[:, 3].copy(), rows[:, 4:7].copy())

    def walked(self) -> tuple[bool, str] | None:
        """Whether a robot is on its feet, in words, too; None of laws that do not know."""
        law = self._given.law
        stated: tuple[bool, str] | None = law.walked() if hasattr(law, "walked") else None
        return stated

    def statistics(self) -> dict[str, float]:
        """Numbers that the law has for the result; none unless it has a method of this name."""
        return dict(self._given.law.statistics()) if hasattr(self._given.law, "statistics") else {}

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        """Torques (n_dof,) that act from the instant t (s) on."""
        spread_q, spread_qd = self._given.noise
        if spread_q > 0.0 or spread_qd > 0.0:
            q = q + spread_q * self._random.standard_normal(len(q))
            qd = qd + spread_qd * self._random.standard_normal(len(qd))
        read = (self._contact,) if self._reads_contact else ()
        self._late.append(self._whole(t, self._given.law(t, q, qd, *read)))
        return self._late.popleft()

    def _whole(self, t: float, answer: Any) -> Array:
        """The answer for all degrees of freedom."""
        n, count, where = self._mechanism.n_dof, int(self.actuated.sum()), f"at t = {t:g} s"
        try:
            tau = np.array(answer, float)
        except (TypeError, ValueError):
            raise SimulationError(
                f"the law '{self._given.name}' must return numbers {where}, got {type(answer).__name__}"
            ) from None
        if tau.shape == (count,) and count != n:
            whole = np.zeros(n)
            whole[self.actuated] = tau
            return whole
        if tau.shape != (n,):
            raise SimulationError(
                f"the law '{self._given.name}' must return {n} torques, for "
                f"{listed(self._mechanism.joint_names)}, or {count} of the actuated joints; got shape "
                f"{tau.shape} {where}"
            )
        idle = np.flatnonzero(~self.actuated & (tau != 0.0))
        if len(idle):
            k = int(idle[0])
            raise SimulationError(
                f"the law '{self._given.name}' returns {tau[k]:g} {where} for "
                f"'{self._mechanism.joint_names[k]}', which {why_idle(self._mechanism, k)}; it must be zero"
            )
        return tau


def _checked_noise(noise: Any) -> tuple[float, float]:
    if not isinstance(noise, tuple | list) or len(noise) != 2:
        raise InputError(must_be("noise", "two numbers, for q and qd", noise))
    values = tuple(number(x, f"noise of {what}") for x, what in zip(noise, ("q", "qd"), strict=True))
    if min(values) < 0.0:
        raise InputError(must_be("noise", ">= 0", noise))
    return values  # type: ignore[return-value]


def _checked_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(must_be("seed", "an integer >= 0", seed))
    return seed
