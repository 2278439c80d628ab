"""A mechanism with everything that acts on it, as a right-hand side that integrators can call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.errors import SimulationError
from kinetree.kernels.ground import CONTACT
from kinetree.kernels.rates import GUARDS
from kinetree.model.mechanism import Mechanism
from kinetree.result.variables import KNOWN, Variable
from kinetree.simulation.compiled import code
from kinetree.simulation.compiled.component import StateLayout
from kinetree.simulation.compiled.context import HEADER, Context, ContextParts
from kinetree.simulation.loads import Loads
from kinetree.simulation.python_law import POINTER, numbers_at
from kinetree.simulation.settings import Trigger
from kinetree.simulation.torque import Law
from kinetree.state import Wrench, independent_axes

RATES = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, POINTER, POINTER, POINTER)
SAMPLE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, POINTER, POINTER)
PROJECT = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, POINTER, POINTER, POINTER, POINTER)


@dataclass(frozen=True, eq=False)
class Observation:
    """What the right-hand side shows at states (k, lanes, ...): torque, acceleration, contact."""

    tau: Array
    qdd: Array
    contact: Array  # (k, lanes, points, 7): see `kernels.ground`
    cut_tau: Array = field(default_factory=lambda: np.zeros((0, 0)))  # of drives at cut joints, (k, c)


class System:
    """Mechanism, law, ground, stops and components as one compiled right-hand side.

    A Python law is a component that is called back, as are events in Python.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        parts: ContextParts,
        constant: Array,
        law: Law,
        triggers: Sequence[Trigger] = (),
        contact_names: Sequence[str] = (),
    ) -> None:
        self.mechanism, self.parts, self.lanes, self.law = mechanism, parts, parts.lanes, law
        self.triggers, self.contact_names = tuple(triggers), tuple(contact_names)
        self.free = independent_axes(mechanism)  # the axis of each coordinate
        self.loads = Loads()
        self.problem: BaseException | None = None
        self.present: System = self  # in whose coordinates the state is that callbacks get
        self._keep: dict[str, Any] = {}  # callbacks live as long as the system
        for part in parts.components:
            part.join(self)
        self.context = Context(parts)
        connect(self.context)
        self.set_constant(constant)
        if self.triggers:
            self._keep["events"] = self._more_events()

    @property
    def at(self) -> StateLayout:
        """Where everything is in a state."""
        return self.parts.at

    @property
    def n(self) -> int:
        """Number of positions."""
        return self.at.n

    @property
    def n_axes(self) -> int:
        """Number of axes, those of mimic joints included."""
        return self.parts.tree.n

    @property
    def size(self) -> int:
        """Numbers of one state."""
        return self.at.size

    @property
    def is_called(self) -> bool:
        """Whether its law is Python."""
        return self.law.is_python

    @property
    def keeps_coordinates(self) -> str | None:
        """Why Euler sequences cannot be switched, if so."""
        if self.mechanism.tree.coupling is not None:
            return "the mechanism has mimic joints"
        return None if self.law.controller is None else "its law is a Python function"

    @property
    def n_events(self) -> int:
        """How many event functions there are."""
        points = len(self.parts.points)
        known = GUARDS * points + 2 * self.n_axes + len(self.parts.locks)
        return known + len(self.parts.watched) + len(self.triggers)

    def address(self, name: str) -> int:
        """Where "rates", "events", "switch" or "sample" is."""
        if name in self._keep:
            return int(ctypes.cast(self._keep[name], POINTER).value or 0)
        return self._compiled(name)

    def _compiled(self, name: str) -> int:
        """The compiled function of that name; compiled on first use."""
        make = getattr(code, name)
        if name in ("events", "switch"):
            return int(make().address)
        if name == "rates" and self.parts.is_made:
            return int(code.made_rates(self.lanes).address)
        return int(make(self.lanes, self.lanes if self.parts.varied else 1).address)

    @property
    def projection(self) -> int:
        """Where the function is that moves a state back onto the loops; 0 if accelerations do or none are."""
        if not self.mechanism.loops:
            return 0
        from kinetree.simulation.compiled.loops import ClosedLoops, loop_projection

        if any(isinstance(part, ClosedLoops) and part.baumgarte for part in self.parts.components):
            return 0
        return int(loop_projection().address)

    def close_loops(self, states: Array) -> None:
        """Move states (..., size), in place, to where the loops are closed; C-contiguous."""
        if self.projection == 0:
            return
        project = PROJECT(self.projection)
        rest, memory = np.zeros(max(4, self.size)), self.context.memory.ctypes.data  # no rates, no plans
        for row in states.reshape(-1, self.size):
            project(0.0, row.ctypes.data, rest.ctypes.data, rest.ctypes.data, memory)

    def jacobian_address(self) -> int | None:
        """Where the slopes of the rates are; None where one of the components knows none of its own."""
        if not all(part.has_slopes for part in self.parts.components):
            return None
        return int(code.jacobian().address)

    def set_constant(self, tau: Array) -> None:
        """Constant torques (n,) or (lanes, n) beside the law."""
        self.constant = tau if tau.ndim == 1 else tau[0]
        self.context.given[:, self.free] = tau

    def watch_locks(self, margin: float) -> None:
        """Tell of gimbal lock once the squared sine of the angle to it falls below the margin."""
        self.parts.lock_margin = margin
        self.context.memory[HEADER.places["lock_margin"][0]] = margin

    @contextmanager
    def by_state(self) -> Iterator[None]:
        """In here contact and stops act as the state shows, whatever an integration holds of them."""
        holding, place = self.context.memory.view(np.int64), HEADER.places["holding"][0]
        before, holding[place] = holding[place], 0
        try:
            yield
        finally:
            holding[place] = before

    def start_state(self, q0: Array, qd0: Array) -> Array:
        """States (lanes, size) with all work at zero."""
        y = np.zeros((self.lanes, self.size))
        y[:, self.at.q], y[:, self.at.qd] = q0, qd0
        for part in self.parts.components:
            if part.n_state:
                y[:, self.at.places[part.name]] = part.start()
        return y

    def observe(self, times: Array, states: Array, *, present: bool = False) -> Observation:
        """The law's torques, accelerations and contact at times (k,) and states (k, lanes, size).

        A sampled law's torques are those of the last instant before each time, or the ``present`` ones.
        """
        k, n, points = len(times), self.n_axes, len(self.parts.points)
        flat = np.array(states, float).reshape(k, -1)
        rates, tau = np.zeros_like(flat), np.zeros((k, self.lanes * n))
        contact = np.zeros((k, self.lanes * CONTACT * points))
        start, parts = self.context.start, self.parts
        places = (start["tau"], start["contact"], start["held"], start["log"], 0 if present else parts.n_log)
        memory = self.context.memory
        with self.by_state():
            done = code.observe()(
                memory,
                np.array([parts.period]),
                np.array(times, float),
                flat,
                rates,
                tau,
                contact,
                self.address("rates"),
                memory.ctypes.data,
                *places,
            )
        if done < k:
            self.raise_problem()
        qdd = rates.reshape(k, self.lanes, self.size)[..., self.at.qd]
        shape = (k, self.lanes, points, CONTACT)
        driven = tau.reshape(k, self.lanes, n)[..., self.free]
        return Observation(driven, np.array(qdd), contact.reshape(shape))

    def variables(self, states: Array) -> dict[str, Variable]:
        """What results show of the components' own states, at states (..., k, size)."""
        stated: dict[str, Variable] = {}
        for part in self.parts.components:
            if part.n_state:
                found = part.variables(states[..., self.at.places[part.name]])
                stated |= {name: _variable(name, value) for name, value in found.items()}
        return stated

    def wrenches(self, t: ArrayLike, contact: Array) -> list[Wrench]:
        """Loads and forces of the ground at times (...), given rows of contact points (..., points, 10)."""
        known = {point.name: point for point in self.mechanism.contact_points}
        touched = [known[name] for name in self.contact_names]
        return [
            *self.loads.at(t),
            *(
                Wrench(
                    point.body,
                    contact[..., k, :3],
                    np.cross(contact[..., k, 7:], contact[..., k, :3]) if point.is_round else np.zeros(3),
                    point.position,
                )
                for k, point in enumerate(touched)
            ),
        ]

    def raise_problem(self) -> None:
        """Raise what a callback raised."""
        problem, self.problem = self.problem, None
        raise problem if problem is not None else SimulationError("the right-hand side stopped")

    def _more_events(self) -> Any:
        compiled = RATES(self._compiled("events"))
        at, before = self.at, self.n_events - len(self.triggers)

        def events(t: float, y: int, g: int, context: int) -> int:
            state = numbers_at(y, at.size)
            q, qd = state[at.q].copy(), state[at.qd].copy()
            values = [event_value(trigger, t, q, qd) for trigger in self.present.triggers]
            numbers_at(g, self.n_events)[before:] = values
            return int(compiled(t, y, g, context))

        return RATES(self._guarded(events))

    def _guarded(self, call: Callable[..., int]) -> Callable[..., int]:
        """Keep an exception for later and ask the integrator to stop."""

        def guarded(*arguments: Any) -> int:
            try:
                return call(*arguments)
            except BaseException as problem:
                self.problem = problem
                return 1

        return guarded


def connect(context: Context) -> None:
    """Let right-hand sides call the code of ground and loads, and of the law, if there are any."""
    if context.parts.has_forces:
        context.call("forces", code.forces(context.lanes).address)
    if context.parts.has_law:
        context.call("law", code.law(context.lanes).address)


def _variable(name: str, value: Any) -> Variable:
    """What results show under a name that they know, or with all that there is to say of it."""
    if isinstance(value, tuple):
        return Variable(*value)
    return Variable(KNOWN[name].dims, value, *KNOWN[name][1:])


def event_value(trigger: Trigger, t: float, q: Array, qd: Array) -> float:
    """What the user's event function answers."""
    value = float(trigger.function(t, q, qd))
    if not np.isfinite(value):
        raise SimulationError(f"the event '{trigger.name}' at t = {t:g} s is {value}")
    return value
