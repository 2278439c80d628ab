"""A torque law in Python as one more component of a simulation: called back for the torques, nothing else."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.model.mechanism import Mechanism
from kinetree.simulation.compiled.component import Component
from kinetree.simulation.cut_law import CutLaw
from kinetree.simulation.torque import Law
from kinetree.state import Wrench, independent_axes

if TYPE_CHECKING:
    from kinetree.simulation.system import System

POINTER = ctypes.c_void_p
FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, *[POINTER] * 4)


class Called(Component):
    """A component some of whose functions are Python; what they raise is kept by the system."""

    system: System
    _keep: dict[str, Any]

    def join(self, system: System) -> None:
        """The system whose states it reads, and which keeps what it raises."""
        self.system = system

    def address(self, function: str, lanes: int) -> int:
        """Where its functions are."""
        made = self._keep.get(function)
        return 0 if made is None else int(ctypes.cast(made, POINTER).value or 0)

    def _guarded(self, call: Callable[..., None]) -> Callable[..., int]:
        def guarded(*arguments: Any) -> int:
            try:
                call(*arguments)
            except BaseException as problem:
                self.system.problem = problem
                return 1
            return 0

        return guarded


class PythonCutLaw(Called):
    """Functions of (t, q, qd) that give forces of drives at cut joints.

    They are put where ``joints``, the component of cut joints at a ``place`` among all, reads them.
    """

    name = "law of cut joints"

    def __init__(self, law: CutLaw, joints: Any, place: int) -> None:
        self.law, self.joints, self.place = law, joints, place
        self._keep = {"law": FUNCTION(self._guarded(self._fill))}

    def _fill(self, t: float, y: int, given: int, context: int, own: int) -> None:
        system = self.system
        state, at = numbers_at(y, system.size), system.at
        forces = self.joints.given_in(system, self.place)
        if not np.isfinite(state).all():
            forces[:] = np.nan
            return
        forces[:] = self.law.called(t, state[at.q].copy(), state[at.qd].copy())


class PythonLaw(Called):
    """A function of (t, q, qd), or a controller that cannot run compiled, with its integrals of errors.

    An exception is kept by the system, and the integration stops. States that are not finite never reach
    the law: the torques there are not finite either, so that the step is taken again, shorter.
    """

    name = "integral of a law"

    def __init__(self, mechanism: Mechanism, law: Law) -> None:
        self.mechanism, self.law = mechanism, law
        self.free = independent_axes(mechanism)
        integrates = law.controller is not None and law.controller.integrates(mechanism)
        self.n_state = mechanism.n_dof if integrates else 0
        self._keep = {"law": FUNCTION(self._guarded(self._fill))}
        if integrates:
            self._keep["rates"] = FUNCTION(self._guarded(self._integrate))

    @property
    def has_slopes(self) -> bool:
        """Torques that are held between sampling instants have no slopes."""
        return self.law.is_sampled and not self.n_state

    def _fill(self, t: float, y: int, given: int, context: int, own: int) -> None:
        torques = numbers_at(given, self.system.parts.tree.n)
        torques[self.free] = self._torque(t, numbers_at(y, self.system.size))

    def _torque(self, t: float, y: Array) -> Any:
        law, at = self.law, self.system.at
        if not np.isfinite(y).all():
            return np.nan
        q, qd = y[at.q].copy(), y[at.qd].copy()
        if law.running is not None:
            law.running.sense(self.system.contact_names, self.system.context.contact[0])
        if law.function is not None:
            return self.system.constant + law.function(t, q, qd)
        integral = y[at.places[self.name]].copy() if self.n_state else np.zeros(len(q))
        return law.controller.torque(self.mechanism, t, q, qd, integral, self._wrenches(t) or None)

    def _wrenches(self, t: float) -> list[Wrench]:
        """Loads and what the ground does in the present state."""
        return self.system.wrenches(t, self.system.context.contact[0])

    def _integrate(self, t: float, y: int, dy: int, context: int, own: int) -> None:
        state, at = numbers_at(y, self.system.size), self.system.at
        rates = numbers_at(dy, self.system.size)[at.places[self.name]]
        if not np.isfinite(state).all():
            rates[:] = np.nan
            return
        tau = self.system.context.rows("command")[0][self.free]
        rates[:] = self.law.controller.integral_rate(self.mechanism, t, state[at.q].copy(), tau)


def numbers_at(address: int, count: int) -> Array:
    """A view of numbers at an address."""
    return np.frombuffer((ctypes.c_double * count).from_address(address))  # type: ignore[call-overload,no-any-return]
