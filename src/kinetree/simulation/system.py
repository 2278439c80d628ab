"""A mechanism with everything that acts on it, as a right-hand side that integrators can call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import SimulationError
from kinetree.kernels.ground import CONTACT
from kinetree.kernels.rates import GUARDS
from kinetree.model.mechanism import Mechanism
from kinetree.simulation.compiled.context import HEADER, SUMS, Context, ContextParts
from kinetree.simulation.options import Trigger
from kinetree.simulation.torque import LawFunction
from kinetree.state import Wrench

_POINTER = ctypes.c_void_p
RATES = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, _POINTER, _POINTER, _POINTER)
SAMPLE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, _POINTER, _POINTER)


@dataclass(frozen=True, eq=False)
class Observation:
    """What the right-hand side tells at states (k, lanes, ...): torque, acceleration, contact."""

    tau: Array
    qdd: Array
    contact: Array  # (k, lanes, points, 7): see `kernels.ground`


class System:
    """Compiled mechanics; a Python law and Python events are called back where there are any."""

    keeps_coordinates: str | None = None  # why Euler sequences cannot be switched, if so
    guards = GUARDS  # event functions of each contact point

    def __init__(
        self,
        mechanism: Mechanism,
        parts: ContextParts,
        constant: Array,
        function: LawFunction | None = None,
        triggers: Sequence[Trigger] = (),
        contact_names: Sequence[str] = (),
        lanes: int = 1,
    ) -> None:
        self.mechanism, self.parts, self.lanes = mechanism, parts, lanes
        self.context = Context(parts, lanes)
        self.constant, self.function, self.triggers = constant, function, tuple(triggers)
        self.contact_names = tuple(contact_names)
        self.loads: tuple[Wrench, ...] = ()
        self.problem: BaseException | None = None
        self.present: System = self  # in whose coordinates the state is that callbacks get
        self._keep: dict[str, Any] = {}  # callbacks live as long as the system
        self.context.given[:] = constant
        if function is not None:
            self._keep["rates"] = self._lawful_rates()
        if self.triggers:
            self._keep["events"] = self._more_events()

    @property
    def n(self) -> int:
        """Number of positions."""
        return self.parts.tree.n

    @property
    def size(self) -> int:
        """Numbers of one state."""
        return self.parts.size

    @property
    def n_events(self) -> int:
        """How many event functions there are."""
        points = len(self.parts.points)
        return self.guards * points + 2 * self.n + len(self.parts.locks) + len(self.triggers)

    def address(self, name: str) -> int:
        """Where "rates", "events", "switch" or "sample" is."""
        if name in self._keep:
            return int(ctypes.cast(self._keep[name], _POINTER).value or 0)
        return self._compiled(name)

    def _compiled(self, name: str) -> int:
        """The compiled function of that name; compiled on first use."""
        from kinetree.simulation.compiled import rates as rates_code

        make = getattr(rates_code, name)
        return int((make() if name in ("events", "switch") else make(self.lanes)).address)

    def jacobian_address(self) -> int | None:
        """Where the derivatives of the accelerations are; a Python law has none."""
        if self.function is not None:
            return None
        from kinetree.simulation.compiled.jacobian import jacobian

        return int(jacobian().address)

    def set_constant(self, tau: Array) -> None:
        """Constant torques (lanes, n) beside the law."""
        self.context.given[:] = tau

    def watch_locks(self, margin: float) -> None:
        """Tell of gimbal lock once the squared sine of the angle to it falls below the margin."""
        self.parts.lock_margin = margin
        self.context.memory[HEADER.places["lock_margin"][0]] = margin

    @contextmanager
    def by_state(self) -> Iterator[None]:
        """In here contact and stops act as the state tells, whatever an integration holds of them."""
        holding, place = self.context.memory.view(np.int64), HEADER.places["holding"][0]
        before, holding[place] = holding[place], 0
        try:
            yield
        finally:
            holding[place] = before

    def start_state(self, q0: Array, qd0: Array) -> Array:
        """States (lanes, size) with all work at zero."""
        y = np.zeros((self.lanes, self.size))
        y[:, : self.n], y[:, self.n : 2 * self.n] = q0, qd0
        return y

    def observe(self, times: Array, states: Array) -> Observation:
        """The law's torques, accelerations and contact at times (k,) and states (k, lanes, size)."""
        from kinetree.simulation.compiled.observe import observe

        k, n, points = len(times), self.n, len(self.parts.points)
        flat = np.ascontiguousarray(states.reshape(k, -1))
        rates, tau = np.zeros_like(flat), np.zeros((k, self.lanes * n))
        contact = np.zeros((k, self.lanes * CONTACT * points))
        start, parts = self.context.start, self.parts
        places = (start["tau"], start["contact"], start["held"], start["log"], parts.n_log)
        memory = self.context.memory
        with self.by_state():
            done = observe()(
                self.address("rates"),
                memory.ctypes.data,
                memory,
                places,
                parts.period,
                np.ascontiguousarray(times),
                flat,
                rates,
                tau,
                contact,
            )
        if done < k:
            self.raise_problem()
        qdd = rates.reshape(k, self.lanes, self.size)[..., n : 2 * n]
        shape = (k, self.lanes, points, CONTACT)
        return Observation(tau.reshape(k, self.lanes, n), np.array(qdd), contact.reshape(shape))

    def wrenches(self, contact: Array) -> list[Wrench]:
        """Loads and the forces of the ground, given what is told of the contact points (k, points, 7)."""
        known = {point.name: point for point in self.mechanism.contact_points}
        touched = [known[name] for name in self.contact_names]
        return [
            *self.loads,
            *(
                Wrench(point.body, force=contact[:, k, :3], point=point.position)
                for k, point in enumerate(touched)
            ),
        ]

    def raise_problem(self) -> None:
        """Raise what a callback raised."""
        problem, self.problem = self.problem, None
        raise problem if problem is not None else SimulationError("the right-hand side stopped")

    def _lawful_rates(self) -> Any:
        compiled = RATES(self._compiled("rates"))
        n, size = self.n, self.size

        def rates(t: float, y: int, dy: int, context: int) -> int:
            self.present._ask_law(t, *_read(y, size, n))
            return int(compiled(t, y, dy, context))

        return RATES(self._guarded(rates))

    def _ask_law(self, t: float, q: Array, qd: Array) -> None:
        """The torques of the Python law, put where compiled code finds them."""
        assert self.function is not None
        self.context.rows("given")[:] = self.constant + self.function(t, q, qd)

    def _more_events(self) -> Any:
        compiled = RATES(self._compiled("events"))
        n, size, before = self.n, self.size, self.n_events - len(self.triggers)

        def events(t: float, y: int, g: int, context: int) -> int:
            q, qd = _read(y, size, n)
            values = [event_value(trigger, t, q, qd) for trigger in self.present.triggers]
            numbers_at(g, self.n_events)[before:] = values
            return int(compiled(t, y, g, context))

        return RATES(self._guarded(events))

    def _guarded(self, call: Callable[..., int]) -> Callable[..., int]:
        """Keep an exception for later and tell the integrator to stop."""

        def guarded(*arguments: Any) -> int:
            try:
                return call(*arguments)
            except BaseException as problem:
                self.problem = problem
                return 1

        return guarded


def numbers_at(address: int, count: int) -> Array:
    """A view of numbers at an address."""
    return np.frombuffer((ctypes.c_double * count).from_address(address))  # type: ignore[call-overload,no-any-return]


def _read(address: int, size: int, n: int) -> tuple[Array, Array]:
    """Copies of positions and velocities in a state at an address."""
    y = numbers_at(address, size)
    return y[:n].copy(), y[n : 2 * n].copy()


def event_value(trigger: Trigger, t: float, q: Array, qd: Array) -> float:
    """What the user's event function answers."""
    value = float(trigger.function(t, q, qd))
    if not np.isfinite(value):
        raise SimulationError(f"the event '{trigger.name}' at t = {t:g} s is {value}")
    return value


__all__ = ["SUMS", "Observation", "System"]
